/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The kernels of a step, what is in each, and why ops of two launches are not in one: gcut_fusion_new.
 */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "driver/inspect/of_pipeline.h"
#include "driver/inspect/table_text.h"
#include "driver/options/default_sizes.h"
#include "driver/options/options.h"
#include "graph/ops/value_bytes.h"
#include "gradcut/inspect.h"
#include "partition/policies/policy.h"
#include "partition/query/plan_queries.h"
#include "report/report.h"

typedef struct looking {
    gcut_arena *keep, *a; /* of the result; scratch */
    const gcut_pipeline *p;
    gcut_launches launches;
    gcut_costs costs; /* with terms */
    const gcut_placed *buffer;
    uint32_t nbuffers;
    uint32_t *cost; /* by launch: an index in costs, + 1 */
    int nlaunches;
    uint32_t *before; /* by pair: the one before it of the same value, + 1; 0 = none */
    uint32_t *last;   /* by pair: the last one of its value */
} looking;

static const char *where_of(const looking *j, const gcut_graph *g, const gcut_node *n)
{
    const char *line = gcut_query_line(j->keep, g->module, n->loc);
    return line && strcmp(line, "-") != 0 ? line : "";
}

static const char *name_of(const looking *j, const gcut_graph *g, gcut_ref v)
{
    return gcut_keep(j->keep, g->values.at[v].name);
}

/* NULL: nothing is known of that launch. */
static const gcut_cost *cost_of(const looking *j, int launch)
{
    return launch >= 0 && launch < j->nlaunches && j->cost[launch] ? &j->costs.at[j->cost[launch] - 1] : NULL;
}

static void index_costs(looking *j)
{
    for (uint32_t i = 0; i < j->costs.n; i++)
        if (j->costs.at[i].launch >= j->nlaunches) j->nlaunches = j->costs.at[i].launch + 1;
    j->cost = gcut_calloc(j->a, (size_t)j->nlaunches + 1, sizeof *j->cost);
    for (uint32_t i = 0; i < j->costs.n; i++) j->cost[j->costs.at[i].launch] = i + 1;
}

/* ---- kernels ---- */

static const char *const parts[] = {[GCUT_FUSED_MAIN] = "",
                                    [GCUT_FUSED_PROLOGUE] = "prologue",
                                    [GCUT_FUSED_EPILOGUE] = "epilogue",
                                    [GCUT_FUSED_SUM] = "sum"};

static const gcut_fused_op *op_of(const looking *j, const gcut_launch_op *x)
{
    const gcut_node *n = gcut_node_at(x->graph, x->node);
    return GCUT_NEW(j->keep, gcut_fused_op, .value = name_of(j, x->graph, n->res0),
                    .op = gcut_op_get((gcut_op)n->op)->name, .where = where_of(j, x->graph, n),
                    .part = parts[x->part], .stored = x->stored);
}

/* The line of the op that the launch is named after. */
static const char *line_of(const looking *j, const gcut_cost *c, const gcut_launch_op *const *op, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const gcut_node *x = gcut_node_at(op[i]->graph, op[i]->node);
        if (!strcmp(op[i]->graph->values.at[x->res0].name, c->value)) return where_of(j, op[i]->graph, x);
    }
    return c->place.file && c->place.line ? gcut_printf(j->keep, "%s:%d", c->place.file, c->place.line) : "";
}

/* Of the results of a node. */
static double bytes_of(const looking *j, const gcut_launch_op *x)
{
    const gcut_node *n = gcut_node_at(x->graph, x->node);
    double bytes = 0;
    for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++)
        bytes += (double)gcut_value_bytes(x->graph, v, j->p->at, j->p->nat);
    return bytes;
}

