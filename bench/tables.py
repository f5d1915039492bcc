# SPDX-License-Identifier: GPL-3.0-or-later
"""tables.py [--check] [FILE…]: writes the measured tables of README.md and doc/measured.md again, from what is in
bench/results.  A table stands between `<!-- bench/tables.py NAME -->` and `<!-- end of NAME -->`.

  readme, peers   of peers.csv, by bench/peers.sh
  frontier        of frontier-gpt2-124M.csv and .txt, by bench/frontier_measured.sh
  chars           of chars.txt, by bench/char_gpt.sh
  policies        of baselines.md, by MEASURE=1 bench/baselines.sh

--check: says what would change, and writes nothing.
"""

import csv
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench/results"
sys.path.insert(0, str(ROOT / "bench/peers"))
import report  # noqa: E402
import rounds  # noqa: E402

HOW = "#how-steps-are-compared"
SHOWN = {"gpt2-256": "GPT-2 124M, 4 x 256 tokens", "vit-s16": "ViT-S/16, 8 images of 224 x 224",
         "resnet-18": "ResNet-18 for CIFAR, 32 images", "lstm": "LSTM with 256 units, 32 x 64 tokens",
         "mlp-500": "MLP 784-500-10, 500 images"}  # in the README


def peers():
    return report.by_case(report.read(RESULTS / "peers.csv"))


def measured(rows):
    """How many rounds, and where; of several cases the fewest."""
    r = [x["gradcut"] for x in rows]
    return (f"two cores of an {r[0]['machine']}" if r[0]["threads"] == 2 else
            f"{int(r[0]['threads'])} threads on an {r[0]['machine']}") + f", {int(min(x['rounds'] for x in r))} rounds or more in random order"


def beside(r, ours):
    """A contender's median, and whether it differs from ours."""
    if not report.timed(r):
        return "–"
    return report.median(r) + ("" if r is ours or rounds.separable(r.get("ratio_lo"), r.get("ratio_hi"))
                               else ", not separable")


def readme():
    cases = peers()
    rows = [cases[name] for name in SHOWN if name in cases]
    yield (f"Milliseconds per training step with AdamW, f32, {measured(rows)}: medians with intervals of 95 %, gradcut "
           f"twice to show the noise ([how steps are compared](doc/measured.md{HOW})):")
    yield ""
    yield "| model and batch | gradcut | gradcut again | PyTorch | torch.compile | JAX |"
    yield "|---|---|---|---|---|---|"
    for name, title in SHOWN.items():
        if name in cases:
            x = cases[name]
            others = ("gradcut again", "torch eager", "torch.compile", "JAX")
            yield "| " + " | ".join([title, f"**{report.median(x['gradcut'])}**"]
                                    + [beside(x.get(n), x["gradcut"]) for n in others]) + " |"


def peers_table():
    cases = peers()
    yield (f"`bench/peers.sh` on {measured(list(cases.values()))}: gradcut's median over theirs in the same rounds with the "
           "interval of this ratio, so below 1 gradcut is faster. *Again* is gradcut over itself:")
    yield ""
    yield "| case, with AdamW | gradcut, ms | again | floor | PyTorch eager | torch.compile | max-autotune | JAX |"
    yield "|---|---|---|---|---|---|---|---|"
    for x in cases.values():
        yield "| " + " | ".join([x["gradcut"]["title"], report.median(x["gradcut"])] + [
            report.ratio_text(x.get(n)) for n in report.CONTENDERS[1:]]) + " |"


