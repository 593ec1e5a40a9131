@testable import Registry

import Foundation
import Support
import Testing
import Wire

@Suite struct SealingTests {
  static let canary = "canary-\(UInt64.random(in: 0 ... .max))"

  @Test(arguments: [
    ("", "is empty; it takes 32 bytes in base64"), (" \n", "is empty; it takes 32 bytes in base64"),
    ("\(canary)!", "is not base64; it takes 32 bytes in base64"),
    (Data(canary.utf8.prefix(16)).base64EncodedString(), "holds 16 bytes; it takes 32 bytes in base64"),
    (Data(repeating: 7, count: 33).base64EncodedString(), "holds 33 bytes; it takes 32 bytes in base64"),
  ])
  func `A master key that is none is refused by the name of its setting, without its value`(
    text: String, problem: String
  ) {
    #expect(throws: RegistryError.invalid(field: "PUSHCART_MASTER_KEY", problem: problem)) {
      try MasterKeys(current: text)
    }
    #expect(throws: RegistryError.invalid(field: "PUSHCART_OLD_MASTER_KEYS", problem: problem)) {
      try MasterKeys(current: MasterKeys.generate(), older: [text])
    }
    #expect(MasterKeys.problem(with: text) == problem)
  }

  @Test func `A master key may come from a file, with its line end`() throws {
    let key = MasterKeys.generate()
    #expect(try MasterKeys(current: " \(key)\r\n").currentID == MasterKeys(current: key).currentID)
    #expect(try MasterKeys(current: key).currentID.wholeMatch(of: /[0-9a-f]{8}/) != nil)
  }

  @Test func `What is sealed opens in its place and nowhere else`() throws {
    let vault = try Vault.fresh()
    let sealed = try vault.seal(Secret("secret"), context: "push_credential/1/7/apns_signing_key")
    #expect(try vault.open(sealed, context: "push_credential/1/7/apns_signing_key").text == "secret")
    for place in ["push_credential/1/8/apns_signing_key", "push_credential/2/7/apns_signing_key", ""] {
      #expect(throws: RegistryError.sealed(what: place)) { try vault.open(sealed, context: place) }
    }
  }

  @Test func `What is sealed cannot be changed in any byte, cut short or opened with another key`() throws {
    let vault = try Vault.fresh()
    let sealed = try vault.seal(Secret("secret"), context: "x")
    for position in sealed.bytes.indices {
      var bytes = sealed.bytes
      bytes[position] ^= 1
      #expect(throws: RegistryError.self) {
        try vault.open(Sealed(bytes: bytes, masterKeyID: sealed.masterKeyID), context: "x")
      }
    }
    for length in sealed.bytes.indices {
      let cut = Sealed(bytes: Array(sealed.bytes.prefix(length)), masterKeyID: sealed.masterKeyID)
      #expect(throws: RegistryError.self) { try vault.open(cut, context: "x") }
    }
    #expect(throws: RegistryError.self) { try Vault.fresh().open(sealed, context: "x") }
  }

  @Test func `The same secret is never sealed alike`() throws {
    let vault = try Vault.fresh()
    #expect(try vault.seal(Secret("x"), context: "x") != vault.seal(Secret("x"), context: "x"))
  }

  @Test func `An older key opens what it sealed`() throws {
    let (old, new) = (MasterKeys.generate(), MasterKeys.generate())
    let sealed = try Vault(MasterKeys(current: old)).seal(Secret("x"), context: "x")
    #expect(try Vault(MasterKeys(current: new, older: [old])).open(sealed, context: "x").text == "x")
  }

  @Test func `A secret shows nothing of itself, however it is printed`() {
    struct Holder { let secret: Secret }
    let secret = Secret(Self.canary)
    var dumped = ""
    dump(Holder(secret: secret), to: &dumped)
    dump([secret], to: &dumped)
    let app = NewPushApp(appID: "a", type: .ios, name: "n", service: PushServiceFields([.signingKey: secret]))
    dump(app, to: &dumped)
    let texts = [
      "\(secret)", String(reflecting: secret), "\(Holder(secret: secret))", "\(app)", String(reflecting: app), dumped,
    ]
    for text in texts {
      #expect(!text.contains(Self.canary))
      #expect(!text.contains(Array(Self.canary.utf8).map(\.description).joined(separator: ", ")))
    }
  }

  @Test func `A hub's secret is made once, even when hubs start together`() async throws {
    try await withDatabase { database in
      let vault = try Vault.fresh()
      let secrets = try await withThrowingTaskGroup { group in
        for _ in 0..<20 { group.addTask { try await LinkKeys(database.pool, vault: vault).load().keys } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(secrets.allSatisfy { $0 == secrets[0] && $0[1]?.bytes.count == 32 })
      await #expect(throws: RegistryError.sealed(what: "hub_secret/links/1")) {
        try await LinkKeys(database.pool, vault: try .fresh()).load()
      }
    }
  }

  @Test func `A link key has an end once it is rotated, and is gone once it is retired; the one that signs stays`()
    async throws
  {
    try await withDatabase { database in
      let customer = try await database.customer()
      let keys = LinkKeys(database.pool, vault: try .fresh())
      let root = ChangeAuthor.commandLine(user: "root")
      #expect(try await keys.load().supersededAt.isEmpty)
      _ = try await keys.rotate(by: root)
      _ = try await keys.rotate(by: root)
      try await database.query(
        "UPDATE hub_secret SET created_at = timestamptz '2026-01-01 UTC' + right(name, 1)::int4 * interval '1 day'")
      let rotated = try await keys.load()
      let ends: [Int64: Date] = [
        1: Date(timeIntervalSince1970: 1_767_398_400), 2: Date(timeIntervalSince1970: 1_767_484_800),
      ]
      #expect(rotated.keys.keys.sorted() == [1, 2, 3] && rotated.supersededAt == ends)

      for _ in 0..<2 { try await keys.retire(2, by: root) }
      let retired = try await keys.load()
      // Key 1 gains no time by its successor's end.
      #expect(retired.keys.keys.sorted() == [1, 3] && retired.supersededAt == rotated.supersededAt)
      for number in [3, 4] as [Int64] {
        await #expect(throws: RegistryError.self) { try await keys.retire(number, by: root) }
      }
      let log = try await AuditLog(database.pool).list(customer).items
      #expect(log.map(\.action) == ["links.retire", "links.rotate", "links.rotate"])
    }
  }
}
