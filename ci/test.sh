#!/usr/bin/env bash
# The one test command: form, tests on both engines, browser tests.
#
# Needs Rust and a C compiler, no root. Without PX_TEST_POSTGRES the PostgreSQL half of the store's
# tests is left out, without Node and Chromium the browser tests; both say so. To have PostgreSQL
# started for you: ci/postgres.sh ci/test.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

output=$(mktemp -d "${TMPDIR:-/tmp}/px-test.XXXXXX")
trap 'rm -rf "$output"' EXIT

color=never
if [[ -t 1 ]]; then color=always; fi

tests() {
    if cargo nextest --version >/dev/null 2>&1; then
        ci/chain.sh cargo nextest run --workspace --locked --color "$color"
    else
        echo "cargo-nextest is missing; running cargo test"
        ci/chain.sh cargo test --workspace --locked --no-fail-fast --color "$color"
    fi
}

# The runners' own closing lines, once more where they are seen; those of the Rust tests come last.
closing() {
    echo "== result"
    if [[ -z ${PX_TEST_POSTGRES:-} ]]; then
        echo "PostgreSQL: skipped, PX_TEST_POSTGRES is not set"
    fi
    tail -n 15 "$output/e2e"
    grep -E '^test result|^error: test failed' "$output/tests" || true
    awk '/Summary/ { text = "" } /Summary/, 0 { text = text $0 "\n" } END { printf "%s", text }' "$output/tests"
}

if [[ -z ${PX_TEST_POSTGRES:-} && -n ${PX_TEST_STRICT:-} ]]; then
    echo "PX_TEST_POSTGRES is not set: run ci/postgres.sh ci/test.sh" >&2
    exit 1
fi

ci/lint.sh

echo "== tests"
failed=0
tests 2>&1 | tee "$output/tests" || failed=1

echo "== browser tests"
# The Rust tests have just built it; built alone, it would be compiled once more.
PX_TEST_PYXIS=$(realpath "${CARGO_TARGET_DIR:-target}/debug/pyxis")
export PX_TEST_PYXIS
ci/e2e.sh 2>&1 | tee "$output/e2e" || failed=1

echo "== requests of every kind"
ci/schemathesis.sh 45 >"$output/requests" 2>&1 || { cat "$output/requests"; failed=1; }
grep -E '^== |generated|^schemathesis' "$output/requests" || true

closing
exit "$failed"
