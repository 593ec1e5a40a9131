import Retrying
import NIOCore
import Wire

/// Decides when a pool opens connections, how many, and when it stops waiting for one.
///
/// It knows connections by serial number only. Each belongs to a generation: a recovery that needs a new connection begins a new
/// generation, and connections of older ones take no more requests.
struct HTTP2PoolState {
  enum Action: Hashable {
    /// Open a connection under this number.
    case open(Int)
    /// Let the connection finish its requests, and close it.
    case retire(Int)
    /// Return all waiting pushes as unsent.
    case failWaiting(reason: String)
  }

  private struct Entry {
    enum Phase { case opening, ready, retiring }
    var phase = Phase.opening
    let generation: Int
    var answers = 0
    /// Whether it speaks HTTP/2.
    var hasStreams = true
    /// Whether it was retired by us, not by the server.
    var isRetiredByUs = false
  }

  private let settings: PoolSettings
  private var entries: [Int: Entry] = [:]
  private var lastSerial = 0
  private var generation = 0
  /// Connections lost since the last response: each doubles the delay before the next. Apple treats rapid opening and closing as
  /// an attack.
  private var losses = 0
  private var notBefore: NIODeadline?
  private var lastLoss: String = .hub(.noConnection)
  /// Whether so many connections failed in a row that waiting pushes are returned.
  private var hasGivenUp = false
  /// Since when pushes have waited without a response; nil while none waits.
  private var waitingSince: NIODeadline?
  /// When each recovery last began a new generation.
  private var renewals: [String: NIODeadline] = [:]
  private var isShutDown = false

  init(_ settings: PoolSettings) { self.settings = settings }

  /// Connections that take requests, oldest first.
  var ready: [Int] {
    entries.filter { $0.value.phase == .ready && $0.value.generation == generation }.map(\.key).sorted()
  }

  /// Connections in any phase.
  var count: Int { entries.count }

  /// Decides by the number of waiting pushes. To be called after every other change.
  /// - Parameter maySend: whether pushes leave as soon as a connection takes them. Until then, as before the first access token, one
  ///   connection is enough.
  mutating func review(waiting: Int, maySend: Bool = true, now: NIODeadline) -> [Action] {
    guard waiting > 0 else {
      hasGivenUp = false
      waitingSince = nil
      return []
    }
    if isShutDown { return [.failWaiting(reason: .hub(.shuttingDown))] }
    let since = waitingSince ?? now
    waitingSince = since
    if hasGivenUp || now >= since + settings.queueTimeout {
      hasGivenUp = false
      waitingSince = nil
      return [.failWaiting(reason: lastLoss)]
    }
    if let notBefore, now < notBefore { return [] }
    notBefore = nil
    let current = entries.values.filter { $0.generation == generation && $0.phase != .retiring }
    // One at a time: a connection that cannot be opened is not tried many times at once.
    guard current.allSatisfy({ $0.phase == .ready }), current.count < (maySend ? wanted(for: waiting, current) : 1)
    else { return [] }
    lastSerial += 1
    entries[lastSerial] = Entry(generation: generation)
    return [.open(lastSerial)]
  }

  /// When `review` is to be called next, at the latest.
  func nextReview() -> NIODeadline {
    guard let waitingSince else { return .distantFuture }
    return min(waitingSince + settings.queueTimeout, notBefore ?? .distantFuture)
  }

  /// With HTTP/2 another connection is useful only for a backlog, unless others may not be answered. With HTTP/1.1 each has one request, and what waits finds none free.
  private func wanted(for waiting: Int, _ current: [Entry]) -> Int {
    current.contains { !$0.hasStreams }
      ? min(settings.http1Size, current.count + waiting)
      : min(settings.size, max(1, current.count + (settings.opensAnotherWhenFull ? 1 : waiting / 256)))
  }

  /// A connection may take requests: the server's SETTINGS are here, or the handshake chose HTTP/1.1.
  mutating func opened(_ serial: Int, hasStreams: Bool = true) -> [Action] {
    guard let entry = entries[serial], entry.phase == .opening else { return [] }
    entries[serial]?.hasStreams = hasStreams
    if entry.generation == generation {
      entries[serial]?.phase = .ready
      return []
    }
    return retire([serial])
  }

  /// A connection is not opened, since there may be no more now.
  mutating func forget(_ serial: Int) { entries[serial] = nil }

  /// The service responded to a push, so connections work.
  mutating func answered(on serial: Int, now: NIODeadline) {
    entries[serial]?.answers += 1
    losses = 0
    hasGivenUp = false
    notBefore = nil
    if waitingSince != nil { waitingSince = now }
  }

  /// A connection takes no more requests, because the server said so, or by us. Another may replace it.
  mutating func retiring(_ serial: Int, byUs: Bool = false) {
    entries[serial]?.phase = .retiring
    if byUs { entries[serial]?.isRetiredByUs = true }
  }

  /// A connection is closed. The next one is delayed, unless this one was retired or had done its work.
  /// - Parameter jitter: random, from 0 to 1.
  mutating func closed(_ serial: Int, reason: String, jitter: Double, now: NIODeadline) {
    guard let entry = entries.removeValue(forKey: serial), !entry.isRetiredByUs else { return }
    lastLoss = reason
    // Servers close connections of HTTP/1.1 at any time between two requests.
    if entry.hasStreams ? entry.phase == .retiring && entry.answers >= 10 : entry.answers >= 1 { return }
    losses += 1
    hasGivenUp = losses >= settings.attempts
    notBefore = now + TimeAmount(settings.reconnect.delay(after: losses, random: jitter))
  }

  /// A push was refused on connection `serial`, for a reason that a new connection may cure.
  /// - Returns: whether to try it there: not if this connection was itself opened within the last minute to cure that reason.
  mutating func renew(for reason: String, on serial: Int, now: NIODeadline) -> (isWorthwhile: Bool, [Action]) {
    // Its connection may be closed already; then the next one is newer than the refusal.
    let refusedBy = entries[serial]?.generation ?? generation - 1
    guard refusedBy == generation else { return (true, []) }
    if let last = renewals[reason], now < last + TimeAmount(RetryPolicy.renewals) { return (false, []) }
    renewals[reason] = now
    generation += 1
    return (true, retire(entries.filter { $0.value.phase == .ready }.map(\.key)))
  }

  /// Opens no more connections, and retires all.
  mutating func shutDown() -> [Action] {
    isShutDown = true
    return retire(Array(entries.keys))
  }

  private mutating func retire(_ serials: [Int]) -> [Action] {
    for serial in serials {
      entries[serial]?.phase = .retiring
      entries[serial]?.isRetiredByUs = true
    }
    return serials.sorted().map(Action.retire)
  }
}

/// The settings of a pool.
struct PoolSettings: Sendable {
  /// Most connections, while they speak HTTP/2.
  var size: Int
  /// Most connections, while they speak HTTP/1.1.
  var http1Size = 0
  /// Whether what waits behind the requests of all connections gets another one.
  var opensAnotherWhenFull = false
  var queueTimeout: TimeAmount
  /// Connections that may fail in a row before waiting pushes are returned.
  var attempts: Int
  /// When a lost connection is replaced.
  var reconnect: RetryPolicy
}
