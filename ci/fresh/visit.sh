#!/usr/bin/env bash
# What somebody does who has just cloned the project: the README's two commands, and what the first prints.
set -euo pipefail
cd ~/pyxis

echo "== cargo run --release -- quickstart"
cargo run --release -- quickstart >~/printed 2>~/progress </dev/null &
server=$!
trap 'kill "$server" 2>/dev/null || true' EXIT
until grep -q '/snapshot-strategies/' ~/printed; do
    if ! kill -0 "$server" 2>/dev/null; then
        cat ~/progress >&2
        exit 1
    fi
    sleep 1
done

# The printed commands, each on one line, as they would be pasted.
sed -e ':more' -e '/\\$/{N;s/\\\n *//;bmore' -e '}' ~/printed | grep '^ *curl' >~/commands

# answer PATTERN: pastes the first command with it.
answer() { bash -c "$(grep -m 1 -e "$1" ~/commands)"; }

# told NAME EXPECTED ANSWER
told() {
    if [[ $3 != *"$2"* ]]; then
        echo "$1 is not answered with $2: $3" >&2
        exit 1
    fi
    echo "$1: answered"
}

told "an agent's read" "[REDACTED:demo]" "$(answer 'X-PX-Method: GET')"
told "a score" '"passing_score":true' "$(answer '/score/')"
told "the Stamps" '"items":[{' "$(answer 'include_metadata')"
told "a check" '"result":' "$(answer '/sybil-resistance/gov-id')"
told "a voting strategy" '[' "$(answer '/snapshot-strategies/')"
# The printed command waits for a person; without that, the agent is told where it stands.
write=$(grep 'X-PX-Method: POST' ~/commands | sed "s/ -H 'Prefer: wait=60'//")
told "an agent's write" '"approval_url":' "$(bash -c "$write")"
kill -TERM "$server"
wait "$server" || true

echo "== ci/test.sh"
ci/test.sh
