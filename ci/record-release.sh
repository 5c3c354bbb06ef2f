#!/usr/bin/env bash
# Records an installation of this release, on both engines, in crates/pyxis/tests/fixtures/releases. Later releases are
# tested on it. Run it once for each minor release, before its tag (CONTRIBUTING.md, Releases).
#
# The keys in it are made for it, and open nothing else.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

dump=$(compgen -G '/usr/lib/postgresql/*/bin/pg_dump' | sort -V | tail -n 1 || true)
export PX_PG_DUMP=${PX_PG_DUMP:-${dump:-pg_dump}} PX_RECORD_RELEASE=1
ci/postgres.sh cargo nextest run --workspace --locked \
    -E 'test(an_installation_of_every_recorded_release_goes_on_with_this_program)'
du -b crates/pyxis/tests/fixtures/releases/*/*
