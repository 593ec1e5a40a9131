# Figures of Tests/Bench/run: each function prints one, a rate a second or a time in ms.

compare() { # compare NAME YARDSTICK HUB: the two in turns
  local round
  for round in $(seq "$ROUNDS"); do compare_once "$@"; done
}

compare_once() { # the figures and the hub's memory go into files of that name
  $2 >>"$1.yardstick"
  $3 >>"$1.hub"
  echo "$1 $(rss "$hub")" >>memory
  say "$1, round $(wc -l <"$1.hub"): yardstick $(tail -1 "$1.yardstick"), hub $(tail -1 "$1.hub")"
}

wrk_rate() { # wrk_rate CONNECTIONS URL [SCRIPT [ARGUMENT]]
  wrk -t1 -c"$1" -d"${SECONDS_EACH}s" ${3:+-s "$3"} "$2" ${4:+-- "$4"} >wrk.out
  if grep -q 'Non-2xx' wrk.out; then cat wrk.out hub.log >&2 && exit 1; fi
  awk '/Requests\/sec/ { print $2 }' wrk.out
}

pgbench_rate() { "$(command -v pgbench || echo "$PG_BIN/pgbench")" -n -M prepared -c 16 -j 1 -T "$SECONDS_EACH" -f "$1" 2>pgbench.err | awk '/^tps/ { print $3 }' || { cat pgbench.err >&2; return 1; }; }

median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }

# Half of the ids are known beforehand and half are new, the first time they come.
put_yardstick() {
  cat >put.sql <<END
\\set n random(1, 2 * $DEVICES)
WITH known AS (
  INSERT INTO yardstick.contact AS c (customer_id, original_id, first_name, last_name, email_address, properties)
  VALUES (2, 'user' || :n::int, 'Lars', 'Hansson', 'lars' || :n::int || '@example.com', '{"food":"meat"}')
  ON CONFLICT (customer_id, original_id) DO UPDATE SET first_name = excluded.first_name, last_name = excluded.last_name,
    email_address = excluded.email_address, properties = c.properties || excluded.properties, updated_at = now()
  RETURNING *),
registered AS (
  INSERT INTO yardstick.device AS d (customer_id, push_app_id, contact_id, token, token_key, manufacturer, model, os_version)
  SELECT 2, 2, contact_id, lpad(to_hex(:n::int), 64, '0'), decode(lpad(to_hex(:n::int), 64, '0'), 'hex'), 'apple', 'iphone 6', '9.2'
  FROM known
  ON CONFLICT (customer_id, push_app_id, token_key) DO UPDATE SET contact_id = excluded.contact_id,
    token = excluded.token, sandbox = excluded.sandbox, manufacturer = excluded.manufacturer, model = excluded.model,
    os_version = excluded.os_version, registered_at = now(), invalidated_at = NULL, invalidation_type = 0,
    invalidation_reason = NULL
  RETURNING *, xmax = 0 AS is_new),
event AS (
  INSERT INTO yardstick.device_event (customer_id, device_id, contact_id, kind)
  SELECT 2, device_id, contact_id, 'registered' FROM registered WHERE is_new)
SELECT * FROM known, registered;
END
  echo "pgbench_rate put.sql"
}

put_hub() {
  cat >put.lua <<END
function request()
  local n = math.random(1, 2 * $DEVICES)
  local body = string.format('{"originalId":"user%d","firstName":"Lars","lastName":"Hansson","emailAddress":"lars%d@example.com",'
    .. '"properties":{"food":"meat"},"deviceInfo":[{"devicetoken":"%064x","manufacturer":"apple","model":"iphone 6","osVersion":"9.2"}]}', n, n, n)
  return wrk.format("PUT", "/rest/1/apps/com.example.bench/pushdevices",
    { ["X-Carma-Authentication-Token"] = "$KEY", ["Content-Type"] = "application/json" }, body)
end
END
  echo "wrk_rate 64 $HUB put.lua"
}

