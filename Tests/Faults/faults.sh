# The faults of Tests/Faults/run: what they start, what they count, and one function for each fault.
HUB_PORT=27080 SIMULATOR_PORT=27543 PHONE_PORT=27090 # not those of a benchmark that runs at the same time
declare -A hubs=()

# ---- processes

start_simulator() { # its file of requests is $arrivals
  arrivals=$work/arrivals
  rm -f "$arrivals"
  "$PUSHCART" simulator --ca-file simulator.pem --free-ports --apns-port $SIMULATOR_PORT \
    --fcm-port $((SIMULATOR_PORT + 2)) --hms-port $((SIMULATOR_PORT + 3)) --webpush-port $((SIMULATOR_PORT + 4)) \
    --sms-port $((SIMULATOR_PORT + 6)) --phone-port $PHONE_PORT --apns-requests "$arrivals" >/dev/null 2>>simulator.log &
  simulator=$!
  until phone connections >/dev/null 2>&1; do sleep 0.1 && alive "the Simulator"; done
  { cat simulator.pem && echo && cat stranger.crt; } >trusted.pem # the other is of servers of neighbours.py
}

phone() { # phone rules|connections [JSON]: what the Simulator is told, and what it tells
  curl -sf "http://127.0.0.1:$PHONE_PORT/$1" ${2:+-H 'Content-Type: application/json' -d "$2"}
}

start_hub_at() { # start_hub_at PORT [COMMAND…]: the command starts the hub, with what is appended to it
  local port=$1
  shift
  "$@" "$PUSHCART" serve --host 127.0.0.1 --port "$port" --apns-production-url "https://localhost:$SIMULATOR_PORT" \
    --apns-sandbox-url "https://localhost:$SIMULATOR_PORT" --fcm-url "https://localhost:$((SIMULATOR_PORT + 2))" \
    --google-token-url "https://localhost:$((SIMULATOR_PORT + 2))/token" \
    --hms-url "https://localhost:$HTTP2_PORT" \
    --hms-token-url "https://localhost:$((SIMULATOR_PORT + 3))/oauth2/v3/token" \
    --webpush-allowed-hosts "localhost:$((SIMULATOR_PORT + 4)),localhost:$HTTP2_PORT" \
    --webhook-allowed-hosts "localhost:$WEBHOOK_PORT" --provider-ca-file trusted.pem --log-level warning 2>>hub.log &
  hubs[$port]=$!
  until alive && curl -sf "http://127.0.0.1:$port/readyz" >/dev/null; do sleep 0.1; done
}

