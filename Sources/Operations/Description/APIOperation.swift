package import HTTPTypes
package import Wire

/// What one route does, in OpenAPI's terms.
package struct APIOperation: Sendable {
  /// The access key that a route needs.
  package enum Security: Sendable {
    case none
    /// A key of this scope or a higher one.
    case key(AccessScope)
    /// The MAC of an app of CM Hybrid Messaging.
    case mac
  }

  /// A group of operations in documents. It stands beside its operations.
  package struct Tag: Sendable, Hashable {
    package let name: String
    /// Sentences for people.
    package let description: String
    /// Who may use those in the console that only read, besides owners.
    package let readers: Set<Role>
    /// Who may use the others there, besides owners.
    package let editors: Set<Role>

    package init(_ name: String, _ description: String, readers: Set<Role> = [], editors: Set<Role> = []) {
      self.name = name
      self.description = description
      self.readers = readers
      self.editors = editors
    }
  }

  package var method: HTTPRequest.Method
  /// As OpenAPI writes it: `/api/v1/keys/{id}`.
  package var path: String
  /// Unique; a verb and its noun, as in `addKey`.
  package var id: String
  package var tag: Tag
  package var security: Security
  /// A few words, without a full stop.
  package var summary: String
  /// Whole sentences; an empty line separates paragraphs.
  package var description: String
  package var parameters: [APIParameter] = []
  package var requestBody: APIContent?
  /// An example of the body as XML; `nil` where the operation takes none.
  package var xmlBody: String?
  /// The body's limit in bytes.
  package var bodyLimit = Limits.body
  /// The responses of success.
  package var responses: [APIResponse]
  /// The errors of this operation, besides those that all of its kind share.
  package var errors: [APIResponse] = []

  package init(
    method: HTTPRequest.Method, path: String, id: String, tag: Tag, security: Security, summary: String,
    description: String, parameters: [APIParameter] = [], requestBody: APIContent? = nil, xmlBody: String? = nil,
    bodyLimit: Int = Limits.body, responses: [APIResponse], errors: [APIResponse] = []
  ) {
    self.method = method
    self.path = path
    self.id = id
    self.tag = tag
    self.security = security
    self.summary = summary
    self.description = description
    self.parameters = parameters
    self.requestBody = requestBody
    self.xmlBody = xmlBody
    self.bodyLimit = bodyLimit
    self.responses = responses
    self.errors = errors
  }
}

/// The most that a request's body may have.
public enum Limits {
  /// Bytes of a body, unless a route says otherwise.
  public static let body = 64 * 1024
}

/// A value in a path, a query or a header.
package struct APIParameter: Sendable {
  package enum Location: String, Sendable { case path, query, header }

  package var location: Location
  package var name: String
  package var schema: Schema
  package var description: String
  package var example: JSONValue
  package var isRequired = false

  package init(
    location: Location, name: String, schema: Schema, description: String, example: JSONValue, isRequired: Bool = false
  ) {
    self.location = location
    self.name = name
    self.schema = schema
    self.description = description
    self.example = example
    self.isRequired = isRequired
  }

  package static func path(_ name: String, _ schema: Schema, _ description: String, example: JSONValue) -> Self {
    Self(
      location: .path, name: name, schema: schema, description: description, example: example, isRequired: true)
  }

  package static func query(
    _ name: String, _ schema: Schema, _ description: String, example: JSONValue, isRequired: Bool = false
  ) -> Self {
    Self(
      location: .query, name: name, schema: schema, description: description, example: example, isRequired: isRequired)
  }

  /// Makes a POST safe to repeat.
  package static let idempotencyKey = Self(
    location: .header, name: "Idempotency-Key", schema: .string(1...255),
    description: """
      Any text of yours. The same request with the same key within 24 hours is executed once. \
      A repetition gets the same reply with `Idempotent-Replayed: true`.
      """,
    example: "2026-11-20-offer-42")

  /// The cursor of a list whose items are numbered.
  package static func after(_ item: String) -> Self {
    .query("after", .id, "Starts behind this \(item): `next` of the page before.", example: 100)
  }

  package static let limit = Self.query(
    "limit", .integer(1...1000), "Items on a page. 100 if absent. A page with 2 MiB of items ends earlier.",
    example: 100)
}

/// A JSON body with examples.
package struct APIContent: Sendable {
  package var schema: Schema
  package var examples: [JSONValue]
  /// Whether a request must have it.
  package var isRequired = true

  package init(_ schema: Schema, examples: [JSONValue], isRequired: Bool = true) {
    self.schema = schema
    self.examples = examples
    self.isRequired = isRequired
  }

  package init<Body>(_ form: BodyForm<Body>, isRequired: Bool = true) {
    self.init(form.schema, examples: [Self.json(form.example)], isRequired: isRequired)
  }

  package init<Body: APIObject>(_ example: Body) { self.init(Body.schema, examples: [Self.json(example)]) }

  /// Examples are values of this source, so that encoding cannot fail.
  package static func json(_ example: some Encodable) -> JSONValue {
    do {
      return try JSONValue(encoding: example)
    } catch {
      preconditionFailure("an example cannot be encoded: \(error)")
    }
  }
}

/// One way in which a request is answered.
package struct APIResponse: Sendable {
  package enum Content: Sendable {
    case none
    case json(APIContent)
    /// One of these media types, such as `text/html`.
    case text([String], example: String)
    /// JSON, or a text of one of these media types.
    case jsonOrText(APIContent, [String], example: String)
  }

  package var status: HTTPResponse.Status
  package var description: String
  package var content: Content

  package init(status: HTTPResponse.Status, description: String, content: Content) {
    self.status = status
    self.description = description
    self.content = content
  }

  package static func ok(_ description: String, _ content: APIContent) -> Self {
    Self(status: .ok, description: description, content: .json(content))
  }

  package static func ok(_ description: String, _ example: some APIObject) -> Self {
    .ok(description, APIContent(example))
  }

  package static func created(_ description: String, _ example: some APIObject) -> Self {
    Self(status: .created, description: description, content: .json(APIContent(example)))
  }

  /// The response to these errors, which all have one status. The examples are the sentences that are sent.
  package static func error(_ description: String, _ errors: any Error...) -> Self { error(description, errors) }

  package static func error(_ description: String, _ errors: [any Error]) -> Self {
    let responses = errors.compactMap(ErrorReplies.response)
    guard responses.count == errors.count, let status = responses.first?.status else {
      preconditionFailure("an error without a response is described: \(errors)")
    }
    let examples = responses.map { APIContent.json(ErrorReply(error: $0.sentence, code: $0.code)) }
    return Self(
      status: status, description: description, content: .json(APIContent(ErrorReply.schema, examples: examples)))
  }

  /// This response and another of the same status, as one.
  package func merged(with other: APIResponse) -> APIResponse {
    guard case .json(var content) = content, case .json(let more) = other.content else { return self }
    content.examples += more.examples
    return Self(status: status, description: description + " " + other.description, content: .json(content))
  }
}
