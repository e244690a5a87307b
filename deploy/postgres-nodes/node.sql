-- A node's part of the chunks: the table that Eider makes, with a name that says over how many nodes it is spread.
SELECT set_config('eider.table', :'table' || ':' || :'count', false),
  set_config('eider.dimensions', :'dimensions', false) \g /dev/null
DO $do$
DECLARE
  name text := format('eider.%I', current_setting('eider.table'));
  dimensions integer := current_setting('eider.dimensions');
  is_used boolean;
BEGIN
  IF to_regclass(name) IS NOT NULL THEN
    EXECUTE format('SELECT EXISTS (SELECT FROM %s)', name) INTO is_used;
    IF is_used THEN
      RAISE '% holds rows: of a knowledge base in use, or left over from one; drop it if it is left over', name;
    END IF;
    RETURN;
  END IF;
  EXECUTE format($$
    CREATE TABLE %1$s (
      chunk_key bigint PRIMARY KEY, document_id text NOT NULL, chunk_id text NOT NULL,
      content text NOT NULL, metadata json NOT NULL, typed json NOT NULL,
      context text NOT NULL, is_cut boolean NOT NULL, layout text, vector vector(%2$s) NOT NULL,
      terms bigint[] NOT NULL, frequencies integer[] NOT NULL, term_count integer NOT NULL,
      language text NOT NULL, revision bigint NOT NULL) WITH (toast_tuple_target = 8160);
    ALTER TABLE %1$s ALTER COLUMN vector SET STORAGE %3$s;
    CREATE INDEX ON %1$s (document_id);
    CREATE INDEX ON %1$s (revision);
    CREATE INDEX ON %1$s USING gin (terms)$$,
    name, dimensions, CASE WHEN dimensions <= 1536 THEN 'PLAIN' ELSE 'EXTERNAL' END);
END
$do$;
