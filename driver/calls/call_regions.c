/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Nodes in C: loops and branches with the functions that build their bodies, and calls.
 */
#include "driver/calls/calls.h"

#include <inttypes.h>

#include "text/text.h"

/* ---- printing ---- */

/* "gcut_val h", "gcut_graph *f" */
static const char *declaration(gcut_arena *a, const gcut_calls_line *l)
{
    return gcut_printf(a, "%s%s%s", l->type, gcut_has_suffix(l->type, "*") ? "" : " ", l->var);
}

void gcut_calls_put_lines(const gcut_calls_scope *s, gcut_text *out)
{
    for (uint32_t i = 0; i < s->lines.n; i++) {
        const gcut_calls_line *l = &s->lines.at[i];
        if (!l->text) continue; /* a parameter */
        gcut_calls_put(out, !l->used
                                ? l->text
                                : gcut_printf(s->file->a, "%s = %s", declaration(s->file->a, l), l->text));
    }
}

static void put_body(const gcut_calls_scope *s, const char *function, const char *structure,
                     bool has_arguments, gcut_text *out)
{
    gcut_text_add(out, "static void %s(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)\n{\n",
                  function);
    if (s->reads.n) gcut_text_add(out, "    const struct %s *outer = user;\n", structure);
    for (uint32_t i = 0; i < s->reads.n; i++)
        gcut_text_add(out, "    %s = outer->%s;\n", declaration(s->file->a, &s->reads.at[i]),
                      s->reads.at[i].var);
    if (!s->reads.n) gcut_text_add(out, "    (void)user;\n");
    if (!s->uses_graph) gcut_text_add(out, "    (void)g;\n");
    if (!has_arguments) gcut_text_add(out, "    (void)in;\n");
    gcut_calls_put_lines(s, out);
    gcut_text_add(out, "}\n\n");
}

/* ---- bodies ---- */

typedef struct regions {
    const char *name; /* of the structure that its bodies read */
    const char *body[2];
    const char *user; /* the argument of the call */
    gcut_calls_lines handed;
} regions;

static void add_body(gcut_calls_scope *outer, const gcut_node *n, uint32_t k, regions *r, gcut_text *out)
{
    gcut_calls_file *f = outer->file;
    const gcut_graph *g = gcut_region_at(outer->g, n, k)->body;
    gcut_calls_scope s = {.file = f,
                          .g = g,
                          .name = outer->name,
                          .text_names = outer->text_names,
                          .taken = outer->taken,
                          .called = gcut_print_body_names(outer->text_names, outer->g, outer->called, n, g),
                          .line_of = gcut_calloc(f->a, g->values.n, sizeof *s.line_of),
                          .outer = outer,
                          .node = n,
                          .handed = &r->handed};
    const uint32_t given = g->params.n - n->ncaptured;
    for (uint32_t i = 0; i < given; i++)
        gcut_calls_define(&s, g->params.at[i].value, gcut_printf(f->a, "in[%u]", i));
    gcut_calls_block(&s);
    for (uint32_t i = 0; i < g->results.n; i++)
        gcut_calls_add(&s,
                       gcut_printf(f->a, "out[%u] = %s", i, gcut_calls_value(&s, g->results.at[i].value)));
    r->body[k] = gcut_printf(f->a, "build_%s_%s", r->name, gcut_op_region((gcut_op)n->op, k));
    put_body(&s, r->body[k], r->name, given, out);
}

/* Prints the functions that build the bodies of n, and declares what they read. */
static regions add_bodies(gcut_calls_scope *s, const gcut_node *n)
{
    gcut_calls_file *f = s->file;
    const char *first = n->nres ? gcut_calls_called(s, n->res0) : gcut_op_get((gcut_op)n->op)->name;
    regions r = {.name = gcut_calls_identifier(&f->taken, gcut_printf(f->a, "%s_%s", s->name, first)),
                 .user = "NULL"};
    gcut_text bodies = {.arena = f->a}, init = {.arena = f->a};
    for (uint32_t k = 0; k < n->nregs; k++) add_body(s, n, k, &r, &bodies);
    if (r.handed.n) {
        const char *user = gcut_calls_identifier(s->taken, gcut_printf(f->a, "outer_%s", first));
        gcut_text_add(f->out, "struct %s {\n", r.name);
        for (uint32_t i = 0; i < r.handed.n; i++) {
            gcut_text_add(f->out, "    %s;\n", declaration(f->a, &r.handed.at[i]));
            gcut_text_add(&init, "%s%s", i ? ", " : "", r.handed.at[i].var);
        }
        gcut_text_add(f->out, "};\n\n");
        gcut_calls_add(s, gcut_printf(f->a, "struct %s %s = {%s}", r.name, user, init.at));
        r.user = gcut_printf(f->a, "&%s", user);
    }
    gcut_text_addn(f->out, bodies.at, bodies.n);
    return r;
}

/* ---- ops with bodies ---- */

/* A size of a loop; 0, which would mean that none is given, is refused. */
static void add_size(gcut_calls_scope *s, const gcut_node *n, gcut_attr_key key, gcut_text *t)
{
    const gcut_attr *a = gcut_attr_get(s->g, n, key);
    if (!a) return;
    if (!a->u.dim || !gcut_calls_has_size(s, a->u.dim))
        gcut_calls_refuse(s, n->res0, "%s=%s", gcut_attr_name(key),
                          gcut_dim_text(s->file->a, s->file->m->dims, a->u.dim));
    gcut_text_add(t, ", .%s = %s", gcut_attr_name(key), gcut_calls_size(s, a->u.dim));
}

