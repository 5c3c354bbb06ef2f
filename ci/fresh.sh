#!/usr/bin/env bash
# ci/fresh.sh [DIRECTORY]: the README's two commands as somebody meets them who has just cloned the project
# onto a Debian with nothing but Rust and a C compiler, as a user without rights.
#
# Makes that Debian in DIRECTORY (by default a temporary one, removed afterwards; about 8 GB), so it needs
# root, debootstrap and the better part of an hour. What it runs is the last commit; the Rust toolchain is
# this machine's, which the other one sees and cannot change.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# In a mount and a process namespace of its own: whatever happens, nothing stays mounted and nothing runs on.
if [[ -z ${PX_FRESH_INSIDE:-} ]]; then
    PX_FRESH_INSIDE=1 exec unshare --mount --pid --fork --kill-child "ci/$(basename "$0")" "$@"
fi

root=${1:-}
if [[ -z $root ]]; then
    root=$(mktemp -d "${TMPDIR:-/var/tmp}/px-fresh.XXXXXX")
    # The mounts are undone first: what they show is this machine's.
    trap 'umount -R "$root"/{proc,dev,opt/rust,etc/ssl/certs}; rm -rf --one-file-system "$root"' EXIT
fi

echo "== a new Debian"
site=$(apt-get indextargets --format '$(SITE)' | head -n 1)
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
debootstrap --variant=minbase --include=build-essential,ca-certificates,curl,git "$suite" "$root" "$site" >/dev/null
cp /etc/resolv.conf "$root/etc/resolv.conf"
printf '127.0.0.1 localhost\n::1 localhost\n' >"$root/etc/hosts" # which Debian's installer writes
mkdir -p "$root/opt/rust"
mount --bind -o ro "$(rustc --print sysroot)" "$root/opt/rust"
mount --bind -o ro /etc/ssl/certs "$root/etc/ssl/certs"
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
chroot "$root" useradd --create-home somebody
git clone --quiet --no-hardlinks . "$root/home/somebody/pyxis"
install -m 755 ci/fresh/visit.sh "$root/home/somebody/visit.sh"
chroot "$root" chown -R somebody: /home/somebody

exec 3>&1
chroot "$root" setpriv --reuid=somebody --regid=somebody --init-groups --no-new-privs \
    env -i HOME=/home/somebody PATH=/opt/rust/bin:/usr/bin:/bin LANG=C.UTF-8 /home/somebody/visit.sh
