#!/usr/bin/env bash
# Spreads the chunks of a knowledge base over several PostgreSQL servers, the nodes; again, over more or fewer of them.
# Searches continue meanwhile, and writes wait. See docs/scaling.md.
#
#   COORDINATOR='host=db0 dbname=eider user=postgres' LOGIN=eider TABLE=teas NODE_PASSWORD=… ./spread.sh nodes.txt
#
# COORDINATOR    the database that Eider connects to, as a superuser, or as the owner of the extension vector
# LOGIN          the login that Eider uses there
# TABLE          the storage table, as in USING storage = {"table": "teas"}
# NODE_PASSWORD  of the logins at the nodes
# nodes.txt      a line for each node: name host port database login
set -euo pipefail
: "${COORDINATOR:?}" "${LOGIN:?}" "${TABLE:?}" "${NODE_PASSWORD:?}" "${1:?the file with the nodes}"
export NODE_PASSWORD
here=$(dirname "$(realpath "$0")")
mapfile -t nodes < <(grep -Ev '^[[:space:]]*(#|$)' "$1")
at_coordinator() { psql -qX -v ON_ERROR_STOP=1 -v table="$TABLE" -d "$COORDINATOR" "$@"; }
at_node() { # host port database login, and more for psql
  PGPASSWORD=$NODE_PASSWORD psql -qX -v ON_ERROR_STOP=1 -v table="$TABLE" -v count="${#nodes[@]}" \
    -h "$1" -p "$2" -d "$3" -U "$4" "${@:5}"
}

find="SELECT dimensions FROM eider.knowledge_bases WHERE name = :'table'"
dimensions=$(at_coordinator -At <<<"$find")
if [ -z "$dimensions" ]; then
  echo "$TABLE holds no vectors yet: insert a document first" >&2
  exit 1
fi

json=
for node in "${nodes[@]}"; do
  read -r name host port database login <<<"$node"
  echo "$name: tables"
  at_node "$host" "$port" "$database" "$login" -v dimensions="$dimensions" -v language=sql \
    -f "$here/functions.sql" -f "$here/node.sql"
  json+="${json:+,}{\"name\":\"$name\",\"host\":\"$host\",\"port\":\"$port\",\"dbname\":\"$database\",\"user\":\"$login\"}"
done

echo "moving the chunks"
at_coordinator -v login="$LOGIN" -v nodes="[$json]" -v language=plpgsql \
  -f "$here/functions.sql" -f "$here/coordinator.sql"

for node in "${nodes[@]}"; do
  read -r name host port database login <<<"$node"
  at_node "$host" "$port" "$database" "$login" -f "$here/node-cleanup.sql"
done
# The planner here needs to know how many rows there are; repeat it as they grow.
at_coordinator <<<'ANALYZE eider.:"table"'
