import Wire

/// What differs between two texts, line by line, with the lines around.
struct LineDifference {
  enum Change { case none, removed, added }

  struct Line: Equatable {
    let change: Change
    /// Numbers of the line in the old and in the new text.
    let old: Int?
    let new: Int?
    let text: String
  }

  /// Lines that stand together; between two of them both texts are the same.
  let parts: [[Line]]
  /// Whether there is more than a page can show.
  let isCut: Bool

  /// Unchanged lines that are shown before and after a change.
  private static let around = 3
  /// Most changed lines of a text between which common ones are looked for: it takes their square.
  private static let mostCompared = 1000
  /// Most bytes that are shown, and most of them in a line.
  private static let (mostShown, longest) = (16_000, 400)

  init(from old: String, to new: String) {
    let (old, new) = (Self.lines(of: old), Self.lines(of: new))
    let start = zip(old, new).prefix { $0 == $1 }.count
    let end = zip(old.dropFirst(start).reversed(), new.dropFirst(start).reversed()).prefix { $0 == $1 }.count
    var lines = (0..<start).map { Line(change: .none, old: $0 + 1, new: $0 + 1, text: old[$0].text) }
    lines += Self.changes(old[start..<old.count - end], new[start..<new.count - end])
    lines += (0..<end).map { number in
      let (before, after) = (old.count - end + number, new.count - end + number)
      return Line(change: .none, old: before + 1, new: after + 1, text: old[before].text)
    }
    (parts, isCut) = Self.shown(lines)
  }

  /// Lines end with CR, LF or both, as for the numbers in problems.
  static func lines(of text: String) -> [UTF8String] {
    var lines: [UTF8String] = []
    var rest = Array(text.utf8)[...]
    while let end = rest.firstIndex(where: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) {
      lines.append(UTF8String(String(decoding: rest[..<end], as: UTF8.self)))
      let isBoth = rest[end] == UInt8(ascii: "\r") && end + 1 < rest.endIndex && rest[end + 1] == UInt8(ascii: "\n")
      rest = rest[(end + (isBoth ? 2 : 1))...]
    }
    if !rest.isEmpty { lines.append(UTF8String(String(decoding: rest, as: UTF8.self))) }
    return lines
  }

  private static func changes(_ old: ArraySlice<UTF8String>, _ new: ArraySlice<UTF8String>) -> [Line] {
    var (removed, added) = (Set(old.indices), Set(new.indices))
    if old.count <= mostCompared && new.count <= mostCompared {
      (removed, added) = ([], [])
      for change in new.difference(from: old) {
        switch change {
        case .remove(let offset, _, _): removed.insert(old.startIndex + offset)
        case .insert(let offset, _, _): added.insert(new.startIndex + offset)
        }
      }
    }
    var lines: [Line] = []
    var (before, after) = (old.startIndex, new.startIndex)
    while before < old.endIndex || after < new.endIndex {
      if removed.contains(before) {
        lines.append(Line(change: .removed, old: before + 1, new: nil, text: old[before].text))
        before += 1
      } else if added.contains(after) {
        lines.append(Line(change: .added, old: nil, new: after + 1, text: new[after].text))
        after += 1
      } else {
        lines.append(Line(change: .none, old: before + 1, new: after + 1, text: old[before].text))
        (before, after) = (before + 1, after + 1)
      }
    }
    return lines
  }

  /// Changed lines with those around them, as many as a page can show.
  private static func shown(_ lines: [Line]) -> (parts: [[Line]], isCut: Bool) {
    var near = Set<Int>()
    for (index, line) in lines.enumerated() where line.change != .none {
      near.formUnion(max(0, index - around)...min(lines.count - 1, index + around))
    }
    var parts: [[Line]] = []
    var (last, bytes) = (-2, 0)
    for index in near.sorted() {
      let line = Self.shortened(lines[index])
      bytes += line.text.utf8.count + 40
      if bytes > mostShown { return (parts, true) }
      if index == last + 1 { parts[parts.count - 1].append(line) } else { parts.append([line]) }
      last = index
    }
    return (parts, false)
  }

  private static func shortened(_ line: Line) -> Line {
    guard line.text.utf8.count > longest else { return line }
    return Line(change: line.change, old: line.old, new: line.new, text: line.text.prefix(longest / 4) + "…")
  }
}
