package import FoundationEssentials
public import Postgres
public import Registry
public import Wire

/// Which apps have a data tree.
public struct DataTreeApps: Sendable {
  private let database: any Querying

  public init(_ database: any Querying) { self.database = database }

  /// Gives an app a data tree, unless it has one, and makes a secret that opens it: an access key of scope `datasync` that is bound to
  /// the app, and opens nothing else. Secrets made before stay valid until they are revoked. The caller has to run it in a transaction.
  /// - Parameter createdBy: the key that asks for it; nil for the command line.
  /// - Throws: `RegistryError.appUnknown`, `.customerUnknown`.
  public func enable(_ customer: CustomerID, app: String, createdBy: AccessKeyID?) async throws -> NewAccessKey {
    let key = try await AccessKeys(database).make(
      customer, name: String("datasync \(app)".prefix(200)), scope: .datasync, appID: app, createdBy: createdBy)
    try await database.query(DataTreeQueries.enable, customer.rawValue, app)
    return key
  }

  /// The customer's apps that have a data tree, in the order of their ids.
  public func list(_ customer: CustomerID) async throws -> [DataTreeApp] {
    try await database.query(DataTreeQueries.list, customer.rawValue).map { row in
      let (app, createdAt) = try row.decode(String.self, Date.self)
      return DataTreeApp(app: app, createdAt: Timestamp(createdAt))
    }
  }

  /// Webhooks that do not take notifications: how many wait after three attempts, and since when.
  package func failingWebhooks(
    _ customer: CustomerID
  ) async throws -> [(appID: String, webhook: String, waiting: Int, since: Date)] {
    try await database.query(NotificationQueue.failing, customer.rawValue).map { row in
      try row.decode(String.self, String.self, Int.self, Date.self)
    }
  }
}
