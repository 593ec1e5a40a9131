-- CM Hybrid Messaging: apps, and the phones that are registered with them.

CREATE TABLE hybrid_app (
  customer_id     bigint      NOT NULL REFERENCES customer,
  app_id          text        NOT NULL,
  app_key         uuid        NOT NULL,
  message_type    text        NOT NULL DEFAULT 'default' CONSTRAINT hybrid_app_message_type_known CHECK (message_type IN ('default', 'otp', 'critical')),
  sender          text,
  pin_text        text        NOT NULL,
  voice_text      text        NOT NULL,
  clock_zone      text        NOT NULL DEFAULT 'UTC',
  status_url      text,
  secret          bytea       NOT NULL,
  previous_secret bytea,
  created_at      timestamptz NOT NULL DEFAULT now(),
  updated_at      timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (customer_id, app_id),
  CONSTRAINT hybrid_app_app_key_key UNIQUE (customer_id, app_key)
);
COMMENT ON TABLE  hybrid_app                 IS 'Apps of CM Hybrid Messaging. One stands for all platforms of its app id.';
COMMENT ON COLUMN hybrid_app.customer_id     IS 'The customer that owns the app.';
COMMENT ON COLUMN hybrid_app.app_id          IS 'The app id of its push apps.';
COMMENT ON COLUMN hybrid_app.app_key         IS 'Names the app in requests of phones and gateways: a UUID of version 8 whose first 48 bits are the customer''s number.';
COMMENT ON COLUMN hybrid_app.message_type    IS 'Type of messages that name none.';
COMMENT ON COLUMN hybrid_app.sender          IS 'Sender of PINs by SMS; NULL for the provider''s own.';
COMMENT ON COLUMN hybrid_app.pin_text        IS 'Text of a PIN by SMS; {{pin}} stands for the PIN.';
COMMENT ON COLUMN hybrid_app.voice_text      IS 'What a call says; {{pin}} stands for the PIN.';
COMMENT ON COLUMN hybrid_app.clock_zone      IS 'Time zone of moments that phones send without one, such as Europe/Amsterdam.';
COMMENT ON COLUMN hybrid_app.status_url      IS 'Where the customer gets status reports of its messages; NULL for nowhere.';
COMMENT ON COLUMN hybrid_app.secret          IS 'Signs the phones'' requests: the master key''s id, then AES-256-GCM.';
COMMENT ON COLUMN hybrid_app.previous_secret IS 'The secret before the last rotation, which still signs; NULL if there was none.';
COMMENT ON COLUMN hybrid_app.created_at      IS 'When Hybrid Messaging was enabled for the app.';
COMMENT ON COLUMN hybrid_app.updated_at      IS 'When a setting or the secret last changed.';
