#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# test.sh [--quick] [--times]: everything that must hold before a change is done, in 18 minutes from a fresh clone on two idle
# cores of an AMD EPYC (Zen 4), longer on a busy host; with --quick a first answer, in two minutes once the tree is built.
#
#   1. optimised build in build/, every test
#   2. build-asan/ with AddressSanitizer, leak checking and UndefinedBehaviorSanitizer, every test but those labelled long
#   3. one load-compile-run-free cycle under valgrind
#   4. a build with clang, which must emit the same C, and the format of the sources, when clang and clang-format 14
#      are there
#
# --quick builds in build/ and runs the tests there that are labelled unit or step, but not slow.
# --times prints how long that took, by label, and the twenty longest tests.
# The last line is the totals of all of it.
set -eu
cd "$(dirname "$0")/.."
quick= times=
for option; do
    case $option in
    --quick) quick=yes ;;
    --times) times=yes ;;
    *) echo "usage: scripts/test.sh [--quick] [--times]" >&2 && exit 2 ;;
    esac
done
set --
[ -n "$quick" ] || set -- chromium python3 # for pages, which --quick does not look at
scripts/deps.sh valgrind gdb libc6-dbg g++ dpkg-dev libonnx-testdata "$@"
jobs=$(nproc)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: >"$work/results" # a word for each test: passed or FAILED
: >"$work/times"   # seconds, what

# tell: standard input at once, although others may be printing
tell()
{
    cat >"$work/told.$1" && cat "$work/told.$1"
}

# timed WHAT COMMAND…
timed()
{
    what=$1 began=$(date +%s)
    shift
    status=0
    "$@" || status=$?
    echo "$(($(date +%s) - began)) $what" >>"$work/times"
    return $status
}

# results N WORD: N times
results()
{
    [ "$1" -eq 0 ] || yes "$2" | head -n "$1" >>"$work/results"
}

# build FOLDER JOBS CMAKE-OPTION…: quiet unless it fails
build()
{
    folder=$1 with=$2 log=$work/$1.log
    shift 2
    if cmake -S . -B "$folder" -DCMAKE_BUILD_TYPE=Release "$@" >"$log" 2>&1 &&
        cmake --build "$folder" --parallel "$with" >"$log" 2>&1; then
        { echo "== built $folder/" && { grep 'warning:' "$log" || true; }; } | tell "$folder"
        return 0
    fi
    { cat "$log" && echo "== $folder/: FAILED to build"; } | tell "$folder"
    return 1
}

# run_tests FOLDER [CTEST-OPTION…]: ctest, and its totals added to ours
run_tests()
{
    folder=$1 log=$work/$1.tests
    echo "== testing in $1/"
    shift
    (cd "$folder" && ctest "$@" --output-on-failure --parallel "$jobs" --timeout 600 --no-tests=error) >"$log" 2>&1 || true
    cat "$log"
    # "100% tests passed, 0 tests failed out of 27"; newer ctests leave the middle out when nothing failed.
    line=$(grep -E 'tests passed.* out of [0-9]+$' "$log" | tail -n 1)
    if [ -z "$line" ]; then
        results 1 FAILED
        return
    fi
    bad=$(echo "$line" | sed -n 's/.*passed, \([0-9]*\) tests* failed.*/\1/p')
    bad=${bad:-0}
    all=${line##* }
    results "$bad" FAILED
    results $((all - bad)) passed
}

# check NAME COMMAND…: one more test
check()
{
    name=$1 log=$work/check.log
    shift
    if timed "$name" "$@" >"$log" 2>&1; then
        echo "== $name: passed" | tell check
        results 1 passed
    else
        { cat "$log" && echo "== $name: FAILED"; } | tell check
        results 1 FAILED
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

# others: what needs build/ alone, beside the build and the tests with sanitizers
others()
{
    # Valgrind knows no AVX-512: the step is compiled for AVX2, and the run-time library, which asks the processor that
    # valgrind shows it, takes its AVX2 kernels.
    if command -v valgrind >/dev/null; then
        flags="-O1 -g -ffp-contract=off -fwrapv"
        case $(uname -m) in x86_64) flags="$flags -march=x86-64-v3" ;; esac
        check "valgrind" env OMP_NUM_THREADS=1 GRADCUT_STEP_FLAGS="$flags" valgrind --quiet --leak-check=full \
            --errors-for-leak-kinds=definite,indirect --error-exitcode=9 build/examples/mlp_train examples/mlp.gcut 2 compiled
    fi

    if command -v clang >/dev/null; then
        check "clang" build build-clang 1 -DCMAKE_C_COMPILER=clang -DCMAKE_C_FLAGS_RELEASE=-O0 -DBUILD_TESTING=OFF -DGRADCUT_SANITIZE=
        check "clang emits the same C" same_c build build-clang
    fi

    # Other versions of the formatter wrap differently.
    for format in clang-format-14 clang-format; do
        command -v $format >/dev/null && $format --version | grep -q 'version 14\.' && git rev-parse >/dev/null 2>&1 || continue
        check "clang-format" sh -c "git ls-files '*.c' '*.h' | xargs $format --dry-run -Werror"
        break
    done
}

# print_times: seconds of the builds, of the tests by label (of all processes that they ran side by side), and of the longest
print_times()
{
    echo "== seconds"
    sort -rn "$work/times" | awk '{ s = $1; $1 = ""; printf "%8d %s\n", s, $0 }'
    for log in "$work"/*.tests; do
        folder=$(basename "$log" .tests)
        sed -nE 's/^(unit|step|zoo) += +([0-9.]+) sec.*\((.*)\)$/\2 \1 in '"$folder"', \3/p' "$log"
    done | awk '{ s = $1; $1 = ""; printf "%8.1f %s\n", s, $0 }'
    echo "== the longest tests"
    for log in "$work"/*.tests; do
        folder=$(basename "$log" .tests)
        sed -nE 's/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([^ ]+) .* ([0-9.]+) sec *$/\2 \1 in '"$folder"'/p' "$log"
    done | sort -rn | head -n 20 | awk '{ s = $1; $1 = ""; printf "%8.1f %s\n", s, $0 }'
}

finish()
{
    [ -z "$times" ] || print_times
    passed=$(grep -c passed "$work/results" || true)
    failed=$(grep -c FAILED "$work/results" || true)
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
    exit
}

timed "building in build/" build build "$jobs" -DBUILD_TESTING=ON -DGRADCUT_SANITIZE= || {
    echo "0 passed, 1 failed (the build)"
    exit 1
}

# Each step is compiled once for all the tests of both builds (tests/harness/compile_once.c).
mkdir "$work/objects"
ln -s "$PWD/build/tests/compile_once" "$work/compile_once"
export GCUT_TEST_OBJECTS="$work/objects"
export GRADCUT_CC="$work/compile_once $(sed -n 's/^CMAKE_C_COMPILER:[A-Z]*=//p' build/CMakeCache.txt)"

if [ -n "$quick" ]; then
    timed "testing in build/" run_tests build --label-regex 'unit|step' --label-exclude 'slow|install'
    finish
fi
timed "testing in build/" run_tests build
(GRADCUT_CC= && others) &
if timed "building in build-asan/" build build-asan "$jobs" -DBUILD_TESTING=ON -DGRADCUT_SANITIZE=address,undefined; then
    timed "testing in build-asan/" run_tests build-asan --label-exclude long
else
    results 1 FAILED
fi
wait
finish
