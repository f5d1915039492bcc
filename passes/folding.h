/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Interface between passes/folding.c and the folding rules in passes/folding_*.c.
 */
#ifndef GCUT_PASSES_FOLDING_H
#define GCUT_PASSES_FOLDING_H

#include "graph/rewrite.h"

typedef struct gcut_fold {
    gcut_rewrite rw;
    uint32_t n; /* the current node of src; it has one result */
} gcut_fold;

/* A rule: a value of dst that replaces node f->n, created if necessary, or 0. */
typedef gcut_ref gcut_fold_fn(gcut_fold *f);

/* ---- what rules read: operands of f->n are values of dst, already folded; attributes are those of src ----
 */

static inline const gcut_node *gcut_fold_node(const gcut_fold *f)
{
    return gcut_node_at(f->rw.src, f->n);
}
static inline gcut_ref gcut_fold_arg(const gcut_fold *f, uint32_t k)
{
    return gcut_rewrite_arg(&f->rw, f->n, k);
}
/* The type of f->n's result, and of a value of dst. */
static inline const gcut_type *gcut_fold_type(const gcut_fold *f)
{
    return gcut_type_of(f->rw.src, gcut_fold_node(f)->res0);
}
static inline const gcut_type *gcut_fold_type_of(const gcut_fold *f, gcut_ref v)
{
    return gcut_type_of(f->rw.dst, v);
}
static inline const gcut_attr *gcut_fold_attr(const gcut_fold *f, gcut_attr_key key)
{
    return gcut_attr_get(f->rw.src, gcut_fold_node(f), key);
}
/* The node of dst that defines v when it is an unmarked `op`, else NULL.  The pointer is invalid after
 * gcut_fold_make. */
const gcut_node *gcut_fold_is(const gcut_fold *f, gcut_ref v, gcut_op op);
/* v if it has exactly the type of f->n's result, else 0. */
gcut_ref gcut_fold_same(const gcut_fold *f, gcut_ref v);
/* Is v a `full`?  *c is then the value that its elements have at the dtype. */
bool gcut_fold_constant(const gcut_fold *f, gcut_ref v, gcut_num *c);

/* ---- what rules make: a node of the type, name and location of f->n ---- */

gcut_ref gcut_fold_make(gcut_fold *f, gcut_op op, const gcut_ref *args, uint32_t nargs,
                        const gcut_attr *attrs, uint32_t nattrs);
gcut_ref gcut_fold_full(gcut_fold *f, gcut_num value);
/* The same with another type and a generated name. */
gcut_ref gcut_fold_full_of(gcut_fold *f, const gcut_type *type, gcut_num value, const char *name);

/* ---- the rules: passes/folding_point.c and passes/folding_shape.c ---- */

#define OP(name, operands, dtypes, attrs, shape, feval, ieval, vjp, class, linear, cost, emit, c, meaning,   \
           api, fold)                                                                                        \
    gcut_fold_fn gcut_fold_##fold;
#include "graph/ops/ops.def"
#undef OP

#endif
