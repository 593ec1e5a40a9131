import Logging
import Locking

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The server's process and the thread that watches over it.
///
/// The thread that starts the server must outlive it. Linux signals the server when that thread ends, not only when the
/// process does.
final class ServerProcess: Sendable {
  private struct State {
    var processID: pid_t?
    var isStopping = false
    var isOver = false
    var stoppers: [UnsafeContinuation<Void, Never>] = []
  }

  private let configuration: ClusterConfiguration
  private let logger: Logger
  private let account: ServerAccount
  private let binaries: PostgresBinaries
  private let place: ClusterPlace
  private let state = Mutex(State())

  var socketDirectory: String { place.socketDirectory }
  var logFile: String { place.log }
  var home: String { place.home }
  var processID: pid_t? { state.withLock { $0.processID } }

  /// Finds the programs and directories, takes the lock, makes the cluster if there is none, and stops a server left behind.
  /// Blocks.
  init(_ configuration: ClusterConfiguration, logger: Logger) throws(ClusterError) {
    self.configuration = configuration
    self.logger = logger
    account = try .find()
    binaries = try .find()
    place = try ClusterPlace(configuration.directory, account)
    try endLeftover()
    if access("\(place.data)/PG_VERSION", F_OK) != 0 { try makeCluster() }
  }

