import Registry
import Wire

/// A column of an export. Names are those that imports know, where they know such a column.
struct ExportColumn: Sendable {
  let name: String
  /// SQL of it, over the rows `contact`, `device`, `app` and `push`.
  let sql: String
  /// Whether it can hold what a spreadsheet takes for a formula.
  let isText: Bool
  /// The name of the property that it is.
  let property: String?

  private init(_ name: String, _ sql: String, isText: Bool = true) {
    self.name = name
    self.sql = sql
    self.isText = isText
    property = nil
  }

  init(property name: String) {
    self.name = "properties." + name
    sql = "(contact.properties ->> \(ExportQueries.name))"
    isText = true
    property = name
  }

  init?(_ name: String, of subject: ExportRequest.Subject) {
    if subject == .contacts, case .property(let property)? = ImportColumn(name) {
      self.init(property: property.text)
    } else if let known = Self.all(of: subject).first(where: { $0.name.hasSameBytes(as: name) }) {
      self = known
    } else {
      return nil
    }
  }

  static func names(of subject: ExportRequest.Subject) -> String {
    subject.columns.joined(separator: ", ") + (subject == .contacts ? " or properties. with a name" : "")
  }

  /// Those without which a file cannot be imported again, and those that people ask for.
  static func usual(of subject: ExportRequest.Subject) -> [String] {
    switch subject {
    case .contacts: ["originalId"] + ContactField.allCases.map(\.name) + ["dateOfBirth"]
    case .devices: ["originalId", "deviceToken", "appId", "appType", "sandboxToken"]
    case .pushes: subject.columns
    }
  }

  static func all(of subject: ExportRequest.Subject) -> [ExportColumn] {
    switch subject {
    case .contacts: contacts
    case .devices: devices
    case .pushes: pushes
    }
  }

  private static func moment(_ name: String, _ field: String) -> ExportColumn {
    ExportColumn(
      name, "to_char(\(field) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')", isText: false)
  }

  private static let contacts: [ExportColumn] =
    [ExportColumn("originalId", "contact.original_id")]
    + ContactField.allCases.map { ExportColumn($0.name, ContactConditions.column($0)) } + [
      ExportColumn("dateOfBirth", "contact.date_of_birth", isText: false),
      ExportColumn("contactId", "contact.contact_id", isText: false),
      moment("createdAt", "contact.created_at"), moment("updatedAt", "contact.updated_at"),
    ]

  private static let devices: [ExportColumn] = [
    ExportColumn("originalId", "contact.original_id"), ExportColumn("deviceToken", "device.token"),
    ExportColumn("appId", "app.app_id"), ExportColumn("appType", "app.app_type", isText: false),
    ExportColumn("sandboxToken", "device.sandbox::text", isText: false),
    ExportColumn("deviceId", "device.device_id", isText: false), ExportColumn("manufacturer", "device.manufacturer"),
    ExportColumn("model", "device.model"), ExportColumn("osVersion", "device.os_version"),
    ExportColumn("country", "device.country"), ExportColumn("timezone", "device.time_zone"),
    ExportColumn("locale", "device.locale"), moment("registeredAt", "device.registered_at"),
  ]

  private static let pushes: [ExportColumn] = [
    ExportColumn("originalId", "contact.original_id"), ExportColumn("sendoutId", "push.sendout_id", isText: false),
    ExportColumn("pushNo", "push.push_no", isText: false), ExportColumn("deviceId", "push.device_id", isText: false),
    ExportColumn("state", "push.state", isText: false), ExportColumn("reason", "push.reason"),
    ExportColumn("attempts", "push.attempts", isText: false), moment("sentAt", "push.sent_at"),
    moment("settledAt", "push.settled_at"), moment("openedAt", "push.opened_at"),
    ExportColumn("delivery", "push.delivery", isText: false), ExportColumn("deliveryReason", "push.delivery_reason"),
  ]
}
