-- PostgreSQL 16's catalog (its manual, "System Catalogs"), over the relations that one caller of Eider may see.
-- The statements run in a DuckDB of their own, in memory. Tables `listed_…`, `session_facts` and `settings` are filled, and
-- `listed-relations.sql` fills others from them; everything else is a view, a macro or empty.

CREATE SCHEMA pgc;
CREATE SCHEMA info;
CREATE TYPE pgc.oid AS BIGINT;
CREATE TYPE pgc.name AS VARCHAR;
CREATE TYPE pgc.regproc AS VARCHAR;
CREATE TYPE pgc.aclitem AS VARCHAR;
-- Told from other lists by types that nothing else here has.
CREATE TYPE pgc.int2vector AS USMALLINT[];
CREATE TYPE pgc.oidvector AS UINTEGER[];
CREATE TYPE pgc.xid AS BIGINT;

CREATE TABLE pgc.session_facts (db VARCHAR, project VARCHAR, username VARCHAR, version VARCHAR);
CREATE TABLE pgc.listed_schemata (schema_name VARCHAR);
CREATE TABLE pgc.listed_tables (
  table_schema VARCHAR, table_name VARCHAR, table_type VARCHAR, table_rows BIGINT, table_comment VARCHAR);
CREATE TABLE pgc.listed_columns (
  table_schema VARCHAR, table_name VARCHAR, column_name VARCHAR, data_type VARCHAR, is_nullable VARCHAR, column_default VARCHAR,
  column_key VARCHAR, column_comment VARCHAR);
CREATE TABLE pgc.listed_constraints (
  table_schema VARCHAR, table_name VARCHAR, constraint_name VARCHAR, constraint_type VARCHAR);
CREATE TABLE pgc.listed_checks (constraint_schema VARCHAR, constraint_name VARCHAR, check_clause VARCHAR);
CREATE TABLE pgc.listed_key_columns (
  table_schema VARCHAR, table_name VARCHAR, constraint_name VARCHAR, column_name VARCHAR, ordinal_position BIGINT);
-- PostgreSQL's types, and the ones of the columns.
CREATE TABLE pgc.listed_types (oid BIGINT, name VARCHAR, size SMALLINT, "array" BIGINT);
CREATE TABLE pgc.listed_column_types (duckdb VARCHAR, oid BIGINT, size SMALLINT, modifier INTEGER);
CREATE TABLE pgc.namespaces (oid BIGINT, nspname VARCHAR);
CREATE TABLE pgc.own_relations (
  oid BIGINT, relname VARCHAR, relnamespace BIGINT, relkind VARCHAR, natts SMALLINT, rows BIGINT, comment VARCHAR);
CREATE TABLE pgc.own_attributes (
  attrelid BIGINT, attname VARCHAR, atttypid BIGINT, attlen SMALLINT, attnum SMALLINT, atttypmod INTEGER,
  attnotnull BOOLEAN, is_key BOOLEAN, default_text VARCHAR, comment VARCHAR);
-- UNIQUE ('u') and CHECK ('c'). The number of a key's index is that of the key without its first billion.
CREATE TABLE pgc.own_constraints (oid BIGINT, relid BIGINT, name VARCHAR, kind VARCHAR, names VARCHAR[], clause VARCHAR);
-- The catalog's own.
CREATE TABLE pgc.system_relations AS FROM pgc.own_relations;
CREATE TABLE pgc.system_attributes AS FROM pgc.own_attributes;
CREATE VIEW pgc.relations AS FROM pgc.own_relations UNION ALL FROM pgc.system_relations;
CREATE VIEW pgc.attributes AS FROM pgc.own_attributes UNION ALL FROM pgc.system_attributes;
CREATE TABLE pgc.settings (name VARCHAR, setting VARCHAR);
CREATE TABLE pgc.types (oid BIGINT, typname VARCHAR, typlen SMALLINT, typarray BIGINT);

-- What macros look into. Their columns have names of their own, because an argument such as `oid` would be taken for the
-- column of that name within the macro.
CREATE VIEW pgc.constraints AS
  SELECT r.oid + 2000000000 AS oid, r.oid AS relid, r.relname || '_pkey' AS name, 'p' AS kind,
    list(a.attname ORDER BY a.attnum) AS names, list(a.attnum ORDER BY a.attnum) AS columns, NULL::VARCHAR AS clause
  FROM pgc.attributes AS a JOIN pgc.relations AS r ON r.oid = a.attrelid WHERE a.is_key GROUP BY ALL
  UNION ALL SELECT c.oid, c.relid, c.name, c.kind, c.names,
    list(a.attnum ORDER BY list_position(c.names, a.attname)) FILTER (a.attnum IS NOT NULL), c.clause
  FROM pgc.own_constraints AS c LEFT JOIN pgc.attributes AS a ON a.attrelid = c.relid AND list_contains(c.names, a.attname)
  GROUP BY ALL;
CREATE VIEW pgc.keys AS SELECT *, oid - 1000000000 AS index_oid FROM pgc.constraints WHERE kind <> 'c';
CREATE VIEW pgc.z_facts AS
  SELECT db AS z_db, project AS z_project, username AS z_username, version AS z_version FROM pgc.session_facts;
CREATE VIEW pgc.z_settings AS SELECT lower(name) AS z_name, setting AS z_setting FROM pgc.settings;
CREATE VIEW pgc.z_schemas AS SELECT oid AS z_oid, nspname AS z_name FROM pgc.namespaces;
CREATE VIEW pgc.z_types AS
  SELECT t.oid AS z_oid, t.typname AS z_name, e.typname AS z_element
  FROM pgc.types AS t LEFT JOIN pgc.types AS e ON e.typarray = t.oid;
CREATE VIEW pgc.z_columns AS SELECT attrelid AS z_relation, attnum AS z_number, comment AS z_comment FROM pgc.attributes;
CREATE VIEW pgc.z_relations AS
  SELECT r.oid AS z_oid, r.relname AS z_name, n.nspname AS z_schema, r.comment AS z_comment,
    -- Plain names are those of the catalog, then of the project.
    CASE WHEN n.oid = 11 THEN 0 WHEN n.nspname = f.project THEN 1 ELSE 2 END AS z_rank
  FROM pgc.relations AS r JOIN pgc.namespaces AS n ON n.oid = r.relnamespace,
    pgc.session_facts AS f;
CREATE VIEW pgc.z_constraints AS
  SELECT c.oid AS z_oid, c.name AS z_name, c.kind AS z_kind, c.names AS z_names, c.clause AS z_clause, r.z_name AS z_table, r.z_schema
  FROM pgc.constraints AS c JOIN pgc.z_relations AS r ON r.z_oid = c.relid;

CREATE MACRO pgc.type_category(n) AS CASE
  WHEN n IN ('int2', 'int4', 'int8', 'float4', 'float8', 'numeric', 'oid', 'regclass', 'regtype', 'regproc', 'regnamespace')
    THEN 'N' WHEN n = 'bool' THEN 'B' WHEN n IN ('text', 'varchar', 'name', 'bpchar') THEN 'S'
  WHEN n IN ('date', 'time', 'timetz', 'timestamp', 'timestamptz') THEN 'D' WHEN n = 'interval' THEN 'T'
  WHEN n LIKE '\_%' ESCAPE '\' THEN 'A' ELSE 'U' END;
CREATE MACRO pgc.type_title(n) AS CASE n
  WHEN 'int2' THEN 'smallint' WHEN 'int4' THEN 'integer' WHEN 'int8' THEN 'bigint' WHEN 'float4' THEN 'real'
  WHEN 'float8' THEN 'double precision' WHEN 'bool' THEN 'boolean' WHEN 'varchar' THEN 'character varying'
  WHEN 'bpchar' THEN 'character' WHEN 'char' THEN '"char"' WHEN 'timestamp' THEN 'timestamp without time zone'
  WHEN 'timestamptz' THEN 'timestamp with time zone' WHEN 'time' THEN 'time without time zone'
  WHEN 'timetz' THEN 'time with time zone' WHEN 'varbit' THEN 'bit varying' ELSE n END;
CREATE MACRO pgc.type_function(n, f) AS n || CASE WHEN n IN ('date', 'interval', 'json', 'jsonb', 'numeric', 'record', 'time', 'timestamp',
  'timestamptz', 'timetz', 'uuid', 'varbit', 'void') THEN '_' ELSE '' END || f;
CREATE VIEW pgc.pg_type AS
  SELECT
    t.oid,
    t.typname,
    11::BIGINT AS typnamespace,
    10::BIGINT AS typowner,
    t.typlen,
    t.typlen BETWEEN 1 AND 8 AS typbyval,
    CASE WHEN t.typname IN ('record', 'void', 'trigger') THEN 'p' ELSE 'b' END AS typtype,
    pgc.type_category(t.typname) AS typcategory,
    t.typname IN ('text', 'bool', 'float8', 'oid', 'timestamptz', 'interval') AS typispreferred,
    true AS typisdefined,
    ',' AS typdelim,
    0::BIGINT AS typrelid,
    CASE WHEN e.oid IS NULL THEN '-' ELSE 'array_subscript_handler' END AS typsubscript,
    coalesce(e.oid, 0)::BIGINT AS typelem,
    coalesce(t.typarray, 0)::BIGINT AS typarray,
    CASE WHEN e.oid IS NULL THEN pgc.type_function(t.typname, 'in') ELSE 'array_in' END AS typinput,
    CASE WHEN e.oid IS NULL THEN pgc.type_function(t.typname, 'out') ELSE 'array_out' END AS typoutput,
    CASE WHEN e.oid IS NULL THEN pgc.type_function(t.typname, 'recv') ELSE 'array_recv' END AS typreceive,
    CASE WHEN e.oid IS NULL THEN pgc.type_function(t.typname, 'send') ELSE 'array_send' END AS typsend,
    '-' AS typmodin,
    '-' AS typmodout,
    '-' AS typanalyze,
    'i' AS typalign,
    'x' AS typstorage,
    false AS typnotnull,
    0::BIGINT AS typbasetype,
    -1::INTEGER AS typtypmod,
    0::INTEGER AS typndims,
    CASE WHEN t.typname IN ('text', 'varchar', 'bpchar', 'name') THEN 100 ELSE 0 END::BIGINT AS typcollation,
    NULL::VARCHAR AS typdefaultbin,
    NULL::VARCHAR AS typdefault,
    NULL::VARCHAR[] AS typacl
  FROM pgc.types AS t LEFT JOIN pgc.types AS e ON e.typarray = t.oid;
CREATE VIEW pgc.pg_namespace AS
  SELECT
    oid,
    nspname,
    10::BIGINT AS nspowner,
    NULL::VARCHAR[] AS nspacl
  FROM pgc.namespaces;
