#!/usr/bin/env bash
# Requests a second of the MCP tool `call` (auto-approved, audit on) compared with POST /forward of the same request,
# in interleaved rounds of one run. Loopback only. Goal: at least 70 % of /forward.
#
#   bench/mcp.sh
#
#   PX_BENCH_ROUNDS=5            interleaved rounds
#   PX_BENCH_SECONDS=5           seconds of each
#   PX_BENCH_CONNECTIONS=64      keep-alive connections
#
# Needs wrk and curl (Debian: apt-get install wrk curl).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=rounds.sh
. "$(dirname "${BASH_SOURCE[0]}")/rounds.sh"
require wrk curl

rounds=${PX_BENCH_ROUNDS:-5}
seconds=${PX_BENCH_SECONDS:-5}
connections=${PX_BENCH_CONNECTIONS:-64}
version=2026-07-28

# script NAME BODY HEADER...: what wrk sends to NAME.
script() {
    local name=$1 body=$2 header
    shift 2
    {
        echo 'wrk.method = "POST"'
        echo "wrk.body = [==[$body]==]"
        for header in "$@"; do echo "wrk.headers[\"${header%%: *}\"] = \"${header#*: }\""; done
        cat "$bench/forward.lua"
    } >"$work/$name.lua"
}

build
[[ -n $pyxis ]] || fail "this benchmark measures Pyxis only: unset PX_BENCH_WITHOUT_PYXIS"
start upstream "$tools/upstream" 127.0.0.1:0
target=http://$address/items
prepare_pyxis "$work/data"
serve_pyxis "$work/data"
add_credential "$address"

script forward '' "X-PX-Key: $agent_key" "X-PX-Credential: bench" "X-PX-Target: $target" "X-PX-Method: GET"
meta="{\"io.modelcontextprotocol/protocolVersion\":\"$version\",\"io.modelcontextprotocol/clientCapabilities\":{},"
meta+='"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"}}'
arguments="{\"credential\":\"bench\",\"url\":\"$target\"}"
message="{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
message+="\"params\":{\"name\":\"call\",\"arguments\":$arguments,\"_meta\":$meta}}"
headers=("Authorization: Bearer $agent_key" "Content-Type: application/json"
    "Accept: application/json, text/event-stream" "MCP-Protocol-Version: $version" "Mcp-Method: tools/call"
    "Mcp-Name: call")
script mcp "$message" "${headers[@]}"

curl_headers=()
for header in "${headers[@]}"; do curl_headers+=(-H "$header"); done
answer=$(curl -s "${curl_headers[@]}" -d "$message" "http://$address/mcp")
[[ $answer == *'"status":200'* ]] || fail "the call answers $(head -c 500 <<<"$answer")"

declare -A path=([forward]=/forward [mcp]=/mcp)
for name in forward mcp; do measure "$name" "http://$address${path[$name]}" 2 >/dev/null; done # warm up
for round in $(seq "$rounds"); do
    echo "round $round of $rounds" >&2
    for name in forward mcp; do measure "$name" "http://$address${path[$name]}" "$seconds" >>"$work/rounds.$name"; done
done

echo "$connections connections, $rounds interleaved rounds of $seconds s, medians"
printf '%-10s %12s %9s %9s %9s\n' endpoint requests/s 'p50 µs' 'p99 µs' failures
for name in forward mcp; do
    printf '%-10s %12.0f %9.0f %9.0f %9d\n' "$name" "$(column "$name" 1)" "$(column "$name" 2)" \
        "$(column "$name" 3)" "$(awk '{ f += $4 } END { print f }' "$work/rounds.$name")"
done
awk -v mcp="$(column mcp 1)" -v forward="$(column forward 1)" \
    'BEGIN { printf "call of MCP: %.0f %% of /forward (goal: at least 70 %%)\n", 100 * mcp / forward }'
