import DequeModule

/// How many items travel together, how many wait, and for how long.
package struct BatchLimits: Sendable {
  /// Most weight of one batch. An item that weighs more has a batch of its own.
  package var batchWeight: Int
  /// Most batches of one key under way at once.
  package var batchesPerKey: Int
  /// How many items must be ready before a key has a further batch beside those under way.
  package var worthAnother: Int
  /// Most batches of all keys under way at once. Keys take turns when more could be.
  package var batches: Int
  /// Most unanswered items of all keys. A key may hold as many as there is still room for: one key at most half of them, two
  /// a third each. So there is always room for another key.
  package var items: Int
  /// How long an item may stay unanswered; `nil` for ever.
  package var timeout: Duration?
  /// How long a batch holds up others of its key. After that one of them waits for a lock that somebody holds, and what does
  /// not conflict with it need not wait too. `nil` for ever.
  package var stallsAfter: Duration?

  /// Most batches of one key that have stalled and hold up nobody.
  static let maximumStalled = 3

  package init(
    batchWeight: Int, batchesPerKey: Int = 2, worthAnother: Int = 1, batches: Int = 16, items: Int,
    timeout: Duration? = nil, stallsAfter: Duration? = nil
  ) {
    self.batchWeight = batchWeight
    self.batchesPerKey = batchesPerKey
    self.worthAnother = worthAnother
    self.batches = batches
    self.items = items
    self.timeout = timeout
    self.stallsAfter = stallsAfter
  }
}

/// Which items go into which batch, and when: a value that decides and does nothing. `Batcher` drives it.
///
/// An item is *blocked* while one with a conflict key of its own is ahead of it. Then it is *ready*, until its key has its
/// turn and a batch takes it. Then it is *under way*, until it is answered, or its time is up, and its batch has ended.
struct BatchQueue {
  typealias Instant = ContinuousClock.Instant

  /// An item that waits, as far as the queue needs to know it.
  struct Entry: Sendable {
    let id: Int
    let weight: Int
    let conflictKeys: [Int]
    let deadline: Instant?
    /// Whoever waits for the answer; of no concern to the queue.
    let waiter: any AnyObject & Sendable
  }

  /// Items that travel together.
  struct Batch: Sendable {
    let id: Int
    let key: Int64
    let entries: [Entry]
  }

  private struct Running {
    let batch: Batch
    var isAnswered: [Bool]
    /// When it stalls; `nil` if it never does, or has stalled already.
    var stalls: Instant?
    var hasStalled = false
  }

  private let limits: BatchLimits
  private var keys: [Int64: KeyQueue] = [:]
  private var running: [Int: Running] = [:]
  /// Keys that could begin a batch, in the order of their turns.
  private var turns: Deque<Int64> = []
  /// Items not answered yet.
  private(set) var unanswered = 0
  /// Batches under way that have not stalled.
  private var active = 0
  private var lastID = 0
  /// When `advance` has to be called at the latest.
  private(set) var alarm: Instant?

  init(_ limits: BatchLimits) { self.limits = limits }

  /// Whether nothing waits and nothing is under way.
  var isIdle: Bool { keys.isEmpty && running.isEmpty }

  /// Waiting → blocked or ready.
  /// - Returns: whether there was room for it.
  mutating func add(
    _ waiter: any AnyObject & Sendable, key: Int64, weight: Int, conflictKeys: [Int], at now: Instant
  ) -> Bool {
    guard (keys[key]?.unanswered ?? 0) < limits.items - unanswered else { return false }
    lastID += 1
    let deadline = limits.timeout.map { now + $0 }
    if keys[key] == nil { keys[key] = KeyQueue(limits) }
    keys[key]?.add(
      Entry(id: lastID, weight: weight, conflictKeys: conflictKeys, deadline: deadline, waiter: waiter))
    unanswered += 1
    setAlarm(deadline)
    offerTurn(key)
    return true
  }

