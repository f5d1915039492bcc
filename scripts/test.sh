#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# test.sh [--quick]: everything that must hold before a change is done; with --quick a first answer, in about three
# minutes once the tree is built.
#
#   1. optimised build in build/, every test
#   2. build-asan/ with AddressSanitizer, leak checking and UndefinedBehaviorSanitizer, every test
#   3. one load-compile-run-free cycle under valgrind
#   4. a build with clang, which must emit the same C, and the format of the sources, when clang and clang-format 14
#      are there
#
# --quick builds in build/ and runs the tests there that are neither labelled slow nor of the installed package.
# The last line is the totals of all of it.
set -eu
cd "$(dirname "$0")/.."
quick=
case "$*" in
'') ;;
--quick) quick=yes ;;
*) echo "usage: scripts/test.sh [--quick]" >&2 && exit 2 ;;
esac
scripts/deps.sh valgrind gdb libc6-dbg g++ dpkg-dev
jobs=$(nproc)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

# build FOLDER CMAKE-OPTION…: quiet unless it fails
build()
{
    folder=$1
    shift
    echo "== building in $folder/"
    if cmake -S . -B "$folder" -DCMAKE_BUILD_TYPE=Release "$@" >"$work/log" 2>&1 &&
        cmake --build "$folder" --parallel "$jobs" >"$work/log" 2>&1; then
        grep 'warning:' "$work/log" || true
        return 0
    fi
    cat "$work/log"
    return 1
}

# run_tests FOLDER [CTEST-OPTION…]: ctest, and its totals added to ours
run_tests()
{
    echo "== testing in $1/"
    folder=$1
    shift
    (cd "$folder" && ctest "$@" --output-on-failure --parallel "$jobs" --timeout 600 --no-tests=error) >"$work/log" 2>&1 || true
    cat "$work/log"
    # "100% tests passed, 0 tests failed out of 27"; newer ctests leave the middle out when nothing failed.
    line=$(grep -E 'tests passed.* out of [0-9]+$' "$work/log" | tail -n 1)
    if [ -z "$line" ]; then
        failed=$((failed + 1))
        return
    fi
    bad=$(echo "$line" | sed -n 's/.*passed, \([0-9]*\) tests* failed.*/\1/p')
    bad=${bad:-0}
    all=${line##* }
    failed=$((failed + bad))
    passed=$((passed + all - bad))
}

# check NAME COMMAND…: one more test
check()
{
    name=$1
    shift
    if "$@" >"$work/log" 2>&1; then
        echo "== $name: passed"
        passed=$((passed + 1))
    else
        cat "$work/log"
        echo "== $name: FAILED"
        failed=$((failed + 1))
    fi
}

# same_c FOLDER FOLDER: both builds emit the same steps.  Compilers differ in the order in which they evaluate operands.
same_c()
{
    for model in examples/*.gcut tests/models/*.gcut; do
        for folder in "$@"; do
            mkdir -p "$work/$folder"
            "$folder/gradcut" compile "$model" --optimizer adamw -o "$work/$folder/step" || return 1
        done
        cmp "$work/$1/step.c" "$work/$2/step.c" || return 1
    done
}

build build -DBUILD_TESTING=ON -DGRADCUT_SANITIZE= || {
    echo "0 passed, 1 failed (the build)"
    exit 1
}
[ -z "$quick" ] || {
    run_tests build --label-exclude 'slow|install'
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
    exit
}
run_tests build

if build build-asan -DBUILD_TESTING=ON -DGRADCUT_SANITIZE=address,undefined; then
    run_tests build-asan
else
    failed=$((failed + 1))
fi

# Valgrind knows no AVX-512: the step is compiled for AVX2, and the run-time library, which asks the processor that
# valgrind shows it, takes its AVX2 kernels.
if command -v valgrind >/dev/null; then
    flags="-O1 -g -ffp-contract=off -fwrapv"
    case $(uname -m) in x86_64) flags="$flags -march=x86-64-v3" ;; esac
    check "valgrind" env OMP_NUM_THREADS=1 GRADCUT_STEP_FLAGS="$flags" valgrind --quiet --leak-check=full \
        --errors-for-leak-kinds=definite,indirect --error-exitcode=9 build/examples/mlp_train examples/mlp.gcut 2 compiled
fi

if command -v clang >/dev/null; then
    check "clang" build build-clang -DCMAKE_C_COMPILER=clang -DBUILD_TESTING=OFF -DGRADCUT_SANITIZE=
    check "clang emits the same C" same_c build build-clang
fi

# Other versions of the formatter wrap differently.
if command -v clang-format >/dev/null && clang-format --version | grep -q 'version 14\.' && git rev-parse >/dev/null 2>&1; then
    check "clang-format" sh -c "git ls-files '*.c' '*.h' | xargs clang-format --dry-run -Werror"
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
