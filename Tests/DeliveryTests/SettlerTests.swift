import Synchronization
import Testing
import Wire

@testable import Delivery

@Suite struct SettlerTests {
  private func settlement(_ device: Int64) -> Settlement {
    Settlement(device: DeviceID(device), state: .accepted, left: true)
  }

  @Test func `What comes in while one statement is under way travels in the next`() async {
    let written = Mutex<[[Int64]]>([])
    let room = Mutex(0)
    let settler = Settler { count in room.withLock { $0 += count } }
    settler.add([settlement(1)], room: 1)
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        await settler.run { settlements in
          let isFirst = written.withLock { written in
            written.append(settlements.map(\.device.rawValue))
            return written.count == 1
          }
          if isFirst {
            for device in 2...4 as ClosedRange<Int64> { settler.add([self.settlement(device)], room: 2) }
          }
          return true
        }
      }
      await settler.flush()
      #expect(written.withLock(\.self) == [[1]] || written.withLock(\.self) == [[1], [2, 3, 4]])
      settler.finish()
    }
    #expect(written.withLock(\.self) == [[1], [2, 3, 4]])
    #expect(room.withLock(\.self) == 7)
  }

  @Test func `When writing is given up nobody waits for ever`() async {
    let settler = Settler { _ in }
    settler.add([settlement(1)], room: 1)
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await settler.run { _ in false } }
      await settler.flush()
    }
    await settler.flush()
  }
}
