/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Dimensions as canonical text and as C.
 */
#include <inttypes.h>

#include "graph/dim/dim_table.h"

/* prefix NULL = canonical text, else C, whose functions begin with `call`. */
typedef struct printer {
    const gcut_dims *t;
    const char *prefix;
    gcut_text *out;
    const char *call;
} printer;

static void print_sum(const printer *p, const gcut_dim_term *term, uint32_t n);

static void print_int(const printer *p, int64_t x)
{
    gcut_text_add(p->out, p->prefix && x > INT32_MAX ? "INT64_C(%" PRId64 ")" : "%" PRId64, x);
}

static void print_operand(const printer *p, gcut_dim d)
{
    if (d >= 0)
        print_int(p, d);
    else
        print_sum(p, gcut_dim_expr_of(p->t, d)->term, gcut_dim_expr_of(p->t, d)->n);
}

/* ceildiv(x, c) has the normal form (x + c-1) div c; printed as ceildiv(x, c). */
static bool print_ceildiv(const printer *p, const gcut_dim_atom *a)
{
    if (a->op != GCUT_DIM_DIV || a->b < 2 || a->a >= 0) return false;
    const gcut_dim_expr *x = gcut_dim_expr_of(p->t, a->a);
    gcut_dim_term last = x->term[x->n - 1];
    if (last.mono != 0 || last.coef != a->b - 1) return false;
    gcut_text_add(p->out, "%sceildiv(", p->call);
    print_sum(p, x->term, x->n - 1);
    return true;
}

static void print_atom(const printer *p, const gcut_dim_atom *a)
{
    static const char *const text[] = {[GCUT_DIM_DIV] = "div",
                                       [GCUT_DIM_CEILDIV] = "ceildiv",
                                       [GCUT_DIM_MOD] = "mod",
                                       [GCUT_DIM_MIN] = "min",
                                       [GCUT_DIM_MAXOF] = "max"};
    if (a->name) {
        gcut_text_add(p->out, "%s%s", p->prefix ? p->prefix : "", a->name);
        return;
    }
    if (!print_ceildiv(p, a)) {
        gcut_text_add(p->out, "%s%s%s(", p->call, p->prefix && a->op == GCUT_DIM_DIV ? "floor" : "",
                      text[a->op]);
        print_operand(p, a->a);
    }
    gcut_text_add(p->out, p->prefix ? ", " : ",");
    print_operand(p, a->b);
    gcut_text_add(p->out, ")");
}

/* coef > 0 */
static void print_term(const printer *p, int64_t coef, uint32_t mono)
{
    const gcut_dim_mono *m = &p->t->monos.at[mono];
    if (coef != 1 || m->n == 0) print_int(p, coef);
    for (uint32_t i = 0; i < m->n; i++) {
        if (i || coef != 1) gcut_text_add(p->out, "*");
        print_atom(p, &p->t->atoms.at[m->atom[i]]);
    }
}

/* There is no unary minus: the first positive term leads, or a 0. */
static void print_sum(const printer *p, const gcut_dim_term *term, uint32_t n)
{
    uint32_t lead = 0;
    while (lead < n && term[lead].coef < 0) lead++;
    if (lead < n)
        print_term(p, term[lead].coef, term[lead].mono);
    else
        gcut_text_add(p->out, "0");
    for (uint32_t i = 0; i < n; i++) {
        if (i == lead) continue;
        gcut_text_add(p->out, term[i].coef < 0 ? "-" : "+");
        print_term(p, term[i].coef < 0 ? -term[i].coef : term[i].coef, term[i].mono);
    }
}

void gcut_dim_print(const gcut_dims *t, gcut_dim d, gcut_text *out)
{
    print_operand(&(printer){t, NULL, out, ""}, d);
}

const char *gcut_dim_text(gcut_arena *a, const gcut_dims *t, gcut_dim d)
{
    gcut_text out = {.arena = a};
    gcut_dim_print(t, d, &out);
    return out.at;
}

static void print_c(const printer *p, gcut_dim d)
{
    if (d >= 0) {
        gcut_text_add(p->out, "INT64_C(%" PRId64 ")", d);
        return;
    }
    bool sum = gcut_dim_expr_of(p->t, d)->n > 1 || gcut_dim_expr_of(p->t, d)->term[0].coef != 1;
    if (sum) gcut_text_add(p->out, "(");
    print_operand(p, d);
    if (sum) gcut_text_add(p->out, ")");
}

void gcut_dim_print_c(const gcut_dims *t, gcut_dim d, const char *prefix, gcut_text *out)
{
    print_c(&(printer){t, prefix, out, "gcut_rt_"}, d);
}

void gcut_dim_print_real(const gcut_dims *t, gcut_dim d, const char *prefix, gcut_text *out)
{
    print_c(&(printer){t, prefix, out, "gcut_rt_real_"}, d);
}
