/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How a call of the public builder runs: the graph it builds in, the values it may use, the record of its
 * failure.
 */
#include "driver/builder/builder.h"
#include "driver/trace/computed.h"

#include <stdio.h>

typedef struct failure {
    gcut_graph *g;
    const gcut_diag *said;
} failure;

/* Copies the failure into the graph's arena: later uses of the graph report it. */
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

typedef struct computed_call {
    gcut_computed *computed;
    void (*body)(void *);
    void *arg;
} computed_call;

/* A call on a graph whose values exist while it is built. */
static void call_with_contents(void *arg)
{
    computed_call *c = arg;
    gcut_computed_check(c->computed);
    c->body(c->arg);
    gcut_computed_catch_up(c->computed);
}

bool gcut_guard_at(gcut_here at, gcut_graph *g, void (*body)(void *), void *arg)
{
    if (!g || g->failed) return false;
    gcut_env *env = g->module->env;
    uint32_t before = env->ndiags;
    computed_call c = {gcut_outermost(g)->computed, body, arg};
    if (gcut_guard(env, c.computed ? call_with_contents : body, c.computed ? (void *)&c : arg)) return true;
    if (env->ndiags > before && !env->diags[before].at.line) { /* it gets the caller's line */
        env->diags[before].at.file = at.file;
        env->diags[before].at.line = at.line;
    }
    gcut_builder_failed(g);
    for (gcut_graph *f = g; f && env->ndiags > before; f = f->outer)
        if (f->failed) gcut_guard(env, keep_failure, &(failure){f, &env->diags[before]});
    return false;
}

void gcut_refuse_open_body(const gcut_graph *g, const char *function)
{
    if (g->nopen || g->is_body)
        gcut_fail(g->module->env, GCUT_EUSAGE, (gcut_place){0},
                  "do it after the call that makes the loop or branch; a body that was left by longjmp or an "
                  "exception counts as well, and gcut_ctx_free frees its graph",
                  "%s: a body of @%s is under construction", function, g->name);
}

/* What a failed call has made of an eager graph has no value, and nobody has its number. */
void gcut_builder_failed(gcut_graph *g)
{
    gcut_computed *l = gcut_outermost(g)->computed;
    const bool eager = l && !l->recording;
    if (eager) l->done = l->g->nodes.n;
    for (; g; g = g->outer) g->failed = !eager || g != l->g;
}

void gcut_refuse_no_graph(const char *function)
{
    char name[64];
    size_t n = strlen(function);
    if (gcut_has_suffix(function, "_at")) n -= 3; /* suffix that the macro adds */
    snprintf(name, sizeof name, "%.*s", (int)n, function);
    gcut_refuse_null(NULL, name, "g");
}

static bool is_around(const gcut_graph *outer, const gcut_graph *g)
{
    while (g && g != outer) g = g->outer;
    return g != NULL;
}

/* ---- operands ---- */

const char *gcut_builder_show(const gcut_graph *g, gcut_ref v)
{
    gcut_module *m = g->module;
    return gcut_printf(m->arena, "%%%s %s", g->values.at[v].name,
                       gcut_type_text(m->arena, m, gcut_type_of(g, v)));
}

/* Describes operand i of n by its name, where the op table has one. */
static const char *operand_name(gcut_arena *a, const char *op, int i)
{
    gcut_op id;
    const char *s =
        gcut_op_parse(op, strlen(op), &id) && gcut_op_get(id)->c_name ? gcut_op_get(id)->c_operands : "";
    for (int k = 0; k < i && *s; k++) s += strcspn(s, ",") + 2 * (strchr(s, ',') != NULL);
    if (!*s) return gcut_printf(a, "operand %d", i + 1);
    return gcut_printf(a, "operand %d, %.*s,", i + 1, (int)strcspn(s, ","), s);
}

typedef struct operands_job {
    gcut_here at;
    const char *op;
    const gcut_val *in;
    int n;
    gcut_graph *g; /* one of the operands', finally the innermost */
} operands_job;

static void check_operands(void *arg)
{
    operands_job *j = arg;
    gcut_arena *a = j->g->module->arena;
    for (int i = 0; i < j->n; i++) {
        const gcut_graph *own = j->in[i].graph;
        if (!j->in[i].id || !own)
            WRONG(j, "a value that was never set, or made by a call on another graph that failed",
                  "'%s': %s is a null value", j->op, operand_name(a, j->op, i));
        if (!gcut_val_exists(j->in[i]))
            WRONG(j, gcut_val_hint(j->in[i]), "'%s': %s is no value of @%s", j->op, operand_name(a, j->op, i),
                  own->name);
        if (is_around(j->g, own)) j->g = j->in[i].graph;
    }
    for (int i = 0; i < j->n; i++) {
        const gcut_graph *own = j->in[i].graph;
        if (!is_around(own, j->g))
            WRONG(j,
                  "an op takes values of one graph, or of those around its region: hand the other one in as "
                  "an input, or as a result of the region",
                  "'%s': %s is %%%s of %s@%s, but another operand is of %s@%s", j->op,
                  operand_name(a, j->op, i), own->values.at[j->in[i].id].name,
                  own->is_body ? "a region that is closed in " : "", own->name,
                  j->g->is_body ? "a region of " : "", j->g->name);
    }
}

