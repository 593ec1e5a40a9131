import FoundationEssentials
package import Postgres
import Locking
public import Wire

/// Who gets a push, and on what.
public struct Recipient: Sendable {
  /// Without its devices.
  public let contact: Contact
  public let device: Device
  /// What the customer's suppressions stop of what goes to it; `nil` for nothing, or if that was not asked for.
  public let suppression: SuppressionScope?
  /// The contact's language, else that of its newest valid device that tells one; `nil` if there is none, or that was not asked for.
  public let spokenLanguage: String?
}

/// What is read of recipients besides ids, token, environment and validity, which always are.
public struct RecipientFields: OptionSet, Hashable, Sendable {
  /// A bit for each `ContactField`, and those below.
  public let rawValue: Int32

  public init(rawValue: Int32) { self.rawValue = rawValue }

  init(_ field: ContactField) { rawValue = 1 << Int32(field.rawValue) }

  /// The bits after those of `ContactField`.
  private init(afterTexts place: Int32) { rawValue = 1 << (Int32(ContactField.allCases.count) + place) }

  static let originalID = RecipientFields(afterTexts: 0)
  static let listID = RecipientFields(afterTexts: 1)
  static let dateOfBirth = RecipientFields(afterTexts: 2)
  static let properties = RecipientFields(afterTexts: 3)
  /// Manufacturer, model, version, country, time zone and locale.
  static let device = RecipientFields(afterTexts: 4)
  /// What the customer's suppressions stop. It is none of `all`, as only what sends asks for it.
  package static let suppression = RecipientFields(afterTexts: 5)
  /// The language to speak to the contact. It is none of `all`, either: only what has translations asks for it.
  package static let spokenLanguage = RecipientFields(afterTexts: 6)
  /// All that a push can need.
  package static let toSend: RecipientFields = [.all, .suppression, .spokenLanguage]
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

  /// Whether a contact's properties are among them, which may be much larger than all else.
  public var hasProperties: Bool { contains(.properties) }

  /// Most bytes of a recipient with these fields, as PostgreSQL keeps them.
  public var maximumSize: Int {
    // A token, and numbers and dates. A character has up to four bytes.
    var size = DeviceToken.maximum + 128
    if contains(.originalID) { size += 4 * Registration.maximumOriginalID }
    size += 4 * ContactField.maximum * ContactField.allCases.count { contains(RecipientFields($0)) }
    if contains(.properties) { size += Contact.maximumPropertiesSize }
    if contains(.spokenLanguage) { size += LanguageTag.maximum }
    if contains(.device) { size += 4 * RecipientColumns.deviceDetails.count * DeviceRegistration.maximum }
    return size
  }
}

extension Contact {
  /// Its language, else that of the newest of its valid devices that tells one.
  package var spokenLanguage: String? {
    texts[.language]
      ?? devices.filter { $0.invalidatedAt == nil && $0.locale != nil }
      .max { ($0.registeredAt, $0.id) < ($1.registeredAt, $1.id) }?.locale
  }
}

