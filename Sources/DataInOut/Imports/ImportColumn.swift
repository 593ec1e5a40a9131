import Registry
package import Wire

/// What a column of a file is.
enum ImportColumn: Hashable {
  case originalID
  case field(ContactField)
  case dateOfBirth
  case property(UTF8String)
  case deviceToken, appID, appType, platform, sandboxToken
  /// It is passed over.
  case ignored

  private static let propertyPrefix = "properties."

  /// - Parameter target: as the API names it, such as `firstName` or `properties.colour`.
  /// - Returns: `nil` if nothing is called so.
  init?(_ target: String) {
    if target.utf8.starts(with: Self.propertyPrefix.utf8) {
      let name = String(target.unicodeScalars.dropFirst(Self.propertyPrefix.utf8.count))
      guard PropertyRule.allows(name: name) else { return nil }
      self = .property(UTF8String(name))
    } else if let named = Self.named.first(where: { $0.name.utf8.elementsEqual(target.utf8) }) {
      self = named.column
    } else {
      return nil
    }
  }

  /// What a column is by its heading: the API's names, whatever their case, with or without blanks, hyphens and underscores.
  init?(heading: String) {
    if heading.utf8.starts(with: Self.propertyPrefix.utf8), let column = ImportColumn(heading) {
      self = column
      return
    }
    let spelled = Self.spelling(heading)
    guard let named = Self.named.first(where: { Self.spelling($0.name) == spelled }) else {
      guard spelled == Array("email".utf8) else { return nil }
      self = .field(.emailAddress)
      return
    }
    self = named.column
  }

  /// As the API names it; `nil` for what is passed over.
  var target: String? {
    switch self {
    case .property(let name): Self.propertyPrefix + name.text
    case .ignored: nil
    default: Self.named.first { $0.column == self }?.name
    }
  }

  /// Every column but properties, by its name.
  private static let named: [(name: String, column: ImportColumn)] =
    [("originalId", .originalID)] + ContactField.allCases.map { ($0.name, .field($0)) } + [
      ("dateOfBirth", .dateOfBirth), ("deviceToken", .deviceToken), ("appId", .appID), ("appType", .appType),
      ("platform", .platform), ("sandboxToken", .sandboxToken),
    ]

  /// As `columns` names them, but for properties.
  static let targets = named.map(\.name)

  /// The names that `columns` may have, for people.
  static let names = named.map(\.name).joined(separator: ", ") + " or properties. with a name"

  /// Letters and digits of ASCII in lower case; of what has others, all bytes, so that it is no name.
  private static func spelling(_ name: String) -> [UInt8] {
    name.utf8.compactMap { byte in
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
      case UInt8(ascii: " "), UInt8(ascii: "-"), UInt8(ascii: "_"): nil
      default: byte
      }
    }
  }
}

extension ImportIdentity {
  /// What a column of that heading identifies people by; `nil` if it is none of these.
  package init?(heading: String) {
    guard let column = ImportColumn(heading: heading),
      let identity = Self.allCases.first(where: { $0.column == column })
    else { return nil }
    self = identity
  }

  var column: ImportColumn {
    switch self {
    case .originalId: .originalID
    case .emailAddress: .field(.emailAddress)
    case .mobileNumber: .field(.mobileNumber)
    }
  }
}

/// The columns of one file, in their order.
struct ImportHeadings {
  let headings: [String]
  let columns: [ImportColumn]

  /// Most columns of a file.
  static let maximum = 500

  /// Finds what each column is: by `columns` of the request, then by its heading.
  /// - Throws: `UnusableFile`, naming the heading.
  init(_ headings: [String], _ request: ImportRequest) throws(UnusableFile) {
    try Self.check(headings)
    var columns: [ImportColumn] = []
    var unknown: [String] = []
    var named = Set<UTF8String>()
    for heading in headings {
      let key = UTF8String(heading)
      if let target = request.columns?.targets[key] {
        guard named.insert(key).inserted else {
          throw UnusableFile(
            "Two columns have the heading \(Self.shown(heading)), which columns names. Rename one of them.")
        }
        // Checked when the import was made.
        columns.append(target.flatMap { ImportColumn($0) } ?? .ignored)
      } else if let column = try Self.column(heading, request.others ?? .refuse) {
        columns.append(column)
      } else {
        columns.append(.ignored)
        unknown.append(Self.shown(heading))
      }
    }
    guard unknown.isEmpty else {
      let shown =
        unknown.prefix(10).joined(separator: ", ") + (unknown.count > 10 ? " and \(unknown.count - 10) more" : "")
      throw UnusableFile(
        "No field is called \(shown). Say by columns what they are, null for nothing, or choose others: properties or skip."
      )
    }
    for name in request.columns?.targets.keys.sorted() ?? [] where !named.contains(name) {
      throw UnusableFile(
        "No column has the heading \(Self.shown(name.text)), which columns names. Write it as the file has it.")
    }
    self.headings = headings
    self.columns = columns
    try require(request.identity ?? .originalId)
  }

