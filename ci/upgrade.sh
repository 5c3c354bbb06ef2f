#!/usr/bin/env bash
# ci/upgrade.sh PREVIOUS: a rolling upgrade under load, in its long form. Three nodes of PREVIOUS on one PostgreSQL are
# replaced one by one by nodes of this release, then back (a downgrade), then forward again. Nothing that was
# acknowledged may be lost or doubled.
#
# PREVIOUS is a program, or a Git revision, which is built once and kept in target/previous. PX_UPGRADE_ROUNDS is the
# number of downgrades (3), and PX_TEST_SEED=N repeats the moments of an earlier run, which printed its seed.
# PX_UPGRADE_ONLY=1 leaves the downgrades out, for a program from before 0.1.0, which cannot do it.
# The short form is one of the usual tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if (($# != 1)); then
    echo "usage: ci/upgrade.sh PROGRAM|REVISION" >&2
    exit 2
fi

if [[ -f $1 && -x $1 ]]; then
    program=$(realpath "$1")
else
    revision=$(git rev-parse --verify "$1^{commit}")
    cache=$PWD/target/previous
    program=$cache/$revision
    if [[ ! -x $program ]]; then
        mkdir -p "$cache"
        tree=$(mktemp -d "${TMPDIR:-/tmp}/px-upgrade.XXXXXX")
        trap 'git worktree remove --force "$tree"' EXIT
        git worktree add --detach "$tree" "$revision"
        (cd "$tree" && CARGO_TARGET_DIR=$cache/build cargo build --locked -p pyxis)
        cp "$cache/build/debug/pyxis" "$program.new"
        mv "$program.new" "$program"
    fi
fi

echo "== from $("$program" --version), $program"
export PX_TEST_PREVIOUS_PYXIS=$program PX_TEST_UPGRADE_ROUNDS=${PX_UPGRADE_ROUNDS:-3}
export PX_TEST_UPGRADE_ONLY=${PX_UPGRADE_ONLY:-}
exec ci/postgres.sh cargo nextest run --workspace --locked --profile upgrade -E 'test(upgrade::rolling::)'
