/// How the text of an SMS is written.
public enum SMSCoding: String, Codable, Sendable, Hashable, CaseIterable, SchemaProviding {
  /// GSM-7 if the text has only its characters, UCS-2 else.
  case auto
  /// GSM-7; other characters become question marks.
  case gsm7
  case ucs2
}

/// A text as it travels by SMS (GSM 03.38), cut to a number of parts.
public struct SMSText: Sendable, Hashable {
  /// What is sent.
  public let text: String
  /// Whether it is in UCS-2, and not in GSM-7.
  public let isUnicode: Bool
  /// How many SMS it takes, at least 1.
  public let parts: Int
  /// Whether its end was cut off.
  public let isCut: Bool

  /// The field of a message in whose text `{{pin}}` stands for a PIN. It names what the PIN follows from, so that no table has it.
  public static let pinField = "pinSource"

  /// The most parts that a text may have.
  public static let mostParts = 8

  /// Why a text can be no SMS.
  public enum Problem: Error, Sendable, Hashable, CaseIterable {
    /// It has more combining marks in a row than any language.
    case tooManyMarks
    /// Its first character alone, such as an emoji of many joined ones, is larger than all parts.
    case characterTooLarge

    /// For the ledger.
    public var reason: String {
      switch self {
      case .tooManyMarks: .hub(.tooManyMarks)
      case .characterTooLarge: .hub(.characterTooLarge)
      }
    }

    /// Ends a sentence that begins with the text's name.
    public var problem: String {
      switch self {
      case .tooManyMarks: "holds more than \(CombiningMarks.most) combining marks in a row"
      case .characterTooLarge: "begins with a character that is larger than all parts"
      }
    }
  }

  /// Composes a text (NFC), so that accents that came as combining marks are letters of GSM-7, and cuts it.
  /// - Parameter maximumParts: at least 1. A longer text is cut between two characters as people count them.
  /// - Throws: `Problem`, so that no text but an empty one becomes empty.
  public init(_ text: String, coding: SMSCoding = .auto, maximumParts: Int = mostParts) throws(Problem) {
    guard let composed = CombiningMarks.composed(text) else { throw .tooManyMarks }
    isUnicode = coding == .ucs2 || coding == .auto && composed.unicodeScalars.contains { Self.septets($0) == nil }
    let whole = coding == .gsm7 ? Self.inGSM7(composed) : composed
    var count = PartCount(isUnicode: isUnicode)
    var end = whole.startIndex
    while end < whole.endIndex {
      let next = whole.index(after: end)
      var longer = count
      for scalar in whole.unicodeScalars[end..<next] { longer.add(scalar) }
      guard longer.parts <= max(1, maximumParts) else { break }
      (count, end) = (longer, next)
    }
    guard end > whole.startIndex || whole.isEmpty else { throw .characterTooLarge }
    self.text = String(whole[..<end])
    parts = count.parts
    isCut = end < whole.endIndex
  }

  /// What each SMS has of the text, in their order.
  package var pieces: [Substring.UnicodeScalarView] {
    guard parts > 1 else { return [text[...].unicodeScalars] }
    var pieces: [Substring.UnicodeScalarView] = []
    var count = PartCount(isUnicode: isUnicode)
    var start = text.startIndex
    for index in text.unicodeScalars.indices where count.add(text.unicodeScalars[index]) {
      pieces.append(text.unicodeScalars[start..<index])
      start = index
    }
    return pieces + [text.unicodeScalars[start...]]
  }

  /// A question mark for each character that is not in GSM-7.
  private static func inGSM7(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: { septets($0) == nil }) else { return text }
    return String(text.map { $0.unicodeScalars.allSatisfy { septets($0) != nil } ? $0 : "?" })
  }

  /// How many septets a character takes in GSM-7: 2 if it is in the extension table; nil if it is in neither.
  static func septets(_ scalar: Unicode.Scalar) -> Int? {
    switch scalar {
    case "\u{C}", "^", "{", "}", "\\", "[", "~", "]", "|", "€": 2
    case "\n", "\r", " "..."_", "a"..."z", "£", "¥", "è", "é", "ù", "ì", "ò", "Ç", "Ø", "ø", "Å", "å", "Δ", "Φ", "Γ",
      "Λ",
      "Ω", "Π", "Ψ", "Σ", "Θ", "Ξ", "Æ", "æ", "ß", "É", "¤", "¡", "Ä", "Ö", "Ñ", "Ü", "§", "¿", "ä", "ö", "ñ", "ü", "à":
      1
    default: nil
    }
  }
}

/// Counts the parts of a text. No part ends between the two halves of a character.
private struct PartCount {
  private let isUnicode: Bool
  private var total = 0
  /// Those that are full if there are several, and what is in the last one.
  private var full = 0
  private var last = 0

  init(isUnicode: Bool) { self.isUnicode = isUnicode }

  private var single: Int { isUnicode ? 70 : 160 }
  /// CM states 66 for UCS-2, where the standard has 67.
  private var capacity: Int { isUnicode ? 66 : 153 }

  var parts: Int { total <= single ? 1 : full + 1 }

  /// - Returns: whether the character begins another part, if there are several.
  @discardableResult
  mutating func add(_ scalar: Unicode.Scalar) -> Bool {
    let size = isUnicode ? UTF16.width(scalar) : SMSText.septets(scalar) ?? 1
    total += size
    let isNext = last + size > capacity
    if isNext {
      full += 1
      last = 0
    }
    last += size
    return isNext
  }
}
