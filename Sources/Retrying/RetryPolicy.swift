/// When something that failed is tried again. The hub's delays stand in this file, by name.
///
/// Four kinds stand elsewhere. What a push service's documentation asks for stands in the table of its reasons. How long an attempt may take,
/// and how long a lease lasts, stands with what it limits. A rate limit's `Retry-After` is computed from its rate. How often a service looks for work
/// stands with that service.
///
/// The delay doubles with each failure in a row, from `first` up to `longest`.
public struct RetryPolicy: Sendable, Equatable {
  /// The delay after the first failure.
  public var first: Duration
  public var longest: Duration
  public var jitter: Jitter
  /// How long after its first failure it is given up.
  public var giveUpAfter: Duration

  /// What chance does to a delay, so that those who failed together do not try again together.
  public enum Jitter: Sendable {
    case none
    /// Any share of the delay is waited ("full jitter").
    case full
    /// Half of the delay, and any share of the other half ("equal jitter").
    case equal
    /// The delay, and up to half as much again: for delays that are promised.
    case longer
  }

  public init(
    first: Duration, longest: Duration, jitter: Jitter, giveUpAfter: Duration = .seconds(Int64.max)
  ) {
    self.first = first
    self.longest = longest
    self.jitter = jitter
    self.giveUpAfter = giveUpAfter
  }

  /// The delay before the next attempt.
  /// - Parameters:
  ///   - failures: how many in a row, at least 1.
  ///   - atLeast: what the other side asked for. With full jitter the doubling begins with it, and chance takes a share of what exceeds it.
  ///   - random: 0 to 1, the share that chance takes.
  public func delay(
    after failures: Int, atLeast: Duration = .zero, random: Double = .random(in: 0...1)
  ) -> Duration {
    switch jitter {
    case .none: return max(doubled(first, failures, longest), atLeast)
    case .full:
      let delay = doubled(max(first, atLeast), failures, max(longest, atLeast))
      return atLeast + (delay - atLeast) * random
    case .equal: return max(doubled(first, failures, longest) * ((1 + random) / 2), atLeast)
    case .longer: return max(doubled(first, failures, longest) * (1 + random / 2), atLeast)
    }
  }

  private func doubled(_ first: Duration, _ failures: Int, _ longest: Duration) -> Duration {
    var (delay, left) = (first, failures - 1)
    while left > 0, delay < longest { (delay, left) = (delay * 2, left - 1) }
    return min(delay, longest)
  }
}

// MARK: Pushes

extension RetryPolicy {
  /// A push that its service did not take.
  public static let pushes = RetryPolicy(
    first: .seconds(1), longest: .seconds(15 * 60), jitter: .full, giveUpAfter: .seconds(2 * 60 * 60))

  /// A notification of a data tree that its service or webhook did not take.
  public static let notifications = RetryPolicy(
    first: .seconds(1), longest: .seconds(15 * 60), jitter: .longer, giveUpAfter: .seconds(2 * 60 * 60))

  /// A push or notification for which its customer has no place at the moment.
  public static let withoutPlace = RetryPolicy(first: .seconds(1), longest: .seconds(1), jitter: .longer)

  /// The delay of a push that could not leave: as long as it has waited so far, on any hub, but not longer than this.
  public static let longestUnsent = Duration.seconds(5 * 60)

  /// The least delay of a push, or a lane of notifications, whose credentials are refused: people have to correct something about the app.
  public static let refusedCredentials = Duration.seconds(60)

  /// How long a broadcast waits with lanes whose credentials are refused while others have pushes left.
  public static let refusedLane = Duration.seconds(30)

  /// A notification to a webhook that is disabled.
  public static let disabledWebhook = Duration.seconds(60)

  /// Passwords that an SMS stands in for are withdrawn while the database is away.
  public static let withdrawals = Duration.seconds(1)
}

// MARK: Services and addresses

