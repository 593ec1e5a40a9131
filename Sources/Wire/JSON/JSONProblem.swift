/// Why a JSON body cannot be read: where, and what is the matter there.
public struct JSONProblem: Error, Sendable, Equatable {
  /// Leads to the field, as in `deviceInfo[3].devicetoken`; empty for the body as a whole.
  public private(set) var path: String
  /// Ends the sentence that begins with the path, as in "must be a string"; holds no value of the sender's.
  public let problem: String
  /// Whether it is the document that is wrong rather than a field of it.
  let isOfBody: Bool

  public init(_ problem: String, at path: String = "") {
    self.init(problem, at: path, isOfBody: false)
  }

  private init(_ problem: String, at path: String = "", isOfBody: Bool) {
    self.path = path
    self.problem = problem
    self.isOfBody = isOfBody
  }

  static func ofBody(_ problem: String) -> JSONProblem { JSONProblem(problem, isOfBody: true) }

  /// One sentence without a full stop: "deviceInfo[3].devicetoken must be a string".
  public var sentence: String { path.isEmpty ? "The body \(problem)" : "\(path) \(problem)" }

  /// This problem, seen from the object that holds the value under `key`.
  func within(_ key: JSONKey) -> JSONProblem {
    if isOfBody { return self }
    let key = String(key.description.unicodeScalars.prefix(64))
    return JSONProblem(problem, at: path.isEmpty || path.hasPrefix("[") ? key + path : "\(key).\(path)")
  }

  /// This problem, seen from the array that holds the value at `index`.
  func within(_ index: Int) -> JSONProblem {
    if isOfBody { return self }
    return JSONProblem(problem, at: path.isEmpty || path.hasPrefix("[") ? "[\(index)]\(path)" : "[\(index)].\(path)")
  }
}

/// The name of a member, compared where it stands; good only while its reader's bytes are.
public struct JSONKey: CustomStringConvertible {
  let raw: UnsafeBufferPointer<UInt8>
  let decoded: String?

  public var description: String { decoded ?? String(decoding: raw, as: UTF8.self) }

  /// The name to keep.
  public var name: UTF8String { UTF8String(description) }

  /// Bytes of the name.
  var length: Int { decoded?.utf8.count ?? raw.count }

  private func withBytes<Answer>(_ body: (UnsafeBufferPointer<UInt8>) -> Answer) -> Answer {
    guard var decoded else { return body(raw) }
    return decoded.withUTF8(body)
  }

  /// Lets `switch key { case "originalId": … }` compare bytes.
  public static func ~= (name: StaticString, key: JSONKey) -> Bool {
    key.withBytes { bytes in name.withUTF8Buffer { $0.elementsEqual(bytes) } }
  }

  /// Whether this is the name in any case of its letters, which are of ASCII.
  func equalsInAnyCase(_ name: StaticString) -> Bool {
    withBytes { bytes in name.withUTF8Buffer { $0.lazy.map(Self.small).elementsEqual(bytes.lazy.map(Self.small)) } }
  }

  private static func small(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
  }

  /// Whether this is the name, whatever escapes it is written with.
  func equals(_ name: String) -> Bool { withBytes { $0.count == name.utf8.count && $0.elementsEqual(name.utf8) } }
}
