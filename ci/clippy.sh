#!/usr/bin/env bash
# Lints of the workspace and of the benchmarks, which are a workspace of their own.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
cargo clippy --manifest-path bench/Cargo.toml --all-targets --locked --quiet -- -D warnings
