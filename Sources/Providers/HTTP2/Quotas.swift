import NIOCore
import Locking
import Wire

/// Counts what is in use of something that all customers share.
///
/// A holder has at most `most` of it, and never more than it leaves free. So whatever some of them hold, there is something left for a
/// further one.
struct SharedCount<Holder: Hashable & Sendable>: Sendable {
  let most: Int
  let total: Int
  private var held: [Holder: Int] = [:]
  private(set) var used = 0

  init(most: Int, total: Int) {
    self.most = most
    self.total = total
  }

  /// How much the holder has.
  func held(by holder: Holder) -> Int { held[holder, default: 0] }

  /// How much more it may have.
  func room(for holder: Holder) -> Int {
    let held = held(by: holder)
    return max(0, min(most - held, (total - used - held) / 2))
  }

  /// - Returns: how much the holder got, at most `count`.
  mutating func take(upTo count: Int, for holder: Holder) -> Int {
    let taken = min(count, room(for: holder))
    guard taken > 0 else { return 0 }
    held[holder, default: 0] += taken
    used += taken
    return taken
  }

  mutating func release(_ count: Int, of holder: Holder) {
    let left = held(by: holder) - count
    held[holder] = left > 0 ? left : nil
    used -= count
  }

  var isEmpty: Bool { used == 0 }
}

/// Who uses addresses that others name: a customer, apart for each service. So what devices name for Web Push takes nothing from the
/// customer's SMS.
struct QuotaHolder: Hashable, Sendable {
  var customer: CustomerID?
  /// As `PoolKey.service`.
  var service: String
}

/// What customers take at addresses that they, their apps or devices name: places, which are requests in flight, and connections.
///
/// Whoever names an address can let it hang. So a customer has a bounded share of both, and within it each of its addresses has one, too.
final class Quotas: Sendable {
  struct Limits: Sendable {
    /// Most places of a customer. One address gets half of them.
    var places = 128
    /// Most places of all holders.
    var allPlaces = 1024
    /// Most connections of a customer beside the first to each origin.
    var connections = 64
    /// Most such connections of all holders.
    var allConnections = 512
    /// Most origins that a customer has connections to.
    var origins = 64
    /// Most origins that all customers have connections to.
    var allOrigins = 512
  }

  /// A call that waits for places.
  private struct Waiter {
    let id: Int
    let address: String
    var count: Int
    let grant: @Sendable (PlaceLease) -> Void
  }

  private struct State {
    var holders: SharedCount<QuotaHolder>
    var addresses: [QuotaHolder: SharedCount<String>] = [:]
    var connections: SharedCount<QuotaHolder>
    var waiting: [QuotaHolder: [Waiter]] = [:]
    var lastWaiter = 0

    mutating func take(upTo count: Int, of holder: QuotaHolder, at address: String, _ limits: Limits) -> Int {
      var own = addresses[holder] ?? SharedCount(most: limits.places, total: limits.places)
      let taken = holders.take(upTo: min(count, own.room(for: address)), for: holder)
      guard own.take(upTo: taken, for: address) > 0 else { return 0 }
      addresses[holder] = own
      return taken
    }

    mutating func release(_ count: Int, of holder: QuotaHolder, at address: String) {
      holders.release(count, of: holder)
      addresses[holder]?.release(count, of: address)
      if addresses[holder]?.isEmpty == true { addresses[holder] = nil }
    }

    /// Gives what is free to those that wait, the one that has the least first.
    mutating func grants(_ limits: Limits) -> [(waiter: Waiter, holder: QuotaHolder, count: Int)] {
      var grants: [(Waiter, QuotaHolder, Int)] = []
      for holder in waiting.keys.sorted(by: { holders.held(by: $0) < holders.held(by: $1) }) {
        guard var waiters = waiting[holder], holders.room(for: holder) > 0 else { continue }
        for index in waiters.indices {
          let count = take(upTo: waiters[index].count, of: holder, at: waiters[index].address, limits)
          guard count > 0 else { continue }
          waiters[index].count -= count
          grants.append((waiters[index], holder, count))
        }
        waiters.removeAll { $0.count == 0 }
        waiting[holder] = waiters.isEmpty ? nil : waiters
      }
      return grants
    }
  }