CREATE VIEW pgc.pg_class AS
  SELECT
    oid,
    relname,
    relnamespace,
    0::BIGINT AS reltype,
    0::BIGINT AS reloftype,
    10::BIGINT AS relowner,
    CASE relkind WHEN 'r' THEN 2 WHEN 'i' THEN 403 ELSE 0 END::BIGINT AS relam,
    oid AS relfilenode,
    0::BIGINT AS reltablespace,
    -- Of 8 kB, which there are none of: DuckDB's reader asks for rows by page where there are.
    0::INTEGER AS relpages,
    coalesce(rows, -1)::FLOAT AS reltuples,
    0::INTEGER AS relallvisible,
    0::BIGINT AS reltoastrelid,
    EXISTS (FROM pgc.keys AS k WHERE k.relid = r.oid) AS relhasindex,
    false AS relisshared,
    'p' AS relpersistence,
    relkind,
    natts AS relnatts,
    (SELECT count(*) FROM pgc.own_constraints AS c WHERE c.relid = r.oid AND c.kind = 'c')::SMALLINT AS relchecks,
    false AS relhasrules,
    false AS relhastriggers,
    false AS relhassubclass,
    false AS relrowsecurity,
    false AS relforcerowsecurity,
    true AS relispopulated,
    'd' AS relreplident,
    false AS relispartition,
    0::BIGINT AS relrewrite,
    0::BIGINT AS relfrozenxid,
    0::BIGINT AS relminmxid,
    NULL::VARCHAR[] AS relacl,
    NULL::VARCHAR[] AS reloptions,
    NULL::VARCHAR AS relpartbound
  FROM pgc.relations AS r;
CREATE VIEW pgc.pg_attribute AS
  SELECT
    attrelid,
    attname,
    atttypid,
    attlen,
    attnum,
    0::INTEGER AS attcacheoff,
    atttypmod,
    0::SMALLINT AS attndims,
    attlen BETWEEN 1 AND 8 AS attbyval,
    'i' AS attalign,
    CASE WHEN attlen > 0 THEN 'p' ELSE 'x' END AS attstorage,
    '' AS attcompression,
    attnotnull,
    default_text IS NOT NULL AS atthasdef,
    false AS atthasmissing,
    '' AS attidentity,
    '' AS attgenerated,
    false AS attisdropped,
    true AS attislocal,
    0::SMALLINT AS attinhcount,
    -1::SMALLINT AS attstattarget,
    CASE WHEN atttypid IN (25, 1043) THEN 100 ELSE 0 END::BIGINT AS attcollation,
    NULL::VARCHAR[] AS attacl,
    NULL::VARCHAR[] AS attoptions,
    NULL::VARCHAR[] AS attfdwoptions,
    NULL::VARCHAR AS attmissingval
  FROM (
    FROM pgc.attributes
    -- Those of the keys' indexes.
    UNION ALL SELECT k.index_oid, a.attname, a.atttypid, a.attlen, k.place, a.atttypmod, false, false, NULL, NULL
    FROM (SELECT index_oid, relid, unnest(names) AS name, generate_subscripts(names, 1) AS place FROM pgc.keys) AS k
    JOIN pgc.attributes AS a ON a.attrelid = k.relid AND a.attname = k.name);
CREATE VIEW pgc.pg_attrdef AS
  SELECT
    attrelid * 1000 + attnum AS oid,
    attrelid AS adrelid,
    attnum AS adnum,
    default_text AS adbin
  FROM pgc.attributes
  WHERE default_text IS NOT NULL;
CREATE VIEW pgc.pg_index AS
  SELECT
    index_oid AS indexrelid,
    relid AS indrelid,
    len(columns)::SMALLINT AS indnatts,
    len(columns)::SMALLINT AS indnkeyatts,
    true AS indisunique,
    false AS indnullsnotdistinct,
    kind = 'p' AS indisprimary,
    false AS indisexclusion,
    true AS indimmediate,
    false AS indisclustered,
    true AS indisvalid,
    false AS indcheckxmin,
    true AS indisready,
    true AS indislive,
    false AS indisreplident,
    columns::pgc.int2vector AS indkey,
    list_transform(columns, c -> 0::BIGINT)::pgc.oidvector AS indcollation,
    list_transform(columns, c -> 0::BIGINT)::pgc.oidvector AS indclass,
    list_transform(columns, c -> 0::SMALLINT)::pgc.int2vector AS indoption,
    NULL::VARCHAR AS indexprs,
    NULL::VARCHAR AS indpred
  FROM pgc.keys;
CREATE VIEW pgc.pg_constraint AS
  SELECT
    c.oid,
    c.name AS conname,
    r.relnamespace AS connamespace,
    c.kind AS contype,
    false AS condeferrable,
    false AS condeferred,
    true AS convalidated,
    c.relid AS conrelid,
    0::BIGINT AS contypid,
    CASE c.kind WHEN 'c' THEN 0 ELSE c.oid - 1000000000 END AS conindid,
    0::BIGINT AS conparentid,
    0::BIGINT AS confrelid,
    ' ' AS confupdtype,
    ' ' AS confdeltype,
    ' ' AS confmatchtype,
    true AS conislocal,
    0::SMALLINT AS coninhcount,
    true AS connoinherit,
    c.columns AS conkey,
    NULL::SMALLINT[] AS confkey,
    NULL::BIGINT[] AS conpfeqop,
    NULL::BIGINT[] AS conppeqop,
    NULL::BIGINT[] AS conffeqop,
    NULL::SMALLINT[] AS confdelsetcols,
    NULL::BIGINT[] AS conexclop,
    c.clause AS conbin
  FROM pgc.constraints AS c JOIN pgc.relations AS r ON r.oid = c.relid;
CREATE VIEW pgc.pg_description AS
  SELECT
    oid AS objoid,
    1259::BIGINT AS classoid,
    0::INTEGER AS objsubid,
    comment AS description
  FROM pgc.relations
  WHERE comment IS NOT NULL
  UNION ALL SELECT attrelid, 1259, attnum, comment FROM pgc.attributes WHERE comment IS NOT NULL;
CREATE VIEW pgc.pg_database AS
  SELECT
    -- Numbers below are the system's own databases, which pgAdmin hides.
    16384::BIGINT AS oid,
    db AS datname,
    10::BIGINT AS datdba,
    6::INTEGER AS encoding,
    'c' AS datlocprovider,
    false AS datistemplate,
    true AS datallowconn,
    -1::INTEGER AS datconnlimit,
    0::BIGINT AS datfrozenxid,
    0::BIGINT AS datminmxid,
    1663::BIGINT AS dattablespace,
    'C' AS datcollate,
    'C' AS datctype,
    NULL::VARCHAR AS daticulocale,
    NULL::VARCHAR AS daticurules,
    NULL::VARCHAR AS datcollversion,
    NULL::VARCHAR[] AS datacl
  FROM pgc.session_facts;
CREATE VIEW pgc.pg_roles AS
  SELECT
    username AS rolname,
    true AS rolsuper,
    true AS rolinherit,
    false AS rolcreaterole,
    false AS rolcreatedb,
    true AS rolcanlogin,
    false AS rolreplication,
    -1::INTEGER AS rolconnlimit,
    '********' AS rolpassword,
    NULL::TIMESTAMPTZ AS rolvaliduntil,
    true AS rolbypassrls,
    NULL::VARCHAR[] AS rolconfig,
    10::BIGINT AS oid
  FROM pgc.session_facts;
CREATE VIEW pgc.pg_authid AS
  SELECT oid, rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication, rolbypassrls, rolconnlimit,
    rolpassword, rolvaliduntil
  FROM pgc.pg_roles;
CREATE VIEW pgc.pg_user AS
  SELECT
    username AS usename,
    10::BIGINT AS usesysid,
    false AS usecreatedb,
    true AS usesuper,
    false AS userepl,
    false AS usebypassrls,
    '********' AS passwd,
    NULL::TIMESTAMPTZ AS valuntil,
    NULL::VARCHAR[] AS useconfig
  FROM pgc.session_facts;
CREATE VIEW pgc.pg_am AS
  SELECT
    oid,
    amname,
    amname || 'handler' AS amhandler,
    amtype
  FROM (VALUES (2::BIGINT, 'heap', 't'), (403, 'btree', 'i')) AS v(oid, amname, amtype);
CREATE VIEW pgc.pg_tables AS
  SELECT
    n.nspname AS schemaname,
    c.relname AS tablename,
    'eider' AS tableowner,
    NULL::VARCHAR AS tablespace,
    c.relhasindex AS hasindexes,
    false AS hasrules,
    false AS hastriggers,
    false AS rowsecurity
  FROM pgc.pg_class AS c JOIN pgc.pg_namespace AS n ON n.oid = c.relnamespace
  WHERE c.relkind = 'r';
CREATE VIEW pgc.pg_views AS
  SELECT
    n.nspname AS schemaname,
    c.relname AS viewname,
    'eider' AS viewowner,
    '' AS definition
  FROM pgc.pg_class AS c JOIN pgc.pg_namespace AS n ON n.oid = c.relnamespace
  WHERE c.relkind = 'v';
CREATE VIEW pgc.pg_indexes AS
  SELECT
    n.nspname AS schemaname,
    c.relname AS tablename,
    k.name AS indexname,
    NULL::VARCHAR AS tablespace,
    concat('CREATE UNIQUE INDEX ', k.name, ' ON ', n.nspname, '.', c.relname, ' USING btree (', array_to_string(k.names, ', '), ')')
      AS indexdef
  FROM pgc.keys AS k JOIN pgc.pg_class AS c ON c.oid = k.relid JOIN pgc.pg_namespace AS n ON n.oid = c.relnamespace;
CREATE VIEW pgc.pg_settings AS
  SELECT
    name,
    setting,
    NULL::VARCHAR AS unit,
    'Eider' AS category,
    '' AS short_desc,
    '' AS extra_desc,
    'user' AS context,
    'string' AS vartype,
    'default' AS source,
    NULL::VARCHAR AS min_val,
    NULL::VARCHAR AS max_val,
    NULL::VARCHAR[] AS enumvals,
    setting AS boot_val,
    setting AS reset_val,
    NULL::VARCHAR AS sourcefile,
    NULL::INTEGER AS sourceline,
    false AS pending_restart
  FROM pgc.settings;
CREATE VIEW pgc.pg_collation AS
  SELECT
    oid,
    collname,
    11::BIGINT AS collnamespace,
    10::BIGINT AS collowner,
    'c' AS collprovider,
    true AS collisdeterministic,
    -1::INTEGER AS collencoding,
    'C' AS collcollate,
    'C' AS collctype,
    NULL::VARCHAR AS colliculocale,
    NULL::VARCHAR AS collicurules,
    NULL::VARCHAR AS collversion
  FROM (VALUES (100::BIGINT, 'default'), (950, 'C')) AS v(oid, collname);
CREATE VIEW pgc.pg_language AS
  SELECT
    oid,
    lanname,
    10::BIGINT AS lanowner,
    false AS lanispl,
    true AS lanpltrusted,
    0::BIGINT AS lanplcallfoid,
    0::BIGINT AS laninline,
    0::BIGINT AS lanvalidator,
    NULL::VARCHAR[] AS lanacl
  FROM (VALUES (12::BIGINT, 'internal'), (14, 'sql')) AS v(oid, lanname);
