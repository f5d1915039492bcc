/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Eager graphs of the public API.
 */
#include "autodiff/autodiff.h"
#include "driver/builder/builder.h"
#include "driver/recording.h"
#include "gradcut/trace.h"

typedef struct eager_job {
    gcut_env *env;
    gcut_graph *g;
} eager_job;

/* An empty graph of a new module, which is part of `outer`.  The graph itself is in `outer`, so that gcut_forget can give it
 * another module; the sizes are, too, so that the caller's stay valid. */
static gcut_graph graph_in(gcut_env *env, gcut_arena *outer, gcut_graph *at, gcut_dims *dims)
{
    gcut_module *m = gcut_module_new(env, outer);
    if (dims) m->dims = dims;
    gcut_graph g = *gcut_graph_create(m, "eager");
    m->graphs.at[m->graphs.n - 1] = at;
    return g;
}

static void make_eager(void *arg)
{
    eager_job *j = arg;
    gcut_arena *outer = gcut_arena_new(j->env, j->env->arena);
    gcut_graph *g = gcut_calloc(outer, 1, sizeof *g);
    *g = graph_in(j->env, outer, g, gcut_dims_new(outer));
    gcut_computed_new(g, outer);
    j->g = g;
}

gcut_graph *gcut_eager(gcut_ctx *ctx)
{
    GCUT_NEED(NULL, ctx, NULL);
    eager_job j = {ctx->env, NULL};
    return gcut_guard(ctx->env, make_eager, &j) ? j.g : NULL;
}

/* ---- what one call works on ---- */

typedef struct eager_call {
    gcut_here at;
    gcut_graph *g;
    const char *call;
    gcut_val v;
    const void *contents;
    gcut_dim dim;
    int64_t size;
    bool taken;
    gcut_val *xs, *dxs;
} eager_call;

static gcut_computed *eager(const eager_call *j, const char *hint)
{
    gcut_computed *l = gcut_outermost(j->g)->computed;
    if (!l)
        WRONG(j, "gcut_eager makes a graph whose values are computed at once",
              "%s: @%s has no values while it is built", j->call, j->g->name);
    if (l->recording)
        WRONG(j, hint, "%s: @%s is recorded, for values that may be others", j->call, j->g->name);
    return l;
}

/* The value as one of the outermost graph. */
static void check_value(const eager_call *j)
{
    if (!gcut_val_exists(j->v))
        WRONG(j, "a value that was never set, or that gcut_forget has removed", "%s: the value is null",
              j->call);
    if (j->v.graph->outer || j->v.graph->is_body)
        WRONG(j, "the body runs when the loop does; gcut_if chooses there",
              "%s: %%%s is of the body of a region, which is only built here", j->call,
              j->v.graph->values.at[j->v.id].name);
}

static uint32_t param_of(const eager_call *j)
{
    for (uint32_t k = 0; k < j->g->params.n; k++)
        if (j->g->params.at[k].value == j->v.id) return k;
    WRONG(j, NULL, "%s: %s is no parameter", j->call, gcut_builder_show(j->g, j->v.id));
}

static void do_now(void *arg)
{
    eager_call *j = arg;
    gcut_computed *l = eager(j, "gcut_trace takes the symbols of its arguments");
    const gcut_dim_decl *d = gcut_decl_find(j->g, j->dim);
    if (j->size < d->lo || j->size > d->hi)
        WRONG(j, NULL, "%s: the size %lld is not within %lld and %lld", j->call, (long long)j->size,
              (long long)d->lo, (long long)d->hi);
    *GCUT_PUSH(l->arena, &l->bind) = (gcut_dim_binding){j->dim, j->size};
}

gcut_dim gcut_dim_now_at(gcut_here at, gcut_graph *g, const char *name, int64_t lo, int64_t hi, int64_t size)
{
    GCUT_NEED_GRAPH(g, 0);
    const gcut_dim d = gcut_dim_sym_at(at, g, name, lo, hi);
    eager_call j = {.at = at, .g = g, .call = "gcut_dim_now", .dim = d, .size = size};
    return gcut_guard_at(at, g, do_now, &j) ? d : 0;
}

