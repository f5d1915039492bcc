# SPDX-License-Identifier: GPL-3.0-or-later
"""XLA computes from StableHLO what the interpreter computes, and JAX's gradients.

    run_stablehlo.py GRADCUT ZOO SOURCES

Models of tests/models and the functions of tests/text/stablehlo_ops.gcut are written by `gradcut show --as stablehlo`, the
joint graph and the pair, compiled by XLA and run on drawn numbers; `gradcut run --backend joint` computes the same.  Small
cases of the bench are compared with the gradients of bench/peers/jax_models.py.  All models and cases with GCUT_NIGHTLY=1,
else few.  Exits with 1 where they differ, with 77
where JAX is not installed.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import jax
    import numpy as np
    from jax._src.lib import xla_client
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")
    CLIENT = jax.devices()[0].client
    DEVICES = xla_client.DeviceList(tuple(jax.devices()[:1]))
    CLIENT.compile_and_load
except (ImportError, AttributeError, RuntimeError) as e:
    print(f"skipped: {e}")
    sys.exit(77)

DTYPES = {"f32": np.float32, "f64": np.float64, "i64": np.int64, "i32": np.int32, "i8": np.int8, "i1": np.bool_,
          "ui8": np.uint8}
FLOATS = ("f32", "f64")
# Of the largest element; sums of f32 in another order.
TOLERANCE = 2e-4


def gradcut(*args):
    p = subprocess.run([GRADCUT, *args], capture_output=True, text=True)
    if p.returncode:
        sys.exit(f"gradcut {' '.join(args)}: {p.stderr}")
    return p.stdout


def signature(text, function):
    """(name, shape, dtype, role) of arguments and of results."""
    head = text[text.index(f"func.func public @{function}("):]
    arguments, results = head[:head.index(") {\n")].split(") -> (")

    def value(name, kind, role):
        *shape, dtype = kind.split("x")
        return name, tuple(map(int, shape)), dtype, role

    return ([value(*m) for m in re.findall(r'%(\S+): tensor<([^>]*)> \{gradcut\.role = "(\w+)"\}', arguments)],
            [value(name, kind, role) for kind, role, name in
             re.findall(r'tensor<([^>]*)> \{gradcut\.role = "(\w+)", gradcut\.name = "([^"]*)"\}', results)])


def compute(text, arrays):
    run = CLIENT.compile_and_load(text.encode(), DEVICES, xla_client.CompileOptions())
    return [np.asarray(x) for x in run.execute([jax.device_put(a) for a in arrays])]


def only(text, function):
    """The module with that function alone, as @main, which is what XLA compiles."""
    head, *functions = re.split(r"(?m)^(?=  func\.func)", text.rstrip()[:-1])
    found = next(f for f in functions if f.startswith(f"  func.func public @{function}("))
    return head + found.replace(f"@{function}(", "@main(", 1) + "}\n"


def draw(rng, shape, dtype, role):
    if role == "cotan" and not shape:
        return np.ones(shape, DTYPES[dtype])
    if dtype not in FLOATS:
        return np.asarray(rng.integers(0, 2, shape)).astype(DTYPES[dtype])
    x = np.asarray(rng.standard_normal(shape)).astype(DTYPES[dtype])
    return np.abs(x) + DTYPES[dtype](0.2) if role == "state" else x * DTYPES[dtype](0.3)


def error(x, y, least):
    """Of the largest element of y, or of `least` where that is larger."""
    if x.dtype.kind != "f":
        return 0.0 if np.array_equal(x, y) else np.inf
    both = np.isnan(x) & np.isnan(y)
    x, y = np.where(both, 0, x).astype(np.float64), np.where(both, 0, y).astype(np.float64)
    return np.max(np.abs(x - y), initial=0) / max(least, np.max(np.abs(y), initial=0))


def compare(what, pairs):
    """pairs: (role, name, x, y).  A gradient that is 0 but for rounding is compared with the largest of all."""
    largest = max((np.max(np.abs(y), initial=0) for role, _, _, y in pairs if role == "grad"), default=0)
    worst = max(((error(x, y, max(1e-6, 1e-3 * largest if role == "grad" else 0)), name) for role, name, x, y in pairs),
                default=(0, ""))
    print(f"{what}: {len(pairs)} results, error {worst[0]:.1e}")
    return not worst[0] <= TOLERANCE and f"{what}: %{worst[1]} differs by {worst[0]:.1e}"


def try_function(path, *options):
    name = pathlib.Path(path).stem + "".join(o for o in options if o.startswith("@"))
    text = gradcut("show", path, "--stage", "joint", "--as", "stablehlo", *options)
    arguments, results = signature(text, "main")
    rng = np.random.default_rng(0)
    arrays = {a[0]: draw(rng, *a[1:]) for a in arguments}
    ours = compute(text, arrays.values())
    with tempfile.TemporaryDirectory() as folder:
        feeds = []
        for i, (key, x) in enumerate(arrays.items()):
            np.save(f"{folder}/{i}.npy", x)
            feeds += ["--in", f"{key}={folder}/{i}.npy"]
        gradcut("run", path, "--backend", "joint", "--out", f"{folder}/out", *feeds, *options)
        theirs = [np.load(f"{folder}/out/{'grad.' if role == 'grad' else ''}{key}.npy") for key, _, _, role in results]
    wrong = [compare(name, [(r[3], r[0], x, y) for r, x, y in zip(results, ours, theirs)])]
    pair = gradcut("show", path, "--stage", "split", "--as", "stablehlo", *options)
    if "@bwd(" in pair:
        known = dict(arrays)
        both = {}
        for function in ("fwd", "bwd"):
            needs, gives = signature(pair, function)
            for r, x in zip(gives, compute(only(pair, function), [known[a[0]] for a in needs])):
                both[r[3], r[0]] = x
                if r[3] == "saved":
                    known[r[0]] = x
        wrong.append(compare(f"{name}, pair", [(r[3], r[0], both[r[3], r[0]], y) for r, y in zip(results, theirs)]))
    return wrong


def try_case(case, folder, zoo):
    """The loss and the gradients of a case of the bench beside JAX's."""
    import jax_models
    path = f"{folder}/{case.name}.gcut"
    if case.file:
        path = f"{SOURCES}/bench/models/{case.file}"
    else:
        subprocess.run([zoo, case.zoo[0], "--size", case.zoo[1], "--dump", path], check=True, stdout=subprocess.DEVNULL)
    at = ",".join(f"{k}={v}" for k, v in case.at.items())
    text = gradcut("show", path, "--stage", "joint", "--as", "stablehlo", "--at", at)
    arguments, results = signature(text, "main")
    rng = np.random.default_rng(0)
    arrays = {a[0]: draw(rng, *a[1:]) for a in arguments}
    ours = compute(text, arrays.values())
    net = getattr(jax_models, case.net.lower())
    inputs = [jax_models.arrange(a[0], arrays[a[0]]) for a in arguments if a[3] == "input"]
    params = {a[0]: jax_models.arrange(a[0], arrays[a[0]]) for a in arguments if a[3] == "param"}
    loss, grads = jax.value_and_grad(lambda p: net(p, case.facts, *inputs))(params)
    pairs = []
    for (key, _, _, role), x in zip(results, ours):
        if role in ("out", "grad"):
            y = np.asarray(loss if role == "out" else grads[key])
            pairs.append((role, key, x if x.shape == y.shape else np.asarray(jax_models.arrange(key, x)), y))
    return [compare(f"{case.name} beside jax.grad", pairs)]


def main():
    wrong = []
    every = os.environ.get("GCUT_NIGHTLY") == "1"
    for path in sorted(pathlib.Path(f"{SOURCES}/tests/models").glob("*.gcut")):
        if every or path.stem in ("lenet", "lstm", "llama"):
            wrong += try_function(str(path))
    ops = f"{SOURCES}/tests/text/stablehlo_ops.gcut"
    for function in re.findall(r"(?m)^func (@\w+)", pathlib.Path(ops).read_text()):
        wrong += try_function(ops, function, *(["--forward"] if function == "@integers" else []))
    sys.path.insert(0, f"{SOURCES}/bench/peers")
    from cases import CASES
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            if case.name in (("mlp-64", "cnn-500", "lstm", "gpt-6x384", "vit-s16") if every else ("mlp-64", "lstm")):
                wrong += try_case(case.small(), folder, ZOO)
    wrong = [w for w in wrong if w]
    print(*wrong, sep="\n")
    return 1 if wrong else 0


GRADCUT, ZOO, SOURCES = sys.argv[1:]
sys.exit(main())
