#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# subproject_test.sh add|fetch: gradcut as a part of another project.  Its steps are compiled with all their flags; the
# project's own settings stay as they are.  `add` configures; `fetch` builds too, with the run-time library alone.
. "$SOURCE/tests/install/common.sh"
cp -r "$here/subproject" "$here/net.gcut" .
set -- "$1" -S subproject -B build -G "$GENERATOR" -DCMAKE_C_COMPILER="$CC"
case $1 in
add)
    shift
    quietly "$CMAKE" "$@" -DGRADCUT_SOURCE="$SOURCE"
    check_flags build
    ;;
fetch)
    shift
    # A parent's own -O0 does not reach the step, and makes the run-time library cheap to build.
    quietly "$CMAKE" "$@" -DBY_FETCH=ON -DFETCHCONTENT_SOURCE_DIR_GRADCUT="$SOURCE" -DGRADCUT_RT_ONLY=ON \
        -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0 -DGRADCUT_COMMAND="$BUILD/gradcut"
    quietly "$CMAKE" --build build --target train
    check_flags build
    build/train || fail "the program"
    ! grep -iE 'glpk|jansson|protobuf|zip' build/CMakeCache.txt || fail "the run-time library alone asks for the compiler's libraries"
    ;;
esac
