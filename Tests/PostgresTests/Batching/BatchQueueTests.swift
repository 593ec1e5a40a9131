import Support
import Testing

@testable import Postgres

@Suite struct BatchQueueTests {
  private static let start = BatchQueue.Instant.now

  /// A queue whose items are their numbers.
  private final class Numbers {
    private var queue: BatchQueue

    init(
      weight: Int = 256, perKey: Int = 1, worthAnother: Int = 1, batches: Int = 100, items: Int = 2000,
      timeout: Duration? = nil, stallsAfter: Duration? = nil
    ) {
      queue = BatchQueue(
        BatchLimits(
          batchWeight: weight, batchesPerKey: perKey, worthAnother: worthAnother, batches: batches, items: items,
          timeout: timeout, stallsAfter: stallsAfter))
    }

    @discardableResult
    func add(
      _ number: Int, key: Int64 = 1, weight: Int = 1, conflicts: [Int] = [], after: Duration = .zero
    ) -> Bool {
      queue.add(Number(number), key: key, weight: weight, conflictKeys: conflicts, at: start + after)
    }

    func next(after: Duration = .zero) -> BatchQueue.Batch? { queue.next(at: start + after) }
    func numbers(after: Duration = .zero) -> [Int]? { next(after: after).map(\.numbers) }
    func late(after: Duration) -> [Int] { queue.advance(to: start + after).map(\.number).sorted() }
    func end(_ batch: BatchQueue.Batch) { queue.end(batch) }
    func answer(_ batch: BatchQueue.Batch) -> [Int] { queue.answer(batch, batch.entries.indices) }
    func isAwaited(_ batch: BatchQueue.Batch) -> Bool { queue.isAwaited(batch, batch.entries.indices) }
    var alarm: Duration? { queue.alarm.map { start.duration(to: $0) } }
    var unanswered: Int { queue.unanswered }
    var isIdle: Bool { queue.isIdle }
  }

  fileprivate final class Number: Sendable {
    let value: Int
    init(_ value: Int) { self.value = value }
  }

  @Test func `A lone item goes at once`() {
    let queue = Numbers()
    queue.add(1)
    #expect(queue.numbers() == [1])
    #expect(queue.numbers() == nil)
  }

  @Test func `Items that arrive while a batch is under way share the next`() throws {
    let queue = Numbers()
    queue.add(1)
    let first = try #require(queue.next())
    for number in 2...5 { queue.add(number) }
    #expect(queue.numbers() == nil)
    queue.end(first)
    #expect(queue.numbers() == [2, 3, 4, 5])
  }

  @Test func `No more batches of a key are under way than its limit`() {
    let queue = Numbers(perKey: 2)
    for number in 1...3 {
      queue.add(number)
      #expect(queue.numbers() == (number < 3 ? [number] : nil))
    }
  }

  @Test func `A batch holds as much weight as the limit, but one item whatever its weight`() {
    let queue = Numbers(perKey: 3)
    for number in 1...3 { queue.add(number, weight: 100) }
    #expect(queue.numbers() == [1, 2])
    #expect(queue.numbers() == [3])
    queue.add(4, weight: 1000)
    #expect(queue.numbers() == [4])
  }

  @Test func `Items with one conflict key go one after another in the order they came`() throws {
    let queue = Numbers(perKey: 2)
    for number in 1...3 { queue.add(number, conflicts: [7, number + 100]) }
    queue.add(4, conflicts: [8])
    let first = try #require(queue.next())
    #expect(first.numbers == [1, 4])
    #expect(queue.numbers() == nil)
    queue.end(first)
    let second = try #require(queue.next())
    #expect(second.numbers == [2])
    queue.end(second)
    #expect(queue.numbers() == [3])
  }

  @Test func `An item that is blocked blocks those behind it that conflict with it`() throws {
    let queue = Numbers(perKey: 2)
    queue.add(1, conflicts: [10, 1])
    let first = try #require(queue.next())
    queue.add(2, conflicts: [10, 2])
    queue.add(3, conflicts: [30, 2])
    queue.add(4, conflicts: [40, 4])
    #expect(queue.numbers() == [4])
    queue.end(first)
    #expect(queue.numbers() == [2])
  }

  @Test func `Conflict keys of different customers have nothing to do with each other`() {
    let queue = Numbers()
    queue.add(1, key: 1, conflicts: [7])
    queue.add(2, key: 2, conflicts: [7])
    #expect(queue.numbers() == [1])
    #expect(queue.numbers() == [2])
  }

