-- Indexes by which hubs find what is too old to be kept. It is deleted every hour, customer by customer and in portions.

CREATE INDEX idempotent_reply_age ON idempotent_reply (customer_id, created_at);
CREATE INDEX message_key_age ON message_key (customer_id, created_at);
CREATE INDEX outbox_age ON outbox (customer_id, created_at);
CREATE INDEX data_tree_notification_age ON data_tree_notification (customer_id, at);
CREATE INDEX hybrid_registration_age ON hybrid_registration (customer_id, changed_at)
  WHERE status <> 'PinVerified' AND device_token IS NULL;
CREATE INDEX hybrid_rate_age ON hybrid_rate (customer_id, (sent_at[1]));
CREATE INDEX hybrid_signature_age ON hybrid_signature (customer_id, at);
CREATE INDEX hybrid_pin_event_age ON hybrid_pin_event (customer_id, at);
