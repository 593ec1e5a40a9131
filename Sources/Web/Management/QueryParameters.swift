import Hummingbird
import Wire

/// The parameters in a request's query. An unknown one is refused, so that a typo is reported.
struct QueryParameters: Sendable {
  private let values: [String: String]

  /// - Throws: `HTTPErrorResponse` (400), naming the parameter.
  init(_ request: Request, known names: [String]) throws {
    var values: [String: String] = [:]
    for (name, value) in request.uri.queryParameters {
      let name = String(name)
      guard names.contains(name) else {
        let known = names.isEmpty ? "none is known here" : "known are \(names.joined(separator: ", "))"
        throw HTTPErrorResponse.badRequest("The query has an unknown parameter\(Self.shown(name)); \(known).")
      }
      guard values.updateValue(String(value), forKey: name) == nil else {
        throw HTTPErrorResponse.badRequest("\(name) is given twice.")
      }
    }
    self.values = values
  }

  /// A name that is a word, with a comma before it; others are not repeated.
  private static func shown(_ name: String) -> String {
    let isWord =
      (1...30).contains(name.utf8.count)
      && name.utf8.allSatisfy { (0x61...0x7A).contains($0 | 0x20) || "_$".utf8.contains($0) }
    return isWord ? ", \(name)" : ""
  }

  func value(_ name: String) -> String? { values[name] }

  /// The value as a whole number of this range; `nil` if absent.
  /// - Throws: `HTTPErrorResponse` (400), naming the parameter.
  func integer<Number: FixedWidthInteger>(_ name: String, in range: ClosedRange<Number>) throws -> Number? {
    guard let text = values[name] else { return nil }
    guard let number = Number(text), range.contains(number), text.utf8.first != UInt8(ascii: "+") else {
      throw HTTPErrorResponse.badRequest(
        "\(name) must be a whole number from \(range.lowerBound) to \(range.upperBound).")
    }
    return number
  }

  /// The value as one of an enumeration; `nil` if absent.
  /// - Throws: `HTTPErrorResponse` (400), naming the parameter.
  func choice<Choice: RawRepresentable<String> & CaseIterable>(
    _ name: String, _: Choice.Type = Choice.self
  ) throws -> Choice? {
    guard let text = values[name] else { return nil }
    guard let choice = Choice(rawValue: text) else {
      throw HTTPErrorResponse.badRequest(
        "\(name) must be one of \(Choice.allCases.map(\.rawValue).joined(separator: ", ")).")
    }
    return choice
  }

  /// The value as `true` or `false`; `nil` when it is absent.
  /// - Throws: `HTTPErrorResponse` (400), naming the parameter.
  func flag(_ name: String) throws -> Bool? {
    guard let text = values[name] else { return nil }
    guard let flag = Bool(text) else { throw HTTPErrorResponse.badRequest("\(name) must be true or false.") }
    return flag
  }

  /// The page of a list whose items are numbered.
  /// - Throws: `HTTPErrorResponse` (400), naming the parameter.
  func page<ID: Identifier>(_: ID.Type = ID.self) throws -> PageRequest<ID> {
    PageRequest(after: try integer("after", in: 1...Int64.max).map { ID($0) }, limit: try limit())
  }

  /// The page of a list whose items are named.
  /// - Throws: `HTTPErrorResponse` (400), naming the parameter.
  func namedPage() throws -> PageRequest<String> {
    PageRequest(after: values["after"], limit: try limit())
  }

  private func limit() throws -> Int {
    try integer("limit", in: PageRequest<Int64>.limits) ?? PageRequest<Int64>.usualLimit
  }
}

extension PageRequest where Cursor: Comparable & Codable {
  /// The page of a whole list, ordered by its cursors; for lists short enough to be read whole.
  func slice<Item: Codable & Sendable>(of whole: [Item], by cursor: (Item) -> Cursor) -> Page<Item, Cursor> {
    let rest = after.map { after in whole.filter { cursor($0) > after } } ?? whole
    return page(of: Array(rest.sorted { cursor($0) < cursor($1) }.prefix(limit + 1)), cursor: cursor)
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
