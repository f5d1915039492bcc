#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# char_gpt.sh [CHAR_GPT-OPTION…]: the GPT of examples/char_gpt against PyTorch: same weights, batches, optimiser and
# threads, the runs interleaved, so that a change of the machine's speed meets all of them.  Prints chars/s and ratios.
#
#   PYTHON   a Python with torch (python3)      ROUNDS   of every contender (3)      STEPS   per round (40)
#   THREADS  of every contender (every core)    CHAR_GPT the program (build/examples/char_gpt)
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3} rounds=${ROUNDS:-3} steps=${STEPS:-40} threads=${THREADS:-$(nproc)}
program=${CHAR_GPT:-build/examples/char_gpt}
"$python" -c 'import torch; print("torch", torch.__version__)' || {
    echo "char_gpt.sh: set PYTHON to a Python that has torch" >&2
    exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# note WHO FILE: the round's figure, for the medians
note()
{
    sed -n 's/^throughput: \([0-9]*\) chars.*/\1/p' "$2" >>"$work/$1"
    printf '  %-14s %s\n' "$1" "$(grep '^throughput' "$2")"
}

round=1
while [ "$round" -le "$rounds" ]; do
    echo "round $round of $rounds, $threads threads, $steps steps each"
    "$program" --steps "$steps" --sample 0 --threads "$threads" --dump-run "$work" "$@" data/shakespeare.txt >"$work/out"
    note gradcut "$work/out"
    for mode in eager compile; do
        "$python" bench/char_gpt_torch.py "$work" --mode $mode --threads "$threads" >"$work/out"
        note torch-$mode "$work/out"
        grep '^losses' "$work/out" | sed 's/^/                 /'
    done
    round=$((round + 1))
done

# The middle value of a file of numbers.
median()
{
    sort -n "$1" | awk '{v[NR] = $1} END {print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'
}
ours=$(median "$work/gradcut")
for mode in eager compile; do
    theirs=$(median "$work/torch-$mode")
    awk -v a="$ours" -v b="$theirs" -v m=$mode 'BEGIN {printf "gradcut / torch %s: %.0f / %.0f chars/s = %.2f\n", m, a, b, a / b}'
done
