-- For a cluster of Citus instead of spread.sh. Not tried by Eider's tests, which have no Citus:
--   psql -d eider -v table=teas -f citus.sql
-- Citus commits in two phases, so that chunks can be spread by their keys. It makes indexes at its nodes itself.
SELECT create_distributed_table(format('eider.%I', :'table')::regclass, 'chunk_key');
