extension Parameter {
  /// Makes a POST safe to repeat.
  static let idempotencyKey = Parameter.header(
    "Idempotency-Key",
    .text(
      "Any text of your own. The same request under the same key within 24 hours is done once and answered alike; "
        + "the repeated answer carries `Idempotent-Replayed: true`.",
      length: 1...255),
    example: "2026-11-20-offer-42")

  /// Where a page of a list begins, by the number of its last item.
  static func after(_ what: String, example: String = "100") -> Parameter {
    .query("after", .id("Give what comes behind this \(what): `next` of the page before."), example: example)
  }

  static let limit = Parameter.query(
    "limit", .integer("Count of items on a page; 100 when absent.", 1...1000), example: "100")
}

extension Reply {
  /// A page of a list, whose one item is this example.
  static func page(_ about: String, of schema: String, example: String) -> Self {
    let item = example.split(separator: "\n").map { "    \($0)" }.joined(separator: "\n")
    return .ok(about, .page(of: schema), example: "{\n  \"items\": [\n\(item)\n  ]\n}")
  }
}

extension Schema {
  /// A page of a list.
  static func page(
    of item: String, next: Schema = .id("What to give as `after` for the next page; absent on the last.")
  ) -> Schema {
    .object([.always("items", .array(of: .named(item))), .maybe("next", next)])
  }
}
