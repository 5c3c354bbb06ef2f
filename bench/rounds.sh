# Shared by the benchmarks of doors to /forward: rounds of wrk in turns. Sourced after lib.sh.

# measure NAME URL SECONDS: a line `rate p50 p99 failures` of $connections that run $work/NAME.lua.
measure() {
    local requests micros failures p50 p99
    read -r _ requests micros failures p50 p99 < <(
        wrk -t2 -c"$connections" -d"$3s" --latency -s "$work/$1.lua" "$2" | grep ^RESULT
    ) || fail "wrk gave no result for $1"
    awk -v r="$requests" -v us="$micros" -v p50="$p50" -v p99="$p99" -v f="$failures" \
        'BEGIN { printf "%.0f %d %d %d\n", r * 1e6 / us, p50, p99, f }'
}

# column NAME FIELD: the median over the rounds in $work/rounds.NAME.
column() {
    cut -d' ' -f"$2" "$work/rounds.$1" | median
}
