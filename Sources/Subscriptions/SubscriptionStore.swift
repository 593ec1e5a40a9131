import FoundationEssentials
public import Postgres
public import Registry
public import Wire

/// The store of subscriptions to what changes in data trees.
///
/// The same place, event and target again is the same subscription: it gets the new settings.
public struct SubscriptionStore: Sendable {
  private let pool: Pool
  private let vault: Vault

  /// - Parameter vault: seals the keys that notifications are encrypted with.
  public init(_ pool: Pool, vault: Vault) {
    self.pool = pool
    self.vault = vault
  }

  /// Makes a subscription. What is there already is no change, so no notification is sent.
  /// - Throws: `SubscriptionsError.notEnabled`, `.invalid`; `JSONProblem` for a path that is none.
  public func add(
    _ customer: CustomerID, app: String, _ request: SubscriptionRequest
  ) async throws -> SubscriptionReply {
    _ = try DataTreePath(text: request.path)
    _ = try Self.flags(request)
    let (service, target) = try Self.target(request)
    let key = try request.encryptionKey.map(Self.key)
    var duration = request.durationSeconds.map(Double.init)
    if let webhook = request.webhook {
      let longest = try await WebhookStore(pool, vault: vault).duration(customer, app: app, of: webhook)
      duration = duration ?? longest
    } else {
      try await Self.checkService(pool, customer, app, service)
    }
    return try await insert(customer, app, request, service, target, key: key, duration: duration)
  }

  /// Writes a checked subscription.
  func insert(
    _ customer: CustomerID, _ app: String, _ request: SubscriptionRequest, _ service: String, _ target: String,
    key: [UInt8]?, duration: Double?
  ) async throws -> SubscriptionReply {
    let path = try DataTreePath(text: request.path)
    let flags = try Self.flags(request)
    return try await pool.transaction(of: customer.rawValue, locks: .brief) { [vault] database in
      do {
        let (place, targetKey) = (Bytes(TreeChange.key(path.stored)), Bytes(TreeChange.key("\(service)|\(target)")))
        try await database.query(DataTreeQueries.shareKey, customer.rawValue, app)
        for statement in [SubscriptionQueries.hold, SubscriptionQueries.renew] {
          try await database.query(statement, customer.rawValue, app, place, targetKey, request.event.rawValue)
        }
        var row = try await database.query(
          SubscriptionQueries.add, customer.rawValue, app, place, path.stored, request.event.rawValue, flags.added,
          flags.changed, flags.removed, service, target, targetKey, duration)[0]
        if let key {
          let id = try SubscriptionReply(row).subscriptionId
          let sealed = try vault.seal(
            Secret(bytes: key), context: SealedColumn.subscriptionKey.place(customer, "\(id)"))
          row = try await database.query(
            SubscriptionQueries.seal, customer.rawValue, app, id.rawValue, Bytes(sealed.bytes), sealed.masterKeyID)[0]
        }
        return try SubscriptionReply(row)
      } catch let error as PostgresError where error.constraint == "data_tree_subscription_customer_id_app_id_fkey" {
        throw SubscriptionsError.notEnabled(app: app)
      } catch let error as PostgresError where error.constraint == "data_tree_subscription_path_normalized" {
        throw SubscriptionsError.notNormalized
      }
    }
  }

  /// The subscriptions of an app that have not ended, in the order of their numbers. A page ends with 2 MiB of them.
  public func list(
    _ customer: CustomerID, app: String, _ page: PageRequest<SubscriptionID>
  ) async throws -> Page<SubscriptionReply, SubscriptionID> {
    let rows = try await pool.query(
      SubscriptionQueries.list, customer.rawValue, app, page.after?.rawValue ?? 0, Int64(page.limit + 1))
    return page.page(of: try rows.map { (try SubscriptionReply($0), try $0.isBeyondPage) }, cursor: \.subscriptionId)
  }

