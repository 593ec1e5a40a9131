public import Postgres
public import Wire

/// The store of push apps and of what opens their push services.
public struct PushApps: Sendable {
  private let database: any Querying
  private let vault: Vault

  public init(_ database: any Querying, vault: Vault) {
    self.database = database
    self.vault = vault
  }
  public init(_ unit: UnitOfWork, vault: Vault) { self.init(unit.transaction, vault: vault) }

  /// Adds an app. teamId, keyId and signingKey belong to iOS and come together or not at all.
  /// - Throws: `RegistryError.invalid`, `.credential`, `.appTaken`, `.customerUnknown`.
  public func add(_ customer: CustomerID, _ app: NewPushApp) async throws -> PushApp {
    fatalError()
  }

  /// Changes an app.
  /// - Throws: `RegistryError.pushAppUnknown`, `.invalid`, `.credential`.
  public func update(_ customer: CustomerID, _ app: PushAppID, _ change: PushAppUpdate) async throws -> PushApp {
    fatalError()
  }

  /// Every app of a customer, in the order they were added.
  public func list(_ customer: CustomerID) async throws -> [PushApp] {
    fatalError()
  }

  /// The customer's app of that number; `nil` if there is none.
  public func find(_ customer: CustomerID, _ app: PushAppID) async throws -> PushApp? {
    fatalError()
  }

  /// The app that an appId stands for.
  /// - Parameter type: may be left out when the appId has one platform.
  /// - Throws: `RegistryError.appUnknown`, `.appAmbiguous`.
  public func resolve(_ customer: CustomerID, appID: String, type: AppType? = nil) async throws -> PushApp {
    fatalError()
  }

  /// What signs for an iOS app; `nil` if it has no signing key.
  /// - Throws: `RegistryError.sealed` when no master key at hand opens it.
  public func credentials(for app: PushApp) async throws -> SigningCredentials? {
    fatalError()
  }

  /// Marks the app as in need of attention. An alarm that is raised already keeps its moment.
  public func raiseAlarm(_ customer: CustomerID, _ app: PushAppID, reason: String) async throws {
    fatalError()
  }

  /// Says that all is well again.
  public func clearAlarm(_ customer: CustomerID, _ app: PushAppID) async throws {
    fatalError()
  }
}
