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
  pins_per_hour   int4        NOT NULL DEFAULT 1000 CONSTRAINT hybrid_app_pins_per_hour_known CHECK (pins_per_hour BETWEEN 1 AND 1000000),
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
COMMENT ON COLUMN hybrid_app.pins_per_hour   IS 'Most PINs an hour for all its phones, whatever their numbers and addresses.';
COMMENT ON COLUMN hybrid_app.status_url      IS 'Where the customer gets status reports of its messages; NULL for nowhere.';
COMMENT ON COLUMN hybrid_app.secret          IS 'Signs the phones'' requests: the master key''s id, then AES-256-GCM.';
COMMENT ON COLUMN hybrid_app.previous_secret IS 'The secret before the last rotation, which still signs; NULL if there was none.';
COMMENT ON COLUMN hybrid_app.created_at      IS 'When Hybrid Messaging was enabled for the app.';
COMMENT ON COLUMN hybrid_app.updated_at      IS 'When a setting or the secret last changed.';

-- A registration counts as a device of its number's contact while device_number and device_token say so: they are written once the
-- device is registered, and cleared once it is invalidated. So a hub that stops in between finishes it with the phone's next request.
CREATE TABLE hybrid_registration (
  customer_id     bigint      NOT NULL,
  registration_id uuid        NOT NULL DEFAULT gen_random_uuid(),
  app_id          text        NOT NULL,
  platform        text        NOT NULL CONSTRAINT hybrid_registration_platform_known CHECK (platform IN ('iOS', 'Android', 'WindowsPhone')),
  user_agent      text        NOT NULL,
  number          text,
  status          text        NOT NULL DEFAULT 'Unverified' CONSTRAINT hybrid_registration_status_known CHECK (status IN ('Unverified', 'WaitingForPin', 'LastPinVerificationFailed', 'PinVerified')),
  verified_at     timestamptz,
  push_token      text,
  sandbox         boolean     NOT NULL DEFAULT false,
  notifications   boolean     NOT NULL DEFAULT true,
  pin_nonce       bytea,
  pin_hash        bytea,
  pin_expires_at  timestamptz,
  pin_tries       int2        NOT NULL DEFAULT 0,
  device_number   text,
  device_token    text,
  created_at      timestamptz NOT NULL DEFAULT now(),
  changed_at      timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (customer_id, registration_id),
  FOREIGN KEY (customer_id, app_id) REFERENCES hybrid_app,
  CONSTRAINT hybrid_registration_numbered CHECK (number IS NOT NULL OR status = 'Unverified'),
  CONSTRAINT hybrid_registration_verified CHECK ((status = 'PinVerified') = (verified_at IS NOT NULL))
) WITH (fillfactor = 85);
COMMENT ON TABLE  hybrid_registration                 IS 'Installs of apps of CM Hybrid Messaging, verified or not.';
COMMENT ON COLUMN hybrid_registration.customer_id     IS 'The customer that owns the app.';
COMMENT ON COLUMN hybrid_registration.registration_id IS 'What phones call their DeviceID.';
COMMENT ON COLUMN hybrid_registration.app_id          IS 'The app id that its app key stands for.';
COMMENT ON COLUMN hybrid_registration.platform        IS 'iOS, Android or WindowsPhone, as its User-Agent said when it was created.';
COMMENT ON COLUMN hybrid_registration.user_agent      IS 'User-Agent of its last POST or PUT.';
COMMENT ON COLUMN hybrid_registration.number          IS 'The digits of E.164 of the number that it has given last, verified or not.';
COMMENT ON COLUMN hybrid_registration.status          IS 'How far the number is verified, in the words of the phones'' protocol.';
COMMENT ON COLUMN hybrid_registration.verified_at     IS 'When the number was verified. Messages before that are not shown.';
COMMENT ON COLUMN hybrid_registration.push_token      IS 'Its push token; NULL until it gives one.';
COMMENT ON COLUMN hybrid_registration.sandbox         IS 'Whether the token belongs to APNs'' development environment.';
COMMENT ON COLUMN hybrid_registration.notifications   IS 'False where the phone said that its user has turned notifications off.';
COMMENT ON COLUMN hybrid_registration.pin_nonce       IS 'The PIN follows from it and a secret of the hub; NULL where no PIN is under way.';
COMMENT ON COLUMN hybrid_registration.pin_hash        IS 'HMAC-SHA256 of the PIN by that secret.';
COMMENT ON COLUMN hybrid_registration.pin_expires_at  IS 'The moment from which the PIN verifies nothing.';
COMMENT ON COLUMN hybrid_registration.pin_tries       IS 'Codes that were tried for this PIN: after five there is no further one.';
COMMENT ON COLUMN hybrid_registration.device_number   IS 'The number whose contact has this phone as a device; NULL for none.';
COMMENT ON COLUMN hybrid_registration.device_token    IS 'The token of that device.';
COMMENT ON COLUMN hybrid_registration.created_at      IS 'When the phone registered.';
COMMENT ON COLUMN hybrid_registration.changed_at      IS 'When it last changed its registration, or got a PIN. Without a verified number it is deleted 30 days later.';

