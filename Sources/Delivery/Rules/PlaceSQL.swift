import Wire

/// SQL of the time zone of a contact, and of when a sendout goes there. `$1` is the customer.
enum PlaceSQL {
  /// Where zones come from that contacts do not tell, as parameters.
  struct Places {
    /// SQL of the customer's own zone.
    let customerZone: String
    /// SQL of the countries that have one zone alone, and of these zones, as `CountryZones` has them.
    let countries: String
    let zones: String
  }

  /// SQL of a zone that PostgreSQL knows: that of a contact, else the customer's.
  /// - Parameter contact: the alias of a row of `contact`.
  static func zone(ofContact contact: String, _ places: Places) -> String {
    known("coalesce(\(sources(ofContact: contact, places).map(\.sql).joined(separator: ", ")))", places)
  }

  /// SQL of a contact's zone with who told it before it, as in `device Europe/Stockholm`.
  static func told(ofContact contact: String, _ places: Places) -> String {
    let sources = sources(ofContact: contact, places).map { "'\($0.source.rawValue) ' || \($0.sql)" }
    return "coalesce(\(sources.joined(separator: ", ")))"
  }

  /// Who can tell a zone. What comes later is looked up only where all before it tell none: the contact's own field, its newest valid device that
  /// tells one, its country, and the customer's setting.
  private static func sources(ofContact contact: String, _ places: Places) -> [(source: ZoneSource, sql: String)] {
    let country = "coalesce(nullif(\(contact).country, ''), \(newest("country", of: contact)))"
    return [
      (.contact, "nullif(\(contact).time_zone, '')"),
      (.device, newest("time_zone", of: contact)),
      (.country, "(\(places.zones))[array_position(\(places.countries), upper(\(country)))]"),
      (.customer, places.customerZone),
    ]
  }

  private static func newest(_ column: String, of contact: String) -> String {
    """
    (SELECT told.\(column) FROM device AS told
      WHERE told.customer_id = $1::bigint AND told.contact_id = \(contact).contact_id AND told.invalidated_at IS NULL
        AND told.\(column) <> ''
      ORDER BY told.registered_at DESC, told.device_id DESC LIMIT 1)
    """
  }

  private static func known(_ zone: String, _ places: Places) -> String {
    "zone_or(\(zone), zone_or(\(places.customerZone), 'UTC'))"
  }

  /// SQL of who told a zone.
  static func source(ofTold told: String) -> String { "split_part(\(told), ' ', 1)" }

  /// SQL of a zone that PostgreSQL knows: the one that was told, else the customer's.
  static func zone(ofTold told: String, _ places: Places) -> String {
    known("substr(\(told), position(' ' IN \(told)) + 1)", places)
  }

  /// SQL of the moment in a zone, before spread and quiet hours; NULL where it is missed. Clocks of the world are up to 26 hours apart. So a day after
  /// the local time can be over, too, while it is still to come elsewhere.
  /// - Parameters:
  ///   - startAt: SQL of the planned moment; it is NULL for at once.
  ///   - localTime: SQL of the local time; where it is NULL, all zones have the same moment.
  ///   - scheduledAt: SQL of the moment before which the local time is over; where it is NULL, that is now.
  ///   - onMissed: SQL of what becomes of zones where it was over.
  static func moment(
    zone: String, startAt: String, localTime: String, scheduledAt: String, onMissed: String
  ) -> String {
    let nextDay = "local_moment(\(localTime) + interval '1 day', \(zone))"
    return """
      CASE WHEN \(localTime) IS NULL THEN coalesce(\(startAt), now())
           WHEN local_moment(\(localTime), \(zone)) >= coalesce(\(scheduledAt), now()) THEN local_moment(\(localTime), \(zone))
           WHEN \(onMissed) = '\(MissedPolicy.now.rawValue)' THEN now()
           WHEN \(onMissed) = '\(MissedPolicy.nextDay.rawValue)' AND \(nextDay) >= coalesce(\(scheduledAt), now()) THEN \(nextDay) END
      """
  }
}
