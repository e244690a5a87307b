-- Knowledge bases whose rows another database holds: the name of the attachment there, whether all rows are copied to here,
-- and the revision of that copy.
CREATE TABLE eider.attachments (
  knowledge_base_id INTEGER PRIMARY KEY, attachment VARCHAR NOT NULL, is_copied BOOLEAN NOT NULL,
  revision BIGINT NOT NULL);
INSERT INTO eider.attachments
  SELECT knowledge_base_id, CAST(uuid() AS VARCHAR), is_copied, revision FROM eider.storages;
DROP TABLE eider.storages;
