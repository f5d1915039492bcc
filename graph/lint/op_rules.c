/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Lint by ops: broadcasts, dtypes, logarithms, indices and products in loops.
 */
#include "base/units.h"
#include "graph/decompose/decompose.h"
#include "graph/lint/lint.h"
#include "graph/ops/infer.h"
#include "graph/ops/node_facts.h"

enum {
    WIDE_BYTES = 1 << 20, /* least size of a value that is a finding */
    WIDE_TIMES = 16,      /* least ratio of its elements to those of all of its operands */
    ISLAND_OPS = 8        /* larger islands are taken for meant */
};

static double elements(const gcut_findings *f, const gcut_graph *g, gcut_ref v)
{
    const gcut_type *t = gcut_type_of(g, v);
    double n = 1;
    for (uint32_t d = 0; d < t->rank; d++) {
        int64_t size = 0;
        if (!gcut_dim_eval(g->module->dims, t->dim[d], f->at, f->nat, &size)) return 0;
        n *= (double)size;
    }
    return n;
}

static double bytes_of(const gcut_findings *f, const gcut_graph *g, gcut_ref v)
{
    return elements(f, g, v) * (double)gcut_dtype_bytes(gcut_type_of(g, v)->dtype);
}

static const gcut_node *def_of(const gcut_graph *g, gcut_ref v, gcut_op op)
{
    const gcut_node *n = gcut_def(g, v);
    return n && n->op == (uint32_t)op ? n : NULL;
}

/* ---- broadcasts ---- */

/* What a broadcast repeats, through reshapes of its result; 0: v is no broadcast. */
static gcut_ref repeated(const gcut_graph *g, gcut_ref v)
{
    for (const gcut_node *n = gcut_def(g, v); n; n = gcut_def(g, gcut_arg(g, n, 0))) {
        if (n->op == GCUT_OP_broadcast) return gcut_arg(g, n, 0);
        if (n->op != GCUT_OP_reshape && n->op != GCUT_OP_stop_gradient) return 0;
    }
    return 0;
}

static void check_broadcast(gcut_findings *f, const gcut_graph *g, const gcut_node *n)
{
    const double all = elements(f, g, n->res0), bytes = bytes_of(f, g, n->res0);
    double sum = 0, first = 0;
    uint32_t several = 0;
    if (gcut_op_get((gcut_op)n->op)->elementwise == GCUT_ELEMENTWISE_NO || n->nargs < 2 || bytes < WIDE_BYTES)
        return;
    for (uint32_t k = 0; k < n->nargs; k++) {
        const gcut_ref from = repeated(g, gcut_arg(g, n, k));
        const double x = from ? elements(f, g, from) : all;
        sum += x;
        if (x > 1 && !several++) first = x;
    }
    if (several < 2 || all < WIDE_TIMES * sum) return;
    gcut_arena *a = f->arena;
    gcut_lint_add(f, GCUT_LINT_wide_broadcast, g, n->res0,
                  gcut_printf(a, "%s elements out of %s and %s", gcut_count_text(a, (int64_t)all),
                              gcut_count_text(a, (int64_t)first), gcut_count_text(a, (int64_t)(sum - first))),
                  bytes);
}

/* ---- dtypes ---- */

typedef struct island {
    uint32_t ops;
    gcut_ref first;     /* value of its first op */
    gcut_dtype around;  /* what its casts come from and go to */
    bool in, out, open; /* open: something else than a cast is at its edge */
} island;

static uint32_t find(uint32_t *of, uint32_t v)
{
    while (of[v] != v) v = of[v] = of[of[v]];
    return v;
}

