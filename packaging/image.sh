#!/usr/bin/env bash
# An OCI image of the signer, made without a daemon: the root of rootfs.sh, the facts of the Containerfile.
#
#   packaging/image.sh BINARY LAYOUT
#
# LAYOUT is a new folder; the image in it is called latest. Needs umoci and strip (Debian: apt-get install
# umoci binutils), no root.
set -euo pipefail

if [[ $# != 2 || ! -x $1 || -e $2 ]]; then
    echo "usage: packaging/image.sh BINARY LAYOUT, with a program that can be run and a new folder" >&2
    exit 2
fi
here=$(dirname "${BASH_SOURCE[0]}")
image=$2:latest

root=$(mktemp -d "${TMPDIR:-/tmp}/px-image.XXXXXX")
trap 'rm -rf "$root"' EXIT
"$here/rootfs.sh" "$1" "$root"

# The words behind an instruction; those of a list without its quotes.
fact() { sed -n "s/^$1 //p" "$here/Containerfile" | tr -d '[]",'; }

config=(--config.user "$(fact USER)" --config.exposedports "$(fact EXPOSE)")
for word in $(fact ENTRYPOINT); do config+=(--config.entrypoint "$word"); done
for word in $(fact CMD); do config+=(--config.cmd "$word"); done

umoci init --layout "$2"
umoci new --image "$image"
# Whoever makes it, the files belong to root in there.
umoci insert --rootless --image "$image" "$root" /
umoci config --image "$image" "${config[@]}"
