import Wire

/// `MultipartParser` reads what is split in the plainest way, and reads the same in whatever portions it comes.
enum MultipartProperties {
  static let samples: [[UInt8]] = [
    form(("a", nil, "1"), ("b", nil, ""), ("c", "key.p8", "-----BEGIN PRIVATE KEY-----\r\nx\r\n")),
    form(("file", "", ""), ("text", nil, "\r\n--\r\n-\r\r\n--bounD\r")),
    form(("file", "\u{E9} %22.csv", String(repeating: "a;b\r\n", count: 200))),
    Array("--bound\r\ncontent-disposition:form-data;name=x\r\nX: y\r\n\r\n\u{0}\r\n--bound--".utf8),
    Array("--bound--\r\n".utf8),
    Array(
      "--bound\r\nContent-Disposition: form-data; name=\"x\"\r\nX: \(String(repeating: "h", count: 4100))\r\n\r\n\r\n--bound--"
        .utf8),
  ]

  private static func form(_ parts: (name: String, file: String?, body: String)...) -> [UInt8] {
    var text = ""
    for part in parts {
      let file = part.file.map { "; filename=\"\($0)\"\r\nContent-Type: text/plain" } ?? ""
      text += "--bound\r\nContent-Disposition: form-data; name=\"\(part.name)\"\(file)\r\n\r\n\(part.body)\r\n"
    }
    return Array((text + "--bound--\r\n").utf8)
  }

  private typealias Parts = [(part: MultipartParser.Part, bytes: [UInt8])]

  static func check(_ bytes: [UInt8]) throws(BrokenProperty) -> String {
    let whole = read(bytes, by: max(1, bytes.count))
    for size in [1, 2, 7, 64] {
      let again = read(bytes, by: size)
      try require(areSame(whole, again), "In portions of \(size) bytes a form is another")
    }
    guard let whole else { return "refused" }
    guard let plain = split(bytes) else { throw BrokenProperty(description: "What is no form is read") }
    try require(whole.map(\.bytes) == plain, "A form is not read as it is split plainly")
    try require(
      whole.allSatisfy { (1...UTF8String.longestName).contains($0.part.name.utf8.count) },
      "A name is too long, or empty")
    return "read"
  }

  /// `nil` for what is refused.
  private static func read(_ bytes: [UInt8], by size: Int) -> Parts? {
    guard var parser = MultipartParser(contentType: "multipart/form-data; boundary=bound") else { return nil }
    var parts: Parts = []
    do throws(MultipartParser.Problem) {
      for start in stride(from: 0, to: bytes.count, by: size) {
        for event in try parser.read(bytes[start..<min(start + size, bytes.count)]) {
          switch event {
          case .part(let part): parts.append((part, []))
          case .bytes(let bytes): parts[parts.count - 1].bytes += bytes
          }
        }
      }
      try parser.finish()
    } catch {
      return nil
    }
    return parts
  }

  private static func areSame(_ some: Parts?, _ others: Parts?) -> Bool {
    guard let some, let others else { return some == nil && others == nil }
    return some.elementsEqual(others) { $0.part == $1.part && $0.bytes == $1.bytes }
  }

  /// The bodies of the parts, split at every boundary; `nil` for what is no form.
  private static func split(_ bytes: [UInt8]) -> [[UInt8]]? {
    let boundary = Array("\r\n--bound".utf8)
    var (pieces, piece) = ([[UInt8]](), [UInt8]())
    var rest = (Array("\r\n".utf8) + bytes)[...]
    while let byte = rest.first {
      if rest.starts(with: boundary) {
        pieces.append(piece)
        piece = []
        rest = rest.dropFirst(boundary.count)
      } else {
        piece.append(byte)
        rest = rest.dropFirst()
      }
    }
    guard pieces.first == [], piece.starts(with: [0x2D, 0x2D]), piece.count <= 4 else { return nil }
    return pieces.dropFirst().reduce([]) { bodies, piece in
      guard let bodies, piece.starts(with: [0x0D, 0x0A]) else { return nil }
      let content = piece.dropFirst(2)
      let end = content.indices.first { content[$0...].starts(with: [0x0D, 0x0A, 0x0D, 0x0A]) }
      return end.map { bodies + [Array(content[($0 + 4)...])] }
    }
  }
}
