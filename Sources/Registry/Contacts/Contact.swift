public import Wire

/// A user of a customer's apps, and what the user can be reached on.
public struct Contact: Sendable, Equatable {
  public let id: ContactID
  /// The customer's own id of the user; compared exactly.
  public let originalID: String
  public let listID: ListID?
  /// As `ContactField` counts; `nil` for what is not known.
  let texts: [String?]
  /// Days since 1970-01-01.
  public let dateOfBirth: Int32?
  /// A flat JSON object.
  public let properties: String
  /// The devices that were asked for, oldest first, at most `Device.maximumOfContact`.
  public internal(set) var devices: [Device] = []

  /// Most bytes of `properties` as PostgreSQL keeps them: what `contact_properties_size` allows.
  static let maximumPropertiesSize = 65_536

  public subscript(field: ContactField) -> String? { texts[field.rawValue] }
}