/// The columns of a statement that reads recipients: ids, token, environment and validity, and what else is asked for. A column costs
/// time for each of a million recipients, whether it holds anything or not.
package struct RecipientColumns: Sendable {
  package let fields: RecipientFields

  package init(_ fields: RecipientFields) { self.fields = fields }

  private static let listColumn = "list_id"
  private static let languageColumn = "spoken_language"
  private static let contactColumns: [(field: RecipientFields, name: String)] =
    [
      (.originalID, "original_id"), (.listID, listColumn), (.dateOfBirth, "date_of_birth"), (.properties, "properties"),
    ] + ContactField.allCases.map { (RecipientFields($0), $0.column) } + [(.spokenLanguage, languageColumn)]

  private static let deviceColumns = [
    "device_id", "push_app_id", "token", "sandbox", "registered_at", "invalidated_at", "invalidation_type",
  ]
  static let deviceDetails = ["manufacturer", "model", "os_version", "country", "time_zone", "locale"]

  /// The columns of a contact's row, its id first.
  package func ofContact(_ alias: String) -> String { contactNames.map { "\(alias).\($0)" }.joined(separator: ", ") }

  /// A contact's fields from a row of table `contact`. The list is looked up, as the row has none, and so is the language of whoever tells
  /// none; `$1` is the customer.
  package func ofContactRow(_ alias: String) -> String {
    contactNames.map { name in
      switch name {
      case Self.listColumn: "\(ContactColumns.lowestList(alias)) AS \(name)"
      case Self.languageColumn: "\(Self.spokenLanguage(alias)) AS \(name)"
      default: "\(alias).\(name)"
      }
    }.joined(separator: ", ")
  }

  private static func spokenLanguage(_ contact: String) -> String {
    """
    coalesce(nullif(\(contact).language, ''),
             (SELECT own.locale FROM device AS own
               WHERE own.customer_id = $1::bigint AND own.contact_id = \(contact).contact_id AND own.invalidated_at IS NULL
                 AND own.locale <> ''
               ORDER BY own.registered_at DESC, own.device_id DESC LIMIT 1))
    """
  }

  private var contactNames: [String] {
    ["contact_id"] + Self.contactColumns.filter { fields.contains($0.field) }.map(\.name)
  }

  /// The columns of a device's row.
  package func ofDevice(_ alias: String) -> String {
    (Self.deviceColumns + (fields.contains(.device) ? Self.deviceDetails : [])).map { "\(alias).\($0)" }
      .joined(separator: ", ")
  }

  /// All of them in the order that `recipient` wants, by the aliases of rows that have them.
  package func all(contact: String, device: String) -> String { all(ofContact(contact), device) }

  /// A recipient's fields, where the contact's row is one of table `contact`.
  package func all(contactRow: String, device: String) -> String { all(ofContactRow(contactRow), device) }

  private func all(_ contact: String, _ device: String) -> String {
    "\(contact), \(ofDevice(device))\(fields.contains(.suppression) ? ", \(device).suppression" : "")"
  }

  /// The column `suppression` of `all`, behind others of a query on a row of `device`; empty if it is not asked for.
  /// - Parameters:
  ///   - device: the alias of the row.
  ///   - originalID: of its contact, where the statement has it; `nil` to look it up.
  ///   - key: the number of the first of two parameters, the pads of `SuppressionKey`.
  package func andSuppression(ofDevice device: String, originalID: String? = nil, key: Int) -> String {
    guard fields.contains(.suppression) else { return "" }
    return ", \(SuppressionSQL.scope(ofDevice: device, originalID: originalID, key: key)) AS suppression"
  }

  /// How many there are.
  package var count: Int {
    1 + Self.contactColumns.count { fields.contains($0.field) } + Self.deviceColumns.count
      + (fields.contains(.device) ? Self.deviceDetails.count : 0) + (fields.contains(.suppression) ? 1 : 0)
  }

  /// - Parameter first: where the columns of `all` begin.
  /// - Returns: `nil` if the row has no device.
  package func recipient(_ row: Row, from first: Int = 0) throws -> Recipient? {
    var column = first
    func next<Value: PostgresDecodable>() throws -> Value {
      defer { column += 1 }
      return try row.column(column)
    }
    guard let contactID: Int64 = try next() else { return nil }
    let originalID: String = fields.contains(.originalID) ? try next() : ""
    let list: Int64? = fields.contains(.listID) ? try next() : nil
    let birth: CalendarDate? = fields.contains(.dateOfBirth) ? try next() : nil
    let properties: JSONDocument? = fields.contains(.properties) ? try next() : nil
    let texts =
      fields.isDisjoint(with: .texts)
      ? ContactTexts() : try ContactTexts { fields.contains(RecipientFields($0)) ? try next() : nil }
    let spokenLanguage: String? = fields.contains(.spokenLanguage) ? try next() : nil
    guard let device: Int64 = try next() else { return nil }
    let app: Int64 = try next()
    let token: String = try next()
    let isSandbox: Bool = try next()
    let registeredAt: Date = try next()
    let invalidatedAt: PostgresTimestamp? = try next()
    let invalidationType: Int16 = try next()
    let hasDetails = fields.contains(.device)
    return Recipient(
      contact: Contact(
        id: ContactID(contactID), originalID: originalID, listID: list.map(ListID.init), texts: texts,
        dateOfBirth: birth?.daysSince1970, properties: properties?.text ?? "{}"),
      device: Device(
        id: DeviceID(device), app: PushAppID(app), token: token, isSandbox: isSandbox,
        manufacturer: hasDetails ? try next() : nil, model: hasDetails ? try next() : nil,
        osVersion: hasDetails ? try next() : nil, country: hasDetails ? try next() : nil,
        timeZone: hasDetails ? try next() : nil, locale: hasDetails ? try next() : nil, registeredAt: registeredAt,
        invalidatedAt: invalidatedAt?.milliseconds, invalidationType: InvalidationType(rawValue: invalidationType)),
      suppression: fields.contains(.suppression) ? (try next() as String?).flatMap(SuppressionScope.init) : nil,
      spokenLanguage: spokenLanguage)
  }
}

/// A statement that reads recipients, with a text for each choice of columns.
package final class RecipientStatement: Sendable {
  private let texts = Mutex<[RecipientFields: Statement]>([:])
  private let text: @Sendable (RecipientColumns) -> Statement
  /// Most texts that are kept: clients choose what their messages name.
  private static let mostKept = 64

  package init(_ text: @escaping @Sendable (RecipientColumns) -> Statement) { self.text = text }

  package func reading(_ columns: RecipientColumns) -> Statement {
    texts.withLock { texts in
      if let known = texts[columns.fields] { return known }
      let made = text(columns)
      if texts.count < Self.mostKept { texts[columns.fields] = made }
      return made
    }
  }
}
