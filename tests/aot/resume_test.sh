#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# resume_test.sh MLP_RESUME
#
# A program that has only step.c and step.h starts from the model's initial values, saves, loads and goes on: the losses
# are those of one that never stopped, bit for bit.  A file of anything else is refused and stays as it is.
set -eu
resume=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail()
{
    echo "resume_test: $*" >&2
    exit 1
}

"$resume" "$work/whole" 40 >"$work/losses"
for steps in 13 0 1 26; do
    OMP_NUM_THREADS=$((steps % 3 + 1)) "$resume" "$work/parts" $steps >>"$work/again"
done
cmp "$work/losses" "$work/again" || fail "training that was stopped goes on otherwise"
cmp "$work/whole" "$work/parts" || fail "what is saved in the end differs"
awk 'NR == 1 {first = $4} {last = $4} END {exit !(NR == 40 && last > 0 && last < first / 2)}' "$work/losses" ||
    fail "40 steps do not halve the loss"

# Files that are none of ours are refused, and stay as they are.
refused() # FILE WHY
{
    cp "$1" "$work/copy"
    ! "$resume" "$1" 1 >/dev/null 2>"$work/message" || fail "$1 was taken"
    grep -q "$2" "$work/message" || fail "$1: $(cat "$work/message")"
    cmp "$1" "$work/copy" || fail "$1 was written to"
}
: >"$work/empty"
refused "$work/empty" "holds no values of a step"
head -c 1000 "$work/whole" >"$work/cut"
refused "$work/cut" "another length"
{
    head -c 100000 "$work/whole"
    printf x
    tail -c +100002 "$work/whole"
} >"$work/damaged"
refused "$work/damaged" "is damaged"