def frontier():
    """Plans by falling peak, then policies with what a budget of their peak takes."""
    with open(RESULTS / "frontier-gpt2-124M.csv", newline="") as f:
        rows = list(csv.DictReader(f))
    said = (RESULTS / "frontier-gpt2-124M.txt").read_text().splitlines()
    how = re.search(r"^\d+ rounds in random order, seed \d+", "\n".join(said), re.M)
    where = re.search(r" at (.*?): ", said[0])
    yield (f"`bench/frontier_measured.sh` measures what plans cost. GPT-2 124M at {where[1] if where else '–'}, without an "
           f"optimizer, {how[0] if how else '–'}; seconds, medians with intervals of 95 %:")
    yield ""
    yield "| plan | peak, MB | predicted | measured | ours at this peak | predicted | measured | ours over this |"
    yield "|---|---|---|---|---|---|---|---|"
    seconds = lambda r, key: float(r[key]) / 1e9 if r.get(key) else None
    for r in rows:
        median = [seconds(r, "step_ns_" + k) for k in ("median", "lo", "hi")]
        cells = [f"*{r['label']}*" if r["baseline"] == "1" else r["label"], f"{float(r['peak_predicted']) / 1e6:.0f}",
                 f"{seconds(r, 'step_ns_predicted'):.2f}", rounds.median_text(*median)]
        if r.get("ours"):
            ratio = [float(r[k]) if r[k] else None for k in ("ratio", "ratio_lo", "ratio_hi")]
            cells += [r["ours"], f"{seconds(r, 'ours_ns_predicted'):.2f}", rounds.number(seconds(r, "ours_ns_median")),
                      rounds.ratio_text(*ratio)]
        yield "| " + " | ".join(cells + [""] * (8 - len(cells))) + " |"


def chars():
    yield ("Characters per second of the demo's training step (forward, backward, AdamW; f32; same weights, batches and threads; "
           "losses of the first ten steps agree to 1e-5), `bench/char_gpt.sh`; more is faster:")
    yield ""
    yield from (RESULTS / "chars.txt").read_text().splitlines()


POLICIES = {"save-all": "save-all", "torch": "torch", "torch:0.5": "torch:0.5", "sqrt": "sqrt",
            "every-2nd-matmul": "every-2nd-matmul", "recompute-all": "recompute-all",
            "mincut again": "the plan of the cut, twice"}  # in the table; the text counts all but the last


def policies():
    """Of each policy: the measured time of ours over that of it, bold where the interval leaves out 1."""
    page = (RESULTS / "baselines.md").read_text()
    rows = [[c.strip() for c in line.split("|")[1:-1]] for line in page.splitlines() if line.count("|") == 11][2:]
    ratio = {(r[0], r[1]): (float(r[9].split()[0]), "not separable" not in r[9]) for r in rows}
    models = list(dict.fromkeys(r[0] for r in rows))
    said = re.search(r"medians of (\d+) rounds in random order, seed (\d+)", page)
    yield (f"The time of ours over that of the policy: medians of {said[1]} rounds in random order, seed {said[2]}, bold where "
           "the interval of 95 % leaves out 1; below 1 ours is faster:")
    yield ""
    yield "| model | " + " | ".join(POLICIES.values()) + " |"
    yield "|---" * (len(POLICIES) + 1) + "|"
    for m in models:
        yield f"| {m} | " + " | ".join(("**%.2f**" if ratio[m, p][1] else "%.2f") % ratio[m, p][0] for p in POLICIES) + " |"
    told = {k: r for k, (r, separable) in ratio.items() if separable and k[1] != "mincut again"}
    lost = [f"{m} to `{p}` by {100 * (r - 1):.1f} %" for (m, p), r in told.items() if r > 1]
    yield ""
    yield (f"Of {sum(p != 'mincut again' for _, p in ratio)} comparisons {len(told) - len(lost)} are won by more than the noise "
           f"and {len(lost)} lost" + (": " + ", ".join(lost) if lost else "") + ".")


TABLES = {"policies": policies, "readme": readme, "peers": peers_table, "frontier": frontier, "chars": chars}
BLOCK = re.compile(r"(<!-- bench/tables\.py (\w+) -->\n).*?(\n<!-- end of \2 -->)", re.S)


def main():
    names = [a for a in sys.argv[1:] if a != "--check"]
    for path in [pathlib.Path(n) for n in names] or [ROOT / "README.md", ROOT / "doc/measured.md"]:
        old = path.read_text()
        new = BLOCK.sub(lambda m: m[1] + "\n".join(TABLES[m[2]]()) + m[3], old)
        changed = [a[1] for a, b in zip(BLOCK.finditer(old), BLOCK.finditer(new)) if a[0] != b[0]]
        print(f"{path}: {len(changed)} of {len(BLOCK.findall(old))} tables changed")
        if "--check" not in sys.argv:
            path.write_text(new)


if __name__ == "__main__":
    main()
