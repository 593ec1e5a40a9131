public import FoundationEssentials
public import Postgres
public import Wire

/// Tracked messages, as devices, providers and later messages change them.
///
/// A tracked message has a status that follows from its pushes, and from what devices and providers say. One of its pushes can stand in for
/// the others: the fallback.
public struct TrackedMessages: Sendable {
  private let database: any Querying

  public init(_ database: any Querying) { self.database = database }

  /// Records that a device has confirmed pushes. Each cancels the fallback of its message, unless that has been claimed already.
  /// Doing it again changes nothing.
  /// - Parameters:
  ///   - recipient: whose messages these have to be, of this app.
  ///   - readAt: when the messages were read, if they were.
  /// - Returns: the ids that are of other recipients or apps, or of nothing; nothing is recorded for them.
  public func confirm(
    _ customer: CustomerID, _ ids: [UpdateID], recipient: String, appID: String, readAt: Date? = nil
  ) async throws -> [UpdateID] {
    try await record(customer, ids, recipient, appID, isDelivered: true, readAt)
  }

  /// Records what a provider says became of pushes that it had accepted. A message that was delivered stays so.
  /// - Returns: the ids that are of no tracked message.
  public func report(_ customer: CustomerID, _ ids: [UpdateID], areDelivered: Bool) async throws -> [UpdateID] {
    try await record(customer, ids, nil, nil, isDelivered: areDelivered, nil)
  }

  private func record(
    _ customer: CustomerID, _ ids: [UpdateID], _ recipient: String?, _ appID: String?, isDelivered: Bool,
    _ readAt: Date?
  ) async throws -> [UpdateID] {
    let known: [Int64] = try await database.query(
      TrackedMessageQueries.confirm, customer.rawValue, ids.map(\.sendout.rawValue), ids.map(\.push.rawValue),
      recipient,
      appID, readAt, isDelivered)[0].decode([Int64].self)
    let places = Set(known)
    return ids.indices.filter { !places.contains(Int64($0 + 1)) }.map { ids[$0] }
  }

  /// Which of these contacts cannot get a message: those that have opted out at the fallback's app; and those that are not there yet, or have
  /// no device of that app.
  /// - Parameter fallback: nil for none, so that every contact will do.
  public func unreachable(
    _ customer: CustomerID, originalIDs: [String], fallback: PushAppID?
  ) async throws -> (optedOut: [String], unknown: [String]) {
    let rows = try await database.query(
      TrackedMessageQueries.unreachable, customer.rawValue, originalIDs, fallback?.rawValue
    ).map { try $0.decode(String.self, Bool.self) }
    return (rows.filter(\.1).map(\.0), rows.filter { !$0.1 }.map(\.0))
  }

  /// Withdraws earlier messages without a fallback that later ones stand in for: those to the same recipient with the same reference or text.
  /// They are not tried again.
  /// - Parameters:
  ///   - kind: of the earlier ones.
  ///   - age: the longest that these can have.
  public func withdraw(
    _ customer: CustomerID, kind: String, within age: Duration,
    before later: [(recipient: String, reference: String?, text: String)]
  ) async throws {
    try await database.query(
      TrackedMessageQueries.withdraw, customer.rawValue, later.map(\.recipient), later.map(\.reference),
      later.map(\.text), kind, age.inSeconds)
  }
}
