# SPDX-License-Identifier: GPL-3.0-or-later
#
# Exported models are valid by ONNX's own checker, and onnxruntime's outputs are those of `gradcut run --eval`.  Of models
# of ONNX, those with other weights, by `export --into`, with elements in the model and beside it.
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
    "tensor(int8)": np.int8,
    "tensor(uint8)": np.uint8,
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


def compare(name, text, results, given, session, inputs):
    """`gradcut run` on the same inputs, in the model's own mode: BatchNormalization of some trains."""
    gradcut("run", text, "--forward", "--backend", "eager", "--out", results, *given)
    for y, value in zip(session.get_outputs(), session.run(None, inputs)):
        want = np.load(os.path.join(results, y.name + ".npy"))
        np.testing.assert_allclose(value, want, rtol=2e-5, atol=1e-6, err_msg=name + ": " + y.name)


def without_elements(path):
    model = onnx.load(path, load_external_data=False)
    for x in model.graph.initializer:
        for field in "raw_data", "float_data", "external_data":
            x.ClearField(field)
    return model


def check_into(path, folder, random, beside):
    name = os.path.basename(path).removesuffix(".onnx") + (".beside" if beside else ".into")
    at = lambda ending: os.path.join(folder, name + ending)
    if beside:
        onnx.save_model(onnx.load(path), at(".onnx"), save_as_external_data=True, location=name + ".bin", size_threshold=100)
        path = at(".onnx")
    text, own, weights, model = at(".gcut"), at(".own.npz"), at(".npz"), at(".out.onnx")
    gradcut("import", path, "-o", text)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    sizes, given, inputs = {}, [], {}
    for x in session.get_inputs():
        inputs[x.name] = random_input(random, x, sizes)
        np.save(at("." + x.name + ".npy"), inputs[x.name])
        given += ["--in", x.name + "=" + at("." + x.name + ".npy")]
    gradcut("run", text, "--forward", "--backend", "eager", "--save-weights", own, *given)
    with np.load(own) as file:
        other = {k: v + random.uniform(0, 0.1, v.shape).astype(v.dtype) for k, v in file.items()}
    np.savez(weights, **other)
    gradcut("export", text, "--weights", weights, "--into", path, "-o", model)
    onnx.checker.check_model(model, full_check=True)
    if without_elements(model) != without_elements(path):
        sys.exit(name + ": more than elements has changed")
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    compare(name, text, at(".results"), [*given, "--weights", weights], session, inputs)
    print("%-40s outputs agree" % name)


def functions(path):
    with open(path, encoding="utf-8") as text:
        return re.findall(r"^func @([\w.]+)", text.read(), re.MULTILINE)


folder = sys.argv[2]
os.makedirs(folder, exist_ok=True)
for path in sys.argv[3:]:
    if path.endswith(".onnx"):
        check_into(path, folder, np.random.default_rng(1), False)
        check_into(path, folder, np.random.default_rng(1), True)
        continue
    for function in functions(path):
        check(path, function, folder, np.random.default_rng(1))
