#!/usr/bin/env bash
# ci/postgres.sh COMMAND...: runs COMMAND with PX_TEST_POSTGRES naming a fresh PostgreSQL server on
# loopback, in a temporary directory, and stops the server afterwards. PX_POSTGRES_BIN names the directory
# of another version's initdb and postgres, PX_POSTGRES_BUFFERS the memory for its cache (shared_buffers).
# PX_POSTGRES_PRELOAD names a library that the server loads (shared_preload_libraries).
# With PX_POSTGRES_DURABLE=1 commits reach the disk, as benchmarks of them need.
set -euo pipefail

if (($# == 0)); then
    echo "usage: ci/postgres.sh COMMAND..." >&2
    exit 2
fi

find_bin() {
    local newest
    if [[ -n ${PX_POSTGRES_BIN:-} ]]; then
        realpath "$PX_POSTGRES_BIN"
        return
    fi
    newest=$(compgen -G '/usr/lib/postgresql/*/bin/initdb' | sort -V | tail -n 1 || true)
    [[ -n $newest ]] || newest=$(command -v initdb || true)
    if [[ -n $newest ]]; then dirname "$newest"; fi
}

# PostgreSQL refuses to run as root. setpriv becomes the command, so its process id is the server's.
unprivileged() {
    if ((EUID == 0)); then
        exec setpriv --reuid=postgres --regid=postgres --clear-groups -- "$@"
    fi
    exec "$@"
}

bin=$(find_bin)
if [[ -z $bin ]]; then
    echo "PostgreSQL is not installed (apt-get install postgresql); tests with it cannot run" >&2
    if [[ -n ${PX_TEST_STRICT:-} ]]; then exit 1; fi
    exec "$@"
fi
# place: memory, where there is room. Every test makes a database and removes it, which is hundreds of files.
place() {
    local free
    free=$(df --output=avail --block-size=1G /dev/shm 2>/dev/null | tail -n 1 || true)
    if [[ -z ${PX_POSTGRES_DURABLE:-} && -w /dev/shm && ${free:-0} -ge 4 ]]; then
        echo /dev/shm
    else
        echo "${TMPDIR:-/tmp}"
    fi
}
directory=$(mktemp -d "$(place)/px-postgres.XXXXXX")
server=

stop() {
    if [[ -n $server ]]; then
        kill -INT "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    fi
    rm -rf "$directory"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

if ((EUID == 0)); then chown postgres: "$directory"; fi
cd "$directory" # the server's user may not enter the caller's directory
(unprivileged "$bin/initdb" -D "$directory/data" -U px -A trust -E UTF8 --locale=C.UTF-8 --no-sync) \
    >"$directory/initdb.log" 2>&1 || { cat "$directory/initdb.log" >&2; exit 1; }

settings=(-c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=300
    -c shared_buffers="${PX_POSTGRES_BUFFERS:-128MB}" -c shared_preload_libraries="${PX_POSTGRES_PRELOAD:-}")
# Nothing here outlives a test, so nothing needs to reach the disk.
if [[ -z ${PX_POSTGRES_DURABLE:-} ]]; then
    settings+=(-c fsync=off -c synchronous_commit=off -c full_page_writes=off)
fi

# start PORT: whether the server runs there. A taken port ends the server at once.
start() {
    (unprivileged "$bin/postgres" -D "$directory/data" -p "$1" "${settings[@]}") >>"$directory/server.log" 2>&1 &
    server=$!
    for _ in $(seq 300); do
        if ! kill -0 "$server" 2>/dev/null; then
            server=
            return 1
        fi
        if [[ $(tail -n 1 "$directory/data/postmaster.pid" 2>/dev/null) == ready* ]]; then return 0; fi
        sleep 0.1
    done
    return 1
}

for _ in $(seq 10); do
    port=$((20000 + RANDOM % 12000))
    if start "$port"; then break; fi
done
if [[ -z $server ]]; then
    cat "$directory/server.log" >&2
    echo "PostgreSQL does not start" >&2
    exit 1
fi

cd "$OLDPWD"
echo "== PostgreSQL on port $port"
export PX_TEST_POSTGRES="postgres://px@127.0.0.1:$port/postgres"
status=0
"$@" || status=$?
exit "$status"
