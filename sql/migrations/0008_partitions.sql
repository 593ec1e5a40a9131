-- Partitions of push, open_event and device_event, so that retention drops whole tables instead of deleting rows.
--
-- push and open_event have the same ranges of sendout_id: all of their statements name the sendout. A sendout that starts has its range
-- made where that is missing, and a spare one is made ahead; drafts have no rows, and make none. device_event has a partition for each
-- month, made two months ahead, and before a hub serves. There is no DEFAULT partition: rows in it would have to be moved out, and every
-- ATTACH would read it while it is locked.
--
-- A hub may not change the schema, so it calls these functions, which run as the schema's owner. No statement of theirs waits
-- longer than a second for a lock: others that need the table would wait behind it. What could not be locked is left to the
-- next call.

CREATE SCHEMA partitions;
COMMENT ON SCHEMA partitions IS 'Partitions of the tables in public. Nobody reads or writes them but through those tables.';

CREATE FUNCTION partition_ranges(parent regclass)
RETURNS TABLE (partition regclass, first_value text, end_value text, known_rows bigint) LANGUAGE sql VOLATILE AS $$
  SELECT c.oid::regclass, bound[1], bound[2], greatest(c.reltuples, 0)::bigint
    FROM pg_inherits i
    JOIN pg_class c ON c.oid = i.inhrelid
    LEFT JOIN LATERAL regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \(''(.*)''\) TO \(''(.*)''\)') AS bound ON true
   WHERE i.inhparent = parent
$$;
COMMENT ON FUNCTION partition_ranges IS 'Partitions of a table, as they are now. A range ends before end_value.';

