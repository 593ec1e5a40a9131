import Locking

/// Remembers answers, and finds them under a lock, without a suspension.
///
/// One miss asks for all: whoever wants the same key meanwhile waits for that answer (single flight). An answer that was asked for
/// before a flush may be older than the change. Those who wait for it get it, and it is not kept.
///
/// Answers are kept in two halves. When the younger half is full, the older one is dropped. An answer that is found in the older half moves
/// to the younger one. So those used last stay, and each use takes the same time however many there are.
package final class SharedCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private struct Entry {
    let value: Value
    let size: Int
    /// `nil` for an answer that never becomes stale.
    let expires: ContinuousClock.Instant?
  }

  private struct State {
    /// Most of the sizes in a half together.
    let half: Int
    var younger: [Key: Entry] = [:]
    var youngerSize = 0
    var older: [Key: Entry] = [:]
    var flights: [Key: Task<Value?, any Error>] = [:]
    /// Counts flushes: what was asked for in an earlier generation is not kept.
    var generation = 0

    mutating func entry(_ key: Key) -> Entry? {
      if let entry = younger[key] { return entry }
      guard let entry = older.removeValue(forKey: key) else { return nil }
      keep(key, entry)
      return entry
    }

    mutating func keep(_ key: Key, _ entry: Entry) {
      if let replaced = younger.removeValue(forKey: key) { youngerSize -= replaced.size }
      older[key] = nil
      guard entry.size <= half else { return }
      if youngerSize + entry.size > half {
        older = younger
        younger = [:]
        youngerSize = 0
      }
      younger[key] = entry
      youngerSize += entry.size
    }
  }

  private let state: Mutex<State>
  private let lifetime: Duration?
  private let size: @Sendable (Value) -> Int
  private let now: @Sendable () -> ContinuousClock.Instant

  /// - Parameters:
  ///   - capacity: how much of what was used last is kept for certain. At most twice as much is kept. What is larger by itself is not.
  ///   - lifetime: how long an answer is believed; `nil` for answers that never become stale.
  ///   - size: what an answer counts for.
  ///   - now: the clock, which tests steer.
  package init(
    capacity: Int, lifetime: Duration?, size: @escaping @Sendable (Value) -> Int = { _ in 1 },
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    state = Mutex(State(half: capacity))
    self.lifetime = lifetime
    self.size = size
    self.now = now
  }

  /// The answer that is there and fresh.
  package func cached(_ key: Key) -> Value? {
    let now = lifetime.map { _ in self.now() }
    return state.withLock { Self.fresh($0.entry(key), now) }
  }

  private static func fresh(_ entry: Entry?, _ now: ContinuousClock.Instant?) -> Value? {
    guard let entry else { return nil }
    if let expires = entry.expires, let now, expires <= now { return nil }
    return entry.value
  }

  /// The answer that is there and fresh, or else what `load` gives. A failure is not kept.
  package func value(_ key: Key, load: @escaping @Sendable () async throws -> Value) async throws -> Value {
    if let value = try await find(key, load: load) { return value }
    // Another caller had asked for the key by `find`, which found nothing.
    return try await load()
  }

  /// The answer that is there and fresh, or else what `load` finds. Neither a failure is kept, nor that there is nothing.
  package func find(_ key: Key, load: @escaping @Sendable () async throws -> Value?) async throws -> Value? {
    if let value = cached(key) { return value }
    let now = now()
    let flight: Task<Value?, any Error> = state.withLock { state in
      // A flight may have landed since the look above.
      if let value = Self.fresh(state.entry(key), now) { return Task { value } }
      if let flight = state.flights[key] { return flight }
      let generation = state.generation
      let flight = Task { try await self.settle(key, generation, load) }
      state.flights[key] = flight
      return flight
    }
    return try await flight.value
  }

  private func settle(
    _ key: Key, _ generation: Int, _ load: @Sendable () async throws -> Value?
  ) async throws -> Value? {
    do {
      let value = try await load()
      endFlight(key, generation, value)
      return value
    } catch {
      endFlight(key, generation, nil)
      throw error
    }
  }

  private func endFlight(_ key: Key, _ generation: Int, _ value: Value?) {
    let entry = value.map(entry)
    state.withLock { state in
      guard state.generation == generation else { return }
      state.flights[key] = nil
      if let entry { state.keep(key, entry) }
    }
  }

  /// Keeps an answer that was come by otherwise.
  package func keep(_ key: Key, _ value: Value) {
    let entry = entry(value)
    state.withLock { $0.keep(key, entry) }
  }

  private func entry(_ value: Value) -> Entry {
    Entry(value: value, size: size(value), expires: lifetime.map { now() + $0 })
  }

  /// Forgets everything, and whatever is being asked for now.
  package func flush() {
    state.withLock { state in
      (state.younger, state.youngerSize, state.older) = ([:], 0, [:])
      state.flights.removeAll()
      state.generation += 1
    }
  }
}