CREATE VIEW pgc.pg_tablespace AS
  SELECT
    1663::BIGINT AS oid,
    'pg_default' AS spcname,
    10::BIGINT AS spcowner,
    NULL::VARCHAR[] AS spcacl,
    NULL::VARCHAR[] AS spcoptions
  FROM (SELECT 1);
CREATE MACRO pgc.duckdb_type_oid(t) AS coalesce((
  SELECT min(z_oid) FROM pgc.z_types WHERE z_name = CASE replace(t, '[]', '')
    WHEN 'BIGINT' THEN 'int8' WHEN 'INTEGER' THEN 'int4' WHEN 'SMALLINT' THEN 'int2' WHEN 'TINYINT' THEN 'int2'
    WHEN 'UBIGINT' THEN 'numeric' WHEN 'HUGEINT' THEN 'numeric' WHEN 'UHUGEINT' THEN 'numeric' WHEN 'UINTEGER' THEN 'int8'
    WHEN 'DOUBLE' THEN 'float8' WHEN 'FLOAT' THEN 'float4' WHEN 'BOOLEAN' THEN 'bool' WHEN 'BLOB' THEN 'bytea'
    WHEN 'TIMESTAMP WITH TIME ZONE' THEN 'timestamptz' WHEN 'DECIMAL' THEN 'numeric' WHEN 'BIT' THEN 'varbit'
    ELSE lower(replace(t, '[]', '')) END), 25);
-- One of each name: DuckDB's functions take many combinations of types.
CREATE TABLE pgc.functions AS
  SELECT row_number() OVER (ORDER BY function_name) + 60000 AS oid, * FROM (
    SELECT DISTINCT ON (function_name) function_name, function_type, parameters, coalesce(return_type, 'VARCHAR') AS return_type,
      list_transform(parameter_types, p -> coalesce(p, 'VARCHAR')) AS parameter_types, varargs IS NOT NULL AS is_variadic,
      has_side_effects
    FROM duckdb_functions() WHERE function_type IN ('scalar', 'aggregate') AND function_name SIMILAR TO '[a-z_0-9]+'
    ORDER BY function_name, len(parameters), return_type);
CREATE VIEW pgc.z_functions AS
  SELECT oid AS z_oid, function_name AS z_name, return_type AS z_result,
    concat_ws(', ', nullif(array_to_string(list_transform(list_zip(parameters, parameter_types), p -> p[1] || ' ' || lower(p[2])), ', '), ''),
      CASE WHEN is_variadic THEN 'VARIADIC "any"' END) AS z_arguments
  FROM pgc.functions;
CREATE VIEW pgc.pg_proc AS
  SELECT
    oid,
    function_name AS proname,
    11::BIGINT AS pronamespace,
    10::BIGINT AS proowner,
    12::BIGINT AS prolang,
    1::FLOAT AS procost,
    0::FLOAT AS prorows,
    0::BIGINT AS provariadic,
    '-' AS prosupport,
    CASE function_type WHEN 'aggregate' THEN 'a' ELSE 'f' END AS prokind,
    false AS prosecdef,
    false AS proleakproof,
    false AS proisstrict,
    false AS proretset,
    CASE WHEN has_side_effects THEN 'v' ELSE 'i' END AS provolatile,
    's' AS proparallel,
    len(parameters)::SMALLINT AS pronargs,
    0::SMALLINT AS pronargdefaults,
    pgc.duckdb_type_oid(return_type) AS prorettype,
    list_transform(parameters, p -> 25::BIGINT)::pgc.oidvector AS proargtypes,
    NULL::BIGINT[] AS proallargtypes,
    NULL::VARCHAR[] AS proargmodes,
    parameters AS proargnames,
    NULL::VARCHAR AS proargdefaults,
    NULL::BIGINT[] AS protrftypes,
    function_name AS prosrc,
    NULL::VARCHAR AS probin,
    NULL::VARCHAR AS prosqlbody,
    NULL::VARCHAR[] AS proconfig,
    NULL::VARCHAR[] AS proacl
  FROM pgc.functions;

-- Relations that are always empty, with PostgreSQL's columns.
CREATE TABLE pgc.pg_aggregate (aggfnoid VARCHAR, aggkind VARCHAR, aggnumdirectargs SMALLINT, aggtransfn VARCHAR, aggfinalfn
  VARCHAR, aggcombinefn VARCHAR, aggserialfn VARCHAR, aggdeserialfn VARCHAR, aggmtransfn VARCHAR, aggminvtransfn VARCHAR,
  aggmfinalfn VARCHAR, aggfinalextra BOOLEAN, aggmfinalextra BOOLEAN, aggfinalmodify VARCHAR, aggmfinalmodify VARCHAR,
  aggsortop BIGINT, aggtranstype BIGINT, aggtransspace INTEGER, aggmtranstype BIGINT, aggmtransspace INTEGER, agginitval
  VARCHAR, aggminitval VARCHAR);
CREATE TABLE pgc.pg_amop (oid BIGINT, amopfamily BIGINT, amoplefttype BIGINT, amoprighttype BIGINT, amopstrategy SMALLINT,
  amoppurpose VARCHAR, amopopr BIGINT, amopmethod BIGINT, amopsortfamily BIGINT);
CREATE TABLE pgc.pg_amproc (oid BIGINT, amprocfamily BIGINT, amproclefttype BIGINT, amprocrighttype BIGINT, amprocnum
  SMALLINT, amproc VARCHAR);
CREATE TABLE pgc.pg_auth_members (oid BIGINT, roleid BIGINT, member BIGINT, "grantor" BIGINT, admin_option BOOLEAN,
  inherit_option BOOLEAN, set_option BOOLEAN);
CREATE TABLE pgc.pg_available_extension_versions (name VARCHAR, version VARCHAR, installed BOOLEAN, superuser BOOLEAN,
  trusted BOOLEAN, relocatable BOOLEAN, schema VARCHAR, requires VARCHAR[], comment VARCHAR);
CREATE TABLE pgc.pg_available_extensions (name VARCHAR, default_version VARCHAR, installed_version VARCHAR, comment VARCHAR);
CREATE TABLE pgc.pg_cast (oid BIGINT, castsource BIGINT, casttarget BIGINT, castfunc BIGINT, castcontext VARCHAR, castmethod
  VARCHAR);
CREATE TABLE pgc.pg_conversion (oid BIGINT, conname VARCHAR, connamespace BIGINT, conowner BIGINT, conforencoding INTEGER,
  contoencoding INTEGER, conproc VARCHAR, condefault BOOLEAN);
CREATE TABLE pgc.pg_cursors (name VARCHAR, statement VARCHAR, is_holdable BOOLEAN, is_binary BOOLEAN, is_scrollable BOOLEAN,
  creation_time TIMESTAMPTZ);
CREATE TABLE pgc.pg_db_role_setting (setdatabase BIGINT, setrole BIGINT, setconfig VARCHAR[]);
CREATE TABLE pgc.pg_default_acl (oid BIGINT, defaclrole BIGINT, defaclnamespace BIGINT, defaclobjtype VARCHAR, defaclacl
  VARCHAR[]);
CREATE TABLE pgc.pg_depend (classid BIGINT, objid BIGINT, objsubid INTEGER, refclassid BIGINT, refobjid BIGINT, refobjsubid
  INTEGER, deptype VARCHAR);
CREATE TABLE pgc.pg_enum (oid BIGINT, enumtypid BIGINT, enumsortorder FLOAT, enumlabel VARCHAR);
CREATE TABLE pgc.pg_event_trigger (oid BIGINT, evtname VARCHAR, evtevent VARCHAR, evtowner BIGINT, evtfoid BIGINT, evtenabled
  VARCHAR, evttags VARCHAR[]);
CREATE TABLE pgc.pg_extension (oid BIGINT, extname VARCHAR, extowner BIGINT, extnamespace BIGINT, extrelocatable BOOLEAN,
  extversion VARCHAR, extconfig BIGINT[], extcondition VARCHAR[]);
CREATE TABLE pgc.pg_foreign_data_wrapper (oid BIGINT, fdwname VARCHAR, fdwowner BIGINT, fdwhandler BIGINT, fdwvalidator
  BIGINT, fdwacl VARCHAR[], fdwoptions VARCHAR[]);
CREATE TABLE pgc.pg_foreign_server (oid BIGINT, srvname VARCHAR, srvowner BIGINT, srvfdw BIGINT, srvtype VARCHAR, srvversion
  VARCHAR, srvacl VARCHAR[], srvoptions VARCHAR[]);
CREATE TABLE pgc.pg_foreign_table (ftrelid BIGINT, ftserver BIGINT, ftoptions VARCHAR[]);
CREATE TABLE pgc.pg_group (groname VARCHAR, grosysid BIGINT, grolist BIGINT[]);
CREATE TABLE pgc.pg_inherits (inhrelid BIGINT, inhparent BIGINT, inhseqno INTEGER, inhdetachpending BOOLEAN);
CREATE TABLE pgc.pg_init_privs (objoid BIGINT, classoid BIGINT, objsubid INTEGER, privtype VARCHAR, initprivs VARCHAR[]);
CREATE TABLE pgc.pg_largeobject_metadata (oid BIGINT, lomowner BIGINT, lomacl VARCHAR[]);
CREATE TABLE pgc.pg_locks (locktype VARCHAR, database BIGINT, relation BIGINT, page INTEGER, tuple SMALLINT, virtualxid
  VARCHAR, transactionid BIGINT, classid BIGINT, objid BIGINT, objsubid SMALLINT, virtualtransaction VARCHAR, pid INTEGER, mode
  VARCHAR, granted BOOLEAN, fastpath BOOLEAN, waitstart TIMESTAMPTZ);
CREATE TABLE pgc.pg_matviews (schemaname VARCHAR, matviewname VARCHAR, matviewowner VARCHAR, tablespace VARCHAR, hasindexes
  BOOLEAN, ispopulated BOOLEAN, definition VARCHAR);
CREATE TABLE pgc.pg_opclass (oid BIGINT, opcmethod BIGINT, opcname VARCHAR, opcnamespace BIGINT, opcowner BIGINT, opcfamily
  BIGINT, opcintype BIGINT, opcdefault BOOLEAN, opckeytype BIGINT);
CREATE TABLE pgc.pg_operator (oid BIGINT, oprname VARCHAR, oprnamespace BIGINT, oprowner BIGINT, oprkind VARCHAR, oprcanmerge
  BOOLEAN, oprcanhash BOOLEAN, oprleft BIGINT, oprright BIGINT, oprresult BIGINT, oprcom BIGINT, oprnegate BIGINT, oprcode
  VARCHAR, oprrest VARCHAR, oprjoin VARCHAR);
