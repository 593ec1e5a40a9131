/// The time zone by which quiet hours of single messages go, in SQL. `$1` is the customer. A sendout has it in `push.zone_no` instead.
enum QuietSQL {
  /// Where zones come from that contacts do not tell, as parameters.
  struct Places {
    /// SQL of the customer's own zone.
    let customerZone: String
    /// SQL of the countries that have one zone alone, and of these zones, as `CountryZones` has them.
    let countries: String
    let zones: String
  }

  /// SQL of the time zone of a contact: its own, else that of its newest valid device that tells one, else that of its country where that has
  /// one alone, else the customer's.
  /// - Parameter contact: the alias of a row of `contact`.
  static func zone(ofContact contact: String, _ places: Places) -> String {
    """
    coalesce(nullif(\(contact).time_zone, ''), \(newest("time_zone", of: contact)),
             (SELECT place.zone FROM unnest(\(places.countries), \(places.zones)) AS place (country, zone)
               WHERE place.country = upper(coalesce(nullif(\(contact).country, ''), \(newest("country", of: contact)))) LIMIT 1),
             \(places.customerZone))
    """
  }

  private static func newest(_ column: String, of contact: String) -> String {
    """
    (SELECT told.\(column) FROM device AS told
      WHERE told.customer_id = $1::bigint AND told.contact_id = \(contact).contact_id AND told.invalidated_at IS NULL
        AND told.\(column) <> ''
      ORDER BY told.registered_at DESC, told.device_id DESC LIMIT 1)
    """
  }
}
