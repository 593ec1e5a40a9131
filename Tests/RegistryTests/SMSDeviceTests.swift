import Registry
import Support
import Testing
import Wire

@Suite struct SMSDeviceTests {
  private static let account = SMSAccount(
    provider: .cm(productToken: "c0ffee"), url: "https://gw.messaging.cm.com/v1.0/message", sender: "Acme")

  private func app(_ apps: PushApps, _ customer: CustomerID) async throws -> PushApp {
    try await apps.add(
      customer, NewPushApp(appID: "sms", type: .sms, name: "SMS", service: PushServiceFields(sms: Self.account)))
  }

  @Test func `The account of an app of the type SMS is sealed and opened again`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let vault = try Vault.fresh()
      let app = try await app(PushApps(database.pool, vault: vault), customer)
      #expect(app.credentials.map(\.kind) == [.smsAccount] && app.warnings.isEmpty)
      #expect(app.credentials[0].account == "cm")
      let opened = try await PushCredentialVault(database.pool, vault: vault).credentials(for: app)
      #expect(opened == .sms(Self.account))
      #expect(!"\(String(describing: opened)) \(String(reflecting: opened))".contains("c0ffee"))
    }
  }

  @Test func `An app of the type SMS comes with its provider, and no other app has one`() async throws {
    let apps = PushApps(NoDatabase(), vault: try .fresh())
    await #expect(throws: RegistryError.self) {
      try await apps.add(CustomerID(1), NewPushApp(appID: "sms", type: .sms, name: "SMS"))
    }
    await #expect(throws: RegistryError.self) {
      try await apps.add(
        CustomerID(1), NewPushApp(appID: "a", type: .huawei, name: "A", service: PushServiceFields(sms: Self.account)))
    }
  }

  @Test(arguments: PhoneNumberForms.dutch)
  func `A token of such an app is a number, and kept with a plus sign`(_ token: String) throws {
    let read = try DeviceToken(token, type: .sms, field: "token")
    #expect(try read.text == "+31612345678" && read == DeviceToken("+31612345678", type: .sms, field: "token"))
  }

  @Test(arguments: ["0612345678", "+06123456", "hello", "+", "{}"])
  func `What is no number is no token of such an app`(_ token: String) {
    #expect(throws: RegistryError.self) { try DeviceToken(token, type: .sms, field: "token") }
  }

  @Test func `The hub alone registers and invalidates numbers`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let app = try await app(PushApps(database.pool, vault: try .fresh()), customer)
      let body = PushDevicesBody("0031612345678", token: "+31612345678")
      let access = Access(customer: customer, key: AccessKeyID(1), scope: .device)
      #expect(throws: RegistryError.self) { try Registration(body, apps: [app], access: access) }
      #expect(throws: RegistryError.self) { try Invalidation(body, apps: [app], access: access) }
      _ = try Registration(body, apps: [app])
      _ = try Invalidation(body, apps: [app])
    }
  }
}
