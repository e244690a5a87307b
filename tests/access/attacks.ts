/** Statements that try to get more than the caller's key allows, one per line. */
import { SECRET as S } from './two-projects.ts'

/** Statements that change something and need more than `read`. */
export const CHANGES = `
CREATE KNOWLEDGE_BASE open.new_kb
CREATE KNOWLEDGE_BASE IF NOT EXISTS open.kettle_kb
ALTER KNOWLEDGE_BASE open.kettle_kb USING hybrid_search = true
DROP KNOWLEDGE_BASE open.kettle_kb
DROP KNOWLEDGE BASE IF EXISTS open.kettle_kb
INSERT INTO open.kettle_kb (id, content) VALUES ('a', 'b')
INSERT INTO open.kettle_kb (id, content) SELECT word, word FROM open.kettle_table
INSERT INTO open.kettle_kb (id, content) VALUES ('a', 'b') USING background = true
UPDATE open.kettle_kb SET color = 'x' WHERE id = 'kettle-1'
DELETE FROM open.kettle_kb WHERE id = 'kettle-1'
INSERT INTO open.kettle_table VALUES ('a')
INSERT INTO open.kettle_table VALUES ('a') RETURNING word
UPDATE open.kettle_table SET word = 'a'
DELETE FROM open.kettle_table
TRUNCATE open.kettle_table
ALTER TABLE open.kettle_table ADD COLUMN more INT
CREATE INDEX ON KNOWLEDGE_BASE open.kettle_kb
DROP INDEX ON KNOWLEDGE_BASE open.kettle_kb
CREATE AGENT open.spy
CREATE AGENT open.spy USING data = {"tables": ["open.kettle_table"]}
ALTER AGENT open.kettle_agent USING prompt_template = 'x'
DROP AGENT open.kettle_agent
CREATE VIEW open.v AS SELECT 1 AS one
CREATE OR REPLACE VIEW open.kettle_view AS SELECT 1 AS one
ALTER VIEW open.kettle_view AS SELECT 1 AS one
DROP VIEW open.kettle_view
CREATE TABLE open.copy AS SELECT 1 AS one
CREATE TABLE open.copy (SELECT * FROM open.kettle_table)
CREATE OR REPLACE TABLE open.kettle_table AS SELECT 1 AS one
CREATE TABLE files.copy AS SELECT 1 AS one
DROP TABLE open.kettle_table
DROP TABLE files.${S}
CREATE PROJECT mine
CREATE DATABASE mine
DROP PROJECT open
DROP DATABASE open
CREATE DATABASE db WITH ENGINE = 'sqlite', PARAMETERS = {"path": "/etc/x.db"}
ALTER DATABASE db PARAMETERS = {"path": "/etc/y.db"}
CREATE JOB open.j (SELECT 1) EVERY 1 day
DROP JOB open.kettle_job
VACUUM
VACUUM open.kettle_table
REFRESH KNOWLEDGE_BASE open.kettle_kb
ALTER KNOWLEDGE_BASE open.kettle_kb ADD SOURCE s USING kind = 'folder', path = '/'
ALTER KNOWLEDGE_BASE open.kettle_kb DROP SOURCE s
SELECT query_cancel(1)
SELECT query_resume(1)
EVALUATE KNOWLEDGE_BASE open.kettle_kb USING test_table = 'open.q', generate_data = true
EVALUATE KNOWLEDGE_BASE open.kettle_kb USING test_table = 'open.q', save_to = 'open.r'
EVALUATE AGENT open.kettle_agent USING questions = 'open.kettle_table'
`

