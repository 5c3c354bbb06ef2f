#!/usr/bin/env bash
# ci/schemathesis.sh [SECONDS]: requests of every kind that /openapi.json of a running server describes for
# applications, agents, managers and pages, and many that it does not. None may end in a 5xx, or in a status that the
# description does not name. With PX_TEST_LONG=1, types and bodies are compared too. On SQLite, and on PostgreSQL where
# PX_TEST_POSTGRES names a server; SECONDS for each. Schemathesis comes from PyPI into a folder that is removed
# afterwards. PX_TEST_PYXIS names the built program; without it, it is built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

SCHEMATHESIS=4.32.5
# Signs as a wallet.
ETH_ACCOUNT=0.14.0
OPEN='^/(v2|assets|\.well-known|registry|passport|sybil-resistance|residence|snapshot-strategies|api/scan|attestation)(/|$)'
MANAGED='^/admin/(scorers|api-keys|history-requests|issuers|stamps|stamp-keys|catalogue|models|allow-lists'
MANAGED+='|onchain-stamps|addresses|score-jobs|score-reviews|networks|proofs|proof-issuers|blocklist'
MANAGED+='|attestation-keys)(/|$)'
checks=not_a_server_error,status_code_conformance
if [[ -n ${PX_TEST_LONG:-} ]]; then
    checks+=,content_type_conformance,response_schema_conformance
fi
AGENTS='^/(forward|sign|agent|p)(/|$)'
PEOPLE='^/(approvals|tasks|admin/(agents|audit|brand|connections|credentials|deliveries|grants|invitations|members'
PEOPLE+='|policies|quiet-hours|receipt-keys|score-keys|settings|tokens|webhooks))(/|$)'
# It reaches a host, and tells what went wrong there with a 502.
REACHES_OUT='/verify$'
seconds=${1:-45}

# skip REASON: a developer's machine may lack a tool; the gate may not.
skip() {
    echo "schemathesis: skipped, $1"
    if [[ -n ${PX_TEST_STRICT:-} ]]; then exit 1; fi
    exit 0
}

directory=$(mktemp -d "${TMPDIR:-/tmp}/px-schemathesis.XXXXXX")
server=
database=
stop() {
    if [[ -n $server ]]; then
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
        server=
    fi
}
leave() {
    stop
    if [[ -n $database ]]; then
        psql -q "$PX_TEST_POSTGRES" -c "DROP DATABASE $database WITH (FORCE)" || true
    fi
    rm -rf "$directory"
}
trap leave EXIT

command -v python3 >/dev/null || skip "Python is missing (apt-get install python3 python3-venv)"
if [[ -n ${PX_TEST_POSTGRES:-} ]]; then
    command -v psql >/dev/null || skip "psql is missing (apt-get install postgresql-client)"
fi
python3 -m venv "$directory/venv" >"$directory/pip.log" 2>&1 || skip "Python makes no venv (apt-get install python3-venv)"
"$directory/venv/bin/pip" install --quiet --disable-pip-version-check "schemathesis==$SCHEMATHESIS" \
    "eth-account==$ETH_ACCOUNT" >>"$directory/pip.log" 2>&1 ||
    skip "pip cannot install schemathesis $SCHEMATHESIS and eth-account $ETH_ACCOUNT"

program=${PX_TEST_PYXIS:-}
if [[ -z $program ]]; then
    cargo build --locked --quiet --package pyxis --bin pyxis
    program=$(realpath "${CARGO_TARGET_DIR:-target}/debug/pyxis")
fi
cd "$directory" # where schemathesis leaves its files
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
base=http://127.0.0.1:$port
export PX_METRICS_LISTEN=off PX_EGRESS_ALLOW=127.0.0.0/8
# It is its own attestation index.
export PX_ATTESTATION_SCAN_URL=$base PX_AUTHORIZED_ATTESTER=0xabcdefabcdefabcdefabcdefabcdefabcdefabcd

