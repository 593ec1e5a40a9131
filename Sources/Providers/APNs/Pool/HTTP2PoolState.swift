import NIOCore

/// When a pool opens connections, to how many, and when it gives its queue back.
///
/// It knows connections by serial number only. Each belongs to a generation: a recovery that asks for a fresh connection
/// begins a new generation, and connections of an older one take no more requests.
struct HTTP2PoolState {
  enum Action: Hashable {
    /// Open a connection under this number.
    case open(Int)
    /// Let the connection finish what it has, and close it.
    case retire(Int)
    /// Hand all that waits back, unsent.
    case giveBack(reason: String)
  }

  private struct Link {
    enum Phase { case opening, ready, retiring }
    var phase = Phase.opening
    let generation: Int
    var answers = 0
    /// Whether it was we who let it go.
    var isLetGo = false
  }

  private let settings: PoolSettings
  private var links: [Int: Link] = [:]
  private var lastSerial = 0
  private var generation = 0
  /// Connections lost since the last answer: each doubles the wait before the next. Apple takes rapid opening and closing
  /// for an attack.
  private var losses = 0
  private var notBefore: NIODeadline?
  private var lastLoss = "NoConnection"
  /// Whether so many connections failed in a row that those who wait are told.
  private var isHopeless = false
  /// Since when pushes have waited without one being answered; nil while none waits.
  private var stuckSince: NIODeadline?
  /// When each recovery last asked for fresh connections.
  private var renewals: [APNsReason: NIODeadline] = [:]
  private var isShutDown = false

  init(_ settings: PoolSettings) { self.settings = settings }

  /// Connections that take requests, oldest first.
  var ready: [Int] {
    links.filter { $0.value.phase == .ready && $0.value.generation == generation }.map(\.key).sorted()
  }

  /// Connections of any kind.
  var count: Int { links.count }

  /// Looks at how much waits, and decides. To be called after all that changes either.
  mutating func review(waiting: Int, now: NIODeadline) -> [Action] {
    guard waiting > 0 else {
      isHopeless = false
      stuckSince = nil
      return []
    }
    if isShutDown { return [.giveBack(reason: "ShuttingDown")] }
    let since = stuckSince ?? now
    stuckSince = since
    if isHopeless || now >= since + settings.queueTimeout {
      isHopeless = false
      stuckSince = nil
      return [.giveBack(reason: lastLoss)]
    }
    if let notBefore, now < notBefore { return [] }
    notBefore = nil
    let current = links.values.filter { $0.generation == generation && $0.phase != .retiring }
    // One after the other: a connection that cannot be opened is not tried many times at once.
    guard current.allSatisfy({ $0.phase == .ready }), current.count < wanted(for: waiting) else { return [] }
    lastSerial += 1
    links[lastSerial] = Link(generation: generation)
    return [.open(lastSerial)]
  }

  /// When `review` is to be called next, at the latest.
  func nextReview() -> NIODeadline {
    guard let stuckSince else { return .distantFuture }
    return min(stuckSince + settings.queueTimeout, notBefore ?? .distantFuture)
  }

  /// A second connection pays only for a backlog.
  private func wanted(for waiting: Int) -> Int {
    min(settings.size, 1 + waiting / 256)
  }

  /// The server's SETTINGS are here.
  mutating func opened(_ serial: Int) -> [Action] {
    guard let link = links[serial], link.phase == .opening else { return [] }
    if link.generation == generation {
      links[serial]?.phase = .ready
      return []
    }
    return letGo([serial])
  }

  /// APNs answered a push, whatever it said: connections work.
  mutating func answered(on serial: Int, now: NIODeadline) {
    links[serial]?.answers += 1
    losses = 0
    isHopeless = false
    notBefore = nil
    if stuckSince != nil { stuckSince = now }
  }

  /// A connection takes no more requests, because the server said so. Another may open in its place.
  mutating func retiring(_ serial: Int) {
    links[serial]?.phase = .retiring
  }

  /// A connection is gone. The next one waits, unless this one was let go or had done its work.
  /// - Parameter jitter: random, from 0 to 1.
  mutating func gone(_ serial: Int, reason: String, jitter: Double, now: NIODeadline) {
    guard let link = links.removeValue(forKey: serial), !link.isLetGo else { return }
    lastLoss = reason
    if link.phase == .retiring, link.answers >= 10 { return }
    let wait = min(settings.reconnectLimit.nanoseconds, settings.reconnect.nanoseconds << Int64(min(losses, 20)))
    losses += 1
    isHopeless = losses >= settings.attempts
    notBefore = now + .nanoseconds(wait / 2 + Int64(Double(wait / 2) * jitter))
  }

  /// A push was refused, on connection `serial`, for a reason that a fresh connection may cure. Says whether to try it
  /// there: not if this connection is itself one that was opened, within the last minute, to cure that reason.
  mutating func renew(for reason: APNsReason, on serial: Int, now: NIODeadline) -> (isWorthwhile: Bool, [Action]) {
    // Its connection may be gone already; then whichever opens next is fresher than the refusal.
    let refusedBy = links[serial]?.generation ?? generation - 1
    guard refusedBy == generation else { return (true, []) }
    if let last = renewals[reason], now < last + .seconds(60) { return (false, []) }
    renewals[reason] = now
    generation += 1
    return (true, letGo(links.filter { $0.value.phase == .ready }.map(\.key)))
  }

  /// No more connections; those there are finish what they have.
  mutating func shutDown() -> [Action] {
    isShutDown = true
    return letGo(Array(links.keys))
  }

  private mutating func letGo(_ serials: [Int]) -> [Action] {
    for serial in serials {
      links[serial]?.phase = .retiring
      links[serial]?.isLetGo = true
    }
    return serials.sorted().map(Action.retire)
  }
}

/// What a pool is told of the settings.
struct PoolSettings: Sendable {
  var size: Int
  var queueTimeout: TimeAmount
  /// Connections that may fail in a row before waiting pushes are given back.
  var attempts: Int
  /// The wait after the first loss; doubled with each that follows, up to the limit.
  var reconnect: TimeAmount
  var reconnectLimit: TimeAmount
}
