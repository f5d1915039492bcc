# SPDX-License-Identifier: GPL-3.0-or-later
"""GF/s of convolutions in f32: the run-time library's against PyTorch's, in turns.

    OMP_NUM_THREADS=2 python bench/bench_conv.py [libblis.a] [blis include folder]

builds kernels/rt as a shared library in a temporary folder, and prints for y = conv(x, w), for the gradient of
x and for that of w: ours, PyTorch's (channels first), and the ratio.  The best of some rounds counts.
"""

import ctypes
import glob
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import torch

ROOT = pathlib.Path(__file__).parent.parent
THREADS = int(os.environ.get("OMP_NUM_THREADS", "1"))
# n, c, h, o, k, stride, pad, groups
SHAPES = [
    (8, 64, 56, 64, 3, 1, 1, 1),
    (8, 128, 28, 128, 3, 1, 1, 1),
    (8, 256, 14, 256, 3, 1, 1, 1),
    (8, 512, 7, 512, 3, 1, 1, 1),
    (8, 64, 56, 128, 3, 2, 1, 1),
    (8, 3, 224, 64, 7, 2, 3, 1),
    (8, 256, 56, 64, 1, 1, 0, 1),
    (32, 16, 32, 16, 3, 1, 1, 1),
    (32, 1, 28, 16, 5, 1, 2, 1),
    (8, 128, 28, 128, 3, 1, 1, 32),
    (8, 96, 56, 96, 3, 1, 1, 96),
    (8, 96, 56, 96, 3, 2, 1, 96),
    (8, 96, 16, 96, 7, 1, 3, 96),
    (8, 384, 4, 384, 7, 1, 3, 384),
]


class Conv(ctypes.Structure):
    _fields_ = [(f, ctypes.c_int64) for f in ("n", "c", "h", "w", "o", "oh", "ow", "kh", "kw")] + [
        (f, ctypes.c_int64 * 2) for f in ("stride", "pad", "dilation")
    ] + [("groups", ctypes.c_int64), ("winograd", ctypes.c_int)]


def library(folder):
    blis = sys.argv[1:2] or ["-l:libblis.a"]
    include = [f"-I{p}" for p in sys.argv[2:3] or glob.glob("/usr/include/*/blis*") + ["/usr/include/blis"]]
    so = f"{folder}/rt.so"
    files = glob.glob(f"{ROOT}/kernels/rt/**/*.c", recursive=True)
    flags = ["-O2", "-fPIC", "-shared", "-pthread", f"-I{ROOT}", f"-I{ROOT}/include"]
    subprocess.run(["cc", *flags, *include, *files, *blis, "-lm", "-o", so], check=True)
    return ctypes.CDLL(so)


def best(runs, rounds=7):
    """Seconds of each function, measured in turns."""
    least = [1e9] * len(runs)
    for f in runs:
        f()
    for _ in range(rounds):
        for i, f in enumerate(runs):
            t = time.perf_counter()
            f()
            least[i] = min(least[i], time.perf_counter() - t)
    return least


def compare(lib, n, c, h, o, k, stride, pad, groups):
    x, w = torch.randn(n, c, h, h), torch.randn(o, c // groups, k, k)
    conv = lambda: torch.conv2d(x, w, None, stride, pad, 1, groups)
    y = conv()
    dy, dx, dw = torch.randn_like(y), torch.empty_like(x), torch.empty_like(w)
    g = Conv(n, c, h, h, o, y.shape[2], y.shape[3], k, k, (stride,) * 2, (pad,) * 2, (1, 1), groups, 0)
    work = torch.empty(y.numel() + w.numel())
    back = lambda mask: torch.ops.aten.convolution_backward(
        dy, x, w, None, [stride] * 2, [pad] * 2, [1, 1], False, [0, 0], groups, mask)

    def ours(name, a, b, to):
        f = getattr(lib, f"gcut_rt_conv_{name}_f32")
        ptr = [ctypes.c_void_p(t.data_ptr()) for t in (a, b, to, work)]
        return lambda: f(ctypes.byref(g), *ptr, THREADS)

    flops = 2 * y.numel() * w.numel() / o
    text = f"{n:3} x {c:3} x {h:3}  {o:3} of {k}x{k} /{stride} g{groups:<3}"
    for mine, theirs, got, want in (
        (ours("y", x, w, y), conv, y, conv()),
        (ours("x", dy, w, dx), lambda: back([True, False, False]), dx, back([True, False, False])[0]),
        (ours("w", x, dy, dw), lambda: back([False, True, False]), dw, back([False, True, False])[1]),
    ):
        a, b = best([mine, theirs])
        assert torch.allclose(got, want, rtol=1e-3, atol=1e-2 * float(want.abs().mean())), text
        text += f" | {flops / a / 1e9:6.1f} {flops / b / 1e9:6.1f} {a / b:5.2f}"
    print(text, flush=True)


def main():
    torch.set_num_threads(THREADS)
    torch.set_grad_enabled(False)
    print(f"{THREADS} threads; GF/s ours, PyTorch's, time ratio (below 1: ours is faster); y | dx | dw")
    with tempfile.TemporaryDirectory() as folder:
        lib = library(folder)
        a = torch.randn(1024, 1024)
        (t,) = best([lambda: a @ a])
        print(f"PyTorch's matrix product of 1024: {2 * 1024**3 / t / 1e9:.1f}")
        for shape in SHAPES:
            compare(lib, *shape)


main()
