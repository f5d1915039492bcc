#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# languages_test.sh GRADCUT SOURCE_DIR [emit]
#
# The emitted C of every model of the corpus, the zoo, the loops and the examples, without and with the lines of the
# model, of the examples for calls that come apart too, is C17 without a warning of -Wall -Wextra -pedantic, and C++17 without a warning of -Wall -Wextra, for every
# compiler of gcc, g++, clang and clang++ that is installed.  But for the nightly run, with the lines are those of the
# examples and the loops alone, and clang, whose warnings differ from gcc's in few, reads every third file.
#
# emit: the files are written and not compiled, where the command is built with sanitizers and the files are the same.
set -eu
gradcut=$1 source=$2 emit=${3:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

c= cxx=
for compiler in gcc clang; do command -v "$compiler" >/dev/null && c="$c $compiler"; done
for compiler in g++ clang++; do command -v "$compiler" >/dev/null && cxx="$cxx $compiler"; done
[ -n "$c" ] || { echo "languages_test: neither gcc nor clang is installed" >&2; exit 1; }

n=0
for model in "$source"/tests/corpus/*.gcut "$source"/tests/models/*.gcut "$source"/tests/loops/*.gcut \
    "$source"/examples/*.gcut; do
    optimizer=none
    case $model in
    */corpus/split.gcut) continue ;; # no step: a backward graph
    */examples/*) optimizer='adamw(lr=0.001)' ;;
    esac
    n=$((n + 1))
    "$gradcut" compile "$model" -o "$work/step$n" --optimizer "$optimizer" >/dev/null
    case ${GCUT_NIGHTLY:+all}$model in
    all* | */examples/* | */loops/*)
        "$gradcut" compile "$model" -o "$work/step${n}_lines" --optimizer "$optimizer" --line >/dev/null ;;
    esac
    case $model in */examples/*) "$gradcut" compile "$model" -o "$work/step${n}_apart" --apart >/dev/null ;; esac
done
[ "$n" -gt 20 ] || { echo "languages_test: only $n models were found" >&2; exit 1; }

[ "$emit" != emit ] || { echo "$n models"; exit 0; }

# files COMPILER: what it reads
files()
{
    case ${GCUT_NIGHTLY:+all}$1 in
    clang*) ls "$work"/step*.c | awk 'NR % 3 == 0' ;;
    *) ls "$work"/step*.c ;;
    esac
}

for compiler in $c; do
    files "$compiler" | xargs "$compiler" -std=c17 -Wall -Wextra -pedantic -Werror -fsyntax-only -I"$source/include"
done
for compiler in $cxx; do
    files "$compiler" | xargs "$compiler" -x c++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only -I"$source/include"
done

# With the header of another version of the run-time interface, no compiler takes it.
mkdir "$work/other"
cp -r "$source/include/gradcut" "$work/other"
sed 's/^#define GCUT_RT_ABI .*/#define GCUT_RT_ABI 999/' "$source/include/gradcut/version.h" >"$work/other/gradcut/version.h"
for compiler in $c; do
    ! "$compiler" -std=c17 -fsyntax-only -I"$work/other" "$work/step1.c" 2>"$work/log" ||
        { echo "languages_test: $compiler takes a header of another version" >&2; exit 1; }
    grep -q 'compile the model again' "$work/log" || { cat "$work/log" >&2; exit 1; }
done
echo "$n models;$c$cxx"
