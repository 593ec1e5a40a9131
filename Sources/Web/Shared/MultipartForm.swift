import FoundationEssentials
import Hummingbird
import NIOCore
import Operations
import Wire

/// The parts of a form with files, as they come: nothing is collected, so that a file may be larger than memory.
///
/// Pages put the session's token first (`_csrf.html`), so that a reader can ask for it before it takes a file.
struct MultipartForm: AsyncSequence, Sendable {
  typealias Element = MultipartParser.Event

  private let body: RequestBody
  private let parser: MultipartParser
  private let limit: Int

  /// - Parameter limit: most bytes of the whole body.
  /// - Throws: `HTTPErrorResponse`: 415 unless it is `multipart/form-data` with a boundary, 413 when its head says that it is larger.
  init(_ request: Request, upTo limit: Int, parts: Int = 200) throws(HTTPErrorResponse) {
    guard let type = request.headers[.contentType],
      let parser = MultipartParser(contentType: type, limits: MultipartParser.Limits(parts: parts))
    else {
      throw HTTPErrorResponse(
        .unsupportedMediaType, "The body must be a form, sent as multipart/form-data with a boundary.")
    }
    try request.checkLength(upTo: limit)
    body = request.body
    self.parser = parser
    self.limit = limit
  }

  func makeAsyncIterator() -> Iterator {
    Iterator(portions: body.makeAsyncIterator(), parser: parser, left: limit, limit: limit)
  }

  struct Iterator: AsyncIteratorProtocol {
    fileprivate var portions: RequestBody.AsyncIterator
    fileprivate var parser: MultipartParser
    fileprivate var left: Int
    fileprivate let limit: Int
    private var events: ArraySlice<Element> = []

    fileprivate init(portions: RequestBody.AsyncIterator, parser: MultipartParser, left: Int, limit: Int) {
      (self.portions, self.parser, self.left, self.limit) = (portions, parser, left, limit)
    }

    /// - Throws: `HTTPErrorResponse`: 413 when the body is larger than its limit, 400 when it breaks off or is no such form.
    mutating func next() async throws -> Element? {
      try await fill()
      return events.popFirst()
    }

    /// The next part as a whole, for short fields that stand before a file; `nil` at the end.
    /// - Throws: `HTTPErrorResponse`: as `next`; 400 when it has more than `limit` bytes, or is no UTF-8.
    mutating func field(upTo limit: Int) async throws -> (name: String, value: String)? {
      guard case .part(let part)? = try await next() else { return nil }
      var value: [UInt8] = []
      while true {
        try await fill()
        guard case .bytes(let bytes)? = events.first else { break }
        events.removeFirst()
        value += bytes
        guard value.count <= limit else {
          throw HTTPErrorResponse.badRequest("\(part.name) has more than \(limit) bytes.")
        }
      }
      guard let text = String(validating: value, as: UTF8.self) else {
        throw HTTPErrorResponse.badRequest("\(part.name) is not UTF-8.")
      }
      return (part.name, text)
    }

    /// The short fields that stand before the first file, and that file's part; `nil` if there is none. Its bytes come next.
    /// - Throws: `HTTPErrorResponse`: as `field`.
    mutating func fields(
      upTo limit: Int
    ) async throws -> (fields: [(name: String, value: String)], file: MultipartParser.Part?) {
      var fields: [(name: String, value: String)] = []
      while true {
        try await fill()
        guard case .part(let part)? = events.first else { return (fields, nil) }
        if part.fileName != nil {
          events.removeFirst()
          return (fields, part)
        }
        guard let field = try await field(upTo: limit) else { return (fields, nil) }
        guard CombiningMarks.areFew(in: field.value) else {
          throw HTTPErrorResponse.badRequest("\(field.name) \(CombiningMarks.problem).")
        }
        fields.append(field)
      }
    }

    /// Reads on until there is an event, or the form has ended.
    private mutating func fill() async throws {
      while events.isEmpty {
        let portion: ByteBuffer?
        do {
          portion = try await portions.next()
        } catch  where !(error is HTTPErrorResponse) && !(error is CancellationError) {
          throw HTTPErrorResponse.brokenBody
        }
        do {
          guard let portion else {
            return try parser.finish()
          }
          left -= portion.readableBytes
          guard left >= 0 else { throw HTTPErrorResponse.tooLarge(limit: limit) }
          events = try parser.read(portion.readableBytesView)[...]
        } catch let error as MultipartParser.Problem {
          throw HTTPErrorResponse.badRequest("The form \(error.problem).")
        }
      }
    }
  }

  /// Fields and files as texts, in the order of the form. A file that is no text is in base64, and one that was not chosen is left out.
  func texts() async throws -> [(name: String, value: String)] {
    var parts: [(part: MultipartParser.Part, bytes: [UInt8])] = []
    for try await event in self {
      switch event {
      case .part(let part): parts.append((part, []))
      case .bytes(let bytes): parts[parts.count - 1].bytes += bytes
      }
    }
    return try parts.compactMap { part, bytes in
      if part.fileName != nil, bytes.isEmpty { return nil }
      let text = String(validating: bytes, as: UTF8.self).flatMap { $0.utf8.contains(0) ? nil : $0 }
      guard let value = text ?? (part.fileName == nil ? nil : Data(bytes).base64EncodedString()) else {
        throw HTTPErrorResponse.badRequest("\(part.name) is not UTF-8.")
      }
      guard CombiningMarks.areFew(in: value) else {
        throw HTTPErrorResponse.badRequest("\(part.name) \(CombiningMarks.problem).")
      }
      return (part.name, value)
    }
  }
}

/// The file of a form, as it comes. What follows it in the form is read to its end, and passed over.
struct UploadedFile: AsyncSequence {
  typealias Element = [UInt8]

  let part: MultipartParser.Part
  /// Bytes of the whole form, as far as its head says.
  let length: Int64?
  fileprivate let rest: MultipartForm.Iterator

  init(_ part: MultipartParser.Part, _ rest: MultipartForm.Iterator, length: Int64?) {
    (self.part, self.rest, self.length) = (part, rest, length)
  }

  func makeAsyncIterator() -> Iterator { Iterator(rest: rest) }

  struct Iterator: AsyncIteratorProtocol {
    fileprivate var rest: MultipartForm.Iterator
    private var isOver = false

    fileprivate init(rest: MultipartForm.Iterator) { self.rest = rest }

    /// - Throws: `HTTPErrorResponse`: as `MultipartForm.Iterator.next`.
    mutating func next() async throws -> [UInt8]? {
      while let event = try await rest.next() {
        switch event {
        case .bytes(let bytes) where !isOver: return bytes
        case .bytes: continue
        case .part: isOver = true
        }
      }
      return nil
    }
  }
}
