/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Replays a plan file: converts its lines to decisions on this graph, or reports why it cannot.
 *
 * A plan only chooses among computations of the same values, so replaying one never makes results wrong;
 * lines that do not fit the graph are refused.
 */
#include "partition/plan_file/plan_file.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "graph/ops/node_facts.h"
#include "partition/cut/storage_format.h"
#include "partition/plan.h"

typedef struct replay {
    gcut_problem *p;
    gcut_arena *arena;
    const gcut_plan_file *file;
    const gcut_plan_part *part;
    gcut_ref *value; /* by line */
} replay;

static gcut_place place_of(const replay *f)
{
    return (gcut_place){.file = f->part->path};
}

/* ---- comparing the graphs ---- */

/* A type as written, read axis by axis: "f32", then sizes. */
static size_t token(const char *s)
{
    size_t n = strcspn(s, ",]");
    while (n && s[n - 1] == ' ') n--;
    return n;
}

static bool has_symbol(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (isalpha((unsigned char)s[i]) || s[i] == '_') return true;
    return false;
}

/* Equal except for sizes that are symbolic in one of the two. */
static bool types_agree(const char *a, const char *b)
{
    size_t n = strcspn(a, "["), m = strcspn(b, "[");
    if (n != m || strncmp(a, b, n) != 0) return false;
    for (a += n, b += m; *a && *b; a += n, b += m) {
        a += strspn(a, "[, ");
        b += strspn(b, "[, ");
        n = token(a);
        m = token(b);
        bool equal = n == m && !strncmp(a, b, n);
        if (!equal && !(n && m && (has_symbol(a, n) || has_symbol(b, m)))) return false;
        if (!n || !m) break;
    }
    return !strcmp(a + strspn(a, " "), b + strspn(b, " "));
}

static const char *graph_name(const replay *f)
{
    return f->part->loop ? gcut_printf(f->arena, "an iteration of %%%s", f->part->loop)
                         : gcut_printf(f->arena, "@%s", f->p->g->name);
}

/* A line of the part in messages: "values[3]". */
static const char *where(const replay *f, uint32_t i)
{
    return gcut_plan_line_path(f->part, i, f->p->g->module->arena);
}

static _Noreturn void refuse(const replay *f, uint32_t i, const char *what)
{
    gcut_fail(f->p->g->module->env, GCUT_EPLAN, place_of(f),
              "make a plan of this graph: gradcut plan FILE -o plan.json", "%s: this plan is not of %s: %s",
              where(f, i), graph_name(f), what);
}

/* The plan of a loop's iteration, which may have been edited, decides whether a stack of the loop exists. */
static bool is_stack(const replay *f, const char *name)
{
    for (uint32_t i = 0; i < f->file->iterations.n; i++) {
        const char *loop = f->file->iterations.at[i].loop;
        size_t n = strlen(loop);
        if (!f->part->loop && !strncmp(name, loop, n) && name[n] == '.') return true;
    }
    return false;
}

/* Finds the value of each line; the first line without one is an error. */
static void match(replay *f)
{
    const gcut_graph *g = f->p->g;
    gcut_arena *a = f->arena;
    for (uint32_t i = 0; i < f->part->lines.n; i++) {
        const gcut_replay_line *l = f->part->lines.at[i];
        gcut_ref v = f->value[i] = gcut_graph_find(g, l->name);
        if (!v && is_stack(f, l->name)) continue;
        if (!v)
            refuse(f, i,
                   gcut_printf(a, "there is no value %%%s, which is %s %s in the plan", l->name, l->op,
                               l->type));
        if (strcmp(gcut_maker_name(g, v), l->op) != 0)
            refuse(f, i,
                   gcut_printf(a, "%%%s is made by %s here and by %s in the plan", l->name,
                               gcut_maker_name(g, v), l->op));
        const char *type = gcut_type_text(a, g->module, gcut_type_of(g, v));
        if (!types_agree(type, l->type))
            refuse(f, i, gcut_printf(a, "%%%s is %s here and %s in the plan", l->name, type, l->type));
    }
}

/* Called when every line fits: finds differences in nodes that have no line. */
static void check_hashes(const replay *f)
{
    const gcut_plan_part *part = f->part;
    if (part->loop || f->file->iterations.n) return; /* edits of iterations change the outer graph */
    if (!strcmp(part->graph_hash, gcut_graph_hash(f->p->g, f->arena))) return;
    if (!strcmp(part->nodes_hash, gcut_nodes_hash(f->p->g, f->arena))) return;
    gcut_fail(f->p->g->module->env, GCUT_EPLAN, place_of(f),
              "make a plan of this graph: gradcut plan FILE -o plan.json",
              "this plan is not of %s: what it saves and recomputes is the same, other nodes differ",
              graph_name(f));
}

