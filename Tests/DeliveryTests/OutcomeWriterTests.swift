import Postgres
import Locking
import Support
import Testing
import Wire

@testable import Delivery

@Suite struct OutcomeWriterTests {
  private func settlement(_ push: Int64) -> Settlement {
    Settlement(push: PushNumber(push), batch: 0, state: .accepted, left: true)
  }

  private final class Record: Sendable {
    let written = Mutex<[[Int64]]>([])
    let capacities = Mutex<[Capacity]>([])

    /// - Returns: whether it was the first statement.
    func write(_ settlements: [Settlement]) -> Bool {
      written.withLock { written in
        written.append(settlements.map(\.push.rawValue))
        return written.count == 1
      }
    }
  }

  @Test func `Outcomes that arrive while a statement is under way share the next`() async {
    let record = Record()
    let (entered, enter) = AsyncStream.makeStream(of: Void.self)
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    let outcomeWriter = OutcomeWriter { settlements, capacities in
      record.capacities.withLock { $0 += capacities }
      guard record.write(settlements) else { return }
      enter.yield()
      for await _ in gate { break }
    }
    outcomeWriter.add([settlement(1)], capacity: Capacity(places: 1, count: 1))
    for await _ in entered { break }
    for push in 2...4 {
      outcomeWriter.add([settlement(Int64(push))], capacity: Capacity(places: push, count: push % 2))
    }
    open.finish()
    #expect(await outcomeWriter.flush())
    #expect(record.written.withLock(\.self) == [[1], [2, 3, 4]])
    #expect(record.capacities.withLock(\.self) == [Capacity(places: 1, count: 1), Capacity(places: 3, count: 1)])
  }

  @Test func `A batch has unwritten outcomes until they are written, or never will be`() async throws {
    struct Refused: Error {}
    let unwritten = UnwrittenOutcomes()
    let (sendout, failing) = (
      SendoutKey(CustomerID(1), SendoutID(1)), SendoutKey(CustomerID(1), SendoutID(2))
    )
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    let outcomeWriter = OutcomeWriter(of: sendout, unwritten: unwritten) { _, _ in
      for await _ in gate { break }
    }
    #expect(unwritten.batches(of: sendout).isEmpty)
    outcomeWriter.add([settlement(1)])
    outcomeWriter.add([settlement(2)])
    #expect(unwritten.batches(of: sendout) == [0] && unwritten.batches(of: failing).isEmpty)
    open.finish()
    #expect(await outcomeWriter.flush())
    try await waitUntil { unwritten.batches(of: sendout).isEmpty }
    let other = OutcomeWriter(of: failing, unwritten: unwritten) { _, _ in
      throw Refused()
    }
    other.add([settlement(1)])
    #expect(await !other.flush())
    try await waitUntil { unwritten.batches(of: failing).isEmpty }
  }

  @Test func `After a failure nothing more is written, and a flush says so`() async {
    struct Refused: Error {}
    let record = Record()
    let outcomeWriter = OutcomeWriter { settlements, _ in
      _ = record.write(settlements)
      throw Refused()
    }
    outcomeWriter.add([settlement(1)])
    #expect(await !outcomeWriter.flush())
    outcomeWriter.add([settlement(2)])
    #expect(await !outcomeWriter.flush())
    #expect(record.written.withLock(\.self) == [[1]])
  }

  @Test func `While the database is away outcomes are written again, until cancelled`() async {
    let record = Record()
    let (entered, enter) = AsyncStream.makeStream(of: Void.self)
    let outcomeWriter = OutcomeWriter { settlements, _ in
      _ = record.write(settlements)
      enter.yield()
      throw PostgresError.unavailable("away")
    }
    outcomeWriter.add([settlement(1)])
    for await _ in entered.prefix(3) {}
    outcomeWriter.cancel()
    #expect(await !outcomeWriter.flush())
  }
}
