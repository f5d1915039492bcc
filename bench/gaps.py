#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
#
# gaps.py [MODEL…]: how far the plans of budgets are from their lower bounds, as a share of the step: (cost - bound) /
# step.  The budgets, in bytes, are those of gaps.csv: at k = 0 to 7 eighths of the way from the smallest peak to that
# of save-all, as planned by version 1.0 before it had a local search; they stay as they are, so that tables of two
# builds can be compared.  A dash: no bound is printed.
#
# GRADCUT=COMMAND (build/gradcut) is what plans, ZOO (build/examples/zoo) writes the models.  Prints user seconds, too.
import csv
import json
import os
import resource
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
COMMAND = os.environ.get("GRADCUT", os.path.join(HERE, "../build/gradcut"))
ZOO = os.environ.get("ZOO", os.path.join(HERE, "../build/examples/zoo"))
os.environ.update(GRADCUT_MACHINE="shipped", GRADCUT_CACHE="off")


def seconds():
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime


def main():
    wanted = sys.argv[1:]
    rows = {}
    with open(os.path.join(HERE, "gaps.csv"), newline="") as file:
        for row in csv.DictReader(file):
            if not wanted or row["model"] in wanted:
                rows.setdefault((row["model"], row["at"]), []).append(int(row["budget"]))
    print("| model | at |" + "".join(f" {k} |" for k in range(8)) + " user s |")
    print("|---|---|" + "--:|" * 9)
    with tempfile.TemporaryDirectory() as folder:
        for (model, at), budgets in rows.items():
            path = os.path.join(folder, model + ".gcut")
            subprocess.run([ZOO, model, "--dump", path], check=True, stdout=subprocess.DEVNULL)
            cells, began = [], seconds()
            for budget in budgets:
                command = [COMMAND, "plan", path, "--at", at, "--budget", str(budget), "--json"]
                made = subprocess.run(command, capture_output=True, text=True, check=False)
                if made.returncode:
                    cells.append("refused")
                    continue
                plan = json.loads(made.stdout)
                gap = plan["gap"]
                cells.append("-" if gap is None else f"{100 * gap / plan['step_ns']:.1f}")
            print(f"| {model} | {at} | " + " | ".join(cells) + f" | {seconds() - began:.1f} |", flush=True)


main()
