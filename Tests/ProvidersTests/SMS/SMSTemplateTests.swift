import FoundationEssentials
import Simulator
import Support
import Testing
import Wire

@testable import Providers

/// Providers whose requests have a form of their own, and calls.
@Suite struct SMSTemplateTests {
  private func sms() throws -> OutgoingSMS {
    try OutgoingSMS(
      to: #require(PhoneNumber("0031612345678")), from: "Acme", text: SMSText(#"a "b" & <c> é {to}"#),
      coding: .auto, reference: "10000001")
  }

  @Test(
    arguments: [
      (
        .json, #"{"t":"{to}","m":"{text}","x":{"y":1}}"#,
        #"{"t":"0031612345678","m":"a \"b\" & <c> é {to}","x":{"y":1}}"#
      ),
      (.form, "t={to_plus}&m={text}", "t=%2B31612345678&m=a%20%22b%22%20%26%20%3Cc%3E%20%C3%A9%20%7Bto%7D"),
      (.xml, "<m from='{from}'>{text}</m>", "<m from='Acme'>a &quot;b&quot; &amp; &lt;c&gt; é {to}</m>"),
      (.query, "r={reference}&u={unknown}", "r=10000001&u={unknown}"),
      (.form, "{{{{reference}}{to{text", "{{{10000001}{to{text"),
      (.form, "{{{{{{{{{{{{{to}", "{{{{{{{{{{{{0031612345678"),
    ] as [(SMSRequestTemplate.ContentType, String, String)])
  func `Placeholders are filled and escaped, and values are never taken for placeholders`(
    type: SMSRequestTemplate.ContentType, body: String, filled: String
  ) throws {
    #expect(try SMSRequestTemplate(contentType: type, body: body).filled(with: sms()) == filled)
  }

  @Test func `A query is added to the address, by GET unless told otherwise`() throws {
    let template = SMSRequestTemplate(headers: ["X-Key": "k"], contentType: .query, body: "to={to}")
    let request = try template.request(sms(), path: "/send?v=1")
    #expect(request.method == .get && request.body.isEmpty && request.headers[":path"] == "/send?v=1&to=0031612345678")
    #expect(request.headers["x-key"] == "k" && request.headers["content-type"] == nil)
    let posted = try SMSRequestTemplate(contentType: .form, body: "to={to}").request(sms(), path: "/send")
    #expect(posted.method == .post && posted.body == Array("to=0031612345678".utf8))
  }

  @Test(
    arguments: [
      (200, #"{"a":[{"s":"ok"}]}"#, .accepted), (202, #"{"a":[{"s":"ok"}]}"#, .accepted),
      (200, #"{"a":[{"s":"no"}]}"#, .payloadRefused(reason: "NotAccepted")),
      (200, "hello", .payloadRefused(reason: "NotAccepted")),
      (200, #"{"a":[]}"#, .payloadRefused(reason: "NotAccepted")),
      (400, "", .payloadRefused(reason: "HTTP400")), (401, "", .credentialsRefused(reason: "HTTP401")),
      (403, "", .credentialsRefused(reason: "HTTP403")), (408, "", .retry(after: nil, reason: "HTTP408")),
      (425, "", .retry(after: nil, reason: "HTTP425")), (429, "", .retry(after: nil, reason: "HTTP429")),
      (500, "", .retry(after: nil, reason: "HTTP500")), (503, "", .retry(after: nil, reason: "HTTP503")),
    ] as [(Int, String, Verdict)])
  func `A reply goes by its status and by the path that the template names`(
    status: Int, body: String, verdict: Verdict
  ) {
    let template = SMSRequestTemplate(contentType: .json, body: "{}", successPath: "a.0.s", successValue: "ok")
    let response = ServiceResponse(status: status, body: Array(body.utf8))
    #expect(ResponseClassification(response, by: template).verdict == verdict)
  }

  @Test func `A template says which statuses are success, and which pass`() {
    let template = SMSRequestTemplate(contentType: .json, body: "{}", successStatuses: [204], temporaryStatuses: [418])
    func verdict(_ status: Int) -> Verdict {
      ResponseClassification(ServiceResponse(status: status), by: template).verdict
    }
    #expect(verdict(204) == .accepted && verdict(200) == .payloadRefused(reason: "HTTP200"))
    #expect(verdict(418) == .retry(after: nil, reason: "HTTP418"))
    #expect(verdict(503) == .payloadRefused(reason: "HTTP503"))
  }

  @Test func `A provider of its own form cannot be asked, and its preview shows no secret`() async throws {
    try await withAPNs { simulator, services in
      let template = SMSRequestTemplate(
        headers: ["Authorization": "Bearer sesame"], contentType: .json, body: #"{"key":"sesame","text":"{text}"}"#)
      let account = services.account(
        appID: "sms", of: CustomerID(1),
        credentials: .sms(
          SMSAccount(provider: .http(template), url: "\(simulator.smsURL)/own?key=sesame", sender: "Acme")))
      guard case .unasked = await account.check(.production) else { throw CancellationError() }
      let push = OutgoingPush(
        token: "+31612345678", id: UUID(), message: RenderedMessage(alert: JSONText.quoted("Hi there")))
      guard case .request(let request) = account.prepare(push) else { throw CancellationError() }
      let preview = account.preview(request, to: .production)
      let shown = "\(preview.url) \(String(decoding: preview.body, as: UTF8.self)) \(preview.headers)"
      #expect(shown.contains("there") && !shown.contains("sesame"))
      // The stand-in has no such address.
      #expect(await account.smsVerdicts(of: [("+31612345678", "Hi")]) == [.payloadRefused(reason: "HTTP404")])
    }
  }

  // MARK: Calls

  @Test func `CM and Twilio speak a code digit by digit`() async throws {
    try await withAPNs { simulator, services in
      simulator.sms.register(productToken: "sesame-cm")
      simulator.sms.register(accountSID: "AC123", authToken: "sesame")
      let call = VoiceCall(
        to: try #require(PhoneNumber("0031612345678")), text: "Uw <code> is {{pin}}.", code: "1234", language: "nl-NL")
      let cm = SMSAccount(
        provider: .cm(productToken: "sesame-cm"), url: simulator.cmURL, voiceURL: simulator.cmVoiceURL,
        sender: "31201234567")
      #expect(await services.call(call, as: cm, of: CustomerID(1)) == .accepted)
      let twilio = SMSAccount(
        provider: .twilio(accountSID: "AC123", authToken: "sesame"), url: simulator.twilioURL("AC123"),
        voiceURL: simulator.twilioVoiceURL("AC123"), sender: "+31201234567")
      #expect(await services.call(call, as: twilio, of: CustomerID(1)) == .accepted)
      let calls = simulator.sms.calls
      #expect(calls.map(\.text) == ["Uw <code> is . 1 2 3 4", "Uw <code> is 1, 2, 3, 4."])
      #expect(calls.allSatisfy { $0.language == "nl-NL" && $0.to == "31612345678" })
      var silent = cm
      silent.voiceURL = nil
      #expect(await services.call(call, as: silent, of: CustomerID(1)) == nil)
      var wrong = cm
      wrong.provider = .cm(productToken: "wrong")
      #expect(await services.call(call, as: wrong, of: CustomerID(1)) == .credentialsRefused(reason: "HTTP401"))
    }
  }
}
