import Foundation
import Locking

#if canImport(Glibc)
  import Glibc
  private let stream = Int32(SOCK_STREAM.rawValue)
  private let noSignal = Int32(MSG_NOSIGNAL)
#else
  import Darwin
  private let stream = SOCK_STREAM
  private let noSignal: Int32 = 0
#endif

/// A proxy between a pool and the private server. A test can cut its connections, hold replies or block new connections.
///
/// It listens on a unix socket of its own. Two threads carry each connection, one for each direction.
public final class DatabaseProxy: Sendable {
  private struct State {
    var pairs: [[Int32]] = []
    var accepts = true
    var holdsReplies = false
    var heldReply = false
    var watchers: [CheckedContinuation<Void, Never>] = []
    var isClosed = false
  }

  private let directory: TemporaryDirectory
  private let server: String
  private let listener: Int32
  private let state = Mutex(State())

  /// - Parameter socketDirectory: of the server.
  public init(to socketDirectory: String) throws {
    directory = try TemporaryDirectory(named: "proxy")
    server = "\(socketDirectory)/.s.PGSQL.5432"
    listener = socket(AF_UNIX, stream, 0)
    let path = "\(directory.path)/.s.PGSQL.5432"
    guard withAddress(path, { bind(listener, $0, $1) }) == 0, listen(listener, 100) == 0 else {
      throw POSIXError(.EADDRNOTAVAIL)
    }
    Thread.detachNewThread { self.accept() }
  }

  /// The server's connection string, with this proxy as the host.
  public func connectionString(for direct: String) -> String { "\(direct) host='\(directory.path)'" }

  // MARK: Faults

  /// Ends every connection; held replies are lost.
  public func cut() {
    for descriptor in state.withLock({ $0.pairs.joined() }) { shutdown(descriptor, Int32(SHUT_RDWR)) }
    state.withLock { $0.holdsReplies = false }
  }

  /// From now on new connections are accepted and never answered.
  public func block() { state.withLock { $0.accepts = false } }

  /// New connections are served again.
  public func unblock() { state.withLock { $0.accepts = true } }

  /// From now on replies of the server are held back.
  public func holdReplies() {
    state.withLock { state in
      state.holdsReplies = true
      state.heldReply = false
    }
  }

  /// Returns when a reply is being held.
  public func replyIsHeld() async {
    await withCheckedContinuation { continuation in
      let isHeld = state.withLock { state in
        if !state.heldReply { state.watchers.append(continuation) }
        return state.heldReply
      }
      if isHeld { continuation.resume() }
    }
  }

  public func close() {
    state.withLock { $0.isClosed = true }
    cut()
    shutdown(listener, Int32(SHUT_RDWR))
    directory.remove()
  }

  // MARK: Threads

  private func accept() {
    while true {
      let client = systemAccept(listener, nil, nil)
      guard client >= 0 else { break }
      guard state.withLock({ $0.accepts }) else {
        state.withLock { $0.pairs.append([client]) }
        continue
      }
      let backend = socket(AF_UNIX, stream, 0)
      guard withAddress(server, { connect(backend, $0, $1) }) == 0 else {
        _ = systemClose(client)
        _ = systemClose(backend)
        continue
      }
      state.withLock { $0.pairs.append([client, backend]) }
      Thread.detachNewThread { self.pump(from: client, to: backend, isReply: false) }
      Thread.detachNewThread { self.pump(from: backend, to: client, isReply: true) }
    }
    _ = systemClose(listener)
  }

  private func pump(from source: Int32, to target: Int32, isReply: Bool) {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(source, &buffer, buffer.count)
      guard count > 0 else { break }
      if isReply { hold() }
      var sent = 0
      while sent < count {
        let written = buffer.withUnsafeBytes {
          send(target, $0.baseAddress.map { $0 + sent }, count - sent, noSignal)
        }
        guard written > 0 else { break }
        sent += written
      }
      guard sent == count else { break }
    }
    shutdown(source, Int32(SHUT_RDWR))
    shutdown(target, Int32(SHUT_RDWR))
  }

  /// Waits for as long as replies are held.
  private func hold() {
    while true {
      let (isHeld, watchers) = state.withLock { state in
        guard state.holdsReplies, !state.isClosed else { return (false, [CheckedContinuation<Void, Never>]()) }
        state.heldReply = true
        defer { state.watchers = [] }
        return (true, state.watchers)
      }
      for watcher in watchers { watcher.resume() }
      guard isHeld else { return }
      usleep(1000)
    }
  }
}

#if canImport(Glibc)
  private let systemAccept = Glibc.accept
  private let systemClose = Glibc.close
#else
  private let systemAccept = Darwin.accept
  private let systemClose = Darwin.close
#endif

private func withAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
  var address = sockaddr_un()
  address.sun_family = sa_family_t(AF_UNIX)
  withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
  return withUnsafePointer(to: &address) { pointer in
    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
  }
}
