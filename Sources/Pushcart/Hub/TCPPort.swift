import Glibc

/// A TCP port that somebody wants to listen on.
enum TCPPort {
  /// Finds out early, and says in words, that another program has the port.
  /// - Parameter flag: how another port is chosen.
  /// - Throws: `CommandFailure`.
  static func require(_ port: Int, on host: String, flag: String) throws {
    guard (0...65535).contains(port) else { throw CommandFailure("\(flag) must be a number from 0 to 65535.") }
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    hints.ai_flags = AI_PASSIVE
    var found: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, String(port), &hints, &found) == 0, let address = found?.pointee else {
      throw CommandFailure("\(host) is no address of this machine.")
    }
    defer { freeaddrinfo(found) }
    let descriptor = socket(address.ai_family, address.ai_socktype, 0)
    defer { close(descriptor) }
    var on: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
    guard bind(descriptor, address.ai_addr, address.ai_addrlen) == 0 else {
      throw CommandFailure(
        errno == EADDRINUSE
          ? "Port \(port) is taken by another program; choose another one with \(flag)."
          : "Port \(port) on \(host) cannot be listened on: \(String(cString: strerror(errno))).")
    }
  }
}
