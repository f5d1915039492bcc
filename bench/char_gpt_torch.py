#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Repeats a run of examples/char_gpt in PyTorch.

char_gpt --dump-run DIR leaves the initial weights, every batch, every learning rate and every loss in DIR.  This script
starts from the same weights, takes the same steps on the same data, and prints

  * how far the losses are apart (same arithmetic in another order: a few 1e-6 at first, growing with the steps),
  * characters per second: median, and the 10th and 90th percentile of the steps' times.

usage: char_gpt_torch.py DIR [--mode eager|compile] [--threads N] [--warmup K]
"""
import argparse
import math
import os
import statistics
import struct
import sys
import time

import torch
import torch.nn.functional as F


def floats(path):
    with open(path, "rb") as f:
        raw = f.read()
    return struct.unpack(f"{len(raw) // 4}f", raw)


def load(folder):
    """Sizes, weights in char_gpt's order, batches [steps, 2, batch, context], rates, losses."""
    sizes, weights = {}, {}
    data = torch.tensor(floats(os.path.join(folder, "weights.f32")))
    at = 0
    with open(os.path.join(folder, "index.txt")) as f:
        for line in f:
            key, *rest = line.split()
            if key != "weight":
                sizes[key] = int(rest[0])
                continue
            shape = [int(n) for n in rest[1:] if int(n)]
            n = math.prod(shape)
            weights[rest[0]] = data[at:at + n].reshape(shape).clone().requires_grad_()
            at += n
    with open(os.path.join(folder, "batches.i32"), "rb") as f:
        batches = torch.frombuffer(bytearray(f.read()), dtype=torch.int32)
    batches = batches.reshape(-1, 2, sizes["batch"], sizes["context"]).long()
    return sizes, weights, batches, floats(os.path.join(folder, "rates.f32")), floats(os.path.join(folder, "losses.f32"))


def loss_of(w, sizes, ids, labels):
    """examples/char_model.c, line by line."""
    c, heads = sizes["channels"], sizes["heads"]
    batch, context = ids.shape

    def norm(x, name):
        return F.layer_norm(x, (c,), w[name + ".g"], w[name + ".b"], 1e-5)

    def split(x):
        return x.view(batch, context, heads, c // heads).transpose(1, 2)

    x = (w["wte"][ids] + w["wpe"]).view(batch * context, c)
    for layer in range(sizes["layers"]):
        p = f"b{layer}."
        h = norm(x, p + "ln1")
        q, k, v = (split(torch.addmm(w[p + "b" + n], h, w[p + "w" + n])) for n in "qkv")
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = y.transpose(1, 2).reshape(batch * context, c)
        x = x + torch.addmm(w[p + "bo"], y, w[p + "wo"])
        h = F.gelu(torch.addmm(w[p + "b1"], norm(x, p + "ln2"), w[p + "w1"]))
        x = x + torch.addmm(w[p + "b2"], h, w[p + "w2"])
    return F.cross_entropy(norm(x, "lnf") @ w["head"], labels.reshape(-1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--mode", choices=["eager", "compile"], default="eager")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--warmup", type=int, default=5, help="steps that are not timed")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    sizes, weights, batches, rates, theirs = load(args.folder)
    if len(batches) <= args.warmup:
        sys.exit(f"{len(batches)} steps are too few: {args.warmup} are warm-up")
    forward = torch.compile(loss_of, dynamic=False) if args.mode == "compile" else loss_of
    # The options of examples/char_gpt.c; fused is PyTorch's fastest AdamW on a CPU.
    optimizer = torch.optim.AdamW(weights.values(), lr=rates[0], betas=(0.9, 0.99), weight_decay=0.1, fused=True)
    seconds, losses = [], []
    for batch, rate in zip(batches, rates):
        begin = time.perf_counter()
        optimizer.param_groups[0]["lr"] = rate
        optimizer.zero_grad(set_to_none=True)
        loss = forward(weights, sizes, batch[0], batch[1])
        loss.backward()
        optimizer.step()
        seconds.append(time.perf_counter() - begin)
        losses.append(loss.item())
    apart = [abs(a - b) for a, b in zip(losses, theirs)]
    print(f"losses: step 1 {losses[0]:.6f} against {theirs[0]:.6f}; apart by at most {max(apart[:10]):.1e} in the first "
          f"10 steps, {max(apart):.1e} in {len(apart)}")
    timed = sorted(seconds[args.warmup:])
    chars = sizes["batch"] * sizes["context"]
    last = len(timed) - 1
    print(f"throughput: {chars / statistics.median(timed):.0f} chars/s median "
          f"({chars / timed[round(0.9 * last)]:.0f} at the 90th, {chars / timed[round(0.1 * last)]:.0f} at the 10th "
          f"percentile of step times), {1e3 * statistics.median(timed):.2f} ms a step")


if __name__ == "__main__":
    main()
