/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Random graphs: ops with bodies, and calls.
 */
#include "gen/gen.h"

#include <math.h>

static gcut_ref with_bodies(gcut_graph *g, gcut_op op, const gcut_ref *args, uint32_t n,
                            gcut_graph *const *body, uint32_t nbodies, const gcut_attr *attrs,
                            uint32_t nattrs)
{
    return gcut_bregion_node(&(gcut_build){.g = g}, op, args, n, body, nbodies, attrs, nattrs);
}

static gcut_ref argument(gcut_graph *body, const char *name, const gcut_type *t)
{
    return gcut_param_new(body, GCUT_ROLE_input, gcut_name_fresh(body, name), t);
}

static void yields(gcut_graph *body, const char *name, gcut_ref v)
{
    gcut_result_new(body, GCUT_ROLE_out, name, v);
}

/* An integer scalar that decides: exact in every precision. */
static gcut_ref decider(graph_gen *r)
{
    return gen_new_leaf(r, &(gcut_type){.dtype = GCUT_I32}, 0, 5);
}

/* The type of a slice of t without that axis. */
static gcut_type without_axis(const gcut_type *t, uint32_t axis)
{
    gcut_type slice = {.dtype = t->dtype};
    for (uint32_t d = 0; d < t->rank; d++)
        if (d != axis) slice.dim[slice.rank++] = t->dim[d];
    return slice;
}

/* c' = sin(c + x), y = c' * k: errors do not grow from step to step. */
static void make_fold(graph_gen *r)
{
    uint32_t x = gen_value(r, gen_any_real(r), 1, false);
    gcut_type t = gen_type_of(r, gen_use(r, x));
    uint32_t axis = gen_draw(r, t.rank);
    gcut_type slice = without_axis(&t, axis);
    uint32_t c = gen_leaf(r, &slice), k = gen_matching(r, c, false);
    gcut_build b = {.g = gcut_body_new(r->b.g)};
    gcut_ref in[2] = {gen_use(r, c), gen_use(r, x)}, carry = argument(b.g, "c", &slice);
    gcut_ref part = argument(b.g, "x", &slice), factor = gcut_body_capture(b.g, gen_use(r, k));
    gcut_ref next = gcut_b1(&b, GCUT_OP_sin, gcut_b2(&b, GCUT_OP_add, carry, part));
    yields(b.g, "next", next);
    yields(b.g, "y", gcut_b2(&b, GCUT_OP_mul, next, factor));
    gcut_attr a[] = {gcut_attr_dim(GCUT_KEY_carries, 1), gcut_attr_dim(GCUT_KEY_axis, axis),
                     gcut_attr_bool(GCUT_KEY_reverse, gen_coin(r))};
    gcut_ref out = with_bodies(r->b.g, GCUT_OP_scan, in, 2, &b.g, 1, a, 3);
    gen_keep(r, out, 1, false);
    gen_keep(r, out + 1, r->item[k].mag, false);
}

/* y = cos(x), summed over an axis: nothing is carried. */
static void make_map(graph_gen *r)
{
    uint32_t x = gen_value(r, gen_any_real(r), 1, false);
    gcut_type t = gen_type_of(r, gen_use(r, x));
    uint32_t axis = gen_draw(r, t.rank);
    gcut_type slice = without_axis(&t, axis);
    gcut_build b = {.g = gcut_body_new(r->b.g)};
    gcut_ref in = gen_use(r, x), y = gcut_b1(&b, GCUT_OP_cos, argument(b.g, "x", &slice));
    if (axis < slice.rank && gen_coin(r)) { /* y has the axis still */
        y = gcut_breduce(&b, GCUT_OP_sum, y, 1u << gen_draw(r, slice.rank));
        y = gcut_b1(&b, GCUT_OP_tanh, y);
    }
    yields(b.g, "y", y);
    gcut_attr a[] = {gcut_attr_dim(GCUT_KEY_carries, 0), gcut_attr_dim(GCUT_KEY_axis, axis)};
    gen_keep(r, with_bodies(r->b.g, GCUT_OP_scan, &in, 1, &b.g, 1, a, 2), 1, false);
}

/* In the body of make_steps: a and b change places, or a becomes its sine. */
static gcut_ref swap_or_sine(gcut_graph *g, gcut_ref swaps, gcut_ref a, gcut_ref b)
{
    gcut_graph *body[2] = {gcut_body_new(g), gcut_body_new(g)};
    for (uint32_t k = 0; k < 2; k++) {
        gcut_build in = {.g = body[k]};
        gcut_ref u = gcut_body_capture(in.g, a), v = gcut_body_capture(in.g, b);
        yields(in.g, "a", k ? gcut_b1(&in, GCUT_OP_sin, u) : v);
        yields(in.g, "b", k ? v : gcut_b2(&in, GCUT_OP_mul, u, gcut_b1(&in, GCUT_OP_cos, v)));
    }
    return with_bodies(g, GCUT_OP_if, &swaps, 1, body, 2, NULL, 0);
}

