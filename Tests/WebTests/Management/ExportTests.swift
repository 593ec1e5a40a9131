import DataInOut
import Locking
import Postgres
import Registry
import Support
import Testing
import Wire

/// Clients that take the first bytes of their replies, and no more.
private final class SlowReaders: Sendable {
  let begun = Mutex(0)
  /// Whether they leave.
  let isTime = Mutex(false)

  @Sendable func begin() { begun.withLock { $0 += 1 } }
}

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

  @Test func `An export of devices has none that get SMS, which no import takes`() async throws {
    try await withManagementServer { managed in
      let (app, other) = (try await managed.addApp(), try await managed.addApp("com.acme.other"))
      try await put("0031612345678", "{}", managed)
      for (app, token) in [(app, "aa"), (other, "+31612345678")] {
        try await managed.database.query(
          """
          INSERT INTO device (customer_id, push_app_id, contact_id, token, token_key)
          SELECT $1::bigint, $2::bigint, contact_id, $3::text, sha256($3::text::bytea) FROM contact
          """, managed.customer.rawValue, app, token)
      }
      let path = "devices?columns=originalId,deviceToken"
      #expect(try await export(path, managed).text.split(separator: "\n").count == 3)
      try await managed.database.query("UPDATE push_app SET app_type = 10 WHERE push_app_id = $1::bigint", other)
      #expect(try await export(path, managed).text == "originalId,deviceToken\n0031612345678,aa\n")
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
        // No transaction stays open while nobody reads. The page ahead is read meanwhile, in one of its own.
        try await waitUntil {
          try await managed.database.query(
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'"
          ).isEmpty
        }
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
        ("contacts?columns=nope", "nope"),
        ("contacts?filter=contry%20%3D%20'SE'", "filter at 1: no field is called contry; did you mean country?"),
        ("contacts?filter=%7B%22everyone%22:false%7D", "filter at"), ("contacts?filter=%7Bx", "filter at the top"),
        ("contacts?sendout=1", "sendout"),
        ("contacts?format=xml", "format"), ("devices?columns=originalId,originalId", "twice"),
        ("pushes?exact=maybe", "exact"),
      ] {
        let reply = try await export(query, managed)
        #expect(reply.status == 400 && reply.error?.contains(word) == true, "\(query): \(reply.text)")
      }
    }
  }

  @Test func `An export of a sendout that the customer does not have is refused before its first byte`() async throws {
    try await withManagementServer { managed in
      try await managed.database.addSendouts(7...7, of: managed.customer)
      #expect(try await export("pushes?sendout=7&columns=pushNo", managed).text == "pushNo\n")
      for (sendout, key) in [(8, managed.key), (7, managed.otherKey)] {
        let refused = try await export("pushes?sendout=\(sendout)", managed, key: key)
        #expect(refused.status == 400)
        #expect(refused.error == "sendout names sendout \(sendout), and there is none of this number.")
      }
      let log = try await managed.send("GET", "/api/v1/audit").json.array("items") ?? []
      #expect(log.filter { $0.string("action") == "data.export" }.count == 1)
      // Neither keeps one of the customer's places.
      let exports = Exports(managed.database.pool, retentionDays: nil)
      var request = ExportRequest(.pushes)
      for sendout in [8, 8, 8, 7] as [Int64] {
        request.sendout = SendoutID(sendout)
        let pages = try? await exports.begin(managed.customer, request)
        #expect((pages != nil) == (sendout == 7))
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

  @Test(arguments: [ExportRequest.Format.csv, .ndjson])
  func `An export that finds nothing for long sends the end of what it has found byte by byte`(
    format: ExportRequest.Format
  ) async throws {
    try await withManagementServer { managed in
      try await managed.database.query(
        """
        INSERT INTO contact (customer_id, original_id, country)
        SELECT $1::bigint, 'c' || n, CASE WHEN n IN (1, 100) THEN 'SE' ELSE 'NO' END FROM generate_series(1, 100) AS n
        """, managed.customer.rawValue)
      var request = ExportRequest(.contacts)
      (request.filter, request.columns, request.format) = (try Filter(text: "country = 'SE'"), ["originalId"], format)
      let exports = Exports(managed.database.pool, retentionDays: nil, window: 10, signAfter: .zero)
      var chunks: [[UInt8]] = []
      for try await chunk in try await exports.begin(managed.customer, request) { chunks.append(chunk) }
      #expect(chunks.allSatisfy { !$0.isEmpty })
      // Eight windows have nothing.
      #expect(chunks.count { $0.count == 1 } >= 8)
      let file = Array(chunks.joined())
      if format == .csv {
        #expect(String(decoding: file, as: UTF8.self) == "originalId\nc1\nc100\n")
      } else {
        let rows = try file.split(separator: UInt8(ascii: "\n")).map { try JSONValue(parsing: Array($0)) }
        #expect(rows == [["originalId": "c1"], ["originalId": "c100"]] && file.last == UInt8(ascii: "\n"))
      }
      let usual = Exports(managed.database.pool, retentionDays: nil, window: 10)
      var bytes: [UInt8] = []
      for try await page in try await usual.begin(managed.customer, request) { bytes += page }
      #expect(bytes == file)
    }
  }

  @Test(arguments: ["received sendout 1", "not opened sendout 1 >= 2", "outcome of sendout 1 = 'opened' or has device"])
  func `A filter of an export finds the same in windows of any size`(line: String) async throws {
    try await withManagementServer { managed in
      try await managed.database.addSendouts(1...1, of: managed.customer)
      try await managed.database.query(
        "INSERT INTO contact (customer_id, original_id) SELECT $1::bigint, 'c' || n FROM generate_series(1, 60) AS n",
        managed.customer.rawValue)
      try await managed.database.query(
        """
        INSERT INTO push (customer_id, sendout_id, push_no, batch_no, device_id, contact_id, state, settled_at, opened_at)
        SELECT customer_id, 1, contact_id, 0, 1, contact_id, 'accepted', now(), CASE WHEN contact_id % 4 = 0 THEN now() END
          FROM contact WHERE customer_id = $1 AND contact_id % 2 = 0
        """, managed.customer.rawValue)
      var request = ExportRequest(.contacts)
      (request.filter, request.columns) = (try Filter(text: line), ["originalId"])
      var files: [[UInt8]] = []
      for window in [7, 1000] {
        let exports = Exports(managed.database.pool, retentionDays: nil, window: window)
        var file: [UInt8] = []
        for try await page in try await exports.begin(managed.customer, request) { file += page }
        files.append(file)
      }
      #expect(files[0] == files[1])
      #expect(files[0].count > "originalId\n".utf8.count)
    }
  }

  @Test func `A hub makes some exports at a time, and keeps places for customers that have none`() async throws {
    try await withManagementServer { managed in
      let exports = Exports(managed.database.pool, retentionDays: nil)
      var request = ExportRequest(.contacts)
      request.columns = ["originalId"]
      var held: [ExportPages] = []
      for customer in [1, 1, 2, 2, 3, 3, 4, 4, 5] as [Int64] {
        held.append(try await exports.begin(CustomerID(customer), request))
      }
      for (customer, refusal) in [(5, DataInOutError.tooManyExportsOfAll), (1, .tooManyExports(limit: 2))] {
        await #expect(throws: refusal) { try await exports.begin(CustomerID(Int64(customer)), request) }
      }
      for customer: Int64 in 6...12 { held.append(try await exports.begin(CustomerID(customer), request)) }
      #expect(held.count == Exports.atOnceOfAll)
      await #expect(throws: DataInOutError.tooManyExportsOfAll) { try await exports.begin(CustomerID(13), request) }
      held.removeLast()
      held.append(try await exports.begin(CustomerID(13), request))
      #expect(held.count == Exports.atOnceOfAll)
    }
  }

  @Test func `A filter may be a tree`() async throws {
    try await withManagementServer { managed in
      try await put("a", #"{"country":"SE"}"#, managed)
      try await put("b", #"{"country":"NO"}"#, managed)
      let tree = PercentEncoding.encode(#"{"field":"country","op":"=","value":"NO"}"#)
      #expect(try await export("contacts?columns=originalId&filter=\(tree)", managed).text == "originalId\nb\n")
    }
  }

  @Test func `While two exports of a customer are not read a third is refused, and others wait for nobody`()
    async throws
  {
    // One connection for all transactions, so that an export that held it would be noticed.
    try await withManagementServer(database: { $0.dedicatedConnections = 1 }) { managed in
      // Twelve MiB: more than the system takes for a client.
      try await managed.database.query(
        """
        INSERT INTO contact (customer_id, original_id, properties)
        SELECT $1::bigint, 'c' || number, ('{"p":"' || repeat('x', 60000) || '"}')::json FROM generate_series(1, 200) AS number
        """, managed.customer.rawValue)
      let path = "contacts?columns=originalId,properties.p"
      let request = """
        GET /api/v1/exports/\(path) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(managed.key)\r\n\r\n
        """
      let readers = SlowReaders()
      let raw = try RawHTTP(managed.server.url)
      async let first = raw.hold(request, hasBegun: readers.begin, until: { readers.isTime.withLock(\.self) })
      async let second = raw.hold(request, hasBegun: readers.begin, until: { readers.isTime.withLock(\.self) })
      try await waitUntil { readers.begun.withLock { $0 == 2 } }
      let third = try await managed.send("GET", "/api/v1/exports/\(path)")
      #expect(third.status == 429 && third.header("Retry-After") == "10", "\(third.text)")
      // Pages are read ahead until the system takes no more; then no transaction is open.
      try await waitUntil {
        try await managed.database.query(
          """
          SELECT count(*) FROM pg_stat_activity
           WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
          """)[0].decode(Int64.self) == 0
      }
      let other = try await export("contacts?columns=originalId", managed, key: managed.otherKey)
      #expect(other.status == 200 && other.text == "originalId\n", "\(other.text)")
      #expect(try await managed.send("GET", "/api/v1/reports/devices").status == 200)
      readers.isTime.withLock { $0 = true }
      let held = try await (first, second)
      #expect(held.0 && held.1)
      try await waitUntil { try await export("contacts?columns=originalId", managed).status == 200 }
    }
  }

  @Test func `An export that ends, breaks off or is refused makes room for the next one`() async throws {
    try await withManagementServer { managed in
      let exports = Exports(managed.database.pool, retentionDays: nil)
      var request = ExportRequest(.contacts)
      request.columns = ["originalId"]
      for _ in 0..<5 {
        var wrong = request
        wrong.columns = ["nope"]
        await #expect(throws: DataInOutError.self) { try await exports.begin(managed.customer, wrong) }
        _ = try await exports.begin(managed.customer, request)
      }
      let held = try await exports.begin(managed.customer, request)
      let read = try await exports.begin(managed.customer, request)
      await #expect(throws: DataInOutError.tooManyExports(limit: 2)) {
        try await exports.begin(managed.customer, request)
      }
      _ = try await exports.begin(managed.other, request)
      for try await _ in read {}
      // It has been read to its end, though it is still there.
      _ = try await exports.begin(managed.customer, request)
      withExtendedLifetime((held, read)) {}
    }
  }

  @Test func `A filter that few of many meet is asked window by window, and each of these few is there once`()
    async throws
  {
    try await withManagementServer { managed in
      try await managed.database.query(
        """
        INSERT INTO contact (customer_id, original_id, city)
        SELECT customer_id, 'c' || n, CASE WHEN n % 777 = 0 THEN 'Lund' END
          FROM generate_series(1, 4321) AS n CROSS JOIN unnest(ARRAY[$1::bigint, $2::bigint]) AS customer_id
        """, managed.customer.rawValue, managed.other.rawValue)
      for window in [1, 100, 777, 4321, 5000] {
        let exports = Exports(managed.database.pool, retentionDays: nil, window: window)
        var request = ExportRequest(.contacts)
        request.columns = ["originalId"]
        request.filter = try Filter(text: "city = 'Lund'")
        var bytes: [UInt8] = []
        for try await page in try await exports.begin(managed.customer, request) { bytes += page }
        let expected = ["originalId"] + (1...5).map { "c\($0 * 777)" }
        #expect(String(decoding: bytes, as: UTF8.self) == expected.map { $0 + "\n" }.joined(), "\(window)")
      }
    }
  }

  @Test func `Every property that a contact has becomes a column, wherever it stands`() async throws {
    try await withManagementServer { managed in
      try await managed.database.query(
        """
        INSERT INTO contact (customer_id, original_id, country, properties)
        SELECT $1::bigint, 'c' || n, CASE WHEN n < 900 THEN 'SE' END,
               CASE n WHEN 1 THEN '{"food":"x"}' WHEN 500 THEN '{"a b":1}' WHEN 1000 THEN '{"Ö":true}' ELSE '{}' END::json
          FROM generate_series(1, 1000) AS n
        """, managed.customer.rawValue)
      for (filter, names) in [
        (nil, ["a b", "food", "Ö"]), ("country = 'SE'", ["a b", "food"]), ("country = 'NO'", []),
      ] as [(String?, [String])] {
        for window in [1, 99, 1000, 50_000] {
          var request = ExportRequest(.contacts)
          request.filter = try filter.map { try Filter(text: $0) }
          let pages = try await Exports(managed.database.pool, retentionDays: nil, window: window).begin(
            managed.customer, request)
          guard case .array(let columns)? = pages.audited["columns"] else {
            Issue.record("no columns")
            continue
          }
          let found = columns.compactMap(\.text).filter { $0.hasPrefix("properties.") }
          #expect(found == names.map { "properties.\($0)" }, "\(filter ?? "") \(window)")
        }
      }
    }
  }

  @Test func `Devices and pushes that meet a filter are found window by window`() async throws {
    try await withManagementServer { managed in
      let app = try await managed.addApp()
      try await managed.database.addSendouts(1...1, of: managed.customer)
      try await managed.database.query(
        """
        WITH made AS (
          INSERT INTO contact (customer_id, original_id, city)
          SELECT 1, 'c' || n, CASE WHEN n % 50 = 0 THEN 'Lund' END FROM generate_series(1, 300) AS n
          RETURNING contact_id, original_id)
        INSERT INTO device (customer_id, push_app_id, contact_id, token, token_key)
        SELECT 1, $1::bigint, contact_id, 'token of ' || original_id, decode(md5(original_id), 'hex') FROM made
        """, app)
      for window in [1, 70, 1000] {
        var request = ExportRequest(.devices)
        request.columns = ["originalId"]
        request.filter = try Filter(text: "city = 'Lund'")
        var bytes: [UInt8] = []
        let exports = Exports(managed.database.pool, retentionDays: nil, window: window)
        for try await page in try await exports.begin(managed.customer, request) { bytes += page }
        let rows = String(decoding: bytes, as: UTF8.self).split(separator: "\n").dropFirst().sorted()
        #expect(rows == ["c100", "c150", "c200", "c250", "c300", "c50"], "\(window)")
        for sendout in [nil, SendoutID(1)] {
          var pushes = ExportRequest(.pushes)
          (pushes.columns, pushes.filter, pushes.sendout) = (["originalId"], request.filter, sendout)
          var none: [UInt8] = []
          for try await page in try await exports.begin(managed.customer, pushes) { none += page }
          #expect(String(decoding: none, as: UTF8.self) == "originalId\n")
        }
      }
    }
  }

  @Test func `An export goes on after its connection is lost between two pages`() async throws {
    try await withManagementServer { managed in
      try await managed.database.query(
        """
        INSERT INTO contact (customer_id, original_id)
        SELECT $1::bigint, 'c' || n FROM generate_series(1, 2500) AS n
        """, managed.customer.rawValue)
      var request = ExportRequest(.contacts)
      request.columns = ["originalId"]
      let pages = try await Exports(managed.database.pool, retentionDays: nil).begin(managed.customer, request)
      var (bytes, count): ([UInt8], Int) = ([], 0)
      for try await page in pages {
        bytes += page
        count += 1
        guard count == 1 else { continue }
        _ = try? await managed.database.query(
          """
          SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE datname = current_database() AND pid <> pg_backend_pid()
          """)
      }
      #expect(count > 1)
      let ids = String(decoding: bytes, as: UTF8.self).split(separator: "\n").dropFirst().map(String.init)
      #expect(ids == (1...2500).map { "c\($0)" })
    }
  }
}
