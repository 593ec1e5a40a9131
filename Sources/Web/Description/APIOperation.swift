import FoundationEssentials
import HTTPTypes
import Wire

/// What one route does, in OpenAPI's terms.
struct APIOperation: Sendable {
  /// Groups operations in the document.
  enum Tag: String, Sendable, CaseIterable {
    case pushDevices = "Push devices"
    case keys = "Keys"
    case apps = "Apps"
    case lists = "Lists"
    case templates = "Templates"
    case sendouts = "Sendouts"
    case messages = "Messages"
    case triggers = "Triggers"
    case hybrid = "Hybrid phones"
    case gateway = "Hybrid gateway"
    case softphones = "Softphones"
    case datasync = "Data trees"
    case sms = "SMS"
    case reports = "Reports"
    case pages = "Pages"
    case operations = "Operations"
  }

  /// The access key that a route needs.
  enum Security: Sendable {
    case none
    /// A key of this scope or a higher one.
    case key(AccessScope)
    /// The MAC of an app of CM Hybrid Messaging.
    case mac
  }

  var method: HTTPRequest.Method
  /// As OpenAPI writes it: `/api/v1/keys/{id}`.
  var path: String
  /// Unique; a verb and its noun, as in `addKey`.
  var id: String
  var tag: Tag
  var security: Security
  /// A few words, without a full stop.
  var summary: String
  /// Whole sentences; an empty line separates paragraphs.
  var description: String
  var parameters: [APIParameter] = []
  var requestBody: APIContent?
  /// The same request as XML, where the operation takes that, too.
  var xmlBody: String?
  /// The body's limit in bytes.
  var bodyLimit = Limits.body
  /// The responses of success.
  var responses: [APIResponse]
  /// The errors of this operation, besides `commonErrors`.
  var errors: [APIResponse] = []
}

/// A value in a path, a query or a header.
struct APIParameter: Sendable {
  enum Location: String, Sendable { case path, query, header }

  var location: Location
  var name: String
  var schema: Schema
  var description: String
  var example: JSONValue
  var isRequired = false

  static func path(_ name: String, _ schema: Schema, _ description: String, example: JSONValue) -> Self {
    Self(
      location: .path, name: name, schema: schema, description: description, example: example, isRequired: true)
  }

  static func query(
    _ name: String, _ schema: Schema, _ description: String, example: JSONValue, isRequired: Bool = false
  ) -> Self {
    Self(
      location: .query, name: name, schema: schema, description: description, example: example, isRequired: isRequired)
  }

  /// Makes a POST safe to repeat.
  static let idempotencyKey = Self(
    location: .header, name: "Idempotency-Key", schema: .string(1...255),
    description: """
      Any text of yours. The same request with the same key within 24 hours is executed once. \
      A repetition gets the same reply with `Idempotent-Replayed: true`.
      """,
    example: "2026-11-20-offer-42")

  /// The cursor of a list whose items are numbered.
  static func after(_ item: String) -> Self {
    .query("after", .id, "Starts behind this \(item): `next` of the page before.", example: 100)
  }

  static let limit = Self.query(
    "limit", .integer(1...1000), "Items on a page. 100 if absent. A page with 2 MiB of items ends earlier.",
    example: 100)
}

/// A JSON body with examples.
struct APIContent: Sendable {
  var schema: Schema
  var examples: [JSONValue]

  init(_ schema: Schema, examples: [JSONValue]) {
    self.schema = schema
    self.examples = examples
  }

  /// Of a body that writes itself.
  init(_ contact: ContactReply) {
    guard let example = try? JSONValue(json: contact.json) else {
      preconditionFailure("the example of a contact is not JSON")
    }
    self.init(CarmaSchemas.contact, examples: [example])
  }

  init<Body: APIObject>(_ example: Body) { self.init(Body.schema, examples: [Self.json(example)]) }

  /// Examples are values of this source, so that encoding cannot fail.
  static func json(_ example: some Encodable) -> JSONValue {
    do {
      return try JSONValue(json: Array(JSONReply.encode(example)))
    } catch {
      preconditionFailure("an example cannot be encoded: \(error)")
    }
  }
}

/// One way in which a request is answered.
struct APIResponse: Sendable {
  enum Content: Sendable {
    case none
    case json(APIContent)
    /// One of these media types, such as `text/html`.
    case text([String], example: String)
    /// JSON, or a text of one of these media types.
    case jsonOrText(APIContent, [String], example: String)
  }

  var status: HTTPResponse.Status
  var description: String
  var content: Content

  static func ok(_ description: String, _ content: APIContent) -> Self {
    Self(status: .ok, description: description, content: .json(content))
  }

  static func ok(_ description: String, _ example: some APIObject) -> Self { .ok(description, APIContent(example)) }

  static func created(_ description: String, _ example: some APIObject) -> Self {
    Self(status: .created, description: description, content: .json(APIContent(example)))
  }

  /// The response to these errors, which all have one status. The examples are the sentences that are sent.
  static func error(_ description: String, _ errors: any Error...) -> Self { error(description, errors) }

  static func error(_ description: String, _ errors: [any Error]) -> Self {
    let responses = errors.compactMap(ErrorReplies.response)
    guard responses.count == errors.count, let status = responses.first?.status else {
      preconditionFailure("an error without a response is described: \(errors)")
    }
    let examples = responses.map { APIContent.json(ErrorReply(error: $0.sentence)) }
    return Self(
      status: status, description: description, content: .json(APIContent(ErrorReply.schema, examples: examples)))
  }

  /// This response and another of the same status, as one.
  func merged(with other: APIResponse) -> APIResponse {
    guard case .json(var content) = content, case .json(let more) = other.content else { return self }
    content.examples += more.examples
    return Self(status: status, description: description + " " + other.description, content: .json(content))
  }
}
