-- Runs after the tables `listed_…` were filled with rows of information_schema: numbers what they list, in their order.

DELETE FROM pgc.namespaces;
INSERT INTO pgc.namespaces VALUES (11, 'pg_catalog'), (12, 'information_schema');
INSERT INTO pgc.namespaces
  SELECT 2199 + row_number() OVER (ORDER BY rowid), schema_name
  FROM pgc.listed_schemata WHERE schema_name <> 'information_schema';

DELETE FROM pgc.types;
INSERT INTO pgc.types SELECT oid, name, size, "array" FROM pgc.listed_types;
INSERT INTO pgc.types VALUES
  (18, 'char', 1, 1002), (19, 'name', 64, 1003), (24, 'regproc', 4, 1008), (22, 'int2vector', -1, 1006),
  (30, 'oidvector', -1, 1013), (705, 'unknown', -2, 0), (1042, 'bpchar', -1, 1014), (2205, 'regclass', 4, 2210),
  (2206, 'regtype', 4, 2211), (2249, 'record', -1, 2287), (2278, 'void', 4, 0);
INSERT INTO pgc.types SELECT "array", '_' || name, -1, 0 FROM pgc.listed_types;

DELETE FROM pgc.own_relations;
INSERT INTO pgc.own_relations
  SELECT 16383 + row_number() OVER (ORDER BY t.rowid), table_name, n.oid, CASE table_type WHEN 'VIEW' THEN 'v' ELSE 'r' END,
    0, table_rows, CASE WHEN table_comment <> '' THEN table_comment
      WHEN table_type = 'KNOWLEDGE BASE' THEN 'Knowledge base: search it with content = ''text''' END
  FROM pgc.listed_tables AS t JOIN pgc.namespaces AS n ON n.nspname = table_schema AND n.oid >= 2200;

DELETE FROM pgc.own_attributes;
INSERT INTO pgc.own_attributes
  SELECT r.oid, column_name, y.oid, y.size, row_number() OVER (PARTITION BY r.oid ORDER BY c.rowid), y.modifier,
    coalesce(is_nullable = 'NO', false), coalesce(column_key = 'PRI', false), column_default, nullif(column_comment, '')
  FROM pgc.listed_columns AS c JOIN pgc.namespaces AS n ON n.nspname = table_schema
    JOIN pgc.own_relations AS r ON r.relname = table_name AND r.relnamespace = n.oid
    JOIN pgc.listed_column_types AS y ON y.duckdb = data_type;
UPDATE pgc.own_relations SET natts = counted.natts
  FROM (SELECT attrelid, count(*) AS natts FROM pgc.own_attributes GROUP BY attrelid) AS counted WHERE attrelid = oid;

DELETE FROM pgc.own_constraints;
INSERT INTO pgc.own_constraints
  SELECT c.oid, r.oid, c.constraint_name, CASE constraint_type WHEN 'CHECK' THEN 'c' ELSE 'u' END,
    coalesce((SELECT list(k.column_name ORDER BY k.ordinal_position) FROM pgc.listed_key_columns AS k
      WHERE k.table_schema = c.table_schema AND k.table_name = c.table_name AND k.constraint_name = c.constraint_name), []),
    (SELECT any_value(check_clause) FROM pgc.listed_checks AS k
      WHERE k.constraint_schema = c.table_schema AND k.constraint_name = c.constraint_name)
  FROM (SELECT *, 2099999999 + row_number() OVER (ORDER BY rowid) AS oid FROM pgc.listed_constraints
    WHERE constraint_type <> 'PRIMARY KEY') AS c JOIN pgc.namespaces AS n ON n.nspname = c.table_schema
    JOIN pgc.own_relations AS r ON r.relname = c.table_name AND r.relnamespace = n.oid;

-- The index of a primary key, and of a UNIQUE constraint.
INSERT INTO pgc.own_relations
  SELECT 1000000000 + r.oid, relname || '_pkey', relnamespace, 'i', count(*), NULL, NULL
  FROM pgc.own_relations AS r JOIN pgc.own_attributes ON attrelid = r.oid WHERE is_key GROUP BY ALL
  UNION ALL SELECT c.oid - 1000000000, c.name, relnamespace, 'i', len(c.names), NULL, NULL
  FROM pgc.own_constraints AS c JOIN pgc.own_relations AS r ON r.oid = c.relid WHERE c.kind = 'u';