get_yardstick() {
  cat >get.sql <<END
\\set n random(1, $DEVICES)
SELECT * FROM yardstick.contact c JOIN yardstick.device d USING (customer_id, contact_id) WHERE c.customer_id = 2 AND c.original_id = 'user' || :n::int;
END
  echo "pgbench_rate get.sql"
}

get_hub() {
  cat >get.lua <<END
function request()
  return wrk.format("GET", "/rest/1/apps/com.example.bench/pushdevices/user" .. math.random(1, $DEVICES),
    { ["X-Carma-Authentication-Token"] = "$KEY" })
end
END
  echo "wrk_rate 64 $HUB get.lua"
}

# Phones with a verified number each, and ten messages to every number.
make_phones() {
  local issued
  issued=$("$PUSHCART" hybrid enable --customer 1 --app com.example.bench --json)
  APP_KEY=$(field appKey <<<"$issued")
  APP_SECRET=$(field appSecret <<<"$issued")
  psql -qv ON_ERROR_STOP=1 -v n="$((DEVICES / 10))" <<'END'
INSERT INTO hybrid_registration (customer_id, device_hash, app_id, platform, user_agent, number, status, verified_at)
SELECT 1, sha256(uuid_send(('00000000-0000-4000-8000-' || lpad(i::text, 12, '0'))::uuid)), 'com.example.bench', 'Android', 'Android',
  (31600000000 + i)::text, 'PinVerified', now() - interval '1 day' FROM generate_series(1, :n) i;
INSERT INTO tracked_message (customer_id, sendout_id, message_no, app_id, recipient, sender, body, kind, parts, push_nos)
SELECT 1, 900000, 10 * i + m - 10, 'com.example.bench', (31600000000 + i)::text, 'Bench', 'Message ' || m, 'default', 1,
  ARRAY[10 * i + m - 10]
FROM generate_series(1, :n) i, generate_series(1, 10) m;
INSERT INTO message (customer_id, sendout_id, message_no, contact_id, push_nos, body)
SELECT customer_id, sendout_id, message_no, 1, ARRAY[message_no], '{"alert":"x"}' FROM tracked_message;
ANALYZE hybrid_registration, tracked_message, message;
END
}

messages_yardstick() {
  cat >messages.sql <<END
\\set n random(1, $((DEVICES / 10)))
SELECT h.message_guid, h.sendout_id, p.push_nos, h.recipient, h.sender, h.body, h.created_at, h.status
FROM tracked_message h JOIN message p USING (customer_id, sendout_id, message_no)
WHERE h.customer_id = 1 AND h.recipient = (31600000000 + :n::int)::text ORDER BY h.created_at DESC LIMIT 10;
END
  echo "pgbench_rate messages.sql"
}

messages_rate() { # signed for all phones at once: a signature is good for five minutes
  local now mac
  now=$(date +%s)
  mac=$(printf 'GET /v1.0/messages?$top=10 HTTP/1.1\napi.cmtelecom.com\n%s\n' "$now" |
    openssl dgst -sha1 -hmac "$APP_SECRET" -binary | base64)
  cat >messages.lua <<END
function request()
  return wrk.format("GET", "/v1.0/messages?%24top=10", {
    ["Authorization"] = 'MAC kid="$APP_KEY", ts="$now", mac="$mac"', ["User-Agent"] = "Bench (Android)",
    ["DeviceID"] = string.format("00000000-0000-4000-8000-%012d", math.random(1, $((DEVICES / 10)))) })
end
END
  wrk_rate 64 "$HUB" messages.lua
}

make_message() { # make_message FILE [FURTHER FIELDS]
  cat >"$1" <<END
function request()
  local body = string.format('{"appId":"com.example.bench","to":{"originalId":"user%d"},'
    .. '"message":{"alert":"Hi {{firstName}}"}${2:-}}', math.random(1, $DEVICES))
  return wrk.format("POST", "/api/v1/messages",
    { ["Authorization"] = "Bearer $KEY", ["Content-Type"] = "application/json" }, body)
end
END
}

