import Postgres
import Registry
import Wire

/// Checks the rows of one file, and writes them as PostgreSQL's COPY takes them in binary.
///
/// Cells are looked at as bytes: a file has millions of them, and most are short texts that only have to be counted.
struct ImportRows {
  /// What the rows of a file have in common.
  struct Rules {
    let customer: CustomerID
    let number: ImportID
    let attempt: Int32
    let request: ImportRequest
    /// The customer's apps by their ids.
    let apps: [UTF8String: [PushApp]]
    let endpoints: EndpointRules
    let dates: ImportDate
  }

  /// What the cells of one row come to.
  private struct Values {
    var identity: [UInt8]?
    var originalID: [UInt8]?
    /// Ranges in `textBytes`, by field.
    var texts: [Range<Int>?]
    var textBytes: [UInt8] = []
    var day: CalendarDate?
    var properties: [UInt8] = []
    var device: [String]?
  }

  private let rules: Rules
  private let headings: ImportHeadings
  private let identity: ImportIdentity
  private let emptyClears: Bool
  /// The columns of properties in the order of their names, as the hub writes JSON, each with its name in quotes and a colon.
  private let properties: [(place: Int, name: [UInt8])]
  private let tokenPlace: Int?
  /// Rows that are written and not taken yet.
  private(set) var bytes: [UInt8] = []
  /// How many rows there were.
  private(set) var count: Int64
  /// How many of them are as they may be.
  private(set) var taken: Int64 = 0
  /// Cells of the first rows.
  private(set) var sample: [[String]] = []
  private static let sampleRows = 5
  /// Most characters of a cell in the sample.
  private static let sampleCell = 200

  /// - Parameter count: of rows of the file that others have checked before.
  init(_ headings: ImportHeadings, _ rules: Rules, after count: Int64 = 0) {
    self.rules = rules
    self.count = count
    self.headings = headings
    identity = rules.request.identity ?? .originalId
    emptyClears = rules.request.emptyClears ?? false
    tokenPlace = headings.place(of: .deviceToken)
    let named: [(place: Int, name: UTF8String)] = headings.columns.enumerated().compactMap { place, column in
      if case .property(let name) = column { (place, name) } else { nil }
    }
    properties = named.sorted { $0.name < $1.name }.map { ($0.place, JSONText.quoted($0.name.text) + ":".utf8) }
  }

  /// The rows that were written since it was last asked, as a whole file of COPY's binary format.
  mutating func takeBytes() -> [UInt8] {
    defer { bytes = [] }
    // A tuple of -1 columns is the end.
    return Self.header + bytes + [0xFF, 0xFF]
  }

  /// Signature, flags, and the length of no extension (PostgreSQL, "COPY", "Binary Format").
  private static let header = Array("PGCOPY\n".utf8) + [0xFF] + Array("\r\n\0".utf8) + [UInt8](repeating: 0, count: 8)

  // MARK: A row

  mutating func append(_ row: CSVRow) {
    count += 1
    addToSample(row)
    var values = Values(texts: Array(repeating: nil, count: ContactField.allCases.count))
    var problem: RowProblem?
    // What the columns are is said later, and then the row is read again.
    let isRead = rules.request.review != true
    do throws(RowProblem) {
      do throws(RowProblem) {
        try check(row)
      } catch {
        if isRead { readNames(of: row, into: &values) }
        throw error
      }
      if isRead { try read(row, into: &values) }
      taken += 1
    } catch {
      problem = error
    }
    write(row, values, problem)
  }

  /// - Returns: whether there was room for the row.
  @discardableResult
  mutating func addToSample(_ row: CSVRow) -> Bool {
    guard sample.count < Self.sampleRows else { return false }
    sample.append(row.texts.map { String($0.unicodeScalars.prefix(Self.sampleCell).filter { $0.value != 0 }) })
    return true
  }

