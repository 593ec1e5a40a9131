import AsyncHTTPClient
import Crypto
import Foundation
import NIOHTTP1
import Support
import Testing
import Wire

@testable import Simulator

/// The receiver of webhooks, and its page.
@Suite struct WebhookPageTests {
  private static let secret = [UInt8](repeating: 7, count: 32)
  private static let body = Array(
    #"{"data":{"webhookId":3},"timestamp":"2026-11-20T09:00:00.000Z","type":"webhook.test"}"#.utf8)

  /// The headers of a post that the secret signs.
  private static func headers(id: String = "msg_1", at moment: Date = Date(), _ secret: [UInt8] = secret) -> [(
    String, String
  )] {
    let timestamp = String(Int64(moment.timeIntervalSince1970))
    let mac = HMAC<SHA256>.authenticationCode(
      for: Array("\(id).\(timestamp).".utf8) + body, using: SymmetricKey(data: secret))
    let signature = "v1,\(Data(mac).base64EncodedString())"
    return [
      ("webhook-id", id), ("webhook-timestamp", timestamp), ("webhook-signature", "v1,AAAA \(signature)"),
      ("content-type", "application/json"),
    ]
  }

  @Test func `The page shows each post with what its signature is worth and how it was answered`() async throws {
    try await withServices { simulator, _, phone in
      let url = simulator.webhooks.url + "a/b"
      #expect(try await phone.client.ask(.GET, phone.url + "/webhooks").text.contains("Nothing was posted yet."))
      func post(_ headers: [(String, String)]) async throws -> Int {
        try await phone.client.ask(.POST, url, headers, Self.body).status
      }
      #expect(try await post(Self.headers()) == 204)
      let secret = "whsec_" + Data(Self.secret).base64EncodedString()
      #expect(try await phone.ask(.POST, "/webhooks/secrets", #"{"secret":"\#(secret)"}"#).status == 204)
      #expect(try await phone.ask(.POST, "/webhooks/secrets", #"{"secret":"x"}"#).status == 400)
      #expect(try await phone.ask(.POST, "/webhooks/answers", #"{"statuses":[500,410]}"#).status == 204)
      #expect(try await phone.ask(.POST, "/webhooks/answers", #"{"statuses":[7]}"#).status == 400)
      #expect(try await post(Self.headers(id: "msg_2")) == 500)
      #expect(try await post(Self.headers(id: "msg_3", [1, 2])) == 410)
      #expect(try await post(Self.headers(id: "msg_4", at: Date(timeIntervalSinceNow: -400))) == 204)
      #expect(try await post([]) == 204)
      #expect(
        simulator.webhooks.received.map(\.verdict)
          == [.unknownSecret, .verified, .wrongSignature, .wrongTime, .unsigned])
      let page = try await phone.client.ask(.GET, phone.url + "/webhooks").text
      for text in [
        "webhook.test · verified · answered 500", "webhook.test · wrong signature · answered 410", "at /a/b", "msg_4",
        "&quot;webhookId&quot;:3",
      ] {
        #expect(page.contains(text), "\(text): \(page)")
      }
    }
  }

  @Test func `A post of Carma's form is known by its first event`() {
    func event(_ json: String) -> String? {
      SimulatedWebhooks.ReceivedPost(
        number: 1, at: Date(), path: "/", id: "", verdict: .unsigned, status: 204, body: Array(json.utf8)
      ).event
    }
    #expect(event(#"[{"event":"Bounce"},{"event":"Opt out"}]"#) == "Bounce")
    #expect(event(#"{"type":"push.failed"}"#) == "push.failed")
    #expect(event("[]") == nil && event("x") == nil)
  }
}
