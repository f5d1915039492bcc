#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# times_test.sh PROGRAM GRADCUT MODEL: what a step compiled ahead of time took, as a profile, and refused where it is of
# another step.
set -eu
program=$1 gradcut=$2 model=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$program" "$work/times.json"
set -- "$model" --at N=32 --threads 2 --times "$work/times.json"
"$gradcut" prof "$@" -o "$work/trace.json" --svg "$work/roofline.svg" --flame "$work/flame.svg" >"$work/said"
grep -q '10 steps, 2 threads' "$work/said"
grep -q '%dw1' "$work/said"
grep -q '^ *time .* busy ' "$work/said"
grep -q '"thread 1"' "$work/trace.json"
"$gradcut" prof "$@" --json >"$work/profile.json"
"$gradcut" report "$model" --at N=32 --threads 2 --no-frontier --profile "$work/profile.json" -o "$work/page.html" >"$work/said"
grep -q 'Means of 10 steps with 2 threads' "$work/page.html"
! grep -q 'of their .* kernels are among' "$work/page.html"

refused()
{
    said=$1
    shift
    if "$gradcut" prof "$@" >"$work/said" 2>"$work/error"; then
        echo "not refused: $*"
        exit 1
    fi
    grep -q "$said" "$work/error" || { cat "$work/error" && exit 1; }
}
refused 'there is no launch\|times in a step' "$model" --at N=32 --threads 2 --optimizer adamw --times "$work/times.json"
echo '{"steps": 0, "launches": []}' >"$work/bad.json"
refused 'steps: expected an integer from 1' "$model" --times "$work/bad.json"
echo '{"steps": 1, "launches": [[1, -5]]}' >"$work/bad.json"
refused 'launches\[0\]\[1\]: expected an integer from 0' "$model" --times "$work/bad.json"
echo '{"steps": 1, "launches": [1]}' >"$work/bad.json"
refused 'launches\[0\]: expected an array' "$model" --times "$work/bad.json"
echo '{"steps": 1, "launches": [[1, 5, 5, 5, 5]]}' >"$work/bad.json"
refused 'launches\[0\]: expected \[runs, ns\] or, after these, ns of 2 threads' "$model" --threads 2 --times "$work/bad.json"
refused 'No such file' "$model" --times "$work/none.json"