static gcut_fused_kernel *kernel_of(const looking *j, const gcut_cost *c, const gcut_launch_op *const *op,
                                    uint32_t n)
{
    gcut_fused_kernel *out = GCUT_NEW(
        j->keep, gcut_fused_kernel, .family = c->class, .value = gcut_keep(j->keep, c->value), .op = c->op,
        .where = line_of(j, c, op, n), .backward = c->graph != 0,
        .loop = c->loop ? gcut_keep(j->keep, c->loop) : NULL, .loop_op = c->loop_op, .launch = c->launch,
        .runs = c->times, .ns = c->ns, .flops = c->flops, .bytes = c->read + c->written, .nmade = n);
    for (uint32_t i = 0; i < n; i++)
        if (!op[i]->stored) out->unstored_bytes += bytes_of(j, op[i]) * c->times;
    GCUT_LIST(j->keep, out->made, n, op_of(j, op[i]));
    return out;
}

static bool in_one_loop(const gcut_fused_kernel *x, const gcut_fused_kernel *y)
{
    return y->loop && x->backward == y->backward && !strcmp(x->loop, y->loop);
}

static int by_launch(const void *a, const void *b)
{
    const gcut_launch_op *x = *(const gcut_launch_op *const *)a, *y = *(const gcut_launch_op *const *)b;
    if (x->launch != y->launch) return x->launch < y->launch ? -1 : 1;
    return (x > y) - (x < y);
}

static void add_kernels(const looking *j, gcut_fusion *out)
{
    const uint32_t n = j->launches.nops;
    const gcut_launch_op **op = gcut_calloc(j->a, n + 1u, sizeof(*op));
    const gcut_fused_kernel **list = gcut_calloc(j->keep, j->costs.n + 1u, sizeof(*list));
    for (uint32_t i = 0; i < n; i++) op[i] = &j->launches.op[i];
    if (n) qsort(op, n, sizeof *op, by_launch);
    for (uint32_t i = 0, k = 0; i < j->costs.n; i++) {
        uint32_t from;
        while (k < n && op[k]->launch < j->costs.at[i].launch) k++;
        for (from = k; k < n && op[k]->launch == j->costs.at[i].launch;) k++;
        gcut_fused_kernel *x = kernel_of(j, &j->costs.at[i], op + from, k - from);
        const bool again = i && x->loop && in_one_loop(x, list[i - 1]);
        x->first = again ? list[i - 1]->first : i;
        list[out->nkernels++] = x;
    }
    out->kernel = list;
}

/* ---- pairs ---- */

/* The traffic of a launch with that buffer, in all its runs. */
static double traffic(const gcut_cost *c, uint32_t buffer, bool read, double *bytes)
{
    double ns = 0;
    for (uint32_t r = 0; c && r < c->nruns; r++)
        for (uint32_t t = 0; t < c->run[r].nterms; t++) {
            const gcut_term *x = &c->run[r].term[t];
            if (x->kind != GCUT_TERM_TRAFFIC || x->buffer != buffer) continue;
            *bytes += c->run[r].times * (read ? x->read : x->written);
            ns += c->run[r].times * (read ? x->read * x->reach.read_ns : x->written * x->reach.write_ns);
        }
    return ns;
}

/* Links the pairs of each value. */
static void link_pairs(looking *j)
{
    const uint32_t n = j->launches.npairs;
    gcut_map last = {0};
    j->before = gcut_calloc(j->a, n + 1u, sizeof *j->before);
    j->last = gcut_calloc(j->a, n + 1u, sizeof *j->last);
    for (uint32_t i = 0; i < n; i++) {
        const gcut_launch_pair *x = &j->launches.pair[i];
        uint32_t *at = gcut_map_at(j->a, &last, gcut_map_key(&x->made->values.at[x->value]));
        j->before[i] = *at;
        *at = i + 1;
    }
    for (uint32_t i = 0; i < n; i++) {
        const gcut_launch_pair *x = &j->launches.pair[i];
        j->last[i] = gcut_map_get(&last, gcut_map_key(&x->made->values.at[x->value])) - 1;
    }
}

