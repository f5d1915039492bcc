#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# frontier.sh [SIZE…]: seconds of one core for the plans of GPT-2, by size.  `saved` finds the whole frontier for its
# flip prices, `grad` does everything before that: the difference is the frontier, the plan and the report.
#
#   BUILD  the build (build)      AT  the sizes of the graph's symbols (N=8,T=1024)
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build} at=${AT:-N=8,T=1024}
[ $# -gt 0 ] || set -- 124M 355M 774M 1558M
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
seconds() {
    { command time -f '%U %S' "$@" >/dev/null; } 2>&1 | awk '{ printf "%.2f", $1 + $2 }'
}
echo '| model | values saved at most | grad, s | grad and frontier, s |'
echo '|---|---|---|---|'
for size; do
    file=$folder/$size.gcut
    "$build/examples/zoo" gpt2 --size "$size" --dump "$file"
    saved=$("$build/gradcut" saved "$file" --at "$at" --policy save-all | awk '/^saved for/ { print $4 }')
    before=$(seconds "$build/gradcut" grad "$file" --at "$at")
    after=$(seconds "$build/gradcut" saved "$file" --at "$at" --policy save-all)
    echo "| gpt2 $size | $saved | $before | $after |"
done
