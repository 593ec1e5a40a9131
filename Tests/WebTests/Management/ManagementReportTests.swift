import Support
import Testing
import Wire

@Suite struct ManagementReportTests {
  @Test func `A report shows only the key's own customer`() async throws {
    try await withManagementServer { managed in
      try await managed.addApp()
      _ = try await managed.send(
        "POST", "/api/v1/sendouts",
        json: #"{"name":"Friday","appId":"com.acme.app","audience":{"all":true},"message":{"alert":"x"}}"#)
      let own = try await managed.send("GET", "/api/v1/reports/sendouts").json.array("rows")
      #expect(own?.map { $0.string("name") } == ["Friday"])
      #expect(own?.first?["openRate"] == .null)
      let foreign = try await managed.send("GET", "/api/v1/reports/sendouts", key: managed.otherKey).json
      #expect(foreign.array("rows") == [])
      let sendout = own?.first?.integer("sendoutId") ?? 0
      let named = try await managed.send(
        "GET", "/api/v1/reports/sendouts?sendout=\(sendout)", key: managed.otherKey
      ).json
      #expect(named.array("rows") == [])
    }
  }

  @Test func `A filter that a report does not have is refused`() async throws {
    try await withManagementServer { managed in
      let refused = [
        ("devices?sendout=1", 400, "sendout does not belong to the report devices."),
        ("opens?contact=x", 400, "contact does not belong to the report opens."),
        ("timeline", 400, "contact is missing: this report is about one contact."),
        ("opens?sendout=x", 400, "sendout must be a whole number from 1 to 9223372036854775807."),
        ("timeline?contact=%00", 400, "The query is not percent-encoded UTF-8."),
        ("opens?limit=1001", 400, "limit must be a whole number from 1 to 1000."),
        (
          "weather", 404,
          "There is no such report; there are \(Report.allCases.map(\.rawValue).joined(separator: ", "))."
        ),
      ]
      for (report, status, sentence) in refused {
        let reply = try await managed.send("GET", "/api/v1/reports/\(report)")
        #expect(reply.status == status)
        #expect(reply.error == sentence)
      }
      #expect(try await managed.send("GET", "/api/v1/reports/timeline?contact=%01").json.array("rows") == [])
    }
  }
}
