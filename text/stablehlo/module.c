/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of ops as data; functions, node by node.
 */
#include "text/stablehlo/writer.h"

typedef struct row {
    gcut_hlo_rule *rule; /* NULL: none, the op is refused or expanded before */
    const char *as;      /* of a rule; else why the op is refused; NULL: it is expanded */
} row;

static const row rows[GCUT_NOPS] = {
#define RULE(op, name, as) [GCUT_OP_##op] = {gcut_hlo_##name, as},
#define REFUSE(op, why) [GCUT_OP_##op] = {NULL, why},
#include "text/stablehlo/ops.def"
#undef RULE
#undef REFUSE
};

bool gcut_stablehlo_expands(gcut_op op)
{
    return !rows[op].as;
}

static _Noreturn void refuse(const gcut_hlo *w, const char *why)
{
    gcut_fail(w->env, GCUT_EUNSUPPORTED, gcut_loc_place(w->g->module, w->n->loc), NULL,
              "StableHLO cannot express %%%s of the op %s: %s", w->g->values.at[w->n->res0].name,
              gcut_op_get((gcut_op)w->n->op)->name, why);
}

void gcut_hlo_name_values(gcut_hlo *w, const gcut_graph *g)
{
    w->g = g;
    w->value = gcut_calloc(w->a, g->values.n + 1, sizeof *w->value);
    for (gcut_ref v = 1; v < g->values.n; v++) w->value[v] = gcut_hlo_fresh(w, g->values.at[v].name);
}

void gcut_hlo_write_nodes(gcut_hlo *w)
{
    for (uint32_t i = 0; i < w->g->nodes.n; i++) {
        w->n = gcut_node_at(w->g, i);
        w->base = w->g->values.at[w->n->res0].name;
        const row *r = &rows[w->n->op];
        GCUT_ASSERT(r->as);
        if (!r->rule) refuse(w, r->as);
        r->rule(w, r->as);
    }
    w->n = NULL;
}

/* ---- functions ---- */

/* " {gradcut.role = "out", gradcut.name = "loss"}"; name NULL: without it */
static void put_attributes(gcut_hlo *w, gcut_role role, const char *name)
{
    gcut_text_add(w->out, " {gradcut.role = \"%s\"", gcut_role_name(role));
    if (name) gcut_text_add(w->out, ", gradcut.name = \"%s\"", name);
    gcut_text_add(w->out, "}");
}

static void put_func(gcut_hlo *w, const gcut_stablehlo_func *f)
{
    const gcut_graph *g = f->g;
    w->n = NULL;
    w->depth = 0;
    w->names = (gcut_name_set){.arena = w->a, .all.arena = w->a};
    gcut_hlo_name_values(w, g);
    gcut_text_add(w->out, "  func.func public @%s(", f->name);
    for (uint32_t i = 0; i < g->params.n; i++) {
        const gcut_ref v = g->params.at[i].value;
        const gcut_type t = gcut_hlo_type_of(w, v);
        gcut_text_add(w->out, "%s%s: %s", i ? ",\n      " : "\n      ", w->value[v], gcut_hlo_type(w, &t));
        put_attributes(w, g->params.at[i].role, NULL);
    }
    gcut_text_add(w->out, ") -> (");
    for (uint32_t i = 0; i < g->results.n; i++) {
        const gcut_type t = gcut_hlo_type_of(w, g->results.at[i].value);
        gcut_text_add(w->out, "%s%s", i ? ",\n      " : "\n      ", gcut_hlo_type(w, &t));
        put_attributes(w, g->results.at[i].role, g->results.at[i].name);
    }
    gcut_text_add(w->out, ") {\n");
    gcut_hlo_write_nodes(w);
    gcut_text values = {.arena = w->a}, types = {.arena = w->a};
    for (uint32_t i = 0; i < g->results.n; i++) {
        const gcut_type t = gcut_hlo_type_of(w, g->results.at[i].value);
        gcut_text_add(&values, "%s%s", i ? ", " : " ", w->value[g->results.at[i].value]);
        gcut_text_add(&types, "%s%s", i ? ", " : " : ", gcut_hlo_type(w, &t));
    }
    gcut_hlo_line(w, "return%s%s", g->results.n ? values.at : "", g->results.n ? types.at : "");
    gcut_text_add(w->out, "  }\n");
}

void gcut_stablehlo_print(const char *module, const gcut_stablehlo_func *f, uint32_t n,
                          const gcut_dim_binding *at, uint32_t nat, gcut_text *out)
{
    gcut_env *env = f[0].g->module->env;
    gcut_arena *a = gcut_arena_new(env, out->arena);
    gcut_hlo w = {.env = env, .a = a, .out = out, .at = at, .nat = nat};
    gcut_text_add(out, "module @\"%s\" {\n", module);
    for (uint32_t i = 0; i < n; i++) put_func(&w, &f[i]);
    gcut_text_add(out, "}\n");
    gcut_arena_free(a);
}
