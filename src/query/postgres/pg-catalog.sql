-- PostgreSQL 16's catalog (its manual, "System Catalogs"), over the relations that one caller of Eider may see.
-- The statements run in a DuckDB of their own, in memory. Four tables are filled; everything else is a view or a macro.

CREATE SCHEMA pgc;
CREATE SCHEMA info;
CREATE TYPE pgc.oid AS BIGINT;
CREATE TYPE pgc.name AS VARCHAR;
CREATE TYPE pgc.regproc AS VARCHAR;
CREATE TYPE pgc.aclitem AS VARCHAR;
CREATE TYPE pgc.int2vector AS SMALLINT[];
CREATE TYPE pgc.oidvector AS BIGINT[];
CREATE TYPE pgc.xid AS BIGINT;

CREATE TABLE pgc.session_facts (db VARCHAR, project VARCHAR, username VARCHAR, version VARCHAR);
CREATE TABLE pgc.namespaces (oid BIGINT, nspname VARCHAR);
CREATE TABLE pgc.relations (
  oid BIGINT, relname VARCHAR, relnamespace BIGINT, relkind VARCHAR, natts SMALLINT, rows BIGINT, comment VARCHAR);
CREATE TABLE pgc.attributes (
  attrelid BIGINT, attname VARCHAR, atttypid BIGINT, attlen SMALLINT, attnum SMALLINT, atttypmod INTEGER,
  attnotnull BOOLEAN, is_key BOOLEAN, default_text VARCHAR, comment VARCHAR);
CREATE TABLE pgc.types (oid BIGINT, typname VARCHAR, typlen SMALLINT, typarray BIGINT);

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
    CASE WHEN e.oid IS NULL THEN t.typname || 'in' ELSE 'array_in' END AS typinput,
    CASE WHEN e.oid IS NULL THEN t.typname || 'out' ELSE 'array_out' END AS typoutput,
    CASE WHEN e.oid IS NULL THEN t.typname || 'recv' ELSE 'array_recv' END AS typreceive,
    CASE WHEN e.oid IS NULL THEN t.typname || 'send' ELSE 'array_send' END AS typsend,
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
    EXISTS (FROM pgc.attributes AS a WHERE a.attrelid = r.oid AND a.is_key) AS relhasindex,
    false AS relisshared,
    'p' AS relpersistence,
    relkind,
    natts AS relnatts,
    0::SMALLINT AS relchecks,
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
    'x' AS attstorage,
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
  FROM pgc.attributes;
CREATE VIEW pgc.pg_attrdef AS
  SELECT
    attrelid * 1000 + attnum AS oid,
    attrelid AS adrelid,
    attnum AS adnum,
    default_text AS adbin,
    default_text AS adsrc
  FROM pgc.attributes
  WHERE default_text IS NOT NULL;
CREATE VIEW pgc.table_keys AS
  SELECT attrelid, list(attnum ORDER BY attnum) AS columns, list(attname ORDER BY attnum) AS names
  FROM pgc.attributes WHERE is_key GROUP BY attrelid;
CREATE VIEW pgc.pg_index AS
  SELECT
    attrelid + 1000000000 AS indexrelid,
    attrelid AS indrelid,
    len(columns)::SMALLINT AS indnatts,
    len(columns)::SMALLINT AS indnkeyatts,
    true AS indisunique,
    false AS indnullsnotdistinct,
    true AS indisprimary,
    false AS indisexclusion,
    true AS indimmediate,
    false AS indisclustered,
    true AS indisvalid,
    false AS indcheckxmin,
    true AS indisready,
    true AS indislive,
    false AS indisreplident,
    columns AS indkey,
    list_transform(columns, c -> 0::BIGINT) AS indcollation,
    list_transform(columns, c -> 0::BIGINT) AS indclass,
    list_transform(columns, c -> 0::SMALLINT) AS indoption,
    NULL::VARCHAR AS indexprs,
    NULL::VARCHAR AS indpred
  FROM pgc.table_keys;
