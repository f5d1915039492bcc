#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# ship_machine.sh [RUNS]: measures this machine RUNS times (3), writes machine/machine_shipped.c from the least of
# each figure, and makes again what quotes it: doc/machine.md, doc/partition.md, doc/plans.md and the golden files.
# Read the diff; let nothing else run meanwhile.
#
#   MEMORY    GB/s of one thread that are shipped instead of what was measured: READ,WRITE (16.5,9.4), or "" for none
#   TIME      seconds of each run (30)        BUILD  the build (build)        MEASURE  a command to run each measurement under
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build} memory=${MEMORY-16.5,9.4} folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
[ -f "$build/CMakeCache.txt" ] || cmake -S . -B "$build" >/dev/null
make() { cmake --build "$build" --target "$@" -j"$(nproc)" >/dev/null; }
make gradcut_cli
for i in $(seq "${1:-3}"); do
    ${MEASURE-} "$build/gradcut" calibrate --seconds "${TIME:-30}" -o "$folder/$i.json" | grep 'product 1024 x 1024 x 1024'
done
python3 scripts/ship_machine.py ${memory:+--memory "$memory"} "$folder"/*.json >"$folder/shipped.c"
mv "$folder/shipped.c" machine/machine_shipped.c
clang-format -i machine/machine_shipped.c
make gradcut_cli gradcut_tests
for test in doc_partition cli_goldens docs; do
    GCUT_BLESS=1 "$build/tests/run" "test_$test" >/dev/null 2>&1 || true
    "$build/tests/run" "test_$test" >/dev/null 2>&1 || echo "look at $build/tests/run test_$test"
done
"$build/tests/run" test_policies >/dev/null 2>&1 || echo "plans have changed: look at $build/tests/run test_policies"
git diff --stat
