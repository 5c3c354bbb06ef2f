#!/usr/bin/env bash
# ci/sdk-typescript.sh: the packages of TypeScript and React. Generated types, types, tests against a server, archives,
# the installed package in Node 18, Deno, Bun, workerd and Chromium, and examples/nextjs, built and run.
#
# PX_TEST_PYXIS names the built program; without it, it is built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# skip REASON: a developer's machine may lack a tool; the gate may not.
skip() {
    echo "typescript: skipped, $1"
    if [[ -n ${PX_TEST_STRICT:-} ]]; then exit 1; fi
    exit 0
}

command -v node >/dev/null || skip "Node is missing (apt-get install nodejs npm)"
command -v npm >/dev/null || skip "npm is missing (apt-get install npm)"
source ci/chromium.sh

if [[ -z ${PX_TEST_PYXIS:-} ]]; then
    cargo build --locked --quiet --package pyxis --bin pyxis
    PX_TEST_PYXIS=$(realpath "${CARGO_TARGET_DIR:-target}/debug/pyxis")
fi
export PX_TEST_PYXIS

# install FOLDER: has in it exactly what its lock names, from the cache where it is there already.
install() {
    (cd "$1" && npm ci --prefer-offline --no-audit --no-fund --loglevel=error --ignore-scripts >/dev/null)
}

log=$(mktemp "${TMPDIR:-/tmp}/px-sdk-typescript.XXXXXX")
trap 'rm -f "$log"' EXIT

# run_tests FOLDER: its tests, with what they printed if one fails.
run_tests() {
    echo "== $1: tests"
    # Not by npm, which would put the old Node of sdk/runtimes first.
    (cd "$1" && shopt -s nullglob && node --test --test-reporter=spec --test-timeout=600000 ./*.test.mjs test/*.test.mjs) \
        >"$log" 2>&1 || { cat "$log"; exit 1; }
    awk '/^(# |ℹ )(pass|skipped) / { printf "%s %s  ", $2, $3 } END { print "" }' "$log"
}

install sdk/typescript
for folder in sdk/typescript sdk/react; do
    # The package of React is checked against the built client.
    [[ $folder == sdk/typescript ]] || install "$folder"
    echo "== $folder: types"
    npm --prefix "$folder" run --silent check
    npm --prefix "$folder" run --silent build
    run_tests "$folder"
done

install sdk/runtimes
# It gets copies of the packages as built, and the test's wallet signs with the library of examples/viem.
install examples/nextjs
install examples/viem
run_tests sdk/runtimes
echo "typescript: the packages hold"
