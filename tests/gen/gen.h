/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the makers of random graphs share.  make_RULE(r, op) adds a node of an op with that shape rule, or
 * nothing where it finds no operand.
 */
#ifndef GCUT_TESTS_GEN_GEN_H
#define GCUT_TESTS_GEN_GEN_H

#include "graph_gen.h"

#define GEN_CAP 4096 /* elements of a value at the nominal sizes */

/* values.c */
uint32_t gen_draw(graph_gen *r, uint32_t below);
bool gen_coin(graph_gen *r);
gcut_module *gen_module_of(const graph_gen *r);
gcut_type gen_type_of(const graph_gen *r, gcut_ref v);
int64_t gen_nominal(const graph_gen *r, gcut_dim d);
double gen_elements(const graph_gen *r, const gcut_type *t);
bool gen_may_be_empty(const graph_gen *r, gcut_dim d);
gcut_dim gen_combine(const graph_gen *r, gcut_dim_op op, gcut_dim a, gcut_dim b);
gcut_dim gen_any_dim(graph_gen *r, int64_t cap);
gcut_type gen_any_type(graph_gen *r, gcut_dtype dtype, uint32_t lo_rank);
bool gen_is_real(const graph_gen *r, gcut_ref v);
uint32_t gen_add(graph_gen *r, gcut_ref v, double mag, bool exact);
uint32_t gen_keep(graph_gen *r, gcut_ref v, double mag, bool exact);
gcut_ref gen_use(graph_gen *r, uint32_t i);
gcut_ref gen_new_leaf(graph_gen *r, const gcut_type *t, int64_t lo, gcut_dim hi);
uint32_t gen_leaf(graph_gen *r, const gcut_type *t);
gcut_dtype gen_any_real(graph_gen *r);
gcut_dtype gen_any_dtype(graph_gen *r, char letter);
uint32_t gen_value(graph_gen *r, gcut_dtype t, uint32_t rank, bool exact);
uint32_t gen_operand(graph_gen *r, char letter, uint32_t rank, bool exact);
uint32_t gen_image(graph_gen *r, char letter, bool exact);
uint32_t gen_repeated(graph_gen *r, const gcut_type *t);
uint32_t gen_matching(graph_gen *r, uint32_t i, bool exact);
uint32_t gen_positive(graph_gen *r, uint32_t i, bool exact);
gcut_ref gen_factors(graph_gen *r, gcut_ref v);
gcut_ref gen_node(graph_gen *r, gcut_op op, const gcut_ref *in, uint32_t n, const gcut_attr *attr,
                  uint32_t nattrs);
gcut_attr gen_dims(graph_gen *r, gcut_attr_key k, const gcut_dim *d, uint32_t n);

/* point.c */
bool gen_has_kink(gcut_op op);
bool gen_has_step(gcut_op op);
bool gen_is_exact(gcut_op op); /* on values that f32 holds exactly */
bool gen_wants_exact(graph_gen *r, gcut_op op);
gcut_ref gen_indices(graph_gen *r, uint32_t rank, const gcut_dim *shape, gcut_dim below);

/* shapes.c */
void gen_moved(graph_gen *r, uint32_t x, gcut_ref v);

/* reduce.c */
int gen_solid_axis(graph_gen *r, uint32_t x);

/* A maker for each shape rule; ops of the same rule declare it again. */
#define OP(id, operands, types, attr, shape, ...) void make_##shape(graph_gen *r, gcut_op op);
#include "graph/ops/ops.def"
#undef OP

#endif
