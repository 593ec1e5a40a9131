public import FoundationEssentials
public import Postgres
public import Wire

/// The store of devices. They are registered by `RegistrationBatcher`.
public struct Devices: Sendable {
  private let database: any Querying

  public init(_ database: any Querying) { self.database = database }

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

  /// The devices with what is known of their contacts, in no order; quick for a thousand at a time. Those that are not there are left
  /// out.
  /// - Parameter fields: what they come with, of up to `fields.maximumSize` bytes each; the rest of them is empty.
  public func recipients(
    _ customer: CustomerID, _ devices: [DeviceID], with fields: RecipientFields = .all
  ) async throws -> [Recipient] {
    try await database.query(DeviceQueries.recipients, customer.rawValue, devices.map(\.rawValue), fields.rawValue)
      .compactMap { try Recipient($0) }
  }
}

extension Devices {
  /// The device of that token with its contact; nil if no device of the app has it.
  public func recipient(_ customer: CustomerID, _ app: PushAppID, _ token: DeviceToken) async throws -> Recipient? {
    try await database.query(DeviceQueries.ofToken, customer.rawValue, app.rawValue, Bytes(token.key)).first
      .flatMap { try Recipient($0) }
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

/// Who gets a push, and on what.
public struct Recipient: Sendable {
  /// Without its devices.
  public let contact: Contact
  public let device: Device
}

/// What is read of recipients besides ids, token, environment and validity, which always are.
public struct RecipientFields: OptionSet, Sendable {
  /// A bit for each `ContactField`, and those below.
  public let rawValue: Int32

  public init(rawValue: Int32) { self.rawValue = rawValue }

  init(_ field: ContactField) { rawValue = 1 << Int32(field.rawValue) }

  static let originalID = RecipientFields(rawValue: 1 << 16)
  static let listID = RecipientFields(rawValue: 1 << 17)
  static let dateOfBirth = RecipientFields(rawValue: 1 << 18)
  static let properties = RecipientFields(rawValue: 1 << 19)
  /// Manufacturer, model, version and country.
  static let device = RecipientFields(rawValue: 1 << 20)
  static let texts = RecipientFields(ContactField.allCases.map { RecipientFields($0) })
  static let contact: RecipientFields = [.texts, .originalID, .listID, .dateOfBirth, .properties]
  public static let all: RecipientFields = [.contact, .device]

  /// The fields of these names, as templates have them: `firstName`, `properties`, `device`. All of them for a name that is none.
  public init(named names: some Sequence<String>) {
    self = names.reduce(into: []) { $0.formUnion(Self.named[$1] ?? .all) }
  }

  private static let named = Dictionary(
    uniqueKeysWithValues: ContactField.allCases.map { ($0.name, RecipientFields($0)) } + [
      ("originalId", .originalID), ("listId", .listID), ("dateOfBirth", .dateOfBirth), ("properties", .properties),
      ("device", .device),
    ])

  /// Most bytes of a recipient with these fields, as PostgreSQL keeps them.
  public var maximumSize: Int {
    // A token, and numbers and dates. A character has up to four bytes.
    var size = DeviceToken.maximum + 128
    if contains(.originalID) { size += 4 * Registration.maximumOriginalID }
    size += 4 * ContactField.maximum * ContactField.allCases.count { contains(RecipientFields($0)) }
    if contains(.properties) { size += Contact.maximumPropertiesSize }
    if contains(.device) { size += 4 * 4 * DeviceRegistration.maximum }
    return size
  }
}

extension Recipient {
  /// The columns that statements of other rooms return for `init(_:)`, after two of their own: an ordinal and an `int2`.
  package static func columns(contact: String, device: String) -> String {
    ContactColumns.sql(contact: contact, device: device)
  }

  /// The columns of the contact alone, and those of the device, for parts of a statement that select them apart.
  package static func contactColumns(_ alias: String) -> String { ContactColumns.contact(alias) }
  package static func deviceColumns(_ alias: String) -> String { ContactColumns.device(alias) }

  /// The columns of `columns(contact:device:)`, of parts of the statement that have selected them already.
  package static func columns(ofContact contact: String, ofDevice device: String) -> String {
    ContactColumns.sql(of: contact, device)
  }

  /// How many columns the row has up to the last of these.
  package static let columnCount = 19

  /// - Returns: `nil` if the row has no device.
  package init?(_ row: Row) throws {
    let row = try ContactRow(row)
    guard let contact = row.contact, let device = row.device else { return nil }
    self.init(contact: contact, device: device)
  }
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
