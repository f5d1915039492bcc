/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Checks the claims of a certificate.
 *
 *   schedule   every value is computed before it is read, and every result; what crosses has the bytes that are said
 *   memory     buffers that are in use together do not overlap; the top and the resident values are the peak
 *   time       the kernels' times add up to the step's
 *   bound      arcs of the network stand for operands and readers; the flow is feasible and its value is the bound
 *
 * Weak duality makes a flow a proof: with 0 <= flow <= capacity, the capacity of any cut is at least what leaves
 * the source less what other vertices lose or gain, so rounding in a flow only lowers what it proves.  The network
 * without some of its arcs proves less, so that every arc has to be justified, and none has to be there.
 *
 * Taken as given: prices of values, times of kernels, which buffers a kernel uses, and that a graph whose loops were
 * planned computes what the joint graph does.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/units.h"
#include "driver/certificate/certificate.h"
#include "graph/ops/node_facts.h"
#include "graph/ops/value_bytes.h"
#include "partition/cut/prices.h"
#include "partition/cut/sides.h"
#include "partition/cut/storage_format.h"

#define NEAR 1e-9 /* sums of doubles in another order agree to this part of them */

typedef struct checking {
    const gcut_certificate *c;
    gcut_graph *g;
    gcut_arena *a;
    const gcut_facts *facts;
    gcut_dim_binding *at;
    bool *fwd, *bwd; /* by value: the forward, the backward graph has it by now */
    gcut_certified *out;
} checking;

/* Ends a check with a fault; the sentence begins with the member of the file. */
#define FAULT(s, name, ...)                                                                                  \
    return ((s)->out->member = (name), (s)->out->fault = gcut_printf((s)->a, __VA_ARGS__), false)

static const char *bytes_text(const checking *s, int64_t n)
{
    return gcut_bytes_text(s->a, n);
}

static bool are_near(double x, double y, double size)
{
    return fabs(x - y) <= NEAR * size + 1e-9;
}

/* ---- schedule ---- */

/* Made wherever it is read: it depends on sizes alone. */
static bool is_constant(const checking *s, gcut_ref v)
{
    const gcut_node *n = gcut_def(s->g, v);
    return n && gcut_node_class(n) == GCUT_CLASS_CONSTANT;
}

static bool run_node(checking *s, const char *list, uint32_t i, const char *name, bool *have, bool once)
{
    const gcut_graph *g = s->g;
    const gcut_ref v = gcut_graph_find(g, name);
    const gcut_node *n = v ? gcut_def(g, v) : NULL;
    if (!n || n->res0 != v)
        FAULT(s, list, "certificate.%s[%u]: %%%s is not the first result of a node of @%s", list, i, name,
              g->name);
    if (once && have[v]) FAULT(s, list, "certificate.%s[%u]: %%%s is computed a second time", list, i, name);
    for (uint32_t k = 0; k < n->nargs; k++) {
        const gcut_ref x = gcut_arg(g, n, k);
        if (!have[x] && !is_constant(s, x))
            FAULT(s, list, "certificate.%s[%u]: %%%s reads %%%s, which is neither computed before nor %s",
                  list, i, name, g->values.at[x].name, have == s->fwd ? "given" : "saved");
    }
    for (uint32_t k = 0; k < n->nres; k++) have[v + k] = true;
    return true;
}

/* Bytes of a value in that format; -1: it has no such format. */
static int64_t stored_bytes(const checking *s, gcut_ref v, const char *format)
{
    const gcut_type *t = gcut_type_of(s->g, v);
    const int64_t plain = gcut_value_bytes(s->g, v, s->at, s->c->nat), n = plain / gcut_dtype_bytes(t->dtype);
    gcut_format f;
    if (!gcut_format_read(format, &f)) return -1;
    if (f == GCUT_FORMAT_GRAD) return 0;
    if (f == GCUT_FORMAT_BF16) return t->dtype == GCUT_F32 ? 2 * n : -1;
    if (f == GCUT_FORMAT_BITS) return t->dtype == GCUT_BOOL ? (n + 7) / 8 : -1;
    return plain;
}

