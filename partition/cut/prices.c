/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Prices from the op table's class and cost columns and the machine model.
 *
 *   class        recomputing one value costs
 *   POINTWISE    arithmetic, when every reader fuses it.  Otherwise max(arithmetic, writing to the cache),
 *                reading it from there if that is not the nearest cache, and one more kernel.  When the only
 *                other reader is a product that packs each element once and computes it while packing: its
 *                arithmetic, and once more if a loop reads it too
 *   REDUCTION    arithmetic over the operand's elements; a separate pass over the operand in memory, unless
 *                it reduces rows; a round trip of the result where a reader needs it stored
 *   CONTRACTION  two flops per multiply-add at the rate of its kernel and shape, one more kernel, the call, and
 *                reading the result back
 *   external     max(declared flops, moving the declared bytes); one more kernel
 *   INDEX        arithmetic, reading as many bytes as the result has from memory, a trip of the result through the
 *                cache, one more kernel
 *   VIEW         0: it moves no bytes, and its base is priced; a slice too, which kernels read as a view
 *   CONSTANT     0, and it is never saved
 *   CONTROL      its bodies, each as often as it runs: the dearer arm of an `if`, the bound of a `while`;
 *                and a trip of the results through the cache
 *
 * Composites that are still in the joint graph are priced by their row like any other op.
 */
#include "partition/cut/prices.h"

#include "graph/external.h"
#include "graph/ops/node_facts.h"
#include "graph/ops/value_bytes.h"
#include "machine/node_work.h"

#include <math.h>

typedef struct pricing {
    gcut_arena *arena;
    const gcut_graph *g;
    const gcut_facts *facts; /* of g; NULL: g is a body, where every node is live and no value has a side */
    const gcut_ref *base;    /* by value: the value whose storage it is */
    const gcut_plan_options *opt;
    const gcut_machine *m; /* of opt */
    int64_t *numel;        /* by value */
    gcut_terms *terms;     /* gets the terms of a price; NULL: nobody asks */
    bool *stored;          /* by value: some reader in the backward graph needs it in memory */
    double
        *packed; /* by value: that reader is one product, which computes it this many times instead; 0 = no */
} pricing;

static pricing pricing_new(gcut_arena *arena, const gcut_graph *g, const gcut_facts *facts,
                           const gcut_ref *base, const gcut_plan_options *opt)
{
    uint32_t n = g->values.n;
    return (pricing){.arena = arena,
                     .g = g,
                     .facts = facts,
                     .base = base,
                     .opt = opt,
                     .m = &opt->machine,
                     .numel = gcut_calloc(arena, n, sizeof(int64_t)),
                     .stored = gcut_calloc(arena, n, sizeof(bool)),
                     .packed = gcut_calloc(arena, n, sizeof(double))};
}

static int64_t numel_of(const pricing *p, gcut_ref v)
{
    return gcut_value_bytes(p->g, v, p->opt->at, p->opt->nat) /
           gcut_dtype_bytes(gcut_type_of(p->g, v)->dtype);
}

static int64_t storage(const pricing *p, gcut_ref v)
{
    gcut_ref b = p->base[v];
    return p->numel[b] * gcut_dtype_bytes(gcut_type_of(p->g, b)->dtype);
}

/* The readers of a value, in the forward or the backward graph. */
typedef struct readers {
    bool *any;        /* by value: it has a reader */
    bool *loops;      /* by value: a reader can fuse it (gcut_node_takes_in) */
    uint32_t *memory; /* by value: the number of other readers */
    bool *packed;     /* by value: the last of these computes it while packing */
} readers;

static readers no_readers(gcut_arena *a, uint32_t values)
{
    return (readers){gcut_calloc(a, values, sizeof(bool)), gcut_calloc(a, values, sizeof(bool)),
                     gcut_calloc(a, values, sizeof(uint32_t)), gcut_calloc(a, values, sizeof(bool))};
}

