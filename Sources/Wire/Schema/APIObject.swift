/// A type whose values have one JSON form.
public protocol SchemaProviding {
  static var schema: Schema { get }
}

/// A JSON object of the API. Its Swift declaration is its only one: the schema takes names, types and optionality from the
/// stored properties, and `describe` adds what Swift cannot say. The compiler asks for a description of every field.
public protocol APIObject: SchemaProviding, Codable, Sendable {
  /// In the order in which people should read the fields.
  associatedtype CodingKeys: CodingKey & CaseIterable
  /// The name in the OpenAPI document; `nil` to write the schema in place.
  static var schemaName: String? { get }
  static var schemaDescription: String { get }
  /// Shown in the OpenAPI document; its stored properties tell the schema their types.
  static var example: Self { get }
  static func describe(_ field: CodingKeys) -> FieldDescription
  /// The type of a field, of an object whose fields are no stored properties; nil for others.
  static func valueType(of field: CodingKeys) -> (any SchemaProviding.Type)?
  /// Whether null means the same as an absent field.
  static var allowsNull: Bool { get }
}

/// A JSON object that clients send, whole or as part of one. Null means the same as an absent field, and unknown fields are
/// refused, so that a typo is reported.
public protocol APIRequest: APIObject {}

extension APIObject {
  public static var allowsNull: Bool { false }
  public static func valueType(of field: CodingKeys) -> (any SchemaProviding.Type)? { nil }

  public static var schema: Schema {
    Schema(.object(fields, others: nil, count: nil), name: schemaName, description: schemaDescription)
  }

  /// A property without a coding key is an object whose fields stand after the others, in the same JSON object.
  private static var fields: [Schema.Field] {
    let properties = Mirror(reflecting: example).children.map { (name: $0.label ?? "", type: type(of: $0.value)) }
    let keys = CodingKeys.allCases
    let own = keys.map { key in
      let property = properties.first { $0.name == key.stringValue }
      guard let type = valueType(of: key) ?? property?.type as? any SchemaProviding.Type else {
        preconditionFailure("\(Self.self).\(key.stringValue) is missing, or of a type without a schema")
      }
      return describe(key).field(key.stringValue, type.schema, allowsNull: allowsNull)
    }
    guard keys.allSatisfy({ valueType(of: $0) == nil }) else { return own }
    let others = properties.filter { property in !keys.contains { $0.stringValue == property.name } }
    return others.reduce(into: own) { fields, property in
      guard let part = property.type as? any APIObject.Type else {
        preconditionFailure("\(Self.self).\(property.name) has no coding key, and is no object")
      }
      fields += part.fields
    }
  }
}

extension APIRequest {
  public static var allowsNull: Bool { true }
}

/// What a field's type does not say: its meaning and its limits.
public struct FieldDescription: Sendable, ExpressibleByStringInterpolation {
  let text: String
  let limits: ClosedRange<Int64>?

  /// - Parameter limits: characters of a string, items of an array, values of an integer.
  public init(_ text: String, limits: ClosedRange<Int64>? = nil) {
    self.text = text
    self.limits = limits
  }

  public init(stringLiteral text: String) { self.init(text) }

  /// Of a number that counts something.
  public static func count(_ text: String) -> FieldDescription { FieldDescription(text, limits: 0 ... .max) }

  func field(_ name: String, _ schema: Schema, allowsNull: Bool) -> Schema.Field {
    var limited = limits.map { schema.limited(to: $0) } ?? schema
    limited.allowsNull = schema.allowsNull && allowsNull
    return Schema.Field(name, limited, isRequired: !schema.allowsNull, text)
  }
}

extension Optional: SchemaProviding where Wrapped: SchemaProviding {
  public static var schema: Schema { Wrapped.schema.orNull }
}

extension Array: SchemaProviding where Element: SchemaProviding {
  public static var schema: Schema { Schema(.array(of: Element.schema, count: nil)) }
}

extension Dictionary: SchemaProviding where Key: CodingKeyRepresentable, Value: SchemaProviding {
  public static var schema: Schema { Schema(.object([], others: Value.schema, count: nil)) }
}

extension String: SchemaProviding {
  public static var schema: Schema { .string() }
}

extension Bool: SchemaProviding {
  public static var schema: Schema { Schema(.boolean) }
}

extension Int: SchemaProviding {}
extension Int32: SchemaProviding {}

extension SchemaProviding where Self: FixedWidthInteger {
  public static var schema: Schema { .integer(Int64(min)...Int64(max)) }
}

extension SchemaProviding where Self: RawRepresentable<String> & CaseIterable {
  public static var schema: Schema { Schema(.strings(allCases.map(\.rawValue))) }
}

extension AppType: SchemaProviding {
  public static var schema: Schema { Schema(.integers(allCases.map { Int64($0.rawValue) })) }
}

extension Timestamp: SchemaProviding {
  public static var schema: Schema { Schema(.timestamp) }
}

extension JSONValue: SchemaProviding {
  public static var schema: Schema { Schema(.anything) }
}