CREATE VIEW pgc.pg_constraint AS
  SELECT
    k.attrelid + 2000000000 AS oid,
    r.relname || '_pkey' AS conname,
    r.relnamespace AS connamespace,
    'p' AS contype,
    false AS condeferrable,
    false AS condeferred,
    true AS convalidated,
    k.attrelid AS conrelid,
    0::BIGINT AS contypid,
    k.attrelid + 1000000000 AS conindid,
    0::BIGINT AS conparentid,
    0::BIGINT AS confrelid,
    ' ' AS confupdtype,
    ' ' AS confdeltype,
    ' ' AS confmatchtype,
    true AS conislocal,
    0::SMALLINT AS coninhcount,
    true AS connoinherit,
    k.columns AS conkey,
    NULL::SMALLINT[] AS confkey,
    NULL::BIGINT[] AS conpfeqop,
    NULL::BIGINT[] AS conppeqop,
    NULL::BIGINT[] AS conffeqop,
    NULL::SMALLINT[] AS confdelsetcols,
    NULL::BIGINT[] AS conexclop,
    NULL::VARCHAR AS conbin
  FROM pgc.table_keys AS k JOIN pgc.relations AS r ON r.oid = k.attrelid;
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
    10::BIGINT AS oid,
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
    NULL::VARCHAR[] AS rolconfig
  FROM pgc.session_facts;
CREATE VIEW pgc.pg_authid AS
  SELECT
    10::BIGINT AS oid,
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
    NULL::VARCHAR[] AS rolconfig
  FROM pgc.session_facts;
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
    c.relname || '_pkey' AS indexname,
    NULL::VARCHAR AS tablespace,
    'PRIMARY KEY' AS indexdef
  FROM pgc.table_keys AS k JOIN pgc.pg_class AS c ON c.oid = k.attrelid JOIN pgc.pg_namespace AS n ON n.oid = c.relnamespace;
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
  FROM (VALUES ('server_version', '16.4'), ('server_version_num', '160004'), ('server_encoding', 'UTF8'), ('client_encoding', 'UTF8'),
    ('max_index_keys', '32'), ('max_identifier_length', '63'), ('standard_conforming_strings', 'on'), ('search_path', '"$user", public'),
    ('TimeZone', 'UTC'), ('DateStyle', 'ISO, MDY'), ('is_superuser', 'off'), ('transaction_isolation', 'repeatable read'),
    ('default_transaction_isolation', 'repeatable read'), ('lc_collate', 'C'), ('lc_ctype', 'C'), ('ssl', 'off')) AS v(name, setting);
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
  SELECT min(y.oid) FROM pgc.types AS y WHERE y.typname = CASE replace(t, '[]', '')
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
    list_transform(parameters, p -> 25::BIGINT) AS proargtypes,
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
CREATE VIEW pgc.pg_extension AS SELECT
  NULL::BIGINT AS oid, NULL::VARCHAR AS extname, NULL::BIGINT AS extowner,
  NULL::BIGINT AS extnamespace, NULL::BOOLEAN AS extrelocatable,
  NULL::VARCHAR AS extversion, NULL::BIGINT[] AS extconfig, NULL::VARCHAR[] AS extcondition
  WHERE false;
CREATE VIEW pgc.pg_enum AS SELECT
  NULL::BIGINT AS oid, NULL::BIGINT AS enumtypid, NULL::FLOAT AS enumsortorder,
  NULL::VARCHAR AS enumlabel
  WHERE false;
CREATE VIEW pgc.pg_range AS SELECT
  NULL::BIGINT AS rngtypid, NULL::BIGINT AS rngsubtype, NULL::BIGINT AS rngmultitypid,
  NULL::BIGINT AS rngcollation, NULL::BIGINT AS rngsubopc, NULL::VARCHAR AS rngcanonical,
  NULL::VARCHAR AS rngsubdiff
  WHERE false;
CREATE VIEW pgc.pg_trigger AS SELECT
  NULL::BIGINT AS oid, NULL::BIGINT AS tgrelid, NULL::BIGINT AS tgparentid,
  NULL::VARCHAR AS tgname, NULL::BIGINT AS tgfoid, NULL::SMALLINT AS tgtype,
  NULL::VARCHAR AS tgenabled, NULL::BOOLEAN AS tgisinternal, NULL::BIGINT AS tgconstrrelid,
  NULL::BIGINT AS tgconstrindid, NULL::BIGINT AS tgconstraint,
  NULL::BOOLEAN AS tgdeferrable, NULL::BOOLEAN AS tginitdeferred,
  NULL::SMALLINT AS tgnargs, NULL::SMALLINT[] AS tgattr, NULL::BLOB AS tgargs,
  NULL::VARCHAR AS tgqual, NULL::VARCHAR AS tgoldtable, NULL::VARCHAR AS tgnewtable
  WHERE false;
