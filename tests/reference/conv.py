# SPDX-License-Identifier: GPL-3.0-or-later
"""Convolutions and pools and their gradients, from PyTorch in float64.

    python tests/reference/conv.py            (torch 2.x, CPU)

writes conv.txt beside this script, for tests/kernels/test_conv.c, which has the same
cases as text.  Element i of parameter k is sin(0.37 i + k), rounded to halves
where a case says so, which makes ties; the cotangent of y is cos(0.53 i).
Each line: what, count, values.
"""

import math
import pathlib

import torch
import torch.nn.functional as F

X = (2, 2, 5, 6)


def filled(k, shape, halves):
    v = torch.sin(0.37 * torch.arange(math.prod(shape), dtype=torch.float64) + k)
    return ((v * 2).round() / 2 if halves else v).reshape(shape).requires_grad_()


CASES = {
    "plain": ([X, (3, 2, 3, 2)], False, lambda x, w: F.conv2d(x, w)),
    "strided": ([X, (3, 2, 3, 3)], False, lambda x, w: F.conv2d(x, w, stride=(2, 1), padding=(1, 2))),
    "asymmetric": ([X, (3, 2, 2, 3)], False, lambda x, w: F.conv2d(F.pad(x, (2, 0, 0, 1)), w, stride=(1, 2))),
    "dilated": ([X, (3, 2, 2, 3)], False, lambda x, w: F.conv2d(x, w, stride=2, padding=1, dilation=(3, 2))),
    "grouped": ([(1, 4, 4, 5), (6, 2, 2, 2)], False, lambda x, w: F.conv2d(x, w, padding=1, groups=2)),
    "depthwise": ([(2, 3, 4, 5), (3, 1, 3, 3)], False, lambda x, w: F.conv2d(x, w, stride=2, padding=1, groups=3)),
    "transposed": ([(2, 4, 3, 2), (4, 3, 3, 2)], False, lambda x, w: F.conv_transpose2d(
        x, w, stride=(2, 3), padding=(1, 0), output_padding=(1, 2), groups=2)),
    "max": ([X], True, lambda x: F.max_pool2d(x, 2)),
    "max_padded": ([X], True, lambda x: F.max_pool2d(x, 3, stride=2, padding=1)),
    "avg": ([X], False, lambda x: F.avg_pool2d(x, (2, 3), stride=(1, 2), padding=(1, 1))),
}


def main():
    lines = []
    for name, (shapes, halves, f) in CASES.items():
        params = [filled(k, s, halves) for k, s in enumerate(shapes)]
        y = f(*params)
        t = torch.cos(0.53 * torch.arange(y.numel(), dtype=torch.float64)).reshape(y.shape)
        grads = torch.autograd.grad((y * t).sum(), params)
        for what, v in zip(("y", "x", "w"), (y, *grads)):
            values = " ".join(f"{float(e):.13g}" for e in v.detach().flatten())
            lines.append(f"{name}.{what} {v.numel()} {values}\n")
    pathlib.Path(__file__).with_suffix(".txt").write_text("".join(lines))


main()
