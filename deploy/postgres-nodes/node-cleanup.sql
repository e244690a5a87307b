-- The tables of an earlier number of nodes, whose chunks have moved.
SELECT format('DROP TABLE %s', c.oid::regclass)
FROM pg_class AS c
WHERE c.relnamespace = 'eider'::regnamespace AND c.relkind = 'r'
  AND left(c.relname, length(:'table') + 1) = :'table' || ':'
  AND substr(c.relname, length(:'table') + 2) ~ '^[0-9]+$'
  AND c.relname <> :'table' || ':' || :'count' \gexec
ANALYZE;
