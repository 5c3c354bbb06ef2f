#!/usr/bin/env bash
# Requests a second and CPU of 1, 2 and 3 nodes on one PostgreSQL that commits to the disk: POST /forward
# (auto-approved, audit on), the latest score, and one verification check; compared with a bare proxy that stores one
# row a request in the same PostgreSQL, in groups, before it sends the request. Loopback only.
#
#   PX_POSTGRES_DURABLE=1 PX_POSTGRES_BUFFERS=1GB ci/postgres.sh bench/nodes.sh
#
#   PX_BENCH_ROUNDS=3            interleaved rounds
#   PX_BENCH_SECONDS=4           seconds of each
#   PX_BENCH_CONNECTIONS=96      keep-alive connections, shared by the nodes
#   PX_BENCH_ADDRESSES=100000    scored addresses, and registered proofs
#
# Everything shares the machine, so more nodes do not make it faster here: the CPU of a request in the nodes and in
# PostgreSQL is what tells how many of each a load needs.
#
# Needs wrk, curl, python3 and psql (Debian: apt-get install wrk curl python3 postgresql-client).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
require wrk curl python3 psql
database=${PX_TEST_POSTGRES:?run this by ci/postgres.sh}

rounds=${PX_BENCH_ROUNDS:-3}
seconds=${PX_BENCH_SECONDS:-4}
connections=${PX_BENCH_CONNECTIONS:-96}
addresses=${PX_BENCH_ADDRESSES:-100000}
ticks=$(getconf CLK_TCK)

build
[[ -n $pyxis ]] || fail "this benchmark measures Pyxis: unset PX_BENCH_WITHOUT_PYXIS"
postgres=$(head -n 1 "$(psql -qAt -c 'SHOW data_directory' "$database")/postmaster.pid")
[[ $(psql -qAt -c 'SHOW fsync' "$database") == on ]] || fail "set PX_POSTGRES_DURABLE=1: nothing here reaches the disk"

start upstream "$tools/upstream" 127.0.0.1:0
upstream=$address
start bare "$tools/bare" 127.0.0.1:0 "$database"
bare=$address
bare_process=$pid

# Three nodes with one master key, each with a data directory of its own.
export PX_DATABASE_URL=$database PX_ENCRYPTION_KEY_FILE=$work/key
(umask 077 && "$pyxis" key generate >"$work/key")
made=$("$pyxis" bootstrap --json --data-dir "$work/node1")
agent_key=$(field agent_key <<<"$made")
token=$(field owner_session_token <<<"$made")
api_key=$(field api_key <<<"$made")
python3 "$bench/scores_seed.py" "$addresses" sql | psql -q "$database" >/dev/null
psql -q "$database" <<SQL
INSERT INTO proofs (network, kind, subject, action_id, nullifier, issuer, issued_at, expires_at, from_height, registered_at)
SELECT 'optimism', 'gov-id', decode(lpad(to_hex(n), 40, '0'), 'hex'), decode(lpad(to_hex(123456789), 64, '0'), 'hex'),
    decode(lpad(to_hex(n), 64, '0'), 'hex'), '0xbench', t.now, t.now + 31536000000, 1, t.now
FROM generate_series(1, $addresses) n, (SELECT (extract(epoch FROM now()) * 1000)::bigint AS now) t;
VACUUM ANALYZE;
CHECKPOINT;
SQL
nodes=()
processes=()
for number in 1 2 3; do
    serve_pyxis "$work/node$number"
    nodes+=("$address")
    processes+=("$pid")
done
add_credential "${nodes[0]}"

cat >"$work/forward.lua" - "$bench/forward.lua" <<LUA
wrk.method = "POST"
wrk.path = "/forward"
wrk.headers["X-PX-Key"] = "$agent_key"
wrk.headers["X-PX-Credential"] = "bench"
wrk.headers["X-PX-Target"] = "http://$upstream/items"
wrk.headers["X-PX-Method"] = "GET"
LUA
cp "$work/forward.lua" "$work/bare.lua"
random='math.randomseed(os.time())
function request() return wrk.format("GET", string.format(path, math.random(addresses))) end'
cat >"$work/score.lua" - "$bench/forward.lua" <<LUA
local addresses, path = $addresses, "/v2/stamps/1/score/0x%040x"
wrk.headers["X-API-KEY"] = "$api_key"
$random
LUA
cat >"$work/check.lua" - "$bench/forward.lua" <<LUA
local addresses, path = $addresses, "/sybil-resistance/gov-id/optimism?user=0x%040x&action-id=123456789"
$random
LUA

