import CLibpq
import Testing

@testable import Postgres

/// The state machine alone: no socket, no server, a clock that stands still until it is moved.
@Suite struct PipelineStateTests {
  private var state = PipelineState()
  private var actions: [PipelineAction] = []
  private var now = MonotonicInstant(nanoseconds: 0)

  private static let read = Statement("test.read", .read, "SELECT 1")
  private static let write = Statement("test.write", .write, "INSERT")

  private func call(_ role: Call.Role, limit: Duration? = nil, deadline: MonotonicInstant = .distantFuture) -> Call {
    Call(role == .read ? Self.read : Self.write, ParameterBuffer(), role: role, limit: limit, deadline: deadline)
  }

  /// Sends calls and drops the actions.
  private mutating func send(_ calls: Call...) {
    for call in calls { state.send(call, at: now, &actions) }
    state.endBatch(&actions)
    actions = []
  }

  private mutating func receive(_ results: PipelineResult...) -> [String] {
    actions = []
    for result in results { state.receive(result, at: now, &actions) }
    return actions.map(describe)
  }

  private func rows() -> PipelineResult {
    guard let result = PQmakeEmptyPGresult(nil, PGRES_COMMAND_OK) else { fatalError("out of memory") }
    return .rows(ResultBox(result, statement: "test"))
  }

  private func failure(_ sqlState: String, fatal: Bool = false, stale: Bool = false) -> PipelineResult {
    var error = ServerError(sqlState: sqlState, message: "no", statement: "test")
    error.endsConnection = fatal
    error.meansStalePlan = stale
    return .failed(error)
  }

  private func describe(_ action: PipelineAction) -> String {
    switch action {
    case .prepare(_, let plan): "prepare \(plan.name)"
    case .execute(_, let plan): "execute \(plan.name)"
    case .deallocate(let plan): "deallocate \(plan.name)"
    case .sync: "sync"
    case .succeed: "succeed"
    case .fail(_, PostgresError.server(let error)): "fail \(error.sqlState)"
    case .fail(_, PostgresError.connectionLost): "fail lost"
    case .fail(_, PostgresError.unknownOutcome): "fail unknown"
    case .fail(_, PostgresError.timedOut): "fail timed out"
    case .fail(_, PostgresError.unavailable): "fail unavailable"
    case .fail(_, is CancellationError): "fail cancelled"
    case .fail(_, let error): "fail \(error)"
    case .giveUp: "give up"
    case .resend: "resend"
    case .requestCancel: "cancel"
    case .close: "close"
    }
  }

  // MARK: Sending

