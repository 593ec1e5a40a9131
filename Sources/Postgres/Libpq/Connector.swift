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
  /// Whether it is one that statements share.
  var isShared = false

  /// Opens one connection and hands it to `completion`, on the thread that opened it.
  func open(_ completion: @escaping @Sendable (Result<LibpqConnection, Failure>) -> Void) {
    let isStarted = DedicatedThread.startIfPossible { completion(Result { () throws(Failure) in try open() }) }
    if !isStarted { completion(.failure(Failure(reason: "the system has no thread left"))) }
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
      settings = try ConnectionSettings(configuration, isShared: isShared)
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

/// The parameters of a connection: those of the connection string, and ours where it and libpq's `PG…` variables set none.
///
/// The connection string cannot set two of them. The encoding is always UTF-8. Statements have the time limit of
/// `PoolConfiguration`, since the pool relies on it.
struct ConnectionSettings {
  /// Why a connection string cannot be used, as the end of a sentence that begins with its name. Quotes nothing of it.
  struct Unusable: Error { let problem: String }

  private(set) var values: [(keyword: String, value: String)]

  /// - Parameter ambientOptions: the value of `PGOPTIONS`, which libpq uses where `options` is not set; ours would displace it.
  /// - Throws: when libpq cannot read the connection string, or would take a part of the password for something else.
  init(
    _ configuration: PoolConfiguration, isShared: Bool = false,
    ambientOptions: String? = getenv("PGOPTIONS").map { String(cString: $0) }
  ) throws(Unusable) {
    values = try Self.parse(configuration.connectionString)
    guard Self.hasPlainPassword(configuration.connectionString) else {
      throw Unusable(problem: "must have %40 for each @ and %2F for each / in its user and password")
    }
    let theirs = values.first { $0.keyword == "options" }?.value ?? ambientOptions
    let limit = "-c statement_timeout=\(configuration.statementTimeout.wholeMilliseconds)"
    let plansOnce = configuration.plansOnce && isShared
    let plans = plansOnce ? "-c plan_cache_mode=force_generic_plan" : nil
    let costs = plansOnce || configuration.goesByKeys ? "-c random_page_cost=1.1" : nil
    // The last one wins. Citus takes no plan that was made without the parameters, so there the connection string has to say `auto`.
    // Compiling the 500 expressions of a view with eight parts took 14 s, for rows that a millisecond gave.
    set("options", ["-c jit=off", plans, costs, theirs, limit].compactMap(\.self).joined(separator: " "))
    set("client_encoding", "UTF8")
    default_("fallback_application_name", configuration.applicationName)
    // A peer that has vanished is noticed half a minute after it fails to acknowledge something. When nothing was sent,
    // that is about a minute after its last message. Unix sockets ignore these.
    default_("tcp_user_timeout", "30000")
    default_("keepalives_idle", "30")
    default_("keepalives_interval", "10")
    default_("keepalives_count", "3")
  }

  private mutating func set(_ keyword: String, _ value: String) {
    values.removeAll { $0.keyword == keyword }
    values.append((keyword, value))
  }

  private mutating func default_(_ keyword: String, _ value: String) {
    if !values.contains(where: { $0.keyword == keyword }) { values.append((keyword, value)) }
  }

  private static func parse(_ text: String) throws(Unusable) -> [(keyword: String, value: String)] {
    var problem: UnsafeMutablePointer<CChar>?
    guard let options = PQconninfoParse(text, &problem) else {
      PQfreemem(problem)
      throw Unusable(problem: "must be postgres://user:password@host:port/database, or libpq's key=value form")
    }
    defer { PQconninfoFree(options) }
    var values: [(String, String)] = []
    var option = options
    while let keyword = option.pointee.keyword {
      if let value = option.pointee.val { values.append((String(cString: keyword), String(cString: value))) }
      option += 1
    }
    return values
  }

  /// Whether a URI's user and password end where its author expects. libpq ends them at the first `@` or `/`, takes the rest
  /// for host, port and database, and quotes those in its errors.
  private static func hasPlainPassword(_ text: String) -> Bool {
    guard let scheme = text.firstRange(of: "://"), ["postgres", "postgresql"].contains(text[..<scheme.lowerBound])
    else {
      return true
    }
    let rest = text[scheme.upperBound...]
    let authority = rest.prefix { $0 != "/" }
    let path = rest.dropFirst(authority.count).prefix { $0 != "?" }
    return authority.count { $0 == "@" } <= 1 && !path.contains("@")
  }

  /// Runs `body` with the two null-terminated arrays that libpq takes.
  func withPointers<Answer>(
    _ body: (UnsafePointer<UnsafePointer<CChar>?>, UnsafePointer<UnsafePointer<CChar>?>) -> Answer
  ) -> Answer {
    let copies = values.map { (Array($0.keyword.utf8CString), Array($0.value.utf8CString)) }
    let keywords = copies.map(\.0)
    let texts = copies.map(\.1)
    return Self.withPointers(keywords) { keywords in Self.withPointers(texts) { body(keywords, $0) } }
  }

  private static func withPointers<Answer>(
    _ texts: [[CChar]], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Answer
  ) -> Answer {
    let lengths = texts.map(\.count)
    let all = Array(texts.joined())
    return all.withUnsafeBufferPointer { all in
      var pointers: [UnsafePointer<CChar>?] = []
      var start = 0
      for length in lengths {
        pointers.append(all.baseAddress.map { $0 + start })
        start += length
      }
      pointers.append(nil)
      return body(pointers)
    }
  }
}
