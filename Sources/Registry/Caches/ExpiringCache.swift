import Locking

/// Answers kept for a short while, looked up under a lock and without a suspension when they are there.
///
/// One miss asks for all: whoever wants the same key meanwhile waits for that answer (single flight). An answer that
/// was asked for before a flush may be older than the change. Those who wait for it get it, and it is not kept.
package final class ExpiringCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private struct Entry {
    let value: Value
    let expires: ContinuousClock.Instant
  }

  private struct State {
    var entries: [Key: Entry] = [:]
    var flights: [Key: Task<Value, any Error>] = [:]
    /// Counts flushes: what was asked for in an earlier generation is not kept.
    var generation = 0

    mutating func keep(_ key: Key, _ entry: Entry, _ capacity: Int) {
      if entries.count >= capacity { entries.removeAll(keepingCapacity: true) }
      entries[key] = entry
    }
  }

  private let state = Mutex(State())
  private let timeToLive: Duration
  private let capacity: Int
  private let now: @Sendable () -> ContinuousClock.Instant

  /// - Parameters:
  ///   - timeToLive: how long an answer is believed.
  ///   - capacity: most answers kept; one more empties the cache, which costs each key one question.
  ///   - now: the clock, which tests steer.
  package init(
    timeToLive: Duration, capacity: Int, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    self.timeToLive = timeToLive
    self.capacity = capacity
    self.now = now
  }

  /// The answer that is there and fresh.
  package func cached(_ key: Key) -> Value? {
    let now = now()
    return state.withLock { state in
      guard let entry = state.entries[key], entry.expires > now else { return nil }
      return entry.value
    }
  }

  /// The answer that is there and fresh, or else what `load` gives. A failure is not kept.
  package func value(_ key: Key, load: @escaping @Sendable () async throws -> Value) async throws -> Value {
    if let value = cached(key) { return value }
    let now = now()
    let flight: Task<Value, any Error> = state.withLock { state in
      // A flight may have landed since the look above.
      if let entry = state.entries[key], entry.expires > now { return Task { entry.value } }
      if let flight = state.flights[key] { return flight }
      let generation = state.generation
      let flight = Task { try await self.settle(key, generation, load) }
      state.flights[key] = flight
      return flight
    }
    return try await flight.value
  }

  private func settle(_ key: Key, _ generation: Int, _ load: @Sendable () async throws -> Value) async throws -> Value {
    do {
      let value = try await load()
      land(key, generation, value)
      return value
    } catch {
      land(key, generation, nil)
      throw error
    }
  }

  private func land(_ key: Key, _ generation: Int, _ value: Value?) {
    let entry = value.map { Entry(value: $0, expires: now() + timeToLive) }
    state.withLock { state in
      guard state.generation == generation else { return }
      state.flights[key] = nil
      if let entry { state.keep(key, entry, capacity) }
    }
  }

  /// Keeps an answer that was come by otherwise.
  package func remember(_ key: Key, _ value: Value) {
    let entry = Entry(value: value, expires: now() + timeToLive)
    state.withLock { $0.keep(key, entry, capacity) }
  }

  /// Forgets everything, and whatever is being asked for now.
  package func flush() {
    state.withLock { state in
      state.entries.removeAll(keepingCapacity: true)
      state.flights.removeAll()
      state.generation += 1
    }
  }
}
