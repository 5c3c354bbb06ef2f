#!/usr/bin/env bash
# ci/arm64.sh [PROGRAM]: the arm64 recipe of docs/guides/run-in-containers.md on an amd64 machine. Cross-compiles the
# program, makes its image, and runs that image's program on its own libraries under QEMU. It reads and writes through
# the credential proxy, scores, verifies and stops. PROGRAM is one that is cross-compiled already. Not part of
# ci/test.sh: compiling it takes as long as a release build.
#
# Needs `apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static umoci curl` and `rustup target add
# aarch64-unknown-linux-gnu`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target=aarch64-unknown-linux-gnu
for tool in aarch64-linux-gnu-gcc qemu-aarch64-static umoci curl python3; do
    command -v "$tool" >/dev/null && continue
    echo "arm64: $tool is missing; the head of ci/arm64.sh says what to install" >&2
    exit 1
done

program=${1:-}
if [[ -z $program ]]; then
    export CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
    cargo build --release --locked --target "$target"
    program=${CARGO_TARGET_DIR:-target}/$target/release/pyxis
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/px-arm64.XXXXXX")
server=
leave() {
    if [[ -n $server ]]; then kill "$server" 2>/dev/null && wait "$server" || true; fi
    rm -rf "$work"
}
trap leave EXIT

packaging/image.sh "$program" "$work/image" >/dev/null
umoci unpack --rootless --image "$work/image:latest" "$work/bundle" 2>/dev/null
root=$work/bundle/rootfs
described=$(cat "$work"/image/blobs/sha256/* | grep -ao '"architecture":"[a-z0-9]*"' | sort -u)
[[ $described == '"architecture":"arm64"' ]] || { echo "arm64: the image says $described" >&2; exit 1; }
pyxis() { qemu-aarch64-static -L "$root" "$root/usr/bin/pyxis" "$@"; }

echo "arm64: $(pyxis --version), $(stat -c %s "$root/usr/bin/pyxis") bytes"
export PX_DATA_DIR=$work/data PX_METRICS_LISTEN=off
qemu-aarch64-static -L "$root" "$root/usr/bin/pyxis" quickstart --json --listen 127.0.0.1:0 \
    >"$work/started" 2>"$work/log" &
server=$!
for _ in $(seq 600); do
    if grep -qs demo_target "$work/started"; then break; fi
    sleep 0.1
done

# started NAME: a member of what quickstart printed, an object on each line.
started() {
    python3 -c 'import json, sys
for line in open(sys.argv[1]):
    if sys.argv[2] in (found := json.loads(line)): print(found[sys.argv[2]])' "$work/started" "$1"
}
agent_key=$(started agent_key) api_key=$(started api_key) demo=$(started demo_target)
server_url=http://127.0.0.1:$(started port)
pyxis healthcheck --url "$server_url" | sed 's/^/arm64: healthcheck: /'

# expect STATUS WORD CURL...: a response with this status, whose body has this word.
expect() {
    local wanted=$1 word=$2 status
    shift 2
    status=$(curl --silent --output "$work/body" --write-out '%{http_code}' "$@")
    if [[ $status != "$wanted" ]] || ! grep -q "$word" "$work/body"; then
        echo "arm64: $status instead of $wanted with $word: $(head -c 500 "$work/body")" >&2
        exit 1
    fi
}
forward=(-X POST "$server_url/forward" -H "X-PX-Key: $agent_key" -H "X-PX-Credential: demo" -H "X-PX-Target: $demo")
address=0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1
expect 200 'REDACTED:demo' "${forward[@]}" -H 'X-PX-Method: GET'
expect 202 poll_url "${forward[@]}" -H 'X-PX-Method: POST' -d '{"note":"hello"}'
expect 200 '"passing"' -H "X-API-KEY: $api_key" "$server_url/v2/stamps/1/score/$address?signed=eip712"
expect 200 true "$server_url/sybil-resistance/gov-id/optimism?user=$address&action-id=123456789"
pyxis audit verify | sed 's/^/arm64: /'
kill "$server"
wait "$server" || { echo "arm64: the server ended with $?" >&2; cat "$work/log" >&2; exit 1; }
server=
echo "arm64: read, asked, scored, verified and stopped"
