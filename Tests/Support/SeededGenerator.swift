/// Throws that are the same at every run (SplitMix64).
public struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: UInt64

  public init(seed: UInt64) { state = seed }

  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

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
