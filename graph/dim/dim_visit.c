/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Dimensions, computed bottom up by functions of the caller.
 */
#include "graph/dim/dim_table.h"

static const void *visit_atom(const gcut_dims *t, const gcut_dim_atom *a, const gcut_dim_visitor *v)
{
    if (a->name) return v->symbol(v->self, a->self);
    const void *x = gcut_dim_visit(t, a->a, v), *y = gcut_dim_visit(t, a->b, v);
    return v->binary(v->self, a->op, x, y, a->a);
}

/* |coef| times the atoms of the monomial */
static const void *visit_term(const gcut_dims *t, gcut_dim_term term, const gcut_dim_visitor *v)
{
    const gcut_dim_mono *m = &t->monos.at[term.mono];
    const int64_t coef = term.coef < 0 ? -term.coef : term.coef;
    const void *product = coef != 1 || m->n == 0 ? v->number(v->self, coef) : NULL;
    for (uint32_t i = 0; i < m->n; i++) {
        const void *x = visit_atom(t, &t->atoms.at[m->atom[i]], v);
        product = product ? v->binary(v->self, GCUT_DIM_MUL, product, x, GCUT_DIM_BAD) : x;
    }
    return product;
}

const void *gcut_dim_visit(const gcut_dims *t, gcut_dim d, const gcut_dim_visitor *v)
{
    if (d >= 0) return v->number(v->self, d);
    const gcut_dim_expr *e = gcut_dim_expr_of(t, d);
    uint32_t lead = 0;
    while (lead < e->n && e->term[lead].coef < 0) lead++;
    const void *sum = lead < e->n ? visit_term(t, e->term[lead], v) : v->number(v->self, 0);
    for (uint32_t i = 0; i < e->n; i++) {
        if (i == lead) continue;
        const void *x = visit_term(t, e->term[i], v);
        sum = v->binary(v->self, e->term[i].coef < 0 ? GCUT_DIM_SUB : GCUT_DIM_ADD, sum, x, GCUT_DIM_BAD);
    }
    return sum;
}
