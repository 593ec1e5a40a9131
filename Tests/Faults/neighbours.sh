# The neighbours of Tests/Faults/run: one customer or push service misbehaves, and customer 2 is measured meanwhile.
#
# Each function is one disturbance: what is set up, what is started, and what else has to hold. Tokens of whoever disturbs begin with
# "a", those of customer 2 with "b"; so rules of the Simulator make a service silent for the one and not for the other.
SMS_PORT=27570 OTHER_SMS_PORT=27571 WEBHOOK_PORT=27572 HTTP2_PORT=27573 # servers of neighbours.py
export PUSHCART_SMS_ALLOWED_HOSTS=localhost:$SMS_PORT,localhost:$OTHER_SMS_PORT,localhost:$((SIMULATOR_PORT + 6))
NEIGHBOURS="undisturbed silent_fcm slow_lists silent_apns cancelled slow_sms web_origin apns_away stopped tree_reads phone_filters \
locked_rows large_properties moved_token sms_changes silent_webhook hms_counts expired_otp drafts"
MEASURED=38 # seconds that the neighbour is measured: an SMS stands in for a critical push after 30

# ---- the neighbour

beside() { # beside DISTURBANCE: in a database of its own, with the Simulator and a hub; customer 2 has iPhones, Android phones and SMS
  deadline=$((SECONDS + PATIENCE))
  [ -n "${NEIGHBOUR_KEY:-}" ] || make_ground
  export PGDATABASE=$1
  createdb -T ground "$PGDATABASE"
  export DATABASE_URL="postgres:///$PGDATABASE?host=$PGHOST&user=$PGUSER"
  start_simulator
  start_hub_at $HUB_PORT
  hub_process=${hubs[$HUB_PORT]} helpers=()
  "$1"
  end_disturbance
}

make_stranger() { # the certificate of servers that neighbours.py has
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost -keyout stranger.key -out stranger.crt 2>/dev/null
  cat stranger.crt stranger.key >stranger.pem
}

make_ground() { # the database of which each has a copy
  export PGDATABASE=ground
  createdb ground
  make_customers
  "$PUSHCART" app add --customer 2 --app-id com.example.bench --name Bench --type firebase --service-account account.json --json >/dev/null
  NEIGHBOUR_KEY=$(key 2 admin) A_KEY=$KEY
  echo '{"contentType":"json","body":"{\"to\":\"{to}\",\"text\":\"{text}\"}"}' >provider.json
  make_hybrid 2 $SMS_PORT
  NEIGHBOUR_TOKEN=$hybrid_token NEIGHBOUR_APP_KEY=$app_key
  make_hybrid 1 $OTHER_SMS_PORT
  A_TOKEN=$hybrid_token A_APP_KEY=$app_key A_APP_SECRET=$app_secret
  people 2 b1 500
  people 2 b2 50
}

key() { "$PUSHCART" key add --customer "$1" --name "$2" --scope "$2" --json | field token; } # key CUSTOMER SCOPE

make_hybrid() { # make_hybrid CUSTOMER PORT: its provider of SMS is at the port
  local enabled
  "$PUSHCART" sms set --customer "$1" --provider http --url "http://localhost:$2/" --template-file provider.json --sender Acme --json >/dev/null
  enabled=$("$PUSHCART" hybrid enable --customer "$1" --app com.example.bench --json)
  app_key=$(field appKey <<<"$enabled") app_secret=$(field appSecret <<<"$enabled")
  hybrid_token=$(key "$1" gateway)
}

