#!/usr/bin/env bash
# Creates pgvector's HNSW index of a spread knowledge base at each node, or drops it with DROP=1. Settings as in spread.sh;
# M (16) and EF_CONSTRUCTION (128) are those of the index. maintenance_work_mem of the nodes decides how long it takes.
set -euo pipefail
: "${COORDINATOR:?}" "${TABLE:?}" "${NODE_PASSWORD:?}" "${1:?the file with the nodes}"
mapfile -t nodes < <(grep -Ev '^[[:space:]]*(#|$)' "$1")
# pgvector's HNSW takes more than 2,000 dimensions only in half precision.
dimensions=$(psql -qXAt -v ON_ERROR_STOP=1 -v table="$TABLE" -d "$COORDINATOR" <<<"SELECT atttypmod FROM pg_attribute
  WHERE attrelid = format('eider.%I', :'table')::regclass AND attname = 'vector'")
column='vector vector_cosine_ops'
[ "$dimensions" -le 2000 ] || column="(vector::halfvec($dimensions)) halfvec_cosine_ops"
drop='DROP INDEX IF EXISTS eider.:"index"'
at_nodes='CREATE INDEX :"index" ON eider.:"part" USING hnsw ('$column')
  WITH (m = :m, ef_construction = :ef)'
# Of no rows: it tells Eider that the nodes have one.
at_coordinator='CREATE INDEX :"index" ON eider.:"table" USING hnsw ('$column')'
run() { # statement, and more for psql
  psql -qX -v ON_ERROR_STOP=1 -v table="$TABLE" -v index="$TABLE:hnsw" \
    -v part="$TABLE:${#nodes[@]}" -v m="${M:-16}" -v ef="${EF_CONSTRUCTION:-128}" "${@:2}" <<<"$1"
}
running=()
run "$drop" -d "$COORDINATOR"
for node in "${nodes[@]}"; do
  read -r name host port database login <<<"$node"
  echo "$name"
  at=(-h "$host" -p "$port" -d "$database" -U "$login")
  PGPASSWORD=$NODE_PASSWORD run "$drop" "${at[@]}"
  [ -n "${DROP:-}" ] && continue
  PGPASSWORD=$NODE_PASSWORD run "$at_nodes" "${at[@]}" &
  running+=($!)
done
for one in "${running[@]}"; do wait "$one"; done
[ -n "${DROP:-}" ] || run "$at_coordinator" -d "$COORDINATOR"
