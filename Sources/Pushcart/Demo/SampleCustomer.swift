import Content
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
  /// No secret: the simulated CM alone knows it.
  static let smsProductToken = "00000000-0000-4000-8000-000000000001"

  let id: CustomerID
  /// A key of scope admin.
  let accessKey: String
  /// The app ids of all apps that have contacts.
  var appIDs: [String] = []
  /// What the sample page registers browsers with.
  private(set) var site: SampleSite?
  /// A key of scope gateway: the product token of messages to telephone numbers.
  private(set) var gatewayKey = ""
  /// What these messages name the sample app by.
  private(set) var appKey = ""
  /// The owner, who uses the console. Their link is there until they have set a password.
  private(set) var owner = UserReply.example

  /// Creates what is missing of customer, access key, app, templates, contacts and devices.
  /// - Parameters:
  ///   - settings: of the hub, which say where channel URIs and browsers' subscriptions may lead.
  ///   - samples: the apps that the Simulator knows.
  ///   - sms: the account at the provider of SMS.
  static func prepare(
    _ local: LocalHub, _ pool: Pool, _ settings: Settings, vault: Vault, apps samples: [SampleApp], sms: SMSAccount
  ) async throws -> SampleCustomer {
    let customers = Customers(pool)
    let known = try await customers.all().first { $0.name == name }
    let customer = if let known { known.id } else { try await customers.add(name: name).id }
    let accessKey = try await accessKey(
      local, local.sampleKeyFile, pool, customer, name: "sample key of pushcart demo", .admin)
    var sample = SampleCustomer(id: customer, accessKey: accessKey, appIDs: samples.map(\.appID))
    let apps = PushApps(pool, vault: vault)
    var added: [(sample: SampleApp, app: PushApp)] = []
    for known in samples {
      let app = try await sample.app(
        apps,
        NewPushApp(
          appID: known.appID, type: known.type, name: SampleApp.name,
          service: PushServiceFields(known.credentials.mapValues { Secret($0) })))
      added.append((known, app))
    }
    _ = try await sample.app(
      apps, NewPushApp(appID: PushApp.smsAppID, type: .sms, name: "SMS", service: PushServiceFields(sms: sms)))
    try await sample.saveTemplates(Templates(pool))
    let registrations = RegistrationBatcher(
      pool, endpoints: settings.pushServices.endpoints)
    if let web = added.map(\.app).first(where: { $0.vapidPublicKey != nil }) {
      sample.site = SampleSite(
        registrationURL: "\(settings.publicURL)/rest/\(customer)/apps/\(web.appID)/pushdevices",
        deviceKey: try await Self.accessKey(
          local, local.siteKeyFile, pool, customer, name: "sample page of pushcart demo", .device, appID: web.appID),
        vapidKey: web.vapidPublicKey ?? "")
    }
    sample.gatewayKey = try await Self.accessKey(
      local, local.gatewayKeyFile, pool, customer, name: "sample gateway of pushcart demo", .gateway)
    sample.appKey = try await sample.enableHybrid(HybridApps(pool), vault)
    sample.owner = try await pool.transaction { try await owner(of: customer, Users($0, isOperator: true)) }
    for (known, app) in added {
      if known.type == .ios {
        try await sample.register([SamplePeople.withNumber], app, registrations, Contacts(pool))
        try await sample.register(SamplePeople.all, app, registrations, Contacts(pool))
      } else {
        let people = SamplePeople.further(known, vapidKey: app.vapidPublicKey ?? "")
        try await sample.register(people, app, registrations, Contacts(pool))
      }
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

  static let ownerEmail = "owner@example.com"

  /// The owner, who gets a new link at every start until they have set a password by one.
  private static func owner(of customer: CustomerID, _ users: Users) async throws -> UserReply {
    let known = try await users.list(customer, PageRequest(limit: 1000)).items.first { $0.email == ownerEmail }
    guard let known else {
      return try await users.add(customer, UserRequest(email: ownerEmail, name: "Sample owner", role: .owner))
    }
    return known.hasPassword ? known : try await users.reset(customer, known.userId).after
  }

  /// The key of the sample app of iPhones in Hybrid Messaging.
  private func enableHybrid(_ apps: HybridApps, _ vault: Vault) async throws -> String {
    if let known = try await apps.all(id).first(where: { $0.appId == SampleApp.appID }) { return known.appKey }
    return try await apps.enable(id, HybridAppRequest(appId: SampleApp.appID, sender: "Sample"), vault: vault).issued
      .appKey
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
