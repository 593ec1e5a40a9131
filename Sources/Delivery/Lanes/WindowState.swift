import Retrying
import DequeModule
import Wire

/// Which pushes of this hub may be in flight: places, given to customers by turns, then to their lanes. A value that decides and does
/// nothing; `HubWindow` drives it.
///
/// A push has a place from before it leaves until its outcome is written. A place is *overdue* once it is held for longer than
/// `verdictTimeout`. An overdue place counts for its lane alone, so that a push service that does not answer keeps nobody else waiting.
/// - A lane begins with `share` places. Each answer lets it have one more, and each overdue place one less.
/// - A lane with `share` overdue places is *silent*: it gets no more, and whoever waits in it for longer than `verdictTimeout` is turned away.
///   Where devices or customers name the addresses, one that hangs says nothing of the others: Providers' `AddressAnswers` sees to it that
///   no more is sent there, and the lane is never silent.
/// - Lanes that have had no answer yet have half of the window together.
/// - The customer that holds fewest places comes first, then its single messages, then its lane that holds fewest.
/// - Broadcasts leave `leastReserved` places to single messages, and thrice what these wanted lately, unless their customer holds nothing.
struct WindowState {
  typealias Instant = ContinuousClock.Instant

  /// A source of pushes: a run of a sendout's lane, or one of notifications.
  private struct Member {
    let lane: LaneKey
    let isBulk: Bool
    var end: DispatchEnd?
    var request: Request?
  }

  /// What a member waits for: capacity for the first of these slices at least.
  struct Request {
    let needs: [SliceNeed]
    /// The claim that the slices belong to; `nil` if no write-ahead mark has to be moved for them.
    let claim: Claim?
    let since: Instant
    /// How many places others got that asked later.
    fileprivate var overtaken = 0

    func capacity(of count: Int) -> Int { needs.prefix(count).reduce(0) { $0 + $1.capacity } }

    /// How many of the slices so much capacity is enough for.
    func fitting(in capacity: Int) -> Int {
      var left = capacity
      return needs.prefix {
        left -= $0.capacity
        return left >= 0
      }.count
    }
  }

  /// Places that were given together.
  private struct Places {
    let customer: CustomerID
    /// `nil` for messages whose lanes are not known yet.
    let lane: LaneKey?
    /// `nil` for messages whose write-ahead mark is committed together with them.
    let member: Int?
    let since: Instant
    var held: Int
    var isOverdue = false
  }

  /// Places that are held, and how many of them.
  private struct Held {
    var fresh = 0
    var overdue = 0
    var isEmpty: Bool { fresh == 0 && overdue == 0 }
  }

  private struct LaneState {
    var held = Held()
    var credit: Int
    var hasAnswered = false
    /// Whether one service answers all of its pushes.
    var isOfOneService = true
    var members = 0
  }

  let size: Int
  /// Most places that a member asks for at once, and that a lane has overdue.
  let share: Int
  let verdictTimeout: Duration
  private let leastReserved: Int
  private var lastID = 0
  private var members: [Int: Member] = [:]
  /// Members that wait, in the order in which they asked.
  private var queue: [Int] = []
  private var lanes: [LaneKey: LaneState] = [:]
  private var customers: [CustomerID: Held] = [:]
  private var places: [Int: Places] = [:]
  /// Places that are not overdue, the oldest first. Some of them may be free again.
  private var ages: Deque<(since: Instant, id: Int)> = []
  /// Of all customers. An overdue place takes no capacity.
  private(set) var fresh = 0
  /// Of lanes that have had no answer yet.
  private var unknown = 0
  /// Held by messages whose write-ahead mark is committed together with them.
  private var ofMessages = 0
  /// Most capacity that messages wanted at once, until `pushesUntilQuiet` is 0.
  private var wantedByMessages = 0
  /// For how many pushes members have yet to take capacity until messages count as over.
  private var pushesUntilQuiet = 0

  init(size: Int, verdictTimeout: Duration) {
    self.size = size
    self.verdictTimeout = verdictTimeout
    share = max(1, size / 5)
    leastReserved = size / 5
  }

  var free: Int { size - fresh }

  // MARK: Members

