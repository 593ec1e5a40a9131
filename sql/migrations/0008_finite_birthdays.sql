-- A day of birth that is an infinity stands for nothing, yet psql and COPY can write one. Rows that slip in before the
-- constraint are mended when their contact next changes, so nothing has to be locked while looking for them.
UPDATE contact SET date_of_birth = NULL WHERE NOT isfinite(date_of_birth);
ALTER TABLE contact ADD CONSTRAINT contact_date_of_birth_finite CHECK (isfinite(date_of_birth)) NOT VALID;
