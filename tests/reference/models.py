# SPDX-License-Identifier: GPL-3.0-or-later
"""The models of tests/models in PyTorch, in float64.

    python tests/reference/models.py [NAME…]        (torch 2.x, CPU)

writes models/NAME.txt beside this script.  Parameters and inputs are read by
name and type from the head of tests/models/NAME.gcut and filled by a rule
(class Model) that tests/zoo/test_models.c has too; what is computed from them is
written here in PyTorch's own functions.

Each line describes one result, with the role "eval" the loss as it is evaluated: role, name, count, Euclidean norm, sum, then
index:value probes (all values of a result of up to 8 elements).
"""

import math
import pathlib
import re
import sys

import numpy as np
import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).parent
SIZES = {"N": 3, "T": 5}
PARAM = re.compile(r"(param|input|state|rng) %([\w.]+): (\w+)\[([^\]]*)\](?: #range\((-?\d+), (-?\d+)\))?")


def unit(n, k):
    """n numbers in [-1, 1) that parameter k is made of."""
    h = (np.arange(n, dtype=np.uint64) * 2654435761 + k * 40503 + 977) & 0xFFFFFFFF
    h = ((h ^ (h >> 15)) * 2246822519) & 0xFFFFFFFF
    h = ((h ^ (h >> 13)) * 3266489917) & 0xFFFFFFFF
    return (h ^ (h >> 16)).astype(np.float64) * 2.0**-31 - 1


def threefry(key, counter):
    """Threefry-2x32 with 20 rounds on arrays of 64-bit counters (Salmon et al., 2011)."""
    word = lambda x: x & np.uint64(0xFFFFFFFF)
    k = [np.uint64(key >> 32), np.uint64(key & 0xFFFFFFFF)]
    k.append(k[0] ^ k[1] ^ np.uint64(0x1BD11BDA))
    a, b = word((counter >> np.uint64(32)) + k[0]), word(counter + k[1])
    for s in range(1, 6):
        for r in ((13, 15, 26, 6), (17, 29, 16, 24))[(s + 1) % 2]:
            a = word(a + b)
            b = word(b << np.uint64(r) | b >> np.uint64(32 - r)) ^ a
        a, b = word(a + k[s % 3]), word(b + k[(s + 1) % 3] + np.uint64(s))
    return a, b


def normal(key, shape):
    """What the op `normal` draws in f32: Box and Muller on the counters 2 i and 2 i + 1."""
    n = math.prod(shape)
    a, b = threefry(key, np.arange(2 * n, dtype=np.uint64))
    u = ((a ^ b) >> np.uint64(8)).astype(np.float64) * 2.0**-24
    z = np.sqrt(-2 * np.log(1 - u[0::2])) * np.cos(2 * math.pi * u[1::2])
    return torch.from_numpy(z).reshape(shape)


def key_split(key, n):
    a, b = threefry(key, np.arange(n, dtype=np.uint64))
    return [int(x) << 32 | int(y) for x, y in zip(a, b)]


def dropout(x, key, p):
    a, b = threefry(key, np.arange(x.numel(), dtype=np.uint64))
    u = ((a ^ b) >> np.uint64(8)).astype(np.float64) * 2.0**-24
    return x * torch.from_numpy(u >= p).reshape(x.shape) / (1 - p)


