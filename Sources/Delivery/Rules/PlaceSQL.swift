import Wire

/// SQL of the time zone of a contact, over its row `contact`, and of when a sendout goes there. `$1` is the customer.
enum PlaceSQL {
  /// SQL of a contact's zone with who told it before it, as in `device Europe/Stockholm`. What comes later is looked up only where all before
  /// it tell none: the contact's own field, its newest valid device that tells one, its country, and the customer's setting.
  /// - Parameters:
  ///   - countries: SQL of an array with the codes of countries that have one zone alone.
  ///   - zones: SQL of an array with their zones.
  ///   - customerZone: SQL of the customer's zone.
  static func told(countries: String, zones: String, customerZone: String) -> String {
    let country = "coalesce(nullif(contact.country, ''), \(ofNewestDevice("country")))"
    return """
      coalesce('\(ZoneSource.contact.rawValue) ' || nullif(contact.time_zone, ''),
               '\(ZoneSource.device.rawValue) ' || \(ofNewestDevice("time_zone")),
               '\(ZoneSource.country.rawValue) ' || (\(zones))[array_position(\(countries), upper(\(country)))],
               '\(ZoneSource.customer.rawValue) ' || \(customerZone))
      """
  }

  private static func ofNewestDevice(_ column: String) -> String {
    """
    (SELECT device.\(column) FROM device
                     WHERE device.customer_id = $1::bigint AND device.contact_id = contact.contact_id
                       AND device.invalidated_at IS NULL AND device.\(column) <> ''
                     ORDER BY device.registered_at DESC, device.device_id DESC LIMIT 1)
    """
  }

  /// SQL of who told a zone.
  static func source(ofTold told: String) -> String { "split_part(\(told), ' ', 1)" }

  /// SQL of a zone that PostgreSQL knows: the one that was told, else the customer's.
  static func zone(ofTold told: String, customerZone: String) -> String {
    "zone_or(substr(\(told), position(' ' IN \(told)) + 1), zone_or(\(customerZone), 'UTC'))"
  }

  /// SQL of the moment in a zone, before spread and quiet hours; NULL where it is missed.
  /// - Parameters:
  ///   - startAt: SQL of the planned moment; it is NULL for at once.
  ///   - localTime: SQL of the local time; where it is NULL, all zones have the same moment.
  ///   - scheduledAt: SQL of the moment before which the local time is over; where it is NULL, that is now.
  ///   - onMissed: SQL of what becomes of zones where it was over.
  static func moment(
    zone: String, startAt: String, localTime: String, scheduledAt: String, onMissed: String
  ) -> String {
    """
    CASE WHEN \(localTime) IS NULL THEN coalesce(\(startAt), now())
         WHEN local_moment(\(localTime), \(zone)) >= coalesce(\(scheduledAt), now()) THEN local_moment(\(localTime), \(zone))
         WHEN \(onMissed) = '\(MissedPolicy.now.rawValue)' THEN now()
         WHEN \(onMissed) = '\(MissedPolicy.nextDay.rawValue)' THEN local_moment(\(localTime) + interval '1 day', \(zone)) END
    """
  }
}
