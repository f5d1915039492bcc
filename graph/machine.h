/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The machine model: everything that times are predicted from.  Plans price recomputation by it
 * (partition/), programs their kernels (kernels/).
 */
#ifndef GCUT_GRAPH_MACHINE_H
#define GCUT_GRAPH_MACHINE_H

/* ns, bytes, one core unless said otherwise. */
typedef struct gcut_machine {
    double dram_read_ns_per_byte, dram_write_ns_per_byte; /* of the step's thread count together */
    double cache_ns_per_byte; /* a materialised temporary that stays in L2/L3, written and read back */
    double gemm_ns_per_flop;  /* multiply and add = 2 flops */
    double kernel_ns;         /* fixed cost of one more kernel */
    double pointwise_scale;   /* multiplies the op table's cost_ps / 1000, = 1/threads */
} gcut_machine;

/* Of one machine with two cores; the same everywhere, so that plans are. */
gcut_machine gcut_machine_shipped(void);

#endif