static void add_loop(gcut_calls_scope *s, const gcut_node *n, bool scan)
{
    const regions r = add_bodies(s, n);
    const gcut_ref *arg = &s->g->args.at[n->arg0];
    const uint32_t carries = gcut_node_carries(s->g, n), xs = n->nargs - n->ncaptured - carries;
    gcut_text t = {.arena = s->file->a};
    gcut_text_add(&t, "gcut_%s(%s, &(gcut_loop){", scan ? "scan" : "while", gcut_calls_graph(s));
    if (carries) gcut_text_add(&t, ".carry = %s, .ncarry = %u, ", gcut_calls_list(s, arg, carries), carries);
    if (xs) gcut_text_add(&t, ".xs = %s, .nxs = %u, ", gcut_calls_list(s, arg + carries, xs), xs);
    if (n->nres > carries) gcut_text_add(&t, ".nys = %u, ", n->nres - carries);
    if (!scan) gcut_text_add(&t, ".cond = %s, ", r.body[0]);
    gcut_text_add(&t, ".body = %s, .user = %s", r.body[!scan], r.user);
    if (scan) {
        const int64_t axis = gcut_attr_get(s->g, n, GCUT_KEY_axis)->u.dim;
        if (axis) gcut_text_add(&t, ", .axis = %" PRId64, axis);
        if (gcut_attr_flag(s->g, n, GCUT_KEY_reverse)) gcut_text_add(&t, ", .reverse = true");
    }
    add_size(s, n, scan ? GCUT_KEY_length : GCUT_KEY_bound, &t);
    const char *array = gcut_calls_results(s, n, 0);
    gcut_calls_add(s, gcut_printf(s->file->a, "%s}, %s)", t.at, array));
    gcut_calls_take_results(s, n, 0, array);
}

static void add_if(gcut_calls_scope *s, const gcut_node *n)
{
    const gcut_ref p = gcut_arg(s->g, n, 0);
    if (!gcut_calls_is_own(s, p)) /* gcut_if builds in the graph of its condition */
        gcut_calls_refuse(s, n->res0, "an `if` in a body whose condition %%%s is computed outside of it",
                          gcut_calls_called(s, p));
    const regions r = add_bodies(s, n);
    const char *array = gcut_calls_results(s, n, 0);
    gcut_calls_add(s, gcut_printf(s->file->a, "gcut_if(%s, %s, %s, %s, %s, %u)", gcut_calls_value(s, p),
                                  r.body[0], r.body[1], r.user, array, n->nres));
    gcut_calls_take_results(s, n, 0, array);
}

/* ---- calls ---- */

static void add_call(gcut_calls_scope *s, const gcut_node *n)
{
    gcut_text t = {.arena = s->file->a};
    gcut_text_add(&t, "gcut_%s(%s", n->nregs > 1 ? "custom" : "call", gcut_calls_graph(s));
    for (uint32_t k = 0; k < n->nregs; k++)
        gcut_text_add(&t, ", %s", gcut_calls_callee(s, gcut_region_at(s->g, n, k)->body));
    gcut_text_add(&t, ", %s", gcut_calls_values(s, &s->g->args.at[n->arg0], n->nargs));
    const char *array = gcut_calls_results(s, n, 0);
    gcut_calls_add(s, gcut_printf(s->file->a, "%s, %s, %u)", t.at, array, n->nres));
    gcut_calls_take_results(s, n, 0, array);
}

static void add_external(gcut_calls_scope *s, const gcut_node *n)
{
    gcut_arena *a = s->file->a;
    gcut_text t = {.arena = a}, dtypes = {.arena = a}, shapes = {.arena = a};
    for (uint32_t k = 0; k < n->nres; k++) {
        const char *sep = k ? ", " : "";
        gcut_text_add(&dtypes, "%s%s", sep, gcut_calls_dtype(a, gcut_type_of(s->g, n->res0 + k)->dtype));
        gcut_text_add(&shapes, "%s%s", sep, gcut_calls_shape(s, n->res0 + k));
    }
    gcut_text_add(&t, "gcut_call_external(%s, &(gcut_external_call){.kernel = %s", gcut_calls_graph(s),
                  gcut_calls_quoted(a, gcut_attr_get(s->g, n, GCUT_KEY_kernel)->u.str));
    if (n->nargs)
        gcut_text_add(&t, ", .in = %s, .nin = %u", gcut_calls_list(s, &s->g->args.at[n->arg0], n->nargs),
                      n->nargs);
    gcut_text_add(&t, ", .dtypes = (const gcut_dtype[]){%s}, .shapes = (const gcut_shape[]){%s}, .nout = %u",
                  dtypes.at, shapes.at, n->nres);
    if (gcut_attr_flag(s->g, n, GCUT_KEY_pure)) gcut_text_add(&t, ", .pure = true");
    add_size(s, n, GCUT_KEY_flops, &t);
    add_size(s, n, GCUT_KEY_bytes, &t);
    const char *array = gcut_calls_results(s, n, 0);
    gcut_calls_add(s, gcut_printf(a, "%s}, %s)", t.at, array));
    gcut_calls_take_results(s, n, 0, array);
}

/* ---- nodes ---- */

void gcut_calls_block(gcut_calls_scope *s)
{
    for (uint32_t id = 0; id < s->g->nodes.n; id++) {
        const gcut_node *n = gcut_node_at(s->g, id);
        if (n->marks.n)
            gcut_calls_refuse(s, n->res0, "the mark #%s", gcut_mark_get(n->marks.at[0].name)->name);
        switch (n->op) {
        case GCUT_OP_scan: add_loop(s, n, true); break;
        case GCUT_OP_while: add_loop(s, n, false); break;
        case GCUT_OP_if: add_if(s, n); break;
        case GCUT_OP_call: add_call(s, n); break;
        case GCUT_OP_external: add_external(s, n); break;
        default: gcut_calls_op(s, n);
        }
    }
}
