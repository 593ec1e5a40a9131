import Locking

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A pool's event loop: a thread that sleeps in poll(2) over all its sockets, and wakes for its inbox.
///
/// Tasks post to the inbox and suspend. The thread empties the inbox, hands everything to libpq, writes once for each
/// connection, and resumes tasks as results arrive. So no task waits in the kernel, a call costs one suspension,
/// and calls that arrive together leave in one write. Tasks may also run on the thread, between its messages: each of their calls then
/// wakes no thread.
final class Reactor: TaskExecutor {
  enum Message: Sendable {
    case call(Call)
    case cancel(Call)
    case perform(@Sendable (PoolDriver) -> Void)
    case job(UnownedJob)
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

  private let makeDriver: @Sendable (Reactor) -> PoolDriver

  /// - Parameter makeDriver: makes the pool's driver, on the thread, when the first message comes.
  init(_ makeDriver: @escaping @Sendable (Reactor) -> PoolDriver) { self.makeDriver = makeDriver }

  deinit { pipe.close() }

  /// Whether a shared connection is up.
  var isUp: Bool {
    get { up.load(ordering: .relaxed) }
    set { up.store(newValue, ordering: .relaxed) }
  }

  /// Hands a message to the thread, starting it if this is the first.
  /// - Returns: `false` when the reactor has ended, or the system has no thread for it, so that the message is lost.
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

  /// Runs a task's job among the messages, and elsewhere once the reactor has ended.
  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    if !post(.job(job)) { globalConcurrentExecutor.enqueue(job) }
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
    let driver = makeDriver(self)
    var messages: [Message] = []
    var descriptors: [pollfd] = []
    while true {
      driver.now = .now
      takeMessages(into: &messages)
      for message in messages { take(message, driver) }
      messages.removeAll(keepingCapacity: true)
      driver.work()
      if driver.isClosed { break }
      let wait = fallAsleep() ? driver.nextDeadline.milliseconds(since: driver.now) : 0
      waitForSockets(driver, &descriptors, milliseconds: wait)
    }
    close(driver)
  }

  private func take(_ message: Message, _ driver: PoolDriver) {
    switch message {
    case .call(let call): driver.enqueue(call)
    case .cancel(let call): driver.cancel(call)
    case .perform(let body): body(driver)
    case .job(let job): job.runSynchronously(on: asUnownedTaskExecutor())
    }
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

  private func waitForSockets(_ driver: PoolDriver, _ descriptors: inout [pollfd], milliseconds: Int32) {
    descriptors.removeAll(keepingCapacity: true)
    descriptors.append(pollfd(fd: pipe.readEnd, events: Int16(POLLIN), revents: 0))
    let sessions = driver.sessions
    for session in sessions {
      let events = session.map { ($0.wantsToRead ? POLLIN : 0) | ($0.wantsToWrite ? POLLOUT : 0) } ?? 0
      // poll(2) reports a hang-up even if no event is requested; it ignores a negative descriptor.
      descriptors.append(pollfd(fd: events == 0 ? -1 : session?.socket ?? -1, events: Int16(events), revents: 0))
    }
    guard poll(&descriptors, nfds_t(descriptors.count), milliseconds) > 0 else { return }
    driver.now = .now
    if descriptors[0].revents != 0 { pipe.drain() }
    for (session, descriptor) in zip(sessions, descriptors.dropFirst()) where descriptor.revents != 0 {
      session?.ready(descriptor.revents, at: driver.now)
    }
  }

  /// Messages that still arrive are turned away here.
  private func close(_ driver: PoolDriver) {
    var messages: [Message] = []
    inbox.withLock { inbox in
      inbox.isClosed = true
      swap(&inbox.messages, &messages)
    }
    for message in messages { take(message, driver) }
    driver.finish()
  }
}

/// Wakes a thread out of poll(2) from any other.
struct WakePipe: Sendable {
  let readEnd: Int32
  private let writeEnd: Int32

  init() {
    var ends: [Int32] = [-1, -1]
    precondition(pipe(&ends) == 0, "the system has no file descriptor left")
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    (readEnd, writeEnd) = (ends[0], ends[1])
  }

  /// If the pipe is full, the thread wakes anyway.
  func wake() {
    var byte: UInt8 = 1
    _ = write(writeEnd, &byte, 1)
  }

  func drain() {
    withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
      while read(readEnd, buffer.baseAddress, buffer.count) == buffer.count {}
    }
  }

  func close() {
    _ = systemClose(readEnd)
    _ = systemClose(writeEnd)
  }
}

private func systemClose(_ descriptor: Int32) -> Int32 {
  #if canImport(Glibc)
    Glibc.close(descriptor)
  #else
    Darwin.close(descriptor)
  #endif
}
