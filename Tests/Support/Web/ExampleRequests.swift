import HTTPTypes
package import Operations
package import Wire

/// Requests of operations, made from the examples of their descriptions. A number in a path is the one that the resource's POST has
/// given, so they are sent in the order of the operations.
package struct ExampleRequests {
  /// By the path of the resource, such as `/api/v1/keys`.
  private var numbers: [String: Int64] = [:]

  package init() {}

  /// Path and body.
  package func request(for operation: APIOperation) -> (path: String, json: String?) {
    let number = numbers[operation.resource].map { ["id": "\($0)"] }
    return (operation.path(replacing: number ?? [:]) + operation.queries[0], operation.exampleBody?.written)
  }

  /// Keeps the number of what a POST has made: the first field of its reply.
  package mutating func note(_ reply: TestReply, to operation: APIOperation) throws {
    guard let name = operation.numberField else { return }
    numbers[operation.resource] = try reply.json.integer(name)
  }

  /// What needs more than an example to be made: an app with credentials, and what belongs to one.
  private static let byHand: Set = ["addApp", "addSendout", "copySendout", "enableHybridApp", "enableDatasync"]

  /// Adds one of each thing that the management API numbers.
  /// - Parameter fields: in place of those of the examples that have them.
  package static func addEach(
    to server: TestWebServer, key: String, with fields: [UTF8String: JSONValue] = [:]
  ) async throws {
    for operation in ManagementOperations.all.map(\.description)
    where operation.responses.first?.status == .created && !byHand.contains(operation.id) {
      guard case .object(var members)? = operation.exampleBody else { continue }
      for (name, value) in fields where members[name] != nil { members[name] = value }
      let reply = try await server.send("POST", operation.path, key: key, json: JSONValue.object(members).written)
      guard reply.status == 201 else { throw RefusedExample(operation: operation.id, reply: reply.text) }
    }
  }
}

/// An example that its operation does not take.
private struct RefusedExample: Error {
  let operation: String
  let reply: String
}

extension APIOperation {
  /// As the contract has it: `GET /api/v1/keys/{id}`.
  package var name: String { "\(method.rawValue) \(path)" }
  /// The path up to what it names.
  package var resource: String { String(path.prefix { $0 != "{" }.dropLast(path.contains("{") ? 1 : 0)) }
  package var exampleBody: JSONValue? { requestBody?.examples.first }

  /// The path with the given values, or examples, in place of its parameters.
  package func path(replacing values: [String: String] = [:]) -> String {
    parameters.filter { $0.location == .path }.reduce(path) { path, parameter in
      path.replacing("{\(parameter.name)}", with: values[parameter.name] ?? parameter.example.plain)
    }
  }

  /// The shortest query, and one with each further parameter.
  package var queries: [String] {
    let queried = parameters.filter { $0.location == .query }
    func query(_ parameters: [APIParameter]) -> String {
      parameters.isEmpty
        ? "" : "?" + parameters.map { "\($0.name)=\(PercentEncoding.encode($0.example.plain))" }.joined(separator: "&")
    }
    let needed = queried.filter(\.isRequired)
    return [query(needed)] + queried.filter { !$0.isRequired }.map { query(needed + [$0]) }
  }

  /// The field of its reply that has the number of what it makes: the first one; `nil` if it is no POST.
  package var numberField: String? {
    guard method == .post, case .json(let content)? = responses.first?.content,
      case .object(let fields, _, _) = content.schema.shape
    else { return nil }
    return fields.first?.name
  }

  /// The fields of its body.
  package var bodyFields: [Schema.Field] {
    if case .object(let fields, _, _)? = requestBody?.schema.shape { fields } else { [] }
  }
}

extension Schema.Field {
  /// Whether it names something by its number, as `listId` does.
  package var namesByNumber: Bool { name.hasSuffix("Id") && schema.isNumberOfOurs }
}

extension Schema {
  fileprivate var isNumberOfOurs: Bool {
    switch shape {
    case .integer(let range): range == 1...Int64.max
    case .either(let schemas): schemas.contains { $0.isNumberOfOurs }
    default: false
    }
  }
}

extension JSONValue {
  /// As it stands in a path.
  fileprivate var plain: String { text ?? written }
  /// As JSON.
  package var written: String { String(decoding: json, as: UTF8.self) }
}
