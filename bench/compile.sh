#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# compile.sh [MODEL[:SIZE]…]: how long a step takes to be made, for models of the zoo.
#
# Without arguments: every model of the zoo at its first size, gpt2:124M, and a graph of one product (tiny).  Each row:
# nodes of the graph, kernels (rows of the table of launches), functions, lines and bytes of emitted C; then ms of
# the command for planning and emission; in gcut_compile, of the C compiler and linker (wall, then processor time), and of
# all waiting; each the best of ROUNDS runs.  Steps are trained by the optimizer of the zoo, for its sizes.
#
#   ROUNDS (3)   THREADS (every core)   GRADCUT, ZOO, WORKER  the programs   MACHINE  the machine model (shipped)
set -eu
cd "$(dirname "$0")/.."
gradcut=${GRADCUT:-build/gradcut} zoo=${ZOO:-build/examples/zoo} worker=${WORKER:-build/bench/start_worker}
rounds=${ROUNDS:-3} threads=${THREADS:-$(nproc)}
export GRADCUT_MACHINE="${MACHINE:-shipped}" GRADCUT_CACHE=off
for program in "$gradcut" "$zoo" "$worker"; do
    [ -x "$program" ] || { echo "compile.sh: there is no $program: build it, or set GRADCUT, ZOO and WORKER" >&2; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ $# -eq 0 ]; then
    for model in $("$zoo" --list | cut -d' ' -f1); do set -- "$@" "$model"; done
    set -- "$@" gpt2:124M tiny
fi

cat >"$work/tiny.gcut" <<'END'
gcut 1
func @tiny[N in 1..](param %w: f32[3, 1], input %x: f32[N, 3], input %t: f32[N, 1]) -> (out loss: f32[]) {
  %y = matmul(%x, %w)
  %loss = mse(%y, %t)
  return %loss
}
END

# A C compiler that notes when it ran and its processor time, in seconds: those of a step's parts run at once.
cat >"$work/cc" <<'END'
#!/usr/bin/env python3
import os, resource, subprocess, sys, time
start = time.monotonic()
status = subprocess.run([os.environ["BENCH_CC"]] + sys.argv[1:]).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
with open(os.environ["BENCH_LOG"], "a") as log:
    print(start, time.monotonic(), used.ru_utime + used.ru_stime, file=log)
sys.exit(status)
END
chmod +x "$work/cc"

# Wall time of a command in ms.
ms()
{
    python3 -c 'import subprocess, sys, time
start = time.monotonic()
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(1e3 * (time.monotonic() - start))' "$@"
}

# value OPTION ARGUMENT…: the values of an option, one a line
value()
{
    option=$1
    shift
    while [ $# -gt 1 ]; do
        [ "$1" != "$option" ] || echo "$2"
        shift
    done
}

least()
{
    sort -g | head -1
}

echo '| model | nodes | kernels | functions | lines of C | bytes | plan and emit, ms | C compiler, ms | of it processor, ms | in all, ms |'
echo '|---|---|---|---|---|---|---|---|---|---|'
for model; do
    name=${model%%:*} size=${model#*:} file=$work/model.gcut
    if [ "$name" = tiny ]; then
        cp "$work/tiny.gcut" "$file"
        set -- --at N=32 --optimizer 'sgd(lr=0.1)'
    else
        [ "$size" != "$model" ] || size=$("$zoo" --list | sed -n "s/^$name  .* [0-9][0-9][0-9][0-9]  *\([^ ]*\).*/\1/p")
        "$zoo" "$name" --size "$size" --dump "$file" >/dev/null
        set -- $("$zoo" "$name" --size "$size" --options)
    fi
    optimizer=$(value --optimizer "$@") sizes=$(value --at "$@")
    rm -f "$work"/emit "$work"/cc.ms "$work"/all
    for round in $(seq "$rounds"); do
        ms "$gradcut" compile "$file" -o "$work/step" --threads "$threads" "$@" >>"$work/emit"
        # shellcheck disable=SC2086 # a list of NAME=SIZE
        "$worker" "$file" "$optimizer" "$threads" $sizes | cut -d' ' -f1 >>"$work/all"
        rm -f "$work/log"
        # shellcheck disable=SC2086
        BENCH_CC=${CC:-cc} BENCH_LOG=$work/log GRADCUT_CC=$work/cc "$worker" "$file" "$optimizer" "$threads" $sizes >/dev/null
        awk 'NR == 1 || $1 < from { from = $1 } $2 > to { to = $2 } { cpu += $3 } END { print 1e3 * (to - from), 1e3 * cpu }' \
            "$work/log" >>"$work/cc.ms"
    done
    awk -v model="$model" -v nodes="$(grep -c ' = ' "$file")" -v kernels="$(grep -c '^    [0-9].*/\* k[0-9]*: ' "$work/step.c")" \
        -v functions="$(grep -c '^GCUT_RT_LOCAL void step_f' "$work/step.c")" \
        -v lines="$(wc -l <"$work/step.c")" -v bytes="$(wc -c <"$work/step.c")" \
        -v emit="$(least <"$work/emit")" -v all="$(least <"$work/all")" '
        NR == 1 || $1 < wall { wall = $1 }
        NR == 1 || $2 < cpu { cpu = $2 }
        END { printf "| %s | %d | %d | %d | %d | %d | %.0f | %.0f | %.0f | %.0f |\n", model, nodes, kernels, functions,
                     lines, bytes, emit, wall, cpu, all }' "$work/cc.ms"
done
