#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# torch_models_test.sh GRADCUT script|dynamo: imports of PyTorch's exports train as in PyTorch.  Skipped (77) where there
# is no Python, or it lacks PyTorch or what its exporters need.
set -eu
here=$(dirname "$0")
command -v python3 >/dev/null || exit 77
PYTHONDONTWRITEBYTECODE=1 exec python3 "$here/train_torch_models.py" "$1" --exporter "$2"
