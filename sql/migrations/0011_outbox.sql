-- What customers have yet to be told by HTTP. Notifications of data trees are no rows of it: what they say is made from the tree when they
-- leave, and changes until then (data_tree_due).

CREATE TABLE outbox (
  customer_id bigint      NOT NULL,
  kind        text        NOT NULL CONSTRAINT outbox_kind_known CHECK (customer_id = 0 OR kind IN ('message_status')),
  receiver    text        NOT NULL,
  sendout_id  bigint      NOT NULL,
  item_no     int4        NOT NULL,
  event       text        NOT NULL CONSTRAINT outbox_event_known CHECK (customer_id = 0 OR event IN ('Cancelled', 'Rejected', 'Accepted', 'Failed', 'Delivered', 'Read')),
  created_at  timestamptz NOT NULL DEFAULT now(),
  attempts    int4        NOT NULL DEFAULT 0,
  not_before  timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (customer_id, sendout_id, item_no, event, kind, receiver)
);
CREATE INDEX outbox_due ON outbox (customer_id, kind, receiver, not_before);
-- Plans are kept, and most of the time nothing waits. These rows stand for nothing: they keep the planner from taking the table for empty.
INSERT INTO outbox (customer_id, kind, receiver, sendout_id, item_no, event, not_before)
SELECT 0, '', n, -n, n, '', 'infinity' FROM generate_series(1, 2000) AS n;

COMMENT ON TABLE  outbox             IS 'What customers have yet to be told by HTTP. A row is written together with what it tells, and deleted once it is answered, or given up. Its text is made when it is posted. The rows of customer 0 keep the planner from taking the table for empty.';
COMMENT ON COLUMN outbox.customer_id IS 'The customer.';
COMMENT ON COLUMN outbox.kind        IS 'message_status: the status of a message to a number.';
COMMENT ON COLUMN outbox.receiver    IS 'Who gets it: of message_status the app id of the app whose address it is, report_app of the message.';
COMMENT ON COLUMN outbox.sendout_id  IS 'The sendout, or stream, that it is about.';
COMMENT ON COLUMN outbox.item_no     IS 'Which of its items: of message_status the message.';
COMMENT ON COLUMN outbox.event       IS 'What happened: of message_status a status of tracked_message, or Read. Each is told once.';
COMMENT ON COLUMN outbox.created_at  IS 'When it happened.';
COMMENT ON COLUMN outbox.attempts    IS 'How often it was posted. What had no place, or whose address has been silent for long, was not.';
COMMENT ON COLUMN outbox.not_before  IS 'Earliest moment of the next attempt. A hub that begins one moves it ahead, so that no other posts it meanwhile.';
