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
    DedicatedThread.start { completion(Result { () throws(Failure) in try open() }) }
  }

  private func open() throws(Failure) -> LibpqConnection {
    let deadline = Moment.now.advanced(by: configuration.connectTimeout)
    let connection = try begin()
    var awaited = PGRES_POLLING_WRITING
    while awaited != PGRES_POLLING_OK {
      guard awaited != PGRES_POLLING_FAILED else { throw Failure(reason: connection.errorMessage) }
      let events = awaited == PGRES_POLLING_READING ? POLLIN : POLLOUT
      var descriptor = pollfd(fd: connection.socket, events: Int16(events), revents: 0)
      let wait = deadline.milliseconds(since: .now)
      guard wait > 0, poll(&descriptor, 1, wait) != 0 else {
        throw Failure(reason: "no connection within \(configuration.connectTimeout)")
      }
      awaited = connection.pollConnect()
    }
    if let file = configuration.traceFile { connection.trace(to: file) }
    guard connection.makeReady() else { throw Failure(reason: connection.errorMessage) }
    return connection
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
