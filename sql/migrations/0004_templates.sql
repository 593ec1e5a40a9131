-- What the recipient sees.

CREATE TABLE template (
  customer_id  bigint      NOT NULL REFERENCES customer,
  name         text        NOT NULL CONSTRAINT template_name_present CHECK (name <> ''),
  version      int4        NOT NULL,
  content_type text        NOT NULL,
  body         text        NOT NULL,
  created_at   timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (customer_id, name, version)
);
COMMENT ON TABLE  template              IS 'Rich pages, in Mustache. Saving adds a version; versions never change.';
COMMENT ON COLUMN template.customer_id  IS 'Whose template it is.';
COMMENT ON COLUMN template.name         IS 'Name of the template, as sendouts give it.';
COMMENT ON COLUMN template.version      IS '1, 2, 3, … within the name; the highest is the current one.';
COMMENT ON COLUMN template.content_type IS 'Media type the page is served with.';
COMMENT ON COLUMN template.body         IS 'The Mustache text.';
COMMENT ON COLUMN template.created_at   IS 'When this version was saved.';
