# SPDX-License-Identifier: GPL-3.0-or-later
"""Training steps of imported models beside PyTorch's own.

    imports.py GRADCUT [--seconds S] [MODEL…]

Each model of tests/import/torch_models.py, at sizes that take a core some time, is exported by PyTorch, imported, compiled
and run with SGD; then PyTorch trains the same module, eager and with torch.compile, on as many threads.  A row has the
time from the export to the end of the first step (import and compiling), the best and the median step, and the peak of
the step; in one run on one machine, one model after the other.
"""

import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "import"))

import torch
import torch_models as t
import train_torch_models as exports

MODELS = {
    "resnet50": lambda: t.images(t.ResNet((3, 4, 6, 3), 64, 100), 64, 100, 8),
    "convnext": lambda: t.images(t.ConvNeXt(), 64, 5, 32),
    "unet": lambda: t.segments(t.UNet("nearest", 16), 64, 3, 8),
    "vit": lambda: t.images(t.ViT(6, 384, 6, 16, 128, 100), 128, 100, 8),
    "bert": lambda: t.tokens(t.Bert(8192, 256, 4, 4, 128), {"ids": t.ids(8, 128, 8192), "segments": t.ids(8, 128, 2),
                                                            "mask": torch.ones(8, 128, dtype=torch.int64)}, 8192, 8, 128),
    "gpt2": lambda: t.tokens(t.GPT2(8192, 256, 4, 4, 128), {"ids": t.ids(8, 128, 8192)}, 8192, 8, 128),
    "llama": lambda: t.tokens(t.Llama(8192, 256, 8, 4, 4), {"ids": t.ids(8, 128, 8192)}, 8192, 8, 128),
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
    """The same of PyTorch; its peak is not measured."""
    m.module.train()
    module = torch.compile(m.module) if compiled else m.module
    sgd = torch.optim.SGD(m.module.parameters(), lr=0.01)
    (target,) = m.targets.values()
    times, begin = [], time.perf_counter()
    first = None
    while first is None or len(times) < 5 or sum(times) < seconds * 1e3:
        start = time.perf_counter()
        sgd.zero_grad(set_to_none=True)
        m.torch_loss(module(*m.inputs.values()), target).backward()
        sgd.step()
        now = time.perf_counter()
        if first is None:
            first = now - begin
        else:
            times.append((now - start) * 1e3)
    return first, times


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("gradcut")
    p.add_argument("--seconds", type=float, default=3)
    p.add_argument("models", nargs="*", default=list(MODELS))
    a = p.parse_intermixed_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    print("| model | | first step, s | step, ms: best | median | peak, MB |\n|---|---|---|---|---|---|")
    for name in a.models:
        m = t.make(name, MODELS)
        with tempfile.TemporaryDirectory() as folder:
            first, ms, peak = ours(os.path.abspath(a.gradcut), m, pathlib.Path(folder), a.seconds)
        print(f"| {name} | gradcut | {first:.1f} | {min(ms):.2f} | {statistics.median(ms):.2f} | {peak / 1e6:.1f} |", flush=True)
        for kind in ("eager", "torch.compile"):
            torch._dynamo.reset()
            first, ms = theirs(m, kind != "eager", a.seconds)
            print(f"| | {kind} | {first:.1f} | {min(ms):.2f} | {statistics.median(ms):.2f} | |", flush=True)
    print(f"\nPyTorch {torch.__version__}, {torch.get_num_threads()} threads, "
          f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:.0f} MB at most of it")


if __name__ == "__main__":
    main()