/* Joins the operands and results of an op that have its dtype. */
static void join(const gcut_graph *g, const gcut_node *n, uint32_t *of)
{
    const gcut_dtype t = gcut_type_of(g, n->res0)->dtype;
    for (uint32_t k = 0; k < n->nargs; k++)
        if (gcut_type_of(g, gcut_arg(g, n, k))->dtype == t)
            of[find(of, gcut_arg(g, n, k))] = find(of, n->res0);
    for (uint32_t k = 1; k < n->nres; k++)
        if (gcut_type_of(g, n->res0 + k)->dtype == t) of[find(of, n->res0 + k)] = find(of, n->res0);
}

static void touch(island *x, gcut_dtype around, bool *side)
{
    if ((x->in || x->out) && x->around != around) x->open = true;
    x->around = around;
    *side = true;
}

/* A cast from one float dtype to another, as an edge of the islands on both sides. */
static void add_cast(const gcut_graph *g, const gcut_node *n, uint32_t *of, island *all)
{
    const gcut_ref from = gcut_arg(g, n, 0);
    island *into = &all[find(of, n->res0)], *out_of = &all[find(of, from)];
    touch(into, gcut_type_of(g, from)->dtype, &into->in);
    touch(out_of, gcut_type_of(g, n->res0)->dtype, &out_of->out);
}

static void check_islands(gcut_findings *f, const gcut_graph *g)
{
    uint32_t *of = gcut_calloc(f->arena, g->values.n, sizeof *of);
    island *all = gcut_calloc(f->arena, g->values.n, sizeof *all);
    for (uint32_t v = 0; v < g->values.n; v++) of[v] = v;
    for (uint32_t i = 0; i < g->nodes.n; i++)
        if (g->nodes.at[i].nres && g->nodes.at[i].op != GCUT_OP_cast) join(g, &g->nodes.at[i], of);
    for (uint32_t i = 0; i < g->params.n; i++) all[find(of, g->params.at[i].value)].open = true;
    for (uint32_t i = 0; i < g->results.n; i++) all[find(of, g->results.at[i].value)].open = true;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = &g->nodes.at[i];
        const gcut_class c = gcut_node_class(n);
        if (!n->nres) continue;
        if (n->op == GCUT_OP_cast) {
            add_cast(g, n, of, all);
        } else if (c == GCUT_CLASS_CONTROL) { /* its bodies are not looked into */
            for (uint32_t k = 0; k < n->nargs; k++) all[find(of, gcut_arg(g, n, k))].open = true;
            all[find(of, n->res0)].open = true;
        } else if (c != GCUT_CLASS_VIEW && c != GCUT_CLASS_CONSTANT) {
            island *x = &all[find(of, n->res0)];
            if (!x->ops++) x->first = n->res0;
            for (uint32_t k = 0; k < n->nargs; k++) /* a comparison reads it in another dtype */
                if (find(of, gcut_arg(g, n, k)) != find(of, n->res0))
                    all[find(of, gcut_arg(g, n, k))].open = true;
        }
    }
    for (gcut_ref v = 1; v < g->values.n; v++) {
        const island *x = &all[v];
        const gcut_dtype t = x->ops ? gcut_type_of(g, x->first)->dtype : GCUT_F32;
        if (!x->ops || x->ops > ISLAND_OPS || x->open || !x->in || !x->out) continue;
        if (!gcut_dtype_is_float(t) || !gcut_dtype_is_float(x->around)) continue;
        /* 16-bit floats are computed in f32 anyway. */
        if (t == GCUT_F32) continue;
        gcut_lint_add(f, GCUT_LINT_dtype_island, g, x->first,
                      gcut_printf(f->arena, "%u op%s in %s between casts from and to %s", x->ops,
                                  x->ops == 1 ? "" : "s", gcut_dtype_name(t), gcut_dtype_name(x->around)),
                      bytes_of(f, g, x->first));
    }
}

/* ---- logarithms ---- */

