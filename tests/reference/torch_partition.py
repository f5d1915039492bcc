# SPDX-License-Identifier: GPL-3.0-or-later
"""What PyTorch's own partitioner saves for models of ours, under several budgets.

    python tests/reference/torch_partition.py [--show MODEL SIZE [BUDGET]]        (torch 2.13, CPU)

writes torch_partition.json beside this script: for each model and each activation_memory_budget the bytes of
what crosses from the forward to the backward graph, without parameters and inputs; several views of one storage
count once.  Of those at budget 1: `rows`, what is left behind inside of an op that is whole for us, the
logarithm of attention and the maximum and logarithm of a softmax; `copies`, what is saved again in another layout;
`logits`, the largest product.  The joint graph is traced by AOTAutograd with the decompositions and the passes of torch.compile's
own backend; nothing is compiled or run.  The models' weights are empty: only shapes matter.
"""

import json
import pathlib
import sys

import torch
import torch.nn.functional as F
from torch._functorch import config, partitioners
from torch._functorch.aot_autograd import aot_function
from torch._inductor.decomposition import select_decomp_table
from torch._inductor.fx_passes.joint_graph import joint_graph_passes
from torch._inductor.virtualized import V

import models

HERE = pathlib.Path(__file__).parent
BUDGETS = [1, 0.9, 0.75, 0.5, 0.25, 0.1, 0]


class Enough(Exception):
    pass


def saved_of(forward, count):
    """The tensors that `forward` returns after its `count` results, one for each storage."""
    given = {storage(n) for n in forward.graph.nodes if n.op == "placeholder"}
    groups = {}
    for n in next(iter(reversed(forward.graph.nodes))).args[0][count:]:
        if n.op != "placeholder" and storage(n) not in given:
            groups.setdefault(storage(n), {})[n] = n.meta["val"].numel() * n.meta["val"].element_size()
    out = []
    for group in groups.values():
        n = max(group, key=group.get)
        whole = n.meta["val"].untyped_storage().nbytes()
        out.append((min(whole, sum(group.values())), n))
    return out


def is_row(n):
    """What the reductions inside a composite op of ours leave behind: a number for each row."""
    attention = n.args and isinstance(n.args[0], torch.fx.Node) and "_scaled_dot_product" in n.args[0].name
    return str(n.target) in ("aten.amax.default", "aten.log.default") or bool(attention and n.args[1] == 1)


def is_copy(n, saved):
    """It is made of another saved tensor by changes of its layout alone."""
    layout = ("clone", "permute", "view", "expand", "transpose", "unsqueeze", "_unsafe_view", "reshape")
    while n.op == "call_function" and any(str(n.target) == f"aten.{k}.{o}" for k in layout for o in ("default", "int")):
        n = n.args[0]
        if n in saved:
            return True
    return False


def storage(n):
    return n.meta["val"].untyped_storage()._cdata


def partition(fn, params, inputs, budget):
    """[(bytes, node)] of a loss fn(params, inputs)."""
    found = []

    def divide(joint, joint_inputs, *, num_fwd_outputs, **rest):
        with V.set_fake_mode(next(iter(joint.graph.nodes)).meta["val"].fake_mode):
            joint_graph_passes(joint)
        rest["static_lifetime_input_indices"] = list(range(len(params)))
        forward, _ = partitioners.min_cut_rematerialization_partition(
            joint, joint_inputs, compiler="inductor", num_fwd_outputs=num_fwd_outputs, **rest)
        found.append(saved_of(forward, num_fwd_outputs))
        raise Enough

    names, given = list(params), list(inputs)
    loss = lambda *v: fn(dict(zip(names + given, v)))
    stop = lambda g, _: g
    torch._dynamo.reset()
    with config.patch(activation_memory_budget=budget):
        step = aot_function(loss, fw_compiler=stop, bw_compiler=stop, partition_fn=divide,
                            decompositions=select_decomp_table())
        try:
            step(*params.values(), *inputs.values())
        except Enough:
            pass
    return found[0]


# ---- models: (fn, parameters, inputs) ----


def param(*shape):
    return torch.empty(shape, requires_grad=True)


