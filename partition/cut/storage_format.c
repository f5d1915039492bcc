/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Storage formats of saved values.
 */
#include "partition/cut/storage_format.h"

#include "graph/ops/node_facts.h"

#include <string.h>

/* ---- what may be rounded ---- */

/* The result of n jumps with operand k; with any float of a region in which some result jumps (`inside`). */
static bool jumps_on(const gcut_graph *g, const gcut_node *n, uint32_t k, bool inside)
{
    const gcut_op_info *info = gcut_op_get((gcut_op)n->op);
    if (!gcut_dtype_is_float(gcut_type_of(g, gcut_arg(g, n, k))->dtype)) return false;
    if (n->nregs || info->class == GCUT_CLASS_VIEW) return inside;
    if (info->emit == GCUT_EMIT_POOL) return k == 0 && n->nargs == 2; /* the position of the maximum */
    gcut_dtype made = gcut_type_of(g, n->res0)->dtype;
    if (made == GCUT_BOOL && n->nargs == 2 && gcut_is_zero(g, gcut_arg(g, n, 1 - k))) return false;
    return !gcut_dtype_is_float(made) || gcut_op_why_zero(info) != NULL;
}

/* Some result in the bodies of n jumps with an operand of its node. */
static bool jumps_inside(const gcut_graph *g, const gcut_node *n)
{
    for (uint32_t r = 0; r < n->nregs; r++) {
        const gcut_graph *body = gcut_region_at(g, n, r)->body;
        for (uint32_t i = 0; i < body->nodes.n; i++) {
            const gcut_node *m = gcut_node_at(body, i);
            const bool inside = jumps_inside(body, m);
            for (uint32_t k = 0; k < m->nargs; k++)
                if (jumps_on(body, m, k, inside)) return true;
        }
    }
    return false;
}

bool *gcut_roundable(gcut_arena *arena, const gcut_facts *f)
{
    const gcut_graph *g = f->g;
    bool *exact = gcut_calloc(arena, g->values.n, 1); /* by value: it must not be rounded */
    for (uint32_t i = 0; i < g->results.n; i++)
        exact[f->base[g->results.at[i].value]] |= gcut_result_is_late(&g->results.at[i]);
    for (uint32_t i = g->nodes.n; i-- > 0;) {
        const gcut_node *n = gcut_node_at(g, i);
        const bool inside = f->live[i] && jumps_inside(g, n);
        bool through = false; /* it is recomputed from its operands when one of these jumps too */
        for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++)
            through |= exact[v] && f->side[v] != GCUT_SIDE_BACKWARD;
        through &= gcut_node_class(n) != GCUT_CLASS_CONTRACTION;
        for (uint32_t k = 0; f->live[i] && k < n->nargs; k++)
            if (through || jumps_on(g, n, k, inside)) exact[gcut_arg(g, n, k)] = true;
    }
    for (gcut_ref v = g->values.n; v-- > 1;) exact[f->base[v]] |= exact[v];
    bool *roundable = gcut_calloc(arena, g->values.n, 1);
    for (gcut_ref v = 1; v < g->values.n; v++)
        roundable[v] = !exact[v] && gcut_def(g, v) && gcut_type_of(g, v)->dtype == GCUT_F32 && !g->is_body;
    return roundable;
}

/* ---- types and bytes ---- */

typedef struct stored {
    const char *name;
    gcut_dtype dtype; /* what is stored; GCUT_NO_DTYPE = elements of the own type */
    int per;          /* how many elements of the value each of them holds */
} stored;

static const stored formats[] = {[GCUT_FORMAT_PLAIN] = {"plain", GCUT_NO_DTYPE, 1},
                                 [GCUT_FORMAT_BF16] = {"bf16", GCUT_BF16, 1},
                                 [GCUT_FORMAT_BITS] = {"bits", GCUT_U8, 8},
                                 [GCUT_FORMAT_GRAD] = {"grad", GCUT_NO_DTYPE, 1}};

const char *gcut_format_name(gcut_format format)
{
    return formats[format].name;
}

bool gcut_format_read(const char *name, gcut_format *out)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (!strcmp(name, formats[i].name)) return *out = (gcut_format)i, true;
    return false;
}

bool gcut_format_packs(gcut_format format)
{
    return formats[format].dtype != GCUT_NO_DTYPE;
}

gcut_type gcut_format_type(gcut_module *m, const gcut_type *t, gcut_format format)
{
    const stored *s = &formats[format];
    gcut_type out = *t;
    if (gcut_format_packs(format)) out.dtype = s->dtype;
    if (s->per > 1)
        out = (gcut_type){.dtype = out.dtype,
                          .rank = 1,
                          .dim = {gcut_dim_make(m->dims, GCUT_DIM_CEILDIV, gcut_type_numel(m, t), s->per)}};
    return out;
}

int64_t gcut_format_bytes_at(gcut_format format, gcut_dtype dtype, int64_t numel)
{
    const stored *s = &formats[format];
    if (format == GCUT_FORMAT_GRAD) return 0;
    return (numel / s->per + (numel % s->per != 0)) *
           gcut_dtype_bytes(gcut_format_packs(format) ? s->dtype : dtype);
}

gcut_dim gcut_format_bytes(gcut_module *m, const gcut_type *t, gcut_format format)
{
    if (format == GCUT_FORMAT_GRAD) return 0;
    gcut_type s = gcut_format_type(m, t, format);
    return gcut_dim_make(m->dims, GCUT_DIM_MUL, gcut_type_numel(m, &s), gcut_dtype_bytes(s.dtype));
}
