import CLibpq

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// One live connection on the reactor's thread: it carries out what the pipeline's state machine decides, and reports the
/// results to it.
///
/// `@unchecked Sendable`: other threads only pass it on to the reactor; every member is used on the reactor's thread alone.
final class Session: @unchecked Sendable {
  /// What the connection is doing; only a leased one does anything but a pipeline.
  enum Mode {
    case pipeline
    case operation(any UnpipelinedOperation)
  }

  let connection: LibpqConnection
  /// Its number in the pool's state.
  let id: PoolState.ConnectionID
  private unowned let driver: PoolDriver
  var pipeline = PipelineState()
  var mode = Mode.pipeline
  private(set) var isLost = false
  /// Whether the server has refused a write: it is a standby.
  private var isReadOnly = false
  /// Whether the server has answered on this connection: only then is it known to be good.
  private(set) var isProven = false
  /// The lease whose statements it takes; another number with each lease, and once its transaction has ended.
  private(set) var leaseID = 0
  /// Whether the lease has sent a statement.
  var hasBegun = false
  /// Whether the socket did not take everything.
  private(set) var wantsToWrite = false
  /// Whether it will be flushed at the end of this turn.
  var awaitsFlush = false
  var actions: [PipelineAction] = []

  init(_ connection: LibpqConnection, _ id: PoolState.ConnectionID, driver: PoolDriver) {
    self.connection = connection
    self.id = id
    self.driver = driver
  }

  var socket: Int32 { connection.socket }
  var load: ConnectionLoad { pipeline.load }

  // MARK: Calls

  func send(_ call: Call, at now: MonotonicInstant) {
    guard !isLost else { return call.fail(PostgresError.connectionLost(statement: call.statement.name)) }
    guard case .pipeline = mode else { return call.fail(PostgresError.misuse("the connection is busy with a COPY")) }
    call.session = self
    pipeline.send(call, at: now, &actions)
    perform()
  }

  func endBatch() {
    guard !isLost, case .pipeline = mode else { return }
    pipeline.endBatch(&actions)
    perform()
    flush()
  }

  /// Has the server answer a `begin` that no statement follows for now.
  func endSegment() {
    guard !isLost, case .pipeline = mode else { return }
    pipeline.endSegment(&actions)
    perform()
  }

  /// Only what bears the new lease's number may use the connection from now on.
  func newLease() -> Int {
    leaseID += 1
    hasBegun = false
    return leaseID
  }

  func cancel(_ call: Call) {
    pipeline.cancel(call, because: .task, at: driver.now, &actions)
    perform()
  }

  var deadline: MonotonicInstant { pipeline.deadline }

  /// Answers the callers of all calls whose deadline has passed.
  /// - Returns: when the next deadline passes.
  func passDeadlines(at now: MonotonicInstant) -> MonotonicInstant {
    defer { perform() }
    return pipeline.passDeadlines(at: now, &actions)
  }

  func tick(at now: MonotonicInstant) {
    pipeline.tick(at: now, &actions)
    perform()
  }

  /// The server has answered.
  func prove() {
    guard !isProven else { return }
    isProven = true
    driver.proved(self)
  }

  // MARK: The socket

  /// Whether the socket is to be watched for what the server sends.
  var wantsToRead: Bool { if case .operation(let operation) = mode { operation.wantsToRead } else { true } }

  /// What poll(2) saw on the socket.
  func ready(_ events: Int16, at now: MonotonicInstant) {
    if Int32(events) & ~Int32(POLLOUT) != 0 { readable(at: now) }
    if wantsToWrite, Int32(events) & Int32(POLLOUT) != 0 { flush() }
  }

  func readable(at now: MonotonicInstant) {
    guard !isLost else { return }
    if case .operation(let operation) = mode, operation.watchesForError, errorIsNext() { operation.errorIsComing() }
    let isAlive = connection.consumeInput()
    switch mode {
    case .pipeline:
      readPipeline(at: now)
      if pipeline.syncsAnswered > 0 { prove() }
    case .operation(let operation): operation.advance(self)
    }
    while let (channel, payload) = connection.nextNotification() { driver.listener.notified(channel, payload) }
    if !isAlive { lose(connection.errorMessage) } else if wantsToWrite { flush() }
  }

  /// Whether the socket's next bytes are an ErrorResponse: `E`, a length of less than 16 KiB, and the field `S`.
  ///
  /// Nothing else of the protocol looks like that, not even the middle of a message. Two zero bytes end a text and its
  /// message, so a message's first letter follows. An encrypted connection never shows it.
  private func errorIsNext() -> Bool {
    withUnsafeTemporaryAllocation(byteCount: 6, alignment: 1) { bytes in
      recv(socket, bytes.baseAddress, bytes.count, Int32(MSG_PEEK)) == bytes.count
        && bytes[0] == UInt8(ascii: "E") && bytes[1] == 0 && bytes[2] == 0 && bytes[3] < 0x40
        && bytes[5] == UInt8(ascii: "S")
    }
  }

