#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# predictions.sh [--quick] [CASE…]: compares the predicted with the best measured time of the step of every case of
# bench/peers/cases.py, by `gradcut bench`, in passes over all cases: each calibrates the machine before every case.  Load makes
# times longer, so of a case the pass with the least best time counts, with the prediction by the calibration before it.
# Prints a table of these: both, how far off the prediction is, and how far off it was in each pass; the median; the sum of the
# least times of kernels, how far off it the prediction is, and of the classes of kernels that take a tenth of that sum or more
# the one that is the furthest off.  --quick: small stand-ins of the cases, and calibrations of 2 s.
#
#   THREADS  (every core)   RUNS  passes (3)   STEPS  of each run (as many as take a second, 20 to 5000)
#   TIME  seconds of a calibration (10)   MACHINE  a model's file instead of calibrations   CALIBRATE  further options of them
#   GRADCUT, ZOO  the programs   CLASSES  a file for the classes of every case, as CSV
#
# Where a host moved the processors between a calibration and its run (line_ratio of bench), both are made again, up to five
# times.
# A calibration refuses a busy machine, unless CALIBRATE=--force.
set -eu
cd "$(dirname "$0")/.."
gradcut=${GRADCUT:-build/gradcut} zoo=${ZOO:-build/examples/zoo}
threads=${THREADS:-$(nproc)} runs=${RUNS:-3} quick=
[ "${1-}" != --quick ] || { quick=1; shift; }
seconds=${TIME:-${quick:+2}}
for program in "$gradcut" "$zoo"; do
    [ -x "$program" ] || { echo "predictions.sh: there is no $program: build it, or set GRADCUT and ZOO" >&2; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A line for each case: name, file or -, model and size of the zoo or - -, sizes of the symbols, optimizer or none.
PYTHONPATH=bench/peers python3 - "$quick" "$@" >"$work/cases" <<'END'
import sys
from cases import CASES
quick, names = sys.argv[1], sys.argv[2:]
known = {case.name: case for case in CASES}
for name in names or known:
    if name not in known:
        sys.exit(f"predictions.sh: there is no case '{name}'; there are: {', '.join(known)}")
    case = known[name].small() if quick else known[name]
    model, size = case.zoo or ("-", "-")
    at = ",".join(f"{symbol}={n}" for symbol, n in case.at.items())
    print(case.name, case.file or "-", model, size, at, case.update().replace(" ", ""))
END

# Succeeds if the round trip of a cache line took more than GCUT_APART times what it took in the calibration, or as much less.
apart=$(sed -n 's/^#define GCUT_APART //p' driver/measure/spread.h)
moved() {
    python3 -c '
import json, sys
ratio, apart = json.load(open(sys.argv[1]))["line_ratio"], float(sys.argv[2])
sys.exit(ratio is None or 1 / apart < ratio < apart)' "$1" "$apart"
}

machine=${MACHINE:-$work/machine.json}
for pass in $(seq "$runs"); do
    while read -r name file model size at optimizer; do
        echo "predictions.sh: pass $pass of $runs: $name" >&2
        if [ "$file" = - ]; then
            "$zoo" "$model" --size "$size" --dump "$work/model.gcut" >/dev/null
        else
            cp "bench/models/$file" "$work/model.gcut"
        fi
        set -- --at "$at" --threads "$threads" --machine "$machine"
        [ "$optimizer" = none ] || set -- "$@" --optimizer "$optimizer"
        for try in 1 2 3 4 5; do
            # shellcheck disable=SC2086 # a list of options
            [ -n "${MACHINE:-}" ] || "$gradcut" calibrate --seconds "${seconds:-10}" --threads "$threads" -o "$machine" \
                ${CALIBRATE:-} </dev/null >"$work/said"
            "$gradcut" bench "$work/model.gcut" "$@" ${STEPS:+--steps "$STEPS"} --json </dev/null >"$work/$name.run.$pass"
            moved "$work/$name.run.$pass" || break
            echo "predictions.sh: the processors were moved: $name, try $try of 5" >&2
        done
    done <"$work/cases"
done

python3 - "$work" "$runs" "${CLASSES:-}" <<'END'
import csv
import json
import math
import sys

work, passes, classes_csv = sys.argv[1], int(sys.argv[2]), sys.argv[3]
names = [line.split()[0] for line in open(f"{work}/cases")]
rows, far, of_best, of_kernels = [], [], 0.0, 0.0


def off(ratio):
    return 100 * (max(ratio, 1 / ratio) - 1)


print("| case | predicted, ms | best, ms | off by | in each pass | median, ms | kernels, ms | off by | the furthest class "
      "| its ratio |\n|---|---|---|---|---|---|---|---|---|---|")
for name in names:
    runs = [json.load(open(f"{work}/{name}.run.{i + 1}")) for i in range(passes)]
    run = min(runs, key=lambda run: run["step_ns_best"])
    predicted, best = run["predicted_ns"], run["step_ns_best"]
    each = ", ".join(f"{off(run['predicted_ns'] / run['step_ns_best']):.0f}" for run in runs)
    kernels = sum(kernel["least_ns"] for kernel in run["kernels"])
    classes = {}
    for kernel in run["kernels"]:
        of = classes.setdefault(kernel["class"], [0, 0])
        of[0] += kernel["predicted_ns"]
        of[1] += kernel["least_ns"]
    ratio, furthest = max(((x / y, c) for c, (x, y) in classes.items() if y >= kernels / 10 and x > 0),
                          key=lambda r: off(r[0]))
    print(f"| {name} | {predicted / 1e6:.4g} | {best / 1e6:.4g} | {off(predicted / best):.0f} % | {each} % "
          f"| {run['step_ns'] / 1e6:.4g} | {kernels / 1e6:.4g} | {off(predicted / kernels):.0f} % "
          f"| {furthest} | {ratio:.2f} |")
    far.append((off(predicted / best), name))
    of_best += math.log(predicted / best)
    of_kernels += math.log(predicted / kernels)
    rows += ((name, *(c[key] for key in ("class", "kernels", "runs", "predicted_ns", "measured_ns", "ratio")))
             for c in run["classes"])
print(f"\n{len(far)} cases; the furthest is {max(far)[1]}, off by {max(far)[0]:.0f} %; the geometric mean of predicted / best is "
      f"{math.exp(of_best / len(far)):.2f}, of predicted / kernels {math.exp(of_kernels / len(far)):.2f}")
if classes_csv:
    with open(classes_csv, "w") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(("case", "class", "kernels", "launches", "predicted_ns", "measured_ns", "ratio"))
        writer.writerows(rows)
END