CREATE VIEW pgc.pg_policy AS SELECT
  NULL::BIGINT AS oid, NULL::VARCHAR AS polname, NULL::BIGINT AS polrelid,
  NULL::VARCHAR AS polcmd, NULL::BOOLEAN AS polpermissive, NULL::BIGINT[] AS polroles,
  NULL::VARCHAR AS polqual, NULL::VARCHAR AS polwithcheck
  WHERE false;
CREATE VIEW pgc.pg_publication AS SELECT
  NULL::BIGINT AS oid, NULL::VARCHAR AS pubname, NULL::BIGINT AS pubowner,
  NULL::BOOLEAN AS puballtables, NULL::BOOLEAN AS pubinsert, NULL::BOOLEAN AS pubupdate,
  NULL::BOOLEAN AS pubdelete, NULL::BOOLEAN AS pubtruncate, NULL::BOOLEAN AS pubviaroot
  WHERE false;
CREATE VIEW pgc.pg_publication_rel AS SELECT
  NULL::BIGINT AS oid, NULL::BIGINT AS prpubid, NULL::BIGINT AS prrelid,
  NULL::VARCHAR AS prqual, NULL::SMALLINT[] AS prattrs
  WHERE false;
CREATE VIEW pgc.pg_publication_namespace AS SELECT
  NULL::BIGINT AS oid, NULL::BIGINT AS pnpubid, NULL::BIGINT AS pnnspid
  WHERE false;
CREATE VIEW pgc.pg_inherits AS SELECT
  NULL::BIGINT AS inhrelid, NULL::BIGINT AS inhparent, NULL::INTEGER AS inhseqno,
  NULL::BOOLEAN AS inhdetachpending
  WHERE false;
CREATE VIEW pgc.pg_partitioned_table AS SELECT
  NULL::BIGINT AS partrelid, NULL::VARCHAR AS partstrat, NULL::SMALLINT AS partnatts,
  NULL::BIGINT AS partdefid, NULL::SMALLINT[] AS partattrs, NULL::BIGINT[] AS partclass,
  NULL::BIGINT[] AS partcollation, NULL::VARCHAR AS partexprs
  WHERE false;
CREATE VIEW pgc.pg_foreign_table AS SELECT
  NULL::BIGINT AS ftrelid, NULL::BIGINT AS ftserver, NULL::VARCHAR[] AS ftoptions
  WHERE false;
CREATE VIEW pgc.pg_foreign_server AS SELECT
  NULL::BIGINT AS oid, NULL::VARCHAR AS srvname, NULL::BIGINT AS srvowner,
  NULL::BIGINT AS srvfdw, NULL::VARCHAR AS srvtype, NULL::VARCHAR AS srvversion,
  NULL::VARCHAR[] AS srvacl, NULL::VARCHAR[] AS srvoptions
  WHERE false;
CREATE VIEW pgc.pg_foreign_data_wrapper AS SELECT
  NULL::BIGINT AS oid, NULL::VARCHAR AS fdwname, NULL::BIGINT AS fdwowner,
  NULL::BIGINT AS fdwhandler, NULL::BIGINT AS fdwvalidator, NULL::VARCHAR[] AS fdwacl,
  NULL::VARCHAR[] AS fdwoptions
  WHERE false;
CREATE VIEW pgc.pg_depend AS SELECT
  NULL::BIGINT AS classid, NULL::BIGINT AS objid, NULL::INTEGER AS objsubid,
  NULL::BIGINT AS refclassid, NULL::BIGINT AS refobjid, NULL::INTEGER AS refobjsubid,
  NULL::VARCHAR AS deptype
  WHERE false;
CREATE VIEW pgc.pg_sequence AS SELECT
  NULL::BIGINT AS seqrelid, NULL::BIGINT AS seqtypid, NULL::BIGINT AS seqstart,
  NULL::BIGINT AS seqincrement, NULL::BIGINT AS seqmax, NULL::BIGINT AS seqmin,
  NULL::BIGINT AS seqcache, NULL::BOOLEAN AS seqcycle
  WHERE false;
