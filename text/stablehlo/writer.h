/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What rules see: the text so far, and one node.  A rule writes the operations that compute the node's results, and says
 * which values of the text stand for these.
 */
#ifndef GCUT_TEXT_STABLEHLO_WRITER_H
#define GCUT_TEXT_STABLEHLO_WRITER_H

#include "graph/names.h"
#include "text/stablehlo/stablehlo.h"

typedef struct gcut_hlo {
    gcut_env *env;
    gcut_arena *a;
    gcut_text *out;
    const gcut_dim_binding *at; /* sizes of symbols */
    uint32_t nat;
    gcut_name_set names; /* of the function and its bodies, without % */
    const gcut_graph *g; /* that is written: the function, or a body */
    const char **value;  /* by value of g: "%x" */
    const gcut_node *n;  /* that is written */
    const char *base;    /* of new names: the first result of the node that was begun last */
    uint32_t depth;      /* of regions */
} gcut_hlo;

typedef void gcut_hlo_rule(gcut_hlo *w, const char *as);
#define RULE(op, rule, as) gcut_hlo_rule gcut_hlo_##rule;
#define REFUSE(op, why)
#include "text/stablehlo/ops.def"
#undef RULE
#undef REFUSE

/* Makes g, a function or a body, the graph that is written, and gives each of its values a name that no other value has. */
void gcut_hlo_name_values(gcut_hlo *w, const gcut_graph *g);
/* Writes the nodes of w->g. */
void gcut_hlo_write_nodes(gcut_hlo *w);

/* ---- types: all sizes are numbers ---- */

int64_t gcut_hlo_size(const gcut_hlo *w, gcut_dim d);
gcut_type gcut_hlo_type_of(const gcut_hlo *w, gcut_ref v);
gcut_type gcut_hlo_operand_type(const gcut_hlo *w, uint32_t k);
gcut_type gcut_hlo_result_type(const gcut_hlo *w, uint32_t k);
static inline gcut_type gcut_hlo_scalar_type(gcut_dtype t)
{
    return (gcut_type){.dtype = t};
}
/* "tensor<2x3xf32>"; with elements of a type that no dtype is, such as ui32. */
const char *gcut_hlo_type(const gcut_hlo *w, const gcut_type *t);
const char *gcut_hlo_tensor(const gcut_hlo *w, const gcut_type *t, const char *element);
/* "0, 1" */
const char *gcut_hlo_list(const gcut_hlo *w, const int64_t *x, uint32_t n);
/* Sizes that an attribute lists, as numbers. */
void gcut_hlo_sizes(const gcut_hlo *w, const gcut_attr *of, int64_t *out);
int64_t gcut_hlo_axis(const gcut_hlo *w); /* of the node's attribute `axis` */

/* ---- values ---- */

static inline const char *gcut_hlo_operand(const gcut_hlo *w, uint32_t k)
{
    return w->value[gcut_arg(w->g, w->n, k)];
}
/* The name of result k, which no other value has. */
static inline const char *gcut_hlo_own(const gcut_hlo *w, uint32_t k)
{
    return w->value[w->n->res0 + k];
}
/* Another value stands for result k. */
static inline void gcut_hlo_set(gcut_hlo *w, uint32_t k, const char *value)
{
    w->value[w->n->res0 + k] = value;
}
/* "%base", or "%base.1", …: the first that is not taken. */
const char *gcut_hlo_fresh(gcut_hlo *w, const char *base);

/* ---- lines ---- */

/* Indented, with a line break. */
void gcut_hlo_line(gcut_hlo *w, const char *fmt, ...) GCUT_PRINTF(2, 3);
/* "%name = …"; name NULL: a new one after w->base.  Returns the name. */
const char *gcut_hlo_let(gcut_hlo *w, const char *name, const char *fmt, ...) GCUT_PRINTF(3, 4);
/* An elementwise operation on one or two values of type t. */
const char *gcut_hlo_unary(gcut_hlo *w, const char *name, const char *op, const char *x, const gcut_type *t);
const char *gcut_hlo_binary(gcut_hlo *w, const char *name, const char *op, const char *x, const char *y,
                            const gcut_type *t);
/* direction: EQ, NE, LT, LE, GT, GE; t: of the operands. */
const char *gcut_hlo_compare(gcut_hlo *w, const char *name, const char *direction, const char *x,
                             const char *y, const gcut_type *t);
const char *gcut_hlo_select(gcut_hlo *w, const char *name, const char *p, const char *x, const char *y,
                            const gcut_type *t);
const char *gcut_hlo_convert(gcut_hlo *w, const char *name, const char *x, const gcut_type *from,
                             const gcut_type *to);
const char *gcut_hlo_reshape(gcut_hlo *w, const char *name, const char *x, const gcut_type *from,
                             const gcut_type *to);
const char *gcut_hlo_iota(gcut_hlo *w, const char *name, uint32_t axis, const gcut_type *t);
/* A constant whose elements are all x. */
const char *gcut_hlo_full(gcut_hlo *w, const char *name, gcut_num x, const gcut_type *t);
const char *gcut_hlo_number(gcut_hlo *w, double x, const gcut_type *t);
/* The lowest or the highest value of the dtype; of floats an infinity. */
const char *gcut_hlo_limit(gcut_hlo *w, bool highest, gcut_dtype t);
/* x folded by `op`, which begins with `init`, over axes in the mask. */
const char *gcut_hlo_reduce(gcut_hlo *w, const char *name, const char *op, const char *init, const char *x,
                            const gcut_type *t, uint32_t mask);

/* ---- regions ---- */

/* The head of a block, "^bb0(%a: tensor<f32>):", whose lines are indented; w->depth-- ends it. */
void gcut_hlo_block(gcut_hlo *w, const char *arguments);
/* The block that combines two scalars by `op`. */
void gcut_hlo_combine(gcut_hlo *w, const char *op, gcut_dtype t);

#endif
