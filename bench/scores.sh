#!/usr/bin/env bash
# Requests a second, latency and CPU of GET /v2/stamps/{scorer}/score/{address} with key check and rate
# limit on a warm database, side by side with bare axum handlers: one that answers the same record for every address,
# one that has the record of each address in memory, and one that does a point SELECT through the same driver.
# Loopback only.
#
#   bench/scores.sh                          SQLite
#   PX_POSTGRES_BUFFERS=2GB ci/postgres.sh bench/scores.sh   SQLite and PostgreSQL, which has all scores in memory
#
#   PX_BENCH_ADDRESSES=1000000   scored addresses, five Stamps each
#   PX_BENCH_ROUNDS=5            interleaved rounds at full load
#   PX_BENCH_SECONDS=5           seconds of each
#   PX_BENCH_CONNECTIONS=64      keep-alive connections
#
# Then, in as many rounds, latency at half of that load, compared with a SELECT and answers from memory at the same rate
# (a machine that is now and then taken away keeps those waiting, too); and, of Pyxis, how much more a request costs than
# with 10,000 addresses, batches of 1,000 addresses, and the first score of addresses with 30 Stamps.
#
# Needs wrk, curl and python3 (Debian: apt-get install wrk curl python3), psql for PostgreSQL.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

addresses=${PX_BENCH_ADDRESSES:-1000000}
rounds=${PX_BENCH_ROUNDS:-5}
seconds=${PX_BENCH_SECONDS:-5}
connections=${PX_BENCH_CONNECTIONS:-64}
ticks=$(getconf CLK_TCK)
require wrk curl python3

few=10000
newcomers=2000
declare -A url process key known store
servers=()

# server NAME URL PID [ADDRESSES]
server() {
    servers+=("$1")
    url[$1]=$2
    process[$1]=$3
    known[$1]=${4:-$addresses}
}

# start_pyxis NAME DIRECTORY [ADDRESSES]: serves an installation that was filled.
start_pyxis() {
    start "$1" "$pyxis" serve --listen 127.0.0.1:0 --metrics-listen off --data-dir "$2"
    ready "$address"
    server "$1" "http://$address" "$pid" "${3:-$addresses}"
}

# bootstrap NAME DIRECTORY: makes an installation and keeps its API key.
bootstrap() {
    key[$1]=$("$pyxis" bootstrap --json --data-dir "$2" | field api_key)
    [[ -n ${key[$1]} ]] || fail "bootstrap gave no api_key"
}

# fill_postgres URL SEED...: after so many new rows the server would clean up while it is measured.
fill_postgres() {
    python3 "$bench/scores_seed.py" "${@:2}" | psql -q "$1" >/dev/null
    psql -q -c 'VACUUM ANALYZE' -c CHECKPOINT "$1"
}

