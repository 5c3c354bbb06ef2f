#!/usr/bin/env bash
# A score job on SQLite in a temporary directory: addresses a second and core, and the largest memory. Next to it, the
# same addresses through POST /v2/stamps/{scorer_id}/scores, 1,000 at a time on one connection, in the same run. Both
# read stored scores of five Stamps each; the job also has the scores of every model. Goals: a million addresses with
# flat memory.
#
#   bench/jobs.sh
#
#   PX_BENCH_ADDRESSES=1000000    addresses of the job; every one has a stored score
#
# Needs curl and python3 (Debian: apt-get install curl python3).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

addresses=${PX_BENCH_ADDRESSES:-1000000}
ticks=$(getconf CLK_TCK)
require curl python3

build
[[ -n $pyxis ]] || fail "this benchmark measures Pyxis only: unset PX_BENCH_WITHOUT_PYXIS"
data=$work/data
made=$("$pyxis" bootstrap --json --data-dir "$data")
key=$(field api_key <<<"$made")
token=$(field owner_session_token <<<"$made")
[[ -n $key && -n $token ]] || fail "bootstrap gave no api_key and owner_session_token"
echo "filling the database with $addresses scored addresses" >&2
python3 "$bench/scores_seed.py" "$addresses" sqlite "$data/pyxis.db"
awk -v n="$addresses" 'BEGIN { print "address"; for (i = 1; i <= n; i++) printf "0x%040x\n", i }' >"$work/addresses.csv"
python3 - "$data/pyxis.db" <<'PYTHON'
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as database:
    database.execute("UPDATE api_keys SET stamps_tier = 4, stamps_limit = 1000000000")
PYTHON
start pyxis "$pyxis" serve --listen 127.0.0.1:0 --metrics-listen off --data-dir "$data"
ready "$address"
url=http://$address

# largest PID: largest resident KiB so far.
largest() {
    awk '/^VmHWM/ { print $2 }' "/proc/$1/status"
}

idle=$(largest "$pid")
before=$(cpu_ticks "$pid")
job=$(curl -sS -H "Authorization: Bearer $token" -H 'Content-Type: text/csv' --data-binary "@$work/addresses.csv" \
    "$url/admin/scorers/1/jobs?name=bench" | field id)
[[ -n $job ]] || fail "the job was not added"
python3 - "$url/admin/score-jobs/$job" "$token" >"$work/job" <<'PYTHON'
import datetime, json, sys, time, urllib.request
request = urllib.request.Request(sys.argv[1], headers={"Authorization": f"Bearer {sys.argv[2]}"})
while True:
    job = json.load(urllib.request.urlopen(request))
    if job["state"] not in ("queued", "running"):
        break
    time.sleep(0.2)
moment = lambda name: datetime.datetime.fromisoformat(job[name].replace("Z", "+00:00"))
print(job["state"], job["scored"], (moment("finished_at") - moment("started_at")).total_seconds())
PYTHON
read -r state scored elapsed <"$work/job"
after=$(cpu_ticks "$pid")
peak=$(largest "$pid")
[[ $state == done && $scored == "$addresses" ]] || fail "the job is $state with $scored of $addresses scored"
awk -v n="$addresses" -v e="$elapsed" -v c=$((after - before)) -v t="$ticks" -v i="$idle" -v p="$peak" 'BEGIN {
    printf "job: %.0f rows/s, %.0f rows a second and core, upload included in the CPU, ", n / e, n * t / c
    printf "largest memory %.0f MiB (%.0f MiB before it)\n", p / 1024, i / 1024 }'
for format in csv parquet; do
    curl -sS -H "Authorization: Bearer $token" -o "$work/result.$format" \
        -w "download as $format: %{time_total} s, %{size_download} bytes\n" \
        "$url/admin/score-jobs/$job/result?format=$format"
done
[[ $(wc -l <"$work/result.csv") == $((addresses + 1)) ]] || fail "the result has $(wc -l <"$work/result.csv") lines"
awk -v p="$(largest "$pid")" 'BEGIN { printf "largest memory with the downloads: %.0f MiB\n", p / 1024 }'

before=$(cpu_ticks "$pid")
elapsed=$(python3 - "$address" "$key" "$addresses" <<'PYTHON'
import http.client, json, sys, time
connection = http.client.HTTPConnection(sys.argv[1])
count, began = int(sys.argv[3]), time.monotonic()
for first in range(1, count + 1, 1000):
    some = [f"0x{number:040x}" for number in range(first, min(first + 1000, count + 1))]
    connection.request("POST", "/v2/stamps/1/scores", json.dumps({"addresses": some}),
                       {"X-API-KEY": sys.argv[2], "Content-Type": "application/json"})
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != 200:
        sys.exit(f"POST /scores: {answer.status} {body[:200]}")
print(time.monotonic() - began)
PYTHON
)
after=$(cpu_ticks "$pid")
awk -v n="$addresses" -v e="$elapsed" -v c=$((after - before)) -v t="$ticks" 'BEGIN {
    printf "POST /scores, 1,000 each, without models: %.0f addresses/s, %.0f a second and core\n", n / e, n * t / c }'
