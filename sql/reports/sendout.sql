-- One sendout from audience to open:  psql -v customer=1 -v sendout=7 -f sql/reports/sendout.sql
\set QUIET on
\if :{?customer}
\else
  \warn 'Whose? Add -v customer=1'
  \quit
\endif
\if :{?sendout}
\else
  \warn 'Which one? Add -v sendout=NUMBER; sql/reports/sendouts.sql lists them'
  \quit
\endif
\pset footer off
\pset null '-'
\pset linestyle unicode

\pset title 'Sendout'
SELECT name AS "Name", app_id AS "App", state AS "State", template_name || ' v' || template_version AS "Page",
  to_char(started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS "Started (UTC)", finished_at - started_at AS "Took"
FROM report.sendout_totals
WHERE customer_id = :'customer'::bigint AND sendout_id = :'sendout'::bigint;

\pset title 'Funnel'
SELECT stage AS "Stage", pushes AS "Pushes", to_char(of_audience * 100, '990.0') || ' %' AS "Of audience",
  to_char(of_previous * 100, '990.0') || ' %' AS "Of stage before",
  repeat('█', round(of_audience * 40)::int) AS " "
FROM report.funnel
WHERE customer_id = :'customer'::bigint AND sendout_id = :'sendout'::bigint
ORDER BY step;

\pset title 'Why pushes did not arrive'
SELECT state AS "State", reason AS "Reason", pushes AS "Pushes"
FROM report.failures
WHERE customer_id = :'customer'::bigint AND sendout_id = :'sendout'::bigint
ORDER BY pushes DESC, state, reason;

\pset title 'Opens by hour (UTC)'
SELECT to_char(hour AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') AS "Hour", opens AS "Opens", first_opens AS "First opens",
  by_machines AS "By machines"
FROM report.opens_by_hour
WHERE customer_id = :'customer'::bigint AND sendout_id = :'sendout'::bigint
ORDER BY hour
LIMIT 48;
