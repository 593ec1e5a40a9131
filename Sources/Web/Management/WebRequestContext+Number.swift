import Wire

extension WebRequestContext {
  /// The path's part of that name, as a number of ours.
  /// - Throws: `HTTPErrorResponse` (400), naming the part.
  func number<ID: Identifier>(_ name: String, _: ID.Type = ID.self) throws -> ID {
    guard let id = ID(try part(name)) else {
      throw HTTPErrorResponse.badRequest("\(name): the path must have a whole number here, such as 7.")
    }
    return id
  }
}