/* What the backward graph begins with: what the caller keeps, and what is saved. */
static bool cross(checking *s)
{
    const gcut_graph *g = s->g;
    gcut_env *env = g->module->env;
    int64_t sum = 0;
    for (uint32_t i = 0; i < g->params.n; i++) {
        const gcut_ref v = g->params.at[i].value;
        s->bwd[v] = !gcut_value_is_lost(g, v);
    }
    for (gcut_ref v = 1; v < g->values.n; v++)
        if (s->facts->kept[v] && s->fwd[v]) s->bwd[v] = true;
    for (uint32_t i = 0; i < s->c->saved.n; i++) {
        const gcut_claimed_saved *x = &s->c->saved.at[i];
        const gcut_ref v = gcut_graph_find(g, x->value);
        if (!v) FAULT(s, "values", "values: @%s has no %%%s to save", g->name, x->value);
        if (!s->fwd[v])
            FAULT(s, "values", "values: %%%s is saved, but certificate.forward does not compute it",
                  x->value);
        const int64_t bytes = stored_bytes(s, v, x->format);
        if (bytes < 0) FAULT(s, "values", "values: %%%s cannot be saved as %s", x->value, x->format);
        if (bytes != x->bytes)
            FAULT(s, "values", "values: %%%s takes %s as %s, not %s", x->value, bytes_text(s, bytes),
                  x->format, bytes_text(s, x->bytes));
        sum = gcut_bytes_add(env, g->module->file, "saved values", sum, bytes);
        s->bwd[v] = true;
    }
    if (sum != s->c->saved_bytes)
        FAULT(s, "saved_bytes", "saved_bytes is %s, the saved values take %s",
              bytes_text(s, s->c->saved_bytes), bytes_text(s, sum));
    return true;
}

static bool check_schedule(checking *s)
{
    const gcut_graph *g = s->g;
    for (uint32_t i = 0; i < g->params.n; i++)
        s->fwd[g->params.at[i].value] = !gcut_param_is_late(&g->params.at[i]);
    for (uint32_t i = 0; i < s->c->forward.n; i++)
        if (!run_node(s, "forward", i, s->c->forward.at[i], s->fwd, true)) return false;
    if (!cross(s)) return false;
    for (uint32_t i = 0; i < s->c->backward.n; i++)
        if (!run_node(s, "backward", i, s->c->backward.at[i], s->bwd, false)) return false;
    for (uint32_t i = 0; i < g->results.n; i++) {
        const gcut_result *r = &g->results.at[i];
        const bool *have = gcut_result_is_late(r) ? s->bwd : s->fwd;
        if (!have[r->value] && !is_constant(s, r->value))
            FAULT(s, have == s->fwd ? "forward" : "backward",
                  "certificate.%s does not compute %%%s, which the result %s %s is",
                  have == s->fwd ? "forward" : "backward", g->values.at[r->value].name,
                  gcut_role_name(r->role), r->name);
    }
    gcut_text_add(
        &s->out->said,
        "schedule: %u nodes forward, %u backward; every value is computed before it is read, and every "
        "result; %s saved\n",
        s->c->forward.n, s->c->backward.n, bytes_text(s, s->c->saved_bytes));
    return true;
}

/* ---- memory ---- */

typedef struct span {
    const gcut_claimed_buffer *b;
    uint32_t index;
    int64_t end; /* of its bytes */
} span;

