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
  func capacity(for holder: Holder) -> Int {
    let held = held(by: holder)
    return max(0, min(most - held, (total - used - held) / 2))
  }

  /// - Returns: how much the holder got, at most `count`.
  mutating func take(upTo count: Int, for holder: Holder) -> Int {
    let taken = min(count, capacity(for: holder))
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

/// What is known of an address that others name.
enum AddressKind: Sendable, Hashable {
  /// Anybody may have named it: its places are bounded, and nothing is sent to it while it is silent.
  case untrusted
  /// The operator answers for it: it has as many places as it wants, unless it is silent.
  case trusted
  /// All requests of a service go to it: its places are bounded, and the lane sees whether it answers.
  case provider

  var isBounded: Bool { self != .trusted }
}

/// What customers take at addresses that they, their apps or devices name: places, which are requests in flight, and connections.
///
/// Whoever names an address can let it hang. So a customer has a bounded share of both, and within it each of its addresses has one, too.
/// Nothing is sent to an address that is silent (`AddressAnswers`), whether its places are bounded or not.
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
    /// How many unanswered requests make an untrusted address silent.
    var unansweredByUntrusted = 16
    /// How many make a trusted address silent: as many as a lane begins with.
    var unanswered = 100
    /// How many silent addresses are known, of all customers.
    var silentAddresses = 1024

    fileprivate func unanswered(by kind: AddressKind) -> Int {
      switch kind {
      case .untrusted: unansweredByUntrusted
      case .trusted: unanswered
      case .provider: .max
      }
    }
  }

  /// An address of a holder, where requests need places.
  private struct Place: Hashable {
    let holder: QuotaHolder
    let address: String
  }

  /// A call that waits for places.
  private struct Waiter {
    let id: Int
    let address: String
    let kind: AddressKind
    var count: Int
    let grant: @Sendable (PlaceLease) -> Void
  }

  private struct State {
    var holders: SharedCount<QuotaHolder>
    var addresses: [QuotaHolder: SharedCount<String>] = [:]
    var connections: SharedCount<QuotaHolder>
    var waiting: [QuotaHolder: [Waiter]] = [:]
    var lastWaiter = 0
    var answers: [Place: AddressAnswers] = [:]

    mutating func isSilent(_ place: Place) -> Bool { answers[place]?.isSilent(at: .now()) ?? false }

    /// - Returns: how many places the call got, and the ticket that ends them.
    mutating func take(upTo count: Int, at place: Place, _ kind: AddressKind, _ limits: Limits) -> (
      count: Int, ticket: Int
    ) {
      let now = NIODeadline.now()
      var known =
        answers[place]
        ?? AddressAnswers(limit: limits.unanswered(by: kind), isUntrusted: kind == .untrusted)
      var taken = known.capacity(for: count, at: now)
      if kind.isBounded {
        var own = addresses[place.holder] ?? SharedCount(most: limits.places, total: limits.places)
        taken = holders.take(upTo: min(taken, own.capacity(for: place.address)), for: place.holder)
        if own.take(upTo: taken, for: place.address) > 0 { addresses[place.holder] = own }
      }
      guard taken > 0 else { return (0, 0) }
      let ticket = known.begin(taken, at: now)
      if answers[place] == nil, answers.count >= limits.silentAddresses { forgetOldest() }
      answers[place] = known
      return (taken, ticket)
    }

    mutating func release(_ count: Int, _ ticket: Int, at place: Place, _ kind: AddressKind, isAnswered: Bool?) {
      answers[place]?.end(count, of: ticket, isAnswered: isAnswered, at: .now())
      if answers[place]?.isForgettable == true { answers[place] = nil }
      guard kind.isBounded else { return }
      holders.release(count, of: place.holder)
      addresses[place.holder]?.release(count, of: place.address)
      if addresses[place.holder]?.isEmpty == true { addresses[place.holder] = nil }
    }

    /// Forgets the silent address to which nothing was sent for the longest time.
    private mutating func forgetOldest() {
      if let oldest = answers.filter(\.value.isIdle).min(by: { $0.value.lastUse < $1.value.lastUse })?.key {
        answers[oldest] = nil
      }
    }

    /// Gives what is free to those that wait, the one that has the least first.
    mutating func grants(_ limits: Limits) -> [(waiter: Waiter, place: Place, taken: (count: Int, ticket: Int))] {
      var grants: [(Waiter, Place, (Int, Int))] = []
      for holder in waiting.keys.sorted(by: { holders.held(by: $0) < holders.held(by: $1) }) {
        guard var waiters = waiting[holder], holders.capacity(for: holder) > 0 else { continue }
        for index in waiters.indices {
          let place = Place(holder: holder, address: waiters[index].address)
          let taken = take(upTo: waiters[index].count, at: place, waiters[index].kind, limits)
          guard taken.count > 0 else { continue }
          waiters[index].count -= taken.count
          grants.append((waiters[index], place, taken))
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

  /// Takes places at an address, now or as they come free. One that is silent has none.
  /// - Parameters:
  ///   - timeout: how long a place is waited for; not at all if it is zero.
  ///   - loop: keeps the time.
  ///   - grant: called with places, perhaps several times and from any thread.
  ///   - giveUp: called at most once, with how many were not to be had in time, and why.
  func take(
    _ count: Int, of holder: QuotaHolder, at address: String, _ kind: AddressKind = .untrusted, timeout: TimeAmount,
    on loop: any EventLoop,
    grant: @escaping @Sendable (PlaceLease) -> Void, giveUp: @escaping @Sendable (Int, String) -> Void
  ) {
    let place = Place(holder: holder, address: address)
    let (taken, isSilent, waiter) = state.withLock { state -> ((count: Int, ticket: Int), Bool, Int?) in
      // Who waits already comes first.
      let isFirst = state.waiting[holder]?.contains { $0.address == address } != true
      let taken = isFirst ? state.take(upTo: count, at: place, kind, limits) : (count: 0, ticket: 0)
      let isSilent = taken.count < count && state.isSilent(place)
      if taken.count == count || isSilent || timeout == .zero { return (taken, isSilent, nil) }
      state.lastWaiter += 1
      state.waiting[holder, default: []].append(
        Waiter(id: state.lastWaiter, address: address, kind: kind, count: count - taken.count, grant: grant))
      return (taken, isSilent, state.lastWaiter)
    }
    if taken.count > 0 { grant(lease(taken, at: place, kind)) }
    guard let waiter else {
      if taken.count < count { giveUp(count - taken.count, .hub(isSilent ? .noAnswer : .noPlace)) }
      return
    }
    loop.scheduleTask(in: timeout) {
      let (left, isSilent) = self.state.withLock { state -> (Int, Bool) in
        guard let index = state.waiting[holder]?.firstIndex(where: { $0.id == waiter }) else { return (0, false) }
        let left = state.waiting[holder]?.remove(at: index).count ?? 0
        if state.waiting[holder]?.isEmpty == true { state.waiting[holder] = nil }
        return (left, state.isSilent(place))
      }
      if left > 0 { giveUp(left, .hub(isSilent ? .noAnswer : .noPlace)) }
    }
  }

  private func lease(_ taken: (count: Int, ticket: Int), at place: Place, _ kind: AddressKind) -> PlaceLease {
    PlaceLease(taken.count) { [weak self] count, isAnswered in
      guard let self else { return }
      let grants = state.withLock { state in
        state.release(count, taken.ticket, at: place, kind, isAnswered: isAnswered)
        return state.waiting.isEmpty ? [] : state.grants(limits)
      }
      for (waiter, place, taken) in grants { waiter.grant(self.lease(taken, at: place, waiter.kind)) }
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
  private let release: @Sendable (Int, Bool?) -> Void

  /// - Parameter release: see `end`.
  fileprivate init(_ count: Int, release: @escaping @Sendable (Int, Bool?) -> Void) {
    self.count = count
    left = Mutex(count)
    self.release = release
  }

  deinit { end(count) }

  /// Gives places back, at most those that are left.
  /// - Parameter isAnswered: whether the address has answered the requests that had them; nil if that says nothing of it.
  func end(_ count: Int, isAnswered: Bool? = nil) {
    let ended = left.withLock { left in
      defer { left -= min(left, count) }
      return min(left, count)
    }
    if ended > 0 { release(ended, isAnswered) }
  }
}