# field NAME: a member of the JSON object that comes in first.
field() {
    python3 -c 'import json, sys; print(json.JSONDecoder().raw_decode(sys.stdin.read())[0][sys.argv[1]])' "$1"
}

# sign_in KEY: token of a holder's session in the page of a publishable key.
sign_in() {
    venv/bin/python - "$base/widget/v1/1" "$1" <<'END'
import json, sys, urllib.request
from eth_account import Account
from eth_account.messages import encode_defunct

url, key = sys.argv[1:]


def post(path, body):
    headers = {"X-API-KEY": key, "Origin": "https://app.example", "Content-Type": "application/json"}
    request = urllib.request.Request(url + path, json.dumps(body).encode(), headers)
    return json.load(urllib.request.urlopen(request, timeout=10))


wallet = Account.create()
message = post("/nonce", {"address": wallet.address, "chain_id": 10})["message"]
signature = wallet.sign_message(encode_defunct(text=message)).signature
print(post("/session", {"message": message, "signature": f"0x{bytes(signature).hex()}"})["token"])
END
}

# ask PATHS SECONDS HEADER...: requests to these paths, without the operation in `left_out`.
ask() {
    local paths=$1 time=$2 header headers=()
    shift 2
    for header in "$@"; do headers+=(--header "$header"); done
    if [[ -n ${left_out:-} ]]; then headers+=(--exclude-operation-id "$left_out"); fi
    venv/bin/schemathesis run "$base/openapi.json" --include-path-regex "$paths" --exclude-path-regex "$REACHES_OUT" \
        --max-time "$time" "${headers[@]}" --checks "$checks" --no-color --generation-database none
}

# try ENGINE: a new installation, asked by a program and an agent with their keys, and then by the owner, who takes
# away much of what they read.
try() {
    echo "== schemathesis on $1"
    export PX_DATA_DIR=$directory/$1
    "$program" bootstrap --json >bootstrap.json
    "$program" api-key add schemathesis --write --json --tier 4 --limit 100000000 \
        --models-tier 4 --models-limit 100000000 >key.json
    "$program" api-key allow-history "$(field id <key.json)" --json >/dev/null
    "$program" api-key add page --kind publishable --scorer 1 --origin https://app.example --json \
        --tier 4 --limit 100000000 >page.json
    : >greeting.json
    # With the sample addresses, which the examples of the description name.
    "$program" quickstart --json --listen "127.0.0.1:$port" >greeting.json 2>server.log &
    server=$!
    for _ in $(seq 300); do
        if [[ -s greeting.json ]]; then break; fi
        kill -0 "$server" || { cat server.log >&2; exit 1; }
        sleep 0.1
    done
    owner="Authorization: Bearer $(field owner_session_token <bootstrap.json)"
    ask "$OPEN" $((seconds / 5)) "X-API-KEY: $(field key <key.json)"
    page=("X-API-KEY: $(field key <page.json)" "Origin: https://app.example")
    ask '^/widget/' $((seconds / 5)) "${page[@]}"
    # Again by a holder who is signed in, and stays so.
    holder=$(sign_in "$(field key <page.json)")
    left_out=endWidgetSession ask '^/widget/' $((seconds / 5)) "${page[@]}" "Authorization: Bearer $holder"
    ask "$AGENTS" $((seconds / 5)) "X-PX-Key: $(field agent_key <bootstrap.json)"
    ask "$MANAGED" $((seconds / 5)) "$owner"
    ask "$PEOPLE" $((seconds / 5)) "$owner"
    stop
}

try sqlite
if [[ -n ${PX_TEST_POSTGRES:-} ]]; then
    database=px_schemathesis_$$
    psql -q "$PX_TEST_POSTGRES" -c "CREATE DATABASE $database"
    export PX_DATABASE_URL=${PX_TEST_POSTGRES%/*}/$database
    try postgres
fi
