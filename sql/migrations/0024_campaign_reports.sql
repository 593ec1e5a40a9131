-- Reports of campaigns. They count contacts where others count pushes, and leave out tests of sendouts.

-- What the pushes of a sendout came to, contact by contact: the one definition behind these reports and what retention keeps of them
-- (`history.fold_contacts`). The conditions on customer and sendout go down to the ledger's key, so that a report of one sendout reads its
-- pushes alone.
CREATE VIEW sendout_contacts AS
  SELECT s.customer_id, s.sendout_id, p.contact_id, max(p.variant) AS variant, max(p.zone_no) AS zone_no,
         bool_or(p.state = 'accepted') AS accepted,
         bool_or(p.opened_at IS NOT NULL) AS opened,
         CASE WHEN bool_and(p.state = 'skipped' OR p.state = 'cancelled' AND p.reason = 'no_winner')
              THEN min(split_part(p.reason, ' ', 1)) FILTER (WHERE p.settled_at > s.frozen_at) END AS left_out_later,
         s.rules IS NOT NULL OR s.campaign::text <> '{}' AS is_planned
    FROM sendout s
    JOIN push p ON p.customer_id = s.customer_id AND p.sendout_id = s.sendout_id
   WHERE s.kind = 'broadcast' AND s.folded_at IS NULL
   GROUP BY s.customer_id, s.sendout_id, p.contact_id;
COMMENT ON VIEW   sendout_contacts                IS 'What the contacts of sendouts came to, from their pushes. Not of streams, and not once retention has written it for good.';
COMMENT ON COLUMN sendout_contacts.customer_id    IS 'The customer that owns the sendout.';
COMMENT ON COLUMN sendout_contacts.sendout_id     IS 'The sendout.';
COMMENT ON COLUMN sendout_contacts.contact_id     IS 'A contact that had a device at the freeze.';
COMMENT ON COLUMN sendout_contacts.variant        IS 'As in push.variant.';
COMMENT ON COLUMN sendout_contacts.zone_no        IS 'As in push.zone_no.';
COMMENT ON COLUMN sendout_contacts.accepted       IS 'Whether a push service has accepted a push of it.';
COMMENT ON COLUMN sendout_contacts.opened         IS 'Whether a person has opened a push of it, on whatever device.';
COMMENT ON COLUMN sendout_contacts.left_out_later IS 'Why it gets none of its pushes, if that was decided after the freeze; else NULL. Those left out by the freeze are in sendout_left_out.';
COMMENT ON COLUMN sendout_contacts.is_planned     IS 'Whether the sendout has times, limits or variants. Only such a sendout has variants and zones.';

-- Wilson's interval (1927): it stays within 0 and 1, also for few contacts and rates near the ends. A test holds both against
-- Significance.interval.
CREATE FUNCTION report.rate_low(opened bigint, contacts bigint) RETURNS float8 LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN contacts = 0 OR opened = 0 THEN 0
  ELSE greatest(0, (opened + 1.920729410347062 - 1.959963984540054 * sqrt(opened * (contacts - opened)::float8 / contacts + 0.960364705173531))
                   / (contacts + 3.841458820694124)) END;
COMMENT ON FUNCTION report.rate_low IS 'Lower end of Wilson''s interval of a rate at 95 %: the true rate is hardly lower. 0 where there is nobody.';

CREATE FUNCTION report.rate_high(opened bigint, contacts bigint) RETURNS float8 LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN contacts = 0 OR opened = contacts THEN 1
  ELSE least(1, (opened + 1.920729410347062 + 1.959963984540054 * sqrt(opened * (contacts - opened)::float8 / contacts + 0.960364705173531))
                / (contacts + 3.841458820694124)) END;
COMMENT ON FUNCTION report.rate_high IS 'Upper end of Wilson''s interval of a rate at 95 %: the true rate is hardly higher. 1 where there is nobody.';

CREATE VIEW report.campaigns AS
SELECT s.customer_id, s.sendout_id, report.cell(s.name) AS name, s.kind, s.state, s.series_id, s.series_no, s.started_at, s.finished_at,
  s.everyone, s.people AS "left",
  coalesce(p.accepted, 0) AS accepted, coalesce(p.failed, 0) AS failed, coalesce(p.opened, 0) AS opened,
  round(p.accepted_opened::numeric / nullif(p.accepted, 0), 4) AS open_rate,
  s.everyone - s.people AS left_out
