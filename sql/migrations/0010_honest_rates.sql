-- An open rate counts pushes that were accepted both above and below the line: one that is uncertain can be opened, too.
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

CREATE OR REPLACE VIEW report.sendout_totals AS
SELECT s.customer_id, s.sendout_id, s.name, a.app_id, a.app_type, s.state, s.template_name, s.template_version,
  s.created_at, s.started_at, s.finished_at,
  coalesce(p.audience, 0) AS audience, coalesce(p.queued, 0) AS queued, coalesce(p.sending, 0) AS sending,
  coalesce(p.waiting, 0) AS waiting, coalesce(p.sent, 0) AS sent, coalesce(p.accepted, 0) AS accepted,
  coalesce(p.failed, 0) AS failed, coalesce(p.uncertain, 0) AS uncertain, coalesce(p.skipped, 0) AS skipped,
  coalesce(p.cancelled, 0) AS cancelled, coalesce(p.opened, 0) AS opened,
  round(p.accepted_opened::numeric / nullif(p.accepted, 0), 4) AS open_rate,
  coalesce(p.accepted_opened, 0) AS accepted_opened
FROM sendout s
JOIN push_app a ON a.customer_id = s.customer_id AND a.push_app_id = s.push_app_id
LEFT JOIN sendout_counts p ON p.customer_id = s.customer_id AND p.sendout_id = s.sendout_id;
COMMENT ON COLUMN report.sendout_totals.open_rate IS 'Unique open rate: of the accepted, the share that a person opened, from 0 to 1; NULL while nothing is accepted.';
COMMENT ON COLUMN report.sendout_totals.accepted_opened IS 'Of the opened, those that the push service accepted.';

CREATE OR REPLACE VIEW report.funnel AS
SELECT t.customer_id, t.sendout_id, t.name, step.no AS step, step.stage, step.pushes,
  round(step.pushes::numeric / nullif(t.audience, 0), 4) AS of_audience,
  round(step.stayed::numeric / nullif(step.before, 0), 4) AS of_previous
FROM report.sendout_totals t
CROSS JOIN LATERAL (VALUES
  (1, 'audience', t.audience, t.audience, t.audience), (2, 'sent', t.sent, t.sent, t.audience),
  (3, 'accepted', t.accepted, t.accepted, t.sent), (4, 'opened', t.opened, t.accepted_opened, t.accepted)
) AS step (no, stage, pushes, stayed, before);
COMMENT ON COLUMN report.funnel.of_previous IS 'The share of the stage before that came this far, from 0 to 1.';

COMMENT ON COLUMN push_batch.hub_id IS 'Which run of a hub claimed it last: another one each time a hub takes the sendout up.';
COMMENT ON COLUMN push_batch.claims IS 'How often it was claimed; a claim is known by it.';
COMMENT ON COLUMN push.give_up_at IS 'Until when it is tried again: two hours after it was first put off; NULL until then, and while refused credentials are all that keeps it.';
COMMENT ON COLUMN push.contact_id IS 'Whose device it was then. If it is another''s when the push is due, the push is skipped; if it is when the push is opened, that is an event, and no first open.';
COMMENT ON COLUMN sendout.template_version IS 'The version it was started with, kept whatever is saved later; of a draft, the one it was created with.';
