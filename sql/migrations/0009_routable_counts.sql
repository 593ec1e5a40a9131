-- Counts and timelines that ask for one customer at every table they read. A customer_id that reached a table only by way
-- of another one's row (LATERAL) named no shard to Citus, and was refused there.

CREATE OR REPLACE VIEW sendout_counts AS
  SELECT total.customer_id, total.sendout_id, total.audience, total.queued - coalesce(in_hand.sending, 0) AS queued,
         coalesce(in_hand.sending, 0) AS sending,
         total.waiting, total.sent, total.accepted, total.failed, total.uncertain, total.skipped, total.cancelled, total.opened,
         total.accepted_opened
    FROM (SELECT customer_id, sendout_id,
                 count(*)                                      AS audience,
                 count(*) FILTER (WHERE state = 'queued')      AS queued,
                 count(*) FILTER (WHERE state = 'waiting')     AS waiting,
                 count(*) FILTER (WHERE attempts > 0)          AS sent,
                 count(*) FILTER (WHERE state = 'accepted')    AS accepted,
                 count(*) FILTER (WHERE state = 'failed')      AS failed,
                 count(*) FILTER (WHERE state = 'uncertain')   AS uncertain,
                 count(*) FILTER (WHERE state = 'skipped')     AS skipped,
                 count(*) FILTER (WHERE state = 'cancelled')   AS cancelled,
                 count(opened_at)                              AS opened,
                 count(opened_at) FILTER (WHERE state = 'accepted') AS accepted_opened
            FROM push
           GROUP BY customer_id, sendout_id) AS total
    LEFT JOIN
         (SELECT push_batch.customer_id, push_batch.sendout_id, count(*) AS sending
            FROM push_batch
            JOIN push ON push.customer_id = push_batch.customer_id AND push.sendout_id = push_batch.sendout_id
             AND push.device_id BETWEEN push_batch.first_device_id AND push_batch.last_device_id
             -- The same again: the planner takes each bound for a third of the rows, and with two of them alone it read all
             -- of the customer's pushes rather than the batches' own.
             AND push.device_id > push_batch.first_device_id - 1 AND push.device_id < push_batch.last_device_id + 1
           WHERE push_batch.state = 'claimed' AND push.state = 'queued'
           GROUP BY push_batch.customer_id, push_batch.sendout_id) AS in_hand
      ON in_hand.customer_id = total.customer_id AND in_hand.sendout_id = total.sendout_id;
COMMENT ON COLUMN sendout_counts.accepted_opened IS 'Of the opened, those that the push service accepted.';

-- Each part looks the contact up for itself, so that the planner goes from it to the part's own index.
CREATE OR REPLACE VIEW report.contact_timeline AS
  SELECT c.customer_id, c.original_id, c.contact_id, d.at, 'device ' || d.kind AS event, d.reason AS detail, d.device_id,
         NULL::bigint AS sendout_id
    FROM contact c
    JOIN device_event d ON d.customer_id = c.customer_id AND d.contact_id = c.contact_id
  UNION ALL
  SELECT c.customer_id, c.original_id, c.contact_id, coalesce(p.settled_at, p.sent_at), 'push ' || p.state, p.reason,
         p.device_id, p.sendout_id
    FROM contact c
    JOIN push p ON p.customer_id = c.customer_id AND p.contact_id = c.contact_id
   WHERE coalesce(p.settled_at, p.sent_at) IS NOT NULL
  UNION ALL
  SELECT c.customer_id, c.original_id, c.contact_id, o.at,
         CASE o.reader WHEN 'person' THEN 'push opened' ELSE 'push fetched by a machine' END, o.via, o.device_id,
         o.sendout_id
    FROM contact c
    JOIN push p ON p.customer_id = c.customer_id AND p.contact_id = c.contact_id
    JOIN open_event o ON o.customer_id = p.customer_id AND o.sendout_id = p.sendout_id AND o.device_id = p.device_id;
