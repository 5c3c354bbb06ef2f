#!/usr/bin/env bash
# Installs what the tests need and this machine lacks. Debian packages need root; nothing else does.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

packages=()

# need PACKAGE COMMAND...: asks for PACKAGE unless one of the commands exists.
need() {
    local package=$1 command
    shift
    for command in "$@"; do
        if command -v "$command" >/dev/null; then return; fi
    done
    packages+=("$package")
}

need build-essential cc         # the linker, and the C of SQLite, zstd, ring, libsecp256k1
need iproute2 ip                # tests that dial inside a network namespace
need procps ps
need binutils strip             # packaging/
need umoci umoci
need systemd systemd            # ci/packaging.sh
need dpkg-dev dpkg-shlibdeps
need pgbouncer pgbouncer         # a pooler in front of PostgreSQL
need caddy caddy                 # the proxy of packaging/compose
need patroni patroni             # PostgreSQL that fails over (ci/patroni.sh)
need etcd-server etcd
need codespell codespell
need curl curl                  # tools behind `pyxis run`
need git git
need wget wget
need gh gh
need default-jdk-headless javac
# Host names of one process alone, for tools that reach no address of loopback through a proxy.
if ! compgen -G '/usr/lib*/**/libnss_wrapper.so' >/dev/null; then packages+=(libnss-wrapper); fi
need faketime faketime          # the program with another library preloaded
need prometheus promtool        # alert rules
need rsyslog rsyslogd           # audit push
if ! compgen -G '/usr/lib/*/rsyslog/lmnsd_gtls.so' >/dev/null; then packages+=(rsyslog-gnutls); fi
if ! compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null && ! command -v initdb >/dev/null; then
    packages+=(postgresql)
fi
# The Matrix homeserver of the tests lives in a Python environment (ci/synapse.sh).
if ! python3 -c 'import ensurepip, venv' 2>/dev/null; then packages+=(python3-venv); fi
need nodejs node
need npm npm
need python3 python3
if [[ -f e2e/package.json ]]; then
    need chromium chromium chromium-browser google-chrome
fi

if ((${#packages[@]})); then
    if ((EUID != 0)); then
        echo "missing: ${packages[*]}; install them as root: apt-get install ${packages[*]}" >&2
        exit 1
    fi
    echo "== installing ${packages[*]}"
    export DEBIAN_FRONTEND=noninteractive
    # The Java packages fail on a minimal image, which has no folder for their manual pages.
    mkdir -p /usr/share/man/man1
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
fi

if ! cargo nextest --version >/dev/null 2>&1; then
    echo "== installing cargo-nextest"
    # Its build must not fill a target directory that is shared with the project's.
    env -u CARGO_TARGET_DIR cargo install cargo-nextest --locked --quiet ||
        echo "cargo-nextest cannot be installed; the tests run with cargo test" >&2
fi

if ! cargo deb --version >/dev/null 2>&1; then
    echo "== installing cargo-deb"
    # Unoptimized, and with the system's xz: it builds in half a minute, and packs one file.
    env -u CARGO_TARGET_DIR cargo install cargo-deb --version 3.8.0 --locked --quiet --debug --no-default-features ||
        echo "cargo-deb cannot be installed; the Debian package is not tested" >&2
fi
