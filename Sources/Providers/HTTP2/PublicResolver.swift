import NIOCore
import NIOPosix
import Synchronization
import Wire

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Looks names up, and hands on only addresses of the internet. Connections go to exactly these, without a second look-up, so a name
/// whose answer changes in between leads nowhere else.
final class PublicResolver: Resolver, Sendable {
  /// A name has addresses, and none of them is of the internet.
  struct AddressNotAllowed: Error, Hashable {}

  /// As the ledger has it.
  static let reason = "AddressNotAllowed"

  /// Look-ups block their thread for as long as a name's servers like. So those of strangers' names have threads of their own.
  private static let threads = NIOThreadPool.started(2)
  private static let threadsOfStrangers = NIOThreadPool.started(4)

  private let loop: any EventLoop
  private let threads: NIOThreadPool
  private let isCancelled = Atomic(false)

  init(loop: any EventLoop, isOfStranger: Bool) {
    self.loop = loop
    threads = isOfStranger ? Self.threadsOfStrangers : Self.threads
  }

  func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { query(host, port, AF_INET) }
  func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { query(host, port, AF_INET6) }
  func cancelQueries() { isCancelled.store(true, ordering: .relaxed) }

  private func query(_ host: String, _ port: Int, _ family: CInt) -> EventLoopFuture<[SocketAddress]> {
    threads.runIfActive(eventLoop: loop) { [self] in
      // Nobody waits any more for a look-up that had to wait for long.
      if isCancelled.load(ordering: .relaxed) { return [] }
      let found = Self.addresses(of: host, port, family)
      let allowed = found.filter(Self.isPublic)
      if allowed.isEmpty, !found.isEmpty { throw AddressNotAllowed() }
      return allowed
    }
  }

  /// All addresses of a family; none if the name has none, or cannot be looked up.
  private static func addresses(of host: String, _ port: Int, _ family: CInt) -> [SocketAddress] {
    var hints = addrinfo()
    hints.ai_family = family
    #if canImport(Glibc)
      hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
    #else
      hints.ai_socktype = SOCK_STREAM
    #endif
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, String(port), &hints, &list) == 0, let first = list else { return [] }
    defer { freeaddrinfo(first) }
    return sequence(first: first, next: { $0.pointee.ai_next }).compactMap { entry in
      guard let address = entry.pointee.ai_addr else { return nil }
      return switch entry.pointee.ai_family {
      case AF_INET:
        address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { SocketAddress($0.pointee, host: host) }
      case AF_INET6:
        address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { SocketAddress($0.pointee, host: host) }
      default: nil
      }
    }
  }

  private static func isPublic(_ address: SocketAddress) -> Bool {
    switch address {
    case .v4(let address): HostAddress(bytes: withUnsafeBytes(of: address.address.sin_addr) { Array($0) }).isPublic
    case .v6(let address): HostAddress(bytes: withUnsafeBytes(of: address.address.sin6_addr) { Array($0) }).isPublic
    case .unixDomainSocket: false
    }
  }
}

extension NIOThreadPool {
  fileprivate static func started(_ count: Int) -> NIOThreadPool {
    let pool = NIOThreadPool(numberOfThreads: count)
    pool.start()
    return pool
  }
}
