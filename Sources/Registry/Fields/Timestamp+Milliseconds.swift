import Postgres
import Wire

/// Whole milliseconds since 1970, as Carma's bodies have moments: a date that came in as a number leaves as the same one.
extension PostgresTimestamp {
  /// Milliseconds from 1970 to 2000.
  private static let epoch: Int64 = 946_684_800_000

  /// - Parameter milliseconds: within `CarmaDate.range`.
  init(milliseconds: Int64) { self.init(microseconds: (milliseconds - Self.epoch) * 1000) }

  /// Rounded down. What lies beyond `CarmaDate.range`, infinities too, is its nearer end: the database may hold what no request
  /// can say.
  var milliseconds: Int64 {
    let (whole, rest) = microseconds.quotientAndRemainder(dividingBy: 1000)
    let range = CarmaDate.range
    return min(max((rest < 0 ? whole - 1 : whole) + Self.epoch, range.lowerBound), range.upperBound)
  }
}
