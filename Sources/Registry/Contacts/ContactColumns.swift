import FoundationEssentials
import Postgres
import Wire

/// The columns of every statement that returns contacts and devices to be shown, so that one reader reads all. Statements of pushes have
/// `RecipientColumns`. They are `ordinal`, `remark`, six of the contact and thirteen of the device. No statement returns a row as one
/// value, which Citus cannot take apart again.
enum ContactColumns {
  /// The columns of both.
  /// - Parameters: aliases for the contact's row and the device's.
  static func sql(contact: String, device: String) -> String {
    "\(Self.contact(contact)),\n  \(Self.device(device))"
  }

  /// The columns of a contact by the alias of its row.
  /// - Parameter list: what stands for its list; `nil` to look it up.
  static func contact(_ alias: String, list: String? = nil) -> String {
    """
    \(alias).contact_id, \(alias).original_id, \(list ?? lowestList(alias)) AS list_id, \(alias).date_of_birth, \(alias).properties,
      \(texts(alias)) AS texts
    """
  }

  /// The lowest of the lists that a contact is on, by the alias of its row. `$1` is the customer.
  ///
  /// A customer without members of lists costs a statement one look at an index, and not one for each contact.
  static func lowestList(_ alias: String) -> String {
    """
    CASE WHEN EXISTS (SELECT FROM list_member WHERE customer_id = $1::bigint) THEN
      (SELECT min(list_id) FROM list_member WHERE customer_id = $1::bigint AND contact_id = \(alias).contact_id) END
    """
  }

  /// The columns of `ContactField` as one array.
  static func texts(_ alias: String) -> String {
    "ARRAY[\(ContactField.allCases.map { "\(alias).\($0.column)" }.joined(separator: ", "))]::text[]"
  }

  /// The columns of a device by the alias of its row.
  static func device(_ alias: String) -> String {
    deviceColumns.map { "\(alias).\($0.name)" }.joined(separator: ", ")
  }

  /// What stands for a device where there is none.
  static let noDevice = deviceColumns.map { "NULL::\($0.type) AS \($0.name)" }.joined(separator: ", ")

  private static let deviceColumns = [
    ("device_id", "bigint"), ("push_app_id", "bigint"), ("token", "text"), ("sandbox", "bool"),
    ("manufacturer", "text"),
    ("model", "text"), ("os_version", "text"), ("country", "text"), ("time_zone", "text"),
    ("locale", "text"), ("registered_at", "timestamptz"),
    ("invalidated_at", "timestamptz"), ("invalidation_type", "int2"),
  ].map { (name: $0.0, type: $0.1) }
}

/// One row of a statement that returns contacts and devices.
struct ContactRow {
  /// Which of the things asked for the row answers, counted from 1.
  let ordinal: Int
  /// What there is to say of a registration that was not simply taken as it was sent; `none` in every other row.
  let remark: Remark
  /// The contact's number, which a row of a device alone has, too.
  let contactID: ContactID?
  /// Without its devices.
  let contact: Contact?
  let device: Device?

  /// Why a registration was left out, or what became of it.
  enum Remark: RawRepresentable {
    case none, listUnknown, appUnknown
    /// The rest was registered.
    case propertiesDropped
    /// It was registered. Its contact may have too many valid devices by now.
    case mayHaveTooMany
    /// It was written in part. Another statement erased its contact or wrote its device meanwhile, so it is to run again.
    case raced
    /// The request alone names more valid devices than the limit.
    case tooManyDevices(limit: Int)

    /// - Parameter rawValue: a negative one is the limit of devices.
    init?(rawValue: Int16) {
      switch rawValue {
      case 0: self = .none
      case 1: self = .listUnknown
      case 2: self = .appUnknown
      case 3: self = .propertiesDropped
      case 4: self = .mayHaveTooMany
      case 5: self = .raced
      case ..<0: self = .tooManyDevices(limit: -Int(rawValue))
      default: return nil
      }
    }

    var rawValue: Int16 {
      switch self {
      case .none: 0
      case .listUnknown: 1
      case .appUnknown: 2
      case .propertiesDropped: 3
      case .mayHaveTooMany: 4
      case .raced: 5
      case .tooManyDevices(let limit): Int16(-limit)
      }
    }
  }

  init(_ row: Row) throws {
    ordinal = try row.column(0)
    remark = Remark(rawValue: try row.column(1)) ?? .none
    contactID = (try row.column(2) as Int64?).map(ContactID.init)
    contact = try contactID.flatMap { try Contact($0, row) }
    device = try (try row.column(8) as Int64?).map { try Device(DeviceID($0), row) }
  }
}

extension Contact {
  /// - Returns: `nil` if the row has no columns of the contact.
  fileprivate init?(_ id: ContactID, _ row: Row) throws {
    guard let originalID: String = try row.column(3) else { return nil }
    let properties: JSONDocument? = try row.column(6)
    guard let texts = ContactTexts(try row.column(7) as [String?]) else {
      throw PostgresError.misuse("a statement returns other texts of contacts than it is asked for")
    }
    self.init(
      id: id, originalID: originalID, listID: (try row.column(4) as Int64?).map(ListID.init), texts: texts,
      dateOfBirth: (try row.column(5) as CalendarDate?)?.daysSince1970, properties: properties?.text ?? "{}")
  }
}

extension Device {
  fileprivate init(_ id: DeviceID, _ row: Row) throws {
    let invalidatedAt: PostgresTimestamp? = try row.column(19)
    self.init(
      id: id, app: PushAppID(try row.column(9)), token: try row.column(10), isSandbox: try row.column(11),
      manufacturer: try row.column(12), model: try row.column(13), osVersion: try row.column(14),
      country: try row.column(15), timeZone: try row.column(16), locale: try row.column(17),
      registeredAt: try row.column(18), invalidatedAt: invalidatedAt?.milliseconds,
      invalidationType: InvalidationType(rawValue: try row.column(20)))
  }
}

extension CalendarDate {
  /// `nil` for an infinity, which is no day, though somebody may have stored one.
  var daysSince1970: Int32? { days == .min || days == .max ? nil : days + Self.daysFromUnixEpoch }
}
