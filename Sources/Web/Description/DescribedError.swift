import HTTPTypes
import Hummingbird
import Operations
import Wire

/// An error that the API's description has, for documents that list them.
public struct DescribedError: Sendable {
  public var status: Int
  /// As in `Not Found`.
  public var phrase: String
  /// When it is the reply: whole sentences.
  public var meaning: String
  /// What replies say. Names and numbers in them are examples.
  public var sentences: [String] = []
  /// The groups of operations that can have it, such as `Apps`, in the description's order.
  public var groups: [String] = []

  /// Every error once, by its status and then in the order of the operations.
  public static let all: [DescribedError] = {
    var all = ofEveryPath
    for operation in APIDescription.pushcart.operations {
      for response in operation.describedErrors {
        let group = operation.tag.name
        let known = all.firstIndex { $0.status == response.status.code && $0.meaning == response.description }
        let index = known ?? all.endIndex
        if known == nil {
          all.append(
            DescribedError(
              status: response.status.code, phrase: response.status.reasonPhrase, meaning: response.description))
        }
        if !all[index].groups.contains(group) { all[index].groups.append(group) }
        for sentence in response.sentences where !all[index].sentences.contains(sentence) {
          all[index].sentences.append(sentence)
        }
      }
    }
    return all.enumerated().sorted { ($0.element.status, $0.offset) < ($1.element.status, $1.offset) }.map(\.element)
  }()

  /// What stands before all operations.
  private static let ofEveryPath = [
    DescribedError("What arrived is no request of HTTP, or its head is too large.", .notHTTP),
    DescribedError("There is no such path.", HTTPErrorResponse(HTTPError(.notFound))),
    DescribedError("The path has no such method. `Allow` names those that it has.", .methodNotAllowed([.get, .put])),
    DescribedError("The hub failed, and nobody expected it.", .internalError(requestID: "…")),
  ]

  /// How many groups of operations there are.
  public static let groupCount = APIOperation.Tag.all.count
}

extension DescribedError {
  fileprivate init(_ meaning: String, _ response: HTTPErrorResponse) {
    self.init(
      status: response.status.code, phrase: response.status.reasonPhrase, meaning: meaning,
      sentences: [response.sentence], groups: ["every path"])
  }
}

/// Why the gateway of Hybrid Messaging refuses one message, for documents that list its codes.
public struct GatewayCode: Sendable {
  /// CM's number of it.
  public var code: Int
  /// As JSON has it. Names and numbers in it are examples.
  public var details: String

  public static let all: [GatewayCode] = GatewayRefusal.examples.map { GatewayCode(code: $0.code, details: $0.details) }
    .enumerated().sorted { ($0.element.code, $0.offset) < ($1.element.code, $1.offset) }.map(\.element)
}

extension APIResponse {
  /// What the examples of an error say.
  fileprivate var sentences: [String] {
    switch content {
    case .json(let content), .jsonOrText(let content, _, _):
      content.examples.compactMap { ($0["error"] ?? $0["details"])?.text }
    case .none, .text: []
    }
  }
}
