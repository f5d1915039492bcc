# SPDX-License-Identifier: GPL-3.0-or-later
"""The plot of the bench: for each case the medians of all contenders over gradcut's, on a logarithmic axis."""

import math
from xml.sax.saxutils import escape

COLOURS = {"gradcut again": "#7fa8c9", "floor": "#b8c4cc", "torch eager": "#e8a33d", "torch.compile": "#d8672f",
           "max-autotune": "#a63d2f", "JAX": "#5b8c5a"}
LEFT, WIDTH, BAR, GAP, TOP = 250, 900, 13, 16, 64
STYLE = "font-family='Helvetica, Arial, sans-serif'"


def text(x, y, what, size=12, anchor="start", fill="#222"):
    return (f"<text x='{x:.1f}' y='{y:.1f}' font-size='{size}' text-anchor='{anchor}' fill='{fill}'>"
            f"{escape(what)}</text>")


def milliseconds(x):
    return f"{x:.3g} ms" if x < 100 else f"{x:.0f} ms"


def relative(rows, name):
    """A median over gradcut's of the same rounds; None: not timed."""
    r = rows.get(name)
    return r["median_ms"] / r["ours_median_ms"] if r and r.get("median_ms") else None


def bars(cases, contenders):
    values = [v for rows in cases.values() for n in contenders if (v := relative(rows, n))]
    low = min(0.25, 4 ** math.floor(math.log(min(values), 4)))
    high = max(4, 2 ** math.ceil(math.log2(max(values) * 1.3)))
    x = lambda v: LEFT + (WIDTH - LEFT - 90) * math.log(v / low) / math.log(high / low)
    body, y = [], TOP
    for rows in cases.values():
        ours = rows["gradcut"]
        present = [n for n in contenders if n != "gradcut" and relative(rows, n)]
        middle = y + len(present) * BAR / 2
        body.append(text(LEFT - 10, middle, ours["title"].replace(" (stand-in)", "*"), anchor="end"))
        body.append(text(LEFT - 10, middle + 14, "gradcut " + milliseconds(ours["median_ms"]), 10, "end", "#777"))
        for n in present:
            v = relative(rows, n)
            body.append(f"<rect x='{x(low):.1f}' y='{y}' width='{x(v) - x(low):.1f}' height='{BAR - 2}' "
                        f"fill='{COLOURS[n]}'/>")
            body.append(text(x(v) + 4, y + BAR - 4, f"{v:.2f}", 9, fill="#555"))
            y += BAR
        y += GAP
    head, place = [], LEFT
    for n in contenders[1:]:
        head.append(f"<rect x='{place}' y='26' width='11' height='11' fill='{COLOURS[n]}'/>")
        head.append(text(place + 15, 36, n, 11))
        place += 40 + 7 * len(n)
    lines, tick = [], low
    while tick <= high:
        colour = "#1b6ca8" if tick == 1 else "#e4e4e4"
        lines.append(f"<line x1='{x(tick):.1f}' y1='{TOP - 6}' x2='{x(tick):.1f}' y2='{y}' stroke='{colour}'/>")
        lines.append(text(x(tick), TOP - 10, f"{tick:g}", 10, "middle", "#777"))
        tick *= 2 if high / low <= 256 else 4
    title = text(LEFT, 16, "Median time of a training step over gradcut's, which is the line at 1", 13)
    return (f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {y + 6}' width='{WIDTH}' height='{y + 6}' "
            f"{STYLE}>\n<rect width='100%' height='100%' fill='white'/>\n"
            + "\n".join([title, *head, *lines, *body]) + "\n</svg>\n")
