/// Words to look for in a User-Agent header, wherever they stand in it.
struct UserAgentMatcher: Sendable {
  /// The words by their first letter, so that a header is read once.
  private let byLetter: [[[UInt8]]]

  /// - Parameter words: in lower case; `$` stands for the end of a word.
  init(_ words: [String]) {
    var byLetter = [[[UInt8]]](repeating: [], count: 256)
    for word in words {
      let bytes = Array(word.utf8)
      byLetter[Int(bytes[0])].append(bytes)
    }
    self.byLetter = byLetter
  }

  /// Whether any of them is there, in any case.
  func occur(in header: UnsafeBufferPointer<UInt8>) -> Bool {
    header.indices.contains { start in
      byLetter[Int(header[start] | 0x20)].contains { header.holds($0, at: start) }
        && !Self.exceptions.contains { start >= $0.before && header.holds($0.word, at: start - $0.before) }
    }
  }

  /// Words of people's devices with such a part in them, and how far before it they begin: CUBOT makes phones.
  private static let exceptions: [(word: [UInt8], before: Int)] = [(Array("cubot".utf8), 2)]
}

extension UnsafeBufferPointer<UInt8> {
  /// Whether these lower-case letters stand here, in any case; a `$` at their end wants the end of a word.
  fileprivate func holds(_ word: [UInt8], at start: Int) -> Bool {
    for (offset, byte) in word.enumerated() {
      let place = start + offset
      if byte == UInt8(ascii: "$") { return place == count || !self[place].isLetter }
      guard place < count, self[place] == byte || (self[place].isLetter && self[place] | 0x20 == byte) else {
        return false
      }
    }
    return true
  }
}

extension UInt8 {
  fileprivate var isLetter: Bool { (0x61...0x7A).contains(self | 0x20) }
}
