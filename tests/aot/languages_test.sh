#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# languages_test.sh GRADCUT SOURCE_DIR
#
# The emitted C of every model of the corpus, the zoo, the loops and the examples, without and with the lines of the
# model, of the examples for calls that come apart too, is C17 without a warning of -Wall -Wextra -pedantic, and C++17 without a warning of -Wall -Wextra, for every
# compiler of gcc, g++, clang and clang++ that is installed.
set -eu
gradcut=$1 source=$2
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
    "$gradcut" compile "$model" -o "$work/step${n}_lines" --optimizer "$optimizer" --line >/dev/null
    case $model in */examples/*) "$gradcut" compile "$model" -o "$work/step${n}_apart" --apart >/dev/null ;; esac
done
[ "$n" -gt 20 ] || { echo "languages_test: only $n models were found" >&2; exit 1; }

for compiler in $c; do
    "$compiler" -std=c17 -Wall -Wextra -pedantic -Werror -fsyntax-only -I"$source/include" "$work"/step*.c
done
for compiler in $cxx; do
    "$compiler" -x c++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only -I"$source/include" "$work"/step*.c
done

# With the header of another version of the run-time interface, no compiler takes it.
mkdir "$work/other"
cp -r "$source/include/gradcut" "$work/other"
sed 's/^#define GCUT_RT_ABI .*/#define GCUT_RT_ABI 999/' "$source/include/gradcut/rt_values.h" >"$work/other/gradcut/rt_values.h"
for compiler in $c; do
    ! "$compiler" -std=c17 -fsyntax-only -I"$work/other" "$work/step1.c" 2>"$work/log" ||
        { echo "languages_test: $compiler takes a header of another version" >&2; exit 1; }
    grep -q 'compile the model again' "$work/log" || { cat "$work/log" >&2; exit 1; }
done
echo "$n models;$c$cxx"