CREATE VIEW pgc.pg_sequences AS SELECT
  NULL::VARCHAR AS schemaname, NULL::VARCHAR AS sequencename,
  NULL::VARCHAR AS sequenceowner, NULL::VARCHAR AS data_type, NULL::BIGINT AS start_value,
  NULL::BIGINT AS min_value, NULL::BIGINT AS max_value, NULL::BIGINT AS increment_by,
  NULL::BOOLEAN AS cycle, NULL::BIGINT AS cache_size, NULL::BIGINT AS last_value
  WHERE false;
CREATE VIEW pgc.pg_rewrite AS SELECT
  NULL::BIGINT AS oid, NULL::VARCHAR AS rulename, NULL::BIGINT AS ev_class,
  NULL::VARCHAR AS ev_type, NULL::VARCHAR AS ev_enabled, NULL::BOOLEAN AS is_instead,
  NULL::VARCHAR AS ev_qual, NULL::VARCHAR AS ev_action
  WHERE false;
CREATE VIEW pgc.pg_rules AS SELECT
  NULL::VARCHAR AS schemaname, NULL::VARCHAR AS tablename, NULL::VARCHAR AS rulename,
  NULL::VARCHAR AS definition
  WHERE false;
CREATE VIEW pgc.pg_matviews AS SELECT
  NULL::VARCHAR AS schemaname, NULL::VARCHAR AS matviewname, NULL::VARCHAR AS matviewowner,
  NULL::VARCHAR AS tablespace, NULL::BOOLEAN AS hasindexes, NULL::BOOLEAN AS ispopulated,
  NULL::VARCHAR AS definition
  WHERE false;
CREATE VIEW pgc.pg_opclass AS SELECT
  NULL::BIGINT AS oid, NULL::BIGINT AS opcmethod, NULL::VARCHAR AS opcname,
  NULL::BIGINT AS opcnamespace, NULL::BIGINT AS opcowner, NULL::BIGINT AS opcfamily,
  NULL::BIGINT AS opcintype, NULL::BOOLEAN AS opcdefault, NULL::BIGINT AS opckeytype
  WHERE false;
CREATE VIEW pgc.pg_operator AS SELECT
  NULL::BIGINT AS oid, NULL::VARCHAR AS oprname, NULL::BIGINT AS oprnamespace,
  NULL::BIGINT AS oprowner, NULL::VARCHAR AS oprkind, NULL::BOOLEAN AS oprcanmerge,
  NULL::BOOLEAN AS oprcanhash, NULL::BIGINT AS oprleft, NULL::BIGINT AS oprright,
  NULL::BIGINT AS oprresult, NULL::BIGINT AS oprcom, NULL::BIGINT AS oprnegate,
  NULL::VARCHAR AS oprcode, NULL::VARCHAR AS oprrest, NULL::VARCHAR AS oprjoin
  WHERE false;
CREATE VIEW pgc.pg_cast AS SELECT
  NULL::BIGINT AS oid, NULL::BIGINT AS castsource, NULL::BIGINT AS casttarget,
  NULL::BIGINT AS castfunc, NULL::VARCHAR AS castcontext, NULL::VARCHAR AS castmethod
  WHERE false;
CREATE VIEW pgc.pg_aggregate AS SELECT
  NULL::BIGINT AS aggfnoid, NULL::VARCHAR AS aggkind, NULL::SMALLINT AS aggnumdirectargs,
  NULL::VARCHAR AS aggtransfn
  WHERE false;
CREATE VIEW pgc.pg_statistic_ext AS SELECT
  NULL::BIGINT AS oid, NULL::BIGINT AS stxrelid, NULL::VARCHAR AS stxname,
  NULL::BIGINT AS stxnamespace, NULL::BIGINT AS stxowner, NULL::INTEGER AS stxstattarget,
  NULL::SMALLINT[] AS stxkeys, NULL::VARCHAR[] AS stxkind, NULL::VARCHAR AS stxexprs
  WHERE false;
