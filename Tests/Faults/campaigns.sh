# The campaigns of Tests/Faults/run: the hub is killed within and behind each transition of a sendout, and rules hold for hubs that disagree.
#
# A transaction is stopped within by a lock of the table that it changes next. Whoever has the lock is "holder" in pg_stat_activity.
CAMPAIGNS="campaign_killed series_killed webhook_killed local_clocks caps"

# ---- transitions

hold() { # hold TABLE: whoever changes it waits until `release`
  PGAPPNAME=holder psql -q -c BEGIN -c "LOCK TABLE $1 IN EXCLUSIVE MODE" -c 'SELECT pg_sleep(3600)' >/dev/null 2>&1 &
  holder=$!
  until_true "EXISTS (SELECT FROM pg_locks WHERE relation = '$1'::regclass AND mode = 'ExclusiveLock' AND granted)"
}

release() {
  psql -qc "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'holder'" >/dev/null
  wait $holder || true
}

kill_within() { # kill_within TABLE: of `hold`. Kills the hub within the transaction that is about to change it, and starts it again
  until_true "EXISTS (SELECT FROM pg_locks WHERE relation = '$1'::regclass AND NOT granted)"
  kill_hub $HUB_PORT
  release
  start_hub_at $HUB_PORT
  kills=$((kills + 1))
}

kill_now() { kill_when hub true; }

moment() { date -u -d "+$1 seconds" +%FT%TZ; } # moment SECONDS: from now on

of_sendout() { echo "(SELECT $1 FROM sendout WHERE sendout_id = $sendout)"; } # of_sendout COLUMN: SQL of it

# What phones got of all sendouts under kills: each push once, and again only what was in flight, with the same apns-id.
check_phones() { # check_phones PROMISE
  check "$1: no push missed, repeats within $WINDOW a kill, with the same apns-id and a reason in the ledger" \
    "$kills kills, $(value "count(*) FROM push WHERE state <> 'accepted'") of $(value "count(*) FROM push") not accepted, $(
      value "count(*) - count(DISTINCT apns_id) FROM arrival") repeats" \
    "(SELECT count(DISTINCT apns_id) FROM arrival WHERE reply = '200') = (SELECT count(*) FROM push)
      AND NOT EXISTS (SELECT FROM arrival WHERE reply <> '200')
      AND NOT EXISTS (SELECT FROM push WHERE state <> 'accepted' OR attempts > 1 AND resent_because IS NULL)
      AND (SELECT count(*) - count(DISTINCT apns_id) FROM arrival)
        <= least($kills * $WINDOW, (SELECT coalesce(sum(attempts - 1), 0) FROM push))"
}

# ---- runs

# Two variants are tried on a fifth each, and after a minute the rest gets one of them. As nobody opens any, that is the first.
campaign_killed() {
  begin "$OTHERS"
  local kills=0 client after
  start_hub_at $HUB_PORT
  sendout=$(json sendouts '{"name":"Campaign","appId":"com.example.bench","audience":{"all":true},"message":{"alert":"Hi {{firstName}}"},
    "startAt":"'"$(moment 40)"'","draft":true,"winner":{"afterMinutes":1,"undecided":"best"},
    "variants":[{"name":"A","share":20,"message":{"alert":"A {{firstName}}"}},{"name":"B","share":20,"message":{"alert":"B {{firstName}}"}}]}' |
    field sendoutId)
  hold audit_log
  schedule_once &
  client=$!
  kill_within audit_log
  wait $client || true
  after=$(value "$(of_sendout state)")
  schedule_once
  kill_now
  hold sendout_pace # its freeze has written the pushes by then, and not their batches
  kill_within sendout_pace
  kill_when hub "$(of_sendout 'frozen_at IS NOT NULL')"
  hold sendout_variant
  until_arrived $((size / 5))
  kill_now
  kill_within sendout_variant
  kill_when hub "$(of_sendout 'winner_no IS NOT NULL')"
  until_arrived $((size * 7 / 10))
  kill_now
  until_finished
  finish
  check_states
  check_phones "a campaign under kills within and behind schedule, snapshot and winner, and at work"
  # A killed hub's commit may have been on its way.
  check "a campaign under kills: scheduled, frozen and decided about once" \
    "$after after a schedule that was cut off, $(value "count(*) || ' pushes to ' || count(DISTINCT contact_id) || ' contacts' FROM push"), $(
      value "string_agg(contacts || ' of ' || coalesce(nullif(name, ''), 'the rest'), ', ' ORDER BY variant_no) FROM sendout_variant"), $(
      value "$(of_sendout "winner_no || ' by ' || winner_by")") for the rest" \
    "(SELECT count(*) = 1 FROM audit_log WHERE action = 'sendout.schedule')
      AND (SELECT count(*) = $size AND count(DISTINCT contact_id) = $size FROM push)
      AND (SELECT sum(contacts) = $size AND count(*) = 3 FROM sendout_variant)
      AND NOT EXISTS (SELECT FROM sendout_variant v WHERE contacts <> (SELECT count(*) FROM push WHERE variant = v.variant_no))
      AND (SELECT count(*) = 1 AND bool_and(winner_no = 1 AND winner_by = 'best') FROM sendout)"
  check "a campaign under kills: nothing leaves before its start, and nothing of those who wait before the decision" \
    "$(value "count(*) FROM push JOIN sendout USING (customer_id, sendout_id)
      WHERE sent_at < CASE variant WHEN 0 THEN winner_at ELSE start_at END - interval '1 s'") too early" \
    "NOT EXISTS (SELECT FROM push JOIN sendout USING (customer_id, sendout_id)
      WHERE sent_at IS NULL OR sent_at < CASE variant WHEN 0 THEN winner_at ELSE start_at END - interval '1 s')"
}

