-- Roles: the owner migrates, pushcart_serve runs the hub, pushcart_report reads reports. None needs to be a superuser.

-- Only the owner can run ANALYZE before PostgreSQL 17, and a hub needs it after large freezes and imports.
CREATE FUNCTION refresh_statistics(VARIADIC tables regclass[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp SET lock_timeout = '1s' AS $$
DECLARE
  one regclass;
BEGIN
  FOREACH one IN ARRAY tables LOOP
    EXECUTE format('ANALYZE %s', one);
  END LOOP;
END $$;
REVOKE EXECUTE ON FUNCTION refresh_statistics FROM PUBLIC;
COMMENT ON FUNCTION refresh_statistics IS 'Runs ANALYZE on tables as the schema''s owner. It waits a second at most for a VACUUM or ANALYZE that is under way.';

CREATE FUNCTION admit_hub(hub name) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('GRANT USAGE ON SCHEMA public, report TO %I', hub);
  EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO %I', hub);
  EXECUTE format('REVOKE INSERT, UPDATE, DELETE ON schema_migration FROM %I', hub);
  -- Whoever takes a hub over cannot rewrite what was done before.
  EXECUTE format('REVOKE UPDATE, DELETE ON audit_log FROM %I', hub);
  EXECUTE format('GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO %I', hub);
  -- Those that are there: a later migration has the last one, and admits the hub again.
  EXECUTE (SELECT string_agg(format('GRANT EXECUTE ON FUNCTION %s TO %I', oid::regprocedure, hub), ';') FROM pg_proc
            WHERE pronamespace = 'public'::regnamespace AND proname IN (
              'refresh_statistics', 'refresh_push_statistics', 'make_partitions', 'require_sendout_range', 'drop_expired_partitions',
              'erase_from_audit_log'));
  EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA report TO %I', hub);
  EXECUTE format('ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO %I', hub);
  EXECUTE format('ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE ON SEQUENCES TO %I', hub);
  EXECUTE format('ALTER DEFAULT PRIVILEGES IN SCHEMA report GRANT SELECT ON TABLES TO %I', hub);
END $$;
REVOKE EXECUTE ON FUNCTION admit_hub FROM PUBLIC;
COMMENT ON FUNCTION admit_hub IS 'Lets a role do what a hub does: read and write rows of all tables, later ones too, but for lines of the audit log that are there, and change no schema.';

-- As for pushcart_report: the role can exist already, and a managed server can refuse. Then an administrator creates the role
-- and runs SELECT admit_hub('pushcart_serve').
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'pushcart_serve') THEN
    CREATE ROLE pushcart_serve NOLOGIN;
  END IF;
EXCEPTION
  WHEN duplicate_object OR unique_violation THEN NULL;
  WHEN insufficient_privilege THEN RAISE WARNING 'role pushcart_serve was not created: this user lacks CREATEROLE';
END $$;
DO $$
BEGIN
  PERFORM admit_hub(rolname) FROM pg_roles WHERE rolname = 'pushcart_serve';
END $$;
