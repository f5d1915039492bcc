#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# zoo.sh [MODEL…]: trains the models of examples/models for a while and prints the table of doc/models.md.
#
#   THREADS  of every step (every core)      STEPS  per model (40)      ZOO  the program (build/examples/zoo)
set -eu
cd "$(dirname "$0")/.."
zoo=${ZOO:-build/examples/zoo} threads=${THREADS:-$(nproc)} steps=${STEPS:-40}
[ $# -gt 0 ] || set -- $("$zoo" --list | cut -d' ' -f1)
echo '| command | parameters | compiled in | saved, MiB | peak, MiB | loss | ms per step |'
echo '|---|---|---|---|---|---|---|'
for model; do
    "$zoo" "$model" --steps "$steps" --threads "$threads" | awk -v model="$model" '
        / parameters, / { parameters = $3 }
        / are saved for/ { seconds = $3; saved = $5 }
        /^peak: / { peak = $5 }
        /^loss / { first = $2; last = $4; best = $10 }
        END {
            sub(";", "", last)
            printf "| `zoo %s` | %d | %s s | %.1f | %.1f | %.3g to %.3g | %.3g |\n",
                model, parameters, seconds, saved / 1048576, peak / 1048576, first, last, best
        }'
done
