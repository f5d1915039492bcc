# SPDX-License-Identifier: GPL-3.0-or-later
"""Values and gradients of single ops, from PyTorch in float64.

    python tests/reference/ops.py                (torch 2.x, CPU)

writes ops.txt beside this script: first one function, in gradcut's text, that
has every case in it; then its results, one per line: name, count, values.
A case may have statements before its op, where {n} stands for its own names.

The k-th parameter of the function holds at flat index i

    1.7 * sin(0.61 * i + k)

and the loss is the sum over all cases of sum(y * cos(0.3 * i)).
"""

import math
import pathlib

import torch
import torch.nn.functional as F


def prod(x, dims):
    for d in sorted(dims, reverse=True):
        x = x.prod(d)
    return x


def running(x, g, b, m, v):
    m, v = m.detach().clone(), v.detach().clone()
    y = F.batch_norm(x, m, v, g, b, training=True, momentum=0.3, eps=1e-3)
    return y, m, v


def flip(fn, dim):
    return lambda x: fn(x.flip(dim), dim).flip(dim)


# name, op and attributes, shapes of the operands, the same in PyTorch; a tuple has results without gradient
CASES = [
    ("elu", "elu({}, alpha=0.7)", [(3, 4)], lambda x: F.elu(x, 0.7)),
    ("leaky", "leaky_relu({}, slope=0.2)", [(3, 4)], lambda x: F.leaky_relu(x, 0.2)),
    # The derivative of F.hardsigmoid in float64 has a float32 1/6 in it.
    ("hsigm", "hardsigmoid({})", [(3, 4)], lambda x: F.relu6(x + 3) / 6),
    ("hswish", "hardswish({})", [(3, 4)], F.hardswish),
    ("mish", "mish({})", [(3, 4)], F.mish),
    ("tan", "tan({})", [(2, 3)], torch.tan),
    ("prod0", "prod({}, keep=true)", [(2, 3)], lambda x: torch.prod(x).reshape(1, 1)),
    ("prod1", "prod({}, axes=[0, 2])", [(2, 3, 4)], lambda x: prod(x, [0, 2])),
    ("cumsum1", "cumsum({}, axis=1)", [(2, 5, 3)], lambda x: x.cumsum(1)),
    ("cumsum2", "cumsum({}, axis=0, reverse=true)", [(4, 2)], flip(torch.cumsum, 0)),
    ("cumprod1", "cumprod({}, axis=1)", [(2, 5)], lambda x: x.cumprod(1)),
    ("cumprod2", "cumprod({}, axis=0, reverse=true)", [(4, 2)], flip(torch.cumprod, 0)),
    ("bn4", "batch_norm({}, {}, {}, {}, {}, eps=1e-3, momentum=0.3)", [(2, 3, 2, 2)] + 4 * [(3,)], running),
    ("bn2", "batch_norm({}, {}, {}, {}, {}, eps=1e-3, momentum=0.3)", [(5, 2)] + 4 * [(2,)], running),
    ("gn", "group_norm({}, {}, {}, groups=2)", [(2, 4, 3), (4,), (4,)], lambda x, g, b: F.group_norm(x, 2, g, b)),
    ("inorm", "instance_norm({}, {}, {})", [(2, 3, 2, 2), (3,), (3,)],
     lambda x, g, b: F.instance_norm(x, weight=g, bias=b)),
    ("near", "upsample({}, factor=[2, 3])", [(1, 2, 3, 2)], lambda x: F.interpolate(x, scale_factor=(2, 3))),
    ("bilin1", 'upsample({}, factor=[2, 3], mode="bilinear")', [(2, 1, 3, 4)],
     lambda x: F.interpolate(x, scale_factor=(2, 3), mode="bilinear", align_corners=False)),
    ("bilin2", 'upsample({}, factor=[4, 1], mode="bilinear")', [(1, 2, 2, 1)],
     lambda x: F.interpolate(x, scale_factor=(4, 1), mode="bilinear", align_corners=False)),
]