extension RetryPolicy {
  /// A push service, an address or a sendout's run that is unavailable: one request, or one run, tries it again.
  public static let unavailable = RetryPolicy(first: .seconds(1), longest: .seconds(30), jitter: .none)

  /// The longest delay that a push service gets when it asks for a lane to be left alone.
  public static let longestRetryAfter = Duration.seconds(15 * 60)

  /// After so long without a result, another run may probe a lane.
  public static let probe = Duration.seconds(60)

  /// How long a lane is left alone that does not answer.
  public static let silentLane = Duration.seconds(1)

  /// A connection to a push service that was lost. Apple takes rapid opening and closing for an attack.
  public static let connections = RetryPolicy(first: .milliseconds(500), longest: .seconds(60), jitter: .equal)

  /// The least time between two new connections, or tokens, after the same refusal. If the last one did not help, the next one would not, either.
  public static let renewals = Duration.seconds(60)

  /// A request for an access token.
  public static let accessTokens = Duration.seconds(10)

  /// A request for the provider token that all hubs share.
  public static let providerTokens = Duration.seconds(2)

  /// A post of the outbox, of any kind, that its customer's address did not take.
  public static let posts = RetryPolicy(
    first: .seconds(30), longest: .seconds(6 * 3600), jitter: .equal, giveUpAfter: .seconds(7 * 86_400))

  /// A post that a hub began and has not answered for, such as one that was killed. Another hub may begin it then.
  public static let lostPosts = Duration.seconds(60)

  /// A post of events to a webhook. One that has taken nothing for so long is disabled.
  public static let webhooks = RetryPolicy(
    first: .seconds(5), longest: .seconds(2 * 3600), jitter: .equal, giveUpAfter: .seconds(86_400))

  /// A post of the outbox for which its customer has no place at the moment, or whose address is silent.
  public static let postsWithoutPlace = Duration.seconds(5)
}

// MARK: Clients

extension RetryPolicy {
  /// The `Retry-After` of replies while the hub cannot serve.
  public static let clients = Duration.seconds(2)
}

// MARK: The database

extension RetryPolicy {
  /// A connection to PostgreSQL. Callers wait five seconds by default, so a server that is back must be noticed well within them.
  public static let databaseConnections = RetryPolicy(
    first: .milliseconds(50), longest: .seconds(1), jitter: .equal)

  /// A standby takes no writes and notifies nobody. It may be promoted, or its address may lead to another server by now, so connections to
  /// it are replaced this often.
  public static let standby = Duration.seconds(1)

  /// A statement that another one kept from succeeding, such as by a deadlock. Callers wait for it.
  public static let conflicts = RetryPolicy(first: .milliseconds(2), longest: .milliseconds(250), jitter: .full)

  /// A page of an export while the database is away, or too many wait for it. A client waits for the page.
  public static let exports = RetryPolicy(
    first: .milliseconds(250), longest: .seconds(5), jitter: .equal, giveUpAfter: .seconds(30))

  /// A statement that has to be run, however long the database is away.
  public static let outage = RetryPolicy(first: .milliseconds(50), longest: .seconds(2), jitter: .none)

  /// A statement that has to be run, and that many tasks share.
  public static let sharedOutage = RetryPolicy(first: .milliseconds(100), longest: .seconds(2), jitter: .full)

  /// A step of an import or an erasure, or a body of events, that failed by its own fault.
  public static let steps = RetryPolicy(first: .seconds(1), longest: .seconds(5 * 60), jitter: .equal)

  /// After so many failures in a row an import has failed, an erasure has an alarm, and events are given up: after about a quarter of an hour.
  public static let mostStepFailures = 12

  /// A request to cancel a statement, which has no effect when it arrives before that. A busy machine may take a while to begin with one.
  public static let cancelRequests = RetryPolicy(
    first: .milliseconds(2), longest: .milliseconds(256), jitter: .none)
}
