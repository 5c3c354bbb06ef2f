# Shared by the benchmarks: building, starting, stopping, and a Pyxis with one credential.
# Sourced with `set -euo pipefail` in force.

bench=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/px-bench.XXXXXX")
started=()

finish() {
    local pid
    for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
    for pid in "${started[@]}"; do wait "$pid" 2>/dev/null || true; done
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

fail() {
    echo "$*" >&2
    exit 1
}

require() {
    local tool
    for tool in "$@"; do
        command -v "$tool" >/dev/null || fail "$tool is missing: apt-get install $tool"
    done
}

# Builds everything in release. Sets $pyxis: empty with PX_BENCH_WITHOUT_PYXIS=1, and PX_BENCH_PYXIS,
# a binary built elsewhere, where that is set; and $tools, or PX_BENCH_TOOLS, a folder of those built elsewhere.
build() {
    local release=${CARGO_TARGET_DIR:-}
    echo "building in release mode" >&2
    tools=${PX_BENCH_TOOLS:-}
    if [[ -z $tools ]]; then
        cargo build --quiet --locked --release --manifest-path "$bench/Cargo.toml"
        tools=${release:-$bench/target}/release
    fi
    pyxis=${PX_BENCH_PYXIS:-}
    if [[ -z $pyxis && -z ${PX_BENCH_WITHOUT_PYXIS:-} ]]; then
        cargo build --quiet --locked --release --manifest-path "$bench/../Cargo.toml" --package pyxis
        pyxis=${release:-$bench/../target}/release/pyxis
    fi
}

# start NAME COMMAND...: starts COMMAND, waits for its first line of output; sets $pid, and $address
# to the loopback address in that line.
start() {
    local name=$1
    shift
    "$@" >"$work/$name.out" 2>"$work/$name.err" &
    pid=$!
    started+=("$pid")
    for _ in $(seq 3000); do
        address=$(grep -aoE '(127\.0\.0\.1|localhost):[0-9]+' "$work/$name.out" | head -n 1 || true)
        if [[ -n $address ]]; then return; fi
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.01
    done
    cat "$work/$name.err" >&2
    fail "$name does not start"
}

# field NAME: a member of the JSON object on standard input, which holds texts and numbers only.
field() {
    tr -d '\n' | sed -nE "s/.*\"$1\" *: *\"?([^\",}]*).*/\1/p"
}

# prepare_pyxis DIRECTORY: makes an installation there and sets $agent_key and $token.
prepare_pyxis() {
    local made
    made=$("$pyxis" bootstrap --json --data-dir "$1")
    agent_key=$(field agent_key <<<"$made")
    token=$(field owner_session_token <<<"$made")
    [[ -n $agent_key && -n $token ]] || fail "bootstrap gave no agent_key and owner_session_token"
}

# serve_pyxis DIRECTORY: serves it; sets $pid and $address.
serve_pyxis() {
    export PX_EGRESS_ALLOW=127.0.0.0/8
    start pyxis "$pyxis" serve --listen 127.0.0.1:0 --metrics-listen 127.0.0.1:0 --data-dir "$1"
    ready "$address"
}

# ready ADDRESS: waits until /readyz says 200.
ready() {
    for _ in $(seq 1000); do
        if [[ $(curl -s -o /dev/null -w '%{http_code}' "http://$1/readyz") == 200 ]]; then return; fi
        sleep 0.005
    done
    fail "no 200 from http://$1/readyz"
}

# add_credential ADDRESS: the credential `bench`, for plain http on loopback.
add_credential() {
    local status
    status=$(curl -s -o "$work/credential.out" -w '%{http_code}' "http://$1/admin/credentials" \
        -H "Authorization: Bearer $token" -H 'Content-Type: application/json' \
        -d '{"name":"bench","auth":{"kind":"bearer"},"secret":"bench-only-secret-0123456789",
             "allowed_hosts":["127.0.0.1"],"allow_http":true}')
    [[ $status == 201 ]] || fail "creating the credential: $status $(cat "$work/credential.out")"
}

# cpu_ticks PID: user and system time of the process and of its children that are alive.
cpu_ticks() {
    local process total=0
    for process in "$1" $(pgrep -P "$1" || true); do
        total=$((total + $(sed 's/.*) //' "/proc/$process/stat" | awk '{ print $12 + $13 }')))
    done
    echo "$total"
}

# memory PID: resident KiB.
memory() {
    awk '/^VmRSS/ { print $2 }' "/proc/$1/status"
}

# median: of the numbers on standard input, one a line.
median() {
    sort -g | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}
