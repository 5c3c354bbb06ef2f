#!/usr/bin/env bash
# The one test command: form, Rust tests on both engines, browser tests, example clients, SDKs, requests of every kind, the
# official MCP suite, packages.
#
# As root on Debian it installs what it lacks; otherwise it says what that is. It starts its own PostgreSQL, Matrix
# homeserver and EVM node. Tests that need something that is still missing are not run, and the closing lines say
# which. PX_TEST_STRICT=1 leaves nothing out: the first missing thing ends the run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ -z ${PX_TEST_SERVERS:-} ]]; then
    # What is installed comes from the network for the most part. Meanwhile the compiler works; the part "form" waits
    # for it, and says what it finds.
    ci/clippy.sh >/dev/null 2>&1 &
    ci/setup.sh || { [[ -z ${PX_TEST_STRICT:-} ]] && echo "going on without"; }
    # Each gives the next one the name of its server, and goes on without where it has none.
    export PX_TEST_SERVERS=started
    servers=(ci/synapse.sh ci/chain.sh ci/python-tools.sh ci/node.sh)
    if [[ -z ${PX_TEST_POSTGRES:-} ]]; then servers+=(ci/postgres.sh); fi
    exec "${servers[@]}" ci/test.sh
fi

output=$(mktemp -d "${TMPDIR:-/tmp}/px-test.XXXXXX")
trap 'rm -rf "$output"' EXIT

color=never
if [[ -t 1 ]]; then color=always; fi

# Parts of the names of tests that cannot run here, and what they need.
names=() missing=()
leave_out() {
    missing+=("$1")
    shift
    names+=("$@")
}
has() { command -v "$1" >/dev/null; }

[[ -n ${PX_TEST_POSTGRES:-} ]] || leave_out PostgreSQL postgres
[[ -n ${PX_TEST_SYNAPSE:-} ]] || leave_out "a Matrix homeserver" real_homeserver
[[ -n ${PX_TEST_ANVIL:-} ]] || leave_out "an EVM node" api::onchain verify::contracts verify::gas verify::nodes
{ has ip && unshare --net true 2>/dev/null; } || leave_out "network namespaces" netns::
for tool in curl git wget node npm python3; do
    has "$tool" || leave_out "$tool, for the tools behind pyxis run" run::
