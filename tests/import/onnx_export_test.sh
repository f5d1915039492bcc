#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# onnx_export_test.sh GRADCUT SOURCE: what `gradcut export` writes of the models of tests/models, of examples and of
# export_ops.gcut, and into the models of tests/onnx, by ONNX's checker and in onnxruntime.  Skipped (77) where Python lacks one of them.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 "$2/tests/import/onnx_export_test.py" "$1" "$work" "$2"/tests/models/*.gcut "$2"/examples/*.gcut \
  "$2/tests/import/export_ops.gcut" "$2"/tests/onnx/*.onnx
