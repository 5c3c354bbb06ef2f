#!/usr/bin/env bash
# PostgreSQL that fails over: three servers under Patroni and etcd, with synchronous replication. Two Pyxis nodes are
# under load while the leader is killed, frozen and exchanged. Nothing that was acknowledged may be lost or doubled.
#
# PX_PATRONI_ROUNDS is the number of rounds of three faults each (1), PX_PATRONI_SEED the order of the faults after the
# first round (1). With arguments, they are a command that runs instead of the test; PX_TEST_PATRONI is then the URL.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

missing=()
for tool in patroni etcd curl python3; do command -v "$tool" >/dev/null || missing+=("$tool"); done
bin=$(dirname "$(compgen -G '/usr/lib/postgresql/*/bin/initdb' | sort -V | tail -n 1)")
[[ -x $bin/initdb ]] || missing+=(postgresql)
if ((${#missing[@]})); then
    echo "failover: left out, missing: ${missing[*]} (apt-get install patroni etcd-server postgresql)" >&2
    [[ -z ${PX_TEST_STRICT:-} ]] || exit 1
    exit 0
fi

directory=$(mktemp -d "${TMPDIR:-/tmp}/px-patroni.XXXXXX")
as=()
if ((EUID == 0)); then
    chown postgres: "$directory"
    as=(setpriv --reuid=postgres --regid=postgres --clear-groups --)
fi
export PX_PATRONI_DIR=$directory

stop() {
    local file
    for file in "$directory"/*.pid; do
        [[ -e $file ]] || continue
        kill -CONT "$(cat "$file")" 2>/dev/null || true
        kill -KILL "$(cat "$file")" 2>/dev/null || true
    done
    for file in "$directory"/data*/postmaster.pid; do
        [[ -e $file ]] || continue
        # shellcheck disable=SC2046 # one argument for each process
        kill -CONT $(ci/patroni/fault.sh processes "$(head -n 1 "$file")") 2>/dev/null || true
        kill -QUIT "$(head -n 1 "$file")" 2>/dev/null || true
    done
    sleep 1
    rm -rf "$directory"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

base=$((21000 + RANDOM % 8000))
echo "$base" >"$directory/base"
(cd "$directory" && exec "${as[@]}" etcd --data-dir "$directory/etcd" --unsafe-no-fsync \
    --listen-client-urls "http://127.0.0.1:$base" --advertise-client-urls "http://127.0.0.1:$base" \
    --listen-peer-urls "http://127.0.0.1:$((base + 1))" --initial-advertise-peer-urls "http://127.0.0.1:$((base + 1))" \
    --initial-cluster "default=http://127.0.0.1:$((base + 1))") >"$directory/etcd.log" 2>&1 &
echo $! >"$directory/etcd.pid"
disown # its end is not worth a message

for node in 1 2 3; do
    cat >"$directory/node$node.yml" <<END
scope: px
name: node$node
restapi: {listen: '127.0.0.1:$((base + 10 + node))', connect_address: '127.0.0.1:$((base + 10 + node))'}
etcd3: {host: '127.0.0.1:$base'}
bootstrap:
  dcs:
    ttl: 15
    loop_wait: 1
    retry_timeout: 5
    synchronous_mode: true
    postgresql:
      use_pg_rewind: true
      parameters: {wal_log_hints: 'on', max_connections: 200, fsync: 'off', shared_buffers: 32MB}
  initdb: [{encoding: UTF8}, {locale: C.UTF-8}, {auth: trust}, no-sync]
  pg_hba: ['host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust']
postgresql:
  listen: '127.0.0.1:$((base + 20 + node))'
  connect_address: '127.0.0.1:$((base + 20 + node))'
  data_dir: '$directory/data$node'
  bin_dir: '$bin'
  pgpass: '$directory/pgpass$node'
  authentication: {superuser: {username: px, password: px}, replication: {username: follower, password: px}}
  parameters: {unix_socket_directories: '$directory'}
END
done

for node in 1 2 3; do
    ci/patroni/fault.sh start "$node"
    if ((node == 1)); then ci/patroni/fault.sh await primary 1; fi
done
for node in 2 3; do ci/patroni/fault.sh await replica "$node"; done
ci/patroni/fault.sh await-sync

hosts=127.0.0.1:$((base + 21)),127.0.0.1:$((base + 22)),127.0.0.1:$((base + 23))
export PX_TEST_PATRONI="postgres://px@$hosts/postgres?sslmode=disable"
export PX_TEST_PATRONI_FAULT=$PWD/ci/patroni/fault.sh
export PX_TEST_PATRONI_ROUNDS=${PX_PATRONI_ROUNDS:-1} PX_TEST_PATRONI_SEED=${PX_PATRONI_SEED:-1}
echo "== Patroni on ports $((base + 21)) to $((base + 23))"
status=0
if (($#)); then
    "$@" || status=$?
elif cargo nextest --version >/dev/null 2>&1; then
    cargo nextest run --workspace --locked --profile patroni -E 'test(patroni::)' || status=$?
else
    cargo test --workspace --locked patroni:: -- --nocapture || status=$?
fi
if ((status)); then tail -n 30 "$directory"/node*.log >&2; fi
exit "$status"
