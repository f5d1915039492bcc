# SPDX-License-Identifier: GPL-3.0-or-later
"""The results of the bench: peers.csv, the table and the plot that are made of it, and every time in
peers-samples.csv."""

import csv
import os
import pathlib
import platform
import tempfile

from cases import CASES
import plot
import rounds

CONTENDERS = ["gradcut", "gradcut again", "floor", "torch eager", "torch.compile", "max-autotune", "JAX"]
RIVALS = CONTENDERS[3:]
FIELDS = ["case", "title", "contender", "median_ms", "lo_ms", "hi_ms", "ratio", "ratio_lo", "ratio_hi", "separable",
          "best_ms", "ours_median_ms", "floor_median_ms", "steps", "rounds", "seed", "rss_bytes", "saved_bytes",
          "compile_s", "loss_gap", "version", "threads", "machine", "note"]
SAMPLES = ["case", "group", "round", "turn", "contender", "ms"]  # ms: of every step, separated by blanks
TEXT = {"case", "title", "contender", "version", "machine", "note"}


def compulsory(about, trains):
    """Bytes that a step cannot but move, and how many different ones they are. With an optimizer parameters and
    moments are read and written; gradients and what is saved are written and read again; inputs are read. Without
    one parameters are read and gradients written."""
    param, state, inputs, saved = (about[k + "_bytes"] for k in ("param", "state", "input", "saved"))
    if trains:
        return 4 * param + 2 * state + 2 * saved + inputs, 2 * param + state + saved + inputs
    return 2 * param + 2 * saved + inputs, 2 * param + saved + inputs


def machine(isa):
    """The processor, and whether steps of this instruction set (native or avx2) had no AVX-512 where others have."""
    listed = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    info = dict(map(str.strip, line.split(":", 1)) for line in listed if ":" in line)
    name = info.get("model name") or platform.processor() or platform.machine()
    narrow = isa == "avx2" or "avx512f" not in info.get("flags", "").split()
    return name + (" without AVX-512" if narrow and platform.machine() == "x86_64" else "")


