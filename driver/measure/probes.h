/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The probes of a calibration: each function adds some to `out` and returns the index of the first.
 */
#ifndef GCUT_DRIVER_MEASURE_PROBES_H
#define GCUT_DRIVER_MEASURE_PROBES_H

#include "driver/measure/rig.h"

#define GCUT_PROBE_OPS 4 /* applications of the op in an elementwise probe */
/* One probe for each elementwise op of one or two floats; the first probe is the same loop without an op.  few: of
 * a few ops that stand for the others. */
uint32_t gcut_probes_pointwise(gcut_arena *arena, gcut_probes *out, bool few);
typedef enum gcut_probe_table {
    GCUT_PROBES_OTHERS,       /* reductions, moves, draws */
    GCUT_PROBES_CONTRACTIONS, /* convolutions, attention */
    GCUT_PROBES_PRODUCTS,     /* one: [B, M, K] times [B, K, N] */
    GCUT_PROBES_STREAMS       /* two: read 4096 N, read and write N */
} gcut_probe_table;
uint32_t gcut_probes_add(gcut_arena *arena, gcut_probes *out, gcut_probe_table table, bool few);

#endif
