#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# predictions.sh [--quick] [CASE…]: compares the predicted with the best measured time of the step of every case of
# bench/peers/cases.py, by `gradcut bench`.  The machine is calibrated before each run: where others use the host, its
# speed changes within minutes.  Prints a table: predicted, best and median of the run with the least best time, the ratio
# of the prediction to the best time and how far off that is, the ratio to the median, and of the classes of kernels that
# take a tenth of the step or more the one that is the furthest off.  --quick: small stand-ins of the cases, and
# calibrations of 2 s.
#
#   THREADS  (every core)   RUNS  of each case (3)   STEPS  of each run (as many as take a second, 20 to 5000)
#   TIME  seconds of a calibration (10)   MACHINE  a model's file instead of calibrations   CALIBRATE  further options of them
#   GRADCUT, ZOO  the programs   CLASSES  a file for the classes of every case, as CSV
#
# A busy machine is refused by the calibration.  Some 25 minutes on two cores.
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

machine=${MACHINE:-$work/machine.json}
calibrate()
{
    [ -z "${MACHINE:-}" ] || return 0
    # shellcheck disable=SC2086 # a list of options
    "$gradcut" calibrate --seconds "${seconds:-10}" --threads "$threads" -o "$machine" ${CALIBRATE:-} >"$work/said"
}
[ -z "${CLASSES:-}" ] || echo 'case,class,kernels,launches,predicted_ns,measured_ns,ratio' >"$CLASSES"
echo '| case | predicted, ms | best, ms | median, ms | off by | predicted / median | the furthest class | its ratio |'
echo '|---|---|---|---|---|---|---|---|'
{ while read -r name file model size at optimizer; do
    if [ "$file" = - ]; then
        "$zoo" "$model" --size "$size" --dump "$work/model.gcut" >/dev/null
    else
        cp "bench/models/$file" "$work/model.gcut"
    fi
    set -- --at "$at" --threads "$threads" --machine "$machine"
    [ "$optimizer" = none ] || set -- "$@" --optimizer "$optimizer"
    for run in $(seq "$runs"); do
        calibrate
        "$gradcut" bench "$work/model.gcut" "$@" ${STEPS:+--steps "$STEPS"} --json </dev/null >"$work/run.$run"
    done
    python3 - "$name" "${CLASSES:-}" "$work"/run.* <<'END'
import json, sys
name, classes, *files = sys.argv[1:]
runs = [json.load(open(file)) for file in files]
run = min(runs, key=lambda run: run["step_ns_best"])
if classes:
    with open(classes, "a") as out:
        for c in run["classes"]:
            row = (c[key] for key in ("class", "kernels", "runs", "predicted_ns", "measured_ns", "ratio"))
            print(name, *("" if x is None else x for x in row), sep=",", file=out)
off = lambda ratio: max(ratio, 1 / ratio) - 1
whole = sum(c["measured_ns"] for c in run["classes"])
far = max((c for c in run["classes"] if c["ratio"] and c["measured_ns"] >= whole / 10), key=lambda c: off(c["ratio"]))
predicted, best, median = run["predicted_ns"], run["step_ns_best"], run["step_ns"]
print(f"| {name} | {predicted / 1e6:.4g} | {best / 1e6:.4g} | {median / 1e6:.4g} | {100 * off(predicted / best):.0f} % "
      f"| {predicted / median:.2f} | {far['class']} | {far['ratio']:.2f} |", flush=True)
END
    rm "$work"/run.*
done <"$work/cases"; : >"$work/complete"; } | tee "$work/table"
[ -f "$work/complete" ] || exit 1
awk -F'|' '{ x = $6 + 0; sum += log($3 / $4); if (x > most) { most = x; name = $2; gsub(/ /, "", name) } }
    END { if (NR) printf "\n%d cases; the furthest is %s, off by %.0f %%; the geometric mean of predicted / best is %.2f\n", NR, name, most, exp(sum / NR) }' "$work/table"
