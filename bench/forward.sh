#!/usr/bin/env bash
# Requests a second, latency and CPU of POST /forward (auto-approved, audit on), side by side with
# the upstream alone, nginx as a plain reverse proxy, a bare hyper proxy and the same with one line for each request
# on the disk before it is sent. Loopback only.
#
#   bench/forward.sh
#
#   PX_BENCH_ROUNDS=5            interleaved rounds at full load
#   PX_BENCH_SECONDS=5           seconds of each
#   PX_BENCH_CONNECTIONS=64      keep-alive connections
#   PX_BENCH_WITHOUT_PYXIS=1     only what Pyxis is compared with
#
# Needs wrk, nginx and curl (Debian: apt-get install wrk nginx-light curl).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$bench/proxies.sh"

PATH=$PATH:/usr/sbin
require wrk nginx curl

free_port() {
    local port
    for _ in $(seq 100); do
        port=$((20000 + RANDOM % 12000))
        if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
            echo "$port"
            return
        fi
    done
    fail "no free port"
}

start_all() {
    start upstream "$tools/upstream" 127.0.0.1:0
    upstream=$address
    server upstream "http://$upstream/items" "$pid"

    local port
    port=$(free_port)
    sed -e "s|@DIRECTORY@|$work|; s|@PORT@|$port|; s|@UPSTREAM@|$upstream|" "$bench/nginx.conf" >"$work/nginx.conf"
    nginx -q -p "$work" -c "$work/nginx.conf" 2>"$work/nginx.err" &
    started+=("$!")
    server nginx "http://127.0.0.1:$port/forward" "$!"

    start bare "$tools/bare" 127.0.0.1:0
    server bare "http://$address/forward" "$pid"

    # Where the record is the one thing that is added: what is left of the bare proxy on this disk.
    start recording "$tools/bare" 127.0.0.1:0 "$work/recording.log"
    server recording "http://$address/forward" "$pid"

    agent_key=none
    if [[ -n $pyxis ]]; then
        prepare_pyxis "$work/data"
        serve_pyxis "$work/data"
        add_credential "$address"
        server pyxis "http://$address/forward" "$pid"
    fi
    headers=("X-PX-Key: $agent_key" "X-PX-Credential: bench" "X-PX-Target: http://$upstream/items"
        "X-PX-Method: GET")
}

# half_load NAME RATE: a line `requests failures p50 p99 max lateness`, tab-separated.
half_load() {
    local arguments=() header
    for header in "${headers[@]}"; do arguments+=(--header "$header"); done
    "$tools/load" --url "${url[$1]}" --rate "$2" --count $(($2 * (seconds + 1))) --warm-up "$2" \
        --connections "$connections" "${arguments[@]}"
}

print_half() {
    local name round rate last=${servers[-1]}
    rate=$(column "$last" 1)
    rate=$((${rate%.*} / 2))
    for round in $(seq "$rounds"); do
        for name in "${servers[@]}"; do half_load "$name" "$rate" >>"$work/half.$name"; done
    done
    echo
    echo "half load of $last: $rate requests/s at a fixed rate, latency from the moment a request is due"
    printf '%-10s %9s %9s %12s %12s %14s %9s\n' \
        server 'p50 µs' 'p99 µs' 'added p50' 'added p99' 'lateness p99' failures
    for name in "${servers[@]}"; do
        printf '%-10s %9.0f %9.0f %12.0f %12.0f %14.0f %9d\n' "$name" "$(half "$name" 3)" "$(half "$name" 4)" \
            "$(added "$name" 3)" "$(added "$name" 4)" "$(half "$name" 6)" \
            "$(awk '{ f += $2 } END { print f }' "$work/half.$name")"
    done
    echo "added: over the upstream alone; lateness: the generator's own, part of every latency"
}

half() {
    cut -f"$2" "$work/half.$1" | median
}

added() {
    awk -v a="$(half "$1" "$2")" -v b="$(half upstream "$2")" 'BEGIN { print a - b }'
}

build
start_all
check
interleaved
print_full bare recording nginx
print_half
