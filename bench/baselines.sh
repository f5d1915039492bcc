#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# baselines.sh [MODEL…]: the policies of --policy on models of examples/zoo at their default sizes, each beside
# the minimum cut's plans held to the same peak, as a table.  bench/results/baselines.md was printed by it.
#
#   MEASURE  not empty: measured times too      BUILD  where gradcut and zoo were built (build)
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build}
file=$(mktemp -d)
trap 'rm -rf "$file"' EXIT
[ $# -gt 0 ] || set -- mlp autoencoder vae lenet unet vit gpt2 bert llama rnn lstm resnet mobilenet
echo '| model | policy | saved, MiB | peak, MiB | step predicted, ms | ours at this peak | step measured, ms |'
echo '|---|---|---|---|---|---|---|'
for model; do
    "$build/examples/zoo" "$model" --dump "$file/$model.gcut" >/dev/null
    at=N=$(case $model in
        resnet | mobilenet | vit) echo 16 ;; unet) echo 4 ;; gpt2 | bert | llama | rnn | lstm) echo 8,T=64 ;; *) echo 64 ;;
    esac)
    "$build/gradcut" frontier "$file/$model.gcut" --at "$at" ${MEASURE:+--measure} --csv | awk -F, -v model="$model" '
        $3 == 1 {
            printf "| %s | %s | %.2f | %.2f | %.3f | %.3f | %s |\n", model, $2, $5 / 1048576, $6 / 1048576, $10 / 1e6,
                $13 / $10, $11 == "" ? "" : sprintf("%.3f", $11 / 1e6)
        }'
done
