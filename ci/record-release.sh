#!/usr/bin/env bash
# ci/record-release.sh [PROGRAM]: records an installation of this release, on both engines, in
# crates/pyxis/tests/fixtures/releases. Later programs are tested on it. Run it once for each minor release, before its tag
# (CONTRIBUTING.md, Releases). PROGRAM is an earlier program of this release; without it, the present one is recorded.
#
# The keys in it are made for it, and open nothing else.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

dump=$(compgen -G '/usr/lib/postgresql/*/bin/pg_dump' | sort -V | tail -n 1 || true)
export PX_PG_DUMP=${PX_PG_DUMP:-${dump:-pg_dump}} PX_RECORD_RELEASE=1 PX_POSTGRES_PRELOAD=pg_stat_statements
if (($#)); then
    PX_TEST_PREVIOUS_PYXIS=$(realpath "$1")
    export PX_TEST_PREVIOUS_PYXIS
fi
ci/postgres.sh cargo nextest run --workspace --locked \
    -E 'test(an_installation_of_every_recorded_release_goes_on_with_this_program)'
du -b crates/pyxis/tests/fixtures/releases/*/*
