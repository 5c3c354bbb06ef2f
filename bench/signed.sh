#!/usr/bin/env bash
# Requests a second of a signed score compared with the plain one, of the same addresses, on SQLite; then the seconds
# and the memory of a Merkle list of all addresses. Loopback only.
#
#   bench/signed.sh
#
#   PX_BENCH_ADDRESSES=1000000   addresses of the Merkle list
#   PX_BENCH_SIGNED=1000         of them, those that are asked for: each signature is made once and then cached
#   PX_BENCH_ROUNDS=5            interleaved rounds
#   PX_BENCH_SECONDS=3           seconds of each
#   PX_BENCH_CONNECTIONS=64      keep-alive connections
#
# Needs wrk, curl, python3 and GNU time (Debian: apt-get install wrk curl python3 time).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$bench/rounds.sh"

addresses=${PX_BENCH_ADDRESSES:-1000000}
asked=${PX_BENCH_SIGNED:-1000}
rounds=${PX_BENCH_ROUNDS:-5}
seconds=${PX_BENCH_SECONDS:-3}
connections=${PX_BENCH_CONNECTIONS:-64}
require wrk curl python3
[[ -x /usr/bin/time ]] || fail "time is missing: apt-get install time"

# ask NAME QUERY: writes what wrk sends.
ask() {
    cat >"$work/$1.lua" <<END
local number = 0
function setup(thread) thread:set("id", number); number = number + 1 end
function init() math.randomseed(id * 7919 + os.time()) end
function request()
    return wrk.format("GET", string.format("/v2/stamps/1/score/0x%040x$2", math.random($asked)))
end
wrk.headers["X-API-KEY"] = "$key"
$(sed -n '/^-- As in forward.lua/,$p' "$bench/scores.lua")
END
}

build
echo "filling SQLite" >&2
key=$("$pyxis" bootstrap --json --data-dir "$work/data" | field api_key)
[[ -n $key ]] || fail "bootstrap gave no api_key"
python3 "$bench/scores_seed.py" "$addresses" sqlite "$work/data/pyxis.db"
# All of them pass.
python3 - "$work/data/pyxis.db" <<'END'
import sqlite3, sys
database = sqlite3.connect(sys.argv[1])
database.execute("UPDATE scorers SET threshold = 100000")
stored = "replace(replace(body, '500000 2000000 ', '500000 100000 '), ' 0 100000 4070908800000 0 Stamp#0', ' 1 100000 4070908800000 0 Stamp#0')"
database.execute(f"UPDATE scores SET body = {stored}")
database.commit()
END
start pyxis "$pyxis" serve --listen 127.0.0.1:0 --metrics-listen off --data-dir "$work/data"
ready "$address"
url=http://$address

names=(plain jwt eip712)
ask plain ""
ask jwt "?signed=jwt"
ask eip712 "?signed=eip712"
first=$url/v2/stamps/1/score/0x$(printf %040x 1)
curl -sf -H "X-API-KEY: $key" "$first?signed=jwt" | grep -q '"jwt"' || fail "no signed score from $first"
# warm QUERY: asks once for each address, so that all signatures are made.
warm() {
    seq "$asked" | awk -v base="$url" -v query="$1" \
        '{ printf "url = \"%s/v2/stamps/1/score/0x%040x%s\"\noutput = /dev/null\n", base, $1, query }' |
        curl -sf -K - -H "X-API-KEY: $key"
}
for query in "" "?signed=jwt" "?signed=eip712"; do warm "$query"; done
for round in $(seq "$rounds"); do
    echo "round $round of $rounds" >&2
    for name in "${names[@]}"; do measure "$name" "$url" "$seconds" >>"$work/rounds.$name"; done
done
echo "$asked addresses, $connections connections, $rounds interleaved rounds of $seconds s, medians"
printf '%-8s %12s %9s %9s %10s %9s\n' score requests/s 'p50 µs' 'p99 µs' 'of plain' failures
for name in "${names[@]}"; do
    printf '%-8s %12.0f %9.0f %9.0f %9.0f%% %9d\n' "$name" "$(column "$name" 1)" "$(column "$name" 2)" \
        "$(column "$name" 3)" "$(awk -v a="$(column "$name" 1)" -v b="$(column plain 1)" 'BEGIN { print 100 * a / b }')" \
        "$(awk '{ f += $4 } END { print f }' "$work/rounds.$name")"
done

/usr/bin/time -f '%e %U %M' -o "$work/time" "$pyxis" score merkle --scorer 1 --out "$work/list.json" \
    --data-dir "$work/data" >"$work/root"
read -r wall user memory <"$work/time"
listed=$(python3 -c 'import json, sys; print(len(json.load(open(sys.argv[1]))["values"]))' "$work/list.json")
printf 'Merkle list of %d addresses: %.1f s, %.1f s of CPU, %.0f MiB at most\n' "$listed" "$wall" "$user" \
    "$(awk -v m="$memory" 'BEGIN { print m / 1024 }')"
