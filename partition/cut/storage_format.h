/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Storage formats of saved values: where each is allowed, its bytes, and its time.
 *
 *   format  of      bytes            time besides the round trip
 *   PLAIN   any     those of its type
 *   BF16    f32     half of them     rounding all elements and widening them, with save_dtype bf16
 *   BITS    bool    an eighth        packing and unpacking all elements
 *   GRAD    #head   none             none, and no round trip: the gradient is written anyway
 *
 * BITS is exact.  BF16 rounds to nearest with 8 bits of significand: the relative error of an element is at
 * most 2^-8 (the absolute error 2^-134 where it is subnormal), infinities and NaN stay.  The forward graph
 * never reads a rounded value, so its results have the bits of the unrounded plan.  GRAD is for a part of a
 * gradient that the forward graph computes (autodiff/loss_head.c): the memory of a `grad` result exists in
 * both calls.
 */
#ifndef GCUT_PARTITION_CUT_STORAGE_FORMAT_H
#define GCUT_PARTITION_CUT_STORAGE_FORMAT_H

#include "partition/cut/prices.h"

#define GCUT_BF16_ERROR 0x1p-8 /* the largest |round(x) - x| / |x| */

/* By value: may it be rounded?  Not where a result of the backward graph has its storage, nor where an op
 * with a jump (derivative zero everywhere, or a maximum's position) reads it, directly or through ops other
 * than contractions: the jump may lie between an element and its rounding.  A comparison with 0 is allowed:
 * rounding keeps signs.  Memory from `arena`. */
bool *gcut_roundable(gcut_arena *arena, const gcut_facts *f);

/* "plain", "bf16", "bits", "grad". */
const char *gcut_format_name(gcut_format format);
/* The format of that name; false: there is none. */
bool gcut_format_read(const char *name, gcut_format *out);
/* True for BF16 and BITS: the value crosses packed, under the name <name>.<format>. */
bool gcut_format_packs(gcut_format format);
/* The type of a value of type t in that format. */
gcut_type gcut_format_type(gcut_module *m, const gcut_type *t, gcut_format format);
/* Its bytes, symbolic; and of `numel` elements of a dtype. */
gcut_dim gcut_format_bytes(gcut_module *m, const gcut_type *t, gcut_format format);
int64_t gcut_format_bytes_at(gcut_format format, gcut_dtype dtype, int64_t numel);

#endif
