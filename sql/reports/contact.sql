-- What happened with one contact:  psql -v customer=1 -v contact=someone@example.com -f sql/reports/contact.sql
\set QUIET on
\if :{?customer}
\else
  \warn 'Whose? Add -v customer=1'
  \quit
\endif
\if :{?contact}
\else
  \warn 'Which one? Add -v contact=ORIGINAL_ID'
  \quit
\endif
\pset footer off
\pset null '-'
\pset linestyle unicode

\pset title 'Timeline'
SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS "At (UTC)", event AS "Event", detail AS "Detail",
  sendout_id AS "Sendout", device_id AS "Device"
FROM report.contact_timeline
WHERE customer_id = :'customer'::bigint AND original_id = :'contact'
ORDER BY at DESC, event
LIMIT 100;
