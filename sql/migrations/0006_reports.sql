-- Reports: views that people and their tools may read by psql. Their names, columns and meanings are a contract.
-- Each can be asked for one customer (customer_id stands first) at the cost of that customer's rows alone.

CREATE SCHEMA report;
COMMENT ON SCHEMA report IS 'What may be read by psql and reporting tools, as role pushcart_report. Days and hours are UTC.';

CREATE VIEW report.devices AS
SELECT d.customer_id, a.app_id, a.app_type,
  CASE a.app_type WHEN 1 THEN 'iOS' WHEN 2 THEN 'Android' WHEN 3 THEN 'Windows' WHEN 6 THEN 'Firebase' END AS platform,
  CASE WHEN d.sandbox THEN 'sandbox' ELSE 'production' END AS environment,
  CASE WHEN d.invalidated_at IS NULL THEN 'valid' ELSE 'invalidated' END AS state,
  count(*) AS devices, count(DISTINCT d.contact_id) AS contacts
FROM device d
JOIN push_app a ON a.customer_id = d.customer_id AND a.push_app_id = d.push_app_id
GROUP BY d.customer_id, a.app_id, a.app_type, d.sandbox, d.invalidated_at IS NULL;
COMMENT ON VIEW   report.devices             IS 'How many devices there are now.';
COMMENT ON COLUMN report.devices.customer_id IS 'Whose devices.';
COMMENT ON COLUMN report.devices.app_id      IS 'The app, as in com.yourcompany.yourappname.';
COMMENT ON COLUMN report.devices.app_type    IS 'Its platform, in Carma''s numbers.';
COMMENT ON COLUMN report.devices.platform    IS 'Its platform, by name.';
COMMENT ON COLUMN report.devices.environment IS 'production, or sandbox for tokens of APNs'' development environment.';
COMMENT ON COLUMN report.devices.state       IS 'valid: is sent to. invalidated: is not.';
COMMENT ON COLUMN report.devices.devices     IS 'Count of devices.';
COMMENT ON COLUMN report.devices.contacts    IS 'Count of contacts that have them.';

CREATE VIEW report.registrations_by_day AS
SELECT e.customer_id, (e.at AT TIME ZONE 'UTC')::date AS day, a.app_id, a.app_type,
  count(*) FILTER (WHERE e.kind = 'registered')  AS registered,
  count(*) FILTER (WHERE e.kind = 'moved')       AS moved,
  count(*) FILTER (WHERE e.kind = 'revived')     AS revived,
  count(*) FILTER (WHERE e.kind = 'environment') AS environment
FROM device_event e
JOIN device d ON d.customer_id = e.customer_id AND d.device_id = e.device_id
JOIN push_app a ON a.customer_id = d.customer_id AND a.push_app_id = d.push_app_id
WHERE e.kind <> 'invalidated'
GROUP BY e.customer_id, day, a.app_id, a.app_type;
COMMENT ON VIEW   report.registrations_by_day             IS 'What registrations changed on a day; registering an unchanged device again changes nothing.';
COMMENT ON COLUMN report.registrations_by_day.customer_id IS 'Whose devices.';
COMMENT ON COLUMN report.registrations_by_day.day         IS 'The day, in UTC.';
COMMENT ON COLUMN report.registrations_by_day.app_id      IS 'The app.';
COMMENT ON COLUMN report.registrations_by_day.app_type    IS 'Its platform, in Carma''s numbers.';
COMMENT ON COLUMN report.registrations_by_day.registered  IS 'Devices seen for the first time.';
COMMENT ON COLUMN report.registrations_by_day.moved       IS 'Times a device went to another contact.';
COMMENT ON COLUMN report.registrations_by_day.revived     IS 'Times an invalidated device became valid again.';
COMMENT ON COLUMN report.registrations_by_day.environment IS 'Times a device changed between production and sandbox.';

CREATE VIEW report.invalidations_by_day AS
SELECT e.customer_id, (e.at AT TIME ZONE 'UTC')::date AS day, a.app_id, a.app_type,
  coalesce(e.reason, 'unknown') AS reason, count(*) AS devices
