#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# symbols_test.sh: what the shared libraries export is what symbols/ lists (GCUT_BLESS=1 rewrites the lists), the public
# headers declare all of it, what the static libraries define and the headers name is all there, and so are the functions
# that they declare.  doc/embedding.md says what may change in a version.
. "$SOURCE/tests/install/common.sh"
export LC_ALL=C

# number MACRO HEADER
number()
{
    sed -n "s/^#define $1 //p" "$SOURCE/include/gradcut/$2"
}

# check NAME SONAME-VERSION HEADER
check()
{
    name=$1 version=$2 header=$3
    library=$BUILD/$name.so
    list=$here/symbols/$name.txt
    soname=$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\].*/\1/p')
    [ "$soname" = "$name.so.$version" ] || fail "$library has the soname '$soname'"
    nm -D --defined-only "$library" | awk '{ print $3 }' | sort >"$name"
    [ -s "$name" ] || fail "$library exports nothing"
    [ -z "${GCUT_BLESS-}" ] || cp "$name" "$list"
    diff -u "$list" "$name" >"$name.diff" || {
        cat "$name.diff" >&2
        fail "$name exports something else; if that is meant: GCUT_BLESS=1 ctest -R install_symbols"
    }
    words_of "$header" >words
    undeclared=$(comm -23 "$name" words)
    [ -z "$undeclared" ] || fail "$name exports what no header declares: $undeclared"
    nm --extern-only --defined-only "$BUILD/$name.a" 2>/dev/null | awk 'NF == 3 { print $3 }' | sort -u >"$name.static"
    missing=$(comm -23 "$name.static" "$name" | comm -12 - words)
    [ -z "$missing" ] || fail "$name does not export what $header declares: $missing"
}

# The words of headers after expansion: some functions are declared by macros.
words_of()
{
    for each in $1; do echo "#include \"$each\""; done >all.c
    "$CC" -E -P -I"$SOURCE/include" all.c >all.i
    grep -oE '\b[a-zA-Z_][a-zA-Z0-9_]*\b' all.i | sort -u
}

check libgradcut_rt "$(number GCUT_RT_ABI version.h)" "$SOURCE"/include/gradcut/gradcut_rt.h
# They include gradcut.h, which does not include them.
check libgradcut "$(number GCUT_VERSION_MAJOR version.h)" "gradcut/fit.h gradcut/inspect.h gradcut/trace.h gradcut/train.h"

# Every declaration marked for export, one a line.
tr '\n' ' ' <all.i | tr ';' '\n' | sed -n 's/.*visibility("default"))) *[^(]*[ *]\(gcut_[a-zA-Z0-9_]*\) *(.*/\1/p' |
    sort -u >declared
[ "$(wc -l <declared)" -gt 50 ] || fail "the public declarations are not found"
missing=$(comm -23 declared libgradcut)
[ -z "$missing" ] || fail "the headers declare what libgradcut does not have: $missing"
