#!/usr/bin/env bash
# ci/snapshot.sh: Snapshot's own client against a running Pyxis (ci/snapshot). The client comes from npm. Snapshot's
# score server is in no package of npm, so a stand-in sends its requests.
#
# PX_TEST_PYXIS names the built program; without it, it is built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# skip REASON: a developer's machine may lack a tool; the gate may not.
skip() {
    echo "snapshot: skipped, $1"
    if [[ -n ${PX_TEST_STRICT:-} ]]; then exit 1; fi
    exit 0
}

command -v node >/dev/null || skip "Node is missing (apt-get install nodejs npm)"
command -v npm >/dev/null || skip "npm is missing (apt-get install npm)"

if [[ -z ${PX_TEST_PYXIS:-} ]]; then
    cargo build --locked --quiet --package pyxis --bin pyxis
    PX_TEST_PYXIS=$(realpath "${CARGO_TARGET_DIR:-target}/debug/pyxis")
fi
export PX_TEST_PYXIS

cd ci/snapshot
installed=node_modules/.package-lock.json.installed
if ! cmp --silent package-lock.json "$installed"; then
    echo "== installing Snapshot's client"
    npm ci --prefer-offline --no-audit --no-fund --loglevel=error --ignore-scripts >/dev/null
    cp package-lock.json "$installed"
fi
node --test --test-reporter=spec --test-timeout=120000 snapshot.test.mjs
echo "snapshot: its client counts what Pyxis answers"
