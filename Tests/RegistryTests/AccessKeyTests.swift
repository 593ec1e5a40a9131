import Crypto
import Foundation
import Registry
import Support
import Testing
import Wire

@Suite struct AccessKeyTests {
  @Test(arguments: AccessScope.allCases)
  func `A key opens its own customer with the scope it was made for`(scope: AccessScope) async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let keys = AccessKeys(database.pool)
      let new = try await keys.make(customer, name: "app push user", scope: scope)
      let access = Access(customer: customer, key: new.key.id, scope: scope)
      #expect(try await keys.authenticate(new.token, for: customer) == access)
      #expect(try await keys.authenticate(new.token) == access)
      #expect(try await keys.list(customer) == [new.key])
    }
  }

  @Test func `A scope opens what those before it open, and not what those behind it do`() {
    for (index, scope) in AccessScope.allCases.enumerated() {
      let access = Access(customer: CustomerID(1), key: AccessKeyID(1), scope: scope)
      for (other, asked) in AccessScope.allCases.enumerated() { #expect(access.opens(asked) == (other <= index)) }
    }
  }

  @Test func `A token has 256 random bits and its customer's number, and is like no other`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      var tokens: Set<String> = []
      for _ in 0..<20 {
        let token = try await AccessKeys(database.pool).make(customer, name: "x", scope: .device).token
        #expect(token.wholeMatch(of: /pck_(\d+)_[A-Za-z0-9_-]{43}/)?.1 == "\(customer)")
        tokens.insert(token)
      }
      #expect(tokens.count == 20)
    }
  }

  @Test func `A token is nowhere in the database, nor are its bits`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let token = try await AccessKeys(database.pool).make(customer, name: "x", scope: .admin).token
      let random = String(token.suffix(43))
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
      #expect(counting.count == 0)
      let forged = token.replacing("pck_\(acme)_", with: "pck_\(other)_")
      #expect(try await AccessKeys(counting).authenticate(forged, for: other) == nil)
      #expect(counting.count == 1)
    }
  }

  @Test(arguments: [
    "", "pck_", "pck__", "pck_1", "pck_1_", "pck_1_\(String(repeating: "A", count: 42))", "bearer x", "\0",
    "pck_0_\(String(repeating: "A", count: 43))", "pck_-1_\(String(repeating: "A", count: 43))",
    "pck_+1_\(String(repeating: "A", count: 43))", "pck_99999999999999999999_\(String(repeating: "A", count: 43))",
    "pck_1_\(String(repeating: "é", count: 43))", String(repeating: "x", count: 100_000),
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
      await #expect(throws: RegistryError.accessKeyUnknown(new.key.id)) { try await keys.revoke(other, new.key.id) }
      let revoked = try await keys.revoke(acme, new.key.id)
      #expect(revoked.revokedAt != nil)
      #expect(try await keys.revoke(acme, new.key.id) == revoked)
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
}
