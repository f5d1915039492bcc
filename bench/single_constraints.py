#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Count the constraints, one --save or --recompute each, that improve the plan of a budget:
`bench/single_constraints.py [--zoo] [--thorough] [--seed S] [--constraints N] [MODEL…]`.

For each model of tests/models (--zoo: each of the zoo, at the sizes of bench/gaps.csv), the script plans eight budgets: the
smallest peak, and each further eighth of the way to the peak of save-all.  It draws N decisions of each plan by the seed (0:
all of them), and plans the same budget again with that decision forced the other way.  It prints each constraint whose plan
is faster by more than 0.1 % of the step, and each with which a budget of one byte less than the smallest peak is met.
--thorough: the plans without a constraint are those of thorough searches.  Times are predicted by the shipped machine model.

  BUILD  the build (build)      JOBS  plans at a time (all processors)
"""
import argparse
import csv
import json
import multiprocessing
import os
import pathlib
import random
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("BUILD", ROOT / "build"))
ENV = dict(os.environ, GRADCUT_MACHINE="shipped", GRADCUT_CACHE="off")
WORTH = 1e-3


def plan(model, *options):
    """The plan of (name, file, sizes) as JSON; None: the budget is refused."""
    command = [BUILD / "gradcut", "plan", model[1], *model[2], *options, "--json"]
    out = subprocess.run(command, capture_output=True, text=True, env=ENV, check=False)
    return json.loads(out.stdout) if out.returncode == 0 else None


def improvement(job):
    model, budget, step, option, value = job
    found = plan(model, "--budget", str(budget), option, value)
    if not found or (step and found["step_ns"] >= step * (1 - WORTH)):
        return None
    what = "%.2f %% faster" % (100 - 100 * found["step_ns"] / step) if step else "fits"
    return "%s, --budget %d %s %s: %s" % (model[0], budget, option, value, what)


def jobs_of(model, constraints, generator, search):
    least, most = plan(model, "--budget", "min", *search), plan(model, "--policy", "save-all")["peak_bytes"]
    jobs = []
    for k in range(-1, 8):
        budget = least["peak_bytes"] + (most - least["peak_bytes"]) * k // 8 if k >= 0 else least["peak_bytes"] - 1
        of = plan(model, "--budget", str(budget), *search) if k >= 0 else least
        lines = [x for x in of["values"] if not x.get("forced")]
        lines = generator.sample(lines, constraints) if 0 < constraints < len(lines) else lines
        jobs += [(model, budget, of["step_ns"] if k >= 0 else 0, "--save" if x["fate"] == "recomputed" else "--recompute",
                  x["value"]) for x in lines]
    return jobs


def models_of(arguments, folder):
    if not arguments.zoo:
        found = {p.stem: (p.stem, p, ()) for p in sorted((ROOT / "tests/models").glob("*.gcut"))}
        return [found[name] for name in arguments.models or found]
    with open(ROOT / "bench/gaps.csv", newline="", encoding="ascii") as file:
        sizes = {row["model"]: row["at"] for row in csv.DictReader(file)}
    found = []
    for name in arguments.models or sizes:
        path = pathlib.Path(folder) / (name + ".gcut")
        subprocess.run([BUILD / "examples/zoo", name, "--dump", path], check=True, stdout=subprocess.DEVNULL)
        found.append((name, path, ("--at", sizes[name])))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zoo", action="store_true")
    parser.add_argument("--thorough", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--constraints", type=int, default=0)
    parser.add_argument("models", nargs="*")
    arguments = parser.parse_args()
    generator = random.Random(arguments.seed)
    search = ["--thorough"] if arguments.thorough else []
    with tempfile.TemporaryDirectory() as folder, multiprocessing.Pool(int(os.environ.get("JOBS", os.cpu_count()))) as pool:
        for model in models_of(arguments, folder):
            jobs = jobs_of(model, arguments.constraints, generator, search)
            better = [x for x in pool.imap(improvement, jobs) if x]
            print("\n".join(better + ["%s: %d constraints at 9 budgets, %d better" % (model[0], len(jobs), len(better))]), flush=True)


if __name__ == "__main__":
    main()