/* True when n, a product without batches, packs each element of operand k once and can compute it then. */
static bool packs_once(const pricing *p, const gcut_node *n, uint32_t k)
{
    const gcut_graph *g = p->g;
    const gcut_type *a = gcut_type_of(g, gcut_arg(g, n, 0)), *c = gcut_type_of(g, n->res0);
    if (!p->opt->packings || n->op != GCUT_OP_matmul || c->rank != 2) return false;
    gcut_place place = gcut_loc_place(g->module, n->loc);
    bool transposed = gcut_attr_flag(g, n, GCUT_KEY_ta);
    int64_t rows = gcut_dim_at(g->module->dims, c->dim[0], p->opt->at, p->opt->nat, place),
            cols = gcut_dim_at(g->module->dims, c->dim[1], p->opt->at, p->opt->nat, place),
            depth = gcut_dim_at(g->module->dims, a->dim[transposed ? 0 : 1], p->opt->at, p->opt->nat, place);
    return p->opt->packings(rows, cols, depth, transposed ? rows : 1, gcut_dtype_bytes(c->dtype),
                            (int)p->m->threads, 0, k == 1) == 1;
}

static void add_reader(const pricing *p, const gcut_node *n, readers *r)
{
    bool takes = gcut_node_takes_in(p->g, n);
    for (uint32_t k = 0; k < n->nargs; k++) {
        gcut_ref x = gcut_arg(p->g, n, k);
        r->any[x] = true;
        if (takes)
            r->loops[x] = true;
        else
            r->memory[x]++, r->packed[x] = packs_once(p, n, k);
    }
}

/* The readers of a view are readers of its operand, from memory if the view reorders elements. */
static void look_through(const pricing *p, const gcut_node *view, readers *r)
{
    const gcut_ref y = view->res0;
    if (view->nargs == 0 || !r->any[y]) return;
    gcut_ref x = gcut_arg(p->g, view, 0);
    bool keeps = gcut_view_keeps_order(p->g, view);
    uint32_t memory = keeps ? r->memory[y] : 1;
    r->any[x] = true;
    r->loops[x] = r->loops[x] || (keeps && r->loops[y]);
    r->memory[x] += memory;
    if (memory) r->packed[x] = keeps && r->packed[y] && p->numel[x] == p->numel[y];
}

static bool is_packed(const pricing *p, const readers *r, gcut_ref v)
{
    const gcut_node *n = gcut_def(p->g, v);
    return n && gcut_node_class(n) == GCUT_CLASS_POINTWISE && r->memory[v] == 1 && r->packed[v];
}

/* A product computes one of its operands: the first that it can. */
static void compute_one(const pricing *p, const gcut_node *n, readers *r)
{
    if (n->op != GCUT_OP_matmul) return;
    gcut_ref x = p->base[gcut_arg(p->g, n, 0)], y = p->base[gcut_arg(p->g, n, 1)];
    if (is_packed(p, r, x) && is_packed(p, r, y)) r->packed[y] = false;
}

/* A value is stored when an op of the backward graph reads it that cannot compute it while loading.  A value
 * that the backward graph does not read itself is recomputed for forward ops that are recomputed, so their
 * reads count.  Results of a body are stored. */
static void mark_stored(pricing *p)
{
    const gcut_graph *g = p->g;
    readers back = no_readers(p->arena, g->values.n), fore = no_readers(p->arena, g->values.n);
    for (uint32_t i = g->nodes.n; i-- > 0;) {
        const gcut_node *n = gcut_node_at(g, i);
        if (p->facts && !p->facts->live[i]) continue;
        if (gcut_op_get((gcut_op)n->op)->emit == GCUT_EMIT_VIEW) {
            look_through(p, n, &back);
            look_through(p, n, &fore);
        } else {
            bool forward = !p->facts || p->facts->side[n->res0] == GCUT_SIDE_FORWARD;
            add_reader(p, n, forward ? &fore : &back);
        }
    }
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        compute_one(p, gcut_node_at(g, i), &back);
        compute_one(p, gcut_node_at(g, i), &fore);
    }
    for (gcut_ref v = 1; v < g->values.n; v++) {
        const readers *r = back.any[v] ? &back : &fore;
        p->stored[v] = r->memory[v] > 0;
        p->packed[v] = is_packed(p, r, v) ? 1 + r->loops[v] : 0;
    }
    if (!p->facts)
        for (uint32_t i = 0; i < g->results.n; i++) p->packed[g->results.at[i].value] = 0;
}

