import NIOCore
import NIOPosix
import Wire

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Looks up a name that a customer, an app or a device named, and hands on only addresses of the internet, unless the operator has listed
/// the name. Connections go to exactly these, without a second look-up, so a name whose answer changes in between leads nowhere else.
final class PublicResolver: Resolver, Sendable {
  /// A name has addresses, and none of them is of the internet.
  struct AddressNotAllowed: Error, Hashable {}

  private let loop: any EventLoop
  private let lookUps: LookUps
  private let holder: QuotaHolder
  private let mayBePrivate: Bool

  init(loop: any EventLoop, _ lookUps: LookUps, for holder: QuotaHolder, mayBePrivate: Bool) {
    self.loop = loop
    self.lookUps = lookUps
    self.holder = holder
    self.mayBePrivate = mayBePrivate
  }

  func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { query(host, port, AF_INET) }
  func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { query(host, port, AF_INET6) }
  /// Those that nobody waits for any more end by themselves.
  func cancelQueries() {}

  private func query(_ host: String, _ port: Int, _ family: CInt) -> EventLoopFuture<[SocketAddress]> {
    let found = lookUps.addresses(of: host, port, family, for: holder, on: loop)
    if mayBePrivate { return found }
    return found.flatMapThrowing { found in
      let allowed = found.filter(\.isPublic)
      if allowed.isEmpty, !found.isEmpty { throw AddressNotAllowed() }
      return allowed
    }
  }
}