FROM sendout s
LEFT JOIN sendout_counts p ON p.customer_id = s.customer_id AND p.sendout_id = s.sendout_id
WHERE s.test_of IS NULL;
COMMENT ON VIEW   report.campaigns             IS 'One row per sendout. everyone, left and left_out count contacts at the freeze; accepted, failed and opened count pushes until now.';
COMMENT ON COLUMN report.campaigns.customer_id IS 'The customer.';
COMMENT ON COLUMN report.campaigns.sendout_id  IS 'Number of the sendout.';
COMMENT ON COLUMN report.campaigns.name        IS 'Name of the sendout, as a cell; see report.exact.';
COMMENT ON COLUMN report.campaigns.kind        IS 'broadcast: one message to an audience. stream: single messages of one day.';
COMMENT ON COLUMN report.campaigns.state       IS 'draft, scheduled, freezing, running, paused, cancelled or finished.';
COMMENT ON COLUMN report.campaigns.series_id   IS 'The series of which it is one time; NULL for none.';
COMMENT ON COLUMN report.campaigns.series_no   IS 'Which of the series'' times it is, from 1 on.';
COMMENT ON COLUMN report.campaigns.started_at  IS 'When it was started.';
COMMENT ON COLUMN report.campaigns.finished_at IS 'When its last push settled, or when it was cancelled.';
COMMENT ON COLUMN report.campaigns.everyone    IS 'Contacts of its audience at the freeze, before any was left out. NULL before the freeze, and for sendouts without times, limits and variants whose contacts a filter chooses, which do not count them.';
COMMENT ON COLUMN report.campaigns."left"      IS 'Contacts that the freeze left, each to get at least one push; NULL before it. SQL wants the name in quotes.';
COMMENT ON COLUMN report.campaigns.accepted    IS 'Pushes that a push service accepted.';
COMMENT ON COLUMN report.campaigns.failed      IS 'Pushes that a push service refused; see report.failures.';
COMMENT ON COLUMN report.campaigns.opened      IS 'Pushes opened by a person, each counted once.';
COMMENT ON COLUMN report.campaigns.open_rate   IS 'The share of accepted pushes that a person opened, from 0 to 1. NULL while nothing is accepted.';
COMMENT ON COLUMN report.campaigns.left_out    IS 'Contacts that the freeze left out: everyone without left. Claims can leave out more; report.left_out has both.';

-- Sizes far from their shares come from a fault, not by chance. The values are those of chi-squared at p = 0.001, for 1 to 5 degrees of
-- freedom: there are at most five variants, and the rest.
CREATE VIEW report.variants AS
SELECT s.customer_id, s.sendout_id, v.variant_no, report.cell(nullif(v.name, '')) AS variant, v.share, v.contacts,
  v.accepted, v.opened, round(v.opened::numeric / nullif(v.accepted, 0), 4) AS rate,
  round(report.rate_low(v.opened, v.accepted)::numeric, 4) AS low, round(report.rate_high(v.opened, v.accepted)::numeric, 4) AS high,
  v.accepted_at_decision, v.opened_at_decision, v.p_adjusted,
  coalesce(v.deviation < (ARRAY[10.828, 13.816, 16.266, 18.467, 20.515])[v.groups - 1], true) AS fits_share,
  CASE WHEN s.winner_by IS NOT NULL AND (v.variant_no = 0 OR v.variant_no = s.winner_no) THEN s.winner_by
       WHEN v.variant_no = 0 AND s.winner_at IS NOT NULL AND s.winner_by IS NULL THEN 'waiting_for_person'
       WHEN v.variant_no = 0 AND s.winner_at IS NULL THEN 'waiting' END AS decision
FROM sendout s
JOIN (
  SELECT one.customer_id, one.sendout_id, one.variant_no, one.name, one.share, one.contacts,
    coalesce(one.final_accepted, live.accepted, 0) AS accepted, coalesce(one.final_opened, live.opened, 0) AS opened,
    one.accepted AS accepted_at_decision, one.opened AS opened_at_decision, one.p_adjusted,
    count(*) OVER sendout AS groups,
    sum(one.contacts::float8 ^ 2 / one.share) OVER sendout * sum(one.share) OVER sendout / nullif(sum(one.contacts) OVER sendout, 0)
      - sum(one.contacts) OVER sendout AS deviation
  FROM sendout_variant one
  LEFT JOIN (
    SELECT customer_id, sendout_id, variant, count(*) FILTER (WHERE accepted) AS accepted, count(*) FILTER (WHERE accepted AND opened) AS opened
    FROM sendout_contacts WHERE is_planned GROUP BY customer_id, sendout_id, variant
  ) live ON live.customer_id = one.customer_id AND live.sendout_id = one.sendout_id AND live.variant = one.variant_no
  WINDOW sendout AS (PARTITION BY one.customer_id, one.sendout_id)
) v ON v.customer_id = s.customer_id AND v.sendout_id = s.sendout_id;
COMMENT ON VIEW   report.variants                      IS 'What the variants of sendouts came to, in contacts. Those who wait for the winner are a row of their own.';
COMMENT ON COLUMN report.variants.customer_id          IS 'The customer.';
COMMENT ON COLUMN report.variants.sendout_id           IS 'Number of the sendout.';
COMMENT ON COLUMN report.variants.variant_no           IS 'From 1 on, in the order of the sendout; 0 for those who wait for the winner, or have got it.';
COMMENT ON COLUMN report.variants.variant              IS 'Its name, as a cell; see report.exact. NULL for those who wait.';
COMMENT ON COLUMN report.variants.share                IS 'Percent of the contacts left after the holdout.';
COMMENT ON COLUMN report.variants.contacts             IS 'Contacts that it fell to at the freeze.';
COMMENT ON COLUMN report.variants.accepted             IS 'Contacts with an accepted push, until now.';
COMMENT ON COLUMN report.variants.opened               IS 'Those of them who have opened one, until now.';
COMMENT ON COLUMN report.variants.rate                 IS 'Their share, from 0 to 1. NULL while nobody has an accepted push.';
COMMENT ON COLUMN report.variants.low                  IS 'Lower end of Wilson''s interval of the rate at 95 %.';
COMMENT ON COLUMN report.variants.high                 IS 'Upper end of it.';
COMMENT ON COLUMN report.variants.accepted_at_decision IS 'Contacts with an accepted push when the winner was decided; NULL before, and without a winner.';
COMMENT ON COLUMN report.variants.opened_at_decision   IS 'Those of them who had opened one by then.';
COMMENT ON COLUMN report.variants.p_adjusted           IS 'At the decision, how likely so large a difference to the best variant is by chance, after Holm''s correction; NULL for the best.';
COMMENT ON COLUMN report.variants.fits_share           IS 'false where the sizes of the sendout''s groups do not fit their shares (chi-squared, p < 0.001). Then no rate is to be trusted.';
COMMENT ON COLUMN report.variants.decision             IS 'Of the variant that won how that was decided: test, best or person. Of those who wait the same, or waiting, waiting_for_person, or stop if they get nothing. NULL for others.';

