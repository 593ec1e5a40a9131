import Foundation
import Registry
import Support
import Testing

@Suite struct StartTests {
  @Test func `A hub with another master key than the database's does not start, and names the setting`() async throws {
    try await withStage { stage in
      try await stage.serve().process.die()
      let other = MasterKeys.generate()
      var pushcart = stage.pushcart
      pushcart.environment["PUSHCART_MASTER_KEY"] = other
      pushcart.environment["PUSHCART_PORT"] = "0"
      let outcome = try await pushcart.run("serve")
      #expect(outcome.status == 1)
      #expect(outcome.errors.contains("Error: PUSHCART_MASTER_KEY is not the key that this database was sealed under"))
      #expect(!outcome.errors.contains("sealed(") && !outcome.errors.contains(other))
    }
  }

  @Test func `What is wrong with the settings is said in sentences, and all at once`() async throws {
    let pushcart = Pushcart(databaseURL: "postgres://u:ca@nary@db/x", masterKey: "canary")
    let outcome = try await pushcart.run("serve", "--provider-ca-file", "/canary", "--host", "canary.invalid")
    #expect(outcome.status == 1)
    for setting in ["DATABASE_URL", "PUSHCART_MASTER_KEY", "PUSHCART_PROVIDER_CA_FILE", "PUSHCART_HOST"] {
      #expect(outcome.errors.contains("- \(setting) "))
    }
    #expect(!outcome.errors.contains("nary"))
  }
}
