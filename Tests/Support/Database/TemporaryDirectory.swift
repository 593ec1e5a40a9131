import Foundation

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A directory of this test process. Directories that killed processes left behind are removed at the next start.
public struct TemporaryDirectory: Sendable {
  public let path: String

  private static let name = "pushcart-tests-\(getuid())"
  /// In memory, if there is room.
  private static let memory = freeBytes(in: "/dev/shm") >= 4 << 30 ? "/dev/shm/\(name)" : "/tmp/\(name)"

  /// - Parameter inMemory: whether to put it on a file system in memory, if there is one with room for many databases.
  public init(named name: String, inMemory: Bool = false) throws {
    let parent = inMemory ? Self.memory : "/tmp/\(Self.name)"
    try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
    chmod(parent, 0o755)
    Self.sweep(parent)
    path = "\(parent)/\(getpid())-\(name)-\(UInt32.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    // The server may run as another user.
    chmod(path, 0o755)
  }

  public func remove() { try? FileManager.default.removeItem(atPath: path) }

  private static func freeBytes(in path: String) -> Int {
    var status = statvfs()
    return statvfs(path, &status) == 0 ? Int(status.f_bavail) * Int(status.f_frsize) : 0
  }

  /// Removes the directories of processes that have ended. A server that still runs in one of them is stopped.
  private static func sweep(_ parent: String) {
    for entry in (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? [] {
      guard let owner = pid_t(entry.prefix { $0 != "-" }), kill(owner, 0) == -1, errno == ESRCH else { continue }
      let pidFile = "\(parent)/\(entry)/data/postmaster.pid"
      if let text = try? String(contentsOfFile: pidFile, encoding: .utf8),
        let server = pid_t(text.prefix { $0 != "\n" })
      {
        kill(server, SIGQUIT)
      }
      try? FileManager.default.removeItem(atPath: "\(parent)/\(entry)")
    }
  }
}
