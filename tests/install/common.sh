# SPDX-License-Identifier: GPL-3.0-or-later
#
# Sourced by the scripts of this folder, which tests/install/CMakeLists.txt calls with these variables set:
#
#   SOURCE, BUILD      the tree and its build      CMAKE, GENERATOR, CC, CXX   what it was configured with
#   LIBDIR             CMAKE_INSTALL_LIBDIR        STEP_FLAGS                  the flags of steps, blanks between
#   INCLUDED           the folder of headers of the prefix that was configured
set -eu
here=$SOURCE/tests/install
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail()
{
    echo "$(basename "$0"): $*" >&2
    exit 1
}

# What ctest understands as "skipped".
skip()
{
    echo "skipped: $*"
    exit 77
}

# Whether a search that finds nothing near the program is to fail: not where gradcut is installed on this machine.
nowhere_else() { ! command -v gradcut >/dev/null && [ ! -e "$INCLUDED/gradcut" ]; }

# quietly COMMAND…: its output only if it fails
quietly()
{
    "$@" >"$work/log" 2>&1 || {
        cat "$work/log" >&2
        fail "failed: $*"
    }
}

# names_nothing FOLDER PATH…: no file below FOLDER, binary or not, contains one of the paths
names_nothing()
{
    folder=$1
    shift
    for path in "$@"; do
        pattern=$(printf '%s' "$path" | sed 's/[][\.*^$+?(){}|]/\\&/g')
        found=$(grep -rlaE "(^|[^[:alnum:]_./-])$pattern(/|[^[:alnum:]_.-]|\$)" "$folder" || true)
        [ -z "$found" ] || fail "$path is named in:
$found"
    done
}

# install_moved [COMPONENT…]: installs into a prefix and moves it to $prefix; the named components besides the usual ones
install_moved()
{
    quietly "$CMAKE" --install "$BUILD" --prefix "$work/first"
    for component in "$@"; do
        quietly "$CMAKE" --install "$BUILD" --prefix "$work/first" --component "$component"
    done
    mv "$work/first" "$work/moved"
    prefix=$work/moved
    names_nothing "$prefix" "$SOURCE" "$BUILD" "$work/first"
}

# consume PROJECT [OPTION…]: copies a project of this folder and builds it against $prefix, in $work/PROJECT/build
consume()
{
    project=$1
    shift
    rm -rf "${work:?}/$project"
    cp -r "$here/$project" "$here/net.gcut" "$work"
    quietly "$CMAKE" -S "$project" -B "$project/build" -G "$GENERATOR" -DCMAKE_C_COMPILER="$CC" \
        -DCMAKE_CXX_COMPILER="$CXX" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON "$@"
    quietly "$CMAKE" --build "$project/build"
    check_flags "$project/build"
}

check_flags()
{
    quietly "$CMAKE" -DCOMMANDS="$1/compile_commands.json" -DFLAGS="$(echo "$STEP_FLAGS" | tr ' ' ';')" \
        -P "$here/check_flags.cmake"
}

# needs PROGRAM LIBRARY…: the loader is asked for these
needs()
{
    program=$1
    shift
    readelf -d "$program" >"$work/dynamic"
    for library in "$@"; do
        grep -q "NEEDED.*\[$library\]" "$work/dynamic" || fail "$program does not need $library"
    done
}
