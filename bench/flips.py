# SPDX-License-Identifier: GPL-3.0-or-later
"""One model of `bench/oracle.sh --flips`, which says what it does: arguments as there, a table to standard output."""
import json
import os
import statistics
import subprocess
import sys
import tempfile

OTHER = {"saved": "recomputed", "recomputed": "saved"}


def main(gradcut, graph, model, at, threads, steps, runs, most):
    folder = tempfile.TemporaryDirectory()
    path = os.path.join(folder.name, "plan.json")

    def gradcut_json(*args):
        run = subprocess.run([gradcut, *args, "--threads", threads, "--json"], stdout=subprocess.PIPE, text=True)
        return json.loads(run.stdout) if run.returncode == 0 else None

    def step_ns(plan):
        return gradcut_json("bench", graph, "--plan", plan, "--steps", steps)["step_ns"]

    subprocess.run([gradcut, "plan", graph, "--at", at, "--threads", threads, "-o", path], check=True,
                   stdout=subprocess.DEVNULL)
    with open(path) as f:
        plan = json.load(f)
    found = []
    for line in plan["values"]:
        why = gradcut_json("why", graph, "%" + line["value"], "--plan", path)
        change = why["flipped"] if why and isinstance(why["flipped"], dict) else None
        if change:
            found.append((change["time_change_ns"], change["price_change_ns"], line["value"], line["fate"]))
    found.sort(key=lambda x: (-abs(x[0]), x[2]))
    plans = [path]
    for k, (_, _, value, _) in enumerate(found[:int(most)]):
        lines = [dict(x, fate=OTHER[x["fate"]]) if x["value"] == value else x for x in plan["values"]]
        plans.append(os.path.join(folder.name, f"{k}.json"))
        with open(plans[-1], "w") as f:
            json.dump(dict(plan, values=lines), f)
    took = [[] for _ in plans]
    for _ in range(int(runs)):
        for k, one in enumerate(plans):
            took[k].append(step_ns(one))
    base = statistics.median(took[0])
    spread = max(took[0]) - min(took[0])
    print(f"{model} at {at}: the step takes {base / 1e3:.4g} us, {plan['step_ns'] / 1e3:.4g} predicted; the runs of one plan "
          f"are up to {spread / 1e3:.3g} us apart")
    print("| value | flipped to | by prices, us | predicted, us | measured, us | same sign |")
    print("|---|---|---|---|---|---|")
    compared = same = 0
    for (predicted, price, value, fate), times in zip(found, took[1:]):
        measured = statistics.median(x - y for x, y in zip(times, took[0]))
        verdict = ""
        if abs(measured) > 2 * spread:
            verdict = "yes" if (measured > 0) == (predicted > 0) else "no"
            compared += 1
            same += verdict == "yes"
        price = "" if price is None else f"{price / 1e3:+.3g}"
        print(f"| `%{value}` | {OTHER[fate]} | {price} | {predicted / 1e3:+.3g} | {measured / 1e3:+.3g} | {verdict} |")
    print(f"{len(plans) - 1} flips measured, {compared} by more than twice the spread, {same} of them as predicted\n")


main(*sys.argv[1:])
