-- What CREATE INDEX asked for; NULL: Eider chooses how vectors are searched.
ALTER TABLE eider.knowledge_bases ADD COLUMN vector_index JSON;
