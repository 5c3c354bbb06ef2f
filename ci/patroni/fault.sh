#!/usr/bin/env bash
# ci/patroni/fault.sh kill|cut|switchover: does that to the leader of the servers that ci/patroni.sh started, and returns
# once another one leads and the former leader follows it.
#
# hold-back: waits until the standbys have everything, and lets nothing more through to them; `kill` ends that too.
# asynchronous: ends synchronous replication. The other verbs are for ci/patroni.sh.
set -euo pipefail

directory=$PX_PATRONI_DIR
# Attempts, five a second.
ATTEMPTS=450

# rest NODE PATH: the status with which Patroni's node answers.
rest() {
    curl -s -m 2 -o /dev/null -w '%{http_code}' "http://10.78.0.1$1:8008/$2" || true
}

# fail TEXT: ends with the text and the ends of the logs.
fail() {
    {
        echo "$1"
        for node in 1 2 3; do
            echo "== node $node: $(curl -s -m 2 "http://10.78.0.1$node:8008/" || echo no answer)"
            tail -n 25 "$directory/node$node.log"
        done
        curl -s -m 2 http://10.78.0.11:8008/cluster || true
    } >&2
    exit 1
}

# await ROLE NODE: waits until the node has the role.
await() {
    for _ in $(seq "$ATTEMPTS"); do
        if [[ $(rest "$2" "$1") == 200 ]]; then return; fi
        sleep 0.2
    done
    fail "node $2 does not become $1"
}

# await_sync: waits until a standby is synchronous, unless replication is asynchronous.
await_sync() {
    if [[ -e $directory/asynchronous ]]; then return; fi
    for _ in $(seq "$ATTEMPTS"); do
        for node in 1 2 3; do
            if [[ $(rest "$node" synchronous) == 200 ]]; then return; fi
        done
        sleep 0.2
    done
    fail "no standby is synchronous"
}

# leader [EXCEPT]: waits for a node that leads.
leader() {
    for _ in $(seq "$ATTEMPTS"); do
        for node in 1 2 3; do
            if [[ $node != "${1:-}" && $(rest "$node" primary) == 200 ]]; then
                echo "$node"
                return
            fi
        done
        sleep 0.2
    done
    fail "no node leads"
}

# on NODE COMMAND...: runs the command with the network of the node.
on() {
    local machine
    machine=$(cat "$directory/machine$1")
    shift
    nsenter --target "$machine" --net "$@"
}

start() {
    cd "$directory"
    # Not a function, whose number would be that of a shell.
    nsenter --target "$(cat "$directory/machine$1")" --net \
        setpriv --reuid=postgres --regid=postgres --clear-groups -- \
        setsid patroni "$directory/node$1.yml" >>"$directory/node$1.log" 2>&1 </dev/null &
    echo $! >"$directory/node$1.pid"
}

# of_node NODE: Patroni, PostgreSQL and its children.
of_node() {
    local postmaster
    postmaster=$(head -n 1 "$directory/data$1/postmaster.pid")
    echo "$(cat "$directory/node$1.pid")" "$postmaster" $(cat "/proc/$postmaster/task/$postmaster/children")
}

# ask NODE QUERY: the answer of the PostgreSQL server.
ask() {
    psql -At -h "10.78.0.1$1" -U px -d postgres -c "$2"
}

# patroni NODE METHOD PATH JSON: asks the node's Patroni until it agrees.
patroni() {
    local status=
    for _ in $(seq 30); do
        status=$(curl -s -m 30 -o "$directory/answer" -w '%{http_code}' -X "$2" -d "$4" \
            -H 'Content-Type: application/json' "http://10.78.0.1$1:8008/$3" || true)
        if [[ $status == 200 ]]; then return; fi
        sleep 1
    done
    fail "$3: $status $(cat "$directory/answer")"
}

# follows FORMER NEW VERB: waits until the former leader follows, and says so.
follows() {
    await replica "$1"
    await_sync
    echo "$3 $1, $2 leads, after ${SECONDS} s"
}

case $1 in
start) start "$2" ;;
await) await "$2" "$3" ;;
await-sync) await_sync ;;
kill)
    old=$(leader)
    # shellcheck disable=SC2046 # one argument for each process
    kill -KILL $(of_node "$old") 2>/dev/null || true
    new=$(leader "$old")
    on "$old" ip route flush type blackhole
    start "$old"
    follows "$old" "$new" killed
    ;;
cut)
    old=$(leader)
    ip link set "px$old" down
    new=$(leader "$old")
    ip link set "px$old" up
    follows "$old" "$new" "cut off"
    ;;
switchover)
    old=$(leader)
    patroni "$old" POST switchover "{\"leader\": \"node$old\"}"
    new=$(leader "$old")
    follows "$old" "$new" exchanged
    ;;
asynchronous)
    old=$(leader)
    touch "$directory/asynchronous"
    patroni "$old" PATCH config '{"synchronous_mode": false}'
    for _ in $(seq "$ATTEMPTS"); do
        if [[ -z $(ask "$old" 'SHOW synchronous_standby_names') ]]; then exit; fi
        sleep 0.2
    done
    fail "replication is synchronous still"
    ;;
hold-back)
    old=$(leader)
    position=$(ask "$old" 'SELECT pg_current_wal_lsn()')
    have="SELECT count(*) FROM pg_stat_replication WHERE replay_lsn >= '$position'"
    for _ in $(seq "$ATTEMPTS"); do
        if [[ $(ask "$old" "$have") == 2 ]]; then break; fi
        sleep 0.2
    done
    for node in 1 2 3; do
        if [[ $node != "$old" ]]; then on "$old" ip route add blackhole "10.78.0.1$node/32"; fi
    done
    echo "held back what $old writes"
    ;;
*)
    echo "usage: ci/patroni/fault.sh kill|cut|switchover|hold-back|asynchronous" >&2
    exit 2
    ;;
esac
