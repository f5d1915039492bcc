# SPDX-License-Identifier: GPL-3.0-or-later
"""Imports of PyTorch's exports train as PyTorch does.

    train_torch_models.py GRADCUT [--exporter script|dynamo] [--keep DIR] [MODEL…]
    train_torch_models.py --write-reference

exports each model of torch_models.py, imports it with `gradcut import`, runs a training step with `gradcut run`, and
compares the loss, the gradient of every parameter and the running statistics with PyTorch's in float64.  Then exports and
imports it until nothing changes.  Exits with 1 where values differ or gradcut fails, with 77 where PyTorch or an exporter
is not installed.

--write-reference writes small exports into tests/onnx, each with PyTorch's numbers as NAME.npz, for
tests/import/test_onnx_models.c: in.X, an input; loss; grad.X, of the initializer that the import calls X; next.X, a
running statistic after the step.
"""

import argparse
import contextlib
import io
import json
import logging
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import warnings

try:
    import numpy as np
    import onnx
    import onnx.numpy_helper
    import onnxscript  # noqa: F401  an exporter needs it
    import torch
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(77)

import torch_models

# Ops that some exports have and gradcut does not: such a model is skipped.
MISSING = set()
IN_F64 = {("convnext_t", "script"), ("vit_b16", "script"), ("gpt2", "script"), ("gpt2", "dynamo")}  # too


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


# ---- exports ----


def has_batch_norm(m):
    return any(isinstance(x, torch.nn.BatchNorm2d) for x in m.module.modules())


def trains(m, exporter):
    """Is it exported in training mode?  The exporter of torch.export programs cannot do so."""
    return exporter == "script" and has_batch_norm(m)


def example(m):
    """Smaller inputs than those of the training step: what the exporter fixes would be noticed."""
    return tuple(x[tuple(slice(x.shape[k] - 1) for k in sorted(m.dynamic[name]))] for name, x in m.inputs.items())


def export(m, exporter, path, **how):
    names = list(m.inputs)
    m.module.train(trains(m, exporter))
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        if exporter == "script":
            mode = torch.onnx.TrainingMode.TRAINING if m.module.training else torch.onnx.TrainingMode.EVAL
            fold = how.pop("fold", not m.module.training)
            torch.onnx.export(m.module, example(m), path, dynamo=False, opset_version=17, input_names=names,
                              output_names=["y"], dynamic_axes=m.dynamic, training=mode, do_constant_folding=fold)
            return
        symbols = {s: torch.export.Dim(s) for axes in m.dynamic.values() for s in axes.values()}
        shapes = {name: {k: symbols[s] for k, s in axes.items()} for name, axes in m.dynamic.items()}
        # Folding would make one of a convolution and the normalization after it.
        fold = how.pop("fold", m.folds and not has_batch_norm(m))
        torch.onnx.export(m.module, example(m), path, dynamo=True, input_names=names, output_names=["y"],
                          dynamic_shapes=shapes, verbose=False, optimize=fold, **how)


# ---- PyTorch's numbers ----


def real(x):
    return x.double() if x.is_floating_point() else x


def train(m):
    """Loss, gradients and running statistics after one forward and backward pass in float64, in the mode of the module."""
    module = m.module.double()
    rows, stats = {}, {}
    norms = {name: x for name, x in module.named_modules() if module.training and isinstance(x, torch.nn.BatchNorm2d)}
    for name, norm in norms.items():
        norm.register_forward_pre_hook(lambda _, x, name=name: rows.update({name: x[0].numel() / x[0].shape[1]}))
    before = {name: norm.running_var.clone() for name, norm in norms.items()}
    loss = m.torch_loss(module(*map(real, m.inputs.values())), *map(real, m.targets.values()))
    loss.backward()
    for name, norm in norms.items():
        # ONNX averages variances that are divided by n, PyTorch those that are divided by n - 1.
        old = (1 - norm.momentum) * before[name]
        stats[f"{name}.running_mean"] = norm.running_mean.numpy()
        stats[f"{name}.running_var"] = (old + (norm.running_var - old) * (1 - 1 / rows[name])).numpy()
    grads = as_exported(module, {name: p.grad.numpy() for name, p in module.named_parameters()})
    return loss.item(), grads, stats


GATES = {torch.nn.LSTM: (0, 3, 1, 2), torch.nn.GRU: (1, 0, 2)}  # PyTorch's, in the order of ONNX


