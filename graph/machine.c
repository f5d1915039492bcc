/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The machine model that is shipped.
 */
#include "graph/machine.h"

/* Two cores of the machine in doc/kernels.md's roofline; every figure was measured there. */
gcut_machine gcut_machine_shipped(void)
{
    return (gcut_machine){
        .dram_read_ns_per_byte = 1 / 33.0,  /* 16.5 GB/s per core, two cores */
        .dram_write_ns_per_byte = 1 / 18.8, /* 9.4 GB/s per core with ordinary stores, two cores */
        .cache_ns_per_byte = 2 / 56.0,      /* written once and read once at L3's 28 GB/s per core */
        .gemm_ns_per_flop = 1 / 312.0,      /* 312 GF/s over the matrix products of a GPT-2 step */
        .kernel_ns = 1000,                  /* one parallel region and its barrier */
        .pointwise_scale = 0.5,             /* the op table states one core */
    };
}
