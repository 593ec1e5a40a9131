-- Messages whose status is tracked, and of which one push can stand in for the others: those of CM Hybrid Messaging to telephone numbers.
-- Their pushes and SMS are in the ledger, as of every single message.

CREATE TABLE tracked_message (
  customer_id  bigint      NOT NULL,
  sendout_id   bigint      NOT NULL,
  message_no   int4        NOT NULL,
  message_guid uuid        NOT NULL DEFAULT gen_random_uuid(),
  app_id       text,
  recipient    text        NOT NULL,
  sender       text        NOT NULL,
  body         text        NOT NULL,
  kind         text        NOT NULL,
  parts        int2        NOT NULL,
  reference    text,
  created_at   timestamptz NOT NULL DEFAULT now(),
  status       text        NOT NULL DEFAULT 'Sent',
  delivered_at timestamptz,
  read_at      timestamptz,
  unsettled    int2        NOT NULL DEFAULT 0,
  fallback_no  int4,
  fallback_until text      NOT NULL DEFAULT 'accepted',
  fallback_reason text,
  report_app   text,
  push_nos     int4[]      NOT NULL DEFAULT '{}',
  PRIMARY KEY (customer_id, sendout_id, message_no),
  -- One constraint, as in the ledger.
  CONSTRAINT tracked_message_whole CHECK
    (status IN ('Cancelled', 'Sent', 'Rejected', 'Accepted', 'Failed', 'Delivered') AND fallback_until IN ('accepted', 'confirmed')
     AND (fallback_reason IN ('alone', 'no_device', 'push_failed', 'unconfirmed')) IS NOT FALSE)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
-- The recipient comes first. With the customer first, the planner takes this index for as good as the primary key on a new table.
CREATE INDEX tracked_message_recipient ON tracked_message (recipient, customer_id, created_at);
COMMENT ON TABLE  tracked_message              IS 'Messages that are tracked beside their pushes: to telephone numbers, as the gateway accepted them.';
COMMENT ON COLUMN tracked_message.customer_id  IS 'The customer that sent it.';
COMMENT ON COLUMN tracked_message.sendout_id   IS 'The stream of its message.';
COMMENT ON COLUMN tracked_message.message_no   IS 'Its message: the row of the table message.';
COMMENT ON COLUMN tracked_message.message_guid IS 'What phones call its ID.';
COMMENT ON COLUMN tracked_message.app_id       IS 'The app id that it named by an app key; NULL without one.';
COMMENT ON COLUMN tracked_message.recipient    IS 'The telephone number: the digits of E.164.';
COMMENT ON COLUMN tracked_message.sender       IS 'As the gateway got it.';
COMMENT ON COLUMN tracked_message.body         IS 'Its text, as the gateway got it.';
COMMENT ON COLUMN tracked_message.kind         IS 'default, otp or critical, as the message or its app says.';
COMMENT ON COLUMN tracked_message.parts        IS 'How many SMS its text takes.';
COMMENT ON COLUMN tracked_message.reference    IS 'The caller''s own name for it.';
COMMENT ON COLUMN tracked_message.created_at   IS 'When the gateway accepted it.';
COMMENT ON COLUMN tracked_message.status       IS 'Cancelled, Sent, Rejected, Accepted, Failed or Delivered, as phones and status reports name it.';
COMMENT ON COLUMN tracked_message.delivered_at IS 'When a device or a delivery report first confirmed it; NULL until then.';
COMMENT ON COLUMN tracked_message.read_at      IS 'When it was read, as a device said; NULL until then.';
COMMENT ON COLUMN tracked_message.unsettled    IS 'How many of its pushes, its fallback included, have no final outcome; of use until one is accepted. One row counts them, so that of pushes that settle at the same time one is the last.';
COMMENT ON COLUMN tracked_message.fallback_no  IS 'Its push that stands in for the others, which is an SMS; NULL for none.';
COMMENT ON COLUMN tracked_message.fallback_until IS 'What makes its fallback needless: accepted, that another push is; confirmed, that a device confirms the message.';
COMMENT ON COLUMN tracked_message.fallback_reason IS 'Why its fallback goes, if it does. alone: nothing else was asked for; no_device: no phone has the app with this number; push_failed: every push failed; unconfirmed: no device confirmed it in time.';
COMMENT ON COLUMN tracked_message.report_app   IS 'The app id of the app whose address is told of each status; NULL for none. A message without an app key has that of another app of the customer.';
COMMENT ON COLUMN tracked_message.push_nos     IS 'Its pushes, its SMS among them, as in the table message: phones list messages with their update ids, and so read one table.';

-- Each part joins contact itself: the planner then goes from the contact to the part's own index, and a query for one
-- customer is routable on Citus. Pushes of sendouts and of messages have an index each, and so a part.
CREATE VIEW report.contact_timeline AS
  SELECT c.customer_id, c.original_id, c.contact_id, d.at, 'device ' || d.kind AS event,
         report.cell(d.reason) AS detail, d.device_id, NULL::bigint AS sendout_id
    FROM contact c
    JOIN device_event d ON d.customer_id = c.customer_id AND d.contact_id = c.contact_id
  UNION ALL
  SELECT c.customer_id, c.original_id, c.contact_id, coalesce(p.settled_at, p.sent_at),
         CASE WHEN a.app_type = 10 THEN 'SMS ' ELSE 'push ' END || p.state, report.cell(p.reason), p.device_id, p.sendout_id
    FROM contact c
    JOIN push p ON p.customer_id = c.customer_id AND p.contact_id = c.contact_id
    LEFT JOIN device d ON d.customer_id = p.customer_id AND d.device_id = p.device_id
    LEFT JOIN push_app a ON a.customer_id = d.customer_id AND a.push_app_id = d.push_app_id
   WHERE coalesce(p.settled_at, p.sent_at) IS NOT NULL AND p.message_no IS NULL
  UNION ALL
  SELECT c.customer_id, c.original_id, c.contact_id, coalesce(p.settled_at, p.sent_at),
         CASE WHEN a.app_type = 10 THEN 'SMS ' ELSE 'push ' END || p.state, report.cell(p.reason), p.device_id, p.sendout_id
    FROM contact c
    JOIN push p ON p.customer_id = c.customer_id AND p.contact_id = c.contact_id
    LEFT JOIN device d ON d.customer_id = p.customer_id AND d.device_id = p.device_id
    LEFT JOIN push_app a ON a.customer_id = d.customer_id AND a.push_app_id = d.push_app_id
   WHERE coalesce(p.settled_at, p.sent_at) IS NOT NULL AND p.message_no IS NOT NULL
  UNION ALL
  SELECT c.customer_id, c.original_id, c.contact_id, o.at,
         CASE WHEN o.reader = 'person' THEN 'push opened' ELSE 'push fetched by a machine' END, o.via, p.device_id,
         o.sendout_id
    FROM contact c
    JOIN push p ON p.customer_id = c.customer_id AND p.contact_id = c.contact_id
    JOIN open_event o ON o.customer_id = p.customer_id AND o.sendout_id = p.sendout_id AND o.push_no = p.push_no
   WHERE p.message_no IS NULL
  UNION ALL
  SELECT c.customer_id, c.original_id, c.contact_id, o.at,
         CASE WHEN o.reader = 'person' THEN 'push opened' ELSE 'push fetched by a machine' END, o.via, p.device_id,
         o.sendout_id
    FROM contact c
    JOIN push p ON p.customer_id = c.customer_id AND p.contact_id = c.contact_id
    JOIN open_event o ON o.customer_id = p.customer_id AND o.sendout_id = p.sendout_id AND o.push_no = p.push_no
   WHERE p.message_no IS NOT NULL
  UNION ALL
  SELECT c.customer_id, c.original_id, c.contact_id, e.at, e.event, e.detail, NULL, h.sendout_id
    FROM contact c
    JOIN tracked_message h ON h.customer_id = c.customer_id AND h.recipient = substr(c.original_id, 3)
   CROSS JOIN LATERAL (VALUES (h.created_at, 'message accepted', h.kind), (h.delivered_at, 'message confirmed', NULL),
                              (h.read_at, 'message read', NULL)) AS e (at, event, detail)
   WHERE c.original_id = '00' || h.recipient AND e.at IS NOT NULL
  UNION ALL
  SELECT c.customer_id, c.original_id, c.contact_id, e.at, 'pin ' || e.kind, report.cell(e.app_id), NULL, NULL
    FROM contact c
    JOIN hybrid_pin_event e ON e.customer_id = c.customer_id AND e.number = substr(c.original_id, 3)
   WHERE starts_with(c.original_id, '00');
COMMENT ON VIEW   report.contact_timeline             IS 'Everything that happened with one contact. Filter by customer_id and original_id, order by at.';
COMMENT ON COLUMN report.contact_timeline.customer_id IS 'The customer.';
COMMENT ON COLUMN report.contact_timeline.original_id IS 'The customer''s own id of the user, exact, since rows are asked for by it. Export it as report.cell(original_id).';
COMMENT ON COLUMN report.contact_timeline.contact_id  IS 'The hub''s number of the contact.';
COMMENT ON COLUMN report.contact_timeline.at          IS 'When it happened.';
COMMENT ON COLUMN report.contact_timeline.event       IS 'device registered, moved, revived, environment or invalidated; push or SMS and its state; push opened; push fetched by a machine; message accepted, confirmed or read, of messages to telephone numbers; pin sent, called, verified or failed.';
COMMENT ON COLUMN report.contact_timeline.detail      IS 'Reason of an invalidation or of a push''s state, as a cell. For opens: page or pushreadurl. For messages that were accepted: default, otp or critical. For PINs: the app id. Opens of one push within one minute are one row.';
COMMENT ON COLUMN report.contact_timeline.device_id   IS 'The device.';
COMMENT ON COLUMN report.contact_timeline.sendout_id  IS 'The sendout; NULL for events of the device alone.';

CREATE VIEW report.hybrid_share AS
SELECT h.customer_id, (h.created_at AT TIME ZONE 'UTC')::date AS day, report.cell(h.app_id) AS app_id, h.kind,
       count(*) AS messages,
       count(*) FILTER (WHERE s.push_no IS NULL AND h.status IN ('Accepted', 'Delivered')) AS by_push,
       count(s.push_no) AS by_sms,
       count(s.push_no) FILTER (WHERE h.fallback_reason = 'alone') AS sms_only,
       count(s.push_no) FILTER (WHERE h.fallback_reason = 'no_device') AS no_device,
       count(s.push_no) FILTER (WHERE h.fallback_reason = 'push_failed') AS push_failed,
       count(s.push_no) FILTER (WHERE h.fallback_reason = 'unconfirmed') AS unconfirmed,
       coalesce(sum(h.parts) FILTER (WHERE s.push_no IS NOT NULL), 0) AS sms_parts,
       count(h.delivered_at) AS delivered, count(h.read_at) AS read,
       count(*) FILTER (WHERE h.status IN ('Failed', 'Rejected')) AS failed,
       count(*) FILTER (WHERE h.status = 'Cancelled') AS withdrawn,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM h.delivered_at - h.created_at)::float8) AS median_seconds,
       percentile_cont(0.95) WITHIN GROUP (ORDER BY extract(epoch FROM h.delivered_at - h.created_at)::float8) AS slowest_seconds
  FROM tracked_message h
  LEFT JOIN push s ON s.customer_id = h.customer_id AND s.sendout_id = h.sendout_id AND s.push_no = h.fallback_no AND s.attempts > 0
 GROUP BY h.customer_id, day, h.app_id, h.kind;
