#!/usr/bin/env bash
# What waiting costs: start-to-ready time, memory when idle, and memory with 1,000, 10,000 and 20,000
# requests that wait for a person. Up to 10,000 the page caches of the database fill; what grows beyond
# that is the program's own. Loopback only.
#
#   bench/pending.sh
#
# Needs curl (Debian: apt-get install curl).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
require curl

starts=${PX_BENCH_STARTS:-5}
rate=${PX_BENCH_RATE:-500}

# now: microseconds.
now() {
    echo "${EPOCHREALTIME/[.,]/}"
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

# pause FROM COUNT: COUNT different requests that wait for a person, numbered from FROM.
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

build
prepare_pyxis "$work/data"
"$pyxis" agent limit default-agent --max-pending 20000 --data-dir "$work/data" >"$work/limit.out"
start_times >"$work/starts"
echo "start to ready: $(median <"$work/starts") ms (median of $starts, includes about 10 ms of the measuring curl)"

serve_pyxis "$work/data"
add_credential "$address"
sleep 2
printf '%-16s %12s %9s %22s\n' 'pending' 'RSS KiB' threads 'bytes each, beyond idle'
idle=$(memory "$pid")
printf '%-16s %12d %9d %22s\n' 0 "$idle" "$(threads "$pid")" -
pause a 1000
one=$(memory "$pid")
printf '%-16s %12d %9d %22d\n' 1000 "$one" "$(threads "$pid")" $(((one - idle) * 1024 / 1000))
pause b 9000
ten=$(memory "$pid")
printf '%-16s %12d %9d %22d\n' 10000 "$ten" "$(threads "$pid")" $(((ten - idle) * 1024 / 10000))
pause c 10000
twenty=$(memory "$pid")
printf '%-16s %12d %9d %22d\n' 20000 "$twenty" "$(threads "$pid")" $(((twenty - idle) * 1024 / 20000))
echo "from 1,000 to 10,000: $(((ten - one) * 1024 / 9000)) bytes each, page caches included"
echo "from 10,000 to 20,000: $(((twenty - ten) * 1024 / 10000)) bytes each, page caches full"

stop_last
serve_pyxis "$work/data"
sleep 2
echo "started again with 20,000 pending: $(memory "$pid") KiB"