# people CUSTOMER PREFIX COUNT [BYTES [NAME FIRST]]: contacts PREFIX-1, PREFIX-2, … on a list that is named PREFIX, with a device in each
# app but that of SMS, and with a property of so many bytes. With a NAME, they are called NAMEFIRST and so on.
people() {
  psql -qv ON_ERROR_STOP=1 -v c="$1" -v p="$2" -v n="$3" -v bytes="${4:-10}" \
    -v name="${5-$2-}" -v first="${6:-1}" <<'END_SQL'
INSERT INTO list (customer_id, name) VALUES (:c, :'p');
WITH made AS (
  INSERT INTO contact (customer_id, original_id, first_name, properties)
  SELECT :c, :'name' || i, 'First' || i, json_build_object('text', repeat('x', :bytes))
  FROM generate_series(:first::bigint, :first::bigint + :n - 1) i RETURNING contact_id)
INSERT INTO list_member (customer_id, list_id, contact_id)
SELECT :c, list_id, contact_id FROM made, list WHERE customer_id = :c AND name = :'p';
INSERT INTO device (customer_id, push_app_id, contact_id, token, token_key)
SELECT customer_id, push_app_id, contact_id, token,
  CASE app_type WHEN 1 THEN decode(token, 'hex') ELSE sha256(convert_to(token, 'UTF8')) END
FROM contact JOIN list_member USING (customer_id, contact_id) JOIN push_app USING (customer_id),
  LATERAL (SELECT :'p' || lpad(to_hex(substr(original_id, length(:'name') + 1)::bigint), 62, '0') AS token) t
WHERE customer_id = :c AND list_id = (SELECT list_id FROM list WHERE customer_id = :c AND name = :'p') AND app_type IN (1, 6, 7);
ANALYZE contact, list_member, device;
END_SQL
}

client() { python3 "$folder/neighbours.py" "$@"; }

start_helper() { # start_helper COMMAND ARGUMENT…: runs until the disturbance is over
  python3 "$folder/neighbours.py" "$@" >>helpers.log 2>&1 & # not by a function: the process is to be its own
  helpers+=($!)
  pids+=($!)
}

start_stranger() { # start_stranger COMMAND PORT ARGUMENT…: a server, once it listens
  start_helper "$@"
  until (: <"/dev/tcp/127.0.0.1/$2") 2>/dev/null; do sleep 0.1 && alive; done
}

start_measuring() {
  python3 "$folder/neighbours.py" measure $MEASURED $HUB_PORT $SMS_PORT "$arrivals" "$NEIGHBOUR_KEY" "$NEIGHBOUR_TOKEN" "$NEIGHBOUR_APP_KEY" \
    "$(value "list_id FROM list WHERE customer_id = 2 AND name = 'b1'")" >figures 2>>helpers.log &
  measuring=$!
  pids+=($measuring)
}

measured() { # measured DISTURBANCE: waits for the figures of customer 2, and compares them with what it was promised
  local put message sms broadcast management unready failed memory
  wait $measuring
  read -r put message sms broadcast management unready failed <figures
  memory=$(peak_rss "$hub_process")
  check "another customer beside $1" \
    "PUT p99 $put ms, single message $message s, critical SMS $sms s, broadcast's first push $broadcast s, management $management s, $unready times not ready, $failed failed, $memory MB" \
    "$put <= 250 AND $message <= 1 AND $sms <= 33 AND $broadcast <= 2 AND $management <= 1 AND $unready = 0 AND '$failed' = '0'
      AND $memory <= 200"
}

end_disturbance() { # and what it has started; the hub is killed, as it may wait for services that are silent
  local pid port
  for pid in "${helpers[@]}"; do kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null || true; done
  for port in "${!hubs[@]}"; do kill_hub "$port"; done
  kill -TERM "$simulator" && wait "$simulator" || true
  simulator=
}

# ---- what disturbances are made of

ask() { client ask "$@"; }

rule() { phone rules "$1" >/dev/null; } # rule JSON

forget_rules() { curl -sf -X DELETE "http://127.0.0.1:$PHONE_PORT/rules?service=$1"; }

arrived() { awk -F'\t' -v p="$1" 'index($3, p) == 1' "$arrivals" | wc -l; } # arrived PREFIX: how many pushes APNs got for such tokens

answers_once() { # answers_once CUSTOMER PREFIX KEY: a push service that falls silent has answered before
  local sendout
  sendout=$(broadcast_to "$@")
  until_true "state = 'finished' FROM sendout WHERE sendout_id = $sendout"
}

broadcast_to() { # broadcast_to CUSTOMER PREFIX KEY: to those people, whatever fails; prints the sendout's number
  curl -sf "http://127.0.0.1:$HUB_PORT/api/v1/sendouts" -H "Authorization: Bearer $3" -H 'Content-Type: application/json' -d "{
    \"name\":\"To $2\",\"appIds\":[\"com.example.bench\"],\"message\":{\"alert\":\"Hi {{firstName}}\"},\"start\":true,
    \"pauseAtFailed\":1,\"audience\":{\"listId\":$(value "list_id FROM list WHERE customer_id = $1 AND name = '$2'")}}" | field sendoutId
}

