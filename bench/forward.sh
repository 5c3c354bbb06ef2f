#!/usr/bin/env bash
# Requests a second, latency and CPU of POST /forward (auto-approved, audit on), side by side with
# the upstream alone, nginx as a plain reverse proxy and a bare hyper proxy. Loopback only.
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

rounds=${PX_BENCH_ROUNDS:-5}
seconds=${PX_BENCH_SECONDS:-5}
connections=${PX_BENCH_CONNECTIONS:-64}
ticks=$(getconf CLK_TCK)
PATH=$PATH:/usr/sbin
require wrk nginx curl

declare -A url process
servers=()

server() {
    servers+=("$1")
    url[$1]=$2
    process[$1]=$3
}

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

# Every server must give the upstream's 1,024 bytes before anything is measured.
check() {
    local name got wrk_headers=() header
    for header in "${headers[@]}"; do wrk_headers+=(-H "$header"); done
    for name in "${servers[@]}"; do
        for _ in $(seq 100); do
            got=$(curl -s -X POST -o "$work/answer" -w '%{http_code} %{size_download}' "${wrk_headers[@]}" \
                "${url[$name]}" || true)
            if [[ $got != 000* ]]; then break; fi
            sleep 0.02
        done
        [[ $got == "200 1024" ]] || fail "$name answers $got: $(head -c 500 "$work/answer")"
    done
}

# full_load NAME SECONDS: a line `rate p50 p99 cpu_micros failures`.
full_load() {
    local before after requests micros failures p50 p99 arguments=() header
    for header in "${headers[@]}"; do arguments+=(-H "$header"); done
    before=$(cpu_ticks "${process[$1]}")
    read -r _ requests micros failures p50 p99 < <(
        wrk -t2 -c"$connections" -d"$2s" --latency -s "$work/post.lua" "${arguments[@]}" "${url[$1]}" | grep ^RESULT
    ) || fail "wrk gave no result for $1"
    after=$(cpu_ticks "${process[$1]}")
    awk -v r="$requests" -v us="$micros" -v c=$((after - before)) -v t="$ticks" -v p50="$p50" -v p99="$p99" -v f="$failures" \
        'BEGIN { printf "%.0f %d %d %.1f %d\n", r * 1e6 / us, p50, p99, c * 1e6 / t / r, f }'
}

# column NAME FIELD: the median over the rounds.
column() {
    cut -d' ' -f"$2" "$work/full.$1" | median
}

print_full() {
    local name
    echo
    echo "full load: $connections connections, $rounds interleaved rounds of $seconds s, medians"
    printf '%-10s %12s %9s %9s %13s %11s %11s %9s\n' \
        server requests/s 'p50 µs' 'p99 µs' 'CPU µs/req' 'of bare' 'of nginx' failures
    for name in "${servers[@]}"; do
        printf '%-10s %12.0f %9.0f %9.0f %13.1f %10.0f%% %10.0f%% %9d\n' "$name" \
            "$(column "$name" 1)" "$(column "$name" 2)" "$(column "$name" 3)" "$(column "$name" 4)" \
            "$(percent "$name" bare)" "$(percent "$name" nginx)" \
            "$(awk '{ f += $5 } END { print f }' "$work/full.$name")"
    done
}

percent() {
    awk -v a="$(column "$1" 1)" -v b="$(column "$2" 1)" 'BEGIN { print 100 * a / b }'
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
{ echo 'wrk.method = "POST"'; cat "$bench/forward.lua"; } >"$work/post.lua"
for name in "${servers[@]}"; do full_load "$name" 2 >/dev/null; done # warm up
for round in $(seq "$rounds"); do
    echo "round $round of $rounds" >&2
    for name in "${servers[@]}"; do full_load "$name" "$seconds" >>"$work/full.$name"; done
done
print_full
print_half
