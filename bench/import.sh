#!/usr/bin/env bash
# Credentials a second of `pyxis stamps import` and its largest memory, side by side with the rates at which one thread
# recovers signers and does nothing else, by k256 and by the library of Pyxis. SQLite in a temporary directory.
#
#   bench/import.sh
#
#   PX_BENCH_CREDENTIALS=500000  signed credentials, five an address
#
# Needs GNU time (Debian: apt-get install time).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

credentials=${PX_BENCH_CREDENTIALS:-500000}
require time

build
echo "signing $credentials credentials" >&2
"$tools/credentials" write "$credentials" >"$work/credentials.jsonl" 2>"$work/issuer"
"$pyxis" bootstrap --json --data-dir "$work/data" >/dev/null
"$pyxis" issuer add "$(cat "$work/issuer")" --name bench --data-dir "$work/data" >/dev/null

before=$("$tools/credentials" recover 20000)
began=$(date +%s%N)
env time -f '%M %U %S' -o "$work/time" \
    "$pyxis" stamps import "$work/credentials.jsonl" --json --data-dir "$work/data" >"$work/result"
ended=$(date +%s%N)
after=$("$tools/credentials" recover 20000)
accepted=$(field accepted <"$work/result")
[[ $accepted == "$credentials" ]] || fail "not everything was accepted: $(cat "$work/result")"

read -r memory user system <"$work/time"
awk -v n="$credentials" -v ns=$((ended - began)) -v before="$before" -v after="$after" -v cores="$(nproc)" \
    -v memory="$memory" -v cpu="$(awk "BEGIN { print $user + $system }")" 'BEGIN {
        rate = n * 1e9 / ns; split(before, b, " "); split(after, a, " ")
        k256 = (a[1] + b[1]) / 2 * cores; ours = (a[2] + b[2]) / 2 * cores
        printf "%d credentials in %.1f s: %.0f a second\n", n, ns / 1e9, rate
        printf "bare recovery on %d cores: by k256 %.0f, of which this is %.0f%%; by the library of Pyxis %.0f: %.0f%%\n", \
            cores, k256, 100 * rate / k256, ours, 100 * rate / ours
        printf "largest resident memory %.1f MiB; CPU %.0f us a credential\n", memory / 1024, \
            cpu * 1e6 / n
    }'
