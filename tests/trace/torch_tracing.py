#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What doc/tracing.md says of PyTorch, run: exit status 1 where it does not hold, 77 without PyTorch."""

import logging
import sys
import warnings

try:
    import torch
    import torch._dynamo as dynamo
except ImportError:
    sys.exit(77)

warnings.simplefilter("ignore")
logging.getLogger("torch._dynamo").setLevel(logging.ERROR)


def check(good, what):
    if not good:
        sys.exit("doc/tracing.md is wrong about PyTorch " + torch.__version__ + ": " + what)


def risky(x):
    return x * 2 if x.sum() > 0 else x - 1


def reads(x):
    y = torch.exp(x)
    return torch.log(y) if y.max().item() > 10 else y


class Counter:
    """A backend that counts graphs."""

    def __init__(self):
        self.graphs = 0

    def __call__(self, graph, inputs):
        self.graphs += 1
        return graph.forward


# torch.jit.trace makes a graph that doubles x whatever its sum is.
traced = torch.jit.trace(risky, torch.tensor([1.0]))
check(traced(torch.tensor([-3.0])).item() == -6, "torch.jit.trace")

# Dynamo ends its graph before the branch, and goes on after it.
explained = dynamo.explain(risky)(torch.tensor([1.0]))
check(explained.graph_count == 2 and explained.graph_break_count == 1, "a branch on a value")

# It breaks the graph in two where a value is read.
dynamo.reset()
explained = dynamo.explain(reads)(torch.tensor([5.0]))
ops = [[node.target for node in graph.graph.nodes] for graph in explained.graphs]
check(len(ops) == 2 and torch.exp in ops[0] and torch.log in ops[1], "a value that is read")

# The second size becomes a symbol, further ones fit.
dynamo.reset()
counter = Counter()
step = torch.compile(lambda x, w: ((x @ w) ** 2).mean(), backend=counter)
for rows in (32, 20, 17, 9):
    step(torch.ones(rows, 3), torch.ones(3, 2))
check(counter.graphs == 2, "a batch that changes")
print("PyTorch", torch.__version__, "does what doc/tracing.md says")
