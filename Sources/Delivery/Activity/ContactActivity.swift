package import FoundationEssentials
package import Logging
import Metrics
package import Postgres
import Registry
public import ServiceLifecycle
package import Wire

/// What each contact has received and opened, rolled up from the ledger, so that filters need not read its pushes.
///
/// Statements that change pushes note their contacts in the same commit (`ActivityChange`). Whoever holds the customer's lock counts
/// noted contacts anew, in portions, and deletes the notes in the same commit. Filters count contacts with notes in the ledger
/// (`ActivitySQL`), so they are exact however far this has come.
package struct ContactActivity: Sendable {
  /// How many of a contact's last pushes and opens its row has. Conditions of larger numbers go on in the ledger. Where this becomes larger,
  /// every row has to be made anew.
  package static let newest = 32

  /// How many contacts are counted in a commit at most, about. It takes some tenths of a second.
  package static let portion: Int64 = 2000
  /// How long a portion may take.
  private static let limit = Duration.seconds(600)

  private let pool: Pool

  package init(_ pool: Pool) { self.pool = pool }

  /// The customers that have notes.
  package func due() async throws -> [CustomerID] { try await due(behind: [:]).map { $0.customer } }

  /// The customers that have notes behind these numbers, and how old the first one is.
  fileprivate func due(
    behind last: [CustomerID: Int64]
  ) async throws -> [(customer: CustomerID, age: Duration)] {
    try await pool.query(ActivityQueries.due, last.keys.map(\.rawValue), Array(last.values)).map { row in
      let (customer, age) = try row.decode(Int64.self, Double.self)
      return (CustomerID(customer), Duration.seconds(age))
    }
  }

  /// A note that is older is none of a hub that is behind: nobody counts. After a sendout to ten million contacts a hub is behind for twenty
  /// minutes.
  private static let stuckAfter = Duration.seconds(3600)

  /// Since when a customer's notes wait to be counted; nil unless that is longer than a hub can be behind.
  package static func stuckSince(_ customer: CustomerID, in database: any Querying) async throws -> Date? {
    try await database.query(ActivityQueries.oldest, customer.rawValue, stuckAfter / .seconds(1)).first?.decode(
      Date.self)
  }

  /// Counts the contacts of the oldest notes anew.
  /// - Parameter portion: about how many contacts.
  /// - Returns: whether there were notes. It is false, too, if another hub is at it.
  package func step(_ customer: CustomerID, portion: Int64 = ContactActivity.portion) async throws -> Bool {
    try await timedStep(customer, portion: portion, behind: 0) != nil
  }

  /// A step that tells what it cost, so that the next portion can be as large as time allows.
  /// - Parameter last: the number of a note up to which none is looked for.
  /// - Returns: how long the database counted, and the last note's number; nil if there were no notes, or if another hub is at it.
  fileprivate func timedStep(
    _ customer: CustomerID, portion: Int64, behind last: Int64
  ) async throws -> (time: Duration, last: Int64)? {
    try await transaction(customer) { transaction -> (time: Duration, last: Int64)? in
      guard try await transaction.query(ActivityQueries.turn, customer.rawValue)[0].decode(Bool.self) else {
        return nil
      }
      let start = ContinuousClock.now
      let (_, taken) = try await transaction.query(ActivityQueries.apply, customer.rawValue, portion, last)[0].decode(
        Int.self, Int64?.self)
      return taken.map { (time: start.duration(to: .now), last: $0) }
    }
  }

  /// Counts contacts anew, whatever is noted, in the order of their numbers.
  /// - Parameter last: the number of the last one before.
  /// - Returns: the last one's number, nil behind the last contact, and how many there were.
  package func recount(
    _ customer: CustomerID, after last: Int64, portion: Int64 = ContactActivity.portion
  ) async throws -> (last: Int64?, contacts: Int) {
    try await transaction(customer) { transaction in
      try await transaction.query(ActivityQueries.awaitTurn, customer.rawValue)
      let (next, contacts) = try await transaction.query(
        ActivityQueries.recount, customer.rawValue, last, portion)[0].decode(Int64?.self, Int.self)
      return (next, contacts)
    }
  }

  private func transaction<Answer: Sendable>(
    _ customer: CustomerID, _ body: @Sendable (Transaction) async throws -> Answer
  ) async throws -> Answer {
    try await pool.transaction(of: customer.rawValue, limit: Self.limit) { transaction in
      try await transaction.query(ActivityQueries.unlimited)
      return try await body(transaction)
    }
  }
}

