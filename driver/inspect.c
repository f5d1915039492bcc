/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reading, showing, planning, writing: the part of the API that runs nothing.
 */
#include <string.h>

#include "driver/pipeline.h"
#include "graph/interp.h"
#include "graph/passes.h"
#include "graph/text.h"

typedef struct job {
    gcut_env *env;
    gcut_graph *g;
    const gcut_options *opt;
    gcut_stage_name stage;
    bool flag;
    const char *path, *name;
    const char *text;
    const gcut_plan *plan;
} job;

static void load(void *arg)
{
    job *j = arg;
    gcut_module *m = gcut_parse_file(j->env, j->env->arena, j->path);
    gcut_verify_module(m);
    if (m->graphs.n == 0)
        gcut_fail(j->env, GCUT_ESYNTAX, (gcut_place){.file = m->file}, NULL,
                  "there is no function in this file");
    j->g = m->graphs.at[m->graphs.n - 1];
    if (!j->name) return;
    const char *name = j->name[0] == '@' ? j->name + 1 : j->name;
    j->g = gcut_module_find(m, name);
    if (!j->g)
        gcut_fail(j->env, GCUT_EUSAGE, (gcut_place){.file = m->file}, NULL, "there is no function @%s", name);
}

gcut_graph *gcut_load(gcut_ctx *ctx, const char *path, const char *fn)
{
    job j = {.env = ctx->env, .path = path, .name = fn};
    return gcut_guard(ctx->env, load, &j) ? j.g : NULL;
}

static gcut_goal goal_of(gcut_stage_name s)
{
    static const gcut_goal goals[] = {GCUT_TO_PRIMAL, GCUT_TO_JOINT, GCUT_TO_SPLIT, GCUT_TO_KERNEL};
    return goals[s];
}

static void show(void *arg)
{
    job *j = arg;
    gcut_pipeline *p = gcut_pipeline_new(j->g, j->opt, goal_of(j->stage), j->env->arena);
    gcut_text t = {.arena = p->arena};
    gcut_stage_text(p, j->stage, j->flag, &t);
    j->text = gcut_strndup(j->env->arena, t.at ? t.at : "", t.n);
    gcut_arena_free(p->arena);
}

const char *gcut_show(gcut_graph *g, const gcut_options *opt, gcut_stage_name stage, bool locations)
{
    if (!g) return NULL;
    job j = {.env = g->module->env, .g = g, .opt = opt, .stage = stage, .flag = locations};
    return gcut_guard(j.env, show, &j) ? j.text : NULL;
}

/* Sizes that a run has from its options alone. */
static void say_undetermined(const job *j, gcut_text *t)
{
    const gcut_graph *g = j->g;
    gcut_arena *a = gcut_arena_new(j->env, j->env->arena);
    gcut_dim *free = gcut_calloc(a, g->decls.n + 1, sizeof *free);
    uint32_t n, m;
    const gcut_dim_binding *at = gcut_default_sizes(a, g, NULL, 0, &n);
    m = gcut_undetermined(g, at, n, free);
    for (uint32_t i = 0; i < m; i++)
        gcut_text_add(t, "%s%s", i ? ", " : "; no parameter's shape determines ",
                      gcut_dim_symbol_name(g->module->dims, free[i]));
    if (m) gcut_text_add(t, ", give %s by --at", m == 1 ? "it" : "them");
    gcut_arena_free(a);
}

static void describe(void *arg)
{
    job *j = arg;
    const gcut_graph *g = j->g;
    uint32_t count[GCUT_NROLES] = {0};
    gcut_verify(g);
    for (uint32_t i = 0; i < g->params.n; i++) count[g->params.at[i].role]++;
    for (uint32_t i = 0; i < g->results.n; i++) count[g->results.at[i].role]++;
    gcut_text t = {.arena = j->env->arena};
    gcut_text_add(&t, "@%s: %u node%s", g->name, g->nodes.n, g->nodes.n == 1 ? "" : "s");
    for (int r = 0; r < GCUT_NROLES; r++)
        if (count[r]) gcut_text_add(&t, ", %u %s", count[r], gcut_role_name((gcut_role)r));
    for (uint32_t i = 0; i < g->decls.n; i++)
        gcut_text_add(&t, "%s%s", i ? ", " : "; sizes ",
                      gcut_dim_symbol_name(g->module->dims, g->decls.at[i].sym));
    if (g->checks.n)
        gcut_text_add(&t, "; %u equalit%s of sizes checked at run time", g->checks.n,
                      g->checks.n == 1 ? "y" : "ies");
    say_undetermined(j, &t);
    j->text = t.at;
}

