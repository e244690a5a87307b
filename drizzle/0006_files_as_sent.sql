-- What was recognised in a file and what was not read, its sheets, and where its bytes lie: files/<content_key> in the data
-- folder; NULL for those whose bytes were not kept. Without keys: replacing a file deletes its row and inserts one of the
-- same name, and beside an index DuckDB 1.5.5 ends the process when the COMMIT of such a write fails, as on a full disk.
CREATE TABLE eider.files_anew (
  id INTEGER NOT NULL,
  name VARCHAR NOT NULL,
  name_key VARCHAR NOT NULL,
  original_name VARCHAR NOT NULL,
  format VARCHAR NOT NULL,
  size_bytes BIGINT NOT NULL,
  columns JSON NOT NULL,
  row_count BIGINT NOT NULL,
  created_at TIMESTAMP NOT NULL,
  sheets JSON NOT NULL DEFAULT '[]',
  recognized JSON NOT NULL DEFAULT '{}',
  warnings JSON NOT NULL DEFAULT '[]',
  content_type VARCHAR,
  source_url VARCHAR,
  content_key VARCHAR
);
INSERT INTO eider.files_anew
  SELECT id, name, name_key, original_name, format, size_bytes, columns, row_count, created_at,
    '[]', '{}', '[]', NULL, NULL, NULL
  FROM eider.files;
DROP TABLE eider.files;
ALTER TABLE eider.files_anew RENAME TO files;
