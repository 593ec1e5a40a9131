public import Postgres
public import Wire

/// The compiled templates that were used last. A version never changes, so no entry becomes stale.
public final class PageTemplateCache: Sendable {
  private struct Key: Hashable {
    let customer: CustomerID
    let name: String
    let version: Int32
  }

  private let templates: Templates
  private let compiled: SharedCache<Key, PageTemplate>

  /// - Parameter capacity: most bytes of template text; compiled, a template takes a few times as much.
  public init(_ database: any Querying, capacity: Int = 8 << 20) {
    templates = Templates(database)
    compiled = SharedCache(capacity: capacity / 2, lifetime: nil, size: \.size)
  }

  /// A version of a customer's template, compiled. Concurrent callers share one read; a cached template is returned without
  /// suspension.
  /// - Throws: `ContentError.templateUnknown`.
  public func template(_ customer: CustomerID, name: String, version: Int32) async throws -> PageTemplate {
    try await compiled.value(Key(customer: customer, name: name, version: version)) { [templates] in
      let stored = try await templates.ofPage(customer, name: name, version: version)
      return try PageTemplate(stored.body, format: stored.format)
    }
  }

  /// What `template` gives, if it is cached.
  public func cached(_ customer: CustomerID, name: String, version: Int32) -> PageTemplate? {
    compiled.cached(Key(customer: customer, name: name, version: version))
  }
}
