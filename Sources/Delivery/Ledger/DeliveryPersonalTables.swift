import Postgres
package import Registry

/// What this room's tables hold of a person.
package enum DeliveryPersonalTables {
  package static let all: [PersonalTable] = [
    PersonalTable(
      "tracked_message", .inPortions(deleteTracked),
      showing: """
        SELECT message_guid, app_id, recipient, sender, body, kind, reference, created_at, status, delivered_at, read_at
          FROM tracked_message WHERE customer_id = $1::bigint AND recipient = ANY ($3::text[]) ORDER BY created_at DESC
        """),
    PersonalTable("outbox", .with("tracked_message")),
    PersonalTable(
      "message", .inPortions(deleteMessages),
      showing: """
        SELECT m.sendout_id || '-' || m.message_no AS message_id, m.body, m.properties, m.reference, m.created_at, m.deliver_at
          FROM (SELECT DISTINCT sendout_id, message_no FROM push
                 WHERE contact_id = $2::bigint AND customer_id = $1::bigint AND message_no IS NOT NULL) AS sent
          JOIN message AS m
            ON m.customer_id = $1::bigint AND m.sendout_id = sent.sendout_id AND m.message_no = sent.message_no
         WHERE m.contact_id = $2::bigint
         ORDER BY m.sendout_id DESC, m.message_no DESC
        """),
    PersonalTable(
      "push",
      .stays("It has numbers of a contact and a device that are gone, and words of push services."),
      showing: """
        SELECT sendout_id, push_no, device_id, state, attempts, reason, sent_at, settled_at, opened_at, delivery, delivery_reason
          FROM \(pushes) AS push ORDER BY sendout_id DESC, push_no DESC
        """),
    PersonalTable(
      "open_event", .stays("It has numbers of pushes."),
      showing: """
        SELECT e.sendout_id, e.push_no, e.via, e.reader, e.at, e.opens
          FROM \(pushes) AS p
          JOIN open_event AS e
            ON e.customer_id = $1::bigint AND e.sendout_id = p.sendout_id AND e.push_no = p.push_no
         ORDER BY e.sendout_id DESC, e.push_no DESC, e.at DESC
        """),
    PersonalTable("push_batch", .stays("It has counts.")),
    // It says nothing that the pushes do not, and is not shown beside them. A hub that counts the contact at the same time would write its row
    // again, so the hubs delete it: the next one that counts finds no contact.
    PersonalTable("contact_activity", .atOnce(noteErased)),
    PersonalTable("activity_change", .stays("It has numbers of contacts, for seconds.")),
    PersonalTable(
      "reach", .atOnce(deleteReach),
      showing: """
        SELECT to_timestamp(moment / 1000.0) AS reached_at
          FROM reach CROSS JOIN LATERAL unnest(every) AS moment
         WHERE customer_id = $1::bigint AND contact_id = $2::bigint ORDER BY moment DESC
        """),
    PersonalTable("cap_day", .stays("It has counts.")),
    PersonalTable("sendout_zone", .stays("It has counts.")),
    PersonalTable("sendout_variant", .stays("It has counts, and the customer's own words.")),
    PersonalTable("sendout_left_out", .stays("It has counts.")),
    PersonalTable("message_key", .stays("It has the customer's own keys of requests and hashes, for 24 hours.")),
  ]

  /// The pushes of the contact. Those of sendouts and of messages have an index each.
  private static let pushes = """
    (SELECT * FROM push WHERE contact_id = $2::bigint AND customer_id = $1::bigint AND message_no IS NULL
              UNION ALL
             SELECT * FROM push WHERE contact_id = $2::bigint AND customer_id = $1::bigint AND message_no IS NOT NULL
             OFFSET 0)
    """

  static let statements = all.flatMap(\.statements)

  private static let noteErased = Statement(
    "erasure.contact_activity", .write,
    "INSERT INTO activity_change (customer_id, contact_ids) VALUES ($1::bigint, ARRAY[$2::bigint])")

  private static let deleteReach = Statement(
    "erasure.reach", .write, "DELETE FROM reach WHERE customer_id = $1::bigint AND contact_id = $2::bigint")

  private static let deleteTracked = Statement(
    "erasure.tracked_message", .write,
    """
    WITH gone AS (
      DELETE FROM tracked_message
       WHERE customer_id = $1::bigint AND \(PersonalTable.parameters) AND (sendout_id, message_no) IN (
         SELECT sendout_id, message_no FROM tracked_message
          WHERE customer_id = $1::bigint AND recipient = ANY ($3::text[]) LIMIT \(PersonalTable.portion))
      RETURNING sendout_id, message_no),
    posts AS (
      DELETE FROM outbox AS o USING gone
       WHERE o.customer_id = $1::bigint AND o.sendout_id = gone.sendout_id AND o.item_no = gone.message_no)
    SELECT CASE WHEN (SELECT count(*) FROM gone) > 0 THEN $4::bigint[] END
    """)

  /// Messages without a push have no index that leads to them, so all of the customer's are looked at.
  private static let deleteMessages = Statement(
    "erasure.message", .write,
    """
    WITH portion AS MATERIALIZED (
      SELECT sendout_id, message_no, contact_id FROM message
       WHERE customer_id = $1::bigint AND (sendout_id, message_no) > (($4::bigint[])[1], ($4::bigint[])[2])
         AND \(PersonalTable.parameters)
       ORDER BY sendout_id, message_no LIMIT 20000),
    gone AS (
      DELETE FROM message AS m USING portion AS p
       WHERE p.contact_id = $2::bigint
         AND m.customer_id = $1::bigint AND m.sendout_id = p.sendout_id AND m.message_no = p.message_no)
    SELECT (SELECT ARRAY[sendout_id, message_no::bigint] FROM portion ORDER BY sendout_id DESC, message_no DESC LIMIT 1)
    """)
}
