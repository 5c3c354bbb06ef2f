#!/usr/bin/env bash
# What waiting costs: start-to-ready time, memory when idle, and memory with 1,000, 3,000 and 5,000 requests that wait
# for a person, with the time that the next one takes. Most of the memory is page caches of the database. Loopback only.
#
#   bench/pending.sh
#
# Needs curl (Debian: apt-get install curl).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
require curl

starts=${PX_BENCH_STARTS:-5}
rate=${PX_BENCH_RATE:-100}
counts=(1000 3000 5000)

# now: microseconds.
now() {
    echo "${EPOCHREALTIME/[.,]/}"
}

# own PID: memory that is not pages of the program's file, in KiB. Those stay in the page cache anyway, and the kernel
# counts whole blocks of them for each one that is used.
own() {
    awk '/^RssAnon/ { print $2 }' "/proc/$1/status"
}

threads() {
    awk '/^Threads/ { print $2 }' "/proc/$1/status"
}

stop_last() {
    kill "$pid"
    wait "$pid" 2>/dev/null || true
    unset 'started[-1]'
}

# Milliseconds from the start of the program to the first 200 of /readyz.
start_times() {
    local begun
    for _ in $(seq "$starts"); do
        begun=$(now)
        serve_pyxis "$work/data"
        echo $((($(now) - begun) / 1000))
        stop_last
    done
}

# pause NAME COUNT: COUNT different requests that wait for a person, unlike those of another NAME.
pause() {
    local requests failures
    read -r requests failures _ < <(
        "$tools/load" --url "http://$address/forward" --rate "$rate" --count "$2" --connections 8 --expect 202 \
            --header "X-PX-Key: $agent_key" --header "X-PX-Credential: bench" --header "X-PX-Method: POST" \
            --header "X-PX-Target: http://127.0.0.1:9999/batch/$1/items/{n}" \
            --header "Content-Type: application/json" --body '{"number":{n}}'
    )
    [[ $requests == "$2" && $failures == 0 ]] || fail "$failures of $2 requests were not answered with 202"
    sleep 2 # background writes
}

# next NAME: median milliseconds of five more requests.
next() {
    local number
    for number in 1 2 3 4 5; do
        curl -s -o /dev/null -w '%{time_total}\n' "http://$address/forward" -H "X-PX-Key: $agent_key" \
            -H "X-PX-Credential: bench" -H "X-PX-Method: POST" \
            -H "X-PX-Target: http://127.0.0.1:9999/next/$1/$number" -d x
    done | median | awk '{ print int($1 * 1000 + 0.5) }'
}

build
export PX_WORKSPACE_PENDING_MAX=20000
prepare_pyxis "$work/data"
"$pyxis" agent limit default-agent --max-pending 20000 --data-dir "$work/data" >"$work/limit.out"
start_times >"$work/starts"
echo "start to ready: $(median <"$work/starts") ms (median of $starts, includes about 10 ms of the measuring curl)"

serve_pyxis "$work/data"
add_credential "$address"
sleep 2
idle=$(memory "$pid")
echo "idle: $idle KiB, without pages of the program's file $(own "$pid") KiB"
printf '%-9s %9s %9s %24s %16s\n' pending 'RSS KiB' threads 'bytes each beyond idle' 'next request ms'
before=0
for count in "${counts[@]}"; do
    pause "$before" $((count - before))
    resident=$(memory "$pid")
    printf '%-9d %9d %9d %24d %16d\n' "$count" "$resident" "$(threads "$pid")" \
        $(((resident - idle) * 1024 / count)) "$(next "$count")"
    before=$count
done

stop_last
serve_pyxis "$work/data"
sleep 2
echo "started again with $before pending: $(memory "$pid") KiB"