CREATE VIEW pgc.pg_stats AS SELECT
  NULL::VARCHAR AS schemaname, NULL::VARCHAR AS tablename, NULL::VARCHAR AS attname,
  NULL::BOOLEAN AS inherited, NULL::FLOAT AS null_frac, NULL::INTEGER AS avg_width,
  NULL::FLOAT AS n_distinct
  WHERE false;
CREATE VIEW pgc.pg_event_trigger AS SELECT
  NULL::BIGINT AS oid, NULL::VARCHAR AS evtname, NULL::VARCHAR AS evtevent,
  NULL::BIGINT AS evtowner, NULL::BIGINT AS evtfoid, NULL::VARCHAR AS evtenabled,
  NULL::VARCHAR[] AS evttags
  WHERE false;
CREATE VIEW pgc.pg_auth_members AS SELECT
  NULL::BIGINT AS oid, NULL::BIGINT AS roleid, NULL::BIGINT AS member,
  NULL::BIGINT AS grantor, NULL::BOOLEAN AS admin_option, NULL::BOOLEAN AS inherit_option,
  NULL::BOOLEAN AS set_option
  WHERE false;
CREATE VIEW pgc.pg_db_role_setting AS SELECT
  NULL::BIGINT AS setdatabase, NULL::BIGINT AS setrole, NULL::VARCHAR[] AS setconfig
  WHERE false;
CREATE VIEW pgc.pg_shdescription AS SELECT
  NULL::BIGINT AS objoid, NULL::BIGINT AS classoid, NULL::VARCHAR AS description
  WHERE false;
CREATE VIEW pgc.pg_seclabel AS SELECT
  NULL::BIGINT AS objoid, NULL::BIGINT AS classoid, NULL::INTEGER AS objsubid,
  NULL::VARCHAR AS provider, NULL::VARCHAR AS label
  WHERE false;
CREATE VIEW pgc.pg_default_acl AS SELECT
  NULL::BIGINT AS oid, NULL::BIGINT AS defaclrole, NULL::BIGINT AS defaclnamespace,
  NULL::VARCHAR AS defaclobjtype, NULL::VARCHAR[] AS defaclacl
  WHERE false;
CREATE VIEW pgc.pg_conversion AS SELECT
  NULL::BIGINT AS oid, NULL::VARCHAR AS conname, NULL::BIGINT AS connamespace,
  NULL::BIGINT AS conowner, NULL::INTEGER AS conforencoding,
  NULL::INTEGER AS contoencoding, NULL::VARCHAR AS conproc, NULL::BOOLEAN AS condefault
  WHERE false;
CREATE VIEW pgc.pg_ts_config AS SELECT
  NULL::BIGINT AS oid, NULL::VARCHAR AS cfgname, NULL::BIGINT AS cfgnamespace,
  NULL::BIGINT AS cfgowner, NULL::BIGINT AS cfgparser
  WHERE false;
CREATE VIEW pgc.pg_locks AS SELECT
  NULL::VARCHAR AS locktype, NULL::BIGINT AS database, NULL::BIGINT AS relation,
  NULL::INTEGER AS pid, NULL::VARCHAR AS mode, NULL::BOOLEAN AS granted
  WHERE false;
CREATE VIEW pgc.pg_stat_activity AS SELECT
  NULL::BIGINT AS datid, NULL::VARCHAR AS datname, NULL::INTEGER AS pid,
  NULL::BIGINT AS usesysid, NULL::VARCHAR AS usename, NULL::VARCHAR AS application_name,
  NULL::VARCHAR AS client_addr, NULL::TIMESTAMPTZ AS backend_start,
  NULL::TIMESTAMPTZ AS xact_start, NULL::TIMESTAMPTZ AS query_start,
  NULL::TIMESTAMPTZ AS state_change, NULL::VARCHAR AS state, NULL::VARCHAR AS query,
  NULL::VARCHAR AS backend_type
  WHERE false;
CREATE VIEW pgc.pg_stat_user_tables AS SELECT
  NULL::BIGINT AS relid, NULL::VARCHAR AS schemaname, NULL::VARCHAR AS relname,
  NULL::BIGINT AS seq_scan, NULL::BIGINT AS idx_scan, NULL::BIGINT AS n_live_tup,
  NULL::BIGINT AS n_dead_tup, NULL::TIMESTAMPTZ AS last_vacuum,
  NULL::TIMESTAMPTZ AS last_analyze
  WHERE false;