  mutating func join(_ lane: LaneKey, isBulk: Bool, isOfOneService: Bool = true) -> Int {
    lastID += 1
    members[lastID] = Member(lane: lane, isBulk: isBulk)
    lanes[lane, default: LaneState(credit: share)].isOfOneService = isOfOneService
    lanes[lane, default: LaneState(credit: share)].members += 1
    return lastID
  }

  /// Gives back what the member still holds.
  mutating func leave(_ id: Int) {
    guard let member = members.removeValue(forKey: id) else { return }
    queue.removeAll { $0 == id }
    for (number, held) in places where held.member == id {
      add(-held.held, to: held)
      places[number] = nil
    }
    lanes[member.lane]?.members -= 1
    forgetIfIdle(member.lane)
  }

  func end(of id: Int) -> DispatchEnd? { members[id]?.end }

  /// Ends what the member waits for. The first reason counts.
  mutating func close(_ id: Int, _ end: DispatchEnd) {
    if members[id]?.end == nil { members[id]?.end = end }
  }

  mutating func wait(_ id: Int, for needs: [SliceNeed], of claim: Claim?, at now: Instant) {
    precondition(members[id]?.request == nil, "one task at a time")
    members[id]?.request = Request(needs: needs, claim: claim, since: now)
    queue.append(id)
  }

  /// Whether the lane has so many overdue places that it gets no more.
  mutating func isSilent(_ lane: LaneKey, at now: Instant) -> Bool {
    age(now)
    return lanes[lane].map { isSilent($0) } ?? false
  }

  private func isSilent(_ lane: LaneState) -> Bool { lane.isOfOneService && lane.held.overdue >= share }

  /// When something changes by itself: a place is overdue, or somebody has waited for too long.
  var alarm: Instant? {
    guard !queue.isEmpty else { return nil }
    let late = queue.lazy.compactMap { id -> Instant? in
      guard let member = members[id], let lane = lanes[member.lane], isSilent(lane) else { return nil }
      return member.request.map { $0.since + verdictTimeout }
    }.min()
    let old = ages.first.map { $0.since + verdictTimeout }
    return [late, old].compactMap(\.self).min()
  }

  // MARK: Giving

  /// Ends the waiting of those that need not wait any more.
  /// - Returns: what each gets, `nil` if nothing.
  mutating func resumable(at now: Instant) -> [(id: Int, grant: SliceGrant?)] {
    guard !queue.isEmpty else { return [] }
    age(now)
    var resumed: [(id: Int, grant: SliceGrant?)] = []
    for id in queue {
      guard let member = members[id], let request = member.request else { continue }
      if member.end == nil, let lane = lanes[member.lane], isSilent(lane), request.since + verdictTimeout <= now {
        let delay = RetryPolicy.silentLane
        close(
          id, .unavailable(reason: "its push service has not answered for \(verdictTimeout.inSeconds) s", after: delay))
      }
      guard members[id]?.end != nil else { continue }
      _ = take(id)
      resumed.append((id, nil))
    }
    while let (id, count) = next(), let request = take(id) {
      resumed.append(
        (id, SliceGrant(count: count, capacity: give(request.capacity(of: count), to: id, at: now), isMarked: nil)))
    }
    return resumed
  }

  /// The member whose turn it is, and how many slices it gets: one at a time while others wait.
  private mutating func next() -> (id: Int, count: Int)? {
    var turns: [(id: Int, turn: (Int, Int, Int, Int, Int), capacity: Int)] = []
    var isUnknownKept = false
    for (place, id) in queue.enumerated() {
      guard let member = members[id], let request = member.request, let lane = lanes[member.lane] else { continue }
      let capacity = capacity(of: member.lane)
      let fits = request.needs[0].capacity <= capacity
      // What becomes free of the half for lanes without an answer is kept for one that has been overtaken often enough.
      if !lane.hasAnswered, isUnknownKept { continue }
      if !lane.hasAnswered, !fits, request.overtaken >= size, !isSilent(lane) { isUnknownKept = true }
      guard fits else { continue }
      let held = customers[member.lane.customer] ?? Held()
      turns.append((id, (held.fresh, held.overdue, member.isBulk ? 1 : 0, lane.held.fresh, place), capacity))
      // Everything that becomes free is kept for one that has been overtaken often enough.
      if request.overtaken >= size {
        turns = [turns[turns.count - 1]]
        break
      }
    }
    if turns.count > 1 { turns.sort { $0.turn < $1.turn } }
    for (id, turn, capacity) in turns {
      guard let member = members[id], let request = member.request else { continue }
      let left = free - reserved
      guard request.needs[0].capacity <= (member.isBulk && turn.0 > 0 ? left : free) else { continue }
      let count = queue.count > 1 ? 1 : max(1, request.fitting(in: min(member.isBulk ? left : free, capacity)))
      for other in queue.prefix(turn.4) { members[other]?.request?.overtaken += request.capacity(of: count) }
      return (id, count)
    }
    return nil
  }

