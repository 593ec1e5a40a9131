/// The connection that listens, on the reactor's thread, and its readers.
final class Listener {
  private final class Reader {
    let subscription: Subscription
    /// LISTENs not yet answered. Notifications that arrive before are dropped, since `mayHaveMissed` covers them.
    var unanswered = 0
    init(_ subscription: Subscription) { self.subscription = subscription }
  }

  private unowned let driver: PoolDriver
  private var readers: [Reader] = []
  private var session: Session?
  private var isFinished = false

  /// PostgreSQL truncates longer names, and would send under the shorter one.
  private static let longestChannel = 63

  init(driver: PoolDriver) { self.driver = driver }

  /// Whether anybody listens, so that a connection is needed.
  var isNeeded: Bool { !readers.isEmpty && !isFinished }

  func add(_ subscription: Subscription) {
    guard !isFinished else { return subscription.finish() }
    if let long = subscription.channels.first(where: { $0.utf8.count > Self.longestChannel }) {
      return subscription.finish(.misuse("a channel name of \(long.utf8.count) bytes; PostgreSQL keeps 63"))
    }
    let reader = Reader(subscription)
    readers.append(reader)
    listen(reader)
  }

  func remove(_ subscription: Subscription) {
    readers.removeAll { $0.subscription === subscription }
    let needed = Set(readers.flatMap(\.subscription.channels))
    guard let session else { return }
    if needed.isEmpty {
      driver.close(session)
    } else {
      for channel in Set(subscription.channels).subtracting(needed) { run("unlisten", channel) { _ in } }
    }
  }

  func opened(_ session: Session) {
    self.session = session
    for reader in readers { listen(reader) }
    if readers.isEmpty { driver.close(session) }
  }

  /// A connection is gone, be it the one that listens or another.
  func lost(_ session: Session) {
    if session === self.session { self.session = nil }
  }

  func notified(_ channel: String, _ payload: String) {
    for reader in readers where reader.unanswered == 0 && reader.subscription.channels.contains(channel) {
      reader.subscription.emit(.notification(channel: channel, payload: payload))
    }
  }

  func finish() {
    isFinished = true
    for reader in readers { reader.subscription.finish() }
    readers.removeAll()
  }

  private func listen(_ reader: Reader) {
    guard session != nil else { return }
    reader.unanswered = reader.subscription.channels.count
    for channel in reader.subscription.channels {
      run("listen", channel) { [weak self, weak reader] outcome in
        guard let reader else { return }
        switch outcome {
        case .success:
          reader.unanswered -= 1
          if reader.unanswered == 0 { reader.subscription.emit(.mayHaveMissed) }
        case .failure(PostgresError.server(let error)) where error.sqlState == ServerError.readOnlyTransaction:
          if let self, let session = self.session { self.driver.cannotListen(session) }
        case .failure(PostgresError.server(let error)): reader.subscription.finish(PostgresError.server(error))
        case .failure(PostgresError.connectionLost): break  // It will be opened again.
        case .failure(let error): self?.session?.lose("\(error)")
        }
      }
    }
  }

  private func run(_ verb: String, _ channel: String, _ completion: @escaping (Result<ResultBox, any Error>) -> Void) {
    // There may be many channels, and the names of statements become labels of metrics.
    let quoted = channel.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"")
    let statement = Statement("notification.\(verb)", .write, "\(verb.uppercased()) \"\(quoted)\"")
    let call = Call(statement, ParameterBuffer(), role: .within, limit: driver.configuration.statementTimeout)
    call.isTaken = true
    call.completion = completion
    session?.send(call, at: driver.now)
  }
}
