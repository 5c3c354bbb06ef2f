#!/bin/sh
# Makes the secrets of the compose files, where they are missing, in the folder secrets next to this script. Run it as
# root. Back up secrets/key apart from the database: without it, no one can read the stored secrets.
set -eu
cd "$(dirname "$0")"

# Only root may enter the folder. A container sees single files, and reads them as its own user.
umask 077
mkdir -p secrets
cd secrets

# random BYTES: in hexadecimal.
random() { od -An -v -tx1 -N"$1" /dev/urandom | tr -d ' \n'; }
# keep FILE: writes standard input to a file that does not exist yet.
keep() {
    if [ ! -e "$1" ]; then
        cat >"$1.new"
        chmod 444 "$1.new"
        mv "$1.new" "$1"
    fi
}
random 32 | keep key
random 24 | keep postgres_password
password=$(cat postgres_password)
echo "postgres://pyxis:$password@pgbouncer:6432/pyxis" | keep database_url
echo "\"pyxis\" \"$password\"" | keep pgbouncer_users
