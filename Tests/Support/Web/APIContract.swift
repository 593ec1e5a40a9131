import Locking
public import Wire

/// What `/openapi.json` promises, to hold real replies against.
public final class APIContract: Sendable {
  public struct Operation: Sendable, Hashable {
    public let method: String
    /// As in the document: `/api/v1/keys/{id}`.
    public let path: String
  }

  public let document: JSONValue
  /// Every operation that is described.
  public let operations: [Operation]
  /// The segments of their paths.
  private let patterns: [[Substring]]
  private let check: SchemaCheck
  private let seen = Mutex<Set<String>>([])

  /// The document that the hub publishes, as a client reads it.
  public init() async throws {
    let published = try await Self.published.value
    (document, operations, patterns) = (published.document, published.operations, published.patterns)
    check = published.check
  }

  /// Made and read once for all tests, as that takes long.
  private static let published = Task {
    try await withTestWebServer([try WholeWebServer.description.get()]) { server in
      APIContract(document: try await server.send("GET", "/openapi.json").json)
    }
  }

  public init(document: JSONValue) {
    self.document = document
    check = SchemaCheck(document: document)
    var operations: [Operation] = []
    if case .object(let paths) = document["paths"] {
      for (path, methods) in paths {
        guard case .object(let methods) = methods else { continue }
        operations += methods.keys.map { Operation(method: $0.text.uppercased(), path: path.text) }
      }
    }
    self.operations = operations
    patterns = operations.map { Self.parts($0.path[...]) }
  }

  /// Operations and statuses, as in `GET /api/v1/keys 200`, that `problems` was shown a reply of.
  public var replies: Set<String> { seen.withLock { $0 } }

  /// The operation that a request is for; of several the one with fewest parameters.
  /// - Parameter path: with or without its query.
  public func operation(_ method: String, _ path: String) -> Operation? {
    let parts = Self.parts(path.prefix { $0 != "?" })
    return operations.indices.filter { index in
      operations[index].method == method && patterns[index].count == parts.count
        && zip(patterns[index], parts).allSatisfy { $0.hasPrefix("{") || $0 == $1 }
    }.map { operations[$0] }.min { $0.path.count { $0 == "{" } < $1.path.count { $0 == "{" } }
  }

  /// How a reply differs from what is described.
  public func problems(_ method: String, _ path: String, _ reply: TestReply) -> [String] {
    guard let operation = operation(method, path) else {
      return reply.status == 404 || reply.status == 405 ? [] : ["\(method) \(path) is not described"]
    }
    let name = "\(operation.method) \(operation.path) \(reply.status)"
    seen.withLock { _ = $0.insert(name) }
    let described = document["paths"]?[operation.path]?[operation.method.lowercased()]?["responses"]
    guard let described = described?[String(reply.status)] else { return ["\(name) is not described"] }
    guard let content = described["content"], case .object(let types) = content else {
      return reply.body.isEmpty ? [] : ["\(name) has a body that is not described"]
    }
    guard let type = reply.header("Content-Type")?.prefix(while: { $0 != ";" }), let media = types[String(type)] else {
      return ["\(name) has a Content-Type that is not described: \(reply.header("Content-Type") ?? "none")"]
    }
    guard type == "application/json", let schema = media["schema"] else { return [] }
    guard let body = try? reply.json else { return ["\(name) is not well-formed JSON"] }
    return check.problems(of: body, against: schema).map { "\(name) \($0)" }
  }

  /// How the document's own examples differ from its schemas.
  public var problemsOfExamples: [String] {
    operations.flatMap { operation -> [String] in
      let described = document["paths"]?[operation.path]?[operation.method.lowercased()]
      var contents = [("request", described?["requestBody"]?["content"])]
      if case .object(let responses) = described?["responses"] {
        contents += responses.map { ($0.key.text, $0.value["content"]) }
      }
      let name = "\(operation.method) \(operation.path)"
      return contents.flatMap { place, content -> [String] in
        guard let media = content?["application/json"] else { return [] }
        return problems(of: examples(media), media, "\(name) \(place)")
      }
        + (described?.array("parameters") ?? []).flatMap { parameter in
          problems(of: examples(parameter), parameter, "\(name) \(parameter.string("name") ?? "")")
        }
    }
  }

  private func examples(_ media: JSONValue) -> [JSONValue] {
    guard case .object(let named) = media["examples"] else { return media["example"].map { [$0] } ?? [] }
    return named.values.compactMap { $0["value"] }
  }

  private func problems(of examples: [JSONValue], _ media: JSONValue, _ place: String) -> [String] {
    guard let schema = media["schema"], !examples.isEmpty else { return ["\(place) has no example"] }
    return examples.flatMap { check.problems(of: $0, against: schema) }.map { "\(place) \($0)" }
  }

  private static func parts(_ path: Substring) -> [Substring] { path.split(separator: "/") }
}
