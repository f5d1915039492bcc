#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# pictures.sh [--check]: makes the pictures of the README from a build, by the shipped machine model, so that they are the
# same everywhere: doc/frontier.svg and doc/memory.svg, of GPT-2 124M, and, where Chromium is installed, doc/report.png, the
# first screen of its page.  --check: compares the first two instead.  A minute.
#
#   BUILD  the build (build)
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$build/examples/zoo" gpt2 --size 124M --dump "$work/gpt2.gcut" >/dev/null
check=${1-}
set -- "$work/gpt2.gcut" --at N=4,T=256 --threads 2 --machine shipped
"$build/gradcut" plan "$@" -o "$work/free.json" >/dev/null
"$build/gradcut" mem "$@" --budget 1300MB --against "$work/free.json" --svg "$work/memory.svg" >/dev/null
"$build/gradcut" frontier "$@" --svg "$work/frontier.svg" >/dev/null
if [ "$check" != --check ] && command -v chromium >/dev/null; then
    "$build/gradcut" report "$@" --budget 1300MB --against "$work/free.json" --no-frontier -o "$work/report.html" >/dev/null
    chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1280,1500 --screenshot="$work/report.png" \
        "file://$work/report.html" >/dev/null 2>&1
    cp "$work/report.png" doc/report.png
fi
for name in memory frontier; do
    if [ "$check" = --check ]; then
        cmp "$work/$name.svg" "doc/$name.svg"
    else
        cp "$work/$name.svg" "doc/$name.svg"
    fi
done