FROM device_event e
JOIN device d ON d.customer_id = e.customer_id AND d.device_id = e.device_id
JOIN push_app a ON a.customer_id = d.customer_id AND a.push_app_id = d.push_app_id
WHERE e.kind = 'invalidated'
GROUP BY e.customer_id, day, a.app_id, a.app_type, coalesce(e.reason, 'unknown');
COMMENT ON VIEW   report.invalidations_by_day             IS 'How many devices became invalid on a day, and why.';
COMMENT ON COLUMN report.invalidations_by_day.customer_id IS 'Whose devices.';
COMMENT ON COLUMN report.invalidations_by_day.day         IS 'The day, in UTC.';
COMMENT ON COLUMN report.invalidations_by_day.app_id      IS 'The app.';
COMMENT ON COLUMN report.invalidations_by_day.app_type    IS 'Its platform, in Carma''s numbers.';
COMMENT ON COLUMN report.invalidations_by_day.reason      IS 'app: told by app or user. Otherwise the push service''s own word, such as Unregistered.';
COMMENT ON COLUMN report.invalidations_by_day.devices     IS 'Times a device became invalid.';

CREATE VIEW report.sendout_totals AS
SELECT s.customer_id, s.sendout_id, s.name, a.app_id, a.app_type, s.state, s.template_name, s.template_version,
  s.created_at, s.started_at, s.finished_at,
  coalesce(p.audience, 0) AS audience, coalesce(p.queued, 0) AS queued, coalesce(p.sending, 0) AS sending,
  coalesce(p.waiting, 0) AS waiting, coalesce(p.sent, 0) AS sent, coalesce(p.accepted, 0) AS accepted,
  coalesce(p.failed, 0) AS failed, coalesce(p.uncertain, 0) AS uncertain, coalesce(p.skipped, 0) AS skipped,
  coalesce(p.cancelled, 0) AS cancelled, coalesce(p.opened, 0) AS opened,
  round(p.opened::numeric / nullif(p.accepted, 0), 4) AS open_rate
FROM sendout s
JOIN push_app a ON a.customer_id = s.customer_id AND a.push_app_id = s.push_app_id
LEFT JOIN sendout_counts p ON p.customer_id = s.customer_id AND p.sendout_id = s.sendout_id;
COMMENT ON VIEW   report.sendout_totals                  IS 'One row a sendout: what became of its pushes. The counts are those of sendout_counts, as the API''s and the command line''s are.';
COMMENT ON COLUMN report.sendout_totals.customer_id      IS 'Whose sendout.';
COMMENT ON COLUMN report.sendout_totals.sendout_id       IS 'Number of the sendout.';
COMMENT ON COLUMN report.sendout_totals.name             IS 'Name of the sendout.';
COMMENT ON COLUMN report.sendout_totals.app_id           IS 'The app it goes to.';
COMMENT ON COLUMN report.sendout_totals.app_type         IS 'The app''s platform, in Carma''s numbers.';
COMMENT ON COLUMN report.sendout_totals.state            IS 'draft, freezing, running, paused, cancelled or finished.';
COMMENT ON COLUMN report.sendout_totals.template_name    IS 'The rich page''s template; NULL for none.';
COMMENT ON COLUMN report.sendout_totals.template_version IS 'The template''s version.';
COMMENT ON COLUMN report.sendout_totals.created_at       IS 'When it was written.';
COMMENT ON COLUMN report.sendout_totals.started_at       IS 'When somebody started it.';
COMMENT ON COLUMN report.sendout_totals.finished_at      IS 'When its last push settled, or when it was cancelled.';
COMMENT ON COLUMN report.sendout_totals.audience         IS 'Pushes in the ledger: one for each device that was valid when the audience was frozen. The states below add up to it.';
COMMENT ON COLUMN report.sendout_totals.queued           IS 'State: not begun.';
COMMENT ON COLUMN report.sendout_totals.sending          IS 'State: in the hands of a hub.';
COMMENT ON COLUMN report.sendout_totals.waiting          IS 'State: to be tried again in a while.';
COMMENT ON COLUMN report.sendout_totals.sent             IS 'Not a state: pushes whose bytes left at least once.';
COMMENT ON COLUMN report.sendout_totals.accepted         IS 'State: taken by the push service.';
COMMENT ON COLUMN report.sendout_totals.failed           IS 'State: refused by the push service; see report.failures.';
COMMENT ON COLUMN report.sendout_totals.uncertain        IS 'State: may or may not have arrived, and by the sendout''s policy not sent again.';
COMMENT ON COLUMN report.sendout_totals.skipped          IS 'State: not sent, since its device was no longer to be sent to; see report.failures.';
COMMENT ON COLUMN report.sendout_totals.cancelled        IS 'State: not sent, since the sendout was cancelled.';
COMMENT ON COLUMN report.sendout_totals.opened           IS 'Not a state: pushes that a person opened, each counted once.';
COMMENT ON COLUMN report.sendout_totals.open_rate        IS 'Unique open rate: opened of accepted, from 0 to 1; NULL while nothing is accepted.';

