#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Checks of a TCP port before a server listens on it.
enum TCPPort {
  /// Reports early, in a sentence, that the port is taken.
  /// - Parameter flag: the flag that chooses another port.
  /// - Throws: `CommandFailure`.
  static func require(_ port: Int, on host: String, flag: String) throws {
    guard (0...65535).contains(port) else { throw CommandFailure("\(flag) must be a number from 0 to 65535.") }
    guard let failure = bindingFailure(port, on: host) else { return }
    switch failure {
    case .noAddress: throw CommandFailure("\(host) is not an address of this machine.")
    case .system(EADDRINUSE):
      throw CommandFailure("Port \(port) is taken by another program; choose another one with \(flag).")
    case .system(let code):
      throw CommandFailure("Port \(port) on \(host) cannot be listened on: \(String(cString: strerror(code))).")
    }
  }

  /// Whether the address belongs to this machine.
  static func isHere(_ host: String) -> Bool { bindingFailure(0, on: host) == nil }

  private enum Failure {
    case noAddress
    case system(Int32)
  }

  private static func bindingFailure(_ port: Int, on host: String) -> Failure? {
    var hints = addrinfo()
    #if canImport(Glibc)
      hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    #else
      hints.ai_socktype = SOCK_STREAM
    #endif
    hints.ai_flags = AI_PASSIVE
    var found: UnsafeMutablePointer<addrinfo>?
    guard !host.isEmpty, getaddrinfo(host, String(port), &hints, &found) == 0, let address = found?.pointee else {
      return .noAddress
    }
    defer { freeaddrinfo(found) }
    let descriptor = socket(address.ai_family, address.ai_socktype, 0)
    defer { close(descriptor) }
    var on: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
    return bind(descriptor, address.ai_addr, address.ai_addrlen) == 0 ? nil : .system(errno)
  }
}
