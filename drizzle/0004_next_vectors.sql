-- A change of the embedding model: the model that comes next while its vectors are made, and the number of the
-- vectors table in use, since vectors of another model lie in a table of another name.
ALTER TABLE eider.knowledge_bases ADD COLUMN sealed_next_embedding_model VARCHAR;
ALTER TABLE eider.knowledge_bases ADD COLUMN vectors_number INTEGER DEFAULT 0;
ALTER TABLE eider.knowledge_bases ALTER COLUMN vectors_number SET NOT NULL;
