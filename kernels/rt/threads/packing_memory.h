/* SPDX-License-Identifier: MIT
 *
 * Packing memory: what a product packs its operands into, and a convolution its panels.  It is
 * the only thing that the run-time library allocates.
 *
 *     gcut_rt_borrow     free list, this thread's block first -> malloc -> the static reserve, locked
 *     gcut_rt_give_back  to the front of the free list; the reserve is unlocked
 *
 * Blocks stay on the free list, which all threads share, and are freed when the library is unloaded.
 */
#ifndef GCUT_KERNELS_RT_THREADS_PACKING_MEMORY_H
#define GCUT_KERNELS_RT_THREADS_PACKING_MEMORY_H

#include <stddef.h>

/* So much can always be had, if only by one thread after the other. */
#define GCUT_RT_RESERVE ((size_t)160 << 10)

typedef struct gcut_rt_packing_memory {
    void *at;     /* aligned to 64 bytes */
    size_t bytes; /* at least what was asked for or, without memory, GCUT_RT_RESERVE */
    struct gcut_rt_packing_block *block;
} gcut_rt_packing_memory;

gcut_rt_packing_memory gcut_rt_borrow(size_t bytes);
void gcut_rt_give_back(gcut_rt_packing_memory w);

#endif
