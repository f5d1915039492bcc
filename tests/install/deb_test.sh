#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# deb_test.sh: the packages that cpack makes.  Each file that is installed is in one of them, under the licence of that
# package; their dependencies are those of what they contain; unpacked anywhere, the command compiles a step.
. "$SOURCE/tests/install/common.sh"
unset GRADCUT_INCLUDE_DIR GRADCUT_RT_LIBRARY GRADCUT_BLIS_LIBRARY
for tool in dpkg-deb dpkg-shlibdeps; do
    command -v $tool >/dev/null || skip "no $tool (package dpkg-dev)"
done
quietly "$(dirname "$CMAKE")/cpack" --config "$BUILD/CPackConfig.cmake" -B "$work/packages"
version=$(sed -n 's/^#define GCUT_VERSION_[A-Z]* //p' "$SOURCE/include/gradcut/version.h" | paste -sd.)
rt=$(echo packages/libgradcut-rt-dev_"$version"_*.deb)
shared=$(echo packages/libgradcut-rt"$(sed -n 's,^#define GCUT_RT_ABI ,,p' "$SOURCE/include/gradcut/version.h")"_"$version"_*.deb)
compiler=$(echo packages/gradcut_"$version"_*.deb)
[ -f "$rt" ] && [ -f "$shared" ] && [ -f "$compiler" ] || fail "packages: $(ls packages)"

# depends PACKAGE NAME…: it depends on them
depends()
{
    on=$(dpkg-deb -f "$1" Depends)
    shift
    for name in "$@"; do
        echo ", $on," | grep -qE "[ |]$name[ ,]" || fail "no dependency on $name: $on"
    done
}
depends "$rt" 'libblis-[a-z]+-dev' libc6-dev gcc "$(dpkg-deb -f "$shared" Package)"
depends "$shared" libc6
for package in "$rt" "$shared"; do
    ! dpkg-deb -f "$package" Depends | grep -E 'glpk|jansson|protobuf|zip' || fail "$package depends on the compiler's libraries"
done
depends "$compiler" libgradcut-rt-dev 'libglpk[0-9]+' libglpk-dev 'libjansson[0-9]+' libjansson-dev 'libprotobuf-c[0-9]+' \
    libprotobuf-c-dev 'libzip[0-9]+(t64)?' libzip-dev libc6 gcc
dpkg-deb -f "$compiler" Depends | grep -q "libgradcut-rt-dev (= $version)" || fail "another version of the run-time library"

# Each installed file is in one package.
quietly "$CMAKE" --install "$BUILD" --prefix "$work/all"
files() { (cd "$1" && find . -type f -o -type l) | sort; }
dpkg-deb -x "$rt" rt
dpkg-deb -x "$shared" shared
dpkg-deb -x "$compiler" compiler
files all >installed
{ files rt/usr && files shared/usr && files compiler/usr; } | sort >packed
diff installed packed || fail "the packages are not what is installed"

# Licences.
for file in rt/usr/share/doc/libgradcut-rt-dev/copyright shared/usr/share/doc/*/copyright; do
    grep -q '^License: MIT' "$file" || fail "the run-time library's licence: $file"
done
grep -q '^License: GPL-3' compiler/usr/share/doc/gradcut/copyright || fail "the compiler's licence"
gpl=$(grep -rlI 'SPDX-License-Identifier: GPL' rt || true)
[ -z "$gpl" ] || fail "GPL in the MIT package: $gpl"
for header in rt/usr/include/gradcut/*.h; do
    head -n 1 "$header" | grep -q 'SPDX-License-Identifier: MIT' || fail "$header has no licence"
done

# Elsewhere, and without a trace of where they were made.
mkdir root
cp -r rt/usr shared/usr compiler/usr root
names_nothing root "$SOURCE" "$BUILD" "$work"
quietly root/usr/bin/gradcut compile "$here/net.gcut" --shared -o step
[ -s step.so ] || fail "no step"