CREATE TABLE pgc.pg_opfamily (oid BIGINT, opfmethod BIGINT, opfname VARCHAR, opfnamespace BIGINT, opfowner BIGINT);
CREATE TABLE pgc.pg_parameter_acl (oid BIGINT, parname VARCHAR, paracl VARCHAR[]);
CREATE TABLE pgc.pg_partitioned_table (partrelid BIGINT, partstrat VARCHAR, partnatts SMALLINT, partdefid BIGINT, partattrs
  SMALLINT[], partclass BIGINT[], partcollation BIGINT[], partexprs VARCHAR);
CREATE TABLE pgc.pg_policies (schemaname VARCHAR, tablename VARCHAR, policyname VARCHAR, permissive VARCHAR, roles VARCHAR[],
  cmd VARCHAR, qual VARCHAR, with_check VARCHAR);
CREATE TABLE pgc.pg_policy (oid BIGINT, polname VARCHAR, polrelid BIGINT, polcmd VARCHAR, polpermissive BOOLEAN, polroles
  BIGINT[], polqual VARCHAR, polwithcheck VARCHAR);
CREATE TABLE pgc.pg_prepared_statements (name VARCHAR, statement VARCHAR, prepare_time TIMESTAMPTZ, parameter_types BIGINT[],
  from_sql BOOLEAN, generic_plans BIGINT, custom_plans BIGINT, result_types BIGINT[]);
CREATE TABLE pgc.pg_prepared_xacts (transaction BIGINT, gid VARCHAR, prepared TIMESTAMPTZ, owner VARCHAR, database VARCHAR);
CREATE TABLE pgc.pg_publication (oid BIGINT, pubname VARCHAR, pubowner BIGINT, puballtables BOOLEAN, pubinsert BOOLEAN,
  pubupdate BOOLEAN, pubdelete BOOLEAN, pubtruncate BOOLEAN, pubviaroot BOOLEAN);
CREATE TABLE pgc.pg_publication_namespace (oid BIGINT, pnpubid BIGINT, pnnspid BIGINT);
CREATE TABLE pgc.pg_publication_rel (oid BIGINT, prpubid BIGINT, prrelid BIGINT, prqual VARCHAR, prattrs SMALLINT[]);
CREATE TABLE pgc.pg_publication_tables (pubname VARCHAR, schemaname VARCHAR, tablename VARCHAR, attnames VARCHAR[], rowfilter
  VARCHAR);
CREATE TABLE pgc.pg_range (rngtypid BIGINT, rngsubtype BIGINT, rngmultitypid BIGINT, rngcollation BIGINT, rngsubopc BIGINT,
  rngcanonical VARCHAR, rngsubdiff VARCHAR);
CREATE TABLE pgc.pg_replication_origin (roident BIGINT, roname VARCHAR);
CREATE TABLE pgc.pg_replication_origin_status (local_id BIGINT, external_id VARCHAR, remote_lsn VARCHAR, local_lsn VARCHAR);
CREATE TABLE pgc.pg_replication_slots (slot_name VARCHAR, plugin VARCHAR, slot_type VARCHAR, datoid BIGINT, database VARCHAR,
  temporary BOOLEAN, active BOOLEAN, active_pid INTEGER, xmin BIGINT, catalog_xmin BIGINT, restart_lsn VARCHAR,
  confirmed_flush_lsn VARCHAR, wal_status VARCHAR, safe_wal_size BIGINT, two_phase BOOLEAN, conflicting BOOLEAN);
CREATE TABLE pgc.pg_rewrite (oid BIGINT, rulename VARCHAR, ev_class BIGINT, ev_type VARCHAR, ev_enabled VARCHAR, is_instead
  BOOLEAN, ev_qual VARCHAR, ev_action VARCHAR);
CREATE TABLE pgc.pg_rules (schemaname VARCHAR, tablename VARCHAR, rulename VARCHAR, definition VARCHAR);
CREATE TABLE pgc.pg_seclabel (objoid BIGINT, classoid BIGINT, objsubid INTEGER, provider VARCHAR, label VARCHAR);
CREATE TABLE pgc.pg_seclabels (objoid BIGINT, classoid BIGINT, objsubid INTEGER, objtype VARCHAR, objnamespace BIGINT,
  objname VARCHAR, provider VARCHAR, label VARCHAR);
CREATE TABLE pgc.pg_sequence (seqrelid BIGINT, seqtypid BIGINT, seqstart BIGINT, seqincrement BIGINT, seqmax BIGINT, seqmin
  BIGINT, seqcache BIGINT, seqcycle BOOLEAN);
CREATE TABLE pgc.pg_sequences (schemaname VARCHAR, sequencename VARCHAR, sequenceowner VARCHAR, data_type BIGINT, start_value
  BIGINT, min_value BIGINT, max_value BIGINT, increment_by BIGINT, cycle BOOLEAN, cache_size BIGINT, last_value BIGINT);
CREATE TABLE pgc.pg_shadow (usename VARCHAR, usesysid BIGINT, usecreatedb BOOLEAN, usesuper BOOLEAN, userepl BOOLEAN,
  usebypassrls BOOLEAN, passwd VARCHAR, valuntil TIMESTAMPTZ, useconfig VARCHAR[]);
CREATE TABLE pgc.pg_shdepend (dbid BIGINT, classid BIGINT, objid BIGINT, objsubid INTEGER, refclassid BIGINT, refobjid
  BIGINT, deptype VARCHAR);
CREATE TABLE pgc.pg_shdescription (objoid BIGINT, classoid BIGINT, description VARCHAR);
CREATE TABLE pgc.pg_shseclabel (objoid BIGINT, classoid BIGINT, provider VARCHAR, label VARCHAR);
CREATE TABLE pgc.pg_stat_activity (datid BIGINT, datname VARCHAR, pid INTEGER, leader_pid INTEGER, usesysid BIGINT, usename
  VARCHAR, application_name VARCHAR, client_addr VARCHAR, client_hostname VARCHAR, client_port INTEGER, backend_start
  TIMESTAMPTZ, xact_start TIMESTAMPTZ, query_start TIMESTAMPTZ, state_change TIMESTAMPTZ, wait_event_type VARCHAR, wait_event
  VARCHAR, state VARCHAR, backend_xid BIGINT, backend_xmin BIGINT, query_id BIGINT, query VARCHAR, backend_type VARCHAR);
CREATE TABLE pgc.pg_stat_all_indexes (relid BIGINT, indexrelid BIGINT, schemaname VARCHAR, relname VARCHAR, indexrelname
  VARCHAR, idx_scan BIGINT, idx_tup_read BIGINT, idx_tup_fetch BIGINT, last_idx_scan TIMESTAMPTZ);
CREATE TABLE pgc.pg_stat_all_tables (relid BIGINT, schemaname VARCHAR, relname VARCHAR, seq_scan BIGINT, seq_tup_read BIGINT,
  idx_scan BIGINT, idx_tup_fetch BIGINT, n_tup_ins BIGINT, n_tup_upd BIGINT, n_tup_del BIGINT, n_tup_hot_upd BIGINT, n_live_tup
  BIGINT, n_dead_tup BIGINT, n_mod_since_analyze BIGINT, n_ins_since_vacuum BIGINT, last_vacuum TIMESTAMPTZ, last_autovacuum
  TIMESTAMPTZ, last_analyze TIMESTAMPTZ, last_autoanalyze TIMESTAMPTZ, vacuum_count BIGINT, autovacuum_count BIGINT,
  analyze_count BIGINT, autoanalyze_count BIGINT, last_seq_scan TIMESTAMPTZ, last_idx_scan TIMESTAMPTZ, n_tup_newpage_upd
  BIGINT);
CREATE TABLE pgc.pg_stat_archiver (archived_count BIGINT, last_archived_wal VARCHAR, last_archived_time TIMESTAMPTZ,
  failed_count BIGINT, last_failed_wal VARCHAR, last_failed_time TIMESTAMPTZ, stats_reset TIMESTAMPTZ);
CREATE TABLE pgc.pg_stat_bgwriter (checkpoints_timed BIGINT, checkpoints_req BIGINT, checkpoint_write_time DOUBLE,
  checkpoint_sync_time DOUBLE, buffers_checkpoint BIGINT, buffers_clean BIGINT, maxwritten_clean BIGINT, buffers_backend
  BIGINT, buffers_backend_fsync BIGINT, buffers_alloc BIGINT, stats_reset TIMESTAMPTZ);
CREATE TABLE pgc.pg_stat_database (datid BIGINT, datname VARCHAR, numbackends INTEGER, xact_commit BIGINT, xact_rollback
  BIGINT, blks_read BIGINT, blks_hit BIGINT, tup_returned BIGINT, tup_fetched BIGINT, tup_inserted BIGINT, tup_updated BIGINT,
  tup_deleted BIGINT, conflicts BIGINT, temp_files BIGINT, temp_bytes BIGINT, deadlocks BIGINT, checksum_failures BIGINT,
  checksum_last_failure TIMESTAMPTZ, blk_read_time DOUBLE, blk_write_time DOUBLE, session_time DOUBLE, active_time DOUBLE,
  idle_in_transaction_time DOUBLE, sessions BIGINT, sessions_abandoned BIGINT, sessions_fatal BIGINT, sessions_killed BIGINT,
  stats_reset TIMESTAMPTZ);
CREATE TABLE pgc.pg_stat_database_conflicts (datid BIGINT, datname VARCHAR, confl_tablespace BIGINT, confl_lock BIGINT,
  confl_snapshot BIGINT, confl_bufferpin BIGINT, confl_deadlock BIGINT);
CREATE TABLE pgc.pg_stat_gssapi (pid INTEGER, gss_authenticated BOOLEAN, principal VARCHAR, encrypted BOOLEAN,
  credentials_delegated BOOLEAN);
CREATE TABLE pgc.pg_stat_progress_analyze (pid INTEGER, datid BIGINT, datname VARCHAR, relid BIGINT, phase VARCHAR,
  sample_blks_total BIGINT, sample_blks_scanned BIGINT, ext_stats_total BIGINT, ext_stats_computed BIGINT, child_tables_total
  BIGINT, child_tables_done BIGINT, current_child_table_relid BIGINT);
CREATE TABLE pgc.pg_stat_progress_basebackup (pid INTEGER, phase VARCHAR, backup_total BIGINT, backup_streamed BIGINT,
  tablespaces_total BIGINT, tablespaces_streamed BIGINT);
CREATE TABLE pgc.pg_stat_progress_cluster (pid INTEGER, datid BIGINT, datname VARCHAR, relid BIGINT, command VARCHAR, phase
  VARCHAR, cluster_index_relid BIGINT, heap_tuples_scanned BIGINT, heap_tuples_written BIGINT, heap_blks_total BIGINT,
  heap_blks_scanned BIGINT, index_rebuild_count BIGINT);
CREATE TABLE pgc.pg_stat_progress_copy (pid INTEGER, datid BIGINT, datname VARCHAR, relid BIGINT, command VARCHAR, type
  VARCHAR, bytes_processed BIGINT, bytes_total BIGINT, tuples_processed BIGINT, tuples_excluded BIGINT);