  /// Ready → under way, for the key whose turn it is.
  /// - Returns: `nil` if no batch may begin now.
  mutating func next(at now: Instant) -> Batch? {
    guard active < limits.batches else { return nil }
    while let key = turns.popFirst() {
      guard let entries = keys[key]?.begin() else { continue }
      lastID += 1
      let batch = Batch(id: lastID, key: key, entries: entries)
      let stalls = limits.stallsAfter.map { now + $0 }
      running[batch.id] = Running(
        batch: batch, isAnswered: [Bool](repeating: false, count: entries.count), stalls: stalls)
      active += 1
      setAlarm(stalls)
      offerTurn(key)
      return batch
    }
    return nil
  }

  /// Whether anybody still waits for these of a batch under way.
  func isAwaited(_ batch: Batch, _ range: Range<Int>) -> Bool {
    running[batch.id].map { running in range.contains { !running.isAnswered[$0] } } ?? false
  }

  /// Marks these of a batch under way as answered.
  /// - Returns: which of them have not been answered before.
  mutating func answer(_ batch: Batch, _ range: Range<Int>) -> [Int] {
    guard let isAnswered = running[batch.id]?.isAnswered else { return [] }
    let open = range.filter { !isAnswered[$0] }
    for index in open { running[batch.id]?.isAnswered[index] = true }
    keys[batch.key]?.unanswered -= open.count
    unanswered -= open.count
    return open
  }

  /// Under way → gone, all of the batch. What it blocked may be ready now.
  mutating func end(_ batch: Batch) {
    _ = answer(batch, batch.entries.indices)
    guard let ended = running.removeValue(forKey: batch.id) else { return }
    if ended.hasStalled {
      // Another may stall in its place.
      for other in running.values where other.batch.key == batch.key { setAlarm(other.stalls) }
    } else {
      active -= 1
    }
    keys[batch.key]?.end(batch.entries, hasStalled: ended.hasStalled)
    settle(batch.key)
  }

  /// Blocked or ready → gone, all of the key; what is under way stays.
  /// - Returns: what is to be told so.
  mutating func dismiss(_ key: Int64) -> [Entry] {
    let dismissed = keys[key]?.removeWaiting { _ in true } ?? []
    unanswered -= dismissed.count
    settle(key)
    return dismissed
  }

  /// As `dismiss`, of all keys.
  mutating func dismissAll() -> [Entry] { Array(keys.keys).flatMap { dismiss($0) } }

  /// Does what is due: ends the wait of those whose time is up, and lets others pass batches that have stalled.
  /// - Returns: those whose time is up. Of these, what is under way stays under way.
  mutating func advance(to now: Instant) -> [Entry] {
    alarm = nil
    var late: [Entry] = []
    let isLate = { (entry: Entry) in entry.deadline.map { $0 <= now } ?? false }
    for key in Array(keys.keys) {
      let waiting = keys[key]?.removeWaiting(where: isLate) ?? []
      unanswered -= waiting.count
      late += waiting
    }
    for batch in running.values.map(\.batch) {
      for (index, entry) in batch.entries.enumerated() where isLate(entry) && !answer(batch, index..<index + 1).isEmpty
      {
        late.append(entry)
      }
      if let stalls = running[batch.id]?.stalls, stalls <= now, keys[batch.key]?.stall() == true {
        running[batch.id]?.stalls = nil
        running[batch.id]?.hasStalled = true
        active -= 1
      }
    }
    for key in Array(keys.keys) { settle(key) }
    setAlarms(after: now)
    return late
  }

  private mutating func setAlarms(after now: Instant) {
    for key in keys.values { setAlarm(key.firstDeadline) }
    for running in running.values {
      // One that may not stall yet waits for another to end, which is no matter of time.
      if let stalls = running.stalls, stalls > now { setAlarm(stalls) }
      for (entry, isAnswered) in zip(running.batch.entries, running.isAnswered) where !isAnswered {
        setAlarm(entry.deadline)
      }
    }
  }

  private mutating func setAlarm(_ instant: Instant?) {
    guard let instant else { return }
    alarm = min(instant, alarm ?? instant)
  }

  private mutating func offerTurn(_ key: Int64) {
    if keys[key]?.takeTurn() == true { turns.append(key) }
  }

  /// After something of the key has ended.
  private mutating func settle(_ key: Int64) {
    if keys[key]?.isEmpty == true { keys[key] = nil } else { offerTurn(key) }
  }
}
