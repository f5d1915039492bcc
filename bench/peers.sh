#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# peers.sh [OPTION…] [CASE…]: builds what it needs, then times compiled steps against PyTorch (eager, torch.compile,
# max-autotune), JAX and the floor of the machine, taking turns.  Writes peers.md, peers.svg and peers.csv in
# bench/results, merging cases that were run before.  --isa avx2: the same as on a processor without AVX-512, in
# bench/results/avx2.  `peers.sh --help` lists options and cases.
#
#   PYTHON   a Python with torch and jax (python3); what it lacks is left out      BUILD  the build (build)
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build}
[ -f "$build/CMakeCache.txt" ] || cmake -S . -B "$build" >/dev/null
cmake --build "$build" --target step_worker gradcut_zoo gradcut_cli -j"$(nproc)" >/dev/null
exec python3 bench/peers/run.py --build "$build" "$@"