/* ---- prices, term by term ---- */

static gcut_work_of work_of(const pricing *p)
{
    return (gcut_work_of){p->g, p->m, p->opt->at, p->opt->nat, p->terms};
}

static double op_price(const pricing *p, const gcut_node *n, double elements)
{
    const gcut_work_of w = work_of(p);
    return gcut_work_op_ns(&w, n, elements);
}

static double kernel_price(const pricing *p)
{
    const gcut_rate rate = gcut_machine_kernel_rate(p->m);
    return gcut_term_rated(p->terms, GCUT_TERM_FIXED, NULL, "one more kernel", &rate, 1, "kernel");
}

static double call_price(const pricing *p)
{
    const gcut_rate rate = gcut_machine_call_rate(p->m);
    return gcut_term_rated(p->terms, GCUT_TERM_FIXED, NULL, "the call", &rate, 1, "call");
}

/* Bytes of n's results, or of its operand, in a working set of that many; ns: what counts of moving them. */
static double moved(const pricing *p, const gcut_node *n, const char *what, double read, double written,
                    double set, double ns)
{
    if (!(read + written > 0)) return ns;
    return gcut_term_add(p->terms, (gcut_term){.kind = GCUT_TERM_TRAFFIC,
                                               .name = p->g->values.at[n->res0].name,
                                               .what = what,
                                               .times = 1,
                                               .read = read,
                                               .written = written,
                                               .fetched = written,
                                               .ago = NAN,
                                               .set = set,
                                               .reach = gcut_machine_reach(p->m, set),
                                               .ns = ns});
}

static double move_price(const pricing *p, const gcut_node *n, const char *what, double read, double written,
                         double set)
{
    return moved(p, n, what, read, written, set, gcut_machine_move_ns(p->m, read, written, set));
}

static double node_price(const pricing *p, const gcut_node *n);

/* The price of one run of a body: the sum over its nodes. */
static double body_price(const pricing *p, gcut_graph *body)
{
    gcut_ref *base = gcut_calloc(p->arena, body->values.n, sizeof *base);
    pricing q = pricing_new(p->arena, body, NULL, base, p->opt);
    double sum = 0;
    for (gcut_ref v = 1; v < body->values.n; v++) {
        const gcut_node *n = gcut_def(body, v);
        bool view = n && gcut_node_class(n) == GCUT_CLASS_VIEW && n->nargs;
        base[v] = view ? base[gcut_arg(body, n, 0)] : v;
        q.numel[v] = numel_of(&q, v);
    }
    mark_stored(&q);
    for (uint32_t i = 0; i < body->nodes.n; i++) sum += node_price(&q, gcut_node_at(body, i));
    return sum;
}

static double control_price(const pricing *p, const gcut_node *n)
{
    const gcut_graph *g = p->g;
    double sum = 0, dearest = 0;
    for (uint32_t k = 0; k < n->nregs; k++) {
        double one = body_price(p, gcut_region_at(g, n, k)->body);
        sum += one;
        if (one > dearest) dearest = one;
    }
    /* A prediction takes half of each arm (gcut_region_runs); a price is of one run, which takes one arm. */
    return gcut_term_add(
        p->terms,
        (gcut_term){.kind = GCUT_TERM_WORK,
                    .name = g->values.at[n->res0].name,
                    .what = n->op == GCUT_OP_if ? "its dearer arm" : "its bodies, as often as they run",
                    .times = 1,
                    .ns = n->op == GCUT_OP_if ? dearest
                                              : sum * gcut_region_runs(g, n, p->opt->at, p->opt->nat)});
}

static double contraction_price(const pricing *p, const gcut_node *n)
{
    const gcut_work_of w = work_of(p);
    const gcut_node *b =
        gcut_op_get((gcut_op)n->op)->way == GCUT_WAY_gemm ? gcut_def(p->g, gcut_arg(p->g, n, 1)) : NULL;
    const bool repeated = b && b->op == GCUT_OP_broadcast;
    return gcut_work_contraction_ns(&w, n, repeated ? ~gcut_attr_axes(p->g, b) : 0);
}