def merge(folder, case, rows, samples, threads, isa):
    """Replaces the rows and samples of a case, then the table and the plot; each file at once."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = [r for r in read(folder / "peers.csv") if r["case"] != case.name]
    for name in CONTENDERS:
        if name in rows:
            kept.append({"case": case.name, "title": case.title, "contender": name, "threads": threads,
                         "machine": machine(isa), **rows[name]})
    order = {c.name: i for i, c in enumerate(CASES)}
    kept.sort(key=lambda r: (order.get(r["case"], len(order)), r["case"], CONTENDERS.index(r["contender"])))
    listed = [r for r in lines(folder / "peers-samples.csv") if r["case"] != case.name]
    listed += [dict(zip(SAMPLES, (case.name, *s, " ".join(f"{x:.6g}" for x in ms)))) for *s, ms in samples]
    listed.sort(key=lambda r: order.get(r["case"], len(order)))
    replace(folder / "peers-samples.csv", lambda f: write(f, SAMPLES, listed))
    replace(folder / "peers.csv", lambda f: write(f, FIELDS, kept))
    replace(folder / "peers.md", lambda f: f.write(table(kept)))
    replace(folder / "peers.svg", lambda f: f.write(plot.bars(by_case(kept), CONTENDERS)))


def lines(path):
    if not path.exists():
        return []
    with open(path, newline="") as f:
        return list(csv.DictReader(f))


def read(path):
    rows = lines(path)
    for r in rows:
        for k, v in r.items():
            if k not in TEXT:
                r[k] = float(v) if v else None
    return rows


def write(f, fields, rows):
    w = csv.DictWriter(f, fields, lineterminator="\n")
    w.writeheader()
    for r in rows:
        w.writerow({k: "" if r.get(k) is None else f"{r[k]:.7g}" if isinstance(r[k], float) else r[k] for k in fields})


def replace(path, fill):
    handle, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "w", newline="") as f:
        fill(f)
    os.chmod(name, 0o644)
    os.replace(name, path)


def by_case(rows):
    out = {}
    for r in rows:
        out.setdefault(r["case"], {})[r["contender"]] = r
    return out


# ---- the table ----

def median(r):
    return rounds.median_text(r["median_ms"], r.get("lo_ms"), r.get("hi_ms"))


def mib(x):
    return "–" if x is None else f"{x / 2**20:.4g}" if x < 100 * 2**20 else f"{x / 2**20:.0f}"


def ratio(r):
    """Our median over theirs, of the same rounds."""
    return r["ours_median_ms"] / r["median_ms"]


def ratio_text(r):
    return rounds.ratio_text(ratio(r), r.get("ratio_lo"), r.get("ratio_hi")) if timed(r) else "–"


def timed(r):
    return r is not None and r.get("median_ms") is not None


def best_rival(rows):
    """The fastest peer in the rounds that it shared with us: the one that our ratio to is largest."""
    good = [rows[n] for n in RIVALS if timed(rows.get(n))]
    return max(good, key=ratio, default=None)


def verdict(r, limit):
    """Is our time at most that much of theirs? Only where the whole interval is on one side."""
    lo, hi = r.get("ratio_lo"), r.get("ratio_hi")
    return "open" if lo is None or lo <= limit < hi else "met" if hi <= limit else "missed"


def summary_line(rows, case):
    ours, floor = rows["gradcut"], rows["floor"]
    cells = [ours["title"], median(ours), ratio_text(rows.get("gradcut again")), ratio_text(floor)]
    cells += [ratio_text(rows.get(name)) for name in RIVALS]
    reached = {"floor": floor, "peer": best_rival(rows)}
    partly = "" if all(timed(rows.get(n)) for n in RIVALS) else " (not all ran)"
    aims = [f"{what} ≤ {limit}: {verdict(reached[what], limit)}{partly if what == 'peer' else ''}"
            for what, limit in (case.targets if case else {}).items() if reached[what]]
    cells.append("; ".join(aims) or "–")
    return "| " + " | ".join(cells) + " |"


def detail_lines(rows):
    for name in CONTENDERS:
        r = rows.get(name)
        if not r:
            continue
        if not timed(r):
            yield f"| {r['title']} | {name} | – | – | – | – | – | {r['note']} |"
            continue
        gap = r.get("loss_gap")
        cells = [r["title"], name, median(r), mib(r["rss_bytes"]), mib(r.get("saved_bytes")),
                 "–" if r.get("compile_s") is None or name == "torch eager" else f"{r['compile_s']:.1f}",
                 "–" if gap is None else f"{gap:.0e}", r.get("note") or ""]
        yield "| " + " | ".join(cells) + " |"


def table(all_rows):
    cases = {c.name: c for c in CASES}
    groups = by_case(all_rows)
    first = all_rows[0]
    versions = sorted({f"{r['contender'].split()[0].split('.')[0]} {r['version']}" for r in all_rows
                       if r["contender"] in ("torch eager", "JAX") and r.get("version")})
    out = ["# A training step beside its peers", "",
           f"Written by `bench/peers.sh` on {first['machine']}, {int(first['threads'])} threads, float32"
           + (", " + ", ".join(versions) if versions else "") + ". Times are milliseconds of a whole step, forward, "
           "backward and AdamW (20 elementwise ops: gradients alone): medians over rounds of the round's medians, with "
           "intervals of 95 % from resamples of the rounds (doc/measured.md, How steps are compared). Contenders begin "
           "from the same weights and inputs, their losses are compared step by step, and the order of each round is "
           "random. Every time is in `peers-samples.csv`.", "",
           "## gradcut's time over theirs", "",
           "Median over median, with the interval of this ratio: below 1 gradcut is faster, and where the interval "
           "contains 1 the two are not separable. *Again* is gradcut over gradcut, measured twice: noise. The floor is "
           "the sum of all matrix products, each by the fastest of BLIS and our own kernels, and the bytes that must "
           "move over the bandwidth of memory that large. Aims are of the peer that comes closest; they are met or "
           "missed where the whole interval is on one side, else open.", "",
           "| case | gradcut, ms | again | over floor | " + " | ".join(f"over {n}" for n in RIVALS) + " | aim |",
           "|---|---|---|---|" + "---|" * (len(RIVALS) + 1)]
    out += [summary_line(rows, cases.get(name)) for name, rows in groups.items()]
    out += ["", "## Time, memory and compilation", "",
            "Memory is the peak of what is resident while steps run, of the whole process. Saved is what crosses from "
            "the forward to the backward graph beside parameters and inputs; JAX's one function has no such border. "
            "Losses are apart by at most this part of the first one, in the first four steps.", "",
            "| case | contender | ms | resident, MiB | saved, MiB | compiled in, s | losses apart | |",
            "|---|---|---|---|---|---|---|---|"]
    for rows in groups.values():
        out += detail_lines(rows)
    return "\n".join(out) + "\n"
