/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One decision explained: the plan, the value's place in it, and the whole step planned, lowered and placed
 * again with that value the other way.  And two plan files compared.
 */
#include <string.h>

#include "driver/pipeline.h"
#include "partition/why.h"

typedef struct explaining {
    gcut_env *env;
    gcut_arena *arena;
    gcut_graph *g;
    gcut_options opt;
    const char *value;
    bool json;
    const gcut_plan *plan, *flipped;
    gcut_why *why;
    const char *refused, *text;
} explaining;

static void explain(void *arg)
{
    explaining *e = arg;
    e->arena = gcut_arena_new(e->env, e->env->arena);
    e->opt.forward_only = false;
    e->plan = gcut_pipeline_new(e->g, &e->opt, GCUT_TO_KERNEL, e->arena)->plan;
    e->why = gcut_why_of(e->plan, e->value, e->arena);
}

static bool is_named(const char *name, const char *bare)
{
    return !strcmp(name + (name[0] == '%'), bare);
}

/* A wish for the other fate instead of whatever the options wish for this value. */
static void wish(const explaining *e, gcut_options *o, const char *name, gcut_fate to)
{
    const char **save = gcut_calloc(e->arena, o->nsave + 1, sizeof *save);
    const char **recompute = gcut_calloc(e->arena, o->nrecompute + 1, sizeof *recompute);
    size_t ns = 0, nr = 0;
    for (size_t i = 0; i < o->nsave; i++)
        if (!is_named(o->save[i], name)) save[ns++] = o->save[i];
    for (size_t i = 0; i < o->nrecompute; i++)
        if (!is_named(o->recompute[i], name)) recompute[nr++] = o->recompute[i];
    if (to == GCUT_F_SAVED)
        save[ns++] = name;
    else
        recompute[nr++] = name;
    o->save = save, o->nsave = ns;
    o->recompute = recompute, o->nrecompute = nr;
}

static void flip(void *arg)
{
    explaining *e = arg;
    gcut_options o = e->opt;
    const char *name = e->why->r.g->values.at[e->why->v].name;
    if (!o.plan) wish(e, &o, name, gcut_why_flip(e->why));
    e->flipped = gcut_pipeline_flipped(e->g, &o, GCUT_TO_KERNEL, e->arena, name)->plan;
}

/* What the failed flip said becomes part of the answer. */
static void take_refusal(void *arg)
{
    explaining *e = arg;
    e->refused =
        e->env->ndiags ? gcut_printf(e->arena, "%s", e->env->diags[e->env->ndiags - 1].message) : NULL;
    gcut_diags_clear(e->env);
}

static void print(void *arg)
{
    explaining *e = arg;
    gcut_text t = {.arena = e->env->arena};
    (e->json ? gcut_why_json : gcut_why_text)(e->why, e->plan, e->flipped, e->refused, &t);
    e->text = t.at;
}

const char *gcut_explain(gcut_graph *g, const gcut_options *opt, const char *value, bool json)
{
    if (!g) return NULL;
    explaining e = {.env = g->module->env,
                    .g = g,
                    .opt = opt ? *opt : GCUT_OPTIONS_DEFAULT,
                    .value = value,
                    .json = json};
    bool fine = gcut_guard(e.env, explain, &e);
    if (fine && !e.why->fixed && !gcut_guard(e.env, flip, &e))
        fine = e.env->status != GCUT_ENOMEM && gcut_guard(e.env, take_refusal, &e);
    fine = fine && gcut_guard(e.env, print, &e);
    gcut_arena_free(e.arena);
    return fine ? e.text : NULL;
}

/* ---- plan files ---- */

typedef struct comparing {
    gcut_env *env;
    const char *a, *b;
    bool json, equal;
    const char *text;
} comparing;

static void compare(void *arg)
{
    comparing *c = arg;
    gcut_arena *scratch = gcut_arena_new(c->env, c->env->arena);
    gcut_text t = {.arena = scratch};
    c->equal = gcut_plan_files_compare(gcut_plan_file_read(scratch, c->a), gcut_plan_file_read(scratch, c->b),
                                       c->json, &t);
    c->text = gcut_strndup(c->env->arena, t.at, t.n);
    gcut_arena_free(scratch);
}

const char *gcut_compare_plans(gcut_ctx *ctx, const char *a, const char *b, bool json, bool *equal)
{
    comparing c = {.env = ctx->env, .a = a, .b = b, .json = json};
    *equal = false;
    if (!gcut_guard(ctx->env, compare, &c)) return NULL;
    *equal = c.equal;
    return c.text;
}
