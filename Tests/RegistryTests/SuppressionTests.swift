import Foundation
import Postgres
import Support
import Testing
import Wire

@testable import Registry

@Suite struct SuppressionTests {
  private static let key = SuppressionKey(key: (0..<32).map { UInt8($0 * 7) })

  private static func store(_ database: any Querying) -> Suppressions { Suppressions(database, key: key) }

  /// Original ids as customers have them, and worse.
  private static let texts = [
    "lars@example.com", "é", "e\u{301}", "😀", "'", "\\", "1/contact/x", " ", "0031612345678", "a\nb",
    String(repeating: "ä", count: 255),
  ]

  @Test func `PostgreSQL computes the same hashes as the hub, whatever the secret and the text`() async throws {
    try await withDatabase { database in
      var random = SystemRandomNumberGenerator()
      for length in [0, 1, 31, 32, 63, 64] {
        let key = SuppressionKey(key: (0..<length).map { _ in .random(in: 0...255, using: &random) })
        for text in Self.texts + (0..<20).map({ _ in "\(UInt64.random(in: 0 ... .max, using: &random))" }) {
          let customer = CustomerID(.random(in: 1 ... .max, using: &random))
          let hash = try await database.query(
            "SELECT \(SuppressionSQL.hash(.contact, "$4::text", key: 2))", customer.rawValue, key.inner, key.outer, text
          )[0].decode(Bytes.self)
          #expect(hash.bytes == key.hash(.contact(originalID: text), of: customer), "\(length) \(text)")
        }
      }
    }
  }

  @Test func `Hashes differ by customer, by kind and by secret`() throws {
    let number = try #require(PhoneNumber("0031612345678"))
    let token = try DeviceToken("aa", type: .ios, field: "token")
    let hashes = [CustomerID(1), CustomerID(11)].flatMap { customer in
      [Self.key, SuppressionKey(key: [1])].flatMap { key in
        [
          .contact(originalID: number.international), .number(number), .device(PushAppID(1), token),
          .device(PushAppID(2), token),
        ]
        .map { key.hash($0, of: customer) }
      }
    }
    #expect(Set(hashes).count == hashes.count)
  }

