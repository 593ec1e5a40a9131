-- Templates of rich pages.

CREATE TABLE template (
  customer_id  bigint      NOT NULL REFERENCES customer,
  name         text        NOT NULL CONSTRAINT template_name_present CHECK (name <> ''),
  version      int4        NOT NULL,
  content_type text        NOT NULL,
  body         text        NOT NULL,
  created_at   timestamptz NOT NULL DEFAULT now(),
  removed_at   timestamptz,
  PRIMARY KEY (customer_id, name, version)
);
COMMENT ON TABLE  template              IS 'Rich pages, written in Mustache. Saving adds a version; versions never change.';
COMMENT ON COLUMN template.customer_id  IS 'The customer that owns the template.';
COMMENT ON COLUMN template.name         IS 'Name of the template, as sendouts refer to it.';
COMMENT ON COLUMN template.version      IS '1, 2, 3, … within the name. The highest is the current version.';
COMMENT ON COLUMN template.content_type IS 'Media type of the page.';
COMMENT ON COLUMN template.body         IS 'The Mustache text.';
COMMENT ON COLUMN template.created_at   IS 'When this version was saved.';
COMMENT ON COLUMN template.removed_at   IS 'When the template was removed; NULL while it is there. Its versions stay for pages of what was sent, and no number is used twice.';
