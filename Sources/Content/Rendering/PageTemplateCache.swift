public import Postgres
import Synchronization
public import Wire

/// Templates made ready, the most lately used ones. A version never changes, so nothing here grows stale.
public final class PageTemplateCache: Sendable {
  fileprivate struct Key: Hashable {
    let customer: CustomerID
    let name: String
    let version: Int32
  }

  fileprivate struct State {
    var entries: [Key: (template: PageTemplate, lastUse: UInt64)] = [:]
    var flights: [Key: Task<PageTemplate, any Error>] = [:]
    var size = 0
    /// Counts uses, to tell which is the latest.
    var uses: UInt64 = 0
  }

  private let templates: Templates
  private let capacity: Int
  private let state = Mutex(State())

  /// - Parameter capacity: most bytes of template text kept ready; made ready a template takes a few times as much.
  public init(_ database: any Querying, capacity: Int = 8 << 20) {
    templates = Templates(database)
    self.capacity = capacity
  }

  /// A version of a customer's template, ready for rendering; without a suspension when it is at hand. Whoever wants the same
  /// one meanwhile waits for it, and it is read once.
  /// - Throws: `ContentError.templateUnknown`.
  public func template(_ customer: CustomerID, name: String, version: Int32) async throws -> PageTemplate {
    let key = Key(customer: customer, name: name, version: version)
    if let template = cached(key) { return template }
    let flight = state.withLock { state in
      if let flight = state.flights[key] { return flight }
      let flight = Task { try await self.load(key) }
      state.flights[key] = flight
      return flight
    }
    return try await flight.value
  }

  /// The same, if it is at hand.
  public func cached(_ customer: CustomerID, name: String, version: Int32) -> PageTemplate? {
    cached(Key(customer: customer, name: name, version: version))
  }

  private func cached(_ key: Key) -> PageTemplate? {
    state.withLock { state in
      guard let template = state.entries[key]?.template else { return nil }
      state.uses += 1
      state.entries[key]?.lastUse = state.uses
      return template
    }
  }

  private func load(_ key: Key) async throws -> PageTemplate {
    do {
      let stored = try await templates.get(key.customer, name: key.name, version: key.version)
      let template = try PageTemplate(stored.body, format: stored.format)
      state.withLock { $0.keep(key, template, capacity) }
      return template
    } catch {
      state.withLock { $0.flights[key] = nil }
      throw error
    }
  }
}

extension PageTemplateCache.State {
  fileprivate mutating func keep(_ key: PageTemplateCache.Key, _ template: PageTemplate, _ capacity: Int) {
    flights[key] = nil
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
