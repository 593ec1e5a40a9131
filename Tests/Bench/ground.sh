# What Tests/Bench/run stands on: servers, data, and one function for each figure.
HUB_PORT=28080 NGINX_PORT=28090 SINK_PORT=28443 SIMULATOR_PORT=28543 PHONE_PORT=28081
HUB=http://127.0.0.1:$HUB_PORT
pids=()

say() { echo "== $*" >&2; }

# ---- servers

as_postgres() { if [ "$(id -u)" = 0 ]; then setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; else "$@"; fi; }

start_postgres() {
  local bin
  bin=$(dirname "$(command -v initdb || ls /usr/lib/postgresql/*/bin/initdb | tail -1)")
  [ -x "$bin/pg_ctl" ] || bin=$(pg_config --bindir)
  PG_BIN=$bin
  mkdir pg && { [ "$(id -u)" != 0 ] || chown postgres pg; }
  as_postgres "$bin/initdb" -D "$work/pg/data" -U pushcart -A trust >/dev/null
  as_postgres "$bin/pg_ctl" -D "$work/pg/data" -w -l "$work/pg/log" \
    -o "-c listen_addresses='' -k $work/pg -c shared_buffers=512MB -c max_wal_size=4GB" start >/dev/null
  export PGHOST=$work/pg PGUSER=pushcart PGDATABASE=pushcart
  createdb pushcart
}

start_sink() { # nghttpd takes every push: a file for each device token answers 200
  openssl ecparam -name prime256v1 -genkey -noout -out ca.key
  openssl req -x509 -new -key ca.key -days 2 -subj /CN=bench -out ca.pem 2>/dev/null
  openssl ecparam -name prime256v1 -genkey -noout -out sink.key
  openssl req -new -key sink.key -subj /CN=localhost -out sink.csr 2>/dev/null
  printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\n' >sink.ext
  openssl x509 -req -in sink.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile sink.ext -out sink.pem 2>/dev/null
  mkdir -p sink/3/device
  nghttpd -d "$work/sink" -n1 -a 127.0.0.1 $SINK_PORT sink.key sink.pem >/dev/null 2>&1 &
  pids+=($!)
}

start_hub() {
  export DATABASE_URL="postgres:///pushcart?host=$PGHOST&user=$PGUSER"
  PUSHCART_MASTER_KEY=$(openssl rand -base64 32)
  export PUSHCART_MASTER_KEY
  openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt -out AuthKey.p8
  "$PUSHCART" migrate >/dev/null
  for customer in 1 2; do # 1 is the hub's, 2 the yardstick's, in tables of its own
    "$PUSHCART" customer add --name "Bench $customer" --json >/dev/null
    "$PUSHCART" app add --customer $customer --type ios --app-id com.example.bench --name Bench --team-id TEAM123456 \
      --key-id KEY1234567 --signing-key AuthKey.p8 --json >/dev/null
  done
  KEY=$("$PUSHCART" key add --customer 1 --name bench --scope admin --json | field token)
  "$PUSHCART" template put --customer 1 --name offer --file "$here/../../Templates/offer.html" >/dev/null
  serve "https://localhost:$SINK_PORT" ca.pem
}

serve() { # serve URL CA
  "$PUSHCART" serve --host 127.0.0.1 --port $HUB_PORT --apns-production-url "$1" --apns-sandbox-url "$1" \
    --provider-ca-file "$2" --log-level warning 2>>hub.log &
  hub=$!
  until curl -sf "$HUB/readyz" >/dev/null; do sleep 0.1; kill -0 $hub; done
}

stop_hub() { kill -TERM "$hub" && wait "$hub" || true; }

start_nginx() { # one file of the same bytes, and 204, at the same addresses
  curl -s "$HUB/c/$(head -1 tokens | cut -d' ' -f1)" >page.html
  cat >nginx.conf <<END
worker_processes auto; pid $work/nginx.pid; error_log $work/nginx.log;
events { worker_connections 4096; }
http { access_log off; keepalive_requests 1000000000; default_type text/html;
  server { listen 127.0.0.1:$NGINX_PORT; root $work; location /r/ { return 204; } location /c/ { try_files /page.html =404; } } }
END
  chmod 644 page.html
  "$(command -v nginx || echo /usr/sbin/nginx)" -c "$work/nginx.conf" -g 'daemon off;' &
  pids+=($!)
  until curl -sf "http://127.0.0.1:$NGINX_PORT/c/" >/dev/null; do sleep 0.1; done
}

tear_down() {
  set +e
  [ -n "${hub:-}" ] && kill -TERM "$hub" 2>/dev/null && wait "$hub" 2>/dev/null
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null; done
  [ -n "${PG_BIN:-}" ] && as_postgres "$PG_BIN/pg_ctl" -D "$work/pg/data" -m immediate stop >/dev/null 2>&1
  cd / && rm -rf "$work"
}