def unary(name, fn, attrs=""):
    return (name if not attrs else name + "_attr", f"{name}({{0}}{attrs})", [(2, 3)], fn)


def of_positive(name, fn):
    """Of x^2 + 1/2, where both know a derivative."""
    op = f"%{{n}}.q = mul({{0}}, {{0}})\n%{{n}}.p = add(%{{n}}.q, 0.5:f64)\n{name}(%{{n}}.p)"
    return (name, op, [(2, 3)], lambda x: fn(x * x + 0.5))


def of_scaled(name, fn, factor, term):
    """Of factor x + term, where both know a derivative."""
    op = f"%{{n}}.s = mul({{0}}, {factor}:f64)\n%{{n}}.p = add(%{{n}}.s, {term}:f64)\n{name}(%{{n}}.p)"
    return (name, op, [(2, 3)], lambda x: fn(x * factor + term))


def binary(name, fn):
    """The second operand is y^2 + 1/2."""
    op = f"%{{n}}.q = mul({{1}}, {{1}})\n%{{n}}.p = add(%{{n}}.q, 0.5:f64)\n{name}({{0}}, %{{n}}.p)"
    return (name, op, [(2, 3), (2, 3)], lambda x, y: fn(x, y * y + 0.5))


def recurrent(module, gates, *, reverse=False, states=1, **options):
    """A layer of PyTorch over the operands of the op; reversed time goes in and comes out."""
    def layer(x, *rest):
        state, (wx, wh, bx, bh) = rest[:states], rest[states:]
        m = module(x.shape[2], state[0].shape[1], **options).double()
        given = {"weight_ih_l0": wx, "weight_hh_l0": wh, "bias_ih_l0": bx, "bias_hh_l0": bh}
        x = x.flip(0) if reverse else x
        first = tuple(s[None] for s in state)
        y, last = torch.func.functional_call(m, given, (x, first if states > 1 else first[0]))
        last = last if states > 1 else (last,)
        return y.flip(0) if reverse else y, *(s[0] for s in last)
    hidden, inputs = 2, 3
    shapes = [(4, 2, inputs)] + states * [(2, hidden)] + [(gates * hidden, inputs), (gates * hidden, hidden)]
    return shapes + 2 * [(gates * hidden,)], layer


def modulo(n, below):
    """Statements for n indices 0, 1, ... that begin again at `below`."""
    return f'%{{n}}.count = iota(shape=[{n}], dtype="i64")\n%{{n}}.index = mod(%{{n}}.count, {below}:i64)\n'


def topk(attrs):
    """The sum of both results."""
    return f"%{{n}}.v, %{{n}}.order = topk({{0}}, {attrs})\n%{{n}}.d = cast(%{{n}}.order, to=f64)\nadd(%{{n}}.v, %{{n}}.d)"


def added(found):
    return found.values + found.indices


def first_of_two(x):
    """Of two equal elements that are the largest, x beside the lower one comes first in memory."""
    low = x - x.exp()
    return F.adaptive_max_pool2d(torch.cat([torch.cat([low, x], 3), torch.cat([x.detach(), low], 3)], 2), 1)


def smoothed(x):
    labels = torch.tensor([0, 1, 2, 0, 1])
    return F.cross_entropy(x, labels, ignore_index=2, label_smoothing=0.1).reshape(1)


CASES += [unary(name, getattr(torch, name)) for name in
          "neg abs exp expm1 sin cos tanh sigmoid erf relu atan sinh cosh asinh".split()]
