import Embedded

/// A QR code (ISO/IEC 18004) of up to 213 bytes, of error correction level M.
struct QRCode: Sendable {
  /// Rows of modules; true is dark.
  private(set) var modules: [[Bool]]
  /// Modules that hold no data: finders, timing, alignment, format and version.
  private var isFixed: [[Bool]]
  private var size: Int

  /// Codewords of error correction in each block, and blocks, by version from 1.
  private static let blocks: [(correction: Int, count: Int)] = [
    (10, 1), (16, 1), (26, 1), (18, 2), (24, 2), (16, 4), (18, 4), (22, 4), (22, 5), (26, 5),
  ]

  /// - Returns: `nil` for a text that is too long.
  init?(_ text: String) {
    let bytes = Array(text.utf8)
    let fitting = (1...Self.blocks.count).first { version in
      4 + (version < 10 ? 8 : 16) + bytes.count * 8 <= Self.dataCodewords(version) * 8
    }
    guard let version = fitting else { return nil }
    size = version * 4 + 17
    modules = Array(repeating: Array(repeating: false, count: size), count: size)
    isFixed = modules
    drawPatterns(version)
    drawData(Self.codewords(bytes, version))
    let masked = (0..<8).map { mask in
      var code = self
      code.apply(mask)
      code.drawFormat(mask)
      return code
    }
    self = masked.min { $0.penalty < $1.penalty } ?? masked[0]
  }

  /// As SVG without colours of its own: `currentColor` on the page's ground.
  func svg(title: String) -> String {
    var path = ""
    for (y, row) in modules.enumerated() {
      for (x, isDark) in row.enumerated() where isDark { path += "M\(x + 4) \(y + 4)h1v1h-1z" }
    }
    return """
      <svg class="qr" role="img" viewBox="0 0 \(size + 8) \(size + 8)" shape-rendering="crispEdges">\
      <title>\(Markup.escaped(title))</title><rect width="100%" height="100%" fill="#fff"/>\
      <path d="\(path)" fill="#000"/></svg>
      """
  }

  // MARK: Codewords

  /// Modules that can hold data.
  private static func rawModules(_ version: Int) -> Int {
    var count = (16 * version + 128) * version + 64
    if version >= 2 {
      let alignments = version / 7 + 2
      count -= (25 * alignments - 10) * alignments - 55
      if version >= 7 { count -= 36 }
    }
    return count
  }

  private static func dataCodewords(_ version: Int) -> Int {
    let (correction, count) = blocks[version - 1]
    return rawModules(version) / 8 - correction * count
  }

  /// Data in bytes with their error correction, interleaved.
  private static func codewords(_ bytes: [UInt8], _ version: Int) -> [UInt8] {
    var bits: [Bool] = []
    func add(_ value: Int, _ count: Int) { for bit in (0..<count).reversed() { bits.append(value >> bit & 1 == 1) } }
    add(4, 4)
    add(bytes.count, version < 10 ? 8 : 16)
    for byte in bytes { add(Int(byte), 8) }
    let capacity = dataCodewords(version) * 8
    add(0, min(4, capacity - bits.count))
    add(0, (8 - bits.count % 8) % 8)
    var pad = 0xEC
    while bits.count < capacity {
      add(pad, 8)
      pad ^= 0xEC ^ 0x11
    }
    let data = stride(from: 0, to: bits.count, by: 8).map { start in
      bits[start..<start + 8].reduce(UInt8(0)) { $0 << 1 | ($1 ? 1 : 0) }
    }
    let (correction, count) = blocks[version - 1]
    let raw = rawModules(version) / 8
    let shortCount = count - raw % count
    let shortLength = raw / count - correction
    let divisor = ReedSolomon.divisor(correction)
    var parts: [(data: [UInt8], correction: [UInt8])] = []
    var position = 0
    for block in 0..<count {
      let length = shortLength + (block < shortCount ? 0 : 1)
      let part = Array(data[position..<position + length])
      parts.append((part, ReedSolomon.remainder(part, divisor)))
      position += length
    }
    var result: [UInt8] = []
    for index in 0...shortLength { for part in parts where index < part.data.count { result.append(part.data[index]) } }
    for index in 0..<correction { for part in parts { result.append(part.correction[index]) } }
    return result
  }

  // MARK: Drawing

  private mutating func set(_ x: Int, _ y: Int, _ isDark: Bool) {
    guard (0..<size).contains(x), (0..<size).contains(y) else { return }
    modules[y][x] = isDark
    isFixed[y][x] = true
  }

