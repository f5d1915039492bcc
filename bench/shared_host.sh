#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# shared_host.sh [MODEL.gcut [OPTIMIZER [NAME=SIZE…]]]: the time of a step on cores that others use too.
#
# Each way to run is a process of its own, with a compiled step; they run in rounds of random order (bench/peers/rounds.py),
# first beside nothing, then beside HOGS processes that never sleep.  One line for each: the median over the rounds of the
# rounds' medians with its interval of 95 %, the mean of all steps, in ms, and the time of the first way over it.  The ways:
# by default, twice, with what OpenMP programs set on such hosts, and with one thread; the same of the workers of OTHER
# builds, each a bench/step_worker.
#
#   WORKER  (build/bench/step_worker)   OTHER  more of them   HOGS  (4)   THREADS  (every core)   ROUNDS  (11)   STEPS  a round (60)
#   SEED  of the rounds (0)
#
# The quiet half needs a host with nothing else to do; the load is printed.
set -eu
cd "$(dirname "$0")/.."
export WORKER="${WORKER:-build/bench/step_worker}" OTHER="${OTHER:-}" HOGS="${HOGS:-4}" THREADS="${THREADS:-$(nproc)}"
export ROUNDS="${ROUNDS:-11}" STEPS="${STEPS:-60}" SEED="${SEED:-0}" PYTHONPATH=bench/peers
[ $# -gt 0 ] || set -- bench/models/cnn.gcut 'adamw(lr=1e-3)' N=64
[ $# -gt 1 ] || set -- "$1" none
for program in $WORKER $OTHER; do
    [ -x "$program" ] || { echo "shared_host.sh: there is no $program: cmake --build build --target step_worker" >&2; exit 1; }
done
exec python3 - "$@" <<'PYTHON'
import json, os, statistics, subprocess, sys, tempfile

import rounds as in_rounds

model, optimizer, *sizes = sys.argv[1:]
setting = os.environ
threads, rounds, steps = setting["THREADS"], int(setting["ROUNDS"]), setting["STEPS"]
WAYS = [("default", threads, {}), ("default again", threads, {}), ("GOMP_SPINCOUNT=3000", threads, {"GOMP_SPINCOUNT": "3000"}),
        ("OMP_WAIT_POLICY=passive", threads, {"OMP_WAIT_POLICY": "passive"}), ("one thread", "1", {})]


def ask(worker, command):
    if command:
        worker.stdin.write(command + "\n")
        worker.stdin.flush()
    answer = worker.stdout.readline()
    if not answer:
        sys.exit("shared_host.sh: a worker has ended")
    return json.loads(answer)


def race(workers):
    medians, means = {w: [] for w in workers}, {w: [] for w in workers}
    for k in range(rounds):
        for name in in_rounds.order(setting["SEED"], k, workers):
            ms = ask(workers[name], f"step 5 {steps}")["ms"]
            medians[name].append(statistics.median(ms))
            means[name].append(statistics.mean(ms))
    b, first = in_rounds.Bootstrap(medians, setting["SEED"]), next(iter(workers))
    for name in workers:
        print(f"{name:58} {in_rounds.median_text(*b.median(name)):26} {statistics.mean(means[name]):8.3f}  "
              f"{'' if name == first else in_rounds.ratio_text(*b.ratio(first, name))}", flush=True)


with tempfile.TemporaryDirectory() as folder:
    workers, hogs = {}, []
    try:
        for program in [setting["WORKER"], *setting["OTHER"].split()]:
            for name, n, variables in WAYS:
                environment = {k: v for k, v in setting.items() if not k.startswith(("GOMP_", "OMP_"))} | variables
                workers[f"{program} {name}"] = worker = subprocess.Popen(
                    [program, model, optimizer, n, folder, *sizes], env=environment, text=True,
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                ask(worker, None)
        for n in 0, int(setting["HOGS"]):
            hogs += [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(n)]
            print(f"{model} {' '.join(sizes)}, {rounds} rounds of {steps} steps, {n} busy processes on {os.cpu_count()} cores, "
                  f"load {os.getloadavg()[0]:.1f}, seed {setting['SEED']}\n{'':58} {'median':26} {'mean':>8}  first over it")
            race(workers)
    finally:
        for process in [*hogs, *workers.values()]:
            process.kill()
PYTHON
