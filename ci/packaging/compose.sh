#!/usr/bin/env bash
# compose.sh PROGRAM PYTHON FOLDER: the services of packaging/compose/cluster.yaml started by hand, for want of a
# container engine: PostgreSQL, PgBouncer and Caddy with the files of the recipe, and three nodes with its environment and
# secrets. Each has an address of its own and the name that the recipe gives it. Requests go on while a node stops.
#
# Run it as root in new mount, process and network namespaces, which end with it. PYTHON has PyYAML.
set -euo pipefail

program=$(realpath "$1") python=$2 work=$3
postgres_bin=$(dirname "$(compgen -G '/usr/lib/postgresql/*/bin/initdb' | sort -V | tail -n 1)")

. ci/packaging/recipe.sh
unprivileged() { setpriv --reuid=postgres --regid=postgres --clear-groups -- "$@"; }

prepare <<'END'
127.0.0.1 localhost
127.0.87.4 postgres
127.0.87.5 pgbouncer
127.0.87.11 pyxis1
127.0.87.12 pyxis2
127.0.87.13 pyxis3
END
cp --preserve=mode,ownership /run/recipe/secrets/* /run/secrets
[[ $(stat --format %a /run/secrets/* | sort -u) == 400 ]] || failed "a secret is not for its user alone"
# Users of the images that are others on this machine.
chown postgres: /run/secrets/postgres_password /run/secrets/pgbouncer_users

echo "compose: PostgreSQL"
mkdir /run/postgres
chown postgres: /run/postgres
(cd /run/postgres && unprivileged "$postgres_bin/initdb" -D data -U pyxis --auth-host=scram-sha-256 \
    --pwfile=/run/secrets/postgres_password -E UTF8 --no-sync) >"$work/initdb.log" 2>&1 || failed initdb
(cd /run/postgres && unprivileged "$postgres_bin/postgres" -D data -c listen_addresses=postgres \
    -c unix_socket_directories= -c password_encryption=scram-sha-256 -c fsync=off) >"$work/postgres.log" 2>&1 &
soon PostgreSQL "$postgres_bin/pg_isready" -h postgres -q
export PGPASSWORD
PGPASSWORD=$(</run/secrets/postgres_password)
psql -q -h postgres -U pyxis -d postgres -c 'CREATE DATABASE pyxis'

echo "compose: PgBouncer"
(cd / && unprivileged pgbouncer /run/recipe/pgbouncer.ini) >"$work/pgbouncer.log" 2>&1 &
soon PgBouncer psql -q -h pgbouncer -p 6432 -U pyxis -d pyxis -c 'SELECT 1'

environment_of cluster.yaml pyxis1 localhost
declare -A process
# node N COMMAND...: becomes the program, as a node of the recipe runs it.
node() {
    local number=$1
    shift
    install --directory --owner="$user" --group="$user" --mode=700 "/run/data$number"
    cd "/run/data$number"
    exec setpriv --reuid="$user" --regid="$user" --clear-groups -- env -i "${environment[@]}" \
        PX_DATA_DIR="/run/data$number" PX_LISTEN="127.0.87.1$number:8700" \
        PX_METRICS_LISTEN="127.0.87.1$number:8701" /run/program "$@"
}
start() {
    node "$1" serve >"$work/node$1.log" 2>&1 &
    process[$1]=$!
}
is_healthy() { (node "$1" healthcheck); }

echo "compose: three nodes"
(node 1 bootstrap --owner-email owner@localhost --json) >"$work/bootstrap.json" 2>"$work/bootstrap.log" ||
    failed bootstrap
for number in 1 2 3; do start "$number"; done
for number in 1 2 3; do
    soon "node $number" is_healthy "$number"
    if grep '"level":"WARN"' "$work/node$number.log"; then failed "node $number warns at its start"; fi
done

echo "compose: Caddy"
export XDG_DATA_HOME=$work/caddy XDG_CONFIG_HOME=$work/caddy
PYXIS_HOST=localhost PYXIS_NODES="pyxis1:8700 pyxis2:8700 pyxis3:8700" \
    caddy run --adapter caddyfile --config /run/recipe/Caddyfile >"$work/caddy.log" 2>&1 &
# Its own authority, because no other one reaches this network.
authority=$work/caddy/caddy/pki/authorities/local/root.crt
key=$("$python" -c 'import json, sys; print(json.loads(open(sys.argv[1]).readline())["api_key"])' "$work/bootstrap.json")
scores() {
    curl --silent --fail --max-time 20 --cacert "$authority" --header "X-API-KEY: $key" \
        https://localhost/v2/stamps/metadata
}
soon Caddy scores

# Through the proxy, while one node after the other stops and comes back.
for number in 1 2 3; do
    kill "${process[$number]}"
    for _ in $(seq 10); do scores >/dev/null || failed "a request failed while node $number stopped"; done
    wait "${process[$number]}" || failed "node $number did not end well"
    start "$number"
    soon "node $number" is_healthy "$number"
done
echo "packaging: the cluster of Compose serves through Caddy and PgBouncer while its nodes stop one by one"
