-- Campaigns: local times, quiet hours, caps, variants and series. The rules are decided here and in statements, by the database's clock and
-- PostgreSQL's time zones.

-- In PL/pgSQL, as functions in SQL that stand in no other statement's place are planned anew by each statement that calls them, and cost ten times
-- as much a call.
--
-- Of a repeated hour PostgreSQL takes the second one, so the offset of a day before is tried first. In a gap it goes by the offset before the
-- gap, which moves the time forward by the gap.
CREATE FUNCTION local_moment(wall timestamp, zone text) RETURNS timestamptz LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE AS $$
DECLARE
  usual   timestamptz := wall AT TIME ZONE zone;
  before  timestamptz := usual - interval '24 hours';
  earlier timestamptz := (wall - ((before AT TIME ZONE zone) - (before AT TIME ZONE 'UTC'))) AT TIME ZONE 'UTC';
BEGIN
  RETURN CASE WHEN earlier < usual AND earlier AT TIME ZONE zone = wall THEN earlier ELSE usual END;
END
$$;
COMMENT ON FUNCTION local_moment IS 'When clocks of a zone show a wall time: the first time of two, and later by the gap where they skip it.';

CREATE FUNCTION is_quiet(at timestamptz, zone text, starts time, ends time) RETURNS boolean LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE AS $$
DECLARE
  wall time := (at AT TIME ZONE zone)::time;
BEGIN
  RETURN CASE WHEN starts < ends THEN wall >= starts AND wall < ends ELSE wall >= starts OR wall < ends END;
END
$$;
COMMENT ON FUNCTION is_quiet IS 'Whether a moment is within quiet hours, from the start on and before the end, by the wall clock of a zone.';

-- By bisection, as PostgreSQL tells no changes of a zone. They come at whole minutes.
CREATE FUNCTION clock_change(at timestamptz, latest timestamptz, zone text) RETURNS timestamptz LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE AS $$
DECLARE
  origin timestamptz := date_trunc('minute', at);
  usual  interval    := (origin AT TIME ZONE zone) - (origin AT TIME ZONE 'UTC');
  before int4        := 0;
  after  int4        := ceil(extract(epoch FROM latest - origin) / 60);
  moment timestamptz;
BEGIN
  WHILE after - before > 1 LOOP
    moment := origin + make_interval(mins => (before + after) / 2);
    IF (moment AT TIME ZONE zone) - (moment AT TIME ZONE 'UTC') = usual
    THEN before := (before + after) / 2;
    ELSE after := (before + after) / 2;
    END IF;
  END LOOP;
  RETURN origin + make_interval(mins => after);
END
$$;
COMMENT ON FUNCTION clock_change IS 'When clocks of a zone are put forward or back between two moments, between which that happens once.';

-- Clocks that change may skip the end or the start, come to it twice, or jump into quiet hours or out of them. What they show then counts, minute
-- by minute. They change once a day at most.
CREATE FUNCTION quiet_end(at timestamptz, zone text, starts time, ends time) RETURNS timestamptz LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE AS $$
DECLARE
  wall   timestamp   := at AT TIME ZONE zone;
  finish timestamp   := wall::date + CASE WHEN wall::time >= ends THEN 1 ELSE 0 END + ends;
  until  timestamptz := at + (finish - wall);
BEGIN
  IF NOT is_quiet(at, zone, starts, ends) THEN RETURN NULL; END IF;
  IF until AT TIME ZONE zone = finish THEN RETURN until; END IF;
  until := clock_change(at, until, zone);
  RETURN coalesce(quiet_end(until, zone, starts, ends), until);
END
$$;
COMMENT ON FUNCTION quiet_end IS 'When the quiet hours end that a moment is within; NULL for a moment outside.';

CREATE FUNCTION quiet_start(at timestamptz, zone text, starts time, ends time) RETURNS timestamptz LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE AS $$
DECLARE
  wall  timestamp   := at AT TIME ZONE zone;
  start timestamp   := wall::date + CASE WHEN wall::time > starts THEN 1 ELSE 0 END + starts;
  first timestamptz := at + (start - wall);
BEGIN
  IF is_quiet(at, zone, starts, ends) THEN RETURN at; END IF;
  IF first AT TIME ZONE zone = start THEN RETURN first; END IF;
  RETURN quiet_start(clock_change(at, first, zone), zone, starts, ends);
END
$$;
COMMENT ON FUNCTION quiet_start IS 'When it is quiet next, which is at this moment at the earliest.';

