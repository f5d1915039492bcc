# SPDX-License-Identifier: GPL-3.0-or-later
"""Training steps of imported models beside PyTorch's own.

    imports.py GRADCUT [--seconds S] [MODEL…]
    imports.py GRADCUT --zoo ZOO [--exporter script|dynamo] [CASE…]

Each model of tests/import/torch_models.py, at sizes that take a core some time, is exported by PyTorch, imported, compiled
and run with SGD; then PyTorch trains the same module, eager and with torch.compile, on as many threads.  A row has the
time from the export to the end of the first step (import and compiling), the best and the median step, and the peak of
the step: parameters, inputs and what the step allocates for tensors at once.  In one run on one machine, one model after
the other.

With --zoo, the program of examples, the models of peers/cases.py that are of examples/models: PyTorch's module of the same
shapes (peers/torch_models.py) is exported and imported, and both run with the optimizer of the case, in turns.  A row has
the predicted and the median step of each, and their ratios.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tests" / "import"), str(HERE / "peers")]

import torch
import torch_models as t
import train_torch_models as exports

import cases

spec = importlib.util.spec_from_file_location("zoo", HERE / "peers" / "torch_models.py")
zoo = importlib.util.module_from_spec(spec)
spec.loader.exec_module(zoo)

# Sandler et al., 2018, table 2: expansion, channels, blocks, stride.
MOBILENET = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))

MODELS = {
    "resnet50": lambda: t.images(t.ResNet((3, 4, 6, 3), 64, 100), 64, 100, 8),
    "mobilenetv2": lambda: t.images(t.MobileNetV2(MOBILENET, 32, 1280, 100), 96, 100, 8),
    "densenet121": lambda: t.images(t.DenseNet((6, 12, 24, 16), 32, 100), 64, 100, 8),
    "convnext": lambda: t.images(t.ConvNeXt((3, 3, 9, 3), (96, 192, 384, 768), 100), 64, 100, 8),
    "unet": lambda: t.segments(t.UNet("nearest", 16), 64, 3, 8),
    "vit": lambda: t.images(t.ViT(6, 384, 6, 16, 128, 100), 128, 100, 8),
    "bert": lambda: t.tokens(t.Bert(8192, 256, 4, 4, 128), {"ids": t.ids(8, 128, 8192), "segments": t.ids(8, 128, 2),
                                                            "mask": torch.ones(8, 128, dtype=torch.int64)}, 8192, 8, 128),
    "gpt2": lambda: t.tokens(t.GPT2(8192, 256, 4, 4, 128), {"ids": t.ids(8, 128, 8192)}, 8192, 8, 128),
    "llama": lambda: t.tokens(t.Llama(8192, 256, 8, 4, 4), {"ids": t.ids(8, 128, 8192)}, 8192, 8, 128),
    "t5": lambda: t.tokens(t.T5(8192, 256, 4, 64, 1024, 4, 32, 128),
                           {"ids": t.ids(8, 128, 8192), "mask": torch.ones(8, 128, dtype=torch.int64),
                            "targets": t.ids(8, 128, 8192)}, 8192, 8, 128),
    "lstm": lambda: t.tokens(t.Recurrent(torch.nn.LSTM, 1, False, 8192, 256), {"ids": t.ids(16, 64, 8192)}, 8192, 16, 64),
    "gru": lambda: t.tokens(t.Recurrent(torch.nn.GRU, 1, False, 8192, 256), {"ids": t.ids(16, 64, 8192)}, 8192, 16, 64),
}


def ours(gradcut, m, folder, seconds):
    """Seconds to the end of the first step, times of steps in ms, bytes of the peak."""
    model, graph = folder / "m.onnx", folder / "m.gcut"
    exports.export(m, "script", str(model))
    env = dict(os.environ, XDG_CACHE_HOME=str(folder / "cache"))
    fed = []
    for name, x in {**m.inputs, **m.targets}.items():
        exports.np.save(folder / f"{name}.npy", x.numpy())
        fed += ["--in", f"{name}={folder / name}.npy"]

    def run(steps):
        done = subprocess.run([gradcut, "run", str(graph), *fed, "--optimizer", "sgd(lr=0.01)", "--steps", str(steps), "--json"],
                              env=env, capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
        return json.loads(done.stdout)

    begin = time.perf_counter()
    done = subprocess.run([gradcut, "import", str(model), "--loss", m.loss, "-o", str(graph)], env=env, capture_output=True,
                          text=True)
    if done.returncode:
        sys.exit(done.stderr)
    one = run(1)
    first = time.perf_counter() - begin
    r = run(max(5, int(seconds * 1e9 / max(one["step_ns"][0], 1))))
    return first, [x / 1e6 for x in r["step_ns"]], r["peak_bytes"]


def theirs(m, compiled, seconds):
    """The same of PyTorch.  Its peak is that of its tensors: what oneDNN and MKL allocate for themselves is not in it."""
    m.module.train()
    module = torch.compile(m.module) if compiled else m.module
    sgd = torch.optim.SGD(m.module.parameters(), lr=0.01)
    (target,) = m.targets.values()

    def step():
        m.torch_loss(module(*m.inputs.values()), target).backward()
        sgd.step()
        sgd.zero_grad(set_to_none=True)

    times, begin = [], time.perf_counter()
    first = None
    while first is None or len(times) < 5 or sum(times) < seconds * 1e3:
        start = time.perf_counter()
        step()
        now = time.perf_counter()
        if first is None:
            first = now - begin
        else:
            times.append((now - start) * 1e3)
    return first, times, resident_bytes(m) + most_allocated(step)


def resident_bytes(m):
    """Of the tensors that are there before a step: parameters, buffers, inputs and targets."""
    given = {x.data_ptr(): x for x in [*m.module.parameters(), *m.module.buffers(), *m.inputs.values(), *m.targets.values()]}
    return sum(x.numel() * x.element_size() for x in given.values())


def most_allocated(step):
    """The most bytes of tensors that the step has at once, beyond what there was before it, by PyTorch's own records."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as p:
        step()
    records = [e for e in p.profiler.kineto_results.events() if e.name() == "[memory]"]
    now = most = 0
    for e in sorted(records, key=lambda e: e.start_ns()):
        now += e.nbytes()
        most = max(most, now)
    return most