/** Statements that need `read`. */
export const READS = `
SELECT * FROM open.kettle_table
FROM open.kettle_table
TABLE open.kettle_table
SELECT * FROM open.kettle_kb WHERE content = 'kettle'
SELECT count(*) FROM open.kettle_kb
SELECT (SELECT word FROM open.kettle_table) AS w
SELECT 1 WHERE EXISTS (SELECT 1 FROM open.kettle_table)
SELECT 1 WHERE 'kettle' IN (SELECT word FROM open.kettle_table)
WITH a AS (SELECT * FROM open.kettle_table) SELECT * FROM a
WITH RECURSIVE a AS (SELECT word FROM open.kettle_table UNION SELECT word FROM a) SELECT * FROM a
WITH a AS (WITH b AS (FROM open.kettle_table) FROM b) FROM a
SELECT 1 AS word UNION ALL SELECT n FROM open.kettle_table
SELECT 1 EXCEPT SELECT n FROM open.kettle_table
VALUES ((SELECT word FROM open.kettle_table))
SELECT * FROM (VALUES ((SELECT word FROM open.kettle_table))) AS v
PIVOT open.kettle_table ON word USING count(*)
UNPIVOT open.kettle_table ON n INTO NAME a VALUE b
SELECT * FROM (PIVOT open.kettle_table ON word USING count(*))
SELECT * FROM open.kettle_view
SELECT * FROM open.schema_leak
SELECT * FROM information_schema.tables
SELECT * FROM information_schema.columns
SELECT * FROM information_schema.agents
SELECT * FROM information_schema.traces
SELECT * FROM information_schema.queries
SELECT * FROM open.models
SELECT * FROM log.jobs_history
EXPLAIN SELECT * FROM open.kettle_table
EXPLAIN ANALYZE SELECT * FROM open.kettle_table
DESCRIBE open.kettle_table
DESCRIBE KNOWLEDGE_BASE open.kettle_kb
DESCRIBE AGENT open.kettle_agent
DESCRIBE DATABASE open
SHOW TABLES
SHOW FULL TABLES FROM open
SHOW DATABASES
SHOW AGENTS
SHOW VIEWS
SHOW JOBS
SHOW QUERIES
SHOW KNOWLEDGE_BASES
SHOW FILES
SHOW INDEXES ON KNOWLEDGE_BASE open.kettle_kb
SHOW CREATE TABLE open.kettle_table
SHOW CREATE VIEW open.kettle_view
SHOW COLUMNS FROM open.kettle_table
SET @x = (SELECT word FROM open.kettle_table)
EVALUATE KNOWLEDGE_BASE open.kettle_kb USING test_table = 'open.kettle_table'
SELECT answer FROM open.kettle_agent WHERE question = (SELECT word FROM open.kettle_table)
SELECT a.answer FROM open.kettle_table AS k, open.kettle_agent AS a WHERE a.question = k.word
`