  let limits: Limits
  private let state: Mutex<State>

  init(_ limits: Limits = Limits()) {
    self.limits = limits
    state = Mutex(
      State(
        holders: SharedCount(most: limits.places, total: limits.allPlaces),
        connections: SharedCount(most: limits.connections, total: limits.allConnections)))
  }

  /// How many places are held.
  func places(of holder: QuotaHolder) -> Int { state.withLock { $0.holders.held(by: holder) } }

  /// How many connections all customers hold beside the first to each origin.
  var furtherConnections: Int { state.withLock { $0.connections.used } }

  /// Takes places at an address, now or as they come free.
  /// - Parameters:
  ///   - patience: how long a place is waited for; not at all if it is zero.
  ///   - loop: keeps the time.
  ///   - grant: called with places, perhaps several times and from any thread.
  ///   - giveUp: called at most once, with how many were not to be had in time.
  func take(
    _ count: Int, of holder: QuotaHolder, at address: String, patience: TimeAmount, on loop: any EventLoop,
    grant: @escaping @Sendable (PlaceLease) -> Void, giveUp: @escaping @Sendable (Int) -> Void
  ) {
    let (taken, waiter) = state.withLock { state -> (Int, Int?) in
      // Who waits already comes first.
      let isFirst = state.waiting[holder]?.contains { $0.address == address } != true
      let taken = isFirst ? state.take(upTo: count, of: holder, at: address, limits) : 0
      if taken == count || patience == .zero { return (taken, nil) }
      state.lastWaiter += 1
      state.waiting[holder, default: []].append(
        Waiter(id: state.lastWaiter, address: address, count: count - taken, grant: grant))
      return (taken, state.lastWaiter)
    }
    if taken > 0 { grant(PlaceLease(taken, of: holder, at: address, in: self)) }
    guard let waiter else {
      if taken < count { giveUp(count - taken) }
      return
    }
    loop.scheduleTask(in: patience) {
      let left = self.state.withLock { state -> Int in
        guard let index = state.waiting[holder]?.firstIndex(where: { $0.id == waiter }) else { return 0 }
        let left = state.waiting[holder]?.remove(at: index).count ?? 0
        if state.waiting[holder]?.isEmpty == true { state.waiting[holder] = nil }
        return left
      }
      if left > 0 { giveUp(left) }
    }
  }

  fileprivate func release(_ count: Int, of holder: QuotaHolder, at address: String) {
    let grants = state.withLock { state in
      state.release(count, of: holder, at: address)
      return state.waiting.isEmpty ? [] : state.grants(limits)
    }
    for (waiter, holder, count) in grants {
      waiter.grant(PlaceLease(count, of: holder, at: waiter.address, in: self))
    }
  }

  /// - Returns: whether the holder may open a further connection to an origin; `closeConnection` gives it back.
  func openConnection(of holder: QuotaHolder) -> Bool {
    state.withLock { $0.connections.take(upTo: 1, for: holder) > 0 }
  }

  func closeConnection(of holder: QuotaHolder) { state.withLock { $0.connections.release(1, of: holder) } }
}

/// Places that somebody holds. What is not given back before ends with it.
final class PlaceLease: Sendable {
  let count: Int
  private let left: Mutex<Int>
  private let release: @Sendable (Int) -> Void

  fileprivate init(_ count: Int, of holder: QuotaHolder, at address: String, in quotas: Quotas) {
    self.count = count
    left = Mutex(count)
    release = { [weak quotas] in quotas?.release($0, of: holder, at: address) }
  }

  deinit { end(count) }

  /// Gives places back, at most those that are left.
  func end(_ count: Int) {
    let ended = left.withLock { left in
      defer { left -= min(left, count) }
      return min(left, count)
    }
    if ended > 0 { release(ended) }
  }
}
