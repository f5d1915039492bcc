/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Recurrent layers as scans.  The products of the operand with the weights are one product for all times, before the scan;
 * an iteration has the product with the state alone.
 */
#include "import/onnx/rules.h"

#include <string.h>

typedef struct activation {
    const char *name;
    gcut_op op;
    bool has_alpha;
    gcut_attr_key key; /* of alpha */
    double otherwise;
} activation;

static const activation activations[] = {
    {"Sigmoid", GCUT_OP_sigmoid, false, 0, 0},
    {"Tanh", GCUT_OP_tanh, false, 0, 0},
    {"Relu", GCUT_OP_relu, false, 0, 0},
    {"Softplus", GCUT_OP_softplus, false, 0, 0},
    {"LeakyRelu", GCUT_OP_leaky_relu, true, GCUT_KEY_slope, 0.01},
    {"Elu", GCUT_OP_elu, true, GCUT_KEY_alpha, 1},
};

/* One direction of a layer. */
typedef struct layer {
    gcut_onnx_node *n;
    uint32_t gates, direction; /* direction: the index in operands that have an axis for it */
    bool reverse;
    gcut_dim times, batch, hidden;
    gcut_ref x;      /* [times * batch, in] */
    gcut_ref r;      /* [gates * hidden, hidden] */
    gcut_ref inside; /* the bias that the product with the state has for itself, [gates * hidden]; 0: none */
    gcut_ref peephole; /* [3 * hidden]; 0: none */
    gcut_ref length;   /* i64[batch]; 0: all are as long */
    const activation *act[3];
    double alpha[3];
    double clip; /* of what activations get; 0: none */
} layer;

static gcut_ref point(gcut_onnx_node *n, gcut_op op, gcut_ref x, gcut_ref y)
{
    return gcut_b2(&n->b, op, x, y);
}

static gcut_ref activated(const layer *l, gcut_onnx_node *n, uint32_t k, gcut_ref x)
{
    if (l->clip > 0) x = gcut_onnx_clamp_node(n, x, -l->clip, l->clip);
    const gcut_attr alpha = gcut_attr_real(l->act[k]->key, l->alpha[k]);
    return gcut_onnx_node_new(n, l->act[k]->op, &x, 1, &alpha, l->act[k]->has_alpha);
}

/* ---- operands ---- */

/* Slice k of the first axis, without it. */
static gcut_ref first(gcut_onnx_node *n, gcut_ref x, uint32_t k)
{
    return gcut_onnx_remove_axis(n, gcut_onnx_slice(n, x, 0, k, k + 1, 1), 0);
}

/* Part k of the last axis, `size` long. */
static gcut_ref part(gcut_onnx_node *n, gcut_ref x, uint32_t k, gcut_dim size)
{
    const uint32_t axis = gcut_onnx_type(n, x).rank - 1u;
    return gcut_onnx_slice(n, x, axis, gcut_onnx_dim(n, GCUT_DIM_MUL, size, k),
                           gcut_onnx_dim(n, GCUT_DIM_MUL, size, k + 1), 1);
}

/* A bias or weights of peepholes. */
static gcut_ref optional(gcut_onnx_node *n, uint32_t i, uint32_t direction)
{
    if (!gcut_onnx_has(n, i)) return 0;
    gcut_ref v = gcut_onnx_in(n, i);
    gcut_onnx_need_rank(n, v, 2, "numbers for each direction");
    return first(n, v, direction);
}

/* The state at the start, [batch, hidden]: an input, or 0. */
static gcut_ref start_of(const layer *l, uint32_t i, bool batch_first)
{
    gcut_onnx_node *n = l->n;
    const gcut_type zero = {gcut_onnx_type(n, l->r).dtype, 2, {l->batch, l->hidden}};
    if (!gcut_onnx_has(n, i)) return gcut_bfull(&n->b, &zero, 0);
    gcut_ref v = gcut_onnx_in(n, i);
    gcut_onnx_need_rank(n, v, 3, "the state at the start");
    if (batch_first) v = gcut_btranspose(&n->b, v, (gcut_dim[]){1, 0, 2});
    return first(n, v, l->direction);
}

/* What the gates get of the operand and the biases, [times, batch, gates * hidden].  The bias within the product with the
 * state is added here where the gates are sums, as those before first_separate are. */
