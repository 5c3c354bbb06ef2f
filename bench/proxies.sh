# Shared by the benchmarks of proxies: POST through several servers to one upstream, in interleaved rounds.
# Sourced after lib.sh. $headers are sent to every server.

rounds=${PX_BENCH_ROUNDS:-5}
seconds=${PX_BENCH_SECONDS:-5}
connections=${PX_BENCH_CONNECTIONS:-64}
ticks=$(getconf CLK_TCK)

declare -A url process
servers=()

server() {
    servers+=("$1")
    url[$1]=$2
    process[$1]=$3
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

# print_full NAME...: the table; a column for each NAME tells the share of its requests.
print_full() {
    local name other
    echo
    echo "full load: $connections connections, $rounds interleaved rounds of $seconds s, medians"
    printf '%-10s %12s %9s %9s %13s' server requests/s 'p50 µs' 'p99 µs' 'CPU µs/req'
    for other in "$@"; do printf ' %11s' "of $other"; done
    printf ' %9s\n' failures
    for name in "${servers[@]}"; do
        printf '%-10s %12.0f %9.0f %9.0f %13.1f' "$name" \
            "$(column "$name" 1)" "$(column "$name" 2)" "$(column "$name" 3)" "$(column "$name" 4)"
        for other in "$@"; do printf ' %10.0f%%' "$(percent "$name" "$other")"; done
        printf ' %9d\n' "$(awk '{ f += $5 } END { print f }' "$work/full.$name")"
    done
}

percent() {
    awk -v a="$(column "$1" 1)" -v b="$(column "$2" 1)" 'BEGIN { print 100 * a / b }'
}

# interleaved: warms every server up, then measures each in every round.
interleaved() {
    local name round
    { echo 'wrk.method = "POST"'; cat "$bench/forward.lua"; } >"$work/post.lua"
    for name in "${servers[@]}"; do full_load "$name" 2 >/dev/null; done # warm up
    for round in $(seq "$rounds"); do
        echo "round $round of $rounds" >&2
        for name in "${servers[@]}"; do full_load "$name" "$seconds" >>"$work/full.$name"; done
    done
}
