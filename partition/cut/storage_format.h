/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How saved values are stored: which forms a value may take, and what each takes in bytes and in time.
 *
 *   form    of      bytes            beyond the trip
 *   PLAIN   any     those of its type
 *   BF16    f32     half of them     rounding all elements and widening them, with save_dtype bf16
 *   BITS    bool    an eighth        packing and unpacking all elements
 *   GRAD    #head   none             nothing, nor the trip: the gradient is written in any case
 *
 * BITS keeps every value.  BF16 rounds to nearest with 8 bits of significand: an element is off by at most
 * 2^-8 of itself (by 2^-134 where it is subnormal), infinities and NaN stay.  The forward graph never reads a
 * rounded value, so that its results are those of the unrounded plan to the last bit.  GRAD is for what the
 * forward graph makes of a gradient (autodiff/loss_head.c): a `grad` result has memory from beginning to end.
 */
#ifndef GCUT_PARTITION_CUT_STORAGE_FORMAT_H
#define GCUT_PARTITION_CUT_STORAGE_FORMAT_H

#include "partition/cut/prices.h"

#define GCUT_BF16_ERROR 0x1p-8 /* the largest |round(x) - x| / |x| */
#define GCUT_LINE 64           /* memory is placed in multiples of so many bytes: fewer are no gain */

/* By value: may it be rounded?  Not where a result of the backward graph is its storage, nor where a step of
 * a step function may fall between an element and its rounding: where an op reads it whose derivative is zero
 * everywhere or that looks for the largest element, directly or in what ops other than contractions make of
 * it.  A comparison with 0 is harmless: rounding keeps signs.  Memory from `arena`. */
bool *gcut_roundable(gcut_arena *arena, const gcut_facts *f);

/* "plain", "bf16", "bits", "grad". */
const char *gcut_format_name(gcut_format form);
/* Does a value cross in other bytes than its own?  It is then called <name>.<form> between forward and
 * backward graph. */
bool gcut_format_packs(gcut_format form);
/* The type of a value of type t in that form. */
gcut_type gcut_format_type(gcut_module *m, const gcut_type *t, gcut_format form);
/* Its bytes, symbolic. */
gcut_dim gcut_format_bytes(gcut_module *m, const gcut_type *t, gcut_format form);

#endif
