#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# oracle.sh [MODEL…]: the measured time of each kernel over the predicted one, for models of examples/models at sizes of
# before_after.sh: median and quartiles for each class of kernels, and the ten kernels whose factor is the farthest
# from 1, by name; `gradcut plan --explain-cost` says what their prediction is made of.  Kernels that take less than
# LEAST of their step are left out, as a launch of a few ns cannot be timed.
#
# oracle.sh --flips [MODEL…]: the FLIPS values of the plan of each model whose other decision changes the predicted time
# of the step the most, as `gradcut why` says, each measured: the step with that decision against the step of the plan,
# RUNS times in turn.  A measured change of more than twice the spread of the plan's own runs is compared in sign with
# the predicted one.
#
#   STEPS  of each model (20)      THREADS  of every step (every core)      LEAST  share of the step (0.001)
#   BUILD  where gradcut and zoo were built (build)      KERNELS  a file to write: every kernel, as CSV
#   FLIPS  of each model (20)      RUNS  of each step (5)
#   GRADCUT_MACHINE  the model that predicts (what calibrate wrote, else the shipped one)
set -eu
export LC_ALL=C
cd "$(dirname "$0")/.."
build=${BUILD:-build} steps=${STEPS:-20} threads=${THREADS:-$(nproc)} least=${LEAST:-0.001}
file=$(mktemp -d)
trap 'rm -rf "$file"' EXIT
flips=
[ "${1-}" != --flips ] || { flips=1; shift; }
[ $# -gt 0 ] || set -- mlp autoencoder vae lenet unet vit gpt2 bert llama rnn lstm resnet mobilenet
for model; do
    "$build/examples/zoo" "$model" --dump "$file/$model.gcut" >/dev/null
    at=N=$(case $model in
        resnet | mobilenet | vit) echo 16 ;; unet) echo 4 ;; gpt2 | bert | llama | rnn | lstm) echo 8,T=64 ;; *) echo 64 ;;
    esac)
    if [ -n "$flips" ]; then
        python3 bench/flips.py "$build/gradcut" "$file/$model.gcut" "$model" "$at" "$threads" "$steps" "${RUNS:-5}" "${FLIPS:-20}"
        continue
    fi
    "$build/gradcut" bench "$file/$model.gcut" --at "$at" --threads "$threads" --steps "$steps" --json >"$file/$model.json"
    awk -v model="$model" '
        function text(s, key) { return match(s, "\"" key "\": \"[^\"]*\"") ? substr(s, RSTART + length(key) + 5, RLENGTH - length(key) - 6) : "" }
        function place(s) { sub(/.*\//, "", s); return s }
        function number(s, key) { return match(s, "\"" key "\": [-+.0-9e]*") ? substr(s, RSTART + length(key) + 4, RLENGTH - length(key) - 4) + 0 : 0 }
        {
            from = index($0, "\"kernels\": [{\"kernel\"")
            n = split(substr($0, from), one, /[{]"kernel": /)
            for (i = 2; i <= n; i++) {
                sub(/[}].*/, "", one[i])
                split(one[i], name, "\"")
                predicted = number(one[i], "predicted_ns")
                measured = number(one[i], "measured_ns")
                row[i] = sprintf("%s,%s,%s,%%%s,%s,%s,%s,%g,%.17g,%.17g", model, name[2], text(one[i], "class"),
                    text(one[i], "value"), text(one[i], "op"), text(one[i], "half"), place(text(one[i], "loc")),
                    number(one[i], "runs"), predicted, measured)
                all += measured
                at[i] = measured
            }
            for (i = 2; i <= n; i++) printf("%s,%.6g\n", row[i], (all > 0) ? at[i] / all : 0)
        }' "$file/$model.json" >>"$file/kernels"
done
[ -z "$flips" ] || exit 0
head='model,kernel,class,value,op,graph,loc,runs,predicted_ns,measured_ns,share'
[ -z "${KERNELS:-}" ] || { echo "$head"; cat "$file/kernels"; } >"$KERNELS"
# Class, factor, its distance from 1, and the row.
awk -F, -v least="$least" '$9 > 0 && $10 > 0 && $11 >= least {
    factor = $10 / $9
    far = log(factor)
    printf("%s,%.9g,%.9g,%s\n", $3, factor, (far < 0) ? -far : far, $0)
}' "$file/kernels" | sort -t, -k1,1 -k2,2g >"$file/factors"
echo "$(wc -l <"$file/factors") of $(wc -l <"$file/kernels") kernels take at least $least of their step," \
    "on $threads threads, $steps steps"
echo
echo '| class | kernels | quarter | median | three quarters | predicted, ms | measured, ms | together |'
echo '|---|---|---|---|---|---|---|---|'
awk -F, '
    function at(q,    x, i) { x = q * (n - 1); i = int(x); return v[i] + (x - i) * ((i + 1 < n ? v[i + 1] : v[i]) - v[i]) }
    function line() {
        if (n) printf "| %s | %d | %.2f | %.2f | %.2f | %.3f | %.3f | %.2f |\n", class, n, at(0.25), at(0.5), at(0.75), p / 1e6, m / 1e6, m / p
        n = p = m = 0
    }
    $1 != class { line(); class = $1 }
    { v[n++] = $2; p += $12; m += $13 }
    END { line() }' "$file/factors"
echo
echo '| measured over predicted | model | kernel | class | makes | graph | runs | predicted, us | measured, us |'
echo '|---|---|---|---|---|---|---|---|---|'
sort -t, -k3,3gr -k4,4 -k5,5 "$file/factors" | head -10 | awk -F, '{
    printf "| %.2f | %s | %s | %s | `%s` %s | %s | %d | %.2f | %.2f |\n", $2, $4, $5, $6, $7, $8, $9, $11, $12 / 1e3, $13 / 1e3
}'