CASES += [of_scaled(name, getattr(torch, name), 0.5, 0) for name in "asin acos atanh".split()]
CASES += [of_scaled("acosh", torch.acosh, 0.5, 2)]
CASES += [
    unary("gelu", F.gelu), unary("gelu", lambda x: F.gelu(x, approximate="tanh"), ', approx="tanh"'),
    unary("silu", F.silu), unary("softplus", F.softplus),
    unary("clamp", lambda x: x.clamp(-0.5, 1), ", lo=-0.5, hi=1"),
    unary("cast", torch.clone, ", to=f64"),
    *(of_positive(name, getattr(torch, name)) for name in "log log1p sqrt rsqrt".split()),
    *(binary(name, fn) for name, fn in {
        "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "max": torch.maximum,
        "min": torch.minimum, "mod": torch.remainder}.items()),
    ("pow", "%{n}.q = mul({0}, {0})\n%{n}.p = add(%{n}.q, 0.5:f64)\npow(%{n}.p, {1})", [(2, 3), (2, 3)],
     lambda x, y: (x * x + 0.5) ** y),
    ("select", "%{n}.p = gt({0}, {1})\nselect(%{n}.p, {0}, {2})", 3 * [(2, 3)],
     lambda x, y, z: torch.where(x > y, x, z)),
    ("reshape", "reshape({0}, shape=[3, 2])", [(2, 3)], lambda x: x.reshape(3, 2)),
    ("transpose", "transpose({0}, perm=[2, 0, 1])", [(2, 3, 2)], lambda x: x.permute(2, 0, 1)),
    ("broadcast", "broadcast({0}, shape=[2, 3, 2], axes=[0, 2])", [(2, 1)], lambda x: x[:, None].expand(2, 3, 2)),
    ("slice", "slice({0}, start=[1, 0], limit=[4, 3], step=[2, 1])", [(4, 3)], lambda x: x[1:4:2]),
    ("pad", "pad({0}, low=[1, 0], high=[0, 2], value=0.5)", [(2, 3)], lambda x: F.pad(x, (0, 2, 1, 0), value=0.5)),
    ("concat", "concat({0}, {1}, axis=1)", [(2, 3), (2, 1)], lambda x, y: torch.cat([x, y], 1)),
    ("flip", "flip({0}, axes=[0])", [(3, 2)], lambda x: x.flip(0)),
    ("sum", "sum({0}, axes=[1], keep=true)", [(2, 3)], lambda x: x.sum(1, keepdim=True)),
    ("mean", "mean({0}, axes=[0, 2])", [(2, 3, 2)], lambda x: x.mean((0, 2))),
    ("maxr", "max_reduce({0}, axes=[1])", [(2, 3)], lambda x: x.amax(1)),
    ("minr", "min_reduce({0}, axes=[0])", [(2, 3)], lambda x: x.amin(0)),
    ("matmul", "matmul({0}, {1}, ta=true)", [(2, 3, 2), (2, 3, 4)], lambda x, y: x.mT @ y),
    ("matmul_t", "matmul({0}, {1}, tb=true)", [(2, 3), (4, 3)], lambda x, y: x @ y.T),
    ("take", modulo(5, 3) + "take({0}, %{n}.index, axis=1)", [(2, 3)], lambda x: x[:, [0, 1, 2, 0, 1]]),
    ("pick", modulo(5, 3) + "pick({0}, %{n}.index, axis=1)", [(5, 3)],
     lambda x: x.gather(1, torch.tensor([0, 1, 2, 0, 1])[:, None])[:, 0]),
    ("along", "%{n}.count = iota(shape=[2, 4], axis=1, dtype=\"i64\")\n%{n}.index = mod(%{n}.count, 3:i64)\n"
     "take_along({0}, %{n}.index, axis=1)", [(2, 3)], lambda x: x.gather(1, torch.tensor(2 * [[0, 1, 2, 0]]))),
    ("argsort", "%{n}.order = argsort({0}, axis=0, descending=true)\n%{n}.d = cast(%{n}.order, to=f64)\n"
     "mul({0}, %{n}.d)", [(4, 2)], lambda x: x * x.argsort(0, descending=True)),
    ("sort1", "sort({0}, axis=1)", [(2, 5, 2)], lambda x: x.sort(1).values),
    ("sort2", "sort({0}, axis=0, descending=true)", [(4, 2)], lambda x: x.sort(0, descending=True).values),
    ("topk1", topk("k=2, axis=1"), [(2, 5)], lambda x: added(x.topk(2, 1))),
    ("topk2", topk("k=3, axis=0, largest=false"), [(4, 2)], lambda x: added(x.topk(3, 0, largest=False))),
    ("scatter", modulo(5, 3) + "scatter_add({0}, %{n}.index, {1}, axis=0)", [(3, 2), (5, 2)],
     lambda x, u: x.index_add(0, torch.tensor([0, 1, 2, 0, 1]), u)),
    ("softmax", "softmax({0}, axis=0)", [(3, 2)], lambda x: x.softmax(0)),
    ("log_softmax", "log_softmax({0}, axis=1)", [(2, 4)], lambda x: x.log_softmax(1)),
    ("logsumexp", "logsumexp({0}, axes=[0, 1], keep=true)", [(2, 3)], lambda x: x.logsumexp((0, 1), keepdim=True)),
    ("ln", "layer_norm({0}, {1}, {2})", [(2, 4), (4,), (4,)], lambda x, g, b: F.layer_norm(x, (4,), g, b)),
    ("rms", "rms_norm({0}, {1}, eps=1e-3)", [(2, 4), (4,)], lambda x, g: F.rms_norm(x, (4,), g, 1e-3)),
    ("ce", modulo(5, 3) + "%{n}.s = cross_entropy({0}, %{n}.index, ignore=2, smooth=0.1)\nreshape(%{n}.s, shape=[1])",
     [(5, 3)], smoothed),
    ("huber", "%{n}.s = huber({0}, {1}, delta=0.7)\nreshape(%{n}.s, shape=[1])", [(2, 3), (2, 3)],
     lambda x, y: F.huber_loss(x, y, delta=0.7).reshape(1)),
    ("bce", "%{n}.s = bce({0}, {1})\nreshape(%{n}.s, shape=[1])", [(2, 3), (2, 3)],
     lambda x, y: F.binary_cross_entropy_with_logits(x, y).reshape(1)),
    ("nll", modulo(5, 3) + "%{n}.s = nll({0}, %{n}.index, ignore=2)\nreshape(%{n}.s, shape=[1])", [(5, 3)],
     lambda x: F.nll_loss(x, torch.tensor([0, 1, 2, 0, 1]), ignore_index=2).reshape(1)),
    ("var1", "var({0}, axes=[0, 2])", [(2, 3, 2)], lambda x: x.var((0, 2))),
    ("var2", "var({0}, axes=[1], keep=true, correction=0)", [(2, 3)], lambda x: x.var(1, correction=0, keepdim=True)),
    ("roll1", "roll({0}, axis=1, shift=2)", [(2, 5)], lambda x: x.roll(2, 1)),
    ("roll2", "roll({0}, axis=0, shift=-7)", [(3, 2)], lambda x: x.roll(-7, 0)),
    ("triu", "triu({0}, diagonal=1)", [(2, 3, 4)], lambda x: x.triu(1)),
    ("tril", "tril({0}, diagonal=-1)", [(3, 3)], lambda x: x.tril(-1)),
    ("filled", "%{n}.p = gt({0}, {1})\nmasked_fill({0}, %{n}.p, value=0.25)", [(2, 3), (2, 3)],
     lambda x, y: x.masked_fill(x > y, 0.25)),
    ("mirror", "reflection_pad({0}, low=[0, 2, 1], high=[0, 1, 3])", [(2, 3, 4)],
     lambda x: F.pad(x[None], (1, 3, 2, 1), "reflect")[0]),
    ("edges", "replication_pad({0}, low=[0, 2, 1], high=[0, 1, 3])", [(2, 3, 2)],
     lambda x: F.pad(x[None], (1, 3, 2, 1), "replicate")[0]),
    ("circle", "circular_pad({0}, low=[0, 2, 1], high=[0, 1, 2])", [(2, 3, 2)],
     lambda x: F.pad(x[None], (1, 2, 2, 1), "circular")[0]),
    ("std1", "std({0}, axes=[0, 2])", [(2, 3, 2)], lambda x: x.std((0, 2))),
    ("std2", "std({0}, axes=[1], keep=true, correction=0)", [(2, 3)], lambda x: x.std(1, correction=0, keepdim=True)),
    ("prelu1", "prelu({0}, {1})", [(2, 3, 2), (3,)], F.prelu),
    ("prelu2", "prelu({0}, {1})", [(2, 3), (1,)], F.prelu),
    ("along_add", "%{n}.count = iota(shape=[2, 4], axis=1, dtype=\"i64\")\n%{n}.index = mod(%{n}.count, 3:i64)\n"
     "scatter_add_along({0}, %{n}.index, {1}, axis=1)", [(2, 3), (2, 4)],
     lambda x, u: x.scatter_add(1, torch.tensor(2 * [[0, 1, 2, 0]]), u)),
    ("nd", "%{n}.index = iota(shape=[2, 2], axis=1, dtype=\"i64\")\ntake_nd({0}, %{n}.index)", [(2, 3, 2)],
     lambda x: x[[0, 0], [1, 1]]),
    ("nd_add", "%{n}.index = iota(shape=[3, 2], axis=0, dtype=\"i64\")\nscatter_add_nd({0}, %{n}.index, {1})",
     [(3, 4, 2), (3, 2)], lambda x, u: x.index_put((torch.arange(3), torch.arange(3)), u, accumulate=True)),
    ("conv1", "conv_nd({0}, {1}, stride=[2], pad=[1, 1], dilation=[2], groups=2)", [(2, 4, 7), (6, 2, 3)],
     lambda x, w: F.conv1d(x, w, None, 2, 1, 2, 2)),
    ("conv3", "conv_nd({0}, {1}, stride=[2, 1, 1], pad=[1, 0, 1, 1, 0, 1], dilation=[1, 2, 1], groups=2)",
     [(1, 4, 4, 3, 2), (2, 2, 3, 2, 1)], lambda x, w: F.conv3d(x, w, None, (2, 1, 1), (1, 0, 1), (1, 2, 1), 2)),
    ("back1", "conv_transpose_nd({0}, {1}, stride=[2], pad=[1, 1], output_pad=[2], dilation=[3])",
     [(2, 2, 3), (2, 3, 2)], lambda x, w: F.conv_transpose1d(x, w, None, 2, 1, 2, 1, 3)),
    ("back2", "conv_transpose2d({0}, {1}, pad=[0, 1, 0, 1], output_pad=[1, 1], dilation=[2, 3])",
     [(1, 2, 2, 3), (2, 1, 2, 2)], lambda x, w: F.conv_transpose2d(x, w, None, 1, (0, 1), 1, 1, (2, 3))),
    ("back3", "conv_transpose_nd({0}, {1}, stride=[2, 1, 3], pad=[1, 0, 1, 1, 0, 1], output_pad=[1, 0, 2], groups=2)",
     [(1, 4, 2, 2, 2), (4, 1, 3, 2, 2)],
     lambda x, w: F.conv_transpose3d(x, w, None, (2, 1, 3), (1, 0, 1), (1, 0, 2), 2)),
    ("max1", "max_pool_nd({0}, window=[3], stride=[2], pad=[1, 1])", [(2, 2, 6)], lambda x: F.max_pool1d(x, 3, 2, 1)),
    ("max3", "max_pool_nd({0}, window=[2, 3, 1], stride=[1, 2, 1], pad=[0, 1, 0, 0, 1, 0])", [(1, 2, 3, 4, 2)],
     lambda x: F.max_pool3d(x, (2, 3, 1), (1, 2, 1), (0, 1, 0))),
    ("avg1", "avg_pool_nd({0}, window=[3], stride=[2], pad=[1, 1], skip_pad=true)", [(2, 2, 6)],
     lambda x: F.avg_pool1d(x, 3, 2, 1, count_include_pad=False)),
    ("avg2", "avg_pool_nd({0}, window=[3, 2], stride=[1, 2], pad=[1, 1, 1, 1], skip_pad=true)", [(2, 1, 4, 4)],
     lambda x: F.avg_pool2d(x, (3, 2), (1, 2), 1, count_include_pad=False)),
    ("avg3", "avg_pool_nd({0}, window=[2, 3, 1], stride=[1, 2, 1], pad=[0, 1, 0, 0, 1, 0])", [(1, 2, 3, 4, 2)],
     lambda x: F.avg_pool3d(x, (2, 3, 1), (1, 2, 1), (0, 1, 0))),
    ("ceil1", "max_pool_nd({0}, window=[3], stride=[2], ceil=true)", [(2, 1, 6)],
     lambda x: F.max_pool1d(x, 3, 2, ceil_mode=True)),
    ("ceil2", "max_pool_nd({0}, window=[2, 2], stride=[3, 2], pad=[1, 1, 1, 1], ceil=true)", [(1, 1, 5, 4)],
     lambda x: F.max_pool2d(x, 2, (3, 2), 1, ceil_mode=True)),
    ("ceil3", "avg_pool_nd({0}, window=[3, 2], stride=[2, 3], pad=[1, 0, 1, 0], ceil=true)", [(1, 1, 6, 5)],
     lambda x: F.avg_pool2d(x, (3, 2), (2, 3), (1, 0), ceil_mode=True)),
    ("ceil4", "avg_pool_nd({0}, window=[3], stride=[2], pad=[1, 1], ceil=true, skip_pad=true)", [(1, 1, 6)],
     lambda x: F.avg_pool1d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False)),
    ("adaptive1", "adaptive_avg_pool({0}, shape=[3, 2])", [(1, 2, 5, 4)], lambda x: F.adaptive_avg_pool2d(x, (3, 2))),
    ("adaptive2", "adaptive_avg_pool({0}, shape=[4])", [(1, 2, 3)], lambda x: F.adaptive_avg_pool1d(x, 4)),
    ("adaptive3", "adaptive_max_pool({0}, shape=[3, 2, 1])", [(1, 1, 4, 3, 2)],
     lambda x: F.adaptive_max_pool3d(x, (3, 2, 1))),
    ("adaptive4", "%{n}.s = stop_gradient({0})\n%{n}.e = exp({0})\n%{n}.o = sub({0}, %{n}.e)\n%{n}.p = concat(%{n}.o, {0}, axis=3)\n"
     "%{n}.q = concat(%{n}.s, %{n}.o, axis=3)\n%{n}.w = concat(%{n}.p, %{n}.q, axis=2)\n"
     "adaptive_max_pool(%{n}.w, shape=[1, 1])", [(1, 2, 1, 1)], first_of_two),
    ("adaptive5", "%{n}.s = stop_gradient({0})\n%{n}.w = concat({0}, %{n}.s, {0}, %{n}.s, {0}, axis=2)\n"
     "adaptive_max_pool(%{n}.w, shape=[3])", [(1, 2, 1)],
     lambda x: F.adaptive_max_pool1d(torch.cat([x, x.detach(), x, x.detach(), x], 2), 3)),
    ("resize1", "resize({0}, shape=[3, 7])", [(1, 2, 5, 4)], lambda x: F.interpolate(x, (3, 7))),
    ("resize2", 'resize({0}, shape=[3, 7], mode="linear")', [(1, 2, 5, 4)],
     lambda x: F.interpolate(x, (3, 7), mode="bilinear")),
    ("resize3", 'resize({0}, shape=[3, 7], mode="linear", align_corners=true)', [(1, 2, 5, 4)],
     lambda x: F.interpolate(x, (3, 7), mode="bilinear", align_corners=True)),
    ("resize4", 'resize({0}, shape=[3, 7], mode="cubic")', [(1, 2, 5, 4)],
     lambda x: F.interpolate(x, (3, 7), mode="bicubic")),
    ("resize5", 'resize({0}, shape=[3, 7], mode="cubic", align_corners=true)', [(1, 1, 5, 4)],
     lambda x: F.interpolate(x, (3, 7), mode="bicubic", align_corners=True)),
    ("resize6", 'resize({0}, shape=[2, 3, 1], mode="linear")', [(1, 1, 3, 2, 2)],
     lambda x: F.interpolate(x, (2, 3, 1), mode="trilinear")),
    ("resize7", "resize({0}, shape=[3, 8])", [(1, 2, 6, 4)], lambda x: F.interpolate(x, (3, 8))),
    ("rnn1", "rnn({}, {}, {}, {}, {}, {})", *recurrent(torch.nn.RNN, 1)),
    ("rnn2", 'rnn({}, {}, {}, {}, {}, {}, mode="relu", reverse=true)',
     *recurrent(torch.nn.RNN, 1, reverse=True, nonlinearity="relu")),
    ("gru1", "gru({}, {}, {}, {}, {}, {})", *recurrent(torch.nn.GRU, 3)),
    ("gru2", "gru({}, {}, {}, {}, {}, {}, reverse=true)", *recurrent(torch.nn.GRU, 3, reverse=True)),
    ("lstm1", "lstm({}, {}, {}, {}, {}, {}, {})", *recurrent(torch.nn.LSTM, 4, states=2)),
    ("lstm2", "lstm({}, {}, {}, {}, {}, {}, {}, reverse=true)", *recurrent(torch.nn.LSTM, 4, reverse=True, states=2)),
    ("mse", "%{n}.s = mse({0}, {1})\nreshape(%{n}.s, shape=[1])", [(2, 3), (2, 3)], lambda x, y: F.mse_loss(x, y).reshape(1)),
]


