import Foundation
import Logging
import Postgres
import Providers
import Registry
import Testing
import Web

@testable import Pushcart

@Suite struct SettingsTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "settings-\(UUID())")
  private let enough = ["DATABASE_URL": "postgres://localhost/x", "PUSHCART_MASTER_KEY": MasterKeys.generate()]

  private func file(_ text: String) throws -> String {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let file = folder.appending(path: UUID().uuidString)
    try text.write(to: file, atomically: true, encoding: .utf8)
    return file.path
  }

  private func read(_ flags: [Given] = [], _ environment: [String: String]) async throws -> Settings {
    try await Settings.read(flags, needsMasterKey: true, local: nil, environment: environment)
  }

  private func problems(_ flags: [Given] = [], _ environment: [String: String]) async throws -> [String] {
    do {
      _ = try await read(flags, environment)
      return []
    } catch let error as SettingsError {
      return error.problems
    }
  }

  @Test func `Two settings are enough`() async throws {
    let settings = try await read([], enough)
    #expect(settings.site.host == "127.0.0.1" && settings.site.port == 8080)
    #expect(settings.publicURL == "http://127.0.0.1:8080")
    #expect(settings.apns.productionURL == "https://api.push.apple.com")
    #expect(settings.apns.sandboxURL == "https://api.sandbox.push.apple.com")
    #expect(settings.logLevel == nil && settings.drain == .seconds(25))
  }

  @Test func `A flag decides before the environment, that before the file, and that before the default`() async throws {
    let config = try file(#"{"port": 1, "host": "file", "log-level": "error"}"#)
    let environment = enough.merging(["PUSHCART_CONFIG": config, "PUSHCART_PORT": "2", "PUSHCART_HOST": "environment"])
    {
      $1
    }
    let settings = try await read([(.port, "3")], environment)
    #expect(settings.site.port == 3)
    #expect(settings.site.host == "environment")
    #expect(settings.logLevel == .error)
    #expect(settings.database.sharedConnections == 4)
  }

  @Test func `A hub that listens everywhere is found on localhost unless told otherwise`() async throws {
    #expect(try await read([(.host, "0.0.0.0"), (.port, "1")], enough).publicURL == "http://localhost:1")
    #expect(try await read([(.host, "::1"), (.port, "1")], enough).publicURL == "http://[::1]:1")
    #expect(try await read([(.publicURL, "https://p.example.com/")], enough).publicURL == "https://p.example.com")
  }

  @Test func `Everything that is missing or wrong is named at once, and no value is`() async throws {
    let config = try file(#"{"log-level": 7, "database-connections": "many"}"#)
    let found = try await problems(
      [(.port, "70000"), (.publicURL, "ftp://canary")],
      [
        "PUSHCART_CONFIG": config, "PUSHCART_OLD_MASTER_KEYS": "canary", "PUSHCART_DRAIN_SECONDS": "canary",
        "PUSHCART_APNS_PRODUCTION_URL": "http://canary", "PUSHCART_APNS_SANDBOX_URL": "https://canary/?canary",
        "PUSHCART_PROVIDER_CA_FILE": "/canary", "PUSHCART_LOG_FORMAT": "canary",
      ])
    let names = Set(found.compactMap { $0.split(separator: " ").first.map(String.init) })
    #expect(
      names == [
        "DATABASE_URL", "PUSHCART_MASTER_KEY", "PUSHCART_PORT", "PUSHCART_PUBLIC_URL", "PUSHCART_DRAIN_SECONDS",
        "PUSHCART_APNS_PRODUCTION_URL", "PUSHCART_APNS_SANDBOX_URL", "PUSHCART_PROVIDER_CA_FILE",
        "PUSHCART_LOG_LEVEL", "PUSHCART_LOG_FORMAT", "PUSHCART_DATABASE_CONNECTIONS",
      ])
    #expect(!SettingsError(problems: found).description.contains("canary"))
  }

  @Test func `Wrong master keys are named by their variables, never shown`() async throws {
    var environment = enough
    environment["PUSHCART_MASTER_KEY"] = "canary"
    #expect(try await problems([], environment).first?.hasPrefix("PUSHCART_MASTER_KEY ") == true)
    environment = enough
    environment["PUSHCART_OLD_MASTER_KEYS"] = MasterKeys.generate() + ",Y2FuYXJ5"
    let found = try await problems([], environment)
    #expect(found.first?.hasPrefix("PUSHCART_OLD_MASTER_KEYS ") == true)
    #expect(!found.description.contains("Y2FuYXJ5"))
  }

  @Test func `A secret may lie in a file, with white space around it`() async throws {
    let key = MasterKeys.generate()
    let environment = [
      "DATABASE_URL_FILE": try file("postgres://localhost/x\n"), "PUSHCART_MASTER_KEY_FILE": try file("\n \(key) \n"),
    ]
    let settings = try await read([], environment)
    #expect(settings.database.connectionString == "postgres://localhost/x")
    #expect(try settings.masterKeys?.currentID == MasterKeys(current: key).currentID)
  }

  @Test func `A secret cannot be given twice, nor in a file that is not there`() async throws {
    let twice = enough.merging(["DATABASE_URL_FILE": "/nowhere"]) { $1 }
    #expect(try await problems([], twice).first == "DATABASE_URL and DATABASE_URL_FILE are both set; one must go")
    let nowhere = ["DATABASE_URL": "postgres://x", "PUSHCART_MASTER_KEY_FILE": "/nowhere"]
    #expect(try await problems([], nowhere).first == "PUSHCART_MASTER_KEY_FILE must name a readable text file")
  }

  @Test(arguments: ["{", "[]", ""])
  func `A settings file that is not one JSON object is refused`(text: String) async throws {
    let config = try file(text)
    #expect(try await problems([(.config, config)], enough).count == 1)
  }

  @Test func `An empty variable counts as absent`() async throws {
    #expect(try await read([], enough.merging(["PUSHCART_PORT": ""]) { $1 }).site.port == 8080)
  }

  @Test func `README's table names every setting`() throws {
    let readme = try String(
      contentsOfFile: #filePath.replacing("Tests/PushcartTests/SettingsTests.swift", with: "README.md"), encoding: .utf8
    )
    for setting in Setting.all { #expect(readme.contains("`\(setting.variable)`"), "\(setting.variable)") }
  }
}
