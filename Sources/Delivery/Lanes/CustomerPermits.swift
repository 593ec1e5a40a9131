import Locking
package import Wire

/// Limits how many of something this hub does at a time. Customers take turns: the one that holds fewest permits gets the next, and none
/// holds more than half.
package final class CustomerPermits: Sendable {
  private struct Waiter {
    let id: Int
    let customer: CustomerID
    let continuation: CheckedContinuation<CustomerPermit?, Never>
  }

  private struct State {
    var free: Int
    var held: [CustomerID: Int] = [:]
    var waiters: [Waiter] = []
    var lastID = 0
  }

  private let most: Int
  private let state: Mutex<State>

  package init(_ permits: Int) {
    most = max(1, permits / 2)
    state = Mutex(State(free: permits))
  }

  /// Waits for a permit, which ends with the value.
  /// - Returns: `nil` once `stop` is stopped.
  package func acquire(_ customer: CustomerID, until stop: StopSignal) async -> CustomerPermit? {
    let id = state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    return await stop.whileRunning {
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          change { $0.waiters.append(Waiter(id: id, customer: customer, continuation: continuation)) }
          if stop.isStopped || Task.isCancelled { giveUp(id) }
        }
      } onCancel: {
        giveUp(id)
      }
    } onStop: {
      self.giveUp(id)
    }
  }

  private func giveUp(_ id: Int) {
    let waiter = state.withLock { state in
      state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
    }
    waiter?.continuation.resume(returning: nil)
  }

  fileprivate func release(_ customer: CustomerID) {
    change { state in
      state.free += 1
      let held = (state.held[customer] ?? 1) - 1
      state.held[customer] = held > 0 ? held : nil
    }
  }

  private func change(_ body: (inout State) -> Void) {
    let resumed = state.withLock { [most] state in
      body(&state)
      var resumed: [Waiter] = []
      while state.free > 0 {
        let next = state.waiters.indices.filter { (state.held[state.waiters[$0].customer] ?? 0) < most }
          .min { (state.held[state.waiters[$0].customer] ?? 0, $0) < (state.held[state.waiters[$1].customer] ?? 0, $1) }
        guard let next else { break }
        let waiter = state.waiters.remove(at: next)
        state.free -= 1
        state.held[waiter.customer, default: 0] += 1
        resumed.append(waiter)
      }
      return resumed
    }
    for waiter in resumed { waiter.continuation.resume(returning: CustomerPermit(waiter.customer, self)) }
  }
}

/// A permit, which is given back when nobody holds it any more.
package final class CustomerPermit: Sendable {
  private let customer: CustomerID
  private let permits: CustomerPermits

  fileprivate init(_ customer: CustomerID, _ permits: CustomerPermits) {
    self.customer = customer
    self.permits = permits
  }

  deinit { permits.release(customer) }
}
