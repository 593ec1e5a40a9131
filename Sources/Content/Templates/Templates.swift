public import Postgres
public import Wire

/// The store of templates. Saving adds a version; versions never change.
public struct Templates: Sendable {
  private let database: any Querying

  public init(_ database: any Querying) { self.database = database }

  /// Saves a template's next version. Concurrent saves get versions of their own.
  /// - Parameters:
  ///   - name: 1 to 100 letters, digits, dots, hyphens and underscores.
  ///   - format: the format of its pages.
  ///   - body: the Mustache text, at most 256 KiB of UTF-8.
  /// - Throws: `ContentError.invalid`, `.unparsable`, `.customerUnknown`.
  public func put(_ customer: CustomerID, name: String, format: TemplateFormat, body: String) async throws -> Template {
    guard Self.isName(name) else {
      throw ContentError.invalid(
        field: "name", problem: "is not of 1 to 100 letters, digits, dots, hyphens and underscores")
    }
    _ = try PageTemplate(body, format: format)
    do {
      // A round without a row means that a concurrent save took the version.
      while true {
        let rows = try await database.query(
          TemplateQueries.put, customer.rawValue, name, format.contentType, body)
        if let row = rows.first { return try Template(row) }
        try Task.checkCancellation()
      }
    } catch let error as PostgresError where error.constraint == "template_customer_id_fkey" {
      throw ContentError.customerUnknown
    }
  }

  /// A version of a template; by default the current one.
  /// - Throws: `ContentError.templateUnknown`.
  public func get(_ customer: CustomerID, name: String, version: Int32? = nil) async throws -> Template {
    guard let version else { return try await one(TemplateQueries.current, customer, name) }
    guard Self.isName(name),
      let row = try await database.query(TemplateQueries.get, customer.rawValue, name, version).first
    else {
      throw ContentError.templateUnknown(name: name, version: version)
    }
    return try Template(row)
  }

  /// The current version of a template that is not removed before the caller's transaction ends.
  /// - Throws: `ContentError.templateUnknown`.
  package func hold(_ customer: CustomerID, name: String) async throws -> Template {
    try await one(TemplateQueries.hold, customer, name)
  }

  private func one(_ statement: Statement, _ customer: CustomerID, _ name: String) async throws -> Template {
    guard Self.isName(name), let row = try await database.query(statement, customer.rawValue, name).first else {
      throw ContentError.templateUnknown(name: name, version: nil)
    }
    return try Template(row)
  }

  /// A version for the pages of messages that were sent, even if the template is removed.
  /// - Throws: `ContentError.templateUnknown`.
  package func ofPage(_ customer: CustomerID, name: String, version: Int32) async throws -> Template {
    guard
      let row = try await database.query(TemplateQueries.ofPage, customer.rawValue, name, version).first
    else {
      throw ContentError.templateUnknown(name: name, version: version)
    }
    return try Template(row)
  }

  /// Removes a template. Its versions stay for pages of what was sent, and its name can be used again, from the next version on.
  /// - Returns: what was current, without its text.
  /// - Throws: `ContentError.templateUnknown`.
  package func remove(_ customer: CustomerID, name: String) async throws -> TemplateReply {
    guard Self.isName(name),
      let row = try await database.query(TemplateQueries.remove, customer.rawValue, name).first
    else {
      throw ContentError.templateUnknown(name: name, version: nil)
    }
    return try TemplateReply(row)
  }

  /// The current version of every template of a customer, by name, without its text.
  public func list(_ customer: CustomerID) async throws -> [TemplateReply] {
    try await database.query(TemplateQueries.list, customer.rawValue).map { try TemplateReply($0) }
  }

  /// The versions of a template without their texts, newest first; empty if there is none.
  /// - Parameter later: those before this one; all of them by default.
  public func versions(
    _ customer: CustomerID, name: String, before later: Int32 = .max, limit: Int = 1000
  ) async throws -> [TemplateReply] {
    guard Self.isName(name) else { return [] }
    let rows = try await database.query(TemplateQueries.versions, customer.rawValue, name, later, Int64(limit))
    return try rows.map { try TemplateReply($0) }
  }

  private static func isName(_ name: String) -> Bool {
    (1...100).contains(name.utf8.count)
      && name.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "._-".utf8.contains(byte)
        }
      }
  }
}
