# SPDX-License-Identifier: GPL-3.0-or-later
"""Contenders measured in rounds: the order of each, and medians with bootstrap intervals, by the rules of
driver/measure/bootstrap.h: whole rounds are drawn, an interval is from the 2.5 % to the 97.5 % quantile of 2000
resamples, fewer than 6 rounds have none, and two contenders are separable if that of their ratio does not contain 1.

    rounds.py order SEED ROUND NAME…      the names in the order of that round, one per line
    rounds.py table SEED FILE OURS        of lines "round name value": medians, and that of OURS over each, as a table
"""

import random
import statistics
import sys

RESAMPLES, LEAST_ROUNDS, TAIL = 2000, 6, 0.025


def order(seed, number, names):
    """The names in the order of a round."""
    names = list(names)
    random.Random(f"order {seed} {number}").shuffle(names)
    return names


def quantile(x, q):
    """Of sorted values, interpolated between neighbours."""
    at = q * (len(x) - 1)
    i = int(at)
    return x[i] + (at - i) * (x[i + 1] - x[i]) if i + 1 < len(x) else x[i]


class Bootstrap:
    """Of {contender: [its value in each round]}."""

    def __init__(self, values, seed):
        self.values = values
        n = len(next(iter(values.values())))
        draw = random.Random(f"resample {seed}")
        self.resampled = None
        if n >= LEAST_ROUNDS:
            self.resampled = {name: [] for name in values}
            for _ in range(RESAMPLES):
                rounds = draw.choices(range(n), k=n)
                for name, x in values.items():
                    self.resampled[name].append(statistics.median(x[k] for k in rounds))

    def interval(self, at, resampled):
        if not self.resampled:
            return at, None, None
        x = sorted(resampled())
        return at, quantile(x, TAIL), quantile(x, 1 - TAIL)

    def median(self, name):
        """The median, and both ends of its interval (None: unknown)."""
        return self.interval(statistics.median(self.values[name]), lambda: self.resampled[name])

    def ratio(self, name, other):
        """The same of the median of a contender over that of another."""
        return self.interval(statistics.median(self.values[name]) / statistics.median(self.values[other]),
                             lambda: [a / b for a, b in zip(self.resampled[name], self.resampled[other])])


def separable(lo, hi):
    return lo is not None and not lo <= 1 <= hi


def ratio_text(at, lo, hi):
    """0.982 (0.961 to 1.013), not separable"""
    text = f"{at:.3f}" if lo is None else f"{at:.3f} ({lo:.3f} to {hi:.3f})"
    return text if separable(lo, hi) else text + ", not separable"


def number(x):
    return f"{x:.3g}" if abs(x) < 100 else f"{x:.0f}"


def median_text(at, lo, hi):
    return number(at) if lo is None else f"{number(at)} ({number(lo)} to {number(hi)})"


def table(seed, path, ours):
    values = {}
    with open(path) as f:
        for line in f:
            _, name, value = line.split()
            values.setdefault(name, []).append(float(value))
    b = Bootstrap(values, seed)
    yield f"| | median of {len(values[ours])} rounds, seed {seed} | {ours} over it |"
    yield "|---|---|---|"
    for name in [ours, *(n for n in values if n != ours)]:
        yield (f"| {name} | {median_text(*b.median(name))} | "
               f"{'' if name == ours else ratio_text(*b.ratio(ours, name))} |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["order"]:
        print(*order(sys.argv[2], sys.argv[3], sys.argv[4:]), sep="\n")
    elif sys.argv[1:2] == ["table"]:
        print(*table(sys.argv[2], sys.argv[3], sys.argv[4]), sep="\n")
    else:
        sys.exit(__doc__)
