public import Postgres
import Locking
public import Wire

/// The compiled templates that were used last. A version never changes, so no entry becomes stale.
public final class PageTemplateCache: Sendable {
  struct Key: Hashable {
    let customer: CustomerID
    let name: String
    let version: Int32
  }

  struct State {
    var entries: [Key: (template: PageTemplate, lastUse: UInt64)] = [:]
    /// Reads under way.
    var loads: [Key: Task<PageTemplate, any Error>] = [:]
    var size = 0
    /// Counts uses, to tell which is the latest.
    var uses: UInt64 = 0
  }

  private let templates: Templates
  private let capacity: Int
  private let state = Mutex(State())

  /// - Parameter capacity: most bytes of template text; compiled, a template takes a few times as much.
  public init(_ database: any Querying, capacity: Int = 8 << 20) {
    templates = Templates(database)
    self.capacity = capacity
  }

  /// A version of a customer's template, compiled. Concurrent callers share one read; a cached template is returned without
  /// suspension.
  /// - Throws: `ContentError.templateUnknown`.
  public func template(_ customer: CustomerID, name: String, version: Int32) async throws -> PageTemplate {
    let key = Key(customer: customer, name: name, version: version)
    if let template = cached(key) { return template }
    let load: Task<PageTemplate, any Error> = state.withLock { state in
      // A load may have ended since the look above.
      if let template = state.use(key) { return Task { template } }
      if let load = state.loads[key] { return load }
      let load = Task { try await self.load(key) }
      state.loads[key] = load
      return load
    }
    return try await load.value
  }

  /// The same template, if it is cached.
  public func cached(_ customer: CustomerID, name: String, version: Int32) -> PageTemplate? {
    cached(Key(customer: customer, name: name, version: version))
  }

  private func cached(_ key: Key) -> PageTemplate? {
    state.withLock { $0.use(key) }
  }

  private func load(_ key: Key) async throws -> PageTemplate {
    do {
      let stored = try await templates.get(key.customer, name: key.name, version: key.version)
      let template = try PageTemplate(stored.body, format: stored.format)
      state.withLock { $0.keep(key, template, capacity) }
      return template
    } catch {
      state.withLock { $0.loads[key] = nil }
      throw error
    }
  }
}

extension PageTemplateCache.State {
  fileprivate mutating func use(_ key: PageTemplateCache.Key) -> PageTemplate? {
    guard let template = entries[key]?.template else { return nil }
    uses += 1
    entries[key]?.lastUse = uses
    return template
  }

  mutating func keep(_ key: PageTemplateCache.Key, _ template: PageTemplate, _ capacity: Int) {
    loads[key] = nil
    if let replaced = entries.removeValue(forKey: key) { size -= replaced.template.size }
    guard template.size <= capacity else { return }
    while size + template.size > capacity, let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse }) {
      entries[oldest.key] = nil
      size -= oldest.value.template.size
    }
    uses += 1
    size += template.size
    entries[key] = (template, uses)
  }
}
