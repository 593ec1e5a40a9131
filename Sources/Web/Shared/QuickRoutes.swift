public import HTTPTypes
public import Hummingbird
import NIOHTTP1

/// A request whose path ends in the one word that says what it is about.
public struct QuickRequest: Sendable {
  public let method: HTTPRequest.Method
  /// The last part of the path, as it came.
  public let word: Substring
  let headers: RequestHeaders

  /// A header; if it came several times, its values with commas between them.
  public func header(_ name: HTTPField.Name) -> String? { headers[name] }
}

/// Answers a quick request, now or later, from any thread, exactly once.
public typealias QuickAnswer =
  @Sendable (QuickRequest, @escaping @Sendable (Result<Response, any Error>) -> Void) -> Void

/// A request's headers, in the form they were read in.
enum RequestHeaders: Sendable {
  case fields(HTTPFields)
  case asRead(HTTPHeaders)

  subscript(name: HTTPField.Name) -> String? {
    switch self {
    case .fields(let fields): return fields[name]
    case .asRead(let headers):
      let values = headers[name.rawName]
      return values.isEmpty ? nil : values.joined(separator: ", ")
    }
  }
}

/// Routes that are asked for by the thousand, most of their time spent waiting for others: each is found by the beginning of
/// its path and answered from the event loop, without a task that would wait.
struct QuickRoutes: Sendable {
  struct Route: Sendable {
    /// Such as `/r/`; what comes after it is the word.
    let prefix: String
    /// The path as the table of routes has it.
    let pattern: String
    let answer: QuickAnswer
  }

  private let routes: [Route]

  init(_ routes: [Route]) { self.routes = routes }

  /// The route of a request that is nothing but its head; nil if it is to go the way of all others.
  func find(_ head: HTTPRequestHead, _ framing: RequestFraming) -> (Route, QuickRequest)? {
    guard framing.bodyBytes == 0, head.method == .GET || head.method == .HEAD else { return nil }
    for route in routes {
      guard head.uri.hasPrefix(route.prefix) else { continue }
      let word = head.uri.dropFirst(route.prefix.utf8.count)
      guard !word.isEmpty, word.utf8.allSatisfy(\.isPlain) else { return nil }
      return (
        route, QuickRequest(method: head.method == .GET ? .get : .head, word: word, headers: .asRead(head.headers))
      )
    }
    return nil
  }
}

extension UInt8 {
  /// Whether it stands for itself in a part of a path: a letter or digit, `-` or `_`.
  fileprivate var isPlain: Bool {
    switch self {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    default: false
    }
  }
}