  @Test func `A conflict key given twice blocks nothing by itself`() throws {
    let queue = Numbers()
    queue.add(1, conflicts: [7, 7])
    let first = try #require(queue.next())
    queue.add(2, conflicts: [7, 7])
    queue.end(first)
    let second = try #require(queue.next())
    #expect(second.numbers == [2])
    queue.end(second)
    #expect(queue.isIdle)
  }

  @Test func `Keys take turns when more batches could begin than may`() throws {
    let queue = Numbers(weight: 2, batches: 1)
    for number in 1...6 { queue.add(number, key: 1) }
    var order: [[Int]] = []
    var batch = queue.next()
    queue.add(7, key: 2)
    queue.add(8, key: 3)
    while let done = batch {
      order.append(done.numbers)
      queue.end(done)
      batch = queue.next()
    }
    #expect(order == [[1, 2], [7], [8], [3, 4], [5, 6]])
  }

  @Test func `A key holds at most as many items as there is still room for`() {
    let queue = Numbers(items: 12)
    #expect((1...20).count { queue.add($0, key: 1) } == 6)
    #expect((1...20).count { queue.add($0, key: 2) } == 3)
    #expect((1...20).count { queue.add($0, key: 3) } == 2)
    #expect((1...20).count { queue.add($0, key: 4) } == 1)
  }

