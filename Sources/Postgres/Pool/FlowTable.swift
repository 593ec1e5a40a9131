import DequeModule

/// Something that waits for a connection on behalf of a customer, and holds one afterwards.
protocol FlowMember: AnyObject {
  /// Whose turn it takes: a customer; 0 for the hub itself, and for what serves several customers.
  var flow: Int64 { get }
  /// What it costs its flow's turn, in bytes.
  var cost: Int { get }
  /// When it has waited too long.
  var expires: MonotonicInstant { get }
  /// Whether nobody waits for it any more.
  var isFinished: Bool { get }
  /// Its flow's place in the table, for as long as it waits or holds a connection.
  var place: FlowPlace { get set }
}

/// The flow of a member, and the connection that it holds.
struct FlowPlace {
  fileprivate var slot = -1
  fileprivate var connection = -1
  /// Whether its flow kept connections busy for long when it was taken.
  fileprivate(set) var isSlow = false
}

/// How many statements of a flow may be in flight on one connection. It grows with each that is answered soon, and shrinks with each that is not. So what
/// nobody knows yet cannot fill the connections with statements that take long, and others wait behind few.
struct FlowWindow {
  private(set) var size = Self.first

  /// The size for a flow that is new.
  static let first = 2
  /// The size for a flow that comes back after a rest.
  static let idleSize = 16
  static let least = 1
  static let most = ConnectionLoad.mostCalls
  /// From being sent to being answered, in nanoseconds: 50 and 200 ms.
  private static let (soon, late): (Int64, Int64) = (50_000_000, 200_000_000)

  /// - Parameter isLast: whether nothing of the flow is in flight any more: what it sends next may be something else.
  mutating func answered(after time: Int64, isLast: Bool) {
    if time < Self.soon {
      size = isLast ? min(max(size, Self.idleSize), 2 * Self.idleSize) : min(size + 1, Self.most)
    } else if time > Self.late {
      size = max(size - max(1, size / 8), Self.least)
    }
  }

  mutating func close() { size = Self.least }
}

/// Who waits for connections, by customer, and who holds them.
///
/// Flows take turns by deficit round robin: each gives up its turn once what it sent costs as much as `turn`. So one that has
/// 50,000 statements waiting keeps another's first waiting for a turn of each flow, and no longer. A choice takes constant time.
///
/// A flow: **idle** → **waiting** (`append`) → idle, once nothing of it waits. What is taken from it holds a connection until
/// `leave`. Of a flow the connections are counted that it holds something on.
struct FlowTable<Member: FlowMember> {
  private struct Flow {
    var key: Int64
    /// Those that were sent and never ran. They come first, as they have waited longest.
    var again: Deque<Member> = []
    var fresh: Deque<Member> = []
    /// What it may still take in this turn. Beyond its turn it is in debt.
    var credit = 0
    var waits = false
    /// Members on each connection.
    var held: [Int32]
    /// Connections on which it has members.
    var connections = 0
    /// How many there may be on one connection.
    var window = FlowWindow()
    /// Until when it counts as one that keeps connections busy for long.
    var slowUntil = MonotonicInstant(nanoseconds: .min)

    var count: Int { again.count + fresh.count }
    var first: Member? { again.first ?? fresh.first }

    mutating func popFirst() -> Member? { again.popFirst() ?? fresh.popFirst() }
  }

  /// What a flow may send in a turn, in bytes of cost.
  static var turn: Int { 4096 }
  /// What one member costs at most, so that a large one does not keep its flow out for long.
  private static var highestCost: Int { 16 * turn }

  private let connections: Int
  private var flows: [Flow] = []
  private var slots: [Int64: Int] = [:]
  private var freeSlots: [Int] = []
  /// Flows that wait, in the order of their turns.
  private var turns: Deque<Int> = []
  /// Idle flows are looked for when there are as many.
  private var compactsAt = 256
  /// No later than the first of those that wait has waited too long.
  private(set) var expires = MonotonicInstant.distantFuture
  /// Members that wait.
  private(set) var count = 0