start_hub_off() { # start_hub_off PORT OFFSET: one whose clock is off by that, as -2h
  local library
  library=$(ls /usr/lib/*/faketime/libfaketimeMT.so.1 2>/dev/null | head -1) || true
  [ -n "$library" ] || { echo "libfaketime is missing: apt-get install libfaketime" >&2 && exit 1; }
  # The first process with libfaketime gets a changed environment, in which Swift does not find its arguments. So that is a shell.
  start_hub_at "$1" env LD_PRELOAD="$library" FAKETIME="$2" FAKETIME_DONT_FAKE_MONOTONIC=1 sh -c 'exec "$@"' sh
}

hub_dates() { # when it is now for each hub, in seconds, in the order of their ports
  local port
  for port in $(printf '%s\n' "${!hubs[@]}" | sort -n); do
    printf ' %s' "$(date -d "$(curl -sI "http://127.0.0.1:$port/healthz" | tr -d '\r' | sed -n 's/^date: //Ip')" +%s)"
  done
}

hub_sends() { # how many pushes each hub has sent
  local port
  for port in "${!hubs[@]}"; do
    curl -sf "http://127.0.0.1:$port/metrics" | awk '/^pushcart_pushes_total/ { n += $2 } END { printf " %d", n }'
  done
}

kill_hub() { # kill_hub PORT
  kill -KILL "${hubs[$1]}"
  { wait "${hubs[$1]}" || true; } 2>/dev/null
  unset "hubs[$1]"
}

kill_postgres() { kill -KILL "$(head -1 pg/data/postmaster.pid)"; }

restart_postgres() { # once the last of the old server's processes is gone
  until as_postgres "$PG_BIN/pg_ctl" -D "$work/pg/data" -w -l "$work/pg/log" \
    -o "-c listen_addresses='' -k $work/pg -c shared_buffers=512MB -c max_wal_size=4GB" start >/dev/null 2>&1; do sleep 0.2 && alive "PostgreSQL"; done
}

end() {
  set +e
  pids+=("${hubs[@]}" ${simulator:-})
  tear_down
}

# ---- a fault's beginning and its truth

begin() { # begin COUNT: a database of its own with so many devices, and a Simulator
  size=$1 deadline=$((SECONDS + PATIENCE))
  export PGDATABASE=${FUNCNAME[1]}
  createdb "$PGDATABASE"
  make_customers
  seed public 1 "$size"
  psql -qc ANALYZE
  start_simulator
}

start_sendout() { # start_sendout [POLICY]: to all devices, whatever fails; sets $sendout
  sendout=$(json sendouts '{"appId":"com.example.bench","audience":{"all":true},"message":{"alert":"Hi {{firstName}}"},"start":true,
    "onUncertain":"'"${1:-resend}"'","pauseAtFailed":1}' | field sendoutId)
}

until_arrived() { # until_arrived COUNT
  until [ "$(wc -l <"$arrivals")" -ge "$1" ]; do sleep 0.2 && alive "$1 requests"; done
}

until_finished() { until_true "(SELECT state = 'finished' FROM sendout WHERE sendout_id = $sendout)"; }

until_true() { # until_true CONDITION: of SQL
  until [ "$(value "$1")" = t ]; do sleep 0.1 && alive "$1"; done
}

alive() { # alive [WHAT]: that is waited for. Or the run ends here
  local pid
  for pid in "${hubs[@]}" "$simulator"; do kill -0 "$pid" || { tail ./*.log >&2; exit 1; }; done
  [ $SECONDS -lt $deadline ] || give_up "${1:-}"
}

give_up() { # give_up WHAT: says what the run waits for, and what there is instead
  local frame
  set +e
  {
    echo "$PGDATABASE: no end within $PATIENCE seconds, waiting${1:+ for: $1}"
    for frame in "${!FUNCNAME[@]}"; do echo "  ${FUNCNAME[frame]}, line ${BASH_LINENO[frame]}"; done
    echo "$(wc -l <"$arrivals") requests have arrived"
    psql -xc 'TABLE sendout' -c 'TABLE import' -c 'TABLE erasure' -c "SELECT pid, application_name, state, wait_event, query FROM pg_stat_activity
      WHERE datname = current_database() AND state <> 'idle' AND pid <> pg_backend_pid()" | cut -c -200
    tail hub.log
  } >&2
  exit 1
}

stop_all() { # but PostgreSQL
  local port
  for port in "${!hubs[@]}"; do kill -TERM "${hubs[$port]}" && wait "${hubs[$port]}" || true; done
  hubs=()
  kill -TERM "$simulator" && wait "$simulator" || true
  simulator=
}

# Stops everything but PostgreSQL, and loads what arrived. From here on, SQL tells.
finish() {
  stop_all
  psql -q <<'END'
CREATE TABLE arrival (connection int, stream int, token text, apns_id text, reply text);
\copy arrival FROM arrivals
CREATE TABLE phone AS
  SELECT token, count(*) AS times, count(DISTINCT apns_id) AS ids FROM arrival WHERE reply = '200' GROUP BY token;
CREATE TABLE told AS
  SELECT sendout_id, push_no, d.token, state, attempts, resent_because, coalesce(times, 0) AS times, ids
  FROM push p JOIN device d USING (customer_id, device_id) LEFT JOIN phone USING (token);
ANALYZE;
END
}

value() { psql -Atc "SELECT $1"; }

check() { # check PROMISE FIGURE CONDITION: the condition is SQL
  local verdict=FAILED
  [ "$(value "$3")" != t ] || verdict=ok
  printf '%s|%s|%s|%s\n' "$PGDATABASE" "$1" "$2" $verdict | tee -a results | awk -F'|' '{ print $1 ": " $2 ": " $3 ": " $4 }'
}

# By states: as the pushes themselves have them, and as the batches count them.
check_states() {
  local states
  states=$(value "string_agg(n || ' ' || state, ', ' ORDER BY state)
    FROM (SELECT state, count(*) AS n FROM push GROUP BY state) s")
  check "states sum exactly, counted by pushes and by batches" "$states" "
    (SELECT ARRAY[count(*), count(*) FILTER (WHERE state = 'accepted'), count(*) FILTER (WHERE state = 'uncertain'),
        $size]::numeric[] FROM push WHERE sendout_id = $sendout)
    = (SELECT ARRAY[audience, accepted, uncertain, accepted + uncertain]::numeric[] FROM sendout_counts WHERE sendout_id = $sendout)"
}

# ---- faults

broadcast_skip() {
  begin "$DEVICES"
  broadcast skip
  check_states
  check "skip: no device twice" "$(value "count(*) FROM told WHERE times > 1") twice" \
    "NOT EXISTS (SELECT FROM told WHERE times > 1)"
  check "skip: whoever was left out is uncertain, $WINDOW a kill at most" \
    "$(value "count(*) FROM told WHERE state = 'uncertain'") uncertain, $(
      value "count(*) FROM told WHERE times = 0") of them left out" \
    "NOT EXISTS (SELECT FROM told WHERE times = 0 AND state <> 'uncertain')
      AND (SELECT count(*) FROM told WHERE state = 'uncertain') <= 5 * $WINDOW"
}

broadcast_resend() {
  begin "$DEVICES"
  broadcast resend
  check_states
  check "resend: no device missed" "$(value "count(*) FROM told WHERE times = 0") missed" \
    "NOT EXISTS (SELECT FROM told WHERE times = 0 OR state <> 'accepted')"
  check "resend: repeats are at most what was in flight, $WINDOW a kill" \
    "$(value "coalesce(sum(times - 1), 0) FROM told") repeats" \
    "(SELECT sum(times - 1) FROM told) <= 5 * $WINDOW"
  check "resend: a repeat has the same apns-id, and the ledger says why" \
    "$(value "count(*) FROM told WHERE times > 1 AND ids = 1 AND attempts > 1 AND resent_because IS NOT NULL") of $(
      value "count(*) FROM told WHERE times > 1")" \
    "NOT EXISTS (SELECT FROM told WHERE times > 1 AND (ids > 1 OR attempts < 2 OR resent_because IS NULL))"
}

broadcast() { # broadcast POLICY: five SIGKILLs of the hub and, in the middle, one of PostgreSQL
  local kill
  start_hub_at $HUB_PORT
  start_sendout "$1"
  for kill in 1 2 3 4 5 6; do
    until_arrived $((kill * size / 7))
    if [ $kill = 4 ]; then
      kill_postgres
      restart_postgres
    else
      kill_hub $HUB_PORT
      start_hub_at $HUB_PORT
    fi
  done
  until_finished
  finish
}

go_away() { # GOAWAY after 50 to 500 requests, over and over
  begin "$OTHERS"
  local at=0 count=0
  RANDOM=1
  while at=$((at + 50 + RANDOM % 451)) && [ $at -lt "$size" ]; do
    phone rules "{\"nth\":$at,\"times\":1,\"reply\":\"goAway\"}" >/dev/null
    count=$((count + 1))
  done
  start_hub_at $HUB_PORT
  start_sendout
  until_finished
  finish
  check "GOAWAY every 50 to 500 requests: no device missed, none twice" \
    "$(value "count(*) FROM arrival WHERE reply = 'goAway'") GOAWAYs, $(value "count(*) FROM told WHERE times = 0") missed, $(
      value "count(*) FROM told WHERE times > 1") twice" \
    "(SELECT count(*) FROM arrival WHERE reply = 'goAway') = $count
      AND NOT EXISTS (SELECT FROM told WHERE times <> 1 OR state <> 'accepted')"
}

stream_limits() { # requests stay open for a moment, so that the limit is what holds them back
  begin "$OTHERS"
  local changes=0 violations
  phone rules '{"reply":"accept","delayMilliseconds":10}' >/dev/null
  start_hub_at $HUB_PORT
  start_sendout
  until_arrived 1
  while [ "$(wc -l <"$arrivals")" -lt "$size" ]; do
    for limit in 500 1000 1 1000 500 1; do
      phone connections "{\"order\":\"limitStreams\",\"limit\":$limit}"
      changes=$((changes + 1))
      sleep 0.1
    done
    phone connections '{"order":"limitStreams","limit":500}'
    sleep 0.5 && alive
  done
  violations=$(phone connections | field streamsBeyondLimit)
  until_finished
  finish
  check "stream limit between 1, 500 and 1000: never exceeded, no device missed, none twice" \
    "$changes changes, $violations streams beyond it, $(value "count(*) FROM told WHERE times <> 1") missed or twice" \
    "$violations = 0 AND NOT EXISTS (SELECT FROM told WHERE times <> 1 OR state <> 'accepted')"
}

clocks() { # three hubs, two of them two hours off, and one of these killed
  local offset port dates sent
  begin "$OTHERS"
  port=$HUB_PORT
  for offset in -2h +2h +0; do
    start_hub_off $port $offset
    port=$((port + 1))
  done
  dates=$(hub_dates)
  # shellcheck disable=SC2086
  set -- $dates
  start_sendout
  until_arrived $((size / 2))
  sent=$(hub_sends)
  kill_hub $HUB_PORT
  until_finished
  finish
  check "three hubs, clocks two hours off to either side, one killed: none missed, none refused, repeats within $WINDOW" \
    "clocks $((($2 - $1) / 60)) minutes apart, each sent some by half time ($sent ), $(
      value "count(*) FROM told WHERE times = 0") missed, $(value "count(*) FROM arrival WHERE reply <> '200'") refused, $(
      value "coalesce(sum(times - 1), 0) FROM told") repeats" \
    "$2 - $1 > 14000 AND 0 < ALL (string_to_array(trim('$sent'), ' ')::int[])
      AND NOT EXISTS (SELECT FROM arrival WHERE reply <> '200')
      AND NOT EXISTS (SELECT FROM told WHERE times = 0 OR ids > 1 OR state <> 'accepted' OR times > 1 AND resent_because IS NULL)
      AND (SELECT sum(times - 1) FROM told) <= $WINDOW"
}

# Each token is registered again while the 410 for it, dated before that, is on its way. If the 410 comes second, the push is
# retried.
races() {
  begin "$RACES"
  local since registered delay
  since=$(value "ceil(extract(epoch FROM clock_timestamp()) * 1000)")
  for delay in 1 50 300 1000; do # the last for all that are left, retries included
    phone rules "{\"reply\":\"refuse\",\"status\":410,\"reason\":\"Unregistered\",\"since\":$since,
      \"delayMilliseconds\":$delay,\"times\":$([ $delay = 1000 ] && echo null || echo $((RACES / 4)))}" >/dev/null
  done
  start_hub_at $HUB_PORT
  timeout "$PATIENCE" python3 "$folder/clients.py" race "$arrivals" "$RACES" "$KEY" $HUB_PORT >registered &
  local client=$!
  start_sendout
  wait $client
  registered=$(cat registered)
  curl -sf -X DELETE "http://127.0.0.1:$PHONE_PORT/rules"
  until_finished
  finish
  check "410 against re-registration: no live token retired" \
    "$registered re-registered, $(
      value "count(DISTINCT device_id) FROM device_event WHERE kind = 'invalidated'") of them just after they were retired, $(
      value "count(*) FROM device WHERE customer_id = 1 AND invalidated_at IS NOT NULL") retired at the end" \
    "$registered = $size AND (SELECT count(DISTINCT token) FROM arrival WHERE reply = '410 Unregistered') = $size
      AND NOT EXISTS (SELECT FROM device WHERE customer_id = 1 AND invalidated_at IS NOT NULL)"
}

idempotency() { # the same request 100 times at once, half of them at another hub
  begin "$KEYS"
  local created ids
  start_hub_at $HUB_PORT
  start_hub_at $((HUB_PORT + 1))
  read -r created ids < <(timeout "$PATIENCE" python3 "$folder/clients.py" repeat "$KEYS" 100 "$KEY" $HUB_PORT $((HUB_PORT + 1)))
  until [ "$(value "count(*) FROM push WHERE settled_at IS NULL")" = 0 ]; do sleep 0.2 && alive; done
  finish
  check "the same Idempotency-Key 100 times at once: one message for each key" \
    "$created replies of 201 for $KEYS keys at two hubs, $(value "count(*) FROM message") messages, $(
      value "count(*) FROM arrival") pushes" \
    "$created = 100 * $KEYS AND $ids = $KEYS AND (SELECT count(*) FROM message) = $KEYS
      AND (SELECT count(*) FROM arrival) = $KEYS"
}

database_away() { # for 15 seconds, which is longer than the lease
  begin "$OTHERS"
  start_hub_at $HUB_PORT
  python3 "$folder/clients.py" messages accepted "$KEY" $HUB_PORT &
  local client=$!
  start_sendout
  until_arrived $((size / 3))
  psql -qc "CREATE TABLE before AS SELECT sendout_id, push_no, settled_at FROM push WHERE state = 'accepted'"
  as_postgres "$PG_BIN/pg_ctl" -D "$work/pg/data" -m immediate stop >/dev/null
  sleep 15
  restart_postgres
  until_finished
  sleep 1
  kill -TERM $client && wait $client
  until [ "$(value "count(*) FROM push WHERE settled_at IS NULL")" = 0 ]; do sleep 0.2 && alive; done
  finish
  psql -q -c 'CREATE TABLE promised (message_id text)' -c '\copy promised FROM accepted' \
    -c "CREATE VIEW kept AS SELECT sendout_id || '-' || message_no AS message_id FROM push WHERE state = 'accepted'"
  check "database away for 15 s: what was accepted stays accepted, none missed, repeats within $WINDOW and in the ledger" \
    "$(value "count(*) FROM before") pushes before, $(
      value "count(*) FROM before LEFT JOIN push USING (sendout_id, push_no) WHERE state IS DISTINCT FROM 'accepted'") lost of them, $(
      value "count(*) FROM promised") messages acknowledged, $(
      value "count(*) FROM promised WHERE message_id NOT IN (SELECT message_id FROM kept)") lost of them, $(
      value "count(*) FROM push WHERE state <> 'accepted'") not accepted, $(
      value "count(*) - count(DISTINCT apns_id) FROM arrival WHERE reply = '200'") repeats" \
    "(SELECT count(*) FROM before) > 0 AND (SELECT count(*) FROM promised) > 0
      AND NOT EXISTS (SELECT FROM push WHERE state <> 'accepted')
      AND NOT EXISTS (SELECT FROM promised WHERE message_id NOT IN (SELECT message_id FROM kept))
      AND (SELECT count(DISTINCT apns_id) FROM arrival WHERE reply = '200') = (SELECT count(*) FROM push)
      AND (SELECT count(*) - count(DISTINCT apns_id) FROM arrival WHERE reply = '200')
        <= least($WINDOW, (SELECT count(*) FROM push WHERE attempts > 1 AND resent_because IS NOT NULL))"
}

kill_when() { # kill_when hub|postgres CONDITION: kills it once the condition is true, and starts it again
  until_true "$2"
  kill_and_start "$1"
}

kill_and_start() { # kill_and_start hub|postgres [MARK]
  case $1 in
  hub)
    kill_hub $HUB_PORT
    [ -z "${2:-}" ] || forget_mark "$2"
    start_hub_at $HUB_PORT
    ;;
  postgres)
    kill_postgres
    restart_postgres
    [ -z "${2:-}" ] || forget_mark "$2"
    ;;
  esac
  kills=$((kills + 1))
}

# Steps end in an update of their row. At a mark, that update waits in a trigger. So a kill falls within the step, however few or short they are.
mark() { # mark NAME TABLE CONDITION: of OLD and NEW. A step that comes to several is held at them in the order of their names
  psql -qv ON_ERROR_STOP=1 <<END
SET client_min_messages = warning;
CREATE TABLE IF NOT EXISTS mark (name text);
INSERT INTO mark VALUES ('$1');
CREATE OR REPLACE FUNCTION wait_at_mark() RETURNS trigger LANGUAGE plpgsql AS \$\$
BEGIN
  WHILE EXISTS (SELECT FROM mark WHERE name = tg_name) LOOP
    PERFORM set_config('application_name', 'at ' || tg_name, true), pg_sleep(0.02);
  END LOOP;
  RETURN new;
END \$\$;
CREATE TRIGGER "$1" BEFORE UPDATE ON $2 FOR EACH ROW WHEN ($3) EXECUTE FUNCTION wait_at_mark();
END
}

forget_mark() { psql -qc "DELETE FROM mark WHERE name = '$1'"; }

kill_at() { # kill_at hub|postgres MARK: within the step that comes to the mark, and starts it again
  until_true "EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'at $2')"
  kill_and_start "$1" "$2"
}

api() { # api PATH [OPTION…]: of curl
  local path=$1
  shift
  curl -sSf --max-time "$PATIENCE" -H "Authorization: Bearer $KEY" "$@" "http://127.0.0.1:$HUB_PORT/api/v1/$path"
}

json() { api "$1" -H 'Content-Type: application/json' -d "$2"; } # json PATH BODY

send_file() {
  api "imports/$import/file" -T people.csv -H 'Content-Type: text/csv' >/dev/null 2>&1
}

# A file of contacts with tokens: half of them are known, every tenth is there twice, and every thousandth row is wrong. It is received in three
# attempts, of which kills cut off two; then its rows are checked by the columns that are chosen, merged, and their tokens registered.
import_killed() {
  begin "$OTHERS"
  local kills=0 import sender victim portion all=$((2 * size)) told
  awk -v n=$all 'BEGIN {
    print "Kundnr,firstName,dateOfBirth,deviceToken"
    for (i = 1; i <= n; i++) {
      if (i % 10 == 0) printf "user%d,Old%d,,\n", i, i
      if (i % 1000 == 0) printf "bad%d,Bad,never,\n", i
      printf "user%d,New%d,,e%063x\n", i, i, i
    }
  }' >people.csv
  mark 1_received import "new.state = 'receiving' AND new.attempt = 1 AND new.staged >= $size"
  mark 2_received import "new.state = 'receiving' AND new.attempt = 2 AND new.staged >= $size"
  for portion in checked merged registered; do # a quarter, then half of the rows
    mark ${portion}_1 import "new.state IN ('checking', 'merging') AND new.$portion >= new.staged / 4 AND new.$portion > old.$portion"
    mark ${portion}_2 import "new.state IN ('checking', 'merging') AND new.$portion >= new.staged / 2 AND new.$portion > old.$portion"
  done
  mark ended import "new.state = 'finished'"
  mark marked import "old.state = 'checking' AND new.state = 'merging'"
  start_hub_at $HUB_PORT
  import=$(json imports '{"review":true,"appId":"com.example.bench"}' | field importId)
  for victim in hub postgres; do
    send_file &
    sender=$!
    kill_at $victim $((kills + 1))_received
    wait $sender || true
  done
  until send_file; do sleep 1 && alive "the file to be received"; done
  json "imports/$import/start" '{"columns":{"Kundnr":"originalId"}}' >/dev/null
  kill_at hub checked_1
  kill_at postgres checked_2
  kill_at hub marked
  kill_at hub merged_1
  kill_at postgres merged_2
  kill_at hub registered_1
  kill_at postgres registered_2
  kill_at hub ended
  until_true "(SELECT cleared AND state IN ('finished', 'failed') FROM import)"
  stop_all
  told=$(value "concat_ws(', ', state, added || ' added', updated || ' updated', duplicates || ' duplicates', rejected || ' rejected',
    devices || ' tokens') FROM import")
  check "an import under $kills kills of hub and PostgreSQL, in each of its states: counts are exact" "$told" "
    (SELECT state = 'finished' AND ARRAY[staged, added, updated, unchanged, duplicates, skipped, rejected, devices]
        = ARRAY[$all + $all / 10 + $all / 1000, $size, $size, 0, $all / 10, 0, $all / 1000, $all]::bigint[] FROM import)"
  check "an import under kills: each contact, token and reject is there once, as the file's last row has it" \
    "$(value "count(*) FROM contact WHERE customer_id = 1") contacts, $(
      value "count(*) FROM device WHERE customer_id = 1 AND token LIKE 'e%'") tokens, $(
      value "count(*) FROM import_reject") rejects, $(value "count(*) FROM import_row") rows left" "
    (SELECT count(*) = $all AND bool_and(first_name = 'New' || substr(original_id, 5)) FROM contact WHERE customer_id = 1)
      AND (SELECT count(*) = $all AND bool_and(original_id = 'user' || ('x' || right(token, 8))::bit(32)::int)
             FROM device JOIN contact USING (customer_id, contact_id) WHERE customer_id = 1 AND token LIKE 'e%')
      AND (SELECT count(*) = $all / 1000 AND count(DISTINCT row_no) = count(*) FROM import_reject)
      AND NOT EXISTS (SELECT FROM import_row)"
}

# The person is named in one of ten lines of the audit log, and in one of ten rejects; all others stay as they are.
erasure_killed() {
  begin "$OTHERS"
  local kills=0 left portion
  psql -qv ON_ERROR_STOP=1 -v size="$size" <<'END'
INSERT INTO contact (customer_id, original_id, first_name, email_address) VALUES (1, 'canary@example.com', 'Canaria', 'canary@example.com');
INSERT INTO import (customer_id, mode, identity, dry_run, request, state, ended_at, headings, columns)
VALUES (1, 'upsert', 'originalId', false, '{}', 'finished', now(), '{originalId,city}', '{"originalId":"originalId","city":"city"}');
INSERT INTO import_reject (customer_id, import_id, row_no, line_no, original_id, problem, raw)
SELECT 1, import_id, i, i + 1, id, 'is wrong', id || ',Lund'
FROM import, generate_series(1, :size) i, LATERAL (SELECT CASE WHEN i % 10 = 0 THEN 'canary@example.com' ELSE 'user' || i END AS id) t;
INSERT INTO audit_log (customer_id, os_user, action, target, after)
SELECT 1, 'root', 'x', 'x ' || id, json_build_object('to', id, 'n', i)
FROM generate_series(1, 5 * :size) i, LATERAL (SELECT CASE WHEN i % 10 = 0 THEN 'canary@example.com' ELSE 'user' || i END AS id) t;
CREATE TABLE before AS
  SELECT audit_log::text AS line FROM audit_log WHERE target NOT LIKE '%canary%'
  UNION ALL SELECT import_reject::text FROM import_reject WHERE original_id NOT LIKE 'canary%';
ANALYZE;
END
  start_hub_at $HUB_PORT
  for portion in 1 2 3; do # of five of the audit log
    mark audit_$portion erasure "old.step = 'audit_log' AND (new.step IS DISTINCT FROM 'audit_log' OR new.cursor[1] > $portion * $size)"
  done
  mark begun erasure "old.step IS NULL"
  mark ended erasure "new.ended_at IS NOT NULL"
  mark rejects erasure "old.step = 'import_reject' AND (new.step IS DISTINCT FROM 'import_reject' OR new.cursor[1] > 0)"
  api contacts/canary%40example.com -X DELETE >/dev/null
  kill_at hub begun
  kill_at postgres rejects
  kill_at postgres audit_1
  kill_at hub audit_2
  kill_at postgres audit_3
  kill_at hub ended
  until_true "(SELECT ended_at IS NOT NULL FROM erasure)"
  stop_all
  "$PG_BIN/pg_dump" --data-only "$PGDATABASE" >dump
  left=$(grep -ci canar dump || true)
  check "an erasure under $kills kills of hub and PostgreSQL: nothing of the person is left in a dump" "$left lines" "$left = 0"
  check "an erasure under kills: its own lines and rejects alone are changed, each once" \
    "$(value "count(*) FROM audit_log WHERE target = 'x (erased)'") lines erased, $(
      value "count(*) FROM import_reject") rejects left, $(
      value "count(*) FROM (SELECT line FROM before EXCEPT ALL
        (SELECT audit_log::text FROM audit_log UNION ALL SELECT import_reject::text FROM import_reject)) AS other") others changed" "
    (SELECT count(*) = 5 * $size / 10 AND bool_and(after ->> 'to' = '(erased)') FROM audit_log WHERE target = 'x (erased)')
      AND (SELECT count(*) = $size - $size / 10 FROM import_reject)
      AND NOT EXISTS (SELECT line FROM before EXCEPT ALL
        (SELECT audit_log::text FROM audit_log UNION ALL SELECT import_reject::text FROM import_reject))"
}

table() {
  local server name promise figure verdict
  server=$(psql -Atc 'SHOW server_version' | cut -d' ' -f1)
  cat <<END
# Fault runs

\`DEVICES=$DEVICES OTHERS=$OTHERS RACES=$RACES KEYS=$KEYS make faults\` on $(date -I), with PostgreSQL $server. Processes are
killed at work. The Simulator writes a line for each request, and SQL compares these lines with the ledger. From \`undisturbed\` on,
one customer or push service misbehaves, and another customer is measured meanwhile.

| run | promise | figure | |
|---|---|---|---|
END
  while IFS='|' read -r name promise figure verdict; do echo "| \`$name\` | $promise | $figure | $verdict |"; done <results
}
