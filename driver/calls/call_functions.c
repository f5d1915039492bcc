/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Functions in C: symbols, parameters, initial contents, results.
 */
#include "driver/calls/calls.h"

#include <inttypes.h>

#include "text/text.h"

/* ---- parts ---- */

static void add_symbols(gcut_calls_scope *s)
{
    gcut_arena *a = s->file->a;
    for (uint32_t i = 0; i < s->g->decls.n; i++) {
        const gcut_dim_decl *d = &s->g->decls.at[i];
        const char *name = gcut_dim_symbol_name(s->file->m->dims, d->sym),
                   *hi = d->hi == GCUT_DIM_MAX ? "GCUT_DIM_MAX" : gcut_printf(a, "%" PRId64, d->hi),
                   *text = gcut_printf(a, "gcut_dim_sym(g, \"%s\", %" PRId64 ", %s)", name, d->lo, hi);
        if (d->mult != 1) text = gcut_printf(a, "gcut_dim_multiple(g, %s, %" PRId64 ")", text, d->mult);
        const uint32_t line = gcut_calls_declare(s, "gcut_dim", gcut_calls_identifier(s->taken, name), text);
        *gcut_map_at(a, &s->other, (uint64_t)d->sym) = line;
    }
}

/* The value of a parameter, or a result's, with a mark; other marks are refused. */
static const char *marked(gcut_calls_scope *s, gcut_ref v, const gcut_mark *mark, const char *text)
{
    switch (mark->name) {
    case GCUT_MARK_range:
        return gcut_printf(s->file->a, "gcut_range(%s, %" PRId64 ", %" PRId64 ")", text, mark->arg[0].i,
                           mark->arg[1].i);
    case GCUT_MARK_late: return gcut_printf(s->file->a, "gcut_late(%s)", text);
    case GCUT_MARK_transient: return gcut_printf(s->file->a, "gcut_transient(%s)", text);
    default: gcut_calls_refuse(s, v, "the mark #%s", gcut_mark_get(mark->name)->name);
    }
}

static void add_param(gcut_calls_scope *s, const gcut_param *p)
{
    gcut_arena *a = s->file->a;
    const gcut_type *t = gcut_type_of(s->g, p->value);
    const char *name = s->g->values.at[p->value].name, *role = gcut_role_name(p->role), *text;
    if (p->role == GCUT_ROLE_saved || (p->role == GCUT_ROLE_rng && t->rank))
        gcut_calls_refuse(s, p->value, "a parameter of the role `%s`%s", role, t->rank ? " with axes" : "");
    if (p->role == GCUT_ROLE_rng)
        text = gcut_printf(a, "gcut_rng(g, \"%s\")", name);
    else
        text = gcut_printf(a, "gcut_%s(g, \"%s\", %s, %s)", role, name, gcut_calls_dtype(a, t->dtype),
                           gcut_calls_shape(s, p->value));
    for (uint32_t i = 0; i < p->marks.n; i++) text = marked(s, p->value, &p->marks.at[i], text);
    gcut_calls_define(s, p->value, text);
}

/* In the order of the module, which the text has. */
static void add_data(gcut_calls_scope *s)
{
    for (uint32_t i = 0; i < s->file->m->data.n; i++) {
        const gcut_data *d = &s->file->m->data.at[i];
        if (!gcut_data_is_of(d, s->g)) continue;
        const gcut_ref v = gcut_graph_find(s->g, d->name);
        gcut_text t = {.arena = s->file->a};
        if (d->marks.n)
            gcut_calls_refuse(s, v, "the mark #%s of data", gcut_mark_get(d->marks.at[0].name)->name);
        gcut_print_contents(d, &t);
        gcut_calls_add(s, gcut_printf(s->file->a, "gcut_initial(%s, %s)", gcut_calls_value(s, v),
                                      gcut_calls_quoted(s->file->a, t.at)));
    }
}

/* The marks of result i.  A mark is of all `out` results that are its value, so the last of them gets it. */
static void add_result_marks(gcut_calls_scope *s, uint32_t i)
{
    const gcut_result *r = &s->g->results.at[i];
    if (r->marks.n && (r->role != GCUT_ROLE_out || !gcut_def(s->g, r->value)))
        gcut_calls_refuse(s, r->value, "the mark #%s of the result %s",
                          gcut_mark_get(r->marks.at[0].name)->name, r->name);
    if (r->role != GCUT_ROLE_out) return;
    for (uint32_t k = 0; k < s->g->results.n; k++) {
        const gcut_result *other = &s->g->results.at[k];
        if (k == i || other->role != GCUT_ROLE_out || other->value != r->value) continue;
        if (!gcut_marks_equal(&other->marks, &r->marks))
            gcut_calls_refuse(s, r->value, "marks of one of the results %s and %s alone", r->name,
                              other->name);
        if (k > i) return;
    }
    for (uint32_t k = 0; k < r->marks.n; k++)
        gcut_calls_add(s, marked(s, r->value, &r->marks.at[k], gcut_calls_value(s, r->value)));
}

static void add_results(gcut_calls_scope *s)
{
    static const char *const calls[GCUT_NROLES] = {
        [GCUT_ROLE_out] = "output", [GCUT_ROLE_grad] = "gradient", [GCUT_ROLE_next] = "next"};
    for (uint32_t i = 0; i < s->g->results.n; i++) {
        const gcut_result *r = &s->g->results.at[i];
        if (!calls[r->role])
            gcut_calls_refuse(s, r->value, "a result of the role `%s`", gcut_role_name(r->role));
        gcut_calls_add(s, gcut_printf(s->file->a, "gcut_%s(g, \"%s\", %s)", calls[r->role], r->name,
                                      gcut_calls_value(s, r->value)));
        add_result_marks(s, i);
    }
}