  @Test mutating func `Reads share one Sync, a write has one of its own`() {
    for role in [Call.Role.read, .read, .write, .write, .read] { state.send(call(role), at: now, &actions) }
    state.endBatch(&actions)
    #expect(
      actions.map(describe) == [
        "prepare test.read", "execute test.read", "execute test.read", "sync",
        "prepare test.write", "execute test.write", "sync", "execute test.write", "sync", "execute test.read", "sync",
      ])
  }

  @Test mutating func `BEGIN travels under the Sync of the statement behind it`() {
    state.send(call(.begin), at: now, &actions)
    state.endBatch(&actions)
    state.send(call(.within), at: now, &actions)
    #expect(actions.map(describe) == ["prepare test.write", "execute test.write", "execute test.write", "sync"])
  }

  @Test mutating func `Other parameter types make another plan`() {
    let number = Call(Self.read, ParameterBuffer(1), role: .read)
    let text = Call(Self.read, ParameterBuffer("1"), role: .read)
    for call in [number, text] { state.send(call, at: now, &actions) }
    #expect(
      actions.map(describe) == ["prepare test.read", "execute test.read", "prepare test.read#2", "execute test.read#2"])
  }

  // MARK: Answers

  @Test mutating func `A read is answered by its result, a write by its Sync`() {
    send(call(.read), call(.write))
    #expect(receive(rows(), .end, rows(), .end) == ["succeed"])
    #expect(receive(.sync, rows(), .end, rows(), .end) == [])
    #expect(receive(.sync) == ["succeed"])
    #expect(state.isIdle)
  }

  @Test mutating func `Reads behind a failed one never ran and are sent again`() {
    send(call(.read), call(.read), call(.read))
    #expect(
      receive(rows(), .end, failure("22012"), .end, .aborted, .end, .aborted, .end, .sync) == [
        "fail 22012", "resend", "resend",
      ])
    #expect(state.isIdle)
  }

  @Test mutating func `A write whose commit fails is answered with that error`() {
    send(call(.write))
    #expect(receive(rows(), .end, rows(), .end, failure("23503"), .end, .sync) == ["fail 23503"])
  }

  @Test mutating func `A statement that cannot be prepared fails alone and is prepared again the next time`() {
    send(call(.write), call(.write))
    #expect(receive(failure("42P01"), .end, .aborted, .end, .sync) == ["fail 42P01"])
    // The second was sent before that was known: it gets the reason, not "no such plan".
    #expect(receive(failure("26000", stale: true), .end, .sync) == ["fail 42P01"])
    state.send(call(.write), at: now, &actions)
    #expect(actions.map(describe).contains("prepare test.write#2"))
  }

  @Test mutating func `A statement with a stale plan is prepared and sent again, once`() {
    let stale = call(.read)
    send(call(.read))
    _ = receive(rows(), .end, rows(), .end, .sync)
    send(stale)
    #expect(
      receive(failure("0A000", stale: true), .end, .sync) == ["deallocate test.read", "sync", "resend"])
    state.send(stale, at: now, &actions)
    #expect(actions.map(describe).contains("prepare test.read#2"))
    state.endBatch(&actions)
    #expect(receive(rows(), .end, .sync) == [])
    #expect(
      receive(rows(), .end, failure("0A000", stale: true), .end, .sync)
        == ["deallocate test.read#2", "sync", "fail 0A000"])
    // The server did not have the plan to be freed: nothing follows from that.
    #expect(receive(failure("26000", stale: true), .end, .sync) == [])
    #expect(state.isIdle)
  }

  @Test mutating func `Of many texts of one name, the oldest plan makes room`() {
    func varied(_ number: Int) -> Call {
      Call(Statement("test.varied", .read, "SELECT \(number)"), ParameterBuffer(), role: .read)
    }
    for number in 1...32 { send(varied(number)) }
    state.send(call(.read), at: now, &actions)
    state.send(varied(33), at: now, &actions)
    state.endBatch(&actions)
    #expect(
      actions.map(describe) == [
        "prepare test.read", "execute test.read", "sync", "deallocate test.varied", "sync", "prepare test.varied#33",
        "execute test.varied#33", "sync",
      ])
    actions = []
    state.send(varied(33), at: now, &actions)
    state.send(varied(1), at: now, &actions)
    state.endBatch(&actions)
    #expect(
      actions.map(describe) == [
        "execute test.varied#33", "sync", "deallocate test.varied#2", "sync", "prepare test.varied#34",
        "execute test.varied#34", "sync",
      ])
  }

  @Test mutating func `A stale plan that several calls have used is prepared again once`() {
    send(call(.write))
    _ = receive(rows(), .end, rows(), .end, .sync)
    send(call(.write), call(.write))
    #expect(
      receive(failure("0A000", stale: true), .end, .sync) == ["deallocate test.write", "sync", "resend"])
    #expect(receive(failure("0A000", stale: true), .end, .sync) == ["resend"])
  }

  @Test mutating func `A feature that PostgreSQL does not support is not taken for a stale plan`() {
    send(call(.write))
    #expect(receive(rows(), .end, failure("0A000"), .end, .sync) == ["fail 0A000"])
  }

  @Test mutating func `A failed BEGIN fails the statement behind it`() {
    send(call(.begin), call(.within))
    #expect(receive(rows(), .end, failure("53300"), .end, .aborted, .end, .sync) == ["fail 53300", "fail 53300"])
  }

  // MARK: Loss

  @Test mutating func `A lost connection fails each call by what it may have done`() {
    send(call(.read), call(.write), call(.within), call(.commit))
    actions = []
    state.lose("gone", &actions)
    #expect(actions.map(describe) == ["fail lost", "fail unknown", "fail lost", "fail unknown", "close"])
    #expect(state.callsInFlight == 0)
  }

  @Test mutating func `A write with a result but no Sync may have been committed`() {
    send(call(.write), call(.read))
    _ = receive(rows(), .end, rows(), .end)
    #expect(receive(failure("57P01", fatal: true)) == ["fail unknown", "fail lost", "close"])
  }

  @Test mutating func `Calls that the server did not reach before it ended the connection had no effect`() {
    send(call(.write), call(.read), call(.write), call(.commit))
    #expect(receive(rows(), .end) == [])
    #expect(
      receive(failure("57P01", fatal: true)) == ["fail lost", "fail lost", "fail lost", "fail lost", "close"])
  }

  @Test mutating func `A connection that ends in the middle of COMMIT leaves its outcome unknown`() {
    send(call(.commit), call(.within))
    _ = receive(rows(), .end)
    #expect(receive(failure("57P01", fatal: true)) == ["fail unknown", "fail lost", "close"])
  }

  @Test mutating func `A connection that ends without an announcement leaves the outcome of every write unknown`() {
    send(call(.write), call(.read), call(.write))
    _ = receive(rows(), .end)
    #expect(receive(failure("", fatal: true)) == ["fail unknown", "fail lost", "fail unknown", "close"])
  }

  // MARK: Cancelling

  @Test mutating func `A call is cancelled once it may be what the server runs`() {
    let second = call(.write)
    send(call(.write), second)
    state.cancel(second, because: .task, at: now, &actions)
    #expect(actions.isEmpty)
    #expect(receive(rows(), .end, rows(), .end, .sync) == ["succeed", "cancel"])
    #expect(receive(failure("57014"), .end, .sync) == ["fail cancelled"])
  }

  @Test mutating func `A call is cancelled though the server keeps the answers in front of it for their Sync`() {
    let (first, wanted, last) = (call(.read), call(.read), call(.read))
    send(first, wanted, last)
    state.cancel(wanted, because: .task, at: now, &actions)
    #expect(actions.map(describe) == ["cancel"])
    #expect(
      receive(rows(), .end, rows(), .end, failure("57014"), .end, .aborted, .end, .sync)
        == ["succeed", "fail cancelled", "resend"])
  }

  @Test mutating func `A cancel request without effect is repeated after growing pauses, a limited number of times`() {
    let call = call(.write)
    send(call)
    let start = now
    var requests = [now]
    state.cancel(call, because: .task, at: now, &actions)
    while true {
      #expect(actions.map(describe) == ["cancel"])
      actions = []
      state.cancelReturned(at: now, &actions)
      #expect(actions.isEmpty)
      guard state.deadline < .distantFuture else { break }
      now = state.deadline
      requests.append(now)
      state.tick(at: now, &actions)
    }
    #expect(requests.count == CancelRequest.attempts)
    #expect(requests.map { $0.milliseconds(since: start) - 1 } == [-1, 2, 6, 14, 30, 62, 126, 254])
  }

  @Test mutating func `A statement in a transaction, hit by the cancel request for another, is unavailable`() {
    for role in [Call.Role.within, .commit] {
      let wanted = call(.within)
      send(wanted, call(role))
      state.cancel(wanted, because: .task, at: now, &actions)
      _ = receive(rows(), .end, rows(), .end, .sync)
      #expect(receive(failure("57014"), .end, .sync) == ["fail unavailable"])
      state.cancelReturned(at: now, &actions)
      send(call(.read))
      _ = receive(rows(), .end, rows(), .end, .sync)
    }
  }

  @Test
  mutating func `A statement hit by the cancel request for the one in front is sent again if its time is not over`() {
    let hung = call(.write, limit: .seconds(3))
    send(hung, call(.write, limit: .seconds(3)))
    _ = receive(rows(), .end)
    now = state.deadline
    actions = []
    state.tick(at: now, &actions)
    #expect(actions.map(describe) == ["cancel"])
    #expect(receive(rows(), .end, .sync, failure("57014"), .end, .sync) == ["succeed", "resend"])
  }

  @Test mutating func `A statement that finished before it could be cancelled has its answer`() {
    let write = call(.write)
    send(write)
    state.cancel(write, because: .task, at: now, &actions)
    #expect(receive(rows(), .end, rows(), .end, .sync) == ["succeed"])
  }

  @Test mutating func `A statement hit by the cancel request for another is sent again`() {
    let (wanted, other) = (call(.write), call(.write))
    send(wanted, other)
    state.cancel(wanted, because: .task, at: now, &actions)
    #expect(receive(rows(), .end, rows(), .end, .sync) == ["succeed"])
    #expect(receive(failure("57014"), .end, .sync) == ["resend"])
  }

  @Test mutating func `A request may hit until a Sync sent after its return is answered`() {
    let first = call(.write)
    send(first)
    state.cancel(first, because: .task, at: now, &actions)
    _ = receive(rows(), .end, rows(), .end, .sync)
    state.cancelReturned(at: now, &actions)
    #expect(state.cancelIsPending)
    send(call(.write))
    #expect(receive(failure("57014"), .end, .sync) == ["resend"])
    #expect(!state.cancelIsPending)
    send(call(.write))
    #expect(receive(failure("57014"), .end, .sync) == ["fail 57014"])
  }

  @Test mutating func `Each of two cancelled calls gets a request of its own, one after the other`() {
    let (first, second) = (call(.write), call(.write))
    send(first, second)
    state.cancel(first, because: .task, at: now, &actions)
    state.cancel(second, because: .task, at: now, &actions)
    #expect(actions.map(describe) == ["cancel"])
    #expect(receive(rows(), .end, failure("57014"), .end, .sync) == ["fail cancelled"])
    actions = []
    state.cancelReturned(at: now, &actions)
    #expect(actions.map(describe) == ["cancel"])
  }

  // MARK: Deadlines

  @Test
  mutating func `A call past its deadline is given up at once and cancelled, and stays in flight until it is answered`()
  {
    let (late, next) = (MonotonicInstant(nanoseconds: 1000), MonotonicInstant(nanoseconds: 2000))
    send(call(.write, deadline: late), call(.write, deadline: next), call(.read))
    #expect(state.passDeadlines(at: now, &actions) == late)
    #expect(actions.isEmpty)
    #expect(state.passDeadlines(at: late, &actions) == next)
    #expect(actions.map(describe) == ["give up", "cancel"])
    #expect(state.callsInFlight == 3)
    #expect(receive(rows(), .end, failure("57014"), .end, .sync) == ["fail timed out"])
    #expect(state.callsInFlight == 2)
  }

  @Test mutating func `A call whose result awaits its Sync can still miss its deadline`() {
    let late = MonotonicInstant(nanoseconds: 1000)
    send(call(.write, deadline: late))
    _ = receive(rows(), .end, rows(), .end)
    #expect(state.passDeadlines(at: late, &actions) == .distantFuture)
    #expect(actions.map(describe) == ["give up"])
    #expect(receive(.sync) == ["succeed"])
    #expect(state.isIdle)
  }

  // MARK: Time limits

  @Test mutating func `The server's own time limit is distinguished from another client's cancel by the time it took`()
  {
    send(call(.read, limit: .seconds(3)))
    now = now.advanced(by: .seconds(3))
    #expect(receive(rows(), .end, failure("57014"), .end, .sync) == ["fail timed out"])
    send(call(.read, limit: .seconds(3)))
    #expect(receive(failure("57014"), .end, .sync) == ["fail 57014"])
  }

  @Test mutating func `A server that does not enforce its limit is asked to cancel, then its connection is closed`() {
    send(call(.write, limit: .seconds(3)))
    _ = receive(rows(), .end)
    #expect(state.deadline == now.advanced(by: .seconds(4)))
    now = state.deadline
    actions = []
    state.tick(at: now, &actions)
    #expect(actions.map(describe) == ["cancel"])
    now = state.deadline
    actions = []
    state.tick(at: now, &actions)
    #expect(actions.map(describe) == ["fail unknown", "close"])
  }

  @Test mutating func `The time at the head is that of one statement, however many there are`() {
    send(call(.write), call(.write))
    for _ in 0..<2 {
      #expect(state.load.timeAtHead(at: now) == 0)
      now = now.advanced(by: .milliseconds(15))
      #expect(state.load.timeAtHead(at: now) == 15_000_000)
      _ = receive(rows(), .end)
    }
    now = now.advanced(by: .milliseconds(25))
    #expect(state.load.timeAtHead(at: now) == 25_000_000)
  }

  @Test mutating func `A Sync that is not answered has the time limit of the call that waits for it`() {
    send(call(.write, limit: .seconds(3)), call(.write, limit: .seconds(5)))
    now = now.advanced(by: .seconds(2))
    _ = receive(rows(), .end, rows(), .end)
    #expect(state.deadline == now.advanced(by: .seconds(13)))
    now = state.deadline
    actions = []
    state.tick(at: now, &actions)
    #expect(actions.map(describe) == ["fail unknown", "fail unknown", "close"])
  }

  @Test mutating func `Behind a read's Sync the time of the next call runs, from when it was sent`() {
    send(call(.read, limit: .seconds(3)))
    _ = receive(rows(), .end, rows(), .end)
    #expect(state.deadline == .distantFuture)
    now = now.advanced(by: .seconds(100))
    send(call(.read, limit: .seconds(3)))
    #expect(state.deadline == now.advanced(by: .seconds(13)))
  }

  @Test mutating func `A BEGIN that nothing follows is answered, so that the server does not look hung`() {
    state.send(call(.begin, limit: .seconds(3)), at: now, &actions)
    actions = []
    state.endSegment(&actions)
    #expect(actions.map(describe) == ["sync"])
    #expect(receive(rows(), .end, rows(), .end, .sync) == ["succeed"])
    #expect(state.deadline == .distantFuture)
    #expect(state.isIdle)
  }

  @Test mutating func `Time runs for the call that the server is at, not for those that wait behind it`() {
    send(call(.write, limit: .seconds(3)), call(.write, limit: .seconds(3)))
    now = now.advanced(by: .seconds(2))
    _ = receive(rows(), .end, rows(), .end, .sync)
    #expect(state.deadline == now.advanced(by: .seconds(4)))
  }
}
