package import FoundationEssentials
package import Postgres
package import Wire

/// Opens by hour, as they were counted when they happened.
package struct OpenHours: Sendable {
  /// How many hours are read of one sendout.
  package static let most: Int64 = 336

  private let database: any Querying

  package init(_ database: any Querying) { self.database = database }

  /// Opens of the sendout by hour, the oldest first. Hours without opens are left out.
  package func all(_ key: SendoutKey) async throws -> [OpenHour] {
    try await database.query(OpenQueries.hours, key.customer.rawValue, key.sendout.rawValue, Self.most).map { row in
      let (hour, opens, firsts, machines) = try row.decode(Date.self, Int.self, Int.self, Int.self)
      return OpenHour(hour: Wire.Timestamp(hour), opens: opens, firstOpens: firsts, byMachines: machines)
    }
  }

  /// First opens of each sendout in its first hours.
  /// - Parameter starts: the sendouts with their starts.
  package func first(
    _ hours: Int, _ customer: CustomerID, of starts: [(sendout: SendoutID, start: Date)]
  ) async throws -> [SendoutID: [Int]] {
    var counts = Dictionary(
      starts.map { ($0.sendout, [Int](repeating: 0, count: hours)) }, uniquingKeysWith: { first, _ in first })
    let rows = try await database.query(
      OpenQueries.firstHours, customer.rawValue, starts.map(\.sendout.rawValue), starts.map(\.start), Int32(hours))
    for row in rows {
      let (sendout, hour, count) = try row.decode(Int64.self, Int32.self, Int.self)
      if (0..<hours).contains(Int(hour)) { counts[SendoutID(sendout)]?[Int(hour)] = count }
    }
    return counts
  }
}
