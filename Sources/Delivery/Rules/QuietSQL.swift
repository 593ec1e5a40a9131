/// When quiet hours end for a contact, in SQL. `$1` is the customer. A sendout has the zones of its contacts in `sendout_zone` instead.
struct QuietSQL {
  /// SQL of the start and the end, as texts; NULL without quiet hours.
  let start: String
  let end: String
  /// As `PlaceSQL` has them.
  let customerZone: String
  let countries: String
  let zones: String

  /// SQL of a query with the column `until`: when the quiet hours end in which the contact is now. It is NULL, or there is no row, if it is in none.
  /// - Parameters:
  ///   - contact: SQL of the contact's number.
  ///   - condition: SQL of whether the contact is looked at.
  func until(contact: String, where condition: String) -> String {
    let told = PlaceSQL.told(countries: countries, zones: zones, customerZone: customerZone)
    return """
      SELECT quiet_end(now(), zone, \(hours)) AS until
        FROM (SELECT \(PlaceSQL.zone(ofTold: "told", customerZone: customerZone)) AS zone
                FROM (SELECT \(told) AS told FROM contact
                       WHERE contact.customer_id = $1::bigint AND contact.contact_id = \(contact)
                         AND \(start) IS NOT NULL AND \(condition)
                      OFFSET 0) AS place
              OFFSET 0) AS place
      """
  }

  /// SQL of the arguments that functions of quiet hours have.
  var hours: String { "\(start)::time, \(end)::time" }
}
