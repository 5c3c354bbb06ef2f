#!/usr/bin/env bash
# ci/discord.sh: Discord's library for signatures and the REST client of discord.js against the stand-in for Discord
# (ci/discord). So the stand-in of Pyxis's tests behaves as these tools expect of Discord. They come from npm.
#
# PX_TEST_DISCORD names the built stand-in; without it, it is built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# skip REASON: a developer's machine may lack a tool; the gate may not.
skip() {
    echo "discord: skipped, $1"
    if [[ -n ${PX_TEST_STRICT:-} ]]; then exit 1; fi
    exit 0
}

command -v node >/dev/null || skip "Node is missing (apt-get install nodejs npm)"
command -v npm >/dev/null || skip "npm is missing (apt-get install npm)"

if [[ -z ${PX_TEST_DISCORD:-} ]]; then
    cargo build --locked --quiet --package pyxis-testkit --example discord
    PX_TEST_DISCORD=$(realpath "${CARGO_TARGET_DIR:-target}/debug/examples/discord")
fi
export PX_TEST_DISCORD

cd ci/discord
installed=node_modules/.package-lock.json.installed
if ! cmp --silent package-lock.json "$installed"; then
    echo "== installing Discord's tools"
    npm ci --prefer-offline --no-audit --no-fund --loglevel=error --ignore-scripts >/dev/null
    cp package-lock.json "$installed"
fi
node --test --test-reporter=spec --test-timeout=120000 discord.test.mjs
echo "discord: its tools take the stand-in for Discord"
