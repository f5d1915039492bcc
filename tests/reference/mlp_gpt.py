# SPDX-License-Identifier: GPL-3.0-or-later
"""Losses, gradients and Hessian products of the models in tests/corpus, from PyTorch in float64.

    python tests/reference/mlp_gpt.py            (torch 2.x, CPU)

writes mlp_small.txt, gpt_tiny.txt and gpt_tied.txt beside this script, and
mlp_small_hvp.txt and gpt_tied_hvp.txt.  No
values are stored for inputs and parameters: the k-th parameter of the function
in the .gcut file, counting inputs, holds at flat index i

    float:    0.3 * sin(0.37 * i + k), plus 1 when its name ends in _g
    integer:  (7 * i + 3 * k) mod V

and the fourth label of the GPTs is the ignored one, -100.

Each line after the loss describes one gradient: name, count, Euclidean norm,
then index:value probes (all values of a gradient of up to 16 elements).

The files of Hessian products look the same: H v, H the Hessian of the loss by
all parameters, and v of the k-th parameter 0.3 * sin(0.53 * i + 2 * k).
"""

import math
import pathlib

import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).parent
N = 3  # the symbol N of every model


class Filler:
    """Hands out parameters in the order of the function's parameter list."""

    def __init__(self, vocab):
        self.k, self.vocab, self.params = 0, vocab, {}

    def param(self, name, *shape):
        i = torch.arange(math.prod(shape), dtype=torch.float64)
        v = 0.3 * torch.sin(0.37 * i + self.k) + (1.0 if name.endswith("_g") else 0.0)
        self.k += 1
        self.params[name] = v.reshape(shape).requires_grad_()
        return self.params[name]

    def data(self, *shape):
        i = torch.arange(math.prod(shape), dtype=torch.float64)
        self.k += 1
        return (0.3 * torch.sin(0.37 * i + self.k - 1)).reshape(shape)

    def ids(self, *shape):
        i = torch.arange(math.prod(shape))
        self.k += 1
        return ((7 * i + 3 * (self.k - 1)) % self.vocab).reshape(shape)


def mlp_small():
    f = Filler(5)
    w1, b1 = f.param("w1", 12, 16), f.param("b1", 16)
    w2, b2 = f.param("w2", 16, 5), f.param("b2", 5)
    x, t = f.data(N, 12), f.ids(N)
    return f, F.cross_entropy(torch.relu(x @ w1 + b1) @ w2 + b2, t)


def gpt(tied, vocab=11, steps=6, width=8, heads=2, layers=2):
    f = Filler(vocab)
    wte, wpe = f.param("wte", vocab, width), f.param("wpe", steps, width)
    blocks = []
    for layer in range(layers):
        p = lambda name, *shape: f.param(f"l{layer}.{name}", *shape)
        blocks.append([
            p("ln1_g", width), p("ln1_b", width), p("wqkv", width, 3 * width), p("bqkv", 3 * width),
            p("wo", width, width), p("bo", width), p("ln2_g", width), p("ln2_b", width),
            p("wfc", width, 4 * width), p("bfc", 4 * width), p("wpr", 4 * width, width), p("bpr", width),
        ])
    lnf_g, lnf_b = f.param("lnf_g", width), f.param("lnf_b", width)
    head = wte.T if tied else f.param("wh", width, vocab)
    ids, labels = f.ids(N, steps), f.ids(N, steps).flatten()
    labels[3] = -100

    norm = lambda x, g, b: F.layer_norm(x, (width,), g, b)
    split = lambda x: x.reshape(N, steps, heads, width // heads).transpose(1, 2)
    x = wte[ids] + wpe
    for ln1_g, ln1_b, wqkv, bqkv, wo, bo, ln2_g, ln2_b, wfc, bfc, wpr, bpr in blocks:
        q, k, v = map(split, (norm(x, ln1_g, ln1_b) @ wqkv + bqkv).split(width, dim=-1))
        att = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + att.transpose(1, 2).reshape(N, steps, width) @ wo + bo
        x = x + F.gelu(norm(x, ln2_g, ln2_b) @ wfc + bfc) @ wpr + bpr
    logits = norm(x, lnf_g, lnf_b) @ head
    return f, F.cross_entropy(logits.reshape(N * steps, vocab), labels)


def describe(param, g, out):
    g = g.flatten()
    n = len(g)
    at = range(n) if n <= 16 else sorted({(k * (n - 1)) // 7 for k in range(8)})
    probes = " ".join(f"{i}:{g[i].item()!r}" for i in at)
    print(f"{param} {n} {g.norm().item()!r} {probes}", file=out)


def write(name, filler, loss):
    loss.backward()
    with open(HERE / f"{name}.txt", "w") as out:
        print(f"loss {loss.item()!r}", file=out)
        for param, value in filler.params.items():
            describe(param, value.grad, out)


def write_hvp(name, filler, loss):
    """The parameters come first in the lists of parameters, so k counts them alone."""
    params = list(filler.params.values())
    grads = torch.autograd.grad(loss, params, create_graph=True)
    along = [
        0.3 * torch.sin(0.53 * torch.arange(p.numel(), dtype=torch.float64) + 2 * k).reshape(p.shape)
        for k, p in enumerate(params)
    ]
    products = torch.autograd.grad(grads, params, grad_outputs=along)
    with open(HERE / f"{name}_hvp.txt", "w") as out:
        print(f"loss {loss.item()!r}", file=out)
        for param, product in zip(filler.params, products):
            describe(param, product, out)


if __name__ == "__main__":
    write("mlp_small", *mlp_small())
    write("gpt_tiny", *gpt(tied=False))
    write("gpt_tied", *gpt(tied=True))
    write_hvp("mlp_small", *mlp_small())
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):  # the one with second derivatives
        write_hvp("gpt_tied", *gpt(tied=True))
