#!/usr/bin/env bash
# PostgreSQL that fails over: three servers under Patroni and etcd, each with a network of its own. Two Pyxis nodes are
# under load while the leader is killed, cut off and exchanged. With synchronous replication, nothing that was
# acknowledged may be lost or doubled. With asynchronous replication, `pyxis audit in-flight` must list what was lost.
#
# PX_PATRONI_ROUNDS is the number of rounds of three faults each (1), PX_PATRONI_SEED the order of the faults after the
# first round (1). With arguments, they are a command that runs instead of the tests; PX_TEST_PATRONI is then the URL.
# Needs root, for the networks.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

missing=()
for tool in patroni etcd curl python3 ip psql; do command -v "$tool" >/dev/null || missing+=("$tool"); done
bin=$(dirname "$(compgen -G '/usr/lib/postgresql/*/bin/initdb' | sort -V | tail -n 1)")
[[ -x $bin/initdb ]] || missing+=(postgresql)
unshare --net --mount --pid --fork true 2>/dev/null || missing+=("root, for network namespaces")
if ((${#missing[@]})); then
    echo "failover: left out, missing: ${missing[*]} (apt-get install patroni etcd-server postgresql iproute2)" >&2
    [[ -z ${PX_TEST_STRICT:-} ]] || exit 1
    exit 0
fi
if [[ -z ${PX_PATRONI_DIR:-} ]]; then
    PX_PATRONI_DIR=$(mktemp -d "${TMPDIR:-/tmp}/px-patroni.XXXXXX")
    export PX_PATRONI_DIR
    trap 'rm -rf "$PX_PATRONI_DIR"' EXIT
    # Whatever starts in there ends with it.
    unshare --net --mount --pid --fork --kill-child --mount-proc "${BASH_SOURCE[0]}" "$@"
    exit
fi

directory=$PX_PATRONI_DIR
chown postgres: "$directory"
as=(setpriv --reuid=postgres --regid=postgres --clear-groups --)

# elsewhere PROCESS: true once the process has a network of its own and runs what it is for.
elsewhere() {
    [[ $(<"/proc/$1/comm") == sleep && $(readlink "/proc/$1/ns/net") != "$(readlink /proc/self/ns/net)" ]]
}

# A switch with the etcd server and the Pyxis nodes on it, and a cable to each PostgreSQL server.
ip link set lo up
ip link add px0 type bridge
ip address add 10.78.0.1/24 dev px0
ip link set px0 up
for node in 1 2 3; do
    unshare --net sleep infinity &
    machine=$!
    echo "$machine" >"$directory/machine$node"
    until elsewhere "$machine"; do sleep 0.01; done
    ip link add "px$node" type veth peer name eth0 netns "$machine"
    ip link set "px$node" master px0 up
    inside=(nsenter --target "$machine" --net ip)
    "${inside[@]}" link set lo up
    "${inside[@]}" address add "10.78.0.1$node/24" dev eth0
    "${inside[@]}" link set eth0 up
done

(cd "$directory" && exec "${as[@]}" etcd --data-dir "$directory/etcd" --unsafe-no-fsync \
    --listen-client-urls http://10.78.0.1:2379 --advertise-client-urls http://10.78.0.1:2379 \
    --listen-peer-urls http://10.78.0.1:2380 --initial-advertise-peer-urls http://10.78.0.1:2380 \
    --initial-cluster default=http://10.78.0.1:2380) >"$directory/etcd.log" 2>&1 &

for node in 1 2 3; do
    mkdir "$directory/socket$node"
    chown postgres: "$directory/socket$node"
    cat >"$directory/node$node.yml" <<END
scope: px
name: node$node
restapi: {listen: '10.78.0.1$node:8008', connect_address: '10.78.0.1$node:8008'}
etcd3: {host: '10.78.0.1:2379'}
bootstrap:
  dcs:
    ttl: 12
    loop_wait: 1
    retry_timeout: 4
    synchronous_mode: true
    postgresql:
      use_pg_rewind: true
      parameters: {wal_log_hints: 'on', max_connections: 200, fsync: 'off', shared_buffers: 32MB}
  initdb: [{encoding: UTF8}, {locale: C.UTF-8}, {auth: trust}, no-sync]
  pg_hba: ['local all all trust', 'host all all 10.78.0.0/24 trust', 'host replication all 10.78.0.0/24 trust']
postgresql:
  listen: '10.78.0.1$node:5432'
  connect_address: '10.78.0.1$node:5432'
  data_dir: '$directory/data$node'
  bin_dir: '$bin'
  pgpass: '$directory/pgpass$node'
  authentication: {superuser: {username: px, password: px}, replication: {username: follower, password: px}}
  parameters: {unix_socket_directories: '$directory/socket$node', wal_sender_timeout: 5s, wal_receiver_timeout: 5s}
END
done

fault=$PWD/ci/patroni/fault.sh
"$fault" start 1
"$fault" await primary 1
for node in 2 3; do "$fault" start "$node"; done
for node in 2 3; do "$fault" await replica "$node"; done
"$fault" await-sync

psql -q -h 10.78.0.11 -U px -d postgres -c 'CREATE DATABASE synchronous' -c 'CREATE DATABASE asynchronous'
hosts=10.78.0.11,10.78.0.12,10.78.0.13
export PX_TEST_PATRONI="postgres://px@$hosts/synchronous?sslmode=disable"
export PX_TEST_PATRONI_ASYNCHRONOUS="postgres://px@$hosts/asynchronous?sslmode=disable"
export PX_TEST_PATRONI_FAULT=$fault
export PX_TEST_PATRONI_ROUNDS=${PX_PATRONI_ROUNDS:-1} PX_TEST_PATRONI_SEED=${PX_PATRONI_SEED:-1}

# test NAME: one of the tests of Rust.
test_named() {
    if cargo nextest --version >/dev/null 2>&1; then
        cargo nextest run --workspace --locked --profile patroni -E "test($1)"
    else
        cargo test --workspace --locked "$1" -- --nocapture
    fi
}
status=0
if (($#)); then
    "$@" || status=$?
else
    test_named patroni::synchronous && "$fault" asynchronous && test_named patroni::asynchronous || status=$?
fi
if ((status)); then
    for node in 1 2 3; do
        echo "== node $node"
        tail -n 40 "$directory/node$node.log"
    done >&2
fi
exit "$status"
