#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# jit.sh [BUILD]: what a call of gcut_jit and an eager op cost beside torch.compile's, in one run on this machine.  PYTHON has
# torch; without it PyTorch is left out.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
cmake --build "$build" --target jit_bench >/dev/null
echo "gradcut"
GRADCUT_CACHE=off "$build/bench/jit_bench"
python=${PYTHON:-python3}
"$python" -c "import torch" 2>/dev/null || exit 0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
echo "PyTorch"
TORCHINDUCTOR_CACHE_DIR="$folder" "$python" -W ignore bench/jit_torch.py