static int by_first(const void *x, const void *y)
{
    const span *a = x, *b = y;
    if (a->b->first != b->b->first) return a->b->first < b->b->first ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* The top of the buffers in the arena, or in the block, where all are in use together; false after a fault. */
static bool find_top(checking *s, bool block, int64_t *top)
{
    const gcut_certificate *c = s->c;
    span *all = gcut_calloc(s->a, c->buffers.n + 1u, sizeof *all);
    uint32_t n = 0, alive = 0;
    *top = 0;
    for (uint32_t i = 0; i < c->buffers.n; i++) {
        const gcut_claimed_buffer *b = &c->buffers.at[i];
        if (b->first > b->last)
            FAULT(s, "buffers", "certificate.buffers[%u] (%s): its last kernel is before its first", i,
                  b->name);
        if (b->offset % GCUT_LINE)
            FAULT(s, "buffers", "certificate.buffers[%u] (%s): its offset %lld is no multiple of %d", i,
                  b->name, (long long)b->offset, GCUT_LINE);
        const int64_t end = b->offset + (b->bytes + GCUT_LINE - 1) / GCUT_LINE * GCUT_LINE;
        if (b->block != block || b->bytes == 0) continue;
        all[n++] = (span){b, i, end};
        if (end > *top) *top = end;
    }
    if (n) qsort(all, n, sizeof *all, by_first);
    /* all[0 .. alive) are in use when all[i] begins to be. */
    for (uint32_t i = 0; i < n; i++) {
        const span x = all[i];
        uint32_t kept = 0;
        for (uint32_t k = 0; k < alive; k++) {
            const span *y = &all[k];
            if (!block && y->b->last < x.b->first) continue;
            if (x.b->offset < y->end && y->b->offset < x.end)
                FAULT(
                    s, "buffers",
                    "certificate.buffers[%u] (%s) and [%u] (%s) are both in use by kernel k%lld and overlap: "
                    "bytes %lld to %lld and %lld to %lld",
                    y->index, y->b->name, x.index, x.b->name, (long long)x.b->first, (long long)y->b->offset,
                    (long long)y->end, (long long)x.b->offset, (long long)x.end);
            all[kept++] = *y;
        }
        all[kept] = x;
        alive = kept + 1;
    }
    return true;
}

static bool check_uses(checking *s)
{
    const gcut_certificate *c = s->c;
    int64_t boundary = INT64_MAX; /* the first kernel of the backward graph */
    for (uint32_t i = 0; i < c->kernels.n; i++) {
        const gcut_claimed_kernel *k = &c->kernels.at[i];
        if (k->backward && k->launch < boundary) boundary = k->launch;
        for (uint32_t u = 0; u < k->nuses; u++) {
            const gcut_claimed_buffer *b = &c->buffers.at[k->uses[u]];
            if (k->launch < b->first || k->launch > b->last)
                FAULT(s, "buffers",
                      "certificate.kernels[%u] (k%lld) uses buffers[%lld] (%s), which is there from k%lld to "
                      "k%lld",
                      i, (long long)k->launch, (long long)k->uses[u], b->name, (long long)b->first,
                      (long long)b->last);
        }
    }
    for (uint32_t i = 0; i < c->buffers.n; i++) {
        const gcut_claimed_buffer *b = &c->buffers.at[i];
        /* A forced save that nothing reads ends with its own kernel. */
        if (b->first < boundary ? b->last >= boundary && !b->saved : b->saved)
            FAULT(s, "buffers",
                  "certificate.buffers[%u] (%s): it is there from k%lld to k%lld, k%lld is the first kernel "
                  "of the "
                  "backward graph, and `saved` is %s",
                  i, b->name, (long long)b->first, (long long)b->last, (long long)boundary,
                  b->saved ? "true" : "false");
    }
    return true;
}

/* What is saved has a buffer that is there in both graphs, and each of these has such a value.  Two values of equal
 * contents may share one. */
static bool check_saved(const checking *s)
{
    const gcut_certificate *c = s->c;
    bool *named = gcut_calloc(s->a, c->buffers.n + 1u, 1);
    for (uint32_t i = 0; i < c->saved.n; i++) {
        const gcut_claimed_saved *x = &c->saved.at[i];
        if (x->buffer < 0 && x->bytes)
            FAULT(s, "saved", "certificate.saved names no buffer of %%%s, which takes %s", x->value,
                  bytes_text(s, x->bytes));
        if (x->buffer < 0) continue;
        const gcut_claimed_buffer *b = &c->buffers.at[x->buffer];
        named[x->buffer] = true;
        if (!b->saved || b->bytes != x->bytes)
            FAULT(s, "saved",
                  "certificate.saved: %%%s takes %s in buffers[%lld] (%s), which has %s and whose `saved` is "
                  "%s",
                  x->value, bytes_text(s, x->bytes), (long long)x->buffer, b->name, bytes_text(s, b->bytes),
                  b->saved ? "true" : "false");
    }
    for (uint32_t i = 0; i < c->buffers.n; i++)
        if (c->buffers.at[i].saved && c->buffers.at[i].bytes && !named[i])
            FAULT(s, "saved",
                  "certificate.buffers[%u] (%s) is there in both graphs, and no saved value is in it", i,
                  c->buffers.at[i].name);
    return true;
}

static int64_t resident_bytes(const checking *s)
{
    const gcut_graph *g = s->g;
    gcut_env *env = g->module->env;
    int64_t sum = 0;
    for (uint32_t i = 0; i < g->params.n + g->results.n; i++) {
        const gcut_result *r = i < g->params.n ? NULL : &g->results.at[i - g->params.n];
        if (r && r->role == GCUT_ROLE_next) continue; /* it overwrites its parameter or state */
        sum = gcut_bytes_add(env, g->module->file, "the values of a step", sum,
                             gcut_value_bytes(g, r ? r->value : g->params.at[i].value, s->at, s->c->nat));
    }
    return sum;
}

static bool check_memory(checking *s)
{
    int64_t arena, block;
    const int64_t resident = resident_bytes(s);
    if (!find_top(s, false, &arena) || !find_top(s, true, &block) || !check_uses(s) || !check_saved(s))
        return false;
    if (s->c->block_bytes && block > s->c->block_bytes)
        FAULT(s, "block_bytes", "block_bytes is %s, its buffers take %s", bytes_text(s, s->c->block_bytes),
              bytes_text(s, block));
    const double top = (double)arena + (double)s->c->block_bytes + (double)resident;
    if (top != (double)s->c->peak_bytes)
        FAULT(s, "peak_bytes",
              "peak_bytes is %s; parameters, inputs and results take %s, the arena %s and the block of saved "
              "values %s",
              bytes_text(s, s->c->peak_bytes), bytes_text(s, resident), bytes_text(s, arena),
              bytes_text(s, s->c->block_bytes));
    gcut_text_add(&s->out->said,
                  "memory: %u buffers, no two in one place at a time; arena %s, other values %s: peak %s\n",
                  s->c->buffers.n, bytes_text(s, arena), bytes_text(s, resident),
                  bytes_text(s, s->c->peak_bytes));
    s->out->resident_bytes = resident;
    return true;
}

/* ---- time ---- */

static bool check_time(checking *s)
{
    const gcut_certificate *c = s->c;
    double sum = 0;
    for (uint32_t i = 0; i < c->kernels.n; i++) {
        const gcut_claimed_kernel *k = &c->kernels.at[i];
        if (i && k->launch <= c->kernels.at[i - 1].launch)
            FAULT(s, "kernels", "certificate.kernels[%u]: k%lld does not come after k%lld", i,
                  (long long)k->launch, (long long)c->kernels.at[i - 1].launch);
        sum += k->ns;
    }
    if (!are_near(sum, c->step_ns, c->step_ns))
        FAULT(s, "kernels", "certificate.kernels: their times add up to %.17g ns, step_ns is %.17g", sum,
              c->step_ns);
    gcut_text_add(&s->out->said, "time: %u kernels add up to %s\n", c->kernels.n, gcut_time_text(s->a, sum));
    return true;
}

/* ---- bound ---- */

typedef struct network {
    uint32_t n;              /* vertices */
    gcut_ref *in, *out;      /* by vertex: whose it is, 0 = none */
    uint32_t *work;          /* by vertex: 1 + the node whose work it is, 0 = none */
    double *gained, *turned; /* by vertex: flow in less flow out; flow in */
} network;

static const char *value_of(const checking *s, const gcut_claimed_arc *x, gcut_ref *v)
{
    *v = gcut_graph_find(s->g, x->value);
    if (!*v) return gcut_printf(s->a, "@%s has no value %%%s", s->g->name, x->value);
    if (s->facts->side[*v] == GCUT_SIDE_BACKWARD)
        return gcut_printf(s->a, "%%%s belongs to the backward graph alone", x->value);
    return NULL;
}

/* Finds whose the vertices are, by the arcs of saving and recomputing. */
static const char *name_vertices(const checking *s, network *w, const gcut_claimed_arc *x)
{
    gcut_ref v;
    const char *wrong = value_of(s, x, &v);
    if (wrong) return wrong;
    if (x->kind == GCUT_CLAIMED_SAVE) {
        if (x->from < 2 || x->to < 2 || w->in[x->from] || w->out[x->from] || w->in[x->to] || w->out[x->to])
            return "a vertex has two values";
        w->in[x->from] = v;
        w->out[x->to] = v;
    }
    if (x->kind == GCUT_CLAIMED_RECOMPUTE) {
        const gcut_node *n = gcut_def(s->g, v);
        if (x->from != 0 || x->to < 2 || w->work[x->to])
            return "it does not go from the source to work of its own";
        if (n && n->res0 != v) return gcut_printf(s->a, "%%%s is not the first result of its node", x->value);
        w->work[x->to] = 1 + s->g->values.at[v].def; /* GCUT_NONE + 1 = 0: a parameter */
    }
    return NULL;
}

static bool is_forced(const checking *s, const char *value)
{
    for (uint32_t i = 0; i < s->c->forced.n; i++)
        if (!strcmp(s->c->forced.at[i].value, value)) return true;
    return false;
}

/* Why the plan need not obey the arc; NULL = it does. */
static const char *unjustified(const checking *s, const network *w, const gcut_claimed_arc *x)
{
    const gcut_graph *g = s->g;
    const gcut_ref v = gcut_graph_find(g, x->value);
    if (x->kind == GCUT_CLAIMED_READ) {
        if (x->to != 1 || w->out[x->from] != v) return "it does not go from the value to the sink";
        if (!s->facts->read[v] && !is_forced(s, x->value))
            return gcut_printf(s->a, "nothing in the backward graph reads %%%s", x->value);
    }
    if (x->kind != GCUT_CLAIMED_OPERAND) return NULL;
    if (w->work[x->from] && w->in[x->to] == v) /* one of several results */
        return w->work[x->from] - 1 == g->values.at[v].def ? NULL : "it is not a result of that work";
    const uint32_t def = w->work[x->to] ? w->work[x->to] - 1 : GCUT_NONE;
    if (def == GCUT_NONE || !w->out[x->from]) return "it does not go from a value to the work of a node";
    const gcut_node *n = gcut_node_at(g, def);
    for (uint32_t k = 0; k < n->nargs; k++)
        if (gcut_arg(g, n, k) == w->out[x->from]) return NULL;
    return gcut_printf(s->a, "%%%s is no operand of %%%s", g->values.at[w->out[x->from]].name,
                       g->values.at[n->res0].name);
}

static const char *wrong_numbers(const checking *s, const gcut_claimed_arc *x)
{
    const double capacity = x->ns + s->c->lambda * (double)x->bytes;
    const gcut_ref v = gcut_graph_find(s->g, x->value);
    const bool priced = x->kind == GCUT_CLAIMED_SAVE;
    if (x->bytes && (!priced || x->bytes > stored_bytes(s, v, "plain")))
        return gcut_printf(s->a, "saving %%%s cannot take %s", x->value, bytes_text(s, x->bytes));
    if (isinf(capacity) != isinf(x->capacity) ||
        (!isinf(capacity) && !are_near(capacity, x->capacity, capacity)))
        return gcut_printf(s->a, "its capacity is %.17g, but %.17g ns and %lld bytes at lambda %g make %.17g",
                           x->capacity, x->ns, (long long)x->bytes, s->c->lambda, capacity);
    if (x->flow > x->capacity * (1 + 1e-15))
        return gcut_printf(s->a, "a flow of %.17g is more than its capacity, %.17g", x->flow, x->capacity);
    return NULL;
}

static bool fault_of_arc(const checking *s, uint32_t i, const char *why)
{
    static const char *const kinds[] = {"recompute", "save", "operand", "read"};
    const gcut_claimed_arc *x = &s->c->arcs.at[i];
    if (!why) return true;
    FAULT(s, "arcs", "certificate.bound.arcs[%u] (%s %%%s): %s", i, kinds[x->kind], x->value, why);
}

/* What flows out of the source less what conservation is off by. */
static bool add_flow(const checking *s, network *w, double *value)
{
    const gcut_certificate *c = s->c;
    for (uint32_t i = 0; i < c->arcs.n; i++) {
        const gcut_claimed_arc *x = &c->arcs.at[i];
        w->gained[x->to] += x->flow;
        w->turned[x->to] += x->flow;
        w->gained[x->from] -= x->flow;
    }
    *value = -w->gained[0];
    for (uint32_t v = 2; v < w->n; v++) {
        const double in = w->turned[v], out = in - w->gained[v];
        if (!are_near(in, out, fmax(in, out))) {
            const gcut_ref x = w->in[v] ? w->in[v] : w->out[v];
            FAULT(s, "arcs", "certificate.bound.arcs: %.17g flows into vertex %u (%s%s), %.17g out of it", in,
                  v, x ? "%" : "work", x ? s->g->values.at[x].name : "", out);
        }
        *value -= fabs(w->gained[v]);
    }
    return true;
}

static double forced_ns(const gcut_certificate *c)
{
    double sum = 0;
    for (uint32_t i = 0; i < c->forced.n; i++)
        sum += c->forced.at[i].ns + c->lambda * (double)c->forced.at[i].bytes;
    return sum;
}

/* Every forced value is saved by the plan, once on the list. */
static bool check_forced(const checking *s)
{
    const gcut_certificate *c = s->c;
    for (uint32_t i = 0; i < c->forced.n; i++) {
        bool saved = false;
        for (uint32_t k = 0; k < c->saved.n; k++)
            saved |= c->saved.at[k].forced && !strcmp(c->saved.at[k].value, c->forced.at[i].value);
        for (uint32_t k = 0; k < i; k++) saved &= strcmp(c->forced.at[k].value, c->forced.at[i].value) != 0;
        if (!saved)
            FAULT(s, "forced",
                  "certificate.bound.forced[%u]: %%%s is not a forced one of `values`, or is here twice", i,
                  c->forced.at[i].value);
        const gcut_ref v = gcut_graph_find(s->g, c->forced.at[i].value);
        if (v && c->forced.at[i].bytes > stored_bytes(s, v, "plain"))
            FAULT(s, "forced", "certificate.bound.forced[%u]: saving %%%s cannot take %s", i,
                  c->forced.at[i].value, bytes_text(s, c->forced.at[i].bytes));
    }
    return true;
}

/* The lambda and the limit are those of the plan. */
static bool check_terms(const checking *s)
{
    const gcut_certificate *c = s->c;
    const int64_t limit = c->budget >= 0 ? c->budget - s->out->resident_bytes : c->saved_budget;
    if (c->limit != limit)
        FAULT(s, "limit", "certificate.bound.limit is %lld, the plan's budgets leave %lld bytes",
              (long long)c->limit, (long long)limit);
    if (limit < 0 && c->lambda != c->price)
        FAULT(s, "lambda", "certificate.bound.lambda is %g, the plan's lambda %g", c->lambda, c->price);
    return true;
}

static bool check_bound(checking *s)
{
    const gcut_certificate *c = s->c;
    if (isnan(c->proved_ns)) {
        if (!isnan(c->bound_ns))
            FAULT(s, "lower_bound", "lower_bound is %.17g, and certificate.bound null", c->bound_ns);
        gcut_text_add(&s->out->said, "bound: none is claimed\n");
        return true;
    }
    network w = {.n = 2 * c->arcs.n + 2};
    w.in = gcut_calloc(s->a, w.n, sizeof *w.in), w.out = gcut_calloc(s->a, w.n, sizeof *w.out);
    w.work = gcut_calloc(s->a, w.n, sizeof *w.work);
    w.gained = gcut_calloc(s->a, w.n, sizeof *w.gained), w.turned = gcut_calloc(s->a, w.n, sizeof *w.turned);
    if (!check_terms(s) || !check_forced(s)) return false;
    for (uint32_t i = 0; i < c->arcs.n; i++)
        if (!fault_of_arc(s, i, name_vertices(s, &w, &c->arcs.at[i]))) return false;
    for (uint32_t i = 0; i < c->arcs.n; i++)
        if (!fault_of_arc(s, i, unjustified(s, &w, &c->arcs.at[i])) ||
            !fault_of_arc(s, i, wrong_numbers(s, &c->arcs.at[i])))
            return false;
    double value;
    if (!add_flow(s, &w, &value)) return false;
    const double forced = forced_ns(c), gives = c->limit < 0 ? 0 : c->lambda * (double)c->limit;
    const double proved = value + forced - gives;
    if (!are_near(proved, c->proved_ns, value + forced + gives))
        FAULT(s, "proved_ns", "certificate.bound.proved_ns is %.17g, the flow proves %.17g", c->proved_ns,
              proved);
    const bool searched = c->limit >= 0 && c->bound_ns > proved + NEAR * (value + forced + gives);
    if (!(c->bound_ns <= c->cost_ns * (1 + NEAR)))
        FAULT(s, "lower_bound", "lower_bound is %.17g, more than the plan's cost_ns, %.17g", c->bound_ns,
              c->cost_ns);
    if (!searched && c->bound_ns > proved + NEAR * (value + forced + gives))
        FAULT(s, "lower_bound", "lower_bound is %.17g, the flow proves %.17g", c->bound_ns, proved);
    gcut_text_add(&s->out->said, "bound: a flow through %u arcs proves that no plan costs less than %s",
                  c->arcs.n, gcut_time_text(s->a, fmax(0, proved)));
    if (c->limit < 0)
        gcut_text_add(&s->out->said, " at %g ns a saved byte\n", c->lambda);
    else
        gcut_text_add(&s->out->said, " within that limit%s\n",
                      !searched ? ""
                      : c->saved_budget >= 0
                          ? "; the plan's higher bound is of an integer program, which is not checked"
                          : "; the plan's higher bound is of a search, which is not checked");
    return true;
}

/* ---- the cost ---- */

/* Under a budget, a graph whose loops are planned has a cost relative to the cheapest plan of the loops
 * (gcut_candidate_cost), which the file does not contain. */
static bool check_cost(checking *s)
{
    const gcut_certificate *c = s->c;
    const double cost = c->prices_ns + c->price * (double)c->saved_bytes;
    if (c->graph && c->budget >= 0) {
        gcut_text_add(&s->out->said, "cost: of planned loops under a budget, not checked\n");
    } else {
        if (!are_near(cost, c->cost_ns, cost))
            FAULT(s, "cost_ns", "cost_ns is %.17g, the prices of `values` and of saved bytes add up to %.17g",
                  c->cost_ns, cost);
        gcut_text_add(&s->out->said, "cost: prices add up to %s\n", gcut_time_text(s->a, cost));
    }
    if (!isnan(c->bound_ns) && !are_near(c->gap_ns, c->cost_ns - c->bound_ns, c->cost_ns))
        FAULT(s, "gap", "gap is %.17g, cost_ns less lower_bound %.17g", c->gap_ns, c->cost_ns - c->bound_ns);
    return true;
}

/* ---- all ---- */

/* The sizes of the file, for every symbol of the graph. */
static bool take_sizes(checking *s)
{
    const gcut_graph *g = s->g;
    for (uint32_t i = 0; i < g->decls.n; i++) {
        const char *name = gcut_dim_symbol_name(g->module->dims, g->decls.at[i].sym);
        uint32_t k = 0;
        while (k < s->c->nat && strcmp(s->c->at[k].name, name) != 0) k++;
        if (k == s->c->nat) FAULT(s, "at", "at: there is no size for %s", name);
        s->at[k] = (gcut_dim_binding){g->decls.at[i].sym, s->c->at[k].value};
    }
    if (g->decls.n != s->c->nat)
        FAULT(s, "at", "at: @%s has %u sizes, not %u", g->name, g->decls.n, s->c->nat);
    return true;
}

gcut_certified gcut_certificate_check(const gcut_certificate *c, gcut_graph *g, gcut_arena *arena)
{
    gcut_certified out = {.said.arena = arena};
    checking s = {.c = c, .g = g, .a = arena, .out = &out, .facts = gcut_sides_of(arena, g)};
    s.at = gcut_calloc(arena, c->nat + 1u, sizeof *s.at);
    s.fwd = gcut_calloc(arena, g->values.n, 1);
    s.bwd = gcut_calloc(arena, g->values.n, 1);
    if (take_sizes(&s) && check_schedule(&s) && check_memory(&s) && check_time(&s) && check_bound(&s))
        check_cost(&s);
    return out;
}
