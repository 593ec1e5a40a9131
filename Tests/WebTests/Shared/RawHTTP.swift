import Foundation
import Support

#if canImport(Glibc)
  import Glibc
#endif

/// Sends bytes as they are, for requests that no client would let through.
struct RawHTTP {
  struct Reply: Sendable {
    let status: Int
    let text: String
  }

  private let port: UInt16

  init(_ url: String) throws {
    guard let port = URLComponents(string: url)?.port else { throw RawHTTPError.noPort }
    self.port = UInt16(port)
  }

  /// - Returns: the reply to the first request in `bytes`; `nil` when the connection was closed without one.
  func send(_ text: String) async throws -> Reply? { try await send(Array(text.utf8)) }

  func send(_ bytes: [UInt8]) async throws -> Reply? {
    try await onSocket { socket in
      send(bytes, to: socket)
      shutdown(socket, Int32(SHUT_WR))
      return reply(try readToEnd(socket))
    }
  }

  /// Sends the beginning of a request, reads until the server says no more, and goes on sending `more` until nobody takes it.
  func send(_ beginning: String, thenForEver more: String) async throws -> Reply? {
    try await onSocket { socket in
      send(Array(beginning.utf8), to: socket)
      let answer = reply(try readToEnd(socket))
      let more = Array(more.utf8)
      while send(more, to: socket) {}
      return answer
    }
  }

  /// Sends, and reads until the server closes the connection by itself.
  /// - Parameter receiveBuffer: bytes of it; 0 leaves that to the system.
  func send(untilClosed text: String, receiveBuffer: Int32 = 0) async throws -> Reply? {
    try await onSocket(receiveBuffer: receiveBuffer) { socket in
      send(Array(text.utf8), to: socket)
      return reply(try readToEnd(socket))
    }
  }

  /// Sends the beginning of a request, waits for `answer`, sends the rest and reads to the end.
  func send(_ beginning: String, waitFor answer: String, then rest: String) async throws -> Reply? {
    try await onSocket { socket in
      send(Array(beginning.utf8), to: socket)
      var read = [UInt8](repeating: 0, count: answer.utf8.count)
      guard recv(socket, &read, read.count, Int32(MSG_WAITALL)) == read.count, read == Array(answer.utf8) else {
        return nil
      }
      send(Array(rest.utf8), to: socket)
      shutdown(socket, Int32(SHUT_WR))
      return reply(try readToEnd(socket))
    }
  }

  /// Sends, and closes the connection without reading once `isTime`.
  /// - Returns: whether it came to that within five minutes.
  func send(_ text: String, leaving isTime: @escaping @Sendable () -> Bool) async throws -> Bool {
    try await onSocket { socket in
      send(Array(text.utf8), to: socket)
      for _ in 0..<30_000 {
        if isTime() { return true }
        Thread.sleep(forTimeInterval: 0.01)
      }
      return false
    }
  }

  /// Sends, takes the first bytes of the reply and no more, and closes the connection once `isTime`.
  /// - Parameter hasBegun: called once these bytes are there.
  /// - Returns: whether it came to that within five minutes.
  func hold(
    _ text: String, hasBegun: @escaping @Sendable () -> Void, until isTime: @escaping @Sendable () -> Bool
  ) async throws -> Bool {
    try await onSocket(receiveBuffer: 4096) { socket in
      send(Array(text.utf8), to: socket)
      var bytes = [UInt8](repeating: 0, count: 16)
      guard recv(socket, &bytes, bytes.count, Int32(MSG_WAITALL)) == bytes.count else { return false }
      hasBegun()
      for _ in 0..<30_000 {
        if isTime() { return true }
        Thread.sleep(forTimeInterval: 0.01)
      }
      return false
    }
  }

  /// Sends without reading until the server takes no more, then reads to the end.
  /// - Returns: how often all of `text` was taken, and all that was read.
  func fill(with text: String) async throws -> (sent: Int, replies: String) {
    try await onSocket { socket in
      let bytes = Array(text.utf8)
      var timeout = timeval(tv_sec: 1, tv_usec: 0)
      setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
      var sent = 0
      while send(bytes, to: socket) { sent += 1 }
      shutdown(socket, Int32(SHUT_WR))
      return (sent, String(decoding: try readToEnd(socket), as: UTF8.self))
    }
  }

  /// Sends short requests on one connection, each after the reply to the one before.
  func converse<Answer: Sendable>(
    _ body: @escaping @Sendable (_ exchange: (String) -> Reply?) throws -> Answer
  ) async throws -> Answer {
    try await onSocket { socket in
      try body { request in
        send(Array(request.utf8), to: socket)
        var chunk = [UInt8](repeating: 0, count: 65536)
        let count = recv(socket, &chunk, chunk.count, 0)
        return reply(Array(chunk.prefix(max(0, count))))
      }
    }
  }

  /// Sends without reading, then `more` again and again, until the server resets or closes the connection.
  /// - Returns: whether it did so within a minute.
  func isCutOff(_ text: String, then more: String = "") async throws -> Bool {
    try await onSocket(receiveBuffer: 4096) { socket in
      send(Array(text.utf8), to: socket)
      for _ in 0..<1200 {
        var watched = pollfd(fd: socket, events: 0x2000 /* POLLRDHUP */, revents: 0)
        if poll(&watched, 1, 50) > 0 { return true }
        if !more.isEmpty, !send(Array(more.utf8), to: socket) { return true }
      }
      return false
    }
  }

  /// Opens so many connections, one after the other, and sends a short request on each. All are closed at the end.
  /// - Returns: the replies; nil for a connection that the server closed without one.
  func send(_ text: String, onConnections count: Int) async throws -> [Reply?] {
    try await onSocket { first in
      let others = try (1..<count).map { _ in try connected(0) }
      defer { for socket in others { close(socket) } }
      return ([first] + others).map { socket in
        send(Array(text.utf8), to: socket)
        var chunk = [UInt8](repeating: 0, count: 65536)
        let count = recv(socket, &chunk, chunk.count, 0)
        return reply(Array(chunk.prefix(max(0, count))))
      }
    }
  }

  private func onSocket<Answer: Sendable>(
    receiveBuffer: Int32 = 0, _ body: @escaping @Sendable (Int32) throws -> Answer
  ) async throws -> Answer {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(
          with: Result {
            let socket = try connected(receiveBuffer)
            defer { close(socket) }
            return try body(socket)
          })
      }
    }
  }

  /// - Parameter receiveBuffer: bytes of it; 0 leaves that to the system.
  private func connected(_ receiveBuffer: Int32) throws -> Int32 {
    let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var size = receiveBuffer
    if size > 0 { setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size)) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let connected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard connected == 0 else {
      close(socket)
      throw RawHTTPError.noConnection
    }
    return socket
  }

  /// - Returns: whether all of it was taken.
  @discardableResult
  private func send(_ bytes: [UInt8], to socket: Int32) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      sent += count
    }
    return true
  }

  private func readToEnd(_ socket: Int32) throws -> [UInt8] {
    var all: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65536)
    while true {
      let count = recv(socket, &chunk, chunk.count, 0)
      guard count > 0 else { return all }
      all += chunk.prefix(count)
    }
  }

  private func reply(_ bytes: [UInt8]) -> Reply? {
    let text = String(decoding: bytes, as: UTF8.self)
    guard text.hasPrefix("HTTP/1."), let status = Int(text.dropFirst(9).prefix(3)) else { return nil }
    return Reply(status: status, text: text)
  }
}

enum RawHTTPError: Error { case noPort, noConnection }
