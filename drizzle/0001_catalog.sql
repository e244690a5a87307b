-- The catalog. No foreign keys and no secondary indexes: DuckDB refuses harmless updates of what they point to.
-- `name_key` is the name in lower case, since names are compared without case.

CREATE TABLE eider.counters (
  name VARCHAR PRIMARY KEY,
  next_value BIGINT NOT NULL
);

-- Ids are never given twice: they name the tables that hold the data.
INSERT INTO eider.counters VALUES ('project', 1), ('knowledge_base', 1), ('agent', 1), ('file', 1);

-- A sealed constant, which shows whether the key file fits.
CREATE TABLE eider.key_check (
  id INTEGER PRIMARY KEY,
  sealed VARCHAR NOT NULL
);

CREATE TABLE eider.projects (
  id INTEGER PRIMARY KEY,
  name VARCHAR NOT NULL,
  name_key VARCHAR NOT NULL UNIQUE,
  created_at TIMESTAMP NOT NULL,
  updated_at TIMESTAMP NOT NULL
);

-- Columns called `sealed_…` hold encrypted JSON.
CREATE TABLE eider.knowledge_bases (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL,
  name VARCHAR NOT NULL,
  name_key VARCHAR NOT NULL,
  vector_database VARCHAR NOT NULL,
  vector_database_table VARCHAR NOT NULL,
  sealed_embedding_model VARCHAR NOT NULL,
  sealed_reranking_model VARCHAR,
  content_columns JSON,
  metadata_columns JSON,
  id_column VARCHAR,
  sealed_preprocessing VARCHAR NOT NULL,
  sealed_params VARCHAR NOT NULL,
  dimensions INTEGER,
  stored_metadata JSON NOT NULL,
  revision BIGINT NOT NULL,
  next_chunk_key BIGINT NOT NULL,
  created_at TIMESTAMP NOT NULL,
  updated_at TIMESTAMP NOT NULL,
  UNIQUE (project_id, name_key)
);

CREATE TABLE eider.agents (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL,
  name VARCHAR NOT NULL,
  name_key VARCHAR NOT NULL,
  sealed_model VARCHAR,
  data JSON,
  prompt_template VARCHAR,
  params JSON NOT NULL,
  created_at TIMESTAMP NOT NULL,
  updated_at TIMESTAMP NOT NULL,
  UNIQUE (project_id, name_key)
);

CREATE TABLE eider.files (
  id INTEGER PRIMARY KEY,
  name VARCHAR NOT NULL,
  name_key VARCHAR NOT NULL UNIQUE,
  original_name VARCHAR NOT NULL,
  format VARCHAR NOT NULL,
  size_bytes BIGINT NOT NULL,
  columns JSON NOT NULL,
  row_count BIGINT NOT NULL,
  created_at TIMESTAMP NOT NULL
);

CREATE TABLE eider.revoked_tokens (
  id VARCHAR PRIMARY KEY,
  expires_at TIMESTAMP NOT NULL
);

-- The rows of uploaded files.
CREATE SCHEMA uploaded;
