# SPDX-License-Identifier: GPL-3.0-or-later
"""The matrix products of a step, read from the text of its joint graph (`gradcut grad`).

Convolutions count as the products that they are, attention as its two products forward and five backward, causal
ones half. A product inside of a loop counts once for each step. What the backward graph repeats of the forward one (it
has the forward one's place in the source) is not counted: a plan may save it.
"""

import collections
import math
import re

RESULT = re.compile(r"%([\w.]+): (\w+)\[([^\]]*)\]")
OP = re.compile(r" = (\w+)\(([^)]*)\)")
FUNCTIONS = {"div": lambda a, b: a // b, "ceildiv": lambda a, b: -(-a // b), "mod": lambda a, b: a % b, "min": min,
             "max": max}


def dims(text, sizes):
    return [eval(d, {"__builtins__": {}}, {**FUNCTIONS, **sizes}) for d in split(text)]


def split(text):
    """At the commas that stand in no parentheses."""
    out, depth = [""], 0
    for c in text:
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            out.append("")
        else:
            out[-1] += c
    return [s.strip() for s in out if s.strip()]


def attribute(args, name, default):
    for a in args:
        if a.startswith(name + "="):
            return a[len(name) + 1:].strip()
    return default


def numbers(args, name, default):
    return [int(x) for x in re.findall(r"-?\d+", attribute(args, name, default))]


# Each: (times, batch, m, n, k, A transposed, B transposed, m and n may change places).

def matmul(out, of, args):
    a, b = of[0], of[1]
    ta, tb = (attribute(args, t, "false") == "true" for t in ("ta", "tb"))
    k = a[-2] if ta else a[-1]
    if len(b) == 2:  # one matrix for every row
        return [(1, 1, math.prod(out) // out[-1], out[-1], k, ta, tb, False)]
    return [(1, math.prod(out[:-2]), out[-2], out[-1], k, ta, tb, False)]


# A convolution's operand as a matrix would not fit in cache, and need not exist: the rate is that of a slab.
SLAB = 1 << 20


def slabs(args, rows, n, k):
    """Products of few rows that make one of many, for each group."""
    few = min(rows, max(256, SLAB // (4 * max(n, k))))
    return [(groups(args) * rows / few, 1, few, n, k, False, False, True)]


def groups(args):
    return numbers(args, "groups", "1")[0]


def conv2d(out, of, args):
    o, inner, kh, kw = of[1]
    return slabs(args, out[0] * out[2] * out[3], o // groups(args), inner * kh * kw)


def conv2d_input(out, of, args):
    (n, o, oh, ow), (_, inner, kh, kw) = of[0], of[1]
    o //= groups(args)
    if set(numbers(args, "stride", "1")) == {1}:
        return slabs(args, n * out[2] * out[3], inner, o * kh * kw)
    return slabs(args, n * oh * ow, inner * kh * kw, o)


def conv2d_weight(out, of, args):
    o, inner, kh, kw = out
    n, _, oh, ow = of[1]
    o, window, k = o // groups(args), inner * kh * kw, n * oh * ow
    few = min(k, max(256, SLAB // (4 * max(o, window))))
    return [(groups(args) * k / few, 1, o, window, few, True, False, True)]


def heads(of, args):
    (b, h, t, d), (_, _, s, _), e = of[0], of[1], of[2][-1]
    return (0.5 if attribute(args, "causal", "false") == "true" else 1.0), b * h, t, s, d, e


def attention(out, of, args):
    f, b, t, s, d, e = heads(of, args)
    return [(f, b, t, s, d, False, True, False), (f, b, t, e, s, False, False, False)]


def attention_grad(out, of, args):
    f, b, t, s, d, e = heads(of, args)
    scores, dp = (f, b, t, s, d, False, True, False), (f, b, t, s, e, False, True, False)
    dq = (f, b, t, d, s, False, False, False)
    dk, dv = (f, b, s, d, t, True, False, False), (f, b, s, e, t, True, False, False)
    return [scores, dp, dq, dk, dv]


RULES = {f.__name__: f for f in (matmul, conv2d, conv2d_input, conv2d_weight, attention, attention_grad)}


def products(text, sizes):
    """[(times, batch, m, n, k, ta, tb, free)] of the last function in the text, each shape once."""
    found, shapes, loops, seen = collections.Counter(), {}, [], set()
    for line in text.splitlines():
        if line.startswith("func "):
            found.clear(), shapes.clear(), seen.clear()
    places = dict(re.findall(r"^loc !(\d+) = (.*)$", text, re.M))
    for line in text.splitlines():
        for name, _, shape in RESULT.findall(line):
            shapes[name] = dims(shape, sizes)
        if line.strip().startswith("}") and loops:
            loops.pop()
        op = OP.search(line)
        if not op:
            continue
        args = split(op.group(2))
        if line.rstrip().endswith("{"):
            loops.append(steps(op.group(1), args, shapes, sizes))
            continue
        rule = RULES.get(op.group(1))
        if not rule:
            continue
        place = line.rsplit("!", 1)[-1].strip()
        if not places.get(place, "grad(").startswith("grad("):
            if place in seen:
                continue
            seen.add(place)
        operands = [shapes[a[1:]] for a in args if a.startswith("%")]
        for times, *shape in rule(shapes[RESULT.findall(line)[0][0]], operands, args):
            found[tuple(shape)] += times * math.prod(loops)
    return [(times, *shape) for shape, times in found.items() if math.prod(shape[:4])]


def steps(op, args, shapes, sizes):
    """How often the body of a loop runs; of one that is not a scan nobody knows."""
    if op != "scan":
        return 1
    length = attribute(args, "length", "")
    if length:
        return dims(length, sizes)[0]
    operands = [a[1:] for a in args if a.startswith("%")]
    axis = numbers(args, "axis", "0")[0]
    return shapes[operands[numbers(args, "carries", "0")[0]]][axis]
