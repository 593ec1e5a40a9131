import Hummingbird
import Wire

/// What a request's query asks for. A parameter that is not known is refused, so that a typo is told and not taken for silence.
struct PageQuery: Sendable {
  private let values: [String: String]

  /// - Throws: `HTTPErrorResponse` (400), naming the parameter.
  init(_ request: Request, knows names: [String]) throws {
    var values: [String: String] = [:]
    for (name, value) in request.uri.queryParameters {
      let name = String(name)
      guard names.contains(name) else {
        throw HTTPErrorResponse.badRequest(
          "The query has a parameter that is not known here; known are \(names.joined(separator: ", ")).")
      }
      guard values.updateValue(String(value), forKey: name) == nil else {
        throw HTTPErrorResponse.badRequest("\(name) is given twice.")
      }
    }
    self.values = values
  }

  func value(_ name: String) -> String? { values[name] }

  /// The value as a number of that range; `nil` when it is absent.
  /// - Throws: `HTTPErrorResponse` (400), naming the parameter.
  func number<Number: FixedWidthInteger>(_ name: String, in range: ClosedRange<Number>) throws -> Number? {
    guard let text = values[name] else { return nil }
    guard let number = Number(text), range.contains(number), text.utf8.first != UInt8(ascii: "+") else {
      throw HTTPErrorResponse.badRequest(
        "\(name) must be a whole number from \(range.lowerBound) to \(range.upperBound).")
    }
    return number
  }

  /// The value as one of a few words; `nil` when it is absent.
  /// - Throws: `HTTPErrorResponse` (400), naming the parameter.
  func word<Word: RawRepresentable<String> & CaseIterable>(_ name: String, _: Word.Type = Word.self) throws -> Word? {
    guard let text = values[name] else { return nil }
    guard let word = Word(rawValue: text) else {
      throw HTTPErrorResponse.badRequest(
        "\(name) must be one of \(Word.allCases.map(\.rawValue).joined(separator: ", ")).")
    }
    return word
  }

  /// The page of a list whose items are numbered.
  /// - Throws: `HTTPErrorResponse` (400), naming the parameter.
  func page<ID: Identifier>(_: ID.Type = ID.self) throws -> PageRequest<ID> {
    PageRequest(after: try number("after", in: 1...Int64.max).map { ID($0) }, limit: try limit())
  }

  /// The page of a list whose items are named.
  /// - Throws: `HTTPErrorResponse` (400), naming the parameter.
  func namedPage() throws -> PageRequest<String> {
    PageRequest(after: values["after"], limit: try limit())
  }

  private func limit() throws -> Int {
    try number("limit", in: PageRequest<Int64>.limits) ?? PageRequest<Int64>.usualLimit
  }
}

extension PageRequest where Cursor: Comparable & Codable {
  /// The page out of a whole list, ordered by its cursors, for lists that are short enough to be read whole.
  func cut<Item: Codable & Sendable>(_ whole: [Item], by cursor: (Item) -> Cursor) -> Page<Item, Cursor> {
    let rest = after.map { after in whole.filter { cursor($0) > after } } ?? whole
    return page(of: Array(rest.sorted { cursor($0) < cursor($1) }.prefix(limit + 1)), cursor: cursor)
  }
}