# ---- beside native models ----


def call(*command):
    done = subprocess.run([str(x) for x in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


PARAMETER = r"\b(param|input) %([\w.]+): (\w+)\[([^\]]*)\](?: #range\(0, (\d+)\))?"


def module_of(case, text):
    """PyTorch's module of the case, whose result is the loss, as a Model; text: the native graph, which states the shapes."""
    shapes, given, dynamic = {}, {}, {}
    small = {"N": 3, "T": 8}
    for role, name, dtype, dims, count in re.findall(PARAMETER, text):
        dims = [x.strip() for x in dims.split(",") if x.strip()]
        if role == "param":
            shapes[name] = tuple(map(int, dims))
        elif name != "lr":
            size = [small[x] if x in small else int(x) for x in dims]
            given[name] = torch.randint(int(count), size) if dtype.startswith("i") else torch.randn(size)
            dynamic[name] = {k: x for k, x in enumerate(dims) if x in small}
    torch.manual_seed(1)
    module = getattr(zoo, case.net)(shapes, case.facts)
    for p in module.parameters():
        torch.nn.init.normal_(p, 0 if p.dim() > 1 else 1, 0.02)
    return t.Model(module, given, {}, "y", None, dynamic)


def beside_native(gradcut, program, case, exporter, rounds):
    """Predicted and median steps in ms: (native, imported) each; None: PyTorch can't export it."""
    with tempfile.TemporaryDirectory() as folder:
        native, onnx, imported = (f"{folder}/{name}" for name in ("native.gcut", "m.onnx", "m.gcut"))
        call(program, case.zoo[0], "--size", case.zoo[1], "--dump", native)
        m = module_of(case, pathlib.Path(native).read_text())
        try:
            exports.export(m, exporter, onnx)
        except Exception as e:
            print(f"{case.name}: {str(e).splitlines()[0]}", file=sys.stderr)
            return None
        call(gradcut, "import", onnx, "--loss", "y", "-o", imported)
        how = ["--at", ",".join(f"{k}={v}" for k, v in case.at.items()), "--optimizer", case.update(), "--json"]
        predicted, measured = [[], []], [[], []]
        for k, file in enumerate((native, imported)):
            predicted[k] = json.loads(call(gradcut, "plan", file, *how))["step_ns"] / 1e6
        for _ in range(rounds):
            for k, file in enumerate((native, imported)):
                measured[k].append(json.loads(call(gradcut, "bench", file, *how))["step_ns"] / 1e6)
        return predicted, [statistics.median(x) for x in measured]


def table_beside_native(gradcut, program, exporter, rounds, names):
    print("| case | native, ms | imported, ms | ratio | predicted, ms | imported, ms | ratio |\n|---|---|---|---|---|---|---|")
    for case in cases.CASES:
        if not case.zoo or (names and case.name not in names):
            continue
        row = beside_native(gradcut, program, case, exporter, rounds)
        if row:
            (p, q), (x, y) = row
            print(f"| {case.name} | {x:.3f} | {y:.3f} | {y / x:.3f} | {p:.3f} | {q:.3f} | {q / p:.3f} |", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("gradcut")
    p.add_argument("--seconds", type=float, default=3)
    p.add_argument("--zoo", help="the program gradcut_zoo: imports beside its models")
    p.add_argument("--exporter", choices=["script", "dynamo"], default="script", help="with --zoo")
    p.add_argument("--rounds", type=int, default=3, help="with --zoo")
    p.add_argument("models", nargs="*")
    a = p.parse_intermixed_args()
    warnings.simplefilter("ignore")
    if a.zoo:
        table_beside_native(a.gradcut, a.zoo, a.exporter, a.rounds, a.models)
        return
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    print("| model | | first step, s | step, ms: best | median | peak, MB |\n|---|---|---|---|---|---|")
    for name in a.models or MODELS:
        m = t.make(name, MODELS)
        with tempfile.TemporaryDirectory() as folder:
            first, ms, peak = ours(os.path.abspath(a.gradcut), m, pathlib.Path(folder), a.seconds)
        print(f"| {name} | gradcut | {first:.1f} | {min(ms):.2f} | {statistics.median(ms):.2f} | {peak / 1e6:.1f} |", flush=True)
        for kind in ("eager", "torch.compile"):
            torch._dynamo.reset()
            first, ms, peak = theirs(m, kind != "eager", a.seconds)
            print(f"| | {kind} | {first:.1f} | {min(ms):.2f} | {statistics.median(ms):.2f} | {peak / 1e6:.1f} |", flush=True)
    print(f"\nPyTorch {torch.__version__}, {torch.get_num_threads()} threads")


if __name__ == "__main__":
    main()
