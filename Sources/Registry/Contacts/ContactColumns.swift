import FoundationEssentials
import Postgres
import Wire

/// The columns by which every statement that tells of contacts and devices tells of them, so that one reader reads all:
/// `ordinal`, a flag, eight of the contact and eleven of the device. A row with no device has NULLs for it.
enum ContactColumns {
  /// - Parameters:
  ///   - contact: what stands for the contact's row, an alias or a parenthesised composite.
  ///   - device: an alias for the device's row.
  static func sql(contact: String, device: String) -> String {
    let texts = ContactField.allCases.map { "\(contact).\($0.column)" }.joined(separator: ", ")
    return """
      \(contact).contact_id, \(contact).original_id, \(contact).list_id, \(contact).date_of_birth,
      \(contact).properties, ARRAY[\(texts)]::text[],
      \(device).device_id, \(device).push_app_id, \(device).token, \(device).sandbox, \(device).manufacturer,
      \(device).model, \(device).os_version, \(device).country, \(device).registered_at, \(device).invalidated_at,
      \(device).invalidation_type
      """
  }
}

/// One row of a statement that tells of contacts and devices.
struct ContactRow {
  /// Which of the things asked for the row answers, counted from 1.
  let ordinal: Int
  let flag: Bool
  /// Without its devices.
  let contact: Contact?
  let device: Device?

  init(_ row: Row) throws {
    let (
      ordinal, flag, contactID, originalID, listID, dateOfBirth, properties, texts, deviceID, app, token, isSandbox,
      manufacturer, model, osVersion, country, registeredAt, invalidatedAt, invalidationType
    ) = try row.decode(
      Int.self, Bool.self, Int64?.self, String?.self, Int64?.self, CalendarDate?.self, JSONB?.self, [String?]?.self,
      Int64?.self, Int64?.self, String?.self, Bool?.self, String?.self, String?.self, String?.self, String?.self,
      Date?.self, PostgresTimestamp?.self, Int16?.self)
    self.ordinal = ordinal
    self.flag = flag
    if let contactID, let originalID, let texts {
      contact = Contact(
        id: ContactID(contactID), originalID: originalID, listID: listID.map(ListID.init), texts: texts,
        dateOfBirth: dateOfBirth?.daysSince1970, properties: properties?.text ?? "{}")
    } else {
      contact = nil
    }
    if let deviceID, let app, let token, let isSandbox, let registeredAt, let invalidationType {
      device = Device(
        id: DeviceID(deviceID), app: PushAppID(app), token: token, isSandbox: isSandbox, manufacturer: manufacturer,
        model: model, osVersion: osVersion, country: country, registeredAt: registeredAt,
        invalidatedAt: invalidatedAt?.milliseconds,
        invalidationType: InvalidationType(rawValue: invalidationType))
    } else {
      device = nil
    }
  }
}

extension CalendarDate {
  /// `nil` for an infinity, which is no day, though somebody may have stored one.
  fileprivate var daysSince1970: Int32? { days == .min || days == .max ? nil : days + Self.daysFromUnixEpoch }
}
