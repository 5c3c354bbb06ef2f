#!/usr/bin/env bash
# ci/pgbouncer.sh COMMAND...: runs COMMAND with PX_TEST_POSTGRES naming a PgBouncer in session mode, which leads to the
# server that PX_TEST_POSTGRES named before.
set -euo pipefail

if (($# == 0)) || [[ -z ${PX_TEST_POSTGRES:-} ]]; then
    echo "usage: ci/postgres.sh ci/pgbouncer.sh COMMAND..." >&2
    exit 2
fi
if ! command -v pgbouncer >/dev/null; then
    echo "PgBouncer is not installed (apt-get install pgbouncer); tests with it cannot run" >&2
    [[ -z ${PX_TEST_STRICT:-} ]] || exit 1
    exit 0
fi

directory=$(mktemp -d "${TMPDIR:-/tmp}/px-pgbouncer.XXXXXX")
pooler=
stop() {
    if [[ -n $pooler ]]; then
        kill -TERM "$pooler" 2>/dev/null || true
        wait "$pooler" 2>/dev/null || true
    fi
    rm -rf "$directory"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

server=${PX_TEST_POSTGRES##*:}
port=$((30000 + RANDOM % 2000))
cat >"$directory/pgbouncer.ini" <<END
[databases]
* = host=127.0.0.1 port=${server%%/*} user=px
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $port
unix_socket_dir =
auth_type = any
pool_mode = session
default_pool_size = 80
max_client_conn = 1000
END
as=()
if ((EUID == 0)); then
    chown -R postgres: "$directory"
    as=(setpriv --reuid=postgres --regid=postgres --clear-groups --)
fi
"${as[@]}" pgbouncer -q "$directory/pgbouncer.ini" >"$directory/log" 2>&1 &
pooler=$!
for _ in $(seq 50); do
    if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then break; fi
    sleep 0.1
done
kill -0 "$pooler" 2>/dev/null || { cat "$directory/log" >&2; exit 1; }

echo "== PgBouncer on port $port"
export PX_TEST_POSTGRES="postgres://px@127.0.0.1:$port/postgres"
status=0
"$@" || status=$?
exit "$status"
