-- Rows of inserts that were not stored because their content was empty.
ALTER TABLE eider.job_states ADD COLUMN skipped_count BIGINT DEFAULT 0;
ALTER TABLE eider.audit_log ADD COLUMN skipped_rows BIGINT DEFAULT 0;
ALTER TABLE eider.job_states ALTER COLUMN skipped_count SET NOT NULL;
ALTER TABLE eider.audit_log ALTER COLUMN skipped_rows SET NOT NULL;
