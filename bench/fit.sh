#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# fit.sh [OPTION…] [CASE]: under one limit of memory, which the kernel enforces (RLIMIT_DATA), the largest batch that trains
# and the most tokens or examples a second: gradcut with a plan for a budget, PyTorch eager, with a checkpoint at every
# block, and torch.compile with activation memory budgets.  Prints a table.  `fit.sh --help` lists options and cases.
#
#   PYTHON   a Python with torch (python3); without it gradcut is measured alone      BUILD  the build (build)
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build}
[ -f "$build/CMakeCache.txt" ] || cmake -S . -B "$build" >/dev/null
cmake --build "$build" --target step_worker fit_worker gradcut_zoo gradcut_cli -j"$(nproc)" >/dev/null
exec python3 bench/peers/fit.py --build "$build" "$@"