def ids(*shape):
    return torch.zeros(shape, dtype=torch.int64)


def cos_of_cos():
    return lambda m: m["x"].cos().cos().sum(), {"x": param(1000)}, {}


def six():
    def fn(m):
        a = torch.tanh(m["x"] @ m["w"])
        return (a * a).relu().exp().sum()

    return fn, {"w": param(256, 256)}, {"x": torch.empty(1024, 256)}


def chain():
    def fn(m):
        x = m["x"] * m["w"]
        for _ in range(4):
            x = torch.tanh(x).exp()
            x = torch.sigmoid(x) * m["w"]
        return x.sum()

    return fn, {"w": param(64, 64)}, {"x": torch.empty(64, 64)}


def small(name):
    """A model of tests/models/NAME.gcut, from models.py."""

    def make():
        models.SIZES["N"] = 4
        models.normal = lambda key, shape: torch.randn(shape)
        m = models.Model(name)
        params = {k: v.detach().float().requires_grad_() for k, v in m.value.items() if k in m.params}
        rest = {k: v.float() if v.is_floating_point() else v for k, v in m.value.items() if k not in m.params}

        def fn(values):
            m.value, m.next = values, {}
            return (getattr(models, name)(m), *m.next.values())

        return fn, params, rest

    return make


def attention(m, scope, x, heads, causal):
    n, t, c = x.shape
    split = lambda y: y.reshape(n, t, heads, c // heads).transpose(1, 2)
    q, k, v = map(split, F.linear(x, m[f"{scope}.qkv.w"], m[f"{scope}.qkv.b"]).split(c, dim=-1))
    y = F.scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(1, 2).reshape(n, t, c)
    return F.linear(y, m[f"{scope}.out.w"], m[f"{scope}.out.b"])


def feed_forward(m, scope, x, approximate="none"):
    h = F.gelu(F.linear(x, m[f"{scope}.fc.w"], m[f"{scope}.fc.b"]), approximate=approximate)
    return F.linear(h, m[f"{scope}.proj.w"], m[f"{scope}.proj.b"])


def layer_norm(m, scope, x):
    return F.layer_norm(x, x.shape[-1:], m[f"{scope}.g"], m[f"{scope}.b"])


def block_params(p, scope, c):
    for layer, out, inner in ("qkv", 3 * c, c), ("out", c, c), ("fc", 4 * c, c), ("proj", c, 4 * c):
        p[f"{scope}.{layer}.w"], p[f"{scope}.{layer}.b"] = param(out, inner), param(out)
    for layer in "ln1", "ln2":
        p[f"{scope}.{layer}.g"], p[f"{scope}.{layer}.b"] = param(c), param(c)


def loss_of(logits, labels):
    return F.cross_entropy(logits.flatten(0, -2), labels.flatten())


def gpt2(layers, heads, c, vocabulary, context, n, t):
    def make():
        p = {"token": param(vocabulary, c), "position": param(context, c), "ln.g": param(c), "ln.b": param(c)}
        for k in range(layers):
            block_params(p, k, c)

        def fn(m):
            x = F.embedding(m["ids"], m["token"]) + m["position"][:t]
            for k in range(layers):
                x = x + attention(m, k, layer_norm(m, f"{k}.ln1", x), heads, True)
                x = x + feed_forward(m, k, layer_norm(m, f"{k}.ln2", x), "tanh")
            return loss_of(layer_norm(m, "ln", x) @ m["token"].T, m["labels"])

        return fn, p, {"ids": ids(n, t), "labels": ids(n, t)}

    return make


def bert(layers, heads, c, vocabulary, context, n, t):
    def make():
        p = {"token": param(vocabulary, c), "segment": param(2, c), "position": param(context, c),
             "fc.w": param(c, c), "fc.b": param(c), "b": param(vocabulary)}
        for layer in "ln", "head":
            p[f"{layer}.g"], p[f"{layer}.b"] = param(c), param(c)
        for k in range(layers):
            block_params(p, k, c)
        drop = lambda x: F.dropout(x, 0.1)

        def fn(m):
            x = F.embedding(m["ids"], m["token"]) + F.embedding(m["segments"], m["segment"])
            x = drop(layer_norm(m, "ln", x + m["position"][:t]))
            for k in range(layers):
                x = layer_norm(m, f"{k}.ln1", x + drop(attention(m, k, x, heads, False)))
                x = layer_norm(m, f"{k}.ln2", x + drop(feed_forward(m, k, x)))
            x = layer_norm(m, "head", F.gelu(F.linear(x, m["fc.w"], m["fc.b"])))
            return loss_of(x @ m["token"].T + m["b"], m["labels"])

        return fn, p, {"ids": ids(n, t), "segments": ids(n, t), "labels": ids(n, t)}

    return make


def vit(image, patch, c, layers, heads, classes, n):
    def make():
        rows = (image // patch) ** 2
        p = {"patch.w": param(c, 3, patch, patch), "patch.b": param(c), "class": param(1, 1, c),
             "position": param(1 + rows, c), "ln.g": param(c), "ln.b": param(c), "fc.w": param(classes, c),
             "fc.b": param(classes)}
        for k in range(layers):
            block_params(p, k, c)

        def fn(m):
            x = F.conv2d(m["x"], m["patch.w"], m["patch.b"], stride=patch).flatten(2).transpose(1, 2)
            x = torch.cat([m["class"].expand(n, -1, -1), x], dim=1) + m["position"]
            for k in range(layers):
                x = x + attention(m, k, layer_norm(m, f"{k}.ln1", x), heads, False)
                x = x + feed_forward(m, k, layer_norm(m, f"{k}.ln2", x))
            x = layer_norm(m, "ln", x)[:, 0]
            return loss_of(F.linear(x, m["fc.w"], m["fc.b"]), m["labels"])

        return fn, p, {"x": torch.empty(n, 3, image, image), "labels": ids(n)}

    return make


def llama(layers, heads, groups, c, hidden, vocabulary, n, t):
    def make():
        d = c // heads
        p = {"token": param(vocabulary, c), "ln": param(c)}
        for k in range(layers):
            for layer, out, inner in (("q", c, c), ("k", groups * d, c), ("v", groups * d, c), ("out", c, c),
                                      ("gate", hidden, c), ("up", hidden, c), ("down", c, hidden)):
                p[f"{k}.{layer}"] = param(out, inner)
            p[f"{k}.ln1"], p[f"{k}.ln2"] = param(c), param(c)

        def rotate(x, cosine, sine):
            a, b = x[..., : d // 2], x[..., d // 2 :]
            return torch.cat([a * cosine - b * sine, b * cosine + a * sine], dim=-1)

        def fn(m):
            norm = lambda layer, y: F.rms_norm(y, y.shape[-1:], m[layer], eps=1e-5)
            split = lambda y, h: y.reshape(n, t, h, d).transpose(1, 2)
            angle = torch.outer(torch.arange(t, dtype=torch.float32), 1e4 ** (-torch.arange(0, d, 2) / d))
            turn = angle.cos(), angle.sin()
            x = F.embedding(m["ids"], m["token"])
            for k in range(layers):
                h = norm(f"{k}.ln1", x)
                q, key, v = (split(F.linear(h, m[f"{k}.{s}"]), heads if s == "q" else groups) for s in "qkv")
                y = F.scaled_dot_product_attention(rotate(q, *turn), rotate(key, *turn), v, is_causal=True,
                                                   enable_gqa=groups != heads)
                x = x + F.linear(y.transpose(1, 2).reshape(n, t, c), m[f"{k}.out"])
                h = norm(f"{k}.ln2", x)
                x = x + F.linear(F.silu(F.linear(h, m[f"{k}.gate"])) * F.linear(h, m[f"{k}.up"]), m[f"{k}.down"])
            return loss_of(norm("ln", x) @ m["token"].T, m["labels"])

        return fn, p, {"ids": ids(n, t), "labels": ids(n, t)}

    return make


# What each case is called here and in the zoo, and under which budgets it is asked for.
CASES = {
    ("cos_of_cos", "", 1000, 0): (cos_of_cos, BUDGETS),
    ("six", "", 1024, 0): (six, BUDGETS),
    ("chain", "", 64, 0): (chain, BUDGETS),
    ("mlp", "tiny", 4, 0): (small("mlp"), BUDGETS),
    ("autoencoder", "tiny", 4, 0): (small("autoencoder"), BUDGETS),
    ("lenet", "tiny", 4, 0): (small("lenet"), BUDGETS),
    ("resnet", "tiny", 4, 0): (small("resnet"), BUDGETS),
    ("unet", "tiny", 4, 0): (small("unet"), BUDGETS),
    ("gpt2", "tiny", 4, 16): (gpt2(1, 2, 8, 48, 16, 4, 16), BUDGETS),
    ("bert", "tiny", 4, 16): (bert(1, 2, 8, 48, 16, 4, 16), BUDGETS),
    ("vit", "tiny", 4, 0): (vit(8, 4, 8, 1, 2, 4, 4), BUDGETS),
    ("llama", "tiny", 4, 16): (llama(1, 4, 2, 16, 12, 48, 4, 16), BUDGETS),
    ("gpt2", "tiny", 4096, 16): (gpt2(1, 2, 8, 48, 16, 4096, 16), [1]),
    ("bert", "tiny", 4096, 16): (bert(1, 2, 8, 48, 16, 4096, 16), [1]),
    ("vit", "tiny", 16384, 0): (vit(8, 4, 8, 1, 2, 4, 16384), [1]),
    ("llama", "tiny", 4096, 16): (llama(1, 4, 2, 16, 12, 48, 4096, 16), [1]),
    ("gpt2", "bytes", 16, 64): (gpt2(4, 4, 128, 256, 256, 16, 64), BUDGETS),
    ("bert", "small", 8, 64): (bert(2, 2, 128, 30522, 512, 8, 64), BUDGETS),
    ("vit", "cifar", 16, 0): (vit(32, 4, 128, 6, 4, 10, 16), BUDGETS),
    ("llama", "bytes", 8, 64): (llama(4, 4, 2, 128, 344, 256, 8, 64), BUDGETS),
    ("gpt2", "124M", 1, 64): (gpt2(12, 12, 768, 50257, 1024, 1, 64), [1, 0.5]),
    ("gpt2", "124M", 1, 1024): (gpt2(12, 12, 768, 50257, 1024, 1, 1024), [1]),
    ("bert", "base", 8, 128): (bert(12, 12, 768, 30522, 512, 8, 128), [1]),
    ("vit", "S/16", 8, 0): (vit(224, 16, 384, 12, 6, 1000, 8), [1]),
    ("llama", "15M", 1, 64): (llama(6, 6, 6, 288, 768, 32000, 1, 64), [1]),
    ("llama", "15M", 4, 256): (llama(6, 6, 6, 288, 768, 32000, 4, 256), [1]),
}


def line_of(name, make, budgets):
    fn, params, inputs = make()
    line = dict(zip(("model", "size", "N", "T"), name))
    for b in budgets:
        found = partition(fn, params, inputs, b)
        if b == 1:
            line |= {"rows": sum(size for size, n in found if is_row(n)),
                     "copies": sum(size for size, n in found if is_copy(n, {n for _, n in found})),
                     "logits": max([size for size, n in found if "mm" in str(n.target)], default=0)}
        line.setdefault("saved", {})[f"{b:g}"] = sum(size for size, _ in found)
    return line


def show(found):
    for size, n in found:
        v = n.meta["val"]
        what = "row" if is_row(n) else "copy" if is_copy(n, {n for _, n in found}) else ""
        print(f"{size:>12,}  {str(v.dtype)[6:]}{list(v.shape)}  {n.name} = {n.target} {what}")


if __name__ == "__main__":
    wanted = sys.argv[1:]
    if wanted[:1] == ["--show"]:
        name = next(k for k in CASES if wanted[1:3] == list(k[:2]))
        show(partition(*CASES[name][0](), *map(float, wanted[3:4] or [1])))
        sys.exit()
    path = HERE / "torch_partition.json"
    cases = [line_of(name, *CASES[name]) for name in CASES]
    lines = ",\n".join("  " + json.dumps(c) for c in cases)
    path.write_text(f'{{"torch": "{torch.__version__.split("+")[0]}", "cases": [\n{lines}\n]}}\n')