static gcut_ref from_operand(layer *l, uint32_t first_separate)
{
    gcut_onnx_node *n = l->n;
    const gcut_dim wide = gcut_onnx_dim(n, GCUT_DIM_MUL, l->hidden, l->gates);
    gcut_ref w = gcut_onnx_in(n, 1), b = optional(n, 3, l->direction);
    gcut_onnx_need_rank(n, w, 3, "the weights");
    w = first(n, w, l->direction);
    gcut_ref y = gcut_bmatmul(&n->b, l->x, w, false, true);
    if (b) {
        gcut_ref outer = gcut_onnx_slice(n, b, 0, 0, wide, 1),
                 inner = gcut_onnx_slice(n, b, 0, wide, gcut_onnx_dim(n, GCUT_DIM_MUL, wide, 2), 1);
        if (first_separate < l->gates) {
            const gcut_dim at = gcut_onnx_dim(n, GCUT_DIM_MUL, l->hidden, first_separate);
            const gcut_type zero = {gcut_onnx_type(n, b).dtype, 1, {l->hidden}};
            l->inside = gcut_onnx_slice(n, inner, 0, at, wide, 1);
            gcut_ref both[] = {gcut_onnx_slice(n, inner, 0, 0, at, 1), gcut_bfull(&n->b, &zero, 0)};
            inner = gcut_onnx_concat(n, both, 2, 0);
        }
        y = gcut_onnx_binary(n, GCUT_OP_add, y, point(n, GCUT_OP_add, outer, inner));
    }
    return gcut_onnx_reshape(n, y, (gcut_dim[]){l->times, l->batch, wide}, 3);
}

/* ---- iterations ---- */

/* In the body of the scan: what an iteration makes of x [batch, gates * hidden] and the states, which it replaces. */
typedef void iteration(const layer *l, gcut_onnx_node *n, gcut_ref x, gcut_ref *state);

static gcut_ref in_body(const gcut_onnx_node *n, gcut_ref v)
{
    return gcut_body_capture(n->b.g, v);
}

static void rnn(const layer *l, gcut_onnx_node *n, gcut_ref x, gcut_ref *h)
{
    gcut_ref sum = point(n, GCUT_OP_add, x, gcut_bmatmul(&n->b, h[0], in_body(n, l->r), false, true));
    h[0] = activated(l, n, 0, sum);
}

/* (1 - z) g + z h;  z, r: gates;  g of the operand and of r h or, with linear_before_reset, r times the product with h */
static void gru(const layer *l, gcut_onnx_node *n, gcut_ref x, gcut_ref *h)
{
    const gcut_dim two = gcut_onnx_dim(n, GCUT_DIM_MUL, l->hidden, 2),
                   three = gcut_onnx_dim(n, GCUT_DIM_MUL, l->hidden, 3);
    const bool after = gcut_onnx_int(n, "linear_before_reset", 0) != 0;
    gcut_ref r = in_body(n, l->r), inside = l->inside ? in_body(n, l->inside) : 0, g;
    gcut_ref zr = gcut_bmatmul(&n->b, h[0], gcut_onnx_slice(n, r, 0, 0, two, 1), false, true);
    zr = activated(l, n, 0, point(n, GCUT_OP_add, gcut_onnx_slice(n, x, 1, 0, two, 1), zr));
    gcut_ref z = part(n, zr, 0, l->hidden), reset = part(n, zr, 1, l->hidden),
             rh = gcut_onnx_slice(n, r, 0, two, three, 1);
    g = gcut_bmatmul(&n->b, after ? h[0] : point(n, GCUT_OP_mul, reset, h[0]), rh, false, true);
    if (inside) g = gcut_onnx_binary(n, GCUT_OP_add, g, inside);
    if (after) g = point(n, GCUT_OP_mul, reset, g);
    g = activated(l, n, 1, point(n, GCUT_OP_add, part(n, x, 2, l->hidden), g));
    /* g + z (h - g) */
    h[0] = point(n, GCUT_OP_add, g, point(n, GCUT_OP_mul, z, point(n, GCUT_OP_sub, h[0], g)));
}

static gcut_ref peeped(const layer *l, gcut_onnx_node *n, gcut_ref gate, uint32_t k, gcut_ref c)
{
    if (!l->peephole) return gate;
    gcut_ref p = part(n, in_body(n, l->peephole), k, l->hidden);
    return point(n, GCUT_OP_add, gate, gcut_onnx_binary(n, GCUT_OP_mul, c, p));
}