verb() { # verb SENDOUT VERB KEY: pause, resume or cancel, once more if the hub says so
  until curl -sf -X POST "http://127.0.0.1:$HUB_PORT/api/v1/sendouts/$1/$2" -H "Authorization: Bearer $3" >/dev/null; do
    sleep 0.1 && alive
  done
}

register() { # register CUSTOMER KEY NAME TOKEN: a device of APNs
  curl -sf -X PUT "http://127.0.0.1:$HUB_PORT/rest/$1/apps/com.example.bench/pushdevices" -H "X-Carma-Authentication-Token: $2" \
    -H 'Content-Type: application/json' -d "{\"originalId\":\"$3\",\"deviceInfo\":[{\"devicetoken\":\"$4\"}]}" >/dev/null
}

still_leave() { # still_leave PREFIX SECONDS: how many pushes leave later than two seconds from now, and within so many more
  sleep 2
  local before
  before=$(arrived "$1")
  sleep "$2"
  echo $(($(arrived "$1") - before))
}

# ---- disturbances

undisturbed() { # the yardstick
  start_measuring
  measured "nobody else"
}

silent_fcm() { # each of three customers has 24 triggers of one message; one has a broadcast, too
  local customer token trigger
  for customer in 3 8 9; do
    people $customer a1 2000
    token=$(key $customer admin)
    answers_once $customer a1 "$token"
  done
  rule '{"service":"fcm","tokenPrefix":"a","reply":"ignore"}'
  for customer in 3 8 9; do
    token=$(key $customer admin)
    ask 1 24 POST $HUB_PORT /api/v1/triggers "$token" \
      '{"name":"Trigger {n}","appId":"com.example.bench","message":{"alert":"Number {n}"}}' >>helpers.log
    for trigger in $(value "string_agg(trigger_id::text, ' ') FROM trigger WHERE customer_id = $customer"); do
      ask 1 1 POST $HUB_PORT "/rest/$customer/triggers/$trigger/messages" "$token" '{"originalId":"a1-'"$trigger"'"}' >>helpers.log
    done
  done
  broadcast_to 9 a1 "$token" >/dev/null
  start_measuring
  measured "a silent FCM, 72 triggers of one message of three customers, and a broadcast"
}

slow_lists() { # at APNs, and at FCM of another customer
  rule '{"service":"apns","tokenPrefix":"a","reply":"accept","delayMilliseconds":25000}'
  rule '{"service":"fcm","tokenPrefix":"a","reply":"accept","delayMilliseconds":25000}'
  people 1 a1 1000
  people 3 a1 1000
  start_helper lists 4 1000 $HUB_PORT "$A_KEY" a1 'One of a list'
  start_helper lists 4 1000 $HUB_PORT "$(key 3 admin)" a1 'One of a list'
  start_measuring
  measured "four lists of 1,000 messages each to two services that answer after 25 s"
}

silent_apns() { # for customer 1, which sends a critical message every two seconds
  start_stranger sms $OTHER_SMS_PORT 0 "$work/slow_sms"
  people 1 a3 18 10 00 31611000001
  answers_once 1 a3 "$A_KEY"
  rule '{"tokenPrefix":"a","reply":"ignore"}'
  start_measuring
  client critical 18 2 critical $HUB_PORT "$A_TOKEN" "$A_APP_KEY" 31611000001 >critical
  measured "a silent APNs and its customer's critical messages, one every 2 s"
  sleep 33
  local slowest
  slowest=$(join <(sort critical) <(awk '{ print $2, $1 }' slow_sms | sort) | awk '{ d = $4 - $2; if (d > m) m = d } END { printf "%.1f", m }')
  check "critical messages in a silent lane: each SMS within 33 s" "$(wc -l <slow_sms) of 18 came, the last after $slowest s" \
    "$(wc -l <slow_sms) = 18 AND $slowest <= 33"
}

