/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Prices from the op table's class and cost columns and the machine model.
 *
 *   class        recomputing one value costs
 *   POINTWISE    arithmetic; where a reader cannot take it into its own kernel also a trip through the
 *                cache and one more kernel
 *   REDUCTION    arithmetic over the operand's elements, and reading the operand from memory
 *   CONTRACTION  two flops per multiply-add at the rate of its kernel and shape, and one more kernel
 *   INDEX        arithmetic, reading from memory, a trip through the cache
 *   VIEW         0: it moves nothing, its base stands for it
 *   CONSTANT     0, and it is never saved
 *   CONTROL      its bodies, each as often as it runs: the dearer arm of an `if`, the bound of a `while`; and
 * a trip of the results through the cache
 *
 * Composites that are still in the joint graph are priced by their row like any other op.
 */
#include "partition/price.h"

#include <math.h>

typedef struct pricing {
    gcut_arena *arena;
    const gcut_facts *f;
    const gcut_machine *m;
    const gcut_dim_binding *at;
    uint32_t nat;
    int64_t *numel; /* by value */
    bool *stored;   /* by value: some reader in the backward half needs it in memory */
} pricing;

static int64_t dim_at(const gcut_graph *g, gcut_dim d, const gcut_dim_binding *at, uint32_t nat,
                      gcut_place place)
{
    int64_t n;
    if (gcut_dim_eval(g->module->dims, d, at, nat, &n)) return n;
    gcut_text t = {.arena = g->module->arena};
    gcut_dim_print(g->module->dims, d, &t);
    gcut_fail(g->module->env, GCUT_EDIM, place, "give every symbol a value, such as --at N=32",
              "the size %s of @%s has no value here", t.at, g->name);
}

static gcut_place place_of(const gcut_graph *g, gcut_ref v)
{
    const gcut_node *n = gcut_def(g, v);
    return gcut_loc_place(g->module, n ? n->loc : 0);
}

/* Elements of v; also makes sure that its bytes fit. */
static int64_t numel_of(const pricing *p, gcut_ref v)
{
    const gcut_graph *g = p->f->g;
    const gcut_type *t = gcut_type_of(g, v);
    int64_t n = gcut_dtype_bytes(t->dtype);
    bool zero = false, over = false;
    for (uint32_t i = 0; i < t->rank; i++) {
        int64_t d = dim_at(g, t->dim[i], p->at, p->nat, place_of(g, v));
        zero |= d == 0;
        over |= __builtin_mul_overflow(n, d ? d : 1, &n);
    }
    if (zero) return 0;
    if (over)
        gcut_fail(g->module->env, GCUT_EDIM, place_of(g, v), NULL, "%%%s has more than 2^63 bytes",
                  g->values.at[v].name);
    return n / gcut_dtype_bytes(t->dtype);
}

/* The widest among results and operands: vectors hold half as many elements of 8 bytes. */
static gcut_dtype width_of(const gcut_graph *g, const gcut_node *n)
{
    gcut_dtype t = gcut_type_of(g, n->res0)->dtype;
    for (uint32_t k = 0; k < n->nargs; k++) {
        gcut_dtype u = gcut_type_of(g, gcut_arg(g, n, k))->dtype;
        if (gcut_dtype_bytes(u) > gcut_dtype_bytes(t)) t = u;
    }
    return t;
}

static int64_t storage(const pricing *p, gcut_ref v)
{
    gcut_ref b = p->f->base[v];
    return p->numel[b] * gcut_dtype_bytes(gcut_type_of(p->f->g, b)->dtype);
}

double gcut_node_flops(const gcut_graph *g, const gcut_node *n, const gcut_dim_binding *at, uint32_t nat)
{
    if (gcut_node_class(n) != GCUT_CLASS_CONTRACTION) return 0;
    gcut_madds m = gcut_op_get((gcut_op)n->op)->madds(g, n);
    double flops = 2 * m.times;
    for (uint32_t i = 0; i < m.n; i++)
        flops *= (double)dim_at(g, m.dim[i], at, nat, gcut_loc_place(g->module, n->loc));
    return flops;
}

/* A value is stored when an op of the backward half reads it that cannot compute it on the way in.  Where
 * the backward half itself does not read it, it is recomputed for the sake of forward ops that are. */
