/// A telephone number as E.164 has it: a country code and what follows, at most 15 digits.
///
/// Gateways write numbers in 00 form (`0031612345678`), with a plus sign, or bare (`31612345678`). A national number, such as
/// `0612345678`, says no country and is refused. This is the one reader of numbers: whatever takes one asks it.
public struct PhoneNumber: Sendable, Hashable {
  /// What is read, in the words of all documents and refusals.
  public static let form = "with its country code, such as 0031612345678"

  /// 7 to 15 digits of ASCII, of which the first is not 0.
  public let digits: String

  /// Reads a number as people write it.
  ///
  /// Blanks, dots, brackets, all hyphens and dashes, and what is never seen are left out. Digits may be of any script. A zero in
  /// brackets behind a country code, as in `+44 (0)7911 123456`, is for calls within the country and is left out too.
  /// - Returns: nil for a national number, and for anything that is no number.
  public init?(_ text: String) {
    // A table's number with a fraction: its last zero is no digit.
    guard !text.utf8.suffix(2).elementsEqual(".0".utf8) else { return nil }
    var digits: [UInt8] = []
    var isInternational = false
    /// How many digits stood before the bracket that is open.
    var bracket: Int?
    for scalar in text.unicodeScalars {
      if let digit = TypedDigits.digit(scalar) {
        digits.append(digit)
        guard digits.count <= Self.mostTyped else { return nil }
        continue
      }
      switch scalar {
      case "+", "\u{FF0B}":
        guard digits.isEmpty, !isInternational else { return nil }
        isInternational = true
      case "(", "\u{FF08}": bracket = digits.count
      case ")", "\u{FF09}":
        if let start = bracket, digits[start...] == [UInt8(ascii: "0")],
          Self.hasTrunkZero(digits[..<start], isInternational)
        {
          digits.removeLast()
        }
        bracket = nil
      case ".": continue
      default: guard TypedDigits.isFiller(scalar) else { return nil }
      }
    }
    if !isInternational, digits.starts(with: "00".utf8) { digits.removeFirst(2) }
    guard (7...15).contains(digits.count), digits.first != UInt8(ascii: "0") else { return nil }
    self.digits = String(decoding: digits, as: UTF8.self)
  }

  /// The longest number in 00 form, with a zero in brackets.
  private static let mostTyped = 18

  /// Whether these digits are the code of a country whose numbers lose their zero abroad.
  private static func hasTrunkZero(_ typed: ArraySlice<UInt8>, _ isInternational: Bool) -> Bool {
    let code = !isInternational && typed.starts(with: "00".utf8) ? typed.dropFirst(2) : typed
    guard let first = code.first, first != UInt8(ascii: "0"), !keepsZero.contains(Array(code)) else { return false }
    return switch code.count {
    case 1: oneDigitCodes.contains(first)
    case 2: twoDigitCodes.contains(Array(code))
    case 3: !oneDigitCodes.contains(first) && !twoDigitCodes.contains(Array(code.prefix(2)))
    default: false
    }
  }

  /// The country codes of one and of two digits (ITU, E.164). All others have three.
  private static let oneDigitCodes = Set("17".utf8)
  private static let twoDigitCodes = codes([
    20, 27, 30, 31, 32, 33, 34, 36, 39, 40, 41, 43, 44, 45, 46, 47, 48, 49, 51, 52, 53, 54, 55, 56, 57, 58, 60, 61, 62,
    63,
    64, 65, 66, 81, 82, 84, 86, 90, 91, 92, 93, 94, 95, 98,
  ])
  /// Numbers of Italy begin with a zero of their own, and so do those of San Marino, Côte d'Ivoire, Congo and Benin.
  private static let keepsZero = codes([39, 378, 225, 242, 229])

  private static func codes(_ numbers: [Int]) -> Set<[UInt8]> { Set(numbers.map { Array("\($0)".utf8) }) }

  /// With a plus sign, as in `+31612345678`: the token of a device that gets SMS.
  public var e164: String { "+\(digits)" }

  /// As in `0031612345678`: the original id of the number's contact.
  public var international: String { "00\(digits)" }
}

/// A PIN as a phone sent it.
public struct TypedPIN: Sendable, Hashable {
  /// Without blanks, hyphens and what is never seen; digits of any script are those of ASCII.
  public let text: String
  /// Whether it came as a number of JSON, which cannot begin with zeros.
  private let isNumber: Bool

  /// Characters of a PIN that are looked at. No PIN has as many.
  private static let longest = 64

  /// - Returns: nil for a text that holds nothing else than what is left out.
  public init?(_ typed: String, isNumber: Bool = false) {
    var text = String.UnicodeScalarView()
    for scalar in typed.unicodeScalars where !TypedDigits.isFiller(scalar) {
      guard text.count < Self.longest else { break }
      text.append(TypedDigits.digit(scalar).map { Unicode.Scalar($0) } ?? scalar)
    }
    guard !text.isEmpty else { return nil }
    self.text = String(text)
    self.isNumber = isNumber
  }

  /// The PIN with the zeros that a number of JSON has lost.
  /// - Parameter digits: how many it was sent with.
  public func padded(to digits: Int) -> String {
    isNumber ? String(repeating: "0", count: max(0, digits - text.utf8.count)) + text : text
  }
}

/// What people and their keyboards put into numbers and PINs.
enum TypedDigits {
  /// The digit of ASCII; nil for what is none in any script.
  static func digit(_ scalar: Unicode.Scalar) -> UInt8? {
    if scalar.isASCII { return ("0"..."9").contains(scalar) ? UInt8(ascii: scalar) : nil }
    guard scalar.properties.generalCategory == .decimalNumber, let value = scalar.properties.numericValue else {
      return nil
    }
    return UInt8(ascii: "0") + UInt8(value)
  }

  /// Whether it only parts digits, or is never seen: blanks, hyphens and dashes, marks of direction, byte order marks.
  static func isFiller(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case " ", "-": true
    case "\t", "\n", "\r": true
    // The minus sign, which is no dash to Unicode.
    case "\u{2212}": true
    case _ where scalar.isASCII: false
    default:
      switch scalar.properties.generalCategory {
      case .spaceSeparator, .dashPunctuation: true
      default: scalar.properties.isDefaultIgnorableCodePoint || scalar.properties.isWhitespace
      }
    }
  }
}