/* The gates are in the order i, o, f, c. */
static void lstm(const layer *l, gcut_onnx_node *n, gcut_ref x, gcut_ref *state)
{
    gcut_ref h = state[0], c = state[1],
             g = point(n, GCUT_OP_add, x, gcut_bmatmul(&n->b, h, in_body(n, l->r), false, true));
    gcut_ref i = activated(l, n, 0, peeped(l, n, part(n, g, 0, l->hidden), 0, c)), f;
    if (gcut_onnx_int(n, "input_forget", 0))
        f = point(n, GCUT_OP_sub, gcut_bconst(&n->b, i, 1), i);
    else
        f = activated(l, n, 0, peeped(l, n, part(n, g, 2, l->hidden), 2, c));
    gcut_ref new = activated(l, n, 1, part(n, g, 3, l->hidden));
    c = point(n, GCUT_OP_add, point(n, GCUT_OP_mul, f, c), point(n, GCUT_OP_mul, i, new));
    gcut_ref o = activated(l, n, 0, peeped(l, n, part(n, g, 1, l->hidden), 1, c));
    layer last = *l;
    last.clip = 0;
    state[0] = point(n, GCUT_OP_mul, o, activated(&last, n, 2, c));
    state[1] = c;
}

/* ---- the scan ---- */

/* Runs the layer in one direction.  state: at the start, then at the end.  Returns the states h of all times. */
static gcut_ref run(layer *l, gcut_ref x, gcut_ref *state, uint32_t nstates, iteration *step)
{
    gcut_onnx_node *n = l->n, in = *n;
    gcut_graph *body = gcut_body_new(n->b.g);
    gcut_ref args[4], now[2], before[2], time = 0;
    uint32_t nargs = 0;
    in.b.g = body;
    const gcut_type all = gcut_onnx_type(n, x), one = {all.dtype, 2, {all.dim[1], all.dim[2]}};
    for (uint32_t k = 0; k < nstates; k++) {
        const gcut_type t = gcut_onnx_type(n, state[k]);
        args[nargs++] = state[k];
        before[k] = now[k] = gcut_param_new(body, GCUT_ROLE_input, k ? "c" : "h", &t);
    }
    args[nargs++] = x;
    gcut_ref xt = gcut_param_new(body, GCUT_ROLE_input, "x", &one);
    if (l->length) {
        args[nargs++] = gcut_onnx_iota(n, &(gcut_type){GCUT_I64, 1, {l->times}}, 0);
        time = gcut_param_new(body, GCUT_ROLE_input, "t", &(gcut_type){.dtype = GCUT_I64});
    }
    step(l, &in, xt, now);
    gcut_ref y = now[0];
    if (l->length) { /* after its end a sequence keeps its states, and its results are 0 */
        gcut_ref alive = gcut_onnx_binary(&in, GCUT_OP_lt, time, in_body(&in, l->length));
        const gcut_type t = gcut_onnx_type(&in, y);
        alive = gcut_bbroadcast(&in.b, alive, t.dim, 2, (gcut_dim[]){0});
        y = gcut_bselect(&in.b, alive, y, gcut_bconst(&in.b, y, 0));
        for (uint32_t k = 0; k < nstates; k++) now[k] = gcut_bselect(&in.b, alive, now[k], before[k]);
    }
    for (uint32_t k = 0; k < nstates; k++) gcut_body_yield(body, now[k]);
    gcut_body_yield(body, y);
    const gcut_attr a[] = {gcut_attr_dim(GCUT_KEY_carries, nstates),
                           gcut_attr_bool(GCUT_KEY_reverse, l->reverse)};
    const gcut_ref res = gcut_bregion_node(&n->b, GCUT_OP_scan, args, nargs, &body, 1, a, 2);
    for (uint32_t k = 0; k < nstates; k++) state[k] = res + k;
    return res + nstates;
}

static const activation *activation_of(const gcut_onnx_node *n, const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++)
        if (strlen(activations[i].name) == length && !memcmp(activations[i].name, name, length))
            return &activations[i];
    GCUT_ONNX_UNSUPPORTED(n, "there is no activation '%.*s'", (int)length, name);
}

/* The activations of a direction: as the attribute lists them, else the usual ones.  A list of alphas has one for each
 * activation, of the directions before too, that has an alpha. */