cancelled() { # a broadcast that is paused, resumed and cancelled, and lists whose messages wait in memory
  people 1 a1 20000
  people 1 a2 1000
  rule '{"tokenPrefix":"a1","reply":"accept","delayMilliseconds":200}'
  rule '{"tokenPrefix":"a2","reply":"accept","delayMilliseconds":5000}'
  start_measuring
  local sendout paused cancelled stream
  sendout=$(broadcast_to 1 a1 "$A_KEY")
  until [ "$(arrived a1)" -gt 1000 ]; do sleep 0.1 && alive; done
  verb "$sendout" pause "$A_KEY"
  paused=$(still_leave a1 4)
  verb "$sendout" resume "$A_KEY"
  until [ "$(arrived a1)" -gt 3000 ]; do sleep 0.1 && alive; done
  verb "$sendout" cancel "$A_KEY"
  cancelled=$(still_leave a1 4)
  client lists 3 1000 $HUB_PORT "$A_KEY" a2 'One of a list' >>helpers.log
  stream=$(value "sendout_id FROM sendout WHERE customer_id = 1 AND kind = 'stream'")
  verb "$stream" cancel "$A_KEY"
  stream=$(still_leave a2 8)
  measured "a broadcast that is paused and cancelled, and cancelled lists of 3,000 messages"
  check "a pause or a cancellation stops everything within 2 s" \
    "$paused pushes left later than that after a pause, $cancelled after a cancellation, $stream of cancelled lists" \
    "$paused + $cancelled + $stream = 0"
}

slow_sms() { # a provider that answers after 50 s, and six sendouts of 600 SMS
  start_stranger sms $OTHER_SMS_PORT 50 "$work/slow_sms"
  psql -q <<'END_SQL'
INSERT INTO list (customer_id, name) VALUES (1, 'sms');
WITH made AS (
  INSERT INTO contact (customer_id, original_id)
  SELECT 1, '00' || 31612000000 + i FROM generate_series(1, 600) i RETURNING contact_id)
INSERT INTO list_member (customer_id, list_id, contact_id) SELECT 1, list_id, contact_id FROM made, list WHERE customer_id = 1 AND name = 'sms';
INSERT INTO device (customer_id, push_app_id, contact_id, token, token_key)
SELECT 1, push_app_id, contact_id, '+' || substr(original_id, 3), sha256(convert_to('+' || substr(original_id, 3), 'UTF8'))
FROM contact, push_app a WHERE contact.customer_id = 1 AND a.customer_id = 1 AND app_type = 10 AND original_id LIKE '00%';
END_SQL
  ask 6 6 POST $HUB_PORT /api/v1/sendouts "$A_KEY" '{"name":"SMS {n}","appIds":["sms"],"message":{"alert":"Hi {{originalId}}"},"start":true,
    "pauseAtFailed":1,"audience":{"listId":'"$(value "list_id FROM list WHERE name = 'sms'")"'}}' >>helpers.log
  start_measuring
  measured "a provider of SMS that answers after 50 s, and six sendouts of 600 SMS"
}

