import FoundationEssentials
import Support
import Testing
import Wire

@testable import Providers

/// Replies of providers with names and texts whose normal form costs the square of their length: they say no more than an empty one.
@Suite struct HostileReplyTests {
  /// 50 KB of two marks in turn.
  private static let marks = String(repeating: "\u{301}\u{323}", count: 12_500)
  private static let bodies = [
    #"{"a\#(marks)":1}"#, #"[{"a\#(marks)":1}]"#, #"{"error":{"a\#(marks)":1}}"#, #"{"reason":"a\#(marks)"}"#,
    #"{"code":"a\#(marks)","msg":"a\#(marks)"}"#, #"{"error":"a\#(marks)","access_token":"a\#(marks)"}"#,
    #"{"error":{"status":"a\#(marks)","message":"a\#(marks)"}}"#, #"{"messages":[{"reference":"a\#(marks)"}]}"#,
    "a\(marks)", "<a\(marks)/>", #"{"errorCode":1\#(String(repeating: "0", count: 50_000))}"#,
  ]

  private static let template = SMSRequestTemplate(contentType: .json, body: "{}", successPath: "reason")
  private static let request = PushRequest(headers: RequestHeaders(), body: [])
  private static let now = Date(timeIntervalSince1970: 1_700_000_000)

  private typealias Reader = (name: String, read: (ServiceResponse) -> ResponseClassification)

  /// What reads the replies of a push service.
  private static func readers(_ name: PushServiceName, _ services: PushServices) -> [Reader] {
    if let service = services.withAccessTokens[name] { return [(service.name, { service.classify($0, request) })] }
    switch name {
    case .apns: return [("APNs", { ResponseClassification(APNsResponse($0)) })]
    case .webpush: return [("Web Push", { ResponseClassification(WebPushResponse($0)) })]
    case .sms:
      return [
        ("CM", { ResponseClassification(cm: $0, to: request, at: now) }),
        ("CM's voice", { ResponseClassification(cmVoice: $0) }),
        ("Twilio", { ResponseClassification(twilio: $0, to: request, at: now) }),
        ("another provider of SMS", { ResponseClassification($0, by: template) }),
      ]
    default: return []
    }
  }

  @Test(arguments: PushServiceName.allCases)
  func `A reply says no more than an empty one`(service: PushServiceName) async throws {
    try await withProvider(PushServiceSettings()) { services in
      let readers = Self.readers(service, services)
      #expect(!readers.isEmpty)
      for reader in readers { expectNoMore(reader) }
    }
  }

  @Test func `A reply to a request for an access token says no more than an empty one`() {
    expectNoMore(("access tokens", { ResponseClassification(AccessTokenResponse($0)) }))
  }

  private func expectNoMore(_ reader: Reader) {
    let (service, read) = reader
    for status in [200, 400, 403, 503] {
      let empty = read(ServiceResponse(status: status))
      for (index, body) in Self.bodies.enumerated() {
        let reply = read(ServiceResponse(status: status, body: Array(body.utf8)))
        #expect(reply == empty, "\(service), \(status), body \(index)")
      }
    }
  }

  @Test func `A header says no more than none`() {
    let response = ServiceResponse(status: 200, headers: ["x-wns-notificationstatus": "received\(Self.marks)"])
    #expect(WNSResponse(response) == WNSResponse(ServiceResponse(status: 200)))
  }

  @Test func `A connection's last words say nothing`() {
    for body in Self.bodies { #expect(APNsResponse.reason(in: Array(body.utf8)) == nil) }
  }

  @Test func `A status report is refused`() {
    let providers: [SMSProvider] = [
      .cm(productToken: "t"), .twilio(accountSID: "a", authToken: "b"), .http(Self.template),
    ]
    for provider in providers {
      let account = SMSAccount(provider: provider, url: "https://a.example", sender: "Acme")
      for body in Self.bodies + ["a\(Self.marks)=1", "MessageStatus=\(Self.marks)"] {
        #expect(throws: SMSStatusRefusal.self) {
          try SMSStatusReport.read(
            SMSStatusRequest(url: "", query: "", contentType: nil, signature: nil, body: Array(body.utf8)), of: account)
        }
      }
    }
  }
}