rss() { awk '/VmRSS/ { printf "%d", $2 / 1024 }' "/proc/$hub/status"; }
peak_rss() { awk '/VmHWM/ { printf "%d", $2 / 1024 }' "/proc/$hub/status"; }
field() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }

# ---- data: $DEVICES contacts with a device each, for either customer

seed_devices() {
  make_yardstick_tables
  local customer=1 schema
  for schema in public yardstick; do
    psql -qv ON_ERROR_STOP=1 -v n="$DEVICES" -v c=$customer -v schema=$schema <<'END'
SET search_path = :schema, public;
INSERT INTO contact (customer_id, original_id, first_name, last_name, email_address, properties)
SELECT :c, 'user' || i, 'First' || i, 'Last' || i, 'user' || i || '@example.com', '{"food":"meat"}'
FROM generate_series(1, :n) i;
INSERT INTO device (customer_id, push_app_id, contact_id, token, token_key, manufacturer, model, os_version)
SELECT customer_id, customer_id, contact_id, lpad(to_hex(substr(original_id, 5)::int), 64, '0'),
  decode(lpad(to_hex(substr(original_id, 5)::int), 64, '0'), 'hex'), 'apple', 'iphone 6', '9.2'
FROM contact;
END
    customer=2
  done
  psql -qc ANALYZE
}

# The yardstick of PUT and GET: the tables as they were when their ratios were first written down, foreign keys, indexes and all.
# They stay so: ratios can be compared over time only while the yardstick is the same.
make_yardstick_tables() {
  psql -qv ON_ERROR_STOP=1 <<'END'
CREATE SCHEMA yardstick;
SET search_path = yardstick, public;
CREATE TABLE contact (
  customer_id bigint NOT NULL REFERENCES customer, contact_id bigint GENERATED BY DEFAULT AS IDENTITY,
  original_id text NOT NULL CHECK (original_id <> ''), list_id bigint, first_name text, middle_name text, last_name text,
  email_address text, mobile_number text, title text, sex text, date_of_birth date CHECK (isfinite(date_of_birth)), city text,
  zipcode text, country text,
  properties jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(properties) = 'object')
    CHECK (pg_column_size(properties) <= 65536),
  created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (customer_id, contact_id), UNIQUE (customer_id, original_id),
  FOREIGN KEY (customer_id, list_id) REFERENCES list
) WITH (fillfactor = 85);
CREATE INDEX ON contact (customer_id, list_id) WHERE list_id IS NOT NULL;
CREATE TABLE device (
  customer_id bigint NOT NULL, device_id bigint GENERATED BY DEFAULT AS IDENTITY, push_app_id bigint NOT NULL,
  contact_id bigint NOT NULL, token text NOT NULL CHECK (token <> ''), token_key bytea NOT NULL,
  sandbox boolean NOT NULL DEFAULT false, manufacturer text, model text, os_version text, country text,
  created_at timestamptz NOT NULL DEFAULT now(), registered_at timestamptz NOT NULL DEFAULT now(),
  invalidated_at timestamptz, invalidation_type int2 NOT NULL DEFAULT 0, invalidation_reason text,
  PRIMARY KEY (customer_id, device_id), UNIQUE (customer_id, push_app_id, token_key),
  FOREIGN KEY (customer_id, push_app_id) REFERENCES push_app, FOREIGN KEY (customer_id, contact_id) REFERENCES contact,
  CHECK ((invalidated_at IS NULL) = (invalidation_type = 0))
) WITH (fillfactor = 85);
CREATE INDEX ON device (customer_id, contact_id);
CREATE TABLE device_event (
  customer_id bigint NOT NULL, device_event_id bigint GENERATED BY DEFAULT AS IDENTITY, device_id bigint NOT NULL,
  contact_id bigint NOT NULL,
  kind text NOT NULL CHECK (kind IN ('registered', 'moved', 'revived', 'environment', 'invalidated')), reason text,
  at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (customer_id, device_event_id)
);
CREATE INDEX ON device_event (customer_id, at);
CREATE INDEX ON device_event (customer_id, contact_id);
END
}

settle() { psql -qc 'VACUUM ANALYZE' -c CHECKPOINT; } # or what came before is tidied up at the next figure's expense

