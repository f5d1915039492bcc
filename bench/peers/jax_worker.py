# SPDX-License-Identifier: GPL-3.0-or-later
"""JAX's worker of the bench: jax_worker.py jit THREADS FOLDER CASE.

XLA takes as many threads as there are processors that it may run on, which the coordinator sets. One jitted function is
the whole step; parameters and moments are donated, so that they are updated in place.
"""

import json
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

import jax_models
import worker


def adamw(p, g, m, v, rate, t, decay=0.01, beta1=0.9, beta2=0.999, eps=1e-8):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g * g
    update = (m / (1 - beta1**t)) / (jnp.sqrt(v / (1 - beta2**t)) + eps)
    return p - rate * (update + decay * p), m, v


class Step:
    def __init__(self, folder, case):
        arrays = {k: np.frombuffer(raw, d).reshape(s) for k, (d, s, raw) in worker.arrays(folder).items() if k != "lr"}
        arrays = {k: jnp.array(jax_models.arrange(k, v)) for k, v in arrays.items()}
        self.inputs = [arrays.pop(k) for k in case["inputs"]]
        net = getattr(jax_models, case["net"].lower())

        def gradients(p, *inputs):
            return jax.value_and_grad(lambda p: net(p, case["facts"], *inputs))(p)

        def train(state, *inputs):
            p, m, v, t = state
            loss, g = gradients(p, *inputs)
            t = t + 1
            new = {k: adamw(p[k], g[k], m[k], v[k], case["rate"], t) for k in p}
            return loss, tuple({k: x[i] for k, x in new.items()} for i in range(3)) + (t,)

        zeros = lambda: {k: jnp.zeros_like(v) for k, v in arrays.items()}
        self.trains = case["optimizer"] != "none"
        self.state = (arrays, zeros(), zeros(), jnp.float32(0)) if self.trains else arrays
        start = time.perf_counter()
        jitted = jax.jit(train, donate_argnums=0) if self.trains else jax.jit(gradients)
        self.run = jitted.lower(self.state, *self.inputs).compile()
        self.compile_s = time.perf_counter() - start

    def __call__(self):
        start = time.perf_counter()
        self.loss, after = self.run(self.state, *self.inputs)
        jax.block_until_ready((self.loss, after))
        ms = 1e3 * (time.perf_counter() - start)
        if self.trains:
            self.state = after
        return ms


def main():
    _, _, folder, case = sys.argv[1:]
    step = Step(folder, json.loads(case))
    worker.answer({"compile_s": step.compile_s, "version": jax.__version__})
    worker.serve(step, lambda: step.loss, lambda: None)


main()
