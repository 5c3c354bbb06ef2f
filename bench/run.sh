#!/usr/bin/env bash
# Requests a second through the proxy of `pyxis run` (auto-approved, audit on) compared with POST /forward of the same
# request, in interleaved rounds of one run. Then the delay of the first byte of a streamed answer: direct, through
# /forward and through the proxy. Loopback only. The proxy gets plain http in absolute form, because wrk knows no CONNECT; TLS adds
# its encryption to each byte and a handshake to each connection. Goals: at least 70 % of /forward, and a first byte
# within 1 ms.
#
#   bench/run.sh
#
#   PX_BENCH_ROUNDS=5            interleaved rounds
#   PX_BENCH_SECONDS=5           seconds of each
#   PX_BENCH_CONNECTIONS=64      keep-alive connections
#   PX_BENCH_STREAMS=200         streamed answers each way
#
# Needs wrk, curl and Python 3 (Debian: apt-get install wrk curl python3).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=rounds.sh
. "$(dirname "${BASH_SOURCE[0]}")/rounds.sh"
require wrk curl python3

rounds=${PX_BENCH_ROUNDS:-5}
seconds=${PX_BENCH_SECONDS:-5}
connections=${PX_BENCH_CONNECTIONS:-64}
streams=${PX_BENCH_STREAMS:-200}

build
[[ -n $pyxis ]] || fail "this benchmark measures Pyxis only: unset PX_BENCH_WITHOUT_PYXIS"
start upstream "$tools/upstream" 127.0.0.1:0
upstream=$address
start streaming python3 "$bench/first_byte.py" serve
streaming=$address
prepare_pyxis "$work/data"
serve_pyxis "$work/data"
server=http://$address
add_credential "$address"

# The command prints the proxy's URL and waits for the end of the benchmark.
export PX_AGENT_KEY=$agent_key
# shellcheck disable=SC2016 # the command's own shell expands it
start run "$pyxis" run --url "$server" --data-dir "$work/data" -- \
    sh -c 'echo "$HTTP_PROXY"; exec sleep 86400'
proxy=http://$address
user=$(sed -nE 's|http://([^@]*)@.*|\1|p' "$work/run.out")
authorization="Basic $(printf %s "$user" | base64 -w 0)"

cat >"$work/forward.lua" - "$bench/forward.lua" <<LUA
wrk.method = "POST"
wrk.headers["X-PX-Key"] = "$agent_key"
wrk.headers["X-PX-Credential"] = "bench"
wrk.headers["X-PX-Target"] = "http://$upstream/items"
wrk.headers["X-PX-Method"] = "GET"
LUA
cat >"$work/run.lua" - "$bench/forward.lua" <<LUA
wrk.path = "http://$upstream/items"
wrk.headers["Host"] = "$upstream"
wrk.headers["Proxy-Authorization"] = "$authorization"
LUA

answer=$(curl -s --proxy "http://$user@${proxy#http://}" --noproxy '' "http://$upstream/items")
[[ $answer == '{"items":'* ]] || fail "the proxy answers $(head -c 500 <<<"$answer")"

declare -A url=([forward]=$server/forward [run]=$proxy)
for name in forward run; do measure "$name" "${url[$name]}" 2 >/dev/null; done # warm up
for round in $(seq "$rounds"); do
    echo "round $round of $rounds" >&2
    for name in forward run; do measure "$name" "${url[$name]}" "$seconds" >>"$work/rounds.$name"; done
done

echo "$connections connections, $rounds interleaved rounds of $seconds s, medians"
printf '%-10s %12s %9s %9s %9s\n' endpoint requests/s 'p50 µs' 'p99 µs' failures
for name in forward run; do
    printf '%-10s %12.0f %9.0f %9.0f %9d\n' "$name" "$(column "$name" 1)" "$(column "$name" 2)" \
        "$(column "$name" 3)" "$(awk '{ f += $4 } END { print f }' "$work/rounds.$name")"
done
awk -v run="$(column run 1)" -v forward="$(column forward 1)" \
    'BEGIN { printf "pyxis run: %.0f %% of /forward (goal: at least 70 %%)\n", 100 * run / forward }'

python3 "$bench/first_byte.py" measure "$streams" "$streaming" "$server" "$agent_key" "$proxy" "$authorization"