def sine(k, shape):
    i = torch.arange(math.prod(shape), dtype=torch.float64)
    return (1.7 * torch.sin(0.61 * i + k)).reshape(shape).requires_grad_()


def listed(shape):
    return f"f64[{', '.join(map(str, shape))}]"


params, results, body, outs, values = [], [], [], [], []
total, k = 0.0, 0
for name, op, shapes, fn in CASES:
    xs = []
    for n, shape in enumerate(shapes):
        xs.append((f"{name}.{n}", sine(k, shape)))
        params.append(f"param %{name}.{n}: {listed(shape)}")
        k += 1
    got = fn(*(x for _, x in xs))
    got = got if isinstance(got, tuple) else (got,)
    names = [f"{name}.y{n}" for n in range(len(got))]
    *before, op = op.format(*('%' + n for n, _ in xs), n=name).split("\n")
    body.extend(before)
    body.append(f"{', '.join('%' + n for n in names)} = {op}")
    for n, y in zip(names, got):
        outs.append((n, y.detach()))
        results.append(f"out {n}: {listed(y.shape)}")
    y = got[0]
    weight = torch.cos(0.3 * torch.arange(y.numel(), dtype=torch.float64)).reshape(y.shape)
    loss = (y * weight).sum()
    total = total + loss
    grads = torch.autograd.grad(loss, [x for _, x in xs], allow_unused=True)
    for (label, x), g in zip(xs, grads):
        values.append((f"grad.{label}", torch.zeros_like(x) if g is None else g))
    n, index = y.numel(), f'%{name}.i = iota(shape=[{y.numel()}], axis=0, dtype="f64")'
    body.append(f"%{name}.f = reshape(%{names[0]}, shape=[{n}]) {index}")
    body.append(f'%{name}.k = full(shape=[{n}], value=0.3, dtype="f64") %{name}.a = mul(%{name}.i, %{name}.k)')
    body.append(f"%{name}.c = cos(%{name}.a) %{name}.m = mul(%{name}.f, %{name}.c) %{name}.l = sum(%{name}.m)")

terms = [f"%{name}.l" for name, *_ in CASES]
for n, term in enumerate(terms[1:]):
    body.append(f"%t{n} = add({f'%t{n - 1}' if n else terms[0]}, {term})")

with open(pathlib.Path(__file__).with_suffix(".txt"), "w") as out:
    results.insert(0, "out loss: f64[]")
    print(f"func @ops({', '.join(params)}) -> ({', '.join(results)}) {{", file=out)
    for line in body:
        print(" ", line, file=out)
    print(f"  return %t{len(CASES) - 2}, {', '.join('%' + n for n, _ in outs)}\n}}", file=out)
    for name, x in [("loss", total.detach())] + outs + values:
        print(name, x.numel(), *(repr(float(v)) for v in x.reshape(-1)), file=out)
