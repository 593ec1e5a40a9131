/// Reads `multipart/form-data` (RFC 7578), as browsers send forms with files, by portions as they come.
///
/// It is strict: no text before the first boundary or behind the last one, no folded headers, no transfer encodings. Its memory is bounded by
/// the limits, and does not grow with the parts. multipart-kit, the ecosystem's parser, collects headers without a limit, and keeps a copy of
/// whatever it was fed.
public struct MultipartParser: Sendable {
  /// What a form can have.
  public struct Limits: Sendable {
    public var parts: Int
    /// Bytes of a part's headers together.
    public var headers: Int

    public init(parts: Int = 200, headers: Int = 4096) {
      self.parts = parts
      self.headers = headers
    }
  }

  /// What a part's headers say.
  public struct Part: Sendable, Hashable {
    /// Of the form's field.
    public var name: String
    /// As the client's machine calls the file, and empty where no file was chosen; `nil` for a field that is no file.
    public var fileName: String?
    public var contentType: String?

    public init(name: String, fileName: String? = nil, contentType: String? = nil) {
      self.name = name
      self.fileName = fileName
      self.contentType = contentType
    }
  }

  /// A part begins, has some bytes, and so on until the next one begins or the form ends.
  public enum Event: Sendable, Hashable {
    case part(Part)
    case bytes([UInt8])
  }

  /// Why a form is refused. `problem` ends the sentence that begins with the form.
  public struct Problem: Error, Sendable, Hashable {
    public let problem: String

    fileprivate init(_ problem: String) { self.problem = problem }
  }

  private enum State {
    case start, delimiter, headers
    /// Between the headers and the part's bytes stands an empty line, which is no part of a boundary.
    case gap
    case body, end
  }

  private let limits: Limits
  /// CRLF, two hyphens, and what the content type names.
  private let boundary: [UInt8]
  private var state = State.start
  private var parts = 0
  /// What came and belongs to no event yet: shorter than the headers' limit and the boundary together.
  private var pending: [UInt8] = []

  /// - Parameter contentType: the whole header.
  /// - Returns: `nil` if it is not `multipart/form-data` with a boundary of 1 to 70 characters.
  public init?(contentType: String, limits: Limits = Limits()) {
    guard let boundary = Self.boundary(in: contentType) else { return nil }
    self.limits = limits
    self.boundary = Array("\r\n--".utf8) + boundary
  }

  /// Whether a form's content type is this one.
  public static func isType(_ contentType: String) -> Bool {
    HeaderValue(contentType).map { $0.value.lowercasedASCII == "multipart/form-data" } ?? false
  }

  private static func boundary(in contentType: String) -> [UInt8]? {
    guard let header = HeaderValue(contentType), header.value.lowercasedASCII == "multipart/form-data",
      let boundary = header.parameters["boundary"].map({ Array($0.utf8) }), (1...70).contains(boundary.count),
      boundary.allSatisfy(isOfBoundary), boundary.last != UInt8(ascii: " ")
    else { return nil }
    return boundary
  }

