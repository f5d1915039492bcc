#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# peers.sh [OPTION…] [CASE…]: builds what it needs, then times compiled steps against PyTorch (eager, torch.compile,
# max-autotune), JAX and the floor of the machine, taking turns.  Writes peers.md, peers.svg and peers.csv in
# bench/results, merging cases that were run before.  `peers.sh --help` lists options and cases.
#
#   PYTHON   a Python with torch and jax (python3); what it lacks is left out      BUILD  the build (build)
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build}
[ -f "$build/CMakeCache.txt" ] || cmake -S . -B "$build" >/dev/null
cmake --build "$build" --target step_worker floor_worker gradcut_zoo gradcut_cli -j"$(nproc)" >/dev/null
exec python3 bench/peers/run.py --build "$build" "$@"
