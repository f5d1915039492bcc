/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Many small measurements in one compiled step.
 */
#include "driver/measure/rig.h"

#include <stdio.h>
#include <string.h>

#include "driver/options/default_sizes.h"
#include "driver/options/options.h"
#include "graph/ops/node_facts.h"
#include "text/text.h"

static const char *const letters[GCUT_PROBE_SYMBOLS] = {"N", "M", "K", "B"};

/* ---- the text ---- */

static void expand(gcut_text *out, const char *s, uint32_t number, gcut_dtype t)
{
    for (; *s; s++) {
        if (*s == '$')
            gcut_text_add(out, "%u", number);
        else if (*s == '@')
            gcut_text_add(out, "%s", gcut_dtype_name(t));
        else
            gcut_text_addn(out, s, 1);
    }
}

static bool has_symbol(const gcut_probe *p, int k)
{
    const char symbol[] = {*letters[k], '$', 0};
    return strstr(p->params, symbol) != NULL;
}

static const char *text_of(const gcut_rig *r, gcut_arena *a)
{
    gcut_text t = {.arena = a};
    const char *comma = "";
    gcut_text_add(&t, "gcut 1\nfunc @calibrate[");
    for (uint32_t i = 0; i < r->n * GCUT_PROBE_SYMBOLS; i++)
        if (r->size[i].name) gcut_text_add(&t, "%s%s in 0..", comma, r->size[i].name), comma = ", ";
    gcut_text_add(&t, "](");
    for (uint32_t i = 0; i < r->n; i++) {
        gcut_text_add(&t, "%s", i ? ", " : "");
        expand(&t, r->probe[i].params, i, r->dtype);
    }
    gcut_text_add(&t, ") -> (");
    for (uint32_t i = 0; i < r->n; i++) {
        gcut_text_add(&t, "%sout y%u: ", i ? ", " : "", i);
        expand(&t, r->probe[i].type, i, r->dtype);
    }
    gcut_text_add(&t, ") {\n");
    for (uint32_t i = 0; i < r->n; i++) expand(&t, r->probe[i].body, i, r->dtype);
    gcut_text_add(&t, "  return");
    for (uint32_t i = 0; i < r->n; i++) gcut_text_add(&t, "%s %%y%u", i ? "," : "", i);
    gcut_text_add(&t, "\n}\n");
    return t.at;
}

/* ---- the step ---- */

static void fill_pool(gcut_rig *r, size_t bytes)
{
    size_t size = (size_t)gcut_dtype_bytes(r->dtype);
    for (size_t i = 0; i < bytes / size; i++) {
        uint32_t mixed = (uint32_t)i * 2654435761u;
        mixed = (mixed ^ mixed >> 15) * 2246822519u;
        double x = 0.5 + (double)(mixed >> 16) / 65536; /* no pattern for the branch predictor */
        if (r->dtype == GCUT_F64)
            ((double *)r->pool)[i] = x;
        else
            ((float *)r->pool)[i] = (float)x;
    }
}

static gcut_size *symbols_of(const gcut_rig *r, gcut_arena *a)
{
    gcut_size *s = gcut_calloc(a, (size_t)r->n * GCUT_PROBE_SYMBOLS, sizeof *s);
    for (uint32_t i = 0; i < r->n; i++)
        for (int k = 0; k < GCUT_PROBE_SYMBOLS; k++)
            if (has_symbol(&r->probe[i], k))
                s[i * GCUT_PROBE_SYMBOLS + (uint32_t)k].name = gcut_printf(a, "%s%u", letters[k], i);
    return s;
}

static bool is_symbolic(const gcut_slot *x)
{
    for (uint32_t d = 0; d < x->type.rank; d++)
        if (!gcut_dim_known(x->type.dim[d])) return true;
    return false;
}

/* Binds every float input to the pool, and every float result with a symbolic size to the memory after it,
 * at the sizes that the symbols give: inputs over each other, results side by side. */
static void bind_all(gcut_rig *r)
{
    gcut_step *s = r->step;
    gcut_arena *scratch = gcut_arena_new(r->env, s->arena);
    uint32_t nat;
    gcut_dim_binding *at = gcut_default_sizes(scratch, s->p->joint, s->p->opt.at, s->p->opt.nat, &nat);
    s->ready = false;
    char *result = r->results;
    for (uint32_t i = 0; i < s->nslots; i++) {
        gcut_slot *x = &s->slot[i];
        int64_t dims[GCUT_MAX_RANK];
        bool in = i < s->nparams;
        for (uint32_t d = 0; d < x->type.rank; d++)
            gcut_dim_eval(s->p->module->dims, x->type.dim[d], at, nat, &dims[d]);
        if (x->type.dtype != r->dtype || !(in || is_symbolic(x))) continue;
        int64_t bytes = gcut_dtype_bytes(r->dtype);
        for (uint32_t d = 0; d < x->type.rank; d++) bytes *= dims[d];
        GCUT_ASSERT(bytes <= (int64_t)r->pool_bytes - (in ? 0 : result - (char *)r->results));
        gcut_step_bind(s, x->name, in ? r->pool : result, (int)x->type.rank, dims);
        if (!in) result += (bytes + 63) & ~INT64_C(63);
    }
    gcut_arena_free(scratch);
}