  /// RFC 2046, section 5.1.1.
  private static func isOfBoundary(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: "'()+_,-./:=? ".utf8.contains(byte)
    }
  }

  // MARK: Reading

  /// Takes the next portion.
  /// - Returns: what is complete of it.
  public mutating func read(_ portion: some Sequence<UInt8>) throws(Problem) -> [Event] {
    pending += portion
    var events: [Event] = []
    while try step(&events) {}
    return events
  }

  /// - Throws: unless the last boundary has come.
  public func finish() throws(Problem) {
    guard state == .end else { throw Problem("ends before its last boundary") }
  }

  /// - Returns: false if more has to come first.
  private mutating func step(_ events: inout [Event]) throws(Problem) -> Bool {
    switch state {
    case .start:
      // The first boundary has no line before it.
      let first = boundary.dropFirst(2)
      guard zip(pending, first).allSatisfy({ $0 == $1 }) else { throw Problem("does not begin with its boundary") }
      guard pending.count >= first.count else { return false }
      pending.removeFirst(first.count)
      state = .delimiter
    case .delimiter:
      guard pending.count >= 2 else { return false }
      switch (pending[0], pending[1]) {
      case (0x0D, 0x0A): state = .headers
      case (0x2D, 0x2D): state = .end
      default: throw Problem("has a boundary with something behind it")
      }
      pending.removeFirst(2)
    case .headers:
      guard let end = try endOfHeaders() else { return false }
      parts += 1
      guard parts <= limits.parts else { throw Problem("has more than \(limits.parts) parts") }
      events.append(.part(try Self.part(pending[..<end])))
      pending.removeFirst(end + 2)
      state = .gap
    case .gap:
      if zip(pending, boundary).allSatisfy({ $0 == $1 }) {
        guard pending.count < boundary.count else {
          throw Problem("has a part without an empty line behind its headers")
        }
        return false
      }
      pending.removeFirst(2)
      state = .body
    case .body: return takeBody(&events)
    case .end:
      guard pending.count <= 2, zip(pending, [0x0D, 0x0A] as [UInt8]).allSatisfy({ $0 == $1 }) else {
        throw Problem("goes on behind its last boundary")
      }
      return false
    }
    return true
  }

  /// Where the empty line begins behind them.
  private func endOfHeaders() throws(Problem) -> Int? {
    let searched = pending.prefix(limits.headers + 4)
    var index = 0
    while let line = searched[index...].firstIndex(of: 0x0D) {
      if line + 4 <= searched.count, searched[line + 1] == 0x0A, searched[line + 2] == 0x0D, searched[line + 3] == 0x0A
      {
        return line
      }
      index = line + 1
    }
    guard pending.count < limits.headers + 4 else {
      throw Problem("has a part with more than \(limits.headers) bytes of headers")
    }
    return nil
  }

  /// Gives what surely belongs to the part. What may begin the boundary stays, and that is no more than the boundary has.
  private mutating func takeBody(_ events: inout [Event]) -> Bool {
    var index = 0
    while let start = pending[index...].firstIndex(of: boundary[0]) {
      let length = min(boundary.count, pending.count - start)
      // A boundary has no other carriage return than its first byte, so none can begin within another.
      if pending[start..<start + length].elementsEqual(boundary.prefix(length)) {
        take(start, &events)
        guard length == boundary.count else { return false }
        pending.removeFirst(length)
        state = .delimiter
        return true
      }
      index = start + 1
    }
    take(pending.count, &events)
    return false
  }

  private mutating func take(_ count: Int, _ events: inout [Event]) {
    guard count > 0 else { return }
    events.append(.bytes(Array(pending[..<count])))
    pending.removeFirst(count)
  }

  // MARK: Headers

  private static func part(_ headers: ArraySlice<UInt8>) throws(Problem) -> Part {
    guard let text = String(validating: headers, as: UTF8.self) else { throw Problem("has headers that are not UTF-8") }
    guard CombiningMarks.areFew(in: text) else { throw Problem("has a header that \(CombiningMarks.problem)") }
    var disposition: HeaderValue?
    var part = Part(name: "")
    for line in text.utf8Lines {
      // A name begins with a letter, so that no line is the rest of the one before, or a boundary.
      guard let colon = line.firstIndex(of: 0x3A), let first = line.first, (0x41...0x5A).contains(first & 0xDF),
        line.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
      else {
        throw Problem("has a header line that is none")
      }
      let name = String(decoding: line[..<colon], as: UTF8.self).lowercasedASCII
      let value = String(String(decoding: line[(colon + 1)...], as: UTF8.self).trimmed)
      switch name {
      case "content-disposition":
        guard disposition == nil, let read = HeaderValue(value), read.value.lowercasedASCII == "form-data" else {
          throw Problem("has a part whose Content-Disposition is not form-data")
        }
        disposition = read
      case "content-type": part.contentType = value
      case "content-transfer-encoding": throw Problem("has a part with a Content-Transfer-Encoding")
      default: break
      }
    }
    guard let name = disposition?.parameters["name"] else { throw Problem("has a part without a name") }
    guard (1...UTF8String.longestName).contains(name.utf8.count) else {
      throw Problem("has a part with a name of none or more than \(UTF8String.longestName) bytes")
    }
    part.name = name
    part.fileName = disposition?.parameters["filename"]
    return part
  }
}

/// A header's value with parameters, as in `form-data; name="a"`. Names of parameters are in lower case.
struct HeaderValue {
  let value: String
  private(set) var parameters: [String: String] = [:]

  /// - Returns: `nil` for what is none, or has a parameter twice.
  init?(_ text: String) {
    var rest = Array(text.utf8)[...]
    func blanks() { rest = rest.drop { $0 == 0x20 || $0 == 0x09 } }
    func word(until stops: [UInt8]) -> String {
      let word = rest.prefix { !stops.contains($0) }
      rest = rest[word.endIndex...]
      return String(String(decoding: word, as: UTF8.self).trimmed)
    }
    value = word(until: [0x3B])
    while rest.first == 0x3B {
      rest = rest.dropFirst()
      blanks()
      if rest.isEmpty { break }
      let name = word(until: [0x3D, 0x3B]).lowercasedASCII
      guard !name.isEmpty, rest.first == 0x3D, parameters[name] == nil else { return nil }
      rest = rest.dropFirst()
      if rest.first == 0x22 {
        // Browsers write a quotation mark within as %22, and a backslash as it is.
        let quoted = rest.dropFirst().prefix { $0 != 0x22 }
        guard quoted.endIndex < rest.endIndex else { return nil }
        parameters[name] = String(decoding: quoted, as: UTF8.self).replacing("%22", with: "\"")
        rest = rest[(quoted.endIndex + 1)...]
        blanks()
        guard rest.isEmpty || rest.first == 0x3B else { return nil }
      } else {
        parameters[name] = word(until: [0x3B])
      }
    }
  }
}

extension String {
  /// Its lines, which CRLF ends.
  fileprivate var utf8Lines: [ArraySlice<UInt8>] {
    var (lines, bytes) = ([ArraySlice<UInt8>](), Array(utf8)[...])
    while !bytes.isEmpty {
      let line = bytes.prefix { $0 != 0x0D }
      lines.append(line)
      // What follows a carriage return is a line feed, or refused as a control character of the next line.
      bytes = bytes[line.endIndex...].dropFirst().dropFirst(bytes[line.endIndex...].dropFirst().first == 0x0A ? 1 : 0)
    }
    return lines
  }
}
