# SPDX-License-Identifier: GPL-3.0-or-later
#
# Exported models are valid by ONNX's own checker, and onnxruntime's outputs are those of `gradcut run --eval`.
# onnx_export_test.py GRADCUT FOLDER MODEL...; 77: onnx or onnxruntime is missing.

import os
import re
import subprocess
import sys

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError as why:
    print("skipped:", why)
    sys.exit(77)

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


def size(text, sizes):
    """The value of 2*N+1, ceildiv(H,2); new symbols are 4, 8, ..."""
    if isinstance(text, int):
        return text
    functions = {"div": lambda a, b: a // b, "ceildiv": lambda a, b: -(-a // b), "mod": lambda a, b: a % b, "min": min, "max": max}
    for symbol in re.findall(r"[A-Za-z_]\w*", text):
        if symbol not in functions:
            sizes.setdefault(symbol, 4 + 4 * len(sizes))
    return eval(text, functions, sizes)


def random_input(random, x, sizes):
    shape = [size(d, sizes) for d in x.shape]
    dtype = DTYPES[x.type]
    if np.issubdtype(dtype, np.floating):
        return random.standard_normal(shape).astype(dtype)
    return random.integers(0, 2, shape).astype(dtype)


def check(path, function, folder, random):
    name = os.path.basename(path).removesuffix(".gcut") + "." + function
    model = os.path.join(folder, name + ".onnx")
    said = gradcut("export", path, "@" + function, "-o", model)
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    sizes = {}
    inputs = {x.name: random_input(random, x, sizes) for x in session.get_inputs()}
    outputs = dict(zip([y.name for y in session.get_outputs()], session.run(None, inputs)))
    operands = [path, "@" + function]
    if "drawn at random" in said:  # an input of the model, of which the function has a key: the model itself is run
        operands = [os.path.join(folder, name + ".gcut")]
        gradcut("import", model, "-o", operands[0])
    given = []
    for x, value in inputs.items():
        np.save(os.path.join(folder, x + ".npy"), value)
        given += ["--in", x + "=" + os.path.join(folder, x + ".npy")]
    results = os.path.join(folder, name)
    gradcut("run", *operands, "--eval", "--forward", "--backend", "eager", "--out", results, *given)
    for y, value in outputs.items():
        want = np.load(os.path.join(results, y + ".npy"))
        if value.dtype != want.dtype or value.shape != want.shape:
            sys.exit("%s: %s is %s%s, not %s%s" % (name, y, value.dtype, value.shape, want.dtype, want.shape))
        np.testing.assert_allclose(value, want, rtol=2e-5, atol=1e-6, err_msg=name + ": " + y)
    print("%-40s %3d nodes, outputs agree" % (name, len(onnx.load(model).graph.node)))


def functions(path):
    with open(path, encoding="utf-8") as text:
        return re.findall(r"^func @([\w.]+)", text.read(), re.MULTILINE)


folder = sys.argv[2]
os.makedirs(folder, exist_ok=True)
for path in sys.argv[3:]:
    for function in functions(path):
        check(path, function, folder, np.random.default_rng(1))
