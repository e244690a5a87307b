-- Jobs: what each is to do, and how far it is. Two tables, since the second is written with every batch. Without keys, and
-- never updated in place: beside an index DuckDB 1.5.5 ends the process when the COMMIT of a write fails, as on a full disk.
INSERT INTO eider.counters VALUES ('job', 1);

CREATE TABLE eider.jobs (
  id INTEGER NOT NULL,
  kind VARCHAR NOT NULL,
  project_name VARCHAR NOT NULL,
  knowledge_base VARCHAR,
  title VARCHAR NOT NULL,
  sealed_request VARCHAR NOT NULL,
  item_count BIGINT,
  created_at TIMESTAMP NOT NULL
);

CREATE TABLE eider.job_states (
  job_id INTEGER NOT NULL,
  state VARCHAR NOT NULL,
  started_at TIMESTAMP,
  finished_at TIMESTAMP,
  row_count BIGINT NOT NULL,
  document_count BIGINT NOT NULL,
  chunk_count BIGINT NOT NULL,
  total BIGINT,
  checkpoint JSON,
  error VARCHAR,
  errors JSON NOT NULL,
  error_count BIGINT NOT NULL,
  -- Starts in a row after which nothing was stored.
  start_count INTEGER NOT NULL
);
