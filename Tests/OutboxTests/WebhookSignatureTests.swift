import Crypto
import Foundation
import Registry
import Support
import Testing

@testable import Outbox

@Suite struct WebhookSignatureTests {
  /// The sample of Standard Webhooks' own libraries.
  private static let secret = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
  private static let body = Array(#"{"test": 2432232314}"#.utf8)
  private static let moment = Date(timeIntervalSince1970: 1_614_265_330.9)

  private static func secret(_ base64: String) throws -> Secret {
    Secret(bytes: Array(try #require(Data(base64Encoded: base64))))
  }

  @Test func `The signature is that of the standard's sample`() throws {
    let signature = WebhookSignature(secrets: [try Self.secret(Self.secret)])
    let headers = signature.headers(id: "msg_p5jXN8AQM9LWM0D4loKWxJek", at: Self.moment, Self.body)
    #expect(headers.map(\.name) == ["webhook-id", "webhook-timestamp", "webhook-signature"])
    #expect(
      headers.map(\.value) == [
        "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
      ])
  }

  @Test func `Two secrets make two signatures, the current one first`() throws {
    let (new, old) = (WebhookSignature.newSecret(), try Self.secret(Self.secret))
    func value(_ secrets: Secret...) -> String {
      WebhookSignature(secrets: secrets).headers(id: "msg_1", at: Self.moment, Self.body)[2].value
    }
    #expect(value(new, old) == "\(value(new)) \(value(old))")
    #expect(value(new) != value(old))
  }

  @Test func `A secret is shown as libraries take it, and no two are alike`() throws {
    let secret = WebhookSignature.newSecret()
    let shown = WebhookSignature.shown(secret)
    #expect(shown.hasPrefix("whsec_"))
    #expect(Data(base64Encoded: String(shown.dropFirst(6))).map { Array($0) } == secret.bytes)
    #expect(secret.bytes.count == 32 && WebhookSignature.newSecret() != secret)
  }

  @Test func `Whatever is signed changes the signature`() throws {
    let signature = WebhookSignature(secrets: [try Self.secret(Self.secret)])
    let plain = signature.headers(id: "msg_1", at: Self.moment, Self.body)[2].value
    for other in [
      signature.headers(id: "msg_2", at: Self.moment, Self.body),
      signature.headers(id: "msg_1", at: Self.moment.addingTimeInterval(1), Self.body),
      signature.headers(id: "msg_1", at: Self.moment, Self.body + [0x20]),
    ] {
      #expect(other[2].value != plain)
    }
  }
}