static void check_iterations(const replay *f)
{
    for (uint32_t i = 0; !f->part->loop && i < f->file->iterations.n; i++)
        if (!f->file->iterations.at[i].taken)
            gcut_fail(f->p->g->module->env, GCUT_EPLAN, place_of(f), NULL,
                      "steps[%u]: this plan is not of %s: there is no loop %%%s with a backward loop", i,
                      graph_name(f), f->file->iterations.at[i].loop);
}

/* ---- constraints from the lines ---- */

static _Noreturn void impossible(const replay *f, uint32_t i, const char *why)
{
    const gcut_replay_line *l = f->part->lines.at[i];
    gcut_fail(f->p->g->module->env, GCUT_EPLAN, place_of(f), NULL, "%s: %%%s cannot be %s: %s", where(f, i),
              l->name, gcut_decision_name(l->decision), why);
}

/* Accepts the formats that gcut_format_allowed does; loops stack values as plain. */
static void check_format(const replay *f, uint32_t i, gcut_format format)
{
    gcut_ref v = f->value[i];
    if (gcut_format_allowed(f->p, v, format)) return;
    bool unrounded = format == GCUT_FORMAT_BF16 && f->p->opt->save_dtype != GCUT_BF16;
    const char *why = unrounded                    ? "save_dtype of the plan is not bf16"
                      : f->p->g->is_body           ? "loops stack values as they are"
                      : format == GCUT_FORMAT_BITS ? "only bool values are bits"
                      : format == GCUT_FORMAT_GRAD ? "no gradient is made of it"
                      : gcut_type_of(f->p->g, v)->dtype != GCUT_F32
                          ? "only f32 values are rounded"
                          : "rounding it may change more than the last bits";
    impossible(f, i, gcut_printf(f->arena, "not as %s: %s", gcut_format_name(format), why));
}

static void check_line(const replay *f, uint32_t i)
{
    const gcut_problem *p = f->p;
    const gcut_replay_line *l = f->part->lines.at[i];
    gcut_ref v = f->value[i];
    gcut_format format;
    bool save = l->decision == GCUT_PLAN_SAVED;
    gcut_constraint mine = save ? GCUT_CONSTRAINT_SAVE : GCUT_CONSTRAINT_RECOMPUTE;
    if (p->facts->side[v] == GCUT_SIDE_BACKWARD) impossible(f, i, "it belongs to the backward graph alone");
    if (!gcut_def(p->g, v) && !gcut_value_is_lost(p->g, v))
        impossible(f, i, "it is a parameter, alive anyway");
    if (!save && !gcut_def(p->g, v)) impossible(f, i, "it is carried by the forward loop, which is over");
    if (save && gcut_value_is(p->g, v, GCUT_CLASS_CONSTANT)) impossible(f, i, "it is a constant");
    if (save && gcut_value_is(p->g, v, GCUT_CLASS_VIEW))
        impossible(f, i,
                   gcut_printf(f->arena, "it is a view, %%%s stands for it",
                               p->g->values.at[p->facts->base[v]].name));
    if (l->storage && gcut_format_read(l->storage, &format)) check_format(f, i, format);
    if (p->force[v] != GCUT_CONSTRAINT_NONE && p->force[v] != mine)
        gcut_fail(p->g->module->env, GCUT_EPLAN, place_of(f), "keep one of the two",
                  "%s: %%%s cannot be both saved and recomputed: \"%s\" in the plan against %s", where(f, i),
                  l->name, save ? "saved" : "recomputed", p->forced_by[v]);
}

static void ask(const replay *f, uint32_t i, bool *saved)
{
    const gcut_replay_line *l = f->part->lines.at[i];
    gcut_ref v = f->value[i];
    bool save = l->decision == GCUT_PLAN_SAVED;
    gcut_format format;
    check_line(f, i);
    saved[v] = save;
    if (l->storage && gcut_format_read(l->storage, &format))
        f->p->format[v] = gcut_format_kept(f->p, v, format);
    if (!l->forced || gcut_value_is(f->p->g, v, GCUT_CLASS_VIEW)) return;
    f->p->force[v] = save ? GCUT_CONSTRAINT_SAVE : GCUT_CONSTRAINT_RECOMPUTE;
    if (!f->p->forced_by[v])
        f->p->forced_by[v] = gcut_printf(f->p->g->module->arena, "%s in %s", where(f, i), f->part->path);
}

