#!/usr/bin/env bash
# ci/chat-clients.sh PLATFORM...: the own clients of chat platforms (slack, discord) against the stand-ins for them, so
# that what the tests of Pyxis talk to is what these clients take for the platform. The clients come from npm, as named
# in ci/PLATFORM.
#
# PX_TEST_STAND_INS names a directory with the built stand-ins; without it, they are built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# skip REASON: a developer's machine may lack a tool; the gate may not.
skip() {
    echo "chat clients: skipped, $1"
    if [[ -n ${PX_TEST_STRICT:-} ]]; then exit 1; fi
    exit 0
}

command -v node >/dev/null || skip "Node is missing (apt-get install nodejs npm)"
command -v npm >/dev/null || skip "npm is missing (apt-get install npm)"

if [[ -z ${PX_TEST_STAND_INS:-} ]]; then
    examples=()
    for platform in "$@"; do examples+=(--example "$platform"); done
    # As the tests have built it: of one package alone, its libraries would be compiled once more.
    cargo build --locked --quiet --workspace "${examples[@]}"
    PX_TEST_STAND_INS=$(realpath "${CARGO_TARGET_DIR:-target}/debug/examples")
fi

for platform in "$@"; do
    (
        cd "ci/$platform"
        installed=node_modules/.package-lock.json.installed
        if ! cmp --silent package-lock.json "$installed"; then
            echo "== installing the clients of $platform"
            npm ci --prefer-offline --no-audit --no-fund --loglevel=error --ignore-scripts >/dev/null
            cp package-lock.json "$installed"
        fi
        export PX_TEST_STAND_IN=$PX_TEST_STAND_INS/$platform
        node --test --test-reporter=spec --test-timeout=120000 "$platform.test.mjs"
    )
    echo "chat clients: $platform: passed"
done
