#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# tree_test.sh: a build tree that was moved.  The command compiles steps there, from any depth below the build folder, but
# not by a gradcut-build.txt that somebody else put above it.
. "$SOURCE/tests/install/common.sh"
unset GRADCUT_INCLUDE_DIR GRADCUT_RT_LIBRARY GRADCUT_BLIS_LIBRARY
mkdir -p first/build/some/where
cp -r "$SOURCE/include" first
cp "$BUILD/gradcut" "$BUILD/libgradcut_rt.a" first/build
cp "$BUILD/gradcut" first/build/some/where
# As CMake writes it for a build folder in the tree.
printf 'include=../include\nlibrary=libgradcut_rt.a\n' >first/build/gradcut-build.txt
for key in include library; do
    path=$(sed -n "s/^$key=//p" "$BUILD/gradcut-build.txt")
    [ -e "$BUILD/$path" ] || fail "$BUILD/gradcut-build.txt: no $BUILD/$path"
done
mv first tree

# compiles COMMAND: whether it does
compiles() { rm -f step.so && "$1" compile "$here/net.gcut" --shared -o step >log 2>&1 && [ -s step.so ]; }

compiles tree/build/gradcut || fail "build/gradcut: $(cat log)"
cp "$BUILD/gradcut" tree/program
compiles tree/program || fail "a program at the top of the tree: $(cat log)"
compiles tree/build/some/where/gradcut || fail "build/some/where/gradcut: $(cat log)"
nowhere_else || exit 0
if [ "$(id -u)" -eq 0 ]; then
    chown 12345 tree/build/gradcut-build.txt
    ! compiles tree/build/gradcut || fail "a file of another user was followed"
    chown 0 tree/build/gradcut-build.txt
fi
for broken in 'include=../include' 'library=none.a' ''; do
    printf '%s\n' "$broken" >tree/build/gradcut-build.txt
    ! compiles tree/build/gradcut || fail "it compiled by '$broken'"
    grep -q 'cannot find the run-time library' log || fail "it says: $(cat log)"
done
