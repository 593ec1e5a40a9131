import Locking
import Wire

/// Bounds how many pushes of this hub are in flight, from being sent until their outcome is written, and gives the places to customers and
/// lanes by turns: see `WindowState`. If the hub is killed, so many are uncertain, and those that push services have not answered in time.
final class HubWindow: Sendable {
  private struct Driven {
    var state: WindowState
    var waiters: [Int: CheckedContinuation<SliceGrant?, Never>] = [:]
    /// When a task looks at the window again.
    var alarm: ContinuousClock.Instant?
  }

  /// Most pushes that a run asks for at once.
  let share: Int
  private let driven: Mutex<Driven>

  init(_ size: Int, verdictTimeout: Duration) {
    let state = WindowState(size: size, verdictTimeout: verdictTimeout)
    share = state.share
    driven = Mutex(Driven(state: state))
  }

  /// Whether at least half of it is free.
  var isHalfFree: Bool { driven.withLock { $0.state.free * 2 >= $0.state.size } }

  /// Whether the lane's push service leaves so many pushes unanswered that no more are sent to it.
  func isSilent(_ lane: LaneKey) -> Bool { driven.withLock { $0.state.isSilent(lane, at: .now) } }

  /// Takes capacity for messages of a customer, if there is some at once.
  /// - Parameter lanes: that they may go to.
  func reserve(of customer: CustomerID, in lanes: [LaneKey], upTo count: Int) -> Capacity {
    driven.withLock { $0.state.reserve(of: customer, in: lanes, upTo: count, at: .now) }
  }

  /// Says which lanes messages took capacity for. The rest is released.
  func assign(_ capacity: Capacity, to parts: [(lane: LaneKey, count: Int)]) -> [Capacity] {
    guard capacity.count > 0 else { return parts.map { _ in Capacity() } }
    return change { driven, _ in driven.state.assign(capacity, to: parts) }
  }

  /// Releases capacity of messages.
  func release(_ capacity: Capacity) {
    if capacity.count > 0 { change { driven, _ in driven.state.release(capacity) } }
  }

  fileprivate func join(_ lane: LaneKey, isBulk: Bool, isOfOneService: Bool) -> Int {
    driven.withLock { $0.state.join(lane, isBulk: isBulk, isOfOneService: isOfOneService) }
  }

  fileprivate func leave(_ id: Int) { change { driven, _ in driven.state.leave(id) } }

  fileprivate func end(of id: Int) -> DispatchEnd? { driven.withLock { $0.state.end(of: id) } }

  fileprivate func close(_ id: Int, _ end: DispatchEnd) { change { driven, _ in driven.state.close(id, end) } }

  fileprivate func wait(
    _ id: Int, for needs: [SliceNeed], of claim: Claim?, _ continuation: CheckedContinuation<SliceGrant?, Never>
  ) {
    change { driven, now in
      driven.waiters[id] = continuation
      driven.state.wait(id, for: needs, of: claim, at: now)
    }
  }

  fileprivate func successors(_ id: Int, in capacities: [Capacity]) -> Successors? {
    driven.withLock { $0.state.successors(id, in: capacities, at: .now) }
  }

  fileprivate func releaseUnsent(_ capacity: Capacity) {
    change { driven, _ in driven.state.release(capacity, isAnswered: false) }
  }

  fileprivate func putBack(_ successors: Successors) { change { driven, _ in driven.state.putBack(successors) } }

  /// Releases capacities, and gives the successors what they were promised of them.
  fileprivate func release(_ capacities: [Capacity], to successors: Successors?, isMarked: Bool) {
    let resumed = change { driven, now -> (CheckedContinuation<SliceGrant?, Never>, SliceGrant)? in
      for capacity in capacities { driven.state.release(capacity) }
      guard let successors, let continuation = driven.waiters.removeValue(forKey: successors.member) else { return nil }
      let capacity = driven.state.give(to: successors, at: now)
      return (continuation, SliceGrant(count: successors.count, capacity: capacity, isMarked: isMarked))
    }
    if let (continuation, grant) = resumed { continuation.resume(returning: grant) }
  }

