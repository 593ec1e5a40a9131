import HTTPTypes
package import Wire

/// What of a request stands in its path and its query, as texts.
package struct RequestValues: Sendable {
  let path: [String: String]
  let query: QueryParameters

  package init(path: [String: String], query: QueryParameters) {
    self.path = path
    self.query = query
  }
}

/// What an operation takes from path and query: how it is described, and how it is read.
package struct Parameters<Value: Sendable>: Sendable {
  package let described: [APIParameter]
  /// - Throws: `HTTPErrorResponse` (400), naming the parameter.
  let read: @Sendable (RequestValues) throws -> Value
  /// What a request has for a value, by the parameters' names, without those that are absent.
  let write: @Sendable (Value) -> [String: String]

  private init(
    _ described: [APIParameter], _ read: @escaping @Sendable (RequestValues) throws -> Value,
    _ write: @escaping @Sendable (Value) -> [String: String]
  ) {
    self.described = described
    self.read = read
    self.write = write
  }

  /// One parameter.
  private init(
    _ one: APIParameter, _ read: @escaping @Sendable (RequestValues) throws -> Value,
    _ write: @escaping @Sendable (Value) -> String?
  ) {
    self.init([one], read) { value in write(value).map { [one.name: $0] } ?? [:] }
  }

  /// This and something else.
  package func and<Other>(_ other: Parameters<Other>) -> Parameters<(Value, Other)> {
    Parameters<(Value, Other)>(
      described + other.described, { [read] in (try read($0), try other.read($0)) },
      { [write] in write($0.0).merging(other.write($0.1)) { $1 } })
  }

  /// What the value stands for.
  /// - Parameters:
  ///   - change: throws what becomes a 400.
  ///   - back: the value again, for links; `nil` for what cannot stand in a request.
  package func map<Other>(
    _ change: @escaping @Sendable (Value) throws -> Other,
    back: @escaping @Sendable (Other) -> Value? = { _ in nil }
  ) -> Parameters<Other> {
    Parameters<Other>(
      described, { [read] in try change(try read($0)) }, { [write] value in back(value).map(write) ?? [:] })
  }
}

extension Parameters where Value == Void {
  package static var none: Self { Self([], { _ in }, { _ in [:] }) }
}

extension Parameters {
  /// The number of something in the path, as `{id}`.
  package static func id(
    _: Value.Type, named name: String = "id", _ description: String, example: Int64
  ) -> Self where Value: Identifier {
    Self(.path(name, .id, description, example: .integer(example))) { values in
      guard let id = Value(values.path[name] ?? "") else {
        throw HTTPErrorResponse.badRequest("\(name) must be a whole number in the path, such as 7.")
      }
      return id
    } _: {
      $0.description
    }
  }

  /// A text in the path.
  package static func path(
    _ name: String, _ schema: Schema, _ description: String, example: JSONValue
  ) -> Self where Value == String {
    Self(.path(name, schema, description, example: example), { $0.path[name] ?? "" }, { $0 })
  }

  /// True or false in the query; false if absent.
  package static func flag(_ name: String, _ description: String) -> Self where Value == Bool {
    Self(.query(name, Bool.schema, description, example: true), { try $0.query.flag(name) ?? false }) {
      $0 ? "true" : nil
    }
  }

  /// A whole number in the query.
  package static func integer<Number>(
    _ name: String, in range: ClosedRange<Number>, _ description: String, example: Number
  ) -> Self where Number: FixedWidthInteger & Sendable, Value == Number? {
    Self(
      .query(
        name, .integer(Int64(range.lowerBound)...Int64(range.upperBound)), description, example: .integer(example)),
      { try $0.query.integer(name, in: range) }, { $0.map { String($0) } })
  }

  /// The number of something in the query.
  package static func number<ID: Identifier>(
    _ name: String, _: ID.Type, _ description: String, example: Int64
  ) -> Self where Value == ID? {
    Self(.query(name, .id, description, example: .integer(example))) { values in
      try values.query.integer(name, in: 1...Int64.max).map { ID($0) }
    } _: {
      $0?.description
    }
  }

  /// One of an enumeration in the query.
  package static func choice<Choice>(_ name: String, _ description: String, example: Choice) -> Self
  where Choice: RawRepresentable<String> & CaseIterable & SchemaProviding & Sendable, Value == Choice? {
    Self(
      .query(name, Choice.schema, description, example: .string(example.rawValue)), { try $0.query.choice(name) },
      { $0?.rawValue })
  }

  /// A text in the query.
  package static func text(_ name: String, _ description: String, example: JSONValue) -> Self where Value == String? {
    Self(.query(name, .string(), description, example: example), { $0.query.value(name) }, { $0 })
  }

  /// A filter in the query: a line of text, or a tree as JSON.
  package static func filter(_ name: String, _ description: String, example: JSONValue) -> Self where Value == Filter? {
    Self(
      .query(name, .string(), description, example: example), { try $0.query.filter(name) }, { $0?.text })
  }