done
[[ -n ${PX_TEST_PYTHON_TOOLS:-} ]] || leave_out "Python's libraries and a mail server" tools::python real_mail_server pyjwt_verifies
[[ -n ${PX_TEST_NODE:-} ]] || leave_out "Node 22.21 or later" tools::node jose_verifies
has javac || leave_out "a JDK, for the tools behind pyxis run" tools::java
has gh || leave_out "gh, for the tools behind pyxis run" tools::github
compgen -G '/usr/lib*/**/libnss_wrapper.so' >/dev/null || leave_out nss_wrapper tools::github tools::java
has umoci || leave_out umoci image::
{ has rsyslogd && compgen -G '/usr/lib/*/rsyslog/lmnsd_gtls.so' >/dev/null; } || leave_out rsyslog observability::audit_push::rsyslog
{ has prometheus && has promtool; } || leave_out prometheus observability::alerts
has pgbouncer || leave_out PgBouncer a_pooler_in
compgen -G '/usr/lib*/**/faketime/libfaketime.so.1' >/dev/null || leave_out faketime cli::preloaded
if ((${#missing[@]})) && [[ -n ${PX_TEST_STRICT:-} ]]; then
    echo "missing: ${missing[*]}" >&2
    exit 1
fi
# Nobody can install these: the kernel has them or not.
unshare --user --map-root-user true 2>/dev/null || leave_out "user namespaces" image::
unshare --mount mount -t tmpfs -o size=1m tmpfs /mnt 2>/dev/null || leave_out "mount namespaces" full_disk::
printf -v missing_list '%s, ' "${missing[@]}"

# ci/patroni.sh starts the servers of these, and runs them; they are counted as skipped here.
elsewhere=patroni::
names+=("$elsewhere")

# took NAME STARTED: notes how long a part took, for the closing lines.
took() { echo "$1 $((EPOCHSECONDS - $2)) s" >>"$output/durations"; }
# part NAME LOG COMMAND...: runs a part.
part() {
    local name=$1 log=$2 started=$EPOCHSECONDS
    shift 2
    "$@" >"$output/$log" 2>&1 || touch "$output/$log.failed"
    took "$name" "$started"
}
# show LOG PATTERN: the lines of a part that say what it did; all of them if it failed.
failed=0
show() {
    if [[ -e $output/$1.failed ]]; then
        cat "$output/$1"
        failed=1
    else
        grep -E "$2" "$output/$1" || true
    fi
}

# tests: every Rust test but those that are left out.
tests() {
    local name filter=() skip=()
    if cargo nextest --version >/dev/null 2>&1; then
        for name in "${names[@]}"; do filter+=("and not test($name)"); done
        cargo nextest run --workspace --locked --color "$color" -E "all() ${filter[*]}"
    else
        echo "cargo-nextest is missing; running cargo test"
        for name in "${names[@]}"; do skip+=(--skip "$name"); done
        cargo test --workspace --locked --no-fail-fast --color "$color" -- "${skip[@]}"
    fi
}

# pooled_tests: what the product promises above all, nodes that act as one, and the store's transactions and
# notifications, with a pooler between them and the database.
pooled_tests() {
    local selected=(-E '(test(durability) or test(gateway::nodes) or test(/^transactions::/)) and test(postgres)')
    local runner=(cargo nextest run)
    if ! cargo nextest --version >/dev/null 2>&1; then
        selected=(-- durability gateway::nodes transactions::)
        runner=(cargo test)
    fi
    ci/pgbouncer.sh "${runner[@]}" --workspace --locked "${selected[@]}"
}

# without_a_browser: parts that share no folder with the browser tests, in turn.
without_a_browser() {
    part "requests of every kind" requests ci/schemathesis.sh 45
    part "MCP for Python" mcp ci/mcp-python.sh
    part "MCP suite" conformance ci/conformance.sh
    part "Snapshot's client" snapshot ci/snapshot.sh
    part "clients of chat platforms" chats ci/chat-clients.sh slack discord
}

# contracts_and_libraries: at once, since they wait for downloads and servers, or compile. The contracts use the client of
# TypeScript.
contracts_and_libraries() {
    for name in python rust; do part "client of $name" "sdk-$name" "ci/sdk-$name.sh" & done
    part contracts solidity ci/solidity.sh
    part "client of typescript" sdk-typescript ci/sdk-typescript.sh
    wait
}

# closing: the runners' own closing lines, once more where they are seen; those of the Rust tests come last.
closing() {
    echo "== result"
    if ((${#missing[@]})); then
        echo "left out, and counted as skipped below: the tests that need ${missing_list%, }"
    fi
    grep -hE '^[a-zA-Z0-9 -]+: (skipped|left out)' "$output"/* || true
    # The filter leaves these out in every run. Each of them is a run of its own there.
    local ran
    ran=$(awk '/^ *Summary .* tests? run:/ { sub(/.*\]/, ""); n += $1 } /^test result:/ { n += $4 } END { print n + 0 }' "$output/failover")
    echo "counted as skipped below, but run in the part failover: $ran tests ($elsewhere)"
    paste -sd, "$output/durations" | sed 's/,/, /g'
    tail -n 15 "$output/e2e"
    grep -E '^test result|^error: test failed' "$output/tests" || true
    awk '/Summary/ { text = "" } /Summary/, 0 { text = text $0 "\n" } END { printf "%s", text }' "$output/tests"
}

echo "== form"
started=$EPOCHSECONDS
ci/lint.sh
took form "$started"

echo "== tests"
started=$EPOCHSECONDS
tests 2>&1 | tee "$output/tests" || failed=1
took tests "$started"

# The Rust tests have just built it; built alone, it would be compiled once more.
program=$(realpath "${CARGO_TARGET_DIR:-target}/debug/pyxis")

echo "== failover, PgBouncer and packages"
# At once: servers that fail over wait for each other most of the time.
part failover failover ci/patroni.sh &
part packages packaging env PX_TEST_PYXIS="$program" ci/packaging.sh &
if [[ -n ${PX_TEST_POSTGRES:-} ]]; then
    part "through PgBouncer" pooler pooled_tests
    show pooler 'Summary|^test result'
fi
wait
show failover '^ *patroni: |^failover: | leads, after '
show packaging '^packaging:'

export PX_TEST_PYXIS=$program
echo "== browser tests, and meanwhile what needs no browser"
without_a_browser &
started=$EPOCHSECONDS
ci/e2e.sh 2>&1 | tee "$output/e2e" || failed=1
took "browser tests" "$started"
wait
show requests '^== |generated|^schemathesis'
show mcp '^python client:'
show conformance '^conformance:'
show snapshot '^(ℹ (pass|fail)|snapshot:)'
show chats '^(ℹ (pass|fail)|chat clients:)'

echo "== contracts and client libraries"
contracts_and_libraries
show solidity '^(# (pass|fail)|ℹ (pass|fail)|Suite result|solidity:)'
for name in typescript python rust; do show "sdk-$name" '^(pass|typescript:|sdk [a-z]+:)'; done

closing
exit "$failed"
