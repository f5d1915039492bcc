/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which buffer has last been in each part of the arena, while a step is walked.
 *
 * At its first use, the memory of a buffer is as near in the caches as the last touches of the buffers that were placed
 * there before.
 */
#ifndef GCUT_MACHINE_COST_OCCUPANTS_H
#define GCUT_MACHINE_COST_OCCUPANTS_H

#include "machine/lower/lowered.h"

/* From offset `begin` to the next one's. */
typedef struct gcut_occupant {
    int64_t begin;
    uint32_t buffer; /* GCUT_NONE: none has been there */
} gcut_occupant;

typedef struct gcut_touched_piece {
    double touched; /* when; -INFINITY: never */
    int64_t bytes;
} gcut_touched_piece;

typedef struct gcut_occupants {
    const int64_t *offset, *bytes; /* by buffer; bytes of its place, 0: it has none */
    double step_bytes; /* of all memory of the step: arena, block of saved values, what callers bind */
    GCUT_VEC(gcut_occupant) at;          /* by rising offsets, the first of 0, the last of INT64_MAX */
    GCUT_VEC(gcut_touched_piece) pieces; /* of the place of one buffer, while it is looked at */
} gcut_occupants;

/* Places all buffers; memory from `arena`. */
void gcut_occupants_init(gcut_occupants *o, gcut_arena *arena, const gcut_program *p,
                         const gcut_dim_binding *at, uint32_t nat, int threads);

/* Has the buffer a place in the arena? */
bool gcut_occupants_has(const gcut_occupants *o, uint32_t buffer);

/* The buffer is from now on in its place.  Returns when that place was touched: of every byte the time in `touched` of
 * the buffer that was there before, and of these the median; -INFINITY where it was never touched.
 *   touched: by buffer; NAN: never */
double gcut_occupy(gcut_occupants *o, gcut_arena *arena, uint32_t buffer, const double *touched);

#endif
