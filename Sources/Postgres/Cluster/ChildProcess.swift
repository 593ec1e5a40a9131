import CLibpq

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A program started by posix_spawn. Everything here blocks: only for dedicated threads.
struct ChildProcess {
  let processID: pid_t

  /// Starts a program in a process group of its own, so that Ctrl-C in a terminal does not reach it. Signals have their
  /// defaults, and the environment holds nothing that PostgreSQL reads.
  /// - Parameter output: where stdout and stderr go.
  init(_ path: String, _ arguments: [String], output: Int32) throws(ClusterError) {
    var actions = FileActions()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, output, 1)
    posix_spawn_file_actions_adddup2(&actions, output, 2)
    // Not our sockets: their peers would not notice that we closed them.
    #if canImport(Glibc)
      posix_spawn_file_actions_addclosefrom_np(&actions, 3)
      let closing: Int32 = 0
    #else
      let closing = Int32(POSIX_SPAWN_CLOEXEC_DEFAULT)
    #endif

    var attributes = Attributes()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var all = sigset_t()
    var none = sigset_t()
    sigfillset(&all)
    sigemptyset(&none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setpgroup(&attributes, 0)
    let flags = Int32(POSIX_SPAWN_SETSIGDEF) | Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETPGROUP) | closing
    posix_spawnattr_setflags(&attributes, Int16(flags))

    var words = ([path] + arguments).map { (word: String) in strdup(word) }
    words.append(nil)
    var environment = ["PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL=C"].map { (word: String) in
      strdup(word)
    }
    environment.append(nil)
    defer { for word in words + environment { free(word) } }
    var processID: pid_t = 0
    let failure = posix_spawn(&processID, path, &actions, &attributes, words, environment)
    guard failure == 0 else { throw .system("cannot start \(path): \(String(cString: strerror(failure)))") }
    self.processID = processID
  }

  /// Waits for the end of the program.
  /// - Returns: its exit status; 128 and the signal's number if a signal ended it.
  func wait() -> Int32 {
    var status: Int32 = 0
    while waitpid(processID, &status, 0) == -1, errno == EINTR {}
    return Self.exitStatus(status)
  }

  /// The exit status, if the program has ended. Not to be called again after that.
  func poll() -> Int32? {
    var status: Int32 = 0
    return waitpid(processID, &status, WNOHANG) == processID ? Self.exitStatus(status) : nil
  }

  private static func exitStatus(_ status: Int32) -> Int32 {
    status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f)
  }

  /// Runs a program to its end and returns its output.
  static func output(of path: String, _ arguments: [String]) throws(ClusterError) -> String {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw .system("no more file descriptors") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    defer { close(ends[0]) }
    let child: ChildProcess
    do throws(ClusterError) {
      child = try ChildProcess(path, arguments, output: ends[1])
    } catch {
      close(ends[1])
      throw error
    }
    close(ends[1])
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = read(ends[0], &buffer, buffer.count)
      if count == -1, errno == EINTR { continue }
      guard count > 0 else { break }
      text += buffer[..<count]
    }
    let status = child.wait()
    let output = String(decoding: text, as: UTF8.self)
    guard status == 0 else {
      throw .failed(program: "\(path) \(arguments.first ?? "")", log: String(output.suffix(1000)))
    }
    return output
  }
}

#if canImport(Glibc)
  private typealias FileActions = posix_spawn_file_actions_t
  private typealias Attributes = posix_spawnattr_t
#else
  private typealias FileActions = posix_spawn_file_actions_t?
  private typealias Attributes = posix_spawnattr_t?
#endif
