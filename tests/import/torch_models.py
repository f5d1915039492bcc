# SPDX-License-Identifier: GPL-3.0-or-later
"""Small models of well-known architectures in PyTorch, whose exports train_torch_models.py imports.

Each function of MODELS returns a Model: a module with random weights, its inputs and its loss, as gradcut's expression
and as PyTorch's function.  Sizes are a few channels; the structure is that of the original.
"""

import math
from dataclasses import dataclass
from typing import Callable

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Model:
    module: nn.Module
    inputs: dict  # of the module, in the order of forward
    targets: dict  # inputs of the loss
    loss: str  # over y, what the module returns
    torch_loss: Callable
    dynamic: dict  # input: {axis: symbol}
    has_tables: bool = False  # exports have float constants with axes that gradcut takes for parameters
    folds: bool = True  # the exporter of torch.export programs may fold, else it writes torch.split as a sequence


def images(module, size, classes=5, n=4):
    """Classification of images of 3 channels."""
    return Model(module, {"x": torch.randn(n, 3, size, size)}, {"t": torch.randint(classes, (n,))},
                 "cross_entropy(y, t: i64[N])", F.cross_entropy, {"x": {0: "N"}})


def segments(module, size, classes=3, n=3):
    """A class for each pixel."""
    return Model(module, {"x": torch.randn(n, 3, size, size)}, {"t": torch.randint(classes, (n, size, size))},
                 f"cross_entropy(transpose(y, perm=[0, 2, 3, 1]), t: i64[N, {size}, {size}])", F.cross_entropy,
                 {"x": {0: "N"}})


def tokens(module, inputs, count, n=3, length=7, **how):
    """A class for each token; the sequences of `inputs` that are longer have a length S of their own."""
    def loss(y, t):
        return F.cross_entropy(y.flatten(0, 1), t.flatten())

    return Model(module, inputs, {"t": ids(n, length, count)}, "cross_entropy(y, t: i64[N, T])", loss,
                 {name: {0: "N", 1: "T" if x.shape[1] == length else "S"} for name, x in inputs.items()}, **how)


def ids(n=3, length=7, count=11):
    return torch.randint(count, (n, length))


# ---- convolutional networks ----


