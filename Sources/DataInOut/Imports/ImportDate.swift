import Wire

/// Reads days as people's files write them.
struct ImportDate {
  private enum Part: Equatable {
    case day, month, year, shortYear
    case mark(UInt8)
  }

  static let formatProblem = "must have DD, MM, and YYYY or YY once each, and marks between them, such as DD.MM.YYYY"

  private let format: [Part]?
  /// Short years up to this one are of its century, others of the one before.
  private let thisYear: Int

  /// - Parameters:
  ///   - format: of DD, MM, and YYYY or YY, with marks between them; `nil` for dates that can be read in one way only.
  ///   - thisYear: as in 2026.
  /// - Returns: `nil` if that is no such format.
  init?(format: String?, thisYear: Int) {
    self.thisYear = thisYear
    guard let format else {
      self.format = nil
      return
    }
    var parts: [Part] = []
    var rest = Array(format.utf8)[...]
    let names: [(String, Part)] = [("DD", .day), ("MM", .month), ("YYYY", .year), ("YY", .shortYear)]
    while let first = rest.first {
      if let (name, part) = names.first(where: { rest.starts(with: $0.0.utf8) }) {
        parts.append(part)
        rest = rest.dropFirst(name.utf8.count)
      } else {
        guard !Self.isDigit(first), !(UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(first & 0xDF) else { return nil }
        parts.append(.mark(first))
        rest = rest.dropFirst()
      }
    }
    guard parts.count(where: { $0 == .day }) == 1, parts.count(where: { $0 == .month }) == 1,
      parts.count(where: { $0 == .year || $0 == .shortYear }) == 1
    else { return nil }
    self.format = parts
  }

  /// Days since 1970-01-01; `nil` if the text is no date, or could be two.
  func day(_ bytes: UnsafeBufferPointer<UInt8>) -> Int? {
    if let day = Self.iso(bytes) { return day }
    return format.map { formatted(bytes, $0) } ?? unambiguous(bytes)
  }

  /// `YYYY-MM-DD`, perhaps with a time behind it, which does not matter.
  private static func iso(_ bytes: UnsafeBufferPointer<UInt8>) -> Int? {
    guard bytes.count >= 10, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
      bytes.count == 10 || bytes[10] == UInt8(ascii: "T") || bytes[10] == UInt8(ascii: " "),
      let year = number(bytes[0..<4]), let month = number(bytes[5..<7]), let day = number(bytes[8..<10])
    else { return nil }
    return GregorianDay.number(year: year, month: month, day: day)
  }

  private func formatted(_ bytes: UnsafeBufferPointer<UInt8>, _ format: [Part]) -> Int? {
    var rest = bytes[...]
    var (year, month, day) = (0, 0, 0)
    let isTight = !format.contains { if case .mark = $0 { true } else { false } }
    for part in format {
      if case .mark(let mark) = part {
        guard rest.first == mark else { return nil }
        rest = rest.dropFirst()
        continue
      }
      // `1.2.1980` is as good as `01.02.1980` where marks stand between the parts.
      let wanted = part == .year ? 4 : 2
      let digits = rest.prefix(wanted).prefix(while: Self.isDigit)
      guard digits.count == wanted || digits.count == 1 && !isTight && (part == .day || part == .month),
        let number = Self.number(digits)
      else { return nil }
      rest = rest.dropFirst(digits.count)
      switch part {
      case .day: day = number
      case .month: month = number
      case .year: year = number
      case .shortYear: year = number + (number <= thisYear % 100 ? thisYear / 100 * 100 : thisYear / 100 * 100 - 100)
      case .mark: break
      }
    }
    return rest.isEmpty ? GregorianDay.number(year: year, month: month, day: day) : nil
  }

  /// Three numbers between two equal marks, one of them a year of four digits at either end, which make one day only.
  private func unambiguous(_ bytes: UnsafeBufferPointer<UInt8>) -> Int? {
    guard let mark = bytes.first(where: { !Self.isDigit($0) }), "./-".utf8.contains(mark) else { return nil }
    let parts = bytes.split(separator: mark, omittingEmptySubsequences: false)
    guard parts.count == 3, parts.allSatisfy({ (1...4).contains($0.count) }) else { return nil }
    let numbers = parts.compactMap { Self.number($0) }
    guard numbers.count == 3 else { return nil }
    if parts[0].count == 4, parts[1].count <= 2, parts[2].count <= 2 {
      return GregorianDay.number(year: numbers[0], month: numbers[1], day: numbers[2])
    }
    guard parts[2].count == 4, parts[0].count <= 2, parts[1].count <= 2 else { return nil }
    let readings = [(numbers[0], numbers[1]), (numbers[1], numbers[0])].compactMap { day, month in
      GregorianDay.number(year: numbers[2], month: month, day: day)
    }
    return Set(readings).count == 1 ? readings[0] : nil
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

  private static func number(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Int? {
    guard !bytes.isEmpty, bytes.allSatisfy(isDigit) else { return nil }
    return bytes.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
  }
}
