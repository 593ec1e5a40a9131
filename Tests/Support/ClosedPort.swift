#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A port of 127.0.0.1 that is taken and at which nobody listens: connections to it are refused for as long as this lives.
/// A port that was merely given up may be somebody else's in the next moment.
public final class ClosedPort: Sendable {
  public let number: Int
  private let socket: Int32

  public init() { (socket, number) = takenPort() }
  deinit { close(socket) }
}

/// A port of 127.0.0.1 where connections are taken, and nothing is ever answered for as long as this lives.
public final class SilentPort: Sendable {
  public let number: Int
  private let socket: Int32

  public init() {
    (socket, number) = takenPort()
    precondition(listen(socket, 1000) == 0, "cannot listen")
  }
  deinit { close(socket) }
}

private func takenPort() -> (socket: Int32, number: Int) {
  #if canImport(Glibc)
    let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
  #else
    let socket = Darwin.socket(AF_INET, SOCK_STREAM, 0)
  #endif
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
  var size = socklen_t(MemoryLayout<sockaddr_in>.size)
  let bound = withUnsafeMutablePointer(to: &address) { pointer in
    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      bind(socket, $0, size) + getsockname(socket, $0, &size)
    }
  }
  precondition(bound == 0, "no port is to be had")
  return (socket, Int(UInt16(bigEndian: address.sin_port)))
}
