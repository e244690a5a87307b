-- The table of the chunks, in parts by a hash of the document's id. Each part is a foreign table at one node, so that a
-- document is always on one node. Everything happens in one transaction.
\getenv password NODE_PASSWORD
CREATE EXTENSION IF NOT EXISTS postgres_fdw;
SELECT set_config('eider.table', :'table', false), set_config('eider.login', :'login', false),
  set_config('eider.nodes', :'nodes', false), set_config('eider.password', :'password', false) \g /dev/null
DO $do$
DECLARE
  kb text := current_setting('eider.table');
  login text := current_setting('eider.login');
  nodes json := current_setting('eider.nodes');
  count integer := json_array_length(nodes);
  node record;
  member record;
BEGIN
  -- Writers wait for this row.
  PERFORM FROM eider.knowledge_bases WHERE name = kb FOR UPDATE;
  FOR member IN
    SELECT p.oid::regprocedure AS name FROM pg_proc AS p
    WHERE p.pronamespace = 'eider'::regnamespace AND p.proname LIKE 'as\_%' AND NOT EXISTS (
      SELECT FROM pg_depend AS d WHERE d.objid = p.oid AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e')
  LOOP
    -- postgres_fdw sends functions of listed extensions only.
    EXECUTE format('ALTER EXTENSION vector ADD FUNCTION %s', member.name);
  END LOOP;
  EXECUTE format('CREATE TABLE eider.%I (LIKE eider.%I) PARTITION BY HASH (document_id)',
    kb || ':spread', kb);
  FOR node IN SELECT value, ordinality - 1 AS place FROM json_array_elements(nodes) WITH ORDINALITY LOOP
    IF NOT EXISTS (SELECT FROM pg_foreign_server WHERE srvname = node.value ->> 'name') THEN
      EXECUTE format($$CREATE SERVER %I FOREIGN DATA WRAPPER postgres_fdw OPTIONS (
          host %L, port %L, dbname %L, extensions 'vector', async_capable 'true', batch_size '500',
          fetch_size '1000', connect_timeout '5', keepalives_idle '5', keepalives_interval '5',
          keepalives_count '2', tcp_user_timeout '15000', options %L)$$,
        node.value ->> 'name', node.value ->> 'host', node.value ->> 'port', node.value ->> 'dbname',
        -- As in Eider's own sessions: the coordinator's settings do not reach the nodes.
        '-c hnsw.iterative_scan=strict_order -c hnsw.max_scan_tuples=2147483647 '
          || '-c hnsw.ef_search=100 -c jit=off');
    END IF;
    EXECUTE format('GRANT USAGE ON FOREIGN SERVER %I TO %I', node.value ->> 'name', login);
    EXECUTE format('DROP USER MAPPING IF EXISTS FOR %I SERVER %I', login, node.value ->> 'name');
    EXECUTE format('CREATE USER MAPPING FOR %I SERVER %I OPTIONS (user %L, password %L)',
      login, node.value ->> 'name', node.value ->> 'user', current_setting('eider.password'));
    EXECUTE format($$CREATE FOREIGN TABLE eider.%I PARTITION OF eider.%I
        FOR VALUES WITH (MODULUS %s, REMAINDER %s) SERVER %I
        OPTIONS (schema_name 'eider', table_name %L)$$,
      format('%s:%s:%s', kb, count, node.place), kb || ':spread', count, node.place,
      node.value ->> 'name', format('%s:%s', kb, count));
    EXECUTE format('ALTER FOREIGN TABLE eider.%I OWNER TO %I',
      format('%s:%s:%s', kb, count, node.place), login);
  END LOOP;
  EXECUTE format('ALTER TABLE eider.%I OWNER TO %I', kb || ':spread', login);
  EXECUTE format('SET LOCAL ROLE %I', login);
  EXECUTE format('INSERT INTO eider.%I SELECT * FROM eider.%I', kb || ':spread', kb);
  EXECUTE format('DROP TABLE eider.%I', kb);
  EXECUTE format('ALTER TABLE eider.%I RENAME TO %I', kb || ':spread', kb);
END
$do$;