# Each contact's phone as its Selector and its token in base64, which is a number of 32 bytes.
make_softphone_pushes() { # make_softphone_pushes FILE PUSHES_OF_A_REQUEST
  cat >"$1" <<END
local digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
local function digit(n) return digits:sub(n % 64 + 1, n % 64 + 1) end
local function push()
  local n = math.random(1, $DEVICES)
  local high, low = math.floor(n / 65536), n % 65536
  local token = string.rep("A", 38) .. digit(math.floor(high / 64)) .. digit(high)
    .. digit(math.floor(low / 1024)) .. digit(math.floor(low / 16)) .. digit(low % 16 * 4) .. "="
  return string.format('{"verb":"NotifyTextMessage","AppId":"com.example.bench","DeviceToken":"%s","Selector":"user%d",'
    .. '"UserName":"Lars","Message":"Hi","Badge":1,"Id":"m%d"}', token, n, n)
end
function request()
  local pushes = {}
  for i = 1, $2 do pushes[i] = push() end
  local body = table.concat(pushes, ",")
  if $2 > 1 then body = "[" .. body .. "]" end
  return wrk.format("POST", $2 > 1 and "/k/$KEY/pnm2/multisend" or "/k/$KEY/pnm2/send",
    { ["Content-Type"] = "application/json" }, body)
end
function response(status, headers, body)
  if body:find('"code":[345]') then print(body) os.exit(1) end
end
END
}

# Pushes in lists of 100, a second.
multisend_rate() { wrk_rate 64 "$HUB" multisend.lua | awk '{ print $1 * 100 }'; }

# Messages accepted by the push service, from the first request until the last outcome is written, by the ledger's clock: a backlog lowers
# the rate.
message_rate() { # message_rate [SCRIPT]
  local streams="SELECT coalesce(sum(accepted), 0), coalesce(sum(queued + waiting), 0) FROM push_batch
    JOIN sendout USING (customer_id, sendout_id) WHERE kind = 'stream'"
  local before begun after
  before=$(psql -Atc "$streams" | cut -d'|' -f1)
  begun=$(date +%s.%N)
  wrk_rate 64 "$HUB" "${1:-message.lua}" >/dev/null
  until after=$(psql -Atc "$streams") && [ "${after#*|}" = 0 ]; do sleep 0.1; done
  psql -Atc "SELECT $((${after%|*} - before)) / extract(epoch FROM max(settled_at)
      - (SELECT min(created_at) FROM message WHERE created_at >= to_timestamp($begun))) FROM push
    JOIN sendout USING (customer_id, sendout_id) WHERE kind = 'stream'"
}

GATEWAY_APP_KEY=00000000-0009-8000-8000-000000000001
make_numbers() { # the contacts of customer 9 become numbers, each with its phone
  psql -qv ON_ERROR_STOP=1 -v key=$GATEWAY_APP_KEY <<'END'
UPDATE contact SET original_id = '00316' || lpad(substr(original_id, 5), 8, '0') WHERE customer_id = 9;
INSERT INTO hybrid_app (customer_id, app_id, app_key, pin_text, voice_text, moved_text, secret)
VALUES (9, 'com.example.bench', :'key', '{{pin}}', '{{pin}}', '', '\x00');
END
}

make_gateway() { # make_gateway FILE COUNT: calls of the gateway with so many messages
  cat >"$1" <<END
function request()
  local messages = {}
  for i = 1, $2 do
    messages[i] = string.format('{"from":"Acme","to":[{"number":"00316%08d"}],"body":{"type":"auto","content":"Your parcel is here"},'
      .. '"appKey":"$GATEWAY_APP_KEY"}', math.random(1, $DEVICES))
  end
  local body = '{"messages":{"authentication":{"producttoken":"$PRODUCT_TOKEN"},"msg":[' .. table.concat(messages, ",") .. "]}}"
  return wrk.format("POST", "/v1.0/message", { ["Content-Type"] = "application/json" }, body)
end
END
}