web_origin() { # 600 browsers at an address that the operator has named, which never answers, and 20 at another
  start_stranger http2 $HTTP2_PORT stranger.pem "$work/silent"
  local token hash n p256dh sendout
  token=$(key 7 admin)
  p256dh=$(openssl ecparam -name prime256v1 -genkey -noout | openssl ec -pubout -outform DER 2>/dev/null | tail -c 65 | base64url)
  hash=$("$PUSHCART" app list --customer 7 --json | sed -n 's/.*"vapidPublicKey" *: *"\([^"]*\)".*/\1=/p' | tr -- '-_' '+/' | base64 -d | openssl dgst -sha256 -binary | base64url)
  ask 4 600 PUT $HUB_PORT /rest/7/apps/com.example.bench/pushdevices "$token" \
    "$(browser silent "https://localhost:$HTTP2_PORT/{n}" "$p256dh")" >>helpers.log
  ask 1 20 PUT $HUB_PORT /rest/7/apps/com.example.bench/pushdevices "$token" \
    "$(browser good "https://localhost:$((SIMULATOR_PORT + 4))/wpush/v2/{n}00.$hash" "$p256dh")" >>helpers.log
  start_measuring
  sendout=$(curl -sf "http://127.0.0.1:$HUB_PORT/api/v1/sendouts" -H "Authorization: Bearer $token" -H 'Content-Type: application/json' \
    -d '{"name":"All","appIds":["com.example.bench"],"message":{"alert":"Hi"},"start":true,"pauseAtFailed":1,"audience":{"all":true}}' | field sendoutId)
  sleep 2
  n=$(ask 1 20 POST $HUB_PORT /api/v1/messages "$token" '{"appId":"com.example.bench","to":{"originalId":"good{n}"},"message":{"alert":"Hi"},"wait":25}')
  measured "600 Web Pushes to an address that never answers"
  check "the app's other browsers get theirs within 2 s" "a sendout's after $(
    value "round(extract(epoch FROM max(settled_at) - min(started_at)), 1) FROM push JOIN sendout USING (customer_id, sendout_id)
      JOIN device USING (customer_id, device_id) WHERE sendout_id = $sendout AND token LIKE '%wpush%'") s, the longest of 20 single messages after ${n% *} s (${n#* })" \
    "${n% *} <= 2 AND '${n#* }' = '20x201accepted' AND (SELECT count(*) = 20 AND max(settled_at - started_at) < interval '2 s'
      FROM push JOIN sendout USING (customer_id, sendout_id) JOIN device USING (customer_id, device_id)
      WHERE sendout_id = $sendout AND token LIKE '%wpush%' AND push.state = 'accepted')"
}

base64url() { base64 -w0 | tr '+/' '-_' | tr -d '='; }

browser() { # browser NAME ENDPOINT P256DH
  printf '{"originalId":"%s{n}","deviceInfo":[{"devicetoken":{"endpoint":"%s","keys":{"auth":"AAAAAAAAAAAAAAAAAAAAAA","p256dh":"%s"}},"appType":8}]}' "$@"
}

apns_away() { # 503 for 12 seconds, which one push in thirty calls ServiceUnavailable
  people 1 a1 5800
  people 1 a2 200
  rule '{"tokenPrefix":"a1","reply":"refuse","status":503,"reason":"Shutdown"}'
  rule '{"tokenPrefix":"a2","reply":"refuse","status":503,"reason":"ServiceUnavailable"}'
  start_measuring
  local one
  one=$(broadcast_to 1 a1 "$A_KEY")
  broadcast_to 1 a2 "$A_KEY" >/dev/null
  sleep 12
  forget_rules apns
  measured "an APNs that answers 503 for 12 s"
  until_true "state = 'finished' OR started_at < now() - interval '2 min' FROM sendout WHERE sendout_id = $one"
  check "an APNs that answers 503 for 12 s: all but what it told to wait for 15 minutes are accepted within 35 s" \
    "$(value "count(*) FILTER (WHERE state = 'accepted') || ' of 5800 accepted, the last after ' || round(extract(epoch FROM max(settled_at)
      - (SELECT started_at FROM sendout WHERE sendout_id = $one)), 1) || ' s' FROM push WHERE sendout_id = $one")" \
    "(SELECT count(*) FILTER (WHERE state = 'accepted') = 5800 AND max(settled_at) < (SELECT started_at FROM sendout
      WHERE sendout_id = $one) + interval '35 s' FROM push WHERE sendout_id = $one)"
}

stopped() { # SIGTERM at a slow FCM; each accepted push is a line of the phone page's events, which keep up with 200 at once
  people 3 a1 600
  rule '{"service":"fcm","tokenPrefix":"a","reply":"accept","delayMilliseconds":8000}'
  curl -sN "http://127.0.0.1:$PHONE_PORT/events" >phones &
  helpers+=($!)
  local sendout token ended
  token=$(key 3 admin)
  sendout=$(broadcast_to 3 a1 "$token")
  client lists 1 100 $HUB_PORT "$token" a1 'One of a list' >>helpers.log
  until [ "$(pushes_of_android | wc -l)" -ge 50 ]; do sleep 0.1 && alive; done
  sleep 2
  ended=$SECONDS
  kill -TERM "$hub_process" && wait "$hub_process" || true
  ended=$((SECONDS - ended))
  start_hub_at $HUB_PORT
  forget_rules fcm
  rule '{"service":"fcm","tokenPrefix":"a","reply":"accept","delayMilliseconds":500}'
  until_true "NOT EXISTS (SELECT FROM push WHERE customer_id = 3 AND settled_at IS NULL)"
  sleep 1
  check "SIGTERM at an FCM that answers after 8 s: no push is sent again" \
    "ended after $ended s, $(pushes_of_android | wc -l) arrived of $(value "count(*) FROM push WHERE customer_id = 3"), $(
      value "count(*) FROM push WHERE customer_id = 3 AND state <> 'accepted'") not accepted" \
    "$(pushes_of_android | wc -l) = 700 AND NOT EXISTS (SELECT FROM push WHERE customer_id = 3 AND state <> 'accepted')"
}