def as_exported(module, values):
    """Arrays by the names of parameters; those of recurrent layers as ONNX has them: for all directions, gates in its order,
    both biases one after the other."""
    values = dict(values)
    for prefix, layer in module.named_modules():
        if type(layer) not in GATES:
            continue
        directions = ("", "_reverse") if layer.bidirectional else ("",)

        def gates(kind, suffix):
            return [values.pop(f"{prefix}.{kind}{suffix}{way}") for way in directions]

        def ordered(x):
            parts = np.split(x, len(GATES[type(layer)]))
            return np.concatenate([parts[k] for k in GATES[type(layer)]])

        for k in range(layer.num_layers):
            for kind, name in (("weight_ih", "W"), ("weight_hh", "R")):
                values[f"{prefix}.{name}{k}"] = np.stack([ordered(x) for x in gates(kind, f"_l{k}")])
            both = zip(gates("bias_ih", f"_l{k}"), gates("bias_hh", f"_l{k}"))
            values[f"{prefix}.B{k}"] = np.stack([np.concatenate([ordered(a), ordered(b)]) for a, b in both])
    return values


# ---- what gradcut made ----


def read_safetensors(path):
    data = path.read_bytes()
    (n,) = struct.unpack("<Q", data[:8])
    dtypes = {"F32": "<f4", "F64": "<f8", "F16": "<f2", "I64": "<i8", "I32": "<i4", "BOOL": "?", "U8": "u1", "I8": "i1"}
    out = {}
    for name, x in json.loads(data[8 : 8 + n]).items():
        if name != "__metadata__":
            lo, hi = (8 + n + k for k in x["data_offsets"])
            out[name] = np.frombuffer(data[lo:hi], dtypes[x["dtype"]]).reshape(x["shape"])
    return out


def same(a, b):
    return a.shape == b.shape and np.array_equal(a, b)


def match(params, weights):
    """{name of gradcut: (PyTorch's name, is it transposed)}: by name and shape, else by contents."""
    at = {}
    for name, w in weights.items():
        of = re.sub(r"^_orig_mod\.|^self\.", "", name)
        if of in params and params[of].shape == w.shape:
            at[name] = of, False
            continue
        for of, p in params.items():
            if same(p, w) or (p.ndim == 2 and same(p.T, w)):
                at[name] = of, not same(p, w)
                break
    return at


def some(names):
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def distance(x, want, least=1e-12):
    """The largest difference over the largest element, or over `least`, if that is larger."""
    return float(np.abs(x - want).max() / max(np.abs(want).max(), least))


class Failed(Exception):
    pass


def compare(folder, m, params, want, tolerance):
    """The largest error of a gradient, and a remark."""
    loss, grads, stats = want
    results = {p.stem: np.load(p) for p in (folder / "out").glob("*.npy")}
    at = match(params, read_safetensors(folder / "m.safetensors"))
    ours, others = {}, []
    for name, x in results.items():
        if not name.startswith("grad."):
            continue
        of = name[len("grad.") :]
        if of not in at:
            others.append(of)
            continue
        to, transposed = at[of]
        ours[to] = ours.get(to, 0) + (x.T if transposed else x)
    lost = [name for name in grads if name not in ours]
    if lost:
        raise Failed(f"no gradient of {some(lost)}; trained, and no parameter: {some(others)}")
    if others and not m.has_tables:
        raise Failed(f"trained, and no parameter: {some(others)}")
    if not abs(results["loss"] - loss) <= tolerance * abs(loss):
        raise Failed(f"the loss is {results['loss']}, PyTorch's {loss}")
    # Some gradients are 0 but for rounding: of the biases of keys, and of biases before a normalization.
    least = 1e-4 * max(np.abs(g).max() for g in grads.values())
    error, worst = max((distance(ours[name], g, least), name) for name, g in grads.items())
    if not error <= tolerance:
        raise Failed(f"the gradient of {worst} is off by {error:.2g} of its largest element")
    for name, b in stats.items():
        if name not in results or not distance(results[name], b) <= tolerance:
            raise Failed(f"the running statistics {name} are wrong")
    return error, f"trained, and no parameter: {some(others)}" if others else ""


def missing_ops(gradcut, path):
    code, out, _ = run(gradcut, "ops", "--model", str(path), "--json")
    return set() if code else {op["op"] for op in json.loads(out)["ops"] if not op["supported"]}


def step(gradcut, m, folder):
    """Imports the model and runs its step: what import says, and None, or None and the missing ops."""
    model, text = folder / "m.onnx", folder / "m.gcut"
    code, out, err = run(gradcut, "import", str(model), "--loss", m.loss, "-o", str(text), "--json")
    if code:
        missing = missing_ops(gradcut, model)
        if missing and missing <= MISSING:
            return None, missing
        raise Failed(err.strip())
    feeds = []
    for name, x in {**m.inputs, **m.targets}.items():
        np.save(folder / f"{name}.npy", x.numpy())
        feeds += ["--in", f"{name}={folder / name}.npy"]
    code, _, err = run(gradcut, "run", str(text), *feeds, "--threads", "1", "--out", str(folder / "out"))
    if code:
        raise Failed(err.strip())
    return json.loads(out), None


