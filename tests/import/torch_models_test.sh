#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# torch_models_test.sh GRADCUT script|dynamo: imports of PyTorch's exports train as in PyTorch; all of torch_models.py with
# GCUT_NIGHTLY=1, which takes three minutes, else three of each exporter.  Skipped (77) where there is no Python, or it lacks
# PyTorch or what its exporters need.
set -eu
here=$(dirname "$0")
command -v python3 >/dev/null || exit 77
models=
if [ "${GCUT_NIGHTLY-}" != 1 ]; then
    case $2 in
    script) models="resnet50 unet_bilinear lstm" ;;
    dynamo) models="vit_b16 gpt2 t5_small" ;;
    esac
fi
# shellcheck disable=SC2086
PYTHONDONTWRITEBYTECODE=1 exec python3 "$here/train_torch_models.py" "$1" --exporter "$2" $models
