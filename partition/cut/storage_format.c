/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Storage formats of saved values.
 */
#include "partition/cut/storage_format.h"

#include <math.h>

#include "partition/cut/decisions.h"

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

const char *gcut_format_name(gcut_format format)
{
    static const char *const names[] = {[GCUT_FORMAT_PLAIN] = "plain",
                                        [GCUT_FORMAT_BF16] = "bf16",
                                        [GCUT_FORMAT_BITS] = "bits",
                                        [GCUT_FORMAT_GRAD] = "grad"};
    return names[format];
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

/* ---- the cheapest ---- */

int64_t gcut_value_saved_bytes(const gcut_problem *p, gcut_ref v, gcut_format format)
{
    int64_t plain = p->price[v].bytes;
    if (format == GCUT_FORMAT_GRAD) return 0;
    return format == GCUT_FORMAT_BF16   ? plain / 2
           : format == GCUT_FORMAT_BITS ? plain / 8 + (plain % 8 != 0)
                                        : plain;
}

/* The round trip of the stored bytes plus both conversions. */
double gcut_saved_ns(const gcut_problem *p, gcut_ref v, gcut_format format)
{
    const gcut_price *c = &p->price[v];
    if (format == GCUT_FORMAT_PLAIN) return c->trip_ns;
    if (format == GCUT_FORMAT_GRAD) return 0;
    double share = c->bytes ? (double)gcut_value_saved_bytes(p, v, format) / (double)c->bytes : 0;
    return c->trip_ns * share + c->convert_ns;
}

bool gcut_format_allowed(const gcut_problem *p, gcut_ref v, gcut_format format)
{
    if (format == GCUT_FORMAT_BITS)
        return gcut_type_of(p->g, v)->dtype == GCUT_BOOL && gcut_def(p->g, v) && !p->g->is_body;
    if (format == GCUT_FORMAT_GRAD) return p->facts->grad[v] != 0;
    return format == GCUT_FORMAT_PLAIN || p->roundable[v];
}

static int64_t lines(int64_t bytes)
{
    return bytes / GCUT_LINE + (bytes % GCUT_LINE != 0);
}

gcut_format gcut_other_format(const gcut_problem *p, gcut_ref v)
{
    gcut_format other = GCUT_FORMAT_PLAIN;
    if (gcut_format_allowed(p, v, GCUT_FORMAT_BITS)) other = GCUT_FORMAT_BITS;
    if (p->opt->save_dtype == GCUT_BF16 && gcut_format_allowed(p, v, GCUT_FORMAT_BF16))
        other = GCUT_FORMAT_BF16;
    if (gcut_format_allowed(p, v, GCUT_FORMAT_GRAD)) other = GCUT_FORMAT_GRAD;
    bool smaller = lines(gcut_value_saved_bytes(p, v, other)) < lines(p->price[v].bytes);
    return smaller ? other : GCUT_FORMAT_PLAIN;
}

gcut_format gcut_format_of(const gcut_problem *p, gcut_ref v, double lambda)
{
    gcut_format other = gcut_other_format(p, v);
    if (isinf(lambda)) return other;
    double plain = p->price[v].trip_ns + lambda * (double)p->price[v].bytes;
    double packed = gcut_saved_ns(p, v, other) + lambda * (double)gcut_value_saved_bytes(p, v, other);
    return packed < plain ? other : GCUT_FORMAT_PLAIN;
}

gcut_problem gcut_problem_at(const gcut_problem *p, gcut_arena *arena, double lambda)
{
    gcut_problem q = *p;
    q.format = gcut_calloc(arena, p->g->values.n, sizeof *q.format);
    for (gcut_ref v = 1; v < p->g->values.n; v++) q.format[v] = gcut_format_of(p, v, lambda);
    return q;
}