  private func check(_ row: CSVRow) throws(RowProblem) {
    guard !row.isUnclosed else { throw RowProblem(nil, "has a quote that is never closed") }
    guard row.count <= headings.columns.count else {
      throw RowProblem(nil, "has \(row.count) cells, and the file has \(headings.columns.count) columns")
    }
    guard Self.isUTF8(row.raw) else {
      throw RowProblem(nil, "has bytes that are no text in the file's encoding: name another one in encoding")
    }
    guard !row.raw.contains(0) else { throw RowProblem(nil, "holds U+0000") }
    guard CombiningMarks.areFew(in: row.raw) else { throw RowProblem(nil, CombiningMarks.problem) }
  }

  private static func isUTF8(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    var all: UInt8 = 0
    for byte in bytes { all |= byte }
    return all < 0x80 || String(validating: bytes, as: UTF8.self) != nil
  }

  /// Whom a row is about that is wrong as a whole, as far as that can be read: erasing that contact finds it.
  private func readNames(of row: CSVRow, into values: inout Values) {
    guard !row.isUnclosed,
      [headings.place(of: .originalID), headings.place(of: identity.column)].allSatisfy({ place in
        guard let place, place < row.count else { return true }
        return Self.isUTF8(row[place]) && !row[place].contains(0)
      })
    else { return }
    try? readIdentity(row, into: &values)
  }

  private func readIdentity(_ row: CSVRow, into values: inout Values) throws(RowProblem) {
    if let place = headings.place(of: .originalID), let cell = cell(row, place), !cell.isEmpty {
      values.originalID = try originalID(cell, place)
    }
    values.identity = try identity(row, values)
  }

  /// The identity comes first, so that a row that is wrong elsewhere says whom it is about.
  private func read(_ row: CSVRow, into values: inout Values) throws(RowProblem) {
    try readIdentity(row, into: &values)
    for (place, column) in headings.columns.enumerated() {
      guard let cell = cell(row, place) else { break }
      switch column {
      case .field(let field):
        guard !cell.isEmpty || emptyClears else { continue }
        guard Self.length(cell) <= ContactField.maximum else {
          throw RowProblem(place, "is longer than \(ContactField.maximum) characters")
        }
        let start = values.textBytes.count
        if field == .timeZone || field == .language {
          values.textBytes.append(contentsOf: try checked(cell, field, place).utf8)
        } else {
          values.textBytes.append(contentsOf: cell)
        }
        values.texts[field.rawValue] = start..<values.textBytes.count
      case .dateOfBirth:
        guard !cell.isEmpty else {
          if emptyClears { values.day = CalendarDate(days: .max) }
          continue
        }
        guard let day = rules.dates.day(cell) else { throw RowProblem(place, dateProblem) }
        values.day = CalendarDate(days: Int32(day) - CalendarDate.daysFromUnixEpoch)
      case .originalID, .property, .deviceToken, .appID, .appType, .platform, .sandboxToken, .ignored: continue
      }
    }
    try readProperties(row, &values)
    if let tokenPlace, let cell = cell(row, tokenPlace), !cell.isEmpty {
      values.device = try device(Self.text(cell), row, tokenPlace)
    }
  }

  /// Of a field that holds no text whatever.
  private func checked(_ cell: UnsafeBufferPointer<UInt8>, _ field: ContactField, _ place: Int) throws(RowProblem)
    -> String
  {
    do throws(RegistryError) {
      return try field.checked(Self.text(cell))
    } catch {
      throw RowProblem(place, error.problem)
    }
  }

  private var dateProblem: String {
    rules.request.dateFormat.map { "is no date of the form \($0)" }
      ?? "is no date that can be read in one way only: name the form in dateFormat, such as DD.MM.YYYY"
  }

  /// A cell as it is meant; `nil` for one that the row has not.
  private func cell(_ row: CSVRow, _ place: Int) -> UnsafeBufferPointer<UInt8>? {
    place < row.count ? CSVCell.exact(row[place]) : nil
  }

  private static func text(_ cell: UnsafeBufferPointer<UInt8>) -> String { String(decoding: cell, as: UTF8.self) }

  /// In Unicode scalars. What has no more bytes than it may have characters is not counted.
  private static func length(_ cell: UnsafeBufferPointer<UInt8>) -> Int {
    cell.count <= ContactField.maximum ? cell.count : cell.count { $0 & 0xC0 != 0x80 }
  }

