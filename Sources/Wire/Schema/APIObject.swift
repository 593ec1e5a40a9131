/// A type whose values have one JSON form.
public protocol SchemaProviding {
  static var schema: Schema { get }
}

/// A JSON object of the API. Names, types and optionality are those of its stored properties, in their order. The field table says what
/// Swift cannot. A schema cannot be made while a property has no line in the table, so tests and the hub's start find it.
public protocol APIObject: SchemaProviding, Codable, Sendable {
  /// The name in the OpenAPI document; `nil` to write the schema in place.
  static var schemaName: String? { get }
  static var schemaDescription: String { get }
  /// Shown in the OpenAPI document; its stored properties tell the schema their types.
  static var example: Self { get }
  /// Types of one resource share a table.
  static var fieldTable: FieldTable { get }
  /// As requests or replies usually have it.
  static var form: BodyForm<Self> { get }
  /// Whether null means the same as an absent field.
  static var allowsNull: Bool { get }
}

/// A JSON object that clients send, whole or as part of one. Null means the same as an absent field, and unknown fields are
/// refused, so that a typo is reported.
public protocol APIRequest: APIObject {}

extension APIObject {
  public static var allowsNull: Bool { false }
  public static var schema: Schema { form.schema }
  public static var form: BodyForm<Self> { BodyForm(schemaName, schemaDescription, example: example) }
}

extension APIRequest {
  public static var allowsNull: Bool { true }

  /// What `current` becomes by this change: fields that are present replace those of the same name. "" removes those that the table says
  /// can be removed, be they texts or a `Change` of something else.
  /// - Throws: `DecodingError` if the result lacks a field.
  public func applied(to current: some Encodable) throws -> Self {
    guard case .object(var members) = try JSONValue(encoding: current),
      case .object(let changes) = try JSONValue(encoding: self)
    else { return self }
    for (name, value) in changes where value != .null {
      members[name] = value == "" && Self.fieldTable[name.text]?.isRemovable == true ? nil : value
    }
    return try Self(from: .object(members))
  }
}

/// One of the forms that a type has in the API, such as a resource that is added and one that is changed.
public struct BodyForm<Body: APIObject>: Sendable {
  /// The name in the OpenAPI document; `nil` to write the schema in place.
  public let name: String?
  public let example: Body
  private let description: String
  private let required: Set<String>
  private let absent: Set<String>
  private let isChange: Bool

  /// - Parameters:
  ///   - required: optional properties that this form must have.
  ///   - absent: properties that it does not have.
  ///   - isChange: whether "" removes fields that can be removed.
  public init(
    _ name: String?, _ description: String, required: Set<String> = [], absent: Set<String> = [],
    isChange: Bool = false, example: Body
  ) {
    self.name = name
    self.description = description
    self.required = required
    self.absent = absent
    self.isChange = isChange
    self.example = example
  }

  public var schema: Schema {
    Schema(.object(fields, others: nil, count: nil), name: name, description: description)
  }

  private var fields: [Schema.Field] {
    let all = Body.fields(changing: isChange)
    let unknown = required.union(absent).subtracting(all.map(\.name))
    precondition(unknown.isEmpty, "\(Body.self) has no \(unknown.sorted())")
    return all.filter { !absent.contains($0.name) }.map { field in
      guard required.contains(field.name) else { return field }
      var field = field
      (field.isRequired, field.schema.allowsNull) = (true, false)
      return field
    }
  }
}

extension APIObject {
  fileprivate static func fields(changing isChange: Bool) -> [Schema.Field] {
    Mirror(reflecting: example).children.flatMap { property in
      let name = property.label ?? ""
      guard let line = fieldTable[name] else {
        preconditionFailure("\(Self.self).\(name) has no line in the field table")
      }
      if let fields = line.fields { return fields }
      guard let type = type(of: property.value) as? any SchemaProviding.Type else {
        preconditionFailure("\(Self.self).\(name) is of a type without a schema")
      }
      return [line.field(name, type.schema, allowsNull: allowsNull, isChange: isChange)]
    }
  }
}

/// What fields of the API mean, and their limits, by their names. A name stands once, whatever requests and replies have it.
public struct FieldTable: Sendable, ExpressibleByDictionaryLiteral {
  private let lines: [String: FieldDescription]

  public init(dictionaryLiteral lines: (String, FieldDescription)...) {
    self.init(lines)
  }

  init(_ lines: [(String, FieldDescription)]) { self.lines = Dictionary(uniqueKeysWithValues: lines) }

  public subscript(_ name: String) -> FieldDescription? { lines[name] }

  /// The most characters or items that a field may have.
  public func maximum(of name: String) -> Int { Int(lines[name]?.limits?.upperBound ?? .max) }
}

/// What a field's type does not say: its meaning and its limits.
public struct FieldDescription: Sendable, ExpressibleByStringInterpolation {
  let text: String
  let limits: ClosedRange<Int64>?
  let isRemovable: Bool
  /// Those that stand in the property's place, in the same JSON object.
  var fields: [Schema.Field]?

  /// - Parameters:
  ///   - limits: characters of a string, items of an array, values of an integer.
  ///   - isRemovable: whether "" removes the field in a change. Requests that add take "", too, and then the field is not there. Only forms
  ///     with `isChange` say so in the OpenAPI document. A field that is no text is a `Change` in the request.
  public init(_ text: String, limits: ClosedRange<Int64>? = nil, isRemovable: Bool = false) {
    self.text = text
    self.limits = limits
    self.isRemovable = isRemovable
  }

  public init(stringLiteral text: String) { self.init(text) }

  /// Of a property whose value is written as these fields, in the same JSON object.
  public static func fields(_ fields: [Schema.Field]) -> FieldDescription {
    var description: FieldDescription = ""
    description.fields = fields
    return description
  }

  /// Of a property whose fields stand in the same JSON object.
  public static func fields(of part: (some APIObject).Type) -> FieldDescription {
    .fields(part.fields(changing: false))
  }

  /// Of a number that counts something.
  public static func count(_ text: String) -> FieldDescription { FieldDescription(text, limits: 0 ... .max) }

  func field(_ name: String, _ schema: Schema, allowsNull: Bool, isChange: Bool) -> Schema.Field {
    var limited = limits.map { schema.limited(to: isRemovable ? 0...$0.upperBound : $0) } ?? schema
    limited.allowsNull = schema.allowsNull && allowsNull
    return Schema.Field(
      name, limited, isRequired: !schema.allowsNull, isChange && isRemovable ? text + " `\"\"` removes it." : text)
  }
}

extension Optional: SchemaProviding where Wrapped: SchemaProviding {
  public static var schema: Schema { Wrapped.schema.orNull }
}

extension Change: Codable, SchemaProviding where Value: Codable & SchemaProviding {
  public static var schema: Schema { Schema(.either([Value.schema, .string(0...0)])) }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let isEmpty = (try? container.decode(String.self))?.isEmpty == true
    self = isEmpty ? .clear : .set(try container.decode(Value.self))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .keep: try container.encodeNil()
    case .clear: try container.encode("")
    case .set(let value): try container.encode(value)
    }
  }

  /// What is set; `nil` for nothing.
  public var value: Value? { if case .set(let value) = self { value } else { nil } }
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