static void do_write(void *arg)
{
    eager_call *j = arg;
    gcut_computed *l = eager(j, "its parameters have the contents of its arguments");
    gcut_refuse_recording(j->g->module->env, "writes a value");
    check_value(j);
    param_of(j);
    if (!j->contents)
        WRONG(j, NULL, "%s: the contents of %s are NULL", j->call, gcut_builder_show(j->g, j->v.id));
    const bool has_contents = j->v.id < l->values.n && l->values.at[j->v.id].at;
    for (uint32_t k = 0; has_contents && k < j->g->args.n; k++)
        if (j->g->args.at[k] == j->v.id)
            WRONG(j, "gcut_forget removes what was made of it", "%s: an op has read %s", j->call,
                  gcut_builder_show(j->g, j->v.id));
    gcut_computed_give(l, j->v.id, j->contents, true);
}

gcut_val gcut_write_at(gcut_here at, gcut_val v, const void *contents)
{
    eager_call j = {.at = at, .g = v.graph, .call = "gcut_write", .v = v, .contents = contents};
    return gcut_guard_at(at, v.graph, do_write, &j) ? v : (gcut_val){0};
}

static void do_data(void *arg)
{
    eager_call *j = arg;
    gcut_computed *l = eager(j, "gcut_cond reads a bool scalar, and notes what it was");
    gcut_refuse_recording(j->g->module->env, "reads a value of another graph");
    check_value(j);
    j->contents = gcut_computed_value_of(l, j->v.id)->at;
}

const void *gcut_data_at(gcut_here at, gcut_val v)
{
    eager_call j = {.at = at, .g = v.graph, .call = "gcut_data", .v = v};
    return gcut_guard_at(at, v.graph, do_data, &j) ? j.contents : NULL;
}

static void do_cond(void *arg)
{
    eager_call *j = arg;
    check_value(j);
    gcut_computed *l = j->g->computed;
    if (!l)
        WRONG(j, "gcut_if builds both branches", "%s: @%s has no values while it is built", j->call,
              j->g->name);
    if (!l->recording) gcut_refuse_recording(j->g->module->env, "reads a condition of another graph");
    j->taken = gcut_computed_branch(l, j->v.id, gcut_builder_loc(j->at, j->g));
}

bool gcut_cond_at(gcut_here at, gcut_val v)
{
    eager_call j = {.at = at, .g = v.graph, .call = "gcut_cond", .v = v};
    return gcut_guard_at(at, v.graph, do_cond, &j) && j.taken;
}

/* ---- gradients ---- */

static bool is_trained(const gcut_graph *g, uint32_t k)
{
    return g->params.at[k].role == GCUT_ROLE_param &&
           gcut_dtype_is_float(gcut_type_of(g, g->params.at[k].value)->dtype);
}

static void list_params(void *arg)
{
    eager_call *j = arg;
    const gcut_computed *l = eager(j, "gcut_grad records derivatives");
    gcut_refuse_recording(j->g->module->env, "computes gradients of another graph");
    check_value(j);
    j->xs = gcut_calloc(l->made, j->g->params.n + 1, sizeof *j->xs);
    j->dxs = gcut_calloc(l->made, j->g->params.n + 1, sizeof *j->dxs);
    for (uint32_t k = 0; k < j->g->params.n; k++)
        if (is_trained(j->g, k)) j->xs[j->size++] = gcut_val_of(j->g, j->g->params.at[k].value);
    if (!j->size) WRONG(j, "gcut_param declares one", "%s: @%s has no float parameter", j->call, j->g->name);
}

