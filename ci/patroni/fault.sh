#!/usr/bin/env bash
# ci/patroni/fault.sh kill|cut|switchover: does that to the leader of the servers that ci/patroni.sh started, and returns
# once another one leads and the former leader follows it. The other verbs are for ci/patroni.sh.
set -euo pipefail

directory=$PX_PATRONI_DIR
base=$(cat "$directory/base")

# rest NODE PATH: the status with which Patroni's node answers.
rest() {
    curl -s -m 2 -o /dev/null -w '%{http_code}' "http://127.0.0.1:$((base + 10 + $1))/$2" || true
}

# await ROLE NODE: waits until the node has the role.
await() {
    for _ in $(seq 300); do
        if [[ $(rest "$2" "$1") == 200 ]]; then return; fi
        sleep 0.2
    done
    echo "node $2 does not become $1" >&2
    tail -n 20 "$directory/node$2.log" >&2
    exit 1
}

# await_sync: waits until a standby is synchronous.
await_sync() {
    for _ in $(seq 300); do
        for node in 1 2 3; do
            if [[ $(rest "$node" synchronous) == 200 ]]; then return; fi
        done
        sleep 0.2
    done
    echo "no standby is synchronous" >&2
    exit 1
}

# leader [EXCEPT]: waits for a node that leads.
leader() {
    for _ in $(seq 300); do
        for node in 1 2 3; do
            if [[ $node != "${1:-}" && $(rest "$node" primary) == 200 ]]; then
                echo "$node"
                return
            fi
        done
        sleep 0.2
    done
    echo "no node leads" >&2
    exit 1
}

start() {
    local as=()
    if ((EUID == 0)); then as=(setpriv --reuid=postgres --regid=postgres --clear-groups --); fi
    cd "$directory"
    "${as[@]}" setsid patroni "$directory/node$1.yml" >>"$directory/node$1.log" 2>&1 </dev/null &
    echo $! >"$directory/node$1.pid"
}

# processes PARENT: the process and its children.
processes() {
    echo "$1" $(cat "/proc/$1/task/$1/children" 2>/dev/null)
}

# of_node NODE: Patroni and PostgreSQL of a node.
of_node() {
    local postmaster
    postmaster=$(head -n 1 "$directory/data$1/postmaster.pid")
    echo "$(cat "$directory/node$1.pid")" $(processes "$postmaster")
}

case $1 in
start) start "$2" ;;
await) await "$2" "$3" ;;
await-sync) await_sync ;;
processes) processes "$2" ;;
kill)
    old=$(leader)
    # shellcheck disable=SC2046 # one argument for each process
    kill -KILL $(of_node "$old") || true
    new=$(leader "$old")
    start "$old"
    await replica "$old"
    await_sync
    echo "killed $old, $new leads"
    ;;
cut)
    old=$(leader)
    stopped=$(of_node "$old")
    # shellcheck disable=SC2086 # one argument for each process
    kill -STOP $stopped
    new=$(leader "$old")
    # shellcheck disable=SC2086
    kill -CONT $stopped
    await replica "$old"
    await_sync
    echo "cut off $old, $new leads"
    ;;
switchover)
    old=$(leader)
    for _ in $(seq 20); do
        status=$(curl -s -m 30 -o "$directory/switchover" -w '%{http_code}' -X POST -d "{\"leader\": \"node$old\"}" \
            -H 'Content-Type: application/json' "http://127.0.0.1:$((base + 10 + old))/switchover" || true)
        if [[ $status == 200 ]]; then break; fi
        sleep 1
    done
    [[ $status == 200 ]] || { cat "$directory/switchover" >&2; exit 1; }
    new=$(leader "$old")
    await replica "$old"
    await_sync
    echo "exchanged $old for $new"
    ;;
*)
    echo "usage: ci/patroni/fault.sh kill|cut|switchover" >&2
    exit 2
    ;;
esac
