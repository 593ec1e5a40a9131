import FoundationEssentials
import Testing
import Wire

@testable import Providers

/// Status reports in the forms of their providers.
@Suite struct SMSStatusReportTests {
  private static let cm = SMSAccount(provider: .cm(productToken: "t"), url: "https://a.example", sender: "Acme")
  private static let reference = SMSReference(sendout: SendoutID(1), push: PushNumber(1))

  private func read(
    _ body: String, query: String = "", of account: SMSAccount = cm, url: String = "", signature: String? = nil
  ) throws -> [SMSStatusReport] {
    try SMSStatusReport.read(
      SMSStatusRequest(url: url, query: query, contentType: nil, signature: signature, body: Array(body.utf8)),
      of: account)
  }

  private func outcomes(_ reports: [SMSStatusReport]) -> [SMSStatusReport.Outcome] { reports.map(\.outcome) }

  @Test(arguments: [
    #"{"messages":{"msg":{"received":"x","to":"0031","reference":"10000001","status":{"code":"2","errorCode":""}}}}"#,
    #"{"MESSAGES":{"Msg":[{"Reference":"10000001","STATUS":{"Code":2}}]}}"#,
    #" <MESSAGES SENT="x"><MSG RECEIVED="y"><TO>0031</TO><REFERENCE> 10000001 </REFERENCE><STATUS><CODE>2</CODE></STATUS></MSG></MESSAGES>"#,
    "<messages><msg><reference>10000001</reference><status><code>4</code></status></msg></messages>",
  ])
  func `CM's reports are read by name, in JSON and XML, in any case`(_ body: String) throws {
    #expect(try read(body) == [SMSStatusReport(reference: Self.reference, outcome: .delivered)])
  }

  @Test func `CM's older reports are queries`() throws {
    let reports = try read("", query: "REFERENCE=10000001&STATUS=3&STATUSDESCRIPTION=24&GSM=0031")
    #expect(outcomes(reports) == [.failed(reason: "24 subscriber absent")])
  }

  @Test func `A list has all of its reports, and those of other messages are left out`() throws {
    let reports = try read(
      """
      {"messages":{"msg":[{"reference":"10000001","status":{"code":"3","errorCode":"8"}},
      {"reference":"order-17","status":{"code":"2"}},{"reference":"10000002","status":{"code":"0"}},
      {"reference":"10000003","status":{"code":"3","errorCode":"7"}}]}}
      """)
    #expect(reports.map(\.reference.push.rawValue) == [1, 2, 3])
    #expect(outcomes(reports) == [.failed(reason: "8 expired"), .pending, .pending])
  }

  @Test(arguments: [(37, InvalidTokenCause.optedOut as InvalidTokenCause?), (23, .unregistered), (24, nil), (999, nil)])
  func `Error codes of CM say what is wrong with the number`(code: Int, cause: InvalidTokenCause?) throws {
    let report = try read(#"{"messages":{"msg":{"reference":"10000001","status":{"code":"3","errorCode":\#(code)}}}}"#)
    #expect(report.map(\.cause) == [cause])
    if code != 999 {
      #expect(outcomes(report) == [.failed(reason: "\(code) \(SMSStatusReport.cmErrors[code] ?? "")")])
    }
  }

  @Test(arguments: [
    "hello", "{}", "[]", #"{"messages":{}}"#, #"{"messages":{"msg":[{"status":{}}]}}"#, "<a/>", "<MESSAGES/>",
    #"<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><MESSAGES><MSG>&x;</MSG></MESSAGES>"#,
    "<MESSAGES><MSG></MSG></MESSAGES>", "\u{0}",
  ])
  func `Junk is refused`(_ body: String) {
    #expect(throws: SMSStatusRefusal.malformed) { try read(body) }
    #expect(throws: SMSStatusRefusal.malformed) { try read("", query: "a=b") }
  }

  // MARK: Twilio

  @Test func `Twilio's signature is that of its documentation`() {
    let url = "https://mycompany.com/myapp.php?foo=1&bar=2"
    let fields = [
      ("Digits", "1234"), ("To", "+18005551212"), ("From", "+14158675309"), ("Caller", "+14158675309"),
      ("CallSid", "CA1234567890ABCDE"),
    ].map { (name: $0.0, value: $0.1) }
    func isSigned(_ signature: String, token: String = "12345") -> Bool {
      let request = SMSStatusRequest(url: url, query: "", contentType: nil, signature: signature, body: [])
      return SMSStatusReport.isSigned(request, fields, authToken: token)
    }
    #expect(isSigned("RSOYDt4T1cUTdK1PDd93/VVr8B8="))
    #expect(!isSigned("SSOYDt4T1cUTdK1PDd93/VVr8B8=") && !isSigned("") && !isSigned("x"))
    #expect(!isSigned("RSOYDt4T1cUTdK1PDd93/VVr8B8=", token: "12346"))
  }

  @Test func `An unsigned report of Twilio is refused`() {
    let account = SMSAccount(
      provider: .twilio(accountSID: "AC1", authToken: "t"), url: "https://a.example", sender: "A")
    #expect(throws: SMSStatusRefusal.unsigned) {
      try read("MessageStatus=delivered", query: "reference=10000001", of: account, signature: "AAAA")
    }
  }

  // MARK: Any other

  @Test func `Other providers report in a small JSON of their own`() throws {
    let account = SMSAccount(
      provider: .http(SMSRequestTemplate(contentType: .form, body: "{to}{text}")), url: "https://a.example", sender: "A"
    )
    let reports = try read(
      """
      [{"reference":"10000001","status":"delivered"},{"reference":"10000001","status":"FAILED","errorCode":17},
      {"reference":"10000001","status":"queued"},{"reference":"10000001","status":"opted-out"},{"reference":"x","status":"y"}]
      """, of: account)
    #expect(outcomes(reports) == [.delivered, .failed(reason: "failed 17"), .pending, .failed(reason: "opted out")])
    #expect(reports.map(\.cause) == [nil, nil, nil, .optedOut])
    #expect(throws: SMSStatusRefusal.malformed) { try read("{}", of: account) }
  }
}