pushes_of_android() { grep -o '"phone":"android"' phones; }

tree_reads() { # 32 at a time, of a tree with 190,000 leaves
  local secret
  secret=$("$PUSHCART" datasync enable --customer 8 --app com.example.bench --json | field secret)
  psql -q -c "INSERT INTO data_tree_node (customer_id, app_id, path_key, path, value)
    SELECT 8, 'com.example.bench', substr(sha256(convert_to(path, 'UTF8')), 1, 16), path, '\"' || i || ' of many leaves\"'
    FROM generate_series(1, 190000) i, LATERAL (SELECT '/all/' || i || '/' AS path) p" -c ANALYZE
  start_measuring
  python3 "$folder/neighbours.py" ask 32 320 GET $HUB_PORT /datasync/v2/com.example.bench/data/all "$secret" >reads &
  helpers+=($!)
  measured "32 reads at a time of a data tree with 190,000 leaves"
}

phone_filters() { # 16 phones with 2,000 messages choose by nested functions
  start_stranger sms $OTHER_SMS_PORT 0 "$work/slow_sms"
  local device=6f9619ff-8b86-4011-b42d-00c04fc964ff seen
  psql -qc "INSERT INTO hybrid_registration (customer_id, device_hash, app_id, platform, user_agent, number, status, verified_at)
    VALUES (1, sha256(decode(replace('$device', '-', ''), 'hex')), 'com.example.bench', 'iOS', 'iOS', '31611000001', 'PinVerified', now() - interval '1 day')"
  python3 - "$A_TOKEN" "$A_APP_KEY" >message.json <<'END_PYTHON'
import json, sys
message = {"from": "Acme", "to": [{"number": "0031611000001"}], "body": {"content": "abcdefghij " * 14}, "appKey": sys.argv[2]}
print(json.dumps({"messages": {"authentication": {"producttoken": sys.argv[1]}, "msg": [message] * 1000}}))
END_PYTHON
  for _ in 1 2; do
    curl -sf "http://127.0.0.1:$HUB_PORT/v1.0/message" -H 'Content-Type: application/json' -d @message.json >/dev/null
  done
  start_measuring
  seen=$(client phones 16 $MEASURED $HUB_PORT "$A_APP_KEY" "$A_APP_SECRET" $device)
  measured "16 phones that choose among 2,000 messages by nested functions ($seen)"
}

locked_rows() { # psql locks a sendout that is being sent, the app, a trigger and a tree, and their customer goes on asking
  local sendout secret trigger app locker
  people 1 a1 20000
  rule '{"tokenPrefix":"a1","reply":"accept","delayMilliseconds":1000}'
  secret=$("$PUSHCART" datasync enable --customer 1 --app com.example.bench --json | field secret)
  ask 1 1 POST $HUB_PORT /api/v1/triggers "$A_KEY" '{"name":"One","appId":"com.example.bench","message":{"alert":"One"}}' >>helpers.log
  trigger=$(value "trigger_id FROM trigger WHERE customer_id = 1")
  app=$(value "push_app_id FROM push_app WHERE customer_id = 1 AND app_type = 1")
  sendout=$(broadcast_to 1 a1 "$A_KEY")
  until [ "$(arrived a1)" -gt 0 ]; do sleep 0.1 && alive; done
  psql -q -c BEGIN -c "SELECT FROM sendout WHERE customer_id = 1 FOR UPDATE" -c "SELECT FROM push_app WHERE customer_id = 1 FOR UPDATE" \
    -c "SELECT FROM trigger WHERE customer_id = 1 FOR UPDATE" -c "SELECT FROM data_tree_app WHERE customer_id = 1 FOR UPDATE" \
    -c "SELECT pg_sleep(60)" >/dev/null 2>&1 &
  locker=$!
  pids+=($locker)
  sleep 1
  start_measuring
  change_locked 2 one
  change_locked 8 many
  measured "locked rows of a customer's sendout, app, trigger and tree, which it goes on changing"
  check "whoever finds its row locked is told to repeat: with 409, and those who come at once with 503" \
    "the longest time and the answers, two at once: $(cat one.* | paste -sd' '); 32 at once: $(cat many.* | paste -sd' ')" \
    "'$(cat one.* | tr '\n' ' ')' !~ 'x(0|5)' AND '$(cat many.* | tr '\n' ' ')' !~ 'x(0|500)'"
}

