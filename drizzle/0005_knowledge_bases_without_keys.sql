-- Each write to a knowledge base deletes its row here and inserts it anew. Beside an index DuckDB 1.5.5 ends the process
-- when the COMMIT of such a write fails, as on a full disk. Ids and names are checked before they are written.
CREATE TABLE eider.knowledge_bases_anew (
  id INTEGER NOT NULL,
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
  vector_index JSON,
  sealed_next_embedding_model VARCHAR,
  vectors_number INTEGER NOT NULL DEFAULT 0
);
INSERT INTO eider.knowledge_bases_anew SELECT * FROM eider.knowledge_bases;
DROP TABLE eider.knowledge_bases;
ALTER TABLE eider.knowledge_bases_anew RENAME TO knowledge_bases;