/* Why the value is stored whatever becomes of this pair. */
static const char *anyway(const looking *j, const gcut_launch_pair *x)
{
    if (x->result == GCUT_ROLE_saved) return "saved for the backward graph";
    if (x->result != GCUT_ROLE_param) return "the caller's";
    for (uint32_t i = j->last[x - j->launches.pair] + 1; i; i = j->before[i - 1])
        if (j->launches.pair[i - 1].to != x->to) return "others read it";
    return NULL;
}

static const gcut_unfused *unfused_of(const looking *j, const gcut_launch_pair *x, bool again)
{
    const gcut_node *n = gcut_node_at(x->graph, x->node), *made = gcut_def(x->made, x->value);
    const gcut_cost *from = cost_of(j, x->from), *to = cost_of(j, x->to);
    const char *why = anyway(j, x);
    gcut_unfused *out =
        GCUT_NEW(j->keep, gcut_unfused, .value = name_of(j, x->made, x->value),
                 .op = gcut_maker_name(x->made, x->value), .where = made ? where_of(j, x->made, made) : "",
                 .reader = name_of(j, x->graph, n->res0), .reader_op = gcut_op_get((gcut_op)n->op)->name,
                 .reader_where = where_of(j, x->graph, n), .from = from ? x->from : -1, .to = x->to,
                 .backward = to && to->graph != 0, .again = again, .code = x->reason->code,
                 .reason = x->reason->sentence, .anyway = why);
    if (again) return out;
    out->ns = traffic(to, x->read, true, &out->bytes);
    if (!why) out->ns += traffic(from, x->buffer, false, &out->bytes);
    return out;
}

static void add_pairs(const looking *j, gcut_fusion *out)
{
    const gcut_launches *l = &j->launches;
    const gcut_unfused **list = gcut_calloc(j->keep, l->npairs + 1u, sizeof(*list));
    for (uint32_t i = 0; i < l->npairs; i++) {
        bool again = false;
        for (uint32_t k = j->before[i]; k && !again; k = j->before[k - 1])
            again = l->pair[k - 1].to == l->pair[i].to;
        list[out->nunfused++] = unfused_of(j, &l->pair[i], again);
    }
    out->unfused = list;
}

void gcut_fusion_of(const gcut_pipeline *p, gcut_arena *keep, gcut_arena *scratch, gcut_fusion *out)
{
    gcut_memory memory;
    looking j = {.keep = keep, .a = scratch, .p = p};
    j.launches = gcut_program_fusions(p->program, scratch);
    j.costs = gcut_program_terms(p->program, p->machine, p->at, p->nat, p->threads, scratch);
    j.buffer = gcut_program_placement(p->program, p->at, p->nat, p->threads, scratch, &j.nbuffers, &memory);
    index_costs(&j);
    link_pairs(&j);
    out->graph = gcut_keep(keep, p->primal->name);
    out->policy = gcut_policy_of(p, keep);
    out->at = gcut_sizes_named(keep, p->module, p->at, p->nat);
    out->nat = p->nat;
    out->threads = p->threads;
    out->machine = gcut_keep(keep, p->machine->made);
    out->step_ns = j.costs.ns;
    add_kernels(&j, out);
    add_pairs(&j, out);
    out->dependence = gcut_kernel_dependences(out, &j.costs, j.buffer, j.nbuffers, keep, &out->ndependences);
}

static void fill_whole(const gcut_pipeline *p, const gcut_made *m)
{
    gcut_fusion *out = m->object;
    gcut_text json = {.arena = m->keep};
    gcut_fusion_of(p, m->keep, m->scratch, out);
    gcut_write_fusion_json(out, &json);
    out->json = json.at;
}

gcut_fusion *gcut_fusion_new_sized(size_t size, gcut_graph *g, const gcut_options *opt)
{
    GCUT_NEED(NULL, g, NULL);
    return gcut_made_of_graph(g, opt, size, sizeof(gcut_fusion), fill_whole);
}

/* ---- text ---- */

static void write_tables(const void *f, const gcut_table_options *o, gcut_text *out)
{
    gcut_write_fusion_text(f, o, out);
}

