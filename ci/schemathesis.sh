#!/usr/bin/env bash
# ci/schemathesis.sh [SECONDS]: requests of every kind that /openapi.json of a running server describes for
# scoring and verification, and many that it does not; none may end in a 5xx. Schemathesis comes from PyPI
# into a folder that is removed afterwards. PX_TEST_PYXIS names the built program; without it, it is built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

SCHEMATHESIS=4.32.5
# Without an external index its check is a 503, as it should be.
PATHS='^/(v2|registry|sybil-resistance|residence|snapshot-strategies|api/scan|attestation/(sbts|evm|keys))(/|$)'
seconds=${1:-60}

# skip REASON: a developer's machine may lack a tool; the gate may not.
skip() {
    echo "schemathesis: skipped, $1"
    if [[ -n ${PX_TEST_STRICT:-} ]]; then exit 1; fi
    exit 0
}

directory=$(mktemp -d "${TMPDIR:-/tmp}/px-schemathesis.XXXXXX")
server=
stop() {
    if [[ -n $server ]]; then
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    fi
    rm -rf "$directory"
}
trap stop EXIT

command -v python3 >/dev/null || skip "Python is missing (apt-get install python3 python3-venv)"
python3 -m venv "$directory/venv" >"$directory/pip.log" 2>&1 || skip "Python makes no venv (apt-get install python3-venv)"
"$directory/venv/bin/pip" install --quiet --disable-pip-version-check "schemathesis==$SCHEMATHESIS" \
    >>"$directory/pip.log" 2>&1 || skip "pip cannot install schemathesis $SCHEMATHESIS"

program=${PX_TEST_PYXIS:-}
if [[ -z $program ]]; then
    cargo build --locked --quiet --package pyxis --bin pyxis
    program=$(realpath "${CARGO_TARGET_DIR:-target}/debug/pyxis")
fi
export PX_DATA_DIR=$directory/data PX_METRICS_LISTEN=off

# field NAME: a member of the JSON object that comes in first.
field() {
    python3 -c 'import json, sys; print(json.JSONDecoder().raw_decode(sys.stdin.read())[0][sys.argv[1]])' "$1"
}

"$program" bootstrap --json >"$directory/bootstrap.json"
"$program" api-key add schemathesis --tier 4 --limit 100000000 --write --json >"$directory/key.json"
"$program" api-key allow-history "$(field id <"$directory/key.json")" --json >/dev/null
"$program" serve --json --listen 127.0.0.1:0 >"$directory/greeting.json" 2>"$directory/server.log" &
server=$!
for _ in $(seq 300); do
    if [[ -s $directory/greeting.json ]]; then break; fi
    kill -0 "$server" || { cat "$directory/server.log" >&2; exit 1; }
    sleep 0.1
done
base=$(field base_url <"$directory/greeting.json")

cd "$directory" # where schemathesis leaves its files
venv/bin/schemathesis run "${base%/}/openapi.json" --include-path-regex "$PATHS" \
    --header "X-API-KEY: $(field key <key.json)" --checks not_a_server_error \
    --max-time "$seconds" --no-color --generation-database none