CREATE VIEW report.funnel AS
SELECT t.customer_id, t.sendout_id, t.name, step.no AS step, step.stage, step.pushes,
  round(step.pushes::numeric / nullif(t.audience, 0), 4) AS of_audience,
  round(step.pushes::numeric / nullif(step.before, 0), 4) AS of_previous
FROM report.sendout_totals t
CROSS JOIN LATERAL (VALUES
  (1, 'audience', t.audience, t.audience), (2, 'sent', t.sent, t.audience),
  (3, 'accepted', t.accepted, t.sent), (4, 'opened', t.opened, t.accepted)
) AS step (no, stage, pushes, before);
COMMENT ON VIEW   report.funnel             IS 'Four rows a sendout: from audience to open.';
COMMENT ON COLUMN report.funnel.customer_id IS 'Whose sendout.';
COMMENT ON COLUMN report.funnel.sendout_id  IS 'Number of the sendout.';
COMMENT ON COLUMN report.funnel.name        IS 'Name of the sendout.';
COMMENT ON COLUMN report.funnel.step        IS '1 to 4, to sort by.';
COMMENT ON COLUMN report.funnel.stage       IS 'audience, sent, accepted, opened.';
COMMENT ON COLUMN report.funnel.pushes      IS 'Pushes that came this far.';
COMMENT ON COLUMN report.funnel.of_audience IS 'Their share of the audience, from 0 to 1.';
COMMENT ON COLUMN report.funnel.of_previous IS 'Their share of the stage before, from 0 to 1.';

CREATE VIEW report.failures AS
SELECT p.customer_id, p.sendout_id, p.state, coalesce(p.reason, 'unknown') AS reason, count(*) AS pushes
FROM push p
WHERE p.state IN ('failed', 'uncertain', 'skipped', 'waiting')
GROUP BY p.customer_id, p.sendout_id, p.state, coalesce(p.reason, 'unknown');
COMMENT ON VIEW   report.failures             IS 'Why pushes did not arrive, or have not yet.';
COMMENT ON COLUMN report.failures.customer_id IS 'Whose sendout.';
COMMENT ON COLUMN report.failures.sendout_id  IS 'The sendout.';
COMMENT ON COLUMN report.failures.state       IS 'failed, uncertain, skipped, or waiting for the next attempt.';
COMMENT ON COLUMN report.failures.reason      IS 'The push service''s own word, such as BadDeviceToken, or the hub''s, such as device_invalidated.';
COMMENT ON COLUMN report.failures.pushes      IS 'Count of pushes.';

CREATE VIEW report.opens_by_hour AS
SELECT customer_id, sendout_id, date_trunc('hour', at, 'UTC') AS hour,
  count(*) FILTER (WHERE kind = 'person')  AS opens,
  count(*) FILTER (WHERE kind = 'first')   AS first_opens,
  count(*) FILTER (WHERE kind = 'machine') AS by_machines
