/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reading, showing, planning, writing: the part of the API that runs nothing.
 */
#include <string.h>

#include "driver/pipeline/options.h"
#include "driver/pipeline/pipeline.h"
#include "driver/pipeline/plan_info.h"
#include "interp/interp.h"
#include "passes/passes.h"
#include "graph/verify.h"
#include "text/text.h"
#include "report/report.h"

typedef struct job {
    gcut_env *env;
    gcut_graph *g;
    const gcut_options *opt; /* the caller's, of `size` bytes */
    size_t size;
    gcut_arena *a;
    gcut_stage_name stage;
    bool flag;
    const char *path, *name, *text;
    size_t length;
    char *made;
    gcut_plan *plan;
} job;

/* ---- parsing ---- */

/* The function of the module named j->name; the last one where that is NULL. */
static gcut_graph *choose(const job *j, const gcut_module *m)
{
    gcut_verify_module(m);
    for (uint32_t i = 0; i < m->graphs.n; i++) gcut_refuse_lost_statistics(m->graphs.at[i]);
    if (m->graphs.n == 0)
        gcut_fail(j->env, GCUT_ESYNTAX, (gcut_place){.file = m->file}, NULL,
                  "there is no function in this file");
    if (!j->name) return m->graphs.at[m->graphs.n - 1];
    const char *name = j->name[0] == '@' ? j->name + 1 : j->name;
    gcut_graph *g = gcut_module_find(m, name);
    if (g) return g;
    gcut_text t = {.arena = j->a};
    for (uint32_t i = 0; i < m->graphs.n; i++)
        gcut_text_add(&t, "%s@%s", i ? ", " : "there are ", m->graphs.at[i]->name);
    gcut_fail(j->env, GCUT_EUSAGE, (gcut_place){.file = m->file}, t.at, "there is no function @%s", name);
}

/* Frees the module that body made if it lacks the function. */
static gcut_graph *read_module(job *j, void (*body)(void *))
{
    if (gcut_guard(j->env, body, j)) return j->g;
    gcut_arena_free(j->a);
    return NULL;
}

static void load(void *arg)
{
    job *j = arg;
    const gcut_module *m = gcut_parse_file(j->env, j->env->arena, j->path);
    j->a = m->arena;
    j->g = choose(j, m);
}

gcut_graph *gcut_load(gcut_ctx *ctx, const char *path, const char *fn)
{
    GCUT_NEED(NULL, ctx, NULL);
    GCUT_NEED(ctx->env, path, NULL);
    job j = {.env = ctx->env, .path = path, .name = fn};
    return read_module(&j, load);
}

static void parse(void *arg)
{
    job *j = arg;
    const gcut_module *m = gcut_parse_module(j->env, j->env->arena, j->path, j->text, j->length);
    j->a = m->arena;
    j->g = choose(j, m);
}

gcut_graph *gcut_parse(gcut_ctx *ctx, const char *text, size_t length, const char *name, const char *fn)
{
    GCUT_NEED(NULL, ctx, NULL);
    if (length) GCUT_NEED(ctx->env, text, NULL);
    job j = {.env = ctx->env,
             .path = name ? name : "<memory>",
             .name = fn,
             .text = text ? text : "",
             .length = length == GCUT_TO_NUL ? strlen(text) : length};
    return read_module(&j, parse);
}

void gcut_graph_free(gcut_graph *g)
{
    if (g) gcut_arena_free(g->module->arena);
}

/* ---- printing ---- */

static gcut_pipeline *pipeline(job *j, gcut_stage_name goal)
{
    gcut_settings o = gcut_settings_of(j->env, j->opt, j->size);
    return gcut_pipeline_new(j->g, &o, goal, j->a);
}

static void show(void *arg)
{
    job *j = arg;
    gcut_text t = {.arena = j->a};
    gcut_stage_check(j->env, j->stage, "gcut_show");
    gcut_stage_text(pipeline(j, j->stage), j->stage, j->flag, &t);
    j->made = gcut_made_string(j->env, &t);
}

/* The string that body makes, with a scratch arena. */
static char *made_string(job *j, void (*body)(void *))
{
    bool fine = gcut_guard_in(j->env, &j->a, body, j);
    gcut_arena_free(j->a);
    return fine ? j->made : NULL;
}

char *gcut_show_sized(gcut_graph *g, const gcut_options *opt, size_t size, gcut_stage_name stage,
                      bool locations)
{
    GCUT_NEED(NULL, g, NULL);
    job j = {.env = g->module->env, .g = g, .opt = opt, .size = size, .stage = stage, .flag = locations};
    return made_string(&j, show);
}

