import Delivery
import Postgres
import Registry
package import Wire

extension Triggers {
  /// What became of the trigger's messages on each of the last days, today included. All messages of today are counted one by one, so
  /// this may take long.
  /// - Throws: `RegistryError.numberUnknown`.
  package func figures(_ customer: CustomerID, _ number: TriggerID, days: Int32) async throws -> TriggerFigures {
    let trigger = try await find(customer, number)
    let rows = try await database.query(SendoutQueries.daysOfTrigger, customer.rawValue, number.rawValue, days)
    let days = try rows.map { row in
      let (day, streams, isExpired) = try row.decode(String.self, [Int64].self, Bool.self)
      return (day: day, streams: streams.map { SendoutID($0) }, isExpired: isExpired)
    }
    let streams = days.flatMap(\.streams)
    let totals = streams.isEmpty ? [:] : try await Ledger(database).totals(customer, of: streams)
    let messages = streams.isEmpty ? [:] : try await Messages(database).counts(customer, of: streams)
    return TriggerFigures(
      triggerId: number, name: trigger.name,
      days: days.map { day, streams, isExpired in
        let counts = streams.compactMap { totals[$0] }
        func sum(_ count: (SendoutCounts) -> Int) -> Int { counts.reduce(0) { $0 + count($1) } }
        return TriggerDay(
          day: day, messages: isExpired ? nil : streams.reduce(0) { $0 + (messages[$1] ?? 0) }, pushes: sum(\.audience),
          accepted: sum(\.accepted), failed: sum(\.failed), opened: sum(\.opened))
      })
  }
}
