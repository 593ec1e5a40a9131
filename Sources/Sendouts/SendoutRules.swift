import Registry
import Wire

/// Checks of a request for a sendout, before anything is written.
enum SendoutRules {
  /// Most characters of a name.
  static let longestName = 200

  /// The given name, or the beginning of the alert.
  static func name(_ request: SendoutRequest) throws -> String {
    guard let name = request.name else {
      let alert = (request.message.alert ?? "").unicodeScalars.filter { !$0.properties.isWhitespace || $0 == " " }
      let start = String(String.UnicodeScalarView(alert.prefix(60)))
      return start.contains { !$0.isWhitespace } ? start : request.appId
    }
    do throws(RegistryError) {
      return try TextRule("name", maximum: longestName).require(name)
    } catch {
      guard case .invalid(let field, let problem) = error else { throw error }
      throw SendoutError.invalid(field: field, problem: problem)
    }
  }

  static func audience(_ audience: Audience) throws {
    guard case .originalIds(let ids) = audience else { return }
    guard !ids.isEmpty else { throw SendoutError.invalid(field: "audience.originalIds", problem: "is empty") }
    guard ids.count <= Audience.originalIdLimit else {
      throw SendoutError.invalid(
        field: "audience.originalIds",
        problem: "holds \(ids.count) ids, and at most \(Audience.originalIdLimit) are allowed: use a list for more"
      )
    }
    for (index, id) in ids.enumerated() where id.utf8.contains(0) {
      throw SendoutError.invalid(field: "audience.originalIds[\(index)]", problem: "holds U+0000")
    }
  }
}
