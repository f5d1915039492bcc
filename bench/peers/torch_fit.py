# SPDX-License-Identifier: GPL-3.0-or-later
"""PyTorch's worker of bench/fit.sh: torch_fit.py MODE THREADS FOLDER CASE LIMIT SIZE STEPS

MODE is eager, checkpoint, or compile:B with an activation memory budget B from 0 to 1. FOLDER has arrays of one example,
which are repeated SIZE times. The process is forbidden more than LIMIT bytes of data beyond what it has, besides the
model's own tensors, once everything is loaded, compiled and its threads have started; then it runs one step and STEPS
timed ones and prints them as JSON. Where memory is short it fails in whichever way PyTorch does.
"""

import ctypes
import gc
import json
import resource
import sys

import torch
import torch._functorch.config
from torch.utils.checkpoint import checkpoint

import torch_models
import torch_worker
import worker

BLOCKS = (torch_models.Block, torch_models.ResidualBlock)


def add_checkpoints(module):
    """Every block keeps its operand alone."""
    for m in module.modules():
        if isinstance(m, BLOCKS):
            m.forward = (lambda plain: lambda *x: checkpoint(plain, *x, use_reentrant=False))(m.forward)


def data_bytes():
    """What counts for RLIMIT_DATA."""
    with open("/proc/self/status") as f:
        return next(1024 * int(line.split()[1]) for line in f if line.startswith("VmData:"))


def held(step):
    """Bytes of parameters, buffers, optimizer states and inputs, each storage once."""
    tensors = [*step.module.parameters(), *step.module.buffers(), *step.inputs]
    if step.optimizer:
        tensors += [x for s in step.optimizer.state.values() for x in s.values() if torch.is_tensor(x)]
    return sum({x.untyped_storage().data_ptr(): x.untyped_storage().nbytes() for x in tensors}.values())


def repeat(x, n):
    return x.repeat(n, *[1] * (x.dim() - 1))


def main():
    mode, threads, folder, case, limit, size, steps = sys.argv[1:]
    limit, size = int(limit), int(size)
    torch.set_num_threads(int(threads))
    if mode.startswith("compile:"):
        torch._functorch.config.activation_memory_budget = float(mode[8:])
    step = torch_worker.Step("default" if mode.startswith("compile:") else "eager", folder, json.loads(case))
    if mode == "checkpoint":
        add_checkpoints(step.module)
    one = step.inputs
    # Compiled code is for one batch: it is compiled, and run, at that size before the limit holds.
    step.inputs = [repeat(x, size) for x in one] if mode.startswith("compile:") else one
    step()
    for p in step.parameters:
        p.grad = None
    del step.loss
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    most = data_bytes() - held(step) + limit
    if most < data_bytes():
        sys.exit("the model alone is larger than the limit")
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    if step.inputs is one:
        step.inputs = [repeat(x, size) for x in one]
    step()
    worker.answer({"ms": [step() for _ in range(int(steps))], "version": torch.__version__})


if __name__ == "__main__":
    main()
