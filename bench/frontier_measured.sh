#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# frontier_measured.sh [CASE…]: the frontiers of large models, measured, as bench/results/frontier-CASE.txt, .csv and .svg, with
# every time in frontier-CASE-samples.csv.  `python3 bench/tables.py` then writes the table of doc/measured.md.
#
#   gpt2-124M        GPT-2, 4 sequences of 256 tokens
#   resnet-18-cifar  ResNet-18, 32 images of 32 x 32
#   resnet-18        the same, of 224 x 224
#   gpt2-tiny, resnet-tiny   for a quick look
#
#   THREADS  (every core)   ROUNDS  per point (9)   POINTS  shown (12)   SEED  of the rounds (0)   GRADCUT, ZOO  the programs
#   OUT  the folder
#
# Half an hour for the two that are run by default on two cores, which should have nothing else to do.  Results are replaced only by
# a run that finished.
set -eu
cd "$(dirname "$0")/.."
gradcut=${GRADCUT:-build/gradcut} zoo=${ZOO:-build/examples/zoo} out=${OUT:-bench/results}
threads=${THREADS:-$(nproc)} rounds=${ROUNDS:-9} points=${POINTS:-12} seed=${SEED:-0}
for program in "$gradcut" "$zoo"; do
    [ -x "$program" ] || { echo "frontier_measured.sh: there is no $program: build it, or set GRADCUT and ZOO" >&2; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
[ $# -gt 0 ] || set -- gpt2-124M resnet-18-cifar

# model, its size, the sizes of the step
describe()
{
    case $1 in
    gpt2-124M) echo gpt2 124M N=4,T=256 ;;
    gpt2-tiny) echo gpt2 tiny N=4,T=8 ;;
    resnet-tiny) echo resnet tiny N=4 ;;
    resnet-18) echo resnet 18 N=32 ;;
    resnet-18-cifar) echo resnet 18-cifar N=32 ;;
    *) echo "frontier_measured.sh: there is no case '$1'" >&2; return 1 ;;
    esac
}

failed=0
for case; do
    row=$(describe "$case") || exit 1
    read -r model size at <<END
$row
END
    "$zoo" "$model" --size "$size" --dump "$work/model.gcut" >/dev/null
    if ! "$gradcut" frontier "$work/model.gcut" --at "$at" --threads "$threads" --measure --rounds "$rounds" \
        --points "$points" --seed "$seed" --samples "$work/samples.csv" -o "$work/sweep" >"$work/said"; then
        echo "frontier_measured.sh: $case failed" >&2
        failed=1
        continue
    fi
    for form in txt csv svg; do mv "$work/sweep.$form" "$out/frontier-$case.$form"; done
    mv "$work/samples.csv" "$out/frontier-$case-samples.csv"
    cat "$out/frontier-$case.txt"
done
exit $failed
