# SPDX-License-Identifier: GPL-3.0-or-later
"""The models of the bench in JAX: functions of a dict of parameters, named as gradcut's.

`arrange` gives an array the layout that XLA runs fastest on a CPU: images with their channels last.
"""

import jax
import jax.numpy as jnp
from jax import lax


def arrange(name, x):
    """What is stored and updated: HWIO for the window of a convolution, NHWC for images."""
    if x.ndim != 4:
        return x
    return x.transpose(0, 2, 3, 1) if name == "x" else x.transpose(2, 3, 1, 0)


def cross_entropy(logits, labels):
    logp = jax.nn.log_softmax(logits)
    return -jnp.take_along_axis(logp, labels[..., None], axis=-1).mean()


def linear(p, name, x):
    y = x @ p[name + ".w"]
    return y + p[name + ".b"] if name + ".b" in p else y


def layer_norm(p, name, x):
    mean = x.mean(-1, keepdims=True)
    var = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(var + 1e-5) * p[name + ".g"] + p[name + ".b"]


LAYOUT = ("NHWC", "HWIO", "NHWC")


def conv(p, name, x, stride=1, groups=1):
    w = p[name + ".w"]
    pad = w.shape[0] // 2
    y = lax.conv_general_dilated(x, w, (stride, stride), [(pad, pad)] * 2, dimension_numbers=LAYOUT,
                                 feature_group_count=groups)
    return y + p[name + ".b"] if name + ".b" in p else y


