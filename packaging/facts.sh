# Facts that every package states. Source this file: it sets VERSION, REVISION, CREATED and SOURCE_DATE_EPOCH. The same
# commit gives the same facts, so packages can be reproduced.
# shellcheck shell=bash disable=SC2034
source_root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
VERSION=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"$/\1/p' "$source_root/Cargo.toml")
REVISION=$(git -C "$source_root" rev-parse HEAD 2>/dev/null || echo unknown)
: "${SOURCE_DATE_EPOCH:=$(git -C "$source_root" log -1 --format=%ct 2>/dev/null || date +%s)}"
CREATED=$(date --utc --date="@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
export SOURCE_DATE_EPOCH