-- A contact may have a zone that hubs know and this server's tzdata does not, or that psql wrote. Not PARALLEL SAFE: an exception takes a
-- subtransaction.
CREATE FUNCTION zone_or(zone text, otherwise text) RETURNS text LANGUAGE plpgsql STABLE STRICT AS $$
DECLARE
  wall timestamp;
BEGIN
  wall := timestamptz 'epoch' AT TIME ZONE zone;
  RETURN zone;
EXCEPTION WHEN invalid_parameter_value THEN
  RETURN otherwise;
END
$$;
COMMENT ON FUNCTION zone_or IS 'The time zone, if this server knows it, else the other one.';

-- A number that two hubs, a freeze and a preflight agree about. The seeds of different uses are kept apart by `use`.
CREATE FUNCTION share_of(contact bigint, sendout bigint, use int4) RETURNS int4 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN ((hashint8extended(contact, hashint8extended(sendout, use)) & 2147483647) % 10000)::int4;
COMMENT ON FUNCTION share_of IS 'A number from 0 to 9999 for a contact in a sendout, spread evenly: use 1 for the holdout, 2 for variants, 3 for spread times, 4 for what quiet hours held.';

CREATE TABLE series (
  customer_id bigint      NOT NULL REFERENCES customer,
  series_id   bigint      GENERATED BY DEFAULT AS IDENTITY,
  repeat      json        NOT NULL,
  wall_time   time        NOT NULL,
  created_at  timestamptz NOT NULL DEFAULT now(),
  ended_at    timestamptz,
  PRIMARY KEY (customer_id, series_id)
);
COMMENT ON TABLE  series             IS 'Sendouts that repeat: each time is a sendout of its own, made when the one before is taken up. Its key keeps any time from being made twice.';
COMMENT ON COLUMN series.customer_id IS 'The customer.';
COMMENT ON COLUMN series.series_id   IS 'Number of the series.';
COMMENT ON COLUMN series.repeat      IS 'On which days, and until when, as the API has it.';
COMMENT ON COLUMN series.wall_time   IS 'The time of day of its sendouts. It is kept here, as clocks that skip it make one of them later.';
COMMENT ON COLUMN series.created_at  IS 'When it was made.';
COMMENT ON COLUMN series.ended_at    IS 'When somebody ended it, or its last day had passed; NULL while further times will come.';

CREATE TABLE sendout_pace (
  customer_id bigint      NOT NULL,
  sendout_id  bigint      NOT NULL,
  next_claim  timestamptz NOT NULL DEFAULT now(),
  worked_at   timestamptz NOT NULL DEFAULT now(),
  missed_before timestamptz NOT NULL DEFAULT '-infinity',
  away        tstzmultirange NOT NULL DEFAULT '{}',
  turn_at     timestamptz NOT NULL DEFAULT '-infinity',
  PRIMARY KEY (customer_id, sendout_id),
  CONSTRAINT sendout_pace_sendout_id_fkey FOREIGN KEY (customer_id, sendout_id) REFERENCES sendout ON DELETE CASCADE
) WITH (fillfactor = 50);
COMMENT ON TABLE  sendout_pace             IS 'How fast a sendout with times or limits may go, and how it went. Not in sendout: claims lock batches before this row, and verbs lock the sendout before batches.';
COMMENT ON COLUMN sendout_pace.customer_id IS 'The customer that owns the sendout.';
COMMENT ON COLUMN sendout_pace.sendout_id  IS 'The sendout.';
COMMENT ON COLUMN sendout_pace.next_claim  IS 'Before this moment no batch is claimed, where there is a rate. Each claim moves it by what the batch''s pushes take.';
COMMENT ON COLUMN sendout_pace.worked_at   IS 'When a hub last claimed a batch of it, to the second, or a person resumed it.';
COMMENT ON COLUMN sendout_pace.missed_before IS 'What was planned before this moment and has never been claimed is missed. A claim that comes after a break sets it; while hubs work without one, nothing is late.';
COMMENT ON COLUMN sendout_pace.away        IS 'When hubs did not work on it, as far as that can still make something missed: for whatever was planned before, all of these times together count.';
COMMENT ON COLUMN sendout_pace.turn_at     IS 'Where there is a rate, the turn that the next batch would have had without these times: it is missed by that, and not by its planned moment.';

