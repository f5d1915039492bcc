# SPDX-License-Identifier: GPL-3.0-or-later
"""The models of the bench in PyTorch, as one writes them for speed.

Submodules are named like the parameters of gradcut's models, so that `load` finds each by its path; it is an error
when one is missing or left over.
"""

import torch
import torch.nn.functional as F
from torch import nn


def load(module, values):
    """Fills a module from name -> tensor; matrices of dense layers are stored the other way round there."""
    left = dict(values)

    def fill(parameter, name, change=lambda x: x):
        value = change(left.pop(name))
        assert parameter.shape == value.shape, (name, parameter.shape, value.shape)
        with torch.no_grad():
            parameter.copy_(value)

    for path, m in module.named_modules():
        if isinstance(m, nn.Linear):
            fill(m.weight, path + ".w", torch.t)
            if m.bias is not None:
                fill(m.bias, path + ".b")
        elif isinstance(m, nn.Conv2d):
            fill(m.weight, path + ".w", lambda w: w.t().reshape(m.weight.shape) if w.dim() == 2 else w)
            if m.bias is not None:
                fill(m.bias, path + ".b")
        elif isinstance(m, nn.ConvTranspose2d):
            fill(m.weight, path + ".w")
            fill(m.bias, path + ".b")
        elif isinstance(m, (nn.LayerNorm, nn.BatchNorm2d, nn.RMSNorm)):
            fill(m.weight, path + ".g")
            if not isinstance(m, nn.RMSNorm):
                fill(m.bias, path + ".b")
        elif isinstance(m, nn.Embedding):
            fill(m.weight, path if path in left else path + ".w")
        elif isinstance(m, nn.LSTM):
            scope = path.rsplit(".", 1)[0]
            fill(m.weight_ih_l0, scope + ".x.w", torch.t)
            fill(m.weight_hh_l0, scope + ".h.w", torch.t)
            fill(m.bias_ih_l0, scope + ".x.b")
        for name, p in m.named_parameters(recurse=False):
            name = f"{path}.{name}".lstrip(".")
            if name in left:
                fill(p, name)
    assert not left, f"nobody takes {sorted(left)}"


class Part(nn.Module):
    """A scope: submodules and parameters by name."""

    def __init__(self, **what):
        super().__init__()
        for name, x in what.items():
            setattr(self, name, x)


class MLP(nn.Module):
    def __init__(self, shapes, facts):
        super().__init__()
        (features, hidden), (_, classes) = shapes["layer0.fc.w"], shapes["head.w"]
        self.layer0 = Part(fc=nn.Linear(features, hidden))
        self.head = nn.Linear(hidden, classes)

    def forward(self, x, t):
        return F.cross_entropy(self.head(F.relu(self.layer0.fc(x))), t)


class CNN(nn.Module):
    def __init__(self, shapes, facts):
        super().__init__()
        a, b = shapes["conv0.w"], shapes["conv1.w"]
        self.conv0 = nn.Conv2d(a[1], a[0], 3, padding=1)
        self.conv1 = nn.Conv2d(b[1], b[0], 3, padding=1)
        self.fc = nn.Linear(*shapes["fc.w"])

    def forward(self, x, t):
        x = F.max_pool2d(F.relu(self.conv0(x)), 2)
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        return F.cross_entropy(self.fc(x.flatten(1)), t)


class Chain(nn.Module):
    def __init__(self, shapes, facts):
        super().__init__()
        self.x = nn.Parameter(torch.empty(shapes["x"]))

    def forward(self):
        x = self.x
        y = torch.sin(torch.sigmoid(torch.tanh(x) * x) + x)
        y = torch.tanh(F.gelu(y * x) - x)
        y = F.silu(torch.exp(y) * x)
        y = F.relu(torch.cos(y + x) + x)
        return (torch.sqrt(torch.log1p(F.softplus(y))) * x).mean()


class LSTM(nn.Module):
    def __init__(self, shapes, facts):
        super().__init__()
        (rows, channels), (hidden, wide) = shapes["embedding.token.w"], shapes["layer0.h.w"]
        self.embedding = Part(token=nn.Embedding(rows, channels))
        self.layer0 = Part(lstm=nn.LSTM(channels, hidden, batch_first=True))
        # The second bias adds nothing to the first.
        nn.init.zeros_(self.layer0.lstm.bias_hh_l0).requires_grad_(False)
        self.head = Part(fc=nn.Linear(hidden, rows))

    def forward(self, ids, labels):
        y, _ = self.layer0.lstm(self.embedding.token(ids))
        return F.cross_entropy(self.head.fc(y).flatten(0, 1), labels.flatten())


