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
  /// Most unanswered items of all keys. A key may hold as many as there is still room for: one key nearly half of them, two
  /// nearly a third each. A sixteenth is reserved for keys that hold few, however many keys hold as many as they may.
  package var items: Int
  /// How long an item may stay unanswered; `nil` for ever.
  package var timeout: Duration?
  /// How long a batch holds up others of its key. After that one of them waits for a lock that somebody holds, and what does
  /// not conflict with it need not wait too. `nil` for ever.
  package var stallsAfter: Duration?

  /// Most batches of one key that have stalled and hold up nobody. Each still occupies a connection. With the two that may be
  /// under way beside it one key leaves one of a pool's four shared connections to others.
  static let maximumStalledPerKey = 1
  /// Most stalled batches of all keys together.
  static let maximumStalled = 2
  /// By how much a deadline may be missed, so that many in a row are looked at together.
  static let deadlineAccuracy = Duration.milliseconds(10)

  /// Places that are left to keys that hold few items.
  var reservedItems: Int { items / 16 }
  /// A key that holds fewer items has a claim to the reserved places.
  var fewItems: Int { max(1, reservedItems / 32) }

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

  /// When an item's time is up.
  private struct Deadline {
    let instant: Instant
    let item: Int
    let key: Int64
  }

  private let limits: BatchLimits
  private var keys: [Int64: KeyQueue] = [:]
  private var running: [Int: Running] = [:]
  /// Keys that could begin a batch, in the order of their turns.
  private var turns: Deque<Int64> = []
  /// Items not answered yet.
  private var unansweredItems: Set<Int> = []
  /// When their time is up, the earliest first: all wait equally long. The first is not answered yet; others may be.
  private var deadlines: Deque<Deadline> = []
  /// Batches under way that have not stalled.
  private var active = 0
  private var stalled = 0
  /// No later than the next batch may stall.
  private var nextStall: Instant?
  /// `advance` has nothing to do before this.
  private var advancedUntil: Instant?
  private var lastID = 0

  init(_ limits: BatchLimits) { self.limits = limits }

  /// Whether nothing waits and nothing is under way.
  var isIdle: Bool { keys.isEmpty && running.isEmpty }

  var unanswered: Int { unansweredItems.count }

  /// When `advance` has to be called.
  var alarm: Instant? {
    guard let next = earlier(deadlines.first?.instant, nextStall) else { return nil }
    return advancedUntil.map { max($0, next) } ?? next
  }

  /// Waiting → blocked or ready. Calls come in the order of their times.
  /// - Returns: whether there was room for it.
  mutating func add(
    _ waiter: any AnyObject & Sendable, key: Int64, weight: Int, conflictKeys: [Int], at now: Instant
  ) -> Bool {
    guard hasCapacity(key) else { return false }
    lastID += 1
    if keys[key] == nil { keys[key] = KeyQueue(limits) }
    keys[key]?.add(Entry(id: lastID, weight: weight, conflictKeys: conflictKeys, waiter: waiter))
    unansweredItems.insert(lastID)
    if let timeout = limits.timeout { deadlines.append(Deadline(instant: now + timeout, item: lastID, key: key)) }
    offerTurn(key)
    return true
  }

  private func hasCapacity(_ key: Int64) -> Bool {
    let held = keys[key]?.unanswered ?? 0
    let free = limits.items - unanswered
    return held < limits.fewItems ? free > 0 : held < free - limits.reservedItems
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
      nextStall = earlier(nextStall, stalls)
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
    areAnswered(open.lazy.map { batch.entries[$0] })
    return open
  }

  /// Under way → gone, all of the batch. What it blocked may be ready now.
  mutating func end(_ batch: Batch) {
    _ = answer(batch, batch.entries.indices)
    guard let ended = running.removeValue(forKey: batch.id) else { return }
    if ended.hasStalled {
      stalled -= 1
      // Another may stall in its place.
      for other in running.values { nextStall = earlier(nextStall, other.stalls) }
    } else {
      active -= 1
    }
    keys[batch.key]?.end(batch.entries, hasStalled: ended.hasStalled)
    settle(batch.key)
  }

  /// Blocked or ready → gone, all of the key; what is under way stays.
  /// - Returns: the items that are to be failed.
  mutating func dismiss(_ key: Int64) -> [Entry] {
    let dismissed = keys[key]?.removeWaiting { _ in true } ?? []
    areAnswered(dismissed)
    settle(key)
    return dismissed
  }

  /// Dismisses what waits of all keys.
  mutating func dismissAll() -> [Entry] { Array(keys.keys).flatMap { dismiss($0) } }

  /// Does what is due: ends the wait of those whose time is up, and lets others pass batches that have stalled.
  /// - Returns: those whose time is up. Of these, what is under way stays under way.
  mutating func advance(to now: Instant) -> [Entry] {
    advancedUntil = now + BatchLimits.deadlineAccuracy
    let late = removeLate(at: now)
    letStall(at: now)
    return late
  }

  private mutating func removeLate(at now: Instant) -> [Entry] {
    var items: Set<Int> = []
    var keysOfItems: Set<Int64> = []
    while let deadline = deadlines.first, deadline.instant <= now {
      deadlines.removeFirst()
      guard unansweredItems.contains(deadline.item) else { continue }
      items.insert(deadline.item)
      keysOfItems.insert(deadline.key)
    }
    guard !items.isEmpty else { return [] }
    var late: [Entry] = []
    for key in keysOfItems { late += keys[key]?.removeWaiting { items.contains($0.id) } ?? [] }
    areAnswered(late)
    for batch in running.values.map(\.batch) where keysOfItems.contains(batch.key) {
      for (index, entry) in batch.entries.enumerated() where items.contains(entry.id) {
        if !answer(batch, index..<index + 1).isEmpty { late.append(entry) }
      }
    }
    for key in keysOfItems { settle(key) }
    return late
  }

  private mutating func letStall(at now: Instant) {
    nextStall = nil
    for id in running.keys.sorted() {
      guard let batch = running[id]?.batch, let stalls = running[id]?.stalls else { continue }
      if stalls > now {
        nextStall = earlier(nextStall, stalls)
      } else if stalled < BatchLimits.maximumStalled, keys[batch.key]?.stall() == true {
        running[id]?.stalls = nil
        running[id]?.hasStalled = true
        stalled += 1
        active -= 1
        offerTurn(batch.key)
      }
      // Otherwise it stays as it is until another batch ends.
    }
  }

  private mutating func areAnswered(_ entries: some Sequence<Entry>) {
    for entry in entries { unansweredItems.remove(entry.id) }
    while let first = deadlines.first, !unansweredItems.contains(first.item) { deadlines.removeFirst() }
  }

  private mutating func offerTurn(_ key: Int64) {
    if keys[key]?.takeTurn() == true { turns.append(key) }
  }

  /// After something of the key has ended.
  private mutating func settle(_ key: Int64) {
    if keys[key]?.isEmpty == true { keys[key] = nil } else { offerTurn(key) }
  }
}

private func earlier(_ one: BatchQueue.Instant?, _ other: BatchQueue.Instant?) -> BatchQueue.Instant? {
  guard let one, let other else { return one ?? other }
  return min(one, other)
}
