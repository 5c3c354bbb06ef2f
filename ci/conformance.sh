#!/usr/bin/env bash
# ci/conformance.sh: the official test suite of the Model Context Protocol against the MCP server, for the protocol
# versions 2026-07-28 and 2025-11-25. First the whole suite against a fixture, which has the tools that the suite calls
# behind the transport, key check and origin check of Pyxis; then the scenarios that need no such tool, against a real
# `pyxis serve`. Each may fail only where ci/conformance/ says why. PX_TEST_PYXIS names the built program; without it,
# it is built. The suite and its Node come from npm (ci/node.sh).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

VERSIONS=(2026-07-28 2025-11-25)
# Scenarios that need no tool, resource or prompt of the fixture.
REAL_2026=(tools-list resources-list sep-2164-resource-not-found http-header-validation dns-rebinding-protection)
TASKS=(
    tasks-lifecycle tasks-capability-negotiation tasks-wire-fields tasks-request-state-removal tasks-mrtr-input
    tasks-request-headers tasks-dispatch-and-envelope tasks-required-task-error tasks-mrtr-composition
)
REAL_2025=(
    server-initialize server-session-lifecycle ping tools-list resources-list server-sse-multiple-streams
    dns-rebinding-protection
)

# skip REASON: a developer's machine may lack a tool; the gate may not.
skip() {
    echo "conformance: skipped, $1"
    if [[ -n ${PX_TEST_STRICT:-} ]]; then exit 1; fi
    exit 0
}

command -v python3 >/dev/null || skip "Python is missing (apt-get install python3)"
if [[ -z ${PX_TEST_NODE:-} ]]; then
    if [[ -n ${PX_CONFORMANCE_TRIED:-} ]]; then skip "npm cannot install the suite, or has no Node for this machine"; fi
    PX_CONFORMANCE_TRIED=1 exec ci/node.sh ci/conformance.sh
fi
node=$PX_TEST_NODE
suite=$PWD/ci/conformance

program=${PX_TEST_PYXIS:-}
if [[ -z $program ]]; then
    cargo build --locked --quiet --package pyxis --bin pyxis
    program=$(realpath "${CARGO_TARGET_DIR:-target}/debug/pyxis")
fi
cargo build --locked --quiet --workspace --example conformance
fixture=$(realpath "${CARGO_TARGET_DIR:-target}/debug/examples/conformance")

directory=$(mktemp -d "${TMPDIR:-/tmp}/px-conformance.XXXXXX")
started=()
leave() {
    local process
    for process in "${started[@]}"; do kill "$process" 2>/dev/null || true; done
    for process in "${started[@]}"; do wait "$process" 2>/dev/null || true; done
    rm -rf "$directory"
}
trap leave EXIT

# field NAME FILE: a member of the first JSON object in FILE; waits for it.
field() {
    for _ in $(seq 600); do
        if [[ -s $2 ]]; then break; fi
        sleep 0.1
    done
    python3 -c 'import json, sys; print(json.JSONDecoder().raw_decode(sys.stdin.read())[0][sys.argv[1]])' "$1" <"$2"
}

# with_key NAME URL KEY: starts the proxy that adds the key; sets $url.
with_key() {
    "$node" "$suite/key-proxy.mjs" "$2" "$3" >"$directory/$1.proxy" &
    started+=("$!")
    for _ in $(seq 600); do
        if [[ -s $directory/$1.proxy ]]; then break; fi
        sleep 0.1
    done
    url=$(<"$directory/$1.proxy")/mcp
}

failed=0
# run TITLE FAILURES ARGUMENT...: the suite with these arguments.
run() {
    local title=$1 failures=$2 log=$directory/log
    shift 2
    if (cd "$directory" && "$node" "$suite/node_modules/@modelcontextprotocol/conformance/dist/index.js" server \
        --url "$url" --expected-failures "$failures" "$@") >"$log" 2>&1; then
        echo "conformance: $title: as expected$(sed -nE 's/^Total: (.*)/, \1/p' "$log")"
    else
        cat "$log"
        echo "conformance: $title: failed"
        failed=1
    fi
}

mkfifo "$directory/open"
"$fixture" <"$directory/open" >"$directory/fixture" &
started+=("$!")
exec 9>"$directory/open" # held open: the fixture serves until its input ends
with_key fixture "$(field url "$directory/fixture")" "$(field agent_key "$directory/fixture")"
for version in "${VERSIONS[@]}"; do
    run "the whole suite, $version" "$suite/fixture-$version.yml" --suite all --spec-version "$version"
done

# Scenarios of an extension are in no suite of a version.
for scenario in "${TASKS[@]}"; do
    run "$scenario, 2026-07-28" "$suite/fixture-2026-07-28.yml" --scenario "$scenario" --spec-version 2026-07-28
done

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
export PX_DATA_DIR=$directory/data PX_METRICS_LISTEN=off
export PX_BASE_URL=http://127.0.0.1:$port
"$program" bootstrap --json >"$directory/bootstrap"
"$program" serve --json --listen "127.0.0.1:$port" >"$directory/served" 2>"$directory/server.log" &
started+=("$!")
for _ in $(seq 300); do
    if [[ -s $directory/served ]]; then break; fi
    sleep 0.1
done
with_key real "$PX_BASE_URL" "$(field agent_key "$directory/bootstrap")"
for scenario in "${REAL_2026[@]}"; do
    run "$scenario of the real server, 2026-07-28" "$suite/real.yml" \
        --scenario "$scenario" --spec-version 2026-07-28
done
for scenario in "${REAL_2025[@]}"; do
    run "$scenario of the real server, 2025-11-25" "$suite/real.yml" \
        --scenario "$scenario" --spec-version 2025-11-25
done
exec 9>&-
exit "$failed"
