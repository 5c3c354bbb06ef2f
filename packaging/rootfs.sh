#!/usr/bin/env bash
# The content of the image: the stripped program, the libraries that it loads, its license and its bill of materials.
# No shell, no package manager, no database; public certificates are inside the program.
#
#   packaging/rootfs.sh BINARY DIRECTORY
#
# DIRECTORY/root becomes the root of the image, and DIRECTORY/data, which is empty, its data directory. Needs strip and
# readelf (Debian: apt-get install binutils), cargo and Python. The libraries are this machine's, so build the program
# here. A program for arm64 needs the libraries of gcc-aarch64-linux-gnu.
set -euo pipefail

if [[ $# != 2 || ! -x $1 ]]; then
    echo "usage: packaging/rootfs.sh BINARY DIRECTORY, with a program that can be run" >&2
    exit 2
fi
here=$(dirname "${BASH_SOURCE[0]}")
binary=$1
root=$2/root

case $(LC_ALL=C readelf -h "$binary" | sed -n 's/^ *Machine: *//p') in
    *X86-64) triplet=x86_64-linux-gnu ;;
    AArch64) triplet=aarch64-linux-gnu ;;
    *) echo "rootfs.sh: only programs for x86-64 and AArch64" >&2; exit 1 ;;
esac

# find_library NAME: its path on this machine, natively or for cross-compilation.
find_library() {
    local directory
    for directory in "/lib/$triplet" "/usr/lib/$triplet" "/usr/$triplet/lib" "/lib64"; do
        if [[ -e $directory/$1 ]]; then
            echo "$directory/$1"
            return
        fi
    done
    echo "rootfs.sh: there is no $1 for $triplet on this machine" >&2
    return 1
}

declare -A packages
# take NAME TARGET: copies a library, and all that it loads.
take() {
    local source package
    if [[ -e $root$2 ]]; then return; fi
    source=$(realpath "$(find_library "$1")")
    install -D "$source" "$root$2"
    # The loader of programs that were merged into /usr may be listed under its former path.
    package=$(dpkg-query -S "$source" "${source#/usr}" 2>/dev/null | head -n 1 | cut -d: -f1 || true)
    if [[ -n $package ]]; then packages[$package]=1; fi
    take_needed "$source"
}
take_needed() {
    local name
    for name in $(LC_ALL=C readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
        case $name in
            ld-linux*) ;; # the interpreter, which the program names with its path
            *) take "$name" "/lib/$triplet/$name" ;;
        esac
    done
}

mkdir -p "$root/usr/bin" "$root/var/lib"
install -d -m 700 "$2/data"
strip=strip
if [[ $triplet != "$(uname -m)-linux-gnu" ]]; then strip=$triplet-strip; fi
"$strip" -o "$root/usr/bin/pyxis" "$binary"
interpreter=$(LC_ALL=C readelf -l "$binary" | sed -n 's/.*program interpreter: \(.*\)]/\1/p')
take "$(basename "$interpreter")" "$interpreter"
take_needed "$binary"

install -D -m 644 "$here/../LICENSE" "$root/usr/share/doc/pyxis/LICENSE"
libraries=()
for package in "${!packages[@]}"; do
    libraries+=(--debian "$package=$(dpkg-query -W -f '${Version}' "$package" | head -n 1)")
done
"$here/sbom.py" --target "${triplet%%-*}-unknown-linux-gnu" "${libraries[@]}" \
    >"$root/usr/share/doc/pyxis/sbom.cdx.json"
# The user who runs it did not make it.
chmod -R u=rwX,go=rX "$root"