make_links() { # real links, as the Simulator's phone received them
  "$PUSHCART" simulator --ca-file simulator.pem --apns-port $SIMULATOR_PORT --apns-sandbox-port $((SIMULATOR_PORT + 1)) \
    --phone-port $PHONE_PORT >/dev/null 2>&1 &
  local simulator=$!
  until curl -sf "http://127.0.0.1:$PHONE_PORT/" >/dev/null; do sleep 0.1; done
  stop_hub
  serve "https://localhost:$SIMULATOR_PORT" simulator.pem
  "$PUSHCART" send --customer 1 --app com.example.bench $(seq -f '--to user%g' 1 200) --alert 'Hi {{firstName}}' \
    --template offer --wait --json >/dev/null 2>&1
  curl -s --max-time 3 "http://127.0.0.1:$PHONE_PORT/events?after=0" | sed 's|\\/|/|g' >events || true
  paste -d' ' <(grep -o '/c/[A-Za-z0-9_-]*' events | sed 's|/c/||' | sort -u) \
    <(grep -o '/r/[A-Za-z0-9_-]*' events | sed 's|/r/||' | sort -u) | awk 'NF == 2' >tokens
  [ -s tokens ] || { echo "no links came" >&2; exit 1; }
  stop_hub
  kill $simulator
  serve "https://localhost:$SINK_PORT" ca.pem
  cat >links.lua <<END
local tokens, next = { ["/c/"] = {}, ["/r/"] = {} }, 0
for line in io.lines("$work/tokens") do
  local page, read = line:match("(%S+) (%S+)")
  table.insert(tokens["/c/"], page)
  table.insert(tokens["/r/"], read)
end
function init(args)
  requests = {}
  for i, token in ipairs(tokens[args[1]]) do requests[i] = wrk.format("GET", args[1] .. token) end
end
function request() next = next % #requests + 1; return requests[next] end
END
}

make_sink_paths() {
  python3 - "$DEVICES" <<'END'
import sys
with open("paths", "w") as paths:
    for i in range(1, int(sys.argv[1]) + 1):
        token = format(i, "064x")
        open("sink/3/device/" + token, "w").close()
        paths.write("https://127.0.0.1:28443/3/device/" + token + "\n")
END
  psql -qc "DELETE FROM device d USING contact c WHERE c.customer_id = 1 AND d.customer_id = 1
    AND d.contact_id = c.contact_id AND d.token_key > decode(lpad(to_hex($DEVICES), 64, '0'), 'hex')"
}

# ---- figures: each function prints one rate a second

compare() { # compare NAME YARDSTICK HUB: the two in turns
  for round in $(seq "$ROUNDS"); do
    $2 >>"$1.yardstick"
    $3 >>"$1.hub"
    say "$1, round $round: yardstick $(tail -1 "$1.yardstick"), hub $(tail -1 "$1.hub")"
  done
}

wrk_rate() { # wrk_rate CONNECTIONS URL [SCRIPT [ARGUMENT]]
  wrk -t1 -c"$1" -d"${SECONDS_EACH}s" ${3:+-s "$3"} "$2" ${4:+-- "$4"} >wrk.out
  if grep -q 'Non-2xx' wrk.out; then cat wrk.out >&2 && exit 1; fi
  awk '/Requests\/sec/ { print $2 }' wrk.out
}

pgbench_rate() { "$(command -v pgbench || echo "$PG_BIN/pgbench")" -n -M prepared -c 16 -j 1 -T "$SECONDS_EACH" -f "$1" 2>pgbench.err | awk '/^tps/ { print $3 }' || { cat pgbench.err >&2; return 1; }; }

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

make_message() {
  cat >message.lua <<END
function request()
  local body = string.format('{"appId":"com.example.bench","to":{"originalId":"user%d"},"message":{"alert":"Hi {{firstName}}"}}',
    math.random(1, $DEVICES))
  return wrk.format("POST", "/api/v1/messages",
    { ["Authorization"] = "Bearer $KEY", ["Content-Type"] = "application/json" }, body)
end
END
}

# Messages accepted by the push service, from the first request until the last outcome is written.
message_rate() {
  local streams="SELECT coalesce(sum(accepted), 0), coalesce(sum(queued + waiting), 0) FROM push_batch
    JOIN sendout USING (customer_id, sendout_id) WHERE kind = 'stream'"
  local before begun after
  before=$(psql -Atc "$streams" | cut -d'|' -f1)
  begun=$(date +%s.%N)
  wrk_rate 64 "$HUB" message.lua >/dev/null
  until after=$(psql -Atc "$streams") && [ "${after#*|}" = 0 ]; do sleep 0.1; done
  awk -v n=$((${after%|*} - before)) -v from="$begun" -v to="$(date +%s.%N)" 'BEGIN { print n / (to - from) }'
}

h2load_rate() { h2load -t1 -c1 -m500 -n"$DEVICES" -i paths 2>/dev/null | awk '/^finished/ { print $4 }'; }

sendout_rate() { # from its start to its end, by the ledger's own clock: freezing, claiming, sending, settling
  local id
  id=$("$PUSHCART" send --customer 1 --app com.example.bench --all --alert 'Hi {{firstName}}' --info 'Only today' \
    --template offer --wait --json 2>/dev/null | field sendoutId)
  psql -Atc "SELECT (SELECT count(*) FROM push p WHERE p.customer_id = 1 AND p.sendout_id = $id AND p.state = 'accepted')
    / extract(epoch FROM finished_at - started_at) FROM sendout WHERE customer_id = 1 AND sendout_id = $id"
}