const char *gcut_describe(gcut_graph *g)
{
    if (!g) return NULL;
    job j = {.env = g->module->env, .g = g};
    return gcut_guard(j.env, describe, &j) ? j.text : NULL;
}

/* ---- plans ---- */

static void make_plan(void *arg)
{
    job *j = arg;
    gcut_options opt = j->opt ? *j->opt : GCUT_OPTIONS_DEFAULT;
    opt.forward_only = false;
    j->plan = gcut_pipeline_new(j->g, &opt, GCUT_TO_KERNEL, j->env->arena)->plan;
}

const gcut_plan *gcut_plan_of(gcut_graph *g, const gcut_options *opt)
{
    if (!g) return NULL;
    job j = {.env = g->module->env, .g = g, .opt = opt};
    return gcut_guard(j.env, make_plan, &j) ? j.plan : NULL;
}

typedef struct print_job {
    const gcut_plan *plan;
    FILE *out;
    void (*print)(const gcut_plan *, gcut_text *);
} print_job;

static void print(void *arg)
{
    print_job *j = arg;
    gcut_arena *a = gcut_arena_new(j->plan->joint->module->env, j->plan->joint->module->arena);
    gcut_text t = {.arena = a};
    j->print(j->plan, &t);
    if (t.n) fwrite(t.at, 1, t.n, j->out);
    gcut_arena_free(a);
}

static void print_with(const gcut_plan *plan, FILE *out, void (*f)(const gcut_plan *, gcut_text *))
{
    print_job j = {plan, out, f};
    if (plan) gcut_guard(plan->joint->module->env, print, &j);
}

void gcut_plan_print(const gcut_plan *plan, FILE *out)
{
    print_with(plan, out, gcut_plan_text);
}
void gcut_saved_print(const gcut_plan *plan, FILE *out)
{
    print_with(plan, out, gcut_saved_text);
}
void gcut_plan_print_json(const gcut_plan *plan, FILE *out)
{
    print_with(plan, out, gcut_plan_json);
}
int64_t gcut_plan_saved_bytes(const gcut_plan *plan)
{
    return plan->saved_bytes;
}
int64_t gcut_plan_peak_bytes(const gcut_plan *plan)
{
    return plan->peak_bytes;
}

/* ---- files ---- */

static void emit_files(void *arg)
{
    job *j = arg;
    gcut_pipeline *p = gcut_pipeline_new(j->g, j->opt, GCUT_TO_KERNEL, j->env->arena);
    if (j->flag)
        gcut_build_shared(p, j->path);
    else
        gcut_write_c(p, j->path);
    gcut_arena_free(p->arena);
}

static void add_suffix(void *arg)
{
    job *j = arg;
    j->path = gcut_printf(j->env->arena, "%s.so", j->path);
}

gcut_status gcut_emit_files(gcut_graph *g, const gcut_options *opt, const char *base, bool shared)
{
    if (!g) return GCUT_EUSAGE;
    job j = {.env = g->module->env, .g = g, .opt = opt, .path = base, .flag = shared};
    if (shared && strcmp(base + (strlen(base) > 3 ? strlen(base) - 3 : 0), ".so") != 0 &&
        !gcut_guard(j.env, add_suffix, &j))
        return GCUT_ENOMEM;
    return gcut_protect(j.env, emit_files, &j);
}

gcut_graph *gcut_graph_sibling(gcut_graph *g, size_t i)
{
    return g && i < g->module->graphs.n ? g->module->graphs.at[i] : NULL;
}

const char *gcut_graph_name(const gcut_graph *g)
{
    return g ? g->name : "";
}