/// The service that keeps contacts' activity up; any number of hubs can run it. It asks every second which customers have notes, and gives
/// each a turn of some portions. It works for half of the time at most, so that what people wait for has the other half.
///
/// Contacts with long histories take longer, so their customer's portions become smaller, and nobody's turn takes much more than a second.
public struct ActivityRunner: Service {
  private let activity: ContactActivity
  private let scanEvery: Duration
  private let logger: Logger
  /// How many portions a customer has in a turn.
  private static let turn = 4
  /// How long a portion is to take at most.
  private static let portionTime = Duration.milliseconds(300)
  /// How many contacts a portion has at least. A note is taken as a whole.
  private static let leastPortion: Int64 = 20
  /// How often notes are looked for from the first number on. One that was committed after a later number was taken waits for so long.
  private static let lookBackEvery = Duration.seconds(5)
  /// `pushcart_activity_delay_seconds`: how old the oldest note of all customers is.
  private static let delay = Meter(label: "pushcart_activity_delay_seconds")

  /// What the runner knows of a customer.
  private struct Place {
    /// How many contacts the next portion has.
    var portion = ContactActivity.portion
    /// Up to which number notes were taken.
    var last: Int64 = 0
  }

  package init(_ pool: Pool, scanEvery: Duration = .seconds(1), logger: Logger) {
    activity = ContactActivity(pool)
    self.scanEvery = scanEvery
    self.logger = logger
  }

  public func run() async throws {
    await cancelWhenGracefulShutdown {
      var places: [CustomerID: Place] = [:]
      var lookedBack = ContinuousClock.now
      while !Task.isCancelled {
        let start = ContinuousClock.now
        if lookedBack.duration(to: start) >= Self.lookBackEvery {
          lookedBack = start
          for customer in places.keys { places[customer]?.last = 0 }
        }
        let hasMore = await round(&places)
        let worked = ContinuousClock.now - start
        try? await Task.sleep(for: hasMore ? worked : max(worked, scanEvery))
      }
    }
  }

  /// How many contacts the next portion of a customer has, after one that took so long.
  static func portion(after portion: Int64, thatTook time: Duration) -> Int64 {
    let wanted = Double(portion) * (portionTime / max(time, .milliseconds(1)))
    return Int64(min(max(wanted, Double(leastPortion)), Double(ContactActivity.portion)))
  }

  /// Gives each customer a turn.
  /// - Returns: whether somebody may have more to do.
  private func round(_ places: inout [CustomerID: Place]) async -> Bool {
    var hasMore = false
    do {
      let due = try await activity.due(behind: places.mapValues(\.last))
      Self.delay.set((due.map { $0.age }.max() ?? .zero) / .seconds(1))
      for (customer, _) in due where !Task.isCancelled {
        var steps = 0
        while steps < Self.turn {
          let place = places[customer] ?? Place()
          do {
            guard
              let step = try await activity.timedStep(customer, portion: place.portion, behind: place.last)
            else { break }
            places[customer] = Place(
              portion: Self.portion(after: place.portion, thatTook: step.time), last: step.last)
            steps += 1
          } catch {
            guard !Task.isCancelled else { return false }
            // It may have taken too long.
            places[customer] = Place(
              portion: Self.portion(after: place.portion, thatTook: Self.portionTime * 2), last: place.last)
            // Until it is done, filters read more of the ledger, and are as exact.
            logger.error(
              "what contacts received could not be counted, trying again later",
              metadata: ["customer": "\(customer)", "error": "\(error)"])
            break
          }
        }
        if steps == Self.turn { hasMore = true }
      }
    } catch {
      guard !Task.isCancelled else { return false }
      logger.warning(
        "could not look for contacts that received pushes, trying again later", metadata: ["error": "\(error)"])
    }
    return hasMore
  }
}
