#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The paths of a cluster, and the lock that keeps a second hub out.
final class ClusterPlace: Sendable {
  /// The directory of the cluster, or its replacement if the server cannot reach that.
  let home: String
  let data: String
  let socketDirectory: String
  let log: String
  private let lock: Int32

  /// Creates missing directories and takes the lock.
  init(_ directory: String, _ account: ServerAccount) throws(ClusterError) {
    try Self.makeParents(directory, account)
    log = "\(directory)/postgres.log"
    if !account.isOther || account.canReach(directory) {
      home = directory
    } else {
      // The user postgres cannot enter root's home directory, nor a checkout in it.
      home = "/var/lib/pushcart/\(Self.digest(directory))"
      try Self.makeParents(home, account)
      guard account.canReach(home) else {
        throw .system("the user postgres can enter neither \(directory) nor \(home)")
      }
    }
    lock = try Self.takeLock("\(home)/lock", of: directory)
    data = "\(home)/data"
    // The path of a unix socket has at most 107 bytes (103 on macOS).
    let inside = "\(home)/socket"
    socketDirectory =
      inside.utf8.count + "/.s.PGSQL.5432".utf8.count <= 103 ? inside : "/tmp/pushcart-\(Self.digest(directory))"
    try account.makeDirectory(socketDirectory)
  }

  deinit { close(lock) }

  /// Releases the lock, so that another hub may start.
  func unlock() { flock(lock, LOCK_UN) }

  /// The server's user must be able to enter the directory, whatever our umask is.
  private static func makeParents(_ directory: String, _ account: ServerAccount) throws(ClusterError) {
    guard directory.hasPrefix("/") else { throw .system("\(directory) is not an absolute path") }
    var path = ""
    for name in directory.split(separator: "/") {
      path += "/\(name)"
      if mkdir(path, 0o755) == 0 {
        if account.isOther { chmod(path, 0o755) }
      } else if errno != EEXIST, access(path, F_OK) != 0 {
        throw .system("cannot make the directory \(path): \(String(cString: strerror(errno)))")
      }
    }
  }

  /// The lock ends with this process, however it ends; the number in the file is only for the error message.
  private static func takeLock(_ path: String, of directory: String) throws(ClusterError) -> Int32 {
    let lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
    guard lock >= 0 else { throw .system("cannot open \(path): \(String(cString: strerror(errno)))") }
    guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
      var text = [UInt8](repeating: 0, count: 32)
      let count = max(read(lock, &text, text.count), 0)
      close(lock)
      throw .inUse(directory: directory, processID: Int32(String(decoding: text[..<count], as: UTF8.self)))
    }
    let text = Array("\(getpid())".utf8)
    ftruncate(lock, 0)
    pwrite(lock, text, text.count, 0)
    return lock
  }

  /// FNV-1a: names a directory in few bytes, the same in each run.
  private static func digest(_ text: String) -> String {
    let hash = text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    return String(hash, radix: 16)
  }
}