COMMENT ON VIEW   report.hybrid_share                 IS 'Messages to telephone numbers by day, app and type: how many went by push and by SMS, why, and how fast.';
COMMENT ON COLUMN report.hybrid_share.customer_id     IS 'The customer.';
COMMENT ON COLUMN report.hybrid_share.day             IS 'The day on which they were accepted, in UTC.';
COMMENT ON COLUMN report.hybrid_share.app_id          IS 'The app id that they named by an app key, as a cell; NULL without one.';
COMMENT ON COLUMN report.hybrid_share.kind            IS 'default, otp or critical.';
COMMENT ON COLUMN report.hybrid_share.messages        IS 'All messages.';
COMMENT ON COLUMN report.hybrid_share.by_push         IS 'Taken by a push service, and not sent by SMS.';
COMMENT ON COLUMN report.hybrid_share.by_sms          IS 'Sent by SMS, some of them after a push.';
COMMENT ON COLUMN report.hybrid_share.sms_only        IS 'Of these: nothing but SMS was asked for.';
COMMENT ON COLUMN report.hybrid_share.no_device       IS 'Of these: no phone had the app with this number.';
COMMENT ON COLUMN report.hybrid_share.push_failed     IS 'Of these: every push failed.';
COMMENT ON COLUMN report.hybrid_share.unconfirmed     IS 'Of these: no device confirmed the push in time.';
COMMENT ON COLUMN report.hybrid_share.sms_parts       IS 'How many SMS the texts of these take.';
COMMENT ON COLUMN report.hybrid_share.delivered       IS 'Confirmed by a device or a delivery report.';
COMMENT ON COLUMN report.hybrid_share.read            IS 'Read, as a device said.';
COMMENT ON COLUMN report.hybrid_share.failed          IS 'Failed or rejected.';
COMMENT ON COLUMN report.hybrid_share.withdrawn       IS 'Withdrawn by a later SMS, or cancelled with their stream.';
COMMENT ON COLUMN report.hybrid_share.median_seconds  IS 'Seconds from acceptance to delivery that half of those delivered took at most; NULL if none were.';
COMMENT ON COLUMN report.hybrid_share.slowest_seconds IS 'The same of 95 in 100.';
