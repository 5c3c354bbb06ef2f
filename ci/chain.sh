#!/usr/bin/env bash
# ci/chain.sh COMMAND...: runs COMMAND with PX_TEST_ANVIL and PX_TEST_SOLC naming an EVM node and a Solidity
# compiler, which are installed from npm into ci/chain. Without them the tests that need a chain say so.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# skip REASON: a developer's machine may lack a tool; the gate may not.
skip() {
    echo "chain: left out, $1"
    if [[ -n ${PX_TEST_STRICT:-} ]]; then exit 1; fi
}

# locked FOLDER: has in it exactly what its lock names. What is there already stays: somebody may be using it.
locked() {
    (
        cd "$1"
        if cmp --silent package-lock.json node_modules/.of-this-lock; then exit; fi
        npm ci --no-audit --no-fund --loglevel=error --ignore-scripts >/dev/null
        cp package-lock.json node_modules/.of-this-lock
    )
}

install() {
    command -v node >/dev/null || { skip "Node is missing (apt-get install nodejs npm)"; return; }
    command -v npm >/dev/null || { skip "npm is missing (apt-get install npm)"; return; }
    locked ci/chain || { skip "npm cannot install ci/chain"; return; }
    local anvil
    # The program itself, not the launcher, so that it ends when it is told to.
    anvil=$(compgen -G "$PWD/ci/chain/node_modules/@foundry-rs/anvil-*/bin/anvil" | head -n 1 || true)
    [[ -n $anvil ]] || { skip "there is no anvil for this machine"; return; }
    export PX_TEST_ANVIL=$anvil PX_TEST_SOLC=$PWD/ci/chain/node_modules/.bin/solcjs
}

if [[ -z ${PX_TEST_ANVIL:-} ]]; then install; fi
"$@"
