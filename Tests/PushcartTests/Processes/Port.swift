import Foundation

/// A TCP port of the loopback that this process holds for as long as the value lives.
final class Port {
  let number: Int
  private let descriptor: Int32

  init() throws {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let bound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && listen(descriptor, 1) == 0 && getsockname(descriptor, $0, &length) == 0
      }
    }
    guard bound else { throw CocoaError(.featureUnsupported) }
    self.descriptor = descriptor
    number = Int(UInt16(bigEndian: address.sin_port))
  }

  deinit { close(descriptor) }

  /// So many ports that are free now.
  static func free(_ count: Int) throws -> [Int] {
    let ports = try (0..<count).map { _ in try Port() }
    return ports.map(\.number)
  }
}
