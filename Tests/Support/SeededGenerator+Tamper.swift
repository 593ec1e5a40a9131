extension SeededGenerator {
  /// A few bytes changed, removed or put in; with others at hand, also pieces repeated, and the end taken from another.
  public mutating func tamper(_ bytes: [UInt8], with others: [[UInt8]] = []) -> [UInt8] {
    var bytes = bytes
    let favourites = Array(#"{}[]":,\u0/%?#.;&=+-"#.utf8) + [0, 0x0A, 0x7F, 0x80, 0xC3, 0xED, 0xF4, 0xFF]
    for _ in 0..<Int.random(in: 1...4, using: &self) where !bytes.isEmpty {
      let at = Int.random(in: 0..<bytes.count, using: &self)
      switch Int.random(in: 0..<(others.isEmpty ? 5 : 7), using: &self) {
      case 0: bytes[at] = favourites.randomElement(using: &self) ?? 0
      case 1: bytes[at] = UInt8.random(in: 0...255, using: &self)
      case 2: bytes.remove(at: at)
      case 3: bytes.insert(favourites.randomElement(using: &self) ?? 0, at: at)
      case 4: bytes.removeSubrange(at..<min(bytes.count, at + Int.random(in: 1...20, using: &self)))
      case 5:
        let piece = bytes[at...].prefix(Int.random(in: 1...20, using: &self))
        for _ in 0..<Int.random(in: 1...4, using: &self) { bytes.insert(contentsOf: piece, at: at) }
      default:
        let other = others.randomElement(using: &self) ?? []
        bytes.replaceSubrange(at..., with: other[Int.random(in: 0...other.count, using: &self)...])
      }
    }
    return bytes
  }
}