/* The time to write that many bytes in one kernel and read them in another. */
static double through(const pricing *p, const gcut_node *n, double bytes)
{
    return move_price(p, n, "to another kernel", bytes, bytes, bytes);
}

/* A reduction of rows is fused with its readers, which read the operand anyway.  Any other needs a separate
 * pass over the operand. */
static double reduction_price(const pricing *p, const gcut_node *n, double stored_bytes)
{
    const gcut_graph *g = p->g;
    gcut_ref x = gcut_arg(g, n, 0);
    const gcut_op_info *info = gcut_op_get((gcut_op)n->op);
    const bool rows = info->emit == GCUT_EMIT_REDUCE && !gcut_node_ends_kernel(g, n);
    double ns = op_price(p, n, (double)p->numel[x]);
    if (!rows) {
        double read = move_price(p, n, "its operand", (double)storage(p, x), 0, INFINITY);
        ns += read + kernel_price(p);
    }
    return ns + through(p, n, stored_bytes);
}

/* A value that its readers fuse costs its arithmetic.  Otherwise its own kernel computes while it writes; its
 * reader's price contains reading from the nearest cache, so reading from a farther one is added. */
static double pointwise_price(const pricing *p, const gcut_node *n, double elements, double stored_bytes)
{
    const gcut_machine *m = p->m;
    const uint32_t first = gcut_terms_count(p->terms);
    double ns = op_price(p, n, elements), packed = n->nres == 1 ? p->packed[n->res0] : 0;
    const uint32_t middle = gcut_terms_count(p->terms);
    if (!(stored_bytes > 0)) return ns;
    double write = gcut_machine_move_ns(m, 0, stored_bytes, stored_bytes),
           far = gcut_machine_move_ns(m, stored_bytes, 0, stored_bytes),
           near = gcut_machine_move_ns(m, stored_bytes, 0, 0);
    double stored = fmax(ns, write) + m->kernel_ns + far - near;
    if (packed > 0 && packed * ns < stored)
        return gcut_terms_scale(p->terms, first, packed, "packed, and read by a loop") * ns;
    moved(p, n, "written to the cache", 0, stored_bytes, stored_bytes, write);
    gcut_terms_longer(p->terms, first, middle, ns, write);
    kernel_price(p);
    moved(p, n, "read back, beyond L2", stored_bytes, 0, stored_bytes, far - near);
    return stored;
}

static double node_price(const pricing *p, const gcut_node *n)
{
    gcut_op op = (gcut_op)n->op;
    double out = 0, bytes = 0, stored = 0, ns;
    for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++) {
        out += (double)p->numel[v];
        bytes += (double)storage(p, v);
        if (p->stored[v]) stored += (double)storage(p, v);
    }
    if (gcut_op_get(op)->emit == GCUT_EMIT_VIEW) return 0;
    if (op == GCUT_OP_external) {
        const gcut_work_of w = work_of(p);
        ns = gcut_work_external_ns(&w, n);
        return ns + kernel_price(p);
    }
    switch (gcut_node_class(n)) {
    case GCUT_CLASS_VIEW:
    case GCUT_CLASS_CONSTANT: return 0;
    case GCUT_CLASS_POINTWISE: return pointwise_price(p, n, out, stored);
    case GCUT_CLASS_REDUCTION: return reduction_price(p, n, stored);
    case GCUT_CLASS_CONTRACTION: /* the rate includes writing the result; a fused epilogue reads it in cache
                                  */
        ns = contraction_price(p, n);
        ns += kernel_price(p);
        ns += call_price(p);
        return ns + move_price(p, n, "read back", bytes, 0, stored > 0 ? bytes : 0);
    case GCUT_CLASS_CONTROL: ns = control_price(p, n); return ns + through(p, n, bytes);
    case GCUT_CLASS_INDEX:
        ns = op_price(p, n, out);
        ns += kernel_price(p);
        ns += through(p, n, bytes);
        return ns + move_price(p, n, "read from memory", bytes, 0, INFINITY);
    }
    return 0;
}

