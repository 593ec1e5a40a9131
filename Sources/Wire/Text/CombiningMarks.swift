@_spi(_Unicode) import Swift

/// Unicode's form NFC, and the limit within which it costs what its bytes cost.
public enum CombiningMarks {
  /// Most combining marks in a row (UAX #15, stream-safe text). Whatever asks for a normal form sorts a run of them.
  public static let most = 30

  /// Whether no run of combining marks is longer than `most`.
  public static func areBounded(in text: String) -> Bool {
    // Without one, in most texts, bytes are all that is looked at.
    guard text.utf8.contains(where: { $0 >= 0xCC }) else { return true }
    var run = 0
    for scalar in text.unicodeScalars {
      run = isMark(scalar) ? run + 1 : 0
      guard run <= most else { return false }
    }
    return true
  }

  private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case ..<0x300: false
    // Vowel signs of Tibetan, which a normal form takes apart into marks.
    case 0xF73, 0xF75, 0xF81: true
    default: scalar.properties.canonicalCombiningClass != .notReordered
    }
  }

  /// The text in form NFC; nil if a run of marks in it is too long.
  public static func composed(_ text: String) -> String? {
    guard areBounded(in: text) else { return nil }
    // What is below U+0300 is composed.
    guard text.utf8.contains(where: { $0 >= 0xCC }) else { return text }
    var composed = String.UnicodeScalarView()
    for scalar in text._nfc { composed.append(scalar) }
    return String(composed)
  }
}