schedule_once() { # the same request each time
  api "sendouts/$sendout/schedule" -X POST -H 'Idempotency-Key: schedule' >/dev/null 2>&1
}

# Days do not pass here, so the next time of the series is pulled near.
series_killed() {
  begin "$RACES"
  local kills=0 series time
  start_hub_at $HUB_PORT
  series=$(json sendouts '{"name":"Daily","appId":"com.example.bench","audience":{"all":true},"message":{"alert":"Hi {{firstName}}"},
    "startAt":"'"$(moment 3600)"'","repeat":{"every":"day"}}' | field seriesId)
  for time in 1 2 3; do
    hold series
    pull_near "now()"
    kill_within series
    kill_when hub "EXISTS (SELECT FROM sendout WHERE series_no = $((time + 1)))"
    sendout=$(value "sendout_id FROM sendout WHERE series_no = $time")
    until_finished
  done
  # Without a hub for two days and two hours.
  kill_hub $HUB_PORT
  pull_near "now() - interval '50 hours'"
  start_hub_at $HUB_PORT
  kill_when hub "EXISTS (SELECT FROM sendout WHERE halt_reason LIKE 'late%')"
  until_true "EXISTS (SELECT FROM sendout WHERE state = 'scheduled' AND start_at > now())"
  api "sendouts/series/$series/end" -X POST >/dev/null
  kill_now
  sleep 2 # a scan or two
  finish
  check_phones "a series under kills, each time"
  check "a series under kills: each time is made once, and goes once" \
    "$(value "count(*) || ' times, ' || count(*) FILTER (WHERE state = 'finished') || ' finished' FROM sendout")" \
    "(SELECT count(*) = max(series_no) AND min(series_no) = 1 AND count(*) FILTER (WHERE state = 'finished') = 3 FROM sendout)
      AND (SELECT count(*) = 3 AND bool_and(pushes = $size) FROM (SELECT count(*) AS pushes FROM push GROUP BY sendout_id) AS one)"
  check "a series under kills: each time that passed while no hub was there waits as late; after the series' end none is left" \
    "$(value "string_agg(to_char(start_at AT TIME ZONE 'UTC', 'Dy HH24:MI ') || coalesce(halt_reason, state), ', ' ORDER BY series_no)
      FROM sendout WHERE series_no > 3")" \
    "(SELECT count(*) >= 3 AND bool_and(CASE WHEN start_at < now() - interval '1 hour' THEN state = 'paused' AND halt_reason LIKE 'late%'
          ELSE state = 'cancelled' END) FROM sendout WHERE series_no > 3)
      AND (SELECT bool_and(day = before + 1) FROM (SELECT (start_at AT TIME ZONE 'UTC')::date AS day,
             lag((start_at AT TIME ZONE 'UTC')::date) OVER (ORDER BY series_no) AS before FROM sendout WHERE series_no > 3) AS one)
      AND (SELECT ended_at IS NOT NULL FROM series)"
}

