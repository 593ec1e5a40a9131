package import Logging
package import Postgres
import Locking
import ServiceLifecycle
package import Wire

/// What is done by one task at a time, such as sending all that is due to one address.
package protocol DueLane: Hashable, Sendable {
  var customer: CustomerID { get }
}

/// Sends what is due, each lane by a task of its own, so that one whose receiver is slow holds up no other. Any number of hubs can run it.
/// Whatever else is due by customer can run on it, too, such as steps of imports.
///
/// It is woken by NOTIFY, and asks `scanEvery` what is due, which finds what a lost notification was about. Lanes for which there is no
/// place wait for one. They get it as soon as a lane ends, or has sent a portion: those of customers with the fewest lanes under way first.
package final class LaneRunner<Lane: DueLane>: Sendable {
  /// Sends what is due in a lane, portion by portion.
  /// - Parameter mayGoOn: asked after each portion. If not, the lane has to give its place to another.
  /// - Returns: whether there may be more that is due.
  package typealias Send = @Sendable (_ lane: Lane, _ mayGoOn: @escaping @Sendable () -> Bool) async -> Bool

  private let scanEvery: Duration
  private let due: @Sendable () async throws -> [Lane]
  private let send: Send
  private let logger: Logger
  private let lanes: Mutex<DueLanes<Lane>>

  /// - Parameters:
  ///   - due: the lanes in which something is due, of all customers.
  ///   - send: called for one lane by one task at a time.
  package init(
    scanEvery: Duration, places: LanePlaces = LanePlaces(), logger: Logger,
    due: @escaping @Sendable () async throws -> [Lane], send: @escaping Send
  ) {
    lanes = Mutex(DueLanes(places))
    self.scanEvery = scanEvery
    self.logger = logger
    self.due = due
    self.send = send
  }

  /// Sends until graceful shutdown. Then it begins with no lane more, and waits for what is on its way. When its task is cancelled it drops
  /// everything, as if the hub had been killed.
  /// - Parameters:
  ///   - channels: where hubs notify each other that something may be due.
  ///   - onNotification: called with each notification, before what is due is asked.
  package func run(
    wokenBy pool: Pool? = nil, on channels: [String] = [],
    onNotification: @escaping @Sendable (Notifications.Element) -> Void = { _ in }
  ) async {
    let (work, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    await withTaskGroup(of: Void.self) { group in
      if let pool {
        group.addTask {
          do {
            for try await event in pool.notifications(on: channels) {
              onNotification(event)
              wake.yield()
            }
          } catch {
            guard !Task.isCancelled else { return }
            self.logger.error(
              "stopped listening for what is due, which is now found by the periodic scan only",
              metadata: ["channels": "\(channels)", "error": "\(error)"])
          }
        }
      }
      group.addTask {
        repeat { wake.yield() } while (try? await Task.sleep(for: self.scanEvery)) != nil
      }
      group.addTask { if (try? await gracefulShutdown()) != nil { wake.finish() } }
      await sendAll(work)
      group.cancelAll()
    }
  }

  /// Sends once what is due now, and waits for it.
  /// - Returns: in how many lanes.
  package func runOnce() async throws -> Int {
    let found = try await due()
    await withDiscardingTaskGroup { begin(found, in: &$0) }
    return found.count
  }

  private func sendAll(_ work: AsyncStream<Void>) async {
    await withDiscardingTaskGroup { group in
      for await _ in work {
        do {
          begin(try await due(), in: &group)
        } catch {
          if !Task.isCancelled {
            logger.warning("could not ask what is due, asking again soon", metadata: ["error": "\(error)"])
          }
        }
      }
    }
  }

  private static var isStopping: Bool { Task.isShuttingDownGracefully || Task.isCancelled }

  /// A task for each free place, which goes on with those that wait.
  private func begin(_ found: [Lane], in group: inout DiscardingTaskGroup) {
    lanes.withLock { $0.wait(found.shuffled()) }
    while let first = lanes.withLock({ $0.begin() }) {
      group.addTask {
        var next: Lane? = first
        while let lane = next {
          let mayBeMore = await self.send(lane) {
            !Self.isStopping && self.lanes.withLock { !$0.othersWait(for: lane) }
          }
          next = self.lanes.withLock { lanes in
            lanes.end(lane, mayBeMore: mayBeMore)
            return Self.isStopping ? nil : lanes.begin()
          }
        }
      }
    }
  }
}

/// How many lanes a hub has under way.
package struct LanePlaces: Sendable {
  package let most: Int
  package let ofCustomer: Int
  /// Places that only customers get who have none.
  package let reserve: Int

  package init(most: Int = 512, ofCustomer: Int = 32, reserve: Int = 64) {
    (self.most, self.ofCustomer, self.reserve) = (most, ofCustomer, reserve)
  }
}

/// The lanes that this hub sends now, and those that wait for a place.
struct DueLanes<Lane: DueLane> {
  private let places: LanePlaces

  private struct Waiting {
    let lane: Lane
    /// Whoever has waited longer has a lower one.
    let ticket: Int
  }

  /// Whether each is to be looked at once more.
  private var underWay: [Lane: Bool] = [:]
  private var counts: [CustomerID: Int] = [:]
  /// Those of each customer in the order of their tickets.
  private var waiting: [CustomerID: [Waiting]] = [:]
  private var lastTicket = 0

  init(_ places: LanePlaces = LanePlaces()) { self.places = places }

  /// Takes what has been found due in place of all that waited; what waited already keeps its turn. A lane that is under way is looked at once
  /// more.
  mutating func wait(_ found: [Lane]) {
    let tickets = Dictionary(waiting.values.joined().map { ($0.lane, $0.ticket) }) { first, _ in first }
    waiting = [:]
    for lane in found {
      if underWay[lane] == nil { add(lane, ticket: tickets[lane]) } else { underWay[lane] = true }
    }
    for customer in waiting.keys { waiting[customer]?.sort { $0.ticket < $1.ticket } }
  }

  private mutating func add(_ lane: Lane, ticket: Int? = nil) {
    if ticket == nil { lastTicket += 1 }
    waiting[lane.customer, default: []].append(Waiting(lane: lane, ticket: ticket ?? lastTicket))
  }

  /// The next lane that has a place: of the customers with the fewest, the one that has waited longest.
  mutating func begin() -> Lane? {
    var next: (count: Int, ticket: Int, customer: CustomerID)?
    for (customer, lanes) in waiting {
      let count = counts[customer, default: 0]
      guard mayBegin(customer, besides: count, of: underWay.count), let first = lanes.first else { continue }
      if next.map({ (count, first.ticket) < ($0.count, $0.ticket) }) ?? true { next = (count, first.ticket, customer) }
    }
    guard let customer = next?.customer, let lane = waiting[customer]?.removeFirst().lane else { return nil }
    if waiting[customer]?.isEmpty == true { waiting[customer] = nil }
    underWay[lane] = false
    counts[customer, default: 0] += 1
    return lane
  }

  private func mayBegin(_ customer: CustomerID, besides own: Int, of all: Int) -> Bool {
    own == 0 ? all < places.most : own < places.ofCustomer && all < places.most - places.reserve
  }

  /// Whether a lane that waits would have a place if this one ended.
  func othersWait(for lane: Lane) -> Bool {
    waiting.keys.contains { customer in
      let own = counts[customer, default: 0] - (customer == lane.customer ? 1 : 0)
      return mayBegin(customer, besides: own, of: underWay.count - 1)
    }
  }

  /// - Parameter mayBeMore: whether it is to wait for another turn.
  mutating func end(_ lane: Lane, mayBeMore: Bool) {
    let isDueAgain = underWay.removeValue(forKey: lane) == true
    if let count = counts[lane.customer] { counts[lane.customer] = count > 1 ? count - 1 : nil }
    if isDueAgain || mayBeMore { add(lane) }
  }
}