  /// What a heading means that `columns` of the request does not name; `nil` for one that is refused.
  private static func column(_ heading: String, _ others: ImportOthers) throws(UnusableFile) -> ImportColumn? {
    if heading.utf8.allSatisfy({ $0 == UInt8(ascii: " ") }) { return .ignored }
    if let column = ImportColumn(heading: heading) { return column }
    switch others {
    case .skip: return .ignored
    case .properties:
      guard PropertyRule.allows(name: heading) else {
        throw UnusableFile(
          "The heading \(shown(heading)) is too long for a property's name. Say by columns what it is.")
      }
      return .property(UTF8String(heading))
    case .refuse: return nil
    }
  }

  /// Makes sure that no two columns are the same, that rows say whom they are about, and that properties are not too many.
  private func require(_ identity: ImportIdentity) throws(UnusableFile) {
    var seen: [ImportColumn: Int] = [:]
    for (place, column) in columns.enumerated() where column != .ignored {
      if let other = seen.updateValue(place, forKey: column) {
        throw UnusableFile(
          "The columns \(Self.shown(headings[other])) and \(Self.shown(headings[place])) are both \(column.target ?? ""). Say null for one of them in columns."
        )
      }
    }
    guard seen[identity.column] != nil else {
      throw UnusableFile("No column is \(identity.rawValue), which says whom a row is about. Name it in columns.")
    }
    guard columns.count(where: \.isProperty) <= PropertyRule.count else {
      throw UnusableFile(
        "More than \(PropertyRule.count) columns are properties. Say null for some of them in columns.")
    }
  }

  /// What the columns of a file in review seem to be: by `columns` of the request, by their headings, or nothing.
  /// - Throws: `UnusableFile`.
  init(guessing headings: [String], _ request: ImportRequest) throws(UnusableFile) {
    try Self.check(headings)
    var seen: Set<ImportColumn> = []
    columns = headings.map { heading in
      let named = request.columns?.targets[UTF8String(heading)]
      let column =
        named.map { $0.flatMap { ImportColumn($0) } ?? .ignored } ?? ImportColumn(heading: heading) ?? .ignored
      return column == .ignored || seen.insert(column).inserted ? column : .ignored
    }
    self.headings = headings
  }

  private static func check(_ headings: [String]) throws(UnusableFile) {
    guard headings.count <= maximum else {
      throw UnusableFile("The file has \(headings.count) columns, and \(maximum) are allowed. Leave some out.")
    }
    if let place = headings.firstIndex(where: { $0.utf8.contains(0) }) {
      throw UnusableFile("The heading of column \(place + 1) holds U+0000. Remove it, or name the file's encoding.")
    }
    if let place = headings.firstIndex(where: { !CombiningMarks.areFew(in: $0) }) {
      throw UnusableFile("The heading of column \(place + 1) \(CombiningMarks.problem).")
    }
  }

  func place(of column: ImportColumn) -> Int? { columns.firstIndex(of: column) }

  /// As the reply has them. Of headings that are there twice, the last one counts.
  var targets: ImportColumns {
    ImportColumns(
      Dictionary(zip(headings, columns).map { (UTF8String($0), $1.target) }, uniquingKeysWith: { $1 }))
  }

  /// A heading of any length as a sentence has it.
  private static func shown(_ heading: String) -> String {
    var shown = String.UnicodeScalarView()
    for scalar in heading.unicodeScalars.prefix(60) {
      shown.append(scalar.value < 0x20 || scalar.value == 0x7F ? "\u{FFFD}" : scalar)
    }
    return String(shown) + (heading.unicodeScalars.count > 60 ? "…" : "")
  }
}

extension ImportColumn {
  fileprivate var isProperty: Bool { if case .property = self { true } else { false } }
}
