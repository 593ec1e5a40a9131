import Postgres
import Registry
import Support
import Testing
import Wire

@testable import DataInOut

@Suite struct ImportDeviceTests {
  private static let tokens = (token("A"), token("B"), token("C"))

  private static func token(_ digit: String) -> String { String(repeating: digit, count: 64) }

  private let app = "com.acme.app"

  /// Original id, the token's first letter, whether it is of the sandbox, and why it is invalid.
  private func devices(_ database: TestDatabase) async throws -> [String] {
    try await database.query(
      """
      SELECT original_id || ' ' || left(upper(token), 1) || CASE WHEN sandbox THEN ' sandbox' ELSE '' END || ' ' || invalidation_type
      FROM device JOIN contact USING (customer_id, contact_id) ORDER BY 1
      """
    ).map { try $0.decode(String.self) }
  }

  private func bench(_ database: TestDatabase, portion: Int64 = 2000) async throws -> ImportBench {
    let bench = try await ImportBench(database, portion: portion)
    try await database.pool.addSampleApps(bench.customer)
    return bench
  }

  @Test func `Rows bring their tokens, and all rows of one identity do`() async throws {
    try await withDatabase { database in
      for portion in [1, 2000] {
        let bench = try await bench(database, portion: Int64(portion))
        let (a, b, c) = Self.tokens
        let reply = try await bench.run(
          "originalId,firstName,deviceToken,sandboxToken\nx,1,\(a),true\ny,,\(b),\nx,2,\(c),\n",
          ImportRequest(appId: app))
        #expect(Counts(reply) == Counts(added: 2, duplicates: 1))
        #expect(reply.devices == 3)
        #expect(try await devices(database) == ["x A sandbox 0", "x C 0", "y B 0"])
        #expect(try await bench.contacts() == ["x 2", "y"])
        try await database.query("DELETE FROM device")
      }
    }
  }

  @Test func `A row whose last one has a later one by its original id brings its token, too`() async throws {
    try await withDatabase { database in
      let bench = try await bench(database)
      let (a, b, c) = Self.tokens
      let reply = try await bench.run(
        "emailAddress,originalId,deviceToken\nx@example.com,x,\(a)\nx@example.com,x,\(b)\ny@example.com,x,\(c)\n",
        ImportRequest(identity: .emailAddress, appId: app))
      #expect(Counts(reply) == Counts(added: 1, duplicates: 2))
      #expect(try await devices(database) == ["x A 0", "x B 0", "x C 0"])
    }
  }

  @Test func `Whoever is erased meanwhile gets no token, and does not come back`() async throws {
    try await withDatabase { database in
      let bench = try await bench(database)
      let sent = try await bench.send(
        Array("originalId,deviceToken\nx,\(Self.tokens.0)\n".utf8), ImportRequest(appId: app))
      // Duplicates are marked, and rows merged.
      for _ in 0..<2 { #expect(try await bench.work.step(bench.customer, sent.importId)) }
      #expect(try await bench.contacts() == ["x"])
      try await database.query("DELETE FROM contact WHERE customer_id = $1", bench.customer.rawValue)
      #expect(try await bench.finish(sent.importId).devices == 0)
      #expect(try await bench.contacts() == [])
    }
  }

  @Test func `A token that is invalid stays so, and one that was registered meanwhile keeps its contact`() async throws
  {
    try await withDatabase { database in
      let bench = try await bench(database)
      let (a, b, c) = Self.tokens
      _ = try await bench.run(
        "originalId,deviceToken\nx,\(a)\ny,\(b)\nz,\(c)\n", ImportRequest(appId: app))
      try await database.query(
        """
        UPDATE device SET registered_at = registered_at - interval '1 hour',
          invalidated_at = CASE WHEN upper(token) LIKE 'A%' THEN now() END,
          invalidation_type = CASE WHEN upper(token) LIKE 'A%' THEN 2 ELSE 0 END
        """)
      let sent = try await bench.send(
        Array("originalId,deviceToken\nn,\(a)\nn,\(b)\nn,\(c)\n".utf8), ImportRequest(appId: app))
      try await database.query("UPDATE device SET registered_at = now() WHERE upper(token) LIKE 'B%'")
      let ended = try await bench.finish(sent.importId)
      #expect(ended.devices == 1)
      #expect(try await devices(database) == ["n C 0", "x A 2", "y B 0"])
    }
  }

  @Test(arguments: [
    (
      "originalId,deviceToken,appId\nx,TOKEN,com.acme.none\n", "appId,names no push app of this customer: com.acme.none"
    ),
    ("originalId,deviceToken,appId\nx,TOKEN,\n", "deviceToken,has no app: name one in appId"),
    (
      "originalId,deviceToken,appId\nx,TOKEN,com.acme.both\n",
      "deviceToken,\"has no platform: this appId stands for apps on several, so name one in appType\""
    ),
    (
      "originalId,deviceToken,appId,platform\nx,TOKEN,com.acme.app,android\n",
      "deviceToken,is of a platform that this appId has no push app for"
    ),
    ("originalId,deviceToken,appId,platform\nx,TOKEN,com.acme.app,sms\n", "platform,\"is no platform"),
    ("originalId,deviceToken,appId,sandboxToken\nx,TOKEN,com.acme.app,perhaps\n", "sandboxToken,must be true or false"),
    ("originalId,deviceToken,appId\nx,not a token,com.acme.app\n", "deviceToken,"),
  ])
  func `A token that no registration would take rejects its row`(file: String, problem: String) async throws {
    try await withDatabase { database in
      let bench = try await bench(database)
      let reply = try await bench.run(file.replacing("TOKEN", with: Self.tokens.0))
      #expect(Counts(reply) == Counts(rejected: 1))
      #expect(try await bench.rejects(reply.importId).contains("\r\n2,\(problem)"))
      #expect(try await devices(database) == [])
    }
  }

  @Test func `A dry run counts tokens, and registers none`() async throws {
    try await withDatabase { database in
      let bench = try await bench(database)
      let file =
        "originalId,deviceToken,appId,appType\nx,\(Self.tokens.0),com.acme.both,1\nx,\(Self.tokens.1),com.acme.both,2\n"
      let tried = try await bench.run(file, ImportRequest(dryRun: true))
      #expect(tried.devices == 2)
      #expect(try await devices(database) == [])
      #expect(try await bench.contacts() == [])
      let reply = try await bench.run(file)
      #expect(reply.devices == 2)
      #expect(Counts(reply) == Counts(tried))
    }
  }

  @Test func `Whose row is skipped gets no token`() async throws {
    try await withDatabase { database in
      let bench = try await bench(database)
      _ = try await bench.run("originalId\nx\n")
      let reply = try await bench.run(
        "originalId,deviceToken\nx,\(Self.tokens.0)\ny,\(Self.tokens.1)\n", ImportRequest(mode: .add, appId: app))
      #expect(Counts(reply) == Counts(added: 1, skipped: 1))
      #expect(try await devices(database) == ["y B 0"])
    }
  }
}
