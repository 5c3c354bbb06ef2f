#!/bin/sh
# Makes the secrets of the compose files, where they are missing, in the folder secrets next to this script. Run it as
# root. Back up secrets/key apart from the database: without it, no one can read the stored secrets.
set -eu
cd "$(dirname "$0")"

if [ "$(id -u)" != 0 ]; then
    echo "secrets.sh: run it as root, which can give each file to the user of the container that reads it" >&2
    exit 1
fi

# Only root may enter the folder. A container sees single files, each owned by the user that reads it there.
umask 077
mkdir -p secrets
cd secrets

# random BYTES: in hexadecimal.
random() { od -An -v -tx1 -N"$1" /dev/urandom | tr -d ' \n'; }
# keep FILE USER: writes standard input to a file that does not exist yet. USER, a number, owns it and alone reads it.
keep() {
    if [ ! -e "$1" ]; then
        cat >"$1.new"
        chmod 400 "$1.new"
        mv "$1.new" "$1"
    fi
    chown "$2" "$1"
    chmod 400 "$1"
}
# Users of the images: pyxis, postgres:17 (Debian) and edoburu/pgbouncer (Alpine).
pyxis=65532 postgres=999 pgbouncer=70
random 32 | keep key "$pyxis"
random 24 | keep postgres_password "$postgres"
password=$(cat postgres_password)
echo "postgres://pyxis:$password@pgbouncer:6432/pyxis" | keep database_url "$pyxis"
echo "\"pyxis\" \"$password\"" | keep pgbouncer_users "$pgbouncer"
