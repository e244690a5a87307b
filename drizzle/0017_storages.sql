-- Knowledge bases whose rows another database holds: whether they were created from here, whether all rows are copied to here,
-- and the revision of that copy.
CREATE TABLE eider.storages (
  knowledge_base_id INTEGER PRIMARY KEY, is_owner BOOLEAN NOT NULL, is_copied BOOLEAN NOT NULL,
  revision BIGINT NOT NULL);
