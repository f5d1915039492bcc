/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the kernels themselves fix, on every machine: how loops are cut, how large they may get, and what the
 * run-time library does.  What describes a machine is in machine/ (thresholds.def).
 */
#ifndef GCUT_MACHINE_LOWER_KERNEL_SIZES_H
#define GCUT_MACHINE_LOWER_KERNEL_SIZES_H

/* ---- the order of sums: other numbers give other bits ---- */

/* Blocks of rows of a blocked loop: fixed, so that results do not depend on threads. */
#define GCUT_BLOCKS 16
#define GCUT_LANES 64 /* accumulators of a float row reduction */

/* ---- how loops are cut ---- */

#define GCUT_CHUNK 4096 /* elements of a flat loop that one row holds */
/* Nodes of a loop, and of a prologue: within what a register allocator and a reader can take. */
#define GCUT_MAX_MEMBERS 96
#define GCUT_MAX_PROLOGUE 48
/* Elements from which on a loop that sums up all of them is flat even where an operand steps unevenly. */
#define GCUT_UNEVEN_LEAST (8 * GCUT_CHUNK)
/* Elements of a row from which on a flat loop is as fast in rows. */
#define GCUT_SHORT_ROW 64
/* Bytes of a result and of its rows from which on a loop has code to write it past the caches: no last cache
 * worth the name is smaller, and much of a shorter row is ends.  What is written so, the step decides. */
#define GCUT_STREAM_LEAST (4 << 20)
#define GCUT_STREAM_ROW 2048

/* ---- what predictions know of the run-time library ---- */

#define GCUT_VECTOR_BYTES 64 /* of AVX-512 */
/* A loop that reduces rows ends a row, in each phase, with the sum of its accumulators: GCUT_ROW_END times the model's
 * row_ns.  A remainder after whole vectors adds GCUT_ROW_REMAINDER times row_ns, and each element of a remainder takes
 * GCUT_TAIL times as long as one in a vector.  Fitted to softmax, cross_entropy, layer_norm and sums over rows of 16 to
 * 4096 elements, on AVX-512. */
#define GCUT_ROW_END 0.5
#define GCUT_ROW_REMAINDER 1
#define GCUT_TAIL 8
/* Accumulators of gcut_rt_reduce_* (kernels/rt/move/reduce.c): a run of a multiple of as many elements has no remainder.  The
 * end of a run is priced as the end of a row, by GCUT_ROW_END and GCUT_ROW_REMAINDER. */
#define GCUT_REDUCTION_LANES 16
/* Work that is worth a thread, of kernels that have no team (machine/lower/team.h): the library decides for them by costs
 * of an element that are fixed in each of its files, of which this is a guess between GCUT_RT_GRAIN_PS, 3 us, and what
 * gemm.c asks of a product, 3.9 us. */
#define GCUT_GRAIN_NS 4000
/* A size that nobody gave, where products are judged. */
#define GCUT_ASSUMED_SIZE 1024

#endif