typedef struct list_job {
    gcut_here at;
    gcut_graph *g;
    const char *function, *name;
    int n;
} list_job;

static void refuse_list(void *arg)
{
    const list_job *j = arg;
    if (j->n < 0) WRONG(j, NULL, "%s: a negative number of values, %d, in `%s`", j->function, j->n, j->name);
    WRONG(j, NULL, "%s: `%s`, a list of %d, is NULL", j->function, j->name, j->n);
}

bool gcut_builder_list(gcut_here at, gcut_graph *g, const char *function, const char *name, const void *list,
                       int n)
{
    if (n == 0 || (n > 0 && list)) return true;
    if (g) gcut_guard_at(at, g, refuse_list, &(list_job){at, g, function, name, n});
    return false;
}

gcut_graph *gcut_builder_operands(gcut_here at, const char *op, const gcut_val *in, int n)
{
    operands_job j = {at, op, in, n, NULL};
    for (int i = 0; in && i < n; i++) {
        if (!in[i].graph) continue;
        if (in[i].graph->failed) return NULL;
        if (!j.g) j.g = in[i].graph;
    }
    return j.g && gcut_guard_at(at, j.g, check_operands, &j) ? j.g : NULL;
}

bool gcut_builder_sees(const gcut_graph *g, const gcut_val *in, int n)
{
    for (int i = 0; i < n; i++)
        if (!gcut_val_exists(in[i]) || !is_around(in[i].graph, g)) return false;
    return true;
}

/* A symbol of d that neither g nor a graph around it declares, such as one of another function; NULL = none.
 */
static const char *undeclared(const gcut_graph *g, gcut_dim d)
{
    const gcut_dims *dims = g->module->dims;
    gcut_dim sym[GCUT_DIM_MAX_SYMBOLS];
    uint32_t n = gcut_dim_symbols(dims, d, sym);
    for (uint32_t i = 0; i < n; i++) {
        bool found = false;
        for (const gcut_graph *around = g; around && !found; around = around->outer)
            found = gcut_decl_find(around, sym[i]) != NULL;
        if (!found) return gcut_dim_symbol_name(dims, sym[i]);
    }
    return NULL;
}

void gcut_builder_check_size(gcut_graph *g, gcut_here at, const char *kind, const char *name, gcut_dim d)
{
    gcut_place place = {at.file, at.line, 0};
    if (d < 0 && d >= -(INT64_C(1) << 32))
        gcut_fail(g->module->env, GCUT_EUSAGE, place,
                  "a size is a number from 0 on, or made by gcut_dim_sym and its kin; -1 is inferred by "
                  "gcut_reshape alone",
                  "%s '%s': the size %lld is negative", kind, name, (long long)d);
    if (!gcut_dim_is_of(g->module->dims, d))
        gcut_fail(g->module->env, GCUT_EUSAGE, place,
                  gcut_printf(g->module->arena,
                              "make it with gcut_dim_sym on @%s: each graph has symbols of its own", g->name),
                  "%s '%s': the size is of another graph", kind, name);
    const char *symbol = undeclared(g, d);
    if (symbol)
        gcut_fail(g->module->env, GCUT_EUSAGE, place,
                  gcut_printf(g->module->arena, "declare it there, too: gcut_dim_sym(%s, \"%s\", lo, hi)",
                              g->name, symbol),
                  "%s '%s': the size %s is not declared by @%s", kind, name, symbol, g->name);
}

/* ---- one call ---- */

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
        if (c->in[i].id) c->in[i].id = gcut_builder_ref(c->g, c->in[i]);
    c->body(c);
}

gcut_val gcut_builder_run(gcut_here at, gcut_graph *g, void (*body)(void *), call *c)
{
    c->at = at;
    c->g = g;
    c->b = (gcut_build){.g = g};
    c->body = body;
    return gcut_guard_at(at, g, with_captures, c) ? gcut_val_of(g, c->out) : (gcut_val){0};
}

gcut_val gcut_builder_run_on(gcut_here at, const char *op, void (*body)(void *), call *c, int n)
{
    return gcut_builder_run(at, gcut_builder_operands(at, op, c->in, n), body, c);
}
