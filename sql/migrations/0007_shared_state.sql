-- What all hubs share besides the ledger.

CREATE TABLE provider_token (
  customer_id   bigint      NOT NULL REFERENCES customer,
  signing_key   text        NOT NULL,
  sealed        bytea       NOT NULL,
  master_key_id text        NOT NULL,
  issued_at     timestamptz NOT NULL,
  PRIMARY KEY (customer_id, signing_key)
);
COMMENT ON TABLE  provider_token               IS 'The token that signs in to APNs, one for each signing key: all hubs use the same. APNs refuses a key that makes a new one more often than every 20 minutes.';
COMMENT ON COLUMN provider_token.customer_id   IS 'The customer that owns the key. Customers share no token, even if they have the same key.';
COMMENT ON COLUMN provider_token.signing_key   IS 'Team Id, Key Id, and the SHA-256 of the public key in hexadecimal digits.';
COMMENT ON COLUMN provider_token.sealed        IS 'AES-256-GCM, as in push_credential. Customer and signing key are authenticated.';
COMMENT ON COLUMN provider_token.master_key_id IS 'The master key that sealed it.';
COMMENT ON COLUMN provider_token.issued_at     IS 'When it was issued, by the database''s clock. It is replaced after 50 minutes and worthless after 60.';

CREATE TABLE circuit_breaker (
  customer_id bigint      NOT NULL,
  sendout_id  bigint      NOT NULL,
  push_app_id bigint      NOT NULL,
  sandbox     boolean     NOT NULL,
  opened_at   timestamptz NOT NULL DEFAULT now(),
  answered    int4        NOT NULL,
  invalid     int4        NOT NULL,
  retired     int4        NOT NULL,
  PRIMARY KEY (customer_id, sendout_id, push_app_id, sandbox),
  FOREIGN KEY (customer_id, sendout_id) REFERENCES sendout ON DELETE CASCADE
);
COMMENT ON TABLE  circuit_breaker             IS 'Open circuit breakers: an app and environment of a sendout in which so many tokens came back as invalid that no device is retired any more. What is closed has no row.';
COMMENT ON COLUMN circuit_breaker.customer_id IS 'The customer that owns the sendout.';
COMMENT ON COLUMN circuit_breaker.sendout_id  IS 'The sendout.';
COMMENT ON COLUMN circuit_breaker.push_app_id IS 'The app of its devices.';
COMMENT ON COLUMN circuit_breaker.sandbox     IS 'Whether its devices belong to APNs'' development environment.';
COMMENT ON COLUMN circuit_breaker.opened_at   IS 'When it opened.';
COMMENT ON COLUMN circuit_breaker.answered    IS 'Pushes that the push service had accepted or refused by then.';
COMMENT ON COLUMN circuit_breaker.invalid     IS 'Of these, tokens that came back as invalid without a date.';
COMMENT ON COLUMN circuit_breaker.retired     IS 'Of these, tokens that came back before it opened: so many devices may have been retired.';
