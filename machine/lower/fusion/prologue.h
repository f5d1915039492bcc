/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Prologues: operands of matrix products that are computed while they are packed.
 */
#ifndef GCUT_MACHINE_LOWER_FUSION_PROLOGUE_H
#define GCUT_MACHINE_LOWER_FUSION_PROLOGUE_H

#include "machine/lower/lowered.h"

/* What decides how often a product packs its operands, of one batch. */
typedef struct gcut_product {
    gcut_dim m, n, k; /* m: with the batches that are rows */
    gcut_dim csa;     /* elements of A from one step of k to the next */
    int size;         /* bytes of an element */
} gcut_product;
gcut_product gcut_product_of(const gcut_lowered *h, uint32_t kernel);
/* How often the product packs each element of the operand that it computes, and the prologue's buffer is
 * empty; 0: the operand is computed into that buffer, and packed from there. */
int64_t gcut_prologue_packings(const gcut_lowered *h, uint32_t kernel, const gcut_dim_binding *at,
                               uint32_t nat, int threads);

#endif