/** Statements that try to see another project without naming it. */
export const VEILED = `
SHOW DATABASES
SHOW FULL DATABASES
SHOW PROJECTS
SHOW SCHEMAS
SHOW TABLES
SHOW KNOWLEDGE_BASES
SHOW AGENTS
SHOW JOBS
SHOW QUERIES
SHOW SOURCES
SHOW INDEXES ON KNOWLEDGE_BASE
SHOW FILES
SHOW HANDLERS
SELECT * FROM information_schema.schemata
SELECT * FROM information_schema.databases
SELECT * FROM information_schema.tables
SELECT * FROM information_schema.columns
SELECT * FROM information_schema.knowledge_bases
SELECT * FROM information_schema.agents
SELECT * FROM information_schema.jobs
SELECT * FROM information_schema.jobs_history
SELECT * FROM log.jobs_history
SELECT * FROM information_schema.queries
SELECT * FROM information_schema.sources
SELECT * FROM information_schema.traces
SELECT * FROM information_schema.trace_steps
SELECT * FROM information_schema.trace_feedback
SELECT * FROM information_schema.conversation_turns
SELECT * FROM information_schema.audit_log
SELECT * FROM information_schema.keys
SELECT * FROM INFORMATION_SCHEMA."TABLES"
SELECT * FROM open.schema_leak
SELECT * FROM open.tables
SELECT * FROM open.columns
SELECT * FROM open.jobs
SELECT * FROM open.views
DESCRIBE open.second_leak
DESCRIBE open.bare_leak
SELECT * FROM open.bare_leak
SHOW COLUMNS FROM open.leak
SHOW COLUMNS FROM open.second_leak
SHOW CREATE VIEW open.second_leak
DESCRIBE AGENT open.both
ALTER AGENT open.both USING prompt_template = 'x'
SELECT * FROM open.knowledge_bases
SELECT * FROM open.agents
SELECT * FROM open.queries
SELECT * FROM duckdb_tables()
SELECT * FROM duckdb_views()
SELECT * FROM duckdb_columns()
SELECT * FROM duckdb_schemas()
SELECT * FROM duckdb_databases()
SELECT * FROM duckdb_settings()
SELECT * FROM duckdb_constraints()
SELECT * FROM pg_catalog.pg_tables
SELECT * FROM pg_tables
SELECT * FROM sqlite_master
SELECT * FROM eider.projects
SELECT * FROM eider.traces
SELECT * FROM eider.access_keys
SELECT * FROM main.eider.projects
SELECT * FROM system.information_schema.tables
SELECT * FROM "eider"."agents"
SELECT * FROM project_1.table_1
SELECT * FROM project_2.table_1
SELECT * FROM project_3.table_1
SELECT * FROM files.file_1
SELECT * FROM files_1
SELECT * FROM query('SELECT 1')
SELECT * FROM query_table('x')
SELECT * FROM read_csv('/etc/passwd')
SELECT * FROM read_parquet('*.parquet')
SELECT * FROM glob('*')
SELECT * FROM '/etc/passwd'
SELECT current_setting('temp_directory')
SELECT getenv('HOME')
SELECT current_schemas(true)
SELECT * FROM zanzi
SELECT * FROM zanzibat.x
SELECT * FROM open.zanzibar_tabl
SELECT * FROM files.zanzibat
SELECT zanzibat FROM open.kettle_table
DESCRIBE zanzibar_tabl
DROP TABLE zanzibar_tabl
DROP AGENT zanzibar_agen
DROP KNOWLEDGE_BASE zanzibar_k
SHOW CREATE TABLE zanzibar_tabl
EVALUATE KNOWLEDGE_BASE zanzibar_k USING test_table = 'x.y'
EXPLAIN SELECT * FROM information_schema.tables
EXPLAIN ANALYZE SELECT * FROM open.schema_leak
SELECT count(*) FROM information_schema.traces WHERE PROJECT <> 'open'
SELECT count(*) FROM information_schema.tables WHERE TABLE_SCHEMA NOT IN ('open', 'information_schema')
SELECT query_resume(2)
SELECT query_cancel(2)
`

