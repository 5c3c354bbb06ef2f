#!/usr/bin/env bash
# ci/node.sh COMMAND...: runs COMMAND with PX_TEST_NODE naming a Node that sends `fetch` through a proxy (22.21 or later),
# for tests behind `pyxis run`, for a library that verifies receipts, and for the official test suite of MCP. They come
# from npm, on first use (ci/conformance/package.json).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if (($# == 0)); then
    echo "usage: ci/node.sh COMMAND..." >&2
    exit 2
fi

folder=$PWD/ci/conformance
installed=$folder/node_modules/.package-lock.json.installed
if ! cmp --silent "$folder/package-lock.json" "$installed"; then
    echo "== installing the test suite of MCP and its Node" >&2
    if ! command -v npm >/dev/null ||
        ! (cd "$folder" && npm ci --no-audit --no-fund --loglevel=error --ignore-scripts) >&2; then
        echo "they cannot be installed; tests that need them are left out" >&2
        if [[ -n ${PX_TEST_STRICT:-} ]]; then exit 1; fi
        exec "$@"
    fi
    cp "$folder/package-lock.json" "$installed"
fi
node=$(compgen -G "$folder/node_modules/node-linux-*/bin/node" | head -n 1) || true
if [[ -n $node ]]; then
    [[ -x $node ]] || chmod +x "$node"
    export PX_TEST_NODE=$node
elif [[ -n ${PX_TEST_STRICT:-} ]]; then
    echo "npm has no Node for this machine" >&2
    exit 1
fi
exec "$@"
