# SPDX-License-Identifier: GPL-3.0-or-later
"""scaled_dot_product_attention and its gradients in PyTorch, in float64.

    python tests/reference/attention.py          (torch 2.x, CPU)

writes attention.txt beside this script.  B = 1, H = 4, T = 3, S = 5, D = 4, E = 2; the loss is sum(y * t).
Element i of q, k, v, t and the bias is sin(f i + 1) with f = 0.7, 0.9, 1.1, 1.3, 1.7.

A line: case, what (y dq dk dv db), its elements in row-major order.
"""

import pathlib

import torch

H, T, S, D, E = 4, 3, 5, 4, 2


def wave(f, *shape):
    n = torch.Size(shape).numel()
    x = torch.sin(f * torch.arange(n, dtype=torch.float64) + 1).reshape(shape)
    return x.requires_grad_()


def lines(case, groups, causal, bias, scale):
    q, k, v = wave(0.7, 1, H, T, D), wave(0.9, 1, groups, S, D), wave(1.1, 1, groups, S, E)
    t, b = wave(1.3, 1, H, T, E), wave(1.7, 1, H, T, S)
    mask = b if bias else torch.zeros(1, H, T, S, dtype=torch.float64)
    if causal:  # aligned bottom right, where PyTorch's is_causal is aligned top left
        mask = mask + torch.full((T, S), -torch.inf, dtype=torch.float64).triu(S - T + 1)
    y = torch.nn.functional.scaled_dot_product_attention(
        q, k, v, attn_mask=mask, scale=scale, enable_gqa=groups != H
    )
    (y * t).sum().backward()
    for what, x in ("y", y), ("dq", q.grad), ("dk", k.grad), ("dv", v.grad), ("db", b.grad):
        if x is not None:
            yield " ".join([case, what] + [repr(e.item()) for e in x.detach().flatten()])


with open(pathlib.Path(__file__).with_suffix(".txt"), "w") as out:
    for case in (
        ("plain", 4, False, False, None),
        ("causal", 4, True, False, None),
        ("groups", 2, True, False, 0.3),
        ("bias", 4, False, True, None),
        ("everything", 1, True, True, 1.5),
    ):
        for line in lines(*case):
            print(line, file=out)