/* Steps over nothing but what is carried, which an `if` in them changes. */
static void make_steps(graph_gen *r)
{
    uint32_t x = gen_value(r, gen_any_real(r), 0, false), y = gen_matching(r, x, false);
    gcut_ref limit = decider(r), in[3] = {gen_use(r, x), gen_use(r, y), gcut_bconst(&r->b, limit, 0)};
    gcut_type t = gen_type_of(r, in[0]), count = gen_type_of(r, limit);
    bool traces = t.rank < 4 && gen_coin(r);
    gcut_build b = {.g = gcut_body_new(r->b.g)};
    gcut_ref u = argument(b.g, "a", &t), v = argument(b.g, "b", &t), i = argument(b.g, "i", &count);
    gcut_ref swaps = gcut_b2(&b, GCUT_OP_lt, i, gcut_body_capture(b.g, limit));
    gcut_ref next = swap_or_sine(b.g, swaps, u, v);
    yields(b.g, "a", next);
    yields(b.g, "b", next + 1);
    yields(b.g, "i", gcut_b2(&b, GCUT_OP_add, i, gcut_bconst(&b, i, 1)));
    if (traces) yields(b.g, "trace", next);
    gcut_attr a[] = {gcut_attr_dim(GCUT_KEY_carries, 3), gcut_attr_dim(GCUT_KEY_length, gen_any_dim(r, 6))};
    double mag = fmax(1, fmax(r->item[x].mag, r->item[y].mag));
    gcut_ref out = with_bodies(r->b.g, GCUT_OP_scan, in, 3, &b.g, 1, a, 2);
    gen_keep(r, out, mag, false);
    gen_keep(r, out + 1, mag, false);
    if (traces) gen_keep(r, out + 3, mag, false);
}

static void make_scan(graph_gen *r)
{
    switch (gen_draw(r, 3)) {
    case 0: make_map(r); break;
    case 1: make_steps(r); break;
    default: make_fold(r);
    }
}

static void make_if(graph_gen *r)
{
    uint32_t x = gen_value(r, gen_any_real(r), 0, false), y = gen_matching(r, x, false);
    gcut_ref k = decider(r), p = gcut_b2(&r->b, GCUT_OP_gt, k, gcut_bconst(&r->b, k, 2));
    gcut_build b[2] = {{.g = gcut_body_new(r->b.g)}, {.g = gcut_body_new(r->b.g)}};
    gcut_graph *body[2] = {b[0].g, b[1].g};
    gcut_ref inside = gcut_body_capture(body[0], gen_use(r, x));
    yields(body[0], "a", gcut_b1(&b[0], GCUT_OP_sin, inside));
    yields(body[0], "b", inside);
    gcut_ref other = gcut_body_capture(body[1], gen_use(r, y));
    inside = gcut_b2(&b[1], GCUT_OP_mul, gcut_body_capture(body[1], gen_use(r, x)), other);
    yields(body[1], "a", gcut_b1(&b[1], GCUT_OP_cos, inside));
    yields(body[1], "b", gcut_bconst(&b[1], inside, 0.5));
    gcut_ref out = with_bodies(r->b.g, GCUT_OP_if, &p, 1, body, 2, NULL, 0);
    gen_keep(r, out, 1, false);
    gen_keep(r, out + 1, fmax(r->item[x].mag, 1), false);
}

/* At most as often as the bound and as an input says; a bound, so that it has a derivative. */
static void make_while(graph_gen *r)
{
    uint32_t item = gen_value(r, gen_any_real(r), 0, false);
    gcut_ref x = gen_use(r, item), limit = decider(r);
    gcut_type t = gen_type_of(r, x), count = gen_type_of(r, limit);
    gcut_ref in[2] = {x, gcut_bconst(&r->b, limit, 0)};
    gcut_build b[2] = {{.g = gcut_body_new(r->b.g)}, {.g = gcut_body_new(r->b.g)}};
    gcut_graph *body[2] = {b[0].g, b[1].g};
    argument(body[0], "x", &t);
    gcut_ref i = argument(body[0], "i", &count);
    yields(body[0], "more", gcut_b2(&b[0], GCUT_OP_lt, i, gcut_body_capture(body[0], limit)));
    gcut_ref v = argument(body[1], "x", &t);
    i = argument(body[1], "i", &count);
    yields(body[1], "x", gcut_b1(&b[1], GCUT_OP_sin, v));
    yields(body[1], "i", gcut_b2(&b[1], GCUT_OP_add, i, gcut_bconst(&b[1], i, 1)));
    gcut_attr bound = gcut_attr_dim(GCUT_KEY_bound, 3);
    gcut_ref out = with_bodies(r->b.g, GCUT_OP_while, in, 2, body, 2, &bound, 1);
    gen_keep(r, out, fmax(r->item[item].mag, 1), false);
    gen_add(r, out + 1, 3, true);
}