  /// Made beside its place and moved there when it is complete, so that an interrupted initdb leaves nothing that looks
  /// complete. Each attempt has a directory of its own: the initdb of an interrupted one may still be running.
  private func makeCluster() throws(ClusterError) {
    let unfinished = "\(place.data)-unfinished-\(UInt32.random(in: 0...UInt32.max))"
    _ = try? ChildProcess.output(of: "/bin/sh", ["-c", #"rm -rf "$0"-unfinished*"#, place.data])
    try account.makeDirectory(unfinished)
    var words = [
      "-D", unfinished, "-U", configuration.superuser, "--auth=trust", "--encoding=UTF8", "--no-instructions",
    ]
    #if canImport(Glibc)
      words += ["--locale=C.UTF-8"]
    #else
      words += ["--locale=C"]
    #endif
    words += [configuration.isDurable ? "--data-checksums" : "--no-sync"]
    let command = account.command(binaries.initdb, words)
    _ = try ChildProcess.output(of: command.path, command.arguments)
    guard rename(unfinished, place.data) == 0 else { throw .system("cannot rename \(unfinished)") }
  }

  /// We hold the lock, so a server that still runs on the data was left behind by a hub that has ended.
  private func endLeftover() throws(ClusterError) {
    let data = place.data
    if let leftover = PostmasterFile(data: data), leftover.isAlive(data: data) { try end(leftover, on: data) }
    #if canImport(Glibc)
      for _ in 0..<500 {
        guard PostmasterFile.hasProcesses(data: data) else { break }
        usleep(20_000)
      }
      // The process number in a leftover file may belong to another process by now. It may also be a zombie, as in a
      // container whose first process reaps none. PostgreSQL would take either for a running server.
      guard !PostmasterFile.hasProcesses(data: data) else { return }
      for file in ["\(data)/postmaster.pid", "\(place.socketDirectory)/.s.PGSQL.5432.lock"] { unlink(file) }
    #endif
  }

  private func end(_ leftover: PostmasterFile, on data: String) throws(ClusterError) {
    logger.notice(
      "stopping a PostgreSQL server that an earlier run left behind", metadata: ["process": "\(leftover.processID)"])
    for (signal, timeout) in [(SIGINT, 20), (SIGQUIT, 10), (SIGKILL, 10)] {
      kill(leftover.processID, signal)
      for _ in 0..<timeout * 50 {
        guard leftover.isAlive(data: data) else { return }
        usleep(20_000)
      }
    }
    throw .system("process \(leftover.processID), a PostgreSQL left behind, does not end")
  }

  // MARK: Running

  /// Starts the server on a thread that watches over it, and returns when it takes connections.
  func start() async throws {
    try await withUnsafeThrowingContinuation { (continuation: UnsafeContinuation<Void, any Error>) in
      DedicatedThread.start { self.watch(continuation) }
    }
  }

  private func watch(_ starter: UnsafeContinuation<Void, any Error>) {
    var starter = Optional(starter)
    while !isStopping {
      do throws(ClusterError) {
        let child = try launch()
        starter.take()?.resume()
        let status = child.wait()
        state.withLock { $0.processID = nil }
        if !isStopping {
          logger.error("the private PostgreSQL server ended, starting it again", metadata: ["status": "\(status)"])
        }
      } catch {
        if let starter = starter.take() {
          starter.resume(throwing: error)
          break
        }
        logger.error("the private PostgreSQL server does not start, trying again", metadata: ["reason": "\(error)"])
        usleep(500_000)
      }
    }
    end()
  }

  private var isStopping: Bool { state.withLock { $0.isStopping } }

  /// Starts the server and returns when it takes connections.
  private func launch() throws(ClusterError) -> ChildProcess {
    let deadline = MonotonicInstant.now.advanced(by: configuration.startTimeout)
    while true {
      let (child, logStart) = try spawn()
      if isStopping { kill(child.processID, SIGINT) }
      repeat {
        if let file = PostmasterFile(data: place.data), file.processID == child.processID, file.isReady { return child }
        if child.poll() != nil {
          let log = readText(place.log, from: logStart).map { String($0.suffix(2000)) } ?? ""
          // The children of a killed server hold its shared memory until they notice, a little later.
          guard log.contains("shared memory block"), MonotonicInstant.now < deadline else {
            throw .failed(program: "postgres", log: log)
          }
          break
        }
        usleep(5_000)
      } while MonotonicInstant.now < deadline
      guard MonotonicInstant.now < deadline else {
        kill(child.processID, SIGQUIT)
        throw .failed(program: "postgres", log: "not ready within \(configuration.startTimeout)")
      }
      usleep(100_000)
    }
  }

  /// - Returns: the process, and the length of the log before it started: earlier lines are about other servers.
  private func spawn() throws(ClusterError) -> (child: ChildProcess, logStart: off_t) {
    let log = open(place.log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard log >= 0 else { throw .system("cannot write \(place.log)") }
    defer { close(log) }
    let logStart = lseek(log, 0, SEEK_END)
    let settings = configuration.allSettings(socketDirectory: place.socketDirectory)
    let words = ["-D", place.data] + settings.sorted { $0.key < $1.key }.flatMap { ["-c", "\($0.key)=\($0.value)"] }
    let command = account.command(binaries.postgres, words)
    let child = try ChildProcess(command.path, command.arguments, output: log)
    state.withLock { $0.processID = child.processID }
    return (child, logStart)
  }

  // MARK: Ending

  func stop() async {
    await withUnsafeContinuation { continuation in
      let isOver = state.withLock { state in
        state.isStopping = true
        if !state.isOver { state.stoppers.append(continuation) }
        return state.isOver
      }
      if isOver { return continuation.resume() }
      DedicatedThread.start { self.endServer() }
    }
  }

  func signalStop() {
    let processID = state.withLock { state in
      state.isStopping = true
      return state.processID
    }
    if let processID { kill(processID, SIGQUIT) }
  }

  /// A fast shutdown, then an immediate one, which leaves recovery to the next start, then SIGKILL.
  private func endServer() {
    for (signal, timeout) in [(SIGINT, 60), (SIGQUIT, 10), (SIGKILL, 10)] {
      let processID = state.withLock { state in state.isOver ? nil : state.processID }
      if let processID { kill(processID, signal) }
      for _ in 0..<timeout * 50 {
        guard !state.withLock({ $0.isOver }) else { return }
        usleep(20_000)
      }
    }
  }

  private func end() {
    place.unlock()
    let stoppers = state.withLock { state in
      state.isOver = true
      state.processID = nil
      defer { state.stoppers = [] }
      return state.stoppers
    }
    for stopper in stoppers { stopper.resume() }
  }
}
