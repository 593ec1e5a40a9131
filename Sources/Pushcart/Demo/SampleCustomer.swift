import Content
import Crypto
import Embedded
import Hybrid
import Postgres
import Providers
import Registry
import Simulator
import Wire

/// The customer of a new private hub. Existing parts of it stay as they are.
struct SampleCustomer: Sendable {
  static let name = "Sample customer"
  static let appID = "com.example.shop"
  static let androidAppID = "com.example.shop.android"
  static let huaweiAppID = "com.example.shop.huawei"
  static let webAppID = "com.example.shop.web"
  static let huaweiClientID = "100000001"
  /// No secret: the simulated Push Kit alone knows it.
  static let huaweiClientSecret = "sample-client-secret"
  static let windowsAppID = "com.example.shop.windows"
  static let windowsPackageSID = "ms-app://s-1-15-2-1000000001-1000000002-1000000003"
  /// No secret: the simulated WNS alone knows it.
  static let windowsSecret = "sample-package-secret"
  /// No secret: the simulated CM alone knows it.
  static let smsProductToken = "00000000-0000-4000-8000-000000000001"
  static let teamID = "SAMPLETEAM"
  static let keyID = "SAMPLEKEY0"

  let id: CustomerID
  /// A key of scope admin.
  let accessKey: String
  /// The sample app's signing key, in PEM.
  let signingKey: String
  /// What the sample page registers browsers with.
  private(set) var site: SampleSite?
  /// A key of scope gateway: the product token of messages to telephone numbers.
  private(set) var gatewayKey = ""
  /// What these messages name the sample app by.
  private(set) var appKey = ""

  /// Creates what is missing of customer, access key, app, templates, contacts and devices.
  /// - Parameters:
  ///   - settings: of the hub, which say where channel URIs and browsers' subscriptions may lead.
  ///   - sms: the account at the provider of SMS.
  ///   - channel: the channel URI of a Windows device, by a word of its own.
  ///   - browser: the subscription of the sample browser of that name, made with that VAPID key.
  static func prepare(
    _ local: LocalHub, _ pool: Pool, _ settings: Settings, vault: Vault, serviceAccount: String,
    sms: SMSAccount, channel: (String) -> String, browser: (_ name: String, _ vapidKey: String) -> String
  ) async throws -> SampleCustomer {
    let customers = Customers(pool)
    let known = try await customers.all().first { $0.name == name }
    let customer = if let known { known.id } else { try await customers.add(name: name).id }
    let signingKey = try local.secret(local.signingKeyFile) { P256.Signing.PrivateKey().pemRepresentation }
    let accessKey = try await accessKey(
      local, local.sampleKeyFile, pool, customer, name: "sample key of pushcart demo", .admin)
    var sample = SampleCustomer(id: customer, accessKey: accessKey, signingKey: signingKey)
    let apps = PushApps(pool, vault: vault)
    let ios = try await sample.app(
      apps,
      NewPushApp(
        appID: Self.appID, type: .ios, name: "Sample shop",
        service: PushServiceFields(teamID: Self.teamID, keyID: Self.keyID, signingKey: Secret(signingKey))))
    let android = try await sample.app(
      apps,
      NewPushApp(
        appID: Self.androidAppID, type: .firebase, name: "Sample shop",
        service: PushServiceFields(serviceAccount: Secret(serviceAccount))))
    let huawei = try await sample.app(
      apps,
      NewPushApp(
        appID: Self.huaweiAppID, type: .huawei, name: "Sample shop",
        service: PushServiceFields(
          clientID: Self.huaweiClientID, clientSecret: Secret(Self.huaweiClientSecret))))
    let windows = try await sample.app(
      apps,
      NewPushApp(
        appID: Self.windowsAppID, type: .windows, name: "Sample shop",
        service: PushServiceFields(
          clientSecret: Secret(Self.windowsSecret), packageSID: Self.windowsPackageSID)))
    let web = try await sample.app(apps, NewPushApp(appID: Self.webAppID, type: .web, name: "Sample shop"))
    _ = try await sample.app(
      apps, NewPushApp(appID: PushApp.smsAppID, type: .sms, name: "SMS", service: PushServiceFields(sms: sms)))
    try await sample.saveTemplates(Templates(pool))
    let registrations = RegistrationBatcher(
      pool, endpoints: settings.pushServices.endpoints)
    let key = web.vapidPublicKey ?? ""
    sample.site = SampleSite(
      registrationURL: "\(settings.publicURL)/rest/\(customer)/apps/\(webAppID)/pushdevices",
      deviceKey: try await Self.accessKey(
        local, local.siteKeyFile, pool, customer, name: "sample page of pushcart demo", .device, appID: webAppID),
      vapidKey: key)
    sample.gatewayKey = try await Self.accessKey(
      local, local.gatewayKeyFile, pool, customer, name: "sample gateway of pushcart demo", .gateway)
    sample.appKey = try await sample.enableHybrid(HybridApps(pool), vault)
    for (people, app) in [
      ([SamplePeople.withNumber], ios),
      (SamplePeople.all, ios), (SamplePeople.onAndroid, android), (SamplePeople.onHuawei, huawei),
      (SamplePeople.onWindows(channel), windows), (SamplePeople.inBrowsers { browser($0, key) }, web),
    ] {
      try await sample.register(people, app, registrations, Contacts(pool))
    }
    return sample
  }

  /// The key of an earlier start, or a new one if that was revoked or lost.
  /// - Parameter appID: the only app that it opens; nil for all.
  private static func accessKey(
    _ local: LocalHub, _ file: String, _ pool: Pool, _ customer: CustomerID, name: String, _ scope: AccessScope,
    appID: String? = nil
  ) async throws -> String {
    let keys = AccessKeys(pool)
    let kept = try local.secret(file) { "" }
    if try await keys.authenticate(kept, for: customer)?.scope == scope { return kept }
    let token = try await keys.make(customer, name: name, scope: scope, appID: appID).token
    try local.keep(token, in: file)
    return token
  }

  private func app(_ apps: PushApps, _ new: NewPushApp) async throws -> PushApp {
    if let app = try await apps.list(id).first(where: { $0.appID == new.appID }) { return app }
    return try await apps.add(id, new)
  }

  /// The key of the sample app of iPhones in Hybrid Messaging.
  private func enableHybrid(_ apps: HybridApps, _ vault: Vault) async throws -> String {
    if let known = try await apps.all(id).first(where: { $0.appId == Self.appID }) { return known.appKey }
    return try await apps.enable(id, HybridAppRequest(appId: Self.appID, sender: "Sample"), vault: vault).issued.appKey
  }

  /// The templates that Pushcart ships. `offer.html` becomes offer; others keep their files' names.
  private func saveTemplates(_ templates: Templates) async throws {
    let known = Set(try await templates.list(id).map(\.name))
    for file in EmbeddedFile.templates {
      guard let format = TemplateFormat(fileName: file.name) else { continue }
      let name = format == .html ? String(file.name.dropLast(5)) : file.name
      if !known.contains(name) { _ = try await templates.put(id, name: name, format: format, body: file.text) }
    }
  }

  /// Registers these people's phones in an app, unless the last one's is registered already.
  private func register(
    _ people: [PushDevicesBody], _ app: PushApp, _ registrations: RegistrationBatcher, _ contacts: Contacts
  ) async throws {
    guard let last = people.last?.originalId,
      try await contacts.find(id, originalID: last, apps: [app.id])?.devices.isEmpty != false
    else { return }
    for person in people {
      try await registrations.register(
        id, try Registration(person, apps: [app]), returnsContact: false)
    }
  }
}
