#!/usr/bin/env bash
# ci/synapse.sh COMMAND...: runs COMMAND with PX_TEST_SYNAPSE naming a Python environment with the Matrix
# homeserver Synapse, which is made on first use next to the target directory.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if (($# == 0)); then
    echo "usage: ci/synapse.sh COMMAND..." >&2
    exit 2
fi

version=1.163.2
environment=$(realpath -m "${CARGO_TARGET_DIR:-target}")/synapse-$version
if [[ ! -x $environment/bin/python || ! -f $environment/ready ]]; then
    echo "== installing Synapse $version" >&2
    rm -rf "$environment"
    if ! python3 -m venv "$environment" ||
        ! "$environment/bin/pip" install --quiet --disable-pip-version-check "matrix-synapse==$version" >&2; then
        rm -rf "$environment"
        echo "Synapse cannot be installed; tests with a real homeserver are left out" >&2
        if [[ -n ${PX_TEST_STRICT:-} ]]; then exit 1; fi
        exec "$@"
    fi
    touch "$environment/ready"
fi
export PX_TEST_SYNAPSE=$environment
exec "$@"
