/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Recurrent layers as scans over time, in PyTorch's order of gates.  The product of x with its weights is one product for
 * all times, before the scan; an iteration has the product with the state alone.
 */
#include "graph/decompose/decompose_rule.h"

#include <string.h>

/* The body of the scan: one step of the layer. */
typedef struct step {
    gcut_build b;    /* in the body */
    gcut_ref wh, bh; /* of the graph around it */
    gcut_dim hidden; /* size of the state */
    bool relu;
} step;

/* Replaces the states, of which the first is the result, given x's part of the gates. */
typedef void step_fn(step *s, gcut_ref x, gcut_ref *state);

/* v, a vector along the last axis, added to each row of x. */
static gcut_ref add_bias(gcut_build *b, gcut_ref x, gcut_ref v)
{
    return gcut_b2(b, GCUT_OP_add, x, along_last(b, v, x));
}

/* Part k of the last axis of x, as long as the state; `n` parts from there. */
static gcut_ref parts(step *s, gcut_ref x, uint32_t k, uint32_t n)
{
    gcut_dims *dims = s->b.g->module->dims;
    return slice_axis(&s->b, x, type_of(&s->b, x).rank - 1u, gcut_dim_make(dims, GCUT_DIM_MUL, s->hidden, k),
                      gcut_dim_make(dims, GCUT_DIM_MUL, s->hidden, k + n));
}

/* h wh' + bh */
static gcut_ref from_state(step *s, gcut_ref h)
{
    gcut_ref y = gcut_bmatmul(&s->b, h, gcut_body_capture(s->b.g, s->wh), false, true);
    return add_bias(&s->b, y, gcut_body_capture(s->b.g, s->bh));
}

/* h = tanh(x + h wh' + bh), or relu */
static void rnn(step *s, gcut_ref x, gcut_ref *state)
{
    gcut_ref sum = gcut_b2(&s->b, GCUT_OP_add, x, from_state(s, state[0]));
    state[0] = gcut_b1(&s->b, s->relu ? GCUT_OP_relu : GCUT_OP_tanh, sum);
}

/* With r, z = sigmoid of their parts and n = tanh(x_n + r (h wh_n' + bh_n)):  h = (1 - z) n + z h  (Cho et al. 2014) */
static void gru(step *s, gcut_ref x, gcut_ref *state)
{
    gcut_build *b = &s->b;
    gcut_ref h = state[0], y = from_state(s, h);
    gcut_ref rz = gcut_b1(b, GCUT_OP_sigmoid, gcut_b2(b, GCUT_OP_add, parts(s, x, 0, 2), parts(s, y, 0, 2)));
    gcut_ref reset = gcut_b2(b, GCUT_OP_mul, parts(s, rz, 0, 1), parts(s, y, 2, 1));
    gcut_ref n = gcut_b1(b, GCUT_OP_tanh, gcut_b2(b, GCUT_OP_add, parts(s, x, 2, 1), reset));
    gcut_ref carried = gcut_b2(b, GCUT_OP_mul, parts(s, rz, 1, 1), gcut_b2(b, GCUT_OP_sub, h, n));
    state[0] = gcut_b2(b, GCUT_OP_add, n, carried);
}

/* c = f c + i g, h = o tanh c, with i, f, o = sigmoid and g = tanh of their parts, in the order i f g o
 * (Hochreiter & Schmidhuber 1997, Gers et al. 2000) */
static void lstm(step *s, gcut_ref x, gcut_ref *state)
{
    gcut_build *b = &s->b;
    gcut_ref gates = gcut_b2(b, GCUT_OP_add, x, from_state(s, state[0]));
    gcut_ref input_forget = gcut_b1(b, GCUT_OP_sigmoid, parts(s, gates, 0, 2));
    gcut_ref g = gcut_b1(b, GCUT_OP_tanh, parts(s, gates, 2, 1)),
             o = gcut_b1(b, GCUT_OP_sigmoid, parts(s, gates, 3, 1));
    gcut_ref carried = gcut_b2(b, GCUT_OP_mul, parts(s, input_forget, 1, 1), state[1]);
    gcut_ref c = gcut_b2(b, GCUT_OP_add, carried, gcut_b2(b, GCUT_OP_mul, parts(s, input_forget, 0, 1), g));
    state[0] = gcut_b2(b, GCUT_OP_mul, o, gcut_b1(b, GCUT_OP_tanh, c));
    state[1] = c;
}

/* Operands: x [T, N, I], the states, wx [G, I], wh [G, H], bx [G], bh [G].  Results: y [T, N, H], the last states. */
static gcut_ref layer(composite *c, uint32_t nstates, step_fn *of)
{
    const gcut_type t = type_of(B, c->x[0]), th = type_of(B, c->x[1]);
    const gcut_ref *state = c->x + 1, *w = state + nstates; /* wx, wh, bx, bh */
    const gcut_dim wide = type_of(B, w[0]).dim[0];
    gcut_ref x =
        gcut_breshape(B, c->x[0], (gcut_dim[]){dim2(c, GCUT_DIM_MUL, t.dim[0], t.dim[1]), t.dim[2]}, 2);
    x = add_bias(B, gcut_bmatmul(B, x, w[0], false, true), w[2]);
    x = gcut_breshape(B, x, (gcut_dim[]){t.dim[0], t.dim[1], wide}, 3);

    gcut_graph *body = gcut_body_new(B->g);
    step s = {{body, B->loc, NULL}, w[1], w[3], th.dim[1], false};
    if (c->node.op == GCUT_OP_rnn) s.relu = !strcmp(attr(c, GCUT_KEY_mode)->u.str, "relu");
    gcut_ref now[2], args[3] = {0};
    for (uint32_t k = 0; k < nstates; k++) {
        now[k] = gcut_param_new(body, GCUT_ROLE_input, k ? "c" : "h", &th);
        args[k] = state[k];
    }
    args[nstates] = x;
    gcut_ref xt = gcut_param_new(body, GCUT_ROLE_input, "x", &(gcut_type){t.dtype, 2, {t.dim[1], wide}});
    of(&s, xt, now);
    for (uint32_t k = 0; k < nstates; k++) gcut_body_yield(body, now[k]);
    gcut_body_yield(body, now[0]);

    const gcut_attr a[] = {gcut_attr_dim(GCUT_KEY_carries, nstates),
                           gcut_attr_bool(GCUT_KEY_reverse, flag(c, GCUT_KEY_reverse))};
    gcut_ref res = gcut_bregion_node(B, GCUT_OP_scan, args, nstates + 1, &body, 1, a, 2);
    for (uint32_t k = 0; k < nstates; k++) c->more[k] = res + k;
    return res + nstates;
}

gcut_ref gcut_decompose_rnn(composite *c)
{
    return layer(c, 1, rnn);
}

gcut_ref gcut_decompose_gru(composite *c)
{
    return layer(c, 1, gru);
}

gcut_ref gcut_decompose_lstm(composite *c)
{
    return layer(c, 2, lstm);
}
