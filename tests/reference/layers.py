# SPDX-License-Identifier: GPL-3.0-or-later
"""Results and gradients of the models of examples/layers, from PyTorch in float64.

    python tests/reference/layers.py          (torch 2.x and NumPy, CPU)

writes layers.txt beside this script, for tests/api/test_layers.c.  A case begins with
`case MODEL WRT SYMBOL=SIZE,...` and has lines

    give NAME [SIZES] v0 v1 ...             a parameter, input or cotangent in full
    fill NAME [SIZES] k scale               the one of `filled`
    want NAME [SIZES] norm sum i:v ...      a result or gradient: 2-norm, sum, elements
"""

import math
import pathlib

import numpy as np
import torch

HERE = pathlib.Path(__file__).parent


def filled(k, scale, *shape):
    """scale * (-0.5 to 0.5), exact in float32 where scale is a power of 2."""
    i = np.arange(math.prod(shape), dtype=np.int64)
    h = (31 * i * i + 7919 * i + 104729 * k) % 65521
    return torch.tensor(scale * (h - 32760) / 65536).reshape(shape)


def sizes_of(v):
    return f"[{','.join(str(n) for n in v.shape)}]"


def numbers(values):
    return " ".join(repr(float(v)) for v in values)


def want(name, v, out):
    sizes, v = sizes_of(v), v.detach().flatten()
    n = len(v)
    at = range(n) if n <= 16 else sorted({(k * (n - 1)) // 15 for k in range(16)})
    probes = " ".join(f"{i}:{v[i].item()!r}" for i in at)
    print(f"want {name} {sizes} {v.norm().item()!r} {v.sum().item()!r} {probes}", file=out)


class Case:
    """The inputs of a case, in the values that float32 has."""

    def __init__(self, out, model, wrt, **sizes):
        self.out, self.at = out, {}
        print(f"case {model} {wrt} {','.join(f'{s}={n}' for s, n in sizes.items())}", file=out)

    def give(self, name, values):
        v = torch.as_tensor(values, dtype=torch.float32)
        print(f"give {name} {sizes_of(v)} {numbers(v.flatten())}", file=self.out)
        self.at[name] = v.double().requires_grad_()
        return self.at[name]

    def fill(self, name, k, scale, *shape):
        v = filled(k, scale, *shape)
        print(f"fill {name} {sizes_of(v)} {k} {scale}", file=self.out)
        self.at[name] = v.requires_grad_()
        return self.at[name]

    def check(self, results, cotangents, by):
        grads = torch.autograd.grad(list(results.values()), [self.at[x] for x in by], cotangents)
        for name, v in results.items():
            want(name, v, self.out)
        for name, g in zip(by, grads):
            want(f"grad.{name}", g, self.out)
        return grads


def cosine(out):
    c = Case(out, "cosine", "x", A=5, B=5, C=5)
    x, g = c.fill("x", 1, 8, 5, 5, 5), c.fill("dz", 2, 4, 5, 5, 5)
    (dx,) = c.check({"z": x.cos().cos()}, [g], ["x"])
    x, g = x.detach().numpy(), g.detach().numpy()
    assert np.allclose(dx.numpy(), np.sin(np.cos(x)) * np.sin(x) * g, rtol=1e-14, atol=0)


def risky(out):
    for x, total, slope in (([1, 2, 3, 4], 20, 2), ([-1, -2, -3, -4], -14, 1)):
        c = Case(out, "risky", "x", N=4)
        x, g = c.give("x", x), c.give("dy", [1, 1, 1, 1])
        y = 2 * x if x.sum() > 0 else x - 1
        (dx,) = c.check({"y": y}, [g], ["x"])
        assert y.sum() == total and (dx == slope).all()


def chain(out):
    for t, n, larger, total in (
        (0.5, 10, True, 11.141757),
        (0.5, 8, True, 7.761778),
        (0.8, 10, True, 11.141757),
        (0.8, 8, False, 8.537956),
    ):
        c = Case(out, "chain", "x,y", N=n)
        x, y = c.give("x", np.linspace(-2, 2, 10)[:n]), c.give("y", np.linspace(1, 2, 10)[:n])
        t, g = c.give("t", t), c.give("dz", np.ones(n))
        a = x.cos().cos()
        assert (a.mean() > t) == larger
        z = y * (a / np.float32(1.1).item() if larger else a)
        assert abs(z.sum() - total) < 1e-6
        c.check({"z": z}, [g], ["x", "y"])


def mlp(out):
    for n in (32, 7):
        c = Case(out, "mlp", "*", N=n)
        w1, b1 = c.fill("w1", 1, 0.25, 128, 256), c.fill("b1", 2, 0.5, 256)
        w2, b2 = c.fill("w2", 3, 0.25, 256, 64), c.fill("b2", 4, 0.5, 64)
        x, g = c.fill("x", 5, 2, n, 128), c.fill("dy", 6, 2, n, 64)
        y = torch.nn.functional.linear(torch.nn.functional.linear(x, w1.T, b1).relu(), w2.T, b2)
        c.check({"y": y}, [g], ["w1", "b1", "w2", "b2", "x"])


def cell(out):
    for t in (1, 5, 100):
        c = Case(out, "cell", "*", T=t, N=3)
        w, b = c.fill("w", 1, 0.5, 4, 6), c.fill("b", 2, 0.25, 6)
        xs, h = c.fill("xs", 3, 2, t, 3, 4), c.fill("h0", 4, 1, 3, 6)
        dh, dhs = c.fill("dh", 5, 2, 3, 6), c.fill("dhs", 6, 1, t, 3, 6)
        hs, signs = [], set()
        for x in xs:
            a = torch.nn.functional.linear(x, w.T, b)
            assert abs(a.sum()) > 1e-4  # float32 takes the same branch
            signs.add(bool(a.sum() > 0))
            h = (a if a.sum() > 0 else -a).add(h).tanh()
            hs.append(h)
        assert t == 1 or len(signs) == 2
        c.check({"h": h, "hs": torch.stack(hs)}, [dh, dhs], ["w", "b", "xs", "h0"])


if __name__ == "__main__":
    with open(HERE / "layers.txt", "w") as f:
        for model in (cosine, risky, chain, mlp, cell):
            model(f)