  /// What broadcasts leave free.
  private var reserved: Int { max(leastReserved, min(3 * wantedByMessages, size - share * 3 / 2) - ofMessages) }

  /// How many more places the lane may have, as far as its own answers say.
  private func capacity(of key: LaneKey) -> Int {
    guard let lane = lanes[key], !isSilent(lane) else { return 0 }
    if lane.held.overdue > 0, (customers[key.customer]?.overdue ?? 0) >= size { return 0 }
    let capacity = max(0, lane.credit - lane.held.fresh)
    return lane.hasAnswered ? capacity : min(capacity, max(share, size / 2) - unknown)
  }

  private mutating func take(_ id: Int) -> Request? {
    queue.removeAll { $0 == id }
    defer { members[id]?.request = nil }
    return members[id]?.request
  }

  private mutating func give(_ count: Int, to id: Int, at now: Instant) -> Capacity {
    guard let lane = members[id]?.lane else { return Capacity() }
    pushesUntilQuiet = max(0, pushesUntilQuiet - count)
    if pushesUntilQuiet == 0 { wantedByMessages = ofMessages }
    return give(count, to: id, customer: lane.customer, lane: lane, since: now)
  }

  private mutating func give(
    _ count: Int, to member: Int? = nil, customer: CustomerID, lane: LaneKey?, since: Instant
  ) -> Capacity {
    guard count > 0 else { return Capacity() }
    lastID += 1
    places[lastID] = Places(customer: customer, lane: lane, member: member, since: since, held: count)
    ages.append((since, lastID))
    add(count, to: places[lastID])
    return Capacity(places: lastID, count: count)
  }

  /// Adds `count` to all that counts such places.
  private mutating func add(_ count: Int, to places: Places?) {
    guard let places else { return }
    let part: WritableKeyPath<Held, Int> = places.isOverdue ? \.overdue : \.fresh
    customers[places.customer, default: Held()][keyPath: part] += count
    if customers[places.customer]?.isEmpty == true { customers[places.customer] = nil }
    if let lane = places.lane {
      lanes[lane, default: LaneState(credit: share)].held[keyPath: part] += count
    }
    guard !places.isOverdue else { return }
    fresh += count
    if places.member == nil { ofMessages += count }
    if let lane = places.lane, lanes[lane]?.hasAnswered == false { unknown += count }
  }

  /// Fresh → overdue, for all places that are held for too long.
  private mutating func age(_ now: Instant) {
    while let (since, id) = ages.first, since + verdictTimeout <= now {
      ages.removeFirst()
      guard var old = places[id] else { continue }
      add(-old.held, to: old)
      old.isOverdue = true
      add(old.held, to: old)
      places[id] = old
      if let key = old.lane, let lane = lanes[key] { lanes[key]?.credit = max(share, lane.credit - old.held) }
    }
  }

  // MARK: Taking back

  /// Places are free: their outcomes are written, or their pushes did not leave.
  /// - Parameter isAnswered: whether that says something of the push service.
  mutating func release(_ capacity: Capacity, isAnswered: Bool = true) {
    // Of a member that has left, all are free already.
    guard capacity.count > 0, let old = places[capacity.places] else { return }
    assert(capacity.count <= old.held, "each place is released once")
    let count = min(capacity.count, old.held)
    add(-count, to: old)
    places[capacity.places]?.held -= count
    if old.held == count { places[capacity.places] = nil }
    guard let key = old.lane, var lane = lanes[key] else { return }
    if isAnswered {
      lane.credit = min(size, lane.credit + count)
      if !lane.hasAnswered { unknown -= lane.held.fresh }
      lane.hasAnswered = true
    }
    lanes[key] = lane
    forgetIfIdle(key)
    while let first = ages.first, places[first.id] == nil { ages.removeFirst() }
  }