  /// A value of another kind in the query.
  /// - Parameter read: throws what becomes a 400.
  package static func query<Other>(
    _ name: String, _ description: String, example: JSONValue, read: @escaping @Sendable (String) throws -> Other
  ) -> Self where Value == Other? {
    Self(
      .query(name, .string(), description, example: example), { try $0.query.value(name).map(read) },
      { $0.map { "\($0)" } })
  }

  /// A text in the query that must be there.
  package static func required(_ name: String, _ description: String, example: JSONValue) -> Self
  where Value == String {
    Self(.query(name, .string(), description, example: example, isRequired: true)) { values in
      guard let text = values.query.value(name) else { throw HTTPErrorResponse.badRequest("\(name) is missing.") }
      return text
    } _: {
      $0
    }
  }

  /// A page of a list whose items are numbered.
  package static func page<ID: Identifier>(of item: String, by _: ID.Type) -> Self where Value == PageRequest<ID> {
    Self([.after(item), .limit], { try $0.query.page() }, { $0.written })
  }

  /// A page of a list whose items are named.
  package static func namedPage(of item: String = "name", example: JSONValue) -> Self
  where Value == PageRequest<String> {
    Self(
      [
        .query("after", .string(), "Starts behind this \(item): `next` of the page before.", example: example), .limit,
      ], { try $0.query.namedPage() }, { $0.written })
  }
}

extension PageRequest where Cursor: CustomStringConvertible {
  fileprivate var written: [String: String] {
    var values = after.map { ["after": $0.description] } ?? [:]
    if limit != Self.usualLimit { values["limit"] = String(limit) }
    return values
  }
}

extension Operation {
  /// The path and the query of a request for this, the query in the order of its description.
  package func written(_ target: Target) -> (path: String, query: [(name: String, value: String)]) {
    let values = self.target.write(target)
    let path = described(.path, values).reduce(description.path) { path, value in
      path.replacing("{\(value.name)}", with: PercentEncoding.encode(value.value))
    }
    return (path, described(.query, values))
  }

  /// What its path names, as a command takes it.
  package func pathValues(_ target: Target) -> [String] { described(.path, self.target.write(target)).map(\.value) }

  private func described(
    _ location: APIParameter.Location, _ values: [String: String]
  ) -> [(name: String, value: String)] {
    description.parameters.filter { $0.location == location }.compactMap { parameter in
      values[parameter.name].map { (parameter.name, $0) }
    }
  }
}

/// The JSON body that an operation takes.
package struct RequestBody<Body: Sendable>: Sendable {
  package let content: APIContent?
  /// In bytes.
  package let limit: Int
  let read: @Sendable ([UInt8]) throws -> Body

  private init(_ content: APIContent?, _ limit: Int, _ read: @escaping @Sendable ([UInt8]) throws -> Body) {
    self.content = content
    self.limit = limit
    self.read = read
  }

  package static func json(_ form: BodyForm<Body>, upTo limit: Int = Limits.body) -> Self where Body: APIRequest {
    let schema = form.schema
    return Self(APIContent(form), limit) { try schema.decode(from: $0) }
  }

  /// A body that a request can do without.
  /// - Parameter absent: what a request without it means.
  package static func optional(_ form: BodyForm<Body>, absent: Body) -> Self where Body: APIRequest {
    let schema = form.schema
    return Self(APIContent(form, isRequired: false), Limits.body) { bytes in
      bytes.isEmpty ? absent : try schema.decode(from: bytes)
    }
  }
}

extension RequestBody where Body == Void {
  package static var none: Self { Self(nil, Limits.body) { _ in } }
}

/// What an operation replies.
package struct Replies<Reply: APIObject>: Sendable {
  let response: APIResponse

  package static func ok(_ description: String, _ form: BodyForm<Reply>) -> Self { Self(.ok, description, form) }
  package static func ok(_ description: String, _ example: Reply) -> Self {
    Self(.ok, description, BodyForm(Reply.schemaName, Reply.schemaDescription, example: example))
  }
  package static func created(_ description: String, _ form: BodyForm<Reply>) -> Self {
    Self(.created, description, form)
  }

  private init(_ status: HTTPResponse.Status, _ description: String, _ form: BodyForm<Reply>) {
    response = APIResponse(status: status, description: description, content: .json(APIContent(form)))
  }
}

extension PageRequest where Cursor: Comparable & Codable {
  /// The page of a whole list, ordered by its cursors; for lists short enough to be read whole.
  package func slice<Item: Codable & Sendable>(of whole: [Item], by cursor: (Item) -> Cursor) -> Page<Item, Cursor> {
    let rest = after.map { after in whole.filter { cursor($0) > after } } ?? whole
    return page(of: Array(rest.sorted { cursor($0) < cursor($1) }.prefix(limit + 1)), cursor: cursor)
  }
}