CREATE TABLE pgc.pg_stat_progress_create_index (pid INTEGER, datid BIGINT, datname VARCHAR, relid BIGINT, index_relid BIGINT,
  command VARCHAR, phase VARCHAR, lockers_total BIGINT, lockers_done BIGINT, current_locker_pid BIGINT, blocks_total BIGINT,
  blocks_done BIGINT, tuples_total BIGINT, tuples_done BIGINT, partitions_total BIGINT, partitions_done BIGINT);
CREATE TABLE pgc.pg_stat_progress_vacuum (pid INTEGER, datid BIGINT, datname VARCHAR, relid BIGINT, phase VARCHAR,
  heap_blks_total BIGINT, heap_blks_scanned BIGINT, heap_blks_vacuumed BIGINT, index_vacuum_count BIGINT, max_dead_tuples
  BIGINT, num_dead_tuples BIGINT);
CREATE TABLE pgc.pg_stat_replication (pid INTEGER, usesysid BIGINT, usename VARCHAR, application_name VARCHAR, client_addr
  VARCHAR, client_hostname VARCHAR, client_port INTEGER, backend_start TIMESTAMPTZ, backend_xmin BIGINT, state VARCHAR,
  sent_lsn VARCHAR, write_lsn VARCHAR, flush_lsn VARCHAR, replay_lsn VARCHAR, write_lag INTERVAL, flush_lag INTERVAL,
  replay_lag INTERVAL, sync_priority INTEGER, sync_state VARCHAR, reply_time TIMESTAMPTZ);
CREATE TABLE pgc.pg_stat_replication_slots (slot_name VARCHAR, spill_txns BIGINT, spill_count BIGINT, spill_bytes BIGINT,
  stream_txns BIGINT, stream_count BIGINT, stream_bytes BIGINT, total_txns BIGINT, total_bytes BIGINT, stats_reset
  TIMESTAMPTZ);
CREATE TABLE pgc.pg_stat_slru (name VARCHAR, blks_zeroed BIGINT, blks_hit BIGINT, blks_read BIGINT, blks_written BIGINT,
  blks_exists BIGINT, flushes BIGINT, truncates BIGINT, stats_reset TIMESTAMPTZ);
CREATE TABLE pgc.pg_stat_ssl (pid INTEGER, ssl BOOLEAN, version VARCHAR, cipher VARCHAR, bits INTEGER, client_dn VARCHAR,
  client_serial DOUBLE, issuer_dn VARCHAR);
CREATE TABLE pgc.pg_stat_subscription (subid BIGINT, subname VARCHAR, pid INTEGER, relid BIGINT, received_lsn VARCHAR,
  last_msg_send_time TIMESTAMPTZ, last_msg_receipt_time TIMESTAMPTZ, latest_end_lsn VARCHAR, latest_end_time TIMESTAMPTZ);
CREATE TABLE pgc.pg_stat_subscription_stats (subid BIGINT, subname VARCHAR, apply_error_count BIGINT, sync_error_count
  BIGINT, stats_reset TIMESTAMPTZ);
CREATE TABLE pgc.pg_stat_sys_indexes (relid BIGINT, indexrelid BIGINT, schemaname VARCHAR, relname VARCHAR, indexrelname
  VARCHAR, idx_scan BIGINT, idx_tup_read BIGINT, idx_tup_fetch BIGINT, last_idx_scan TIMESTAMPTZ);
CREATE TABLE pgc.pg_stat_sys_tables (relid BIGINT, schemaname VARCHAR, relname VARCHAR, seq_scan BIGINT, seq_tup_read BIGINT,
  idx_scan BIGINT, idx_tup_fetch BIGINT, n_tup_ins BIGINT, n_tup_upd BIGINT, n_tup_del BIGINT, n_tup_hot_upd BIGINT, n_live_tup
  BIGINT, n_dead_tup BIGINT, n_mod_since_analyze BIGINT, n_ins_since_vacuum BIGINT, last_vacuum TIMESTAMPTZ, last_autovacuum
  TIMESTAMPTZ, last_analyze TIMESTAMPTZ, last_autoanalyze TIMESTAMPTZ, vacuum_count BIGINT, autovacuum_count BIGINT,
  analyze_count BIGINT, autoanalyze_count BIGINT, last_seq_scan TIMESTAMPTZ, last_idx_scan TIMESTAMPTZ, n_tup_newpage_upd
  BIGINT);
CREATE TABLE pgc.pg_stat_user_functions (funcid BIGINT, schemaname VARCHAR, funcname VARCHAR, calls BIGINT, total_time
  DOUBLE, self_time DOUBLE);
CREATE TABLE pgc.pg_stat_user_indexes (relid BIGINT, indexrelid BIGINT, schemaname VARCHAR, relname VARCHAR, indexrelname
  VARCHAR, idx_scan BIGINT, idx_tup_read BIGINT, idx_tup_fetch BIGINT, last_idx_scan TIMESTAMPTZ);
CREATE TABLE pgc.pg_stat_wal (wal_records BIGINT, wal_fpi BIGINT, wal_bytes DOUBLE, wal_buffers_full BIGINT, wal_write
  BIGINT, wal_sync BIGINT, wal_write_time DOUBLE, wal_sync_time DOUBLE, stats_reset TIMESTAMPTZ);
CREATE TABLE pgc.pg_stat_wal_receiver (pid INTEGER, status VARCHAR, receive_start_lsn VARCHAR, receive_start_tli INTEGER,
  written_lsn VARCHAR, flushed_lsn VARCHAR, received_tli INTEGER, last_msg_send_time TIMESTAMPTZ, last_msg_receipt_time
  TIMESTAMPTZ, latest_end_lsn VARCHAR, latest_end_time TIMESTAMPTZ, slot_name VARCHAR, sender_host VARCHAR, sender_port
  INTEGER, conninfo VARCHAR);
CREATE TABLE pgc.pg_stat_xact_all_tables (relid BIGINT, schemaname VARCHAR, relname VARCHAR, seq_scan BIGINT, seq_tup_read
  BIGINT, idx_scan BIGINT, idx_tup_fetch BIGINT, n_tup_ins BIGINT, n_tup_upd BIGINT, n_tup_del BIGINT, n_tup_hot_upd BIGINT);
CREATE TABLE pgc.pg_stat_xact_sys_tables (relid BIGINT, schemaname VARCHAR, relname VARCHAR, seq_scan BIGINT, seq_tup_read
  BIGINT, idx_scan BIGINT, idx_tup_fetch BIGINT, n_tup_ins BIGINT, n_tup_upd BIGINT, n_tup_del BIGINT, n_tup_hot_upd BIGINT);
CREATE TABLE pgc.pg_stat_xact_user_functions (funcid BIGINT, schemaname VARCHAR, funcname VARCHAR, calls BIGINT, total_time
  DOUBLE, self_time DOUBLE);
CREATE TABLE pgc.pg_stat_xact_user_tables (relid BIGINT, schemaname VARCHAR, relname VARCHAR, seq_scan BIGINT, seq_tup_read
  BIGINT, idx_scan BIGINT, idx_tup_fetch BIGINT, n_tup_ins BIGINT, n_tup_upd BIGINT, n_tup_del BIGINT, n_tup_hot_upd BIGINT);
CREATE TABLE pgc.pg_statio_all_indexes (relid BIGINT, indexrelid BIGINT, schemaname VARCHAR, relname VARCHAR, indexrelname
  VARCHAR, idx_blks_read BIGINT, idx_blks_hit BIGINT);
CREATE TABLE pgc.pg_statio_all_sequences (relid BIGINT, schemaname VARCHAR, relname VARCHAR, blks_read BIGINT, blks_hit
  BIGINT);
CREATE TABLE pgc.pg_statio_all_tables (relid BIGINT, schemaname VARCHAR, relname VARCHAR, heap_blks_read BIGINT,
  heap_blks_hit BIGINT, idx_blks_read BIGINT, idx_blks_hit BIGINT, toast_blks_read BIGINT, toast_blks_hit BIGINT,
  tidx_blks_read BIGINT, tidx_blks_hit BIGINT);
CREATE TABLE pgc.pg_statio_sys_indexes (relid BIGINT, indexrelid BIGINT, schemaname VARCHAR, relname VARCHAR, indexrelname
  VARCHAR, idx_blks_read BIGINT, idx_blks_hit BIGINT);
CREATE TABLE pgc.pg_statio_sys_sequences (relid BIGINT, schemaname VARCHAR, relname VARCHAR, blks_read BIGINT, blks_hit
  BIGINT);
CREATE TABLE pgc.pg_statio_sys_tables (relid BIGINT, schemaname VARCHAR, relname VARCHAR, heap_blks_read BIGINT,
  heap_blks_hit BIGINT, idx_blks_read BIGINT, idx_blks_hit BIGINT, toast_blks_read BIGINT, toast_blks_hit BIGINT,
  tidx_blks_read BIGINT, tidx_blks_hit BIGINT);
CREATE TABLE pgc.pg_statio_user_indexes (relid BIGINT, indexrelid BIGINT, schemaname VARCHAR, relname VARCHAR, indexrelname
  VARCHAR, idx_blks_read BIGINT, idx_blks_hit BIGINT);
CREATE TABLE pgc.pg_statio_user_sequences (relid BIGINT, schemaname VARCHAR, relname VARCHAR, blks_read BIGINT, blks_hit
  BIGINT);
CREATE TABLE pgc.pg_statio_user_tables (relid BIGINT, schemaname VARCHAR, relname VARCHAR, heap_blks_read BIGINT,
  heap_blks_hit BIGINT, idx_blks_read BIGINT, idx_blks_hit BIGINT, toast_blks_read BIGINT, toast_blks_hit BIGINT,
  tidx_blks_read BIGINT, tidx_blks_hit BIGINT);
CREATE TABLE pgc.pg_statistic_ext (oid BIGINT, stxrelid BIGINT, stxname VARCHAR, stxnamespace BIGINT, stxowner BIGINT,
  stxstattarget INTEGER, stxkeys SMALLINT[], stxkind VARCHAR[], stxexprs VARCHAR);
CREATE TABLE pgc.pg_statistic_ext_data (stxoid BIGINT, stxdinherit BOOLEAN, stxdndistinct VARCHAR, stxddependencies VARCHAR,
  stxdmcv VARCHAR, stxdexpr VARCHAR[]);
CREATE TABLE pgc.pg_stats (schemaname VARCHAR, tablename VARCHAR, attname VARCHAR, inherited BOOLEAN, null_frac FLOAT,
  avg_width INTEGER, n_distinct FLOAT, most_common_vals VARCHAR[], most_common_freqs FLOAT[], histogram_bounds VARCHAR[],
  correlation FLOAT, most_common_elems VARCHAR[], most_common_elem_freqs FLOAT[], elem_count_histogram FLOAT[]);
