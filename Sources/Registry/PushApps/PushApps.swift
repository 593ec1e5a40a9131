import FoundationEssentials
public import Postgres
public import Wire

/// The store of push apps and of what opens their push services.
public struct PushApps: Sendable {
  let database: any Querying
  private let vault: Vault?

  /// - Parameter vault: seals credentials. A store without one is for reading: to add or update with it is a mistake of the
  ///   program.
  public init(_ database: any Querying, vault: Vault? = nil) {
    self.database = database
    self.vault = vault
  }

  /// Adds an app. appId has 1 to 200 letters, digits, dots, hyphens and underscores, and begins with one of the first two. The name
  /// has 1 to 200 characters. The platform's push service says which fields belong to it and come together, or not at all. An app of the
  /// web gets a key pair if none is given.
  /// - Throws: `RegistryError.invalid`, `.credential`, `.appTaken`, `.customerUnknown`.
  public func add(_ customer: CustomerID, _ app: NewPushApp) async throws -> PushApp {
    let appID = try PushAppRules.appID(app.appID, app.type)
    let name = try PushAppRules.name.require(app.name)
    guard app.type != .sms || app.service.sms != nil else {
      throw RegistryError.invalid(field: "appType", problem: "is SMS, whose provider is set by PUT /api/v1/sms")
    }
    try PushAppRules.check(app.kind, app.type)
    var service = try app.service.checked(for: app.type)
    if app.type == .web, service[.vapidPrivateKey] == nil { service[.vapidPrivateKey] = VAPIDKeyFile().stored }
    let credentials = try service.credentials(for: appID, app.type)
    let fields = try checked(app.deviceFields)

    let id = PushAppID(try await database.query(PushAppQueries.number)[0].decode(Int64.self))
    let sealed = try SealedCredentials(credentials, requiredVault, customer, id)
    let constraints: [String: RegistryError] = [
      "push_app_app_id_app_type_key": .appTaken(appID: appID, type: app.type),
      "push_app_customer_id_fkey": .customerUnknown(customer),
    ]
    try await database.mapViolations(constraints) {
      _ = try await $0.query(
        PushAppQueries.add, customer.rawValue, id.rawValue, appID, app.type.rawValue, name,
        service.text(.teamID), service.text(.keyID), app.identityRequired, fields, service.text(.contact),
        app.kind.rawValue, sealed.kinds, sealed.bytes,
        sealed.masterKeyIDs, sealed.fingerprints, sealed.accounts, sealed.ends)
    }
    return try await changed(customer, id)
  }

  /// - Throws: `RegistryError.invalid`.
  private func checked(_ fields: [String]?) throws(RegistryError) -> [String]? {
    guard let fields, fields != [DeviceKeyFields.all] else { return fields }
    return try DeviceKeyFields(fields).names
  }

  /// Changes an app; new credentials end its alarm.
  /// - Throws: `RegistryError.numberUnknown`, `.invalid`, `.credential`.
  public func update(_ customer: CustomerID, _ id: PushAppID, _ update: PushAppUpdate) async throws -> PushApp {
    guard let app = try await find(customer, id) else { throw RegistryError.numberUnknown("push app") }
    let name = try update.name.map { name throws(RegistryError) in try PushAppRules.name.require(name) }
    let service = try update.service.checked(for: app.type, of: app)
    let credentials = try service.credentials(for: app.appID, app.type)
    let fields = try checked(update.deviceFields)
    let sealed = try SealedCredentials(credentials, requiredVault, customer, id)
    try await database.query(
      PushAppQueries.update, customer.rawValue, id.rawValue, name, service.text(.teamID), service.text(.keyID),
      update.identityRequired, fields, service.text(.contact), sealed.kinds, sealed.bytes, sealed.masterKeyIDs,
      sealed.fingerprints, sealed.accounts,
      sealed.ends)
    return try await changed(customer, id)
  }

  /// Credentials as the database takes them, one array for each column.
  private struct SealedCredentials {
    var kinds: [String] = []
    var bytes: [Bytes] = []
    var masterKeyIDs: [String] = []
    var fingerprints: [String] = []
    var accounts: [String?] = []
    var ends: [Date?] = []

    init(
      _ credentials: [NewPushCredential], _ vault: @autoclosure () -> Vault, _ customer: CustomerID, _ app: PushAppID
    ) throws {
      for credential in credentials {
        let sealed = try vault().seal(
          credential.secret, context: PushCredential.context(customer, app, credential.kind))
        kinds.append(credential.kind.rawValue)
        bytes.append(Bytes(sealed.bytes))
        masterKeyIDs.append(sealed.masterKeyID)
        fingerprints.append(credential.fingerprint)
        accounts.append(credential.account)
        ends.append(credential.notAfter)
      }
    }
  }

  var requiredVault: Vault {
    guard let vault else { preconditionFailure("a store of push apps without a vault cannot seal credentials") }
    return vault
  }

  func changed(_ customer: CustomerID, _ id: PushAppID) async throws -> PushApp {
    try await database.notify(.pushApp, customer.description)
    guard let app = try await find(customer, id) else { throw RegistryError.numberUnknown("push app") }
    return app
  }