  func flush() {
    guard !isLost else { return }
    switch connection.flush() {
    case .all:
      wantsToWrite = false
      if case .operation(let operation) = mode { operation.flushed() }
    case .partly: wantsToWrite = true
    case .failed: lose(connection.errorMessage)
    }
  }

  private func readPipeline(at now: MonotonicInstant) {
    while !isLost, pipeline.expectsResults, !connection.isBusy {
      let result = nextResult()
      // Once it has closed the connection, libpq has forgotten what was sent, and says so again and again.
      if case .end = result, !pipeline.hasResult, !connection.isUp { return lose(connection.errorMessage) }
      pipeline.receive(result, at: now, &actions)
      perform()
    }
    if isReadOnly, !isLost, pipeline.isIdle { driver.cannotWrite(self) }
  }

  private func nextResult() -> PipelineResult {
    guard let result = connection.nextResult() else { return .end }
    switch PQresultStatus(result) {
    case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY:
      return .rows(ResultBox(result, statement: pipeline.headStatement))
    case PGRES_PIPELINE_SYNC:
      PQclear(result)
      return .sync
    case PGRES_PIPELINE_ABORTED:
      PQclear(result)
      return .aborted
    case PGRES_FATAL_ERROR:
      defer { PQclear(result) }
      return .failed(ServerError(result: result, statement: pipeline.headStatement))
    default:
      PQclear(result)
      return .unexpected("COPY has a method of its own")
    }
  }

  // MARK: Actions

  func perform() {
    guard !actions.isEmpty else { return }
    var due: [PipelineAction] = []
    swap(&due, &actions)
    for action in due { perform(action) }
    due.removeAll(keepingCapacity: true)
    if actions.isEmpty { swap(&due, &actions) }
  }

  private func perform(_ action: PipelineAction) {
    switch action {
    case .prepare(let call, let plan):
      plan.meter = driver.metrics.meter(of: call.statement.name)
      sent(connection.sendPrepare(name: plan.name, sql: call.statement.sql, types: plan.types))
    case .execute(let call, let plan):
      call.meter = plan.meter
      sent(connection.sendExecute(name: plan.name, call.parameters, scratch: &driver.scratch))
    case .deallocate(let plan): sent(connection.sendDeallocate(name: plan.name))
    case .sync: sent(connection.sync())
    case .succeed(let call, let result):
      driver.left(call)
      call.meter?.succeeded(call, at: driver.now)
      call.succeed(result)
    case .fail(let call, let error):
      driver.left(call)
      call.meter?.failed(call, error, at: driver.now)
      if case PostgresError.server(let error) = error, error.sqlState == ServerError.readOnlyTransaction {
        isReadOnly = true
      }
      call.fail(error)
    case .giveUp(let call, let error): call.fail(error)
    case .resend(let call):
      driver.left(call)
      driver.resend(call)
    case .requestCancel: requestCancel()
    case .close(let why): close(why)
    }
  }

  /// libpq refuses to send only on a broken connection, or when it is out of memory.
  private func sent(_ isSent: Bool) {
    if !isSent { lose(connection.errorMessage) } else { driver.needsFlush(self) }
  }

  private func requestCancel() {
    guard let cancellation = connection.cancellation() else { return }
    driver.sendCancel(cancellation) { [self] in
      pipeline.cancelReturned(at: driver.now, &actions)
      perform()
    }
  }

  // MARK: Loss

  /// Whether the connection is fit for another lease: nothing is pending, no transaction is open, no cancel request can still hit
  /// it, and its server takes writes.
  var isAtRest: Bool {
    guard !isLost, !isReadOnly, case .pipeline = mode else { return false }
    return pipeline.isIdle && !pipeline.cancelIsPending && !connection.isInTransaction
  }

  /// Whether the server may be running something for this connection.
  private var isWorking: Bool { if case .operation = mode { true } else { !pipeline.isIdle } }

  /// Closes the connection, and has the server stop what it may still run on it.
  func abandon() {
    guard !isLost else { return }
    isLost = true
    if isWorking, let cancellation = connection.cancellation() { driver.sendCancel(cancellation) {} }
    if case .operation(let operation) = mode {
      mode = .pipeline
      operation.failed(operation.lossError)
    }
    pipeline.lose("closed", &actions)
    perform()
  }

  func lose(_ why: String) {
    guard !isLost else { return }
    pipeline.lose(why, &actions)
    perform()
  }

  private func close(_ why: String) {
    guard !isLost else { return }
    isLost = true
    if case .operation(let operation) = mode {
      mode = .pipeline
      operation.failed(operation.lossError)
    }
    driver.lost(self, why)
  }
}