static void read_activations(layer *l, uint32_t count, const char *const *usual)
{
    const Onnx__AttributeProto *a = gcut_onnx_attr(l->n, "activations");
    uint32_t alphas = 0;
    for (uint32_t i = 0; i < (l->direction + 1) * count; i++) {
        const uint32_t k = i % count;
        const bool given = a && i < a->n_strings;
        l->act[k] = given ? activation_of(l->n, (const char *)a->strings[i].data, a->strings[i].len)
                          : activation_of(l->n, usual[k], strlen(usual[k]));
        if (l->act[k]->has_alpha)
            l->alpha[k] = gcut_onnx_float_item(l->n, "activation_alpha", alphas++, l->act[k]->otherwise);
    }
}

/* Both directions, whose results are along an axis of their own.  first_separate: the gate from which on the bias of the
 * product with the state is no summand; `gates`: there is none. */
static void recurrent(gcut_onnx_node *n, uint32_t gates, uint32_t nstates, uint32_t first_separate,
                      uint32_t nact, const char *const *usual, iteration *step)
{
    gcut_ref x = gcut_onnx_in(n, 0), r = gcut_onnx_in(n, 2), y[2], last[2][2];
    const bool batch_first = gcut_onnx_int(n, "layout", 0) != 0;
    const char *direction = gcut_onnx_text(n, "direction", "forward");
    const uint32_t directions = strcmp(direction, "bidirectional") ? 1 : 2;
    if (gcut_onnx_type(n, x).rank != 3 || gcut_onnx_type(n, r).rank != 3)
        GCUT_ONNX_WRONG(n, "expected an operand and weights of three axes");
    if (batch_first) x = gcut_btranspose(&n->b, x, (gcut_dim[]){1, 0, 2});
    const gcut_type t = gcut_onnx_type(n, x), tr = gcut_onnx_type(n, r);
    gcut_ref rows = gcut_onnx_reshape(n, x, (gcut_dim[]){gcut_onnx_numel(n, &t, 0, 2), t.dim[2]}, 2);
    for (uint32_t d = 0; d < directions; d++) {
        layer l = {.n = n,
                   .gates = gates,
                   .direction = d,
                   .reverse = d == 1 || !strcmp(direction, "reverse"),
                   .times = t.dim[0],
                   .batch = t.dim[1],
                   .hidden = tr.dim[2],
                   .x = rows,
                   .r = first(n, r, d),
                   .clip = gcut_onnx_float(n, "clip", 0)};
        read_activations(&l, nact, usual);
        if (nstates == 2) l.peephole = optional(n, 7, d);
        if (gcut_onnx_has(n, 4)) l.length = gcut_bconvert(&n->b, gcut_onnx_in(n, 4), GCUT_I64);
        if (l.length) gcut_onnx_need_rank(n, l.length, 1, "the lengths of the sequences");
        for (uint32_t k = 0; k < nstates; k++) last[d][k] = start_of(&l, 5 + k, batch_first);
        gcut_ref all = from_operand(&l, first_separate);
        y[d] = gcut_onnx_insert_axis(n, run(&l, all, last[d], nstates, step), 1);
        for (uint32_t k = 0; k < nstates; k++) last[d][k] = gcut_onnx_insert_axis(n, last[d][k], 0);
    }
    gcut_ref out = gcut_onnx_concat(n, y, directions, 1);
    if (batch_first) out = gcut_btranspose(&n->b, out, (gcut_dim[]){2, 0, 1, 3});
    gcut_onnx_set(n, 0, out);
    for (uint32_t k = 0; k < nstates; k++) {
        gcut_ref end[] = {last[0][k], directions > 1 ? last[1][k] : 0};
        gcut_ref v = gcut_onnx_concat(n, end, directions, 0);
        if (batch_first) v = gcut_btranspose(&n->b, v, (gcut_dim[]){1, 0, 2});
        gcut_onnx_set(n, 1 + k, v);
    }
}

void gcut_onnx_rnn(gcut_onnx_node *n)
{
    static const char *const usual[] = {"Tanh"};
    recurrent(n, 1, 1, 1, 1, usual, rnn);
}

void gcut_onnx_gru(gcut_onnx_node *n)
{
    static const char *const usual[] = {"Sigmoid", "Tanh"};
    recurrent(n, 3, 1, 2, 2, usual, gru);
}

void gcut_onnx_lstm(gcut_onnx_node *n)
{
    static const char *const usual[] = {"Sigmoid", "Tanh", "Tanh"};
    recurrent(n, 4, 2, 4, 3, usual, lstm);
}
