public import Logging
public import Postgres
public import Providers
import Retrying
public import ServiceLifecycle
public import Wire

/// One kind of rows of the outbox: what is posted, and where.
public protocol OutboxKind: Sendable {
  /// As in the column `kind`.
  var name: String { get }

  /// The receivers that have an address and something that is due, of all customers.
  func due() async throws -> [PostQueue.Lane]

  /// What is posted of each entry; nil for one whose receiver has no address any more.
  func posts(of entries: [PostQueue.Entry], to lane: PostQueue.Lane) async throws -> [JSONPost?]
}

/// Posts what is due in the outbox, to each receiver by itself, so that one that does not answer delays no other.
public struct OutboxRunner: Service {
  /// Ends when its task is cancelled.
  public typealias Post = @Sendable (JSONPost, CustomerID) async -> Verdict

  private let queue: PostQueue
  private let kinds: [any OutboxKind]
  private let post: Post
  private let timeLimit: Duration
  private let shutdownTimeout: Duration
  private let interval: Duration
  private let logger: Logger

  /// - Parameters:
  ///   - interval: how often it looks for what is due.
  ///   - timeLimit: how long a post may take; less than `RetryPolicy.lostPosts`, since another hub may post it then.
  ///   - shutdownTimeout: how long one may still take once the hub ends. Then it is noted as unanswered, and posted again later.
  ///   - post: as `Poster.post`.
  public init(
    _ database: any Querying, _ kinds: [any OutboxKind], interval: Duration = .seconds(1),
    timeLimit: Duration = .seconds(30), shutdownTimeout: Duration = .seconds(25), logger: Logger,
    post: @escaping Post
  ) {
    queue = PostQueue(database)
    self.kinds = kinds
    self.interval = interval
    self.timeLimit = timeLimit
    self.shutdownTimeout = shutdownTimeout
    self.logger = logger
    self.post = post
  }

  private var runner: LaneRunner<PostQueue.Lane> {
    LaneRunner(scanEvery: interval, logger: logger) {
      var lanes: [PostQueue.Lane] = []
      for kind in kinds { lanes += try await kind.due() }
      return lanes
    } send: { lane, mayGoOn in
      await send(lane, while: mayGoOn)
    }
  }

  /// Posts until graceful shutdown, and then waits for the answers to what is on its way.
  public func run() async throws { await runner.run() }

  /// Posts what is due now, and waits for the answers.
  /// - Returns: to how many receivers.
  @discardableResult
  package func postDue() async throws -> Int { try await runner.runOnce() }

  private func send(_ lane: PostQueue.Lane, while mayGoOn: () -> Bool) async -> Bool {
    guard let kind = kinds.first(where: { $0.name == lane.kind }) else { return false }
    repeat {
      guard await sendSome(of: kind, to: lane) else { return false }
    } while mayGoOn()
    return true
  }

  /// - Returns: whether any was taken, so that further ones can be.
  private func sendSome(of kind: any OutboxKind, to lane: PostQueue.Lane) async -> Bool {
    do {
      let begun = try await queue.begin(lane)
      guard !begun.isEmpty else { return false }
      let posts = try await kind.posts(of: begun, to: lane)
      return await withTaskGroup(of: Bool.self) { group in
        for (entry, post) in zip(begun, posts) {
          guard let post else { continue }
          group.addTask { await send(post, of: entry, to: lane) }
        }
        return await group.reduce(false) { $0 || $1 }
      }
    } catch {
      if !Task.isCancelled {
        logger.warning("could not begin to post what is due, trying again", metadata: ["error": "\(error)"])
      }
      return false
    }
  }

  /// - Returns: whether it was taken.
  private func send(_ post: JSONPost, of entry: PostQueue.Entry, to lane: PostQueue.Lane) async -> Bool {
    let verdict = await post.sent(
      self.post, of: lane.customer, within: timeLimit, atShutdown: shutdownTimeout)
    do {
      guard let reason = verdict.problem else {
        try await queue.end(entry, of: lane)
        return true
      }
      // Where the customer has no place now, or its address has answered none for long, it was not asked.
      let isAsked = !verdict.lacksCapacity && verdict != .unsent(reason: .hub(.noAnswer))
      let delay = isAsked ? RetryPolicy.posts.delay(after: entry.attempts) : RetryPolicy.postsWithoutPlace
      try await queue.postpone(entry, of: lane, for: delay, isAsked: isAsked)
      logger.info(
        "post not taken, posted again later",
        metadata: [
          "customer": "\(lane.customer)", "kind": "\(lane.kind)", "receiver": "\(lane.receiver)",
          "reason": "\(reason)", "attempts": "\(entry.attempts)",
        ])
    } catch {
      if !Task.isCancelled {
        logger.warning("could not record what came of a post, it is posted again", metadata: ["error": "\(error)"])
      }
    }
    return false
  }
}

extension JSONPost {
  /// Posts it, unless that takes longer than the limit.
  /// - Parameter shutdownTimeout: how long it may still take once graceful shutdown has begun.
  func sent(
    _ post: @escaping OutboxRunner.Post, of customer: CustomerID, within limit: Duration,
    atShutdown shutdownTimeout: Duration
  ) async -> Verdict {
    await withTaskGroup(of: Verdict.self) { group in
      group.addTask { await post(self, customer) }
      group.addTask {
        try? await Task.sleep(for: limit)
        return .uncertain(reason: .hub(.requestTimeout))
      }
      group.addTask {
        if (try? await gracefulShutdown()) != nil { try? await Task.sleep(for: shutdownTimeout) }
        return .uncertain(reason: .hub(.hubStopped))
      }
      defer { group.cancelAll() }
      return await group.next() ?? .unsent(reason: .hub(.noOutcome))
    }
  }
}
