#!/usr/bin/env bash
# Contracts that trust scores: examples/solidity compiled by solc, tested by forge, and run on anvil, alone and with a
# real `pyxis`. Then the verifiers in TypeScript and Rust, and the contracts of EAS (ci/eas).
# PX_TEST_PYXIS names the program; without it, it is built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ -z ${PX_TEST_ANVIL:-} && -z ${PX_TEST_CHAIN_TRIED:-} ]]; then
    PX_TEST_CHAIN_TRIED=1 exec ci/chain.sh ci/solidity.sh
fi
if [[ -z ${PX_TEST_ANVIL:-} ]]; then
    echo "solidity: skipped, there is no EVM node"
    exit 0
fi
if [[ -z ${PX_TEST_PYXIS:-} ]]; then
    cargo build --locked --quiet --package pyxis --bin pyxis
    PX_TEST_PYXIS=$(realpath "${CARGO_TARGET_DIR:-target}/debug/pyxis")
fi
cargo build --locked --quiet --manifest-path examples/rust/Cargo.toml
PX_TEST_EXAMPLE_VERIFY=$(realpath "${CARGO_TARGET_DIR:-examples/rust/target}/debug/pyxis-verify-score")
export PX_TEST_PYXIS PX_TEST_EXAMPLE_VERIFY

for folder in sdk/typescript examples/solidity ci/eas; do
    (cd "$folder" && npm ci --prefer-offline --no-audit --no-fund --loglevel=error --ignore-scripts >/dev/null)
done
npm --prefix sdk/typescript run --silent build
npm --prefix examples/solidity run --silent build
npm --prefix examples/solidity run --silent forge
node --test examples/solidity/test/*.test.mjs ci/eas/*.test.mjs
echo "solidity: the contracts trust what pyxis signs"
