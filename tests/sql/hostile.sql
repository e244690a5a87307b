-- Attempts to get out of the gates, one a line after the error code that is the right answer (docs/errors.md).
-- Files of the server.
4004 SELECT * FROM read_csv('/etc/passwd')
4004 SELECT * FROM read_csv_auto('/etc/passwd')
4004 SELECT * FROM read_text('/etc/passwd')
4004 SELECT * FROM read_blob('/etc/passwd')
4004 SELECT * FROM read_json('/etc/hosts')
4004 SELECT * FROM read_json_auto('/etc/hosts')
4004 SELECT * FROM read_ndjson('/etc/hosts')
4004 SELECT * FROM read_json_objects('/etc/hosts')
4004 SELECT * FROM read_parquet('x.parquet')
4004 SELECT * FROM parquet_scan('x.parquet')
4004 SELECT * FROM parquet_metadata('x.parquet')
4004 SELECT * FROM parquet_schema('x.parquet')
4004 SELECT * FROM parquet_file_metadata('x.parquet')
4004 SELECT * FROM sniff_csv('/etc/passwd')
4004 SELECT * FROM glob('/*')
4004 SELECT * FROM read_duckdb('x.db')
4003 SELECT * FROM '/etc/passwd'
4003 SELECT * FROM '/etc/passwd.csv'
4003 SELECT * FROM "/etc/passwd.csv"
4003 SELECT * FROM 'https://example.com/x.parquet'
4003 SELECT * FROM "exports/x.parquet"
4003 FROM 'x.json'
4003,4001 DESCRIBE 'x.csv'
4003 SUMMARIZE '/etc/passwd.csv'
4004 SELECT read_text('/etc/passwd')
4004 SELECT (SELECT content FROM read_text('/etc/passwd'))
4004 WITH x AS (SELECT * FROM read_text('/etc/passwd')) SELECT * FROM x
4004 SELECT 1 WHERE EXISTS (FROM read_csv('/etc/passwd'))
4004 SELECT * FROM range(1), LATERAL (SELECT * FROM glob('*')) g
4004 SELECT 1 UNION ALL SELECT 1 FROM read_csv('/etc/passwd')
4004 SELECT * FROM kb WHERE content = 'x' AND id IN (SELECT content FROM read_text('/etc/passwd'))
4004 SELECT [x FOR x IN [1] IF EXISTS (FROM read_csv('/etc/passwd'))]
4004 SELECT list_transform([1], x -> (SELECT count(*) FROM glob('*')))
4004 SELECT max(a) OVER (ORDER BY (SELECT count(*) FROM glob('*'))) FROM range(1) t(a)
4004 SELECT a FROM range(1) t(a) ORDER BY (SELECT count(*) FROM glob('*'))
4004 SELECT a FROM range(1) t(a) LIMIT (SELECT count(*) FROM glob('*'))
4004 SELECT DISTINCT ON ((SELECT count(*) FROM glob('*'))) 1
4004 PIVOT (SELECT 1 AS k, 2 AS v) ON k IN (1) USING sum((SELECT count(*) FROM glob('*')))
4004 VALUES ((SELECT count(*) FROM glob('*')))
4002 COPY (SELECT 1) TO '/x.csv'
4002 COPY kb TO '/x.parquet' (FORMAT parquet)
4002 COPY kb FROM '/etc/passwd'
4002,4001 EXPORT DATABASE '/x'
4002,4001 IMPORT DATABASE '/x'
-- Other databases, extensions, settings.
4002 ATTACH '/x.db'
4002 ATTACH ':memory:' AS m
4002 DETACH memory
4002,4001 INSTALL httpfs
4002,4001 LOAD httpfs
4002,4001 FORCE INSTALL httpfs
4002,4001,4004 PRAGMA database_list
4002,4001,4004 PRAGMA enable_profiling
4002,4001,4004 PRAGMA version
4004,4002 SET memory_limit = '1TB'
4004,4002 SET GLOBAL threads = 64
4004,4002 SET enable_external_access = true
4004,4002 SET search_path = 'eider'
4004,4002 SET schema = 'eider'
4004,4002 RESET memory_limit
4004,4002,4001 SET VARIABLE x = 1
4002,4001,4004 CALL pragma_version()
4002,4001 CHECKPOINT
4002,4001 FORCE CHECKPOINT
4002,4001 ANALYZE
4002,4001 PREPARE p AS SELECT 1
4002,4001 EXECUTE p
4002,4001 DEALLOCATE p
4002 CREATE SECRET s (TYPE s3)
4002 CREATE MACRO m(a) AS a + 1
4002 CREATE FUNCTION f(a) AS a + 1
4002 CREATE TYPE t AS ENUM ('a')
4002 CREATE SEQUENCE s
4002 CREATE SCHEMA s
4001 CREATE INDEX i ON kb (id)
4002 CREATE TEMP TABLE x AS SELECT 1
4002,4001 COMMENT ON TABLE kb IS 'x'
4002 TRUNCATE kb
4002 MERGE INTO kb USING kb AS o ON true WHEN MATCHED THEN DELETE
4002 ALTER TABLE kb ADD COLUMN x INT
4002 DROP SCHEMA eider CASCADE
4002 CREATE TRIGGER t ON kb (SELECT 1)
4004 SELECT current_setting('memory_limit')
4004 SELECT getenv('HOME')
4004 SELECT getvariable('x')
4004 SELECT nextval('s')
4004 SELECT currval('s')
4004 SELECT txid_current()
4004 SELECT pg_sleep(1)
4004 SELECT sleep_ms(10)
4004 SELECT write_log('x')
4004 SELECT * FROM duckdb_settings()
4004 SELECT * FROM duckdb_secrets()
4004 SELECT * FROM which_secret('x', 's3')
4004 SELECT * FROM duckdb_tables()
4004 SELECT * FROM duckdb_columns()
4004 SELECT * FROM duckdb_databases()
4004 SELECT * FROM duckdb_schemas()
4004 SELECT * FROM duckdb_functions()
4004 SELECT * FROM duckdb_extensions()
4004 SELECT * FROM duckdb_logs()
4004 SELECT * FROM duckdb_memory()
4004 SELECT * FROM duckdb_temporary_files()
4004 SELECT * FROM duckdb_views()
4004 SELECT * FROM pragma_database_size()
4004 SELECT * FROM pragma_table_info('kb')
4004 SELECT * FROM pragma_storage_info('kb')
4004 SELECT * FROM pragma_show('kb')
4004 SELECT * FROM pragma_user_agent()
4004 SELECT * FROM show_tables()
4004 SELECT * FROM enable_logging()
4004 SELECT * FROM test_all_types()
4004 SELECT * FROM sql_auto_complete('S')
4004 SELECT * FROM checkpoint()
4004 SELECT * FROM force_checkpoint()
4004 SELECT * FROM query('SELECT 1')
4004 SELECT * FROM query_table('kb')
4004 SELECT * FROM json_execute_serialized_sql('{}')
4004 SELECT json_serialize_sql('SELECT 1')
4004 SELECT json_deserialize_sql('{}')
4004 SELECT json_serialize_plan('SELECT 1')
4004 SELECT * FROM seq_scan('kb')
4004 SELECT * FROM from_substrait('x'::BLOB)
4004 SELECT * FROM load_aws_credentials()
4004 SELECT add_parquet_key('k', 'v')
4004 SELECT is_histogram_other_bin(1), current_query()
-- The catalog's own tables and those of other relations.
4003 SELECT * FROM eider.knowledge_bases
4003 SELECT * FROM eider.revoked_tokens
4003 SELECT * FROM eider.key_check
4003 SELECT * FROM "eider-data".eider.knowledge_bases
4003 SELECT * FROM memory.eider.projects
4003 SELECT * FROM project_1.kb_1_chunks
4003 SELECT * FROM "project_1"."kb_1_vectors"
4003 SELECT * FROM kb_1_chunks
4003 SELECT * FROM uploaded.file_1
4003 SELECT * FROM memory.uploaded.file_1
4003 SELECT * FROM main.kb
4003 SELECT * FROM temp.eider_staged
4003 SELECT * FROM temp.main.x
4003 SELECT * FROM system.information_schema.tables
4003 SELECT * FROM pg_catalog.pg_class
4003 SELECT * FROM pg_class
4003 SELECT * FROM sqlite_master
4003 SELECT * FROM duckdb_tables
4003 SELECT * FROM system.main.duckdb_secrets
4003 SELECT * FROM information_schema.nosuch
4003 SELECT chunk_key FROM kb
4003 SELECT kb.document_id FROM kb
4003 SELECT vector FROM kb
4003 SELECT v.vector FROM kb
4003 SELECT c.chunk_key FROM kb WHERE content = 'x' LIMIT 1
4003 SELECT m1 FROM kb
4003,4007 SELECT rowid FROM kb
4003 SELECT __distance_0 FROM kb WHERE content = 'x'
4004 SELECT $eider_vector_0
4004 SELECT * FROM kb WHERE content = 'x' AND $eider_text_0 = 'x' AND :eider_keywords_0 IS NULL
4004 SELECT :eider_answers_0
4004 SELECT * FROM kb AT (VERSION => 1)
2001 DELETE FROM eider.projects
4003,2001 UPDATE "project_1"."kb_1_chunks" SET id = 'x'
2001 INSERT INTO eider.projects SELECT 1
2402,2101,4003 DROP TABLE eider.projects
2001 DROP VIEW information_schema.tables
-- More than one statement.
4002 SELECT 1; DROP TABLE x
4002 SELECT 1;;SELECT 2
4002 SELECT 1 /* ; */ ; SELECT 2
4002 SELECT ';' ; SELECT 2
4002 DROP KNOWLEDGE_BASE nosuch; SELECT 1
4001,4002 SELECT 1 SELECT 2
4001,4002 (SELECT 1); (SELECT 2)
-- What writes within what reads.
4001,4002 WITH x AS (INSERT INTO kb VALUES (1) RETURNING *) SELECT * FROM x
4001,4002 WITH x AS (DELETE FROM kb RETURNING *) SELECT * FROM x
4001,4002 SELECT * FROM (DELETE FROM kb RETURNING *)
4001,4002 EXPLAIN DELETE FROM kb
4001,4002 EXPLAIN ANALYZE INSERT INTO kb VALUES (1)
4001,4002 EXPLAIN COPY kb TO '/x'
4001,4002 CREATE VIEW v AS DELETE FROM kb
4001,4002 CREATE TABLE t AS COPY kb TO 'x'
4004 CREATE VIEW v AS SELECT * FROM read_text('/etc/passwd')
4004 CREATE TABLE t AS SELECT * FROM read_text('/etc/passwd')
4004 CREATE TABLE t AS SELECT * FROM duckdb_secrets()
4004 INSERT INTO kb SELECT content FROM read_text('/etc/passwd')
4004 INSERT INTO kb (id, content) VALUES ('x', getenv('HOME'))
4004 DELETE FROM kb WHERE id = getenv('HOME')
4004 DELETE FROM kb WHERE EXISTS (FROM glob('*'))
4004 UPDATE kb SET price = (SELECT count(*) FROM glob('*'))
4001,4002,4003 DELETE FROM kb WHERE true) AS x, (SELECT 1
4001,4002,4003 DELETE FROM kb WHERE 1=1 UNION SELECT 1
4001,4002,4003 UPDATE kb SET price = 1) AS a, (SELECT 2
4001,4004 UPDATE kb SET price = 1, x = getenv('HOME')
4004,4001 SET @x = getenv('HOME')
4004,4001 SET @x = (SELECT content FROM read_text('/etc/passwd'))
-- Texts that are not what they seem.
4001 SELECT 'abc
4001 SELECT "abc
4001 SELECT $$abc
4001 /* never closed
4001,4002 SELECT 1 FROM
4001 SELEKT 1
4001 )
4001 SELECT (((((1
4001,4003 ｓｅｌｅｃｔ 1
4001 SELECT 1 FROM t WHERE a = 'x' OR '1'='1
4001 '; DROP TABLE kb; --
-- Parts of statements that write tables.
4004 INSERT INTO mine (id) VALUES (1) RETURNING getenv('HOME')
4004 INSERT INTO mine SELECT content FROM read_text('/etc/passwd')
4002 INSERT INTO mine (id) VALUES (1) RETURNING (SELECT sql FROM duckdb_tables() LIMIT 1)
4004 INSERT INTO mine (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET s = getenv('HOME')
4004 INSERT INTO mine (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET s = 'x' WHERE getvariable('x') IS NULL
4004 UPDATE mine SET s = getenv('HOME')
4004 UPDATE mine SET s = sql FROM duckdb_tables()
4003 UPDATE mine SET s = t.name FROM eider.tables t
4004 DELETE FROM mine USING glob('/*')
4004 DELETE FROM mine WHERE id = 1 RETURNING current_setting('threads')
4004 CREATE TABLE other (a VARCHAR DEFAULT getenv('HOME'))
4004 CREATE TABLE other (a VARCHAR CHECK (a <> getenv('HOME')))
4002 CREATE TABLE other (a VARCHAR DEFAULT (SELECT 'x'))
4002 CREATE TABLE other (a INT REFERENCES mine (id))
4001 CREATE TABLE other (a INT), CAST(1 AS INT)
4002 CREATE TABLE other (a INT); DROP TABLE mine
4004 ALTER TABLE mine ADD COLUMN a VARCHAR DEFAULT getenv('HOME')
4001 ALTER TABLE mine SET SCHEMA eider
-- A large sample stops the database itself: its memory is not checked.
4004 SELECT reservoir_quantile(i, 0.5, 1000000000) FROM range(10000) t(i)
4004 SELECT list_aggregate(l, 'reservoir_quantile', 0.5, 1000000000) FROM (SELECT [i, i + 1] AS l FROM range(3) t(i))
4004 SELECT list_aggr([1], 'reservoir' || '_quantile', 0.5, 1000000000)
