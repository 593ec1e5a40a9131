-- Devices by app, environment and state, and what changed in the last 14 days:  psql -v customer=1 -f sql/reports/devices.sql
\set QUIET on
\if :{?customer}
\else
  \warn 'Whose? Add -v customer=1'
  \quit
\endif
\pset footer off
\pset null '-'
\pset linestyle unicode

\pset title 'Devices now'
SELECT app_id AS "App", platform AS "Platform", environment AS "Environment", state AS "State",
  devices AS "Devices", contacts AS "Contacts"
FROM report.devices
WHERE customer_id = :'customer'::bigint
ORDER BY app_id, platform, environment, state DESC;

\pset title 'Registrations of the last 14 days (UTC)'
SELECT day AS "Day", app_id AS "App", app_type AS "Type", registered AS "New", moved AS "Moved", revived AS "Revived",
  environment AS "Changed environment"
FROM report.registrations_by_day
WHERE customer_id = :'customer'::bigint AND day > (now() AT TIME ZONE 'UTC')::date - 14
ORDER BY day DESC, app_id, app_type;

\pset title 'Invalidations of the last 14 days (UTC)'
SELECT day AS "Day", app_id AS "App", app_type AS "Type", reason AS "Reason", devices AS "Devices"
FROM report.invalidations_by_day
WHERE customer_id = :'customer'::bigint AND day > (now() AT TIME ZONE 'UTC')::date - 14
ORDER BY day DESC, app_id, app_type, devices DESC;
