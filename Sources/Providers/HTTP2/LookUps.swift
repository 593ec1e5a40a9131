import DequeModule
import NIOCore
import NIOPosix
import Locking
import Wire

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Looks up names that customers, apps and devices name.
///
/// A look-up blocks its thread for as long as the name's servers like. So a holder has few at a time, and some threads are left for
/// others whatever it names. Whoever asks waits for `timeout` at most; the thread is counted until it is free again.
final class LookUps: Sendable {
  /// A look-up that has not ended.
  private final class Job: Sendable {
    let host: String
    let port: Int
    let family: CInt
    private let promise: EventLoopPromise<[SocketAddress]>
    private let hasEnded = Atomic(false)

    init(_ host: String, _ port: Int, _ family: CInt, _ promise: EventLoopPromise<[SocketAddress]>) {
      self.host = host
      self.port = port
      self.family = family
      self.promise = promise
    }

    /// Whether nobody waits for it any more.
    var isOver: Bool { hasEnded.load(ordering: .acquiring) }

    func end(_ addresses: [SocketAddress]) {
      if !hasEnded.exchange(true, ordering: .acquiringAndReleasing) { promise.succeed(addresses) }
    }
  }

  private struct State {
    var running: SharedCount<QuotaHolder>
    var waiting: [QuotaHolder: Deque<Job>] = [:]

    /// The look-ups that may begin now, of each holder in turn.
    mutating func begin() -> [(QuotaHolder, Job)] {
      var begun: [(QuotaHolder, Job)] = []
      for holder in waiting.keys.sorted(by: { running.held(by: $0) < running.held(by: $1) }) {
        while let job = waiting[holder]?.first, job.isOver || running.capacity(for: holder) > 0 {
          waiting[holder]?.removeFirst()
          guard !job.isOver else { continue }
          _ = running.take(upTo: 1, for: holder)
          begun.append((holder, job))
        }
        if waiting[holder]?.isEmpty == true { waiting[holder] = nil }
      }
      return begun
    }
  }

  /// All hubs of a process share its threads.
  static let shared = LookUps(threads: 32)
  /// Most look-ups of a holder at a time: of a name there are two, one for each family of addresses.
  static let most = 4
  /// Most look-ups of a holder that wait.
  private static let mostWaiting = 256

  private let threads: NIOThreadPool
  private let timeout: TimeAmount
  private let resolve: @Sendable (_ host: String, _ port: Int, _ family: CInt) -> [SocketAddress]
  private let state: Mutex<State>

  /// - Parameter resolve: blocks until it knows all addresses of a family; none if the name has none, or cannot be looked up.
  init(
    threads count: Int, timeout: TimeAmount = .seconds(5),
    resolve: @escaping @Sendable (String, Int, CInt) -> [SocketAddress] = LookUps.systemAddresses
  ) {
    threads = NIOThreadPool(numberOfThreads: count)
    threads.start()
    self.timeout = timeout
    self.resolve = resolve
    state = Mutex(State(running: SharedCount(most: Self.most, total: count)))
  }

  /// The addresses of a family that a name has; none if it cannot be looked up in time.
  func addresses(
    of host: String, _ port: Int, _ family: CInt, for holder: QuotaHolder, on loop: any EventLoop
  ) -> EventLoopFuture<[SocketAddress]> {
    // What is an address already needs no thread.
    if let address = try? SocketAddress(ipAddress: host, port: port) {
      return loop.makeSucceededFuture(address.family == family ? [address] : [])
    }
    let promise = loop.makePromise(of: [SocketAddress].self)
    let job = Job(host, port, family, promise)
    let isTaken = state.withLock { state in
      guard state.waiting[holder, default: []].count < Self.mostWaiting else { return false }
      state.waiting[holder, default: []].append(job)
      return true
    }
    guard isTaken else {
      job.end([])
      return promise.futureResult
    }
    let timer = loop.scheduleTask(in: timeout) { job.end([]) }
    promise.futureResult.whenComplete { _ in timer.cancel() }
    beginWaiting()
    return promise.futureResult
  }

  private func beginWaiting() {
    for (holder, job) in state.withLock({ $0.begin() }) {
      threads.submit { [self] _ in
        job.end(resolve(job.host, job.port, job.family))
        state.withLock { $0.running.release(1, of: holder) }
        beginWaiting()
      }
    }
  }

  /// As the system knows them.
  private static func systemAddresses(of host: String, _ port: Int, _ family: CInt) -> [SocketAddress] {
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
}

extension SocketAddress {
  /// Whether it is one of the internet.
  var isPublic: Bool { ipAddress.flatMap(HostAddress.init)?.isPublic == true }

  fileprivate var family: CInt {
    switch self {
    case .v4: AF_INET
    case .v6: AF_INET6
    case .unixDomainSocket: AF_UNIX
    }
  }
}
