-- What knowledge bases are kept in step with: sources, the documents that each of them has, and the history of their runs.
-- Without keys, as knowledge bases are since step 5. Parameters are encrypted whole, as they may hold headers.
INSERT INTO eider.counters VALUES ('source', 1), ('source_run', 1);

CREATE TABLE eider.sync_sources (
  id INTEGER NOT NULL,
  knowledge_base_id INTEGER NOT NULL,
  name VARCHAR NOT NULL,
  name_key VARCHAR NOT NULL,
  kind VARCHAR NOT NULL,
  sealed_parameters VARCHAR NOT NULL,
  schedule VARCHAR,
  is_watched BOOLEAN NOT NULL,
  removes_vanished BOOLEAN NOT NULL,
  created_at TIMESTAMP NOT NULL,
  updated_at TIMESTAMP NOT NULL
);

-- One row for each document of an item (a file, a page, a row); of an item without documents one, with NULL.
CREATE TABLE eider.sync_documents (
  source_id INTEGER NOT NULL,
  item VARCHAR NOT NULL,
  document_id VARCHAR,
  hash VARCHAR,
  stamp VARCHAR,
  failure VARCHAR,
  run_id INTEGER NOT NULL,
  outcome VARCHAR NOT NULL
);

CREATE TABLE eider.sync_runs (
  id INTEGER NOT NULL,
  source_id INTEGER NOT NULL,
  cause VARCHAR NOT NULL,
  state VARCHAR NOT NULL,
  job_id INTEGER,
  started_at TIMESTAMP NOT NULL,
  finished_at TIMESTAMP,
  counts JSON NOT NULL,
  error VARCHAR,
  errors JSON NOT NULL
);
