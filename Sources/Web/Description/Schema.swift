import Wire

/// The form of a JSON value, in the part of JSON Schema (2020-12, as OpenAPI 3.1 takes it) that this site needs.
struct Schema: Sendable {
  indirect enum Shape: Sendable {
    /// One of the document's named schemas.
    case named(String)
    /// An object: its fields in the order people should read them, and the form of any further ones; `nil` for none.
    case object([Field], further: Schema?)
    case array(of: Schema, count: ClosedRange<Int>?)
    case string(format: String?, oneOf: [String], length: ClosedRange<Int>?)
    case integer(ClosedRange<Int64>?)
    case choice(of: [Int64])
    case number
    case boolean
    case either([Schema])
    case anything
  }

  /// A member of an object.
  struct Field: Sendable {
    var name: String
    var schema: Schema
    var isRequired: Bool
  }

  var shape: Shape
  /// What it means, for people; for a named schema it stands with the name.
  var about = ""
  var allowsNull = false
}

extension Schema {
  static func named(_ name: String, _ about: String = "") -> Schema { Schema(shape: .named(name), about: about) }

  /// An object that holds these fields and no others.
  static func object(_ fields: [Field], _ about: String = "") -> Schema {
    Schema(shape: .object(fields, further: nil), about: about)
  }

  /// An object that may hold further fields besides these.
  static func openObject(_ fields: [Field] = [], further: Schema = .anything(), _ about: String = "") -> Schema {
    Schema(shape: .object(fields, further: further), about: about)
  }

  static func array(of item: Schema, count: ClosedRange<Int>? = nil, _ about: String = "") -> Schema {
    Schema(shape: .array(of: item, count: count), about: about)
  }

  static func text(_ about: String = "", length: ClosedRange<Int>? = nil, format: String? = nil) -> Schema {
    Schema(shape: .string(format: format, oneOf: [], length: length), about: about)
  }

  static func word(of words: [String], _ about: String = "") -> Schema {
    Schema(shape: .string(format: nil, oneOf: words, length: nil), about: about)
  }

  static func moment(_ about: String) -> Schema { text(about, format: "date-time") }

  static func integer(_ about: String = "", _ range: ClosedRange<Int64>? = nil) -> Schema {
    Schema(shape: .integer(range), about: about)
  }

  /// A platform, in Carma's numbers.
  static func appType(_ about: String = "") -> Schema {
    Schema(shape: .choice(of: AppType.allCases.map { Int64($0.rawValue) }), about: about)
  }

  /// A number of ours, as in `keyId`.
  static func id(_ about: String) -> Schema { integer(about, 1...Int64.max) }

  static func count(_ about: String) -> Schema { integer(about, 0...Int64.max) }

  static func boolean(_ about: String = "") -> Schema { Schema(shape: .boolean, about: about) }

  static func number(_ about: String = "") -> Schema { Schema(shape: .number, about: about) }

  static func either(_ choices: [Schema], _ about: String = "") -> Schema {
    Schema(shape: .either(choices), about: about)
  }

  static func anything(_ about: String = "") -> Schema { Schema(shape: .anything, about: about) }

  /// The same, or null.
  var orNull: Schema {
    var schema = self
    schema.allowsNull = true
    return schema
  }
}

extension Schema.Field {
  /// A field that is always there.
  static func always(_ name: String, _ schema: Schema) -> Self { Self(name: name, schema: schema, isRequired: true) }
  /// A field that may be absent.
  static func maybe(_ name: String, _ schema: Schema) -> Self { Self(name: name, schema: schema, isRequired: false) }
}
