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
  /// Bytes that a body may have.
  var bodyLimit = Limits.body
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
    case json(Schema, examples: [String])
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
    Self(status: .ok, about: about, content: .json(schema, examples: [example]))
  }

  static func created(_ about: String, _ schema: Schema, example: String) -> Self {
    Self(status: .created, about: about, content: .json(schema, examples: [example]))
  }

  /// How these errors are answered, which all have one status; the sentences are those that are sent.
  static func refusal(_ about: String, _ errors: any Error...) -> Self { refusal(about, errors) }

  static func refusal(_ about: String, _ errors: [any Error]) -> Self {
    let refusals = errors.compactMap(ErrorReplies.refusal)
    guard refusals.count == errors.count, let status = refusals.first?.status else {
      preconditionFailure("an error that nobody foresaw is described: \(errors)")
    }
    let examples = refusals.map { refusal in
      "{ \"error\": \((try? JSONReply.encode(refusal.sentence)).map { String(decoding: $0, as: UTF8.self) } ?? "") }"
    }
    return Self(status: status, about: about, content: .json(.named("Error"), examples: examples))
  }

  /// This reply and another of the same status, as one.
  func or(_ other: Reply) -> Reply {
    guard case .json(let schema, let examples) = content, case .json(_, let more) = other.content else { return self }
    return Self(status: status, about: about + " " + other.about, content: .json(schema, examples: examples + more))
  }
}
