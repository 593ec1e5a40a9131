import Wire

/// A word of an OData expression (OData v3, "URL Conventions", section 5), and where it begins.
struct ODataToken: Sendable, Equatable {
  enum Kind: Sendable, Equatable {
    case word(String)
    case text(String)
    /// As it was written, without a suffix.
    case number(String, isWhole: Bool)
    case moment(PhoneMoment)
    /// In lower-case letters.
    case guid(String)
    case open, close, comma, minus
    case end
  }

  let kind: Kind
  /// Characters before it.
  let position: Int
}

/// Why an expression is refused.
struct ODataProblem: Error, Equatable {
  /// Ends the sentence that begins with "Character N".
  let problem: String
  /// Characters before the place.
  let position: Int
}

/// Reads the words of an expression, front to back.
///
/// It takes what phones send, too: the last date may lack its closing quote, and a plus sign outside of quotes is a blank.
struct ODataLexer {
  private let scalars: [Unicode.Scalar]
  private var position = 0

  init(_ text: String) { scalars = Array(text.unicodeScalars) }

  mutating func next() throws(ODataProblem) -> ODataToken {
    while let scalar = current, scalar == " " || scalar == "+" || scalar == "\t" { position += 1 }
    let start = position
    guard let scalar = current else { return ODataToken(kind: .end, position: start) }
    switch scalar {
    case "(", ")", ",":
      position += 1
      return ODataToken(kind: scalar == "(" ? .open : scalar == ")" ? .close : .comma, position: start)
    case "'": return ODataToken(kind: .text(try quoted()), position: start)
    case "0"..."9": return ODataToken(kind: try number(), position: start)
    case "-":
      position += 1
      return ODataToken(kind: .minus, position: start)
    case "A"..."Z", "a"..."z", "_", "$": return ODataToken(kind: try word(), position: start)
    default: throw ODataProblem(problem: "begins nothing that is known", position: start)
    }
  }

  private var current: Unicode.Scalar? { position < scalars.count ? scalars[position] : nil }

  /// What stands in quotes; two quotes stand for one.
  private mutating func quoted(endMayLack: Bool = false) throws(ODataProblem) -> String {
    let start = position
    var text = String.UnicodeScalarView()
    position += 1
    while let scalar = current {
      position += 1
      guard scalar == "'" else {
        guard scalar.value != 0 else { throw ODataProblem(problem: "is U+0000", position: position - 1) }
        text.append(scalar)
        continue
      }
      guard current == "'" else { return String(text) }
      position += 1
      text.append("'")
    }
    guard endMayLack else { throw ODataProblem(problem: "begins a text without a closing quote", position: start) }
    return String(text)
  }

  private mutating func number() throws(ODataProblem) -> ODataToken.Kind {
    let start = position
    var text = String.UnicodeScalarView()
    var isWhole = true
    while let scalar = current {
      if scalar == ".", isWhole {
        isWhole = false
      } else if !("0"..."9").contains(scalar) {
        break
      }
      text.append(scalar)
      position += 1
    }
    // Suffixes of Int64, decimal, float and double.
    if let scalar = current, "LlMmFfDd".unicodeScalars.contains(scalar) { position += 1 }
    if let scalar = current, scalar.properties.isAlphabetic || scalar == "." || scalar == "'" {
      throw ODataProblem(problem: "does not belong to a number", position: position)
    }
    guard text.count <= 30, text.last != "." else {
      throw ODataProblem(problem: "begins a number that is none, or has more than 30 characters", position: start)
    }
    return .number(String(text), isWhole: isWhole)
  }

  private mutating func word() throws(ODataProblem) -> ODataToken.Kind {
    let start = position
    var text = ""
    while let scalar = current, scalar.isASCII,
      scalar.properties.isAlphabetic || scalar == "_" || scalar == "$"
        || ("0"..."9").contains(scalar)
    {
      text.unicodeScalars.append(scalar)
      position += 1
    }
    // `DateTime` is a property too, so it begins a date only if a quote follows at once.
    guard current == "'" else { return .word(text) }
    switch text.lowercasedASCII {
    case "datetime", "datetimeoffset":
      let literal = try quoted(endMayLack: true)
      guard let moment = PhoneMoment(literal) else {
        throw ODataProblem(problem: "begins no date such as datetime'2016-05-22T18:02:45.427'", position: start)
      }
      return .moment(moment)
    case "guid":
      let literal = try quoted().lowercasedASCII
      guard Self.isGUID(literal) else { throw ODataProblem(problem: "begins no GUID", position: start) }
      return .guid(literal)
    default: throw ODataProblem(problem: "begins a literal of a type that messages do not have", position: start)
    }
  }

  static func isGUID(_ text: String) -> Bool {
    text.utf8.count == 36
      && text.utf8.enumerated().allSatisfy { index, byte in
        [8, 13, 18, 23].contains(index)
          ? byte == UInt8(ascii: "-") : Character(UnicodeScalar(byte)).isHexDigit && byte < 0x80
      }
  }
}

/// A moment as phones write it: `2016-05-22T18:02:45.427`, with or without seconds, fraction, `Z` or an offset. Fractions are cut off at
/// microseconds, since PostgreSQL would round them.
struct PhoneMoment: Sendable, Equatable {
  /// As PostgreSQL reads it.
  let sql: String
  /// Whether it says where its clock stands.
  let hasZone: Bool

  /// - Returns: nil if it is no moment of the calendar.
  init?(_ text: String) {
    let pattern =
      #/(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,7}))?)?)?(Z|z|[ +-]\d{2}:?\d{2})?/#
    guard text.utf8.count <= 40, text.utf8.allSatisfy({ $0 < 0x80 }), let match = text.wholeMatch(of: pattern),
      let year = Int(match.1), let month = Int(match.2), let day = Int(match.3)
    else { return nil }
    func number(_ text: Substring?) -> Int? { text.map { Int($0) ?? 99 } ?? 0 }
    guard let hour = number(match.4), let minute = number(match.5), let second = number(match.6), hour <= 23,
      minute <= 59, second <= 59, GregorianDay.number(year: year, month: month, day: day) != nil
    else { return nil }
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    var sql = "\(match.1)-\(match.2)-\(match.3) \(two(hour)):\(two(minute)):\(two(second)).\(match.7?.prefix(6) ?? "0")"
    if let zone = match.8 {
      let digits = zone.filter(\.isNumber)
      guard digits.isEmpty || (Int(digits.prefix(2)) ?? 99) <= 14 && (Int(digits.suffix(2)) ?? 99) <= 59 else {
        return nil
      }
      // A query makes a blank of a plus sign that is not encoded.
      sql += digits.isEmpty ? "+00" : zone.first == " " ? "+\(zone.dropFirst())" : String(zone)
    }
    self.sql = sql
    hasZone = match.8 != nil
  }
}