static void mark_stored(pricing *p)
{
    const gcut_graph *g = p->f->g;
    bool *back = gcut_calloc(p->arena, g->values.n, 1), *fore = gcut_calloc(p->arena, g->values.n, 1);
    bool *any = gcut_calloc(p->arena, g->values.n, 1);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        gcut_class c = gcut_node_class(n);
        if (!p->f->live[i] || c == GCUT_CLASS_VIEW) continue;
        bool fusable = c == GCUT_CLASS_POINTWISE || c == GCUT_CLASS_REDUCTION;
        for (uint32_t k = 0; k < n->nargs; k++) {
            gcut_ref b = p->f->base[gcut_arg(g, n, k)];
            if (p->f->where[n->res0] == GCUT_W_FORWARD) {
                fore[b] |= !fusable;
            } else {
                any[b] = true;
                back[b] |= !fusable;
            }
        }
    }
    for (gcut_ref v = 1; v < g->values.n; v++) p->stored[v] = any[v] ? back[v] : fore[v];
}

static double node_price(const pricing *p, const gcut_node *n);

/* One run of a body with every node in it; what its kernels keep to themselves is not told apart. */
static double body_price(const pricing *p, gcut_graph *body)
{
    gcut_facts f = {.g = body, .base = gcut_calloc(p->arena, body->values.n, sizeof *f.base)};
    pricing q = {p->arena,
                 &f,
                 p->m,
                 p->at,
                 p->nat,
                 gcut_calloc(p->arena, body->values.n, sizeof *q.numel),
                 gcut_calloc(p->arena, body->values.n, 1)};
    double sum = 0;
    for (gcut_ref v = 1; v < body->values.n; v++) {
        const gcut_node *n = gcut_def(body, v);
        bool view = n && gcut_node_class(n) == GCUT_CLASS_VIEW && n->nargs;
        f.base[v] = view ? f.base[gcut_arg(body, n, 0)] : v;
        q.numel[v] = numel_of(&q, v);
    }
    for (uint32_t i = 0; i < body->nodes.n; i++) sum += node_price(&q, gcut_node_at(body, i));
    return sum;
}

#define UNBOUNDED 64 /* iterations that a `while` without a bound is taken for */

static double control_price(const pricing *p, const gcut_node *n)
{
    const gcut_graph *g = p->f->g;
    double sum = 0, dearest = 0;
    for (uint32_t k = 0; k < n->nregs; k++) {
        double one = body_price(p, gcut_region_at(g, n, k)->body);
        sum += one;
        if (one > dearest) dearest = one;
    }
    const gcut_attr *bound = n->op == GCUT_OP_while ? gcut_attr_get(g, n, GCUT_A_bound) : NULL;
    gcut_place place = gcut_loc_place(g->module, n->loc);
    if (n->op == GCUT_OP_if) return dearest;
    if (n->op == GCUT_OP_scan) return sum * (double)dim_at(g, gcut_scan_length(g, n), p->at, p->nat, place);
    if (bound) return sum * (double)dim_at(g, bound->u.dim, p->at, p->nat, place);
    return n->op == GCUT_OP_while ? sum * UNBOUNDED : sum;
}

static double contraction_price(const pricing *p, const gcut_node *n)
{
    const gcut_graph *g = p->f->g;
    const gcut_op_info *info = gcut_op_get((gcut_op)n->op);
    gcut_dtype t = width_of(g, n);
    double flops = gcut_node_flops(g, n, p->at, p->nat);
    if (info->way == GCUT_WAY_attention || info->way == GCUT_WAY_attention_grad)
        return gcut_machine_attention_ns(p->m, info->way, t, flops);
    if (info->way != GCUT_WAY_gemm)
        return gcut_machine_conv_ns(p->m, info->way, gcut_conv_window(g, n), t, flops);
    const gcut_type *y = gcut_type_of(g, n->res0);
    gcut_place place = gcut_loc_place(g->module, n->loc);
    double rows = (double)dim_at(g, y->dim[y->rank - 2], p->at, p->nat, place);
    double cols = (double)dim_at(g, y->dim[y->rank - 1], p->at, p->nat, place);
    double out = (double)p->numel[n->res0];
    return out > 0 ? gcut_machine_gemm_ns(p->m, t, rows, cols, flops / (2 * out), out / (rows * cols)) : 0;
}

