import HTTPTypes
import Wire

/// What one route does, for whoever calls it.
struct Operation: Sendable {
  /// A chapter of the document.
  enum Topic: String, Sendable, CaseIterable {
    case pushDevices = "Push devices"
    case keys = "Keys"
    case apps = "Apps"
    case lists = "Lists"
    case templates = "Templates"
    case sendouts = "Sendouts"
    case reports = "Reports"
    case pages = "Pages"
    case operation = "Operation"
  }

  /// What opens the route.
  enum Door: Sendable {
    /// Nothing is asked.
    case open
    /// A key of this scope or a higher one.
    case key(AccessScope)
  }

  var method: HTTPRequest.Method
  /// As OpenAPI writes it: `/api/v1/keys/{id}`.
  var path: String
  /// Unique; a verb and its noun, as in `addKey`.
  var id: String
  var topic: Topic
  var door: Door
  /// A few words, without a full stop.
  var summary: String
  /// Whole sentences; paragraphs stand apart by an empty line.
  var about: String
  var parameters: [Parameter] = []
  var body: Body?
  /// What it answers when it did what was asked.
  var replies: [Reply]
  /// What it answers besides `commonErrors`.
  var errors: [Reply] = []
}

/// A value in a path, a query or a header.
struct Parameter: Sendable {
  enum Place: String, Sendable { case path, query, header }

  var place: Place
  var name: String
  var schema: Schema
  var example: String
  var isRequired: Bool { place == .path }
}

/// A body that a request carries.
struct Body: Sendable {
  var schema: Schema
  /// JSON as people write it.
  var example: String
}

/// One way a request is answered.
struct Reply: Sendable {
  /// What a reply's body is.
  enum Content: Sendable {
    case nothing
    case json(Schema, example: String)
    /// One of these other media types, such as `text/html`.
    case other([String], example: String)
  }

  var status: HTTPResponse.Status
  var about: String
  var content: Content
}

extension Parameter {
  static func path(_ name: String, _ schema: Schema, example: String) -> Self {
    Self(place: .path, name: name, schema: schema, example: example)
  }
  static func query(_ name: String, _ schema: Schema, example: String) -> Self {
    Self(place: .query, name: name, schema: schema, example: example)
  }
  static func header(_ name: String, _ schema: Schema, example: String) -> Self {
    Self(place: .header, name: name, schema: schema, example: example)
  }
}

extension Reply {
  static func ok(_ about: String, _ schema: Schema, example: String) -> Self {
    Self(status: .ok, about: about, content: .json(schema, example: example))
  }

  static func created(_ about: String, _ schema: Schema, example: String) -> Self {
    Self(status: .created, about: about, content: .json(schema, example: example))
  }

  /// A refusal, whose sentence is this example.
  static func error(_ status: HTTPResponse.Status, _ about: String, _ example: String) -> Self {
    Self(
      status: status, about: about,
      content: .json(.named("Error"), example: #"{ "error": "\#(example)" }"#))
  }
}
