#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# cross_test.sh: the run-time library alone, built for aarch64 and installed; a training step around it runs under qemu
# and has the losses of this machine, bit for bit.  scripts/aarch64.sh fetches what it needs.
. "$SOURCE/tests/install/common.sh"
sysroot=${GRADCUT_SYSROOT-$SOURCE/build-aarch64/sysroot}
blis=usr/lib/aarch64-linux-gnu/blis-serial/libblis.a
[ -f "$sysroot/$blis" ] || sysroot=/
for tool in aarch64-linux-gnu-gcc qemu-aarch64; do
    command -v $tool >/dev/null || skip "no $tool (scripts/aarch64.sh installs it)"
done
[ -f "$sysroot/$blis" ] || skip "no $blis (scripts/aarch64.sh fetches it)"
native=$BUILD/examples/aot/mlp_aot
[ -x "$native" ] || skip "no examples/aot for this machine"

# cross FOLDER BUILD OPTION…
cross()
{
    from=$1 to=$2
    shift 2
    quietly "$CMAKE" -S "$from" -B "$to" -G "$GENERATOR" -DGRADCUT_SYSROOT="$sysroot" \
        -DCMAKE_TOOLCHAIN_FILE="$SOURCE/cmake/toolchains/aarch64-linux-gnu.cmake" "$@"
    quietly "$CMAKE" --build "$to"
}

cross "$SOURCE" rt -DGRADCUT_RT_ONLY=ON
! grep -iE 'glpk|jansson|protobuf|zip' rt/CMakeCache.txt || fail "the run-time library alone asks for the compiler's libraries"
quietly "$CMAKE" --install rt --prefix "$work/first"
mv first moved
names_nothing moved "$SOURCE" "$work/first" "$work/rt"

cp -r "$here/cross" "$SOURCE/examples" .
cross cross cross/build -DGRADCUT_COMMAND="$BUILD/gradcut" -Dgradcut_DIR="$work/moved/lib/cmake/gradcut" \
    -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
! grep -E 'march=native|mcpu=native' cross/build/compile_commands.json || fail "native is not the machine that builds"
readelf -h cross/build/mlp_aot | grep -q AArch64 || fail "mlp_aot is not for aarch64"
# The machine that runs must not matter for the threads either.
OMP_NUM_THREADS=2 qemu-aarch64 -L /usr/aarch64-linux-gnu cross/build/mlp_aot 60 >emulated || fail "qemu"
"$native" 60 >here
diff here emulated || fail "losses differ"
