#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# prefix_test.sh static|shared: programs of strangers, in C and C++, by find_package and by pkg-config, built and run
# against a prefix that was moved after the installation and names neither the tree nor the build folder.
. "$SOURCE/tests/install/common.sh"
kind=$1
rt=libgradcut_rt.so.$(sed -n 's,^#define GCUT_RT_ABI ,,p' "$SOURCE"/include/gradcut/version.h)
case $kind in
static) install_moved ;;
shared) install_moved shared ;;
esac
unset GRADCUT_INCLUDE_DIR GRADCUT_RT_LIBRARY GRADCUT_BLIS_LIBRARY

[ "$("$prefix/bin/gradcut" --version)" ] || fail "the command does not run"
for file in share/man/man1/gradcut.1 share/doc/gradcut/copyright share/doc/libgradcut-rt-dev/copyright \
    share/bash-completion/completions/gradcut share/zsh/site-functions/_gradcut share/fish/vendor_completions.d/gradcut.fish; do
    [ -s "$prefix/$file" ] || fail "no $file"
done
# The installed command finds what its steps need.
mkdir alone
cp "$here/net.gcut" .
(cd alone && quietly "$prefix/bin/gradcut" compile ../net.gcut --shared -o step && [ -s step.so ]) || fail "compile --shared"

# find_package.  A program with the static library stands where nothing of gradcut is: PATH leads it to the prefix.
consume stranger_c
if [ "$kind" = shared ]; then
    needs stranger_c/build/train libgradcut.so.1 $rt
    stranger_c/build/train net.gcut || fail "the C program"
    # Static libraries stand beside the shared ones for those who ask.
    consume stranger_c -DGRADCUT_USE_STATIC_LIBS=ON
    ! readelf -d stranger_c/build/train | grep libgradcut || fail "GRADCUT_USE_STATIC_LIBS is not followed"
else
    # A plugin keeps the run-time library and BLIS to itself.
    nm -D --defined-only stranger_c/build/libplugin.so >exported
    grep -q ' plugin_bytes$' exported || fail "the plugin exports nothing"
    ! grep -E ' (gcut_rt|bli)_' exported || fail "the plugin exports the run-time library"
    ! readelf -d stranger_c/build/train | grep libgradcut || fail "the program needs a shared library"
    (PATH=$prefix/bin:$PATH GRADCUT_KEEP=kept && export PATH GRADCUT_KEEP && mkdir kept && stranger_c/build/train net.gcut) ||
        fail "the C program"
    # The step that it compiles is linked with the one in the prefix.
    needs kept/*.so "$rt"
    # Without it, the message says what to do.
    if nowhere_else; then
        if stranger_c/build/train net.gcut >out 2>&1; then fail "a library was found that is not there"; fi
        grep -q 'cannot find the run-time library' out && grep -q 'set GRADCUT_INCLUDE_DIR' out || fail "$(cat out)"
    fi
    GRADCUT_INCLUDE_DIR=$prefix/include GRADCUT_RT_LIBRARY=$prefix/$LIBDIR/libgradcut_rt.a stranger_c/build/train net.gcut ||
        fail "the environment"
fi
if [ -n "$CXX" ]; then
    consume stranger_cxx
    stranger_cxx/build/train || fail "the C++ program"
    (PATH=$prefix/bin:$PATH && stranger_cxx/build/graph) || fail "the C++ program that builds a graph"
    # The headers are C++17 to the other compiler too.
    for other in g++ clang++; do
        command -v $other >/dev/null || continue
        quietly $other -std=c++17 -Wall -Wextra -pedantic -Werror -fsyntax-only -I"$prefix/include" \
            stranger_cxx/graph.cpp
    done
fi

# pkg-config
command -v pkg-config >/dev/null || exit 0
export PKG_CONFIG_PATH="$prefix/$LIBDIR/pkgconfig"
pkg-config --exact-version=1.0.0 gradcut gradcut_rt || fail "pkg-config"
quietly "$prefix/bin/gradcut" compile net.gcut --optimizer 'sgd(lr=0.1)' -o net_step
# shellcheck disable=SC2086,SC2046
quietly "$CC" -std=c17 $STEP_FLAGS -c net_step.c $(pkg-config --cflags gradcut_rt)
# shellcheck disable=SC2046
quietly "$CC" -std=c17 -I. stranger_c/train.c net_step.o $(pkg-config --cflags --libs gradcut) -o train
(PATH=$prefix/bin:$PATH LD_LIBRARY_PATH=$prefix/$LIBDIR && export PATH LD_LIBRARY_PATH && ./train net.gcut) ||
    fail "the C program of pkg-config"
if [ -n "$CXX" ]; then
    # shellcheck disable=SC2046
    quietly "$CXX" -std=c++17 -I. stranger_cxx/train.cpp net_step.o $(pkg-config --cflags --libs gradcut_rt) -o train_cxx
    LD_LIBRARY_PATH=$prefix/$LIBDIR ./train_cxx || fail "the C++ program of pkg-config"
    # shellcheck disable=SC2046
    quietly "$CXX" -std=c++17 stranger_cxx/graph.cpp $(pkg-config --cflags --libs gradcut) -o graph_cxx
    (PATH=$prefix/bin:$PATH LD_LIBRARY_PATH=$prefix/$LIBDIR && export PATH LD_LIBRARY_PATH && ./graph_cxx) ||
        fail "the C++ program of pkg-config that builds a graph"
fi