  /// Removes an app with its credentials, its devices and their figures. Its contacts stay. The caller has to run it in a transaction, and
  /// to make sure that nothing was sent to it, since what was sent names it.
  /// - Returns: what it was.
  /// - Throws: `RegistryError.numberUnknown`.
  package func remove(_ customer: CustomerID, _ id: PushAppID) async throws -> PushApp {
    try await database.query(PushAppQueries.lockWhole, customer.rawValue, id.rawValue)
    guard let app = try await find(customer, id) else { throw RegistryError.numberUnknown("push app") }
    for statement in [DeviceQueries.removeOfApp, DeviceQueries.removeDays, PushAppQueries.remove] {
      try await database.query(statement, customer.rawValue, id.rawValue)
    }
    try await database.notify(.pushApp, customer.description)
    return app
  }

  /// Deletes what registrations that were under way have added to apps that were removed meanwhile, a portion at a time: they lock no app.
  /// - Returns: how many devices there were.
  @discardableResult
  package func removeOrphans(of customer: CustomerID, portion: Int64 = 10_000) async throws -> Int {
    var count = 0
    for row in try await database.query(DeviceQueries.orphanedApps, customer.rawValue) {
      let app = try row.decode(Int64.self)
      var removed = 0
      repeat {
        try Task.checkCancellation()
        removed = try await database.query(
          DeviceQueries.removePortionOfApp, customer.rawValue, app, portion
        ).affected
        count += removed
      } while removed == Int(portion)
    }
    return count
  }

  /// Every app of a customer, in the order they were added.
  public func list(_ customer: CustomerID) async throws -> [PushApp] {
    try await database.query(PushAppQueries.list, customer.rawValue).map(PushApp.init)
  }

  /// The customer's app of that number; `nil` if there is none.
  public func find(_ customer: CustomerID, _ app: PushAppID) async throws -> PushApp? {
    try await database.query(PushAppQueries.find, customer.rawValue, app.rawValue).first.map(PushApp.init)
  }

  /// The customer's app of that number, locked against other changes until the transaction ends; `nil` if there is none.
  package func lock(_ customer: CustomerID, _ app: PushAppID) async throws -> PushApp? {
    // A statement of its own: the next one sees what was committed while this one waited.
    try await database.query(PushAppQueries.lock, customer.rawValue, app.rawValue)
    return try await find(customer, app)
  }

  /// The app that an appId stands for.
  /// - Parameter type: may be left out when the appId has one platform.
  /// - Throws: `RegistryError.appUnknown`, `.appAmbiguous`.
  public func resolve(_ customer: CustomerID, appID: String, type: AppType? = nil) async throws -> PushApp {
    try await Self.apps(database, customer, appID).choose(appID: appID, type: type)
  }

  /// The apps that several appIds stand for, each of them on every platform unless `type` names one, in the order of the ids.
  /// - Throws: `RegistryError.appUnknown` for an id that stands for none.
  public func resolveAll(_ customer: CustomerID, appIDs: [String], type: AppType?) async throws -> [PushApp] {
    var found: [PushApp] = []
    for appID in appIDs {
      let apps = try await Self.apps(database, customer, appID).filter { type == nil || $0.type == type }
      guard !apps.isEmpty else { throw RegistryError.appUnknown(appID: appID) }
      found += apps
    }
    return found
  }

  /// The customer's apps of that appId, one per platform. An appId that none can have is looked up nowhere.
  static func apps(_ database: any Querying, _ customer: CustomerID, _ appID: String) async throws -> [PushApp] {
    guard appID.utf8.count <= 200, !appID.utf8.contains(0) else { return [] }
    return try await database.query(PushAppQueries.resolve, customer.rawValue, appID).map(PushApp.init)
  }
}

extension [PushApp] {
  /// The one of these platforms of an appId that is meant.
  func choose(appID: String, type: AppType?) throws(RegistryError) -> PushApp {
    let meant = type.map { type in filter { $0.type == type } } ?? self
    guard let app = meant.first else { throw .appUnknown(appID: appID) }
    guard meant.count == 1 else { throw .appAmbiguous(appID: appID) }
    return app
  }
}

/// Says which apps need somebody's attention, apart for their push service's production and its sandbox.
public struct PushAppAlarms: Sendable {
  private let database: any Querying

  public init(_ database: any Querying) { self.database = database }

  /// Marks the app as in need of attention. An alarm raised before gets the new reason and keeps its moment.
  /// - Parameter reason: a sentence for people, or the push service's own word.
  public func raise(_ customer: CustomerID, _ app: PushAppID, isSandbox: Bool, reason: String) async throws {
    try await database.query(
      isSandbox ? PushAppQueries.raiseSandboxAlarm : PushAppQueries.raiseAlarm, customer.rawValue, app.rawValue, reason)
  }

  /// Says that all is well again in this environment.
  public func clear(_ customer: CustomerID, _ app: PushAppID, isSandbox: Bool) async throws {
    try await database.query(
      isSandbox ? PushAppQueries.clearSandboxAlarm : PushAppQueries.clearAlarm, customer.rawValue, app.rawValue)
  }
}
