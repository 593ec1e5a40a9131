/// The form of a JSON value, in the part of JSON Schema (2020-12, as OpenAPI 3.1 uses it) that the API needs.
///
/// Requests are checked against it, and the OpenAPI document is written from it.
public struct Schema: Sendable {
  public indirect enum Shape: Sendable {
    /// An object: its fields in reading order, the form of any other fields (`nil`: none are allowed), and how many
    /// fields it must have.
    case object([Field], others: Schema?, count: ClosedRange<Int>?)
    case array(of: Schema, count: ClosedRange<Int>?)
    /// `length` counts Unicode scalars; `pattern` is a regular expression of ECMA-262.
    case string(length: ClosedRange<Int>?, pattern: String?)
    case strings([String])
    /// RFC 3339: with any offset as it is read, in UTC with milliseconds as it is written.
    case timestamp
    case integer(ClosedRange<Int64>)
    case integers([Int64])
    case number
    case boolean
    case onlyTrue
    case either([Schema])
    case anything
  }

  /// A field of an object.
  public struct Field: Sendable {
    public var name: String
    public var schema: Schema
    public var isRequired: Bool
    /// Sentences for people.
    public var description: String

    public init(_ name: String, _ schema: Schema, isRequired: Bool = true, _ description: String = "") {
      self.name = name
      self.schema = schema
      self.isRequired = isRequired
      self.description = description
    }
  }

  public var shape: Shape
  /// The name under which the OpenAPI document lists the schema; `nil` where it is written in place.
  public var name: String?
  /// Sentences for people, for a schema with a name.
  public var description = ""
  public var allowsNull = false
  /// Whether the type that reads the value checks it, with sentences of its own. The schema only describes it then.
  public var isOnlyDescription = false

  public init(_ shape: Shape, name: String? = nil, description: String = "") {
    self.shape = shape
    self.name = name
    self.description = description
  }
}

extension Schema {
  /// Any string, or one of so many characters.
  public static func string(_ length: ClosedRange<Int>? = nil) -> Schema {
    Schema(.string(length: length, pattern: nil))
  }

  public static func string(matching pattern: String) -> Schema { Schema(.string(length: nil, pattern: pattern)) }

  public static func integer(_ range: ClosedRange<Int64> = .min ... .max) -> Schema { Schema(.integer(range)) }

  /// A number that names something of ours, as in `keyId`.
  public static let id = Schema.integer(1 ... .max)

  /// An object of named fields, any others being ignored.
  public static func openObject(
    _ fields: [Field], name: String? = nil, _ description: String = ""
  ) -> Schema {
    Schema(.object(fields, others: Schema(.anything), count: nil), name: name, description: description)
  }

  /// This schema, or null.
  public var orNull: Schema {
    var schema = self
    schema.allowsNull = true
    return schema
  }

  /// This schema within these limits: characters of a string, items of an array, values of an integer.
  func limited(to limits: ClosedRange<Int64>) -> Schema {
    let counts = Int(limits.lowerBound)...Int(limits.upperBound)
    var schema = self
    switch shape {
    case .string(_, let pattern): schema.shape = .string(length: counts, pattern: pattern)
    case .array(let item, _): schema.shape = .array(of: item, count: counts)
    case .integer: schema.shape = .integer(limits)
    default: preconditionFailure("only strings, arrays and integers have limits")
    }
    return schema
  }
}
