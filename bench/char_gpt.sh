#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# char_gpt.sh [CHAR_GPT-OPTION…]: the GPT of examples/char_gpt against PyTorch: same weights, batches, optimiser and
# threads, in rounds (bench/peers/rounds.py).  Writes the table of chars/s that doc/measured.md has (bench/tables.py) to
# bench/results/chars.txt, and every round to chars-samples.txt: "round contender chars/s".
#
#   PYTHON   a Python with torch (python3)      ROUNDS   of every contender (9)      STEPS   per round (40)
#   THREADS  of every contender (every core)    CHAR_GPT the program (build/examples/char_gpt)
#   SEED     of the order of rounds (0)         OUT      the folder (bench/results)
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3} rounds=${ROUNDS:-9} seed=${SEED:-0} out=${OUT:-bench/results} steps=${STEPS:-40} threads=${THREADS:-$(nproc)}
program=${CHAR_GPT:-build/examples/char_gpt}
"$python" -c 'import torch; print("torch", torch.__version__)' || {
    echo "char_gpt.sh: set PYTHON to a Python that has torch" >&2
    exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What PyTorch begins from.
"$program" --steps "$steps" --sample 0 --threads "$threads" --dump-run "$work" "$@" data/shakespeare.txt | grep '^losses' || true
round=0
while [ "$round" -lt "$rounds" ]; do
    echo "round $round of $rounds, seed $seed, $threads threads, $steps steps each"
    for who in $("$python" bench/peers/rounds.py order "$seed" "$round" gradcut gradcut-again torch-eager torch-compile); do
        case $who in
        torch-*) "$python" bench/char_gpt_torch.py "$work" --mode "${who#torch-}" --threads "$threads" >"$work/out" ;;
        *) "$program" --steps "$steps" --sample 0 --threads "$threads" "$@" data/shakespeare.txt >"$work/out" ;;
        esac
        printf '  %-14s %s\n' "$who" "$(grep '^throughput' "$work/out")"
        grep '^losses' "$work/out" | sed 's/^/                 /' || true
        sed -n "s/^throughput: \([0-9]*\) chars.*/$round $who \1/p" "$work/out" >>"$work/samples"
    done
    round=$((round + 1))
done
"$python" bench/peers/rounds.py table "$seed" "$work/samples" gradcut >"$work/chars.txt"
mkdir -p "$out"
cp "$work/samples" "$out/chars-samples.txt"
cp "$work/chars.txt" "$out/chars.txt"
cat "$out/chars.txt"
