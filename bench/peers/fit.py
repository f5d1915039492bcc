# SPDX-License-Identifier: GPL-3.0-or-later
"""The largest batch and the best rate under one limit of memory: see bench/fit.sh.

Every try is a process of its own, which the kernel forbids more than the limit beyond what it has before its values are
made. PyTorch's batches double until a process fails, and are bisected; gradcut's largest is what `gradcut fit` finds
for the limit less --reserve, and is then run under the limit like all others. Rates are measured at powers of two,
three quarters of the largest, and the largest.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

from cases import CASES
from run import HERE, ROOT, has, say

BUDGETS = ["1", "0.75", "0.5", "0.25", "0"]  # of torch.compile's activations
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def bytes_of(text):
    for unit, n in UNITS.items():
        if text.endswith(unit):
            return int(float(text[:-3]) * n)
    return int(text)


class Refused(Exception):
    pass


class Contender:
    """Its tries; run(n) gives the milliseconds of steps, or throws Refused."""

    def __init__(self, name, bench):
        self.name, self.bench = name, bench
        self.known = {}

    def tool(self, *command, **environment):
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True, cwd=ROOT,
                              env={**os.environ, **environment})
        if done.returncode:
            lines = [x for x in done.stderr.splitlines() if x.strip()]
            raise Refused(lines[-1] if lines else f"status {done.returncode}")
        return done.stdout

    def rate(self, n):
        """Tokens or examples a second; None: it does not run."""
        if n not in self.known:
            try:
                ms = statistics.median(self.run(n))
                self.known[n] = 1e3 * n * self.bench.tokens / ms
                say(f"  {self.name}: {n} runs, {self.known[n]:.4g} {self.bench.unit} a second")
            except Refused as e:
                self.known[n] = None
                self.why = str(e)[:200]
                say(f"  {self.name}: {n} is refused: {self.why}")
        return self.known[n]

    def largest(self):
        """0: not even one example."""
        fits, most = 0, self.bench.options.most
        n = 1
        while n <= most and self.rate(n):
            fits, n = n, min(2 * n, most) if n < most else most + 1
        while n - fits > 1:
            middle = (n + fits) // 2
            if self.rate(middle):
                fits = middle
            else:
                n = middle
        return fits

    def row(self):
        most = self.largest()
        if not most:
            return f"| {self.name} | – | – | – | – |"
        sizes = {1 << k for k in range(most.bit_length())} | {max(1, 3 * most // 4), *(n for n in self.known if n <= most)}
        rates = {n: r for n in sorted(sizes) if (r := self.rate(n))}
        best = max(rates, key=rates.get)
        return f"| {self.name} | {most} | {rates[most]:.4g} | {best} | {rates[best]:.4g} |"


class Torch(Contender):
    def __init__(self, name, bench, mode):
        super().__init__(name, bench)
        self.mode = mode

    def run(self, n):
        b, o = self.bench, self.bench.options
        case = {"net": b.case.net, "facts": b.case.facts, "optimizer": b.case.optimizer, "rate": b.case.rate,
                "inputs": b.inputs}
        out = self.tool(o.python, HERE / "torch_fit.py", self.mode, o.threads, b.folder / "values", json.dumps(case),
                        o.limit, n, o.steps, OMP_NUM_THREADS=str(o.threads),
                        TORCHINDUCTOR_CACHE_DIR=str(b.folder / "cache"))
        return json.loads(out.splitlines()[-1])["ms"]


class Ours(Contender):
    def __init__(self, name, bench):
        super().__init__(name, bench)
        self.budget = bench.options.limit - bench.options.reserve

    def run(self, n):
        b, o = self.bench, self.bench.options
        out = self.tool(o.build / "bench/fit_worker", b.model, b.case.update(), o.threads, self.budget, o.limit, o.steps,
                        f"N={n}", *b.others)
        return json.loads(out)["ms"]

    def largest(self):
        """What `gradcut fit` finds, run under the limit; where the kernel refuses that, with a budget of 2 % less."""
        b, o = self.bench, self.bench.options
        at = [x for s in b.others for x in ("--at", s)]
        for _ in range(10):
            try:
                out = self.tool(o.build / "gradcut", "fit", b.model, "--max", f"N={o.most}", "--budget", self.budget,
                                "--threads", o.threads, "--optimizer", b.case.update(), "--json", *at)
            except Refused as e:
                say(f"  {self.name}: {e}")
                return 0
            found = json.loads(out)
            say(f"  {self.name}: fit finds {found['largest']} in {self.budget} bytes, the best predicted is {found['best']}")
            if self.rate(found["largest"]):
                self.rate(found["best"])
                return found["largest"]
            self.budget -= o.limit // 50
            self.known = {}
        return 0


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder, self.case = options, folder, options.case
        self.model = folder / "model.gcut"
        name, size = self.case.zoo
        subprocess.run([options.build / "examples/zoo", name, "--size", size, "--dump", self.model], check=True,
                       stdout=subprocess.DEVNULL)
        self.others = [f"{k}={v}" for k, v in self.case.at.items() if k != "N"]
        self.tokens, self.unit = self.case.at.get("T", 1), "tokens" if "T" in self.case.at else "examples"
        values = folder / "values"
        values.mkdir()
        done = subprocess.run([options.build / "bench/step_worker", self.model, self.case.update(), str(options.threads),
                               values, "N=1", *self.others], input="", capture_output=True, text=True, check=True)
        self.inputs = json.loads(done.stdout.splitlines()[0])["inputs"]

    def contenders(self):
        yield Ours("gradcut", self)
        if not has(self.options.python, "torch"):
            say(f"PyTorch is left out: {self.options.python} has no torch; PYTHON=… chooses another")
            return
        yield Torch("torch eager", self, "eager")
        if self.case.net in ("GPT", "ViT", "ResNet"):
            yield Torch("torch, checkpoints", self, "checkpoint")
        for budget in self.options.budgets:
            yield Torch(f"torch.compile, budget {budget}", self, f"compile:{budget}")


def arguments():
    cases = {c.name: c for c in CASES if c.zoo and "N" in c.at}
    p = argparse.ArgumentParser(prog="bench/fit.sh", description="the largest batch under one limit of memory")
    p.add_argument("case", nargs="?", default="gpt-6x384", choices=list(cases), metavar="CASE",
                   help="one of " + " ".join(cases) + " (gpt-6x384)")
    p.add_argument("--quick", action="store_true", help="a small stand-in in 64 MiB, to check the bench itself")
    p.add_argument("--limit", type=bytes_of, default=0, help="bytes, as in 1GiB: of values, activations and workspace (1GiB)")
    p.add_argument("--reserve", type=bytes_of, default=0, help="of the limit, for what a plan's peak does not count: packing, "
                   "stacks of threads, the allocator (2MiB, and 2MiB a thread)")
    p.add_argument("--most", type=int, default=1 << 16, help="no larger batch is tried (65536)")
    p.add_argument("--steps", type=int, default=3, help="timed, of which the median counts (3)")
    p.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="of each (every core)")
    p.add_argument("--budgets", default=",".join(BUDGETS), help="of torch.compile, a comma list (%(default)s)")
    p.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    p.add_argument("--python", default=os.environ.get("PYTHON", "python3"), help="that has torch (PYTHON)")
    o = p.parse_args()
    o.case = cases[o.case].small() if o.quick else cases[o.case]
    o.limit = o.limit or (1 << 26 if o.quick else 1 << 30)
    o.reserve = o.reserve or (2 << 20) * (1 + o.threads)
    if o.reserve >= o.limit:
        p.error(f"--reserve {o.reserve} leaves nothing of --limit {o.limit}")
    o.budgets = [x for x in o.budgets.split(",") if x]
    o.build = o.build.resolve()
    return o


def main():
    o = arguments()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:o.threads])
    o.case = dataclasses.replace(o.case, title=re.sub(r" ?\bB=\d+,? ?", " ", o.case.title).strip(", "))
    say(f"{o.case.title}, {o.limit} bytes, {o.threads} threads")
    with tempfile.TemporaryDirectory(prefix="gradcut-fit-") as folder:
        bench = Bench(o, pathlib.Path(folder))
        rows = [c.row() for c in bench.contenders()]
    say(f"\n| {o.case.title}, {o.limit >> 20} MiB | largest batch | {bench.unit} a second | fastest batch | "
        f"{bench.unit} a second |")
    say("|---|---|---|---|---|")
    say("\n".join(rows))


if __name__ == "__main__":
    sys.exit(main())
