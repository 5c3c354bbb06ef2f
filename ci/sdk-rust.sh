#!/usr/bin/env bash
# ci/sdk-rust.sh: checks, tests and packs the Rust client (sdk/rust), against a real server. PX_TEST_PYXIS names the built
# program; without it, it is built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ -z ${PX_TEST_PYXIS:-} ]]; then
    cargo build --locked --quiet --package pyxis --bin pyxis
    PX_TEST_PYXIS=$(realpath "${CARGO_TARGET_DIR:-target}/debug/pyxis")
fi
export PX_TEST_PYXIS

directory=$(mktemp -d "${TMPDIR:-/tmp}/px-sdk-rust.XXXXXX")
trap 'rm -rf "$directory"' EXIT

repository=$PWD
cd sdk/rust
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$repository/Cargo.toml" | head -n 1)
grep -qx "version = \"$version\"" Cargo.toml ||
    { echo "sdk/rust/Cargo.toml must have the version of Cargo.toml, $version" >&2; exit 1; }
cmp LICENSE "$repository/LICENSE"
for banned in openssl-sys native-tls aws-lc-sys; do
    if grep -qx "name = \"$banned\"" Cargo.lock; then
        echo "sdk/rust/Cargo.lock contains $banned; see: cargo tree --invert $banned" >&2
        exit 1
    fi
done

echo "== form"
cargo fmt --check
cargo clippy --all-targets --locked --quiet -- -D warnings

echo "== tests"
cargo test --locked --quiet

echo "== package"
# Built once more from what is packed, without its dependencies: their builds are those of the tests.
cargo package --locked --allow-dirty --quiet
cargo package --locked --allow-dirty --list --quiet >"$directory/list"
if grep -vE '^(\.cargo_vcs_info\.json|Cargo\.(lock|toml|toml\.orig)|LICENSE|README\.md|src/.*\.rs)$' "$directory/list"; then
    echo "these files must not be packed" >&2
    exit 1
fi
echo "sdk rust: the crate of $version passes"
