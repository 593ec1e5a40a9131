public import Postgres
public import Wire

/// How many valid devices each app has. Large numbers are counted once a day, since counting reads every device.
public struct DeviceCounts: Sendable {
  private let database: any Querying

  public init(_ database: any Querying) { self.database = database }

  /// The devices of these apps: now, as far as they are quickly counted, and by day.
  package func of(_ customer: CustomerID, _ apps: [PushAppID]) async throws -> [DeviceCountReply] {
    let rows = try await database.query(
      DeviceQueries.counts, customer.rawValue, apps.map(\.rawValue), Self.read, Int32(DeviceCountReply.dayCount))
    return try rows.map { row in
      let (app, devices, areMore, days) = try row.decode(Int64.self, Int.self, Bool.self, JSONDocument.self)
      return DeviceCountReply(
        pushAppId: PushAppID(app), devices: min(devices, DeviceCountReply.maximum),
        areMore: areMore || devices > DeviceCountReply.maximum,
        days: try JSONCoding.decode([DeviceCountReply.Day].self, from: days.text.utf8))
    }
  }

  /// Counts the customer's devices for today, unless that is done, and forgets days of long ago. The caller has to run it in a transaction.
  public func countDay(_ customer: CustomerID) async throws {
    guard try await database.query(DeviceQueries.isCounted, customer.rawValue).isEmpty else { return }
    try await database.query(DeviceQueries.countDay, customer.rawValue)
    try await database.query(DeviceQueries.forgetDays, customer.rawValue, Self.keptDays)
  }

  /// How many devices of an app are read: twice as many as are counted at most, since some are invalid.
  private static let read = Int64(2 * DeviceCountReply.maximum)
  private static let keptDays: Int32 = 400
}
