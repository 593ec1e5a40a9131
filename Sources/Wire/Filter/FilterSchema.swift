extension Filter: SchemaProviding {
  public static let schema: Schema = {
    var schema = Schema(.either([.string(1...FilterLimits.line)] + trees), name: schemaName, description: description)
    schema.isOnlyDescription = true
    return schema
  }()

  private static let schemaName = "Filter"
  private static let description = """
    Who is meant: a line of text or a tree, which stand for each other node by node. A reply has the tree, and beside it the line as \
    `text`. At most \(FilterLimits.conditions) conditions, \(FilterLimits.depth) levels, \(FilterLimits.literal) characters in a \
    literal and \(FilterLimits.line) bytes in a line. An error names the character of the line, counted from 1, or the place in the tree.
    """

  /// Refers to the whole by its name: it holds itself.
  private static let inner = Schema(.anything, name: schemaName)

  /// A form of a tree for each kind of condition.
  private static let trees: [Schema] =
    [
      object([Schema.Field("and", Schema(.array(of: inner, count: 1...FilterLimits.conditions)), "All of these.")]),
      object([
        Schema.Field("or", Schema(.array(of: inner, count: 1...FilterLimits.conditions)), "One of these at least.")
      ]),
      object([Schema.Field("not", inner, "Not this one.")]),
      object([
        field("field"),
        Schema.Field(
          "op", Schema(.strings(FilterVerb.ofTrees.map(\.word))), isRequired: false,
          "How it is compared. Without it, `within` is there."),
        Schema.Field(
          "value", oneOrMany([.string(0...FilterLimits.literal), Schema(.number), Schema(.boolean)]), isRequired: false,
          "What it is compared with, or a list for `in`."),
        Schema.Field("date", oneOrMany([.string()]), isRequired: false, "A whole day of UTC, as in `2026-12-01`."),
        Schema.Field("version", oneOrMany([.string()]), isRequired: false, "Digits and dots, compared part by part."),
        Schema.Field("within", window, isRequired: false, "How long before or after now."),
      ]),
      Schema(.object([field("birthday")] + directions, others: nil, count: 2...2)),
      object([Schema.Field("list", reference, "The contacts of this list.")]),
      object([Schema.Field("segment", reference, "The contacts of this segment.")]),
      object([
        Schema.Field("device", inner, "One valid device meets all of it. `{\"everyone\":true}` in it means any device.")
      ]),
      object([
        Schema.Field(
          "outcome",
          object([
            Schema.Field("sendout", .id, "The sendout's number."),
            Schema.Field(
              "is", Schema(.strings(FilterOutcome.kinds)),
              "The best outcome of the contact's pushes; `any` for whoever has a push in the ledger."),
          ]), "What became of a sendout for the contact.")
      ]),
      object([
        Schema.Field(
          "bucket", Schema(.array(of: .integer(0...100), count: 2...2)),
          "Which hundredths of the contacts: from the first number up to the second, without that.")
      ]),
      object([Schema.Field("everyone", Schema(.onlyTrue))]),
    ] + FilterActivity.Kind.allCases.map { kind in object([Schema.Field(kind.rawValue, activity, meaning(of: kind))]) }

  private static let activity = object([
    Schema.Field("sendout", .id, isRequired: false, "Of this sendout alone, which may be a stream of single messages."),
    Schema.Field("op", Schema(.strings(FilterOperator.allCases.map(\.rawValue))), isRequired: false, "`>=` if absent."),
    Schema.Field("count", .integer(0...Int64(FilterLimits.count)), isRequired: false, "1 if absent."),
    Schema.Field("within", .string(matching: span), isRequired: false, "Since so long ago."),
    Schema.Field(
      "ofLast", .integer(1...Int64(FilterLimits.ofLast)), isRequired: false,
      "Among so many pushes that the contact received last. Not with `within`."),
  ])

  private static func meaning(of kind: FilterActivity.Kind) -> String {
    switch kind {
    case .received: "How many pushes were accepted."
    case .opened: "How many pushes were opened by a person."
    }
  }

  private static let reference = Schema(.either([.id, .string(1...FilterLimits.literal)]))
  private static let span = "^[0-9]+[\(FilterSpan.Unit.allCases.map(\.letter).joined())]$"
  private static let window = Schema(.object(directions, others: nil, count: 1...1))
  private static let directions = FilterWindow.Direction.allCases.map { direction in
    Schema.Field(direction.rawValue, .string(matching: span), isRequired: false, "A span such as `30d` or `12h`.")
  }

  private static func object(_ fields: [Schema.Field]) -> Schema { Schema(.object(fields, others: nil, count: nil)) }

  private static func field(_ name: String) -> Schema.Field {
    Schema.Field(
      name, .string(),
      "A contact's field, `\(FilterField.propertyPrefix)` and a property's name, or in `device` a device's field.")
  }

  private static func oneOrMany(_ choices: [Schema]) -> Schema {
    let one = choices.count == 1 ? choices[0] : Schema(.either(choices))
    return Schema(.either([one, Schema(.array(of: one, count: nil))]))
  }
}
