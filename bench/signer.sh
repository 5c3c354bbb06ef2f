#!/usr/bin/env bash
# Requests a second, latency and CPU of `pyxis signer` (OAuth 1.0a over every request), side by side with the
# upstream alone and a bare hyper proxy. Loopback only.
#
#   bench/signer.sh
#
#   PX_BENCH_ROUNDS=5            interleaved rounds at full load
#   PX_BENCH_SECONDS=5           seconds of each
#   PX_BENCH_CONNECTIONS=64      keep-alive connections
#
# What one signature costs alone: cargo bench -p pyxis-signing --bench oauth1
#
# Needs wrk and curl (Debian: apt-get install wrk curl).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$bench/proxies.sh"

require wrk curl
build

start upstream "$tools/upstream" 127.0.0.1:0
upstream=$address
server upstream "http://$upstream/items" "$pid"
start bare "$tools/bare" 127.0.0.1:0
server bare "http://$address/" "$pid"
export OAUTH_CRED_BENCH_CONSUMER_KEY=bench-consumer-key \
    OAUTH_CRED_BENCH_CONSUMER_SECRET=made-up-consumer-secret-of-forty-characters \
    OAUTH_CRED_BENCH_ACCESS_TOKEN=made-up-access-token-of-about-fifty-characters \
    OAUTH_CRED_BENCH_ACCESS_TOKEN_SECRET=made-up-token-secret-of-forty-characters \
    OAUTH_SIGNER_PORT=0 OAUTH_SIGNER_ALLOW_HTTP=true PX_EGRESS_ALLOW=127.0.0.0/8
start signer "$pyxis" signer
server signer "http://$address/" "$pid"
headers=("X-OAuth-Credential: bench" "X-OAuth-Target: http://$upstream/items?status=open&page=2"
    "X-PX-Target: http://$upstream/items?status=open&page=2" "X-PX-Method: GET")

check
interleaved
print_full bare