# answers ADDRESS: each kind of request must be answered before anything is measured.
answers() {
    local got
    got=$(curl -s -X POST -H "X-PX-Key: $agent_key" -H 'X-PX-Credential: bench' \
        -H "X-PX-Target: http://$upstream/items" -H 'X-PX-Method: GET' "http://$1/forward")
    [[ $got == '{"items":'* ]] || fail "/forward answers $(head -c 300 <<<"$got")"
    got=$(curl -s -H "X-API-KEY: $api_key" "http://$1/v2/stamps/1/score/0x$(printf %040x 7)")
    [[ $got == *'"score":"5.00000"'* ]] || fail "the score is answered by $(head -c 300 <<<"$got")"
    got=$(curl -s "http://$1/sybil-resistance/gov-id/optimism?user=0x$(printf %040x 7)&action-id=123456789")
    [[ $got == '{"result":true,'* ]] || fail "the check is answered by $(head -c 300 <<<"$got")"
}

# measure SCRIPT SECONDS ADDRESS...: a line `rate p50 p99 failures database_cpu server_cpu`, CPU in microseconds of a
# request. The load is shared evenly by the addresses; p50 and p99 are the worst of them.
measure() {
    local script=$1 seconds=$2 target waits=() before after
    shift 2
    before="$(cpu_ticks "$postgres") $(servers_ticks "$script")"
    for target in "$@"; do
        wrk -t1 -c$((connections / $#)) -d"${seconds}s" --latency -s "$work/$script.lua" "http://$target" \
            >"$work/wrk.$target" &
        waits+=("$!")
    done
    wait "${waits[@]}"
    after="$(cpu_ticks "$postgres") $(servers_ticks "$script")"
    for target in "$@"; do grep ^RESULT "$work/wrk.$target" || fail "wrk gave no result for $target"; done |
        awk -v b="$before" -v a="$after" -v t="$ticks" '
            { n += $2; rate += $2 * 1e6 / $3; f += $4; if ($5 > p50) p50 = $5; if ($6 > p99) p99 = $6 }
            END { split(b, x, " "); split(a, y, " ")
                printf "%.0f %d %d %d %.1f %.1f\n", rate, p50, p99, f, (y[1] - x[1]) * 1e6 / t / n,
                    (y[2] - x[2]) * 1e6 / t / n }'
}

servers_ticks() {
    local process total=0 all=("${processes[@]}")
    if [[ $1 == bare ]]; then all=("$bare_process"); fi
    for process in "${all[@]}"; do total=$((total + $(cpu_ticks "$process"))); done
    echo "$total"
}

# column NAME FIELD: the median over the rounds.
column() {
    cut -d' ' -f"$2" "$work/rounds.$1" | median
}

for node in "${nodes[@]}"; do answers "$node"; done
measure bare 2 "$bare" >/dev/null
for script in forward score check; do measure "$script" 2 "${nodes[@]}" >/dev/null; done # warm up
for round in $(seq "$rounds"); do
    echo "round $round of $rounds" >&2
    measure bare "$seconds" "$bare" >>"$work/rounds.bare"
    for script in forward score check; do
        for count in 1 2 3; do
            measure "$script" "$seconds" "${nodes[@]:0:count}" >>"$work/rounds.$script-$count"
        done
    done
done

echo "$connections connections, $addresses addresses, $rounds interleaved rounds of $seconds s, medians"
printf '%-12s %12s %9s %9s %16s %18s %9s\n' load requests/s 'p50 µs' 'p99 µs' 'nodes CPU µs' 'PostgreSQL CPU µs' failures
for name in bare {forward,score,check}-{1,2,3}; do
    printf '%-12s %12.0f %9.0f %9.0f %16.1f %18.1f %9d\n' "$name" "$(column "$name" 1)" "$(column "$name" 2)" \
        "$(column "$name" 3)" "$(column "$name" 6)" "$(column "$name" 5)" \
        "$(awk '{ f += $4 } END { print f }' "$work/rounds.$name")"
done
awk -v ours="$(column forward-1 1)" -v bare="$(column bare 1)" \
    'BEGIN { printf "/forward on one node: %.0f %% of the bare proxy with rows (goal: at least 60 %%)\n", 100 * ours / bare }'