CREATE TABLE pgc.pg_stats_ext (schemaname VARCHAR, tablename VARCHAR, statistics_schemaname VARCHAR, statistics_name VARCHAR,
  statistics_owner VARCHAR, attnames VARCHAR[], exprs VARCHAR[], kinds VARCHAR[], inherited BOOLEAN, n_distinct VARCHAR,
  dependencies VARCHAR, most_common_vals VARCHAR[], most_common_val_nulls BOOLEAN[], most_common_freqs DOUBLE[],
  most_common_base_freqs DOUBLE[]);
CREATE TABLE pgc.pg_stats_ext_exprs (schemaname VARCHAR, tablename VARCHAR, statistics_schemaname VARCHAR, statistics_name
  VARCHAR, statistics_owner VARCHAR, expr VARCHAR, inherited BOOLEAN, null_frac FLOAT, avg_width INTEGER, n_distinct FLOAT,
  most_common_vals VARCHAR[], most_common_freqs FLOAT[], histogram_bounds VARCHAR[], correlation FLOAT, most_common_elems
  VARCHAR[], most_common_elem_freqs FLOAT[], elem_count_histogram FLOAT[]);
CREATE TABLE pgc.pg_subscription (oid BIGINT, subdbid BIGINT, subskiplsn VARCHAR, subname VARCHAR, subowner BIGINT,
  subenabled BOOLEAN, subbinary BOOLEAN, substream BOOLEAN, subtwophasestate VARCHAR, subdisableonerr BOOLEAN, subconninfo
  VARCHAR, subslotname VARCHAR, subsynccommit VARCHAR, subpublications VARCHAR[], subpasswordrequired BOOLEAN, subrunasowner
  BOOLEAN, suborigin VARCHAR);
CREATE TABLE pgc.pg_subscription_rel (srsubid BIGINT, srrelid BIGINT, srsubstate VARCHAR, srsublsn VARCHAR);
CREATE TABLE pgc.pg_timezone_abbrevs (abbrev VARCHAR, utc_offset INTERVAL, is_dst BOOLEAN);
CREATE TABLE pgc.pg_timezone_names (name VARCHAR, abbrev VARCHAR, utc_offset INTERVAL, is_dst BOOLEAN);
CREATE TABLE pgc.pg_transform (oid BIGINT, trftype BIGINT, trflang BIGINT, trffromsql VARCHAR, trftosql VARCHAR);
CREATE TABLE pgc.pg_trigger (oid BIGINT, tgrelid BIGINT, tgparentid BIGINT, tgname VARCHAR, tgfoid BIGINT, tgtype SMALLINT,
  tgenabled VARCHAR, tgisinternal BOOLEAN, tgconstrrelid BIGINT, tgconstrindid BIGINT, tgconstraint BIGINT, tgdeferrable
  BOOLEAN, tginitdeferred BOOLEAN, tgnargs SMALLINT, tgattr SMALLINT[], tgargs BLOB, tgqual VARCHAR, tgoldtable VARCHAR,
  tgnewtable VARCHAR);
CREATE TABLE pgc.pg_ts_config (oid BIGINT, cfgname VARCHAR, cfgnamespace BIGINT, cfgowner BIGINT, cfgparser BIGINT);
CREATE TABLE pgc.pg_ts_config_map (mapcfg BIGINT, maptokentype INTEGER, mapseqno INTEGER, mapdict BIGINT);
CREATE TABLE pgc.pg_ts_dict (oid BIGINT, dictname VARCHAR, dictnamespace BIGINT, dictowner BIGINT, dicttemplate BIGINT,
  dictinitoption VARCHAR);
CREATE TABLE pgc.pg_ts_parser (oid BIGINT, prsname VARCHAR, prsnamespace BIGINT, prsstart VARCHAR, prstoken VARCHAR, prsend
  VARCHAR, prsheadline VARCHAR, prslextype VARCHAR);
CREATE TABLE pgc.pg_ts_template (oid BIGINT, tmplname VARCHAR, tmplnamespace BIGINT, tmplinit VARCHAR, tmpllexize VARCHAR);
CREATE TABLE pgc.pg_user_mapping (oid BIGINT, umuser BIGINT, umserver BIGINT, umoptions VARCHAR[]);
CREATE TABLE pgc.pg_user_mappings (umid BIGINT, srvid BIGINT, srvname VARCHAR, umuser BIGINT, usename VARCHAR, umoptions
  VARCHAR[]);

-- Only the numbers of rows are known.
CREATE VIEW pgc.pg_stat_user_tables AS
  SELECT r.oid AS relid, n.nspname AS schemaname, r.relname, e.* EXCLUDE (relid, schemaname, relname) REPLACE (r.rows AS n_live_tup)
  FROM pgc.relations AS r JOIN pgc.namespaces AS n ON n.oid = r.relnamespace LEFT JOIN pgc.pg_stat_all_tables AS e ON false
  WHERE r.relkind = 'r' AND r.relnamespace NOT IN (11, 12);

CREATE MACRO pgc.relation_oid(t) AS (
  SELECT arg_min(z_oid, z_rank) FROM pgc.z_relations
  WHERE z_name = regexp_replace(replace(t, '"', ''), '^.*\.\s*', '')
    AND (NOT contains(t, '.') OR z_schema = regexp_extract(replace(t, '"', ''), '^(.*?)\s*\.', 1)));
CREATE MACRO pgc.to_regclass(t) AS pgc.relation_oid(t);
CREATE MACRO pgc.type_oid(t) AS (
  SELECT min(z_oid) FROM pgc.z_types
  WHERE regexp_replace(lower(t), '^pg_catalog\.', '') IN (z_name, pgc.type_title(z_name)));
CREATE MACRO pgc.to_regtype(t) AS pgc.type_oid(t);
CREATE MACRO pgc.namespace_oid(t) AS (SELECT min(z_oid) FROM pgc.z_schemas WHERE z_name = t);
CREATE MACRO pgc.to_regnamespace(t) AS pgc.namespace_oid(t);
CREATE MACRO pgc.to_regproc(t) AS (SELECT min(z_name) FROM pgc.z_functions WHERE z_name = lower(t));
CREATE MACRO pgc.regclass_name(o) AS coalesce((SELECT min(z_name) FROM pgc.z_relations WHERE z_oid = o), o::VARCHAR);
CREATE MACRO pgc.regnamespace_name(o) AS (SELECT min(z_name) FROM pgc.z_schemas WHERE z_oid = o);
CREATE MACRO pgc.format_type(o, m) AS CASE WHEN o IS NULL THEN NULL ELSE coalesce((
  SELECT min(CASE
    WHEN z_element IS NOT NULL THEN pgc.type_title(z_element) || '[]'
    WHEN z_name = 'numeric' AND m > 4 THEN concat('numeric(', (m - 4) >> 16, ',', (m - 4) & 65535, ')')
    ELSE pgc.type_title(z_name) END)
  FROM pgc.z_types WHERE z_oid = o), '-') END;
CREATE MACRO pgc.regtype_name(o) AS pgc.format_type(o, NULL);
CREATE MACRO pgc.pg_get_userbyid(o) AS (SELECT min(z_username) FROM pgc.z_facts);
CREATE MACRO pgc.pg_get_expr(e, r) AS e, (e, r, p) AS e;
CREATE MACRO pgc.constraint_text(o) AS (
  SELECT min(CASE z_kind WHEN 'c' THEN 'CHECK (' || z_clause || ')' ELSE concat(CASE z_kind WHEN 'p' THEN 'PRIMARY KEY' ELSE 'UNIQUE' END,
    ' (', list_aggregate(z_names, 'string_agg', ', '), ')') END)
  FROM pgc.z_constraints WHERE z_oid = o);
CREATE MACRO pgc.pg_get_constraintdef(o) AS pgc.constraint_text(o), (o, p) AS pgc.constraint_text(o);
CREATE MACRO pgc.index_text(o) AS (
    SELECT min(concat('CREATE UNIQUE INDEX ', z_name, ' ON ', z_schema, '.', z_table, ' USING btree (',
      list_aggregate(z_names, 'string_agg', ', '), ')'))
    FROM pgc.z_constraints WHERE z_oid - 1000000000 = o);
CREATE MACRO pgc.pg_get_indexdef(o) AS pgc.index_text(o), (o, c, p) AS CASE c WHEN 0 THEN pgc.index_text(o)
  ELSE (SELECT min(z_names[c]) FROM pgc.z_constraints WHERE z_oid - 1000000000 = o) END;
CREATE MACRO pgc.pg_get_viewdef(o) AS '', (o, p) AS '';
CREATE MACRO pgc.pg_get_ruledef(o) AS '', (o, p) AS '';
CREATE MACRO pgc.pg_get_triggerdef(o) AS '', (o, p) AS '';
CREATE MACRO pgc.pg_get_function_sqlbody(o) AS NULL::VARCHAR;
CREATE MACRO pgc.pg_get_function_result(o) AS (
  SELECT min(pgc.format_type(pgc.duckdb_type_oid(z_result), -1)) FROM pgc.z_functions WHERE z_oid = o);
CREATE MACRO pgc.pg_get_function_arguments(o) AS (SELECT min(z_arguments) FROM pgc.z_functions WHERE z_oid = o);
CREATE MACRO pgc.pg_get_function_identity_arguments(o) AS pgc.pg_get_function_arguments(o);
CREATE MACRO pgc.pg_get_functiondef(o) AS (
  SELECT min(concat('CREATE OR REPLACE FUNCTION pg_catalog.', z_name, '(', z_arguments, ')', chr(10),
    ' RETURNS ', pgc.format_type(pgc.duckdb_type_oid(z_result), -1), chr(10), ' LANGUAGE internal', chr(10),
    'AS $function$', z_name, '$function$', chr(10))) FROM pgc.z_functions WHERE z_oid = o);
CREATE MACRO pgc.function_name(t) AS regexp_replace(regexp_replace(lower(t), '\(.*\)$', ''), '^pg_catalog\.', '');
CREATE MACRO pgc.function_oid(t) AS (SELECT min(z_oid) FROM pgc.z_functions WHERE z_name = t);
CREATE MACRO pgc.role_oid(t) AS (SELECT min(10::BIGINT) FROM pgc.z_facts WHERE z_username = t);
CREATE MACRO pgc.pg_get_partkeydef(o) AS NULL::VARCHAR;
CREATE MACRO pgc.pg_get_statisticsobjdef_columns(o) AS '';
CREATE MACRO pgc.pg_get_serial_sequence(t, c) AS NULL::VARCHAR;
CREATE MACRO pgc.obj_description(o) AS (SELECT min(z_comment) FROM pgc.z_relations WHERE z_oid = o),
  (o, c) AS (SELECT min(z_comment) FROM pgc.z_relations WHERE z_oid = o);
