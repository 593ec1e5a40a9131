import Foundation
import Locking

/// A socket in a folder, where PostgreSQL would have its own. Nobody answers there.
final class UnixSocket: Sendable {
  let folder: String
  private let descriptor: Int32

  init(in folder: String) throws {
    self.folder = folder
    descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let path = Array("\(folder)/.s.PGSQL.5432".utf8)
    try withUnsafeMutableBytes(of: &address.sun_path) { bytes in
      guard path.count < bytes.count else { throw CocoaError(.featureUnsupported) }
      bytes.copyBytes(from: path)
    }
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard bound == 0, listen(descriptor, 1) == 0 else { throw CocoaError(.featureUnsupported) }
  }

  deinit { close(descriptor) }
}

/// A TCP port on the loopback that this process holds as long as the value lives.
final class Port: Sendable {
  let number: Int
  /// Listens on the port.
  let descriptor: Int32

  /// - Parameter number: 0 lets the system choose.
  init(_ number: Int = 0) throws {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = UInt16(number).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let bound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && listen(descriptor, 1) == 0 && getsockname(descriptor, $0, &length) == 0
      }
    }
    guard bound else {
      close(descriptor)
      throw CocoaError(.featureUnsupported)
    }
    self.descriptor = descriptor
    self.number = Int(UInt16(bigEndian: address.sin_port))
  }

  deinit { close(descriptor) }

  /// Ports that are free and stay free. The system hands out none of these by itself, and no two calls get the same.
  static func free(_ count: Int) -> [Int] {
    var ports: [Int] = []
    while ports.count < count {
      let candidate = last.withLock { last in
        last += 1
        return 20_000 + last % 12_000
      }
      if (try? Port(candidate)) != nil { ports.append(candidate) }
    }
    return ports
  }

  private static let last = Mutex(Int.random(in: 0..<12_000))
}