  private mutating func drawPatterns(_ version: Int) {
    for index in 0..<size {
      set(6, index, index % 2 == 0)
      set(index, 6, index % 2 == 0)
    }
    for (x, y) in [(3, 3), (size - 4, 3), (3, size - 4)] {
      for dy in -4...4 {
        for dx in -4...4 {
          let distance = max(abs(dx), abs(dy))
          set(x + dx, y + dy, distance != 2 && distance != 4)
        }
      }
    }
    let places = alignments(version)
    for (row, y) in places.enumerated() {
      for (column, x) in places.enumerated() {
        let last = places.count - 1
        if (row, column) == (0, 0) || (row, column) == (0, last) || (row, column) == (last, 0) { continue }
        for dy in -2...2 { for dx in -2...2 { set(x + dx, y + dy, max(abs(dx), abs(dy)) != 1) } }
      }
    }
    drawFormat(0)
    if version >= 7 {
      var remainder = version
      for _ in 0..<12 { remainder = remainder << 1 ^ (remainder >> 11) * 0x1F25 }
      let bits = version << 12 | remainder
      for index in 0..<18 {
        let (a, b) = (size - 11 + index % 3, index / 3)
        set(a, b, bits >> index & 1 == 1)
        set(b, a, bits >> index & 1 == 1)
      }
    }
  }

  private func alignments(_ version: Int) -> [Int] {
    guard version > 1 else { return [] }
    let count = version / 7 + 2
    let step = (version * 8 + count * 3 + 5) / (count * 4 - 4) * 2
    return [6] + (0..<count - 1).map { size - 7 - $0 * step }.reversed()
  }

  /// Level M has the bits 00.
  private mutating func drawFormat(_ mask: Int) {
    var remainder = mask
    for _ in 0..<10 { remainder = remainder << 1 ^ (remainder >> 9) * 0x537 }
    let bits = (mask << 10 | remainder) ^ 0x5412
    func bit(_ index: Int) -> Bool { bits >> index & 1 == 1 }
    for index in 0...5 { set(8, index, bit(index)) }
    set(8, 7, bit(6))
    set(8, 8, bit(7))
    set(7, 8, bit(8))
    for index in 9..<15 { set(14 - index, 8, bit(index)) }
    for index in 0..<8 { set(size - 1 - index, 8, bit(index)) }
    for index in 8..<15 { set(8, size - 15 + index, bit(index)) }
    set(8, size - 8, true)
  }

  private mutating func drawData(_ codewords: [UInt8]) {
    var index = 0
    for right in stride(from: size - 1, through: 1, by: -2).map({ $0 <= 6 ? $0 - 1 : $0 }) where right >= 1 {
      for vertical in 0..<size {
        for column in [right, right - 1] {
          let isUp = (right + 1) & 2 == 0
          let y = isUp ? size - 1 - vertical : vertical
          if isFixed[y][column] || index >= codewords.count * 8 { continue }
          modules[y][column] = codewords[index / 8] >> (7 - index % 8) & 1 == 1
          index += 1
        }
      }
    }
  }

  private mutating func apply(_ mask: Int) {
    for y in 0..<size {
      for x in 0..<size where !isFixed[y][x] {
        let isFlipped =
          switch mask {
          case 0: (x + y) % 2 == 0
          case 1: y % 2 == 0
          case 2: x % 3 == 0
          case 3: (x + y) % 3 == 0
          case 4: (x / 3 + y / 2) % 2 == 0
          case 5: x * y % 2 + x * y % 3 == 0
          case 6: (x * y % 2 + x * y % 3) % 2 == 0
          default: ((x + y) % 2 + x * y % 3) % 2 == 0
          }
        if isFlipped { modules[y][x].toggle() }
      }
    }
  }

  /// How hard it is to read: long runs, squares, and more of one colour.
  private var penalty: Int {
    var sum = 0
    let columns = (0..<size).map { x in modules.map { $0[x] } }
    for line in modules + columns {
      var run = 0
      for index in 0..<size {
        run = index > 0 && line[index] == line[index - 1] ? run + 1 : 1
        if run == 5 { sum += 3 } else if run > 5 { sum += 1 }
      }
    }
    for y in 0..<size - 1 {
      for x in 0..<size - 1 {
        let module = modules[y][x]
        if module == modules[y][x + 1], module == modules[y + 1][x], module == modules[y + 1][x + 1] { sum += 3 }
      }
    }
    let dark = modules.joined().count { $0 }
    return sum + abs(dark * 20 - size * size * 10) / (size * size) * 10
  }
}

/// Error correction over GF(256) by the polynomial 0x11D.
private enum ReedSolomon {
  static func divisor(_ degree: Int) -> [UInt8] {
    var result = [UInt8](repeating: 0, count: degree - 1) + [1]
    var root: UInt8 = 1
    for _ in 0..<degree {
      for index in 0..<degree {
        result[index] = product(result[index], root)
        if index + 1 < degree { result[index] ^= result[index + 1] }
      }
      root = product(root, 2)
    }
    return result
  }

  static func remainder(_ data: [UInt8], _ divisor: [UInt8]) -> [UInt8] {
    var result = [UInt8](repeating: 0, count: divisor.count)
    for byte in data {
      let factor = byte ^ result.removeFirst()
      result.append(0)
      for index in divisor.indices { result[index] ^= product(divisor[index], factor) }
    }
    return result
  }

  private static func product(_ one: UInt8, _ other: UInt8) -> UInt8 {
    var result = 0
    for bit in (0..<8).reversed() {
      result = result << 1 ^ (result >> 7) * 0x11D
      result ^= (Int(other) >> bit & 1) * Int(one)
    }
    return UInt8(result)
  }
}