CREATE MACRO pgc.col_description(o, n) AS (SELECT min(z_comment) FROM pgc.z_columns WHERE z_relation = o AND z_number = n);
CREATE MACRO pgc.shobj_description(o, c) AS NULL::VARCHAR;
CREATE MACRO pgc.pg_table_is_visible(o) AS coalesce((SELECT min(z_rank < 2) FROM pgc.z_relations WHERE z_oid = o), false);
CREATE MACRO pgc.pg_type_is_visible(o) AS true;
CREATE MACRO pgc.pg_function_is_visible(o) AS true;
CREATE MACRO pgc.pg_operator_is_visible(o) AS true;
CREATE MACRO pgc.pg_opclass_is_visible(o) AS true;
CREATE MACRO pgc.pg_collation_is_visible(o) AS true;
CREATE MACRO pgc.pg_conversion_is_visible(o) AS true;
CREATE MACRO pgc.pg_statistics_obj_is_visible(o) AS true;
CREATE MACRO pgc.pg_ts_config_is_visible(o) AS true;
CREATE MACRO pgc.pg_my_temp_schema() AS 0::BIGINT;
CREATE MACRO pgc.pg_is_other_temp_schema(o) AS false;
CREATE MACRO pgc.pg_is_in_recovery() AS false;
CREATE MACRO pgc.pg_is_wal_replay_paused() AS false;
CREATE MACRO pgc.pg_export_snapshot() AS '00000003-00000001-1';
CREATE MACRO pgc.age(x) AS 0;
CREATE MACRO pgc.pg_stat_get_numscans(o) AS 0::BIGINT;
CREATE MACRO pgc.pg_cancel_backend(p) AS false;
CREATE MACRO pgc.pg_terminate_backend(p) AS false;
CREATE MACRO pgc.pg_get_statisticsobjdef(o) AS NULL::VARCHAR;
CREATE MACRO pgc.pg_get_multixact_members(x) AS NULL::VARCHAR;
CREATE MACRO pgc.acldefault(k, o) AS NULL::VARCHAR[];
CREATE MACRO pgc.pg_blocking_pids(p) AS []::INTEGER[];
CREATE MACRO pgc.pg_backend_pid() AS 1;
CREATE MACRO pgc.pg_advisory_unlock_all() AS NULL::VARCHAR;
CREATE MACRO pgc.pg_encoding_to_char(e) AS 'UTF8';
CREATE MACRO pgc.pg_char_to_encoding(e) AS 6;
CREATE MACRO pgc.pg_relation_size(o) AS 0::BIGINT, (o, f) AS 0::BIGINT;
CREATE MACRO pgc.pg_table_size(o) AS 0::BIGINT;
CREATE MACRO pgc.pg_indexes_size(o) AS 0::BIGINT;
CREATE MACRO pgc.pg_total_relation_size(o) AS 0::BIGINT;
CREATE MACRO pgc.pg_database_size(o) AS 0::BIGINT;
CREATE MACRO pgc.pg_tablespace_size(o) AS 0::BIGINT;
CREATE MACRO pgc.pg_size_pretty(n) AS n::VARCHAR || ' bytes';
CREATE MACRO pgc.pg_relation_is_publishable(o) AS false;
CREATE MACRO pgc.pg_relation_is_updatable(o, t) AS 0;
CREATE MACRO pgc.pg_postmaster_start_time() AS now();
CREATE MACRO pgc.pg_last_xlog_replay_location() AS NULL::VARCHAR;
CREATE MACRO pgc.pg_tablespace_location(o) AS '';
CREATE MACRO pgc.pg_index_column_has_property(o, c, p) AS CASE p WHEN 'asc' THEN true WHEN 'orderable' THEN true ELSE false END;
CREATE MACRO pgc.has_table_privilege(a, b) AS true, (a, b, c) AS true;
CREATE MACRO pgc.has_column_privilege(a, b, c) AS true, (a, b, c, d) AS true;
CREATE MACRO pgc.has_any_column_privilege(a, b) AS true, (a, b, c) AS true;
CREATE MACRO pgc.has_schema_privilege(a, b) AS true, (a, b, c) AS true;
CREATE MACRO pgc.has_database_privilege(a, b) AS true, (a, b, c) AS true;
CREATE MACRO pgc.has_function_privilege(a, b) AS true, (a, b, c) AS true;
CREATE MACRO pgc.has_sequence_privilege(a, b) AS true, (a, b, c) AS true;
CREATE MACRO pgc.has_tablespace_privilege(a, b) AS true, (a, b, c) AS true;
CREATE MACRO pgc.pg_has_role(a, b) AS true, (a, b, c) AS true;
CREATE MACRO pgc.version() AS (SELECT min(z_version) FROM pgc.z_facts);
CREATE MACRO pgc.current_database() AS (SELECT min(z_db) FROM pgc.z_facts);
CREATE MACRO pgc.current_schema() AS (SELECT min(z_project) FROM pgc.z_facts);
CREATE MACRO pgc.current_schemas(implicit) AS CASE WHEN implicit THEN ['pg_catalog', pgc.current_schema()]
  ELSE [pgc.current_schema()] END;
CREATE MACRO pgc."current_user"() AS (SELECT min(z_username) FROM pgc.z_facts);
CREATE MACRO pgc."session_user"() AS (SELECT min(z_username) FROM pgc.z_facts);
CREATE MACRO pgc.current_setting(n) AS (SELECT min(z_setting) FROM pgc.z_settings WHERE z_name = lower(n)),
  (n, m) AS (SELECT min(z_setting) FROM pgc.z_settings WHERE z_name = lower(n));
CREATE MACRO pgc.set_config(n, v, l) AS v;
CREATE MACRO pgc.pg_show_all_settings() AS TABLE FROM pgc.pg_settings;
CREATE MACRO pgc.parse_ident(t) AS list_transform(regexp_extract_all(t, '"(?:[^"]|"")*"|[^."]+'),
  p -> CASE WHEN p LIKE '"%' THEN replace(p[2:-2], '""', '"') ELSE lower(p) END);
CREATE MACRO pgc.array_length(a, d) AS nullif(len(a), 0);
CREATE MACRO pgc.array_upper(a, d) AS len(a);
CREATE MACRO pgc.array_lower(a, d) AS CASE WHEN len(a) > 0 THEN 1 END;
CREATE MACRO pgc.array_to_string(a, s) AS list_aggregate(a, 'string_agg', s), (a, s, n) AS list_aggregate(a, 'string_agg', s);
CREATE MACRO pgc._pg_expandarray(a) AS unnest(list_transform(range(1, len(a) + 1), i -> {'x': a[i], 'n': i}));
CREATE MACRO pgc.inet_server_addr() AS NULL::VARCHAR;
CREATE MACRO pgc.inet_client_addr() AS NULL::VARCHAR;
CREATE MACRO pgc.txid_current() AS 1::BIGINT;
CREATE MACRO pgc.timezone(z, t) AS t;
CREATE MACRO pgc.pg_get_keywords() AS TABLE SELECT keyword_name AS word, 'R' AS catcode, true AS barelabel,
  keyword_category AS catdesc, '' AS baredesc FROM duckdb_keywords();

CREATE VIEW info.schemata AS SELECT f.db AS catalog_name, n.nspname AS schema_name, f.username AS schema_owner,
  NULL::VARCHAR AS default_character_set_catalog, NULL::VARCHAR AS default_character_set_schema,
  NULL::VARCHAR AS default_character_set_name, NULL::VARCHAR AS sql_path
  FROM pgc.namespaces AS n, pgc.session_facts AS f;
CREATE VIEW info.tables AS SELECT f.db AS table_catalog, n.nspname AS table_schema, r.relname AS table_name,
  CASE r.relkind WHEN 'v' THEN 'VIEW' ELSE 'BASE TABLE' END AS table_type, NULL::VARCHAR AS self_referencing_column_name,
  NULL::VARCHAR AS reference_generation, NULL::VARCHAR AS user_defined_type_catalog, NULL::VARCHAR AS user_defined_type_schema,
  NULL::VARCHAR AS user_defined_type_name, CASE r.relkind WHEN 'v' THEN 'NO' ELSE 'YES' END AS is_insertable_into,
  'NO' AS is_typed, NULL::VARCHAR AS commit_action
  FROM pgc.relations AS r JOIN pgc.namespaces AS n ON n.oid = r.relnamespace, pgc.session_facts AS f
  WHERE r.relkind IN ('r', 'v') AND r.relnamespace NOT IN (11, 12);
CREATE VIEW info.views AS SELECT table_catalog, table_schema, table_name, '' AS view_definition, 'NONE' AS check_option,
  'NO' AS is_updatable, 'NO' AS is_insertable_into, 'NO' AS is_trigger_updatable, 'NO' AS is_trigger_deletable,
  'NO' AS is_trigger_insertable_into FROM info.tables WHERE table_type = 'VIEW';
CREATE VIEW info.columns AS SELECT f.db AS table_catalog, n.nspname AS table_schema, r.relname AS table_name,
  a.attname AS column_name, a.attnum::INTEGER AS ordinal_position, a.default_text AS column_default,
  CASE WHEN a.attnotnull THEN 'NO' ELSE 'YES' END AS is_nullable,
  CASE WHEN e.oid IS NULL THEN pgc.type_title(t.typname) ELSE 'ARRAY' END AS data_type,
  NULL::INTEGER AS character_maximum_length, NULL::INTEGER AS character_octet_length,
  CASE t.typname WHEN 'int2' THEN 16 WHEN 'int4' THEN 32 WHEN 'int8' THEN 64 WHEN 'float4' THEN 24 WHEN 'float8' THEN 53
    WHEN 'numeric' THEN (a.atttypmod - 4) >> 16 END::INTEGER AS numeric_precision,
  CASE WHEN t.typname IN ('int2', 'int4', 'int8', 'float4', 'float8') THEN 2 WHEN t.typname = 'numeric' THEN 10 END::INTEGER
    AS numeric_precision_radix,
  CASE WHEN t.typname IN ('int2', 'int4', 'int8') THEN 0 WHEN t.typname = 'numeric' THEN (a.atttypmod - 4) & 65535 END::INTEGER
    AS numeric_scale,
  CASE WHEN t.typname LIKE 'time%' THEN 6 END::INTEGER AS datetime_precision, NULL::VARCHAR AS interval_type,
  NULL::INTEGER AS interval_precision, NULL::VARCHAR AS character_set_catalog, NULL::VARCHAR AS character_set_schema,
  NULL::VARCHAR AS character_set_name, NULL::VARCHAR AS collation_catalog, NULL::VARCHAR AS collation_schema,
  NULL::VARCHAR AS collation_name, NULL::VARCHAR AS domain_catalog, NULL::VARCHAR AS domain_schema,
  NULL::VARCHAR AS domain_name, f.db AS udt_catalog, 'pg_catalog' AS udt_schema, t.typname AS udt_name,
  NULL::VARCHAR AS scope_catalog, NULL::VARCHAR AS scope_schema, NULL::VARCHAR AS scope_name,
  NULL::INTEGER AS maximum_cardinality, a.attnum::VARCHAR AS dtd_identifier, 'NO' AS is_self_referencing, 'NO' AS is_identity,
  NULL::VARCHAR AS identity_generation, NULL::VARCHAR AS identity_start, NULL::VARCHAR AS identity_increment,
  NULL::VARCHAR AS identity_maximum, NULL::VARCHAR AS identity_minimum, 'NO' AS identity_cycle, 'NEVER' AS is_generated,
  NULL::VARCHAR AS generation_expression, 'YES' AS is_updatable
  FROM pgc.attributes AS a JOIN pgc.relations AS r ON r.oid = a.attrelid JOIN pgc.namespaces AS n ON n.oid = r.relnamespace
  LEFT JOIN pgc.types AS t ON t.oid = a.atttypid LEFT JOIN pgc.types AS e ON e.typarray = t.oid, pgc.session_facts AS f
  WHERE r.relkind IN ('r', 'v') AND r.relnamespace NOT IN (11, 12) ORDER BY a.attrelid, a.attnum;