FROM (
  SELECT customer_id, sendout_id, at, reader AS kind FROM open_event
  UNION ALL
  SELECT customer_id, sendout_id, opened_at, 'first' FROM push WHERE opened_at IS NOT NULL
) o
GROUP BY customer_id, sendout_id, hour;
COMMENT ON VIEW   report.opens_by_hour             IS 'When pushes were opened.';
COMMENT ON COLUMN report.opens_by_hour.customer_id IS 'Whose sendout.';
COMMENT ON COLUMN report.opens_by_hour.sendout_id  IS 'The sendout.';
COMMENT ON COLUMN report.opens_by_hour.hour        IS 'Beginning of the hour.';
COMMENT ON COLUMN report.opens_by_hour.opens       IS 'Fetches of the page or the pushreadurl by people; the same person counts each time.';
COMMENT ON COLUMN report.opens_by_hour.first_opens IS 'Pushes opened for the first time.';
COMMENT ON COLUMN report.opens_by_hour.by_machines IS 'Fetches by scanners and prefetchers, counted nowhere else.';

CREATE VIEW report.contact_timeline AS
SELECT c.customer_id, c.original_id, c.contact_id, e.at, e.event, e.detail, e.device_id, e.sendout_id
FROM contact c
CROSS JOIN LATERAL (
  SELECT d.at, 'device ' || d.kind AS event, d.reason AS detail, d.device_id, NULL::bigint AS sendout_id
  FROM device_event d WHERE d.customer_id = c.customer_id AND d.contact_id = c.contact_id
  UNION ALL
  SELECT coalesce(p.settled_at, p.sent_at), 'push ' || p.state, p.reason, p.device_id, p.sendout_id
  FROM push p
  WHERE p.customer_id = c.customer_id AND p.contact_id = c.contact_id AND coalesce(p.settled_at, p.sent_at) IS NOT NULL
  UNION ALL
  SELECT o.at, CASE o.reader WHEN 'person' THEN 'push opened' ELSE 'push fetched by a machine' END, o.via, o.device_id,
    o.sendout_id
  FROM push p
  JOIN open_event o ON o.customer_id = p.customer_id AND o.sendout_id = p.sendout_id AND o.device_id = p.device_id
  WHERE p.customer_id = c.customer_id AND p.contact_id = c.contact_id AND o.customer_id = c.customer_id
) e;
COMMENT ON VIEW   report.contact_timeline             IS 'What happened with one contact; ask for it by customer_id and original_id, ordered by at.';
COMMENT ON COLUMN report.contact_timeline.customer_id IS 'Whose contact.';
COMMENT ON COLUMN report.contact_timeline.original_id IS 'The customer''s own id of the user.';
COMMENT ON COLUMN report.contact_timeline.contact_id  IS 'Our number of the contact.';
COMMENT ON COLUMN report.contact_timeline.at          IS 'When.';
COMMENT ON COLUMN report.contact_timeline.event       IS 'device registered, moved, revived, environment or invalidated; push and its state; push opened; push fetched by a machine.';
COMMENT ON COLUMN report.contact_timeline.detail      IS 'The reason of an invalidation or of a push''s state; of an open, page or pushreadurl.';
COMMENT ON COLUMN report.contact_timeline.device_id   IS 'The device.';
COMMENT ON COLUMN report.contact_timeline.sendout_id  IS 'The sendout; NULL for what happened to the device alone.';

CREATE FUNCTION report.admit(reader name) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('GRANT USAGE ON SCHEMA report TO %I', reader);
  EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA report TO %I', reader);
  EXECUTE format('ALTER DEFAULT PRIVILEGES IN SCHEMA report GRANT SELECT ON TABLES TO %I', reader);
END $$;
REVOKE EXECUTE ON FUNCTION report.admit FROM PUBLIC;
COMMENT ON FUNCTION report.admit IS 'Lets a role read the reports, those of later versions too, and nothing else.';

-- Roles belong to the whole server: it may be there already, another database may be making it right now, and a managed
-- server may not let us. In the last case somebody who may makes it, and then runs SELECT report.admit('pushcart_report').
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'pushcart_report') THEN
    CREATE ROLE pushcart_report NOLOGIN;
  END IF;
EXCEPTION
  WHEN duplicate_object OR unique_violation THEN NULL;
  WHEN insufficient_privilege THEN RAISE WARNING 'role pushcart_report could not be made: this user lacks CREATEROLE';
END $$;
DO $$
BEGIN
  PERFORM report.admit(rolname) FROM pg_roles WHERE rolname = 'pushcart_report';
END $$;
