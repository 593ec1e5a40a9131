import Crypto
import Foundation
import Providers
import Locking
import Wire

// Prints how many Web Pushes a second all cores encrypt, and do nothing else: EncryptionRate BROWSERS.csv SECONDS [library]
// With `library` the keys are those that swift-crypto makes itself, each tested by a signature; without, they are made as the hub does.

let browsers = try String(contentsOfFile: CommandLine.arguments[1], encoding: .utf8)
let seconds = Double(CommandLine.arguments[2]) ?? 5
let makesKeysByLibrary = CommandLine.arguments.dropFirst(3).first == "library"
let subscriptions = try browsers.split(separator: "\n").map { line in
  let cells = line.split(separator: ",")
  return try WebPushSubscription(
    json: #"{"endpoint":"https://push.example.com/1","keys":{"p256dh":"\#(cells[1])","auth":"\#(cells[2])"}}"#)
}
// As long as that of a sendout of the benchmark.
let text = [UInt8](repeating: UInt8(ascii: "a"), count: 320)
let count = Atomic(0)
let end = ContinuousClock.now + .seconds(seconds)
DispatchQueue.concurrentPerform(iterations: ProcessInfo.processInfo.activeProcessorCount) { _ in
  var encrypted = 0
  while encrypted % 100 != 0 || .now < end {
    let subscription = subscriptions[encrypted % subscriptions.count]
    if makesKeysByLibrary {
      _ = try? WebPushEncryption.body(
        text, for: subscription, P256.KeyAgreement.PublicKey(x963Representation: subscription.publicKey),
        key: P256.KeyAgreement.PrivateKey(), salt: WebPushEncryption.randomSalt())
    } else {
      _ = try? WebPushEncryption.body(text, for: subscription)
    }
    encrypted += 1
  }
  count.add(encrypted, ordering: .relaxed)
}
print(Double(count.load(ordering: .relaxed)) / seconds)
