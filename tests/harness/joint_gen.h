/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Random joint graphs, built node by node without the autodiff room: forward
 * nodes of every recompute class over an input, weights and a state, and
 * backward nodes that read some of what they made.  The backward graph is no
 * gradient of anything; it only has a gradient's shape.
 */
#ifndef GCUT_TESTS_JOINT_GEN_H
#define GCUT_TESTS_JOINT_GEN_H

#include "graph/build.h"
#include "harness.h"

typedef struct joint_gen {
    gcut_build b;
    uint64_t seed;
    gcut_dim rows, cols;
    gcut_ref weight, state, cotan;
    gcut_ref mat[64], row[64]; /* forward values of shape [rows, cols] and [rows] */
    uint32_t nmat, nrow;
} joint_gen;

static inline uint32_t draw(joint_gen *r, uint32_t below)
{
    r->seed ^= r->seed << 13, r->seed ^= r->seed >> 7, r->seed ^= r->seed << 17;
    return (uint32_t)(r->seed >> 33) % below;
}

static inline gcut_ref any_mat(joint_gen *r)
{
    uint32_t recent = r->nmat > 3 && draw(r, 3) ? 3 : r->nmat;
    return r->mat[r->nmat - 1 - draw(r, recent)];
}

static inline gcut_ref spread(joint_gen *r, gcut_ref row)
{
    return gcut_bbroadcast(&r->b, row, (gcut_dim[]){r->rows, r->cols}, 2, (gcut_dim[]){0});
}

static inline gcut_ref back_and_forth(joint_gen *r, gcut_ref x)
{
    gcut_ref t = gcut_btranspose(&r->b, x, (gcut_dim[]){1, 0});
    if (draw(r, 2)) t = gcut_b1(&r->b, GCUT_OP_neg, t);
    return gcut_btranspose(&r->b, t, (gcut_dim[]){1, 0});
}

static inline void forward_node(joint_gen *r)
{
    static const gcut_op unary[] = {GCUT_OP_cos, GCUT_OP_tanh, GCUT_OP_relu, GCUT_OP_neg, GCUT_OP_sigmoid};
    static const gcut_op binary[] = {GCUT_OP_add, GCUT_OP_mul, GCUT_OP_sub, GCUT_OP_max};
    gcut_ref x = any_mat(r), y = 0;
    switch (draw(r, 9)) {
    case 0:
    case 1: y = gcut_b1(&r->b, unary[draw(r, 5)], x); break;
    case 2:
    case 3:
        y = any_mat(r);
        y = gcut_b2(&r->b, binary[draw(r, 4)], x, y);
        break;
    case 4: y = gcut_bmatmul(&r->b, x, r->weight, false, draw(r, 2)); break;
    case 5: r->row[r->nrow++] = gcut_breduce(&r->b, GCUT_OP_sum, x, 2); return;
    case 6: y = r->nrow ? spread(r, r->row[draw(r, r->nrow)]) : gcut_baddc(&r->b, x, 0.5); break;
    case 7: y = back_and_forth(r, x); break;
    case 8: {
        gcut_attr axis = gcut_attr_dim(GCUT_KEY_axis, 1);
        y = gcut_node_new(r->b.g, GCUT_OP_log_softmax, &x, 1, &axis, 1, 0, NULL);
    }
    }
    r->mat[r->nmat++] = y;
}

/* acc' = something of acc and a forward value, sometimes through a value free of cotangents. */
static inline gcut_ref backward_node(joint_gen *r, gcut_ref acc)
{
    gcut_ref v = any_mat(r);
    if (r->nrow && draw(r, 4) == 0) v = spread(r, r->row[draw(r, r->nrow)]);
    switch (draw(r, 5)) {
    case 0: v = gcut_b1(&r->b, GCUT_OP_sin, v); break;
    case 1: {
        gcut_ref zero = gcut_bconst(&r->b, acc, 0);
        v = gcut_bselect(&r->b, gcut_b2(&r->b, GCUT_OP_gt, v, gcut_bconst(&r->b, v, 0)), acc, zero);
        break;
    }
    case 2: return gcut_bmatmul(&r->b, acc, r->weight, false, true);
    }
    return gcut_b2(&r->b, draw(r, 2) ? GCUT_OP_mul : GCUT_OP_add, acc, v);
}

static inline void joint_results(joint_gen *r, gcut_ref acc)
{
    gcut_graph *g = r->b.g;
    gcut_ref loss =
        draw(r, 3) ? gcut_breduce(&r->b, GCUT_OP_sum, r->mat[r->nmat - 1], 3) : r->mat[r->nmat - 1];
    gcut_result_new(g, GCUT_ROLE_out, "loss", loss);
    if (draw(r, 4) == 0) gcut_result_new(g, GCUT_ROLE_out, "aux", any_mat(r));
    gcut_result_new(g, GCUT_ROLE_grad, "x", acc);
    gcut_result_new(g, GCUT_ROLE_grad, "w", gcut_bmatmul(&r->b, any_mat(r), acc, true, false));
    if (draw(r, 2)) {
        gcut_ref s = r->nrow ? r->row[draw(r, r->nrow)] : gcut_breduce(&r->b, GCUT_OP_sum, any_mat(r), 2);
        gcut_result_new(g, GCUT_ROLE_next, "s", gcut_b2(&r->b, GCUT_OP_add, r->state, s));
    }
}

/* `forward` draws of forward nodes; rows is symbolic (N) when known == 0. */
static inline gcut_graph *joint_random(gcut_module *m, uint64_t seed, uint32_t forward, int64_t rows,
                                       int64_t cols, const char *name)
{
    gcut_graph *g = gcut_graph_create(m, name);
    joint_gen r = {.b = {.g = g}, .seed = seed * UINT64_C(0x9E3779B97F4A7C15) + 1, .cols = cols};
    r.rows = rows ? rows : gcut_dim_symbol(m->dims, "N");
    if (!rows) gcut_decl_add(g, (gcut_dim_decl){r.rows, 1, GCUT_DIM_MAX, 1});
    gcut_type mat = {.dtype = GCUT_F32, .rank = 2, .dim = {r.rows, cols}};
    gcut_type square = {.dtype = GCUT_F32, .rank = 2, .dim = {cols, cols}};
    gcut_type row = {.dtype = GCUT_F32, .rank = 1, .dim = {r.rows}};
    for (int k = 0; k < 8; k++) draw(&r, 2);
    r.weight = gcut_param_new(g, GCUT_ROLE_param, "w", &square);
    r.mat[r.nmat++] = gcut_param_new(g, GCUT_ROLE_input, "x", &mat);
    r.state = gcut_param_new(g, GCUT_ROLE_state, "s", &row);
    r.cotan = gcut_param_new(g, GCUT_ROLE_cotan, "dy", &mat);
    if (draw(&r, 2)) r.row[r.nrow++] = r.state;
    for (uint32_t i = 0; i < forward; i++) forward_node(&r);
    gcut_ref acc = r.cotan;
    for (uint32_t i = 0, n = 1 + draw(&r, 4); i < n; i++) acc = backward_node(&r, acc);
    joint_results(&r, acc);
    return g;
}

#endif