CREATE TABLE hybrid_pin_rate (
  customer_id bigint        NOT NULL,
  subject     text          NOT NULL,
  sent_at     timestamptz[] NOT NULL,
  spent       interval,
  PRIMARY KEY (customer_id, subject)
);
COMMENT ON TABLE  hybrid_pin_rate             IS 'When PINs were last sent, for the limits of their rates. Rows older than a day are deleted.';
COMMENT ON COLUMN hybrid_pin_rate.customer_id IS 'The customer.';
COMMENT ON COLUMN hybrid_pin_rate.subject     IS 'A number, an app id and the address of the phones that asked, or an app.';
COMMENT ON COLUMN hybrid_pin_rate.sent_at     IS 'The last twenty moments, the newest first; of an app the last one.';
COMMENT ON COLUMN hybrid_pin_rate.spent       IS 'Of an app: what was spent of its hour at the last moment. Each PIN spends its part, time gives it back, and a PIN that there is no part for is not sent. NULL for others.';

CREATE TABLE hybrid_signature (
  customer_id     bigint      NOT NULL,
  registration_id uuid        NOT NULL,
  signature       bytea       NOT NULL,
  body_hash       bytea       NOT NULL,
  at              timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (customer_id, registration_id, signature)
);
COMMENT ON TABLE  hybrid_signature                 IS 'Signatures of requests that changed a registration: none is taken again with another body. Rows older than a day are deleted.';
COMMENT ON COLUMN hybrid_signature.customer_id     IS 'The customer that owns the app.';
COMMENT ON COLUMN hybrid_signature.registration_id IS 'The DeviceID of the request.';
COMMENT ON COLUMN hybrid_signature.signature       IS 'The request''s HMAC-SHA1.';
COMMENT ON COLUMN hybrid_signature.body_hash       IS 'SHA-256 of the request''s body.';
COMMENT ON COLUMN hybrid_signature.at              IS 'When the request came first.';

CREATE TABLE hybrid_pin_event (
  customer_id     bigint      NOT NULL,
  number          text        NOT NULL,
  event_no        bigint      GENERATED BY DEFAULT AS IDENTITY,
  app_id          text        NOT NULL,
  registration_id uuid        NOT NULL,
  kind            text        NOT NULL CONSTRAINT hybrid_pin_event_kind_known CHECK (kind IN ('sent', 'called', 'verified', 'failed')),
  at              timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (customer_id, number, event_no)
);
COMMENT ON TABLE  hybrid_pin_event                 IS 'PINs of telephone numbers: sent, spoken, and what their codes came to. Kept until retention deletes them.';
COMMENT ON COLUMN hybrid_pin_event.customer_id     IS 'The customer that owns the app.';
COMMENT ON COLUMN hybrid_pin_event.number          IS 'The digits of E.164.';
COMMENT ON COLUMN hybrid_pin_event.event_no        IS 'Number of the event.';
COMMENT ON COLUMN hybrid_pin_event.app_id          IS 'The app of the phone.';
COMMENT ON COLUMN hybrid_pin_event.registration_id IS 'The phone that asked, by its DeviceID.';
COMMENT ON COLUMN hybrid_pin_event.kind            IS 'sent by SMS, called, verified, or failed for a wrong or late code.';
COMMENT ON COLUMN hybrid_pin_event.at              IS 'When it happened.';