CREATE TABLE sendout_moment (
  customer_id bigint      NOT NULL,
  sendout_id  bigint      NOT NULL,
  moment_no   int4        NOT NULL,
  due_at      timestamptz NOT NULL,
  planned_at  timestamptz,
  quiet_at    timestamptz,
  waits       boolean     NOT NULL,
  PRIMARY KEY (customer_id, sendout_id, moment_no)
);
COMMENT ON TABLE  sendout_moment             IS 'Moments at which batches are due, from the statement that writes pushes to the one that writes their batches, which deletes them.';
COMMENT ON COLUMN sendout_moment.customer_id IS 'The customer that owns the sendout.';
COMMENT ON COLUMN sendout_moment.sendout_id  IS 'The sendout.';
COMMENT ON COLUMN sendout_moment.moment_no   IS 'From 1 on, as in the numbers of batches.';
COMMENT ON COLUMN sendout_moment.due_at      IS 'When the pushes are due.';
COMMENT ON COLUMN sendout_moment.planned_at  IS 'As in push_batch.';
COMMENT ON COLUMN sendout_moment.quiet_at    IS 'As in push_batch.';
COMMENT ON COLUMN sendout_moment.waits       IS 'Whether the pushes wait for the winner, and are due at the decision if that is later.';

CREATE TABLE sendout_zone (
  customer_id bigint      NOT NULL,
  sendout_id  bigint      NOT NULL,
  zone_no     int2        NOT NULL,
  zone        text        NOT NULL,
  source      text        NOT NULL CONSTRAINT sendout_zone_source_known CHECK (source IN ('contact', 'device', 'country', 'customer')),
  planned_at  timestamptz,
  contacts    int4        NOT NULL,
  accepted    int4,
  opened      int4,
  PRIMARY KEY (customer_id, sendout_id, zone_no),
  CONSTRAINT sendout_zone_sendout_id_fkey FOREIGN KEY (customer_id, sendout_id) REFERENCES sendout ON DELETE CASCADE
);
COMMENT ON TABLE  sendout_zone             IS 'Time zones of a sendout''s contacts, as they were at the freeze.';
COMMENT ON COLUMN sendout_zone.customer_id IS 'The customer that owns the sendout.';
COMMENT ON COLUMN sendout_zone.sendout_id  IS 'The sendout.';
COMMENT ON COLUMN sendout_zone.zone_no     IS 'As in push.zone_no.';
COMMENT ON COLUMN sendout_zone.zone        IS 'Its name in the IANA database.';
COMMENT ON COLUMN sendout_zone.source      IS 'Who told it: the contact''s own field, its newest valid device that tells one, its country where that has one zone alone, or the customer''s setting.';
COMMENT ON COLUMN sendout_zone.planned_at  IS 'The moment of the local time there, before spread and quiet hours; NULL without a local time, and where it was over.';
COMMENT ON COLUMN sendout_zone.contacts    IS 'Contacts of the audience in this zone, those left out later too.';
COMMENT ON COLUMN sendout_zone.accepted    IS 'Those of them with an accepted push, written before retention deletes the pushes; NULL until then.';
COMMENT ON COLUMN sendout_zone.opened      IS 'Those of the accepted who had opened one by then.';

CREATE TABLE sendout_variant (
  customer_id      bigint NOT NULL,
  sendout_id       bigint NOT NULL,
  variant_no       int2   NOT NULL,
  name             text   NOT NULL,
  share            int4   NOT NULL,
  template_version int4,
  contacts         int4   NOT NULL,
  accepted         int4,
  opened           int4,
  p_adjusted       float8,
  final_accepted   int4,
  final_opened     int4,
  PRIMARY KEY (customer_id, sendout_id, variant_no),
  CONSTRAINT sendout_variant_sendout_id_fkey FOREIGN KEY (customer_id, sendout_id) REFERENCES sendout ON DELETE CASCADE
);
COMMENT ON TABLE  sendout_variant                  IS 'Variants of a sendout, from its freeze on.';
COMMENT ON COLUMN sendout_variant.customer_id      IS 'The customer that owns the sendout.';
COMMENT ON COLUMN sendout_variant.sendout_id       IS 'The sendout.';
COMMENT ON COLUMN sendout_variant.variant_no       IS 'From 1 on in the order of the list. 0: those who wait for the winner.';
COMMENT ON COLUMN sendout_variant.name             IS 'Its name; empty for 0.';
COMMENT ON COLUMN sendout_variant.share            IS 'Percent of the contacts left after the holdout.';
COMMENT ON COLUMN sendout_variant.template_version IS 'The version of its own template, fixed at the start; NULL without one.';
COMMENT ON COLUMN sendout_variant.contacts         IS 'How many contacts it fell to at the freeze.';
COMMENT ON COLUMN sendout_variant.accepted         IS 'Contacts with an accepted push when the winner was decided; NULL before, and without a winner.';
COMMENT ON COLUMN sendout_variant.opened           IS 'Those of them who had opened by then.';
COMMENT ON COLUMN sendout_variant.p_adjusted       IS 'At the decision, how likely so large a difference to the best variant is by chance, after Holm; NULL for the best itself.';
COMMENT ON COLUMN sendout_variant.final_accepted   IS 'Contacts with an accepted push, written before retention deletes the pushes; NULL until then.';
COMMENT ON COLUMN sendout_variant.final_opened     IS 'Those of them who had opened one by then.';

