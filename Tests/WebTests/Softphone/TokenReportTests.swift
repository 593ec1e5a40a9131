import Foundation
import Postgres
import Registry
import Simulator
import Support
import Testing
import Wire

/// What softphones tell of their tokens and accounts.
@Suite struct TokenReportTests {
  private static let selector = "5baa61e4c9b93f3f0682250b6cf8331b7ee68fd8:0a1b2c3d"

  /// The report of a phone of Apple's, with the names of the provisioning's variables.
  private static let report: [String: String] = [
    "selector": selector, "pushTokenOther": SoftphoneGateway.token(1), "pushappid_other": SoftphoneGateway.app,
    "pushTokenIncomingCall": SoftphoneGateway.token(2), "pushappid_incoming_call": SoftphoneGateway.calls,
    "account[username]": "lars", "account[password]": "hunter2-secret", "installid": "x",
  ]

  private func form(_ fields: [String: String]) -> String {
    func encoded(_ text: String) -> String { text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "" }
    return fields.map { "\(encoded($0))=\(encoded($1))" }.sorted().joined(separator: "&")
  }

  private func json(_ fields: [String: String]) throws -> String {
    String(decoding: try JSONCoding.encode(fields), as: UTF8.self)
  }

  /// The selector's tokens in each app, valid ones only.
  private func tokens(_ gateway: SoftphoneGateway, _ selector: String = selector) async throws -> [String] {
    try await gateway.bench.database.query(
      """
      SELECT app_id || ' ' || left(token, 12) FROM device
        JOIN contact USING (customer_id, contact_id) JOIN push_app USING (customer_id, push_app_id)
       WHERE original_id = $1::text AND invalidated_at IS NULL ORDER BY 1
      """, selector
    ).map { try $0.decode(String.self) }
  }

  private static let both = ["com.acme.phone 010101010101", "com.acme.phone.voip 020202020202"]

  @Test(arguments: ["json", "form", "query"])
  func `A report registers both pairs of its selector, and its password is kept nowhere`(how: String) async throws {
    try await withSoftphoneGateway { gateway in
      let path = "/k/\(gateway.key)/tokens/report"
      let reply =
        switch how {
        case "json": try await gateway.server.send("POST", path, json: try json(Self.report))
        case "form":
          try await gateway.server.send(
            "POST", path, headers: [("Content-Type", "application/x-www-form-urlencoded")], body: form(Self.report))
        default: try await gateway.server.send("GET", "\(path)?\(form(Self.report))")
        }
      #expect(reply.status == 204, "\(reply.text)")
      #expect(try await tokens(gateway) == Self.both)
      let properties = try await gateway.bench.database.query("SELECT properties->>'username' FROM contact")
      #expect(try properties.map { try $0.decode(String?.self) } == ["lars"])
      for table in ["contact", "device", "device_event", "audit_log"] {
        let found = try await gateway.bench.database.query(
          "SELECT FROM \(table) AS t WHERE t::text LIKE '%hunter2%'")
        #expect(found.isEmpty, "\(table)")
      }
    }
  }

  @Test(arguments: ["form", "query"])
  func `A raw plus sign in a token, or before a number, is one`(how: String) async throws {
    try await withSoftphoneGateway { gateway in
      // 0xFB 0xEF 0xBE is "++++" in base64.
      let token = Data([UInt8](repeating: 0xFB, count: 30)).base64EncodedString()
      let fields = "selector=+4930123456&pushToken=\(token)&pushappid_other=\(SoftphoneGateway.app)"
      func tell(_ what: String) async throws -> Int {
        let path = "/k/\(gateway.key)/tokens/\(what)"
        if how == "query" { return try await gateway.server.send("GET", "\(path)?\(fields)").status }
        return try await gateway.server.send(
          "POST", path, headers: [("Content-Type", "application/x-www-form-urlencoded")], body: fields
        ).status
      }
      let reported = try await tell("report")
      #expect(reported == 204)
      #expect(try await tokens(gateway, "+4930123456") == ["com.acme.phone fbfbfbfbfbfb"])
      #expect(try await tell("removal") == 204)
      #expect(try await tokens(gateway, "+4930123456") == [])
    }
  }

  @Test func `A phone that has one pair for everything reports it twice, and is one device`() async throws {
    try await withSoftphoneGateway { gateway in
      let token = Data("android-1:APA91b".utf8).base64EncodedString()
      let report = [
        "selector": "acc1", "pushTokenOther": token, "pushTokenIncomingCall": token, "pushappid_other": "valid.appid",
        "pushappid_incoming_call": "valid.appid",
      ]
      let reply = try await gateway.server.send("POST", "/k/\(gateway.key)/tokens/report", json: try json(report))
      #expect(reply.status == 204, "\(reply.text)")
      #expect(try await tokens(gateway, "acc1") == ["valid.appid android-1:AP"])
    }
  }

