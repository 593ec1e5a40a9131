/// A telephone number as E.164 has it: a country code and what follows, at most 15 digits.
///
/// Gateways write numbers in 00 form (`0031612345678`), with a plus sign, or bare (`31612345678`). A national number, such as
/// `0612345678`, says no country and is refused.
public struct PhoneNumber: Sendable, Hashable {
  /// 7 to 15 digits, of which the first is not 0.
  public let digits: String

  /// Reads a number. Blanks, dots, hyphens and brackets between its digits are left out.
  /// - Returns: nil for a national number, and for anything that is no number.
  public init?(_ text: String) {
    var digits = ""
    var isInternational = false
    for (index, character) in text.unicodeScalars.enumerated() {
      switch character {
      case "0"..."9": digits.unicodeScalars.append(character)
      case "+" where index == 0: isInternational = true
      case " ", ".", "-", "(", ")": continue
      default: return nil
      }
    }
    if !isInternational, digits.hasPrefix("00") { digits.removeFirst(2) }
    guard (7...15).contains(digits.utf8.count), digits.first != "0" else { return nil }
    self.digits = digits
  }

  /// With a plus sign, as in `+31612345678`: the token of a device that gets SMS.
  public var e164: String { "+\(digits)" }

  /// As in `0031612345678`: the original id of the number's contact.
  public var international: String { "00\(digits)" }
}
