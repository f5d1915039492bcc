# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of bench/jit.c in PyTorch: see bench/jit.sh."""

import time

import torch
import torch._dynamo

ARGS, ENTRIES, WIDTH, ROUNDS = 24, 8, 8, 20000


def say(what, ns):
    ns = sorted(ns)
    print(f"{what:44} best {ns[0] / 1e3:10.3f} us  median {ns[len(ns) // 2] / 1e3:10.3f} us", flush=True)


def timed(call, n, warm=100):
    for _ in range(warm):
        call()
    ns = []
    for _ in range(n):
        start = time.perf_counter_ns()
        call()
        ns.append(time.perf_counter_ns() - start)
    return ns


def first_of_all(*x):
    y = x[0][:1]
    for k in range(1, ARGS):
        y = y + x[k][:1]
    return y


def nothing(*x):
    return x[0]


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    torch._dynamo.config.cache_size_limit = 64
    for function, backend, what in ((first_of_all, "inductor", "hit: 24 arguments, 8 entries, torch.compile"),
                                    (nothing, "eager", "hit: a function that does nothing, Dynamo alone")):
        torch._dynamo.reset()
        f = torch.compile(function, backend=backend, dynamic=False)
        sets = [[torch.zeros(2 + e, WIDTH) for _ in range(ARGS)] for e in range(ENTRIES)]
        misses = []
        for x in sets:
            start = time.perf_counter_ns()
            f(*x)
            misses.append(time.perf_counter_ns() - start)
        ns = []
        for call in range(ROUNDS):
            x = sets[call % ENTRIES]
            start = time.perf_counter_ns()
            f(*x)
            ns.append(time.perf_counter_ns() - start)
        say(what, ns)
        if backend == "inductor":
            say("miss: torch.compile", misses)
    x = sets[0]
    say("the same function, called by Python", timed(lambda: nothing(*x), ROUNDS))
    a, b = torch.zeros(16), torch.zeros(512, 512)
    say("eager: add of 16 floats", timed(lambda: a + a, 2000))
    torch.set_num_threads(2)
    say("eager: product of 512 x 512", timed(lambda: b @ b, 20, 5))
    print(f"PyTorch {torch.__version__}")


main()
