#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# onnx_page_test.sh SOURCE BUILD [LINK]: follows doc/onnx.md, step by step: its export, where PyTorch is installed, else the
# model of examples/ that it has made; its commands, with what they print; onnxruntime, where that is installed, on what
# comes back; its program, where LINK says how a program is linked with the library.
set -eu
source=$1
build=$2
link=${3-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir bin
ln -s "$build/gradcut" bin/gradcut
PATH=$work/bin:$PATH

# Block k of a language.
block()
{
    awk -v fence="\`\`\`$1" -v want="$2" '$0 == "```" { in_block = 0 } in_block && n == want { print }
        $0 == fence { in_block = 1; n++ }' "$source/doc/onnx.md"
}
if python3 -c 'import torch, onnx' 2>/dev/null; then
    block python 1 >export.py
    python3 export.py 2>export.log || { cat export.log; exit 1; }
else
    cp "$source/examples/digits.onnx" .
fi
block sh 1 | sh -e >ops.out
grep -q '^all 6 ops can be imported$' ops.out
block sh 2 | sh -e >import.out
block text 1 | diff - import.out
block sh 3 | sh -e >run.out
grep -q '^step 5  loss' run.out
test -s trained.safetensors
block sh 4 | sh -e >export.out
test -s trained.onnx
if python3 -c 'import numpy, onnxruntime' 2>/dev/null; then
    block python 2 >infer.py
    python3 infer.py
fi
block sh 5 | sh -e >into.out
test -s digits-trained.onnx
[ -n "$link" ] || exit 0
rm trained.safetensors
block c 1 >train.c
# shellcheck disable=SC2086
cc -I"$source/include" train.c $link -o train
./train
test -s trained.safetensors
