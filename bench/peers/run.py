# SPDX-License-Identifier: GPL-3.0-or-later
"""gradcut against its peers: see bench/peers.sh.

One process per contender, each at the end of a pipe (bench/worker.h has the protocol). All begin from the same arrays; first
their losses are compared step by step, then they run in rounds, each in an order drawn from --seed (rounds.py). A ratio
is only ever taken between times of the same rounds. gradcut runs twice, as `gradcut` and as `gradcut again`: what differs
between these two is noise.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import products
import report
import rounds
from cases import CASES

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PEERS = {  # contender: worker, its first argument, the module it needs
    "torch eager": ("torch_worker.py", "eager", "torch"),
    "torch.compile": ("torch_worker.py", "default", "torch"),
    "max-autotune": ("torch_worker.py", "max-autotune", "torch"),
    "JAX": ("jax_worker.py", "jit", "jax"),
}
# Everyone as on a processor without AVX-512; for our steps see bench/CMakeLists.txt.
AVX2 = {"BLIS_ARCH_TYPE": "zen3", "ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2", "XLA_FLAGS": "--xla_cpu_max_isa=AVX2"}
OURS, AGAIN, FLOOR = "gradcut", "gradcut again", "floor"
COMPARED = 4  # losses
# Same arithmetic in another order; AdamW's first steps amplify it, as they are of one size however small a gradient.
TOLERANCE = [1e-5, 1e-4, 1e-3, 1e-3]
DRAWN = [0.1] * COMPARED  # where each leaves out activations of its own
ERROR = re.compile(r"[\w.]*(Error|Exception|Unsupported)\b")  # the line of a traceback that says what it was
PAUSE = 0.05  # seconds in which the threads of the last contender go to sleep


class Failed(Exception):
    pass


class Worker:
    def __init__(self, name, command, log, **environment):
        self.name, self.log = name, log
        with open(log, "wb") as errors:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                                            text=True, cwd=ROOT, env={**os.environ, **environment})
        try:
            self.about = self.answer()
        except Failed:
            self.stop()
            raise

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            why = [x for x in pathlib.Path(self.log).read_text(errors="replace").splitlines() if x.strip()]
            raise Failed(next((x for x in reversed(why) if ERROR.match(x)), why[-1] if why else "ended without a word"))
        return json.loads(line)

    def ask(self, command):
        try:
            print(command, file=self.process.stdin, flush=True)
        except BrokenPipeError:
            pass  # the answer says why
        return self.answer()

    def steps(self, warm, timed):
        return self.ask(f"step {warm} {timed}")["ms"]

    def forget_peak(self):
        """What loading and compiling took is not the step's; where the kernel refuses, it stays in."""
        try:
            pathlib.Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")
        except OSError:
            pass

    def peak(self):
        """Bytes resident at most."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
        return None

    def stop(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def say(text):
    print(text, flush=True)


def apart(ours, theirs, tolerance):
    """How far losses are apart, of the size of the first; None: further than rounding explains."""
    scale = max(abs(ours[0]), 1e-3)
    gaps = [abs(a - b) / scale if None not in (a, b) else float("inf") for a, b in zip(ours, theirs)]
    return max(gaps), all(g <= t for g, t in zip(gaps, tolerance))


class CaseRun:
    def __init__(self, case, options, folder):
        self.case, self.options, self.folder = case, options, folder
        self.rows = {}
        self.samples = []  # (group, round, turn, contender, [ms])
        self.workers = []

    # ---- preparing ----

    def tool(self, *command):
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
        if done.returncode:
            raise Failed(done.stderr.strip())
        return done.stdout

    def model(self):
        path = self.folder / "model.gcut"
        if self.case.file:
            shutil.copy(HERE.parent / "models" / self.case.file, path)
        else:
            name, size = self.case.zoo
            self.tool(self.options.build / "examples/zoo", name, "--size", size, "--dump", path)
        return path

    def start_ours(self):
        path, values = self.model(), self.folder / "values"
        values.mkdir()
        sizes = [f"{k}={v}" for k, v in self.case.at.items()]
        again = self.folder / "again"
        again.mkdir()
        ours, _ = (self.start(name, self.options.build / "bench/step_worker", path, self.case.update(),
                              self.options.threads, folder, *sizes)
                   for name, folder in ((OURS, values), (AGAIN, again)))
        about = ours.about
        moved = report.compulsory(about, self.case.optimizer != "none")
        grad = self.tool(self.options.build / "gradcut", "grad", path)
        with open(self.folder / "floor.txt", "w") as f:
            for p in products.products(grad, self.case.at):
                print("gemm", *(int(x) if isinstance(x, bool) else x for x in p), file=f)
            print("bytes", *moved, file=f)
        self.start(FLOOR, self.options.build / f"bench/floor_worker_{self.options.isa}", self.folder / "floor.txt",
                   self.options.threads)
        return ours

    def start(self, name, *command, **environment):
        worker = Worker(name, [str(c) for c in command], self.folder / f"{name.replace(' ', '-')}.log", **environment)
        self.workers.append(worker)
        return worker

    def start_peer(self, name, inputs):
        script, mode, _ = PEERS[name]
        case = {"net": self.case.net, "facts": self.case.facts, "optimizer": self.case.optimizer,
                "rate": self.case.rate, "inputs": inputs}
        threads = str(self.options.threads)
        cache = str((self.options.cache or self.folder) / f"cache-{mode}-{self.options.isa}")
        return self.start(name, self.options.python, HERE / script, mode, threads, self.folder / "values",
                          json.dumps(case), OMP_NUM_THREADS=threads, TORCHINDUCTOR_CACHE_DIR=cache,
                          JAX_PLATFORMS="cpu", TF_CPP_MIN_LOG_LEVEL="2")

    # ---- running ----

    def losses(self, worker):
        return [(worker.steps(1, 0), worker.ask("loss")["loss"])[1] for _ in range(COMPARED)]

    def run(self, peers):
        """In groups that fit in memory; gradcut, twice, and the floor take part in each."""
        ours = self.start_ours()
        wanted = self.losses(ours)
        if self.losses(self.worker(AGAIN)) != wanted:
            raise Failed("the losses of two equal steps differ")
        say(f"  gradcut: compiled in {ours.about['compile_s']:.1f} s, losses "
            + " ".join("–" if x is None else f"{x:.6f}" for x in wanted))
        size = self.options.together or len(peers)
        for k in range(0, max(len(peers), 1), max(size, 1)):
            group = [w for w in (self.peer(p, wanted, ours) for p in peers[k:k + size]) if w]
            self.race(k, group)
            for w in group:
                w.stop()
                self.workers.remove(w)
        self.finish(ours)

    def peer(self, name, wanted, ours):
        """A worker ready to be timed, or None."""
        try:
            worker = self.start_peer(name, ours.about["inputs"])
            theirs = self.losses(worker)
        except Failed as e:
            say(f"  {name}: {e}")
            self.rows[name] = {"note": str(e)[:200]}
            return None
        gap, good = apart(wanted, theirs, DRAWN if self.case.draws else TOLERANCE)
        say(f"  {name} {worker.about['version']}: compiled in {worker.about['compile_s']:.1f} s, losses apart by "
            f"{gap:.1e}")
        self.rows[name] = {"loss_gap": gap, "compile_s": worker.about["compile_s"], "version": worker.about["version"]}
        if not good:
            say(f"  {name}: not compared, its losses are " + " ".join(map(str, theirs)))
            self.rows[name]["note"] = "losses differ"
            worker.stop()
            self.workers.remove(worker)
            return None
        return worker

    def worker(self, name):
        return next(w for w in self.workers if w.name == name)

    def race(self, number, group):
        """Rounds of gradcut, again, the floor and a group of peers. A round of a contender counts with the median of its
        steps."""
        contenders = {w.name: w for w in (self.worker(OURS), self.worker(AGAIN), self.worker(FLOOR), *group)}
        share = 1e3 * self.options.seconds / len(contenders) / self.options.rounds
        for w in contenders.values():
            w.steps(2, 0)
            w.forget_peak()
        if self.options.wait:
            say(f"ready: {self.case.name}")
            sys.stdin.readline()
        plan = {}
        for w in contenders.values():  # warm-up, and steps in a turn, by how long three of them are
            start = time.perf_counter()
            w.steps(0, 3)
            ms = 1e3 * (time.perf_counter() - start) / 3
            plan[w.name] = (min(int(20 / ms), 200), max(1, min(int(share / ms), 200)))
        times = {name: [] for name in contenders}
        for r in range(self.options.rounds):
            for turn, name in enumerate(rounds.order(self.options.seed, r, contenders)):
                time.sleep(PAUSE)
                ms = contenders[name].steps(*plan[name])
                times[name].append(ms)
                self.samples.append((number, r, turn, name, ms))
        if self.options.wait:
            say(f"timed: {self.case.name}")
        b = rounds.Bootstrap({name: [statistics.median(ms) for ms in t] for name, t in times.items()}, self.options.seed)
        for name, w in contenders.items():
            self.note(w, times[name], b)

    def note(self, w, times, b):
        row = self.rows.setdefault(w.name, {})
        if "median_ms" in row:
            return  # of what takes part in every group, the first one counts
        median, ratio = b.median(w.name), b.ratio(OURS, w.name)
        row.update(zip(("median_ms", "lo_ms", "hi_ms"), median))
        if w.name != OURS:
            row.update(zip(("ratio", "ratio_lo", "ratio_hi"), ratio), separable=int(rounds.separable(*ratio[1:])))
        row.update(best_ms=min(min(ms) for ms in times), steps=sum(len(ms) for ms in times), rounds=len(times),
                   seed=self.options.seed, ours_median_ms=b.median(OURS)[0], floor_median_ms=b.median(FLOOR)[0],
                   rss_bytes=w.peak() if w.name != FLOOR else None)
        if w.name in PEERS:
            row["saved_bytes"] = w.ask("saved")["saved_bytes"]
        say(f"  {w.name:14} median {rounds.median_text(*median)} ms"
            + ("" if w.name == OURS else f"; gradcut over it {rounds.ratio_text(*ratio)}"))

    def finish(self, ours):
        self.rows[OURS].update(compile_s=ours.about["compile_s"], saved_bytes=ours.about["saved_bytes"],
                                    version=ours.about["version"])
        parts = self.worker(FLOOR).ask("parts")
        self.rows[FLOOR]["note"] = (f"{parts['gemm_ms']:.4g} ms for {parts['gflop']:.4g} GFLOP of products, "
                                      f"{parts['bytes_ms']:.4g} ms for {parts['mbytes']:.4g} MB; {parts['kernels']}")

    def stop(self):
        for w in self.workers:
            w.stop()


def has(python, module):
    return subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0


def arguments():
    p = argparse.ArgumentParser(prog="bench/peers.sh", description="gradcut against PyTorch, JAX and the floor")
    p.add_argument("cases", nargs="*", metavar="CASE", help="all: " + " ".join(c.name for c in CASES))
    p.add_argument("--quick", action="store_true", help="small stand-ins, to check the bench itself")
    p.add_argument("--peers", help="comma list of " + ", ".join(PEERS) + '; "" = gradcut and the floor alone')
    p.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="of each (every core)")
    p.add_argument("--rounds", type=int, default=9, help="in each, everyone takes a turn (9); fewer than 6 separate nothing")
    p.add_argument("--seed", type=int, default=0, help="of the order of each round and of resamples (0)")
    p.add_argument("--seconds", type=float, default=40, help="of timed steps per case, if they are short (40)")
    p.add_argument("--isa", choices=["native", "avx2"], default="native", help="avx2: everyone without AVX-512")
    p.add_argument("--together", type=int, default=0, help="peers in memory at once (0: all)")
    p.add_argument("--cache", type=pathlib.Path, help="of what torch.compile made before: its compile times are void")
    p.add_argument("--wait", action="store_true", help='wait for a line of input after printing "ready: CASE"')
    p.add_argument("--out", type=pathlib.Path, help="folder of the results (bench/results, its avx2 if so; build/peers if --quick)")
    p.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    p.add_argument("--python", default=os.environ.get("PYTHON", "python3"), help="that has torch and jax (PYTHON)")
    o = p.parse_args()
    known = {c.name: c for c in CASES}
    for name in o.cases:
        if name not in known:
            p.error(f"no case is called {name}; there are {' '.join(known)}")
    o.cases = [known[n] for n in o.cases] or CASES
    if o.quick:
        o.cases = [c.small() for c in o.cases]
    results = HERE.parent / "results"
    o.out = o.out or (o.build / "peers" if o.quick else results / "avx2" if o.isa == "avx2" else results)
    o.peers = list(PEERS) if o.peers is None else [x for x in o.peers.split(",") if x]
    for name in o.peers:
        if name not in PEERS:
            p.error(f"no peer is called {name}; there are {', '.join(PEERS)}")
    return o


def main():
    o = arguments()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:o.threads])
    subprocess.run(["cmake", "--build", o.build, "--target", f"floor_worker_{o.isa}"], check=True,
                   stdout=subprocess.DEVNULL)
    if o.isa == "avx2":
        os.environ.update(AVX2, **json.loads((o.build / "bench/avx2.json").read_text()))
    peers = []
    for name in o.peers:
        if has(o.python, PEERS[name][2]):
            peers.append(name)
        else:
            say(f"{name} is left out: {o.python} has no {PEERS[name][2]}; PYTHON=… chooses another")
    failed = False
    for case in o.cases:
        say(f"{case.name}: {case.title}, {o.threads} threads, {o.rounds} rounds in random order, seed {o.seed}")
        folder = pathlib.Path(tempfile.mkdtemp(prefix="gradcut-peers-"))
        run = CaseRun(case, o, folder)
        try:
            run.run(peers)
            report.merge(o.out, case, run.rows, run.samples, o.threads, o.isa)
        except Failed as e:
            say(f"  {case.name} failed: {e}")
            failed = True
        finally:
            run.stop()
            shutil.rmtree(folder)
    return failed


if __name__ == "__main__":
    sys.exit(main())