  /// Ends a subscription, without a notification to its device.
  /// - Throws: `SubscriptionsError.subscriptionUnknown`.
  public func remove(_ customer: CustomerID, app: String, _ id: SubscriptionID) async throws -> SubscriptionReply {
    try await pool.transaction(of: customer.rawValue, locks: .brief) { database in
      try await database.query(DataTreeQueries.shareKey, customer.rawValue, app)
      guard let row = try await database.query(SubscriptionQueries.remove, customer.rawValue, app, id.rawValue).first
      else { throw SubscriptionsError.subscriptionUnknown(id) }
      return try SubscriptionReply(row)
    }
  }

  // MARK: Checks

  private static func flags(
    _ request: SubscriptionRequest
  ) throws(SubscriptionsError) -> (added: Bool, changed: Bool, removed: Bool) {
    let flags = (request.added == true, request.changed == true, request.removed == true)
    switch request.event {
    case .child:
      guard flags.0 || flags.1 || flags.2 else {
        throw .invalid(field: "added", problem: "is not true, nor are changed and removed: nothing would be told")
      }
    case .value, .valueHidingData:
      guard !flags.0, !flags.1, !flags.2 else {
        throw .invalid(field: "added", problem: "changed and removed are only for the event child")
      }
    }
    return flags
  }

  private static func target(
    _ request: SubscriptionRequest
  ) throws(SubscriptionsError) -> (service: String, target: String) {
    switch (request.deviceToken, request.service, request.webhook) {
    case (let token?, let service?, nil):
      guard token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
        throw .invalid(field: "deviceToken", problem: "holds a character other than visible ASCII")
      }
      return (service.rawValue, token)
    case (nil, nil, let webhook?): return ("webhook", webhook)
    case (.some, nil, nil): throw .invalid(field: "service", problem: "is missing beside deviceToken")
    case (nil, .some, nil): throw .invalid(field: "deviceToken", problem: "is missing beside service")
    case (nil, nil, nil):
      throw .invalid(field: "deviceToken", problem: "is missing: give deviceToken and service, or webhook")
    default: throw .invalid(field: "webhook", problem: "is there beside deviceToken or service")
    }
  }

  private static func key(_ text: String) throws(SubscriptionsError) -> [UInt8] {
    guard let key = Data(base64Encoded: text), key.count == 32 else {
      throw .invalid(field: "encryptionKey", problem: "must be 32 bytes in base64")
    }
    return Array(key)
  }

  private static func checkService(
    _ database: any Querying, _ customer: CustomerID, _ app: String, _ service: String
  ) async throws {
    guard let wanted = MessagingService(rawValue: service) else { return }
    let apps = try await PushApps(database).list(customer)
    guard apps.contains(where: { $0.appID == app && $0.type == wanted.appType }) else {
      throw SubscriptionsError.invalid(
        field: "service", problem: "is \(service), and the app has no platform \(wanted.appType.platform)")
    }
  }
}

extension SubscriptionReply {
  init(_ row: Row) throws {
    let (id, path, event, added, changed, removed, service, target, isEncrypted, expiry) = try row.decode(
      Int64.self, String.self, String.self, Bool.self, Bool.self, Bool.self, String.self, String.self, Bool.self,
      Date.self)
    guard let event = SubscribedEvent(rawValue: event) else {
      throw PostgresError.decoding(statement: "subscription", column: "event", .format("an unknown event"))
    }
    let device = MessagingService(rawValue: service)
    self.init(
      subscriptionId: SubscriptionID(id), path: path.withoutLastSlash, event: event, added: added, changed: changed,
      removed: removed, deviceToken: device == nil ? nil : target, service: device,
      webhook: device == nil ? target : nil, encrypted: isEncrypted,
      expiresAt: expiry == .distantFuture ? nil : Timestamp(expiry))
  }
}

extension String {
  /// A stored path as people and notifications name it.
  var withoutLastSlash: String { utf8.count > 1 ? String(decoding: utf8.dropLast(), as: UTF8.self) : self }
}
