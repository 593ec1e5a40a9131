-- One campaign: whom it reached, whom it left out and why, and which words worked:
--   psql -v customer=1 -v sendout=7 -f sql/reports/campaign.sql
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

\pset title 'Campaign'
SELECT name AS "Name", kind AS "Kind", state AS "State", series_id || ', no ' || series_no AS "Series",
  to_char(started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS "Started (UTC)", finished_at - started_at AS "Took",
  to_char(open_rate * 100, '990.0') || ' %' AS "Open rate"
FROM report.campaigns
WHERE customer_id = :'customer'::bigint AND sendout_id = :'sendout'::bigint;

-- Contacts, with those whom claims have left out since; a sendout that counted nobody has the contacts with a device alone.
\pset title 'From everybody to those who are left (contacts)'
WITH campaign AS MATERIALIZED (
  SELECT everyone, coalesce(everyone, "left") AS first, "left" FROM report.campaigns
   WHERE customer_id = :'customer'::bigint AND sendout_id = :'sendout'::bigint),
reason AS MATERIALIZED (
  SELECT array_position(ARRAY['excluded', 'suppressed', 'no_device', 'held_out', 'capped', 'quiet', 'missed', 'expired'], reason) AS no, reason, contacts
    FROM report.left_out
   WHERE customer_id = :'customer'::bigint AND sendout_id = :'sendout'::bigint),
step AS (
  SELECT 0 AS no, CASE WHEN everyone IS NULL THEN 'with a device' ELSE 'everyone' END AS name, first AS contacts, first AS of FROM campaign
  UNION ALL
  SELECT coalesce(no, 9), '- ' || reason, contacts, first FROM reason CROSS JOIN campaign
  UNION ALL
  SELECT 10, 'left', first - coalesce((SELECT sum(contacts) FROM reason), 0), first FROM campaign)
SELECT name AS "Step", contacts AS "Contacts", to_char(contacts * 100.0 / nullif(of, 0), '990.0') || ' %' AS "Of all",
  repeat('█', round(contacts * 40.0 / nullif(of, 0))::int) AS " "
FROM step
WHERE contacts IS NOT NULL
ORDER BY no, contacts DESC, name;

\pset title 'Funnel (pushes)'
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

-- The bar is the rate, and the shade the interval around it. All are drawn to the scale of the highest end.
\pset title 'Variants (contacts)'
SELECT coalesce(variant, 'the rest') AS "Variant", share || ' %' AS "Share", contacts AS "Contacts", accepted AS "Accepted", opened AS "Opened",
  to_char(rate * 100, '990.0') || ' %' AS "Open rate", to_char(low * 100, '990.0') || to_char(high * 100, ' – 990.0') || ' %' AS "At 95 %",
  to_char(p_adjusted, '0.0000') AS "p", decision AS "Decision",
  CASE WHEN rate IS NOT NULL THEN
    repeat('█', round(low * 40 / widest)::int)
    || repeat('▓', (round(rate * 40 / widest) - round(low * 40 / widest))::int)
    || repeat('░', (round(high * 40 / widest) - round(rate * 40 / widest))::int) END AS " ",
  CASE WHEN NOT fits_share THEN 'sizes do not fit the shares' END AS "Warning"
FROM (SELECT *, max(high) FILTER (WHERE rate IS NOT NULL) OVER () AS widest FROM report.variants
       WHERE customer_id = :'customer'::bigint AND sendout_id = :'sendout'::bigint) AS variants
ORDER BY variant_no = 0, variant_no;

\pset title 'Local times (contacts)'
SELECT zone AS "Zone", source AS "Told by", to_char(planned_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') AS "Planned (UTC)",
  contacts AS "Contacts", accepted AS "Accepted", opened AS "Opened",
  to_char(opened * 100.0 / nullif(accepted, 0), '990.0') || ' %' AS "Open rate"
FROM report.local_times
WHERE customer_id = :'customer'::bigint AND sendout_id = :'sendout'::bigint
ORDER BY planned_at, zone, source;