  /// - Parameter connections: how many there are; they are numbered from 0.
  init(connections: Int) { self.connections = connections }

  var isEmpty: Bool { count == 0 }
  /// Flows that have something waiting.
  var waitingFlows: Int { turns.count }
  /// All that wait, by flow.
  var all: [Member] { turns.flatMap { Array(flows[$0].again) + Array(flows[$0].fresh) } }

  // MARK: Waiting

  mutating func append(_ member: Member) {
    let slot = slot(of: member.flow)
    flows[slot].fresh.append(member)
    waits(member, in: slot)
  }

  /// One that was sent and certainly never ran waits in front of its flow's others.
  mutating func appendAgain(_ member: Member) {
    let slot = slot(of: member.flow)
    flows[slot].again.append(member)
    waits(member, in: slot)
  }

  private mutating func waits(_ member: Member, in slot: Int) {
    member.place.slot = slot
    count += 1
    expires = min(expires, member.expires)
    guard !flows[slot].waits else { return }
    flows[slot].waits = true
    flows[slot].credit = min(flows[slot].credit, 0) + Self.turn
    turns.append(slot)
  }

  /// How many of a flow wait.
  func count(of flow: Int64) -> Int { slots[flow].map { flows[$0].count } ?? 0 }

  /// Whether more than so many of them are not over. Looks no further than it must.
  func hasUnfinished(moreThan limit: Int) -> Bool {
    guard count > limit else { return false }
    var unfinished = 0
    for slot in turns {
      for members in [flows[slot].again, flows[slot].fresh] {
        for member in members where !member.isFinished {
          unfinished += 1
          if unfinished > limit { return true }
        }
      }
    }
    return false
  }

  // MARK: Turns

  /// The first member of the flow whose turn it is; one that is not over.
  mutating func next() -> Member? {
    while let slot = turns.first {
      while let first = flows[slot].first, first.isFinished {
        _ = flows[slot].popFirst()
        count -= 1
      }
      guard let first = flows[slot].first else {
        endWait(of: slot)
        continue
      }
      if flows[slot].credit > 0 || turns.count == 1 { return first }
      flows[slot].credit += Self.turn
      pass()
    }
    return nil
  }

  /// Gives the turn to the next flow.
  mutating func pass() {
    if let slot = turns.popFirst() { turns.append(slot) }
  }

  /// Takes what `next` gave: from now on it holds this connection.
  /// - Parameter now: decides whether its flow is slow.
  mutating func take(for connection: Int, at now: MonotonicInstant = .distantFuture) {
    guard let slot = turns.first, let member = flows[slot].popFirst() else { return }
    count -= 1
    flows[slot].credit = max(
      flows[slot].credit - min(member.cost, Self.highestCost), -Self.highestCost)
    member.place.connection = connection
    member.place.isSlow = flows[slot].slowUntil > now
    if flows[slot].held[connection] == 0 { flows[slot].connections += 1 }
    flows[slot].held[connection] += 1
    if flows[slot].count == 0 {
      endWait(of: slot)
    } else if flows[slot].credit <= 0 {
      flows[slot].credit += Self.turn
      pass()
    }
  }

  private mutating func endWait(of slot: Int) {
    turns.removeFirst()
    isOver(slot)
  }

  /// Nothing of the flow waits any more.
  private mutating func isOver(_ slot: Int) {
    flows[slot].waits = false
    flows[slot].credit = min(flows[slot].credit, 0)
    if turns.isEmpty { expires = .distantFuture }
  }

  // MARK: Shares

  /// The connections that the member's flow holds something on.
  func connections(of member: Member) -> Int { flows[member.place.slot].connections }

  /// Whether its flow holds something on this connection.
  func holds(_ member: Member, on connection: Int) -> Bool { flows[member.place.slot].held[connection] > 0 }

  /// Whether its flow keeps connections busy for long.
  func isSlow(_ member: Member, at now: MonotonicInstant) -> Bool { flows[member.place.slot].slowUntil > now }

