-- Values of metadata as functions that postgres_fdw sends to the nodes: it sends no casts, and nothing with a text that
-- was taken out of JSON. The coordinator never runs them. There they are in plpgsql, so that none is replaced by its body.
\set QUIET on
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS vector;
CREATE SCHEMA IF NOT EXISTS eider;
SELECT set_config('eider.language', :'language', false) \g /dev/null
DO $do$
DECLARE
  kind record;
  body text;
BEGIN
  FOR kind IN SELECT * FROM (VALUES
    ('boolean', 'boolean', true), ('smallint', 'smallint', true), ('integer', 'integer', true),
    ('bigint', 'bigint', true), ('double', 'double precision', true), ('numeric', 'numeric', true),
    ('uuid', 'uuid', true), ('date', 'date', false), ('timestamp', 'timestamp', false),
    ('timestamptz', 'timestamptz', false), ('bytes', 'bytea', false)) AS k(name, type, is_constant)
  LOOP
    body := format(CASE kind.name WHEN 'bytes' THEN 'convert_to(%s, ''UTF8'')' ELSE '(%s)::%s' END,
      $$typed ->> (key #>> '{}')$$, kind.type);
    EXECUTE format('CREATE OR REPLACE FUNCTION eider.as_%s(typed json, key json) RETURNS %s
      IMMUTABLE PARALLEL SAFE LANGUAGE %s AS %L', kind.name, kind.type,
      CASE WHEN kind.is_constant THEN current_setting('eider.language') ELSE 'plpgsql' END,
      CASE WHEN kind.is_constant AND current_setting('eider.language') = 'sql'
        THEN 'SELECT ' || body ELSE 'BEGIN RETURN ' || body || '; END' END);
  END LOOP;
  CREATE OR REPLACE FUNCTION eider.as_bytes(content text) RETURNS bytea
    IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS $$ BEGIN RETURN convert_to(content, 'UTF8'); END $$;
END
$do$;
