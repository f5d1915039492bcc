# SPDX-License-Identifier: GPL-3.0-or-later
"""Losses and gradients of recurrent networks, from PyTorch in float64.

    python tests/reference/recurrent.py          (torch 2.x, CPU)

writes rnn.txt and lstm.txt beside this script, in the format of mlp_gpt.py, for
the functions of tests/autodiff/test_control_grad.c.  The k-th parameter of a function,
counting inputs, holds 0.3 * sin(0.37 * i + k) at flat index i.  PyTorch's
modules compute x W' + h U' with two biases; here W, U are given and the second
bias is 0.
"""

import math
import pathlib

import torch

HERE = pathlib.Path(__file__).parent
T, B, I, H = 5, 2, 3, 4


def filled(k, *shape):
    i = torch.arange(math.prod(shape), dtype=torch.float64)
    return (0.3 * torch.sin(0.37 * i + k)).reshape(shape).requires_grad_()


def describe(name, g, out):
    g = g.flatten()
    n = len(g)
    at = range(n) if n <= 16 else sorted({(k * (n - 1)) // 7 for k in range(8)})
    probes = " ".join(f"{i}:{g[i].item()!r}" for i in at)
    print(f"{name} {n} {g.norm().item()!r} {probes}", file=out)


def run(kind, gates, states):
    w, u, b = filled(0, I, gates * H), filled(1, H, gates * H), filled(2, gates * H)
    start = [filled(3 + k, B, H) for k in range(states)]
    xs = filled(3 + states, T, B, I)
    module = kind(I, H, dtype=torch.float64)
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    weights = dict(zip(names, (w.T, u.T, b, torch.zeros_like(b))))
    first = start[0][None] if states == 1 else tuple(s[None] for s in start)
    ys, last = torch.func.functional_call(module, weights, (xs, first))
    loss = (ys**2).sum() + (last if states == 1 else last[1]).sum()
    params = {"w": w, "u": u, "b": b, "h0": start[0], "xs": xs}
    if states == 2:
        params["c0"] = start[1]
    grads = torch.autograd.grad(loss, list(params.values()))
    name = kind.__name__.lower()
    with open(HERE / f"{name}.txt", "w") as out:
        print(f"loss {loss.item()!r}", file=out)
        for param, g in zip(params, grads):
            describe(param, g, out)


if __name__ == "__main__":
    run(torch.nn.RNN, 1, 1)
    run(torch.nn.LSTM, 4, 2)
