import Retrying
public import Content
public import FoundationEssentials
public import Logging
public import Postgres
public import Providers
public import Registry
import Locking
public import Wire

/// Works through the ledger of one sendout after another: claims its batches, sends their pushes, settles the outcomes.
///
/// The order of commits makes it safe to stop at any moment. Before the first byte of a slice leaves, the batch's write-ahead mark
/// is moved to its last push and committed; an outcome is committed when it is known. In a claimed batch whose lease has
/// expired, pushes up to the mark without an outcome are uncertain, and the sendout's policy decides about them. The others never
/// left. A commit for each push would cost a hundred times as much.
public struct Dispatcher: Sendable {
  let database: any Querying
  let services: PushServices
  let links: PublicLinks
  /// Hashes whom suppressions name.
  package let suppressions: SuppressionKey
  let settings: DispatchSettings
  let logger: Logger
  let time: ServerClock
  let random: @Sendable () -> Double
  let laneStatus: LaneStatus
  let waits = MessageWaits()
  let window: HubWindow
  let permits: CustomerPermits
  let handover: HandoverBudget
  let unwritten = UnwrittenOutcomes()
  let streams = ActiveStreams()

  /// - Parameters:
  ///   - suppressions: hashes whom suppressions name.
  ///   - time: by which pushes are dated and expire. `services` has the same.
  ///   - clock: by which closed lanes are tried again; no change of the time of day moves it.
  ///   - random: 0 to 1, for the jitter of retries.
  public init(
    _ database: any Querying, services: PushServices, links: PublicLinks, suppressions: SuppressionKey,
    settings: DispatchSettings = DispatchSettings(), logger: Logger,
    time: ServerClock = ServerClock(),
    clock: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
    random: @escaping @Sendable () -> Double = { .random(in: 0...1) }
  ) {
    self.database = database
    self.services = services
    self.links = links
    self.suppressions = suppressions
    self.settings = settings
    window = HubWindow(settings.window, verdictTimeout: settings.verdictTimeout)
    permits = CustomerPermits(settings.batchesInMemory)
    handover = HandoverBudget()
    laneStatus = LaneStatus(clock: clock)
    self.logger = logger
    self.time = time
    self.random = random
  }

  /// The time by the database's clock.
  public func now() -> Date { time.now() }

  /// Asks the database for its time.
  public func setClock() async throws { try await time.set(by: database) }

  /// Whether something may be sent to a lane now, as far as this hub knows: its push service is not known to be away, and answers.
  public func isOpen(_ lane: Lane, of customer: CustomerID) -> Bool {
    let key = LaneKey(customer: customer, lane: lane)
    return laneStatus.capacity(key, upTo: 1) > 0 && !window.isSilent(key)
  }

  /// Asks to send to a lane. One whose push service does not answer counts as closed.
  /// - Parameter triesRefused: whether a lane whose credentials are refused counts as open, as for a sendout that somebody has resumed.
  func admit(_ key: LaneKey, triesRefused: Bool = false) -> LaneStatus.Admission {
    window.isSilent(key)
      ? .closed(reason: .unavailable(reason: .hub(.noAnswer)), delay: RetryPolicy.silentLane)
      : laneStatus.admit(key, triesRefused: triesRefused)
  }

  /// Asks the database before further messages are accepted in a stream: it may have been paused or cancelled. What waits here of it goes
  /// back to the ledger.
  /// - Parameter key: nil for all streams.
  public func verifyStream(_ key: SendoutKey?) { streams.stop(key) }

  /// Closes a lane that refuses the app's credentials, or has none. It is tried again with the back-off of an unavailable one, or once the
  /// app changes. That is logged once for each closing.
  /// - Returns: whether the app's alarm is to be raised: once for each try.
  public func closeRefused(_ lane: Lane, of customer: CustomerID, _ reason: String) -> Bool {
    let closing = laneStatus.close(LaneKey(customer: customer, lane: lane), .refused(reason: reason))
    if closing.shouldLog {
      logger.error(
        "nothing can be sent to an app until it is corrected",
        metadata: [
          "customer": "\(customer)", "app": "\(lane.app)", "environment": "\(lane.environment.rawValue)",
          "reason": "\(reason)",
        ])
    }
    return closing.isFresh
  }

  /// What outcomes of one batch mean, whose delays have the same random share.
  func outcomePolicy(of plan: SendoutPlan, for app: PushAppID) -> OutcomePolicy {
    OutcomePolicy(
      policy: plan.policy(for: app), random: random(),
      hasFallback: plan.hasFallback(besides: app), now: now)
  }

  /// What is needed to send to an app.
  public func target(for app: PushApp, _ credentials: PushServiceCredentials) -> AppTarget {
    AppTarget(
      app: app.id, version: app.updatedAt, traits: app.kind.traits, fields: AppFields(appId: app.appID, name: app.name),
      account: services.account(appID: app.appID, of: app.customer, kind: app.kind, credentials: credentials))
  }

