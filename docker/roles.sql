-- Creates the database, its owner, and the user that hubs serve as. A superuser runs it once, with psql 15 or later:
--   PUSHCART_OWNER_PASSWORD=… PUSHCART_HUB_PASSWORD=… psql -f docker/roles.sql
-- pushcart_owner migrates. pushcart_hub serves, and can change no schema. People who read reports get pushcart_report.
\set ON_ERROR_STOP on
\getenv owner_password PUSHCART_OWNER_PASSWORD
\getenv hub_password PUSHCART_HUB_PASSWORD
SET password_encryption = 'scram-sha-256';

CREATE ROLE pushcart_serve NOLOGIN;
CREATE ROLE pushcart_report NOLOGIN;
CREATE ROLE pushcart_owner LOGIN PASSWORD :'owner_password';
CREATE ROLE pushcart_hub LOGIN PASSWORD :'hub_password' IN ROLE pushcart_serve;

CREATE DATABASE pushcart OWNER pushcart_owner;
REVOKE ALL ON DATABASE pushcart FROM PUBLIC;
GRANT CONNECT ON DATABASE pushcart TO pushcart_serve, pushcart_report;
\connect pushcart
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
ALTER SCHEMA public OWNER TO pushcart_owner;