class Attention(nn.Module):
    def __init__(self, channels, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv = nn.Linear(channels, 3 * channels)
        self.out = nn.Linear(channels, channels)

    def forward(self, x):
        n, t, c = x.shape
        q, k, v = (y.view(n, t, self.heads, c // self.heads).transpose(1, 2) for y in self.qkv(x).split(c, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(n, t, c))


class Block(nn.Module):
    def __init__(self, channels, heads, causal, approximate, names):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(channels), nn.LayerNorm(channels)
        self.attn = Attention(channels, heads, causal)
        wide, narrow = nn.Linear(channels, 4 * channels), nn.Linear(4 * channels, channels)
        if names == "mlp":
            self.mlp = Part(fc=wide, out=narrow)
        else:
            self.fc1, self.fc2 = wide, narrow
        self.approximate = approximate

    def forward(self, x):
        wide, narrow = (self.mlp.fc, self.mlp.out) if hasattr(self, "mlp") else (self.fc1, self.fc2)
        x = x + self.attn(self.ln1(x))
        return x + narrow(F.gelu(wide(self.ln2(x)), approximate=self.approximate))


def count(shapes, prefix):
    """How many of prefix0., prefix1., ... there are."""
    k = 0
    while any(name.startswith(f"{prefix}{k}.") for name in shapes):
        k += 1
    return k


class Transformer(nn.Module):
    def add_blocks(self, shapes, *how):
        self.depth = count(shapes, "block")
        for k in range(self.depth):
            setattr(self, f"block{k}", Block(*how))

    def blocks(self, x):
        for k in range(self.depth):
            x = getattr(self, f"block{k}")(x)
        return x


class GPT(Transformer):
    def __init__(self, shapes, facts):
        super().__init__()
        rows, channels = shapes["embedding.token"]
        self.embedding = Part(token=nn.Embedding(rows, channels),
                              position=nn.Parameter(torch.empty(shapes["embedding.position"])))
        self.add_blocks(shapes, channels, facts["heads"], True, "tanh", "mlp")
        self.head = Part(ln=nn.LayerNorm(channels))

    def forward(self, ids, labels):
        x = self.embedding.token(ids) + self.embedding.position[:ids.shape[1]]
        logits = F.linear(self.head.ln(self.blocks(x)), self.embedding.token.weight)
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten())


class ViT(Transformer):
    def __init__(self, shapes, facts):
        super().__init__()
        inner, channels = shapes["embedding.patch.w"]
        patch = facts["patch"]
        self.embedding = Part(patch=nn.Conv2d(inner // patch**2, channels, patch, stride=patch),
                              position=nn.Parameter(torch.empty(shapes["embedding.position"])))
        self.embedding.register_parameter("class", nn.Parameter(torch.empty(shapes["embedding.class"])))
        self.add_blocks(shapes, channels, facts["heads"], False, "none", "fc")
        self.head = Part(ln=nn.LayerNorm(channels), fc=nn.Linear(*shapes["head.fc.w"]))

    def forward(self, x, t):
        x = self.embedding.patch(x).flatten(2).transpose(1, 2)
        first = getattr(self.embedding, "class").expand(x.shape[0], -1, -1)
        x = self.blocks(torch.cat([first, x], dim=1) + self.embedding.position)
        return F.cross_entropy(self.head.fc(self.head.ln(x[:, 0])), t)


class ResidualBlock(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.changes = stride != 1 or before != after
        if self.changes:
            self.conv0 = nn.Conv2d(before, after, 1, stride, bias=False)
            self.bn0 = nn.BatchNorm2d(after)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return F.relu(y + (self.bn0(self.conv0(x)) if self.changes else x))


class ResNet(nn.Module):
    """The one for CIFAR: no stride before the first stage."""

    def __init__(self, shapes, facts):
        super().__init__()
        channels, colours = shapes["stem.conv.w"][:2]
        self.stem = Part(conv=nn.Conv2d(colours, channels, 3, padding=1, bias=False), bn=nn.BatchNorm2d(channels))
        self.stages = count(shapes, "stage")
        for s in range(self.stages):
            blocks, after = [], channels << s
            for b in range(count(shapes, f"stage{s}.")):
                first = s > 0 and b == 0
                blocks.append(ResidualBlock(after // 2 if first else after, after, 2 if first else 1))
            setattr(self, f"stage{s}", nn.ModuleList(blocks))
        self.head = Part(fc=nn.Linear(*shapes["head.fc.w"]))

    def forward(self, x, t):
        x = F.relu(self.stem.bn(self.stem.conv(x)))
        for s in range(self.stages):
            for block in getattr(self, f"stage{s}"):
                x = block(x)
        return F.cross_entropy(self.head.fc(x.mean((2, 3))), t)


class InvertedResidual(nn.Module):
    def __init__(self, shapes, name, stride):
        super().__init__()
        out, wide = shapes[name + ".narrow.w"][:2]
        self.widens = name + ".widen.w" in shapes
        before = shapes[name + ".widen.w"][1] if self.widens else wide
        if self.widens:
            self.widen, self.bn0 = nn.Conv2d(before, wide, 1, bias=False), nn.BatchNorm2d(wide)
        self.depth, self.bn1 = nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False), nn.BatchNorm2d(wide)
        self.narrow, self.bn2 = nn.Conv2d(wide, out, 1, bias=False), nn.BatchNorm2d(out)
        self.adds = stride == 1 and before == out

    def forward(self, x):
        y = F.relu6(self.bn0(self.widen(x))) if self.widens else x
        y = self.bn2(self.narrow(F.relu6(self.bn1(self.depth(y)))))
        return x + y if self.adds else y


class MobileNet(nn.Module):
    """MobileNetV2 for CIFAR; facts["halving"]: the blocks with a stride of 2."""

    def __init__(self, shapes, facts):
        super().__init__()
        first, colours = shapes["first.conv.w"][:2]
        last, before = shapes["last.conv.w"][:2]
        self.first = Part(conv=nn.Conv2d(colours, first, 3, padding=1, bias=False), bn=nn.BatchNorm2d(first))
        self.depth = count(shapes, "block")
        for k in range(self.depth):
            setattr(self, f"block{k}", InvertedResidual(shapes, f"block{k}", 2 if k in facts["halving"] else 1))
        self.last = Part(conv=nn.Conv2d(before, last, 1, bias=False), bn=nn.BatchNorm2d(last),
                         fc=nn.Linear(*shapes["last.fc.w"]))

    def forward(self, x, t):
        x = F.relu6(self.first.bn(self.first.conv(x)))
        for k in range(self.depth):
            x = getattr(self, f"block{k}")(x)
        x = F.relu6(self.last.bn(self.last.conv(x)))
        return F.cross_entropy(self.last.fc(x.mean((2, 3))), t)


class UNet(nn.Module):
    def __init__(self, shapes, facts):
        super().__init__()
        self.levels = count(shapes, "down")
        for name in [f"{way}{k}" for way in ("down", "up") for k in range(self.levels)] + ["bottom"]:
            convs = {c: nn.Conv2d(*reversed(shapes[f"{name}.{c}.w"][:2]), 3, padding=1) for c in ("conv0", "conv1")}
            setattr(self, name, Part(**convs))
            if name.startswith("up"):
                getattr(self, name).up = nn.ConvTranspose2d(*shapes[name + ".up.w"][:2], 2, 2)
        self.head = Part(conv=nn.Conv2d(*reversed(shapes["head.conv.w"][:2]), 1))

    @staticmethod
    def twice(part, x):
        return F.relu(part.conv1(F.relu(part.conv0(x))))

    def forward(self, x, t):
        bridges = []
        for k in range(self.levels):
            bridges.append(self.twice(getattr(self, f"down{k}"), x))
            x = F.max_pool2d(bridges[-1], 2)
        x = self.twice(self.bottom, x)
        for k in reversed(range(self.levels)):
            part = getattr(self, f"up{k}")
            x = self.twice(part, torch.cat([bridges[k], part.up(x)], 1))
        return F.cross_entropy(self.head.conv(x), t)


class BertBlock(nn.Module):
    def __init__(self, channels, heads, dropped):
        super().__init__()
        self.attn = Attention(channels, heads, False)
        self.ln1, self.ln2 = nn.LayerNorm(channels), nn.LayerNorm(channels)
        self.fc1, self.fc2 = nn.Linear(channels, 4 * channels), nn.Linear(4 * channels, channels)
        self.drop = nn.Dropout(dropped)

    def forward(self, x):
        x = self.ln1(x + self.drop(self.attn(x)))
        return self.ln2(x + self.drop(self.fc2(F.gelu(self.fc1(x)))))


class BERT(nn.Module):
    """facts["dropped"]: the part of the activations that a step leaves out."""

    def __init__(self, shapes, facts):
        super().__init__()
        rows, channels = shapes["embedding.token"]
        self.embedding = Part(token=nn.Embedding(rows, channels), segment=nn.Embedding(2, channels),
                              ln=nn.LayerNorm(channels), drop=nn.Dropout(facts["dropped"]),
                              position=nn.Parameter(torch.empty(shapes["embedding.position"])))
        self.depth = count(shapes, "block")
        for k in range(self.depth):
            setattr(self, f"block{k}", BertBlock(channels, facts["heads"], facts["dropped"]))
        self.head = Part(fc=nn.Linear(channels, channels), ln=nn.LayerNorm(channels), b=nn.Parameter(torch.empty(rows)))

    def forward(self, ids, segments, labels):
        e = self.embedding
        x = e.drop(e.ln(e.token(ids) + e.segment(segments) + e.position[:ids.shape[1]]))
        for k in range(self.depth):
            x = getattr(self, f"block{k}")(x)
        logits = F.linear(self.head.ln(F.gelu(self.head.fc(x))), e.token.weight, self.head.b)
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten())


class LlamaBlock(nn.Module):
    def __init__(self, shapes, name, heads):
        super().__init__()
        self.heads = heads
        channels, shared = shapes[name + ".attn.k.w"]
        self.groups = shared * heads // channels
        hidden = shapes[name + ".mlp.gate.w"][1]
        linear = lambda c, d: nn.Linear(c, d, bias=False)
        self.ln1, self.ln2 = nn.RMSNorm(channels, 1e-5), nn.RMSNorm(channels, 1e-5)
        self.attn = Part(q=linear(channels, channels), k=linear(channels, shared), v=linear(channels, shared),
                         out=linear(channels, channels))
        self.mlp = Part(gate=linear(channels, hidden), up=linear(channels, hidden), down=linear(hidden, channels))

    @staticmethod
    def rotate(x, cosine, sine):
        a, b = x.chunk(2, -1)
        return torch.cat([a * cosine - b * sine, b * cosine + a * sine], -1)

    def attention(self, x, rotary):
        n, t, c = x.shape
        split = lambda y, h: y.view(n, t, h, c // self.heads).transpose(1, 2)
        q, k = self.rotate(split(self.attn.q(x), self.heads), *rotary), self.rotate(split(self.attn.k(x), self.groups), *rotary)
        v = split(self.attn.v(x), self.groups)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=self.groups != self.heads)
        return self.attn.out(y.transpose(1, 2).reshape(n, t, c))

    def forward(self, x, rotary):
        x = x + self.attention(self.ln1(x), rotary)
        y = self.ln2(x)
        return x + self.mlp.down(F.silu(self.mlp.gate(y)) * self.mlp.up(y))


class Llama(nn.Module):
    """With the head tied to the embedding; facts["context"]: the longest sequence."""

    def __init__(self, shapes, facts):
        super().__init__()
        rows, channels = shapes["embedding.token"]
        half = channels // facts["heads"] // 2
        self.embedding = Part(token=nn.Embedding(rows, channels))
        self.depth = count(shapes, "block")
        for k in range(self.depth):
            setattr(self, f"block{k}", LlamaBlock(shapes, f"block{k}", facts["heads"]))
        self.head = Part(ln=nn.RMSNorm(channels, 1e-5))
        angle = torch.outer(torch.arange(facts["context"]), 1e4 ** (-torch.arange(half) / half))
        self.register_buffer("cosine", angle.cos(), persistent=False)
        self.register_buffer("sine", angle.sin(), persistent=False)

    def forward(self, ids, labels):
        t = ids.shape[1]
        x, rotary = self.embedding.token(ids), (self.cosine[:t], self.sine[:t])
        for k in range(self.depth):
            x = getattr(self, f"block{k}")(x, rotary)
        logits = F.linear(self.head.ln(x), self.embedding.token.weight)
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten())
