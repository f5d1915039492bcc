/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Checks of operands and attributes of every op, and the shape rules of elementwise ops.  The other rules,
 * one function per name in the shape column of ops.def, are in shape_*.c.
 */
#include "graph/ops/infer.h"

#include <math.h>
#include <stdio.h>

#include "graph/ops/shape_rule.h"

void gcut_shape_same(infer *s)
{
    for (uint32_t k = 1; k < s->nargs; k++) {
        same_dtype(s, 0, k);
        same_shape(s, 0, k);
    }
    const gcut_attr *approx = attr(s, GCUT_KEY_approx);
    if (approx && strcmp(approx->u.str, "none") != 0 && strcmp(approx->u.str, "tanh") != 0)
        BAD(s, "'%s': approx must be \"none\" or \"tanh\", not \"%s\"", opname(s), approx->u.str);
    const gcut_attr *bounds[] = {attr(s, GCUT_KEY_lo), attr(s, GCUT_KEY_hi)};
    for (int k = 0; k < 2; k++)
        if (bounds[k] && isnan(bounds[k]->u.num.f))
            BAD(s, "'%s': %s must be a number, not nan", opname(s), gcut_attr_name(bounds[k]->key));
    *s->out = *in(s, 0);
}

void gcut_shape_test(infer *s)
{
    gcut_shape_same(s);
    s->out->dtype = GCUT_BOOL;
}

void gcut_shape_cast(infer *s)
{
    *s->out = *in(s, 0);
    s->out->dtype = dtype_of(s, GCUT_KEY_to);
}

void gcut_shape_select(infer *s)
{
    if (in(s, 0)->dtype != GCUT_BOOL) BAD(s, "'select': operand 1 must be bool, not %s", show(s, in(s, 0)));
    same_dtype(s, 1, 2);
    same_shape(s, 1, 2);
    same_shape(s, 1, 0);
    *s->out = *in(s, 1);
}

/* ---- dispatch ---- */

static void (*const rules[GCUT_NOPS])(infer *) = {
#define OP(id, operands, types, attr, rule, ...) [GCUT_OP_##id] = gcut_shape_##rule,
#include "graph/ops/ops.def"
#undef OP
};

static bool dtype_fits(char want, gcut_dtype t)
{
    switch (want) {
    case 'F': return gcut_dtype_is_float(t);
    case 'N': return gcut_dtype_is_float(t) || gcut_dtype_is_int(t);
    case 'B': return t == GCUT_BOOL || gcut_dtype_is_int(t);
    case 'K':
    case 'I': return gcut_dtype_is_int(t);
    default: return true;
    }
}

static void check_operands(infer *s)
{
    const gcut_op_info *info = gcut_op_get(s->spec->op);
    static const struct {
        char letter;
        const char *text;
    } want[] = {{'F', "a float"},
                {'N', "a number"},
                {'B', "bool or an integer"},
                {'I', "an integer"},
                {'K', "a key"}};
    if (s->nargs < info->lo || (info->hi != 255 && s->nargs > info->hi)) {
        char range[32];
        if (info->hi == 255)
            snprintf(range, sizeof range, "at least %d", info->lo);
        else if (info->lo != info->hi)
            snprintf(range, sizeof range, "%d to %d", info->lo, info->hi);
        else
            snprintf(range, sizeof range, "%d", info->lo);
        BAD(s, "'%s' takes %s operand%s, not %u", info->name, range, info->hi == 1 ? "" : "s", s->nargs);
    }
    for (uint32_t k = 0; k < s->nargs; k++)
        GCUT_ASSERT(s->spec->args[k] > 0 && s->spec->args[k] < s->g->values.n);
    if (s->nargs && !dtype_fits(info->dtypes, in(s, 0)->dtype))
        for (size_t i = 0; i < sizeof want / sizeof *want; i++)
            if (want[i].letter == info->dtypes)
                BAD(s, "'%s': operand 1 must be %s, not %s (cast converts)", info->name, want[i].text,
                    show(s, in(s, 0)));
}

static void check_attrs(infer *s)
{
    const gcut_op_spec *spec = &s->g->module->specs[s->spec->op];
    const gcut_attr *a = s->spec->attrs;
    for (uint32_t i = 0; i < s->spec->nattrs; i++) {
        const char *name = gcut_attr_name(a[i].key);
        if (!gcut_attr_spec_of(s->g->module, s->spec->op, a[i].key))
            BAD(s, "'%s' has no attribute '%s'", opname(s), name);
        if (a[i].kind != gcut_attr_kind_of(a[i].key))
            BAD(s, "'%s': attribute '%s' has the wrong kind of value", opname(s), name);
        for (uint32_t j = 0; j < i; j++)
            if (a[j].key == a[i].key) BAD(s, "'%s': attribute '%s' is given twice", opname(s), name);
    }
    for (uint32_t k = 0; k < spec->n; k++)
        if (spec->at[k].required && !attr(s, spec->at[k].key))
            BAD(s, "'%s' needs the attribute '%s'", opname(s), gcut_attr_name(spec->at[k].key));
}

/* The most results of a rule of this table; nodes with regions may have GCUT_MAX_RESULTS. */
#define FEW 8

static void check_regions(infer *s)
{
    const gcut_node_spec *n = s->spec;
    uint32_t least = gcut_op_regions(s->spec->op), most = least;
    while (gcut_op_region(s->spec->op, most)) most++;
    if (n->nregs < least || n->nregs > most || n->ncaptured > n->nargs)
        BAD(s, "'%s' has %u region%s, not %u", opname(s), least, least == 1 ? "" : "s", n->nregs);
}

uint32_t gcut_infer(gcut_graph *g, const gcut_node_spec *n, gcut_type out[GCUT_MAX_RESULTS])
{
    memset(out, 0, FEW * sizeof *out);
    infer s = {g, n, n->nargs - n->ncaptured, out, 1};
    check_operands(&s);
    check_attrs(&s);
    check_regions(&s);
    rules[n->op](&s);
    GCUT_ASSERT(s.n <= FEW || n->nregs);
    return s.n;
}
