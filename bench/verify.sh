#!/usr/bin/env bash
# Verification from the registry on SQLite: requests a second of one check, side by side with a bare axum
# handler that does a point SELECT through the same driver; and how long 1,000 addresses at a past height
# take, by proof and by score. From contracts: 500 addresses at an old height, compared with one Multicall made by
# hand. Loopback only.
#
#   ci/chain.sh bench/verify.sh    with an EVM node; without it that part is left out
#
#   PX_BENCH_PROOFS=1000000    registered proofs, and recorded scores
#   PX_BENCH_ROUNDS=3          interleaved rounds
#   PX_BENCH_SECONDS=5         seconds of each
#   PX_BENCH_CONNECTIONS=64    keep-alive connections
#   PX_BENCH_CONTRACTS=300     requests about contracts, and by hand
#
# Needs wrk, curl and python3 (Debian: apt-get install wrk curl python3).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

proofs=${PX_BENCH_PROOFS:-1000000}
rounds=${PX_BENCH_ROUNDS:-3}
seconds=${PX_BENCH_SECONDS:-5}
connections=${PX_BENCH_CONNECTIONS:-64}
contracts=${PX_BENCH_CONTRACTS:-300}
require wrk curl python3
build

mkdir "$work/pyxis"
"$pyxis" bootstrap --json --data-dir "$work/pyxis" >/dev/null
"$pyxis" network list --json --data-dir "$work/pyxis" >/dev/null
python3 "$bench/verify_seed.py" "$work/pyxis/pyxis.db" "$work/bare.db" "$proofs"

start bare "$tools/scores-bare" 127.0.0.1:0 "$work/bare.db"
bare="http://$address"
export PX_VOTE_SCORERS=1
start pyxis "$pyxis" serve --listen 127.0.0.1:0 --metrics-listen off --data-dir "$work/pyxis"
served="http://$address"

cat >"$work/ask.lua" <<LUA
local form = os.getenv("PX_BENCH_FORM")
function init() math.randomseed(os.time()) end
function request()
    return wrk.format("GET", string.format(form, math.random(1, $proofs)))
end
LUA

# measure URL FORM: requests a second.
measure() {
    PX_BENCH_FORM=$2 wrk -t 2 -c "$connections" -d "${seconds}s" -s "$work/ask.lua" "$1" >"$work/wrk.out"
    if grep -q 'Non-2xx' "$work/wrk.out"; then cat "$work/wrk.out" >&2; fail "not every answer was 200"; fi
    awk '/Requests\/sec/ { print $2 }' "$work/wrk.out"
}

check='/sybil-resistance/gov-id/optimism?user=0x%040x&action-id=123456789'
got=$(curl -s "$served/sybil-resistance/gov-id/optimism?user=0x$(printf %040x 1)&action-id=123456789")
[[ $got == '{"result":true,'* ]] || fail "pyxis answers: $got"
echo "one check of $proofs, requests a second"
for round in $(seq "$rounds"); do
    select=$(measure "$bare" '/v2/stamps/1/score/0x%040x')
    ours=$(measure "$served" "$check")
    awk -v n="$round" -v s="$select" -v o="$ours" \
        'BEGIN { printf "%d: bare SELECT %.0f, Pyxis %.0f (%.0f %%)\n", n, s, o, 100 * o / s }'
done

python3 - "$proofs" >"$work/many" <<'PYTHON'
import random, sys
print(",".join(f"0x{random.randint(1, 2 * int(sys.argv[1])):040x}" for _ in range(1000)))
PYTHON
many=$(cat "$work/many")

# strategy PATH: milliseconds of a request about the 1,000 addresses.
strategy() {
    for _ in $(seq 20); do
        curl -sf -o /dev/null -w '%{time_total}\n' "$served$1&addresses=$many" || fail "$1 was refused"
    done | sort -n | awk '{ t[NR] = $1 * 1000 } END { printf "fastest %.1f, median %.1f, slowest %.1f\n", t[1], t[int(NR / 2)], t[NR] }'
}

echo "1,000 addresses at a past height, milliseconds"
strategy "/snapshot-strategies/sybil-resistance/gov-id?network=10&snapshot=1&action-id=123456789"
echo "scores of 1,000 addresses at a past height, milliseconds"
strategy "/snapshot-strategies/score?network=10&snapshot=1&scorer-id=1&threshold=scorer"

if [[ -z ${PX_TEST_ANVIL:-} ]]; then
    echo "contracts: left out, PX_TEST_ANVIL is not set (ci/chain.sh)"
    exit
fi
(cd "$bench/../ci/chain" && "$PX_TEST_SOLC" --optimize --bin -o "$work/contracts" Proofs.sol)
start anvil "$PX_TEST_ANVIL" --port 0 --chain-id 10 --host 127.0.0.1
node="http://$address"
python3 "$bench/verify_evm.py" prepare "$node" "$work/contracts" >"$work/chain"
networks=$(sed -n 1p "$work/chain")
height=$(sed -n 2p "$work/chain")
mkdir "$work/contracts-pyxis"
"$pyxis" bootstrap --json --data-dir "$work/contracts-pyxis" >/dev/null
export PX_NETWORKS=$networks
start contracts "$pyxis" serve --listen 127.0.0.1:0 --metrics-listen off --data-dir "$work/contracts-pyxis"
python3 "$bench/verify_evm.py" measure "$node" "http://$address" "$height" "$networks" "$contracts"
