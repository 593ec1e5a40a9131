public import Postgres
public import Wire

/// The store of templates: saving makes a new version, and versions never change.
public struct Templates: Sendable {
  private let database: any Querying

  public init(_ database: any Querying) { self.database = database }

  /// Saves a template's next version; savers at the same time get versions of their own.
  /// - Parameters:
  ///   - name: 1 to 100 letters, digits, dots, hyphens and underscores.
  ///   - format: what the template makes.
  ///   - body: the Mustache text, at most 256 KiB of UTF-8.
  /// - Throws: `ContentError.invalid`, `.unparsable`, `.customerUnknown`.
  public func put(_ customer: CustomerID, name: String, format: TemplateFormat, body: String) async throws -> Template {
    fatalError()
  }

  /// A version of a template, the current one unless told otherwise.
  /// - Throws: `ContentError.templateUnknown`.
  public func get(_ customer: CustomerID, name: String, version: Int32? = nil) async throws -> Template {
    fatalError()
  }

  /// The current version of every template of a customer, by name.
  public func list(_ customer: CustomerID) async throws -> [TemplateSummary] {
    fatalError()
  }

  /// Every version of one template, the newest first; empty if there is none.
  public func versions(_ customer: CustomerID, name: String) async throws -> [TemplateSummary] {
    fatalError()
  }
}