  private func originalID(_ cell: UnsafeBufferPointer<UInt8>, _ place: Int) throws(RowProblem) -> [UInt8] {
    // Most begin with a letter or digit of ASCII and are short.
    if cell.count > Registration.maximumOriginalID || cell[0] <= 0x20 || cell[0] >= 0x7F {
      do throws(RegistryError) {
        _ = try Registration.originalID(Self.text(cell))
      } catch {
        throw RowProblem(place, error.problem)
      }
    }
    return Array(cell)
  }

  /// Whom the row is about, as it is compared.
  private func identity(_ row: CSVRow, _ values: Values) throws(RowProblem) -> [UInt8]? {
    guard let place = headings.place(of: identity.column) else { return nil }
    if identity == .originalId {
      guard let id = values.originalID else { throw RowProblem(place, "is empty") }
      return id
    }
    guard let cell = cell(row, place), !cell.isEmpty else {
      // Nobody is known by an address that is not there; the original id may lead to somebody.
      guard values.originalID == nil else { return [] }
      throw RowProblem(place, "is empty")
    }
    guard identity == .mobileNumber else {
      return cell.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
    }
    if let number = PhoneNumber(Self.text(cell)) { return Array(number.digits.utf8) }
    let digits = cell.filter { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }.drop { $0 == UInt8(ascii: "0") }
    guard !digits.isEmpty else { throw RowProblem(place, "is no telephone number") }
    return Array(digits)
  }

  // MARK: Properties

  private func readProperties(_ row: CSVRow, _ values: inout Values) throws(RowProblem) {
    for (place, name) in properties {
      guard let cell = cell(row, place), !cell.isEmpty || emptyClears else { continue }
      guard cell.count <= PropertyRule.value else {
        throw RowProblem(place, "is longer than \(PropertyRule.value) bytes")
      }
      values.properties.append(UInt8(ascii: values.properties.isEmpty ? "{" : ","))
      values.properties.append(contentsOf: name)
      if cell.isEmpty {
        values.properties.append(contentsOf: "null".utf8)
      } else if rules.request.decimalComma == true, let number = Self.number(cell) {
        values.properties.append(contentsOf: number)
      } else {
        JSONText.appendQuoted(Self.text(cell), to: &values.properties)
      }
    }
    if !values.properties.isEmpty { values.properties.append(UInt8(ascii: "}")) }
  }

  /// A number with a decimal comma, as JSON writes it: digits, perhaps with a minus, with dots between thousands, and with a comma and further
  /// digits. `nil` for anything else, such as what begins with a zero that is no number's, and what has more digits than a program keeps.
  static func number(_ cell: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
    var json: [UInt8] = []
    var rest = cell[...]
    if rest.first == UInt8(ascii: "-") {
      json.append(UInt8(ascii: "-"))
      rest = rest.dropFirst()
    }
    let parts = rest.split(separator: UInt8(ascii: ","), maxSplits: 1, omittingEmptySubsequences: false)
    guard let whole = parts.first else { return nil }
    let groups = whole.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard groups.count == 1 || (1...3).contains(groups[0].count) && groups.dropFirst().allSatisfy({ $0.count == 3 })
    else {
      return nil
    }
    let digits = groups.flatMap { Array($0) }
    let fraction = parts.count > 1 ? Array(parts[1]) : nil
    guard !digits.isEmpty, fraction?.isEmpty != true, digits.count + (fraction?.count ?? 0) <= 15,
      (digits + (fraction ?? [])).allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
      digits.count == 1 || digits[0] != UInt8(ascii: "0")
    else { return nil }
    json += digits
    if let fraction { json += [UInt8(ascii: ".")] + fraction }
    return json
  }

  // MARK: Tokens

