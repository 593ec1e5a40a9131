public import FoundationEssentials

extension Bool: PostgresArrayElement {
  public static var postgresType: PostgresType { .bool }
  public static func accepts(_ type: PostgresType) -> Bool { type == .bool }
  public func encode(into bytes: inout [UInt8]) -> Bool {
    bytes.append(self ? 1 : 0)
    return true
  }
  public init(postgres bytes: UnsafeRawBufferPointer?, type: PostgresType) throws(DecodingProblem) {
    self = try present(bytes).bigEndian(UInt8.self) != 0
  }
}

extension Int16: PostgresArrayElement {
  public static var postgresType: PostgresType { .int2 }
  public static func accepts(_ type: PostgresType) -> Bool { type == .int2 }
  public func encode(into bytes: inout [UInt8]) -> Bool {
    bytes.append(bigEndian: self)
    return true
  }
  public init(postgres bytes: UnsafeRawBufferPointer?, type: PostgresType) throws(DecodingProblem) {
    self = try present(bytes).bigEndian()
  }
}

extension Int32: PostgresArrayElement {
  public static var postgresType: PostgresType { .int4 }
  public static func accepts(_ type: PostgresType) -> Bool { type == .int4 || type == .int2 }
  public func encode(into bytes: inout [UInt8]) -> Bool {
    bytes.append(bigEndian: self)
    return true
  }
  public init(postgres bytes: UnsafeRawBufferPointer?, type: PostgresType) throws(DecodingProblem) {
    let bytes = try present(bytes)
    self = bytes.count == 2 ? Int32(try bytes.bigEndian(Int16.self)) : try bytes.bigEndian()
  }
}

extension Int64: PostgresArrayElement {
  public static var postgresType: PostgresType { .int8 }
  public static func accepts(_ type: PostgresType) -> Bool { type == .int8 || type == .int4 || type == .int2 }
  public func encode(into bytes: inout [UInt8]) -> Bool {
    bytes.append(bigEndian: self)
    return true
  }
  public init(postgres bytes: UnsafeRawBufferPointer?, type: PostgresType) throws(DecodingProblem) {
    let bytes = try present(bytes)
    switch bytes.count {
    case 2: self = Int64(try bytes.bigEndian(Int16.self))
    case 4: self = Int64(try bytes.bigEndian(Int32.self))
    default: self = try bytes.bigEndian()
    }
  }
}

/// `Int` travels as int8.
extension Int: PostgresArrayElement {
  public static var postgresType: PostgresType { .int8 }
  public static func accepts(_ type: PostgresType) -> Bool { Int64.accepts(type) }
  public func encode(into bytes: inout [UInt8]) -> Bool { Int64(self).encode(into: &bytes) }
  public init(postgres bytes: UnsafeRawBufferPointer?, type: PostgresType) throws(DecodingProblem) {
    self = Int(try Int64(postgres: bytes, type: type))
  }
}

extension Double: PostgresArrayElement {
  public static var postgresType: PostgresType { .float8 }
  public static func accepts(_ type: PostgresType) -> Bool { type == .float8 || type == .float4 }
  public func encode(into bytes: inout [UInt8]) -> Bool {
    bytes.append(bigEndian: bitPattern)
    return true
  }
  public init(postgres bytes: UnsafeRawBufferPointer?, type: PostgresType) throws(DecodingProblem) {
    let bytes = try present(bytes)
    if bytes.count == 4 {
      self = Double(Float(bitPattern: try bytes.bigEndian()))
    } else {
      self = Double(bitPattern: try bytes.bigEndian())
    }
  }
}

/// text. PostgreSQL refuses U+0000 in text (SQLSTATE 22021), so callers refuse it earlier, by field.
extension String: PostgresArrayElement {
  public static var postgresType: PostgresType { .text }
  public static func accepts(_ type: PostgresType) -> Bool {
    type == .text || type == .varchar || type == .bpchar || type == .name || type == .json || type == .unknown
  }
  public func encode(into bytes: inout [UInt8]) -> Bool {
    bytes.append(contentsOf: utf8)
    return true
  }
  public init(postgres bytes: UnsafeRawBufferPointer?, type: PostgresType) throws(DecodingProblem) {
    self = String(decoding: try present(bytes), as: UTF8.self)
  }
}

extension UUID: PostgresArrayElement {
  public static var postgresType: PostgresType { .uuid }
  public static func accepts(_ type: PostgresType) -> Bool { type == .uuid }
  public func encode(into bytes: inout [UInt8]) -> Bool {
    withUnsafeBytes(of: uuid) { bytes.append(contentsOf: $0) }
    return true
  }
  public init(postgres bytes: UnsafeRawBufferPointer?, type: PostgresType) throws(DecodingProblem) {
    let bytes = try present(bytes)
    guard bytes.count == 16 else { throw .format("\(bytes.count) bytes instead of 16") }
    self = UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))
  }
}

/// bytea.
public struct Bytes: PostgresArrayElement, Hashable {
  /// Any number of bytes.
  public var bytes: [UInt8]
  public init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

  public static var postgresType: PostgresType { .bytea }
  public static func accepts(_ type: PostgresType) -> Bool { type == .bytea }
  public func encode(into bytes: inout [UInt8]) -> Bool {
    bytes.append(contentsOf: self.bytes)
    return true
  }
  public init(postgres bytes: UnsafeRawBufferPointer?, type: PostgresType) throws(DecodingProblem) {
    self.bytes = Array(try present(bytes))
  }
}

/// json, which keeps numbers and names as they are written; the caller encodes and decodes the document.
public struct JSONDocument: PostgresArrayElement, Hashable {
  /// A whole document; PostgreSQL refuses anything else.
  public var text: String
  public init(_ text: String) { self.text = text }

  public static var postgresType: PostgresType { .json }
  public static func accepts(_ type: PostgresType) -> Bool { type == .json }
  public func encode(into bytes: inout [UInt8]) -> Bool {
    bytes.append(contentsOf: text.utf8)
    return true
  }
  public init(postgres bytes: UnsafeRawBufferPointer?, type: PostgresType) throws(DecodingProblem) {
    text = String(decoding: try present(bytes), as: UTF8.self)
  }
}

/// jsonb, as text, for documents that statements look into; numbers lose how they were written.
public struct JSONB: PostgresArrayElement, Hashable {
  /// A whole document; PostgreSQL refuses anything else.
  public var text: String
  public init(_ text: String) { self.text = text }

  public static var postgresType: PostgresType { .jsonb }
  public static func accepts(_ type: PostgresType) -> Bool { type == .jsonb }
  public func encode(into bytes: inout [UInt8]) -> Bool {
    bytes.append(1)
    bytes.append(contentsOf: text.utf8)
    return true
  }
  public init(postgres bytes: UnsafeRawBufferPointer?, type: PostgresType) throws(DecodingProblem) {
    let bytes = try present(bytes)
    guard bytes.first == 1 else { throw .format("jsonb version \(bytes.first ?? 0)") }
    text = String(decoding: bytes.dropFirst(), as: UTF8.self)
  }
}