CREATE VIEW report.local_times AS
SELECT z.customer_id, z.sendout_id, z.zone, z.source, z.planned_at, z.contacts,
  coalesce(z.accepted, live.accepted, 0) AS accepted, coalesce(z.opened, live.opened, 0) AS opened
FROM sendout_zone z
LEFT JOIN (
  SELECT customer_id, sendout_id, zone_no, count(*) FILTER (WHERE accepted) AS accepted, count(*) FILTER (WHERE accepted AND opened) AS opened
  FROM sendout_contacts WHERE is_planned GROUP BY customer_id, sendout_id, zone_no
) live ON live.customer_id = z.customer_id AND live.sendout_id = z.sendout_id AND live.zone_no = z.zone_no;
COMMENT ON VIEW   report.local_times             IS 'Contacts of sendouts by time zone. Only sendouts with a local time or quiet hours ask for zones.';
COMMENT ON COLUMN report.local_times.customer_id IS 'The customer.';
COMMENT ON COLUMN report.local_times.sendout_id  IS 'Number of the sendout.';
COMMENT ON COLUMN report.local_times.zone        IS 'Its name in the IANA database.';
COMMENT ON COLUMN report.local_times.source      IS 'Who told it: contact, device, country, or customer where nobody did. A zone has a row for each.';
COMMENT ON COLUMN report.local_times.planned_at  IS 'The moment of the local time there, before spread and quiet hours; NULL without a local time, and where it was over.';
COMMENT ON COLUMN report.local_times.contacts    IS 'Contacts of the audience there, those left out too.';
COMMENT ON COLUMN report.local_times.accepted    IS 'Those of them with an accepted push, until now.';
COMMENT ON COLUMN report.local_times.opened      IS 'Those of the accepted who have opened one, until now.';

CREATE VIEW report.left_out AS
SELECT customer_id, sendout_id, report.cell(reason) AS reason, sum(contacts)::bigint AS contacts
FROM (
  SELECT customer_id, sendout_id, reason, contacts FROM sendout_left_out
  UNION ALL
  SELECT customer_id, sendout_id, left_out_later, count(*)
  FROM sendout_contacts WHERE left_out_later IS NOT NULL GROUP BY customer_id, sendout_id, left_out_later
) o
GROUP BY customer_id, sendout_id, reason;
COMMENT ON VIEW   report.left_out             IS 'Contacts of sendouts that get nothing, and why. Each is in one row of its sendout. Without them, the contacts of the audience are those with a push that went, or will.';
COMMENT ON COLUMN report.left_out.customer_id IS 'The customer.';
COMMENT ON COLUMN report.left_out.sendout_id  IS 'Number of the sendout.';
COMMENT ON COLUMN report.left_out.reason      IS 'By the steps of the preflight: excluded, suppressed, no_device, held_out, capped, quiet, missed, which are expired where the moment comes only after the end. Claims also leave out contacts as expired, no_winner or device_invalidated, among others.';
COMMENT ON COLUMN report.left_out.contacts    IS 'Number of contacts.';

CREATE VIEW report.caps AS
SELECT customer_id, rule, day, sum(contacts)::bigint AS contacts, sum(capped)::bigint AS capped
FROM cap_day
GROUP BY customer_id, rule, day;
COMMENT ON VIEW   report.caps             IS 'What caps let through and left out, by day.';
COMMENT ON COLUMN report.caps.customer_id IS 'The customer.';
COMMENT ON COLUMN report.caps.rule        IS 'The rule, as in 3/24h marketing.';
COMMENT ON COLUMN report.caps.day         IS 'The day, in UTC.';
COMMENT ON COLUMN report.caps.contacts    IS 'How often a contact was counted: once for each sendout or message.';
COMMENT ON COLUMN report.caps.capped      IS 'How often a contact was left out.';