  /// - Returns: the app's number, the token, and `t` or `f` for whether it is of the sandbox.
  private func device(_ token: String, _ row: CSVRow, _ place: Int) throws(RowProblem) -> [String] {
    func text(_ column: ImportColumn) -> (text: String, place: Int)? {
      guard let place = headings.place(of: column), let cell = cell(row, place), !cell.isEmpty else { return nil }
      return (Self.text(cell), place)
    }
    let appID = text(.appID)
    guard let id = appID?.text ?? rules.request.appId else {
      throw RowProblem(place, "has no app: name one in appId")
    }
    guard let apps = rules.apps[UTF8String(id)] else {
      throw RowProblem(appID?.place, "names no push app of this customer: \(id)")
    }
    var type = rules.request.appType
    if let named = text(.platform) ?? text(.appType) {
      let word = named.text.lowercasedASCII
      type = AppType.ofApps.first { "\($0)" == word || "\($0.rawValue)" == word }
      guard type != nil else {
        throw RowProblem(named.place, "is no platform: \(AppType.ofApps.map { "\($0)" }.asList("or"))")
      }
    }
    guard type != nil || apps.count == 1 else {
      throw RowProblem(place, "has no platform: this appId stands for apps on several, so name one in appType")
    }
    guard let app = type.map({ type in apps.first { $0.type == type } }) ?? apps[0], app.type != .sms else {
      throw RowProblem(place, "is of a platform that this appId has no push app for")
    }
    var isSandbox = rules.request.sandbox ?? false
    if let flag = text(.sandboxToken) {
      switch flag.text.lowercasedASCII {
      case "true", "1": isSandbox = true
      case "false", "0": isSandbox = false
      default: throw RowProblem(flag.place, "must be true or false")
      }
    }
    do throws(RegistryError) {
      let checked = try DeviceToken(token, type: app.type, field: "")
      if let problem = rules.endpoints.problem(with: checked, of: app.type) {
        throw .invalid(field: "", problem: problem)
      }
      return ["\(app.id)", checked.text, isSandbox ? "t" : "f"]
    } catch {
      throw RowProblem(place, error.problem)
    }
  }

  // MARK: COPY

  /// The columns that `write` writes.
  static let columns = """
    customer_id, import_id, attempt, row_no, line_no, identity, original_id, texts, date_of_birth, properties, device, raw,
    problem_column, problem
    """

  private mutating func write(_ row: CSVRow, _ values: Values, _ problem: RowProblem?) {
    bytes.append(bigEndian: Int16(14))
    append(rules.customer.rawValue)
    append(rules.number.rawValue)
    append(rules.attempt)
    append(count)
    append(Int64(row.line))
    append(values.identity.flatMap { $0.isEmpty ? nil : $0 })
    append(values.originalID)
    guard problem == nil else {
      for _ in 0..<4 { bytes.append(bigEndian: Int32(-1)) }
      appendRaw(row)
      append(problem?.column.map { Array(headings.headings[$0].utf8) })
      append(problem.map { Array($0.problem.utf8) })
      return
    }
    bytes.appendFramed { bytes in
      guard !values.textBytes.isEmpty || values.texts.contains(where: { $0 != nil }) else { return false }
      // One dimension, with NULLs, of text, from 1.
      for number in [1, 1, Int32(25), Int32(values.texts.count), 1] { bytes.append(bigEndian: number) }
      for range in values.texts {
        guard let range else {
          bytes.append(bigEndian: Int32(-1))
          continue
        }
        bytes.append(bigEndian: Int32(range.count))
        bytes.append(contentsOf: values.textBytes[range])
      }
      return true
    }
    append(values.day)
    append(values.properties.isEmpty ? nil : values.properties)
    append(values.device)
    appendRaw(row)
    for _ in 0..<2 { bytes.append(bigEndian: Int32(-1)) }
  }

  private mutating func appendRaw(_ row: CSVRow) {
    // Only rows that are rejected can have these.
    guard Self.isUTF8(row.raw), !row.raw.contains(0) else {
      let text = String(decoding: row.raw, as: UTF8.self).replacing("\0", with: "\u{FFFD}")
      return append(Array(text.utf8))
    }
    bytes.append(bigEndian: Int32(row.raw.count))
    bytes.append(contentsOf: row.raw)
  }

  private mutating func append(_ text: [UInt8]?) {
    bytes.append(bigEndian: Int32(text?.count ?? -1))
    if let text { bytes.append(contentsOf: text) }
  }

  private mutating func append(_ value: some PostgresEncodable) { bytes.appendFramed { value.encode(into: &$0) } }
}

extension RegistryError {
  /// What is wrong, without the field's name.
  fileprivate var problem: String { if case .invalid(_, let problem) = self { problem } else { "is refused" } }
}
