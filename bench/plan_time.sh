#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# plan_time.sh OLD NEW [RUNS]: seconds of user time that two builds of the command need to plan models of the zoo
# under a budget of their bytes, as medians of RUNS (7) alternating runs, and the median of the ratios NEW / OLD.
set -eu
cd "$(dirname "$0")/.."
old=$1 new=$2 runs=${3:-7}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export GRADCUT_MACHINE=shipped GRADCUT_CACHE=off

user() # BINARY MODEL SIZES BUDGET: a budget that is not met is planned for, too
{
    env time -q -f %U -o "$folder/t" "$1" plan "$2" --at "$3" --optimizer adamw --budget "$4" >/dev/null 2>&1 || true
    tail -1 "$folder/t"
}

while read -r model sizes budget; do
    for run in $(seq "$runs"); do
        echo "$model $(user "$old" "tests/models/$model.gcut" "$sizes" "$budget") $(user "$new" \
            "tests/models/$model.gcut" "$sizes" "$budget")"
    done
done <<END | sort -k1,1 -s | awk '
    function median(a, n,   i, j, t) {
        for (i = 2; i <= n; i++) for (j = i; j > 1 && a[j] < a[j - 1]; j--) { t = a[j]; a[j] = a[j - 1]; a[j - 1] = t }
        return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2
    }
    function finish() {
        lo = 1e9; hi = 0
        for (i = 1; i <= n; i++) { r[i] = y[i] / x[i]; if (r[i] < lo) lo = r[i]; if (r[i] > hi) hi = r[i] }
        if (n) printf "%-12s old %6.2f s  new %6.2f s  ratio %.3f (%.3f to %.3f)\n", name, median(x, n), median(y, n), median(r, n), lo, hi
        n = 0
    }
    $1 != name { finish(); name = $1 }
    { n++; x[n] = $2; y[n] = $3 }
    END { finish() }'
gpt2 N=4,T=8 60000
llama N=4,T=8 80000
resnet N=4 200000
vit N=4 60000
lstm N=4,T=8 60000
END
