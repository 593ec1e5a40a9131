import Synchronization
import Testing
import Wire

@testable import Delivery

@Suite struct SettlerTests {
  private func settlement(_ device: Int64) -> Settlement {
    Settlement(device: DeviceID(device), state: .accepted, left: true)
  }

  private final class Record: Sendable {
    let written = Mutex<[[Int64]]>([])
    let room = Mutex(0)

    /// - Returns: whether it was the first statement.
    func write(_ settlements: [Settlement]) -> Bool {
      written.withLock { written in
        written.append(settlements.map(\.device.rawValue))
        return written.count == 1
      }
    }
  }

  @Test func `What comes in while one statement is under way travels in the next`() async {
    let record = Record()
    let outcomeWriter = OutcomeWriter { count in record.room.withLock { $0 += count } }
    let more = (2...4).map { settlement($0) }
    outcomeWriter.add([settlement(1)], room: 1)
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        await outcomeWriter.run { settlements in
          if record.write(settlements) {
            for settlement in more { outcomeWriter.add([settlement], room: 2) }
          }
          return true
        }
      }
      #expect(await outcomeWriter.flush())
      outcomeWriter.finish()
    }
    #expect(record.written.withLock(\.self) == [[1], [2, 3, 4]])
    #expect(record.room.withLock(\.self) == 7)
  }

  @Test func `When writing is given up nobody waits for ever, and everybody is told`() async {
    let outcomeWriter = OutcomeWriter { _ in }
    outcomeWriter.add([settlement(1)], room: 1)
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await outcomeWriter.run { _ in false } }
      #expect(await !outcomeWriter.flush())
    }
    #expect(await !outcomeWriter.flush())
  }
}