static void add_gradients(void *arg)
{
    eager_call *j = arg;
    gcut_computed *l = j->g->computed;
    gcut_build b = {.g = j->g, .loc = gcut_builder_loc(j->at, j->g)};
    while (l->gradient.n < j->g->params.n) *GCUT_PUSH(l->arena, &l->gradient) = 0;
    gcut_ref *sum = gcut_memdup(l->made, l->gradient.at, l->gradient.n * sizeof *sum);
    for (uint32_t k = 0, i = 0; k < j->g->params.n; k++) {
        if (!is_trained(j->g, k)) continue;
        const gcut_ref dx = j->dxs[i++].id;
        sum[k] = sum[k] ? gcut_b2(&b, GCUT_OP_add, sum[k], dx) : dx;
    }
    gcut_computed_catch_up(l);
    memcpy(l->gradient.at, sum, l->gradient.n * sizeof *sum); /* all of them, or none after an error */
}

void gcut_backward_at(gcut_here at, gcut_val loss)
{
    eager_call j = {.at = at, .g = loss.graph, .call = "gcut_backward", .v = loss};
    if (!gcut_guard_at(at, loss.graph, list_params, &j)) return;
    gcut_grad_at(at, loss, j.xs, (int)j.size, j.dxs);
    for (int64_t k = 0; k < j.size; k++)
        if (!j.dxs[k].id) return;
    gcut_guard_at(at, loss.graph, add_gradients, &j);
}

static void find_gradient(void *arg)
{
    eager_call *j = arg;
    const gcut_computed *l = eager(j, NULL);
    check_value(j);
    const uint32_t k = param_of(j);
    if (k >= l->gradient.n || !l->gradient.at[k])
        WRONG(j, "gcut_backward makes it", "%s: %s has no gradient", j->call,
              gcut_builder_show(j->g, j->v.id));
    j->v = gcut_val_of(j->g, l->gradient.at[k]);
}

gcut_val gcut_gradient_of_at(gcut_here at, gcut_val param)
{
    eager_call j = {.at = at, .g = param.graph, .call = "gcut_gradient_of", .v = param};
    return gcut_guard_at(at, param.graph, find_gradient, &j) ? j.v : (gcut_val){0};
}

/* ---- gcut_forget ---- */

static void do_forget(void *arg)
{
    eager_call *j = arg;
    gcut_graph *g = j->g;
    gcut_computed *l = eager(j, NULL);
    gcut_refuse_recording(g->module->env, "forgets values");
    gcut_refuse_open_body(g, "gcut_forget");
    gcut_module *old = g->module;
    const gcut_ref limit = g->nodes.n ? g->nodes.at[0].res0 : g->values.n;
    gcut_graph next = graph_in(old->env, l->arena, g, old->dims);
    gcut_module *m = next.module;
    for (uint32_t k = 0; k < g->decls.n; k++) gcut_decl_add(&next, g->decls.at[k]);
    for (uint32_t k = 0; k < g->params.n && g->params.at[k].value < limit; k++) {
        const gcut_param *p = &g->params.at[k];
        gcut_ref v = gcut_param_new(&next, p->role, g->values.at[p->value].name, gcut_type_of(g, p->value));
        GCUT_ASSERT(v == p->value);
        for (uint32_t i = 0; i < p->marks.n; i++)
            gcut_mark_add(m->arena, &next.params.at[k].marks, p->marks.at[i]);
    }
    gcut_arena *made = gcut_arena_new(old->env, l->arena);
    while (l->born.n < limit) *GCUT_PUSH(l->arena, &l->born) = l->generation;
    /* Nothing throws from here on. */
    next.computed = l;
    *g = next;
    gcut_arena_free(l->made);
    gcut_arena_free(old->arena);
    l->made = made;
    l->done = 0;
    l->gradient.n = 0;
    l->generation++;
    if (l->values.n > limit) l->values.n = limit;
}

gcut_status gcut_forget(gcut_graph *g)
{
    GCUT_NEED(NULL, g, GCUT_EUSAGE);
    eager_call j = {.g = g, .call = "gcut_forget"};
    return gcut_protect(g->module->env, do_forget, &j);
}
