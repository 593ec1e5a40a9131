public import HTTPTypes
public import Hummingbird
import NIOHTTP1

/// A GET or HEAD that is nothing but its head.
public struct QuickRequest: Sendable {
  public let method: HTTPRequest.Method
  /// What stands in the path for each `{name}` of the pattern, as it came.
  public let words: [Substring]
  fileprivate let headers: Headers

  /// A request's headers, in the form they were read in.
  fileprivate enum Headers {
    case fields(HTTPFields)
    case asRead(HTTPHeaders)
  }

  /// A header; if it came several times, its values with commas between them.
  public func header(_ name: HTTPField.Name) -> String? {
    switch headers {
    case .fields(let fields): return fields[name]
    case .asRead(let headers):
      let values = headers[name.rawName]
      return values.count > 1 ? values.joined(separator: ", ") : values.first
    }
  }
}

extension QuickRequest {
  init(_ request: Request, words: [Substring]) {
    self.init(method: request.method, words: words, headers: .fields(request.headers))
  }
}

/// Makes the reply to a quick request, on its connection's event loop.
public typealias QuickReply = @Sendable () throws -> Response

/// Takes the reply to a quick request, now or later, from any thread, exactly once.
public typealias QuickAnswer = @Sendable (@escaping QuickReply) -> Void

/// Routes that are asked for by the thousand, most of their time spent waiting for others: each is found by its path alone and
/// answered from the event loop, without a task that would wait.
struct QuickRoutes: Sendable {
  final class Route: Sendable {
    /// Such as `/c/{token}`, as the table of routes has it.
    let pattern: String
    let methods: [HTTPRequest.Method]
    /// Gives `false` when the request has to go the way of all others after all, and then does nothing.
    let answer: @Sendable (QuickRequest, @escaping QuickAnswer) -> Bool
    /// The pattern's bytes, each `{name}` of it as one 0.
    private let shape: [UInt8]

    init(
      _ pattern: String, _ methods: [HTTPRequest.Method],
      answer: @escaping @Sendable (QuickRequest, @escaping QuickAnswer) -> Bool
    ) {
      self.pattern = pattern
      self.methods = methods
      self.answer = answer
      let parts = pattern.split(separator: "/").map { $0.first == "{" ? "\0" : $0 }
      shape = Array("/\(parts.joined(separator: "/"))".utf8)
    }

    /// What stands for each `{name}`, if the path is one of this pattern and has no query.
    func words(in path: String) -> [Substring]? {
      var words: [Substring] = []
      var rest = path.utf8[...]
      for byte in shape {
        guard byte == 0 else {
          guard rest.popFirst() == byte else { return nil }
          continue
        }
        let word = rest.prefix { $0 != UInt8(ascii: "/") }
        guard !word.isEmpty, !word.contains(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) else {
          return nil
        }
        words.append(Substring(word))
        rest = rest[word.endIndex...]
      }
      return rest.isEmpty ? words : nil
    }
  }

  private let routes: [Route]

  init(_ routes: [Route]) { self.routes = routes }

  /// The route of a request; nil if it is to go the way of all others.
  func find(_ head: HTTPRequestHead, _ framing: RequestFraming) -> (Route, QuickRequest)? {
    guard framing.bodyBytes == 0, head.method == .GET || head.method == .HEAD else { return nil }
    let method = head.method == .GET ? HTTPRequest.Method.get : .head
    for route in routes where route.methods.contains(method) {
      guard let words = route.words(in: head.uri) else { continue }
      return (route, QuickRequest(method: method, words: words, headers: .asRead(head.headers)))
    }
    return nil
  }
}
