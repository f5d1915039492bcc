#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# predictions.sh [--quick] [CASE…]: compares the predicted with the measured time of the step of every case of
# bench/peers/cases.py, by `gradcut bench`.  The machine is calibrated before each run: where others use the host, its
# speed changes within minutes.  Prints a table: predicted, measured (the median of the run with the least one), their
# ratio, how far off that is, and of the classes of kernels that take a tenth of the step or more the one that is the
# furthest off.  --quick: small stand-ins of the cases, and calibrations of 2 s.
#
#   THREADS  (every core)   RUNS  of each case (3)   STEPS  of each run (20)   TIME  seconds of a calibration (10)
#   MACHINE  a model's file instead of calibrations   CALIBRATE  further options of them: --force
#   GRADCUT, ZOO  the programs   CLASSES  a file for the classes of every case, as CSV
#
# A busy machine is refused by the calibration.  Some 25 minutes on two cores.
set -eu
cd "$(dirname "$0")/.."
gradcut=${GRADCUT:-build/gradcut} zoo=${ZOO:-build/examples/zoo}
threads=${THREADS:-$(nproc)} runs=${RUNS:-3} steps=${STEPS:-20} quick=
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
echo '| case | predicted, ms | measured, ms | ratio | off by | the furthest class | its ratio |'
echo '|---|---|---|---|---|---|---|'
while read -r name file model size at optimizer; do
    if [ "$file" = - ]; then
        "$zoo" "$model" --size "$size" --dump "$work/model.gcut" >/dev/null
    else
        cp "bench/models/$file" "$work/model.gcut"
    fi
    set -- --at "$at" --threads "$threads" --steps "$steps" --machine "$machine"
    [ "$optimizer" = none ] || set -- "$@" --optimizer "$optimizer"
    for run in $(seq "$runs"); do
        calibrate
        "$gradcut" bench "$work/model.gcut" "$@" --csv >"$work/run.$run"
    done
    best=$(for run in $(seq "$runs"); do echo "$(sed -n 's/^step,//p' "$work/run.$run" | cut -d, -f4) $run"; done |
        sort -g | head -1 | cut -d' ' -f2)
    [ -z "${CLASSES:-}" ] || sed "1d; s/^/$name,/" "$work/run.$best" >>"$CLASSES"
    awk -F, -v name="$name" '
        function off(x) { return x > 1 ? x - 1 : 1 / x - 1 }
        NR == 1 { next }
        $1 == "step" { predicted = $4; measured = $5; next }
        { class[++n] = $1; took[n] = $5; ratio[n] = $6; sum += $5 }
        END {
            for (i = 1; i <= n; i++) if (took[i] >= sum / 10 && (!far || off(ratio[i]) > off(ratio[far]))) far = i
            x = predicted / measured
            printf "| %s | %.4g | %.4g | %.2f | %.0f %% | %s | %.2f |\n", name, predicted / 1e6, measured / 1e6, x, 100 * off(x), class[far], ratio[far]
        }' "$work/run.$best"
done <"$work/cases" | tee "$work/table"
awk -F'|' '{ x = $6 + 0; sum += log($5); if (x > most) { most = x; name = $2; gsub(/ /, "", name) } }
    END { if (NR) printf "\n%d cases; the furthest is %s, off by %.0f %%; the geometric mean of the ratios is %.2f\n", NR, name, most, exp(sum / NR) }' "$work/table"