class ConvNorm(nn.Sequential):
    def __init__(self, c, d, k=3, stride=1, groups=1, act=None):
        super().__init__(nn.Conv2d(c, d, k, stride, k // 2, groups=groups, bias=False), nn.BatchNorm2d(d))
        if act:
            self.append(act)


class Bottleneck(nn.Module):
    def __init__(self, c, width, stride):
        super().__init__()
        self.conv1 = ConvNorm(c, width, 1, act=nn.ReLU(inplace=True))
        self.conv2 = ConvNorm(width, width, 3, stride, act=nn.ReLU(inplace=True))
        self.conv3 = ConvNorm(width, 4 * width, 1)
        self.shortcut = ConvNorm(c, 4 * width, 1, stride) if stride != 1 or c != 4 * width else nn.Identity()

    def forward(self, x):
        return F.relu(self.conv3(self.conv2(self.conv1(x))) + self.shortcut(x))


class ResNet(nn.Module):
    """He et al., 2016: ResNet-50 has blocks (3, 4, 6, 3) and width 64."""

    def __init__(self, blocks=(2, 2, 2, 2), width=4, classes=5):
        super().__init__()
        self.stem = ConvNorm(3, width, 7, 2, act=nn.ReLU(inplace=True))
        self.pool = nn.MaxPool2d(3, 2, 1)
        layers, c = [], width
        for stage, n in enumerate(blocks):
            for k in range(n):
                layers.append(Bottleneck(c, width << stage, 2 if stage and not k else 1))
                c = 4 * width << stage
        self.layers = nn.Sequential(*layers)
        self.fc = nn.Linear(c, classes)

    def forward(self, x):
        x = F.adaptive_avg_pool2d(self.layers(self.pool(self.stem(x))), 1)
        return self.fc(torch.flatten(x, 1))


class InvertedResidual(nn.Module):
    def __init__(self, c, d, stride, expand):
        super().__init__()
        wide = c * expand
        self.adds = stride == 1 and c == d
        self.conv = nn.Sequential(
            *([ConvNorm(c, wide, 1, act=nn.ReLU6(inplace=True))] if expand != 1 else []),
            ConvNorm(wide, wide, 3, stride, groups=wide, act=nn.ReLU6(inplace=True)), ConvNorm(wide, d, 1))

    def forward(self, x):
        return x + self.conv(x) if self.adds else self.conv(x)


class MobileNetV2(nn.Module):
    """Sandler et al., 2018: stem 32, head 1280 and seven kinds of blocks (expand, channels, blocks, stride)."""

    def __init__(self, blocks=((1, 4, 1, 1), (3, 6, 2, 2), (3, 8, 2, 1), (2, 10, 2, 2)), stem=8, head=24, classes=5):
        super().__init__()
        layers, c = [ConvNorm(3, stem, 3, 2, act=nn.ReLU6(inplace=True))], stem
        for expand, d, n, stride in blocks:
            for k in range(n):
                layers.append(InvertedResidual(c, d, stride if k == 0 else 1, expand))
                c = d
        layers.append(ConvNorm(c, head, 1, act=nn.ReLU6(inplace=True)))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Dropout(0.0), nn.Linear(head, classes))

    def forward(self, x):
        return self.classifier(self.features(x).mean([2, 3]))


class DenseLayer(nn.Module):
    def __init__(self, c, growth):
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(c), nn.Conv2d(c, 4 * growth, 1, bias=False)
        self.norm2, self.conv2 = nn.BatchNorm2d(4 * growth), nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

    def forward(self, parts):
        x = self.conv1(F.relu(self.norm1(torch.cat(parts, 1))))
        return self.conv2(F.relu(self.norm2(x)))


class DenseNet(nn.Module):
    """Huang et al., 2017: DenseNet-121 has blocks (6, 12, 24, 16) and growth 32."""

    def __init__(self, blocks=(2, 3, 3, 2), growth=4, classes=5):
        super().__init__()
        c = 2 * growth
        self.stem = nn.Sequential(nn.Conv2d(3, c, 7, 2, 3, bias=False), nn.BatchNorm2d(c), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        self.blocks, self.transitions = nn.ModuleList(), nn.ModuleList()
        for k, n in enumerate(blocks):
            self.blocks.append(nn.ModuleList(DenseLayer(c + i * growth, growth) for i in range(n)))
            c += n * growth
            if k + 1 < len(blocks):
                self.transitions.append(nn.Sequential(nn.BatchNorm2d(c), nn.ReLU(), nn.Conv2d(c, c // 2, 1, bias=False),
                                                      nn.AvgPool2d(2, 2)))
                c //= 2
        self.norm, self.fc = nn.BatchNorm2d(c), nn.Linear(c, classes)

    def forward(self, x):
        x = self.stem(x)
        for k, block in enumerate(self.blocks):
            parts = [x]
            for layer in block:
                parts.append(layer(parts))
            x = torch.cat(parts, 1)
            if k < len(self.transitions):
                x = self.transitions[k](x)
        x = F.adaptive_avg_pool2d(F.relu(self.norm(x)), (1, 1))
        return self.fc(torch.flatten(x, 1))


class ChannelNorm(nn.LayerNorm):
    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class ConvNeXtBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.block = nn.Sequential(nn.Conv2d(c, c, 7, padding=3, groups=c), ChannelNorm(c, eps=1e-6), nn.Conv2d(c, 4 * c, 1),
                                   nn.GELU(), nn.Conv2d(4 * c, c, 1))
        self.scale = nn.Parameter(torch.full((c, 1, 1), 0.5))

    def forward(self, x):
        return x + self.scale * self.block(x)


class ConvNeXt(nn.Module):
    """Liu et al., 2022: ConvNeXt-T has blocks (3, 3, 9, 3) and widths 96, 192, 384, 768."""

    def __init__(self, blocks=(1, 1, 2, 1), widths=(6, 8, 10, 12), classes=5):
        super().__init__()
        layers, c = [nn.Conv2d(3, widths[0], 4, 4), ChannelNorm(widths[0], eps=1e-6)], widths[0]
        for n, d in zip(blocks, widths):
            if d != c:
                layers += [ChannelNorm(c, eps=1e-6), nn.Conv2d(c, d, 2, 2)]
            layers += [ConvNeXtBlock(d) for _ in range(n)]
            c = d
        self.features = nn.Sequential(*layers)
        self.norm, self.fc = nn.LayerNorm(c, eps=1e-6), nn.Linear(c, classes)

    def forward(self, x):
        return self.fc(self.norm(self.features(x).mean([-2, -1])))


class UNet(nn.Module):
    """Ronneberger et al., 2015, with one of three ways up."""

    def __init__(self, way, width=4, classes=3):
        super().__init__()
        self.way = way
        self.down = nn.ModuleList([self.twice(3, width), self.twice(width, 2 * width), self.twice(2 * width, 4 * width)])
        self.up = nn.ModuleList([self.twice(6 * width, 2 * width), self.twice(3 * width, width)])
        if way == "transposed":
            self.up = nn.ModuleList([self.twice(4 * width, 2 * width), self.twice(2 * width, width)])
            self.larger = nn.ModuleList([nn.ConvTranspose2d(4 * width, 2 * width, 2, 2),
                                         nn.ConvTranspose2d(2 * width, width, 2, 2)])
        self.head = nn.Conv2d(width, classes, 1)

    @staticmethod
    def twice(c, d):
        return nn.Sequential(nn.Conv2d(c, d, 3, padding=1), nn.ReLU(), nn.Conv2d(d, d, 3, padding=1), nn.ReLU())

    def enlarge(self, x, k):
        if self.way == "transposed":
            return self.larger[k](x)
        if self.way == "nearest":
            return F.interpolate(x, scale_factor=2.0, mode="nearest")
        return F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=self.way == "corners")

    def forward(self, x):
        bridges = []
        for k, block in enumerate(self.down):
            x = block(F.max_pool2d(x, 2) if k else x)
            bridges.append(x)
        for k, block in enumerate(self.up):
            x = block(torch.cat([bridges[1 - k], self.enlarge(x, k)], dim=1))
        return self.head(x)


# ---- transformers ----


class ViT(nn.Module):
    """Dosovitskiy et al., 2021: ViT-B/16 has 12 layers of width 768."""

    def __init__(self, layers=2, width=12, heads=3, patch=4, size=8, classes=5):
        super().__init__()
        self.patch = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.randn(1, 1, width))
        self.position = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, width))
        self.layers = nn.ModuleList()
        for _ in range(layers):
            layer = nn.Module()
            layer.norm1, layer.norm2 = nn.LayerNorm(width, eps=1e-6), nn.LayerNorm(width, eps=1e-6)
            layer.attention = nn.MultiheadAttention(width, heads, batch_first=True)
            layer.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
            self.layers.append(layer)
        self.norm, self.head = nn.LayerNorm(width, eps=1e-6), nn.Linear(width, classes)

    def forward(self, x):
        x = self.patch(x)
        x = x.reshape(x.shape[0], x.shape[1], -1).permute(0, 2, 1)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1) + self.position
        for layer in self.layers:
            h = layer.norm1(x)
            x = x + layer.attention(h, h, h, need_weights=False)[0]
            x = x + layer.mlp(layer.norm2(x))
        return self.head(self.norm(x)[:, 0])


