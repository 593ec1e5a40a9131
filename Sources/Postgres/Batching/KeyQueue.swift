import DequeModule

/// The items of one key in a `BatchQueue`: those ready, those blocked, and how many batches may take them.
struct KeyQueue {
  private typealias Entry = BatchQueue.Entry

  /// An item that waits for others with one of its conflict keys.
  private struct Blocked {
    let entry: Entry
    /// How many conflict keys it is not the first of.
    var blockingKeys: Int
  }

  /// Items with the same conflict key, in the order they came. The first is ready or under way, unless another key blocks it.
  private struct Chain {
    var first: Int
    var others: Deque<Int> = []
  }

  private let limits: BatchLimits
  private var ready: Deque<Entry> = []
  private var blocked: [Int: Blocked] = [:]
  private var chains: [Int: Chain] = [:]
  /// Items not answered yet.
  var unanswered = 0
  /// Batches under way that have not stalled.
  private var active = 0
  private var stalled = 0
  private var hasTurn = false

  init(_ limits: BatchLimits) { self.limits = limits }

  var isEmpty: Bool { ready.isEmpty && blocked.isEmpty && active == 0 && stalled == 0 }

  /// Whether a batch may begin, and its turn is yet to be awaited.
  mutating func takeTurn() -> Bool {
    guard !hasTurn, mayBegin else { return false }
    hasTurn = true
    return true
  }

  private var mayBegin: Bool {
    !ready.isEmpty && (active == 0 || active < limits.batchesPerKey && ready.count >= limits.worthAnother)
  }

  mutating func add(_ entry: BatchQueue.Entry) {
    unanswered += 1
    var blockingKeys = 0
    for key in entry.conflictKeys {
      if chains[key] == nil {
        chains[key] = Chain(first: entry.id)
      } else if chains[key]?.first != entry.id, chains[key]?.others.last != entry.id {
        chains[key]?.others.append(entry.id)
        blockingKeys += 1
      }
    }
    if blockingKeys == 0 {
      ready.append(entry)
    } else {
      blocked[entry.id] = Blocked(entry: entry, blockingKeys: blockingKeys)
    }
  }

  /// Takes the next batch.
  /// - Returns: `nil` if none may begin after all.
  mutating func begin() -> [BatchQueue.Entry]? {
    hasTurn = false
    guard mayBegin else { return nil }
    active += 1
    var count = 0
    var weight = 0
    while count < ready.count {
      weight += ready[count].weight
      guard count == 0 || weight <= limits.batchWeight else { break }
      count += 1
    }
    let batch = Array(ready.prefix(count))
    ready.removeFirst(count)
    return batch
  }

  mutating func end(_ entries: [BatchQueue.Entry], hasStalled: Bool) {
    if hasStalled { stalled -= 1 } else { active -= 1 }
    // What was under way is the first of all its chains.
    for entry in entries {
      for key in entry.conflictKeys where chains[key]?.first == entry.id { removeFirst(ofChain: key) }
    }
  }

  /// A batch under way holds up the others no longer.
  /// - Returns: `false` if too many have stalled already.
  mutating func stall() -> Bool {
    guard stalled < BatchLimits.maximumStalledPerKey else { return false }
    stalled += 1
    active -= 1
    return true
  }

  /// Removes what waits and is as the condition says. Looks at each chain once, however many leave it.
  mutating func removeWaiting(where condition: (BatchQueue.Entry) -> Bool) -> [BatchQueue.Entry] {
    let removed = Array(ready.filter(condition)) + blocked.values.lazy.map(\.entry).filter(condition)
    guard !removed.isEmpty else { return [] }
    ready.removeAll(where: condition)
    var ids = Set<Int>(minimumCapacity: removed.count)
    var keys: Set<Int> = []
    for entry in removed {
      blocked[entry.id] = nil
      ids.insert(entry.id)
      keys.formUnion(entry.conflictKeys)
    }
    for key in keys {
      chains[key]?.others.removeAll { ids.contains($0) }
      if let first = chains[key]?.first, ids.contains(first) { removeFirst(ofChain: key) }
    }
    unanswered -= removed.count
    return removed
  }

  /// What comes next in the chain may be ready now.
  private mutating func removeFirst(ofChain key: Int) {
    guard let next = chains[key]?.others.popFirst() else {
      chains[key] = nil
      return
    }
    chains[key]?.first = next
    unblock(next)
  }

  private mutating func unblock(_ id: Int) {
    guard let blockingKeys = blocked[id]?.blockingKeys else { return }
    if blockingKeys > 1 {
      blocked[id]?.blockingKeys -= 1
    } else if let free = blocked.removeValue(forKey: id) {
      ready.append(free.entry)
    }
  }
}