-- ATTACH locks the parent against other changes of the schema only, where CREATE TABLE … PARTITION OF would stop all that use
-- it.
--
-- push: each row is updated once for its outcome and perhaps once for its open. The fill factor leaves room on the page for the
-- first (HOT), as no index holds what changes; the second finds the room of the first. Rows come by the million at once, a
-- small share of a month's partition: autovacuum looks at it when 2 % are new or dead, not at 20 %.
-- open_event, device_event: written once; opens within a minute are counted in their row.
CREATE FUNCTION make_partition(parent name, suffix text, bound text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  storage constant text := CASE
    WHEN parent = 'push' THEN 'fillfactor = 45, autovacuum_vacuum_scale_factor = 0.02, '
      'autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02'
    WHEN parent = 'open_event' THEN 'fillfactor = 90, autovacuum_vacuum_insert_scale_factor = 0.05'
    ELSE 'autovacuum_vacuum_insert_scale_factor = 0.05' END;
BEGIN
  EXECUTE format('CREATE TABLE partitions.%I (LIKE public.%I INCLUDING ALL EXCLUDING IDENTITY) WITH (%s)',
                 parent || '_' || suffix, parent, storage);
  EXECUTE format('ALTER TABLE public.%I ATTACH PARTITION partitions.%I %s', parent, parent || '_' || suffix, bound);
END $$;
REVOKE EXECUTE ON FUNCTION make_partition FROM PUBLIC;
COMMENT ON FUNCTION make_partition IS 'Makes a partition with its storage parameters: a partitioned table cannot hand down its own.';

-- A range is as wide as a month's sendouts, by those of the last 30 days or of the time since the first. Drafts count: the more numbers
-- they take, the wider is the next range, so that few ranges hold however many numbers.
CREATE FUNCTION make_sendout_range(first_id bigint, end_id bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  bound constant text := format('FOR VALUES FROM (%s) TO (%s)', first_id, end_id);
BEGIN
  PERFORM make_partition('push', first_id::text, bound), make_partition('open_event', first_id::text, bound);
  RETURN format('push_%s open_event_%s', first_id, first_id);
END $$;
REVOKE EXECUTE ON FUNCTION make_sendout_range FROM PUBLIC;
COMMENT ON FUNCTION make_sendout_range IS 'Makes the partitions of a range of sendouts. Returns their names.';

CREATE FUNCTION sendout_range_width() RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT least(greatest(
           count(*) * 30 / greatest(1, least(30, extract(epoch FROM now() - min(created_at)) / 86400)), 100), 1000000)::bigint
    FROM sendout WHERE created_at > now() - interval '30 days'
$$;
REVOKE EXECUTE ON FUNCTION sendout_range_width FROM PUBLIC;
COMMENT ON FUNCTION sendout_range_width IS 'How many numbers a new range of sendouts holds.';

-- Of two that start at once in a new range, one makes it, and the other finds it made.
CREATE FUNCTION require_sendout_range(id bigint) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp SET lock_timeout = '1s' AS $$
DECLARE
  first_id bigint;
  next_id  bigint;
BEGIN
  -- Whoever takes a hub over makes no range of numbers that were never given out.
  IF id > coalesce(pg_sequence_last_value('sendout_sendout_id_seq'), 0) THEN RETURN NULL; END IF;
  PERFORM FROM partition_ranges('push') AS r WHERE id >= r.first_value::bigint AND id < r.end_value::bigint;
  IF FOUND THEN RETURN NULL; END IF;
  PERFORM pg_advisory_xact_lock(5720180220);
  PERFORM FROM partition_ranges('push') AS r WHERE id >= r.first_value::bigint AND id < r.end_value::bigint;
  IF FOUND THEN RETURN NULL; END IF;
  SELECT coalesce(max(r.end_value::bigint) FILTER (WHERE r.end_value::bigint <= id), 1),
         min(r.first_value::bigint) FILTER (WHERE r.first_value::bigint > id)
    INTO first_id, next_id FROM partition_ranges('push') AS r;
  -- What was dropped between two ranges is one range again.
  RETURN make_sendout_range(first_id, coalesce(next_id, greatest(first_id, id) + sendout_range_width()));
END $$;
REVOKE EXECUTE ON FUNCTION require_sendout_range FROM PUBLIC;
COMMENT ON FUNCTION require_sendout_range IS 'Makes the partitions that a sendout needs which starts, unless they are there. Returns the names of those made, or NULL.';

CREATE FUNCTION make_event_month(at timestamptz) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  month      constant timestamptz := date_trunc('month', at, 'UTC');
  next_month constant timestamptz := (month AT TIME ZONE 'UTC' + interval '1 month') AT TIME ZONE 'UTC';
  suffix     constant text := to_char(month AT TIME ZONE 'UTC', 'YYYY_MM');
BEGIN
  PERFORM FROM partition_ranges('device_event') AS r WHERE r.first_value::timestamptz = month;
  IF FOUND THEN RETURN NULL; END IF;
  PERFORM make_partition('device_event', suffix, format('FOR VALUES FROM (%L) TO (%L)', month, next_month));
  RETURN 'device_event_' || suffix;
END $$;
REVOKE EXECUTE ON FUNCTION make_event_month FROM PUBLIC;
COMMENT ON FUNCTION make_event_month IS 'Makes the partition of the device events of a month, unless it is there. Returns its name, or NULL.';

CREATE FUNCTION make_partitions() RETURNS TABLE (made text, problem text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp SET lock_timeout = '1s' AS $$
DECLARE
  last_id  constant bigint := coalesce(pg_sequence_last_value('sendout_sendout_id_seq'), 0);
  last_first_id bigint;
  first_id bigint;
  ahead    int4;
BEGIN
  IF NOT pg_try_advisory_xact_lock(5720180220) THEN RETURN; END IF;

  -- Sendouts: a spare range follows the last one that is in use. It also holds the numbers that drafts have taken beyond that.
  SELECT max(r.first_value::bigint), coalesce(max(r.end_value::bigint), 1)
    INTO last_first_id, first_id FROM partition_ranges('push') AS r;
  PERFORM FROM sendout WHERE sendout_id >= last_first_id AND started_at IS NOT NULL LIMIT 1;
  IF FOUND OR last_first_id IS NULL THEN
    BEGIN
      RETURN QUERY SELECT make_sendout_range(first_id, greatest(first_id, last_id + 1) + sendout_range_width()), NULL;
    EXCEPTION WHEN lock_not_available THEN
      RETURN QUERY SELECT NULL, format('partition push_%s: %s', first_id, sqlerrm);
    END;
  END IF;

  -- Events of devices: this month and the next two.
  FOR ahead IN 0..2 LOOP
    BEGIN
      RETURN QUERY SELECT name, NULL
        FROM make_event_month((now() AT TIME ZONE 'UTC' + make_interval(months => ahead)) AT TIME ZONE 'UTC') AS name
       WHERE name IS NOT NULL;
    EXCEPTION WHEN lock_not_available THEN
      RETURN QUERY SELECT NULL, format('device events, %s months ahead: %s', ahead, sqlerrm);
    END;
  END LOOP;
END $$;
REVOKE EXECUTE ON FUNCTION make_partitions FROM PUBLIC;
COMMENT ON FUNCTION make_partitions IS 'Makes the partitions that will be needed, one program at a time. Returns those made, and what hinders others.';

-- DROP locks the whole table against everybody until the commit, which is why a call drops the tables of one range only, both or none.
-- DETACH CONCURRENTLY would not, but PostgreSQL refuses it within a function.
--
-- A range is kept by the sendouts that have rows in it, or may come to have some: not by drafts, nor by those whose rows are gone. It is
-- kept, too, until what their contacts came to is written for good.
CREATE FUNCTION drop_expired_partitions(days int4, is_trial boolean) RETURNS TABLE (dropped text, known_rows bigint, problem text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp SET lock_timeout = '1s' AS $$
DECLARE
  last_id  constant bigint := coalesce(pg_sequence_last_value('sendout_sendout_id_seq'), 0);
  longest  int4;
  limited  bigint;
  part     record;
  first_id bigint;
  end_id   bigint;
  names    name[];
  expired  name;
BEGIN
  IF NOT pg_try_advisory_xact_lock(5720180220) THEN RETURN; END IF;
  -- least() ignores NULL. One customer without a limit keeps the events of a month for everybody, but for what is deleted by row.
  SELECT CASE WHEN bool_and(least(days, retention_days) IS NOT NULL) THEN max(least(days, retention_days)) END, count(retention_days)
    INTO longest, limited FROM customer;
  IF days IS NULL AND limited = 0 THEN RETURN; END IF;

  FOR part IN
    SELECT parent, r.first_value, r.end_value, r.known_rows
      FROM unnest(ARRAY['push', 'device_event']) AS parent, partition_ranges(parent::regclass) AS r
  LOOP
    -- A query of its own for each range: Citus cannot join what workers have with the catalog.
    IF part.parent = 'push' THEN
      first_id := part.first_value;
      end_id := part.end_value;
      CONTINUE WHEN end_id > last_id + 1;
      PERFORM FROM sendout s JOIN customer c ON c.customer_id = s.customer_id
        WHERE s.sendout_id >= first_id AND s.sendout_id < end_id AND s.state <> 'draft' AND s.expired_at IS NULL
          AND (s.state NOT IN ('finished', 'cancelled')
               OR EXISTS (SELECT FROM push_batch b WHERE b.customer_id = s.customer_id AND b.sendout_id = s.sendout_id
                             AND (least(days, c.retention_days) IS NULL
                                  OR s.finished_at >= now() - make_interval(days => least(days, c.retention_days))
                                  OR b.state IN ('queued', 'held', 'claimed')
                                  OR NOT is_trial AND s.kind = 'broadcast' AND s.folded_at IS NULL)))
        LIMIT 1;
      CONTINUE WHEN FOUND;
      names := ARRAY['push_' || part.first_value, 'open_event_' || part.first_value];
    ELSE
      CONTINUE WHEN (part.end_value::timestamptz <= now() - make_interval(days => longest)) IS NOT TRUE;
      names := ARRAY['device_event_' || to_char(part.first_value::timestamptz AT TIME ZONE 'UTC', 'YYYY_MM')];
    END IF;
    BEGIN
      IF NOT is_trial THEN
        IF part.parent = 'push' THEN
          -- Filters look back as far as pushes are kept. Opens that were counted since then, of pushes that are older, are not to be found
          -- any more, and the contacts' activity follows.
          INSERT INTO activity_change (customer_id, contact_ids)
          SELECT p.customer_id, array_agg(p.contact_id)
            FROM (SELECT DISTINCT h.customer_id, h.sendout_id, now() - make_interval(days => least(days, c.retention_days)) AS since
                    FROM open_hour h JOIN customer c ON c.customer_id = h.customer_id
                   WHERE h.sendout_id >= first_id AND h.sendout_id < end_id AND h.first_opens > 0
                     AND h.hour > now() - make_interval(days => least(days, c.retention_days), hours => 1)) AS late
            JOIN push p ON p.customer_id = late.customer_id AND p.sendout_id = late.sendout_id AND p.opened_at >= late.since
           GROUP BY p.customer_id, p.sendout_id, p.batch_no;
        END IF;
        FOREACH expired IN ARRAY names LOOP EXECUTE format('DROP TABLE partitions.%I', expired); END LOOP;
      END IF;
    EXCEPTION WHEN lock_not_available THEN
      RETURN QUERY SELECT names[1]::text, 0::bigint, sqlerrm;
      CONTINUE;
    END;
    RETURN QUERY SELECT name::text, part.known_rows, NULL::text FROM unnest(names) AS name;
    IF NOT is_trial THEN RETURN; END IF;
  END LOOP;
END $$;
REVOKE EXECUTE ON FUNCTION drop_expired_partitions FROM PUBLIC;
COMMENT ON FUNCTION drop_expired_partitions IS 'Drops the partitions of a range of which everything has expired for every customer, or only names those of all such ranges. Days are the hub''s retention, NULL for ever.';

-- Without statistics of new rows the planner expects a handful of pushes where there are a million. Autovacuum sees to each
-- partition a minute later, and never to the table as a whole, whose statistics joins go by.
-- The sendout waits for it, so it looks at 3,000 rows in place of 30,000. It is called for sendouts of a tenth of the partition at
-- least, and those are among the ten most common values. Autovacuum looks closer later.
CREATE FUNCTION refresh_push_statistics(sendout bigint, new_rows bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp SET lock_timeout = '1s'
SET default_statistics_target = 10 AS $$
DECLARE
  whole constant regclass := 'push';
  part  regclass;
  known bigint;
BEGIN
  SELECT r.partition, r.known_rows INTO part, known FROM partition_ranges(whole) AS r
   WHERE sendout >= r.first_value::bigint AND sendout < r.end_value::bigint;
  IF (SELECT reltuples FROM pg_class WHERE oid = whole) < new_rows THEN
    EXECUTE format('ANALYZE %s, push_batch, tracked_message', whole);
  ELSIF known < 10 * new_rows THEN
    EXECUTE format('ANALYZE %s, push_batch, tracked_message', part);
  -- Messages to numbers may be many where broadcasts have been many more.
  ELSIF (SELECT reltuples FROM pg_class WHERE oid = 'tracked_message'::regclass) < new_rows THEN
    ANALYZE tracked_message;
  END IF;
END $$;
REVOKE EXECUTE ON FUNCTION refresh_push_statistics FROM PUBLIC;
COMMENT ON FUNCTION refresh_push_statistics IS 'Runs ANALYZE on the partition of a sendout, if its new rows are more than a tenth of those known; on the whole table if they are more than all.';

SELECT make_partitions();
