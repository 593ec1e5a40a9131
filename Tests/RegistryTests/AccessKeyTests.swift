import Crypto
import Foundation
import Postgres
import Support
import Locking
import Testing
import Wire

@testable import Registry

@Suite struct AccessKeyTests {
  @Test(arguments: AccessScope.allCases)
  func `A key opens its own customer with the scope it was made for`(scope: AccessScope) async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let keys = AccessKeys(database.pool)
      let app = scope == .datasync ? "com.acme.app" : nil
      if app != nil { _ = try await PushApps(database.pool, vault: try .fresh()).add(customer, .ios()) }
      let new = try await keys.make(customer, name: "app push user", scope: scope, appID: app)
      let access = Access(customer: customer, key: new.key.keyId, scope: scope, appID: app)
      #expect(try await keys.authenticate(new.token, for: customer) == access)
      #expect(try await keys.authenticate(new.token) == access)
      #expect(try await keys.list(customer) == [new.key])
    }
  }

  @Test func `A scope opens what those before it do, and nothing of those behind it; two open only their own`() {
    for (index, scope) in AccessScope.allCases.enumerated() {
      let access = Access(customer: CustomerID(1), key: AccessKeyID(1), scope: scope)
      for (other, asked) in AccessScope.allCases.enumerated() {
        let isAlone = !Set([scope, asked]).isDisjoint(with: [.gateway, .datasync])
        #expect(access.opens(asked) == (isAlone ? scope == asked : other <= index), "\(scope) \(asked)")
      }
    }
  }

  @Test func `A product token is a GUID with its customer's number, in either case, and is like no other`() async throws
  {
    try await withDatabase { database in
      let customer = try await database.customer()
      let keys = AccessKeys(database.pool)
      var tokens: Set<String> = []
      for _ in 0..<20 { tokens.insert(try await keys.make(customer, name: "x", scope: .gateway).token) }
      #expect(tokens.count == 20)
      for token in tokens {
        #expect(
          token.wholeMatch(of: /([0-9a-f]{8})-([0-9a-f]{4})-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/)
            .flatMap { Int64("\($0.1)\($0.2)", radix: 16) } == customer.rawValue)
      }
      let token = try #require(tokens.first)
      #expect(try await keys.authenticate(token.uppercased())?.scope == .gateway)
      #expect(try await AccessKeyCache(database.pool).authenticate(token, for: customer)?.scope == .gateway)
      let dump = try await database.dump()
      #expect(!dump.contains(token) && !dump.contains(token.replacing("-", with: "")))
    }
  }

  @Test
  func `A product token with one digit changed opens nothing, and a GUID of another kind asks nothing of the database`()
    async throws
  {
    try await withDatabase { database in
      let customer = try await database.customer()
      let cache = AccessKeyCache(database.pool)
      let token = try await AccessKeys(database.pool).make(customer, name: "x", scope: .gateway).token
      let characters = Array(token)
      for position in characters.indices where characters[position] != "-" {
        var mistyped = characters
        mistyped[position] = mistyped[position] == "1" ? "2" : "1"
        #expect(try await cache.authenticate(String(mistyped)) == nil)
      }
      for text in [
        UUID().uuidString, "00000000-0000-0000-0000-000000000000", "{\(token.dropFirst(2))}",
        token.replacing("-", with: "_"),
      ] {
        #expect(try await AccessKeyCache(NoDatabase()).authenticate(text) == nil, "\(text)")
      }
    }
  }

  @Test func `A revoked product token opens nothing, and a key of scope gateway is bound to no app`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let keys = AccessKeys(database.pool)
      let new = try await keys.make(customer, name: "x", scope: .gateway)
      try await keys.revoke(customer, new.key.keyId)
      #expect(try await keys.authenticate(new.token) == nil)
      _ = try await PushApps(database.pool, vault: try .fresh()).add(customer, .ios())
      await #expect(throws: RegistryError.self) {
        try await keys.make(customer, name: "x", scope: .gateway, appID: "com.acme.app")
      }
    }
  }

  @Test func `A key of scope datasync is bound to one app of its customer`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let keys = AccessKeys(database.pool)
      let missing = RegistryError.invalid(
        field: "appId", problem: "is missing. A key of scope datasync opens the data tree of one app: name it")
      await #expect(throws: missing) { try await keys.make(customer, name: "x", scope: .datasync) }
      await #expect(throws: RegistryError.appUnknown(appID: "com.acme.app")) {
        try await keys.make(customer, name: "x", scope: .datasync, appID: "com.acme.app")
      }
      _ = try await PushApps(database.pool, vault: try .fresh()).add(customer, .ios())
      let new = try await keys.make(customer, name: "x", scope: .datasync, appID: "com.acme.app")
      let access = try #require(try await keys.authenticate(new.token))
      #expect(access.opens(appID: "com.acme.app") && !access.opens(appID: "com.acme.other"))
    }
  }

  @Test func `A token has 256 random bits and its customer's number, and is like no other`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      var tokens: Set<String> = []
      for _ in 0..<20 {
        let token = try await AccessKeys(database.pool).make(customer, name: "x", scope: .device).token
        #expect(token.wholeMatch(of: /pck_(\d+)_[A-Za-z0-9_-]{49}/)?.1 == "\(customer)")
        tokens.insert(token)
      }
      #expect(tokens.count == 20)
    }
  }

  @Test func `A token is nowhere in the database, nor are its bits`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let token = try await AccessKeys(database.pool).make(customer, name: "x", scope: .admin).token
      let random = String(token.suffix(49).prefix(43))
      let base64 = random.replacing("-", with: "+").replacing("_", with: "/") + "="
      let bits = try #require(Data(base64Encoded: base64))
      let dump = try await database.dump()
      #expect(!dump.contains(token) && !dump.contains(random))
      #expect(!dump.contains(bits.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()))
      #expect(!dump.contains(Array(token.utf8).map { String($0, radix: 16) }.joined()))
    }
  }

  @Test func `A foreign customer and an unknown one look the same, and neither is looked up`() async throws {
    try await withDatabase { database in
      let (acme, other) = (try await database.customer(), try await database.customer("Other"))
      let counting = CountingDatabase(database.pool)
      let token = try await AccessKeys(database.pool).make(acme, name: "x", scope: .admin).token
      for customer in [other, CustomerID(4711), CustomerID(-1), CustomerID(0)] {
        #expect(try await AccessKeys(counting).authenticate(token, for: customer) == nil)
      }
      let forged = token.replacing("pck_\(acme)_", with: "pck_\(other)_")
      #expect(try await AccessKeys(counting).authenticate(forged, for: other) == nil)
      #expect(counting.count() == 0)
    }
  }

  @Test func `A token with one character changed is refused without the database`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let token = try await AccessKeys(database.pool).make(customer, name: "x", scope: .device).token
      let characters = Array(token)
      for position in characters.indices {
        var mistyped = characters
        mistyped[position] = mistyped[position] == "A" ? "B" : "A"
        #expect(try await AccessKeys(NoDatabase()).authenticate(String(mistyped)) == nil)
        #expect(try await AccessKeyCache(NoDatabase()).authenticate(String(mistyped)) == nil)
      }
    }
  }

  @Test(arguments: [
    "", "pck_", "pck__", "pck_1", "pck_1_", "pck_1_\(String(repeating: "A", count: 48))", "bearer x", "\0",
    "pck_0_\(String(repeating: "A", count: 49))", "pck_-1_\(String(repeating: "A", count: 49))",
    "pck_+1_\(String(repeating: "A", count: 49))", "pck_99999999999999999999_\(String(repeating: "A", count: 49))",
    "pck_1_\(String(repeating: "é", count: 49))", String(repeating: "x", count: 100_000),
    "pck_1_\(String(repeating: "A", count: 49))",
  ])
  func `What is no token opens nothing and asks nothing of the database`(text: String) async throws {
    #expect(try await AccessKeys(NoDatabase()).authenticate(text) == nil)
    #expect(try await AccessKeyCache(NoDatabase()).authenticate(text) == nil)
  }

  @Test func `A revoked key opens nothing; revoking it again changes nothing; a foreign one cannot be revoked`()
    async throws
  {
    try await withDatabase { database in
      let (acme, other) = (try await database.customer(), try await database.customer("Other"))
      let keys = AccessKeys(database.pool)
      let new = try await keys.make(acme, name: "x", scope: .backend)
      await #expect(throws: RegistryError.numberUnknown("access key")) {
        try await keys.revoke(other, new.key.keyId)
      }
      let revoked = try await keys.revoke(acme, new.key.keyId).key
      #expect(revoked.revokedAt != nil)
      #expect(try await keys.revoke(acme, new.key.keyId).key == revoked)
      #expect(try await keys.authenticate(new.token) == nil)
      #expect(try await keys.list(acme) == [revoked])
    }
  }

  @Test func `A key of nobody is refused`() async throws {
    try await withDatabase { database in
      await #expect(throws: RegistryError.customerUnknown(CustomerID(4711))) {
        try await AccessKeys(database.pool).make(CustomerID(4711), name: "x", scope: .device)
      }
    }
  }

  @Test func `Revoking a key tells which keys it created, directly or through others, and can revoke them too`()
    async throws
  {
    try await withDatabase { database in
      let customer = try await database.customer()
      let keys = AccessKeys(database.pool)
      func make(by creator: AccessKeyID?) async throws -> AccessKeyID {
        try await keys.make(customer, name: "x", scope: .admin, createdBy: creator).key.keyId
      }
      let root = try await make(by: nil)
      let child = try await make(by: root)
      let grandchild = try await make(by: child)
      let stranger = try await make(by: nil)
      let revoked = try await make(by: root)
      try await keys.revoke(customer, revoked)

      let alone = try await keys.revoke(customer, root)
      #expect(alone.stillValid == [child, grandchild] && alone.alsoRevoked == [])
      let all = try await keys.revoke(customer, root, withCreated: true)
      #expect(all.alsoRevoked == [child, grandchild] && all.stillValid == [])
      let valid = try await keys.list(customer).filter { $0.revokedAt == nil }.map(\.keyId)
      #expect(valid == [stranger])
    }
  }

  @Test func `An expired key opens nothing, even when the hub has it in its cache`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let expiry = Date(timeIntervalSinceNow: 3600)
      let keys = AccessKeys(database.pool)
      let new = try await keys.make(customer, name: "x", scope: .device, expiresAt: expiry)
      let clock = SteerableDate()
      let cache = AccessKeyCache(database.pool, timeToLive: .seconds(1_000_000), date: { clock.now })
      #expect(try await cache.authenticate(new.token) != nil)
      #expect(cache.cached(new.token, for: customer) != nil)
      clock.now = expiry.addingTimeInterval(1)
      #expect(try await cache.authenticate(new.token) == nil)
      #expect(cache.cached(new.token, for: customer) == nil)

      try await database.query("UPDATE access_key SET expires_at = now() - interval '1 second'")
      #expect(try await keys.authenticate(new.token) == nil)
      await #expect(throws: RegistryError.invalid(field: "expiresAt", problem: "must be in the future")) {
        try await keys.make(customer, name: "x", scope: .device, expiresAt: Date(timeIntervalSinceNow: -1))
      }
    }
  }

  @Test func `When a key was last used is written with the others of its customer, once a minute at most`() async throws
  {
    try await withDatabase { database in
      let customer = try await database.customer()
      let keys = AccessKeys(database.pool)
      let used = try await keys.make(customer, name: "used", scope: .device)
      let other = try await keys.make(customer, name: "other", scope: .device)
      _ = try await keys.make(customer, name: "unused", scope: .device)
      let counting = CountingDatabase(database.pool)
      let clock = SteerableDate()
      let cache = AccessKeyCache(counting, date: { clock.now })
      for token in [used.token, other.token, used.token] { _ = try await cache.authenticate(token) }
      #expect(try await keys.list(customer).allSatisfy { $0.lastUsedAt == nil })
      await cache.usage.write()
      #expect(counting.count() == 3)
      let first = try await keys.list(customer).map(\.lastUsedAt)
      #expect(first[0] != nil && first[0] == first[1] && first[2] == nil)

      for (seconds, isWritten) in [(59.0, false), (61, true)] {
        clock.now = try #require(first[0]).date.addingTimeInterval(seconds)
        cache.flush()
        _ = try await cache.authenticate(used.token)
        await cache.usage.write()
        let last = try await keys.list(customer)[0].lastUsedAt
        #expect((last != first[0]) == isWritten)
      }
    }
  }

  @Test func `A key is bound to an app that exists, and a key of scope admin to none`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let keys = AccessKeys(database.pool)
      await #expect(throws: RegistryError.appUnknown(appID: "com.acme.app")) {
        try await keys.make(customer, name: "x", scope: .device, appID: "com.acme.app")
      }
      _ = try await PushApps(database.pool, vault: try .fresh()).add(customer, .ios())
      let bound = try await keys.make(customer, name: "x", scope: .device, appID: "com.acme.app")
      let access = try #require(try await keys.authenticate(bound.token))
      #expect(access.opens(appID: "com.acme.app") && !access.opens(appID: "com.acme.other"))
      await #expect(throws: RegistryError.self) {
        try await keys.make(customer, name: "x", scope: .admin, appID: "com.acme.app")
      }
    }
  }

  @Test func `A key created by one that expires expires with it at the latest`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let keys = AccessKeys(database.pool)
      let end = Date(timeIntervalSinceNow: 3600)
      let creator = try await keys.make(customer, name: "x", scope: .admin, expiresAt: end).key
      let asked: [(Date?, Bool)] = [
        (nil, false), (end.addingTimeInterval(60), false), (end.addingTimeInterval(-60), true),
      ]
      for (asked, isKept) in asked {
        let key = try await keys.make(customer, name: "y", scope: .admin, expiresAt: asked, createdBy: creator.keyId)
          .key
        #expect((key.expiresAt == creator.expiresAt) == !isKept)
        #expect(try #require(key.expiresAt) <= #require(creator.expiresAt))
      }
    }
  }

  @Test func `A key created while its creator is being revoked is revoked too`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let keys = AccessKeys(database.pool)
      let thief = try await keys.make(customer, name: "leaked", scope: .admin).key
      let middle = try await keys.make(customer, name: "m", scope: .admin, createdBy: thief.keyId).key
      let observer = database.pool
      let (late, revocation) = try await database.withPool { other in
        try await other.transaction { transaction in
          let change = ManagementChange(transaction, customer: customer, actor: .key(middle.keyId, address: nil))
          let late = try await AccessKeys(transaction).make(
            customer, name: "late", scope: .admin, createdBy: middle.keyId)
          try await change.holdKey()
          let revocation = Task {
            try await observer.transaction { try await AccessKeys($0).revoke(customer, thief.keyId, withCreated: true) }
          }
          try await database.someoneWaits(as: other)
          return (late.key.keyId, revocation)
        }
      }
      let revoked = try await revocation.value
      #expect(revoked.alsoRevoked.contains(late) && revoked.stillValid == [])
      #expect(try await keys.find(customer, late)?.revokedAt != nil)
    }
  }

  @Test func `Made-up tokens take few look-ups at a time, and a token that was valid before passes them`() async throws
  {
    try await withDatabase { database in
      let customer = try await database.customer()
      let token = try await AccessKeys(database.pool).make(customer, name: "x", scope: .device).token
      let gate = GatedDatabase(database.pool)
      let cache = AccessKeyCache(gate)
      gate.open()
      #expect(try await cache.authenticate(token) != nil)
      gate.close()
      cache.flush()
      // Well-formed, as anybody can compute the checksum.
      func forged() -> String { AccessToken.make(for: customer).text }
      try await withThrowingTaskGroup(of: Access?.self) { group in
        for _ in 0..<UnprovenLookups.most { group.addTask { try await cache.authenticate(forged()) } }
        try await waitUntil { gate.waiting >= UnprovenLookups.most }
        await #expect(throws: RegistryError.tooManyUnknownTokens) { try await cache.authenticate(forged()) }
        group.addTask { try await cache.authenticate(token) }
        try await waitUntil { gate.waiting > UnprovenLookups.most }
        gate.open()
        let answers: [Access?] = try await group.reduce(into: []) { $0.append($1) }
        #expect(answers.compactMap { $0 }.count == 1)
      }
      #expect(try await cache.authenticate(forged()) == nil)
    }
  }
}

/// A database whose statements wait while it is closed.
private final class GatedDatabase: Querying {
  private struct State {
    var isOpen = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let database: any Querying
  private let state = Mutex(State())

  init(_ database: any Querying) { self.database = database }

  var waiting: Int { state.withLock { $0.waiting.count } }

  func open() {
    let waiting = state.withLock { state in
      state.isOpen = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }

  func close() { state.withLock { $0.isOpen = false } }

  func run(
    _ statement: Statement, _ parameters: ParameterBuffer, deadline: ContinuousClock.Instant?
  ) async throws -> Rows {
    await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        if !state.isOpen { state.waiting.append(continuation) }
        return state.isOpen
      }
      if isOpen { continuation.resume() }
    }
    return try await database.run(statement, parameters, deadline: deadline)
  }
}