  /// Changes the state, and resumes those that need not wait any longer.
  private func change<Answer>(_ body: (inout Driven, ContinuousClock.Instant) -> Answer) -> Answer {
    let now = ContinuousClock.now
    let (answer, resumed, alarm) = driven.withLock { driven in
      let answer = body(&driven, now)
      let resumed = driven.state.resumable(at: now).map { (driven.waiters.removeValue(forKey: $0.id), $0.grant) }
      var alarm = driven.state.alarm
      if let next = alarm, driven.alarm.map({ next < $0 }) ?? true { driven.alarm = next } else { alarm = nil }
      return (answer, resumed, alarm)
    }
    for (continuation, grant) in resumed { continuation?.resume(returning: grant) }
    if let alarm {
      Task {
        try? await Task.sleep(until: alarm, clock: .continuous)
        self.driven.withLock { if $0.alarm == alarm { $0.alarm = nil } }
        self.change { _, _ in }
      }
    }
    return answer
  }
}

/// A run's part of the hub's window. It is closed when no more may follow. One task acquires, many release.
final class SendWindow: Sendable {
  private let hub: HubWindow
  private let id: Int

  /// - Parameters:
  ///   - isBulk: whether its pushes are of a broadcast, which leaves some capacity to single messages.
  ///   - isOfOneService: whether one service answers all pushes of the lane.
  init(_ hub: HubWindow, _ lane: LaneKey, isBulk: Bool, isOfOneService: Bool = true) {
    self.hub = hub
    id = hub.join(lane, isBulk: isBulk, isOfOneService: isOfOneService)
  }

  /// Why it was closed; `nil` while it is open.
  var end: DispatchEnd? { hub.end(of: id) }

  /// Waits for capacity and takes it.
  /// - Parameter count: at most `HubWindow.share`; 0 only asks whether it is open.
  /// - Returns: `nil` once the window is closed, the push service does not answer, or the task is cancelled.
  func acquire(_ count: Int) async -> Capacity? {
    guard count > 0 else { return end == nil ? Capacity() : nil }
    return await acquire([SliceNeed(capacity: count, last: PushNumber(0))])?.capacity
  }

  /// Waits for capacity for the first of a batch's slices, and takes it: for one at least, and for more if no other run waits.
  /// - Parameters:
  ///   - needs: of slices in their order. If they need no capacity, their write-ahead mark is committed already.
  ///   - claim: of the batch; `nil` if no write-ahead mark has to be moved.
  /// - Returns: `nil` once the window is closed, the push service does not answer, or the task is cancelled.
  func acquire(_ needs: [SliceNeed], of claim: Claim? = nil) async -> SliceGrant? {
    guard needs.contains(where: { $0.capacity > 0 }) else {
      return end == nil ? SliceGrant(count: needs.count, capacity: Capacity(), isMarked: true) : nil
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { hub.wait(id, for: needs, of: claim, $0) }
    } onCancel: {
      close(.stopped)
    }
  }

  /// The slices that wait for capacity and can have some of this, before it is released. Give it back by `release` or `putBack`.
  /// - Parameter capacities: of pushes whose outcomes are about to be written.
  /// - Returns: `nil` if none wait, or other runs wait too.
  func successors(of capacities: [Capacity]) -> Successors? { hub.successors(id, in: capacities) }

  /// Releases capacity once outcomes are written, and gives their successors what they need of it.
  /// - Parameter isMarked: whether the successors' write-ahead mark is committed with the outcomes.
  func release(_ capacities: [Capacity], to successors: Successors? = nil, isMarked: Bool = false) {
    if !capacities.isEmpty || successors != nil { hub.release(capacities, to: successors, isMarked: isMarked) }
  }

  /// Gives back the capacity of pushes that did not leave.
  func releaseUnsent(_ capacity: Capacity) {
    if capacity.count > 0 { hub.releaseUnsent(capacity) }
  }

  /// Lets the successors wait again, as outcomes were not written.
  func putBack(_ successors: Successors?) {
    if let successors { hub.putBack(successors) }
  }

  /// Closes the window. The first reason counts.
  func close(_ end: DispatchEnd) { hub.close(id, end) }

  /// Gives back what the run still holds, at its end.
  func leave() { hub.leave(id) }
}