gcut_rig *gcut_rig_new(gcut_env *env, gcut_arena *arena, const gcut_probes *probes, gcut_dtype t,
                       size_t pool_bytes)
{
    gcut_rig *r = gcut_calloc(arena, 1, sizeof *r);
    *r = (gcut_rig){.env = env, .dtype = t, .probe = probes->at, .n = probes->n};
    pool_bytes = (pool_bytes + 63) & ~(size_t)63;
    r->pool = gcut_step_memory(arena, (int64_t)(2 * pool_bytes)); /* pages as in a step */
    r->results = (char *)r->pool + pool_bytes;
    r->pool_bytes = pool_bytes;
    fill_pool(r, pool_bytes);
    r->size = symbols_of(r, arena);
    const char *text = text_of(r, arena);
    gcut_module *m = gcut_parse_module(env, arena, "calibrate", text, strlen(text));
    gcut_settings opt = gcut_settings_of(env, NULL, 0);
    gcut_size *at = gcut_calloc(arena, (size_t)r->n * GCUT_PROBE_SYMBOLS, sizeof *at);
    for (uint32_t i = 0; i < r->n * GCUT_PROBE_SYMBOLS; i++)
        if (r->size[i].name) at[opt.nat++] = r->size[i];
    opt.at = at;
    opt.forward_only = true;
    opt.machine = "shipped";
    opt.dump = ""; /* GRADCUT_DUMP is about the user's step */
    r->step = gcut_step_of_graph(m->graphs.at[0], &opt, gcut_arena_new(env, arena));
    r->step->p->opt.at = at; /* the pipeline's own copy is const */
    return r;
}

static void prepare(gcut_rig *r, int threads)
{
    r->step->p->opt.threads = threads; /* from which the step takes its own */
    bind_all(r);
    gcut_step_prepare(r->step);
    gcut_rt_plan *plan = r->step->plan;
    plan->stream_bytes = INT64_MAX; /* the price of a store past the caches follows from that of others */
}

void gcut_rig_only(gcut_rig *r, uint32_t i, const int64_t size[GCUT_PROBE_SYMBOLS], int threads)
{
    gcut_size *at = (gcut_size *)r->step->p->opt.at;
    for (uint32_t k = 0, n = 0; k < r->n * GCUT_PROBE_SYMBOLS; k++) {
        if (!r->size[k].name) continue;
        at[n++].value = k / GCUT_PROBE_SYMBOLS == i ? size[k % GCUT_PROBE_SYMBOLS] : 0;
    }
    prepare(r, threads);
}

void gcut_rig_cheap(gcut_rig *r, double ps, int64_t n, int threads)
{
    gcut_size *at = (gcut_size *)r->step->p->opt.at;
    for (uint32_t k = 0, i = 0; k < r->n * GCUT_PROBE_SYMBOLS; k++) {
        if (!r->size[k].name) continue;
        at[i++].value = gcut_op_get(r->probe[k / GCUT_PROBE_SYMBOLS].op)->cost_ps < ps ? n : 0;
    }
    prepare(r, threads);
}

static double run_once(gcut_rig *r)
{
    gcut_step_run(r->step, GCUT_RT_FORWARD);
    return (double)r->step->step_ns;
}

/* Runs until a run is no longer 5 % faster than the one before.  A last-level cache that holds the lines which L2 evicts
 * takes several runs to fill. */
static void warm_up(gcut_rig *r)
{
    enum { MOST = 8 };
    double before = INFINITY, ns = run_once(r);
    for (int i = 1; i < MOST && ns < 0.95 * before; i++) before = ns, ns = run_once(r);
}

/* Every step of milliseconds has short disturbances in it, and few runs of microseconds have: the mean of a stretch of
 * runs has them too. */
#define STRETCH_NS 1e6
#define MOST_RUNS 100000

double gcut_rig_run(gcut_rig *r, double budget_ns)
{
    const double stretch_ns = fmin(budget_ns, STRETCH_NS);
    double least = INFINITY, spent = 0;
    warm_up(r);
    do {
        double ns = 0;
        int n = 0;
        for (; n < 1 || (ns < stretch_ns && n < MOST_RUNS); n++) ns += run_once(r);
        spent += ns + 1;
        least = fmin(least, ns / n);
    } while (spent < budget_ns);
    return least;
}

double gcut_rig_work(const gcut_rig *r, uint32_t i)
{
    const gcut_step *s = r->step;
    const gcut_graph *g = s->p->primal;
    const gcut_probe *p = &r->probe[i];
    char name[24];
    if (p->elements > 0) {
        for (uint32_t k = 0; k < s->nsizes; k++) {
            const char *symbol = gcut_dim_symbol_name(g->module->dims, s->size[k].sym);
            if (*symbol == 'N' && !strcmp(symbol, r->size[i * GCUT_PROBE_SYMBOLS].name))
                return p->elements * (double)s->size[k].value;
        }
        return 0;
    }
    snprintf(name, sizeof name, "w%u", i);
    gcut_ref v = gcut_graph_find(g, name);
    if (!v) *name = 'y', v = gcut_graph_find(g, name);
    return gcut_node_flops(g, gcut_def(g, v), s->size, s->nsizes);
}

void gcut_rig_bytes(const gcut_rig *r, double *in, double *out)
{
    const gcut_step *s = r->step;
    *in = *out = 0;
    for (uint32_t i = 0; i < s->nslots; i++)
        if (is_symbolic(&s->slot[i])) *(i < s->nparams ? in : out) += (double)s->slot[i].bytes;
}