def max_pool(x):
    n, h, w, c = x.shape
    return x.reshape(n, h // 2, 2, w // 2, 2, c).max((2, 4))


def mlp(p, facts, x, t):
    return cross_entropy(linear(p, "head", jax.nn.relu(linear(p, "layer0.fc", x))), t)


def cnn(p, facts, x, t):
    for k in range(2):
        x = max_pool(jax.nn.relu(conv(p, f"conv{k}", x)))
    # The rows of the dense layer count the channels first.
    return cross_entropy(linear(p, "fc", x.transpose(0, 3, 1, 2).reshape(x.shape[0], -1)), t)


def chain(p, facts):
    x = p["x"]
    y = jnp.sin(jax.nn.sigmoid(jnp.tanh(x) * x) + x)
    y = jnp.tanh(jax.nn.gelu(y * x, approximate=False) - x)
    y = jax.nn.silu(jnp.exp(y) * x)
    y = jax.nn.relu(jnp.cos(y + x) + x)
    return (jnp.sqrt(jnp.log1p(jax.nn.softplus(y))) * x).mean()


def lstm(p, facts, ids, labels):
    x = linear(p, "layer0.x", p["embedding.token.w"][ids]).swapaxes(0, 1)
    u = p["layer0.h.w"]
    zero = jnp.zeros((ids.shape[0], u.shape[0]), u.dtype)

    def step(before, x):
        h, c = before
        i, f, g, o = jnp.split(x + h @ u, 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    _, y = lax.scan(step, (zero, zero), x)
    return cross_entropy(linear(p, "head.fc", y.swapaxes(0, 1)), labels)


def attention(p, name, x, heads, causal):
    n, t, c = x.shape
    q, k, v = jnp.split(linear(p, name + ".qkv", x).reshape(n, t, 3 * heads, c // heads), 3, axis=2)
    y = jax.nn.dot_product_attention(q, k, v, is_causal=causal)
    return linear(p, name + ".out", y.reshape(n, t, c))


def blocks(p, x, heads, causal, approximate, wide, narrow):
    k = 0
    while f"block{k}.ln1.g" in p:
        b = f"block{k}"
        x = x + attention(p, b + ".attn", layer_norm(p, b + ".ln1", x), heads, causal)
        y = jax.nn.gelu(linear(p, f"{b}.{wide}", layer_norm(p, b + ".ln2", x)), approximate=approximate)
        x = x + linear(p, f"{b}.{narrow}", y)
        k += 1
    return x


def gpt(p, facts, ids, labels):
    x = p["embedding.token"][ids] + p["embedding.position"][:ids.shape[1]]
    x = blocks(p, x, facts["heads"], True, True, "mlp.fc", "mlp.out")
    return cross_entropy(layer_norm(p, "head.ln", x) @ p["embedding.token"].T, labels)


def vit(p, facts, x, t):
    s = facts["patch"]
    n, h, w, c = x.shape
    x = x.reshape(n, h // s, s, w // s, s, c).transpose(0, 1, 3, 5, 2, 4).reshape(n, (h // s) * (w // s), c * s * s)
    x = linear(p, "embedding.patch", x)
    x = jnp.concatenate([jnp.broadcast_to(p["embedding.class"], (n, 1, x.shape[2])), x], axis=1)
    x = blocks(p, x + p["embedding.position"], facts["heads"], False, False, "fc1", "fc2")
    return cross_entropy(linear(p, "head.fc", layer_norm(p, "head.ln", x)[:, 0]), t)


def batch_norm(p, name, x):
    """Without the running statistics, which the loss does not depend on."""
    mean = x.mean((0, 1, 2))
    var = jnp.square(x - mean).mean((0, 1, 2))
    return (x - mean) * (lax.rsqrt(var + 1e-5) * p[name + ".g"]) + p[name + ".b"]


def residual(p, name, x, stride):
    y = jax.nn.relu(batch_norm(p, name + ".bn1", conv(p, name + ".conv1", x, stride)))
    y = batch_norm(p, name + ".bn2", conv(p, name + ".conv2", y))
    if name + ".conv0.w" in p:
        x = batch_norm(p, name + ".bn0", conv(p, name + ".conv0", x, stride))
    return jax.nn.relu(x + y)


def resnet(p, facts, x, t):
    x = jax.nn.relu(batch_norm(p, "stem.bn", conv(p, "stem.conv", x)))
    stage = 0
    while f"stage{stage}.0.bn1.g" in p:
        block = 0
        while f"stage{stage}.{block}.bn1.g" in p:
            x = residual(p, f"stage{stage}.{block}", x, 2 if stage and not block else 1)
            block += 1
        stage += 1
    return cross_entropy(linear(p, "head.fc", x.mean((1, 2))), t)


def relu6(x):
    return jnp.clip(x, 0, 6)


def inverted_residual(p, name, x, stride):
    y = relu6(batch_norm(p, name + ".bn0", conv(p, name + ".widen", x))) if name + ".widen.w" in p else x
    y = relu6(batch_norm(p, name + ".bn1", conv(p, name + ".depth", y, stride, y.shape[-1])))
    y = batch_norm(p, name + ".bn2", conv(p, name + ".narrow", y))
    return x + y if x.shape == y.shape else y


def mobilenet(p, facts, x, t):
    x = relu6(batch_norm(p, "first.bn", conv(p, "first.conv", x)))
    k = 0
    while f"block{k}.depth.w" in p:
        x = inverted_residual(p, f"block{k}", x, 2 if k in facts["halving"] else 1)
        k += 1
    x = relu6(batch_norm(p, "last.bn", conv(p, "last.conv", x)))
    return cross_entropy(linear(p, "last.fc", x.mean((1, 2))), t)


def unet(p, facts, x, t):
    def twice(name, x):
        return jax.nn.relu(conv(p, name + ".conv1", jax.nn.relu(conv(p, name + ".conv0", x))))

    bridges = []
    while f"down{len(bridges)}.conv0.w" in p:
        bridges.append(twice(f"down{len(bridges)}", x))
        x = max_pool(bridges[-1])
    x = twice("bottom", x)
    for k in reversed(range(len(bridges))):
        up = f"up{k}.up"
        x = lax.conv_transpose(x, p[up + ".w"], (2, 2), "VALID", dimension_numbers=LAYOUT, transpose_kernel=True)
        x = twice(f"up{k}", jnp.concatenate([bridges[k], x + p[up + ".b"]], axis=3))
    return cross_entropy(conv(p, "head.conv", x), t)


def drop(key, x, part):
    return jnp.where(jax.random.bernoulli(key, 1 - part, x.shape), x / (1 - part), 0)


def bert(p, facts, ids, segments, labels):
    """Every step drops the same activations: the key is a constant, so that the step has no further input."""
    keys = iter(jax.random.split(jax.random.key(1), 100))
    dropped = lambda x: drop(next(keys), x, facts["dropped"])
    x = p["embedding.token"][ids] + p["embedding.segment.w"][segments] + p["embedding.position"][:ids.shape[1]]
    x = dropped(layer_norm(p, "embedding.ln", x))
    k = 0
    while f"block{k}.ln1.g" in p:
        b = f"block{k}"
        x = layer_norm(p, b + ".ln1", x + dropped(attention(p, b + ".attn", x, facts["heads"], False)))
        y = linear(p, b + ".fc2", jax.nn.gelu(linear(p, b + ".fc1", x), approximate=False))
        x = layer_norm(p, b + ".ln2", x + dropped(y))
        k += 1
    x = layer_norm(p, "head.ln", jax.nn.gelu(linear(p, "head.fc", x), approximate=False))
    return cross_entropy(x @ p["embedding.token"].T + p["head.b"], labels)


def llama(p, facts, ids, labels):
    n, t = ids.shape
    heads = facts["heads"]
    x = p["embedding.token"][ids]
    d = x.shape[-1] // heads
    angle = jnp.outer(jnp.arange(t), 1e4 ** (-jnp.arange(d // 2) / (d // 2)))
    cosine, sine = jnp.cos(angle)[:, None], jnp.sin(angle)[:, None]  # [T, 1, D/2]

    def norm(name, x):
        return x * lax.rsqrt(jnp.square(x).mean(-1, keepdims=True) + 1e-5) * p[name + ".g"]

    def rotate(x):
        a, b = jnp.split(x, 2, axis=-1)
        return jnp.concatenate([a * cosine - b * sine, b * cosine + a * sine], axis=-1)

    k = 0
    while f"block{k}.ln1.g" in p:
        b = f"block{k}"
        h = norm(b + ".ln1", x)
        q, k_, v = (linear(p, f"{b}.attn.{c}", h).reshape(n, t, -1, d) for c in "qkv")
        y = jax.nn.dot_product_attention(rotate(q), rotate(k_), v, is_causal=True)
        x = x + linear(p, b + ".attn.out", y.reshape(n, t, -1))
        h = norm(b + ".ln2", x)
        x = x + linear(p, b + ".mlp.down", jax.nn.silu(linear(p, b + ".mlp.gate", h)) * linear(p, b + ".mlp.up", h))
        k += 1
    return cross_entropy(norm("head.ln", x) @ p["embedding.token"].T, labels)
