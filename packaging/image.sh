#!/usr/bin/env bash
# An OCI image of Pyxis, made without a daemon: the content of rootfs.sh, the facts of the Containerfile.
#
#   packaging/image.sh BINARY LAYOUT
#
# LAYOUT is a new folder; the image in it is called latest. The same program and commit give the same image. Needs
# umoci and binutils (Debian: apt-get install umoci binutils), cargo and Python, no root.
set -euo pipefail

if [[ $# != 2 || ! -x $1 || -e $2 ]]; then
    echo "usage: packaging/image.sh BINARY LAYOUT, with a program that can be run and a new folder" >&2
    exit 2
fi
here=$(dirname "${BASH_SOURCE[0]}")
image=$2:latest
# shellcheck source=packaging/facts.sh
. "$here/facts.sh"

work=$(mktemp -d "${TMPDIR:-/tmp}/px-image.XXXXXX")
trap 'rm -rf "$work"' EXIT
"$here/rootfs.sh" "$1" "$work"

# The words behind an instruction; those of a list without its quotes.
fact() { sed -n "s/^$1 //p" "$here/Containerfile" | tr -d '[]",'; }
# pack OWNER ARGUMENTS...: appends files to the layer.
pack() {
    local owner=$1
    shift
    tar --append --file "$work/layer.tar" --format=gnu --sort=name --mtime="@$SOURCE_DATE_EPOCH" \
        --numeric-owner --owner="${owner%:*}" --group="${owner#*:}" "$@"
}
# The files belong to root in there, except the data directory, no matter who makes the image.
pack 0:0 -C "$work/root" .
pack "$(fact USER)" --transform "s|^data|.$(fact VOLUME)|" -C "$work" data

config=(--config.user "$(fact USER)" --config.workingdir "$(fact WORKDIR)" --config.volume "$(fact VOLUME)"
    --config.exposedports "$(fact EXPOSE)" --config.stopsignal "$(fact STOPSIGNAL)")
for word in $(fact ENTRYPOINT); do config+=(--config.entrypoint "$word"); done
for word in $(fact CMD); do config+=(--config.cmd "$word"); done
while read -r setting; do config+=(--config.env "$setting"); done < <(fact ENV)
while read -r label; do
    for name in VERSION REVISION CREATED; do label=${label//\$$name/${!name}}; done
    config+=(--config.label "$label" --manifest.annotation "$label")
done < <(sed -n 's/^LABEL \([^=]*=\)"\(.*\)"$/\1\2/p' "$here/Containerfile")
case $(LC_ALL=C readelf -h "$1") in
    *AArch64*) architecture=arm64 ;;
    *) architecture=amd64 ;;
esac

umoci init --layout "$2"
umoci new --image "$image"
history=(--history.created "$CREATED" --history.created_by packaging/image.sh)
umoci raw add-layer --image "$image" "${history[@]}" "$work/layer.tar"
umoci config --image "$image" --architecture "$architecture" --os linux --created "$CREATED" "${history[@]}" \
    "${config[@]}"
# Only the last of these steps is the image.
umoci gc --layout "$2"
