import FoundationEssentials
import Support
import Testing
import Wire

@testable import Registry

/// What signs in to Windows' push service, and the channel URIs of devices.
@Suite struct WindowsAccountTests {
  private static let sid = "ms-app://s-1-15-2-1234567890-42"

  private func app(_ service: PushServiceFields) -> NewPushApp {
    NewPushApp(appID: "com.acme.app", type: .windows, name: "Acme", service: service)
  }

  @Test func `A package and its secret are kept as they are but for blanks, and a client of Entra takes their place`()
    async throws
  {
    try await withDatabase { database in
      let customer = try await database.customer()
      let vault = try Vault.fresh()
      let apps = PushApps(database.pool, vault: vault)
      let signing = PushCredentialVault(database.pool, vault: vault)
      let added = try await apps.add(
        customer,
        app(PushServiceFields([.clientSecret: Secret(" s3cr3t+/=\r\n"), .packageSID: Secret(" \(Self.sid)\n")])))
      #expect(added.credentials.map(\.kind) == [.wnsAccount] && added.credentials.map(\.account) == [Self.sid])
      #expect(added.warnings.isEmpty)
      #expect(try await signing.credentials(for: added) == .wns(.package(sid: Self.sid, secret: "s3cr3t+/=")))

      let changed = try await apps.update(
        customer, added.id,
        PushAppUpdate(
          service: PushServiceFields([
            .clientID: Secret("c-7"), .clientSecret: Secret("other~8Q"), .tenantID: Secret("acme.onmicrosoft.com"),
          ]))
      )
      #expect(changed.credentials.map(\.account) == ["acme.onmicrosoft.com/c-7"])
      #expect(changed.credentials[0].fingerprint != added.credentials[0].fingerprint)
      let credentials = try #require(try await signing.credentials(for: changed))
      #expect(
        credentials == .wns(.entra(tenantID: "acme.onmicrosoft.com", clientID: "c-7", secret: "other~8Q")))
      #expect(!"\(credentials)".contains("other~8Q") && !String(reflecting: credentials).contains("other~8Q"))
    }
  }

  @Test func `Ids of another form are refused by their field`() throws {
    let secret = Secret("s")
    for sid in [
      "", "s-1-15-2-1", "ms-app://x", "ms-app://s-1-15-2-1/x", "ms-app://s-1-15-2-1?x", "ms-app://s-1-15-2-ä",
    ] {
      let error = #expect(throws: RegistryError.self) {
        try PushServiceFields([.clientSecret: secret, .packageSID: Secret(sid)]).credentials(for: "a", .windows)
      }
      guard case .invalid("packageSid", _)? = error else { throw CancellationError() }
    }
    for (tenant, client, field) in [
      ("a/b", "c", "tenantId"), ("..", "c", "tenantId"), ("", "c", "tenantId"), ("a?", "c", "tenantId"),
      ("a", "c/d", "clientId"), ("a", "", "clientId"), ("a", String(repeating: "c", count: 101), "clientId"),
    ] {
      let error = #expect(throws: RegistryError.self) {
        try PushServiceFields([.clientID: Secret(client), .clientSecret: secret, .tenantID: Secret(tenant)])
          .credentials(for: "a", .windows)
      }
      guard case .invalid(field, _)? = error else { throw CancellationError() }
    }
    let error = #expect(throws: RegistryError.self) {
      try PushServiceFields([.clientSecret: Secret("two words"), .packageSID: Secret(Self.sid)]).credentials(
        for: "a", .windows)
    }
    guard case .credential("clientSecret", let sentence)? = error else { throw CancellationError() }
    #expect(sentence.hasPrefix("This is not one word: give the app's secret alone"))
  }

  @Test func `A Windows device registers with a channel URI at an allowed host alone, and others with any token`()
    async throws
  {
    try await withDatabase { database in
      let customer = try await database.customer()
      let apps = PushApps(database.pool)
      let windows = try await apps.add(customer, NewPushApp(appID: "com.acme.app", type: .windows, name: "Acme"))
      let android = try await apps.add(customer, NewPushApp(appID: "com.acme.app", type: .android, name: "Acme"))
      func problem(_ token: String, _ type: AppType = .windows, _ hosts: HostList? = nil) async throws -> String? {
        let body = PushDevicesBody("me", token: token, type: type)
        var endpoints = EndpointRules()
        endpoints.wns.listed = hosts
        let registrations = RegistrationBatcher(database.pool, limits: .patient, endpoints: endpoints)
        do {
          let contact = try await registrations.register(
            customer, try Registration(body, apps: [windows, android]))
          #expect(contact?.devices.contains { $0.token == token } == true)
          return nil
        } catch let error as RegistryError {
          guard case .invalid("deviceInfo[0].devicetoken", let problem) = error else { return "\(error)" }
          return problem
        }
      }
      #expect(try await problem("https://db5p.notify.windows.com/?token=AwYAAA%2f") == nil)
      let form = "must be a channel URI of Windows, as in https://db5p.notify.windows.com/?token=…: it must "
      let scheme = "be an address of the form https://host/path"
      #expect(try await problem("AwYAAA") == form + scheme)
      #expect(try await problem("http://db5p.notify.windows.com/?token=a") == form + scheme)
      #expect(try await problem("https://me@db5p.notify.windows.com/?token=a") == form + "not hold a user name")
      #expect(
        try await problem("https://evil.example/?token=a")
          == "must be at a host of *.notify.windows.com, as PUSHCART_WNS_ALLOWED_HOSTS names no others")
      let own = try #require(HostList("localhost:8447"))
      #expect(try await problem("https://localhost:8447/?token=a", .windows, own) == nil)
      #expect(
        try await problem("https://db5p.notify.windows.com/?token=a", .windows, own)
          == "must be at a host that PUSHCART_WNS_ALLOWED_HOSTS names")
      #expect(try await problem("AwYAAA", .android) == nil)
    }
  }
}
