#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# aot_test.sh MLP_AOT MLP_TRAIN MLP_GCUT [COUNTER.so]
#
# The step compiled ahead of time does what the library does, bit for bit, and is linked with less: the two programs
# print the same losses, which fall; the first one contains no compiler; and its steps allocate nothing.
set -eu
aot=$1 train=$2 model=$3 counter=${4-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail()
{
    echo "aot_test: $*" >&2
    exit 1
}

# The same losses, whatever the number of threads.
"$aot" 60 >"$work/aot"
"$train" "$model" 60 >"$work/train"
diff "$work/aot" "$work/train" || fail "the compiled step and the library disagree"
for threads in 1 2 3; do
    OMP_NUM_THREADS=$threads "$aot" 60 | diff "$work/aot" - || fail "$threads threads give other losses"
done
awk 'NR == 1 {first = $4} {last = $4} END {exit !(NR == 7 && last > 0 && last < first / 2)}' "$work/aot" ||
    fail "60 steps do not halve the loss"

# Neither GLPK nor any room of the compiler.  A symbol of the run-time library shows that nm sees anything at all.
ldd "$aot" >"$work/ldd"
nm "$aot" >"$work/nm"
grep -q ' gcut_rt_place$' "$work/nm" || fail "nm shows no symbols"
! grep -Ei 'glpk|libgradcut\.' "$work/ldd" || fail "it needs the compiler's libraries"
! grep -E ' (glp_[a-z]|gcut_(compile|joint|partition|lower|ctx_new|parse))' "$work/nm" || fail "it contains the compiler"

# As many allocations in 400 steps as in 20 (from the second on, when the threads and the output buffer exist).
if [ -n "$counter" ]; then
    few=$(LD_PRELOAD=$counter "$aot" 20 2>&1 >/dev/null)
    many=$(LD_PRELOAD=$counter "$aot" 400 2>&1 >/dev/null)
    case $few in *allocations) ;; *) fail "the counter says nothing: $few" ;; esac
    [ "$few" = "$many" ] || fail "steps allocate: $few in 20 steps, $many in 400"
    [ "$few" != "0 allocations" ] || fail "the counter does not count"
fi