  @Test func `The hub's secret is made once, sealed, and shared by all hubs`() async throws {
    try await withDatabase { database in
      let vault = try Vault.fresh()
      let (one, other) = (
        try await SuppressionKey.load(database.pool, vault: vault),
        try await SuppressionKey.load(database.pool, vault: vault)
      )
      #expect(one.inner == other.inner && one.outer == other.outer)
      await #expect(throws: RegistryError.self) {
        _ = try await SuppressionKey.load(database.pool, vault: try Vault.fresh())
      }
    }
  }

  @Test func `No table has what is suppressed`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let store = Self.store(database.pool)
      _ = try await store.add(customer, .contact(originalID: "canary@example.com"), .marketing)
      _ = try await store.add(customer, .number(try #require(PhoneNumber("0031699999999"))), .all)
      let dump = try await database.dump()
      #expect(!dump.contains("canary") && !dump.contains("31699999999"))
    }
  }

  @Test func `A suppression that is made again ends no earlier, and is the customer's once the customer wants it`()
    async throws
  {
    try await withDatabase { database in
      let customer = try await database.customer()
      let store = Self.store(database.pool)
      let lars = Suppressed.contact(originalID: "lars")
      let (soon, later) = (Date(timeIntervalSince1970: 4_000_000_000), Date(timeIntervalSince1970: 5_000_000_000))
      let first = try await store.add(customer, lars, .marketing, reason: "unsubscribed", until: later, byPage: true)
      #expect(first.before == nil && first.after.byPage)
      let second = try await store.add(customer, lars, .marketing, reason: "asked", until: soon)
      #expect(second.before == first.after)
      #expect(second.after.suppressionId == first.after.suppressionId && second.after.at == first.after.at)
      #expect(second.after.until == Timestamp(later) && second.after.reason == "asked" && !second.after.byPage)
      let third = try await store.add(customer, lars, .marketing, reason: "unsubscribed", byPage: true)
      #expect(third.after.until == nil && third.after.reason == "asked" && !third.after.byPage)
      _ = try await store.add(customer, lars, .all)
      #expect(try await store.find(customer, [lars]).map(\.scope) == [.marketing, .all])
      #expect(try await store.lift(customer, lars, .marketing).count == 1)
      #expect(try await store.lift(customer, lars, nil).map(\.scope) == [.all])
      #expect(try await store.lift(customer, lars, nil).isEmpty)
    }
  }

  @Test func `What has ended counts no more, begins anew when it is made again, and is deleted`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let store = Self.store(database.pool)
      for name in ["lars", "mia"] {
        _ = try await store.add(
          customer, .contact(originalID: name), .marketing, reason: "old",
          until: Date(timeIntervalSince1970: 4_000_000_000))
      }
      try await database.query(
        "UPDATE suppression SET until = now() - interval '1 hour', at = now() - interval '1 day'")
      #expect(try await store.list(customer, PageRequest()).items.isEmpty)
      #expect(try await store.find(customer, [.contact(originalID: "lars")]).isEmpty)
      let again = try await store.add(customer, .contact(originalID: "lars"), .marketing, byPage: true)
      #expect(again.before == nil && again.after.byPage && again.after.reason == nil && again.after.until == nil)
      try await Suppressions.forgetEnded(customer, in: database.pool)
      #expect(try await database.query("SELECT count(*) FROM suppression")[0].decode(Int.self) == 1)
      #expect(try await store.list(customer, PageRequest()).items == [again.after])
    }
  }

  @Test func `Another customer sees, lifts and is stopped by none of them`() async throws {
    try await withDatabase { database in
      let (customer, other) = (try await database.customer(), try await Customers(database.pool).add(name: "Other").id)
      let store = Self.store(database.pool)
      let lars = Suppressed.contact(originalID: "lars")
      let made = try await store.add(customer, lars, .all).after
      #expect(try await store.list(other, PageRequest()).items.isEmpty)
      #expect(try await store.find(other, [lars]).isEmpty)
      #expect(try await store.lift(other, lars, nil).isEmpty)
      await #expect(throws: RegistryError.numberUnknown("suppression")) {
        _ = try await store.remove(other, made.suppressionId)
      }
      #expect(try await store.find(customer, [lars]) == [made])
      await #expect(throws: RegistryError.customerUnknown(CustomerID(99))) {
        _ = try await store.add(CustomerID(99), lars, .all)
      }
    }
  }

  @Test func `Recipients are read with what is suppressed by contact, number and token`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      try await database.query(
        """
        INSERT INTO contact (customer_id, contact_id, original_id)
        VALUES ($1::bigint, 1, 'lars'), ($1, 2, '0031612345678'), ($1, 3, 'mia'), ($1, 4, 'tom'), ($1, 5, 'ann')
        """, customer.rawValue)
      // The fourth has the token of SMS to the second's number.
      try await database.query(
        """
        INSERT INTO device (customer_id, device_id, push_app_id, contact_id, token, token_key)
        VALUES ($1::bigint, 1, 7, 1, 'aa', '\\xaa'), ($1, 2, 7, 2, 'bb', '\\xbb'), ($1, 3, 7, 3, 'cc', '\\xcc'),
               ($1, 4, 8, 4, '+31612345678', '\\xdd'), ($1, 5, 8, 5, 'cc', '\\xcc')
        """, customer.rawValue)
      let devices = (1...5).map { DeviceID($0) }
      func scopes() async throws -> [SuppressionScope?] {
        let found = try await Devices(database.pool).recipients(customer, devices, with: [], suppressedBy: Self.key)
        return found.sorted { $0.device.id < $1.device.id }.map(\.suppression)
      }
      let store = Self.store(database.pool)
      #expect(try await scopes() == [nil, nil, nil, nil, nil])
      _ = try await store.add(customer, .contact(originalID: "lars"), .marketing)
      #expect(try await scopes() == [.marketing, nil, nil, nil, nil])
      _ = try await store.add(customer, .number(try #require(PhoneNumber("+31612345678"))), .all)
      #expect(try await scopes() == [.marketing, .all, nil, .all, nil])
      _ = try await store.add(
        customer, .device(PushAppID(7), try DeviceToken("CC", type: .ios, field: "t")), .marketing)
      #expect(try await scopes() == [.marketing, .all, .marketing, .all, nil])
      _ = try await store.add(customer, .contact(originalID: "lars"), .all)
      #expect(try await scopes() == [.all, .all, .marketing, .all, nil])
      #expect(try await Devices(database.pool).recipients(customer, devices).allSatisfy { $0.suppression == nil })
    }
  }

  @Test func `A token is stopped by its own suppression and by its contact's, if the scope is all`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      try await database.query(
        "INSERT INTO contact (customer_id, contact_id, original_id) VALUES ($1::bigint, 1, 'lars')", customer.rawValue)
      try await database.query(
        """
        INSERT INTO device (customer_id, device_id, push_app_id, contact_id, token, token_key)
        VALUES ($1::bigint, 1, 7, 1, 'aa', '\\xaa')
        """, customer.rawValue)
      let store = Self.store(database.pool)
      let tokens = try ["aa", "bb", "cc"].map { try DeviceToken($0, type: .ios, field: "t") }
      _ = try await store.add(customer, .device(PushAppID(7), tokens[1]), .all)
      _ = try await store.add(customer, .device(PushAppID(7), tokens[2]), .marketing)
      #expect(try await store.stopped(customer, PushAppID(7), tokens) == [1])
      #expect(try await store.stopped(customer, PushAppID(8), tokens) == [])
      _ = try await store.add(customer, .contact(originalID: "lars"), .all)
      #expect(try await store.stopped(customer, PushAppID(7), tokens) == [0, 1])
    }
  }

  @Test func `On the page people end marketing and take that back, but lift nothing of the customer's`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      try await database.query(
        "INSERT INTO contact (customer_id, contact_id, original_id) VALUES ($1::bigint, 1, 'lars')", customer.rawValue)
      let store = Self.store(database.pool)
      let (contact, lars) = (ContactID(1), Suppressed.contact(originalID: "lars"))
      #expect(try await store.subscription(of: contact, customer) == .subscribed)
      for _ in 0..<2 {
        #expect(
          try await store.change(contact, customer, isSubscribed: false) == .unsubscribed(canReturn: true))
      }
      #expect(try await store.list(customer, PageRequest()).items.map(\.reason) == [Suppressions.pageReason])
      for _ in 0..<2 {
        #expect(try await store.change(contact, customer, isSubscribed: true) == .subscribed)
      }
      _ = try await store.add(customer, lars, .marketing)
      _ = try await store.change(contact, customer, isSubscribed: false)
      #expect(
        try await store.change(contact, customer, isSubscribed: true) == .unsubscribed(canReturn: false))
      #expect(try await store.find(customer, [lars]).count == 1)
      #expect(try await store.change(ContactID(2), customer, isSubscribed: false) == .gone)
      #expect(try await store.subscription(of: contact, CustomerID(99)) == .gone)
    }
  }
}
