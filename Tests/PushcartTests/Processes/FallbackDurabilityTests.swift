import Foundation
import Postgres
import Providers
import Registry
import Simulator
import Support
import Testing
import Wire

/// Messages to telephone numbers survive kills: each goes by push or by SMS. `PUSHCART_SOAK` divided by 20 is the number of messages.
@Suite struct FallbackDurabilityTests {
  private static let size =
    ProcessInfo.processInfo.environment["PUSHCART_SOAK"].flatMap { Int($0) }.map { $0 / 20 } ?? 400
  private static let kills = max(4, size / 500)

  @Test func `Repeated kills of hub and database leave no message to a number without push and SMS, nor with both`()
    async throws
  {
    try await withEndurance { bench in
      let sent = RunUnderKills(bench.pushcart, goal: Self.size) { number, server in
        let reply = try? await server.send("POST", "/v1.0/message", json: bench.message(number))
        return reply?.status == 200
      }
      try await sent.underKills(Self.kills, of: bench.cluster, workers: 16)
      // Every other phone confirms what it got.
      let updateIDs = try bench.updateIDs
      let phones = updateIDs.keys.filter { Bench.isCritical($0) && $0 % 4 == 2 }.sorted()
      try #require(phones.count > Self.size / 20)
      let confirmed = RunUnderKills(bench.pushcart, goal: phones.count) { index, server in
        let number = phones[Int(index - 1) % phones.count]
        return await bench.confirm(number, updateIDs[number] ?? "", at: server)
      }
      try await bench.expireLeases()
      try await confirmed.underKills(2, of: bench.cluster, workers: 8)
      let confirmedNumbers = Set(confirmed.acknowledgedNumbers.map { phones[Int($0 - 1) % phones.count] })

      // The time of the others is over. The provider does not answer, and the hub that waits for it is killed.
      try await bench.passConfirmationTime()
      let before = bench.simulator.sms.messages.count
      bench.simulator.sms.rule(.any, .ignore)
      let first = try await ProcessFixture.Hub(bench.pushcart, logLevel: "info")
      try await bench.messages(after: before)
      await first.process.die()
      bench.simulator.sms.removeRules()
      bench.simulator.sms.cut()
      try await bench.expireLeases()
      let between = bench.simulator.sms.messages.count
      let second = try await ProcessFixture.Hub(bench.pushcart, logLevel: "info")
      try await bench.messages(after: between)
      #expect(kill(try #require(bench.cluster.processID), SIGKILL) == 0)
      let outcomes = try await bench.outcomes()
      await second.process.die()

      #expect(Set(sent.acknowledgedNumbers).isSubset(of: outcomes.map(\.number)))
      let bySMS = bench.messagesTaken
      for outcome in outcomes {
        let count = bySMS[outcome.number] ?? 0
        let isAsItShould =
          switch outcome.sms {
          case "cancelled": count == 0 && outcome.wasPushed && (!outcome.isCritical || outcome.isConfirmed)
          // An SMS that was not answered may have gone out: of a critical message it is sent again.
          case "accepted": outcome.isCritical ? (1...outcome.attempts).contains(count) : count == 1
          case "uncertain": !outcome.isCritical && count <= 1
          default: false
          }
        #expect(isAsItShould, "\(outcome) went out by SMS \(count) times")
        if confirmedNumbers.contains(outcome.number) { #expect(outcome.sms == "cancelled", "\(outcome)") }
      }
      #expect(outcomes.contains { $0.isCritical && $0.sms == "accepted" && $0.wasPushed })
    }
  }

  /// What became of a message.
  private struct Outcome {
    let number: Int64
    let isCritical: Bool
    /// State of its push by SMS, and how often that left.
    let sms: String
    let attempts: Int
    let wasPushed: Bool
    let isConfirmed: Bool
  }

  /// A customer on a database of its own, with an app of Hybrid Messaging, a provider of SMS, and phones.
  private struct Bench: Sendable {
    let cluster: PrivateCluster
    let pushcart: Pushcart
    let simulator: PushSimulator
    let pool: Pool
    let token: String
    let app: (key: String, secret: String)

    /// Every other four numbers. Of each four one has no phone, and the phone of another refuses pushes.
    static func isCritical(_ number: Int64) -> Bool { number / 4 % 2 == 0 }

    private static func digits(_ number: Int64) -> String { "316\(10_000_000 + number)" }

    func message(_ number: Int64) -> String {
      """
      {"messages":{"authentication":{"producttoken":"\(token)"},"msg":[{"from":"Acme","to":[{"number":"00\(Self.digits(number))"}],\
      "body":{"content":"Hello"},"appKey":"\(app.key)","appmessagetype":"\(Self.isCritical(number) ? "critical" : "default")"}]}}
      """
    }

    /// Phones of the first numbers, which have verified them.
    func addPhones(_ count: Int) async throws {
      try await query(
        """
        WITH made AS (
          INSERT INTO contact (customer_id, original_id)
          SELECT 1, '00316' || (10000000 + n) FROM generate_series(1, \(count)) AS n WHERE n % 4 > 0
          RETURNING contact_id, substr(original_id, 3) AS number, right(original_id, 8)::int8 - 10000000 AS n),
        phone AS (
          INSERT INTO device (customer_id, push_app_id, contact_id, token, token_key)
          SELECT 1, 1, contact_id, token, decode(token, 'hex')
          FROM made, LATERAL (SELECT CASE WHEN n % 4 = 1 THEN 'dd' ELSE 'ab' END || lpad(to_hex(n), 62, '0') AS token) AS t
          RETURNING contact_id, token)
        INSERT INTO hybrid_registration (customer_id, device_hash, app_id, platform, user_agent, number, status, verified_at,
                                         push_token, device_number, device_token)
        SELECT 1, sha256(uuid_send(('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid)), '\(ProcessFixture.appID)', 'iOS', 'Acme (iOS)', number,
               'PinVerified', now(), token, number, token
        FROM made JOIN phone USING (contact_id)
        """)
    }

    /// What phones got, by number: the id that confirms it.
    var updateIDs: [Int64: String] {
      get throws {
        try simulator.apns.requests.reduce(into: [:]) { ids, request in
          guard request.token.hasPrefix("ab"), let number = Int64(request.token.dropFirst(2), radix: 16) else { return }
          ids[number] = try JSONValue(parsing: request.payload).string("ref")
        }
      }
    }

    /// Says as its phone that a message has arrived.
    func confirm(_ number: Int64, _ updateID: String, at server: TestWebServer) async -> Bool {
      let id = "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - String(number).count) + String(number)
      var phone = TestPhone(server, appKey: app.key, secret: app.secret, deviceID: id)
      phone.userAgent = "Acme (iOS)"
      let reply = try? await phone.send("PUT", "/v1.0/messages", #"{"UpdateID":"\#(updateID)","Status":"Delivered"}"#)
      return reply?.status == 200
    }

    /// How many SMS the provider took, by number.
    var messagesTaken: [Int64: Int] {
      simulator.sms.messages.filter(\.isAccepted).reduce(into: [:]) { counts, message in
        counts[(Int64(message.to.dropFirst(3)) ?? 0) - 10_000_000, default: 0] += 1
      }
    }

    /// Waits until the provider has got more messages than these.
    func messages(after count: Int) async throws {
      let end = ContinuousClock.now + Self.timeout
      try await waitUntil {
        try #require(.now < end, "the provider got no further message")
        return simulator.sms.messages.count > count
      }
    }

    private static let timeout = Duration.seconds(300)

    // MARK: The database

    /// Critical messages wait for their phones until the test says that the time is over, however slow the machine is.
    func holdFallbacks() async throws {
      try await query(
        """
        CREATE FUNCTION later() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN NEW.not_before := now() + interval '1 day'; RETURN NEW; END $$
        """)
      for table in ["push", "push_batch"] {
        try await query(
          """
          CREATE TRIGGER later BEFORE INSERT ON \(table) FOR EACH ROW
          WHEN (NEW.not_before > now() AND isfinite(NEW.not_before)) EXECUTE FUNCTION later()
          """)
      }
    }

    func passConfirmationTime() async throws {
      for table in ["push", "push_batch"] {
        try await query(
          "UPDATE \(table) SET not_before = now() WHERE not_before > now() + interval '1 hour' AND isfinite(not_before)"
        )
      }
    }

    /// What a hub that was killed had claimed is free at once.
    func expireLeases() async throws {
      try await query("UPDATE push_batch SET lease_until = now() WHERE state = 'claimed'")
    }

    /// Waits until every push has its outcome.
    func outcomes() async throws -> [Outcome] {
      let end = ContinuousClock.now + Self.timeout
      try await waitUntil {
        let open = try await query("SELECT push::text FROM push WHERE state IN ('queued', 'waiting') LIMIT 3")
        let texts = try open.map { try $0.decode(String.self) }
        try #require(texts.isEmpty || .now < end, "pushes without an outcome: \(texts)")
        return texts.isEmpty
      }
      return try await query(
        """
        SELECT h.recipient, h.kind = 'critical', f.state, f.attempts::int8, h.delivered_at IS NOT NULL,
               EXISTS (SELECT FROM push p WHERE p.customer_id = h.customer_id AND p.sendout_id = h.sendout_id
                          AND p.message_no = h.message_no AND p.push_no <> h.fallback_no AND p.state = 'accepted')
          FROM tracked_message h
          JOIN push f ON f.customer_id = h.customer_id AND f.sendout_id = h.sendout_id AND f.push_no = h.fallback_no
        """
      ).map { row in
        let (digits, isCritical, sms, attempts, isConfirmed, wasPushed) = try row.decode(
          String.self, Bool.self, String.self, Int.self, Bool.self, Bool.self)
        return Outcome(
          number: (Int64(digits.dropFirst(3)) ?? 0) - 10_000_000, isCritical: isCritical, sms: sms, attempts: attempts,
          wasPushed: wasPushed, isConfirmed: isConfirmed)
      }
    }

    /// Runs SQL as soon as the database is up. Each text may run twice.
    @discardableResult
    func query(_ sql: String) async throws -> Rows {
      while true {
        do {
          return try await pool.query(Statement("test.\(sql.hashValue)", .write, sql))
        } catch PostgresError.connectionLost, PostgresError.unknownOutcome, PostgresError.unavailable {
          try Task.checkCancellation()
        }
      }
    }
  }

  private func withEndurance(_ body: (Bench) async throws -> Void) async throws {
    let folder = try TemporaryDirectory(named: "fallbacks")
    defer { folder.remove() }
    let signingKey = "\(folder.path)/AuthKey.p8"
    try APNsCredentials.sample.signingKey.write(toFile: signingKey, atomically: true, encoding: .utf8)
    let productToken = "\(folder.path)/token.txt"
    try "c0ffee".write(toFile: productToken, atomically: true, encoding: .utf8)
    let cluster = try await PrivateCluster.start(
      ClusterConfiguration(directory: "\(folder.path)/postgres"), logger: TestServer.logger)
    try await cluster.createDatabase("durable")
    try await withSimulator(configure: { $0.requestsKept = Self.size * 20 }) { simulator in
      simulator.sms.register(productToken: "c0ffee")
      simulator.apns.rule(.prefix("dd"), .refuse(status: 400, reason: "BadMessageId"))
      var pushcart = Pushcart(
        databaseURL: cluster.connectionString(database: "durable"), masterKey: MasterKeys.generate())
      pushcart.environment = Dictionary(uniqueKeysWithValues: simulator.addresses.map { ($0.variable, $0.value) })
      for command in [
        ["migrate"], ["customer", "add", "--name", "ACME"],
        [
          "app", "add", "--customer", "1", "--type", "ios", "--app-id", ProcessFixture.appID, "--name", "Acme",
          "--team-id",
          APNsCredentials.sample.teamID, "--key-id", APNsCredentials.sample.keyID, "--signing-key", signingKey,
        ],
        [
          "sms", "set", "--customer", "1", "--provider", "cm", "--product-token-file", productToken, "--sender", "Acme",
          "--url", simulator.cmURL,
        ],
      ] {
        let outcome = try await pushcart.run(command)
        try #require(outcome.status == 0, "\(outcome.errors)")
      }
      let app = try await pushcart.run("hybrid", "enable", "--customer", "1", "--app", ProcessFixture.appID, "--json")
        .json
      let key = try await pushcart.run(
        "key", "add", "--customer", "1", "--name", "gateway", "--scope", "gateway", "--json"
      ).json
      let pool = Pool(PoolConfiguration(connectionString: pushcart.databaseURL), logger: TestServer.logger)
      let bench = Bench(
        cluster: cluster, pushcart: pushcart, simulator: simulator, pool: pool,
        token: try #require(key.string("token")),
        app: (try #require(app.string("appKey")), try #require(app.string("appSecret"))))
      try await bench.holdFallbacks()
      try await bench.addPhones(Self.size * 2)
      try await body(bench)
      await pool.close()
    }
    await cluster.stop()
  }
}