pull_near() { # pull_near MOMENT: of what is scheduled
  psql -qc "UPDATE sendout SET start_at = $1, next_at = $1, scheduled_at = least(scheduled_at, $1) WHERE state = 'scheduled'"
}

# The receiver answers after a second, so that kills find posts on their way. Those are posted again after a minute.
webhook_killed() {
  begin "$RACES"
  local kills=0 posts helpers=()
  local told="NOT EXISTS (SELECT FROM webhook_event WHERE delivery_id IS NULL) AND NOT EXISTS (SELECT FROM webhook_delivery WHERE state = 'waiting')"
  start_hub_at $HUB_PORT
  start_stranger events $WEBHOOK_PORT stranger.pem 1 "$work/events"
  json webhooks '{"url":"https://localhost:'$WEBHOOK_PORT'/","events":["push.accepted","sendout.started","sendout.finished"]}' >/dev/null
  hold webhook_delivery
  start_sendout
  kill_within webhook_delivery
  for _ in 1 2 3; do
    posts=$(wc -l <events)
    # A few pushes may all be told at once: then nothing comes after that.
    until [ "$(wc -l <events)" -gt "$posts" ] ||
      [ "$(psql -Atc "SELECT $told AND EXISTS (SELECT FROM webhook_delivery WHERE event = 'sendout.finished')")" = t ]; do
      sleep 0.1 && alive
    done
    kill_now
  done
  until_finished
  until_true "$told"
  kill "${helpers[@]}"
  finish
  psql -q -c 'CREATE TABLE post (at float, id text, event text, items text[])' -c "\\copy post FROM events DELIMITER ' '" \
    -c 'CREATE TABLE item AS SELECT DISTINCT id, event, unnest(items) AS item FROM post'
  check_phones "a sendout under kills that a webhook is told of"
  check "a webhook under kills: each accepted push, start and end is told, and by one webhook-id" \
    "$(value "count(*) || ' posts by ' || count(DISTINCT id) || ' ids' FROM post"), $(
      value "count(DISTINCT item) FROM item WHERE event = 'push.accepted'") of $size pushes, $(
      value "count(*) - count(DISTINCT (event, item)) FROM item") by two ids" \
    "(SELECT count(*) = count(DISTINCT (event, item)) FROM item)
      AND (SELECT count(*) FROM item JOIN push ON item = sendout_id || '-' || push_no WHERE event = 'push.accepted') = $size
      AND (SELECT array_agg(event || ' ' || item ORDER BY event) = ARRAY['sendout.finished $sendout', 'sendout.started $sendout']
             FROM item WHERE event <> 'push.accepted')"
  check "a webhook under kills: what is posted again is what was on its way, with the same webhook-id" \
    "$(value "count(*) - count(DISTINCT id) FROM post") posted again" \
    "(SELECT count(DISTINCT id) FROM post) = (SELECT count(*) FROM webhook_delivery)
      AND (SELECT count(*) - count(DISTINCT id) FROM post) <= (SELECT sum(attempts - 1) FROM webhook_delivery)
      AND (SELECT count(*) - count(DISTINCT id) FROM post) <= 8 * $kills"
}

