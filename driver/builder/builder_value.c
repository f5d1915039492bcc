/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The public builder: types of values; initial contents, ranges and marks of parameters.
 */
#include "driver/builder/builder.h"
#include "graph/verify.h"
#include "graph/names.h"
#include "text/text.h"

/* ---- reading a value ---- */

gcut_shape gcut_shape_of(gcut_val v)
{
    gcut_shape s = GCUT_SCALAR;
    if (!gcut_val_exists(v) || v.graph->failed) return s;
    const gcut_type *t = gcut_type_of(v.graph, v.id);
    s.rank = t->rank;
    memcpy(s.dim, t->dim, sizeof s.dim);
    return s;
}

gcut_dtype gcut_dtype_of(gcut_val v)
{
    return gcut_val_exists(v) ? gcut_type_of(v.graph, v.id)->dtype : GCUT_NO_DTYPE;
}

/* ---- names ---- */

static void do_name(void *arg)
{
    call *c = arg;
    gcut_graph *g = c->g;
    gcut_ref v = c->in[0].id;
    c->out = v;
    if (!is_name(c->name))
        WRONG(c, NULL, "'%s' is no name of a value: it is made of letters, digits, _ and .",
              c->name ? c->name : "(null)");
    if (!g->is_body && !gcut_def(g, v) && strcmp(g->values.at[v].name, c->name) != 0)
        WRONG(c, NULL, "%%%s is a parameter of @%s, which has its name", g->values.at[v].name, g->name);
    for (gcut_graph *around = g; around; around = around->outer) {
        gcut_ref other = gcut_graph_find(around, c->name);
        bool own = around == g && other == v;
        if (other && !own) gcut_name_claim(around, c->name);
        if (gcut_graph_find(around, c->name) && !own)
            WRONG(c, NULL, "there is already a value %%%s in @%s", c->name, around->name);
    }
    if (strcmp(g->values.at[v].name, c->name) != 0) gcut_value_rename(g, v, c->name);
    g->values.at[v].made_up = false;
}

gcut_val gcut_name_at(gcut_here at, gcut_val v, const char *name)
{
    return gcut_builder_run_on(at, "name", do_name, &(call){.in = {v}, .name = name}, 1);
}

/* ---- initial contents and ranges ---- */

/* Throws with the value in the message: "init of %x f32[3]: what". */
static _Noreturn void refuse(const call *c, const char *what, const char *why)
{
    WRONG(c, NULL, "%s of %s: %s", what, gcut_builder_show(c->g, c->in[0].id), why);
}

/* The parameter that the value is; throws for any other value. */
static gcut_param *param_of(const call *c, const char *what)
{
    const gcut_value *v = &c->g->values.at[c->in[0].id];
    if (v->def == GCUT_NONE) return &c->g->params.at[v->index];
    refuse(c, what, "it is no param, input or state, but computed");
}

static void do_init(void *arg)
{
    call *c = arg;
    gcut_graph *g = c->g;
    gcut_param *p = param_of(c, "init");
    const gcut_type *t = gcut_type_of(g, p->value);
    const char *name = g->values.at[p->value].name;
    if (g->computed && !g->computed->recording)
        refuse(c, "init", "gcut_write gives a parameter of an eager graph its contents");
    if (!gcut_role_has_data(p->role)) refuse(c, "init", "only a param, input or state has initial contents");
    for (uint32_t i = 0; i < g->module->data.n; i++)
        if (!strcmp(g->module->data.at[i].name, name)) refuse(c, "init", "it has initial contents already");
    gcut_parse_data_text(g->module, name, t, (gcut_place){c->at.file, c->at.line, 0}, c->name);
    c->out = c->in[0].id;
}

gcut_val gcut_initial_at(gcut_here at, gcut_val param, const char *contents)
{
    return gcut_builder_run_on(at, "initial", do_init,
                               &(call){.in = {param}, .name = contents ? contents : ""}, 1);
}

typedef struct range_job {
    call c;
    int64_t lo, hi;
} range_job;

static void do_range(void *arg)
{
    range_job *j = arg;
    call *c = &j->c;
    gcut_module *m = c->g->module;
    gcut_param *p = param_of(c, "range");
    if (!gcut_dtype_is_int(gcut_type_of(c->g, p->value)->dtype))
        refuse(c, "range", "only an integer input has one");
    if (j->lo >= j->hi)
        refuse(c, "range",
               gcut_printf(m->arena, "%lld to %lld is empty", (long long)j->lo, (long long)j->hi));
    if (gcut_mark_find(&p->marks, GCUT_MARK_range)) refuse(c, "range", "it has one already");
    gcut_mark_add(m->arena, &p->marks, (gcut_mark){GCUT_MARK_range, 2, {{.i = j->lo}, {.i = j->hi}}});
    c->out = c->in[0].id;
}

gcut_val gcut_range_at(gcut_here at, gcut_val input, int64_t lo, int64_t hi)
{
    range_job j = {.c = {.in = {input}}, .lo = lo, .hi = hi};
    return gcut_builder_run_on(at, "range", do_range, &j.c, 1);
}

/* ---- late, transient and similar marks ---- */

static void add_mark(const call *c, gcut_marks *marks, gcut_mark_name mark)
{
    if (!gcut_mark_find(marks, mark)) gcut_mark_add(c->g->module->arena, marks, (gcut_mark){.name = mark});
}

static void mark_param(const call *c, gcut_param *p, gcut_mark_name mark)
{
    add_mark(c, &p->marks, mark);
    const char *fault = gcut_param_fault(c->g->module->arena, c->g, p);
    if (fault) WRONG(c, NULL, "%s", fault);
}

/* Marks an input or a key, or the `out` results that v is. */
static void mark(call *c, const char *what, gcut_mark_name mark, const char *others)
{
    gcut_graph *g = c->g;
    gcut_arena *a = g->module->arena;
    bool any = false;
    c->out = c->in[0].id;
    if (!gcut_def(g, c->out)) {
        mark_param(c, param_of(c, what), mark);
        return;
    }
    for (uint32_t i = 0; i < g->results.n; i++) {
        gcut_result *r = &g->results.at[i];
        if (r->value != c->out || r->role != GCUT_ROLE_out) continue;
        add_mark(c, &r->marks, mark);
        const char *fault = gcut_result_fault(a, g, r);
        if (fault) WRONG(c, NULL, "%s", fault);
        any = true;
    }
    if (!any)
        refuse(c, what, gcut_printf(a, "it is no input%s and no result: call gcut_output before", others));
}

static void do_late(void *arg)
{
    mark(arg, "late", GCUT_MARK_late, "");
}

gcut_val gcut_late_at(gcut_here at, gcut_val v)
{
    return gcut_builder_run_on(at, "late", do_late, &(call){.in = {v}}, 1);
}

static void do_transient(void *arg)
{
    mark(arg, "transient", GCUT_MARK_transient, ", no key");
}

gcut_val gcut_transient_at(gcut_here at, gcut_val v)
{
    return gcut_builder_run_on(at, "transient", do_transient, &(call){.in = {v}}, 1);
}
