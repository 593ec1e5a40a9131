import HTTPTypes
import Operations
import Support
import Wire

/// Requests of operations, made from the examples of their descriptions. A number in a path is the one that the resource's POST has
/// given, so they are sent in the order of the operations.
struct ExampleRequests {
  /// By the path of the resource, such as `/api/v1/keys`.
  private var numbers: [String: Int64] = [:]

  /// Path and body.
  func request(for operation: APIOperation) -> (path: String, json: String?) {
    let number = numbers[operation.resource].map { ["id": "\($0)"] }
    return (operation.path(replacing: number ?? [:]) + operation.queries[0], operation.exampleBody?.written)
  }

  /// Keeps the number of what a POST has made: the first field of its reply.
  mutating func note(_ reply: TestReply, to operation: APIOperation) throws {
    guard operation.method == .post, case .json(let content)? = operation.responses.first?.content,
      case .object(let fields, _, _) = content.schema.shape, let name = fields.first?.name
    else { return }
    numbers[operation.resource] = try reply.json.integer(name)
  }
}

extension APIOperation {
  /// As the contract has it: `GET /api/v1/keys/{id}`.
  var name: String { "\(method.rawValue) \(path)" }
  /// The path up to what it names.
  var resource: String { String(path.prefix { $0 != "{" }.dropLast(path.contains("{") ? 1 : 0)) }
  var exampleBody: JSONValue? { requestBody?.examples.first }

  /// The path with the given values, or examples, in place of its parameters.
  func path(replacing values: [String: String] = [:]) -> String {
    parameters.filter { $0.location == .path }.reduce(path) { path, parameter in
      path.replacing("{\(parameter.name)}", with: values[parameter.name] ?? parameter.example.plain)
    }
  }

  /// The shortest query, and one with each further parameter.
  var queries: [String] {
    let queried = parameters.filter { $0.location == .query }
    func query(_ parameters: [APIParameter]) -> String {
      parameters.isEmpty ? "" : "?" + parameters.map { "\($0.name)=\($0.example.plain)" }.joined(separator: "&")
    }
    let needed = queried.filter(\.isRequired)
    return [query(needed)] + queried.filter { !$0.isRequired }.map { query(needed + [$0]) }
  }

  /// The fields of its body.
  var bodyFields: [String] {
    if case .object(let fields, _, _)? = requestBody?.schema.shape { fields.map(\.name) } else { [] }
  }
}

extension JSONValue {
  /// As it stands in a path.
  fileprivate var plain: String { text ?? written }
  /// As JSON.
  var written: String { String(decoding: json, as: UTF8.self) }
}
