/// A language tag of BCP 47, as in `sv`, `pt-BR` and `zh-Hans-CN`. Its form is checked and not whether its parts are registered.
public struct LanguageTag: Sendable, Equatable {
  /// In the usual case (RFC 5646, section 2.1.1), so that equal tags are equal texts.
  public let text: String

  /// Most bytes. Tags with extensions, such as Android's `ar-EG-u-ca-gregory-fw-sat-mu-celsius-nu-latn`, have half as many.
  public static let maximum = 100

  /// - Returns: `nil` unless the text is a tag (RFC 5646, section 2.1), without the irregular ones of before 1995.
  public init?(_ text: String) {
    guard text.utf8.count <= Self.maximum else { return nil }
    var parts = text.split(separator: "-", omittingEmptySubsequences: false)[...]
    guard parts.allSatisfy({ (1...8).contains($0.utf8.count) && $0.utf8.allSatisfy(\.isAlphanumeric) }) else { return nil }
    var kept: [String] = []
    /// Takes the next part if it is one of these.
    func take(_ written: (String) -> String = { $0 }, where isWanted: (Substring) -> Bool) -> Bool {
      guard let part = parts.first, isWanted(part) else { return false }
      kept.append(written(String(part).lowercasedASCII))
      parts.removeFirst()
      return true
    }
    if take(where: { $0.isLetters(2...8) }) {
      var extended = 0
      while kept[0].utf8.count < 4, extended < 3, take(where: { $0.isLetters(3...3) }) { extended += 1 }
      _ = take({ $0.prefix(1).uppercased() + $0.dropFirst() }, where: { $0.isLetters(4...4) })
      _ = take({ $0.uppercased() }, where: { $0.isLetters(2...2) || $0.utf8.count == 3 && $0.utf8.allSatisfy(\.isDigit) })
      while take(where: { $0.utf8.count >= 5 || $0.utf8.count == 4 && $0.utf8.first?.isDigit == true }) {}
      while take(where: { $0.utf8.count == 1 && $0 != "x" && $0 != "X" }) {
        guard take(where: { $0.utf8.count >= 2 }) else { return nil }
        while take(where: { $0.utf8.count >= 2 }) {}
      }
    }
    if take(where: { $0 == "x" || $0 == "X" }) {
      guard take(where: { _ in true }) else { return nil }
      while take(where: { _ in true }) {}
    }
    guard parts.isEmpty else { return nil }
    self.text = kept.joined(separator: "-")
  }
}

extension Substring {
  fileprivate func isLetters(_ count: ClosedRange<Int>) -> Bool {
    count.contains(utf8.count) && utf8.allSatisfy { $0.isAlphanumeric && !$0.isDigit }
  }
}

extension UInt8 {
  fileprivate var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
  fileprivate var isAlphanumeric: Bool {
    isDigit || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20)
  }
}
