import Foundation
import Logging
import Postgres
import Providers
import Registry
import Support
import Testing
import Wire
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
    #expect(settings.server.host == "127.0.0.1" && settings.server.port == 8080)
    #expect(settings.publicURL == "http://127.0.0.1:8080")
    #expect(settings.pushServices[.apnsProductionURL] == "https://api.push.apple.com")
    #expect(settings.pushServices[.apnsSandboxURL] == "https://api.sandbox.push.apple.com")
    #expect(settings.logLevel == nil && settings.drain == .seconds(25))
  }

  @Test func `A flag overrides the environment, that the file, and that the default`() async throws {
    let config = try file(#"{"port": 1, "host": "127.0.0.3", "log-level": "error"}"#)
    let environment = enough.merging(["PUSHCART_CONFIG": config, "PUSHCART_PORT": "2", "PUSHCART_HOST": "127.0.0.2"]) {
      $1
    }
    let settings = try await read([(.port, "3")], environment)
    #expect(settings.server.port == 3)
    #expect(settings.server.host == "127.0.0.2")
    #expect(settings.logLevel == .error)
    #expect(settings.database.sharedConnections == 4)
  }

  @Test func `Web Push and WNS go to the hosts of a list alone, and Web Push names whom to contact`() async throws {
    let settings = try await read(
      [(Setting(.webpushAllowedHosts), "localhost:8447, *.push.apple.com"), (.publicURL, "https://p.example.com")],
      enough)
    #expect(settings.pushServices.endpoints.webPush.listed == HostList("localhost:8447,*.push.apple.com"))
    #expect(settings.pushServices.endpoints.wns == .wns)
    #expect(
      try await read([(Setting(.wnsAllowedHosts), "*.push.example")], enough).pushServices.endpoints.wns.listed
        == HostList("*.push.example"))
    #expect(
      try await read([(Setting(.smsAllowedHosts), "localhost:8449")], enough).pushServices.endpoints.sms.listed
        == HostList("localhost:8449"))
    #expect(settings.pushServices.webPushContact == "https://p.example.com")
    #expect(try await read([], enough).pushServices.webPushContact == "mailto:postmaster@127.0.0.1")
    #expect(
      try await problems(
        [(Setting(.webpushAllowedHosts), "https://push.example.com"), (Setting(.wnsAllowedHosts), "a,,b")], enough) == [
          "PUSHCART_WNS_ALLOWED_HOSTS must be hosts as in push.example.com, example.com:8443 or *.example.com, by comma",
          "PUSHCART_WEBPUSH_ALLOWED_HOSTS must be hosts as in push.example.com, example.com:8443 or *.example.com, by comma",
        ])
  }

  @Test func `A gateway without keys has both a customer and networks`() async throws {
    #expect(
      try await problems([(.pnm2Customer, "x"), (.pnm2AllowedNetworks, "10.0.0.0/40")], enough) == [
        "PUSHCART_PNM2_CUSTOMER must be the number of a customer",
        "PUSHCART_PNM2_ALLOWED_NETWORKS must be addresses or networks, separated by commas, as in 10.0.7.0/29,fd00::1",
      ])
    for (one, absent) in [(Setting.pnm2Customer, Setting.pnm2AllowedNetworks), (.pnm2AllowedNetworks, .pnm2Customer)] {
      let value = one.name == Setting.pnm2Customer.name ? "1" : "127.0.0.1"
      #expect(
        try await problems([(one, value)], enough) == [
          "\(absent.variable) must be set where its counterpart is: a gateway without keys needs both"
        ])
    }
  }

  @Test func `An OpenID provider has an issuer and a client, and values of its claim give roles`() async throws {
    #expect(try await read([], enough).openID?.issuer == nil)
    let least: [Given] = [(.oidcIssuer, "https://id.example.com/"), (.oidcClientID, "hub")]
    let usual = try #require(try await read(least, enough).openID)
    #expect(usual.issuer == "https://id.example.com/" && usual.clientID == "hub" && usual.clientSecret == nil)
    #expect(usual.scopes == "openid email profile" && usual.rolesClaim == "roles" && usual.grants.isEmpty)
    #expect(!usual.isOnly && !usual.trustsEmail)
    let environment = enough.merging(["PUSHCART_OIDC_CLIENT_SECRET_FILE": try file("canary\n")]) { $1 }
    let whole = try #require(
      try await read(
        least + [(.oidcRoles, "a=b=owner:1, /push/sales=marketer:2"), (.oidcOnly, "true"), (.oidcTrustEmail, "true")],
        environment
      ).openID)
    #expect(whole.clientSecret == Secret("canary") && whole.isOnly && whole.trustsEmail)
    #expect(
      whole.grants == [
        OpenIDGrant(value: "a=b", role: .owner, customer: CustomerID(1)),
        OpenIDGrant(value: "/push/sales", role: .marketer, customer: CustomerID(2)),
      ])
    for issuer in ["http://id.example.com", "id.example.com", "https://id.example.com?x", "https://"] {
      #expect(
        try await problems([(.oidcIssuer, issuer), (.oidcClientID, "hub")], enough) == [
          "PUSHCART_OIDC_ISSUER must be https://host or https://host/path"
        ])
    }
    for grants in ["a", "a=owner", "a=owner:x", "a=king:1", "=owner:1", "a=owner:1,", "a=owner:1:2"] {
      #expect(
        try await problems(least + [(.oidcRoles, grants)], enough) == [
          "PUSHCART_OIDC_ROLES must be values with a role and a customer, by comma, "
            + "as in push-admins=owner:1,push-sales=marketer:1"
        ], "\(grants)")
    }
    #expect(
      try await problems([(.oidcOnly, "perhaps"), (.oidcScopes, "email")], enough) == [
        "PUSHCART_OIDC_ONLY must be true or false",
        "PUSHCART_OIDC_ISSUER must be set where another setting of the OpenID provider is",
        "PUSHCART_OIDC_CLIENT_ID must be set where another setting of the OpenID provider is",
      ])
    #expect(
      try await problems(least + [(.oidcScopes, "email profile")], enough) == [
        "PUSHCART_OIDC_SCOPES must have openid among the scopes, separated by blanks"
      ])
  }

  @Test func `Two listeners cannot share an address, and proxies to trust have to be addresses`() async throws {
    #expect(
      try await problems([(.port, "9000"), (.operationsPort, "9000"), (.trustedProxies, "10.0.0.0/40")], enough) == [
        "PUSHCART_TRUSTED_PROXIES must be addresses or networks, separated by commas, as in 127.0.0.1,10.0.7.0/29",
        "PUSHCART_OPERATIONS_PORT must differ from PUSHCART_PORT",
      ])
  }

  @Test func `A file of countries has to be one`() async throws {
    #expect(try await read([], enough).countries === nil)
    for path in ["/nonexistent.mmdb", try file("canary")] {
      #expect(
        try await problems([(.geoIPFile, path)], enough) == [
          "PUSHCART_GEOIP_FILE must name a readable MaxMind database (.mmdb)"
        ])
    }
  }

  @Test func `No site can show rich pages in a frame by default`() async throws {
    #expect(try await read([], enough).pages.frameAncestors == "'none'")
    for value in ["'none'", "'self'", "http://localhost:8081", "'self' https://a.example https://*.b.example"] {
      #expect(try await read([(.pageFrameAncestors, value)], enough).pages.frameAncestors == value)
    }
    for value in [
      " ", "*", "localhost", "https://", "https://a; script-src *", "https://a, https://b", "https://a\r\nX: y",
    ] {
      let problems = try await problems([(.pageFrameAncestors, value)], enough)
      #expect(problems.first?.hasPrefix("PUSHCART_PAGE_FRAME_ANCESTORS must be ") == true, "\(value)")
    }
  }

  @Test func `The public URL of a hub that listens everywhere defaults to localhost`() async throws {
    #expect(try await read([(.host, "0.0.0.0"), (.port, "1")], enough).publicURL == "http://localhost:1")
    #expect(try await read([(.host, "::1"), (.port, "1")], enough).publicURL == "http://[::1]:1")
    #expect(try await read([(.publicURL, "https://p.example.com/")], enough).publicURL == "https://p.example.com")
  }

  @Test func `All missing or wrong settings are named together, without their values`() async throws {
    let config = try file(#"{"log-level": 7, "database-connections": "many"}"#)
    let found = try await problems(
      [(.port, "70000"), (.publicURL, "ftp://canary")],
      [
        "PUSHCART_CONFIG": config, "PUSHCART_OLD_MASTER_KEYS": "canary", "PUSHCART_DRAIN_SECONDS": "canary",
        "PUSHCART_APNS_PRODUCTION_URL": "http://canary", "PUSHCART_APNS_SANDBOX_URL": "https://canary/?canary",
        "PUSHCART_PROVIDER_CA_FILE": try file("canary"), "PUSHCART_LOG_FORMAT": "canary",
        "PUSHCART_HOST": "canary.invalid",
      ])
    let names = Set(found.compactMap { $0.split(separator: " ").first.map(String.init) })
    #expect(
      names == [
        "DATABASE_URL", "PUSHCART_MASTER_KEY", "PUSHCART_OLD_MASTER_KEYS", "PUSHCART_HOST", "PUSHCART_PORT",
        "PUSHCART_PUBLIC_URL", "PUSHCART_DRAIN_SECONDS",
        "PUSHCART_APNS_PRODUCTION_URL", "PUSHCART_APNS_SANDBOX_URL", "PUSHCART_PROVIDER_CA_FILE",
        "PUSHCART_LOG_LEVEL", "PUSHCART_LOG_FORMAT", "PUSHCART_DATABASE_CONNECTIONS",
      ])
    #expect(!SettingsError(problems: found).description.contains("canary"))
  }

  @Test func `Wrong master keys are named by variable and never shown`() async throws {
    var environment = enough
    environment["PUSHCART_MASTER_KEY"] = "canary"
    environment["PUSHCART_OLD_MASTER_KEYS"] = "Y2FuYXJ5,\(MasterKeys.generate()),canary"
    let found = try await problems([], environment)
    #expect(
      found == [
        "PUSHCART_MASTER_KEY is not base64; it takes 32 bytes in base64",
        "PUSHCART_OLD_MASTER_KEYS (number 1 of them) holds 6 bytes; it takes 32 bytes in base64",
        "PUSHCART_OLD_MASTER_KEYS (number 3 of them) is not base64; it takes 32 bytes in base64",
      ])
  }

  @Test(arguments: [
    "localhost/x", "postgres://localhost/x?nonsense=1", "postgres://u:ca@nary@db/x", "postgresql://u:ca/nary@db/x",
  ])
  func `A database address that libpq cannot read, or would misread, is refused`(
    _ address: String
  ) async throws {
    let found = try await problems([], enough.merging(["DATABASE_URL": address]) { $1 })
    #expect(found.count == 1 && found[0].hasPrefix("DATABASE_URL must "))
    #expect(!found.description.contains("nary"))
  }

  @Test(arguments: [
    "postgres://u:ca%40nary@db:5432/x", "postgres:///x?host=/run/postgresql", "host=/tmp user=a@b dbname='x y'",
  ])
  func `Every database address that libpq reads is accepted`(_ address: String) async throws {
    #expect(try await problems([], enough.merging(["DATABASE_URL": address]) { $1 }) == [])
  }

  @Test(arguments: [
    "postgres://u:canary@db/x", "postgresql://u@db/x?password=canary", "host=db user=u password='canary'",
    "host=db sslpassword=canary",
  ])
  func `A password in a flag is refused with the safe ways, and accepted elsewhere`(_ address: String)
    async throws
  {
    let found = try await problems([(.databaseURL, address)], enough)
    #expect(found.count == 1 && found[0].hasPrefix("DATABASE_URL must not hold a password as a flag"), "\(found)")
    for way in ["--database-url-file", ".pgpass", "PGSERVICE"] { #expect(found.first?.contains(way) == true) }
    #expect(!found.description.contains("canary"))
    #expect(try await problems([], enough.merging(["DATABASE_URL": address]) { $1 }) == [])
    let inFile: [Given] = [(.databaseURL.fromFile, try file(address))]
    #expect(try await problems(inFile, ["PUSHCART_MASTER_KEY": MasterKeys.generate()]) == [])
    #expect(try await problems([(.databaseURL, "postgres://u@db/x")], enough) == [])
  }

  @Test func `A secret can be in a file, with white space around it`() async throws {
    let key = MasterKeys.generate()
    let environment = [
      "DATABASE_URL_FILE": try file("postgres://localhost/x\n"), "PUSHCART_MASTER_KEY_FILE": try file("\n \(key) \n"),
    ]
    let settings = try await read([], environment)
    #expect(settings.database.connectionString == "postgres://localhost/x")
    #expect(try settings.masterKeys?.currentID == MasterKeys(current: key).currentID)
  }

  @Test func `A secret given twice in one place, or in a missing file, is refused`() async throws {
    let twice = enough.merging(["DATABASE_URL_FILE": "/nowhere"]) { $1 }
    #expect(try await problems([], twice) == ["DATABASE_URL and DATABASE_URL_FILE are both set; one must go"])
    let nowhere = ["DATABASE_URL": "postgres://x", "PUSHCART_MASTER_KEY_FILE": "/nowhere"]
    #expect(try await problems([], nowhere) == ["PUSHCART_MASTER_KEY_FILE must name a readable text file"])
  }

  @Test func `A flag's file overrides a variable, and a variable overrides the settings file`() async throws {
    let flagged = MasterKeys.generate()
    let config = try file(#"{"master-key-file": "/nowhere", "database-url-file": "/nowhere"}"#)
    let settings = try await read([(.masterKey.fromFile, try file(flagged)), (.config, config)], enough)
    #expect(try settings.masterKeys?.currentID == MasterKeys(current: flagged).currentID)
    #expect(settings.database.connectionString == enough["DATABASE_URL"])
  }

  @Test func `An unknown name is refused in a settings file and warned of in the environment`() async throws {
    let config = try file(#"{"prot": 1, "port": 1, "config": "x"}"#)
    let found = try await problems([(.config, config)], enough)
    #expect(found.count == 2 && found.allSatisfy { $0.hasPrefix("PUSHCART_CONFIG ") }, "\(found)")
    let settings = try await read([], enough.merging(["PUSHCART_PROT": "1", "PUSHCART_MASTER_KEY_FILE": ""]) { $1 })
    #expect(settings.warnings == ["PUSHCART_PROT is not a setting and has no effect"])
  }

  @Test func `The private hub's settings apply as a whole, and only if nothing else names a database`() async throws {
    let (key, other) = (MasterKeys.generate(), MasterKeys.generate())
    let local = LocalHub(folder: folder.path)
    try local.makeFolder()
    let directory = try TemporaryDirectory(named: "socket")
    defer { directory.remove() }
    let socket = try UnixSocket(in: directory.path)
    let database = "host='\(socket.folder)'"
    try local.keep(
      #"{"database-url": "\#(database)", "master-key-file": "\#(try file(key))", "public-url": "http://local"}"#,
      in: local.settingsFile)
    let mixed = ["PUSHCART_MASTER_KEY": other, "PUSHCART_PUBLIC_URL": "http://else", "PUSHCART_LOG_LEVEL": "trace"]
    let settings = try await Settings.read([], needsMasterKey: true, local: local, environment: mixed)
    #expect(settings.database.connectionString == database && settings.publicURL == "http://local")
    #expect(settings.localFile == local.settingsFile)
    #expect(try settings.masterKeys?.currentID == MasterKeys(current: key).currentID)
    #expect(settings.logLevel == .trace)

    let config = try file(#"{"database-url": "postgres://else"}"#)
    let elsewhere: [([Given], [String: String])] = [
      ([(.databaseURL, "postgres://else")], [:]), ([(.config, config)], [:]), ([], ["DATABASE_URL": "postgres://else"]),
      ([], ["DATABASE_URL_FILE": try file("postgres://else")]),
    ]
    for (flags, environment) in elsewhere {
      let settings = try await Settings.read(flags, needsMasterKey: false, local: local, environment: environment)
      #expect(settings.database.connectionString == "postgres://else" && settings.masterKeys == nil)
      #expect(settings.publicURL == "http://127.0.0.1:8080" && settings.localFile == nil)
      let both = environment.merging(["PUSHCART_MASTER_KEY": other]) { $1 }
      let whole = try await Settings.read(flags, needsMasterKey: true, local: local, environment: both)
      #expect(try whole.masterKeys?.currentID == MasterKeys(current: other).currentID)
    }
  }

  @Test(arguments: ["{", "[]", ""])
  func `A settings file that is not one JSON object is refused`(text: String) async throws {
    let config = try file(text)
    #expect(try await problems([(.config, config)], enough).count == 1)
  }

  @Test func `An empty variable counts as absent`() async throws {
    #expect(try await read([], enough.merging(["PUSHCART_PORT": ""]) { $1 }).server.port == 8080)
  }
}
