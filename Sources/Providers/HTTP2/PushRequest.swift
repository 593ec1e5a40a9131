/// A request as its service takes it, but for what belongs to the connection and the moment.
public struct PushRequest: Sendable {
  /// From `:path` on: the other pseudo-headers and `authorization` are added when it leaves.
  var headers: RequestHeaders
  var body: [UInt8]
  /// GET or POST.
  var method: Method = .post
  /// The pushes that it stands for, where one request can be for several devices; empty if it stands for the push of its own index.
  var recipients: [Recipient] = []
  /// Whether the message has changed for which app the push is, so that a refusal of that is the message's.
  var hasOwnTopic = false
  /// Whether the message has named a sender that is not the account's, so that a refusal of that is the message's.
  var hasOwnSender = false
  /// Of an SMS.
  var parts: SMSParts?
  /// Where it goes, if each device has an address of its own.
  var origin: ServiceAddress?
  /// What its body is encrypted from; nil if it is not encrypted.
  var source: EncryptedSource?

  enum Method: String, Sendable {
    case get = "GET"
    case post = "POST"
  }

  /// How many outcomes it has.
  var outcomeCount: Int { max(1, recipients.count) }

  /// Whether both are for devices of a service that takes equal messages in one request, and are equal.
  public func sharesRequest(with other: PushRequest) -> Bool {
    !recipients.isEmpty && !other.recipients.isEmpty && body == other.body
  }
  /// What was left out of the message so that it fits.
  public internal(set) var reductions: Reductions = []

  /// One of several devices that get the same message.
  struct Recipient: Sendable {
    /// As a JSON string.
    var token: [UInt8]
    /// The index of its outcome.
    var index: Int
  }
}

/// What an encrypted body is made of.
final class EncryptedSource: Sendable {
  let text: [UInt8]
  /// Makes the body. That takes longer than all else about a push, so it is left to those who send, who are many.
  let encrypt: @Sendable () -> [UInt8]
  /// Makes a request with less in it, for a service that finds this one too large; returns nil if nothing can be left out.
  let smaller: @Sendable () -> PushRequest?

  init(
    _ text: [UInt8], encrypt: @escaping @Sendable () -> [UInt8], smaller: @escaping @Sendable () -> PushRequest?
  ) {
    self.text = text
    self.encrypt = encrypt
    self.smaller = smaller
  }
}

/// The header fields of a request in one buffer: for each its flags, the length of its name in one byte, the length of its value in
/// two, name and value.
struct RequestHeaders: Sendable {
  /// How HPACK treats a field.
  enum Compression: UInt8 {
    /// Kept in the connection's table, for a value that stays the same.
    case indexed
    /// The value changes with each push, so only the name is kept.
    case changing
    /// Nothing is kept.
    case never
  }

  struct Field {
    let name: UnsafeRawBufferPointer
    let value: UnsafeRawBufferPointer
    let compression: Compression
  }

  private static let prefix = 4
  private var bytes: [UInt8] = []
  private(set) var count = 0

  init(capacity: Int = 256) { bytes.reserveCapacity(capacity) }

  /// - Parameters:
  ///   - name: in lower case, at most 255 bytes.
  ///   - value: at most 65,535 bytes.
  mutating func add(_ name: StaticString, _ value: String, _ compression: Compression = .indexed) {
    add(name, compression) { $0.append(contentsOf: value.utf8) }
  }

  /// Adds a field whose value is what `write` appends.
  mutating func add(_ name: StaticString, _ compression: Compression, _ write: (inout [UInt8]) -> Void) {
    add(UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount), compression, write)
  }

  /// - Parameters:
  ///   - name: in lower case, at most 255 bytes.
  ///   - value: at most 65,535 bytes.
  mutating func add(name: String, _ value: String, _ compression: Compression) {
    add(Array(name.utf8), compression) { $0.append(contentsOf: value.utf8) }
  }

  private mutating func add(
    _ name: some Collection<UInt8>, _ compression: Compression, _ write: (inout [UInt8]) -> Void
  ) {
    let start = bytes.count
    bytes.append(compression.rawValue)
    bytes.append(UInt8(name.count))
    bytes.append(0)
    bytes.append(0)
    bytes.append(contentsOf: name)
    let value = bytes.count
    write(&bytes)
    let length = UInt16(bytes.count - value)
    bytes[start + 2] = UInt8(truncatingIfNeeded: length)
    bytes[start + 3] = UInt8(length >> 8)
    count += 1
  }

  /// Whether a text can be a header's value: printable ASCII, which can end no line.
  static func isValue(_ text: String) -> Bool {
    (1...1024).contains(text.utf8.count) && text.utf8.allSatisfy { (0x20..<0x7F).contains($0) }
  }

  /// Calls `body` with each field; its pointers are valid during the call of this function.
  func withFields<Result>(_ body: (inout FieldIterator) throws -> Result) rethrows -> Result {
    try bytes.withUnsafeBytes { bytes in
      var fields = FieldIterator(rest: bytes)
      return try body(&fields)
    }
  }

  struct FieldIterator: IteratorProtocol {
    fileprivate var rest: UnsafeRawBufferPointer

    mutating func next() -> Field? {
      guard rest.count >= RequestHeaders.prefix, let compression = Compression(rawValue: rest[0]) else { return nil }
      let name = Int(rest[1])
      let value = Int(rest[2]) | Int(rest[3]) << 8
      let start = RequestHeaders.prefix
      defer { rest = .init(rebasing: rest[(start + name + value)...]) }
      return Field(
        name: .init(rebasing: rest[start..<start + name]),
        value: .init(rebasing: rest[start + name..<start + name + value]), compression: compression)
    }
  }

  /// The value of the first field of that name.
  subscript(name: String) -> String? {
    withFields { fields in
      while let field = fields.next() {
        if field.name.elementsEqual(name.utf8) { return String(decoding: field.value, as: UTF8.self) }
      }
      return nil
    }
  }
}