/* Names the sizes that only options can give. */
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
    gcut_refuse_lost_statistics(g);
    for (uint32_t i = 0; i < g->params.n; i++) count[g->params.at[i].role]++;
    for (uint32_t i = 0; i < g->results.n; i++) count[g->results.at[i].role]++;
    gcut_text t = {.arena = j->a};
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
    j->made = gcut_made_string(j->env, &t);
}

char *gcut_describe(gcut_graph *g)
{
    GCUT_NEED(NULL, g, NULL);
    job j = {.env = g->module->env, .g = g};
    return made_string(&j, describe);
}

/* ---- plans ---- */

static void make_plan(void *arg)
{
    job *j = arg;
    gcut_settings o = gcut_settings_of(j->env, j->opt, j->size);
    o.forward_only = false;
    j->plan = gcut_pipeline_new(j->g, &o, GCUT_STAGE_KERNEL, j->a)->plan;
    j->plan->owner = j->a;
}

gcut_plan *gcut_plan_new_sized(gcut_graph *g, const gcut_options *opt, size_t size)
{
    GCUT_NEED(NULL, g, NULL);
    job j = {.env = g->module->env, .g = g, .opt = opt, .size = size};
    return gcut_guard_in(j.env, &j.a, make_plan, &j) ? j.plan : NULL;
}

void gcut_plan_free(gcut_plan *plan)
{
    if (plan) gcut_arena_free(plan->owner); /* a step owns plans whose owner is NULL */
}

typedef struct text_job {
    gcut_env *env;
    const gcut_plan *plan;
    gcut_arena *a;
    bool symbolic;
    void (*write)(const struct text_job *j, gcut_text *out);
    char *made;
} text_job;

static void write_text(void *arg)
{
    text_job *j = arg;
    gcut_text t = {.arena = j->a};
    j->write(j, &t);
    j->made = gcut_made_string(j->env, &t);
}

static char *text_of(const gcut_plan *plan, bool symbolic, void (*f)(const text_job *, gcut_text *))
{
    text_job j = {.env = plan->joint->module->env, .plan = plan, .symbolic = symbolic, .write = f};
    bool fine = gcut_guard_in(j.env, &j.a, write_text, &j);
    gcut_arena_free(j.a);
    return fine ? j.made : NULL;
}

static void whole_text(const text_job *j, gcut_text *out)
{
    gcut_write_plan_text(gcut_plan_info_of(j->plan), gcut_plan_validity_of(j->plan), j->symbolic, out);
}

char *gcut_plan_text(const gcut_plan *plan, bool symbolic)
{
    GCUT_NEED(NULL, plan, NULL);
    return text_of(plan, symbolic, whole_text);
}

static void saved_text(const text_job *j, gcut_text *out)
{
    gcut_write_saved_text(gcut_plan_info_of(j->plan), j->symbolic, out);
}

char *gcut_plan_saved_text(const gcut_plan *plan, bool symbolic)
{
    GCUT_NEED(NULL, plan, NULL);
    return text_of(plan, symbolic, saved_text);
}

static void file_text(const text_job *j, gcut_text *out)
{
    gcut_plan_file_text(j->plan, out);
}

char *gcut_plan_json(const gcut_plan *plan)
{
    GCUT_NEED(NULL, plan, NULL);
    return text_of(plan, false, file_text);
}

/* ---- files ---- */

static bool has_suffix(const char *s, const char *suffix)
{
    size_t n = strlen(s), k = strlen(suffix);
    return n > k && !strcmp(s + n - k, suffix);
}

static void emit_files(void *arg)
{
    job *j = arg;
    gcut_pipeline *p = pipeline(j, GCUT_STAGE_KERNEL);
    if (!j->flag)
        gcut_write_c(p, j->path);
    else
        gcut_build_shared(p, has_suffix(j->path, ".so") ? j->path : gcut_printf(j->a, "%s.so", j->path));
}

gcut_status gcut_emit_files_sized(gcut_graph *g, const gcut_options *opt, size_t size, const char *base,
                                  bool shared)
{
    GCUT_NEED(NULL, g, GCUT_EUSAGE);
    gcut_env *env = g->module->env;
    GCUT_NEED(env, base, GCUT_EUSAGE);
    job j = {.env = env, .g = g, .opt = opt, .size = size, .path = base, .flag = shared};
    bool fine = gcut_guard_in(env, &j.a, emit_files, &j);
    gcut_arena_free(j.a);
    return fine ? GCUT_OK : env->status;
}

gcut_graph *gcut_graph_sibling(gcut_graph *g, size_t i)
{
    return g && i < g->module->graphs.n ? g->module->graphs.at[i] : NULL;
}

const char *gcut_graph_name(const gcut_graph *g)
{
    return g ? g->name : "";
}
