import Embedded
import Wire

/// A type in a few words: texts, code, and links to schemas with a name.
struct TypePieces {
  enum Piece {
    case text(String)
    case code(String)
    case link(schema: String)
  }

  let pieces: [Piece]

  init(_ pieces: [Piece]) { self.pieces = pieces }

  static func joined(_ parts: [[Piece]], by separator: String) -> Self {
    Self(parts.enumerated().flatMap { $0.offset == 0 ? $0.element : [.text(separator)] + $0.element })
  }

  /// For `_piece.html`.
  var values: [[String: Any]] {
    pieces.map { piece in
      switch piece {
      case .text(let text): ["text": text, "code": "", "href": ""]
      case .code(let code): ["text": "", "code": code, "href": ""]
      case .link(let schema): ["text": schema, "code": "", "href": "#schema-\(schema)"]
      }
    }
  }
}

extension Schema {
  /// A schema with a name and its fields.
  var values: [String: Any] {
    var values: [String: Any] = [
      "name": name ?? "", "description": Prose.paragraphs(description), "hasFields": false,
      "type": TypePieces(shape.type).values,
    ]
    if case .object(let fields, _, _) = shape, !fields.isEmpty {
      values["hasFields"] = true
      values["fields"] = fields.map { field in
        [
          "name": field.name, "presence": field.isRequired ? "always" : "optional", "type": field.schema.type,
          "description": Prose.line(field.description),
        ] as [String: Any]
      }
    }
    return values
  }

  /// The type in a few words, for `_piece.html`.
  var type: [[String: Any]] { TypePieces(pieces).values }

  fileprivate var pieces: [TypePieces.Piece] {
    let type: [TypePieces.Piece] = name.map { [.link(schema: $0)] } ?? shape.type
    return allowsNull ? type + [.text(" or null")] : type
  }
}

extension Schema.Shape {
  fileprivate var type: [TypePieces.Piece] {
    switch self {
    case .object(let fields, _, let count): Self.object(fields, count)
    case .array(let item, let count):
      [.text("array of \(count.map { "\($0.lowerBound)–\($0.upperBound) " } ?? "")")] + item.pieces
    case .string(let length, _): [.text("string" + (length.map(Self.characters) ?? ""))]
    case .strings(let strings): TypePieces.joined(strings.map { [.code("\"\($0)\"")] }, by: " | ").pieces
    case .timestamp: [.text("timestamp")]
    case .integer(let range): [.text("integer" + Self.bounds(range))]
    case .integers(let integers): TypePieces.joined(integers.map { [.code("\($0)")] }, by: " | ").pieces
    case .number: [.text("number")]
    case .boolean: [.text("boolean")]
    case .onlyTrue: [.code("true")]
    case .either(let choices): TypePieces.joined(choices.map(\.pieces), by: " or ").pieces
    case .anything: [.text("anything")]
    }
  }

  private static func object(_ fields: [Schema.Field], _ count: ClosedRange<Int>?) -> [TypePieces.Piece] {
    var pieces: [TypePieces.Piece] = [.text(fields.isEmpty ? "object" : "object: ")]
    pieces += TypePieces.joined(fields.map(summary), by: ", ").pieces
    if let count { pieces.append(.text(" (up to \(count.upperBound) fields)")) }
    return pieces
  }

  private static func summary(_ field: Schema.Field) -> [TypePieces.Piece] {
    guard case .array(let item, _) = field.schema.shape, item.name != nil else { return [.code(field.name)] }
    return [.code(field.name), .text(" (")] + field.schema.pieces + [.text(")")]
  }

  private static func characters(_ length: ClosedRange<Int>) -> String {
    length.lowerBound == 0
      ? " (up to \(length.upperBound) characters)" : " (\(length.lowerBound)–\(length.upperBound) characters)"
  }

  private static func bounds(_ range: ClosedRange<Int64>) -> String {
    switch (range.lowerBound, range.upperBound) {
    case (.min, .max): ""
    case (let low, .max): " (from \(low))"
    case (.min, let high): " (to \(high))"
    case (let low, let high): " (\(low) to \(high))"
    }
  }
}