CREATE TABLE sendout_left_out (
  customer_id bigint NOT NULL,
  sendout_id  bigint NOT NULL,
  reason      text   NOT NULL,
  contacts    int4   NOT NULL,
  PRIMARY KEY (customer_id, sendout_id, reason),
  CONSTRAINT sendout_left_out_sendout_id_fkey FOREIGN KEY (customer_id, sendout_id) REFERENCES sendout ON DELETE CASCADE
);
COMMENT ON TABLE  sendout_left_out             IS 'How many contacts of its audience a sendout left out at the freeze, by the names of a preflight''s steps. Each is in one of them.';
COMMENT ON COLUMN sendout_left_out.customer_id IS 'The customer that owns the sendout.';
COMMENT ON COLUMN sendout_left_out.sendout_id  IS 'The sendout.';
COMMENT ON COLUMN sendout_left_out.reason      IS 'excluded, suppressed, no_device, held_out, capped, quiet, missed, or expired where the moment comes only after the end; once retention has deleted its pushes also what claims have left out.';
COMMENT ON COLUMN sendout_left_out.contacts    IS 'How many.';

-- A claim adds to the rows of its contacts, in the order of their numbers. Where a rule would be broken it changes nothing, and the contact is
-- left out: whoever adds first has the row, so that of sendouts at the same moment none passes with the count of another. Arrays have the newest
-- first, and as many as the largest count of a rule, so that a rule of n looks at the n-th alone. Moments are milliseconds since 1970: Citus takes
-- no arithmetic on timestamps in DO UPDATE.
CREATE TABLE reach (
  customer_id   bigint      NOT NULL,
  contact_id    bigint      NOT NULL,
  marketing     bigint[]    NOT NULL DEFAULT '{}',
  transactional bigint[]    NOT NULL DEFAULT '{}',
  every         bigint[]    NOT NULL DEFAULT '{}',
  refs          bigint[]    NOT NULL DEFAULT '{}',
  changed_at    timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (customer_id, contact_id)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05);
COMMENT ON TABLE  reach               IS 'When contacts were reached last, for caps. Only customers with caps have rows.';
COMMENT ON COLUMN reach.customer_id   IS 'The customer.';
COMMENT ON COLUMN reach.contact_id    IS 'The contact.';
COMMENT ON COLUMN reach.marketing     IS 'When pushes of marketing were claimed for it, in milliseconds since 1970, the newest first, once for each sendout or message.';
COMMENT ON COLUMN reach.transactional IS 'The same of transactional ones.';
COMMENT ON COLUMN reach.every         IS 'The same of both.';
COMMENT ON COLUMN reach.refs          IS 'Which sendouts and messages they were, as reach_ref has them, so that a second device and a second claim do not count.';
COMMENT ON COLUMN reach.changed_at    IS 'When the last was added. A row that no rule can look back to is deleted.';

CREATE FUNCTION reach_ref(sendout bigint, message int4) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN hashint8extended(sendout, coalesce(message, 0));
COMMENT ON FUNCTION reach_ref IS 'Stands for a sendout, or for a message of a stream, in reach.refs.';

CREATE TABLE cap_day (
  customer_id bigint NOT NULL,
  rule        text   NOT NULL,
  day         date   NOT NULL,
  slot        int2   NOT NULL,
  contacts    bigint NOT NULL DEFAULT 0,
  capped      bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (customer_id, rule, day, slot)
) WITH (fillfactor = 50);
COMMENT ON TABLE  cap_day             IS 'What caps let through and left out, by day: the figures of report.caps, counted as they happen.';
COMMENT ON COLUMN cap_day.customer_id IS 'The customer.';
COMMENT ON COLUMN cap_day.rule        IS 'The rule, as in 3/24h marketing.';
COMMENT ON COLUMN cap_day.day         IS 'The day, in UTC.';
COMMENT ON COLUMN cap_day.slot        IS 'Which of the rows of the day; their sum counts. As in day_count.';
COMMENT ON COLUMN cap_day.contacts    IS 'How often a contact was counted.';
COMMENT ON COLUMN cap_day.capped      IS 'How often a contact was left out.';
