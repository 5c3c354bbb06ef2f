#!/usr/bin/env bash
# ci/mcp-python.sh: the official Python client of the Model Context Protocol against a running server, in the newest
# protocol version and in an older one, and the programs that `pyxis connect` prints. The clients come from PyPI into
# environments that are made on first use next to the target directory.
# PX_TEST_PYXIS names the built program; without it, it is built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

CLIENT=(mcp==2.3.0)
# LangChain's adapters need an earlier version of that client.
PROGRAMS=(langchain-mcp-adapters==0.3.2 openai-agents==0.24.0)

# skip REASON: a developer's machine may lack a tool; the gate may not.
skip() {
    echo "python client: skipped, $1"
    if [[ -n ${PX_TEST_STRICT:-} ]]; then exit 1; fi
    exit 0
}

directory=$(mktemp -d "${TMPDIR:-/tmp}/px-mcp-python.XXXXXX")
server=
leave() {
    if [[ -n $server ]]; then
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    fi
    rm -rf "$directory"
}
trap leave EXIT

command -v python3 >/dev/null || skip "Python is missing (apt-get install python3 python3-venv)"
# python_with PACKAGE...: sets `python` to that of an environment with these packages.
python_with() {
    local name environment
    name=$(printf '%s\n' "$@" | sha256sum | cut -c1-12)
    environment=$(realpath -m "${CARGO_TARGET_DIR:-target}")/mcp-python-$name
    python=$environment/bin/python
    if [[ -f $environment/ready ]]; then return; fi
    rm -rf "$environment"
    python3 -m venv "$environment" >"$directory/pip.log" 2>&1 ||
        skip "Python makes no venv (apt-get install python3-venv)"
    "$environment/bin/pip" install --quiet --disable-pip-version-check "$@" >>"$directory/pip.log" 2>&1 ||
        skip "pip cannot install $*"
    touch "$environment/ready"
}

program=${PX_TEST_PYXIS:-}
if [[ -z $program ]]; then
    cargo build --locked --quiet --package pyxis --bin pyxis
    program=$(realpath "${CARGO_TARGET_DIR:-target}/debug/pyxis")
fi
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
export PX_DATA_DIR=$directory/data PX_METRICS_LISTEN=off PX_EGRESS_ALLOW=127.0.0.0/8
export PX_BASE_URL=http://127.0.0.1:$port

# field NAME: a member of the JSON object in the installation's first answer.
field() {
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$directory/bootstrap.json" "$1"
}

"$program" bootstrap --json >"$directory/bootstrap.json"
"$program" serve --json --listen "127.0.0.1:$port" >"$directory/served" 2>"$directory/server.log" &
server=$!
for _ in $(seq 300); do
    if [[ -s $directory/served ]]; then break; fi
    kill -0 "$server" || { cat "$directory/server.log" >&2; exit 1; }
    sleep 0.1
done
arguments=("$PX_BASE_URL" "$(field agent_key)" "$(field owner_session_token)" "$program")
python_with "${CLIENT[@]}"
"$python" ci/mcp/client.py "${arguments[@]}"
python_with "${PROGRAMS[@]}"
"$python" ci/mcp/programs.py "${arguments[@]}"
