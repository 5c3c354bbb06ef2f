#!/usr/bin/env bash
# Form: formatting, lints, and libraries that must not slip in.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

echo "== format"
cargo fmt --all --check
cargo fmt --manifest-path bench/Cargo.toml --all --check
cargo fmt --manifest-path examples/rust/Cargo.toml --all --check
cargo fmt --manifest-path sdk/rust/Cargo.toml --all --check

echo "== spelling"
# American spelling, in everything that people wrote; .codespellrc names the exceptions. The widget speaks more
# languages, and the language test lists what it forbids.
if command -v codespell >/dev/null; then
    git ls-files -z | grep -zvE '\.(jsonl|svg|png|ico|lock|csv|parquet|onnx|pxm|bin|gz)$|package-lock|/fixtures/|/data/|/widget/messages\.js$|/tests/it/language(/names)?\.rs$' |
        xargs -0 codespell
elif [[ -n ${PX_TEST_STRICT:-} ]]; then
    echo "codespell is missing (apt-get install codespell)" >&2
    exit 1
else
    echo "spelling: left out, codespell is missing"
fi

echo "== libraries"
# One TLS stack, without a C library to look after: rustls on ring.
for banned in openssl-sys native-tls aws-lc-sys; do
    if grep -qx "name = \"$banned\"" Cargo.lock; then
        echo "Cargo.lock contains $banned; see: cargo tree --invert $banned" >&2
        exit 1
    fi
done

echo "== clippy"
ci/clippy.sh
