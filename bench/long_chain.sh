#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# long_chain.sh OLD NEW [RUNS]: seconds of user time that two builds of the command need for chains of 1,000 to 8,000
# operations, the least of RUNS (3) alternating runs: `plan` and `compile -o` of add, mul, tanh in turns (ew) and of
# products with tanh between them (mm).
set -eu
old=$1 new=$2 runs=${3:-3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export GRADCUT_MACHINE=shipped GRADCUT_CACHE=off

chain() # KIND N
{
    echo "gcut 1"
    echo "func @f(param %w: f32[64, 64], input %x: f32[64, 64]) -> (out loss: f32[]) {"
    awk -v kind="$1" -v n="$2" 'BEGIN {
        last = "x"
        for (i = 0; i < n; i++) {
            k = kind == "ew" ? i % 3 : 3 + i % 2
            op = k == 0 ? "add(%" last ", %w)" : k == 1 ? "mul(%" last ", %w)" : k == 3 ? "matmul(%" last ", %w)" : "tanh(%" last ")"
            last = "v" i
            print "  %" last " = " op
        }
        print "  %loss = sum(%" last ")\n  return %loss\n}"
    }'
}

seconds() # BINARY COMMAND…
{
    env time -f %U -o "$folder/seconds" "$@" >/dev/null
    tail -1 "$folder/seconds"
}

for kind in ew mm; do
    for n in 1000 2000 4000 8000; do
        chain $kind $n >"$folder/chain.gcut"
        for command in plan compile; do
            for run in $(seq "$runs"); do
                for binary in "$old" "$new"; do
                    if [ $command = plan ]; then
                        t=$(seconds "$binary" plan "$folder/chain.gcut")
                    else
                        t=$(seconds "$binary" compile "$folder/chain.gcut" -o "$folder/step")
                    fi
                    echo "$kind $n $command $binary $t"
                done
            done
        done
    done
done | awk '{ key = $1 " " $2 " " $3; if (!(key in seen)) { seen[key] = 1; order[++m] = key }
              k = key SUBSEP $4; if (!(k in least) || $5 < least[k]) least[k] = $5; name[$4] = 1 }
            END { for (i = 1; i <= m; i++) { line = order[i]; for (b in name) line = line "  " b " " least[order[i] SUBSEP b]; print line } }'
