#!/usr/bin/env bash
# The browser tests: Chromium against a real `pyxis serve`; and the example clients.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# skip REASON: a developer's machine may lack a tool; the gate may not.
skip() {
    echo "e2e: skipped, $1"
    if [[ -n ${PX_TEST_STRICT:-} ]]; then exit 1; fi
    exit 0
}

source ci/chromium.sh
[[ -n $PX_TEST_CHROMIUM ]] || skip "Chromium is missing (apt-get install chromium, or set PX_TEST_CHROMIUM)"
command -v node >/dev/null || skip "Node is missing (apt-get install nodejs npm)"
command -v python3 >/dev/null || skip "Python is missing (apt-get install python3)"
command -v npm >/dev/null || skip "npm is missing (apt-get install npm)"

if [[ -z ${PX_TEST_PYXIS:-} ]]; then
    cargo build --locked --quiet --package pyxis --bin pyxis
    PX_TEST_PYXIS=$(realpath "${CARGO_TARGET_DIR:-target}/debug/pyxis")
fi
export PX_TEST_PYXIS
cargo build --locked --quiet --manifest-path examples/rust/Cargo.toml
PX_TEST_EXAMPLE_RUST=$(realpath "${CARGO_TARGET_DIR:-examples/rust/target}/debug/pyxis-score")
PX_TEST_EXAMPLE_CHECK=$(realpath "${CARGO_TARGET_DIR:-examples/rust/target}/debug/pyxis-check")
PX_TEST_EXAMPLE_WEBHOOK=$(realpath "${CARGO_TARGET_DIR:-examples/rust/target}/debug/pyxis-webhook")
export PX_TEST_EXAMPLE_RUST PX_TEST_EXAMPLE_CHECK PX_TEST_EXAMPLE_WEBHOOK

for folder in e2e e2e/agents sdk/typescript examples/typescript examples/viem; do
    (cd "$folder" && npm ci --no-audit --no-fund --loglevel=error --ignore-scripts)
done
npm --prefix sdk/typescript run --silent build
# The Python example runs with the sources of the Python client; its one dependency is among these tools.
ci/chain.sh ci/python-tools.sh npm --prefix e2e test
