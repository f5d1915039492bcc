# SPDX-License-Identifier: GPL-3.0-or-later
#
# Exported models are valid by ONNX's own checker, and onnxruntime's outputs are those of `gradcut run --eval`.
# onnx_export_test.py GRADCUT FOLDER MODEL...; 77: onnx or onnxruntime is missing.

import os
import subprocess
import sys

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError as why:
    print("skipped:", why)
    sys.exit(77)

SIZE = 3  # of each symbol
DTYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(int32)": np.int32,
    "tensor(int64)": np.int64,
    "tensor(bool)": np.bool_,
}


def gradcut(*words):
    done = subprocess.run([sys.argv[1], *words], capture_output=True, text=True)
    if done.returncode:
        sys.exit("gradcut %s: %s" % (" ".join(words), done.stderr))
    return done.stdout


def random_input(random, x):
    shape = [d if isinstance(d, int) else SIZE for d in x.shape]
    dtype = DTYPES[x.type]
    if np.issubdtype(dtype, np.floating):
        return random.standard_normal(shape).astype(dtype)
    return random.integers(0, 2, shape).astype(dtype)


def check(path, folder, random):
    name = os.path.basename(path).removesuffix(".gcut")
    model = os.path.join(folder, name + ".onnx")
    said = gradcut("export", path, "-o", model)
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    inputs = {x.name: random_input(random, x) for x in session.get_inputs()}
    outputs = dict(zip([y.name for y in session.get_outputs()], session.run(None, inputs)))
    # What the function draws at random is an input of the model: the model itself is run then.
    function = path
    if "drawn at random" in said:
        function = os.path.join(folder, name + ".back.gcut")
        gradcut("import", model, "-o", function)
    given = []
    for x, value in inputs.items():
        np.save(os.path.join(folder, x + ".npy"), value)
        given += ["--in", x + "=" + os.path.join(folder, x + ".npy")]
    results = os.path.join(folder, name)
    gradcut("run", function, "--eval", "--forward", "--backend", "eager", "--out", results, *given)
    for y, value in outputs.items():
        want = np.load(os.path.join(results, y + ".npy"))
        if value.dtype != want.dtype or value.shape != want.shape:
            sys.exit("%s: %s is %s%s, not %s%s" % (path, y, value.dtype, value.shape, want.dtype, want.shape))
        np.testing.assert_allclose(value, want, rtol=2e-5, atol=1e-6, err_msg=path + ": " + y)
    print("%-40s %3d nodes, outputs agree" % (os.path.basename(path), len(onnx.load(model).graph.node)))


folder = sys.argv[2]
os.makedirs(folder, exist_ok=True)
for path in sys.argv[3:]:
    check(path, folder, np.random.default_rng(1))
