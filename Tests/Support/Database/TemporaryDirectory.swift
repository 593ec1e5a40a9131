import Foundation

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A directory of this test process. Directories that killed processes left behind are removed at the next start.
public struct TemporaryDirectory: Sendable {
  public let path: String

  private static let parent = "/tmp/pushcart-tests-\(getuid())"

  public init(named name: String) throws {
    try Self.makeParent()
    Self.sweep()
    path = "\(Self.parent)/\(getpid())-\(name)-\(UInt32.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    // The server may run as another user.
    chmod(path, 0o755)
  }

  public func remove() { try? FileManager.default.removeItem(atPath: path) }

  private static func makeParent() throws {
    try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
    chmod(parent, 0o755)
  }

  /// Removes the directories of processes that have ended. A server that still runs in one of them is stopped.
  private static func sweep() {
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
