/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reading, showing, planning, writing: the part of the API that runs nothing.
 */
#include <string.h>

#include "driver/builder/builder.h"
#include "driver/inspect/of_pipeline.h"
#include "driver/inspect/table_text.h"
#include "driver/options/default_sizes.h"
#include "driver/load/c_compiler.h"
#include "driver/options/options.h"
#include "driver/pipeline/compile.h"
#include "driver/pipeline/plan_info.h"
#include "driver/recording.h"
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
    const char *path, *name;
    const char *text; /* `length` bytes; NULL = the file `path` */
    size_t length;
    gcut_plan *plan;
} job;

/* ---- parsing ---- */

/* The function of the module named j->name, of a pair its backward graph, which stands for the pair; the last
 * function where that is NULL. */
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
    for (uint32_t i = 0; !g && i < m->pairs.n; i++)
        if (!strcmp(m->pairs.at[i].name, name)) g = gcut_module_find(m, m->pairs.at[i].bwd);
    if (g) return g;
    gcut_text t = {.arena = m->arena};
    for (uint32_t i = 0; i < m->graphs.n; i++)
        gcut_text_add(&t, "%s@%s", i ? ", " : "there are ", m->graphs.at[i]->name);
    gcut_fail(j->env, GCUT_EUSAGE, (gcut_place){.file = m->file}, t.at, "there is no function @%s", name);
}

static void read_module(void *arg)
{
    job *j = arg;
    const gcut_module *m = j->text ? gcut_parse_module(j->env, j->env->arena, j->path, j->text, j->length)
                                   : gcut_parse_file(j->env, j->env->arena, j->path);
    j->a = m->arena;
    j->g = choose(j, m);
}

/* Frees the module if it lacks the function. */
static gcut_graph *read_function(job *j)
{
    if (gcut_guard(j->env, read_module, j)) return j->g;
    gcut_arena_free(j->a);
    return NULL;
}

gcut_graph *gcut_load(gcut_ctx *ctx, const char *path, const char *fn)
{
    GCUT_NEED(NULL, ctx, NULL);
    GCUT_NEED(ctx->env, path, NULL);
    return read_function(&(job){.env = ctx->env, .path = path, .name = fn});
}

gcut_graph *gcut_parse(gcut_ctx *ctx, const char *text, size_t length, const char *name, const char *fn)
{
    GCUT_NEED(NULL, ctx, NULL);
    if (length) GCUT_NEED(ctx->env, text, NULL);
    return read_function(&(job){.env = ctx->env,
                                .path = name ? name : "<memory>",
                                .name = fn,
                                .text = text ? text : "",
                                .length = length == GCUT_TO_NUL ? strlen(text) : length});
}

static void check_free(void *arg)
{
    const gcut_graph *g = arg;
    gcut_refuse_recording(g->module->env, "frees a graph");
    gcut_refuse_open_body(g, "gcut_graph_free");
}

void gcut_graph_free(gcut_graph *g)
{
    if (!g || !gcut_guard(g->module->env, check_free, g)) return;
    gcut_arena_free(g->computed ? g->computed->arena : g->module->arena);
}

/* ---- printing ---- */

static gcut_pipeline *pipeline(const job *j, gcut_stage_name goal, gcut_arena *a)
{
    gcut_settings o = gcut_settings_of(j->env, j->opt, j->size);
    return gcut_pipeline_new(j->g, &o, goal, a);
}

/* Memory is that of a training step. */
static void show_memory(const job *j, gcut_text *out)
{
    gcut_settings o = gcut_settings_of(j->env, j->opt, j->size);
    gcut_memory_profile m = {0};
    o.forward_only = false;
    const gcut_pipeline *p = gcut_pipeline_new(j->g, &o, GCUT_STAGE_KERNEL, out->arena);
    gcut_memory_of(p, out->arena, out->arena, &m);
    gcut_write_memory_schedule(&m, out);
    gcut_stage_text(p, GCUT_STAGE_KERNEL, j->flag, out);
}

static void show(void *arg, gcut_text *out)
{
    const job *j = arg;
    if (j->stage == GCUT_STAGE_MEMORY) {
        show_memory(j, out);
        return;
    }
    gcut_stage_check(j->env, j->stage, "gcut_show");
    gcut_stage_text(pipeline(j, j->stage, out->arena), j->stage, j->flag, out);
}

char *gcut_show_sized(size_t size, gcut_graph *g, const gcut_options *opt, gcut_stage_name stage,
                      bool locations)
{
    GCUT_NEED(NULL, g, NULL);
    job j = {.env = g->module->env, .g = g, .opt = opt, .size = size, .stage = stage, .flag = locations};
    return gcut_string_by(j.env, show, &j);
}

/* Names the sizes that only options can give. */
static void say_undetermined(const gcut_graph *g, gcut_text *t)
{
    gcut_dim *free = gcut_calloc(t->arena, g->decls.n + 1, sizeof *free);
    uint32_t n;
    const gcut_dim_binding *at = gcut_default_sizes(t->arena, g, NULL, 0, &n);
    const uint32_t m = gcut_undetermined(g, at, n, free);
    for (uint32_t i = 0; i < m; i++)
        gcut_text_add(t, "%s%s", i ? ", " : "; no parameter's shape determines ",
                      gcut_dim_symbol_name(g->module->dims, free[i]));
    if (m) gcut_text_add(t, ", give %s by --at", m == 1 ? "it" : "them");
}

