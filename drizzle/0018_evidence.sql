-- How well what was read answers: answer, closest or none. Null: there is no answer, or it is older than this column.
ALTER TABLE eider.traces ADD COLUMN evidence VARCHAR;
