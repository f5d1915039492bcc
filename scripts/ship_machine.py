#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""ship_machine.py [--memory READ,WRITE] MODEL.json… > machine/machine_shipped.c

The machine model that is shipped, from what `gradcut calibrate -o` wrote on one machine.  Several runs may be given:
one that fell into slow minutes does not count, so the least of each figure is taken.  --memory sets what one
thread gets of the memory, in GB/s, instead: on a machine that is shared with strangers it differs by a factor of two
from hour to hour, and a plan should not count on a good one."""
import argparse
import json
import sys

SETTINGS = "format", "made", "default_threads", "threads", "bytes", "lo", "hi", "k"


def differ(at, a, b):
    sys.exit(f"ship_machine.py: runs of different machines or versions: {at} is {a} in one run and {b} in another")


def least(a, b, at="model"):
    """The least of each figure of two runs, which must have measured the same things."""
    if isinstance(a, dict):
        if a.keys() != b.keys():
            differ(f"what {at} has alone", sorted(a.keys() - b.keys()), sorted(b.keys() - a.keys()))
        for key in a.keys() & set(SETTINGS):
            if a[key] != b[key]:
                differ(f"{at}.{key}", a[key], b[key])
        return {k: a[k] if k in SETTINGS else least(a[k], b[k], f"{at}.{k}") for k in a}
    if isinstance(a, list):
        if len(a) != len(b):
            differ(f"the length of {at}", len(a), len(b))
        return [least(x, y, f"{at}[{i}]") for i, (x, y) in enumerate(zip(a, b, strict=True))]
    return min(a, b)


def c(x):
    if isinstance(x, list):
        return "{" + ", ".join(map(c, x)) + "}"
    return f"{x:.4g}"


def upwards(x):
    """Four digits, not less than x."""
    text = f"{x:.4g}"
    return text if float(text) >= x else f"{x * 1.0005:.4g}"


def grow(rates, axes):
    """Rounds them; the times of larger products are no less than those of smaller ones."""
    for l in range(len(rates)):
        for h in range(len(rates[l])):
            for k in range(len(rates[l][h])):
                i = (l, h, k)
                for axis in range(3):
                    j = tuple(i[d] - (d == axis) for d in range(3))
                    if j[axis] < 0:
                        continue
                    floor = rates[j[0]][j[1]][j[2]] * axes[axis][j[axis]] / axes[axis][i[axis]]
                    rates[l][h][k] = max(rates[l][h][k], floor)
                rates[l][h][k] = float(upwards(rates[l][h][k]))


def section(s, out, memory):
    m, gemm = s["memory"], s["gemm"]
    for way, rate in zip(("read", "write"), memory):
        m["dram"][f"{way}_ns_per_byte"] = 1 / (rate * s["threads"])
    grow(gemm["ns_per_flop"], [gemm["lo"], gemm["hi"], gemm["k"]])
    out.append("    {")
    out.append(f"        .threads = {s['threads']},")
    out.append(f"        .kernel_ns = {c(s['kernel_ns'])},")
    out.append(f"        .call_ns = {c(s['call_ns'])},")
    out.append("        .level_bytes = {%d, %d}," % (m["l2"]["bytes"], m["l3"]["bytes"]))
    for what in "read_ns_per_byte", "write_ns_per_byte":
        out.append(f"        .{what} = {c([m[l][what] for l in ('l2', 'l3', 'dram')])},")
    out.append("        .gemm_ns_per_flop =")
    rows = [",\n              ".join(c(row) for row in plane) for plane in gemm["ns_per_flop"]]
    out.append("            {{" + "},\n             {".join(rows) + "}},")
    windows = "point", "plain", "tiled", "narrow", "single", "strided", "patches", "depthwise"
    ways = [c([s[way][w] for w in windows]) for way in ("conv_y", "conv_x", "conv_w")]
    out.append("        .conv_ns_per_flop = {" + ",\n                             ".join(ways) + "},")
    out.append(f"        .attention_ns_per_flop = {c([s['attention'], s['attention_grad']])},")
    out.append(f"        .f64_factor = {c(s['f64_factor'])},")
    out.append("        .op_ns =\n            {")
    for name, ns in s["ops"].items():
        out.append(f"                [GCUT_OP_{name}] = {c(ns)},")
    out.append("            },")
    out.append(f"        .op_scale = {c(s['op_scale'])},")
    out.append("    },")


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--memory", default="", help="GB/s of one thread: READ,WRITE")
    args.add_argument("models", nargs="+")
    args = args.parse_args()
    memory = [float(x) for x in args.memory.split(",") if x]
    model = None
    for path in args.models:
        with open(path, encoding="utf-8") as f:
            new = json.load(f)
        if "note" in new:
            sys.exit(f"ship_machine.py: {path}: {new['note']}")
        new.pop("spread", None)
        model = least(model, new) if model else new
    given = f"; memory: {args.memory} GB/s a thread, given" if memory else ""
    out = [f"""/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The machine model that is shipped.  Written by scripts/ship_machine.py from what `gradcut calibrate`
 * measured{given}.
 */
#include "machine/machine.h"

static const gcut_machine sections[] = {{"""]
    for s in model["sections"]:
        section(s, out, memory)
    out.append(f"""}};

const gcut_machine_model *gcut_machine_model_shipped(void)
{{
    static const gcut_machine_model model = {{.made = {json.dumps(model["made"])},
                                             .default_threads = {model["default_threads"]},
                                             .n = sizeof sections / sizeof *sections,
                                             .at = sections}};
    return &model;
}}""")
    print("\n".join(out))


main()