/* A function of two values of one type, some of whose sizes are symbols of its own, which a call binds. */
static gcut_graph *function(graph_gen *r, gcut_type t)
{
    gcut_module *m = gen_module_of(r);
    gcut_build b = {.g = gcut_graph_create(m, gcut_printf(m->arena, "helper.%u", m->graphs.n))};
    for (uint32_t d = 0; d < t.rank; d++) {
        int64_t lo, hi;
        gcut_dim_range(m->dims, t.dim[d], r->b.g->decls.at, r->b.g->decls.n, &lo, &hi);
        if (gcut_dim_known(t.dim[d]) && gen_coin(r)) continue;
        t.dim[d] = gcut_dim_symbol(m->dims, gcut_printf(m->arena, "S%u", d));
        gcut_decl_add(b.g, (gcut_dim_decl){t.dim[d], lo, GCUT_DIM_MAX, 1});
    }
    gcut_ref x = argument(b.g, "x", &t), y = argument(b.g, "y", &t);
    gcut_ref a = gcut_b1(&b, GCUT_OP_sin, gcut_b2(&b, GCUT_OP_add, x, y));
    yields(b.g, "a", gcut_b2(&b, GCUT_OP_mul, a, y));
    yields(b.g, "b", t.rank ? gcut_breduce(&b, GCUT_OP_sum, x, 1u << gen_draw(r, t.rank)) : a);
    return b.g;
}

static void make_call(graph_gen *r)
{
    uint32_t x = gen_value(r, gen_any_real(r), 0, false), y = gen_matching(r, x, false);
    gcut_type t = gen_type_of(r, r->item[x].v);
    gcut_ref in[2] = {gen_use(r, x), gen_use(r, y)};
    gcut_region f = {function(r, t)};
    gcut_ref out = gcut_node_make(
        r->b.g, &(gcut_node_spec){.op = GCUT_OP_call, .args = in, .nargs = 2, .regions = &f, .nregs = 1});
    gcut_type sum = gen_type_of(r, out + 1);
    gen_keep(r, out, r->item[y].mag, false);
    gen_keep(r, out + 1, r->item[x].mag * fmax(1, gen_elements(r, &t) / fmax(1, gen_elements(r, &sum))),
             false);
}

void make_region(graph_gen *r, gcut_op op)
{
    switch (op) {
    case GCUT_OP_scan: make_scan(r); break;
    case GCUT_OP_while: make_while(r); break;
    case GCUT_OP_call: make_call(r); break;
    default: make_if(r);
    }
}

/* ---- recurrent layers ---- */

void make_recurrent(graph_gen *r, gcut_op op)
{
    const bool is_lstm = op == GCUT_OP_lstm;
    const int64_t hidden = 1 + gen_draw(r, 3), gates = is_lstm ? 4 : op == GCUT_OP_gru ? 3 : 1;
    gcut_type x = {gen_any_real(r), 3, {gen_any_dim(r, 5), gen_any_dim(r, 8), 1 + gen_draw(r, 3)}},
              h = {x.dtype, 2, {x.dim[1], hidden}}, wx = {x.dtype, 2, {gates * hidden, x.dim[2]}},
              wh = {x.dtype, 2, {gates * hidden, hidden}}, b = {x.dtype, 1, {gates * hidden}};
    gcut_ref in[7];
    uint32_t n = 0;
    in[n++] = gen_use(r, gen_leaf(r, &x));
    in[n++] = gen_use(r, gen_leaf(r, &h));
    if (is_lstm) in[n++] = gen_use(r, gen_leaf(r, &h));
    in[n++] = gen_use(r, gen_leaf(r, &wx));
    in[n++] = gen_use(r, gen_leaf(r, &wh));
    in[n++] = gen_use(r, gen_leaf(r, &b));
    in[n++] = gen_use(r, gen_leaf(r, &b));
    gcut_attr a[2] = {gcut_attr_bool(GCUT_KEY_reverse, gen_coin(r)),
                      gcut_attr_str(gen_module_of(r), GCUT_KEY_mode, gen_coin(r) ? "tanh" : "relu")};
    gcut_ref y = gen_node(r, op, in, n, a, op == GCUT_OP_rnn ? 2 : 1);
    gen_keep(r, y, 1, false);
    if (gen_coin(r)) gen_keep(r, y + 1, 1, false);
    if (is_lstm && gen_coin(r)) gen_keep(r, y + 2, 4, false);
}