CREATE VIEW info.table_constraints AS SELECT f.db AS constraint_catalog, n.nspname AS constraint_schema,
  c.name AS constraint_name, f.db AS table_catalog, n.nspname AS table_schema, r.relname AS table_name,
  CASE c.kind WHEN 'p' THEN 'PRIMARY KEY' WHEN 'u' THEN 'UNIQUE' ELSE 'CHECK' END AS constraint_type, 'NO' AS is_deferrable,
  'NO' AS initially_deferred, 'YES' AS enforced, CASE c.kind WHEN 'u' THEN 'YES' END AS nulls_distinct
  FROM pgc.constraints AS c JOIN pgc.relations AS r ON r.oid = c.relid JOIN pgc.namespaces AS n ON n.oid = r.relnamespace,
  pgc.session_facts AS f;
CREATE VIEW pgc.constrained_columns AS SELECT f.db AS constraint_catalog, n.nspname AS constraint_schema,
  c.name AS constraint_name, f.db AS table_catalog, n.nspname AS table_schema, r.relname AS table_name, unnest(c.names) AS column_name,
  generate_subscripts(c.names, 1)::INTEGER AS ordinal_position, NULL::INTEGER AS position_in_unique_constraint, c.kind
  FROM pgc.constraints AS c JOIN pgc.relations AS r ON r.oid = c.relid JOIN pgc.namespaces AS n ON n.oid = r.relnamespace,
  pgc.session_facts AS f;
CREATE VIEW info.key_column_usage AS SELECT * EXCLUDE (kind) FROM pgc.constrained_columns WHERE kind <> 'c';
CREATE VIEW info.constraint_column_usage AS SELECT table_catalog, table_schema, table_name, column_name, constraint_catalog,
  constraint_schema, constraint_name FROM pgc.constrained_columns;
CREATE VIEW info.referential_constraints AS SELECT NULL::VARCHAR AS constraint_catalog, NULL::VARCHAR AS constraint_schema,
  NULL::VARCHAR AS constraint_name, NULL::VARCHAR AS unique_constraint_catalog, NULL::VARCHAR AS unique_constraint_schema,
  NULL::VARCHAR AS unique_constraint_name, NULL::VARCHAR AS match_option, NULL::VARCHAR AS update_rule,
  NULL::VARCHAR AS delete_rule WHERE false;
CREATE VIEW info.sequences AS SELECT NULL::VARCHAR AS sequence_catalog, NULL::VARCHAR AS sequence_schema,
  NULL::VARCHAR AS sequence_name, NULL::VARCHAR AS data_type WHERE false;
CREATE VIEW info.routines AS SELECT NULL::VARCHAR AS specific_schema, NULL::VARCHAR AS specific_name,
  NULL::VARCHAR AS routine_schema, NULL::VARCHAR AS routine_name, NULL::VARCHAR AS routine_type, NULL::VARCHAR AS data_type
  WHERE false;
CREATE VIEW info.triggers AS SELECT NULL::VARCHAR AS trigger_schema, NULL::VARCHAR AS trigger_name,
  NULL::VARCHAR AS event_object_table WHERE false;
CREATE VIEW info.table_privileges AS SELECT username AS grantor, username AS grantee, table_catalog, table_schema, table_name,
  'SELECT' AS privilege_type, 'NO' AS is_grantable, 'YES' AS with_hierarchy FROM info.tables, pgc.session_facts;
CREATE VIEW info.role_table_grants AS FROM info.table_privileges;
CREATE VIEW info.information_schema_catalog_name AS SELECT db AS catalog_name FROM pgc.session_facts;
CREATE VIEW info.enabled_roles AS SELECT username AS role_name FROM pgc.session_facts;
CREATE VIEW info.applicable_roles AS SELECT username AS grantee, username AS role_name, 'NO' AS is_grantable
  FROM pgc.session_facts WHERE false;
CREATE VIEW info.column_privileges AS SELECT f.username AS grantor, f.username AS grantee, c.table_catalog, c.table_schema,
  c.table_name, c.column_name, 'SELECT' AS privilege_type, 'NO' AS is_grantable FROM info.columns AS c, pgc.session_facts AS f;
CREATE VIEW info.role_column_grants AS FROM info.column_privileges;
CREATE VIEW info.constraint_table_usage AS SELECT table_catalog, table_schema, table_name, constraint_catalog,
  constraint_schema, constraint_name FROM info.table_constraints;
CREATE VIEW info.check_constraints AS SELECT f.db AS constraint_catalog, n.nspname AS constraint_schema,
  c.name AS constraint_name, c.clause AS check_clause
  FROM pgc.own_constraints AS c JOIN pgc.relations AS r ON r.oid = c.relid JOIN pgc.namespaces AS n ON n.oid = r.relnamespace,
  pgc.session_facts AS f WHERE c.kind = 'c';
CREATE VIEW info.view_table_usage AS SELECT NULL::VARCHAR AS view_catalog, NULL::VARCHAR AS view_schema,
  NULL::VARCHAR AS view_name, NULL::VARCHAR AS table_catalog, NULL::VARCHAR AS table_schema, NULL::VARCHAR AS table_name
  WHERE false;
CREATE VIEW info.domains AS SELECT NULL::VARCHAR AS domain_catalog, NULL::VARCHAR AS domain_schema,
  NULL::VARCHAR AS domain_name, NULL::VARCHAR AS data_type, NULL::VARCHAR AS domain_default, NULL::VARCHAR AS udt_catalog,
  NULL::VARCHAR AS udt_schema, NULL::VARCHAR AS udt_name WHERE false;
CREATE VIEW info.parameters AS SELECT NULL::VARCHAR AS specific_catalog, NULL::VARCHAR AS specific_schema,
  NULL::VARCHAR AS specific_name, NULL::INTEGER AS ordinal_position, NULL::VARCHAR AS parameter_mode,
  NULL::VARCHAR AS parameter_name, NULL::VARCHAR AS data_type, NULL::VARCHAR AS udt_name WHERE false;
CREATE VIEW info.element_types AS SELECT c.table_catalog AS object_catalog, c.table_schema AS object_schema,
  c.table_name AS object_name, 'TABLE' AS object_type, c.dtd_identifier AS collection_type_identifier,
  pgc.type_title(e.typname) AS data_type, 'pg_catalog' AS udt_schema, e.typname AS udt_name
  FROM info.columns AS c JOIN pgc.types AS t ON t.typname = c.udt_name JOIN pgc.types AS e ON e.typarray = t.oid;
CREATE VIEW info.character_sets AS SELECT NULL::VARCHAR AS character_set_catalog, NULL::VARCHAR AS character_set_schema,
  'UTF8' AS character_set_name, 'UCS' AS character_repertoire, 'UTF8' AS form_of_use;

-- The catalog's own relations, with PostgreSQL's numbers where clients name them.
INSERT INTO pgc.system_relations BY NAME
  SELECT coalesce(k.oid, 12000 + row_number() OVER (ORDER BY d.schema, d.name)) AS oid, d.name AS relname,
    CASE d.schema WHEN 'pgc' THEN 11 ELSE 12 END AS relnamespace, CASE WHEN k.oid IS NULL THEN 'v' ELSE 'r' END AS relkind,
    d.column_count AS natts
  FROM (SELECT schema_name AS schema, table_name AS name, column_count FROM duckdb_tables()
    UNION ALL SELECT schema_name, view_name, column_count FROM duckdb_views()) AS d
  LEFT JOIN (VALUES ('pg_type', 1247), ('pg_attribute', 1249), ('pg_proc', 1255), ('pg_class', 1259), ('pg_authid', 1260),
    ('pg_auth_members', 1261), ('pg_database', 1262), ('pg_tablespace', 1213), ('pg_foreign_server', 1417),
    ('pg_foreign_data_wrapper', 2328), ('pg_shdescription', 2396), ('pg_aggregate', 2600), ('pg_am', 2601), ('pg_attrdef', 2604),
    ('pg_cast', 2605), ('pg_constraint', 2606), ('pg_conversion', 2607), ('pg_depend', 2608), ('pg_description', 2609),
    ('pg_index', 2610), ('pg_inherits', 2611), ('pg_language', 2612), ('pg_namespace', 2615), ('pg_opclass', 2616),
    ('pg_operator', 2617), ('pg_rewrite', 2618), ('pg_trigger', 2620), ('pg_opfamily', 2753), ('pg_extension', 3079),
    ('pg_foreign_table', 3118), ('pg_policy', 3256), ('pg_statistic_ext', 3381), ('pg_collation', 3456),
    ('pg_event_trigger', 3466), ('pg_enum', 3501), ('pg_range', 3541), ('pg_seclabel', 3596), ('pg_ts_config', 3602),
    ('pg_publication', 6104), ('pg_sequence', 2224)) AS k(name, oid) ON k.name = d.name
  WHERE (d.schema = 'pgc' AND d.name LIKE 'pg\_%' ESCAPE '\') OR d.schema = 'info';
INSERT INTO pgc.system_attributes BY NAME
  SELECT r.oid AS attrelid, c.column_name AS attname, t.oid AS atttypid, t.size AS attlen, c.column_index AS attnum,
    -1 AS atttypmod, false AS attnotnull, false AS is_key
  FROM duckdb_columns() AS c JOIN pgc.system_relations AS r ON r.relname = c.table_name
  JOIN (VALUES ('BIGINT', 26, 4), ('INTEGER', 23, 4), ('SMALLINT', 21, 2), ('VARCHAR', 25, -1), ('BOOLEAN', 16, 1), ('FLOAT', 700, 4),
    ('DOUBLE', 701, 8), ('TIMESTAMP WITH TIME ZONE', 1184, 8), ('INTERVAL', 1186, 16), ('BLOB', 17, -1), ('BIGINT[]', 1028, -1),
    ('SMALLINT[]', 1005, -1), ('USMALLINT[]', 22, -1), ('UINTEGER[]', 30, -1), ('INTEGER[]', 1007, -1), ('VARCHAR[]', 1009, -1)) AS t(name, oid, size) ON t.name = c.data_type
  WHERE c.schema_name IN ('pgc', 'info');
