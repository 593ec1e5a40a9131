import Hummingbird
import Operations
import Wire

extension QueryParameters {
  /// An unknown parameter is refused, so that a typo is reported. A plus sign is a blank: forms of browsers and most clients write one so.
  /// - Throws: `HTTPErrorResponse` (400), naming the parameter.
  init(_ request: Request, known names: [String]) throws {
    var values: [String: String] = [:]
    for (name, value) in try FormFields.pairs(of: "query", (request.uri.query ?? "").utf8) {
      guard names.contains(name) else {
        let known = names.isEmpty ? "none is known here" : "known are \(names.joined(separator: ", "))"
        throw HTTPErrorResponse.badRequest("The query has an unknown parameter\(Self.shown(name)); \(known).")
      }
      guard values.updateValue(value, forKey: name) == nil else {
        throw HTTPErrorResponse.badRequest("\(name) is given twice.")
      }
    }
    self.init(values)
  }

  /// A name that is a word, with a comma before it; others are not repeated.
  private static func shown(_ name: String) -> String {
    let isWord =
      (1...30).contains(name.utf8.count)
      && name.utf8.allSatisfy { (0x61...0x7A).contains($0 | 0x20) || "_$".utf8.contains($0) }
    return isWord ? ", \(name)" : ""
  }
}

extension WebRequestContext {
  /// The path's part of this name as an identifier.
  /// - Throws: `HTTPErrorResponse` (400), naming the part.
  func number<ID: Identifier>(_ name: String, _: ID.Type = ID.self) throws -> ID {
    guard let id = ID(try part(name)) else {
      throw HTTPErrorResponse.badRequest("\(name) must be a whole number in the path, such as 7.")
    }
    return id
  }
}
