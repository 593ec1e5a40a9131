/// The texts that are known of a contact. Raw values are their places in every list of them, in SQL too.
public enum ContactField: Int, CaseIterable, Sendable {
  case firstName, middleName, lastName, emailAddress, mobileNumber, title, sex, city, zipcode, country

  /// The field's name in requests, replies and templates.
  public var name: String { String(describing: self) }

  /// The column of table `contact`.
  var column: String {
    switch self {
    case .firstName: "first_name"
    case .middleName: "middle_name"
    case .lastName: "last_name"
    case .emailAddress: "email_address"
    case .mobileNumber: "mobile_number"
    default: name
    }
  }

  /// Most characters (Unicode scalars) of each.
  static let maximum = 255
}
