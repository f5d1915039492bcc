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
    return x @ p[name + ".w"] + p[name + ".b"]


def layer_norm(p, name, x):
    mean = x.mean(-1, keepdims=True)
    var = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(var + 1e-5) * p[name + ".g"] + p[name + ".b"]


def conv(p, name, x, stride=1):
    w = p[name + ".w"]
    pad = w.shape[0] // 2
    layout = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(x, w, (stride, stride), [(pad, pad)] * 2, dimension_numbers=layout)


def max_pool(x):
    n, h, w, c = x.shape
    return x.reshape(n, h // 2, 2, w // 2, 2, c).max((2, 4))


def mlp(p, facts, x, t):
    return cross_entropy(linear(p, "head", jax.nn.relu(linear(p, "layer0.fc", x))), t)


def cnn(p, facts, x, t):
    for k in range(2):
        x = max_pool(jax.nn.relu(conv(p, f"conv{k}", x) + p[f"conv{k}.b"]))
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