# In a third of the zones the time comes in a minute, in another an hour later, which is now for the hub that is ahead. In the last it was over.
local_clocks() {
  begin "$OTHERS"
  local wall early dates sent
  psql -q -c "UPDATE contact SET time_zone = (ARRAY['Africa/Abidjan', 'Atlantic/Cape_Verde', 'Asia/Tokyo'])[1 + contact_id % 3] WHERE customer_id = 1" \
    -c 'VACUUM ANALYZE contact'
  start_hub_off $HUB_PORT -1h
  start_hub_off $((HUB_PORT + 1)) +1h
  dates=$(hub_dates)
  wall=$(value "to_char(now() AT TIME ZONE 'UTC' + interval '100 s', 'YYYY-MM-DD\"T\"HH24:MI')")
  sendout=$(json sendouts '{"name":"Local","appId":"com.example.bench","audience":{"all":true},"message":{"alert":"Hi {{firstName}}"},
    "localTime":"'"$wall"'"}' | field sendoutId)
  until_true "now() AT TIME ZONE 'UTC' > timestamp '$wall' - interval '2 s'"
  early=$(wc -l <"$arrivals")
  until_true "EXISTS (SELECT FROM push) AND NOT EXISTS (SELECT FROM push JOIN sendout_zone USING (customer_id, sendout_id, zone_no)
    WHERE zone = 'Africa/Abidjan' AND settled_at IS NULL)"
  sent=$(hub_sends)
  sleep 10 # in which nothing more is to come
  verb "$sendout" cancel "$KEY"
  sleep 2
  finish
  psql -qc "CREATE TABLE place AS SELECT zone, p.state, p.reason, coalesce(times, 0) AS times, b.claimed_at < b.planned_at AS is_early
    FROM push p JOIN push_batch b USING (customer_id, sendout_id, batch_no) JOIN sendout_zone USING (customer_id, sendout_id, zone_no)
    JOIN device d ON d.customer_id = p.customer_id AND d.device_id = p.device_id LEFT JOIN phone USING (token)"
  # shellcheck disable=SC2086
  set -- $dates
  check "two hubs, clocks two hours apart: each zone gets it at its own time, once, and where that was over nobody does" \
    "clocks $((($2 - $1) / 60)) minutes apart, each sent some ($sent ), $early before the time, $(
      value "string_agg(n || ' ' || concat_ws(' ', zone, state, reason, times) || ' times', ', ' ORDER BY zone, n)
        FROM (SELECT zone, state, reason, times, count(*) AS n FROM place GROUP BY 1, 2, 3, 4) AS one")" \
    "$2 - $1 BETWEEN 7190 AND 7210 AND $early = 0 AND 0 < ALL (string_to_array(trim('$sent'), ' ')::int[])
      AND (SELECT count(*) = $size AND bool_and(CASE zone WHEN 'Africa/Abidjan' THEN state = 'accepted' AND times = 1 AND NOT is_early
             WHEN 'Asia/Tokyo' THEN state = 'skipped' AND reason = 'missed' AND times = 0
             ELSE state = 'cancelled' AND times = 0 END) FROM place)"
}

# 50 sendouts at once to all contacts, who get three of them. One of two hubs is killed.
caps() {
  begin "$KEYS"
  local port start kills=0 clients=()
  start_hub_at $HUB_PORT
  start_hub_at $((HUB_PORT + 1))
  start=$(moment 20)
  api customer -X PATCH -H 'Content-Type: application/json' -d '{"caps":[{"count":3,"per":"24h","purpose":"marketing"}]}' >/dev/null
  for port in $HUB_PORT $((HUB_PORT + 1)); do
    ask 5 25 POST "$port" /api/v1/sendouts "$KEY" '{"name":"Offer {n}","appId":"com.example.bench","audience":{"all":true},
      "message":{"alert":"Hi {{firstName}}"},"startAt":"'"$start"'"}' >>helpers.log &
    clients+=($!)
  done
  wait "${clients[@]}"
  until_arrived "$size"
  kill_now
  until_true "NOT EXISTS (SELECT FROM sendout WHERE state <> 'finished')"
  finish
  check "50 sendouts at once at two hubs, one killed, and a cap of 3: each contact gets three, nobody more" \
    "$(value "string_agg(n || ' phones with ' || ids, ', ' ORDER BY ids) FROM (SELECT ids, count(*) AS n FROM phone GROUP BY ids) AS one"), $(
      value "sum(times - ids) FROM phone") repeats" \
    "(SELECT count(*) = 50 FROM sendout) AND (SELECT count(*) = $size AND bool_and(ids = 3) FROM phone)
      AND (SELECT sum(times - ids) FROM phone) <= $WINDOW"
  check "50 sendouts at once and a cap: whoever is left out has the rule in the ledger, and the days' counts are exact" \
    "$(value "string_agg(n || ' ' || concat_ws(' ', state, reason), ', ') FROM (SELECT state, reason, count(*) AS n FROM push
      WHERE state <> 'accepted' GROUP BY 1, 2) AS one"), counted $(value "sum(contacts) || ' and ' || sum(capped) FROM cap_day")" \
    "(SELECT count(*) FILTER (WHERE state = 'accepted') = 3 * $size
        AND count(*) FILTER (WHERE state = 'skipped' AND reason = 'capped 3/24h marketing') = 47 * $size AND count(*) = 50 * $size FROM push)
      AND (SELECT sum(contacts) = 3 * $size AND sum(capped) = 47 * $size FROM cap_day)"
}
