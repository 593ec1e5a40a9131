# What Tests/Bench/run and Tests/Faults/run stand on: servers and data.
HUB_PORT=28080 SECOND_HUB_PORT=28082 NGINX_PORT=28090 SINK_PORT=28443 DELAYED_SINK_PORT=28445 DELAY_PORT=28446
WEB_SINK_PORT=28447 SIMULATOR_PORT=28543 PHONE_PORT=28081
HUB=http://127.0.0.1:$HUB_PORT
pids=()

say() { echo "== $*" >&2; }

# ---- servers

as_postgres() { if [ "$(id -u)" = 0 ]; then setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; else "$@"; fi; }

start_postgres() {
  local bin
  bin=$(dirname "$(realpath "$(command -v initdb || ls /usr/lib/postgresql/*/bin/initdb | tail -1)")")
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
  mkdir -p sink/3/device sink/v1/projects/bench-project sink/v1/104567891
  ln -s 3/device sink/wns
  ln -s 3/device sink/web
  echo '{"name":"projects/bench-project/messages/1"}' >sink/v1/projects/bench-project/messages:send
  echo '{"code":"80000000","msg":"Success","requestId":"1"}' >sink/v1/104567891/messages:send
  echo '{"access_token":"bench","expires_in":3600,"token_type":"Bearer"}' >sink/token
  cp sink/token sink/accesstoken.srf
  echo '{}' >sink/webhook
  nghttpd -d "$work/sink" -n1 -a 127.0.0.1 $SINK_PORT sink.key sink.pem >/dev/null 2>&1 &
  pids+=($!)
}

# Replies pass through a proxy that delays them by 50 ms after SIGUSR1, and passes them on at once after SIGUSR2. Its sink allows
# APNs' 1000 streams a connection and takes 16 MB at once: the proxy delays window updates too, which only replies are to bound.
start_delayed_sink() {
  nghttpd -d "$work/sink" -n1 -m1000 -W24 -a 127.0.0.1 $DELAYED_SINK_PORT sink.key sink.pem >/dev/null 2>&1 &
  pids+=($!)
  python3 "$here/delay.py" $DELAY_PORT $DELAYED_SINK_PORT 50 &
  delay=$!
  pids+=($delay)
  until curl -s --cacert ca.pem "https://localhost:$DELAY_PORT/token" >/dev/null; do sleep 0.1; kill -0 $delay; done
}

start_hub() {
  make_customers
  serve "https://localhost:$SINK_PORT" ca.pem
}

make_customers() { # in the database $PGDATABASE
  export DATABASE_URL="postgres:///$PGDATABASE?host=$PGHOST&user=$PGUSER"
  PUSHCART_MASTER_KEY=$(openssl rand -base64 32)
  export PUSHCART_MASTER_KEY
  openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt -out AuthKey.p8
  "$PUSHCART" migrate >/dev/null
  make_service_account
  echo secret >secret.txt
  # 1 is the hub's and 2 the yardstick's, in tables of its own. The broadcasts of 4 are the large ones. Those of the others go to
  # further push services.
  local customer credentials
  for customer in 1 2 3 4 5 6 7 8 9; do
    "$PUSHCART" customer add --name "Bench $customer" --json >/dev/null
    case $customer in
    3 | 8 | 9) credentials=(--type firebase --service-account account.json) ;;
    5) credentials=(--type huawei --client-id 104567891 --client-secret-file secret.txt) ;;
    6) credentials=(--type windows --package-sid ms-app://s-1-15-2-1 --client-secret-file secret.txt) ;;
    7) credentials=(--type web --contact mailto:push@example.com) ;;
    *) credentials=(--type ios --team-id TEAM123456 --key-id KEY1234567 --signing-key AuthKey.p8) ;;
    esac
    "$PUSHCART" app add --customer $customer --app-id com.example.bench --name Bench "${credentials[@]}" --json >/dev/null
    "$PUSHCART" template put --customer $customer --name offer --file "$here/../../Templates/offer.html" >/dev/null
  done
  KEY=$("$PUSHCART" key add --customer 1 --name bench --scope admin --json | field token)
  PRODUCT_TOKEN=$("$PUSHCART" key add --customer 9 --name gateway --scope gateway --json | field token)
}

# The data tree of customer 8: 10,000 subscriptions at /fan, and others at places of their own, in two apps: few and many.
make_subscriptions() {
  TREE_KEY=$("$PUSHCART" datasync enable --customer 8 --app com.example.bench --json | field secret)
  psql -qv ON_ERROR_STOP=1 <<'END'
INSERT INTO data_tree_app (customer_id, app_id) VALUES (8, 'few'), (8, 'many') ON CONFLICT DO NOTHING;
INSERT INTO data_tree_subscription (customer_id, app_id, path_key, path, event, added, changed, removed, service, target, target_key,
  expires_at)
SELECT 8, app, substr(sha256(convert_to(path, 'UTF8')), 1, 16), path, 'value', false, false, false, 'fcm', token,
  substr(sha256(convert_to('fcm|' || token, 'UTF8')), 1, 16), 'infinity'
FROM (SELECT 'com.example.bench' AS app, '/fan/' AS path, lpad(to_hex(i), 64, '0') AS token FROM generate_series(1, 10000) i
      UNION ALL SELECT 'few', '/users/user' || i || '/', lpad(to_hex(i), 64, '0') FROM generate_series(1, 1000) i
      UNION ALL SELECT 'many', '/users/user' || i || '/', lpad(to_hex(i), 64, '0') FROM generate_series(1, 1000000) i) AS s;
END
  FEW_KEY=$(tree_key few) MANY_KEY=$(tree_key many)
  psql -qc ANALYZE
}

tree_key() { # a key of customer 8 for an app that has a data tree alone
  psql -qc "INSERT INTO push_app (customer_id, app_id, app_type, name) VALUES (8, '$1', 2, '$1')"
  "$PUSHCART" key add --customer 8 --name "$1" --scope datasync --app "$1" --json | field token
}

make_service_account() {
  openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out account.key 2>/dev/null
  python3 - >account.json <<'END'
import json
print(json.dumps({
    "type": "service_account", "project_id": "bench-project", "client_email": "bench@bench-project.iam.gserviceaccount.com",
    "private_key_id": "bench", "private_key": open("account.key").read()}))
END
}

launch() { # launch PORT APNS CA: starts a hub, whose process is $launched
  if curl -s "http://127.0.0.1:$1/healthz" >/dev/null; then echo "another program serves port $1" >&2 && exit 1; fi
  "$PUSHCART" serve --host 127.0.0.1 --port "$1" --apns-production-url "$2" --apns-sandbox-url "$2" \
    --fcm-url "https://localhost:$SINK_PORT" --google-token-url "https://localhost:$SINK_PORT/token" \
    --hms-url "https://localhost:$SINK_PORT" --hms-token-url "https://localhost:$SINK_PORT/token" \
    --wns-token-url "https://localhost:$SINK_PORT" --wns-allowed-hosts "localhost:$SINK_PORT" \
    --webpush-allowed-hosts "localhost:$SINK_PORT" --webhook-allowed-hosts "localhost:$SINK_PORT" \
    --provider-ca-file "$3" --log-level warning 2>>hub.log &
  launched=$!
  until curl -sf "http://127.0.0.1:$1/readyz" >/dev/null; do sleep 0.1; kill -0 $launched; done
}

stop() { # stop PROCESS: of a hub
  peak_rss "$1" >>peaks
  kill -TERM "$1" && wait "$1" || true
}

serve() { # serve APNS CA
  launch $HUB_PORT "$@"
  hub=$launched
}

serve_again() { # serve_again APNS CA
  stop "$hub"
  serve "$@"
}

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
  for pid in ${hub:-} ${second_hub:-}; do kill -TERM "$pid" 2>/dev/null && wait "$pid" 2>/dev/null; done
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null; done
  [ -n "${PG_BIN:-}" ] && as_postgres "$PG_BIN/pg_ctl" -D "$work/pg/data" -m immediate stop >/dev/null 2>&1
  cd / && rm -rf "$work"
}

rss() { awk '/VmRSS/ { printf "%d\n", $2 / 1024 }' "/proc/$1/status"; }
peak_rss() { awk '/VmHWM/ { printf "%d\n", $2 / 1024 }' "/proc/$1/status"; }
field() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }

# ---- data

seed() { # seed SCHEMA CUSTOMER COUNT: so many contacts with a device each
  psql -qv ON_ERROR_STOP=1 -v schema="$1" -v c="$2" -v n="$3" <<'END'
SET search_path = :schema, public;
INSERT INTO contact (customer_id, original_id, first_name, last_name, email_address, properties)
SELECT :c, 'user' || i, 'First' || i, 'Last' || i, 'user' || i || '@example.com', '{"food":"meat"}'
FROM generate_series(1, :n) i;
INSERT INTO device (customer_id, push_app_id, contact_id, token, token_key, manufacturer, model, os_version)
SELECT customer_id, (SELECT push_app_id FROM push_app WHERE customer_id = :c), contact_id,
  lpad(to_hex(substr(original_id, 5)::int), 64, '0'),
  decode(lpad(to_hex(substr(original_id, 5)::int), 64, '0'), 'hex'), 'apple', 'iphone 6', '9.2'
FROM contact WHERE customer_id = :c;
END
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

# Gives the devices of customers 6 and 7 addresses at the sink: channel URIs, and subscriptions of a thousand browsers' keys.
make_channels() {
  "$work/venv/bin/python" - >browsers.csv <<'END'
import base64, os
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
text = lambda data: base64.urlsafe_b64encode(data).decode().rstrip("=")
for i in range(1000):
    key = ec.generate_private_key(ec.SECP256R1()).public_key()
    print(f"{i},{text(key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint))},{text(os.urandom(16))}")
END
  psql -qv ON_ERROR_STOP=1 -v port=$SINK_PORT <<'END'
UPDATE device SET token = 'https://localhost:' || :port || '/wns/' || token WHERE customer_id = 6;
CREATE TABLE yardstick.browser (number int PRIMARY KEY, p256dh text, auth text);
\copy yardstick.browser FROM browsers.csv CSV
UPDATE device SET token = format('{"endpoint":"https://localhost:%s/web/%s","keys":{"auth":"%s","p256dh":"%s"}}',
                                 :port, token, auth, p256dh)
  FROM yardstick.browser WHERE customer_id = 7 AND number = device_id % 1000;
END
}

# A server for clients of HTTP/1.1 that accepts every Web Push.
start_web_sink() {
  cat >web.conf <<END
worker_processes 1; pid $work/web.pid; error_log $work/web.log;
events { worker_connections 1024; }
http { access_log off; keepalive_requests 1000000000;
  server { listen 127.0.0.1:$WEB_SINK_PORT ssl; ssl_certificate $work/sink.pem; ssl_certificate_key $work/sink.key;
    location / { return 201; } } }
END
  "$(command -v nginx || echo /usr/sbin/nginx)" -c "$work/web.conf" -g 'daemon off;' &
  pids+=($!)
  until curl -s --cacert ca.pem "https://localhost:$WEB_SINK_PORT/" >/dev/null; do sleep 0.1; done
}

settle() { psql -qc 'VACUUM ANALYZE' -c CHECKPOINT; } # or what came before is tidied up at the next figure's expense

make_links() { # real links, as the Simulator's phone received them
  "$PUSHCART" simulator --ca-file simulator.pem --free-ports --apns-port $SIMULATOR_PORT \
    --phone-port $PHONE_PORT >/dev/null 2>&1 &
  local simulator=$!
  until curl -sf "http://127.0.0.1:$PHONE_PORT/" >/dev/null; do sleep 0.1; done
  serve_again "https://localhost:$SIMULATOR_PORT" simulator.pem
  "$PUSHCART" send --customer 1 --app com.example.bench $(seq -f '--to user%g' 1 200) --alert 'Hi {{firstName}}' \
    --template offer --wait --json >/dev/null 2>&1
  curl -s --max-time 3 "http://127.0.0.1:$PHONE_PORT/events?after=0" | sed 's|\\/|/|g' >events || true
  paste -d' ' <(grep -o '/c/[A-Za-z0-9_-]*' events | sed 's|/c/||' | sort -u) \
    <(grep -o '/r/[A-Za-z0-9_-]*' events | sed 's|/r/||' | sort -u) | awk 'NF == 2' >tokens
  [ -s tokens ] || { echo "no links came" >&2; exit 1; }
  serve_again "https://localhost:$SINK_PORT" ca.pem
  kill $simulator
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

# A file for each token that a figure uses; registrations reach up to twice $DEVICES. What PUT has added is removed again.
make_sink_paths() {
  python3 - "$DEVICES" "${LARGE:+$LARGE_DEVICES}" <<'END'
import sys
devices, large = int(sys.argv[1]), int(sys.argv[2] or 0)
for i in range(1, max(2 * devices, large) + 1):
    open(f"sink/3/device/{i:064x}", "w").close()
for name, count in ("paths", devices), ("large-paths", large):
    with open(name, "w") as paths:
        paths.writelines(f"https://127.0.0.1:28443/3/device/{i:064x}\n" for i in range(1, count + 1))
END
  forget_new_contacts
}

# PUT makes new contacts, and changes known ones, the first time that they come. The next one would find less to do: each of the rows that it
# is the yardstick of begins with as many of both as the first.
forget_new_contacts() {
  psql -qv ON_ERROR_STOP=1 -v n="$DEVICES" <<'END'
DELETE FROM device d USING contact c WHERE c.customer_id = 1 AND d.customer_id = 1 AND d.contact_id = c.contact_id
  AND substr(c.original_id, 5)::int > :n;
DELETE FROM contact WHERE customer_id = 1 AND substr(original_id, 5)::int > :n;
UPDATE contact SET first_name = 'First' || i, last_name = 'Last' || i, email_address = 'user' || i || '@example.com'
FROM (SELECT contact_id, substr(original_id, 5) AS i FROM contact WHERE customer_id = 1 AND first_name = 'Lars') AS changed
WHERE contact.customer_id = 1 AND contact.contact_id = changed.contact_id;
END
  settle
}

make_limited() { # a customer of its own for what limits cost
  LIMITED=$("$PUSHCART" customer add --name limited --json | field customerId)
  "$PUSHCART" app add --customer "$LIMITED" --app-id com.example.bench --name Bench --type ios \
    --team-id TEAM123456 --key-id KEY1234567 --signing-key AuthKey.p8 --json >/dev/null
  "$PUSHCART" template put --customer "$LIMITED" --name offer --file "$here/../../Templates/offer.html" >/dev/null
  LIMITED_KEY=$("$PUSHCART" key add --customer "$LIMITED" --name bench --scope admin --json | field token)
  seed public "$LIMITED" "$DEVICES"
  make_zones "$LIMITED"
  settle
}

make_zones() { # make_zones CUSTOMER: ten for its contacts, and a city for one of a hundred of them
  psql -qv ON_ERROR_STOP=1 -v c="$1" <<'END'
UPDATE contact
   SET time_zone = (ARRAY['Europe/Stockholm', 'Europe/London', 'Europe/Athens', 'Europe/Moscow', 'America/New_York', 'America/Chicago',
                          'America/Los_Angeles', 'America/Sao_Paulo', 'Asia/Tokyo', 'Africa/Lagos'])[1 + contact_id % 10],
       city = CASE WHEN contact_id % 100 = 0 THEN 'Lund' ELSE 'Malmo' END
 WHERE customer_id = :c;
END
}
EXCLUDED="city = 'Lund'" # whom sendouts with limits leave out

make_freeze_watch() {
  psql -qv ON_ERROR_STOP=1 <<'END'
CREATE FUNCTION yardstick.freeze_rate(customer bigint, previous bigint) RETURNS float LANGUAGE plpgsql AS $$
DECLARE
  sendout record;
BEGIN
  LOOP
    SELECT sendout_id, started_at INTO sendout FROM sendout AS s
     WHERE s.customer_id = customer AND s.sendout_id > previous AND frozen_at IS NOT NULL;
    EXIT WHEN FOUND;
    PERFORM pg_sleep(0.01);
  END LOOP;
  RETURN (SELECT audience / extract(epoch FROM clock_timestamp() - sendout.started_at)
            FROM sendout_counts AS c WHERE c.customer_id = customer AND c.sendout_id = sendout.sendout_id);
END $$;
COMMENT ON FUNCTION yardstick.freeze_rate IS 'Waits for the ledger of the next sendout; returns its rows a second since the start.';
END
}

# The ledger's own table once more, for the yardstick of a freeze: the same partitions, indexes and storage.
make_yardstick_ledger() {
  psql -qv ON_ERROR_STOP=1 <<'END'
CREATE TABLE yardstick.push (LIKE public.push INCLUDING ALL) PARTITION BY RANGE (sendout_id);
SELECT format('CREATE TABLE yardstick.%I PARTITION OF yardstick.push %s WITH (%s)', relname, pg_get_expr(relpartbound, c.oid),
              array_to_string(reloptions, ', '))
  FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid WHERE inhparent = 'public.push'::regclass
\gexec
END
}
