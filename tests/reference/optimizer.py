# SPDX-License-Identifier: GPL-3.0-or-later
"""A thousand optimizer steps in PyTorch, in float64 and float32.

    python tests/reference/optimizer.py          (torch 2.x, CPU)

writes optimizer.txt beside this script.  The loss is sum(c * (w - d)^2) with
w, c, d of six elements: w[i] = sin(0.37 i), c[i] = 0.05 (i + 1), d[i] = cos(0.9 i).

A line: case, dtype, step, the six values of w after that step.
"""

import pathlib

import torch

CASES = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.01),
    "sgd_decay": lambda p: torch.optim.SGD(p, lr=0.01, weight_decay=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.003, momentum=0.9, weight_decay=0.01),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.003),
    "adamw_other": lambda p: torch.optim.AdamW(p, lr=0.002, betas=(0.8, 0.99), eps=1e-4, weight_decay=0.3),
    "adam": lambda p: torch.optim.AdamW(p, lr=0.003, weight_decay=0.0),
}

with open(pathlib.Path(__file__).with_suffix(".txt"), "w") as out:
    for case, make in CASES.items():
        for dtype in torch.float64, torch.float32:
            i = torch.arange(6, dtype=torch.float64)
            w = torch.sin(0.37 * i).to(dtype).requires_grad_()
            c, d = (0.05 * (i + 1)).to(dtype), torch.cos(0.9 * i).to(dtype)
            opt = make([w])
            for step in range(1, 1001):
                opt.zero_grad()
                (c * (w - d) ** 2).sum().backward()
                opt.step()
                if step in (1, 2, 10, 100, 1000):
                    print(case, str(dtype)[6:], step, *(repr(v.item()) for v in w), file=out)