class Heads(nn.Module):
    """Attention with one projection each; `bias` is added to the scores."""

    def __init__(self, width, heads, inner=None, bias=True, scale=True):
        super().__init__()
        self.heads, inner = heads, inner or width
        self.scale = (inner // heads) ** -0.5 if scale else 1.0
        self.q, self.k, self.v = (nn.Linear(width, inner, bias=bias) for _ in range(3))
        self.o = nn.Linear(inner, width, bias=bias)

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.heads, -1).transpose(1, 2)

    def forward(self, x, memory, bias):
        q, k, v = self.split(self.q(x)), self.split(self.k(memory)), self.split(self.v(memory))
        scores = torch.matmul(q, k.transpose(-1, -2)) * self.scale + bias
        y = torch.matmul(torch.softmax(scores, dim=-1), v).transpose(1, 2).contiguous()
        return self.o(y.view(y.size(0), y.size(1), -1))


class Bert(nn.Module):
    """Devlin et al., 2019, with the head for masked tokens, which shares its matrix with the embedding."""

    def __init__(self, count=11, width=12, heads=3, layers=2, length=9):
        super().__init__()
        self.token, self.place, self.segment = nn.Embedding(count, width), nn.Embedding(length, width), nn.Embedding(2, width)
        self.norm, self.drop = nn.LayerNorm(width, eps=1e-12), nn.Dropout(0.0)
        self.register_buffer("places", torch.arange(length).expand(1, -1))
        self.layers = nn.ModuleList()
        for _ in range(layers):
            layer = nn.Module()
            layer.attention, layer.norm1 = Heads(width, heads), nn.LayerNorm(width, eps=1e-12)
            layer.fc1, layer.fc2 = nn.Linear(width, 3 * width), nn.Linear(3 * width, width)
            layer.norm2 = nn.LayerNorm(width, eps=1e-12)
            self.layers.append(layer)
        self.dense, self.head_norm = nn.Linear(width, width), nn.LayerNorm(width, eps=1e-12)
        self.decoder = nn.Linear(width, count)
        self.decoder.weight = self.token.weight

    def forward(self, ids, segments, mask):
        x = self.token(ids) + self.segment(segments) + self.place(self.places[:, : ids.size(1)])
        x = self.drop(self.norm(x))
        bias = (1.0 - mask[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        for layer in self.layers:
            x = layer.norm1(x + layer.attention(x, x, bias))
            x = layer.norm2(x + layer.fc2(F.gelu(layer.fc1(x))))
        return self.decoder(self.head_norm(F.gelu(self.dense(x))))


def bert(module, n=3, length=7):
    mask = torch.ones(n, length, dtype=torch.int64)
    mask[0, 4:] = 0
    return tokens(module, {"ids": ids(), "segments": ids(count=2), "mask": mask}, 11)


class Conv1D(nn.Module):
    """A linear layer whose weight is [in, out]."""

    def __init__(self, c, d):
        super().__init__()
        self.weight, self.bias, self.d = nn.Parameter(0.3 * torch.randn(c, d)), nn.Parameter(torch.zeros(d)), d

    def forward(self, x):
        return torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight).view(x.size()[:-1] + (self.d,))


class GPT2(nn.Module):
    """Radford et al., 2019: fused projections, a buffer of the causal mask, tanh form of GELU, tied head."""

    def __init__(self, count=11, width=12, heads=3, layers=2, length=16):
        super().__init__()
        self.heads = heads
        self.wte, self.wpe = nn.Embedding(count, width), nn.Embedding(length, width)
        self.register_buffer("bias", torch.tril(torch.ones(length, length, dtype=torch.bool)).view(1, 1, length, length))
        self.h = nn.ModuleList()
        for _ in range(layers):
            layer = nn.Module()
            layer.ln_1, layer.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
            layer.c_attn, layer.c_proj = Conv1D(width, 3 * width), Conv1D(width, width)
            layer.fc, layer.proj = Conv1D(width, 4 * width), Conv1D(4 * width, width)
            self.h.append(layer)
        self.ln_f = nn.LayerNorm(width)

    def attention(self, layer, x):
        n, t, c = x.size()
        q, k, v = layer.c_attn(x).split(c, dim=2)
        q, k, v = (z.view(n, t, self.heads, c // self.heads).permute(0, 2, 1, 3) for z in (q, k, v))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(c // self.heads)
        least = torch.full([], torch.finfo(scores.dtype).min, dtype=scores.dtype)
        scores = torch.where(self.bias[:, :, :t, :t], scores, least)
        y = torch.matmul(F.softmax(scores, dim=-1), v).permute(0, 2, 1, 3).contiguous()
        return layer.c_proj(y.view(n, t, c))

    def forward(self, ids):
        places = torch.arange(0, ids.size(-1), dtype=torch.long).unsqueeze(0)
        x = self.wte(ids) + self.wpe(places)
        for layer in self.h:
            x = x + self.attention(layer, layer.ln_1(x))
            h = layer.fc(layer.ln_2(x))
            h = 0.5 * h * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (h + 0.044715 * torch.pow(h, 3.0))))
            x = x + layer.proj(h)
        return F.linear(self.ln_f(x), self.wte.weight)


class RMSNorm(nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), eps

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps))