/* Converting v to its other storage format and back; plus a round trip through the cache where a reader
 * cannot convert while loading. */
static double convert_price(const pricing *p, gcut_ref v)
{
    gcut_dtype t = gcut_type_of(p->g, v)->dtype;
    const gcut_machine *m = p->m;
    double n = (double)p->numel[v], bytes = n * (double)gcut_dtype_bytes(t);
    if (t != GCUT_BOOL && !(t == GCUT_F32 && p->opt->save_dtype == GCUT_BF16)) return 0;
    double ns = t == GCUT_F32 ? 2 * gcut_machine_op_ns(m, GCUT_OP_cast, t, n)
                              : gcut_machine_op_ns(m, GCUT_OP_pack_bits, t, n) +
                                    gcut_machine_op_ns(m, GCUT_OP_unpack_bits, t, n);
    return ns + (p->stored[v] ? gcut_machine_move_ns(m, bytes, bytes, bytes) + m->kernel_ns : 0);
}

static const char *zero_reason(const pricing *p, const gcut_node *n)
{
    gcut_class c = gcut_node_class(n);
    if (c == GCUT_CLASS_VIEW) return "a view: its base stands for it";
    if (c == GCUT_CLASS_CONSTANT) return "a constant: made where it is needed";
    if (gcut_node_has_effects(p->g, n)) return NULL;
    if (p->facts->side[n->res0] == GCUT_SIDE_EITHER)
        return "the forward graph does not need it: computed once in any case";
    return NULL;
}

static void measure(pricing *p)
{
    const gcut_graph *g = p->g;
    double all = 0;
    for (gcut_ref v = 1; v < g->values.n; v++) {
        p->numel[v] = numel_of(p, v);
        all += (double)p->numel[v] * (double)gcut_dtype_bytes(gcut_type_of(g, v)->dtype);
    }
    if (all > GCUT_MOST_BYTES)
        gcut_fail(g->module->env, GCUT_EDIM, (gcut_place){.file = g->module->file}, "plan for smaller sizes",
                  "the values of @%s have more than 2^56 bytes together", g->name);
}

/* What pricing values of f's graph needs. */
static pricing pricing_of(gcut_arena *arena, const gcut_facts *f, const gcut_plan_options *opt)
{
    pricing p = pricing_new(arena, f->g, f, f->base, opt);
    measure(&p);
    mark_stored(&p);
    return p;
}

double gcut_price_terms(const gcut_facts *f, const gcut_plan_options *opt, gcut_ref v, gcut_terms *out)
{
    const gcut_node *n = gcut_def(f->g, v);
    pricing p = pricing_of(out->arena, f, opt);
    p.terms = out;
    return !n || zero_reason(&p, n) ? 0 : node_price(&p, n);
}

gcut_price *gcut_prices(gcut_arena *arena, const gcut_facts *f, const gcut_plan_options *opt)
{
    const gcut_graph *g = f->g;
    const gcut_machine *m = &opt->machine;
    const pricing p = pricing_of(arena, f, opt);
    gcut_price *out = gcut_calloc(arena, g->values.n, sizeof *out);
    for (gcut_ref v = 1; v < g->values.n; v++) {
        const gcut_node *n = gcut_def(g, v);
        gcut_price *c = &out[v];
        c->bytes = p.numel[v] * gcut_dtype_bytes(gcut_type_of(g, v)->dtype);
        c->trip_ns = gcut_machine_dram_trip_ns(m, (double)c->bytes);
        c->convert_ns = convert_price(&p, v);
        const char *param = !gcut_value_is_lost(g, v) ? "given by the caller: alive anyway"
                            : g->is_body              ? "carried by the forward loop, which is over"
                                                      : "#transient: gone when the backward call comes";
        c->why = n ? zero_reason(&p, n) : param;
        c->recompute_ns = !n ? INFINITY : c->why ? 0 : node_price(&p, n);
    }
    return out;
}
