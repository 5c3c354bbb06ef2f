#!/usr/bin/env bash
# bench/deliveries.sh [COUNT [WAITING]]: webhook deliveries from a durable outbox on SQLite to a loopback
# receiver over TLS, alone and next to an endpoint that never answers; then, with WAITING requests that wait for
# a person, how soon an endpoint knows of the next one, again alone and next to one that never answers. One JSON
# line for each.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cargo run --release --locked --quiet --package pyxis-gateway --example deliveries -- "${1:-20000}" "${2:-10000}"
