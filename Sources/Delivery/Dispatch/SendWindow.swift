import Synchronization
import Wire

/// Bounds how many pushes of this hub are in flight, from being sent until their outcome is written. If it is killed, so many are
/// uncertain. All runs share it.
///
/// A run that holds nothing comes first, and a run that holds something leaves a fifth of the window free. So a run whose push service
/// is slow holds up nobody. Otherwise runs have their turns in the order in which they ask, and each gets room for one slice at a time.
/// A run that waits alone gets room for all that fit, and is promised the room of its own pushes while their outcomes are written.
///
/// While there are many single messages, runs that hold something leave thrice the room that these wanted at once, and have room for a slice
/// and a half themselves: without room at once a message waits for a commit of its own. There are, until runs have taken room for as many
/// pushes as the window holds since one came.
final class HubWindow: Sendable {
  /// What a run waits for: room for the first of these slices at least.
  fileprivate struct Request: Sendable {
    let needs: [SliceNeed]
    /// The claim that the slices belong to; `nil` if no write-ahead mark has to be moved for them.
    let claim: Claim?
    let continuation: CheckedContinuation<SliceGrant?, Never>

    func grant(of count: Int, isMarked: Bool?) -> SliceGrant {
      SliceGrant(count: count, room: needs.prefix(count).reduce(0) { $0 + $1.room }, isMarked: isMarked)
    }

    /// How many of the slices so much room is enough for.
    func fitting(in room: Int) -> Int {
      var left = room
      return needs.prefix {
        left -= $0.room
        return left >= 0
      }.count
    }
  }

  private struct Run {
    var held = 0
    var end: DispatchEnd?
    var waiting: Request?
  }

  private struct State {
    var free: Int
    /// Held by messages whose write-ahead mark is committed together with them.
    var heldByMessages = 0
    /// Most room that messages wanted at once, until `pushesUntilQuiet` is 0.
    var wantedByMessages = 0
    /// For how many pushes runs have yet to take room until messages count as over.
    var pushesUntilQuiet = 0
    var runs: [Int: Run] = [:]
    var lastRun = 0
    /// The runs that wait, in their order.
    var queue: [Int] = []

    /// What runs that hold something leave free.
    func reserve(in window: HubWindow) -> Int {
      max(window.reserve, min(3 * wantedByMessages, window.size - window.share * 3 / 2) - heldByMessages)
    }

    /// Ends the waiting of those that need not wait any more.
    mutating func resumable(leaving reserve: Int) -> [(Request, SliceGrant?)] {
      var resumed: [(Request, SliceGrant?)] = []
      for id in queue where runs[id]?.end != nil { resumed += end(id, count: 0) }
      while let id = queue.first(where: { runs[$0]?.held == 0 }) {
        guard let request = runs[id]?.waiting, request.needs[0].room <= free else { return resumed }
        resumed += end(id, count: max(1, alone(request.fitting(in: free - reserve))))
      }
      while let id = queue.first, let request = runs[id]?.waiting {
        let count = request.fitting(in: free - reserve)
        guard count > 0 else { break }
        resumed += end(id, count: alone(count))
      }
      return resumed
    }

    /// One slice at a time while others wait.
    private func alone(_ count: Int) -> Int { queue.count == 1 ? count : min(count, 1) }

    private mutating func end(_ id: Int, count: Int) -> [(Request, SliceGrant?)] {
      guard let request = take(id) else { return [] }
      guard count > 0 else { return [(request, nil)] }
      let grant = request.grant(of: count, isMarked: nil)
      runs[id]?.held += grant.room
      free -= grant.room
      runsTook(grant.room)
      return [(request, grant)]
    }

    mutating func runsTook(_ room: Int) {
      pushesUntilQuiet = max(0, pushesUntilQuiet - room)
      if pushesUntilQuiet == 0 { wantedByMessages = heldByMessages }
    }

    mutating func take(_ id: Int) -> Request? {
      queue.removeAll { $0 == id }
      defer { runs[id]?.waiting = nil }
      return runs[id]?.waiting
    }
  }

  /// Most pushes that a run asks for at once: a run that holds nothing finds as many free, however many pushes others hold.
  let share: Int
  fileprivate let size: Int
  fileprivate let reserve: Int
  private let mostOfMessages: Int
  private let state: Mutex<State>

  init(_ size: Int) {
    self.size = size
    share = max(1, size / 5)
    reserve = size / 5
    mostOfMessages = size * 3 / 5
    state = Mutex(State(free: size))
  }

  /// Whether at least half of it is free.
  var isHalfFree: Bool { state.withLock { $0.free * 2 >= size } }

  /// Takes room for messages, if there is some at once.
  /// - Returns: how much, at most `count`.
  func takeForMessages(upTo count: Int) -> Int {
    state.withLock { state in
      let taken = max(0, min(count, state.free, mostOfMessages - state.heldByMessages))
      state.free -= taken
      state.heldByMessages += taken
      state.wantedByMessages = max(state.wantedByMessages, state.heldByMessages - taken + count)
      state.pushesUntilQuiet = size
      return taken
    }
  }

  /// Gives back what messages held.
  func giveBack(ofMessages count: Int) {
    change { state in
      state.free += count
      state.heldByMessages -= count
    }
  }

  fileprivate func join() -> Int {
    state.withLock { state in
      state.lastRun += 1
      state.runs[state.lastRun] = Run()
      return state.lastRun
    }
  }

  fileprivate func leave(_ id: Int) {
    change { state in
      state.free += state.runs[id]?.held ?? 0
      state.runs[id] = nil
    }
  }