def check_fixed_point(gradcut, folder):
    """The second import of what is exported equals the first: its ops are those of ONNX already."""
    model, texts = folder / "m.onnx", []
    for trip in range(4):
        at = folder / f"trip{trip}"
        at.mkdir(exist_ok=True)
        text = at / "m.gcut"
        for command in [
            ("import", model, "-o", text),
            ("show", "--no-loc", text),
            ("export", text, "--weights", at / "m.safetensors", "-o", at / "m.onnx"),
        ]:
            code, out, err = run(gradcut, *map(str, command))
            if code:
                raise Failed(err.strip())
            if command[0] == "show":
                texts.append(out)
        model = at / "m.onnx"
    if texts[2] != texts[3]:
        raise Failed("the third import differs from the second")


def try_model(gradcut, name, exporter, double, folder):
    """A row of the table: nodes before and after, error, remark; raises Failed."""
    m = torch_models.make(name)
    if double:
        m.module.double()
        m.inputs = {k: real(x) for k, x in m.inputs.items()}
    params = as_exported(m.module, {k: p.detach().numpy().copy() for k, p in m.module.named_parameters()})
    try:
        export(m, exporter, str(folder / "m.onnx"))
    except Exception as e:  # whatever the exporter raises
        return "", "", "", f"skipped, PyTorch cannot export it: {(str(e).strip() or repr(e)).splitlines()[0][:60]}"
    info, missing = step(gradcut, m, folder)
    if missing:
        return "", "", "", f"skipped, op missing: {', '.join(sorted(missing))}"
    error, remark = compare(folder, m, params, train(m), 1e-6 if double else 1e-3)
    check_fixed_point(gradcut, folder)
    return info["model_nodes"], info["nodes"], f"{error:.1e}", remark


# ---- references ----

# How they are exported.  Folding would make a transposed copy of a matrix that is an embedding, too, and a table of the
# buffer of frequencies.
REFERENCES = {
    "resnet": ("script", {}),
    "bert": ("script", {"fold": False}),
    "llama": ("dynamo", {"fold": False, "external_data": False}),
    "vit": ("dynamo", {"external_data": False}),
}


def strip(path):
    """Leaves out what PyTorch notes for people: paths of its own sources, and stacks of calls."""
    model = onnx.load(path)
    for part in (*model.graph.node, *model.graph.value_info, *model.graph.input, *model.graph.output, model.graph, model):
        kept = [(x.key, x.value) for x in part.metadata_props if x.key.endswith("InputSpec.kind")]
        del part.metadata_props[:]
        for key, value in kept:
            part.metadata_props.add(key=key, value=value)
        part.ClearField("doc_string")
    onnx.save(model, path)
    return {x.name: onnx.numpy_helper.to_array(x) for x in model.graph.initializer}


def write_reference(name):
    exporter, how = REFERENCES[name]
    folder = pathlib.Path(__file__).parent.parent / "onnx"
    m = torch_models.make(name, torch_models.SMALL)
    params = {k: p.detach().numpy().copy() for k, p in m.module.named_parameters()}
    export(m, exporter, str(folder / f"{name}.onnx"), **how)
    at = match(params, strip(folder / f"{name}.onnx"))
    loss, grads, stats = train(m)
    out = {f"in.{k}": x.numpy() for k, x in {**m.inputs, **m.targets}.items()}
    out["loss"] = np.array(loss)
    assert len(at) == len(grads), "an initializer is no parameter, or two are the same one"
    for initializer, (of, transposed) in at.items():
        out["grad." + re.sub(r"[^\w.]", "_", initializer)] = (grads[of].T if transposed else grads[of]).astype("f4")
    for k, x in stats.items():
        out[f"next.{k}"] = x.astype("f4")
    np.savez(folder / f"{name}.npz", **out)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("gradcut", nargs="?")
    p.add_argument("models", nargs="*")
    p.add_argument("--exporter", choices=("script", "dynamo"), action="append")
    p.add_argument("--keep", type=pathlib.Path, help="leave all files in this folder")
    p.add_argument("--write-reference", action="store_true")
    a = p.parse_intermixed_args()
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    if a.write_reference:
        for name in REFERENCES:
            write_reference(name)
        return 0
    failed = 0
    row = "{:<16} {:<8} {:<5} {:>6} {:>6} {:>9}  {}"
    print(row.format("model", "exporter", "dtype", "nodes", "ours", "error", ""))
    for name in a.models or torch_models.MODELS:
        for exporter in a.exporter or ("script", "dynamo"):
            for double in (False, True) if (name, exporter) in IN_F64 else (False,):
                dtype = "f64" if double else "f32"
                with tempfile.TemporaryDirectory() as t:
                    folder = a.keep / f"{name}.{exporter}.{dtype}" if a.keep else pathlib.Path(t)
                    folder.mkdir(parents=True, exist_ok=True)
                    try:
                        says = try_model(a.gradcut, name, exporter, double, folder)
                    except Failed as e:
                        failed += 1
                        says = "", "", "", f"FAILED: {e}"
                    print(row.format(name, exporter, dtype, *says), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
