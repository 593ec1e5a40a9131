import Postgres
import Registry
import Support
import Testing
import Wire

/// Names and texts whose normal form costs the square of their length, at every route that reads what others name.
@Suite struct HostileNameTests {
  /// 50 KB of two marks in turn.
  private static let name = "a" + String(repeating: "\u{301}\u{323}", count: 12_500)
  /// Marks that an address holds percent-encoded, and XML as references.
  private static let escapes = String(repeating: "%CC%81%CC%A3", count: 50)
  private static let references = String(repeating: "&#x301;&#x323;", count: 50)

  private static let json = [#"{"\#(name)":1}"#, #"[{"\#(name)":1}]"#, #"{"x":{"\#(name)":[]}}"#]
  private static let xml = [
    "<MESSAGES><\(name)/></MESSAGES>", #"<MESSAGES \#(name)="1"/>"#, #"<MESSAGES xmlns:\#(name)="x"/>"#,
    "<MESSAGES><MSG><FROM>\(references)</FROM></MSG></MESSAGES>",
  ]
  private static let forms = ["\(name)=1", "\(escapes)\(escapes)\(escapes)=1", "verb=\(escapes)"]

  @Test func `Every body of JSON is refused for its name`() async throws {
    try await withNamed { managed, keys in
      let document = managed.contract.document
      for operation in managed.contract.operations.sorted(by: { ($0.path, $0.method) < ($1.path, $1.method) }) {
        let described = document["paths"]?[operation.path]?[operation.method.lowercased()]
        guard described?["requestBody"]?["content"]?["application/json"] != nil else { continue }
        let path = keys.path(operation, described)
        for (index, json) in Self.json.enumerated() {
          let reply = try await managed.server.send(
            operation.method, path, key: keys.key(path), headers: keys.headers(path), json: json)
          Self.expectRefusal(reply, "\(operation.method) \(operation.path)", names: index == 0)
        }
      }
    }
  }

  @Test func `Every address is refused for its marks`() async throws {
    try await withNamed { managed, keys in
      for operation in managed.contract.operations.sorted(by: { ($0.path, $0.method) < ($1.path, $1.method) }) {
        let described = managed.contract.document["paths"]?[operation.path]?[operation.method.lowercased()]
        let path = keys.path(operation, described)
        for target in ["\(path)?\(Self.escapes)=1", "\(path)?x=\(Self.escapes)", "\(path)/\(Self.escapes)"] {
          let reply = try await managed.server.send(
            operation.method, target, key: keys.key(path), headers: keys.headers(path))
          #expect(
            reply.status == 400 && (operation.method == "HEAD" || reply.text.contains(CombiningMarks.problem)),
            "\(operation.method) \(operation.path): \(reply.status) \(reply.text.prefix(200))")
        }
      }
    }
  }

  @Test func `Forms and XML are refused for their names`() async throws {
    try await withNamed { managed, keys in
      let softphone = "/k/\(managed.key)"
      for path in ["\(softphone)/pnm2", "\(softphone)/tokens/report", "\(softphone)/tokens/removal"] {
        for form in Self.forms {
          let reply = try await managed.server.post(
            path, Array(form.utf8), type: "application/x-www-form-urlencoded")
          Self.expectRefusal(reply, path)
        }
      }
      for path in ["/gateway.ashx", "/v1.0/message"] {
        for xml in Self.xml {
          // CM's gateway says it in a 200.
          let reply = try await managed.server.post(path, Array(xml.utf8), type: "application/xml")
          #expect(Self.namesLimit(reply), "\(path): \(reply.status) \(reply.text.prefix(200))")
        }
      }
      // A report is in the provider's form or in none.
      for body in Self.json + Self.xml + Self.forms {
        let reply = try await managed.server.post(keys.statusPath, Array(body.utf8))
        #expect(reply.status == 400, "\(reply.status) \(reply.text.prefix(200))")
      }
    }
  }

  /// - Parameter names: whether the refusal is for the name, and not for what holds it.
  private static func expectRefusal(_ reply: TestReply, _ place: String, names: Bool = true) {
    let isRefused = [401, 404, 413].contains(reply.status) || reply.status == 400 && (!names || namesLimit(reply))
    #expect(isRefused, "\(place): \(reply.status) \(reply.text.prefix(200))")
  }

  private static func namesLimit(_ reply: TestReply) -> Bool {
    ["128 bytes", "768 bytes", CombiningMarks.problem].contains { reply.text.contains($0) }
  }

  /// What opens each route.
  private struct Keys: Sendable {
    let customer: CustomerID
    let admin: String
    let datasync: String
    /// Where CM reports what became of SMS.
    let statusPath: String

    func key(_ path: String) -> String { path.hasPrefix("/datasync/") ? datasync : admin }

    func headers(_ path: String) -> [(String, String)] {
      path.hasPrefix("/rest/") ? [("X-Carma-Authentication-Token", admin)] : []
    }

    /// The path with the examples of its parameters, but this customer and its key.
    func path(_ operation: APIContract.Operation, _ described: JSONValue?) -> String {
      (described?.array("parameters") ?? []).reduce(operation.path) { path, parameter in
        let name = parameter.string("name") ?? ""
        let example = parameter.string("example") ?? parameter.integer("example").map { "\($0)" } ?? ""
        let own = ["customerId": "\(customer)", "accessKey": admin][name]
        return path.replacing("{\(name)}", with: own ?? example)
      }
    }
  }

  private func withNamed(_ body: @escaping @Sendable (ManagementServer, Keys) async throws -> Void) async throws {
    try await withManagementServer { managed in
      try await managed.addApp()
      _ = try await managed.send("POST", "/api/v1/lists", json: #"{"name":"first"}"#)
      _ = try await managed.send("PUT", "/api/v1/templates/offer", json: #"{"body":"x"}"#)
      _ = try await managed.send(
        "POST", "/api/v1/triggers", json: #"{"name":"first","appId":"com.acme.app","message":{"alert":"x"}}"#)
      let tree = try await managed.send("POST", "/api/v1/datasync", json: #"{"app":"com.acme.app"}"#)
      try await PushApps(managed.database.pool, vault: managed.vault).addSMS(managed.customer)
      let shown = try await managed.send("GET", "/api/v1/sms").json.string("statusUrl")
      let token = try #require(shown?.split(separator: "/").last)
      try await body(
        managed,
        Keys(
          customer: managed.customer, admin: managed.key, datasync: try #require(try tree.json.string("secret")),
          statusPath: "/sms/status/\(token)"))
    }
  }
}
