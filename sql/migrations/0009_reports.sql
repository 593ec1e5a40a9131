-- Reports: views for people and reporting tools. Their names, columns and meanings are a contract.
-- Each view starts with customer_id. A query for one customer costs only that customer's rows.

CREATE SCHEMA report;
COMMENT ON SCHEMA report IS 'Views for psql and reporting tools, readable by role pushcart_report. Days and hours are UTC. Free text is a cell that is safe in a spreadsheet; report.exact gives its exact value.';

-- Spreadsheets run a cell that begins with = + - or @ as a formula, and some pass over a tab or return before it. Free text of tenants, apps and
-- push services could hold one. The two functions are inverse to each other, so programs can restore the exact value. Exports use them, and
-- CSVCell.swift, by which imports read such a cell, is held against them by a test. As it has its argument once, report.cell costs what its expression does.
CREATE FUNCTION report.cell(value text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- Most texts are told by their first character, which takes less than the pattern does.
RETURN CASE WHEN ascii(value) = ANY ('{9,13,39,43,45,61,64}') AND value ~ '^''*[=+@\t\r-]' THEN '''' || value ELSE value END;
COMMENT ON FUNCTION report.cell IS 'The text with an apostrophe before a leading = + - @ tab or return, so that no spreadsheet takes it for a formula.';

CREATE FUNCTION report.exact(cell text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN cell ~ '^''+[=+@\t\r-]' THEN substr(cell, 2) ELSE cell END;
COMMENT ON FUNCTION report.exact IS 'The exact text behind a cell of a report: report.exact(report.cell(value)) = value.';

CREATE FUNCTION report.platform(app_type int2) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN app_type = 1 THEN 'iOS' WHEN app_type = 2 THEN 'Android' WHEN app_type = 3 THEN 'Windows'
  WHEN app_type = 6 THEN 'Firebase' WHEN app_type = 7 THEN 'Huawei' WHEN app_type = 8 THEN 'Web' WHEN app_type = 10 THEN 'SMS' END;
COMMENT ON FUNCTION report.platform IS 'The name of a platform, from Carma''s number.';

CREATE VIEW report.devices AS
SELECT d.customer_id, a.app_id, a.app_type,
  report.platform(a.app_type) AS platform,
  CASE WHEN d.sandbox THEN 'sandbox' ELSE 'production' END AS environment,
  CASE WHEN d.invalidated_at IS NULL THEN 'valid' ELSE 'invalidated' END AS state,
  count(*) AS devices, count(DISTINCT d.contact_id) AS contacts
FROM device d
JOIN push_app a ON a.customer_id = d.customer_id AND a.push_app_id = d.push_app_id
GROUP BY d.customer_id, a.app_id, a.app_type, d.sandbox, d.invalidated_at IS NULL;
COMMENT ON VIEW   report.devices             IS 'Devices as they are now.';
COMMENT ON COLUMN report.devices.customer_id IS 'The customer.';
COMMENT ON COLUMN report.devices.app_id      IS 'The app, as in com.yourcompany.yourappname.';
COMMENT ON COLUMN report.devices.app_type    IS 'Its platform, in Carma''s numbers.';
COMMENT ON COLUMN report.devices.platform    IS 'Its platform, by name.';
COMMENT ON COLUMN report.devices.environment IS 'production, or sandbox for tokens of APNs'' development environment.';
COMMENT ON COLUMN report.devices.state       IS 'valid or invalidated. Pushes go to valid devices only.';
COMMENT ON COLUMN report.devices.devices     IS 'Number of devices.';
COMMENT ON COLUMN report.devices.contacts    IS 'Number of contacts that have these devices.';

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
COMMENT ON VIEW   report.registrations_by_day             IS 'Changes by registrations, per day. Registering an unchanged device again changes nothing.';
COMMENT ON COLUMN report.registrations_by_day.customer_id IS 'The customer.';
COMMENT ON COLUMN report.registrations_by_day.day         IS 'The day, in UTC.';
COMMENT ON COLUMN report.registrations_by_day.app_id      IS 'The app.';
COMMENT ON COLUMN report.registrations_by_day.app_type    IS 'Its platform, in Carma''s numbers.';
COMMENT ON COLUMN report.registrations_by_day.registered  IS 'Devices registered for the first time.';
COMMENT ON COLUMN report.registrations_by_day.moved       IS 'How often a device moved to another contact.';
COMMENT ON COLUMN report.registrations_by_day.revived     IS 'How often an invalidated device became valid again.';
COMMENT ON COLUMN report.registrations_by_day.environment IS 'How often a device changed between production and sandbox.';

CREATE VIEW report.invalidations_by_day AS
SELECT e.customer_id, (e.at AT TIME ZONE 'UTC')::date AS day, a.app_id, a.app_type,
  report.cell(coalesce(e.reason, 'unknown')) AS reason, count(*) AS devices
FROM device_event e
JOIN device d ON d.customer_id = e.customer_id AND d.device_id = e.device_id
JOIN push_app a ON a.customer_id = d.customer_id AND a.push_app_id = d.push_app_id
WHERE e.kind = 'invalidated'
GROUP BY e.customer_id, day, a.app_id, a.app_type, coalesce(e.reason, 'unknown');
COMMENT ON VIEW   report.invalidations_by_day             IS 'Invalidated devices per day and reason.';
COMMENT ON COLUMN report.invalidations_by_day.customer_id IS 'The customer.';
COMMENT ON COLUMN report.invalidations_by_day.day         IS 'The day, in UTC.';
COMMENT ON COLUMN report.invalidations_by_day.app_id      IS 'The app.';
COMMENT ON COLUMN report.invalidations_by_day.app_type    IS 'Its platform, in Carma''s numbers.';
COMMENT ON COLUMN report.invalidations_by_day.reason      IS 'app: reported by app or user. Otherwise the push service''s own reason, such as Unregistered.';
COMMENT ON COLUMN report.invalidations_by_day.devices     IS 'How often a device was invalidated.';

CREATE VIEW report.sendout_totals AS
SELECT s.customer_id, s.sendout_id, report.cell(s.name) AS name, a.app_id, a.platform, s.state, s.template_name, s.template_version,
  s.created_at, s.started_at, s.finished_at,
  coalesce(p.audience, 0) AS audience, coalesce(p.queued, 0) AS queued, coalesce(p.sending, 0) AS sending,
  coalesce(p.waiting, 0) AS waiting, coalesce(p.sent, 0) AS sent, coalesce(p.accepted, 0) AS accepted,
  coalesce(p.failed, 0) AS failed, coalesce(p.uncertain, 0) AS uncertain, coalesce(p.skipped, 0) AS skipped,
  coalesce(p.cancelled, 0) AS cancelled, coalesce(p.opened, 0) AS opened,
  round(p.accepted_opened::numeric / nullif(p.accepted, 0), 4) AS open_rate,
  coalesce(p.accepted_opened, 0) AS accepted_opened
FROM sendout s
JOIN (
  SELECT sendout.customer_id, sendout.sendout_id, string_agg(DISTINCT push_app.app_id, ', ') AS app_id,
         string_agg(DISTINCT report.platform(push_app.app_type), ', ') AS platform
    FROM sendout
    JOIN push_app ON push_app.customer_id = sendout.customer_id AND push_app.push_app_id = ANY (sendout.push_app_ids)
   GROUP BY sendout.customer_id, sendout.sendout_id
) a ON a.customer_id = s.customer_id AND a.sendout_id = s.sendout_id
LEFT JOIN sendout_counts p ON p.customer_id = s.customer_id AND p.sendout_id = s.sendout_id
WHERE s.test_of IS NULL;
COMMENT ON VIEW   report.sendout_totals                  IS 'One row per sendout, with its pushes by state. API and command line show the same counts. Tests of sendouts are left out.';
COMMENT ON COLUMN report.sendout_totals.customer_id      IS 'The customer.';
COMMENT ON COLUMN report.sendout_totals.sendout_id       IS 'Number of the sendout.';
COMMENT ON COLUMN report.sendout_totals.name             IS 'Name of the sendout, as a cell; see report.exact.';
COMMENT ON COLUMN report.sendout_totals.app_id           IS 'The app it goes to; several by comma.';
COMMENT ON COLUMN report.sendout_totals.platform         IS 'The app''s platform, by name; several by comma.';
COMMENT ON COLUMN report.sendout_totals.state            IS 'draft, scheduled, freezing, running, paused, cancelled or finished.';
COMMENT ON COLUMN report.sendout_totals.template_name    IS 'Template of the rich page; NULL for none.';
COMMENT ON COLUMN report.sendout_totals.template_version IS 'Version of the template.';
COMMENT ON COLUMN report.sendout_totals.created_at       IS 'When it was created.';
COMMENT ON COLUMN report.sendout_totals.started_at       IS 'When it was started.';
COMMENT ON COLUMN report.sendout_totals.finished_at      IS 'When its last push settled, or when it was cancelled.';
COMMENT ON COLUMN report.sendout_totals.audience         IS 'All pushes: one for each device that was valid at the freeze. The states below add up to it.';
COMMENT ON COLUMN report.sendout_totals.queued           IS 'State: not claimed by a hub yet.';
COMMENT ON COLUMN report.sendout_totals.sending          IS 'State: claimed by a hub and not settled yet.';
COMMENT ON COLUMN report.sendout_totals.waiting          IS 'State: waiting for a retry.';
COMMENT ON COLUMN report.sendout_totals.sent             IS 'Not a state: sent at least once, uncertain attempts included.';
COMMENT ON COLUMN report.sendout_totals.accepted         IS 'State: accepted by the push service.';
COMMENT ON COLUMN report.sendout_totals.failed           IS 'State: refused by the push service; see report.failures.';
COMMENT ON COLUMN report.sendout_totals.uncertain        IS 'State: possibly sent, but never answered, and not resent by the sendout''s policy.';
COMMENT ON COLUMN report.sendout_totals.skipped          IS 'State: not sent, because its device was invalidated or moved; see report.failures.';
COMMENT ON COLUMN report.sendout_totals.cancelled        IS 'State: not sent, because the sendout was cancelled.';
COMMENT ON COLUMN report.sendout_totals.opened           IS 'Not a state: pushes opened by a person, each counted once.';
COMMENT ON COLUMN report.sendout_totals.open_rate        IS 'Unique open rate: the share of accepted pushes that a person opened, from 0 to 1. NULL while nothing is accepted.';
COMMENT ON COLUMN report.sendout_totals.accepted_opened  IS 'Not a state: opened pushes that the push service accepted. An uncertain push can be opened too.';

CREATE VIEW report.funnel AS
SELECT t.customer_id, t.sendout_id, t.name, step.no AS step, step.stage, step.pushes,
  round(step.pushes::numeric / nullif(t.audience, 0), 4) AS of_audience,
  round(step.stayed::numeric / nullif(step.before, 0), 4) AS of_previous
FROM report.sendout_totals t
CROSS JOIN LATERAL (VALUES
  (1, 'audience', t.audience, t.audience, t.audience), (2, 'sent', t.sent, t.sent, t.audience),
  (3, 'accepted', t.accepted, t.accepted, t.sent), (4, 'opened', t.opened, t.accepted_opened, t.accepted)
) AS step (no, stage, pushes, stayed, before);
COMMENT ON VIEW   report.funnel             IS 'Four rows per sendout, from audience to open.';
COMMENT ON COLUMN report.funnel.customer_id IS 'The customer.';
COMMENT ON COLUMN report.funnel.sendout_id  IS 'Number of the sendout.';
COMMENT ON COLUMN report.funnel.name        IS 'Name of the sendout, as a cell; see report.exact.';
COMMENT ON COLUMN report.funnel.step        IS '1 to 4, for sorting.';
COMMENT ON COLUMN report.funnel.stage       IS 'audience, sent, accepted, opened.';
COMMENT ON COLUMN report.funnel.pushes      IS 'Number of pushes that reached this stage.';
COMMENT ON COLUMN report.funnel.of_audience IS 'Their share of the audience, from 0 to 1.';
COMMENT ON COLUMN report.funnel.of_previous IS 'The share of the previous stage that reached this one, from 0 to 1.';

CREATE VIEW report.failures AS
SELECT p.customer_id, p.sendout_id, p.state, report.cell(coalesce(p.reason, 'unknown')) AS reason, count(*) AS pushes
FROM push p
WHERE p.state IN ('failed', 'uncertain', 'skipped', 'waiting')
  AND NOT EXISTS (SELECT FROM sendout s
                   WHERE s.customer_id = p.customer_id AND s.sendout_id = p.sendout_id AND s.test_of IS NOT NULL)
GROUP BY p.customer_id, p.sendout_id, p.state, coalesce(p.reason, 'unknown');
COMMENT ON VIEW   report.failures             IS 'Why pushes were not accepted, or are not accepted yet. Tests of sendouts are left out.';
COMMENT ON COLUMN report.failures.customer_id IS 'The customer.';
COMMENT ON COLUMN report.failures.sendout_id  IS 'The sendout.';
COMMENT ON COLUMN report.failures.state       IS 'failed, uncertain, skipped, or waiting for a retry.';
COMMENT ON COLUMN report.failures.reason      IS 'The push service''s own reason, such as BadDeviceToken, or the hub''s, such as device_invalidated.';
COMMENT ON COLUMN report.failures.pushes      IS 'Number of pushes.';

CREATE VIEW report.opens_by_hour AS
SELECT customer_id, sendout_id, date_trunc('hour', at, 'UTC') AS hour,
  coalesce(sum(opens) FILTER (WHERE kind = 'person'), 0)  AS opens,
  coalesce(sum(opens) FILTER (WHERE kind = 'first'), 0)   AS first_opens,
  coalesce(sum(opens) FILTER (WHERE kind = 'machine'), 0) AS by_machines
FROM (
  SELECT customer_id, sendout_id, at, reader AS kind, opens FROM open_event
  UNION ALL
  SELECT customer_id, sendout_id, opened_at, 'first', 1 FROM push WHERE opened_at IS NOT NULL
) o
GROUP BY customer_id, sendout_id, hour;
COMMENT ON VIEW   report.opens_by_hour             IS 'Opens per hour.';
COMMENT ON COLUMN report.opens_by_hour.customer_id IS 'The customer.';
COMMENT ON COLUMN report.opens_by_hour.sendout_id  IS 'The sendout.';
COMMENT ON COLUMN report.opens_by_hour.hour        IS 'Start of the hour, in UTC.';
COMMENT ON COLUMN report.opens_by_hour.opens       IS 'Fetches of the page or the pushreadurl by people. The same person counts each time.';
COMMENT ON COLUMN report.opens_by_hour.first_opens IS 'Pushes opened for the first time.';
COMMENT ON COLUMN report.opens_by_hour.by_machines IS 'Fetches by scanners and prefetchers. No other column counts them.';

CREATE VIEW report.audit_log AS
SELECT customer_id, audit_log_id, at, access_key_id, user_id, report.cell(os_user) AS os_user, report.cell(address) AS address,
  action, report.cell(target) AS target, before, after
FROM audit_log;
COMMENT ON VIEW   report.audit_log               IS 'Every management change: who made it, when, and what it changed.';
COMMENT ON COLUMN report.audit_log.customer_id   IS 'Whose data was changed.';
COMMENT ON COLUMN report.audit_log.audit_log_id  IS 'Number of the line; the newest has the highest.';
COMMENT ON COLUMN report.audit_log.at            IS 'When.';
COMMENT ON COLUMN report.audit_log.access_key_id IS 'The access key that made the change; NULL for console and command line.';
COMMENT ON COLUMN report.audit_log.user_id       IS 'The user who made the change in the console; NULL for API and command line.';
COMMENT ON COLUMN report.audit_log.os_user       IS 'Who made the change at the command line; NULL for API and console.';
COMMENT ON COLUMN report.audit_log.address       IS 'Where API or console were called from. Behind a proxy that is not trusted this is the proxy''s address.';
COMMENT ON COLUMN report.audit_log.action        IS 'What was done, as in key.add, app.change or sendout.start.';
COMMENT ON COLUMN report.audit_log.target        IS 'What it was done to, as in key 7.';
COMMENT ON COLUMN report.audit_log.before        IS 'The target before the change, as the management API showed it, without secrets.';
COMMENT ON COLUMN report.audit_log.after         IS 'The target after the change, as the management API showed it, without secrets.';

CREATE FUNCTION report.admit(reader name) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('GRANT USAGE ON SCHEMA report TO %I', reader);
  EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA report TO %I', reader);
  EXECUTE format('ALTER DEFAULT PRIVILEGES IN SCHEMA report GRANT SELECT ON TABLES TO %I', reader);
  EXECUTE (SELECT string_agg(format('GRANT EXECUTE ON FUNCTION %s TO %I', oid::regprocedure, reader), ';') FROM pg_proc
            WHERE pronamespace = 'report'::regnamespace AND proname <> 'admit');
END $$;
REVOKE EXECUTE ON FUNCTION report.admit FROM PUBLIC;
COMMENT ON FUNCTION report.admit IS 'Lets a role read the reports, including those of later versions, and nothing else.';

-- Roles belong to the whole server. The role may exist already, and another database may be creating it right now. A managed
-- server may refuse; then an administrator creates the role and runs SELECT report.admit('pushcart_report').
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'pushcart_report') THEN
    CREATE ROLE pushcart_report NOLOGIN;
  END IF;
EXCEPTION
  WHEN duplicate_object OR unique_violation THEN NULL;
  WHEN insufficient_privilege THEN RAISE WARNING 'role pushcart_report was not created: this user lacks CREATEROLE';
END $$;
DO $$
BEGIN
  PERFORM report.admit(rolname) FROM pg_roles WHERE rolname = 'pushcart_report';
END $$;
