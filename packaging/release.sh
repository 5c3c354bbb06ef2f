#!/usr/bin/env bash
# The files of a release, in FOLDER or dist/VERSION: the program with its unit, the Debian package, the image, the bill of
# materials, and their SHA-256 sums. It publishes nothing; its last lines say how to sign.
#
#   packaging/release.sh VERSION [BINARY [FOLDER]]
#
# Without BINARY, the program is built. Needs cargo-deb, umoci and binutils, as image.sh does. PX_DEB_FLAGS has more
# options for cargo-deb, PX_GZIP_FLAGS those for gzip.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=packaging/facts.sh
. packaging/facts.sh

out=${3:-dist/$VERSION}
if [[ $# != [123] || $1 != "$VERSION" || -e $out ]]; then
    echo "usage: packaging/release.sh VERSION [BINARY [FOLDER]]" >&2
    echo "VERSION is that of Cargo.toml, $VERSION, and $out must not exist" >&2
    exit 2
fi
binary=${2:-}
if [[ -z $binary ]]; then
    cargo build --release --locked --package pyxis --bin pyxis
    binary=${CARGO_TARGET_DIR:-target}/release/pyxis
fi
case $(LC_ALL=C readelf -h "$binary" | sed -n 's/^ *Machine: *//p') in
    AArch64) machine=aarch64 debian=arm64 ;;
    *) machine=x86_64 debian=amd64 ;;
esac
strip=strip
if [[ $machine != "$(uname -m)" ]]; then strip=$machine-linux-gnu-strip; fi

work=$(mktemp -d "${TMPDIR:-/tmp}/px-release.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"

# pack FILE FOLDER NAME: a compressed archive that depends on nothing but its content and the commit.
pack() {
    tar --create --use-compress-program="gzip ${PX_GZIP_FLAGS:-}" --file "$out/$1" --format=gnu --sort=name \
        --mtime="@$SOURCE_DATE_EPOCH" --numeric-owner --owner=0 --group=0 -C "$2" "$3"
}

echo "== program"
folder=pyxis-$VERSION-$machine-linux
mkdir -p "$work/$folder"
"$strip" -o "$work/$folder/pyxis" "$binary"
cp LICENSE README.md CHANGELOG.md docs/reference/cli.md docs/reference/configuration.md packaging/pyxis.service \
    packaging/debian/pyxis.env packaging/debian/pyxis-admin "$work/$folder"
mkdir -p "$work/$folder"/packaging/{prometheus,grafana}
for documents in docs docs/guides docs/reference docs/reference/behavior docs/explanation docs/decisions; do
    mkdir -p "$work/$folder/$documents"
    cp "$documents"/*.md "$work/$folder/$documents"
done
cp packaging/prometheus/alerts.yaml "$work/$folder/packaging/prometheus"
cp packaging/grafana/pyxis.json "$work/$folder/packaging/grafana"
here=$work/$folder/pyxis
if [[ $machine != "$(uname -m)" ]]; then
    # The program of another machine cannot say what its commands are.
    env -u CARGO_BUILD_TARGET cargo build --locked --package pyxis --bin pyxis
    here=${CARGO_TARGET_DIR:-target}/debug/pyxis
fi
packaging/manual.sh "$here" "$work/$folder"
chmod -R u=rwX,go=rX "$work/$folder"

target=$machine-unknown-linux-gnu
debian_package() {
    mkdir -p "$work/target/$target/release"
    cp -R "$work/$folder"/{pyxis,man,completions} "$work/target/$target/release"
    # shellcheck disable=SC2086
    CARGO_TARGET_DIR=$work/target cargo deb --package pyxis --target "$target" --no-build --no-strip --quiet \
        ${PX_DEB_FLAGS:-} --output "$out/pyxis_${VERSION}_$debian.deb"
}
image() {
    packaging/image.sh "$work/$folder/pyxis" "$work/pyxis-$VERSION-$machine-image" >/dev/null
    pack "pyxis-$VERSION-$machine-image.tar.gz" "$work" "pyxis-$VERSION-$machine-image"
}
echo "== archive, Debian package, image, bill of materials"
# At once, because each of them compresses the program on one core.
pack "$folder.tar.gz" "$work" "$folder" &
parts=($!)
debian_package &
parts+=($!)
image &
parts+=($!)
packaging/sbom.py --target "$target" >"$out/pyxis-$VERSION-$machine.cdx.json" &
parts+=($!)
for part in "${parts[@]}"; do wait "$part"; done

(cd "$out" && sha256sum -- pyxis* >SHA256SUMS)
cat <<END
== $out
$(cat "$out/SHA256SUMS")

Sign the sums, which cover everything else, with one of
  minisign -Sm $out/SHA256SUMS
  cosign sign-blob --bundle $out/SHA256SUMS.sigstore.json $out/SHA256SUMS
END
