import Postgres
public import Wire

extension TestDatabase {
  /// A webhook that is told everything, so that whatever happens to the customer is noted.
  @discardableResult
  public func addWebhook(
    _ customer: CustomerID, _ events: [WebhookEvent] = WebhookEvent.allCases
  ) async throws -> EventWebhookID {
    let rows = try await query(
      """
      INSERT INTO webhook (customer_id, url, events, secret)
      VALUES ($1::bigint, 'https://hooks.example.com/', $2::text[], ''::bytea) RETURNING webhook_id
      """, customer.rawValue, events.map(\.rawValue))
    return EventWebhookID(try rows[0].decode(Int64.self))
  }

  /// What was noted for webhooks, in its order: the event, the contact's original id, and the reason, with spaces in between; of several pushes how many.
  public func noted(_ customer: CustomerID) async throws -> [String] {
    try await query(
      """
      SELECT concat_ws(' ', e.event, c.original_id, e.reason, cardinality(e.push_nos)) FROM webhook_event AS e
        LEFT JOIN contact AS c USING (customer_id, contact_id)
       WHERE e.customer_id = $1::bigint ORDER BY e.event_id
      """, customer.rawValue
    ).map { try $0.decode(String.self) }
  }
}