# Every server must answer the record that is in memory; one of them has but one.
check() {
    local name path got wanted
    for name in "${servers[@]}"; do
        path=/v2/stamps/1/score/0x$(printf %040x "${known[$name]}")
        if [[ $name == constant ]]; then path=${path%/*}/0x$(printf %040x 1); fi
        wanted=$(curl -s "${url[memory]}$path")
        got=$(curl -s -H "X-API-KEY: ${key[$name]:-none}" "${url[$name]}$path")
        [[ $wanted == *'"score":"5.00000"'* && $got == "$wanted" ]] || fail "$name answers: $got"
    done
}

# warm NAME: reads every score once. A machine may take unused memory back from its cache while others are measured.
warm() {
    local table=scores
    if [[ $1 == select-* ]]; then table=bare_scores; fi
    local rows="SELECT sum(length(body)) FROM $table" index="SELECT count(*) FROM $table"
    case ${store[$1]:-} in
        *.db)
            python3 -c 'import sqlite3, sys; [sqlite3.connect(sys.argv[1]).execute(q).fetchall() for q in sys.argv[2:]]' \
                "${store[$1]}" "$rows" "$index INDEXED BY sqlite_autoindex_${table}_1 WHERE scorer_id = 1" ;;
        postgres:*)
            psql -q -o /dev/null -c "$rows" -c 'SET enable_seqscan = off' -c "$index WHERE scorer_id = 1" \
                "${store[$1]}" ;;
    esac
}

# load NAME CONNECTIONS SECONDS: a line `rate p50 p99 cpu_micros failures`.
load() {
    local before after requests micros failures p50 p99
    warm "$1"
    before=$(cpu_ticks "${process[$1]}")
    read -r _ requests micros failures p50 p99 < <(
        wrk -t2 -c"$2" -d"$3s" --latency -s "$bench/scores.lua" -H "X-API-KEY: ${key[$1]:-none}" "${url[$1]}" \
            -- "${known[$1]}" | grep ^RESULT
    ) || fail "wrk gave no result for $1"
    after=$(cpu_ticks "${process[$1]}")
    awk -v r="$requests" -v us="$micros" -v c=$((after - before)) -v t="$ticks" -v p50="$p50" -v p99="$p99" -v f="$failures" \
        'BEGIN { printf "%.0f %d %d %.1f %d\n", r * 1e6 / us, p50, p99, c * 1e6 / t / r, f }'
}

column() {
    cut -d' ' -f"$2" "$work/full.$1" | median
}

percent() {
    if [[ -f $work/full.$2 ]]; then
        awk -v a="$(column "$1" 1)" -v b="$(column "$2" 1)" 'BEGIN { printf "%.0f%%", 100 * a / b }'
    fi
}

print_full() {
    local name select
    echo "$addresses addresses, $connections connections, $rounds interleaved rounds of $seconds s, medians"
    printf '%-16s %12s %9s %9s %13s %11s %11s %9s\n' \
        server requests/s 'p50 µs' 'p99 µs' 'CPU µs/req' 'of memory' 'of SELECT' failures
    for name in "${servers[@]}"; do
        select=select-${name#pyxis-}
        printf '%-16s %12.0f %9.0f %9.0f %13.1f %11s %11s %9d\n' "$name" "$(column "$name" 1)" \
            "$(column "$name" 2)" "$(column "$name" 3)" "$(column "$name" 4)" "$(percent "$name" memory)" \
            "$(percent "$name" "$select")" "$(awk '{ f += $5 } END { print f }' "$work/full.$name")"
    done
}

# half_load NAME: at half of the rate that Pyxis reached on the same engine, a line
# `requests failures p50 p99 max lateness`, tab-separated.
half_load() {
    local rate
    rate=$(half_of "pyxis-${1#*-}")
    warm "$1"
    "$tools/load" --url "${url[$1]}/v2/stamps/1/score/address" --method GET --rate "$rate" \
        --count $((rate * (seconds + 1))) --warm-up "$rate" --connections "$connections" \
        --addresses "${known[$1]}" --header "X-API-KEY: ${key[$1]:-none}" >>"$work/half.$1"
}

half_of() {
    column "$1" 1 | awk '{ printf "%d", $1 / 2 }'
}

# at_half NAME FIELD: the median over the rounds.
at_half() {
    cut -f"$2" "$work/half.$1" | median
}

print_half() {
    local name
    for name in "${halved[@]}"; do
        printf '%-16s %d requests/s: p50 %.0f us, p99 %.0f us (%.0f to %.0f; generator late by %.0f us), %d failures\n' \
            "$name" "$(half_of "pyxis-${name#*-}")" "$(at_half "$name" 3)" "$(at_half "$name" 4)" \
            "$(cut -f4 "$work/half.$name" | sort -n | head -n 1)" \
            "$(cut -f4 "$work/half.$name" | sort -n | tail -n 1)" "$(at_half "$name" 6)" \
            "$(awk '{ f += $2 } END { print f }' "$work/half.$name")"
    done
}

# growth ENGINE full|half FIELD: by how much many addresses change it, the median over the rounds, whose two
# measurements lie side by side: the machine is not as quick in all of them.
growth() {
    paste "$work/$2.pyxis-$1" "$work/$2.few-$1" | awk -v f="$3" '{ print $f / $(f + NF / 2) }' | median |
        awk '{ printf "%+.0f%%", 100 * ($1 - 1) }'
}

# batches NAME: milliseconds of a batch of 1,000 addresses, the median of 21 after one to warm up.
batches() {
    local body number
    body=$(for number in $(seq 1000); do printf ',"0x%040x"' $((number * 7 % known[$1] + 1)); done)
    for number in $(seq 22); do
        curl -s -o "$work/batch" -w '%{time_total}\n' -H "X-API-KEY: ${key[$1]}" \
            -H 'Content-Type: application/json' -d "{\"addresses\":[${body:1}]}" "${url[$1]}/v2/stamps/1/scores"
    done | tail -n 21 | median | awk -v name="$1" '{ printf "%-16s %.1f ms a batch of 1,000\n", name, $1 * 1000 }'
    [[ $(grep -o '"score":"5.00000"' "$work/batch" | wc -l) == 1000 ]] || fail "not 1,000 scores: $(head -c 300 "$work/batch")"
}

# first_scores NAME: CPU of the first score of each address that has 30 Stamps and no score.
first_scores() {
    local before after
    before=$(cpu_ticks "${process[$1]}")
    seq "$((known[$1] + 1))" "$((known[$1] + newcomers))" |
        awk -v base="${url[$1]}" '{ printf "url = \"%s/v2/stamps/1/score/0x%040x\"\noutput = /dev/null\n", base, $1 }' |
        curl -s -K - -H "X-API-KEY: ${key[$1]}" -w '%{http_code}\n' | sort | uniq -c >"$work/first"
    after=$(cpu_ticks "${process[$1]}")
    [[ $(awk '{ print $1, $2 }' "$work/first") == "$newcomers 200" ]] || fail "first scores: $(cat "$work/first")"
    awk -v name="$1" -v c=$((after - before)) -v t="$ticks" -v n="$newcomers" \
        'BEGIN { printf "%-16s %.0f us of CPU for a first score of 30 Stamps\n", name, c * 1e6 / t / n }'
}

build
start constant "$tools/scores-bare" 127.0.0.1:0 constant
server constant "http://$address" "$pid"

echo "filling SQLite" >&2
bootstrap pyxis-sqlite "$work/sqlite"
python3 "$bench/scores_seed.py" "$addresses" sqlite "$work/sqlite/pyxis.db" "$newcomers"
bootstrap few-sqlite "$work/few"
python3 "$bench/scores_seed.py" "$few" sqlite "$work/few/pyxis.db"
store=([pyxis-sqlite]=$work/sqlite/pyxis.db [select-sqlite]=$work/sqlite/pyxis.db [few-sqlite]=$work/few/pyxis.db)
start memory "$tools/scores-bare" 127.0.0.1:0 memory "$work/sqlite/pyxis.db"
server memory "http://$address" "$pid"
start select-sqlite "$tools/scores-bare" 127.0.0.1:0 "$work/sqlite/pyxis.db"
server select-sqlite "http://$address" "$pid"
start_pyxis pyxis-sqlite "$work/sqlite"
start_pyxis few-sqlite "$work/few" "$few"

if [[ -n ${PX_TEST_POSTGRES:-} ]]; then
    require psql
    echo "filling PostgreSQL" >&2
    PX_DATABASE_URL=$PX_TEST_POSTGRES bootstrap pyxis-postgres "$work/postgres"
    fill_postgres "$PX_TEST_POSTGRES" "$addresses" sql "$newcomers"
    psql -q -c 'CREATE DATABASE few' "$PX_TEST_POSTGRES"
    few_url=${PX_TEST_POSTGRES%/*}/few
    PX_DATABASE_URL=$few_url bootstrap few-postgres "$work/few-postgres"
    fill_postgres "$few_url" "$few" sql
    store+=([pyxis-postgres]=$PX_TEST_POSTGRES [select-postgres]=$PX_TEST_POSTGRES [few-postgres]=$few_url)
    start select-postgres "$tools/scores-bare" 127.0.0.1:0 "$PX_TEST_POSTGRES"
    server select-postgres "http://$address" "$pid"
    PX_DATABASE_URL=$PX_TEST_POSTGRES start_pyxis pyxis-postgres "$work/postgres"
    PX_DATABASE_URL=$few_url start_pyxis few-postgres "$work/few-postgres" "$few"
fi

check
for name in "${servers[@]}"; do load "$name" "$connections" 3 >/dev/null; done # warm up
for round in $(seq "$rounds"); do
    echo "round $round of $rounds" >&2
    for name in "${servers[@]}"; do load "$name" "$connections" "$seconds" >>"$work/full.$name"; done
done
print_full
echo
halved=()
for engine in sqlite postgres; do
    if [[ -z ${url[pyxis-$engine]:-} ]]; then continue; fi
    url[memory-$engine]=${url[memory]}
    known[memory-$engine]=$addresses
    halved+=("memory-$engine" "select-$engine" "pyxis-$engine" "few-$engine")
done
for round in $(seq "$rounds"); do
    for name in "${halved[@]}"; do half_load "$name"; done
done
print_half
for engine in sqlite postgres; do
    if [[ -z ${url[pyxis-$engine]:-} ]]; then continue; fi
    echo "$engine, with $addresses addresses over $few: CPU a request at full load $(growth $engine full 4)," \
        "requests a second $(growth $engine full 1), time of a request (p50 at half load) $(growth $engine half 3)"
    batches "pyxis-$engine"
    first_scores "pyxis-$engine"
done
