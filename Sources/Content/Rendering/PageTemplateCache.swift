public import Postgres
public import Wire

/// Templates made ready, the most lately used ones.
public final class PageTemplateCache: Sendable {
  /// - Parameter capacity: most bytes of template text kept ready.
  public init(_ database: any Querying, capacity: Int = 8 << 20) {
  }

  /// A version of a customer's template, ready for rendering; without a suspension when it is at hand.
  /// - Throws: `ContentError.templateUnknown`.
  public func template(_ customer: CustomerID, name: String, version: Int32) async throws -> PageTemplate {
    fatalError()
  }
}
