public import FoundationEssentials
public import Postgres
public import Wire

/// Messages to telephone numbers, as devices, providers and later messages change them.
public struct HybridLedger: Sendable {
  private let database: any Querying

  public init(_ database: any Querying) { self.database = database }

  /// Records that a device has confirmed pushes. Each cancels the fallback of its message, unless that has been claimed already.
  /// Doing it again changes nothing.
  /// - Parameters:
  ///   - number: whose messages these have to be, by `appID`.
  ///   - readAt: when the messages were read, if they were.
  /// - Returns: the ids that are of other numbers or apps, or of nothing; nothing is recorded for them.
  public func confirm(
    _ customer: CustomerID, _ ids: [UpdateID], number: PhoneNumber, appID: String, readAt: Date? = nil
  ) async throws -> [UpdateID] {
    try await record(customer, ids, number, appID, isDelivered: true, readAt)
  }

  /// Records what a provider says became of SMS that it had accepted. A message that was delivered stays so.
  /// - Returns: the ids that are of no message to a number.
  public func report(_ customer: CustomerID, _ ids: [UpdateID], areDelivered: Bool) async throws -> [UpdateID] {
    try await record(customer, ids, nil, nil, isDelivered: areDelivered, nil)
  }

  private func record(
    _ customer: CustomerID, _ ids: [UpdateID], _ number: PhoneNumber?, _ appID: String?, isDelivered: Bool,
    _ readAt: Date?
  ) async throws -> [UpdateID] {
    let known: [Int64] = try await database.query(
      HybridQueries.confirm, customer.rawValue, ids.map(\.sendout.rawValue), ids.map(\.push.rawValue), number?.digits,
      appID, readAt, isDelivered)[0].decode([Int64].self)
    let places = Set(known)
    return ids.indices.filter { !places.contains(Int64($0 + 1)) }.map { ids[$0] }
  }

  /// Which of these numbers have opted out of SMS, and which are no contacts yet, or have no device in the app.
  /// - Parameter app: that of the fallback; nil if there is none, so that every contact will do.
  public func obstacles(
    _ customer: CustomerID, _ numbers: [PhoneNumber], in app: PushAppID?
  ) async throws -> (suppressed: Set<PhoneNumber>, unknown: Set<PhoneNumber>) {
    let rows = try await database.query(
      HybridQueries.obstacles, customer.rawValue, numbers.map(\.international), app?.rawValue)
    var (suppressed, unknown): (Set<PhoneNumber>, Set<PhoneNumber>) = ([], [])
    for row in rows {
      let (text, isSuppressed) = try row.decode(String.self, Bool.self)
      guard let number = PhoneNumber(text) else { continue }
      if isSuppressed { suppressed.insert(number) } else { unknown.insert(number) }
    }
    return (suppressed, unknown)
  }

  /// Withdraws the one-time passwords of the last minute to the same numbers with the same references or texts: they are not tried
  /// again.
  public func withdraw(
    _ customer: CustomerID, _ later: [(number: PhoneNumber, reference: String?, text: String)]
  ) async throws {
    try await database.query(
      HybridQueries.withdraw, customer.rawValue, later.map(\.number.digits), later.map(\.reference), later.map(\.text))
  }
}
