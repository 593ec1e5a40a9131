import DequeModule

/// The items of one key in a `BatchQueue`: those ready, those blocked, and how many batches may take them.
struct KeyQueue {
  private typealias Entry = BatchQueue.Entry

  /// An item that waits for others with one of its conflict keys.
  private struct Blocked {
    let entry: Entry
    /// How many conflict keys it is not the first of.
    var obstacles: Int
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

  /// When the first of those that wait has waited too long.
  var firstDeadline: BatchQueue.Instant? {
    (ready.compactMap(\.deadline) + blocked.values.compactMap(\.entry.deadline)).min()
  }

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
    var obstacles = 0
    for key in entry.conflictKeys {
      if chains[key] == nil {
        chains[key] = Chain(first: entry.id)
      } else if chains[key]?.first != entry.id, chains[key]?.others.last != entry.id {
        chains[key]?.others.append(entry.id)
        obstacles += 1
      }
    }
    if obstacles == 0 { ready.append(entry) } else { blocked[entry.id] = Blocked(entry: entry, obstacles: obstacles) }
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
    for entry in entries { leaveChains(entry) }
  }

  /// A batch under way holds up the others no longer.
  /// - Returns: `false` if too many have stalled already.
  mutating func stall() -> Bool {
    guard stalled < BatchLimits.maximumStalled else { return false }
    stalled += 1
    active -= 1
    return true
  }

  /// Removes what waits and is as the condition says.
  mutating func removeWaiting(where condition: (BatchQueue.Entry) -> Bool) -> [BatchQueue.Entry] {
    let removed = Array(ready.filter(condition)) + blocked.values.lazy.map(\.entry).filter(condition)
    guard !removed.isEmpty else { return [] }
    ready.removeAll(where: condition)
    for entry in removed { blocked[entry.id] = nil }
    for entry in removed { leaveChains(entry) }
    unanswered -= removed.count
    return removed
  }

  /// What comes next in a chain may be ready now.
  private mutating func leaveChains(_ entry: BatchQueue.Entry) {
    for key in entry.conflictKeys {
      guard chains[key]?.first == entry.id else {
        chains[key]?.others.removeAll { $0 == entry.id }
        continue
      }
      if let first = chains[key]?.others.popFirst() {
        chains[key]?.first = first
        unblock(first)
      } else {
        chains[key] = nil
      }
    }
  }

  private mutating func unblock(_ id: Int) {
    guard let obstacles = blocked[id]?.obstacles else { return }
    if obstacles > 1 {
      blocked[id]?.obstacles -= 1
    } else if let free = blocked.removeValue(forKey: id) {
      ready.append(free.entry)
    }
  }
}
