#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# weights_test.sh GRADCUT safetensors|npz: the files of `run --save-weights` as Python's safetensors or NumPy reads them,
# and its files as `run --weights` reads them.  Skipped (77) where Python lacks safetensors or numpy.
set -eu
gradcut=$1
format=$2
python3 -c 'import numpy' 2>/dev/null || exit 77
[ "$format" = npz ] || python3 -c 'import safetensors.numpy' 2>/dev/null || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat >m.gcut <<'END'
gcut 1
func @f(param %layer.w: f32[3, 2], param %b: f64[], param %h: f16[2], state %n: i64[2], rng %key: i64[]) ->
    (out loss: f64[], next n: i64[2]) {
  %w = cast(%layer.w, to=f64)
  %s = sum(%w)
  %a = add(%s, %b)
  %c = cast(%h, to=f64)
  %t = sum(%c)
  %loss = add(%a, %t)
  %next = add(%n, %n)
  return %loss, %next
}
END
"$gradcut" run m.gcut --backend eager --forward --save-weights "ours.$format" --out results >/dev/null
python3 - "$format" <<'END'
import sys
import numpy as np

if sys.argv[1] == "npz":
    with np.load("ours.npz") as file:
        ours = dict(file)
    save_file = lambda tensors: (np.savez("theirs.npz", **tensors), np.savez_compressed("packed.npz", **tensors))
else:
    from safetensors.numpy import load_file, save_file as save

    ours = load_file("ours.safetensors")
    save_file = lambda tensors: save(tensors, "theirs.safetensors", metadata={"format": "np"})
assert {k: (v.dtype.name, v.shape) for k, v in ours.items()} == {
    "layer.w": ("float32", (3, 2)), "b": ("float64", ()), "h": ("float16", (2,)), "n": ("int64", (2,)),
    "key": ("int64", ())}, ours
loss = ours["layer.w"].astype("f8").sum() + ours["b"] + ours["h"].astype("f8").sum()
assert abs(np.load("results/loss.npy") - loss) < 1e-12
save_file({"model.layer.w": np.arange(6, dtype="f8").reshape(3, 2), "model.b": np.array(0.5, dtype="f4"),
           "model.h": np.array([1, 2], dtype="f4"), "unused": np.zeros(3, dtype="u4")})
END
unused=U32
files=theirs.$format
if [ "$format" = npz ]; then
    unused='<u4'
    files='theirs.npz packed.npz'
fi
for file in $files; do
    "$gradcut" run m.gcut --backend eager --forward --weights "$file" --rename 'model.*=*' --convert --partial >said
    grep -q '^loss  18.5$' said || { cat said >&2; exit 1; }
    if "$gradcut" run m.gcut --backend eager --forward --weights "$file" --rename 'model.*=*' 2>said; then exit 1; fi
    grep -q '1 left over, 3 of another dtype' said && grep -q "left over      unused, $unused\[3\]" said ||
        { cat said >&2; exit 1; }
done
