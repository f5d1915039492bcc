/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Constant and identity folding.
 *   in:    any graph; bodies of regions on their own
 *   out:   the same values bit for bit, by fewer or cheaper nodes; unused nodes are left to gcut_pass_dce
 *   keeps: parameters, results, run-time checks, nodes that carry marks
 *
 * Requirements on every rule:
 *   R1  The value is the same for every operand, -0, infinities and NaN included (NaN payloads do not
 *       count).  So x*0, x-x and 0+x stay.
 *   R2  A constant of dtype t is rounded to t before it is used and after.  Sums,
 *       products and quotients of two f32, f16 or bf16 computed in double and
 *       rounded once more are the correctly rounded ones: 53 >= 2*24 + 2 digits.
 *   R3  The result type is the node's: a replacement has the same one, or the rule does not apply.
 *   R4  What fails at run time still fails: a rule removes a run-time test only if it is in the graph's
 *       list of checks.
 *   R5  Operands are in folded form, so a rule looks one node deep, and no rule applies to its result.
 */
#include "passes/folding.h"

#include <string.h>

#include "interp/eval.h"
#include "passes/passes.h"

/* The column fold of the op table. */
static gcut_fold_fn *const rules[GCUT_NOPS] = {
#define OP(name, operands, dtypes, attrs, shape, feval, ieval, vjp, class, linear, cost, emit, c, meaning,   \
           api, fold)                                                                                        \
    [GCUT_OP_##name] = gcut_fold_##fold,
#include "graph/ops/ops.def"
#undef OP
};

gcut_ref gcut_fold_none(gcut_fold *f)
{
    (void)f;
    return 0;
}

const gcut_node *gcut_fold_is(const gcut_fold *f, gcut_ref v, gcut_op op)
{
    const gcut_node *n = gcut_def(f->rw.dst, v);
    return n && n->op == op && n->marks.n == 0 ? n : NULL;
}

gcut_ref gcut_fold_same(const gcut_fold *f, gcut_ref v)
{
    return gcut_type_equal(gcut_fold_type(f), gcut_fold_type_of(f, v)) ? v : 0;
}

static gcut_num number(gcut_num x, gcut_dtype t)
{
    if (gcut_dtype_is_float(t)) return (gcut_num){.f = gcut_round_to(x.f, t)};
    int64_t i = t == GCUT_BOOL ? x.f != 0 : x.is_int ? x.i : gcut_eval_truncate(x.f, t);
    i = gcut_eval_wrap(i, t);
    return (gcut_num){true, i, (double)i};
}

bool gcut_fold_constant(const gcut_fold *f, gcut_ref v, gcut_num *c)
{
    const gcut_node *n = gcut_fold_is(f, v, GCUT_OP_full);
    if (n) *c = number(gcut_attr_get(f->rw.dst, n, GCUT_KEY_value)->u.num, gcut_fold_type_of(f, v)->dtype);
    return n != NULL;
}

static gcut_ref make_typed(gcut_fold *f, gcut_op op, const gcut_ref *args, uint32_t nargs,
                           const gcut_attr *attrs, uint32_t nattrs, const gcut_type *type, const char *name)
{
    return gcut_node_typed(f->rw.dst, op, args, nargs, attrs, nattrs, gcut_fold_node(f)->loc, name, type, 1);
}

gcut_ref gcut_fold_make(gcut_fold *f, gcut_op op, const gcut_ref *args, uint32_t nargs,
                        const gcut_attr *attrs, uint32_t nattrs)
{
    const gcut_value *v = &f->rw.src->values.at[gcut_fold_node(f)->res0];
    return make_typed(f, op, args, nargs, attrs, nattrs, v->type, v->name);
}

gcut_ref gcut_fold_full_of(gcut_fold *f, const gcut_type *type, gcut_num value, const char *name)
{
    gcut_module *m = f->rw.dst->module;
    value = number(value, type->dtype);
    gcut_attr a[] = {gcut_attr_dims(m, GCUT_KEY_shape, type->dim, type->rank),
                     {.key = GCUT_KEY_value, .kind = GCUT_ATTR_KIND_NUM, .u.num = value},
                     gcut_attr_str(m, GCUT_KEY_dtype, gcut_dtype_name(type->dtype))};
    return make_typed(f, GCUT_OP_full, NULL, 0, a, 3, type, name);
}

gcut_ref gcut_fold_full(gcut_fold *f, gcut_num value)
{
    const gcut_value *v = &f->rw.src->values.at[gcut_fold_node(f)->res0];
    return gcut_fold_full_of(f, v->type, value, v->name);
}

gcut_graph *gcut_pass_fold(gcut_graph *g, const char *name)
{
    gcut_fold f = {.rw = gcut_rewrite_begin(g, name)};
    f.rw.pass = gcut_pass_fold;
    for (f.n = 0; f.n < g->nodes.n; f.n++) {
        const gcut_node *node = gcut_fold_node(&f);
        bool looks = node->marks.n == 0 && node->nres == 1;
        gcut_ref v = looks ? rules[node->op](&f) : 0;
        if (v)
            gcut_rewrite_use(&f.rw, f.n, v);
        else
            gcut_rewrite_copy(&f.rw, f.n);
    }
    return gcut_rewrite_end(&f.rw);
}