/* ---- functions that call others ---- */

static uint32_t list_function(gcut_calls_file *f, const gcut_graph *g);

/* Adds what g and its bodies call to a function. */
static void add_callees(gcut_calls_file *f, const gcut_graph *g, gcut_calls_function *caller, gcut_map *seen)
{
    for (uint32_t i = 0; i < g->nodes.n; i++)
        for (uint32_t k = 0; k < gcut_node_at(g, i)->nregs; k++) {
            const gcut_graph *body = gcut_region_at(g, gcut_node_at(g, i), k)->body;
            if (body->is_body) {
                add_callees(f, body, caller, seen);
                continue;
            }
            const uint32_t number = list_function(f, body);
            uint32_t *known = gcut_map_at(f->a, seen, number);
            if (!*known) *GCUT_PUSH(f->a, &caller->callees) = number;
            *known = 1;
        }
}

/* Lists a function after those that it calls; its number. */
static uint32_t list_function(gcut_calls_file *f, const gcut_graph *g)
{
    const uint32_t known = gcut_map_get(&f->number, gcut_map_key(g));
    if (known) return known - 1;
    gcut_calls_function own = {.g = g};
    gcut_map seen = {0};
    add_callees(f, g, &own, &seen);
    own.name = gcut_calls_identifier(&f->taken, g->name);
    *GCUT_PUSH(f->a, &f->function) = own;
    *gcut_map_at(f->a, &f->number, gcut_map_key(g)) = f->function.n;
    return f->function.n - 1;
}

/* The variable of a function that s->g calls; text NULL: a parameter. */
static void add_function(gcut_calls_scope *s, const gcut_calls_function *callee, const char *text)
{
    const char *var = gcut_calls_identifier(s->taken, callee->g->name);
    const uint32_t line = gcut_calls_declare(s, "gcut_graph *", var, text);
    *gcut_map_at(s->file->a, &s->other, gcut_map_key(callee->g)) = line;
}

/* ", f, g": the functions that this one calls, as arguments of its C function; with `type` before each. */
static const char *callees_text(gcut_calls_scope *s, const gcut_calls_function *fn, const char *type)
{
    gcut_text t = {.arena = s->file->a};
    for (uint32_t i = 0; i < fn->callees.n; i++)
        gcut_text_add(&t, ", %s%s", type, gcut_calls_callee(s, s->file->function.at[fn->callees.at[i]].g));
    return t.n ? t.at : "";
}

/* The last function makes the others, and hands each what it calls. */
static void add_functions(gcut_calls_scope *s)
{
    for (uint32_t i = 0; i + 1 < s->file->function.n; i++) {
        const gcut_calls_function *fn = &s->file->function.at[i];
        add_function(s, fn, gcut_printf(s->file->a, "build_%s(g%s)", fn->name, callees_text(s, fn, "")));
    }
}

static void put_function(gcut_calls_file *f, const gcut_calls_function *fn, bool entry)
{
    gcut_name_set text_names = gcut_name_set_of(f->a, fn->g), taken = gcut_calls_reserved(f->a);
    gcut_calls_scope s = {.file = f,
                          .g = fn->g,
                          .name = fn->name,
                          .text_names = &text_names,
                          .taken = &taken,
                          .line_of = gcut_calloc(f->a, fn->g->values.n, sizeof *s.line_of)};
    if (entry) add_functions(&s);
    for (uint32_t i = 0; !entry && i < fn->callees.n; i++)
        add_function(&s, &f->function.at[fn->callees.at[i]], NULL);
    if (fn->g->marks.n)
        gcut_calls_refuse(&s, 0, "the mark #%s of a function", gcut_mark_get(fn->g->marks.at[0].name)->name);
    add_symbols(&s);
    for (uint32_t i = 0; i < fn->g->params.n; i++) add_param(&s, &fn->g->params.at[i]);
    if (entry) add_data(&s);
    gcut_calls_block(&s); /* prints the functions of bodies */
    add_results(&s);
    if (entry)
        gcut_text_add(f->out,
                      "gcut_graph *build_%s(gcut_ctx *ctx)\n{\n    gcut_graph *g = gcut_graph_new(ctx, ",
                      fn->name);
    else
        gcut_text_add(f->out,
                      "static gcut_graph *build_%s(gcut_graph *beside%s)\n{\n"
                      "    gcut_graph *g = gcut_function(beside, ",
                      fn->name, callees_text(&s, fn, "gcut_graph *"));
    gcut_text_add(f->out, "\"%s\");\n", fn->g->name);
    gcut_calls_put_lines(&s, f->out);
    gcut_text_add(f->out, "    return g;\n}\n%s", entry ? "" : "\n");
}

void gcut_calls_print(const gcut_graph *g, gcut_text *out)
{
    gcut_calls_file f = {.m = g->module, .a = out->arena, .out = out};
    f.taken = (gcut_name_set){.arena = f.a, .all = {.arena = f.a}};
    gcut_text_add(out, "#include <gradcut/gradcut.h>\n\n");
    list_function(&f, g);
    for (uint32_t i = 0; i < f.function.n; i++) put_function(&f, &f.function.at[i], i + 1 == f.function.n);
}
