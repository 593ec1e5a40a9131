# A customer with millions of contacts, and what people wait for beside them.

# The customer has two devices for each contact, on two platforms, and five sendouts to all of them. Indexes that no constraint needs are built
# afterwards, as filling them row by row takes several times as long.
seed_people() { # seed_people COUNT
  PEOPLE_CUSTOMER=$("$PUSHCART" customer add --name people --json | field customerId)
  "$PUSHCART" app add --customer $PEOPLE_CUSTOMER --app-id com.example.people --name People --type ios \
    --team-id TEAM123456 --key-id KEY1234567 --signing-key AuthKey.p8 --json >/dev/null
  "$PUSHCART" app add --customer $PEOPLE_CUSTOMER --app-id com.example.people --name People --type firebase \
    --service-account account.json --json >/dev/null
  "$PUSHCART" template put --customer $PEOPLE_CUSTOMER --name offer --file "$here/../../Templates/offer.html" >/dev/null
  "$PUSHCART" list add --customer $PEOPLE_CUSTOMER --name newsletter --json >/dev/null
  psql -qv ON_ERROR_STOP=1 -v c=$PEOPLE_CUSTOMER -v n="$1" <<'END'
SET maintenance_work_mem = '1GB';
SET max_parallel_maintenance_workers = 2;
CREATE TABLE yardstick.index AS
  SELECT indexrelid::regclass::text AS name, replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON ') AS definition
    FROM pg_index
   WHERE indrelid IN ('contact'::regclass, 'device'::regclass, 'push'::regclass)
     AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid);
SELECT format('DROP INDEX %s', name) FROM yardstick.index \gexec

INSERT INTO contact (customer_id, original_id, first_name, last_name, email_address, mobile_number, date_of_birth, city, country, properties,
  created_at)
SELECT :c, 'person' || i, 'First' || i % 5000, 'Last' || i % 70000, 'person' || i || '@example.com', '0046' || 700000000 + i,
  date '1940-01-01' + (i * 7919::bigint % 25000)::int, 'City' || i % 300,
  (ARRAY['SE', 'NO', 'DK', 'FI', 'DE', 'NL', 'GB', 'FR', 'IT', 'ES'])[1 + i % 10],
  format('{"food":"%s","visits":%s}', (ARRAY['meat', 'fish', 'greens'])[1 + i % 3], i * 31::bigint % 200)::json,
  now() - i % 1000 * interval '1 day'
FROM generate_series(1, :n) i;
INSERT INTO list_member (customer_id, list_id, contact_id)
SELECT :c, (SELECT list_id FROM list WHERE customer_id = :c), contact_id FROM contact WHERE customer_id = :c AND contact_id % 10 = 0;
INSERT INTO device (customer_id, push_app_id, contact_id, token, token_key, manufacturer, model, os_version, country, registered_at)
SELECT c.customer_id, a.push_app_id, c.contact_id, lpad(to_hex(c.contact_id), 64, '0'), decode(lpad(to_hex(c.contact_id), 64, '0'), 'hex'),
  CASE app_type WHEN 1 THEN 'apple' ELSE 'samsung' END, 'model ' || c.contact_id % 40, 10 + c.contact_id % 8 || '.' || c.contact_id % 5,
  c.country, now() - c.contact_id % 400 * interval '1 day'
FROM push_app a CROSS JOIN contact c
WHERE a.customer_id = :c AND c.customer_id = :c ORDER BY a.push_app_id, c.contact_id;

INSERT INTO sendout (customer_id, push_app_ids, name, state, audience, message, created_at, started_at, frozen_at, finished_at)
SELECT :c, (SELECT array_agg(push_app_id) FROM push_app WHERE customer_id = :c), 'Offer ' || i, 'finished', '{"all":true}', '{"alert":"Hi {{firstName}}"}',
  now() - (61 - 12 * i) * interval '1 day', now() - (61 - 12 * i) * interval '1 day', now() - (61 - 12 * i) * interval '1 day',
  now() - (60 - 12 * i) * interval '1 day'
