#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# start.sh [MODEL[/SIZE]…]: what the cache spares a program that starts: milliseconds of gcut_compile, elapsed and of
# processor time, cold, with the object alone in the cache, and with all of it, in fresh processes that take turns.
# The best of ROUNDS (5) is printed; the cold start is one.
set -eu
cd "$(dirname "$0")/.."
zoo=${ZOO:-build/examples/zoo} worker=${WORKER:-build/bench/start_worker} rounds=${ROUNDS:-5}
[ $# -gt 0 ] || set -- mlp lenet resnet vit gpt2 gpt2/124M lstm
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME="$work"
unset GRADCUT_CACHE GRADCUT_KEEP

best() { sort -n "$1" | head -n 1; }

echo '| model | cold, ms (processor) | object cached | step and object cached |'
echo '|---|---|---|---|'
for model; do
    rm -rf "$work/gradcut" "$work"/*.ms
    case $model in */*) size="--size ${model#*/}" ;; *) size= ;; esac
    # shellcheck disable=SC2086 # two words or none
    "$zoo" "${model%/*}" $size --dump "$work/model.gcut" >/dev/null
    cold=$("$worker" "$work/model.gcut")
    for _ in $(seq "$rounds"); do
        "$worker" "$work/model.gcut" >>"$work/all.ms"
        rm "$work"/gradcut/*.step
        "$worker" "$work/model.gcut" >>"$work/object.ms"
    done
    printf '%s\n%s\n%s\n' "$cold" "$(best "$work/object.ms")" "$(best "$work/all.ms")" |
        awk -v model="$model" '{ cell[NR] = sprintf("%.0f (%.0f)", $1, $2) }
            END { printf "| %s | %s | %s | %s |\n", model, cell[1], cell[2], cell[3] }'
done