  /// Whether its flow may have one more in flight on this connection.
  func hasWindow(_ member: Member, on connection: Int) -> Bool {
    flows[member.place.slot].held[connection] < flows[member.place.slot].window.size
  }

  /// One of the flow's members has kept its connection busy for long.
  mutating func markSlow(_ flow: Int64, until end: MonotonicInstant) {
    guard let slot = slots[flow] else { return }
    flows[slot].slowUntil = max(flows[slot].slowUntil, end)
    flows[slot].window.close()
  }

  /// A member no longer holds its connection.
  /// - Parameter time: for how long it held it, in nanoseconds.
  /// - Returns: the connection it held, if it held one.
  @discardableResult
  mutating func leave(_ member: Member, after time: Int64 = 0) -> Int? {
    let (slot, connection) = (member.place.slot, member.place.connection)
    guard connection >= 0 else { return nil }
    member.place.connection = -1
    flows[slot].held[connection] -= 1
    if flows[slot].held[connection] == 0 { flows[slot].connections -= 1 }
    flows[slot].window.answered(after: time, isLast: flows[slot].connections == 0)
    return connection
  }

  // MARK: Those that leave the queue otherwise

  /// Removes those that are over or have waited too long.
  /// - Returns: the latter.
  mutating func removeExpired(at now: MonotonicInstant) -> [Member] {
    guard expires <= now else { return [] }
    var late: [Member] = []
    expires = .distantFuture
    forEachWaiting { flow in
      func prune(_ members: inout Deque<Member>) {
        while let first = members.first, first.isFinished || first.expires <= now {
          members.removeFirst()
          if !first.isFinished { late.append(first) }
        }
      }
      prune(&flow.again)
      prune(&flow.fresh)
    }
    for slot in turns {
      let flow = flows[slot]
      expires = min(expires, flow.again.first?.expires ?? .distantFuture, flow.fresh.first?.expires ?? .distantFuture)
    }
    return late
  }

  /// - Parameter isOver: sees each of those that wait once.
  mutating func removeAll(where isOver: (Member) -> Bool) {
    forEachWaiting { flow in
      flow.again.removeAll(where: isOver)
      flow.fresh.removeAll(where: isOver)
    }
  }

  /// The last to arrive of the flow that has most waiting.
  mutating func popSurplus() -> Member? {
    guard let slot = turns.max(by: { flows[$0].count < flows[$1].count }) else { return nil }
    let member = flows[slot].fresh.popLast() ?? flows[slot].again.popLast()
    if member != nil { count -= 1 }
    if flows[slot].count == 0 {
      turns.removeAll { $0 == slot }
      isOver(slot)
    }
    return member
  }

  private mutating func forEachWaiting(_ body: (inout Flow) -> Void) {
    for slot in turns {
      let before = flows[slot].count
      body(&flows[slot])
      count -= before - flows[slot].count
    }
    let over = turns.filter { flows[$0].count == 0 }
    guard !over.isEmpty else { return }
    turns.removeAll { flows[$0].count == 0 }
    for slot in over { isOver(slot) }
  }

  // MARK: Places

  private mutating func slot(of flow: Int64) -> Int {
    if let slot = slots[flow] { return slot }
    if slots.count >= compactsAt { compact() }
    if let slot = freeSlots.popLast() {
      flows[slot].key = flow
      slots[flow] = slot
      return slot
    }
    flows.append(Flow(key: flow, held: Array(repeating: 0, count: connections)))
    slots[flow] = flows.count - 1
    return flows.count - 1
  }

  /// Forgets flows that neither wait nor hold anything. Flows are kept for a while, since most come back at once.
  private mutating func compact() {
    for (key, slot) in slots where !flows[slot].waits && flows[slot].connections == 0 {
      slots[key] = nil
      flows[slot].credit = 0
      flows[slot].window = FlowWindow()
      flows[slot].slowUntil = MonotonicInstant(nanoseconds: .min)
      freeSlots.append(slot)
    }
    compactsAt = max(256, 2 * slots.count)
  }
}
