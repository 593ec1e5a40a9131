-- CM Hybrid Messaging: messages to telephone numbers. Their pushes and SMS are in the ledger, as of every single message.

CREATE TABLE hybrid_message (
  customer_id  bigint      NOT NULL,
  sendout_id   bigint      NOT NULL,
  message_no   int4        NOT NULL,
  message_guid uuid        NOT NULL DEFAULT gen_random_uuid(),
  app_id       text,
  number       text        NOT NULL,
  sender       text        NOT NULL,
  body         text        NOT NULL,
  kind         text        NOT NULL,
  parts        int2        NOT NULL,
  reference    text,
  created_at   timestamptz NOT NULL DEFAULT now(),
  status       text        NOT NULL DEFAULT 'Sent' CONSTRAINT hybrid_message_status_known CHECK (status IN ('Cancelled', 'Sent', 'Rejected', 'Accepted', 'Failed', 'Delivered')),
  delivered_at timestamptz,
  read_at      timestamptz,
  PRIMARY KEY (customer_id, sendout_id, message_no)
);
CREATE INDEX hybrid_message_number ON hybrid_message (customer_id, number, created_at);
COMMENT ON TABLE  hybrid_message              IS 'Messages to telephone numbers, as the gateway accepted them.';
COMMENT ON COLUMN hybrid_message.customer_id  IS 'The customer that sent it.';
COMMENT ON COLUMN hybrid_message.sendout_id   IS 'The stream of its message.';
COMMENT ON COLUMN hybrid_message.message_no   IS 'Its message: the row of the table message.';
COMMENT ON COLUMN hybrid_message.message_guid IS 'What phones call its ID.';
COMMENT ON COLUMN hybrid_message.app_id       IS 'The app id that it named by an app key; NULL for SMS only.';
COMMENT ON COLUMN hybrid_message.number       IS 'The recipient: the digits of E.164.';
COMMENT ON COLUMN hybrid_message.sender       IS 'As the gateway got it.';
COMMENT ON COLUMN hybrid_message.body         IS 'Its text, as the gateway got it.';
COMMENT ON COLUMN hybrid_message.kind         IS 'default, otp, critical, or sms for one that could only go by SMS.';
COMMENT ON COLUMN hybrid_message.parts        IS 'How many SMS its text takes.';
COMMENT ON COLUMN hybrid_message.reference    IS 'The caller''s own name for it.';
COMMENT ON COLUMN hybrid_message.created_at   IS 'When the gateway accepted it.';
COMMENT ON COLUMN hybrid_message.status       IS 'Cancelled, Sent, Rejected, Accepted, Failed or Delivered, as phones and status reports name it.';
COMMENT ON COLUMN hybrid_message.delivered_at IS 'When a device or a delivery report first confirmed it; NULL until then.';
COMMENT ON COLUMN hybrid_message.read_at      IS 'When it was read, as a device said; NULL until then.';
