# SPDX-License-Identifier: GPL-3.0-or-later
"""PyTorch's workers of the bench: torch_worker.py MODE THREADS FOLDER CASE, with MODE eager, default or max-autotune.

FOLDER has the arrays that gradcut's worker wrote, CASE is JSON. See worker.py for what follows.
"""

import json
import sys
import time

import torch
import torch._inductor.config

import torch_models
import worker

DTYPES = {"<f4": torch.float32, "<i4": torch.int32}


def tensor(array):
    descr, shape, raw = array
    return torch.frombuffer(raw, dtype=DTYPES[descr]).reshape(shape) if shape else torch.tensor(0.0)


class Step:
    def __init__(self, mode, folder, case):
        values = {name: tensor(a) for name, a in worker.arrays(folder).items()}
        values.pop("lr", None)
        inputs = [values.pop(name).clone() for name in case["inputs"]]
        inputs = [x.long() if x.dtype == torch.int32 else x for x in inputs]
        self.module = getattr(torch_models, case["net"])({k: tuple(v.shape) for k, v in values.items()}, case["facts"])
        torch_models.load(self.module, values)
        self.inputs = inputs
        if case["facts"].get("channels_last"):
            self.module.to(memory_format=torch.channels_last)
            self.inputs = [x.contiguous(memory_format=torch.channels_last) if x.dim() == 4 else x for x in inputs]
        self.parameters = [p for p in self.module.parameters() if p.requires_grad]
        self.optimizer = None
        if case["optimizer"] != "none":  # fused is the fastest on a CPU
            self.optimizer = torch.optim.AdamW(self.parameters, lr=case["rate"], weight_decay=0.01, fused=True)
        self.forward = self.module
        if torch.backends.cpu.get_cpu_capability() == "AVX2":  # the compiler asks the processor
            torch._inductor.config.cpp.simdlen = 256
        if mode != "eager":
            self.forward = torch.compile(self.module, mode=mode, dynamic=False)

    def gradients(self):
        for p in self.parameters:
            p.grad = None
        self.loss = self.forward(*self.inputs)
        self.loss.backward()

    def __call__(self):
        start = time.perf_counter()
        self.gradients()
        if self.optimizer:
            self.optimizer.step()
        return 1e3 * (time.perf_counter() - start)

    def compile(self):
        """Seconds that the first gradients take more than the second ones. Nothing is updated but statistics."""
        start = time.perf_counter()
        self.gradients()
        middle = time.perf_counter()
        self.gradients()
        return max(0, 2 * middle - start - time.perf_counter())

    def saved(self):
        """Bytes of what autograd keeps for the backward graph, without parameters and inputs, each storage once."""
        given = {x.untyped_storage().data_ptr() for x in (*self.parameters, *self.inputs, *self.module.buffers())}
        kept = {}

        def pack(x):
            s = x.untyped_storage()
            if s.data_ptr() not in given:
                kept[s.data_ptr()] = s.nbytes()
            return x

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
            loss = self.forward(*self.inputs)
        del loss
        return sum(kept.values())


def main():
    mode, threads, folder, case = sys.argv[1:]
    torch.set_num_threads(int(threads))
    step = Step(mode, folder, json.loads(case))
    worker.answer({"compile_s": step.compile() if mode != "eager" else 0, "version": torch.__version__})
    worker.serve(step, lambda: step.loss.item(), step.saved)


if __name__ == "__main__":
    main()
