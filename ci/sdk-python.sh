#!/usr/bin/env bash
# ci/sdk-python.sh: checks, packs and tests the Python client (sdk/python). The tests run the installed wheel against a
# real server. PX_TEST_PYXIS names the built program; without it, it is built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# skip REASON: a developer's machine may lack a tool; the gate may not.
skip() {
    echo "sdk python: skipped, $1"
    if [[ -n ${PX_TEST_STRICT:-} ]]; then exit 1; fi
    exit 0
}

command -v python3 >/dev/null || skip "Python is missing (apt-get install python3 python3-venv)"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || skip "Python is older than 3.11, which reads pyproject.toml"

directory=$(mktemp -d "${TMPDIR:-/tmp}/px-sdk-python.XXXXXX")
trap 'rm -rf "$directory"' EXIT

# The versions stand in pyproject.toml. The environment is made on first use, next to the target directory.
python3 - sdk/python/pyproject.toml >"$directory/requirements" <<'PYTHON'
import sys, tomllib
print(*tomllib.load(open(sys.argv[1], "rb"))["dependency-groups"]["check"], sep="\n")
PYTHON
name=$(sha256sum <"$directory/requirements" | cut -c1-12)
environment=$(realpath -m "${CARGO_TARGET_DIR:-target}")/sdk-python-$name
bin=$environment/bin
if [[ ! -f $environment/ready ]]; then
    rm -rf "$environment"
    python3 -m venv "$environment" >"$directory/log" 2>&1 || skip "Python makes no venv (apt-get install python3-venv)"
    "$bin/pip" install --quiet --disable-pip-version-check -r "$directory/requirements" >"$directory/log" 2>&1 ||
        { cat "$directory/log" >&2; skip "pip cannot install the tools that sdk/python/pyproject.toml names"; }
    touch "$environment/ready"
fi

if [[ -z ${PX_TEST_PYXIS:-} ]]; then
    cargo build --locked --quiet --package pyxis --bin pyxis
    PX_TEST_PYXIS=$(realpath "${CARGO_TARGET_DIR:-target}/debug/pyxis")
fi
export PX_TEST_PYXIS PYTHONDONTWRITEBYTECODE=1

repository=$PWD
cd sdk/python

echo "== form and types"
"$bin/ruff" format --no-cache --check --quiet .
"$bin/ruff" check --no-cache --quiet .
"$bin/ruff" check --no-cache --quiet --ignore T201 ../../examples/python/score.py
"$bin/mypy" --cache-dir "$directory/mypy"

echo "== package"
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$repository/Cargo.toml" | head -n 1)
grep -qx "__version__ = \"$version\"" src/pyxis/_version.py ||
    { echo "src/pyxis/_version.py must have the version of Cargo.toml, $version" >&2; exit 1; }
cmp LICENSE "$repository/LICENSE"
# The wheel is built from the sdist, so the sdist is complete. Its tools are those installed above.
"$bin/python" -m build --no-isolation --outdir "$directory/dist" . >"$directory/build.log" 2>&1 ||
    { cat "$directory/build.log" >&2; exit 1; }
"$bin/twine" check --strict "$directory"/dist/* >"$directory/twine.log" || { cat "$directory/twine.log" >&2; exit 1; }

# content: the files of the wheel and the sdist are those of the sources, and no others.
"$bin/python" - "$directory/dist" "$version" <<'PYTHON'
import pathlib, sys, tarfile, zipfile

dist, version = pathlib.Path(sys.argv[1]), sys.argv[2]
sources = {str(path.relative_to("src")) for path in pathlib.Path("src/pyxis").rglob("*") if path.suffix in (".py", ".typed")}
wheel = set(zipfile.ZipFile(dist / f"pyxis_client-{version}-py3-none-any.whl").namelist())
info = f"pyxis_client-{version}.dist-info"
expected = sources | {f"{info}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "licenses/LICENSE")}
assert wheel == expected, wheel ^ expected
sdist = {name.split("/", 1)[1] for name in tarfile.open(dist / f"pyxis_client-{version}.tar.gz").getnames()}
expected = {f"src/{name}" for name in sources} | {"README.md", "LICENSE", "pyproject.toml", "PKG-INFO"}
# Packers add what version control ignores.
assert sdist - {".gitignore"} == expected, sdist ^ expected
PYTHON

echo "== tests"
"$bin/pip" install --quiet --disable-pip-version-check --no-deps --force-reinstall "$directory"/dist/*.whl
"$bin/python" -m pytest -q -p no:cacheprovider
echo "sdk python: the wheel of $version passes"
