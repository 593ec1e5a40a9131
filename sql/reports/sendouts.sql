-- The last 20 sendouts and what became of them:  psql -v customer=1 -f sql/reports/sendouts.sql
\set QUIET on
\if :{?customer}
\else
  \warn 'Whose? Add -v customer=1'
  \quit
\endif
\pset footer off
\pset null '-'
\pset linestyle unicode

\pset title 'Sendouts'
SELECT sendout_id AS "No", left(name, 30) AS "Name", state AS "State",
  to_char(started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') AS "Started (UTC)",
  audience AS "Audience", queued + sending + waiting AS "To do", sent AS "Sent", accepted AS "Accepted",
  failed + uncertain AS "Failed", skipped + cancelled AS "Not sent", opened AS "Opened",
  to_char(open_rate * 100, '990.0') || ' %' AS "Open rate"
FROM report.sendout_totals
WHERE customer_id = :'customer'::bigint
ORDER BY sendout_id DESC
LIMIT 20;