FROM generate_series(1, 5) i;
SELECT require_sendout_range(sendout_id) FROM sendout WHERE customer_id = :c;
INSERT INTO push (customer_id, sendout_id, push_no, batch_no, device_id, contact_id, state, attempts, reason, sent_at, settled_at, opened_at)
SELECT customer_id, sendout_id, push_no, push_no / 1000, device_id, contact_id, CASE WHEN chance % 50 = 0 THEN 'failed' ELSE 'accepted' END, 1,
  CASE WHEN chance % 50 = 0 THEN 'Unregistered' END, at, at, CASE WHEN chance % 50 <> 0 AND chance % 6 = 0 THEN at + chance % 86400 * interval '1 s' END
FROM (
  SELECT s.customer_id, s.sendout_id, s.push_no::int4, d.device_id, d.contact_id, started_at + push_no * interval '30 us' AS at,
    hashint8(d.device_id * 31 + s.sendout_id) & 2147483647 AS chance
  FROM (SELECT *, generate_series(1, 2 * :n) AS push_no FROM sendout WHERE customer_id = :c) AS s
  JOIN (SELECT *, device_id - min(device_id) OVER () + 1 AS push_no FROM device WHERE customer_id = :c) AS d USING (push_no)
  ORDER BY s.sendout_id, s.push_no) AS pushes;
INSERT INTO push_batch (customer_id, sendout_id, batch_no, push_app_id, sandbox, first_push, last_push, state, queued, accepted, failed, sent, opened,
  accepted_opened)
SELECT customer_id, sendout_id, batch_no, push_app_ids[CASE WHEN min(push_no) > :n THEN 2 ELSE 1 END], false, min(push_no), max(push_no), 'settled', 0,
  count(*) FILTER (WHERE p.state = 'accepted'), count(*) FILTER (WHERE p.state = 'failed'), count(*), count(opened_at), count(opened_at)
FROM push p JOIN sendout USING (customer_id, sendout_id) WHERE customer_id = :c GROUP BY customer_id, sendout_id, batch_no, push_app_ids;
INSERT INTO open_hour (customer_id, sendout_id, hour, slot, opens, first_opens)
SELECT customer_id, sendout_id, date_trunc('hour', opened_at), 0, count(*), count(*)
FROM push WHERE customer_id = :c AND opened_at IS NOT NULL GROUP BY 1, 2, 3;
INSERT INTO day_count (customer_id, day, sent, opened)
SELECT customer_id, (started_at AT TIME ZONE 'UTC')::date, sum(sent), sum(opened)
FROM sendout JOIN push_batch USING (customer_id, sendout_id) WHERE customer_id = :c GROUP BY 1, 2
ON CONFLICT (customer_id, day) DO UPDATE SET sent = excluded.sent, opened = excluded.opened;
UPDATE sendout SET all_counted = true WHERE customer_id = :c;
INSERT INTO day_progress (customer_id, last_device) SELECT customer_id, max(device_id) FROM device WHERE customer_id = :c GROUP BY 1
ON CONFLICT (customer_id) DO UPDATE SET last_device = excluded.last_device;
SELECT definition FROM yardstick.index \gexec
END
  "$PUSHCART" recount --customer $PEOPLE_CUSTOMER >/dev/null
  settle
}

# The pages of the console, one of each kind that links lead to, as the owner sees them.
page_times() { # prints: p95 in ms, HTML's bytes, the page; the slowest first
  local link
  link=$("$PUSHCART" user add --customer $PEOPLE_CUSTOMER --email "$RANDOM$RANDOM@example.com" --role owner --json | field link)
  python3 "$here/pages.py" "$HUB" "$link" "${PAGE_LOADS:-100}"
}

# Typical filters of marketers: an estimate, an exact count, and the first page of contacts.
filter_times() { # prints: ms of each of the three, contacts, the filter
  local key sendout
  key=$("$PUSHCART" key add --customer $PEOPLE_CUSTOMER --name filters --scope admin --json | field token)
  sendout=$(psql -Atc "SELECT max(sendout_id) FROM sendout WHERE customer_id = $PEOPLE_CUSTOMER")
  python3 "$here/filters.py" "$HUB" "$key" "$sendout" 5
}