  /// The database was away a moment ago. Leases may have ended meanwhile of hubs that are there and know outcomes, so they get time to
  /// write these.
  public func noteOutage() { unwritten.waitForOthers(until: .now + settings.graceAfterOutage) }

  /// Requeues batches whose lease has expired, as after a hub was killed. After an outage that was longer than a lease, hubs write their
  /// outcomes first: whoever got a push already gets it once.
  /// - Parameter fallback: the app whose pushes alone the policy is about; nil for all.
  /// - Returns: how many batches there were, and how many of their pushes may have left.
  public func requeueLost(
    _ key: SendoutKey, _ policy: UncertainPolicy, of fallback: PushAppID? = nil
  ) async throws -> (batches: Int, pushes: Int) {
    guard !unwritten.waitsForOthers else { return (0, 0) }
    return try await Ledger(database).requeueLost(key, policy, of: fallback, except: unwritten.batches(of: key))
  }

  /// Sends what can be claimed of one lane of a sendout now, and returns when all that this hub has claimed is settled and
  /// released.
  ///
  /// After `stop` it claims and sends nothing more, and waits for pushes in flight. When its task is cancelled it drops
  /// everything, as a killed hub does, and leaves its claims to their leases.
  public func dispatch(
    _ plan: SendoutPlan, to app: AppTarget, _ lane: Lane, stop: StopSignal = StopSignal()
  ) async -> DispatchResult {
    await Dispatch(self, plan, app, lane, stop: stop).run()
  }

  /// Settles what is due of an app whose credentials cannot be opened; nothing is sent. In a stream, pushes with a fallback and expired ones
  /// fail at once, and the lane is closed.
  /// - Parameter reason: a sentence for people, which the app's alarm shows.
  public func refuse(
    _ plan: SendoutPlan, _ lane: Lane, reason: String, stop: StopSignal = StopSignal()
  ) async throws -> DispatchResult {
    if plan.isStream {
      if closeRefused(lane, of: plan.key.customer, reason) {
        try await PushAppAlarms(database).raise(
          plan.key.customer, lane.app, isSandbox: lane.isSandbox, reason: reason)
      }
      let ledger = BatchLedger(
        database: database, key: plan.key, lane: lane, run: RunID(), lease: settings.lease, isTracked: plan.isTracked)
      try await ClosedLane(self, plan, .refused(reason: reason), ledger).settleDue(until: stop)
    }
    return DispatchResult(end: .refused(reason: reason))
  }
}

/// What a hub needs to know to send a sendout's pushes.
public struct SendoutPlan: Sendable {
  /// What its pushes say.
  public enum Content: Sendable {
    /// Every push says the same.
    case same(MessageContent)
    /// Each push says that of its variant: the first is variant 1.
    case variants([MessageContent])
    /// Each push its own message, to be read if it is not at hand.
    case ofMessages(StreamTraits?)
  }

  public var key: SendoutKey
  public var content: Content
  public var onUncertain: UncertainPolicy
  /// Whether it is a stream of tracked messages.
  public var isTracked: Bool
  /// The app whose pushes alone `onUncertain` is about, since they stand in for the others; nil for all.
  public var fallback: PushAppID?
  /// What its claims decide about each push; nil for a sendout that has neither times nor limits.
  public var rules: SendRules?
  /// Nothing leaves after it; nil for no end. Only with rules.
  public var endAt: Date?
  /// Of a stream with rules: by whose clock quiet hours are.
  public var places: ContactPlaces?
  /// Called once outcomes are written, with their number and that of failures; nil where nobody wants to know.
  public var watch: (@Sendable (_ outcomes: Int, _ failed: Int) async throws -> Void)?

  public init(
    key: SendoutKey, content: Content, onUncertain: UncertainPolicy, isTracked: Bool = false,
    fallback: PushAppID? = nil, rules: SendRules? = nil, endAt: Date? = nil, places: ContactPlaces? = nil,
    watch: (@Sendable (_ outcomes: Int, _ failed: Int) async throws -> Void)? = nil
  ) {
    self.watch = watch
    self.places = places
    self.rules = rules
    self.endAt = endAt
    self.key = key
    self.content = content
    self.onUncertain = onUncertain
    self.isTracked = isTracked
    self.fallback = fallback
  }

  /// Whether it is of single messages, and goes on after a refusal.
  var isStream: Bool { if case .ofMessages = content { true } else { false } }

  /// Whether another app stands in for this one's pushes.
  public func hasFallback(besides app: PushAppID) -> Bool { fallback.map { $0 != app } ?? false }