  @Test func `A few places are left to keys that hold few items, however many others hold as many as they may`() {
    let queue = Numbers(items: 8192)
    for key in 1...16 { #expect((1...8192).count { queue.add($0, key: Int64(key)) } >= 16) }
    for key in 17...24 { #expect((1...100).count { queue.add($0, key: Int64(key)) } == 16) }
    #expect(queue.unanswered <= 8192)
  }

  @Test func `An answered item makes room`() throws {
    let queue = Numbers(items: 2)
    #expect(queue.add(1))
    #expect(!queue.add(2))
    let batch = try #require(queue.next())
    #expect(queue.answer(batch) == [0])
    #expect(queue.answer(batch).isEmpty)
    #expect(queue.add(3))
  }

  @Test func `An item whose time is up is gone, and what it blocked goes on`() throws {
    let queue = Numbers(timeout: .seconds(4))
    queue.add(1, conflicts: [7])
    let first = try #require(queue.next())
    queue.add(2, conflicts: [7, 8], after: .seconds(1))
    queue.add(4, conflicts: [9], after: .seconds(1))
    queue.add(3, conflicts: [8], after: .seconds(2))
    #expect(queue.alarm == .seconds(4))
    #expect(queue.late(after: .seconds(4)) == [1])
    #expect(!queue.isAwaited(first))
    #expect(queue.alarm == .seconds(5))
    #expect(queue.late(after: .seconds(5)) == [2, 4])
    queue.end(first)
    #expect(queue.numbers() == [3])
  }

  @Test func `A batch that stalls lets others pass, but a second of its key does not`() throws {
    let queue = Numbers(stallsAfter: .seconds(1))
    for number in 1...9 { queue.add(number, weight: 200) }
    let stuck = try #require(queue.next())
    #expect(queue.numbers() == nil)
    #expect(queue.alarm == .seconds(1))
    #expect(queue.late(after: .seconds(1)).isEmpty)
    #expect(queue.numbers(after: .seconds(1)) == [2])
    #expect(queue.alarm == .seconds(2))
    #expect(queue.late(after: .seconds(2)).isEmpty)
    #expect(queue.numbers(after: .seconds(2)) == nil)
    #expect(queue.alarm == nil)
    queue.end(stuck)
    // The last to begin may stall in its place.
    #expect(queue.alarm == .milliseconds(2010))
    #expect(queue.late(after: .milliseconds(2010)).isEmpty)
    #expect(queue.numbers(after: .milliseconds(2010)) == [3])
  }

  @Test func `Stalled statements of one key leave a shared connection free`() {
    let queue = Numbers(weight: 1, perKey: 2, stallsAfter: .seconds(1))
    for number in 1...50 { queue.add(number) }
    var underWay = 0
    for second in 0..<10 {
      _ = queue.late(after: .seconds(second))
      while queue.next(after: .seconds(second)) != nil { underWay += 1 }
    }
    #expect(underWay == 3)
    #expect(underWay < PoolConfiguration(connectionString: "").sharedConnections)
  }

  @Test func `No more than two batches of all keys have stalled`() throws {
    let queue = Numbers(stallsAfter: .seconds(1))
    for key in 1...5 { for number in 1...2 { queue.add(key * 10 + number, key: Int64(key), weight: 200) } }
    let first = (1...5).compactMap { _ in queue.next() }
    #expect(first.map(\.numbers) == [[11], [21], [31], [41], [51]])
    #expect(queue.late(after: .seconds(1)).isEmpty)
    #expect(queue.numbers(after: .seconds(1)) == [12])
    #expect(queue.numbers(after: .seconds(1)) == [22])
    #expect(queue.numbers(after: .seconds(1)) == nil)
    queue.end(first[0])
    #expect(queue.late(after: .milliseconds(1500)).isEmpty)
    #expect(queue.numbers(after: .milliseconds(1500)) == [32])
    #expect(queue.numbers(after: .milliseconds(1500)) == nil)
  }

  @Test func `Deadlines in a row are looked at together`() {
    let queue = Numbers(timeout: .seconds(4))
    for number in 1...500 { queue.add(number, after: .microseconds(number * 50)) }
    var looks = 0
    var late: [Int] = []
    while let alarm = queue.alarm {
      looks += 1
      late += queue.late(after: alarm)
    }
    #expect(late == Array(1...500))
    // Five hundred in 25 ms.
    #expect(looks <= 4)
  }

  @Test func `Items that leave the middle of a chain do not hold up those behind them`() throws {
    let queue = Numbers(timeout: .seconds(4))
    queue.add(0, conflicts: [7])
    let first = try #require(queue.next())
    for number in 1...5 { queue.add(number, conflicts: [7, 8], after: .seconds(1)) }
    for number in 6...7 { queue.add(number, conflicts: [8, 7], after: .seconds(2)) }
    #expect(queue.late(after: .seconds(5)) == [0, 1, 2, 3, 4, 5])
    queue.end(first)
    let next = try #require(queue.next(after: .seconds(5)))
    #expect(next.numbers == [6])
    queue.end(next)
    #expect(queue.numbers(after: .seconds(5)) == [7])
  }

  @Test func `A queue is idle once everything has ended, and needs no alarm`() throws {
    let queue = Numbers(timeout: .seconds(4), stallsAfter: .seconds(1))
    #expect(queue.isIdle)
    queue.add(1, conflicts: [1])
    let batch = try #require(queue.next())
    #expect(!queue.isIdle)
    queue.end(batch)
    #expect(queue.isIdle)
    #expect(queue.late(after: .seconds(9)).isEmpty)
    #expect(queue.alarm == nil)
    #expect(queue.unanswered == 0)
  }

  /// Whatever comes and ends, and in whatever order, nothing is lost, doubled, or out of order within a conflict key.
  @Test(arguments: 1...20) func `Items of a conflict key go in order, and every item goes once`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let queue = Numbers(weight: 5, perKey: 2, worthAnother: 2, batches: 3, timeout: .seconds(30))
    var conflicts: [[Int]] = []
    var underWay: [BatchQueue.Batch] = []
    var gone: [Int] = []
    var late: Set<Int> = []
    var now = Duration.zero

    func begin() {
      while let batch = queue.next(after: now) {
        let busy = underWay.filter { $0.key == batch.key }.flatMap(\.numbers)
        for (place, number) in batch.numbers.enumerated() {
          let others = busy + batch.numbers[..<place]
          #expect(others.allSatisfy { Set(conflicts[$0]).isDisjoint(with: conflicts[number]) })
          #expect(gone.allSatisfy { $0 < number || Set(conflicts[$0]).isDisjoint(with: conflicts[number]) })
        }
        gone += batch.numbers
        underWay.append(batch)
      }
      #expect(underWay.count <= 3)
    }

    for number in 0..<500 {
      now = .milliseconds(number * 200)
      let key = Int64.random(in: 1...3, using: &random)
      // Of each key its own, so that the order can be told from the numbers alone.
      conflicts.append((0..<3).map { _ in Int.random(in: 0..<8, using: &random) * 10 + Int(key) })
      let weight = Int.random(in: 1...3, using: &random)
      #expect(queue.add(number, key: key, weight: weight, conflicts: conflicts[number], after: now))
      late.formUnion(queue.late(after: now))
      begin()
      while !underWay.isEmpty, Int.random(in: 0..<4, using: &random) > 0 {
        queue.end(underWay.remove(at: Int.random(in: underWay.indices, using: &random)))
        begin()
      }
    }
    while !underWay.isEmpty {
      queue.end(underWay.removeFirst())
      begin()
    }
    #expect(queue.isIdle)
    #expect(Set(gone).count == gone.count)
    #expect(Set(gone).union(late) == Set(0..<500))
  }
}

extension BatchQueue.Entry {
  fileprivate var number: Int { (waiter as? BatchQueueTests.Number)?.value ?? -1 }
}

extension BatchQueue.Batch {
  fileprivate var numbers: [Int] { entries.map(\.number) }
}
