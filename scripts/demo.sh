#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# demo.sh [FILE [OPTION…]]: builds gradcut and trains a small character-level GPT on a text file (default: Shakespeare),
# which takes about two minutes on two cores, and not much longer anywhere.
# For the options see build/examples/char_gpt --help.
set -eu
cd "$(dirname "$0")/.."
here=$PWD
file=data/shakespeare.txt
if [ $# -gt 0 ]; then
    case $1 in
    -*) ;;
    /*) file=$1 && shift ;;
    *) file=${OLDPWD:-$here}/$1 && shift ;;
    esac
fi
scripts/deps.sh
log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "building in build/"
{
    cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF -DGRADCUT_SANITIZE= &&
        cmake --build build --target char_gpt gradcut_cli --parallel "$(nproc)"
} >"$log" 2>&1 || {
    cat "$log" >&2
    exit 1
}
rm -f "$log"
exec build/examples/char_gpt --steps 2000 --seconds 150 "$@" "$file"
