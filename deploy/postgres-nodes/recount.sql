-- Counts the terms of all chunks anew, for scores of keyword searches:
--   psql -v table=teas -f recount.sql
BEGIN;
SELECT 1 FROM eider.knowledge_bases WHERE name = :'table' FOR UPDATE \g /dev/null
SELECT :'table' || ':terms' AS terms \gset
DELETE FROM eider.:"terms";
INSERT INTO eider.:"terms"
  SELECT term, count(*) FROM eider.:"table", unnest(terms) AS term GROUP BY term;
UPDATE eider.knowledge_bases SET (chunk_count, term_total) =
  (SELECT count(*), coalesce(sum(term_count), 0) FROM eider.:"table") WHERE name = :'table';
COMMIT;
