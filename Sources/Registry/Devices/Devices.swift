public import FoundationEssentials
public import Postgres
public import Wire

/// The store of devices. They are registered by `RegistrationBatcher`.
public struct Devices: Sendable {
  private let database: any Querying

  public init(_ database: any Querying) { self.database = database }

  /// Tells the planner how large the registry's tables have become, if one is more than twice as large as when it last looked. Plans made
  /// when the tables were all but empty compare all contacts with all devices.
  /// - Parameter devices: how many there are at least. PostgreSQL counts them too, some seconds later.
  public func refreshStatistics(atLeast devices: Int = 0) async throws {
    _ = try await database.query(DeviceQueries.analyze, devices)
  }

  /// Marks the pairs as no longer valid, all or none; their rows stay. Repeating it keeps the first date, unless the
  /// request gives another.
  ///
  /// With a device key, pairs that are not registered are ignored: who has which token is not for its holder to learn.
  /// - Throws: `RegistryError.deviceUnknown` for the first pair that is not registered: nothing is changed then.
  public func invalidate(_ customer: CustomerID, _ invalidation: Invalidation) async throws {
    let pairs = invalidation.pairs
    let unknown = try await database.tryingAgain {
      try await $0.query(
        DeviceQueries.invalidate, customer.rawValue, invalidation.originalID, pairs.map(\.app.rawValue),
        pairs.map { Bytes($0.token.key) }, pairs.map(\.type.rawValue),
        pairs.map { $0.moment.map(PostgresTimestamp.init(milliseconds:)) }, invalidation.key?.rawValue,
        invalidation.isOfDeviceKey)
    }
    guard let first = unknown.first, !invalidation.isOfDeviceKey else { return }
    throw RegistryError.deviceUnknown(field: pairs[try first.decode(Int.self) - 1].field)
  }

  /// Retires devices that a push service has said are gone; quick for a thousand at a time.
  ///
  /// A verdict counts only if the device has not been registered since (protocol notes, section 1.3), and for the
  /// environment that was asked (2.8).
  /// - Returns: what became of each; a device that is not there is `.alreadyInvalid`.
  public func retire(_ customer: CustomerID, _ verdicts: [Retirement]) async throws -> [DeviceID: Retirement.Outcome] {
    guard !verdicts.isEmpty else { return [:] }
    let rows = try await database.tryingAgain {
      try await $0.query(
        DeviceQueries.retire, customer.rawValue, verdicts.map(\.device.rawValue), verdicts.map(\.moment),
        verdicts.map(\.reason), verdicts.map(\.type.rawValue), verdicts.map(\.isSandbox))
    }
    var outcomes: [DeviceID: Retirement.Outcome] = [:]
    for row in rows {
      let (device, isRetired, wasValid) = try row.decode(Int64.self, Bool.self, Bool.self)
      outcomes[DeviceID(device)] = isRetired ? .retired : wasValid ? .kept : .alreadyInvalid
    }
    return outcomes
  }

  /// Lets a telephone number get SMS again that has opted out.
  /// - Parameters:
  ///   - app: that of SMS.
  ///   - key: the access key of the request.
  /// - Returns: its device, and when and why it had; nil if it had not.
  package func allow(
    _ customer: CustomerID, _ number: PhoneNumber, in app: PushAppID, by key: AccessKeyID?
  ) async throws -> (device: DeviceID, optedOutAt: Date, reason: String?)? {
    let token = try DeviceToken(number.e164, type: .sms, field: "number")
    return try await database.query(
      DeviceQueries.allow, customer.rawValue, app.rawValue, Bytes(token.key), key?.rawValue
    ).first.map { row in
      let (device, optedOutAt, reason) = try row.decode(Int64.self, Date.self, String?.self)
      return (DeviceID(device), optedOutAt, reason)
    }
  }

  /// The devices with what is known of their contacts, in no order; quick for a thousand at a time. Those that are not there are left
  /// out.
  /// - Parameter fields: what they come with, of up to `fields.maximumSize` bytes each; the rest of them is empty.
  public func recipients(
    _ customer: CustomerID, _ devices: [DeviceID], with fields: RecipientFields = .all
  ) async throws -> [Recipient] {
    let columns = RecipientColumns(fields)
    return try await database.query(
      DeviceQueries.recipients.reading(columns), customer.rawValue, devices.map(\.rawValue)
    ).compactMap { try columns.recipient($0) }
  }
}

extension Devices {
  /// The device of that token with its contact; nil if no device of the app has it.
  public func recipient(_ customer: CustomerID, _ app: PushAppID, _ token: DeviceToken) async throws -> Recipient? {
    try await database.query(DeviceQueries.ofToken, customer.rawValue, app.rawValue, Bytes(token.key)).first
      .flatMap { try RecipientColumns(.all).recipient($0) }
  }

  /// The contact's devices in these apps, valid or not, oldest first, at most `Device.maximumOfContact`.
  public func histories(
    _ customer: CustomerID, of contact: ContactID, in apps: [PushAppID]
  ) async throws -> [DeviceHistory] {
    try await database.query(DeviceQueries.histories, customer.rawValue, contact.rawValue, apps.map(\.rawValue)).map {
      row in
      let (id, heldSince, registeredAt, invalidatedAt, reason) = try row.decode(
        Int64.self, Date.self, Date.self, Date?.self, String?.self)
      return DeviceHistory(
        id: DeviceID(id), heldSince: heldSince, registeredAt: registeredAt, invalidatedAt: invalidatedAt,
        invalidationReason: reason)
    }
  }
}

/// What has happened to a device of a contact.
public struct DeviceHistory: Sendable {
  public let id: DeviceID
  /// When the contact got it.
  public let heldSince: Date
  /// When its token was last registered.
  public let registeredAt: Date
  /// `nil` while it is valid.
  public let invalidatedAt: Date?
  /// The push service's own reason, or the hub's.
  public let invalidationReason: String?
}

extension Querying {
  /// Runs a statement again that lost to another one, a few times; it had no effect.
  fileprivate func tryingAgain<Answer>(_ body: (any Querying) async throws -> Answer) async throws -> Answer {
    for _ in 1..<5 {
      do {
        return try await body(self)
      } catch let error as PostgresError {
        guard case .server = error, error.isPassing else { throw error }
      }
    }
    return try await body(self)
  }
}

/// The log of what happened with devices.
public struct DeviceEvents: Sendable {
  private let database: any Querying

  public init(_ database: any Querying) { self.database = database }

  /// Deletes a customer's events, in pieces that are committed one by one.
  /// - Returns: how many there were.
  public func delete(of customer: CustomerID, olderThanDays days: Int32) async throws -> Int {
    var count = 0
    var contact: Int64 = 0
    while let last = try await database.query(DeviceQueries.expiredEvents, customer.rawValue, contact, days)[0].decode(
      Int64?.self)
    {
      count += try await database.query(DeviceQueries.deleteEvents, customer.rawValue, contact, days, last).affected
      contact = last
    }
    return count
  }
}
