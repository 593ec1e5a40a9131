import Content
import FoundationEssentials
import Registry
import Wire

/// What a sendout may be made of, checked before anything is written.
enum SendoutRules {
  /// Characters of a name.
  static let longestName = 200

  /// The name given, or else the beginning of the alert.
  static func name(_ request: SendoutRequest) throws -> String {
    guard let name = request.name else {
      let alert = (request.message.alert ?? "").unicodeScalars.filter { !$0.properties.isWhitespace || $0 == " " }
      let start = String(String.UnicodeScalarView(alert.prefix(60)))
      return start.contains { !$0.isWhitespace } ? start : request.appId
    }
    return try check("name") { () throws(RegistryError) in
      try TextRule("name", maximum: longestName).require(name)
    }
  }

  static func audience(_ audience: Audience) throws {
    guard case .originalIds(let ids) = audience else { return }
    guard !ids.isEmpty else { throw SendoutError.invalid(field: "audience.originalIds", problem: "is empty") }
    guard ids.count <= Audience.originalIdLimit else {
      throw SendoutError.invalid(
        field: "audience.originalIds",
        problem: "holds \(ids.count) ids, and at most \(Audience.originalIdLimit) are taken: put more of them on a list"
      )
    }
    for (index, id) in ids.enumerated() where id.utf8.contains(0) {
      throw SendoutError.invalid(field: "audience.originalIds[\(index)]", problem: "holds U+0000")
    }
  }

  /// The message, made ready; it is thrown away here, as every hub makes its own.
  static func message(_ message: MessageBody) throws {
    for (field, text) in [
      ("alert", message.alert), ("info", message.info), ("sound", message.sound), ("category", message.category),
    ] where text?.utf8.contains(0) == true {
      throw SendoutError.invalid(field: "message.\(field)", problem: "holds U+0000")
    }
    for (name, value) in message.fields ?? [:] where name.utf8.contains(0) || value.holdsNUL {
      throw SendoutError.invalid(field: "message.fields", problem: "holds U+0000")
    }
    _ = try MessageTemplate(message)
  }

  private static func check<Answer>(
    _ field: String, _ body: () throws(RegistryError) -> Answer
  ) throws -> Answer {
    do throws(RegistryError) {
      return try body()
    } catch {
      guard case .invalid(let field, let problem) = error else { throw error }
      throw SendoutError.invalid(field: field, problem: problem)
    }
  }
}

extension JSONValue {
  /// Whether a text in it holds U+0000, which PostgreSQL cannot keep.
  fileprivate var holdsNUL: Bool {
    switch self {
    case .string(let text): text.utf8.contains(0)
    case .array(let values): values.contains(where: \.holdsNUL)
    case .object(let members): members.contains { $0.key.utf8.contains(0) || $0.value.holdsNUL }
    case .null, .bool, .integer, .number: false
    }
  }
}
