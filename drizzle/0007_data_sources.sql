-- Databases elsewhere. Their parameters are encrypted whole. Without keys, as knowledge bases are since step 5.
INSERT INTO eider.counters VALUES ('data_source', 1);

CREATE TABLE eider.data_sources (
  id INTEGER NOT NULL,
  name VARCHAR NOT NULL,
  name_key VARCHAR NOT NULL,
  engine VARCHAR NOT NULL,
  sealed_parameters VARCHAR NOT NULL,
  created_at TIMESTAMP NOT NULL,
  updated_at TIMESTAMP NOT NULL
);
