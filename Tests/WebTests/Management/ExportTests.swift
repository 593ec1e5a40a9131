import DataInOut
import Postgres
import Registry
import Support
import Testing
import Wire

@Suite struct ExportTests {
  private func export(_ path: String, _ managed: ManagementServer, key: String? = nil) async throws -> TestReply {
    try await managed.server.send("GET", "/api/v1/exports/\(path)", key: key ?? managed.key)
  }

  private func put(_ id: String, _ json: String, _ managed: ManagementServer) async throws {
    let reply = try await managed.send("PUT", "/api/v1/contacts/\(PercentEncoding.encode(id))", json: json)
    #expect(reply.status == 200, "\(reply.text)")
  }

  @Test func `Contacts come with their properties, and formulas with an apostrophe`() async throws {
    try await withManagementServer { managed in
      try await put("a", #"{"firstName":"=1+1","properties":{"food":"meat, \"raw\""}}"#, managed)
      try await put("b", #"{"firstName":"'-x","city":"o'Neill"}"#, managed)
      let reply = try await export("contacts?columns=originalId,firstName,city,properties.food", managed)
      #expect(reply.status == 200)
      #expect(reply.header("content-type") == "text/csv; charset=utf-8")
      #expect(
        reply.text
          == "originalId,firstName,city,properties.food\na,'=1+1,,\"meat, \"\"raw\"\"\"\nb,''-x,o'Neill,\n")
      let exact = try await export("contacts?columns=originalId,firstName&exact=true", managed)
      #expect(exact.text == "originalId,firstName\na,=1+1\nb,'-x\n")
      let found = try await export("contacts?columns=originalId&filter=firstName%20starts%20with%20'%3D'", managed)
      #expect(found.text == "originalId\na\n")
      let lines = try await export("contacts?format=ndjson&columns=originalId,properties.food", managed)
      let rows = try lines.text.split(separator: "\n").map { try JSONValue(parsing: Array($0.utf8)) }
      #expect(rows == [["originalId": "a", "properties.food": "meat, \"raw\""], ["originalId": "b"]])
      #expect(try await export("contacts?columns=originalId", managed, key: managed.otherKey).text == "originalId\n")
      let log = try await managed.send("GET", "/api/v1/audit").json.array("items") ?? []
      #expect(log.filter { $0.string("action") == "data.export" }.count == 4)
    }
  }

  @Test func `What an export writes, an import reads back to the same contacts`() async throws {
    try await withManagementServer { managed in
      try await put(
        "a", #"{"firstName":"=x","lastName":"two\nlines","dateOfBirth":"1980-02-29","properties":{"a b":"'+"}}"#,
        managed)
      try await put(
        "'=b", #"{"emailAddress":"b@example.com","timeZone":"Europe/Stockholm","language":"sv-SE"}"#, managed)
      let rows = """
        SELECT json_build_object('c', to_jsonb(c) - 'contact_id' - 'customer_id' - 'created_at' - 'updated_at')::text FROM contact c
        ORDER BY original_id COLLATE "C"
        """
      let before = try await managed.database.query(rows).map { try $0.decode(String.self) }
      let file = try await export("contacts", managed).text
      try await managed.database.query("DELETE FROM contact")
      let number = try await managed.send("POST", "/api/v1/imports", json: "{}").json.integer("importId") ?? -1
      let sent = try await managed.server.send(
        "PUT", "/api/v1/imports/\(number)/file", key: managed.key, headers: [("Content-Type", "text/csv")], body: file)
      #expect(sent.status == 202, "\(sent.text)")
      let work = ImportWork(managed.database.pool, suppressions: .ofTests, endpoints: EndpointRules())
      while try await work.step(managed.customer, ImportID(number)) {}
      #expect(try await managed.database.query(rows).map { try $0.decode(String.self) } == before)
    }
  }

  @Test func `An export of many rows has each of them once, in pages`() async throws {
    try await withManagementServer { managed in
      try await managed.database.query(
        """
        INSERT INTO contact (customer_id, original_id)
        SELECT customer_id, 'c' || n FROM generate_series(1, 4321) AS n CROSS JOIN (SELECT $1::bigint AS customer_id) AS c
        """, managed.customer.rawValue)
      var request = ExportRequest(.contacts)
      request.columns = ["originalId"]
      let pages = try await Exports(managed.database.pool, retentionDays: nil).begin(managed.customer, request)
      var (count, bytes): (Int, [UInt8]) = (0, [])
      for try await page in pages {
        count += 1
        bytes += page
        // No transaction is open while nobody reads.
        let open = try await managed.database.query(
          "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'"
        )[0].decode(Int64.self)
        #expect(open == 0)
      }
      #expect(count > 1)
      let ids = String(decoding: bytes, as: UTF8.self).split(separator: "\n").dropFirst()
      #expect(ids.count == 4321 && Set(ids).count == 4321)
      #expect(try await export("contacts?columns=originalId", managed).body == bytes)
    }
  }

  @Test func `A wrong parameter is named`() async throws {
    try await withManagementServer { managed in
      for (query, word) in [
        ("contacts?columns=nope", "nope"), ("contacts?filter=contry%20%3D%20'SE'", "contry"),
        ("contacts?sendout=1", "sendout"),
        ("contacts?format=xml", "format"), ("devices?columns=originalId,originalId", "twice"),
        ("pushes?exact=maybe", "exact"),
      ] {
        let reply = try await export(query, managed)
        #expect(reply.status == 400 && reply.error?.contains(word) == true, "\(query): \(reply.text)")
      }
    }
  }

  @Test func `A page of large rows ends before it takes much memory, and the next one goes on behind it`() async throws
  {
    try await withManagementServer { managed in
      try await managed.database.query(
        """
        INSERT INTO contact (customer_id, original_id, properties)
        SELECT $1::bigint, 'c' || number, ('{"p":"' || repeat('x', 60000) || '"}')::json FROM generate_series(1, 200) AS number
        """, managed.customer.rawValue)
      var request = ExportRequest(.contacts)
      request.columns = ["originalId", "properties.p"]
      let pages = try await Exports(managed.database.pool, retentionDays: nil).begin(managed.customer, request)
      var (file, largest): ([UInt8], Int) = ([], 0)
      for try await page in pages {
        file += page
        largest = max(largest, page.count)
      }
      #expect(largest < 5 << 20)
      let ids = file.split(separator: UInt8(ascii: "\n")).dropFirst().map { row in
        String(decoding: row.prefix { $0 != UInt8(ascii: ",") }, as: UTF8.self)
      }
      #expect(ids == (1...200).map { "c\($0)" })
    }
  }
}
