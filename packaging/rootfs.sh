#!/usr/bin/env bash
# The root of a small image: the stripped program, the libraries that it loads, and nothing else. No shell, no
# package manager, no database; public certificates are inside the program.
#
#   packaging/rootfs.sh BINARY DIRECTORY
#
# Needs strip (Debian: apt-get install binutils). The libraries are this machine's, so build the program here.
set -euo pipefail

if [[ $# != 2 || ! -x $1 ]]; then
    echo "usage: packaging/rootfs.sh BINARY DIRECTORY, with a program that can be run" >&2
    exit 2
fi
binary=$1
root=$2

mkdir -p "$root/usr/bin"
strip -o "$root/usr/bin/pyxis" "$binary"
ldd "$binary" | grep -oE '/[^ ]+' | while read -r library; do
    install -D "$(realpath "$library")" "$root$library"
done
# Whoever runs it in there is not who made it.
chmod -R u=rwX,go=rX "$root"