char *gcut_fusion_text_sized(size_t size, gcut_ctx *ctx, const gcut_fusion *f,
                             const gcut_table_options *table)
{
    GCUT_NEED(NULL, ctx, NULL);
    GCUT_NEED(ctx->env, f, NULL);
    return gcut_table_text(ctx->env, write_tables, f, table, size);
}

/* ---- one pair ---- */

typedef struct asking {
    gcut_env *env;
    const gcut_fusion *f;
    const char *value, *reader; /* without their % */
} asking;

/* Some launch with an op that makes it; NULL: none. */
static const gcut_fused_kernel *maker_of(const gcut_fusion *f, const char *value,
                                         const gcut_fused_kernel *with)
{
    const gcut_fused_kernel *found = NULL;
    for (size_t i = 0; i < f->nkernels; i++)
        for (size_t k = 0; k < f->kernel[i]->nmade; k++)
            if (!strcmp(f->kernel[i]->made[k]->value, value) && (!found || f->kernel[i] == with))
                found = f->kernel[i];
    return found;
}

/* Has the same been said of another operand of the reader, as of three views of one value? */
static bool is_said(const gcut_fusion *f, size_t i)
{
    const gcut_unfused *x = f->unfused[i];
    for (size_t k = 0; k < i; k++) {
        const gcut_unfused *y = f->unfused[k];
        if (y->from == x->from && y->to == x->to && !strcmp(y->code, x->code) &&
            !strcmp(y->value, x->value) && !strcmp(y->reader, x->reader))
            return true;
    }
    return false;
}

static void write_why(void *arg, gcut_text *out)
{
    const asking *j = arg;
    bool any = false;
    for (size_t i = 0; i < j->f->nunfused; i++) { /* a recomputed value has two makers */
        const gcut_unfused *x = j->f->unfused[i];
        if (strcmp(x->value, j->value) != 0 || strcmp(x->reader, j->reader) != 0) continue;
        if (!is_said(j->f, i)) gcut_write_unfused(x, out);
        any = true;
    }
    if (any) return;
    /* Another op of the launch that makes `reader` reads it. */
    for (size_t i = 0; i < j->f->nunfused; i++) {
        const gcut_unfused *x = j->f->unfused[i];
        if (strcmp(x->value, j->value) != 0 || !gcut_launch_makes(j->f, x->to, j->reader)) continue;
        gcut_text_add(out, "%%%s does not read it itself; it is computed by the kernel k%d, in which\n",
                      j->reader, x->to);
        gcut_write_unfused(x, out);
        return;
    }
    const gcut_fused_kernel *a = maker_of(j->f, j->value, NULL), *b = maker_of(j->f, j->reader, a);
    const char *none = !a ? j->value : !b ? j->reader : NULL;
    if (none)
        gcut_fail(
            j->env, GCUT_EPLAN, (gcut_place){0},
            strchr(none, '*')
                ? "in tables, a * stands for several values: name one; 'gradcut fuse --all' lists them"
                : "views, constants and what the caller binds have none; 'gradcut fuse --all' lists the ops "
                  "of all kernels",
            "no kernel computes %%%s", none);
    if (a != b)
        gcut_fail(j->env, GCUT_EPLAN, (gcut_place){0}, NULL,
                  "k%d, which computes %%%s, reads nothing of %%%s (k%d)", b->launch, j->reader, j->value,
                  a->launch);
    gcut_text_add(out, "%%%s and %%%s are computed by one launch, k%d, %s\n", j->value, j->reader, a->launch,
                  a->family);
}

char *gcut_fusion_why(gcut_ctx *ctx, const gcut_fusion *f, const char *value, const char *reader)
{
    GCUT_NEED(NULL, ctx, NULL);
    GCUT_NEED(ctx->env, f, NULL);
    GCUT_NEED(ctx->env, value, NULL);
    GCUT_NEED(ctx->env, reader, NULL);
    asking j = {ctx->env, f, value + (*value == '%'), reader + (*reader == '%')};
    return gcut_string_by(ctx->env, write_why, &j);
}