  private mutating func forgetIfIdle(_ key: LaneKey) {
    if let lane = lanes[key], lane.members == 0, lane.held.isEmpty { lanes[key] = nil }
  }

  // MARK: Messages, marked as they are accepted

  /// Takes capacity for messages of a customer, if there is some at once: three fifths of the window at most.
  /// - Parameter lanes: that the messages may go to; a silent one gets none.
  mutating func reserve(of customer: CustomerID, in lanes: [LaneKey], upTo count: Int, at now: Instant) -> Capacity {
    age(now)
    wantedByMessages = max(wantedByMessages, ofMessages + count)
    pushesUntilQuiet = size
    guard lanes.allSatisfy({ key in self.lanes[key].map { !isSilent($0) && $0.held.fresh < $0.credit } ?? true }) else {
      return Capacity()
    }
    // One customer's messages leave a fifth to others'.
    let held = customers[customer]?.fresh ?? 0
    let most = min(free, size * 3 / 5 - ofMessages, size * 4 / 5 - held)
    return give(max(0, min(count, most)), customer: customer, lane: nil, since: now)
  }

  /// Says which lanes messages took capacity for.
  mutating func assign(_ capacity: Capacity, to parts: [(lane: LaneKey, count: Int)]) -> [Capacity] {
    guard let taken = places[capacity.places] else { return parts.map { _ in Capacity() } }
    release(capacity)
    return parts.map { part in
      give(part.count, customer: part.lane.customer, lane: part.lane, since: taken.since)
    }
  }

  // MARK: Successors

  /// What the member waits for, if no other waits and the capacity of outcomes that are about to be written is enough for some of it. It
  /// waits on, though in no queue.
  mutating func successors(_ id: Int, in capacities: [Capacity], at now: Instant) -> Successors? {
    age(now)
    guard queue == [id], let member = members[id], member.end == nil, let request = member.request,
      let claim = request.claim
    else { return nil }
    let released = capacities.reduce(0) { $0 + (places[$1.places].map { $0.isOverdue } == false ? $1.count : 0) }
    let usable = released - max(0, reserved - free)
    let count = request.fitting(in: min(usable, capacity(of: member.lane) + released))
    guard count > 0 else { return nil }
    _ = take(id)
    return Successors(
      member: id, request: request, count: count,
      mark: WriteAheadMark(claim: claim, push: request.needs[count - 1].last))
  }

  /// Gives the successors what they were promised, of places that are free now.
  mutating func give(to successors: Successors, at now: Instant) -> Capacity {
    give(successors.request.capacity(of: successors.count), to: successors.member, at: now)
  }

  /// Lets the successors wait again, before others.
  mutating func putBack(_ successors: Successors) {
    guard members[successors.member] != nil else { return }
    members[successors.member]?.request = successors.request
    queue.insert(successors.member, at: 0)
  }
}

/// An app of a customer and an environment of its push service; or all of a customer's webhooks.
struct LaneKey: Hashable, Sendable {
  let customer: CustomerID
  /// `nil` for webhooks.
  let lane: Lane?
}

/// Places in the window: those that were given together, and how many of them.
struct Capacity: Sendable, Hashable {
  var places = 0
  var count = 0
}

/// What a slice needs before it can be sent.
struct SliceNeed: Sendable {
  /// Capacity in the window, at most `HubWindow.share`.
  let capacity: Int
  /// How far its batch's write-ahead mark has to be.
  let last: PushNumber
}

/// Capacity for the first slices of those that were asked for.
struct SliceGrant: Sendable {
  let count: Int
  let capacity: Capacity
  /// Whether the write-ahead mark for them is committed, or could not be; `nil` if it is yet to be committed.
  let isMarked: Bool?
}

/// Slices that take the capacity of pushes whose outcomes are being written. Their write-ahead mark is committed together with these
/// outcomes, so that a slice need not wait for two commits, and no moment has more pushes that may have left.
struct Successors: Sendable {
  let member: Int
  fileprivate let request: WindowState.Request
  let count: Int
  let mark: WriteAheadMark
}
