# SPDX-License-Identifier: GPL-3.0-or-later
"""What the workers written in Python have in common; the protocol is that of bench/worker.h."""

import ast
import json
import math
import mmap
import os
import struct
import sys


def arrays(folder):
    """name -> (dtype as in NumPy, shape, bytes) of every .npy file; nothing is copied before it is read."""
    out = {}
    for file in sorted(os.listdir(folder)):
        if not file.endswith(".npy"):
            continue
        with open(os.path.join(folder, file), "rb") as f:
            raw = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_COPY)
        long = raw[6] > 1
        size = struct.unpack("<I", raw[8:12])[0] if long else struct.unpack("<H", raw[8:10])[0]
        start = 12 if long else 10
        head = ast.literal_eval(raw[start:start + size].decode())
        assert not head["fortran_order"]
        out[file[:-4]] = (head["descr"], head["shape"], memoryview(raw)[start + size:])
    return out


def serve(step, loss, saved):
    """Answers commands until the input ends. step() returns its milliseconds."""
    for line in sys.stdin:
        words = line.split()
        if words[0] == "step":
            for _ in range(int(words[1])):
                step()
            answer({"ms": [step() for _ in range(int(words[2]))]})
        elif words[0] == "saved":
            answer({"saved_bytes": saved()})
        else:
            x = float(loss())
            answer({"loss": x if math.isfinite(x) else None})


def answer(what):
    print(json.dumps(what), flush=True)