/** Statements in which `{}` is a name that the key may not use. */
export const NAMING = `
SELECT * FROM {}.${S}_table
SELECT * FROM "{}"."${S}_table"
SELECT * FROM \`{}\`.\`${S}_table\`
SELECT * FROM {}.main.${S}_table
SELECT * FROM {}.information_schema.tables
SELECT * FROM {}.tables
SELECT * FROM {} (SELECT 1)
SELECT (SELECT word FROM {}.${S}_table)
SELECT 1 WHERE EXISTS (FROM {}.${S}_table)
WITH a AS (SELECT * FROM {}.${S}_table) SELECT * FROM a
SELECT * FROM open.kettle_table AS k JOIN {}.${S}_table AS s ON k.n = s.n
SELECT * FROM open.kettle_table, LATERAL (SELECT * FROM {}.${S}_table) AS s
SELECT answer FROM {}.${S}_agent WHERE question = 'x'
SELECT answer FROM open.kettle_agent WHERE question = (SELECT word FROM {}.${S}_table)
SELECT * FROM {}.${S}_kb WHERE content = 'x'
SELECT * FROM {}.${S}_view
SELECT * FROM {}.${S}_job
EXPLAIN SELECT * FROM {}.${S}_table
EXPLAIN ANALYZE SELECT * FROM {}.${S}_table
DESCRIBE {}.${S}_table
DESCRIBE KNOWLEDGE_BASE {}.${S}_kb
DESCRIBE AGENT {}.${S}_agent
SHOW TABLES FROM {}
SHOW FULL TABLES FROM {}
SHOW KNOWLEDGE_BASES FROM {}
SHOW AGENTS FROM {}
SHOW JOBS FROM {}
SHOW COLUMNS FROM {}.${S}_table
SHOW CREATE TABLE {}.${S}_table
SHOW CREATE VIEW {}.${S}_view
SHOW INDEXES ON KNOWLEDGE_BASE {}.${S}_kb
USE {}
SET @x = (SELECT word FROM {}.${S}_table)
CREATE TABLE open.c1 AS SELECT * FROM {}.${S}_table
CREATE TABLE {}.c2 AS SELECT 1 AS one
CREATE OR REPLACE TABLE {}.${S}_table AS SELECT 1 AS one
CREATE VIEW open.c3 AS SELECT * FROM {}.${S}_table
CREATE VIEW {}.c4 AS SELECT 1 AS one
CREATE OR REPLACE VIEW open.kettle_view AS SELECT * FROM {}.${S}_table
ALTER VIEW open.kettle_view AS SELECT * FROM {}.${S}_table
CREATE VIEW open.c5 FROM {} (SELECT * FROM ${S}_table)
CREATE TABLE open.c6 FROM {} (SELECT * FROM ${S}_table)
DROP VIEW {}.${S}_view
DROP TABLE {}.${S}_table
DROP TABLE IF EXISTS {}.${S}_table
DROP AGENT {}.${S}_agent
DROP AGENT IF EXISTS {}.${S}_agent
DROP KNOWLEDGE_BASE {}.${S}_kb
DROP KNOWLEDGE_BASE IF EXISTS {}.${S}_kb
DROP PROJECT {}
DROP PROJECT IF EXISTS {}
DROP DATABASE {}
CREATE PROJECT {}
CREATE PROJECT IF NOT EXISTS {}
ALTER KNOWLEDGE_BASE {}.${S}_kb USING hybrid_search = true
CREATE KNOWLEDGE_BASE {}.new_kb
CREATE AGENT {}.spy
CREATE AGENT open.spy USING data = {"tables": ["{}.${S}_table"]}
CREATE AGENT open.spy USING data = {"knowledge_bases": ["{}.${S}_kb"]}
ALTER AGENT open.kettle_agent USING data = {"tables": ["{}.*"]}
ALTER AGENT {}.${S}_agent USING prompt_template = 'x'
SELECT answer FROM open.kettle_agent WHERE question = 'x' USING data = {"tables": ["{}.*"]}
INSERT INTO {}.${S}_kb (id, content) VALUES ('a', 'b')
INSERT INTO open.kettle_kb (id, content) SELECT word, word FROM {}.${S}_table
INSERT INTO open.kettle_kb (id, content) VALUES ('a', (SELECT word FROM {}.${S}_table))
UPDATE {}.${S}_kb SET color = 'x' WHERE id = 'y'
UPDATE open.kettle_kb SET color = (SELECT word FROM {}.${S}_table) WHERE id = 'y'
DELETE FROM {}.${S}_kb WHERE id = 'y'
INSERT INTO {}.${S}_table VALUES ('y')
INSERT INTO open.kettle_table SELECT word FROM {}.${S}_table
UPDATE {}.${S}_table SET word = 'y'
UPDATE open.kettle_table SET word = t.word FROM {}.${S}_table AS t RETURNING *
DELETE FROM {}.${S}_table
DELETE FROM open.kettle_table USING {}.${S}_table AS t WHERE t.word = 'y' RETURNING *
TRUNCATE {}.${S}_table
ALTER TABLE {}.${S}_table ADD COLUMN more INT
DELETE FROM open.kettle_kb WHERE color IN (SELECT word FROM {}.${S}_table)
VACUUM {}.${S}_table
CREATE INDEX ON KNOWLEDGE_BASE {}.${S}_kb
DROP INDEX ON KNOWLEDGE_BASE {}.${S}_kb
DROP INDEX IF EXISTS ON KNOWLEDGE_BASE {}.${S}_kb
EVALUATE KNOWLEDGE_BASE {}.${S}_kb USING test_table = 'open.kettle_table'
EVALUATE KNOWLEDGE_BASE open.kettle_kb USING test_table = '{}.${S}_table'
EVALUATE KNOWLEDGE_BASE open.kettle_kb USING test_table = 'open.kettle_table', save_to = '{}.r'
EVALUATE AGENT {}.${S}_agent USING questions = 'open.kettle_table'
EVALUATE AGENT open.kettle_agent USING questions = (SELECT word AS question FROM {}.${S}_table)
EVALUATE AGENT open.kettle_agent USING questions = '{}.${S}_table'
PIVOT {}.${S}_table ON word USING count(*)
FROM {}.${S}_table
TABLE {}.${S}_table
`
