import CLibpq

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Opens connections, each on a thread of its own: resolving a host's name blocks, in `PQconnectStart` and, with several
/// hosts, in `PQconnectPoll` too.
struct Connector: Sendable {
  struct Failure: Error { var reason: String }

  let configuration: PoolConfiguration

  /// Opens one connection and hands it to `completion`, on the thread that opened it.
  func open(_ completion: @escaping @Sendable (Result<LibpqConnection, Failure>) -> Void) {
    let isStarted = DedicatedThread.startIfPossible { completion(Result { () throws(Failure) in try open() }) }
    if !isStarted { completion(.failure(Failure(reason: "the system gives no more threads"))) }
  }

  private func open() throws(Failure) -> LibpqConnection {
    let deadline = MonotonicInstant.now.advanced(by: configuration.connectTimeout)
    let connection = try begin()
    var awaited = PGRES_POLLING_WRITING
    while awaited != PGRES_POLLING_OK {
      guard awaited != PGRES_POLLING_FAILED else { throw Failure(reason: connection.errorMessage) }
      try wait(for: awaited == PGRES_POLLING_READING ? POLLIN : POLLOUT, on: connection.socket, until: deadline)
      awaited = connection.pollConnect()
    }
    if let file = configuration.traceFile { connection.trace(to: file) }
    guard connection.makeReady() else { throw Failure(reason: connection.errorMessage) }
    return connection
  }

  private func wait(for events: Int32, on socket: Int32, until deadline: MonotonicInstant) throws(Failure) {
    var descriptor = pollfd(fd: socket, events: Int16(events), revents: 0)
    while true {
      let time = deadline.milliseconds(since: .now)
      let ready = time > 0 ? poll(&descriptor, 1, time) : 0
      if ready > 0 { return }
      guard ready < 0 else { throw Failure(reason: "no connection within \(configuration.connectTimeout)") }
      guard errno == EINTR else { throw Failure(reason: "poll(2) failed with error \(errno)") }
    }
  }

  private func begin() throws(Failure) -> LibpqConnection {
    let settings: ConnectionSettings
    do throws(ConnectionSettings.Unusable) {
      settings = try ConnectionSettings(configuration)
    } catch {
      throw Failure(reason: "the connection string \(error.problem)")
    }
    let pointer = settings.withPointers { PQconnectStartParams($0, $1, 0) }
    guard let pointer else { throw Failure(reason: "libpq is out of memory") }
    let connection = LibpqConnection(adopting: pointer)
    guard PQstatus(pointer) != CONNECTION_BAD else { throw Failure(reason: connection.errorMessage) }
    return connection
  }
}
