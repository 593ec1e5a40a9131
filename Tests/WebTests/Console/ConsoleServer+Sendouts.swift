import Postgres
import Registry
import Support
import Wire

extension ConsoleServer {
  /// Writes a sendout as it is at some point of its life.
  /// - Parameters:
  ///   - campaign: its times, limits and variants, as the API has them.
  ///   - columns: further columns with their values, in SQL, as in `frozen_at = now()`.
  func sendout(
    _ name: String = "Offer", _ state: SendoutState, campaign: String = "{}", _ columns: String = "",
    of customer: CustomerID? = nil
  ) async throws -> SendoutID {
    let customer = (customer ?? self.customer).rawValue
    let row = try await database.query(
      """
      INSERT INTO sendout (customer_id, push_app_ids, name, state, audience, message, campaign)
      VALUES ($1::bigint, '{1}', $2::text, 'draft', '{"all":true}', '{"alert":"Hello"}', $3::text::json)
      RETURNING sendout_id
      """, customer, name, campaign)
    let id: Int64 = try row[0].decode(Int64.self)
    try await database.query(
      """
      UPDATE sendout SET state = $3::text\(columns.isEmpty ? "" : ", " + columns)
       WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
      """, customer, id, state.rawValue)
    return SendoutID(id)
  }

  /// Sets the customer's time zone.
  func setZone(_ zone: String) async throws {
    try await database.query(
      "UPDATE customer SET time_zone = $2::text WHERE customer_id = $1::bigint", customer.rawValue, zone)
  }
}
