/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How a call of the public builder runs: where it builds, what it sees, what
 * becomes of its failure.
 */
#include "driver/builder.h"

typedef struct failure {
    gcut_graph *g;
    const gcut_diag *said;
} failure;

/* For as long as the graph: whoever uses it later is told why it was not built. */
static void keep_failure(void *arg)
{
    const failure *f = arg;
    gcut_arena *a = f->g->module->arena;
    gcut_diag *d = gcut_memdup(a, f->said, sizeof *d);
    d->at.file = d->at.file ? gcut_strndup(a, d->at.file, strlen(d->at.file)) : NULL;
    d->message = gcut_strndup(a, d->message, strlen(d->message));
    d->hint = d->hint ? gcut_strndup(a, d->hint, strlen(d->hint)) : NULL;
    d->source = d->text = NULL;
    f->g->failure = d;
}

bool gcut_guard_at(gcut_here at, gcut_graph *g, void (*body)(void *), void *arg)
{
    if (!g || g->failed) return false;
    gcut_env *env = g->module->env;
    uint32_t before = env->ndiags;
    if (gcut_guard(env, body, arg)) return true;
    if (env->ndiags > before && !env->diags[before].at.line) { /* what knows no line is the caller's */
        env->diags[before].at.file = at.file;
        env->diags[before].at.line = at.line;
    }
    g->failed = true;
    if (env->ndiags > before) gcut_guard(env, keep_failure, &(failure){g, &env->diags[before]});
    return false;
}

static bool is_around(const gcut_graph *outer, const gcut_graph *g)
{
    while (g && g != outer) g = g->outer;
    return g != NULL;
}

gcut_graph *gcut_builder_graph(const gcut_val *in, int n)
{
    gcut_graph *g = NULL;
    for (int i = 0; i < n; i++) {
        if (!in[i].id || !in[i].graph) return NULL;
        if (!g || is_around(g, in[i].graph)) g = in[i].graph;
    }
    for (int i = 0; i < n; i++)
        if (!is_around(in[i].graph, g)) return NULL;
    return g;
}

gcut_ref gcut_builder_ref(gcut_graph *g, gcut_val v)
{
    if (v.graph == g) return v.id;
    if (!g->outer || !is_around(v.graph, g))
        gcut_fail(g->module->env, GCUT_EUSAGE, (gcut_place){0}, NULL,
                  "a value of another function, or of a region that is closed, is used in @%s", g->name);
    return gcut_body_capture(g, gcut_builder_ref(g->outer, v));
}

gcut_ref *gcut_builder_refs(gcut_arena *a, gcut_graph *g, const gcut_val *v, int n)
{
    gcut_ref *id = gcut_calloc(a, (size_t)n + 1, sizeof *id);
    for (int k = 0; k < n; k++) id[k] = gcut_builder_ref(g, v[k]);
    return id;
}

static void with_captures(void *arg)
{
    call *c = arg;
    for (size_t i = 0; i < sizeof c->in / sizeof *c->in; i++)
        if (c->in[i].id) c->in[i].id = gcut_builder_ref(c->b.g, c->in[i]);
    c->body(c);
}

gcut_val gcut_builder_run(gcut_here at, gcut_graph *g, void (*body)(void *), call *c)
{
    c->at = at;
    c->b = (gcut_build){.g = g};
    c->body = body;
    return gcut_guard_at(at, g, with_captures, c) ? (gcut_val){g, c->out} : (gcut_val){0};
}
