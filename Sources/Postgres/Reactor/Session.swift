import CLibpq

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// One live connection on the reactor's thread: it does what the pipeline's state machine says, and tells it what came of it.
///
/// `@unchecked Sendable`: others hold it only to name it to the reactor; every member is used on the reactor's thread alone.
final class Session: @unchecked Sendable {
  /// What the connection is doing; anything but a pipeline is for its borrower alone.
  enum Mode {
    case pipeline
    case script(ScriptRun)
  }

  /// Who uses the connection.
  enum Purpose { case shared, lent, listening }

  let connection: LibpqConnection
  let purpose: Purpose
  private unowned let core: PoolCore
  private(set) var pipeline = PipelineState()
  private(set) var mode = Mode.pipeline
  private(set) var isLost = false
  /// Whether the socket could not take all there was to write.
  private(set) var wantsToWrite = false
  var isDirty = false
  private var actions: [PipelineAction] = []

  init(_ connection: LibpqConnection, _ purpose: Purpose, core: PoolCore) {
    self.connection = connection
    self.purpose = purpose
    self.core = core
  }

  var socket: Int32 { connection.socket }
  var callsInFlight: Int { pipeline.callsInFlight }

  // MARK: Calls

  func send(_ call: Call, at now: Moment) {
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

  func cancel(_ call: Call) {
    pipeline.cancel(call, because: .task, &actions)
    perform()
  }

  var deadline: Moment { pipeline.deadline }

  func tick(at now: Moment) {
    pipeline.tick(at: now, &actions)
    perform()
  }

  // MARK: Scripts

  /// Runs many statements outside pipeline mode, and comes back to it.
  func run(_ script: ScriptRun) {
    guard !isLost else { return script.finish(.failure(.connectionLost(statement: script.name))) }
    guard case .pipeline = mode, pipeline.isIdle, connection.exitPipeline(), connection.sendScript(script.sql) else {
      return script.finish(.failure(.misuse("\(script.name): \(connection.errorMessage)")))
    }
    mode = .script(script)
    flush()
  }

  private func readScript(_ script: ScriptRun) {
    while !connection.isBusy {
      guard let result = connection.nextResult() else {
        guard connection.enterPipeline() else { return lose(connection.errorMessage) }
        mode = .pipeline
        script.finish(script.error.map { .failure(.server($0)) } ?? .success(()))
        return
      }
      script.take(result)
      if script.error?.endsConnection == true { return lose("ended by the server") }
    }
  }

  // MARK: The socket

  /// Whether the socket is to be watched for what the server sends.
  var wantsToRead: Bool { true }

  /// What poll(2) saw on the socket.
  func ready(_ events: Int16, at now: Moment) {
    if Int32(events) & ~Int32(POLLOUT) != 0 { readable(at: now) }
    if wantsToWrite, Int32(events) & Int32(POLLOUT) != 0 { flush() }
  }

  func readable(at now: Moment) {
    guard !isLost else { return }
    let isAlive = connection.consumeInput()
    switch mode {
    case .pipeline: readPipeline(at: now)
    case .script(let script): readScript(script)
    }
    while let (channel, payload) = connection.nextNotification() { core.listener.notified(channel, payload) }
    if !isAlive { lose(connection.errorMessage) } else if wantsToWrite { flush() }
  }

  func flush() {
    guard !isLost else { return }
    switch connection.flush() {
    case .all: wantsToWrite = false
    case .partly: wantsToWrite = true
    case .failed: lose(connection.errorMessage)
    }
  }

  private func readPipeline(at now: Moment) {
    while !isLost, pipeline.expectsResults, !connection.isBusy {
      pipeline.receive(nextResult(), at: now, &actions)
      perform()
    }
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

  private func perform() {
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
      sent(connection.sendPrepare(name: plan.name, sql: call.statement.sql, types: call.parameters.types))
    case .execute(let call, let plan):
      sent(connection.sendExecute(name: plan.name, call.parameters, scratch: &core.scratch))
    case .sync: sent(connection.sync())
    case .succeed(let call, let result): call.succeed(result)
    case .fail(let call, let error): call.fail(error)
    case .resend(let call): core.resend(call)
    case .requestCancel: requestCancel()
    case .close(let why): close(why)
    }
  }

  /// libpq refuses to send only on a broken connection, or for want of memory.
  private func sent(_ isSent: Bool) {
    if !isSent { lose(connection.errorMessage) } else { core.isDirty(self) }
  }

  private func requestCancel() {
    guard let cancellation = connection.cancellation() else { return }
    core.sendCancel(cancellation) { [self] in
      pipeline.cancelReturned(&actions)
      perform()
    }
  }

  // MARK: Loss

  /// Whether the connection is as good as new: nothing owed, no transaction open, no cancel request about to hit.
  var isAtRest: Bool {
    guard !isLost, case .pipeline = mode else { return false }
    return pipeline.isIdle && !pipeline.cancelIsInTheAir && !connection.isInTransaction
  }

  /// Gives the connection up, and has the server stop what it may still run on it.
  func abandon() {
    guard !isLost else { return }
    isLost = true
    if !pipeline.isIdle, let cancellation = connection.cancellation() { core.sendCancel(cancellation) {} }
    pipeline.lose("given up", &actions)
    for case .fail(let call, let error) in actions { call.fail(error) }
    actions.removeAll()
  }

  func lose(_ why: String) {
    guard !isLost else { return }
    pipeline.lose(why, &actions)
    perform()
  }

  private func close(_ why: String) {
    guard !isLost else { return }
    isLost = true
    if case .script(let script) = mode { script.finish(.failure(.connectionLost(statement: script.name))) }
    mode = .pipeline
    core.lost(self, why)
  }
}
