package import Wire

/// The parameters in a request's query.
package struct QueryParameters: Sendable {
  private let values: [String: String]

  package init(_ values: [String: String] = [:]) { self.values = values }

  package func value(_ name: String) -> String? { values[name] }

  /// The value as a whole number of this range; `nil` if absent.
  /// - Throws: `HTTPErrorResponse` (400), naming the parameter.
  package func integer<Number: FixedWidthInteger>(_ name: String, in range: ClosedRange<Number>) throws -> Number? {
    guard let text = values[name] else { return nil }
    guard let number = Number(text), range.contains(number), text.utf8.first != UInt8(ascii: "+") else {
      throw HTTPErrorResponse.badRequest(
        "\(name) must be a whole number from \(range.lowerBound) to \(range.upperBound).")
    }
    return number
  }

  /// The value as one of an enumeration; `nil` if absent.
  /// - Throws: `HTTPErrorResponse` (400), naming the parameter.
  package func choice<Choice: RawRepresentable<String> & CaseIterable>(
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
  package func flag(_ name: String) throws -> Bool? {
    guard let text = values[name] else { return nil }
    guard let flag = Bool(text) else { throw HTTPErrorResponse.badRequest("\(name) must be true or false.") }
    return flag
  }

  /// The value as a filter, by a line of text or a tree; `nil` if absent.
  /// - Throws: `JSONProblem`, as a body's filter does.
  package func filter(_ name: String) throws -> Filter? {
    guard let text = values[name] else { return nil }
    do throws(FilterError) {
      return try Filter(textOrTree: text)
    } catch {
      throw JSONProblem(error.description, at: name)
    }
  }

  /// The page of a list whose items are numbered.
  /// - Throws: `HTTPErrorResponse` (400), naming the parameter.
  package func page<ID: Identifier>(_: ID.Type = ID.self) throws -> PageRequest<ID> {
    PageRequest(after: try integer("after", in: 1...Int64.max).map { ID($0) }, limit: try limit())
  }

  /// The page of a list whose items are named.
  /// - Throws: `HTTPErrorResponse` (400), naming the parameter.
  package func namedPage() throws -> PageRequest<String> {
    PageRequest(after: values["after"], limit: try limit())
  }

  private func limit() throws -> Int {
    try integer("limit", in: PageRequest<Int64>.limits) ?? PageRequest<Int64>.usualLimit
  }
}