CREATE VIEW pgc.pg_statio_user_tables AS SELECT
  NULL::BIGINT AS relid, NULL::VARCHAR AS schemaname, NULL::VARCHAR AS relname,
  NULL::BIGINT AS heap_blks_read, NULL::BIGINT AS heap_blks_hit
  WHERE false;
CREATE VIEW pgc.pg_prepared_xacts AS SELECT
  NULL::BIGINT AS transaction, NULL::VARCHAR AS gid, NULL::TIMESTAMPTZ AS prepared,
  NULL::VARCHAR AS owner, NULL::VARCHAR AS database
  WHERE false;
CREATE VIEW pgc.pg_timezone_names AS SELECT
  NULL::VARCHAR AS name, NULL::VARCHAR AS abbrev, NULL::INTERVAL AS utc_offset,
  NULL::BOOLEAN AS is_dst
  WHERE false;
CREATE VIEW pgc.pg_available_extensions AS SELECT
  NULL::VARCHAR AS name, NULL::VARCHAR AS default_version,
  NULL::VARCHAR AS installed_version, NULL::VARCHAR AS comment
  WHERE false;
CREATE VIEW pgc.pg_largeobject_metadata AS SELECT
  NULL::BIGINT AS oid, NULL::BIGINT AS lomowner, NULL::VARCHAR[] AS lomacl
  WHERE false;
CREATE VIEW pgc.pg_subscription AS SELECT
  NULL::BIGINT AS oid, NULL::VARCHAR AS subname, NULL::BIGINT AS subowner
  WHERE false;
CREATE VIEW pgc.pg_init_privs AS SELECT
  NULL::BIGINT AS objoid, NULL::BIGINT AS classoid, NULL::INTEGER AS objsubid,
  NULL::VARCHAR AS privtype, NULL::VARCHAR[] AS initprivs
  WHERE false;

CREATE MACRO pgc.relation_oid(t) AS (
  SELECT min(r.oid) FROM pgc.relations AS r JOIN pgc.namespaces AS n ON n.oid = r.relnamespace
  WHERE r.relname = regexp_replace(replace(t, '"', ''), '^.*\.', '')
    AND (NOT contains(t, '.') OR n.nspname = regexp_extract(replace(t, '"', ''), '^(.*)\.', 1)));
CREATE MACRO pgc.to_regclass(t) AS pgc.relation_oid(t);
CREATE MACRO pgc.type_oid(t) AS (
  SELECT min(oid) FROM pgc.types
  WHERE regexp_replace(lower(t), '^pg_catalog\.', '') IN (typname, pgc.type_title(typname)));
CREATE MACRO pgc.to_regtype(t) AS pgc.type_oid(t);
CREATE MACRO pgc.namespace_oid(t) AS (SELECT min(oid) FROM pgc.namespaces WHERE nspname = t);
CREATE MACRO pgc.to_regnamespace(t) AS pgc.namespace_oid(t);
CREATE MACRO pgc.to_regproc(t) AS (SELECT min(function_name) FROM pgc.functions WHERE function_name = lower(t));
CREATE MACRO pgc.regclass_name(o) AS coalesce((SELECT min(relname) FROM pgc.relations WHERE oid = o), o::VARCHAR);
CREATE MACRO pgc.regnamespace_name(o) AS (SELECT min(nspname) FROM pgc.namespaces WHERE oid = o);
CREATE MACRO pgc.format_type(o, m) AS coalesce((
  SELECT min(CASE
    WHEN e.oid IS NOT NULL THEN pgc.type_title(e.typname) || '[]'
    WHEN t.typname = 'numeric' AND m > 4 THEN concat('numeric(', (m - 4) >> 16, ',', (m - 4) & 65535, ')')
    ELSE pgc.type_title(t.typname) END)
  FROM pgc.types AS t LEFT JOIN pgc.types AS e ON e.typarray = t.oid WHERE t.oid = o), '-');
