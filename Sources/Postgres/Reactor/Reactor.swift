import Synchronization

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The one place that waits: a thread that sleeps in poll(2) over all sockets of a pool, and wakes for its inbox.
///
/// Tasks put what they want into the inbox and suspend; the thread empties the inbox, hands everything to libpq, writes once
/// for each connection, and resumes tasks as answers arrive. So no task ever waits in the kernel, a call costs one
/// suspension, and the calls that came meanwhile leave in one write.
final class Reactor: Sendable {
  enum Message: Sendable {
    case call(Call)
    case cancel(Call)
    case perform(@Sendable (PoolCore) -> Void)
  }

  private struct Inbox: ~Copyable {
    var messages: [Message] = []
    /// Whether the thread is in poll(2), or about to be, and so must be woken.
    var isAsleep = false
    var isStarted = false
    var isClosed = false
  }

  private let inbox = Mutex(Inbox())
  private let pipe = WakePipe()
  private let up = Atomic(false)

  private let makeCore: @Sendable (Reactor) -> PoolCore

  /// - Parameter makeCore: what the thread works on; made on the thread, when the first message comes.
  init(_ makeCore: @escaping @Sendable (Reactor) -> PoolCore) { self.makeCore = makeCore }

  deinit { pipe.close() }

  /// Whether a shared connection is up.
  var isUp: Bool {
    get { up.load(ordering: .relaxed) }
    set { up.store(newValue, ordering: .relaxed) }
  }

  /// Hands a message to the thread, starting it if this is the first.
  /// - Returns: `false` when the reactor has ended, or the system has no thread for it, and so nothing will come of it.
  func post(_ message: Message) -> Bool {
    let (isAccepted, wakes) = inbox.withLock { inbox in
      guard !inbox.isClosed, inbox.isStarted || DedicatedThread.startIfPossible({ self.run() }) else {
        return (false, false)
      }
      inbox.isStarted = true
      inbox.messages.append(message)
      defer { inbox.isAsleep = false }
      return (true, inbox.isAsleep)
    }
    if wakes { pipe.wake() }
    return isAccepted
  }

  /// Ends a reactor that was never used.
  /// - Returns: `false` when its thread runs or has run.
  func closeUnused() -> Bool {
    inbox.withLock { inbox in
      guard !inbox.isStarted else { return false }
      inbox.isClosed = true
      return true
    }
  }

  // MARK: On the thread

  private func run() {
    let core = makeCore(self)
    var messages: [Message] = []
    var descriptors: [pollfd] = []
    while true {
      core.now = .now
      takeMessages(into: &messages)
      for message in messages { core.take(message) }
      messages.removeAll(keepingCapacity: true)
      core.work()
      if core.isClosed { break }
      let wait = fallAsleep() ? core.nextDeadline.milliseconds(since: core.now) : 0
      waitForSockets(core, &descriptors, milliseconds: wait)
    }
    close(core)
  }

  private func takeMessages(into messages: inout [Message]) {
    inbox.withLock { inbox in
      inbox.isAsleep = false
      swap(&inbox.messages, &messages)
    }
  }

  /// From here on a message wakes the thread; `false` if one has come already.
  private func fallAsleep() -> Bool {
    inbox.withLock { inbox in
      guard inbox.messages.isEmpty else { return false }
      inbox.isAsleep = true
      return true
    }
  }

  private func waitForSockets(_ core: PoolCore, _ descriptors: inout [pollfd], milliseconds: Int32) {
    descriptors.removeAll(keepingCapacity: true)
    descriptors.append(pollfd(fd: pipe.readEnd, events: Int16(POLLIN), revents: 0))
    let sessions = core.sessions
    for session in sessions {
      let events = (session.wantsToRead ? POLLIN : 0) | (session.wantsToWrite ? POLLOUT : 0)
      // poll(2) reports a hang-up even to those who asked for nothing; a negative descriptor it passes over.
      descriptors.append(pollfd(fd: events == 0 ? -1 : session.socket, events: Int16(events), revents: 0))
    }
    guard poll(&descriptors, nfds_t(descriptors.count), milliseconds) > 0 else { return }
    core.now = .now
    if descriptors[0].revents != 0 { pipe.drain() }
    for (session, descriptor) in zip(sessions, descriptors.dropFirst()) where descriptor.revents != 0 {
      session.ready(descriptor.revents, at: core.now)
    }
  }

  /// What still comes in after the end is turned away here.
  private func close(_ core: PoolCore) {
    var messages: [Message] = []
    inbox.withLock { inbox in
      inbox.isClosed = true
      swap(&inbox.messages, &messages)
    }
    for message in messages { core.take(message) }
    core.finish()
  }
}