  /// What becomes of uncertain pushes to an app.
  func policy(for app: PushAppID) -> UncertainPolicy {
    guard isTracked else { return onUncertain }
    return app == fallback ? onUncertain : .resend
  }
}

/// One of the apps that a sendout goes to.
public struct AppTarget: Sendable {
  let app: PushAppID
  /// When the app or its credentials changed last: another moment means another account.
  let version: Date
  let traits: PushAppTraits
  /// For `{{app.name}}` and so on.
  let fields: AppFields
  let account: any PushAccount
}

/// What a dispatch came to.
public struct DispatchResult: Sendable, Equatable {
  public var end: DispatchEnd
  /// Whether the push service accepted pushes.
  public var hasAccepted: Bool
  /// Whether so many tokens were invalid, on whichever hub, that retirement stopped; or pushes failed for what is wrong with the app.
  public var isSuspect: Bool
  /// False where the lane was closed already.
  public var wasTried: Bool

  public init(end: DispatchEnd, hasAccepted: Bool = false, isSuspect: Bool = false, wasTried: Bool = true) {
    self.wasTried = wasTried
    self.end = end
    self.hasAccepted = hasAccepted
    self.isSuspect = isSuspect
  }
}

/// Why a dispatch ended.
public enum DispatchEnd: Sendable, Equatable {
  /// Nothing can be claimed for now; `Ledger.remainingWork` says whether there is work for later.
  case drained
  /// Its stop signal was given.
  case stopped
  /// The app's credentials are refused, or there are none: nothing can be sent until somebody corrects them.
  case refused(reason: String)
  /// The push service is not available, or a statement failed: try again later.
  /// - after: when, if known.
  case unavailable(reason: String, after: Duration?)
}

/// Stops a dispatch from claiming and sending; it still waits for pushes in flight.
public final class StopSignal: Sendable {
  private struct State {
    var lastID = 0
    var handlers: [Int: @Sendable () -> Void] = [:]
  }
  private let hasStopped = Atomic(false)
  private let state = Mutex(State())

  public init() {}

  public var isStopped: Bool { hasStopped.load(ordering: .acquiring) }

  public func stop() {
    let handlers = state.withLock { state in
      defer { state.handlers = [:] }
      hasStopped.store(true, ordering: .releasing)
      return state.handlers
    }
    for handler in handlers.values { handler() }
  }

  /// Runs `body`, and calls `handler` once if the signal is stopped meanwhile, or was before.
  func whileRunning<Answer: Sendable>(
    _ body: () async -> Answer, onStop handler: @escaping @Sendable () -> Void
  ) async -> Answer {
    let id = state.withLock { state -> Int? in
      guard !isStopped else { return nil }
      state.lastID += 1
      state.handlers[state.lastID] = handler
      return state.lastID
    }
    if id == nil { handler() }
    let answer = await body()
    if let id { state.withLock { $0.handlers[id] = nil } }
    return answer
  }
}

/// How a hub works through the ledger. The defaults are for production; tests choose smaller values.
public struct DispatchSettings: Sendable {
  /// Most pushes of this hub in flight, of all sendouts, lanes and single messages: marked as possibly sent, and their outcome not
  /// written yet. So many are uncertain after a crash, and those whose tokens were reported as invalid without a date and wait for the
  /// rest of their batch. Pushes that have had no answer for longer than `verdictTimeout` come on top: a fifth of it for each lane.
  public var window = 500
  /// How long a push that is not answered counts for the window. After it, it counts for its lane alone.
  public var verdictTimeout: Duration = .seconds(1)
  /// How old what is known of a recipient may be when a push leaves. After it, the recipient is read again. It has to be longer than the
  /// way from the reading to a connection that waits.
  public var recipientAge: Duration = .seconds(1)
  /// How long a push may wait for a connection before it goes back to the ledger.
  public var connectTimeout: Duration = .seconds(3)
  /// How long a single message waits for the database before whoever sends it hears that this is away.
  public var acceptTimeout: Duration = .seconds(10)
  /// Most batches of the ledger that this hub has in memory before they are sent; a customer has half of them at most.
  public var batchesInMemory = 16
  /// Most pushes sent in one call; a fifth of the window at most.
  public var slice = 100
  /// How long a claim is valid without being extended. After it, any hub may continue with the pushes of a killed one.
  public var lease: Duration = .seconds(10)
  /// How long hubs have after the database was away to write outcomes that they know, more than the longest pause before they try again.
  public var graceAfterOutage: Duration = .seconds(5)
  /// How often claims are extended.
  public var extendEvery: Duration = .seconds(2)
  /// Share of invalid tokens above which no device is retired any more: see `CircuitBreaker`.
  public var circuitBreakerShare = 0.2
  /// Answers needed before that share says anything.
  public var circuitBreakerEvidence = 50

  public init() {}
}