CREATE MACRO pgc.regtype_name(o) AS pgc.format_type(o, NULL);
CREATE MACRO pgc.pg_get_userbyid(o) AS (SELECT min(username) FROM pgc.session_facts);
CREATE MACRO pgc.pg_get_expr(e, r) AS e, (e, r, p) AS e;
CREATE MACRO pgc.pg_get_constraintdef(o) AS (
    SELECT min('PRIMARY KEY (' || list_aggregate(names, 'string_agg', ', ') || ')') FROM pgc.table_keys WHERE attrelid + 2000000000 = o),
  (o, p) AS (SELECT min('PRIMARY KEY (' || list_aggregate(names, 'string_agg', ', ') || ')') FROM pgc.table_keys WHERE attrelid + 2000000000 = o);
CREATE MACRO pgc.index_text(o) AS (
    SELECT min(concat('CREATE UNIQUE INDEX ', r.relname, '_pkey ON ', n.nspname, '.', r.relname, ' USING btree (',
      list_aggregate(k.names, 'string_agg', ', '), ')'))
    FROM pgc.table_keys AS k JOIN pgc.relations AS r ON r.oid = k.attrelid JOIN pgc.namespaces AS n ON n.oid = r.relnamespace
    WHERE k.attrelid + 1000000000 = o);
CREATE MACRO pgc.pg_get_indexdef(o) AS pgc.index_text(o), (o, c, p) AS CASE c WHEN 0 THEN pgc.index_text(o)
  ELSE (SELECT min(names[c]) FROM pgc.table_keys WHERE attrelid + 1000000000 = o) END;
CREATE MACRO pgc.pg_get_viewdef(o) AS '', (o, p) AS '';
CREATE MACRO pgc.pg_get_ruledef(o) AS '', (o, p) AS '';
CREATE MACRO pgc.pg_get_triggerdef(o) AS '', (o, p) AS '';
CREATE MACRO pgc.pg_get_function_sqlbody(o) AS NULL::VARCHAR;
CREATE MACRO pgc.pg_get_function_result(o) AS (SELECT min(pgc.format_type(pgc.duckdb_type_oid(return_type), -1)) FROM pgc.functions WHERE oid = o);
CREATE MACRO pgc.pg_get_function_arguments(o) AS (
  SELECT min(concat_ws(', ', nullif(array_to_string(list_transform(list_zip(parameters, parameter_types), p -> p[1] || ' ' || lower(p[2])), ', '), ''),
    CASE WHEN is_variadic THEN 'VARIADIC "any"' END)) FROM pgc.functions WHERE oid = o);
CREATE MACRO pgc.pg_get_function_identity_arguments(o) AS pgc.pg_get_function_arguments(o);
CREATE MACRO pgc.pg_get_functiondef(o) AS (
  SELECT min(concat('CREATE OR REPLACE FUNCTION pg_catalog.', function_name, '(', pgc.pg_get_function_arguments(o), ')', chr(10),
    ' RETURNS ', pgc.pg_get_function_result(o), chr(10), ' LANGUAGE internal', chr(10),
    'AS $function$', function_name, '$function$', chr(10))) FROM pgc.functions WHERE oid = o);
CREATE MACRO pgc.function_name(t) AS regexp_replace(regexp_replace(lower(t), '\(.*\)$', ''), '^pg_catalog\.', '');
CREATE MACRO pgc.function_oid(t) AS (SELECT min(oid) FROM pgc.functions WHERE function_name = t);
CREATE MACRO pgc.role_oid(t) AS (SELECT min(10::BIGINT) FROM pgc.session_facts WHERE username = t);
CREATE MACRO pgc.pg_get_partkeydef(o) AS NULL::VARCHAR;
CREATE MACRO pgc.pg_get_statisticsobjdef_columns(o) AS '';
CREATE MACRO pgc.pg_get_serial_sequence(t, c) AS NULL::VARCHAR;
CREATE MACRO pgc.obj_description(o) AS (SELECT min(comment) FROM pgc.relations WHERE oid = o),
  (o, c) AS (SELECT min(comment) FROM pgc.relations WHERE oid = o);
