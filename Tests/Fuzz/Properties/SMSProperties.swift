import Wire

/// `SMSText` cuts a text between characters into parts that an SMS can hold, and loses nothing but its end.
///
/// The first byte of an input is the coding, the second how many parts there may be, and the rest the text.
public enum SMSProperties {
  /// The default alphabet of GSM 03.38, written out anew.
  public static let alphabet =
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?"
    + "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
  /// The extension table of GSM 03.38.
  public static let extensions = "\u{C}^{}\\[~]|€"

  private static let septets = Dictionary(
    uniqueKeysWithValues: alphabet.unicodeScalars.map { ($0, 1) } + extensions.unicodeScalars.map { ($0, 2) })

  static let samples: [[UInt8]] = [
    (0, 8, "Hello, your lunch is ready: e\u{301}€^{}\n\r\n" + String(repeating: "a", count: 153)),
    (0, 2, "жя你好😀👩‍👩‍👧‍👦🇳🇱각\u{1112}\u{1161}\u{11AB}" + String(repeating: "ж", count: 66)),
    (1, 1, "Zażółć क्षि \u{200D}\u{301}\u{FE0F}`\t\u{212B}\u{0}\u{10FFFF}𝕏שָׁ" + String(repeating: "€", count: 80)),
    (2, 3, joined(69) + "Hi" + joined(69) + String(repeating: "\u{FE0F}😀", count: 30)),
    (0, 1, joined(600)),
    (
      2, 1,
      "y" + String(repeating: "\u{308}", count: 30) + "\u{F73}\u{344}" + String(repeating: "\u{323}\u{301}", count: 14)
    ),
  ].map { coding, parts, text in [coding, parts] + Array(text.utf8) }

  /// A character of many joined ones, as so many code units of UTF-16.
  public static func joined(_ count: Int) -> String {
    "👩" + String(repeating: "\u{200D}👩", count: (count - 2) / 3) + String(repeating: "\u{FE0F}", count: (count - 2) % 3)
  }

  static func check(_ bytes: [UInt8]) throws(BrokenProperty) -> String {
    let coding = SMSCoding.allCases[Int(bytes.first ?? 0) % SMSCoding.allCases.count]
    let most = Int(bytes.dropFirst().first ?? 0) % SMSText.mostParts + 1
    let text = String(decoding: bytes.dropFirst(2), as: UTF8.self)
    let sms: SMSText
    do throws(SMSText.Problem) {
      sms = try SMSText(text, coding: coding, maximumParts: most)
    } catch {
      switch error {
      case .tooManyMarks:
        try require(text.longestRowOfMarks > CombiningMarks.most, "A text is refused for few marks")
      case .characterTooLarge:
        let size = CombiningMarks.composed(text)?.first?.utf16.count ?? 0
        try require(size > (most == 1 ? 70 : 65 * most), "A text is refused for a character of \(size)")
      }
      return "\(error)"
    }
    try require(text.longestRowOfMarks <= CombiningMarks.most, "A text is taken that has too many marks in a row")
    try checkParts(sms, most)
    let whole = try whole(text, sms)
    try require(whole.utf8.starts(with: sms.text.utf8), "A text is sent as another")
    try require(sms.isCut == (sms.text.utf8.count < whole.utf8.count), "A text is said to be cut, or not to be")
    if sms.isCut { try checkCut(sms, of: whole, most) }
    return sms.isCut ? "cut" : sms.parts > 1 ? "parts" : "single"
  }

  private static func checkParts(_ sms: SMSText, _ most: Int) throws(BrokenProperty) {
    let pieces = sms.pieces
    try require(pieces.count == sms.parts && (1...most).contains(sms.parts), "There are \(pieces.count) parts")
    try require(pieces.map { String($0) }.joined().hasSameBytes(as: sms.text), "The parts are not the text")
    // CM states 66 for UCS-2, where the standard has 67.
    let room = sms.isUnicode ? (sms.parts > 1 ? 66 : 70) : sms.parts > 1 ? 153 : 160
    for piece in pieces {
      // What GSM-7 does not have is larger than any part.
      let size = piece.reduce(0) { $0 + (sms.isUnicode ? UTF16.width($1) : septets[$1] ?? 1000) }
      try require(size <= room && (size > 0 || sms.text.isEmpty), "A part has \(size) of \(room)")
    }
  }

  /// What is sent if it is not cut.
  private static func whole(_ text: String, _ sms: SMSText) throws(BrokenProperty) -> String {
    guard let composed = CombiningMarks.composed(text) else {
      throw BrokenProperty(description: "A text has no form NFC")
    }
    // A sign that stands for two marks counts as one, so its text in form NFC can have too many.
    let again = CombiningMarks.composed(composed) ?? composed
    try require(again.hasSameBytes(as: composed), "A text in form NFC is composed once more")
    // Swift compares texts wrongly that have these vowel signs among marks.
    let isCompared = !text.unicodeScalars.contains { $0 == "\u{F73}" || $0 == "\u{F75}" || $0 == "\u{F81}" }
    try require(composed == text || !isCompared, "A text is composed to another")
    guard !sms.isUnicode else { return composed }
    return String(composed.map { $0.unicodeScalars.allSatisfy { septets[$0] != nil } ? $0 : "?" })
  }

  /// It was cut between two characters, and not one more would have fit.
  private static func checkCut(_ sms: SMSText, of whole: String, _ most: Int) throws(BrokenProperty) {
    try require(!sms.text.isEmpty, "A text is cut to nothing")
    let end = whole.utf8.index(whole.startIndex, offsetBy: sms.text.utf8.count)
    try require(whole.index(after: whole.index(before: end)) == end, "A text is cut within a character")
    // What is composed can have more marks in a row than what came.
    guard whole.longestRowOfMarks <= CombiningMarks.most else { return }
    let longer = try? SMSText(String(whole[...end]), coding: sms.isUnicode ? .ucs2 : .gsm7)
    try require(longer.map { $0.isCut || $0.parts > most } ?? false, "A text is cut that would have fit")
  }
}
