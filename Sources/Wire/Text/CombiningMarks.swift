@_spi(_Unicode) import Swift

/// Unicode's form NFC, and the limit within which it costs what its bytes cost (UAX #15, stream-safe text).
///
/// Putting text into a normal form sorts each run of marks, which takes a time that grows with the square of the run. Nobody's language has
/// runs of more than a few marks. So readers refuse longer ones, and no other code has to think of them.
public enum CombiningMarks {
  /// Most marks in a row.
  public static let most = 30

  /// Ends the sentence that begins with the text.
  public static let problem = "has more than \(most) combining marks in a row"

  /// Whether no run of marks in UTF-8 is longer than `most`.
  public static func areFew(in bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    // Each mark takes two bytes or more beyond ASCII, and so does every character between two marks that ends their run.
    var start: Int?
    for (index, byte) in bytes.enumerated() {
      if byte >= 0x80 {
        if start == nil { start = index }
      } else if let begin = start {
        start = nil
        if index - begin > 2 * most, !areFew(amongLetters: bytes[begin..<index]) { return false }
      }
    }
    guard let begin = start, bytes.count - begin > 2 * most else { return true }
    return areFew(amongLetters: bytes[begin...])
  }

  /// Whether no run of marks in a text is longer than `most`.
  public static func areFew(in text: String) -> Bool {
    var text = text
    return text.withUTF8 { areFew(in: $0) }
  }

  /// Whether no run of marks in a URL is longer than `most`, with its escapes decoded or not.
  public static func areFew(inTarget url: String) -> Bool {
    guard url.utf8.contains(where: { $0 == UInt8(ascii: "%") || $0 >= 0x80 }) else { return true }
    return areFew(in: PercentEncoding.decodeLeniently(url.utf8))
  }

  private static func areFew(amongLetters bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
    var run = 0
    var (decoder, rest) = (UTF8(), bytes.makeIterator())
    while true {
      switch decoder.decode(&rest) {
      case .emptyInput: return true
      case .error: run = 0
      case .scalarValue(let scalar):
        run = isMark(scalar) ? run + 1 : 0
        if run > most { return false }
      }
    }
  }

  private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
    guard scalar.value >= 0x300 else { return false }
    return scalar.properties.canonicalCombiningClass != .notReordered || marks(in: scalar) != nil
  }

  /// The two marks of which a vowel sign of Tibetan consists. Such a sign counts as none by its own properties, so Swift's form NFC would
  /// not sort the marks around it.
  private static func marks(in scalar: Unicode.Scalar) -> [Unicode.Scalar]? {
    switch scalar {
    case "\u{F73}": ["\u{F71}", "\u{F72}"]
    case "\u{F75}": ["\u{F71}", "\u{F74}"]
    case "\u{F81}": ["\u{F71}", "\u{F80}"]
    default: nil
    }
  }

  /// The text in form NFC; nil if a run of marks in it is too long.
  public static func composed(_ text: String) -> String? {
    guard areFew(in: text) else { return nil }
    // What is below U+0300 is composed.
    guard text.utf8.contains(where: { $0 >= 0xCC }) else { return text }
    var composed = String.UnicodeScalarView()
    for scalar in withSignsTakenApart(text)._nfc { composed.append(scalar) }
    return String(composed)
  }

  private static func withSignsTakenApart(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: { marks(in: $0) != nil }) else { return text }
    return String(String.UnicodeScalarView(text.unicodeScalars.flatMap { marks(in: $0) ?? [$0] }))
  }
}
