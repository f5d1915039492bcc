#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# before_after.sh [MODEL…]: `gradcut bench --compare unfused,save-all,planned` of models of examples/models at their
# default sizes: what fusion and the plan make of kernels, of the bytes that each graph moves, of the peak and of the
# time, as a table.  Every time goes to SAMPLES, if that is given.
#
#   ROUNDS  of each model (11)      SEED  of their order (0)      THREADS  of every step (every core)
#   BUILD  where gradcut and zoo were built (build)      SAMPLES  a file to write
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build} rounds=${ROUNDS:-11} seed=${SEED:-0} threads=${THREADS:-$(nproc)}
file=$(mktemp -d)
trap 'rm -rf "$file"' EXIT
[ $# -gt 0 ] || set -- mlp autoencoder vae lenet unet vit gpt2 bert llama rnn lstm resnet mobilenet
echo '| model | variant | ops | kernels | launches | forward moves, MB | backward moves, MB | saved, MB | peak, MB | step, ms | planned over this |'
echo '|---|---|---|---|---|---|---|---|---|---|---|'
[ -z "${SAMPLES:-}" ] || echo 'model,round,turn,row,ns,name' >"$SAMPLES"
for model; do
    "$build/examples/zoo" "$model" --dump "$file/$model.gcut" >/dev/null
    at=N=$(case $model in
        resnet | mobilenet | vit) echo 16 ;; unet) echo 4 ;; gpt2 | bert | llama | rnn | lstm) echo 8,T=64 ;; *) echo 64 ;;
    esac)
    "$build/gradcut" bench "$file/$model.gcut" --at "$at" --threads "$threads" --steps "$rounds" --seed "$seed" --json \
        --samples "$file/times" --compare unfused,save-all,planned >"$file/$model.json"
    awk -v model="$model" '
        function ratio(at, lo, hi, apart) {
            return at == "null" ? "" : sprintf("%.3f (%.3f to %.3f)%s", at, lo, hi, apart == "true" ? "" : ", not separable")
        }
        { gsub(/[",]/, "") }
        $1 == "name:" { name = substr($0, index($0, "name:") + 6) }
        $1 == "forward:" { way = 0 }
        $1 == "backward:" { way = 1 }
        $1 == "ops:" || $1 == "kernels:" || $1 == "launches:" { sum[$1] = (way ? sum[$1] : 0) + $2 }
        $1 == "bytes:" { moved[way] = $2 / 1e6 }
        { last[$1] = $2 }
        $1 == "separable:" {
            printf "| %s | %s | %d | %d | %.0f | %.1f | %.1f | %.1f | %.1f | %.3g (%.3g to %.3g) | %s |\n", model, name,
                sum["ops:"], sum["kernels:"], sum["launches:"], moved[0], moved[1], last["saved_bytes:"] / 1e6,
                last["peak_measured:"] / 1e6, last["step_ns_median:"] / 1e6, last["step_ns_lo:"] / 1e6,
                last["step_ns_hi:"] / 1e6, ratio(last["ratio:"], last["ratio_lo:"], last["ratio_hi:"], $2)
        }' "$file/$model.json"
    [ -z "${SAMPLES:-}" ] || sed "1d; s/^/$model,/" "$file/times" >>"$SAMPLES"
done
