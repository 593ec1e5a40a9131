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