change_locked() { # change_locked COUNT FILE: two of a kind after each other, or more of all kinds at once
  local kind asking=()
  for kind in "POST $HUB_PORT /api/v1/sendouts/$sendout/cancel $A_KEY" "PATCH $HUB_PORT /api/v1/apps/$app $A_KEY" \
    "PATCH $HUB_PORT /api/v1/triggers/$trigger $A_KEY" "PUT $HUB_PORT /datasync/v2/com.example.bench/data/x $secret"; do
    # shellcheck disable=SC2086
    ask "$1" "$1" $kind '{"name":"Number {n}"}' >"$2.${#asking[@]}" &
    asking+=($!)
    [ "$1" -gt 2 ] || wait $!
  done
  wait "${asking[@]}"
}

large_properties() { # contacts with 57 KB of properties, in five lists of 1,000 messages to a silent APNs
  people 1 a1 1000 57000
  answers_once 1 a1 "$A_KEY"
  rule '{"tokenPrefix":"a","reply":"ignore"}'
  start_measuring
  start_helper lists 5 1000 $HUB_PORT "$A_KEY" a1 'Hi {{firstName}} {{properties.text}}'
  measured "five lists of 1,000 messages to contacts with 57 KB of properties, at a silent APNs"
}

moved_token() { # another contact registers a token while 600 pushes to it wait
  people 1 a1 1
  rule '{"tokenPrefix":"a","reply":"accept","delayMilliseconds":3000}'
  start_measuring
  ask 8 600 POST $HUB_PORT /api/v1/messages "$A_KEY" \
    '{"appId":"com.example.bench","to":{"originalId":"a1-1"},"message":{"alert":"Secret {n}"}}' >>helpers.log
  local late
  register 1 "$A_KEY" other "$(printf 'a1%062x' 1)"
  late=$(still_leave a1 10)
  measured "a token that another contact registers while 600 pushes to it wait"
  check "pushes that waited for a former owner's token: none leaves later than 2 s after it was registered" \
    "$(arrived a1) left before, $late later" "$late = 0"
}

sms_changes() { # 100 changes of an account, and a check of each
  local before after
  curl -sf "http://127.0.0.1:$HUB_PORT/readyz" >/dev/null
  before=$(connections_to_sms)
  start_measuring
  for _ in $(seq 100); do
    ask 1 1 PUT $HUB_PORT /api/v1/sms "$A_KEY" "{\"provider\":\"cm\",\"sender\":\"Acme\",\"productToken\":\"token-$RANDOM$RANDOM\",
      \"url\":\"https://localhost:$((SIMULATOR_PORT + 6))/v1.0/message\"}"
    ask 1 1 POST $HUB_PORT /api/v1/sms/check "$A_KEY"
  done >changes
  measured "100 changes of an account of SMS, each with a check"
  after=$(connections_to_sms)
  check "checks of accounts leave no connections" \
    "$before before, $after after 100 changes and checks ($(grep -c 1x200 changes) of 200 answered with 200)" \
    "$after <= $before + 4 AND $(grep -c 1x200 changes) = 200"
}

connections_to_sms() { phone "connections?service=sms" | field open; }