# p99 SCRIPT RATE_FILE: the 99th percentile of the reply's time in ms, at half of the median rate in the file.
p99() {
  local rate
  rate=$(awk -v rate="$(median "$2")" 'BEGIN { print rate / 2 }')
  wrk -t1 -c256 -d"${SECONDS_EACH}s" -s "$here/paced.lua" "$HUB" -- "$1" "$rate" >wrk.out
  if grep -q 'Non-2xx' wrk.out; then cat wrk.out hub.log >&2 && exit 1; fi
  awk '/^paced/ { if ($2 < 0.9 * $4) print "== only " $2 " requests a second instead of " $4 > "/dev/stderr"; print $6 }' wrk.out
}

p99_beside_broadcasts() { # the same while broadcasts run, one after the other
  touch broadcasting
  while [ -e broadcasting ]; do broadcast 1 >/dev/null; done &
  local broadcasts=$!
  local running="SELECT count(*) FROM sendout WHERE kind = 'broadcast' AND state IN ('freezing', 'running')"
  until [ "$(psql -Atc "$running")" != 0 ]; do sleep 0.1; done
  p99 "$@"
  rm broadcasting
  wait $broadcasts
}

h2load_rate() { # h2load_rate PATHS COUNT
  h2load -t1 -c1 -m500 -n"$2" -i "$1" 2>/dev/null | awk '/^finished/ { print $4 }'
}

