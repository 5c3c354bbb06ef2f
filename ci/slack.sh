#!/usr/bin/env bash
# ci/slack.sh: Slack's own clients against the stand-in for Slack (ci/slack), so that what the tests of Pyxis talk to is
# what these clients take for Slack. The clients come from npm.
#
# PX_TEST_SLACK names the built stand-in; without it, it is built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# skip REASON: a developer's machine may lack a tool; the gate may not.
skip() {
    echo "slack: skipped, $1"
    if [[ -n ${PX_TEST_STRICT:-} ]]; then exit 1; fi
    exit 0
}

command -v node >/dev/null || skip "Node is missing (apt-get install nodejs npm)"
command -v npm >/dev/null || skip "npm is missing (apt-get install npm)"

if [[ -z ${PX_TEST_SLACK:-} ]]; then
    cargo build --locked --quiet --package pyxis-testkit --example slack
    PX_TEST_SLACK=$(realpath "${CARGO_TARGET_DIR:-target}/debug/examples/slack")
fi
export PX_TEST_SLACK

cd ci/slack
installed=node_modules/.package-lock.json.installed
if ! cmp --silent package-lock.json "$installed"; then
    echo "== installing Slack's clients"
    npm ci --prefer-offline --no-audit --no-fund --loglevel=error --ignore-scripts >/dev/null
    cp package-lock.json "$installed"
fi
node --test --test-reporter=spec --test-timeout=120000 slack.test.mjs
echo "slack: its clients take the stand-in for Slack"
