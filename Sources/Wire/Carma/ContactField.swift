/// The texts that are known of a contact: the one table of them. Bodies, columns and templates take them from here.
///
/// Their order is that of the guide's samples of replies. Raw values are their places in every list of them, in SQL too.
public enum ContactField: Int, CaseIterable, Sendable {
  case country, firstName, lastName, middleName, emailAddress, title, city, zipcode, sex, mobileNumber, timeZone,
    language

  /// The field's name in requests, replies and templates.
  public var name: String { Self.names[rawValue] }

  private static let names = allCases.map { String(describing: $0) }

  /// What it holds, for people.
  public var meaning: String {
    switch self {
    case .timeZone: "A name of the IANA database, such as Europe/Berlin."
    case .language: "A language tag of BCP 47, such as pt-BR. It is stored in its usual case; pt_BR is the same."
    default: "A text."
    }
  }

  /// Most characters (Unicode scalars) of each.
  public static let maximum = 255

  init?(_ key: JSONKey) {
    guard let place = Self.names.firstIndex(where: { key.equals($0) }) else { return nil }
    self.init(rawValue: place)
  }
}

/// What is known or said of each `ContactField`; `nil` for nothing.
public struct ContactTexts: Sendable, Equatable {
  /// A value for each field, in the order of their numbers.
  public private(set) var values: [String?]

  private static let none = [String?](repeating: nil, count: ContactField.allCases.count)

  public init() { values = Self.none }

  /// - Parameter text: called for each field, in their order.
  public init(_ text: (ContactField) throws -> String?) rethrows { values = try ContactField.allCases.map(text) }

  /// - Parameter values: in the order of the fields' numbers.
  /// - Returns: `nil` unless there is one for each field.
  public init?(_ values: [String?]) {
    guard values.count == Self.none.count else { return nil }
    self.values = values
  }

  public subscript(field: ContactField) -> String? {
    get { values[field.rawValue] }
    set { values[field.rawValue] = newValue }
  }

  /// Whether there is nothing of any field.
  public var isEmpty: Bool { values.allSatisfy { $0 == nil } }
}
