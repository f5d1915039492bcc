# SPDX-License-Identifier: GPL-3.0-or-later
"""Words of Threefry-2x32 with 20 rounds, from JAX.

    python tests/reference/threefry.py            (jax 0.5 or later, CPU)

writes threefry.txt beside this script.  A line: key, counter, the 64 random bits,
all three as signed decimal numbers; jax.random.bits(key, (n,), uint64) is the
column of the counters 0 to n - 1.
"""

import pathlib

import jax
import numpy as np
from jax.extend.random import threefry_2x32

jax.config.update("jax_enable_x64", True)

KEYS = [0, 1, -1, 42, 0x0123456789ABCDEF, -(2**63), 2**63 - 1]
COUNTERS = [0, 1, 2, 3, 1000, 2**32 - 1, 2**32, 2**32 + 5, 2**63 - 1, -1]


def words(x):
    return np.array([(x >> 32) & 0xFFFFFFFF, x & 0xFFFFFFFF], dtype=np.uint32)


with open(pathlib.Path(__file__).with_suffix(".txt"), "w") as out:
    for k in KEYS:
        for i in COUNTERS:
            hi, lo = (int(w) for w in threefry_2x32(words(k), words(i)))
            bits = hi << 32 | lo
            print(k, i, bits - 2**64 if bits >> 63 else bits, file=out)
        key = jax.random.wrap_key_data(words(k), impl="threefry2x32")
        column = jax.random.bits(key, (4,), "uint64")
        for i in range(4):
            hi, lo = (int(w) for w in threefry_2x32(words(k), words(i)))
            assert int(column[i]) == hi << 32 | lo
