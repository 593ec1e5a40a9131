package import Logging
package import Postgres
import Providers
package import Registry
import Retrying
public import ServiceLifecycle
import Wire

/// Tells webhooks of events; any number of hubs can run it.
///
/// Each webhook is a lane of its own, so one that is slow holds up no other. What is due is asked every second. So what happens is posted within
/// a second after its commit, and what happens within that second goes in one post.
public struct WebhookRunner: Service {
  private let queue: WebhookQueue
  private let bodies: any WebhookBodies
  private let post: OutboxRunner.Post
  private let timeLimit: Duration
  private let shutdownTimeout: Duration
  private let interval: Duration
  private let logger: Logger
  /// Of lines that each delivery could cause.
  private let givenUp: LogThrottle
  private let faults: LogThrottle

  /// - Parameters:
  ///   - interval: how often it looks for what is due.
  ///   - timeLimit: how long an answer may take; less than `RetryPolicy.lostPosts`, since another hub may post then.
  ///   - shutdownTimeout: how long it may still take once the hub ends. Then it is noted as unanswered, and posted again later.
  ///   - linesEvery: how much time is between two lines on deliveries of one kind of trouble.
  ///   - post: as `Poster.post`.
  package init(
    _ database: any Querying, vault: Vault, bodies: any WebhookBodies, interval: Duration = .seconds(1),
    timeLimit: Duration = .seconds(10), shutdownTimeout: Duration = .seconds(25),
    linesEvery: Duration = .seconds(60), logger: Logger, post: @escaping OutboxRunner.Post
  ) {
    queue = WebhookQueue(database: database, vault: vault)
    self.bodies = bodies
    self.interval = interval
    self.timeLimit = timeLimit
    self.shutdownTimeout = shutdownTimeout
    self.logger = logger
    self.post = post
    givenUp = LogThrottle(interval: linesEvery)
    faults = LogThrottle(interval: linesEvery)
  }

  private var runner: LaneRunner<WebhookQueue.Lane> {
    LaneRunner(scanEvery: interval, logger: logger) {
      try await queue.due()
    } send: { lane, mayGoOn in
      await send(lane, while: mayGoOn)
    }
  }

  /// Posts until graceful shutdown, and then waits for the answers to what is on its way.
  public func run() async throws { await runner.run() }

  /// Posts what is due now, and waits for the answers.
  /// - Returns: to how many webhooks.
  @discardableResult
  package func postDue() async throws -> Int { try await runner.runOnce() }

  /// Most posts to a webhook at a time: a customer has 128 places at its addresses, and the others are to find some free.
  private static let most = 8

  /// Most bytes of a body: 500 items have some 100 KB, and long original ids are longer.
  private static let longestBody = 1 << 20

  private func send(_ lane: WebhookQueue.Lane, while mayGoOn: () -> Bool) async -> Bool {
    repeat {
      guard await sendSome(to: lane) else { return false }
    } while mayGoOn()
    return true
  }

  /// - Returns: whether any was taken, so that further ones can be.
  private func sendSome(to lane: WebhookQueue.Lane) async -> Bool {
    do {
      guard let target = try await queue.target(lane) else { return false }
      let begun = try await queue.begin(lane, upTo: Self.most, room: target.room)
      guard !begun.isEmpty else { return false }
      let made = try await made(begun, in: target.form, lane)
      return await withTaskGroup(of: Bool.self) { group in
        for (delivery, body) in made {
          group.addTask { await send(body, of: delivery, to: target, lane) }
        }
        return await group.reduce(false) { $0 || $1 }
      }
    } catch {
      if !Task.isCancelled {
        logger.warning(
          "could not begin to tell a webhook what is due, trying again",
          metadata: ["customer": "\(lane.customer)", "webhook": "\(lane.webhook)", "error": "\(error)"])
      }
      return false
    }
  }

  /// Makes the bodies of deliveries. Where that fails each is made by itself, so that one which cannot be made holds up no other.
  private func made(
    _ begun: [EventDelivery], in form: EventWebhookForm, _ lane: WebhookQueue.Lane
  ) async throws -> [(EventDelivery, [UInt8]?)] {
    do {
      return Array(zip(begun, try await bodies.bodies(of: begun, in: form, lane.customer)))
    } catch {
      var made: [(EventDelivery, [UInt8]?)] = []
      for delivery in begun {
        do {
          made.append((delivery, try await bodies.bodies(of: [delivery], in: form, lane.customer)[0]))
        } catch {
          // While the database is away or busy, that says nothing of the body. One that takes too long may always do.
          guard !Task.isCancelled, [nil, .timedOut].contains(DatabaseUnavailable(error)) else { throw error }
          try await unmade(delivery, error, lane)
        }
      }
      return made
    }
  }