static void check_logs(gcut_findings *f, const gcut_graph *g, const gcut_node *n)
{
    if (n->op == GCUT_OP_log && def_of(g, gcut_arg(g, n, 0), GCUT_OP_softmax))
        gcut_lint_add(f, GCUT_LINT_log_of_softmax, g, n->res0,
                      gcut_printf(f->arena, "of %%%s", g->values.at[gcut_arg(g, n, 0)].name),
                      bytes_of(f, g, n->res0));
    if (n->op == GCUT_OP_cross_entropy && def_of(g, gcut_arg(g, n, 0), GCUT_OP_softmax))
        gcut_lint_add(f, GCUT_LINT_softmax_twice, g, n->res0,
                      gcut_printf(f->arena, "of %%%s", g->values.at[gcut_arg(g, n, 0)].name), 0);
}

/* ---- indices ---- */

/* A function, or the decomposition of a node `of` of another level, whose operands are its parameters. */
typedef struct level {
    const gcut_graph *g;
    const gcut_node *of;
    const struct level *outer; /* NULL: of the function */
} level;

/* An input whose elements are indices. */
typedef struct lookup {
    const gcut_param *input; /* NULL: there is none */
    int64_t size;            /* of the shortest axis that they are looked up in */
    int64_t ignored;         /* this one is not; 0: all are */
} lookup;

/* Is n `x != ignored ? x : …`? */
static bool ignores(const gcut_graph *g, const gcut_node *n, int64_t *ignored)
{
    const gcut_node *differs = n->op == GCUT_OP_select ? def_of(g, gcut_arg(g, n, 0), GCUT_OP_ne) : NULL;
    if (!differs || gcut_arg(g, differs, 0) != gcut_arg(g, n, 1)) return false;
    const gcut_node *number = def_of(g, gcut_arg(g, differs, 1), GCUT_OP_full);
    if (number) *ignored = (int64_t)gcut_attr_num(g, number, GCUT_KEY_value);
    return number != NULL;
}

/* The input whose elements v has, through views, casts and what is ignored; NULL: they are computed. */
static const gcut_param *input_of(const level *l, gcut_ref v, int64_t *ignored)
{
    const gcut_node *n = gcut_def(l->g, v);
    if (n && ignores(l->g, n, ignored)) return input_of(l, gcut_arg(l->g, n, 1), ignored);
    if (n && (n->op == GCUT_OP_cast || gcut_op_get((gcut_op)n->op)->emit == GCUT_EMIT_VIEW))
        return input_of(l, gcut_arg(l->g, n, 0), ignored);
    if (n) return NULL;
    const uint32_t k = l->g->values.at[v].index;
    return l->outer ? input_of(l->outer, gcut_arg(l->outer->g, l->of, k), ignored) : &l->g->params.at[k];
}

/* Index v is checked against an axis of that size. */
static void add_lookup(const gcut_findings *f, const level *l, gcut_ref v, gcut_dim size, lookup *x)
{
    lookup new = {0};
    new.input = input_of(l, v, &new.ignored);
    if (!new.input || !gcut_dim_eval(l->g->module->dims, size, f->at, f->nat, &new.size)) return;
    if (!x->input || new.size < x->size) *x = new;
}

/* What node n looks up: the primitives of its decomposition that check an index. */
static void find_lookups(const gcut_findings *f, const level *l, const gcut_node *n, lookup *x)
{
    if (n->op == GCUT_OP_bounded) {
        add_lookup(f, l, gcut_arg(l->g, n, 0), gcut_attr_get(l->g, n, GCUT_KEY_of)->u.dim, x);
    } else if (n->op == GCUT_OP_take || n->op == GCUT_OP_scatter_add) {
        const gcut_dim axis = gcut_attr_get(l->g, n, GCUT_KEY_axis)->u.dim;
        add_lookup(f, l, gcut_arg(l->g, n, 1), gcut_type_of(l->g, gcut_arg(l->g, n, 0))->dim[axis], x);
    } else if (gcut_op_get((gcut_op)n->op)->composite) {
        bool any = false; /* an operand that may have indices */
        int64_t ignored;
        for (uint32_t k = 0; k < n->nargs; k++) {
            gcut_ref v = gcut_arg(l->g, n, k);
            any = any || (!gcut_dtype_is_float(gcut_type_of(l->g, v)->dtype) && input_of(l, v, &ignored));
        }
        gcut_ref results[GCUT_MAX_RESULTS];
        if (!any) return;
        const level inner = {gcut_decomposition(l->g, (uint32_t)(n - l->g->nodes.at), results), n, l};
        for (uint32_t i = 0; i < inner.g->nodes.n; i++) find_lookups(f, &inner, &inner.g->nodes.at[i], x);
    }
}

