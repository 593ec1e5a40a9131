/// A number that names one kind of thing; written as a plain number in JSON, URLs and SQL.
public protocol Identifier: RawRepresentable<Int64>, Hashable, Codable, Sendable, CustomStringConvertible,
  LosslessStringConvertible, Comparable, SchemaProviding
{
  init(_ rawValue: Int64)
}

extension Identifier {
  public init(rawValue: Int64) { self.init(rawValue) }
  public static var schema: Schema { .id }
  /// Decimal digits of a positive 64-bit number, and nothing else.
  public init?(_ description: String) {
    guard let number = Int64(description), number > 0, description.utf8.first != UInt8(ascii: "+") else { return nil }
    self.init(number)
  }
  public var description: String { String(rawValue) }
  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
  public init(from decoder: any Decoder) throws { self.init(try decoder.singleValueContainer().decode(Int64.self)) }
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rawValue)
  }
}

/// One of the things that a customer numbers.
public protocol NumberedThing: Sendable {
  associatedtype Number: Identifier
  /// What people call one of them, as in `trigger`. Paths and fields have it, and sentences.
  static var noun: String { get }
  var number: Number { get }
}

/// A reply about one of the things that a customer numbers and names.
public protocol NumberedReply: APIObject, NumberedThing {
  /// Unique among the customer's of the kind.
  var name: String { get }
}

/// A tenant.
public struct CustomerID: Identifier {
  public let rawValue: Int64
  public init(_ rawValue: Int64) { self.rawValue = rawValue }
}

/// A user of a customer's apps.
public struct ContactID: Identifier {
  public let rawValue: Int64
  public init(_ rawValue: Int64) { self.rawValue = rawValue }
}

/// An app on one phone.
public struct DeviceID: Identifier {
  public let rawValue: Int64
  public init(_ rawValue: Int64) { self.rawValue = rawValue }
}

/// A subscription to what changes at a place of a data tree.
public struct SubscriptionID: Identifier {
  public let rawValue: Int64
  public init(_ rawValue: Int64) { self.rawValue = rawValue }
}
