-- An open rate counts pushes that were accepted both above and below the line: one that is uncertain can be opened, too.
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