static void check_index(gcut_findings *f, const gcut_graph *g, const gcut_node *n)
{
    lookup x = {0};
    if (!g->is_body) find_lookups(f, &(level){.g = g}, n, &x);
    if (!x.input) return;
    const gcut_mark *range = gcut_mark_find(&x.input->marks, GCUT_MARK_range);
    if (!range) {
        gcut_lint_add(f, GCUT_LINT_any_index, g, x.input->value,
                      gcut_printf(f->arena, "%%%s looks them up in an axis of %lld",
                                  g->values.at[n->res0].name, (long long)x.size),
                      0);
        return;
    }
    const int64_t lo = range->arg[0].i, hi = range->arg[1].i;
    if (hi > x.size || (lo < 0 && !(lo == x.ignored && x.ignored < 0)))
        gcut_lint_add(f, GCUT_LINT_index_range, g, x.input->value,
                      gcut_printf(f->arena, "from %lld to %lld, in %%%s over an axis of %lld", (long long)lo,
                                  (long long)hi - 1, g->values.at[n->res0].name, (long long)x.size),
                      0);
}

/* ---- products in loops ---- */

/* Of a scan's body: products of an element of what it scans over, or of a value from outside, that do not depend on
 * what it carries. */
static void check_loop(gcut_findings *f, const gcut_graph *g, const gcut_node *scan)
{
    const gcut_graph *body = gcut_region_at(g, scan, 0)->body;
    const uint32_t carries = gcut_node_carries(g, scan), given = body->params.n - scan->ncaptured;
    bool *carried = gcut_calloc(f->arena, body->values.n, sizeof *carried),
         *scanned = gcut_calloc(f->arena, body->values.n, sizeof *scanned);
    for (uint32_t i = 0; i < body->params.n; i++) {
        carried[body->params.at[i].value] = i < carries;
        scanned[body->params.at[i].value] = i >= carries && i < given;
    }
    for (uint32_t i = 0; i < body->nodes.n; i++) {
        const gcut_node *n = &body->nodes.at[i];
        for (uint32_t k = 0; k < n->nres; k++) {
            carried[n->res0 + k] = gcut_any_arg(body, n, carried);
            scanned[n->res0 + k] = gcut_any_arg(body, n, scanned);
        }
        if (n->op != GCUT_OP_matmul || carried[n->res0]) continue;
        /* A product of two elements of the sequence has no weights that all iterations share. */
        if (scanned[gcut_arg(body, n, 0)] && scanned[gcut_arg(body, n, 1)]) continue;
        gcut_lint_add(f, GCUT_LINT_loop_product, body, n->res0,
                      scanned[n->res0] ? "of rows that the scan is over" : "the same in each iteration",
                      bytes_of(f, body, n->res0));
    }
}

void gcut_lint_ops(const gcut_graph *g, gcut_findings *out)
{
    check_islands(out, g);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = &g->nodes.at[i];
        if (!n->nres) continue;
        check_broadcast(out, g, n);
        check_logs(out, g, n);
        check_index(out, g, n);
        if (n->op == GCUT_OP_scan) check_loop(out, g, n);
        for (uint32_t k = 0; k < n->nregs; k++) gcut_lint_ops(gcut_region_at(g, n, k)->body, out);
    }
}