  private func unmade(_ delivery: EventDelivery, _ error: any Error, _ lane: WebhookQueue.Lane) async throws {
    let isGivenUp = try await queue.unmade(delivery, of: lane)
    var metadata = Self.metadata(of: delivery, lane)
    metadata["error"] = "\(error)"
    if isGivenUp {
      logGivenUp(
        """
        gave up events whose body cannot be made, a fault of the hub: the webhook's receiver lacks them until somebody redelivers them with a \
        version that can
        """, metadata, at: .error)
    } else if let others = faults.admit() {
      metadata["others"] = "\(others)"
      logger.warning("could not make what a webhook is told, trying again later", metadata: metadata)
    }
  }

  private static func metadata(of delivery: EventDelivery, _ lane: WebhookQueue.Lane) -> Logger.Metadata {
    [
      "customer": "\(lane.customer)", "webhook": "\(lane.webhook)", "delivery": "\(delivery.id)",
      "event": "\(delivery.event.rawValue)", "attempts": "\(delivery.attempts)",
    ]
  }

  /// Logs that one delivery is not posted again, though nothing says so of its webhook. `others` are those since the last such line.
  private func logGivenUp(
    _ message: Logger.Message, _ metadata: Logger.Metadata, at level: Logger.Level = .warning
  ) {
    guard let others = givenUp.admit() else { return }
    logger.log(level: level, message, metadata: metadata.merging(["others": "\(others)"]) { $1 })
  }

  /// - Returns: whether it was taken, or had nothing to tell.
  private func send(
    _ body: [UInt8]?, of delivery: EventDelivery, to target: WebhookQueue.Target, _ lane: WebhookQueue.Lane
  ) async -> Bool {
    do {
      guard let body else {
        try await queue.empty(delivery, of: lane)
        return true
      }
      let verdict = await JSONPost(
        to: target.url, body, headers: target.signature.headers(id: delivery.messageID, at: target.now, body),
        limit: Self.longestBody
      ).sent(post, of: lane.customer, within: timeLimit, atShutdown: shutdownTimeout)
      guard let reason = verdict.problem else {
        try await queue.taken(delivery, of: lane)
        return true
      }
      // Where the customer has no place now, or its address has answered none for long, it was not asked.
      guard !verdict.lacksCapacity, verdict != .unsent(reason: .hub(.noAnswer)) else {
        try await queue.postpone(delivery, of: lane, for: RetryPolicy.postsWithoutPlace)
        return false
      }
      try await failed(delivery, reason, verdict, lane)
    } catch {
      if !Task.isCancelled {
        logger.warning("could not record what came of a post, it is posted again", metadata: ["error": "\(error)"])
      }
    }
    return false
  }

  private func failed(
    _ delivery: EventDelivery, _ reason: String, _ verdict: Verdict, _ lane: WebhookQueue.Lane
  ) async throws {
    let status = reason.hasPrefix("HTTP") ? Int32(reason.dropFirst(4)) : nil
    let isGone = status == 410
    let asked: Duration = if case .retry(let after?, _, _) = verdict { after } else { .zero }
    let policy = RetryPolicy.webhooks
    let refused = try await queue.failed(
      delivery, of: lane, status: status, reason: reason,
      delay: policy.delay(after: delivery.attempts, atLeast: min(asked, policy.longest)), isGone: isGone,
      sentence: isGone
        ? "It answered 410, which says that nothing is wanted there any more."
        : "It took nothing for \(policy.giveUpAfter.components.seconds / 3600) hours; the last reason was \(reason).")
    let metadata = Self.metadata(of: delivery, lane).merging(["reason": "\(reason)"]) { $1 }
    if refused.isRemoved {
      logGivenUp("dropped events that a webhook had not taken when somebody removed it: nobody is told them", metadata)
    } else if refused.isGivenUp {
      logGivenUp(
        "gave up events that a webhook has refused for a day: its receiver lacks them until somebody redelivers them",
        metadata)
    }
    if refused.isDisabled {
      logger.warning("disabled a webhook, which is told nothing until somebody enables it", metadata: metadata)
    } else if !refused.isGivenUp, !refused.isRemoved {
      logger.info("events not taken, posted again later", metadata: metadata)
    }
  }
}