  @Test func `A customer's own field names count, and none can be the password's`() async throws {
    try await withSoftphoneGateway { gateway in
      let admin = try await AccessKeys(gateway.bench.pool).make(gateway.bench.customer, name: "a", scope: .admin).token
      func map(_ fields: String) async throws -> TestReply {
        try await gateway.server.send(
          "PATCH", "/api/v1/customer", key: admin, json: #"{"reporterFields":\#(fields)}"#)
      }
      #expect(
        try await map(#"{"selector":"account[password]"}"#).error
          == "reporterFields.selector is account[password], which the hub never reads.")
      #expect(try await map(#"{"password":"x"}"#).error?.hasPrefix("reporterFields has a member that is not") == true)
      #expect(try await map(#"{"selector":""}"#).status == 400)
      let mapped = try await map(#"{"selector":"acc","pushTokenOther":"tok","pushappid_other":"app"}"#)
      #expect(
        try mapped.json["reporterFields"] == ["selector": "acc", "pushTokenOther": "tok", "pushappid_other": "app"])
      let path = "/k/\(gateway.key)/tokens/report"
      let report = ["acc": "acc7", "tok": SoftphoneGateway.token(1), "app": SoftphoneGateway.app]
      #expect(try await gateway.server.send("POST", path, json: try json(report)).status == 204)
      #expect(try await tokens(gateway, "acc7") == ["com.acme.phone 010101010101"])
      let refused = try await gateway.server.send("POST", path, json: try json(Self.report))
      #expect(refused.status == 400 && refused.error == "acc is missing.")
      #expect(try await map("{}").json["reporterFields"] == nil)
      #expect(try await gateway.server.send("POST", path, json: try json(Self.report)).status == 204)
    }
  }

  @Test func `A removal retires both pairs: pushes to them are code 404 until the account is reported again`()
    async throws
  {
    try await withSoftphoneGateway { gateway in
      let path = "/k/\(gateway.key)/tokens"
      func code() async throws -> Int64? {
        let push = gateway.push("NotifyReprovision").replacing("acc1", with: Self.selector)
        return try await gateway.send("/send", push).json.integer("code")
      }
      _ = try await gateway.server.send("POST", "\(path)/report", json: try json(Self.report))
      #expect(try await code() == 200)
      let removal = try json(["selector": Self.selector])
      // Scanners of links ask for the head alone.
      #expect(try await gateway.server.send("HEAD", "\(path)/removal?selector=\(Self.selector)").status == 400)
      #expect(try await tokens(gateway) == Self.both)
      #expect(try await gateway.server.send("POST", "\(path)/removal", json: removal).status == 204)
      #expect(try await tokens(gateway) == [])
      #expect(try await code() == 404)
      // Nothing to remove is no error.
      #expect(try await gateway.server.send("POST", "\(path)/removal", json: removal).status == 204)
      #expect(try await gateway.server.send("POST", "\(path)/removal", json: "{}").status == 400)
      _ = try await gateway.server.send("POST", "\(path)/report", json: try json(Self.report))
      #expect(try await tokens(gateway) == Self.both)
      #expect(try await code() == 200)
      // Another account of the same phone has the token still.
      _ = try await gateway.server.send("POST", "\(path)/removal", json: removal)
      let other = gateway.push("NotifyReprovision").replacing("acc1", with: "acc2")
      #expect(try await gateway.send("/send", other).json.integer("code") == 200)
    }
  }

  @Test func `Keys of apps report too, as far as they are bound and vouched for`() async throws {
    try await withSoftphoneGateway { gateway in
      let keys = AccessKeys(gateway.bench.pool)
      let device = try await keys.make(gateway.bench.customer, name: "app", scope: .device).token
      let bound = try await keys.make(
        gateway.bench.customer, name: "bound", scope: .device, appID: SoftphoneGateway.app
      ).token
      func status(_ key: String, _ report: [String: String] = Self.report) async throws -> Int {
        try await gateway.server.send("POST", "/k/\(key)/tokens/report", json: try json(report)).status
      }
      #expect(try await status(device) == 204)
      #expect(try await status(bound) == 403)
      #expect(try await status(bound, ["selector": "a", "pushToken": SoftphoneGateway.token(3)]) == 204)
      #expect(try await status("pck_1_x") == 401)
      for (report, error) in [
        (Self.report.filter { $0.key != "selector" }, "selector is missing."),
        (["selector": "a"], "pushTokenOther is missing."),
        (["selector": "a", "pushTokenOther": "AAAA"], "pushappid_other is missing."),
        (
          ["selector": "a", "pushTokenOther": "A B", "pushappid_other": SoftphoneGateway.app],
          "pushTokenOther is no base64."
        ),
      ] {
        let reply = try await gateway.server.send("POST", "/k/\(device)/tokens/report", json: try json(report))
        #expect(reply.status == 400 && reply.error == error)
      }
    }
  }

  @Test func `Where an identity is required, a device key alone reports nothing`() async throws {
    try await withSoftphoneGateway { gateway in
      try await gateway.bench.database.query("UPDATE push_app SET identity_required = true WHERE push_app_id = 1")
      let device = try await AccessKeys(gateway.bench.pool).make(gateway.bench.customer, name: "app", scope: .device)
      for path in ["report", "removal"] {
        let report = try json(Self.report)
        let refused = try await gateway.server.send("POST", "/k/\(device.token)/tokens/\(path)", json: report)
        #expect(refused.status == 403 && refused.error?.contains("X-Pushcart-Identity") == true)
        #expect(try await gateway.server.send("POST", "/k/\(gateway.key)/tokens/\(path)", json: report).status == 204)
      }
    }
  }
}
