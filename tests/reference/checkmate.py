# SPDX-License-Identifier: GPL-3.0-or-later
"""Optimal rematerialisation of linear graphs, by the stage program of Jain et al., "Checkmate: Breaking the
memory wall with optimal tensor rematerialization" (MLSys 2020), section 4, solved by HiGHS.

The graph: h[i] = f(h[i-1]) for i = 1..l-1, h[0] is an input and takes no memory; the gradients
g[l-1] = b(h[l-1]) and g[i] = b(g[i+1], h[i]) for i = l-2..0, of which g[0] is a result and takes no memory.
Every other value takes one unit.  A state costs cost[i], a gradient 1.

R[t,i]  stage t computes node i          S[t,i]  node i is kept from stage t-1 to stage t
F[t,i,k]  node i is freed after node k was computed in stage t          U[t,k]  memory once node k is there

Prints: l, memory, the costs of h[1..l-1], and the least cost of what is computed beyond once each.

    python3 checkmate.py > checkmate.txt
"""
import random

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_matrix


def least(l, budget, costs):
    n = 2 * l - 1                                # nodes: h[1..l-1], then g[l-1..0]
    deps = [[i - 1] if i else [] for i in range(l - 1)]
    for j in range(l):                           # g[l-1-j] is node l-1+j and reads h[l-1-j], node l-2-j
        state = l - 2 - j
        deps.append(([l - 2 + j] if j else []) + ([state] if state >= 0 else []))
    users = [[k for k in range(n) if i in deps[k]] for i in range(n)]
    cost = list(costs) + [1] * l
    size = [1] * (n - 1) + [0]
    index, free = {}, []

    def var(*key):
        return index.setdefault(key, len(index))

    for t in range(n):
        for i in range(n):
            var("R", t, i), var("S", t, i), var("U", t, i)
        for k in range(n):
            for i in deps[k]:
                var("F", t, i, k)
    rows, lo, hi = [], [], []

    def row(terms, low, high):
        rows.append(terms)
        lo.append(low)
        hi.append(high)

    inf = np.inf
    for t in range(n):
        for k in range(n):
            for i in deps[k]:                    # operands are there
                row([(var("R", t, k), 1), (var("R", t, i), -1), (var("S", t, i), -1)], -inf, 0)
            if t:                                # what is kept was there
                row([(var("S", t, k), 1), (var("R", t - 1, k), -1), (var("S", t - 1, k), -1)], -inf, 0)
        kept = [(var("S", t, i), size[i]) for i in range(n) if size[i]]
        row([(var("U", t, 0), 1), (var("R", t, 0), -size[0])] + [(v, -s) for v, s in kept], 0, 0)
        for k in range(n - 1):                   # U[t,k+1] = U[t,k] - freed after k + R[t,k+1] size
            terms = [(var("U", t, k + 1), 1), (var("U", t, k), -1), (var("R", t, k + 1), -size[k + 1])]
            row(terms + [(var("F", t, i, k), size[i]) for i in deps[k]], 0, 0)
        for k in range(n):
            for i in deps[k]:                    # F = R[t,k] (1 - S[t+1,i]) prod over later users (1 - R[t,j])
                later = [var("R", t, j) for j in users[i] if j > k]
                hazards = later + ([var("S", t + 1, i)] if t + 1 < n else [])
                f = var("F", t, i, k)
                row([(f, len(hazards) + 1), (var("R", t, k), -1)] + [(h, 1) for h in hazards],
                    -inf, len(hazards))
                row([(f, 1), (var("R", t, k), -1)] + [(h, 1) for h in hazards], 0, inf)
    size_of = len(index)
    low, high, integer = np.zeros(size_of), np.ones(size_of), np.ones(size_of)
    objective = np.zeros(size_of)
    for key, v in index.items():
        if key[0] == "U":
            high[v], integer[v] = budget, 0
        if key[0] == "R":
            objective[v] = cost[key[2]]
            if key[2] == key[1]:
                low[v] = 1                       # stage t makes node t for the first time
            if key[2] > key[1]:
                high[v] = 0
        if key[0] == "S" and key[2] >= key[1]:
            high[v] = 0
    at = [(r, v, x) for r, terms in enumerate(rows) for v, x in terms]
    a = coo_matrix(([x for _, _, x in at], ([r for r, _, _ in at], [v for _, v, _ in at])), (len(rows), size_of))
    out = milp(objective, constraints=LinearConstraint(a.tocsr(), lo, hi), integrality=integer,
               bounds=Bounds(low, high), options={"time_limit": 300})
    if out.status == 2:
        return None
    assert out.status == 0, out.message
    return round(out.fun - sum(cost))


def show(l, budget, costs):
    x = least(l, budget, costs)
    if x is not None:
        print(l, budget, ",".join(map(str, costs)), x, flush=True)
    return x


if __name__ == "__main__":
    rng = random.Random(1)
    for l in (3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 18):
        for costs in ([1] * (l - 1), [rng.randint(1, 9) for _ in range(l - 1)]):
            for budget in range(2 if l <= 10 else l // 2, l + 2):    # the smaller ones take hours
                if show(l, budget, costs) == 0:
                    break
