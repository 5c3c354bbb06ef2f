#!/usr/bin/env bash
# The tests that kill, freeze, cut, fill and damage, one at a time, with the figures of
# docs/explanation/reliability.md: seed, faults and what was counted. They are among the usual tests, too.
#
# PX_TEST_LONG=1 is the long form, and PX_TEST_SEED=N repeats the choices of an earlier run. Arguments are more options
# of cargo nextest run. Failovers under Patroni are run by ci/patroni.sh, upgrades with two programs by ci/upgrade.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tests='^crash::crash|^observability::full_disk::|^upgrade::rolling::'
tests+='|^failover::(while_postgres_is_frozen_every|a_promoted_standby|netns::)'
tests+='|^cli::backups::(damage_of_any_page|backups_that_are_killed)'
exec ci/postgres.sh cargo nextest run -p pyxis -p pyxis-store --test it --locked --profile faults \
    -E "test(/$tests/)" "$@"