CREATE MACRO pgc.col_description(o, n) AS (SELECT min(comment) FROM pgc.attributes WHERE attrelid = o AND attnum = n);
CREATE MACRO pgc.shobj_description(o, c) AS NULL::VARCHAR;
CREATE MACRO pgc.pg_table_is_visible(o) AS coalesce((
  SELECT min(n.nspname = f.project) FROM pgc.relations AS r JOIN pgc.namespaces AS n ON n.oid = r.relnamespace, pgc.session_facts AS f
  WHERE r.oid = o), false);
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
CREATE MACRO pgc.version() AS (SELECT min(version) FROM pgc.session_facts);
CREATE MACRO pgc.current_database() AS (SELECT min(db) FROM pgc.session_facts);
CREATE MACRO pgc.current_schema() AS (SELECT min(project) FROM pgc.session_facts);
CREATE MACRO pgc.current_schemas(implicit) AS CASE WHEN implicit THEN ['pg_catalog', pgc.current_schema()]
  ELSE [pgc.current_schema()] END;
CREATE MACRO pgc.current_username() AS (SELECT min(username) FROM pgc.session_facts);
CREATE MACRO pgc.current_setting(n) AS (SELECT min(setting) FROM pgc.pg_settings WHERE lower(name) = lower(n)),
  (n, m) AS (SELECT min(setting) FROM pgc.pg_settings WHERE lower(name) = lower(n));
CREATE MACRO pgc.quote_ident(t) AS CASE WHEN regexp_full_match(t, '[a-z_][a-z0-9_$]*') THEN t
  ELSE '"' || replace(t, '"', '""') || '"' END;
CREATE MACRO pgc.quote_literal(t) AS '''' || replace(t, '''', '''''') || '''';
CREATE MACRO pgc.set_config(n, v, l) AS v;
CREATE MACRO pgc.pg_show_all_settings() AS TABLE FROM pgc.pg_settings;
-- The next place of `%s`, `%I` or `%L` in a format.
CREATE MACRO pgc.format_next(f, a) AS regexp_replace(f, '%[sIL]', replace(coalesce(CASE regexp_extract(f, '%([sIL])', 1)
  WHEN 'I' THEN pgc.quote_ident(a::VARCHAR) WHEN 'L' THEN pgc.quote_literal(a::VARCHAR) ELSE a::VARCHAR END, ''), '\', '\\'));
CREATE MACRO pgc.format(f, a) AS pgc.format_next(f, a), (f, a, b) AS pgc.format_next(pgc.format_next(f, a), b),
  (f, a, b, c) AS pgc.format_next(pgc.format_next(pgc.format_next(f, a), b), c);
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
  FROM pgc.relations AS r JOIN pgc.namespaces AS n ON n.oid = r.relnamespace, pgc.session_facts AS f WHERE r.relkind IN ('r', 'v');
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
  WHERE r.relkind IN ('r', 'v');
CREATE VIEW info.table_constraints AS SELECT f.db AS constraint_catalog, n.nspname AS constraint_schema,
  r.relname || '_pkey' AS constraint_name, f.db AS table_catalog, n.nspname AS table_schema, r.relname AS table_name,
  'PRIMARY KEY' AS constraint_type, 'NO' AS is_deferrable, 'NO' AS initially_deferred, 'YES' AS enforced,
  NULL::VARCHAR AS nulls_distinct
  FROM pgc.table_keys AS k JOIN pgc.relations AS r ON r.oid = k.attrelid JOIN pgc.namespaces AS n ON n.oid = r.relnamespace,
  pgc.session_facts AS f;
CREATE VIEW info.key_column_usage AS SELECT f.db AS constraint_catalog, n.nspname AS constraint_schema,
  r.relname || '_pkey' AS constraint_name, f.db AS table_catalog, n.nspname AS table_schema, r.relname AS table_name,
  a.attname AS column_name, row_number() OVER (PARTITION BY a.attrelid ORDER BY a.attnum)::INTEGER AS ordinal_position,
  NULL::INTEGER AS position_in_unique_constraint
  FROM pgc.attributes AS a JOIN pgc.relations AS r ON r.oid = a.attrelid JOIN pgc.namespaces AS n ON n.oid = r.relnamespace,
  pgc.session_facts AS f WHERE a.is_key;
CREATE VIEW info.constraint_column_usage AS SELECT table_catalog, table_schema, table_name, column_name, constraint_catalog,
  constraint_schema, constraint_name FROM info.key_column_usage;
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
CREATE VIEW info.character_sets AS SELECT NULL::VARCHAR AS character_set_catalog, NULL::VARCHAR AS character_set_schema,
  'UTF8' AS character_set_name, 'UCS' AS character_repertoire, 'UTF8' AS form_of_use;
