import Testing

@testable import Postgres

@Suite struct CallQueueTests {
  private static let one = Statement("test.one", .read, "SELECT 1")

  private func call(expiring nanoseconds: Int64) -> Call {
    let call = Call(Self.one, ParameterBuffer(), role: .read)
    call.expires = MonotonicInstant(nanoseconds: nanoseconds)
    return call
  }

  @Test func `Those that are sent again come first, in the order they were sent`() {
    var queue = CallQueue()
    let calls = (0..<4).map { call(expiring: Int64($0)) }
    queue.append(calls[2])
    queue.append(calls[3])
    queue.appendAgain(calls[0])
    queue.appendAgain(calls[1])
    for call in calls {
      #expect(queue.first === call)
      queue.removeFirst()
    }
    #expect(queue.isEmpty)
  }

  @Test func `One sent again, which expires later, does not keep those behind it from expiring`() {
    var queue = CallQueue()
    let (again, fresh) = (call(expiring: 20), call(expiring: 10))
    queue.append(fresh)
    queue.appendAgain(again)
    #expect(queue.expires == MonotonicInstant(nanoseconds: 10))
    #expect(queue.popExpired(at: MonotonicInstant(nanoseconds: 10)) === fresh)
    #expect(queue.popExpired(at: MonotonicInstant(nanoseconds: 10)) == nil)
    #expect(queue.expires == MonotonicInstant(nanoseconds: 20))
  }

  @Test func `The last to come is the first to be turned away`() {
    var queue = CallQueue()
    let (again, fresh) = (call(expiring: 20), call(expiring: 10))
    queue.append(fresh)
    queue.appendAgain(again)
    #expect(queue.popLast() === fresh)
    #expect(queue.popLast() === again)
    #expect(queue.popLast() == nil)
  }
}
