#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# baselines.sh [MODEL…]: the policies of --policy on models of examples/models at their default sizes, each beside the plan that
# a budget of the same peak takes (`gradcut frontier`).  Writes bench/results/baselines.md; measured, also every time to
# baselines-samples.csv.
#
#   MEASURE  not empty: measured times too      ROUNDS  then, of each plan (11)     SEED  of their order (0)
#   THREADS  of every step (2)      MACHINE  the model that predicts (shipped)
#   BUILD  where gradcut and zoo were built (build)      OUT  the folder (bench/results)
#
# A minute; measured, about an hour on two cores that should have nothing else to do.
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build} out=${OUT:-bench/results} rounds=${ROUNDS:-11} seed=${SEED:-0} threads=${THREADS:-2} machine=${MACHINE:-shipped}
file=$(mktemp -d)
trap 'rm -rf "$file"' EXIT
[ $# -gt 0 ] || set -- mlp autoencoder vae lenet unet vit gpt2 bert llama rnn lstm resnet mobilenet
{
    echo '# Policies beside the minimum cut'
    echo
    echo "The models of examples/models at their default sizes, $threads threads, predicted with the machine model \`$machine\`. *Ours* is"
    echo 'the plan that `--budget` of the same peak takes, chosen by prediction; *over this*: its time as a part of that of the'
    echo 'policy, below 1 is faster.'
    if [ "${MEASURE:-}" ]; then
        echo "Measured: medians of $rounds rounds in random order, seed $seed, with intervals of 95 %; *mincut again* is one plan"
        echo 'measured twice (doc/measured.md, How steps are compared).'
    else
        echo 'No time was measured.'
    fi
    echo 'Printed by `bench/baselines.sh`.'
    echo
    echo '| model | policy | saved, MiB | peak, MiB | step predicted, ms | ours predicted, ms | over this | step measured, ms | ours measured, ms | over this |'
    echo '|---|---|---|---|---|---|---|---|---|---|'
} >"$file/page"
echo 'model,round,turn,row,ns,name' >"$file/samples"
for model; do
    "$build/examples/zoo" "$model" --dump "$file/$model.gcut" >/dev/null
    at=N=$(case $model in
        resnet | mobilenet | vit) echo 16 ;; unet) echo 4 ;; gpt2 | bert | llama | rnn | lstm) echo 8,T=64 ;; *) echo 64 ;;
    esac)
    "$build/gradcut" frontier "$file/$model.gcut" --at "$at" --threads "$threads" --machine "$machine" --csv --points 1 \
        ${MEASURE:+--measure --rounds "$rounds" --seed "$seed" --samples "$file/times"} >"$file/csv"
    # The label may have commas, and is quoted then; those of policies have none.  `ours` is the last column.
    awk -F, -v model="$model" '
        function ms(ns) { return sprintf("%.3f", ns / 1e6) }
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $1 !~ /^"/ && $3 == 1 {
            printf "| %s | %s | %.2f | %.2f | %s | %s | %.3f |", model, $1, $at["saved_bytes"] / 1048576,
                $at["peak_predicted"] / 1048576, ms($at["step_ns_predicted"]), ms($at["ours_ns_predicted"]), $at["ratio_predicted"]
            if ($at["ratio"] == "") { print "  |  |  |"; next }
            printf " %s (%s to %s) | %s | %.3f (%.3f to %.3f)%s |\n", ms($at["step_ns_median"]), ms($at["step_ns_lo"]),
                ms($at["step_ns_hi"]), ms($at["ours_ns_median"]), $at["ratio"], $at["ratio_lo"], $at["ratio_hi"],
                $at["separable"] ? "" : ", not separable"
        }' "$file/csv" >>"$file/page"
    [ ! -f "$file/times" ] || sed "1d; s/^/$model,/" "$file/times" >>"$file/samples"
    echo "baselines.sh: $model" >&2
done
mkdir -p "$out"
cp "$file/page" "$out/baselines.md"
[ -z "${MEASURE:-}" ] || cp "$file/samples" "$out/baselines-samples.csv"