silent_webhook() { # another webhook at the same origin is told of each change within two seconds
  local secret hooks="http://127.0.0.1:$HUB_PORT/datasync/v2/com.example.bench" name late
  start_stranger webhooks $WEBHOOK_PORT stranger.pem "$work/hooks"
  secret=$("$PUSHCART" datasync enable --customer 8 --app com.example.bench --json | field secret)
  ask 1 1 PUT $HUB_PORT /datasync/v2/com.example.bench/settings/webhooks "$secret" "{\"destinations\":{$(
    for name in never quick; do
      printf '"%s":{"enabled":true,"subscribeDurationSeconds":3600,"destinationUris":[{"uri":"https://localhost:%s/%s","acceptAnyCertificate":false}]}' $name $WEBHOOK_PORT $name
      [ $name = quick ] || printf ','
    done)}}" >>helpers.log
  for name in never quick; do # 40 places each
    ask 1 40 POST $HUB_PORT /datasync/v2/com.example.bench/subscriptions "$secret" "{\"path\":\"/p{n}\",\"event\":\"value\",\"webhook\":\"$name\"}" >>helpers.log
  done
  start_measuring
  for name in $(seq 25); do
    client ask 1 40 PUT $HUB_PORT "/datasync/v2/com.example.bench/data/p{n}" "$secret" "$(date +%s.%N)" >>helpers.log
    sleep 1
  done
  sleep 5
  measured "a webhook that never answers"
  late=$(awk '{ d = $1 - $3; if (d > m) m = d } END { printf "%.1f", m }' hooks)
  check "a webhook beside one that never answers is told within 2 s" "$(wc -l <hooks) told, the last after $late s" \
    "$(wc -l <hooks) >= 40 * 20 AND $late <= 2"
}

hms_counts() { # 80100000 that counts one success, and names no token
  start_stranger http2 $HTTP2_PORT stranger.pem "$work/huawei" \
    '{"code":"80100000","msg":"{\"success\":1,\"failure\":0,\"illegal_tokens\":[]}","requestId":"1"}'
  people 5 a1 50
  local token
  token=$(key 5 admin)
  start_measuring
  broadcast_to 5 a1 "$token" >/dev/null
  ask 1 50 POST $HUB_PORT /api/v1/messages "$token" '{"appId":"com.example.bench","to":{"originalId":"a1-{n}"},"message":{"alert":"One"}}' >>helpers.log
  measured "a Push Kit that answers 80100000 and counts one success"
  check "what Push Kit counts as a success is never sent again" \
    "$(wc -l <huawei) requests for 100 pushes, $(value "count(*) FROM push WHERE customer_id = 5 AND state = 'accepted'") accepted" \
    "$(wc -l <huawei) = 100 AND (SELECT count(*) FROM push WHERE customer_id = 5 AND state = 'accepted') = 100"
}

expired_otp() { # 300 OTPs, more than a silent lane has places; their lives end after 30 s, and APNs is back after 32
  start_stranger sms $OTHER_SMS_PORT 0 "$work/slow_sms"
  people 1 a3 300 10 00 31611000001
  answers_once 1 a3 "$A_KEY"
  local before
  rule '{"tokenPrefix":"a","reply":"ignore"}'
  start_measuring
  client critical 300 0 otp $HUB_PORT "$A_TOKEN" "$A_APP_KEY" 31611000001 >otps
  sleep 32
  forget_rules apns
  before=$(arrived a)
  phone connections '{"order":"answerIgnored"}'
  measured "300 OTPs in a silent lane"
  sleep 15
  check "an OTP whose life has ended does not leave" "$((before - 300)) left while they lived, $(($(arrived a) - before)) later" \
    "$(arrived a) = $before AND $before > 300"
}

drafts() { # 870 of them, then the neighbour's broadcasts
  ask 4 872 POST $HUB_PORT /api/v1/sendouts "$A_KEY" \
    '{"name":"Draft {n}","appIds":["com.example.bench"],"message":{"alert":"Hi"},"audience":{"all":true}}' >drafted
  start_measuring
  measured "872 drafts"
  check "drafts use up no partition" "$(value "count(*) FROM partition_ranges('push')") partitions, $(
    value "count(*) FROM partition_ranges('push') WHERE first_value IS NULL") of them without a range, $(cat drafted)" \
    "NOT EXISTS (SELECT FROM partition_ranges('push') WHERE first_value IS NULL)"
}
