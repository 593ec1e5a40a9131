import DataInOut
import Postgres
import Registry
import Support
import Testing
import Wire

@Suite struct ManagementImportTests {
  /// Sends a file, whose content type the contract does not describe.
  private func put(
    _ file: String, to number: Int64, _ managed: ManagementServer, key: String? = nil, type: String = "text/csv"
  ) async throws -> TestReply {
    try await managed.server.send(
      "PUT", "/api/v1/imports/\(number)/file", key: key ?? managed.key, headers: [("Content-Type", type)], body: file)
  }

  private func finish(_ number: Int64, _ managed: ManagementServer) async throws {
    let work = ImportWork(managed.database.pool, suppressions: .ofTests, endpoints: EndpointRules())
    while try await work.step(managed.customer, ImportID(number)) {}
  }

  private func add(_ json: String, _ managed: ManagementServer) async throws -> Int64 {
    let reply = try await managed.send("POST", "/api/v1/imports", json: json)
    #expect(reply.status == 201)
    #expect(try reply.json["state"] == "waiting")
    return try reply.json.integer("importId") ?? -1
  }

  @Test func `A file is sent, merged, and its rejects are shown`() async throws {
    try await withManagementServer { managed in
      let number = try await add(#"{"columns":{"Kundnr":"originalId","Intern":null}}"#, managed)
      let sent = try await put("Kundnr;Intern;firstName\r\n1;x;Lars\r\n;x;Mia\r\n", to: number, managed)
      #expect(sent.status == 202)
      #expect(try sent.json["state"] == "checking")
      try await finish(number, managed)
      let reply = try await managed.send("GET", "/api/v1/imports/\(number)")
      #expect(try reply.json["state"] == "finished")
      #expect(try reply.json.integer("added") == 1)
      #expect(try reply.json.integer("rejected") == 1)
      let rejects = try await managed.server.send("GET", "/api/v1/imports/\(number)/rejects", key: managed.key)
      #expect(rejects.status == 200)
      #expect(rejects.text == "line,column,problem,row\r\n3,Kundnr,is empty,\";x;Mia\"\r\n")
    }
  }

  @Test func `A file that cannot be imported is told at once`() async throws {
    try await withManagementServer { managed in
      let number = try await add("{}", managed)
      let sent = try await put("Kundnr\n1\n", to: number, managed)
      #expect(sent.status == 202)
      #expect(try sent.json["state"] == "failed")
      let again = try await put("originalId\n1\n", to: number, managed)
      #expect(again.status == 409)
    }
  }

  @Test func `Only CSV is taken, and only for the customer's own import`() async throws {
    try await withManagementServer { managed in
      let number = try await add("{}", managed)
      #expect(try await put("originalId\n", to: number, managed, type: "application/json").status == 415)
      #expect(try await put("originalId\n1\n", to: number, managed, key: managed.otherKey).status == 404)
      #expect(try await managed.send("GET", "/api/v1/imports/\(number)", key: managed.otherKey).status == 404)
      #expect(try await managed.send("POST", "/api/v1/imports/\(number)/cancel", key: managed.otherKey).status == 404)
      #expect(
        try await managed.server.send("GET", "/api/v1/imports/\(number)/rejects", key: managed.otherKey).status == 404)
      #expect(try await put("originalId\n1\n", to: number, managed).status == 202)
    }
  }

  @Test func `The audit log has what was imported, and no cells of people`() async throws {
    try await withManagementServer { managed in
      let number = try await add("{}", managed)
      _ = try await put("originalId,firstName\nlars,Larsson\n", to: number, managed)
      _ = try await managed.send("POST", "/api/v1/imports/\(number)/cancel")
      let lines = try await managed.database.query(
        "SELECT action || coalesce(before::text, '') || coalesce(after::text, '') FROM audit_log WHERE target = $1 ORDER BY 1",
        "import \(number)"
      ).map { try $0.decode(String.self) }
      #expect(lines.map { String($0.prefix { $0 != "{" }) } == ["import.add", "import.cancel", "import.receive"])
      #expect(!lines.joined().contains("Larsson"))
    }
  }

  @Test(arguments: [
    (#"{"mode":"replace"}"#, "listId is missing"), (#"{"columns":{"a":"nothing"}}"#, "columns says nothing of a"),
    (#"{"delimiter":"ö"}"#, "delimiter must be"), (#"{"dateFormat":"D.M.Y"}"#, "dateFormat must have"),
    (#"{"listId":77}"#, "listId names no list"), (#"{"segmentId":77}"#, "segmentId names no segment"),
    (#"{"appId":"com.acme.none"}"#, "appId names no push app"), (#"{"appType":10}"#, "appType must be"),
    (#"{"name":""}"#, "name is"),
  ])
  func `A request that means nothing names the field`(json: String, sentence: String) async throws {
    try await withManagementServer { managed in
      let reply = try await managed.send("POST", "/api/v1/imports", json: json)
      #expect(reply.status == 400)
      #expect(reply.error?.hasPrefix(sentence) == true, "\(reply.error ?? "")")
    }
  }

  @Test func `Back ends import to Carma's lists in three steps`() async throws {
    try await withManagementServer { managed in
      _ = try await managed.send("POST", "/api/v1/lists", json: #"{"name":"newsletter","listId":7}"#)
      let path = "/rest/\(managed.customer)"
      func run(_ type: String, _ file: String) async throws -> JSONValue? {
        let new = try await managed.send(
          "POST", "\(path)/lists/7/imports",
          json: #"{"delimiter":"124","encoding":"UTF8","type":"\#(type)","identityColumn":"originalId"}"#)
        #expect(new.status == 200)
        let number = try new.json.integer("id") ?? -1
        let sent = try await managed.server.send(
          "POST", "\(path)/lists/7/recipients/\(number)", key: managed.key, headers: [("Content-Type", "text/csv")],
          body: file)
        #expect(sent.status == 200)
        #expect(try sent.json.integer("batchId") == number)
        try await finish(number, managed)
        return try await managed.send("GET", "\(path)/batches/\(number)").json["status"]
      }
      func members() async throws -> Int {
        try await managed.database.query("SELECT count(*) FROM list_member")[0].decode(Int.self)
      }
      #expect(try await run("ADD", "originalId|firstName|Färg\n1|Lars|röd\n2|Mia|\n") == "FINISHED")
      #expect(try await members() == 2)
      #expect(try await run("REPLACE", "originalId\n2\n") == "FINISHED")
      #expect(try await members() == 1)
      #expect(try await run("REPLACE", "originalId\n") == "FINISHED")
      #expect(try await members() == 0)
      #expect(try await run("ADD", "firstName\nLars\n") == "ERROR")
    }
  }
}
