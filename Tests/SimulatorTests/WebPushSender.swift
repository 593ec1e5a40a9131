import AsyncHTTPClient
import Crypto
import Foundation
import NIOHTTP1
import Simulator
import Support
import Wire

/// A site's back end that sends Web Push, written from RFC 8291 and 8292 alone.
struct WebPushSender {
  let signingKey = P256.Signing.PrivateKey()

  /// As a page gives it to `subscribe`.
  var vapidKey: String { Base64URL.text(Array(signingKey.publicKey.x963Representation)) }

  /// `vapid t=…, k=…`.
  /// - Parameters:
  ///   - claims: the JWT's, in JSON.
  ///   - alg: the algorithm that its header names.
  func authorization(_ claims: String, alg: String = "ES256") throws -> String {
    let parts = [#"{"typ":"JWT","alg":"\#(alg)"}"#, claims].map { Base64URL.text(Array($0.utf8)) }
    let signed = parts.joined(separator: ".")
    let signature = try signingKey.signature(for: Data(signed.utf8)).rawRepresentation
    return "vapid t=\(signed).\(Base64URL.text(Array(signature))), k=\(vapidKey)"
  }

  static func claims(aud: String, exp: Date = Date() + 3600, sub: String = #""mailto:a@example.com""#) -> String {
    #"{"aud":"\#(aud)","exp":\#(Int(exp.timeIntervalSince1970)),"sub":\#(sub)}"#
  }

  /// The body of a push: RFC 8291, section 3.4, step by step.
  static func sealed(
    _ text: String, for browser: BrowserSubscription,
    key: P256.KeyAgreement.PrivateKey = P256.KeyAgreement.PrivateKey(),
    salt: [UInt8] = (0..<16).map { _ in .random(in: 0...255) }
  ) throws -> [UInt8] {
    let browserKey = Base64URL.decode(Array(browser.p256dh.utf8)) ?? []
    let ownKey = Array(key.publicKey.x963Representation)
    let shared = try key.sharedSecretFromKeyAgreement(with: .init(x963Representation: browserKey))
      .withUnsafeBytes { Array($0) }
    let pseudorandom = mac(Base64URL.decode(Array(browser.auth.utf8)) ?? [], shared)
    let input = mac(pseudorandom, Array("WebPush: info\0".utf8) + browserKey + ownKey + [1])
    let second = mac(salt, input)
    let contentKey = mac(second, Array("Content-Encoding: aes128gcm\0".utf8) + [1]).prefix(16)
    let nonce = mac(second, Array("Content-Encoding: nonce\0".utf8) + [1]).prefix(12)
    let box = try AES.GCM.seal(
      Array(text.utf8) + [2], using: SymmetricKey(data: contentKey), nonce: AES.GCM.Nonce(data: nonce))
    return salt + [0, 0, 16, 0, 65] + ownKey + Array(box.ciphertext) + Array(box.tag)
  }

  private static func mac(_ key: [UInt8], _ bytes: [UInt8]) -> [UInt8] {
    Array(HMAC<SHA256>.authenticationCode(for: bytes, using: SymmetricKey(data: key)))
  }
}

/// Sends to the simulated Web Push service, as any HTTP client does.
struct WebPushRequester {
  let client: HTTPClient
  let origin: String
  let sender = WebPushSender()

  /// - Parameters:
  ///   - authorization: nil for a valid one; empty for none.
  ///   - headers: replace the valid ones; an empty value removes one.
  func push(
    _ body: [UInt8], to endpoint: String, authorization: String? = nil, headers: [String: String] = [:],
    method: HTTPMethod = .POST
  ) async throws -> HTTPAnswer {
    let valid = try authorization ?? sender.authorization(WebPushSender.claims(aud: origin))
    let usual = ["ttl": "60", "content-encoding": "aes128gcm", "authorization": valid]
    let all = usual.merging(headers) { $1 }.filter { !$0.value.isEmpty }
    return try await client.ask(method, endpoint, all.map { ($0.key, $0.value) }, body)
  }
}

extension HTTPAnswer {
  /// The `errno` of Mozilla's body.
  var errno: Int64? { json.integer("errno") }
}
