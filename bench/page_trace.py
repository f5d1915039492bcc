#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
#
# page_trace.py [COMMAND [NODES]]: how long a browser is busy at a time with the page of `gradcut report` about a graph of
# NODES (5000) ops: its longest tasks, from a trace of Chromium, while the page is scrolled from top to bottom, every scope
# of the graph is opened, and it is scrolled again.
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(root / "tests/page"))
from chromium import Chromium  # noqa: E402

SCROLL = '''(async () => {
    const frame = () => new Promise(requestAnimationFrame);
    scrollTo(0, 0);
    for (let y = 0; y < document.documentElement.scrollHeight - innerHeight; y += 120) {
        scrollTo(0, y);
        await frame();
    }
})()'''
UNFOLD = '''(async () => {
    const frame = () => new Promise(requestAnimationFrame);
    for (const d of document.querySelectorAll("details")) {
        d.querySelector("summary").click();
        await frame();
    }
})()'''


def graph(nodes):
    """Fifty scopes of unlike values: none of them repeats, so that nothing is folded."""
    ops = ["tanh", "exp", "sin", "neg", "relu"]
    lines = ["gcut 1", "func @wide[N in 1..](input %x: f32[N, 64], param %w: f32[64, 64]) -> (out loss: f32[]) {"]
    last = "x"
    for i in range(nodes - 1):
        name = f"s{i * 50 // nodes}.v{i}"
        lines.append(f"  %{name} = matmul(%{last}, %w)" if i % 10 == 9 else f"  %{name} = {ops[i % 5]}(%{last})")
        last = name
    return "\n".join(lines + [f"  %loss = sum(%{last})", "  return %loss", "}", ""])


def longest(browser, expression):
    """Milliseconds of the five longest tasks of the page's main thread while the expression runs."""
    browser.events.clear()
    browser.call("Tracing.start", traceConfig={"includedCategories": ["toplevel", "devtools.timeline", "__metadata"]},
                 transferMode="ReportEvents")
    browser.value(expression)
    browser.call("Tracing.end")
    browser.wait("Tracing.tracingComplete")
    events = [e for p in browser.named("Tracing.dataCollected") for e in p["value"]]
    main = {(e["pid"], e["tid"]) for e in events if e.get("name") == "thread_name" and e["args"]["name"] == "CrRendererMain"}
    tasks = [e["dur"] / 1e3 for e in events
             if (e["pid"], e["tid"]) in main and e.get("ph") == "X" and e["name"] in ("RunTask", "ThreadControllerImpl::RunTask")]
    return sorted(tasks, reverse=True)[:5]


def main(command=str(root / "build/gradcut"), nodes="5000"):
    folder = tempfile.mkdtemp()
    model, page = folder + "/wide.gcut", folder + "/wide.html"
    with open(model, "w") as f:
        f.write(graph(int(nodes)))
    subprocess.run([command, "report", model, "--at", "N=64", "--no-frontier", "-o", page], check=True, stdout=subprocess.DEVNULL)
    print(f"{nodes} ops: {os.path.getsize(page):,} bytes")
    browser = Chromium(shutil.which("chromium") or "chromium")
    try:
        browser.open(page)
        for what, expression in (("scrolling", SCROLL), ("unfolding", UNFOLD), ("scrolling, unfolded", SCROLL)):
            print(f"{what:20} longest tasks, ms: " + "  ".join(f"{ms:.1f}" for ms in longest(browser, expression)))
    finally:
        browser.close()
        shutil.rmtree(folder)


main(*sys.argv[1:])