class Llama(nn.Module):
    """Touvron et al., 2023: rotary embedding, grouped queries, SwiGLU."""

    def __init__(self, count=11, width=16, heads=4, groups=2, layers=1):
        super().__init__()
        self.heads, self.groups, self.d = heads, groups, width // heads
        self.embed = nn.Embedding(count, width)
        self.register_buffer("inv_freq", 10000.0 ** (-torch.arange(0, self.d, 2).float() / self.d))
        self.layers = nn.ModuleList()
        for _ in range(layers):
            layer = nn.Module()
            layer.norm1, layer.norm2 = RMSNorm(width), RMSNorm(width)
            layer.q, layer.o = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
            layer.k, layer.v = (nn.Linear(width, groups * self.d, bias=False) for _ in "kv")
            layer.gate, layer.up = (nn.Linear(width, 2 * width, bias=False) for _ in "gu")
            layer.down = nn.Linear(2 * width, width, bias=False)
            self.layers.append(layer)
        self.norm, self.head = RMSNorm(width), nn.Linear(width, count, bias=False)

    @staticmethod
    def rotate(x, cos, sin):
        half = x.shape[-1] // 2
        turned = torch.cat([-x[..., half:], x[..., :half]], dim=-1)
        return x * cos + turned * sin

    def repeat(self, x):
        n, g, t, d = x.shape
        x = x[:, :, None, :, :].expand(n, g, self.heads // g, t, d)
        return x.reshape(n, self.heads, t, d)

    def forward(self, ids):
        n, t = ids.shape
        x = self.embed(ids)
        places = torch.arange(t)[None, :, None].float()
        angles = places * self.inv_freq[None, None, :].float()
        angles = torch.cat([angles, angles], dim=-1)[:, None]
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        for layer in self.layers:
            h = layer.norm1(x)
            q = self.rotate(layer.q(h).view(n, t, self.heads, self.d).transpose(1, 2), cos, sin)
            k = self.rotate(layer.k(h).view(n, t, self.groups, self.d).transpose(1, 2), cos, sin)
            v = layer.v(h).view(n, t, self.groups, self.d).transpose(1, 2)
            y = F.scaled_dot_product_attention(q, self.repeat(k), self.repeat(v), is_causal=True)
            x = x + layer.o(y.transpose(1, 2).reshape(n, t, -1))
            h = layer.norm2(x)
            x = x + layer.down(F.silu(layer.gate(h)) * layer.up(h))
        return self.head(self.norm(x))


class T5(nn.Module):
    """Raffel et al., 2020: biases of relative positions in buckets, no scaling, an encoder and a decoder."""

    def __init__(self, count=11, width=12, heads=2, size=8, hidden=20, layers=2, buckets=8, farthest=12):
        super().__init__()
        self.buckets, self.farthest, self.width = buckets, farthest, width
        self.shared = nn.Embedding(count, width)
        self.bias = nn.ModuleList([nn.Embedding(buckets, heads), nn.Embedding(buckets, heads)])
        self.encoder, self.decoder = nn.ModuleList(), nn.ModuleList()
        for stack in (self.encoder, self.decoder):
            for _ in range(layers):
                layer = nn.Module()
                layer.norm1, layer.own = RMSNorm(width), Heads(width, heads, size, bias=False, scale=False)
                if stack is self.decoder:
                    layer.norm2, layer.cross = RMSNorm(width), Heads(width, heads, size, bias=False, scale=False)
                layer.norm3 = RMSNorm(width)
                layer.wi, layer.wo = nn.Linear(width, hidden, bias=False), nn.Linear(hidden, width, bias=False)
                stack.append(layer)
        self.norms = nn.ModuleList([RMSNorm(width), RMSNorm(width)])

    def relative(self, table, t, both):
        place = torch.arange(t, dtype=torch.long)
        distance = place[None, :] - place[:, None]
        buckets, first = self.buckets, 0
        if both:
            buckets //= 2
            first = (distance > 0).to(torch.long) * buckets
            distance = torch.abs(distance)
        else:
            distance = -torch.min(distance, torch.zeros_like(distance))
        exact = buckets // 2
        far = torch.log(distance.float() / exact) / math.log(self.farthest / exact) * (buckets - exact)
        far = exact + far.to(torch.long)
        far = torch.min(far, torch.full_like(far, buckets - 1))
        bucket = first + torch.where(distance < exact, distance, far)
        return table(bucket).permute([2, 0, 1]).unsqueeze(0)

    def forward(self, ids, mask, targets):
        x, y = self.shared(ids), self.shared(targets)
        least = torch.finfo(x.dtype).min
        padding = (1.0 - mask[:, None, None, :].to(x.dtype)) * least
        own = self.relative(self.bias[0], ids.size(1), True) + padding
        for layer in self.encoder:
            h = layer.norm1(x)
            x = x + layer.own(h, h, own)
            x = x + layer.wo(F.relu(layer.wi(layer.norm3(x))))
        x = self.norms[0](x)
        t = targets.size(1)
        later = torch.triu(torch.ones(t, t, dtype=x.dtype), diagonal=1) * least
        own = self.relative(self.bias[1], t, False) + later
        for layer in self.decoder:
            h = layer.norm1(y)
            y = y + layer.own(h, h, own)
            y = y + layer.cross(layer.norm2(y), x, padding)
            y = y + layer.wo(F.relu(layer.wi(layer.norm3(y))))
        return F.linear(self.norms[1](y) * self.width**-0.5, self.shared.weight)


def t5(n=3, length=9):
    mask = torch.ones(n, length, dtype=torch.int64)
    mask[1, 6:] = 0
    return tokens(T5(), {"ids": ids(n, length), "mask": mask, "targets": ids()}, 11)


# ---- recurrent networks ----


class Recurrent(nn.Module):
    def __init__(self, kind, layers, both, count=11, width=6):
        super().__init__()
        self.embed = nn.Embedding(count, 5)
        self.layers = kind(5, width, layers, bidirectional=both, batch_first=True)
        self.head = nn.Linear(width * (2 if both else 1), count)

    def forward(self, ids):
        return self.head(self.layers(self.embed(ids))[0])


MODELS = {
    "resnet50": lambda: images(ResNet(), 64),
    "mobilenet_v2": lambda: images(MobileNetV2(), 32),
    "densenet121": lambda: images(DenseNet(), 64),
    "convnext_t": lambda: images(ConvNeXt(), 32),
    "unet_nearest": lambda: segments(UNet("nearest"), 8),
    "unet_bilinear": lambda: segments(UNet("bilinear"), 8),
    "unet_corners": lambda: segments(UNet("corners"), 8),
    "unet_transposed": lambda: segments(UNet("transposed"), 8),
    "vit_b16": lambda: images(ViT(), 8),
    "bert_base": lambda: bert(Bert()),
    "gpt2": lambda: tokens(GPT2(), {"ids": ids()}, 11, folds=False),
    "llama": lambda: tokens(Llama(), {"ids": ids()}, 11, has_tables=True),
    "t5_small": t5,
    "lstm": lambda: tokens(Recurrent(nn.LSTM, 2, False), {"ids": ids()}, 11),
    "gru": lambda: tokens(Recurrent(nn.GRU, 1, True), {"ids": ids()}, 11),
}


# Those of tests/onnx.
SMALL = {
    "resnet": lambda: images(ResNet((1, 1), 3), 12, n=3),
    "bert": lambda: bert(Bert(width=8, heads=2, layers=1)),
    "llama": lambda: tokens(Llama(width=8, heads=4), {"ids": ids()}, 11),
    "vit": lambda: images(ViT(1, 8, 2), 8, n=3),
}


def make(name, models=MODELS):
    """The model of that name; no two of its parameters are equal."""
    torch.manual_seed(1)
    m = models[name]()
    with torch.no_grad():
        for p in m.module.parameters():
            p += 0.1 * torch.randn_like(p)
        for key, b in m.module.named_buffers():
            if key.endswith(("running_mean", "running_var")):
                b += 0.2 * torch.rand_like(b)
    return m
