# SPDX-License-Identifier: GPL-3.0-or-later
"""Values and gradients where numbers are large, equal, infinite or NaN, from PyTorch in float64.

    python tests/reference/extremes.py           (torch 2.x, CPU)

writes extremes.txt beside this script, in the form of ops.txt: one function in
gradcut's text, then its results.  Every parameter holds ROWS, and the loss is
the sum of all results whose gradient is asked for, column c weighted c + 1.
"""

import pathlib

import torch
import torch.nn.functional as F

inf, nan = float("inf"), float("nan")
ROWS = [[1e4, -1e4, 0, 1e4], [3, 3, 3, 3], [-1e4, -1e4 + 1, -1e4, -1e4], [1, -inf, 2, -inf],
        [-inf, -inf, -inf, -inf], [inf, 1, 2, 3], [nan, 1, 2, 3], [inf, inf, 0, -inf]]
X = torch.tensor(ROWS, dtype=torch.float64)
LABELS = torch.tensor([0, 1, 2, 2, -100, -100, -100, -100])
W = torch.tensor([1.0, 2, 3, 4], dtype=torch.float64)

# name, op, result shape, the same in PyTorch, is its gradient asked for
CASES = [
    ("soft", "softmax({}, axis=1)", lambda x: F.softmax(x, 1), True),
    ("logs", "log_softmax({}, axis=1)", lambda x: F.log_softmax(x, 1), True),
    ("lse", "logsumexp({}, axes=[1])", lambda x: torch.logsumexp(x, 1), True),
    ("ce", "reshape(%loss.0, shape=[1])", lambda x: F.cross_entropy(x, LABELS).reshape(1), True),
    ("ln", "layer_norm({}, %one, %zero)", lambda x: F.layer_norm(x, (4,)), True),
    ("rms", "rms_norm({}, %one)", lambda x: F.rms_norm(x, (4,), eps=1e-5), True),
    ("maxr", "max_reduce({}, axes=[1])", lambda x: x.amax(1), False),
    ("minr", "min_reduce({}, axes=[1])", lambda x: x.amin(1), False),
    ("max", "max({}, %flip)", lambda x: torch.maximum(x, x.flip(1)), False),
    ("min", "min({}, %flip)", lambda x: torch.minimum(x, x.flip(1)), False),
    ("relu", "relu({})", F.relu, False),
    ("clamp", "clamp({}, lo=-1, hi=1)", lambda x: x.clamp(-1, 1), False),
    ("abs", "abs({})", torch.abs, False),
    ("exp", "exp({})", torch.exp, False),
    ("log", "log({})", torch.log, False),
    ("sqrt", "sqrt({})", torch.sqrt, False),
    ("tanh", "tanh({})", torch.tanh, False),
    ("sigm", "sigmoid({})", torch.sigmoid, False),
    ("splus", "softplus({})", F.softplus, False),
    ("elu", "elu({})", F.elu, False),
    ("leaky", "leaky_relu({})", F.leaky_relu, False),
    ("hsigm", "hardsigmoid({})", F.hardsigmoid, False),
    ("cumsum", "cumsum({}, axis=1)", lambda x: x.cumsum(1), False),
    ("prod", "prod({}, axes=[1])", lambda x: x.prod(1), False),
    ("isnan", "select(%nan, %zeros, {})", lambda x: torch.where(x.isnan(), torch.zeros_like(x), x), False),
]

params, results, body, outs, terms = [], [], [], [], []
body.append('%one = full(shape=[4], value=1, dtype="f64") %zero = full(shape=[4], value=0, dtype="f64")')
body.append('%zeros = full(shape=[8, 4], value=0, dtype="f64") %flip = flip(%max.0, axes=[1])')
body.append('%nan = isnan(%isnan.0) %i = iota(shape=[8, 4], axis=1, dtype="f64")')
body.append('%ones = full(shape=[8, 4], value=1, dtype="f64") %w = add(%i, %ones)')
body.append('%row = iota(shape=[8], axis=0, dtype="i64") %four = full(shape=[8], value=4, dtype="i64")')
body.append('%two = full(shape=[8], value=2, dtype="i64") %skip = full(shape=[8], value=-100, dtype="i64")')
body.append('%counts = lt(%row, %four) %class = min(%row, %two) %label = select(%counts, %class, %skip)')
body.append('%loss.0 = cross_entropy(%ce.0, %label)')
for name, op, fn, graded in CASES:
    x = X.clone().requires_grad_()
    y = fn(x)
    kind = "param" if graded else "input"
    params.append(f"{kind} %{name}.0: f64[8, 4]")
    results.append(f"out {name}.y: f64[{', '.join(map(str, y.shape))}]")
    body.append(f"%{name}.y = {op.format('%' + name + '.0')}")
    outs.append((f"{name}.y", y.detach()))
    if graded:
        weighted = f"%{name}.w = mul(%{name}.y, %w)" if y.dim() == 2 else f"%{name}.w = neg(%{name}.y)"
        (y * W if y.dim() == 2 else -y).sum().backward()
        body.append(f"{weighted} %{name}.l = sum(%{name}.w)")
        terms.append(f"%{name}.l")
        outs.append((f"grad.{name}.0", x.grad))
for n, term in enumerate(terms[1:]):
    body.append(f"%t{n} = add({f'%t{n - 1}' if n else terms[0]}, {term})")

with open(pathlib.Path(__file__).with_suffix(".txt"), "w") as out:
    results.insert(0, "out loss: f64[]")
    print(f"func @extremes({', '.join(params)}) -> ({', '.join(results)}) {{", file=out)
    for line in body:
        print(" ", line, file=out)
    print(f"  return %t{len(terms) - 2}, {', '.join(f'%{c[0]}.y' for c in CASES)}\n}}", file=out)
    for name, x in outs:
        print(name, x.numel(), *(repr(float(v)) for v in x.reshape(-1)), file=out)
