#!/usr/bin/env bash
# ci/python-tools.sh COMMAND...: runs COMMAND with PX_TEST_PYTHON_TOOLS naming a Python environment with the HTTP
# clients that tests put behind `pyxis run`, or that examples need, a mail server, and a library that verifies receipts. It
# is made on first use next to the target directory.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if (($# == 0)); then
    echo "usage: ci/python-tools.sh COMMAND..." >&2
    exit 2
fi

packages=(requests==2.34.2 httpx==0.28.1 aiohttp==3.14.5 boto3==1.44.5 aiosmtpd==1.4.6 'PyJWT[crypto]==2.15.1')
name=$(printf '%s\n' "${packages[@]}" | sha256sum | cut -c1-12)
environment=$(realpath -m "${CARGO_TARGET_DIR:-target}")/python-tools-$name
if [[ ! -f $environment/ready ]]; then
    echo "== installing ${packages[*]}" >&2
    rm -rf "$environment"
    if ! python3 -m venv "$environment" ||
        ! "$environment/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}" >&2; then
        rm -rf "$environment"
        echo "they cannot be installed; tests with Python's libraries or a mail server are left out" >&2
        if [[ -n ${PX_TEST_STRICT:-} ]]; then exit 1; fi
        exec "$@"
    fi
    touch "$environment/ready"
fi
export PX_TEST_PYTHON_TOOLS=$environment
exec "$@"
