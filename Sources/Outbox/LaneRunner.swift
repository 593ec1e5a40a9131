package import Logging
package import Postgres
import Locking
import ServiceLifecycle
package import Wire

/// What is sent as a whole, such as all that is due to one address.
package protocol DueLane: Hashable, Sendable {
  var customer: CustomerID { get }
}

/// Sends what is due, each lane by a task of its own, so that one whose receiver is slow holds up no other. Any number of hubs can run it.
///
/// It is woken by NOTIFY, and asks `scanEvery` what is due, which also finds what a lost notification was about. A customer has at most a
/// sixteenth of the lanes, so that others find some free. Those for which there is no place follow as soon as one has ended.
package struct LaneRunner<Lane: DueLane>: Sendable {
  private let scanEvery: Duration
  private let due: @Sendable () async throws -> [Lane]
  private let send: @Sendable (Lane) async -> Void
  private let logger: Logger
  private let running = RunningLanes<Lane>()

  /// - Parameters:
  ///   - due: the lanes in which something is due, of all customers.
  ///   - send: sends what is due in a lane. It is called for one lane by one task at a time. Once `isStopping`, it is to begin nothing more.
  package init(
    scanEvery: Duration, logger: Logger, due: @escaping @Sendable () async throws -> [Lane],
    send: @escaping @Sendable (Lane) async -> Void
  ) {
    self.scanEvery = scanEvery
    self.logger = logger
    self.due = due
    self.send = send
  }

  /// Whether the task is shutting down, or was cancelled.
  package static var isStopping: Bool { Task.isShuttingDownGracefully || Task.isCancelled }

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
            logger.error(
              "stopped listening for what is due, which is now found by the periodic scan only",
              metadata: ["channels": "\(channels)", "error": "\(error)"])
          }
        }
      }
      group.addTask {
        repeat { wake.yield() } while (try? await Task.sleep(for: scanEvery)) != nil
      }
      group.addTask { if (try? await gracefulShutdown()) != nil { wake.finish() } }
      await sendAll(work, wake)
      group.cancelAll()
    }
  }

  /// Sends once what is due now, and waits for it.
  /// - Returns: in how many lanes.
  package func runOnce() async throws -> Int {
    let lanes = try await due().filter(running.begin)
    await withDiscardingTaskGroup { group in
      for lane in lanes {
        group.addTask {
          await send(lane)
          _ = running.end(lane)
        }
      }
    }
    return lanes.count
  }

  private func sendAll(_ work: AsyncStream<Void>, _ wake: AsyncStream<Void>.Continuation) async {
    await withDiscardingTaskGroup { group in
      for await _ in work {
        let lanes: [Lane]
        do {
          lanes = try await due()
        } catch {
          if !Task.isCancelled { logger.warning("could not ask what is due", metadata: ["error": "\(error)"]) }
          continue
        }
        for lane in lanes.shuffled() where running.begin(lane) {
          group.addTask {
            var end: RunningLanes<Lane>.End
            repeat {
              await send(lane)
              end = running.end(lane)
            } while end == .again && !Self.isStopping
            if end == .othersWait { wake.yield() }
          }
        }
      }
    }
  }
}

/// The lanes that this hub sends now.
private final class RunningLanes<Lane: DueLane>: Sendable {
  enum End { case again, over, othersWait }

  private struct State {
    /// Whether each is to be looked at once more.
    var lanes: [Lane: Bool] = [:]
    var ofCustomers: [CustomerID: Int] = [:]
    /// Whether lanes were turned away that may begin when any has ended, and those customers of which one has to end.
    var isFull = false
    var fullCustomers: Set<CustomerID> = []
  }

  private let state = Mutex(State())
  private static var most: Int { 512 }
  private static var mostOfCustomer: Int { 32 }

  /// - Returns: false if it is being sent already, and then it is looked at once more; or if there is no place.
  func begin(_ lane: Lane) -> Bool {
    state.withLock { state in
      guard state.lanes[lane] == nil else {
        state.lanes[lane] = true
        return false
      }
      guard state.ofCustomers[lane.customer, default: 0] < Self.mostOfCustomer else {
        state.fullCustomers.insert(lane.customer)
        return false
      }
      guard state.lanes.count < Self.most else {
        state.isFull = true
        return false
      }
      state.lanes[lane] = false
      state.ofCustomers[lane.customer, default: 0] += 1
      return true
    }
  }

  /// Ends a lane, unless it is to be sent once more.
  func end(_ lane: Lane) -> End {
    state.withLock { state in
      if state.lanes[lane] == true {
        state.lanes[lane] = false
        return .again
      }
      state.lanes[lane] = nil
      if let count = state.ofCustomers[lane.customer] { state.ofCustomers[lane.customer] = count > 1 ? count - 1 : nil }
      let othersWait = state.fullCustomers.remove(lane.customer) != nil || state.isFull
      state.isFull = false
      return othersWait ? .othersWait : .over
    }
  }
}