/* The index in `order` of the backward node that computes the named value; n for NULL, the results. */
static uint32_t index_of(const replay *f, const uint32_t *order, uint32_t n, uint32_t line, const char *name)
{
    gcut_ref v = name ? gcut_graph_find(f->p->g, name) : 0;
    uint32_t def = v ? f->p->g->values.at[v].def : GCUT_NONE;
    for (uint32_t i = 0; name && i < n; i++)
        if (order[i] == def) return i;
    if (!name) return n;
    gcut_fail(f->p->g->module->env, GCUT_EPLAN, place_of(f), NULL,
              "%s.before: %%%s is no value that the backward graph alone computes", where(f, line), name);
}

static gcut_recomputations *copies_of(const replay *f)
{
    uint32_t n;
    const uint32_t *order = gcut_backward_order(f->arena, f->p->facts, &n);
    gcut_recomputations *copies = gcut_calloc(f->arena, (size_t)n + 1, sizeof *copies);
    for (uint32_t i = 0; i < f->part->lines.n; i++) {
        const gcut_replay_line *l = f->part->lines.at[i];
        const gcut_graph *g = f->p->g;
        for (uint32_t k = 0; f->value[i] && gcut_def(g, f->value[i]) && k < l->nbefore; k++)
            *GCUT_PUSH(f->arena, &copies[index_of(f, order, n, i, l->before[k])]) =
                g->values.at[f->value[i]].def;
    }
    return copies;
}

/* ---- the choice ---- */

/* Values without a line that an edit makes necessary are recomputed; a new stack of a loop is saved. */
static bool *default_saved(const replay *f)
{
    bool *saved = gcut_calloc(f->arena, f->p->g->values.n, 1);
    for (gcut_ref v = 1; v < f->p->g->values.n; v++) {
        const gcut_node *n = gcut_def(f->p->g, v);
        saved[v] = n && gcut_node_class(n) == GCUT_CLASS_CONTROL && is_stack(f, f->p->g->values.at[v].name);
    }
    return saved;
}

static gcut_choice *choice_of(gcut_problem *p, gcut_arena *arena, const gcut_plan_file *file,
                              const gcut_plan_part *part, double lambda)
{
    gcut_arena *scratch = gcut_arena_new(gcut_arena_env(arena), arena);
    replay f = {p, scratch, file, part, gcut_calloc(scratch, part->lines.n + 1u, sizeof(gcut_ref))};
    match(&f);
    check_hashes(&f);
    check_iterations(&f);
    bool *saved = default_saved(&f);
    for (uint32_t i = 0; i < part->lines.n; i++)
        if (f.value[i]) ask(&f, i, saved);
    gcut_choice *c = gcut_choice_saving(p, arena, saved, copies_of(&f), lambda);
    gcut_choice *best = gcut_choose(p, scratch, NULL, lambda);
    c->lower_bound_ns = gcut_bound_printed(best->lower_bound_ns, c->cost_ns);
    gcut_arena_free(scratch);
    return c;
}

/* Marks the convolutions that the part lists.  Throws GCUT_EPLAN where a name is that of none. */
static void replay_less_workspace(gcut_plan *plan, const gcut_plan_part *part)
{
    const gcut_graph *g = plan->joint;
    gcut_env *env = g->module->env;
    for (uint32_t i = 0; i < part->nless_workspace; i++) {
        const char *name = part->less_workspace[i];
        const gcut_ref v = gcut_graph_find(g, name);
        const gcut_node *n = v ? gcut_def(g, v) : NULL;
        if (!n || !gcut_is_convolution(n))
            gcut_fail(env, GCUT_EPLAN, (gcut_place){.file = part->path}, "the name of a convolution",
                      "less_workspace[%u]: %%%s %s", i, name,
                      !v  ? gcut_printf(g->module->arena, "is no value of @%s", g->name)
                      : n ? gcut_printf(g->module->arena, "is made by %s", gcut_maker_name(g, v))
                          : "is a parameter");
        plan->value[v].less_workspace = true;
    }
}

gcut_plan *gcut_plan_replay(gcut_graph *joint, const gcut_plan_options *opt, const gcut_plan_part *part)
{
    gcut_module *m = joint->module;
    gcut_arena *scratch = gcut_arena_new(m->env, m->arena);
    gcut_problem *p = gcut_problem_new(scratch, joint, opt);
    if (!part) part = &opt->file->whole;
    gcut_choice *c = choice_of(p, scratch, opt->file, part, opt->lambda);
    gcut_plan *plan = gcut_plan_from(p, opt, c);
    replay_less_workspace(plan, part);
    gcut_arena_free(scratch);
    return plan;
}