broadcast() { # broadcast CUSTOMER [OPTIONS]: prints its number when it has ended
  local customer=$1 options=(--alert 'Hi {{firstName}}' --info 'Only today' --template offer)
  shift
  if [ $# -gt 0 ]; then options=("$@"); fi
  "$PUSHCART" send --customer "$customer" --app com.example.bench --all "${options[@]}" --wait --json 2>/dev/null |
    field sendoutId
}

# sendout_rate CUSTOMER [OPTIONS]: from start to end by the ledger's own clock: freezing, claiming, sending, settling
sendout_rate() {
  local id
  id=$(broadcast "$@")
  psql -Atc "SELECT (SELECT count(*) FROM push p WHERE p.customer_id = $1 AND p.sendout_id = $id AND p.state = 'accepted')
    / extract(epoch FROM finished_at - started_at) FROM sendout WHERE customer_id = $1 AND sendout_id = $id"
}

shared_rate() { sendout_rate 5 --alert 'Only today' --no-tracking; }

shared_yardstick() { # requests of 1,000 tokens, as those of the sendout
  python3 - >shared.json <<'END'
import json
print(json.dumps({"validate_only": False, "message": {
    "data": json.dumps({"source": "carma", "alert": "Only today"}),
    "android": {"collapse_key": "1", "urgency": "NORMAL", "notification": {"title": "Only today", "body": "Only today"}},
    "token": [f"{i:064x}" for i in range(1000)]}}))
END
  h2load -t1 -c1 -m100 -D "$SECONDS_EACH" -d shared.json "https://127.0.0.1:$SINK_PORT/v1/104567891/messages:send" 2>/dev/null |
    awk '/^finished/ { print $4 }'
}

# pywebpush with a process for each core: the same message to the same subscriptions, as fast as it can.
pywebpush_rate() {
  "$work/venv/bin/python" "$here/pywebpush_rate.py" browsers.csv "https://localhost:$WEB_SINK_PORT" ca.pem "$SECONDS_EACH"
}

encryption_rate() { "$ENCRYPTION_RATE" browsers.csv "$SECONDS_EACH" "$@"; } # encryption_rate [library]

two_hubs_rate() { # the same with a second hub on the same database
  launch $SECOND_HUB_PORT "https://localhost:$SINK_PORT" ca.pem
  second_hub=$launched
  sendout_rate 1
  curl -s "http://127.0.0.1:$SECOND_HUB_PORT/metrics" >metrics
  say "the second hub sent $(awk '/^pushcart_pushes_total.*accepted/ { sent = $2 } END { print sent + 0 }' metrics)"
  stop "$second_hub"
  second_hub=
}

delayed_rate() { # delayed_rate SIGNAL: see start_delayed_sink
  kill -"$1" "$delay"
  sendout_rate 1
}

large_rate() { watched_rate freeze.rate 4; }

after_counting() { # after_counting COMMAND…: once what contacts received before is counted, which takes a core half of the time
  until [ "$(psql -Atc 'SELECT NOT EXISTS (SELECT FROM activity_change)')" = t ]; do sleep 0.2; done
  "$@"
}

watched_rate() { # watched_rate FILE CUSTOMER [OPTIONS]: as sendout_rate; beside it, the rate of its freeze goes into the file
  local file=$1 previous watch
  shift
  previous=$(psql -Atc "SELECT coalesce(max(sendout_id), 0) FROM sendout")
  psql -Atc "SELECT yardstick.freeze_rate($1, $previous)" >"$file" &
  watch=$!
  sendout_rate "$@"
  wait $watch
}

# Two caps that nobody reaches, and quiet hours that begin in half an hour or later: the clocks of these zones are whole hours apart.
limit() { # limit KEY
  local start=$(($(date +%s) / 60 + 30))
  change_customer "$1" "{\"quietHours\":{\"start\":\"$(clock $start)\",\"end\":\"$(clock $((start + 10)))\"},
    \"caps\":[{\"count\":50,\"per\":\"24h\",\"purpose\":\"marketing\"},{\"count\":100,\"per\":\"7d\"}]}"
}

clock() { printf '%02d:%02d' $(($1 / 60 % 24)) $(($1 % 60)); } # clock MINUTES: since midnight

unlimit() { change_customer "$1" '{"quietHours":"","caps":[]}'; } # unlimit KEY

change_customer() { # change_customer KEY JSON
  curl -sSf -X PATCH "$HUB/api/v1/customer" -H "Authorization: Bearer $1" -H 'Content-Type: application/json' -d "$2" >/dev/null
}

limited_rate() { # limited_rate FILE CUSTOMER KEY: as watched_rate, with zones, quiet hours, caps and an exclusion
  limit "$3"
  watched_rate "$1" "$2" --alert 'Hi {{firstName}}' --info 'Only today' --template offer --exclude "$EXCLUDED"
  unlimit "$3"
}

preflight_time() { # preflight_time KEY: of a sendout with all of that, in ms
  limit "$1"
  curl -sSf -o preflight.json -w '%{time_total}\n' "$HUB/api/v1/sendouts/preflight" -H "Authorization: Bearer $1" -H 'Content-Type: application/json' \
    -d "{\"appId\":\"com.example.bench\",\"audience\":{\"all\":true,\"exclude\":\"$EXCLUDED\"},\"message\":{\"alert\":\"Hi {{firstName}}\"},\"template\":\"offer\"}" |
    awk '{ print $1 * 1000 }'
  unlimit "$1"
}

add_webhook() { # of all events
  WEBHOOK=$(curl -sSf "$HUB/api/v1/webhooks" -H "Authorization: Bearer $1" -H 'Content-Type: application/json' -d "{
    \"url\":\"https://localhost:$SINK_PORT/webhook\",\"events\":[\"sendout.started\",\"sendout.paused\",\"sendout.finished\",\"push.accepted\",
    \"push.failed\",\"push.opened\",\"message.delivered\",\"device.invalidated\",\"contact.suppressed\",\"import.finished\",\"app.refused\",
    \"certificate.expiring\",\"webhook.test\"]}" | field webhookId)
  enable_webhook "$1" false
}

enable_webhook() { # enable_webhook KEY true|false
  curl -sSf -X PATCH "$HUB/api/v1/webhooks/$WEBHOOK" -H "Authorization: Bearer $1" -H 'Content-Type: application/json' \
    -d "{\"enabled\":$2}" >/dev/null
}

webhook_rate() { # webhook_rate CUSTOMER KEY: as sendout_rate; each push is told to the webhook, and the round ends once all are
  local told="SELECT coalesce(sum(items), 0) FROM webhook_delivery WHERE customer_id = $1 AND event = 'push.accepted' AND state = 'delivered'" before
  before=$(psql -Atc "$told")
  enable_webhook "$2" true
  sendout_rate "$1"
  until [ "$(psql -Atc "SELECT NOT EXISTS (SELECT FROM webhook_event WHERE customer_id = $1 AND delivery_id IS NULL)
    AND NOT EXISTS (SELECT FROM webhook_delivery WHERE customer_id = $1 AND state = 'waiting')")" = t ]; do sleep 0.1; done
  enable_webhook "$2" false
  [ $(($(psql -Atc "$told") - before)) = "$DEVICES" ] || { echo "the webhook was not told of $DEVICES pushes" >&2; return 1; }
}

freeze_yardstick() { # the rows of the last large sendout once more, into a table of the same shape
  psql -Atc '\timing on' -c "INSERT INTO yardstick.push (customer_id, sendout_id, push_no, batch_no, device_id, contact_id)
    SELECT customer_id, sendout_id, push_no, batch_no, device_id, contact_id FROM push
     WHERE customer_id = 4 AND sendout_id = (SELECT max(sendout_id) FROM sendout WHERE customer_id = 4)" |
    awk '/^INSERT/ { rows = $3 } /^Time/ { print rows / $2 * 1000 }'
}

put_value() { # put_value APP KEY PATH VALUE
  curl -sf -X PUT "$HUB/datasync/v2/$1/data$3" -H "Authorization: Bearer $2" -H 'Content-Type: application/json' -d "$4" >/dev/null
}

fanout_rate() { # from the write until the last of 10,000 outcomes, by the log's clock
  local last
  last=$(psql -Atc "SELECT coalesce(max(notification_id), 0) FROM data_tree_notification")
  local begun
  begun=$(psql -Atc "SELECT extract(epoch FROM clock_timestamp())")
  put_value com.example.bench "$TREE_KEY" /fan "\"$begun\""
  local sent="SELECT count(*) FROM data_tree_notification WHERE notification_id > $last AND outcome = 'accepted'"
  until [ "$(psql -Atc "$sent")" -ge 10000 ]; do sleep 0.1; done
  psql -Atc "SELECT count(*) / (extract(epoch FROM max(at)) - $begun) FROM data_tree_notification
    WHERE notification_id > $last AND outcome = 'accepted'"
}

match_time() { # match_time few|many: a write that no subscription is told of, in ms
  local key=$MANY_KEY
  if [ "$1" = few ]; then key=$FEW_KEY; fi
  cat >match.lua <<END
function request()
  return wrk.format("PUT", "/datasync/v2/$1/data/others/o" .. math.random(1, 1000),
    { ["Authorization"] = "Bearer $key", ["Content-Type"] = "application/json" }, tostring(math.random(1, 1000000)))
end
END
  wrk_rate 1 "$HUB" match.lua | awk '{ print 1000 / $1 }'
}

make_import_file() { # ten columns, as a shop has them
  IMPORT_CUSTOMER=$("$PUSHCART" customer add --name import --json | field customerId)
  IMPORT_YARDSTICK=$("$PUSHCART" customer add --name yardstick --json | field customerId)
  IMPORT_KEY=$("$PUSHCART" key add --customer "$IMPORT_CUSTOMER" --name bench --scope admin --json | field token)
  IMPORT_LIST=$("$PUSHCART" list add --customer "$IMPORT_CUSTOMER" --name all --json | field listId)
  YARDSTICK_LIST=$("$PUSHCART" list add --customer "$IMPORT_YARDSTICK" --name all --json | field listId)
  python3 - "$LARGE_DEVICES" >import.csv <<'END'
import sys
print("originalId,firstName,lastName,emailAddress,mobileNumber,dateOfBirth,city,zipcode,country,properties.food")
for i in range(int(sys.argv[1])):
    print(f"user{i},First{i},Last{i},user{i}@example.com,00467{i:08},19{i % 60 + 40}-0{i % 9 + 1}-1{i % 10},City {i % 500},{i % 90000 + 10000},SE,meat")
END
}

forget_imported() {
  psql -qc "DELETE FROM list_member WHERE customer_id IN ($IMPORT_CUSTOMER, $IMPORT_YARDSTICK)" \
    -c "DELETE FROM contact WHERE customer_id IN ($IMPORT_CUSTOMER, $IMPORT_YARDSTICK)"
  settle
}

import_yardstick() { # COPY, and the merge that somebody would write by hand, in one transaction
  local start
  start=$(date +%s.%N)
  psql -qv ON_ERROR_STOP=1 -v c="$IMPORT_YARDSTICK" -v l="$YARDSTICK_LIST" <<'END'
BEGIN;
CREATE TEMP TABLE staging (original_id text COLLATE "C", first_name text, last_name text, email_address text, mobile_number text,
  date_of_birth date, city text, zipcode text, country text, food text) ON COMMIT DROP;
\copy staging FROM import.csv CSV HEADER
ANALYZE staging;
INSERT INTO contact AS c (customer_id, original_id, first_name, last_name, email_address, mobile_number, date_of_birth, city, zipcode,
  country, properties)
SELECT DISTINCT ON (original_id) :c, original_id, first_name, last_name, email_address, mobile_number, date_of_birth, city, zipcode,
  country, json_build_object('food', food)
FROM staging ORDER BY original_id
ON CONFLICT (customer_id, original_id) DO UPDATE SET first_name = excluded.first_name, last_name = excluded.last_name,
  email_address = excluded.email_address, mobile_number = excluded.mobile_number, date_of_birth = excluded.date_of_birth,
  city = excluded.city, zipcode = excluded.zipcode, country = excluded.country, properties = excluded.properties, updated_at = now();
INSERT INTO list_member (customer_id, list_id, contact_id)
SELECT :c, :l, contact_id FROM staging JOIN contact USING (original_id) WHERE customer_id = :c
ON CONFLICT DO NOTHING;
COMMIT;
END
  rate_since "$start"
}

rate_since() { awk -v start="$1" -v end="$(date +%s.%N)" -v rows="$LARGE_DEVICES" 'BEGIN { print rows / (end - start) }'; }

run_import() { # until all is merged
  local id
  id=$(curl -sf "$HUB/api/v1/imports" -H "Authorization: Bearer $IMPORT_KEY" -H 'Content-Type: application/json' \
    -d "{\"listId\":$IMPORT_LIST}" | field importId)
  curl -sf -T import.csv "$HUB/api/v1/imports/$id/file" -H "Authorization: Bearer $IMPORT_KEY" -H 'Content-Type: text/csv' >/dev/null
  # By one connection: a new one for each look would take a tenth of a core.
  psql -qc "DO \$\$ BEGIN WHILE (SELECT state <> 'finished' FROM import WHERE customer_id = $IMPORT_CUSTOMER AND import_id = $id) LOOP
    COMMIT; PERFORM pg_sleep(0.1); END LOOP; END \$\$"
}

import_rate() { # from the first byte of the file
  local start
  settle
  start=$(date +%s.%N)
  run_import
  rate_since "$start"
}

p99_beside_import() { # while a file is imported; it takes longer than the requests
  run_import &
  local import=$!
  p99 "$@"
  wait $import
}

# The imported contacts into a file, by psql and by the hub.
export_yardstick() {
  local start
  start=$(date +%s.%N)
  psql -qc "\\copy (SELECT original_id, first_name, last_name, email_address, mobile_number, date_of_birth, city, zipcode, country, properties->>'food' FROM contact WHERE customer_id = $IMPORT_CUSTOMER ORDER BY contact_id) TO 'export.csv' CSV HEADER"
  rate_since "$start"
}

export_rate() {
  local start
  start=$(date +%s.%N)
  curl -sf "$HUB/api/v1/exports/contacts?columns=$(head -1 import.csv)" -H "Authorization: Bearer $IMPORT_KEY" >exported.csv
  rate_since "$start"
  [ "$(wc -l <exported.csv)" = "$(wc -l <import.csv)" ] || { echo "the export has $(wc -l <exported.csv) lines" >&2; return 1; }
}
