#!/usr/bin/env bash
# Man pages and shell completions, made by PROGRAM, in FOLDER/man and FOLDER/completions.
#
#   packaging/manual.sh PROGRAM FOLDER
#
# A program for another machine cannot run here: give one that was built for this machine from the same commit.
set -euo pipefail

if [[ $# != 2 ]]; then
    echo "usage: packaging/manual.sh PROGRAM FOLDER" >&2
    exit 2
fi
mkdir -p "$2/man" "$2/completions"
"$1" man "$2/man"
"$1" completions bash >"$2/completions/pyxis"
"$1" completions zsh >"$2/completions/_pyxis"
"$1" completions fish >"$2/completions/pyxis.fish"
