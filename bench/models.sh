#!/usr/bin/env bash
# Model scores on SQLite in a temporary directory: import of activity with its largest memory, scores in bulk on
# one core with features cold, and GET /v2/models/score/{address} at full load and at half of it.
#
#   bench/models.sh [FILE...]     files of activity (CSV, gzipped or not) whose import is measured, alone and together
#                                 with as much of other addresses (reading and computing apart), and that of one line
#                                 more, the last of the first FILE again; default: those made up here
#
#   PX_BENCH_ADDRESSES=40000      wallets that are made up, twelve transfers each
#   PX_BENCH_SECONDS=5            seconds of full load
#   PX_BENCH_CONNECTIONS=64       keep-alive connections
#
# Needs wrk, curl, python3 and GNU time (Debian: apt-get install wrk curl python3 time).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

addresses=${PX_BENCH_ADDRESSES:-40000}
seconds=${PX_BENCH_SECONDS:-5}
connections=${PX_BENCH_CONNECTIONS:-64}
ticks=$(getconf CLK_TCK)
require wrk curl python3 time taskset

# measured NAME COMMAND...: runs COMMAND; a line with its seconds, CPU and largest memory.
measured() {
    local name=$1
    shift
    env time -f '%e %U %S %M' -o "$work/time" "$@" >"$work/out"
    read -r elapsed user system memory <"$work/time"
    awk -v name="$name" -v e="$elapsed" -v u="$user" -v s="$system" -v m="$memory" \
        'BEGIN { printf "%s: %.1f s, %.1f s of CPU, largest resident memory %.0f MiB\n", name, e, u + s, m / 1024 }'
}

# mirrored FOLDER FILE...: the same files with other addresses, as FOLDER/mirrored-N.csv.
mirrored() {
    python3 - "$@" <<'PYTHON'
import gzip, re, sys
turned = bytes.maketrans(b"0123456789abcdefABCDEF", b"fedcba9876543210543210")
other = lambda found: b"0x" + found[1].translate(turned)
for number, name in enumerate(sys.argv[2:]):
    packed = open(name, "rb").read(2) == b"\x1f\x8b"
    with (gzip.open if packed else open)(name, "rb") as lines, open(f"{sys.argv[1]}/mirrored-{number}.csv", "wb") as out:
        out.writelines(re.sub(rb"0[xX]([0-9a-fA-F]{40})", other, line) for line in lines)
PYTHON
}

build
echo "making up $addresses wallets" >&2
awk -v n="$addresses" 'BEGIN {
    print "chain,kind,from,to"
    for (wallet = 1; wallet <= n; wallet++)
        for (step = 1; step <= 6; step++) {
            other = (wallet * 7 + step * 131) % n + 1
            printf "ethereum,erc20,0x%040x,0x%040x\npolygon,erc20,0x%040x,0x%040x\n", wallet, other, wallet, other
        }
}' >"$work/activity.csv"
awk -v n="$addresses" 'BEGIN { for (wallet = 1; wallet <= n; wallet++) printf "0x%040x\n", wallet }' >"$work/addresses.txt"

data=$work/data
key=$("$pyxis" bootstrap --json --data-dir "$data" | field api_key)
[[ -n $key ]] || fail "bootstrap gave no api_key"
if (($# > 0)); then
    measured "import of $*" "$pyxis" activity import "$@" --data-dir "$data"
    cat "$work/out"
    zcat -f "$1" | awk 'NR == 1 { print } { line = $0 } END { print line }' >"$work/line.csv"
    measured "import of one line more" "$pyxis" activity import "$work/line.csv" --data-dir "$data"
    cat "$work/out"
    mirrored "$work" "$@"
    for folder in once twice; do "$pyxis" bootstrap --json --data-dir "$work/$folder" >/dev/null; done
    measured "taking it in without computing" "$pyxis" activity import --defer "$@" --data-dir "$work/once"
    measured "taking twice as much in" \
        "$pyxis" activity import --defer "$@" "$work"/mirrored-*.csv --data-dir "$work/twice"
    measured "computing twice as much" "$pyxis" activity import "$@" --data-dir "$work/twice"
    cat "$work/out"
    rm -r "$work/once" "$work/twice" "$work"/mirrored-*.csv
fi
measured "import of made up activity" "$pyxis" activity import "$work/activity.csv" --data-dir "$data"
measured "one core, $addresses addresses with the start of the program" \
    taskset -c 0 "$pyxis" models score --addresses "$work/addresses.txt" --out "$work/scores.csv" --all --data-dir "$data"
awk -v n="$addresses" -v e="$elapsed" 'BEGIN { printf "  %.0f a second, features cold, every model\n", n / e }'

python3 - "$data/pyxis.db" <<'PYTHON'
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as database:
    database.execute("UPDATE api_keys SET models_tier = 4, models_limit = 1000000000")
PYTHON
start pyxis "$pyxis" serve --listen 127.0.0.1:0 --metrics-listen off --data-dir "$data"
ready "$address"
url=http://$address
got=$(curl -s -H "X-API-KEY: $key" "$url/v2/models/score/0x$(printf %040x 7)")
[[ $got == *'"score":'* && $got != *'"score":-1'* ]] || fail "Pyxis answers: $got"

load() {
    wrk -t2 -c"$connections" -d"$1s" --latency -s "$bench/scores.lua" -H "X-API-KEY: $key" "$url" \
        -- "$addresses" /v2/models/score/ | grep ^RESULT
}
load 2 >/dev/null
before=$(cpu_ticks "$pid")
read -r _ requests micros failures p50 p99 < <(load "$seconds")
after=$(cpu_ticks "$pid")
rate=$(awk -v r="$requests" -v us="$micros" 'BEGIN { printf "%.0f", r * 1e6 / us }')
awk -v r="$rate" -v p50="$p50" -v p99="$p99" -v f="$failures" -v c=$((after - before)) -v t="$ticks" -v n="$requests" \
    'BEGIN { printf "endpoint at full load: %d requests/s, p50 %d us, p99 %d us, CPU %.1f us a request, %d failures\n", \
        r, p50, p99, c * 1e6 / t / n, f }'
half=$((rate / 2))
"$tools/load" --url "$url/v2/models/score/address" --method GET --rate "$half" --count $((half * (seconds + 1))) \
    --warm-up "$half" --connections "$connections" --addresses "$addresses" --header "X-API-KEY: $key" |
    awk -v rate="$half" '{
        printf "endpoint at half of it, %d requests/s: p50 %d us, p99 %d us (generator late by %d us), %d failures\n", \
            rate, $3, $4, $6, $2 }'