static double node_price(const pricing *p, const gcut_node *n)
{
    const gcut_graph *g = p->f->g;
    const gcut_machine *m = p->m;
    gcut_op op = (gcut_op)n->op;
    double out = 0, bytes = 0;
    bool stored = false;
    for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++) {
        out += (double)p->numel[v];
        bytes += (double)storage(p, v);
        stored |= p->stored[v];
    }
    switch (gcut_node_class(n)) {
    case GCUT_CLASS_VIEW:
    case GCUT_CLASS_CONSTANT: return 0;
    case GCUT_CLASS_POINTWISE:
        return gcut_machine_op_ns(m, op, width_of(g, n), out) +
               (stored ? gcut_machine_move_ns(m, bytes, bytes, bytes) + m->kernel_ns : 0);
    case GCUT_CLASS_REDUCTION: {
        gcut_ref a = gcut_arg(g, n, 0);
        return gcut_machine_op_ns(m, op, width_of(g, n), (double)p->numel[a]) +
               (double)storage(p, a) * m->read_ns_per_byte[GCUT_DRAM];
    }
    case GCUT_CLASS_CONTRACTION: return contraction_price(p, n) + m->kernel_ns;
    case GCUT_CLASS_CONTROL: return control_price(p, n) + gcut_machine_move_ns(m, bytes, bytes, bytes);
    case GCUT_CLASS_INDEX:
        return gcut_machine_op_ns(m, op, width_of(g, n), out) + bytes * m->read_ns_per_byte[GCUT_DRAM] +
               gcut_machine_move_ns(m, bytes, bytes, bytes);
    }
    return 0;
}

/* Into the other form of v and out of it again, and where something reads it that cannot do that on the way
 * in, a trip of the result through the cache. */
static double convert_price(const pricing *p, gcut_ref v)
{
    gcut_dtype t = gcut_type_of(p->f->g, v)->dtype;
    const gcut_machine *m = p->m;
    double n = (double)p->numel[v], bytes = n * (double)gcut_dtype_bytes(t);
    if (t != GCUT_f32 && t != GCUT_bool) return 0;
    double ns = t == GCUT_f32 ? 2 * gcut_machine_op_ns(m, GCUT_OP_cast, t, n)
                              : gcut_machine_op_ns(m, GCUT_OP_pack_bits, t, n) +
                                    gcut_machine_op_ns(m, GCUT_OP_unpack_bits, t, n);
    return ns + (p->stored[v] ? gcut_machine_move_ns(m, bytes, bytes, bytes) + m->kernel_ns : 0);
}

static const char *zero_reason(const pricing *p, const gcut_node *n)
{
    gcut_class c = gcut_node_class(n);
    if (c == GCUT_CLASS_VIEW) return "a view: its base stands for it";
    if (c == GCUT_CLASS_CONSTANT) return "a constant: made where it is needed";
    if (p->f->where[n->res0] == GCUT_W_EITHER)
        return "the forward half does not need it: computed once in any case";
    return NULL;
}

gcut_price *gcut_prices(gcut_arena *arena, const gcut_facts *f, const gcut_machine *m,
                        const gcut_dim_binding *at, uint32_t nat)
{
    const gcut_graph *g = f->g;
    pricing p = {arena,
                 f,
                 m,
                 at,
                 nat,
                 gcut_calloc(arena, g->values.n, sizeof *p.numel),
                 gcut_calloc(arena, g->values.n, 1)};
    gcut_price *out = gcut_calloc(arena, g->values.n, sizeof *out);
    for (gcut_ref v = 1; v < g->values.n; v++) p.numel[v] = numel_of(&p, v);
    mark_stored(&p);
    for (gcut_ref v = 1; v < g->values.n; v++) {
        const gcut_node *n = gcut_def(g, v);
        gcut_price *c = &out[v];
        c->bytes = p.numel[v] * gcut_dtype_bytes(gcut_type_of(g, v)->dtype);
        c->trip_ns = gcut_machine_dram_trip_ns(m, (double)c->bytes);
        c->convert_ns = convert_price(&p, v);
        const char *param = gcut_value_is_lost(g, v) ? "carried by the forward loop, which is over"
                                                     : "a parameter: alive anyway";
        c->why = n ? zero_reason(&p, n) : param;
        c->recompute_ns = !n ? INFINITY : c->why ? 0 : node_price(&p, n);
    }
    return out;
}