static void describe(void *arg, gcut_text *t)
{
    const gcut_graph *g = arg;
    uint32_t count[GCUT_NROLES] = {0};
    gcut_verify(g);
    gcut_refuse_lost_statistics(g);
    for (uint32_t i = 0; i < g->params.n; i++) count[g->params.at[i].role]++;
    for (uint32_t i = 0; i < g->results.n; i++) count[g->results.at[i].role]++;
    gcut_text_add(t, "@%s: %u node%s", g->name, g->nodes.n, g->nodes.n == 1 ? "" : "s");
    for (int r = 0; r < GCUT_NROLES; r++)
        if (count[r]) gcut_text_add(t, ", %u %s", count[r], gcut_role_name((gcut_role)r));
    for (uint32_t i = 0; i < g->decls.n; i++)
        gcut_text_add(t, "%s%s", i ? ", " : "; sizes ",
                      gcut_dim_symbol_name(g->module->dims, g->decls.at[i].sym));
    if (g->checks.n)
        gcut_text_add(t, "; %u equalit%s of sizes checked at run time", g->checks.n,
                      g->checks.n == 1 ? "y" : "ies");
    say_undetermined(g, t);
}

char *gcut_describe(gcut_graph *g)
{
    GCUT_NEED(NULL, g, NULL);
    return gcut_string_by(g->module->env, describe, g);
}

/* ---- plans ---- */

static void make_plan(void *arg)
{
    job *j = arg;
    gcut_settings o = gcut_settings_of(j->env, j->opt, j->size);
    o.forward_only = false;
    j->plan = gcut_pipeline_of_plan(j->g, &o, j->a)->plan;
    j->plan->owner = j->a;
}

gcut_plan *gcut_plan_new_sized(size_t size, gcut_graph *g, const gcut_options *opt)
{
    GCUT_NEED(NULL, g, NULL);
    job j = {.env = g->module->env, .g = g, .opt = opt, .size = size};
    return gcut_guard_in(j.env, &j.a, make_plan, &j) ? j.plan : NULL;
}

void gcut_plan_free(gcut_plan *plan)
{
    if (plan) gcut_arena_free(plan->owner); /* a step owns plans whose owner is NULL */
}

static void whole_text(const void *plan, const gcut_table_options *o, gcut_text *out)
{
    gcut_write_plan_text(gcut_plan_info_of(plan), gcut_plan_validity_of(plan), o, out);
}

char *gcut_plan_text_sized(size_t size, const gcut_plan *plan, const gcut_table_options *table)
{
    GCUT_NEED(NULL, plan, NULL);
    return gcut_table_text(plan->joint->module->env, whole_text, plan, table, size);
}

static void saved_text(const void *plan, const gcut_table_options *o, gcut_text *out)
{
    gcut_write_saved_text(gcut_plan_info_of(plan), o, out);
}

char *gcut_plan_saved_text_sized(size_t size, const gcut_plan *plan, const gcut_table_options *table)
{
    GCUT_NEED(NULL, plan, NULL);
    return gcut_table_text(plan->joint->module->env, saved_text, plan, table, size);
}

static void file_text(void *arg, gcut_text *out)
{
    gcut_plan_file_text(arg, out);
}

char *gcut_plan_json(const gcut_plan *plan)
{
    GCUT_NEED(NULL, plan, NULL);
    return gcut_string_by(plan->joint->module->env, file_text, (void *)plan);
}

typedef struct asking {
    const gcut_plan *plan;
    const gcut_plan_info *info;
    const gcut_plan_validity *validity;
} asking;

static void look(void *arg)
{
    asking *j = arg;
    j->info = gcut_plan_info_of(j->plan);
}

const gcut_plan_info *gcut_plan_look(const gcut_plan *plan)
{
    GCUT_NEED(NULL, plan, NULL);
    asking j = {.plan = plan};
    gcut_guard(plan->joint->module->env, look, &j);
    return j.info;
}

static void search_sizes(void *arg)
{
    asking *j = arg;
    j->validity = gcut_plan_validity_of(j->plan);
}

const gcut_plan_validity *gcut_plan_valid_at(const gcut_plan *plan)
{
    GCUT_NEED(NULL, plan, NULL);
    asking j = {.plan = plan};
    gcut_guard(plan->joint->module->env, search_sizes, &j);
    return j.validity;
}

/* ---- files ---- */

static void emit_files(void *arg)
{
    job *j = arg;
    gcut_pipeline *p = pipeline(j, GCUT_STAGE_KERNEL, j->a);
    if (!j->flag)
        gcut_write_c(p, j->path);
    else
        gcut_build_shared(p, gcut_has_suffix(j->path, ".so") ? j->path : gcut_printf(j->a, "%s.so", j->path));
}

gcut_status gcut_emit_files_sized(size_t size, gcut_graph *g, const gcut_options *opt, const char *base,
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
