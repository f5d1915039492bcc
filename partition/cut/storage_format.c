/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Storage formats of saved values.
 */
#include "partition/cut/storage_format.h"

#include <string.h>

/* ---- what may be rounded ---- */

static bool steps_on(const gcut_graph *g, const gcut_node *n, uint32_t k);

static bool body_steps(const gcut_graph *body)
{
    for (uint32_t i = 0; i < body->nodes.n; i++)
        for (uint32_t k = 0; k < gcut_node_at(body, i)->nargs; k++)
            if (steps_on(body, gcut_node_at(body, i), k)) return true;
    return false;
}

/* The result of n jumps with operand k.  Any operand of a region may be one. */
static bool steps_on(const gcut_graph *g, const gcut_node *n, uint32_t k)
{
    const gcut_op_info *info = gcut_op_get((gcut_op)n->op);
    bool found = false;
    for (uint32_t r = 0; r < n->nregs; r++) found |= body_steps(gcut_region_at(g, n, r)->body);
    if (!gcut_dtype_is_float(gcut_type_of(g, gcut_arg(g, n, k))->dtype)) return false;
    if (n->nregs || info->class == GCUT_CLASS_VIEW) return found;
    if (info->emit == GCUT_EMIT_POOL) return k == 0 && n->nargs == 2; /* the position of the maximum */
    gcut_dtype made = gcut_type_of(g, n->res0)->dtype;
    if (made == GCUT_BOOL && n->nargs == 2 && gcut_is_zero(g, gcut_arg(g, n, 1 - k))) return false;
    return !gcut_dtype_is_float(made) || gcut_op_why_zero(info) != NULL;
}

bool *gcut_roundable(gcut_arena *arena, const gcut_facts *f)
{
    const gcut_graph *g = f->g;
    bool *exact = gcut_calloc(arena, g->values.n, 1);
    for (uint32_t i = 0; i < g->results.n; i++)
        exact[f->base[g->results.at[i].value]] |= g->results.at[i].role != GCUT_ROLE_out;
    for (uint32_t i = g->nodes.n; i-- > 0;) {
        const gcut_node *n = gcut_node_at(g, i);
        bool through = false; /* it is recomputed from its operands when one of these jumps too */
        for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++)
            through |= exact[v] && f->where[v] != GCUT_SIDE_BACKWARD;
        through &= gcut_node_class(n) != GCUT_CLASS_CONTRACTION;
        for (uint32_t k = 0; f->live[i] && k < n->nargs; k++)
            if (through || steps_on(g, n, k)) exact[gcut_arg(g, n, k)] = true;
    }
    for (gcut_ref v = g->values.n; v-- > 1;) exact[f->base[v]] |= exact[v];
    for (gcut_ref v = 1; v < g->values.n; v++)
        exact[v] = !exact[v] && gcut_def(g, v) && gcut_type_of(g, v)->dtype == GCUT_F32 && !g->is_body;
    return exact;
}

/* ---- types and bytes ---- */

static gcut_dtype dtype_of(gcut_format format, gcut_dtype plain)
{
    return format == GCUT_FORMAT_BF16 ? GCUT_BF16 : format == GCUT_FORMAT_BITS ? GCUT_U8 : plain;
}

static const char *const names[] = {[GCUT_FORMAT_PLAIN] = "plain",
                                    [GCUT_FORMAT_BF16] = "bf16",
                                    [GCUT_FORMAT_BITS] = "bits",
                                    [GCUT_FORMAT_GRAD] = "grad"};

const char *gcut_format_name(gcut_format format)
{
    return names[format];
}

bool gcut_format_read(const char *name, gcut_format *out)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i])) return *out = (gcut_format)i, true;
    return false;
}

bool gcut_format_packs(gcut_format format)
{
    return format == GCUT_FORMAT_BF16 || format == GCUT_FORMAT_BITS;
}

gcut_type gcut_format_type(gcut_module *m, const gcut_type *t, gcut_format format)
{
    gcut_type out = *t;
    out.dtype = dtype_of(format, t->dtype);
    if (format == GCUT_FORMAT_BITS)
        out = (gcut_type){.dtype = GCUT_U8,
                          .rank = 1,
                          .dim = {gcut_dim_make(m->dims, GCUT_DIM_CEILDIV, gcut_type_numel(m, t), 8)}};
    return out;
}

gcut_dim gcut_format_bytes(gcut_module *m, const gcut_type *t, gcut_format format)
{
    if (format == GCUT_FORMAT_GRAD) return 0;
    gcut_type s = gcut_format_type(m, t, format);
    return gcut_dim_make(m->dims, GCUT_DIM_MUL, gcut_type_numel(m, &s), gcut_dtype_bytes(s.dtype));
}