  fileprivate func end(of id: Int) -> DispatchEnd? { state.withLock { $0.runs[id]?.end } }

  fileprivate func wait(_ id: Int, for request: Request) {
    change { state in
      precondition(state.runs[id]?.waiting == nil, "one task at a time")
      state.runs[id]?.waiting = request
      state.queue.append(id)
    }
  }

  /// What the run waits for, if no other run waits and so much room is enough for some of it. The run waits on, though in no queue.
  fileprivate func successors(_ id: Int, in room: Int) -> Successors? {
    state.withLock { state in
      guard state.queue == [id], state.runs[id]?.end == nil, let request = state.runs[id]?.waiting,
        let claim = request.claim
      else { return nil }
      let count = request.fitting(in: room - max(0, state.reserve(in: self) - state.free))
      guard count > 0 else { return nil }
      _ = state.take(id)
      return Successors(
        request: request, count: count, mark: WriteAheadMark(claim: claim, push: request.needs[count - 1].last))
    }
  }

  /// Lets the run wait again, before others.
  fileprivate func putBack(_ id: Int, _ request: Request) {
    change { state in
      state.runs[id]?.waiting = request
      state.queue.insert(id, at: 0)
    }
  }

  /// - Parameter successors: room that the run keeps for those.
  fileprivate func release(_ count: Int, of id: Int, keeping successors: Int = 0) {
    change { state in
      state.runsTook(successors)
      guard let held = state.runs[id]?.held else { return }
      state.runs[id]?.held = held - count
      state.free += count
    }
  }

  fileprivate func close(_ id: Int, _ end: DispatchEnd) {
    change { state in
      if state.runs[id]?.end == nil { state.runs[id]?.end = end }
    }
  }

  private func change(_ body: (inout State) -> Void) {
    let resumed = state.withLock { state in
      body(&state)
      return state.resumable(leaving: state.reserve(in: self))
    }
    for (request, grant) in resumed { request.continuation.resume(returning: grant) }
  }
}

/// What a slice needs before it can be sent.
struct SliceNeed: Sendable {
  /// Room in the window, at most `HubWindow.share`.
  let room: Int
  /// How far its batch's write-ahead mark has to be.
  let last: PushNumber
}

/// Room for the first slices of those that were asked for.
struct SliceGrant: Sendable {
  let count: Int
  let room: Int
  /// Whether the write-ahead mark for them is committed, or could not be; `nil` if it is yet to be committed.
  let isMarked: Bool?
}

/// Slices that take the room of pushes whose outcomes are being written. Their write-ahead mark is committed together with these
/// outcomes, so that a slice need not wait for two commits, and no moment has more pushes that may have left.
struct Successors: Sendable {
  fileprivate let request: HubWindow.Request
  fileprivate let count: Int
  let mark: WriteAheadMark
}

/// A run's part of the hub's window. It is closed when no more may follow. One task acquires, many release.
final class SendWindow: Sendable {
  private let hub: HubWindow
  private let id: Int

  init(_ hub: HubWindow) {
    self.hub = hub
    id = hub.join()
  }

  /// Why it was closed; `nil` while it is open.
  var end: DispatchEnd? { hub.end(of: id) }

  /// Waits for room and takes it.
  /// - Parameter count: at most `HubWindow.share`; 0 only asks whether it is open.
  /// - Returns: whether the pushes may leave; `false` once the window is closed, or when the task is cancelled.
  func acquire(_ count: Int) async -> Bool {
    guard count > 0 else { return end == nil }
    return await acquire([SliceNeed(room: count, last: PushNumber(0))]) != nil
  }

  /// Waits for room for the first of a batch's slices, and takes it: for one at least, and for more if no other run waits.
  /// - Parameters:
  ///   - needs: of slices in their order. If they need no room, their write-ahead mark is committed already.
  ///   - claim: of the batch; `nil` if no write-ahead mark has to be moved.
  /// - Returns: `nil` once the window is closed, or when the task is cancelled.
  func acquire(_ needs: [SliceNeed], of claim: Claim? = nil) async -> SliceGrant? {
    guard needs.contains(where: { $0.room > 0 }) else {
      return end == nil ? SliceGrant(count: needs.count, room: 0, isMarked: true) : nil
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        hub.wait(id, for: HubWindow.Request(needs: needs, claim: claim, continuation: continuation))
      }
    } onCancel: {
      close(.stopped)
    }
  }

  /// The slices that wait for room and can have some of this, before it is released. Give it back by `release` or `putBack`.
  /// - Parameter room: of pushes whose outcomes are about to be written.
  /// - Returns: `nil` if none wait, or other runs wait too.
  func successors(of room: Int) -> Successors? { hub.successors(id, in: room) }

  /// Releases room once outcomes are written, and gives their successors what they need of it.
  /// - Parameter isMarked: whether the successors' write-ahead mark is committed with the outcomes.
  func release(_ room: Int, to successors: Successors?, isMarked: Bool) {
    guard let successors else { return release(room) }
    let grant = successors.request.grant(of: successors.count, isMarked: isMarked)
    hub.release(room - grant.room, of: id, keeping: grant.room)
    successors.request.continuation.resume(returning: grant)
  }

  /// Lets the successors wait again, as outcomes were not written.
  func putBack(_ successors: Successors?) {
    if let successors { hub.putBack(id, successors.request) }
  }

  /// Releases room.
  func release(_ count: Int) {
    if count > 0 { hub.release(count, of: id) }
  }

  /// Closes the window. The first reason counts.
  func close(_ end: DispatchEnd) { hub.close(id, end) }

  /// Gives back what the run still holds, at its end.
  func leave() { hub.leave(id) }
}