class Model:
    """The values of a .gcut file's parameters, by name: m["layer0.fc.w"]."""

    def __init__(self, name, training=True):
        self.name, self.value, self.params, self.out, self.next = name, {}, [], {}, {}
        self.training = training
        text = (HERE.parent / "models" / f"{name}.gcut").read_text()
        head = text[text.index("\nfunc ") : text.index("->")]
        for k, (role, what, dtype, dims, lo, hi) in enumerate(PARAM.findall(head)):
            shape = [int(eval(d, {}, SIZES)) for d in dims.split(",") if d.strip()]
            self.value[what] = self.fill(k, role, what, dtype, shape, hi)
            if role == "param":
                self.params.append(what)

    def fill(self, k, role, what, dtype, shape, hi):
        n = math.prod(shape)
        if dtype[0] == "i":
            v = (7 * torch.arange(n) + 3 * k) % int(hi or 1000)
            if self.name == "bert" and what == "labels":
                v[torch.arange(n) % 3 != 0] = -100
            return v.reshape(shape)
        scale = 1 if role == "input" else 0.3
        if role == "param" and len(shape) > 1:
            scale = 1.5 / math.sqrt(n // (shape[1] if len(shape) == 2 else shape[0]))
        base = 1.0 if what.endswith((".g", ".var")) else 0.0
        v = torch.from_numpy(scale * unit(n, k) + base).reshape(shape)
        return v.requires_grad_() if role == "param" else v

    def __getitem__(self, what):
        return self.value[what]

    # ---- layers, by the names that examples/models/net.c gives their parameters ----

    def linear(self, layer, x):
        y = x @ self[f"{layer}.w"]
        return y + self[f"{layer}.b"] if f"{layer}.b" in self.value else y

    def layer_norm(self, layer, x):
        return F.layer_norm(x, x.shape[-1:], self[f"{layer}.g"], self[f"{layer}.b"])

    def conv(self, layer, x, **options):
        return F.conv2d(x, self[f"{layer}.w"], self.value.get(f"{layer}.b"), **options)

    def batch_norm(self, layer, x):
        mean, var = (self[f"{layer}.{k}"].clone() for k in ("mean", "var"))
        y = F.batch_norm(x, mean, var, self[f"{layer}.g"], self[f"{layer}.b"], training=self.training)
        self.next[f"{layer}.mean"], self.next[f"{layer}.var"] = mean, var
        return y

    def dropout(self, x, key, p):
        return dropout(x, key, p) if self.training else F.dropout(x, p, training=False)

    def self_attention(self, scope, x, heads, causal):
        n, t, c = x.shape
        split = lambda y: y.reshape(n, t, heads, c // heads).transpose(1, 2)
        q, k, v = map(split, self.linear(f"{scope}.attn.qkv", x).split(c, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return self.linear(f"{scope}.attn.out", y.transpose(1, 2).reshape(n, t, c))


def mlp(m):
    x = m["x"]
    for layer in range(2):
        x = torch.relu(m.linear(f"layer{layer}.fc", x))
    return F.cross_entropy(m.linear("head", x), m["t"])


def autoencoder(m):
    h = m["x"]
    for layer in "encoder.fc0", "encoder.fc1", "encoder.fc2":
        h = torch.relu(m.linear(layer, h))
    h = m.linear("encoder.code", h)
    for layer in "decoder.fc2", "decoder.fc1", "decoder.fc0":
        h = torch.relu(m.linear(layer, h))
    return F.mse_loss(torch.sigmoid(m.linear("decoder.pixels", h)), m["x"])


def vae(m):
    x = m["x"]
    h = torch.relu(m.linear("encoder.fc", x))
    mean, log_var = m.linear("encoder.mean", h), m.linear("encoder.log_var", h)
    posterior = torch.distributions.Normal(mean, torch.exp(log_var / 2))
    z = mean + normal(m["key"].item(), mean.shape) * posterior.stddev
    y = m.linear("decoder.pixels", torch.relu(m.linear("decoder.fc", z)))
    prior = torch.distributions.Normal(torch.zeros_like(mean), torch.ones_like(mean))
    bound = F.binary_cross_entropy_with_logits(y, x, reduction="sum")
    return (bound + torch.distributions.kl_divergence(posterior, prior).sum()) / len(x)


def lenet(m):
    x = torch.tanh(m.conv("features.conv0", m["x"], padding=1))
    x = torch.tanh(m.conv("features.conv1", F.avg_pool2d(x, 2)))
    x = F.avg_pool2d(x, 2).flatten(1)
    for layer in "fc0", "fc1":
        x = torch.tanh(m.linear(f"classifier.{layer}", x))
    return F.cross_entropy(m.linear("classifier.fc2", x), m["t"])


def resnet(m):
    x = torch.relu(m.batch_norm("stem.bn", m.conv("stem.conv", m["x"], padding=1)))
    for scope, stride in ("stage0.0", 1), ("stage1.0", 2):
        y = m.conv(f"{scope}.conv1", x, stride=stride, padding=1)
        y = torch.relu(m.batch_norm(f"{scope}.bn1", y))
        y = m.batch_norm(f"{scope}.bn2", m.conv(f"{scope}.conv2", y, padding=1))
        if stride != 1:
            x = m.batch_norm(f"{scope}.bn0", m.conv(f"{scope}.conv0", x, stride=stride))
        x = torch.relu(x + y)
    return F.cross_entropy(m.linear("head.fc", x.mean((2, 3))), m["t"])


def mobilenet(m):
    x = F.relu6(m.batch_norm("first.bn", m.conv("first.conv", m["x"], padding=1)))
    for scope, widen, stride in ("block0", 1, 1), ("block1", 2, 2):
        y = x
        if widen != 1:
            y = F.relu6(m.batch_norm(f"{scope}.bn0", m.conv(f"{scope}.widen", y)))
        y = m.conv(f"{scope}.depth", y, stride=stride, padding=1, groups=y.shape[1])
        y = F.relu6(m.batch_norm(f"{scope}.bn1", y))
        y = m.batch_norm(f"{scope}.bn2", m.conv(f"{scope}.narrow", y))
        x = x + y if x.shape == y.shape else y
    x = F.relu6(m.batch_norm("last.bn", m.conv("last.conv", x)))
    return F.cross_entropy(m.linear("last.fc", x.mean((2, 3))), m["t"])


def unet(m):
    def twice(scope, x):
        for layer in "conv0", "conv1":
            x = torch.relu(m.conv(f"{scope}.{layer}", x, padding=1))
        return x

    bridge = twice("down0", m["x"])
    x = twice("bottom", F.max_pool2d(bridge, 2))
    x = F.conv_transpose2d(x, m["up0.up.w"], m["up0.up.b"], stride=2)
    x = twice("up0", torch.cat([bridge, x], dim=1))
    return F.cross_entropy(m.conv("head.conv", x), m["t"])


def vit(m, heads=2, patch=4):
    w = m["embedding.patch.w"]
    # A convolution of the size of its stride: the weights' rows are (channel, y, x) of a patch.
    x = F.conv2d(m["x"], w.T.reshape(-1, 3, patch, patch), m["embedding.patch.b"], stride=patch)
    x = x.flatten(2).transpose(1, 2)
    first = m["embedding.class"].expand(len(x), -1, -1)
    x = torch.cat([first, x], dim=1) + m["embedding.position"]
    x = x + m.self_attention("block0", m.layer_norm("block0.ln1", x), heads, False)
    h = F.gelu(m.linear("block0.fc1", m.layer_norm("block0.ln2", x)))
    x = x + m.linear("block0.fc2", h)
    return F.cross_entropy(m.linear("head.fc", m.layer_norm("head.ln", x)[:, 0]), m["t"])


def gpt2(m, heads=2):
    x = F.embedding(m["ids"], m["embedding.token"]) + m["embedding.position"][: SIZES["T"]]
    x = x + m.self_attention("block0", m.layer_norm("block0.ln1", x), heads, True)
    h = F.gelu(m.linear("block0.mlp.fc", m.layer_norm("block0.ln2", x)), approximate="tanh")
    x = x + m.linear("block0.mlp.out", h)
    logits = m.layer_norm("head.ln", x) @ m["embedding.token"].T
    return F.cross_entropy(logits.flatten(0, 1), m["labels"].flatten())


def bert(m, heads=2, p=0.1):
    keys = key_split(m["key"].item(), 3)
    x = F.embedding(m["ids"], m["embedding.token"]) + F.embedding(m["segments"], m["embedding.segment.w"])
    x = m.dropout(m.layer_norm("embedding.ln", x + m["embedding.position"][: SIZES["T"]]), keys[0], p)
    y = m.dropout(m.self_attention("block0", x, heads, False), keys[1], p)
    x = m.layer_norm("block0.ln1", x + y)
    y = m.dropout(m.linear("block0.fc2", F.gelu(m.linear("block0.fc1", x))), keys[2], p)
    x = m.layer_norm("block0.ln2", x + y)
    x = m.layer_norm("head.ln", F.gelu(m.linear("head.fc", x)))
    logits = x @ m["embedding.token"].T + m["head.b"]
    return F.cross_entropy(logits.flatten(0, 1), m["labels"].flatten(), ignore_index=-100)


def llama(m, heads=4, groups=2, theta=1e4):
    n, t = m["ids"].shape
    x = F.embedding(m["ids"], m["embedding.token"])
    d = x.shape[-1] // heads
    norm = lambda layer, y: F.rms_norm(y, y.shape[-1:], m[f"{layer}.g"], eps=1e-5)
    split = lambda y, h: y.reshape(n, t, h, d).transpose(1, 2)
    # In complex numbers: element k of the first half is the real part, of the second the imaginary one.
    turn = torch.polar(torch.ones(t, d // 2, dtype=torch.float64),
                       torch.outer(torch.arange(t, dtype=torch.float64),
                                   theta ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)))

    def rotate(y):
        z = torch.complex(y[..., : d // 2], y[..., d // 2 :]) * turn
        return torch.cat([z.real, z.imag], dim=-1)

    h = norm("block0.ln1", x)
    q, k, v = (split(h @ m[f"block0.attn.{p}.w"], heads if p == "q" else groups) for p in "qkv")
    y = F.scaled_dot_product_attention(rotate(q), rotate(k), v, is_causal=True, enable_gqa=True)
    x = x + y.transpose(1, 2).reshape(n, t, -1) @ m["block0.attn.out.w"]
    h = norm("block0.ln2", x)
    h = F.silu(h @ m["block0.mlp.gate.w"]) * (h @ m["block0.mlp.up.w"])
    x = x + h @ m["block0.mlp.down.w"]
    logits = norm("head.ln", x) @ m["embedding.token"].T
    return F.cross_entropy(logits.flatten(0, 1), m["labels"].flatten())


def recurrent(m, kind):
    x, b = F.embedding(m["ids"], m["embedding.token.w"]), m["layer0.x.b"]
    layer = kind(x.shape[-1], m["layer0.h.w"].shape[0], batch_first=True, dtype=torch.float64)
    weights = {"weight_ih_l0": m["layer0.x.w"].T, "weight_hh_l0": m["layer0.h.w"].T,
               "bias_ih_l0": b, "bias_hh_l0": torch.zeros_like(b)}
    logits = m.linear("head.fc", torch.func.functional_call(layer, weights, x)[0])
    return F.cross_entropy(logits.flatten(0, 1), m["labels"].flatten())


def rnn(m):
    return recurrent(m, torch.nn.RNN)


def lstm(m):
    """torch.nn.LSTM, whose gates stand in the same order: input, forget, candidate, output."""
    return recurrent(m, torch.nn.LSTM)


def line(role, name, v, out):
    v = v.detach().flatten()
    n = len(v)
    at = range(n) if n <= 8 else sorted({(k * (n - 1)) // 7 for k in range(8)})
    probes = " ".join(f"{i}:{v[i].item()!r}" for i in at)
    print(role, name, n, repr(v.norm().item()), repr(v.sum().item()), probes, file=out)


if __name__ == "__main__":
    for path in sorted((HERE.parent / "models").glob("*.gcut")):
        if sys.argv[1:] and path.stem not in sys.argv[1:]:
            continue
        m = Model(path.stem)
        loss = globals()[path.stem](m)
        loss.backward()
        evaluated = globals()[path.stem](Model(path.stem, training=False))
        with open(HERE / "models" / f"{path.stem}.txt", "w") as out:
            line("out", "loss", loss, out)
            line("eval", "loss", evaluated, out)
            for name, v in m.next.items():
                line("next", name, v, out)
            for name in m.params:
                line("grad", name, m[name].grad, out)
