/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Makes the lines of a plan file from a plan, and reads them from a file.
 */
#include "partition/plan_file/plan_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/ops/node_facts.h"
#include "base/json_read.h"
#include "text/text.h"
#include "partition/cut/storage_format.h"
#include "partition/policies/policy.h"

#define FILE_LIMIT ((size_t)256 << 20)

/* ---- hashes ---- */

static void mix(uint64_t *h, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) *h = (*h ^ (unsigned char)s[i]) * UINT64_C(0x100000001b3);
}

static const char *hex(uint64_t h, gcut_arena *arena)
{
    return gcut_printf(arena, "%016llx", (unsigned long long)h);
}

#define SEED UINT64_C(0xcbf29ce484222325)

const char *gcut_plan_hash(const char *text, size_t n, gcut_arena *arena)
{
    uint64_t h = SEED;
    mix(&h, text, n);
    return hex(h, arena);
}

const char *gcut_graph_hash(const gcut_graph *g, gcut_arena *arena)
{
    gcut_text t = {.arena = arena};
    gcut_print_graph(g, &(gcut_print_options){.no_loc = true}, &t);
    return gcut_plan_hash(t.at, t.n, arena);
}

const char *gcut_nodes_hash(const gcut_graph *g, gcut_arena *arena)
{
    uint64_t h = SEED;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        const char *op = gcut_op_get((gcut_op)n->op)->name;
        mix(&h, op, strlen(op) + 1);
        for (uint32_t k = 0; k < n->nargs + n->nres; k++) {
            const char *name = g->values.at[k < n->nres ? n->res0 + k : gcut_arg(g, n, k - n->nres)].name;
            mix(&h, name, strlen(name) + 1);
        }
    }
    return hex(h, arena);
}

/* ---- the lines of a plan ---- */

/* By node: the backward values before which a further copy is made, NULL for the results. */
typedef GCUT_VEC(const char *) names;

static names *places(const gcut_plan *plan, const gcut_problem *p, gcut_arena *arena)
{
    const gcut_graph *g = plan->joint;
    uint32_t n;
    const uint32_t *order = gcut_backward_order(arena, p->facts, &n);
    const gcut_recomputations *copies = gcut_recomputations_of(p, arena, plan);
    names *out = gcut_calloc(arena, g->nodes.n + 1u, sizeof *out);
    for (uint32_t i = 0; i <= n; i++)
        for (uint32_t k = 0; k < copies[i].n; k++)
            *GCUT_PUSH(arena, &out[copies[i].at[k]]) =
                i < n ? g->values.at[gcut_node_at(g, order[i])->res0].name : NULL;
    return out;
}

static double line_ns(const gcut_plan *plan, const gcut_problem *p, gcut_ref v)
{
    const gcut_decision *d = &plan->value[v];
    const char *why;
    if (d->decision == GCUT_PLAN_SAVED) return gcut_save_price(p, v, 0, &why);
    return p->price[v].recompute_ns * (d->copies ? d->copies : 1);
}

static const gcut_replay_line *line_of(const gcut_plan *plan, const gcut_problem *p, gcut_ref v,
                                       const names *before, gcut_arena *arena)
{
    const gcut_graph *g = plan->joint;
    const gcut_decision *d = &plan->value[v];
    bool own = d->bytes || d->format == GCUT_FORMAT_GRAD;
    gcut_replay_line l = {.name = g->values.at[v].name,
                          .op = gcut_maker_name(g, v),
                          .type = gcut_type_text(arena, g->module, gcut_type_of(g, v)),
                          .decision = d->decision,
                          .storage = d->decision == GCUT_PLAN_SAVED ? gcut_format_name(d->format) : NULL,
                          .forced = d->forced,
                          .bytes = own ? d->bytes : p->price[v].bytes,
                          .ns = line_ns(plan, p, v),
                          .before = before ? before->at : NULL,
                          .nbefore = before ? before->n : 0};
    return gcut_memdup(arena, &l, sizeof l);
}

/* A view has a line only where it states further copies. */
static bool has_line(const gcut_plan *plan, gcut_ref v, const names *before)
{
    gcut_plan_decision f = plan->value[v].decision;
    if (f != GCUT_PLAN_SAVED && f != GCUT_PLAN_RECOMPUTED) return false;
    return !gcut_value_is(plan->joint, v, GCUT_CLASS_VIEW) || (before && before->n);
}

gcut_plan_lines gcut_plan_lines_of(const gcut_plan *plan, const gcut_problem *p, gcut_arena *arena)
{
    const gcut_graph *g = plan->joint;
    const names *before = places(plan, p, arena);
    gcut_plan_lines out = {0};
    for (gcut_ref v = 1; v < g->values.n; v++) {
        const gcut_node *n = gcut_def(g, v);
        const names *b = n && n->res0 == v ? &before[g->values.at[v].def] : NULL;
        if (has_line(plan, v, b)) *GCUT_PUSH(arena, &out) = line_of(plan, p, v, b, arena);
    }
    return out;
}

/* place: of its value in the backward graph; index: in the list. */
typedef struct placed_line {
    const gcut_replay_line *line;
    uint32_t place, index;
} placed_line;

static int by_place(const void *a, const void *b)
{
    const placed_line *x = a, *y = b;
    if (x->place != y->place) return x->place < y->place ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

gcut_plan_lines gcut_plan_lines_of_iteration(const gcut_plan *plan, const gcut_problem *p, gcut_arena *arena)
{
    gcut_plan_lines out = gcut_plan_lines_of(plan, p, arena);
    placed_line *placed = gcut_calloc(arena, out.n + 1u, sizeof *placed);
    for (uint32_t i = 0; i < out.n; i++) {
        const gcut_ref v = gcut_graph_find(plan->bwd, out.at[i]->name);
        const uint32_t def = v ? plan->bwd->values.at[v].def : GCUT_NONE; /* a parameter is saved */
        const bool saved = out.at[i]->decision == GCUT_PLAN_SAVED;
        placed[i] = (placed_line){out.at[i], saved ? 0 : def == GCUT_NONE ? GCUT_NONE : 1 + def, i};
    }
    if (out.n) qsort(placed, out.n, sizeof *placed, by_place);
    for (uint32_t i = 0; i < out.n; i++) out.at[i] = placed[i].line;
    return out;
}

/* ---- reading ---- */

static const char *bare(const char *name)
{
    return name + (name[0] == '%');
}

const char *gcut_decision_name(gcut_plan_decision d)
{
    GCUT_ASSERT(d == GCUT_PLAN_SAVED || d == GCUT_PLAN_RECOMPUTED);
    return d == GCUT_PLAN_SAVED ? "saved" : "recomputed";
}

static gcut_plan_decision read_decision(const gcut_jnode *v)
{
    const char *s = gcut_jstr(v);
    if (!strcmp(s, gcut_decision_name(GCUT_PLAN_SAVED))) return GCUT_PLAN_SAVED;
    if (!strcmp(s, gcut_decision_name(GCUT_PLAN_RECOMPUTED))) return GCUT_PLAN_RECOMPUTED;
    gcut_jfail(v, "a value is \"saved\" or \"recomputed\"", "there is no decision '%s'", s);
}

static const char *text_or(const gcut_jnode *v, const char *otherwise)
{
    return v && v->kind != GCUT_JSON_NULL ? gcut_jstr(v) : otherwise;
}

static const char *read_format(const gcut_jnode *v)
{
    const char *name = text_or(v, NULL);
    if (name && !gcut_format_read(name, &(gcut_format){0}))
        gcut_jfail(v, "plain, bf16, bits or grad", "there is no form '%s'", name);
    return name;
}

static double real_or(const gcut_jnode *v, double otherwise)
{
    return v && v->kind != GCUT_JSON_NULL ? gcut_jreal(v) : otherwise;
}

static int64_t int_or(const gcut_jnode *v, int64_t otherwise)
{
    return v && v->kind != GCUT_JSON_NULL ? gcut_jint(v) : otherwise;
}

static const gcut_replay_line *read_line(gcut_arena *arena, const gcut_jnode *v)
{
    gcut_replay_line l = {.name = bare(gcut_jstr(gcut_jneed(v, "value"))),
                          .op = gcut_jstr(gcut_jneed(v, "op")),
                          .type = gcut_jstr(gcut_jneed(v, "type")),
                          .decision = read_decision(gcut_jneed(v, "fate")),
                          .storage = read_format(gcut_jget(v, "form")),
                          .bytes = int_or(gcut_jget(v, "bytes"), 0),
                          .ns = real_or(gcut_jget(v, "ns"), 0)};
    if (l.decision != GCUT_PLAN_SAVED) l.storage = NULL;
    const gcut_jnode *forced = gcut_jget(v, "forced"), *before = gcut_jget(v, "before");
    l.forced = forced && gcut_jbool(forced);
    l.nbefore = before ? gcut_jcount(before) : 0;
    const char **at = gcut_calloc(arena, l.nbefore + 1u, sizeof *at);
    for (uint32_t i = 0; i < l.nbefore; i++) {
        const char *s = gcut_jstr(gcut_jat(before, i));
        at[i] = strcmp(s, "results") != 0 ? bare(s) : NULL;
    }
    l.before = at;
    return gcut_memdup(arena, &l, sizeof l);
}

static void check_once(const gcut_plan_part *part, const gcut_jnode *lines, gcut_arena *arena)
{
    gcut_names seen = {.arena = arena};
    for (uint32_t i = 0; i < part->lines.n; i++) {
        uint32_t before = seen.n;
        const char *name = part->lines.at[i]->name;
        gcut_intern(&seen, name, strlen(name));
        if (seen.n == before)
            gcut_jfail(gcut_jat(lines, i), "one line for each value", "a second line for %%%s", name);
    }
}

/* The names in that list; none where it is missing. */
static const char *const *read_names(gcut_arena *arena, const gcut_jnode *list, uint32_t *n)
{
    *n = list ? gcut_jcount(list) : 0;
    const char **out = gcut_calloc(arena, *n + 1u, sizeof *out);
    for (uint32_t i = 0; i < *n; i++) out[i] = bare(gcut_jstr(gcut_jat(list, i)));
    return out;
}

static gcut_plan_part read_part(gcut_arena *arena, const gcut_jnode *v, const char *path)
{
    const gcut_jnode *lines = gcut_jneed(v, "values");
    const char *where = v->parent ? gcut_printf(arena, "%s.", gcut_jpath(arena, v)) : "";
    gcut_plan_part part = {.path = path, .where = where};
    part.graph_hash = text_or(gcut_jget(v, "graph_hash"), "");
    part.nodes_hash = text_or(gcut_jget(v, "nodes_hash"), "");
    for (uint32_t i = 0, n = gcut_jcount(lines); i < n; i++)
        *GCUT_PUSH(arena, &part.lines) = read_line(arena, gcut_jat(lines, i));
    check_once(&part, lines, arena);
    return part;
}

const char *gcut_plan_line_path(const gcut_plan_part *part, uint32_t i, gcut_arena *arena)
{
    return gcut_printf(arena, "%svalues[%u]", part->where, i);
}

static const char *read_policy(gcut_arena *arena, const gcut_jnode *v)
{
    gcut_plan_options o = {0};
    const char *s = gcut_jstr(v);
    if (!gcut_policy_read(s, &o)) gcut_jfail(v, gcut_policy_list(arena), "there is no policy '%s'", s);
    return s;
}

static double read_lambda(const gcut_jnode *v)
{
    double lambda = gcut_jreal(v);
    if (!gcut_is_lambda(lambda)) gcut_jfail(v, NULL, "a price from 0 to %g is expected", GCUT_LAMBDA_MOST);
    return lambda;
}

static gcut_plan_side read_head(gcut_arena *arena, const char *path, const gcut_jnode *v)
{
    const gcut_jnode *at = gcut_jneed(v, "at");
    gcut_jobject(at);
    gcut_size *sizes = gcut_calloc(arena, at->n + 1u, sizeof *sizes);
    for (uint32_t i = 0; i < at->n; i++) sizes[i] = (gcut_size){at->u.item[i].key, gcut_jint(&at->u.item[i])};
    return (gcut_plan_side){.file = gcut_strndup(arena, path, strlen(path)),
                            .policy = read_policy(arena, gcut_jneed(v, "policy")),
                            .lambda = read_lambda(gcut_jneed(v, "lambda")),
                            .budget = int_or(gcut_jget(v, "budget"), -1),
                            .saved_budget = int_or(gcut_jget(v, "saved_budget"), -1),
                            .at = sizes,
                            .nat = at->n,
                            .saved_bytes = int_or(gcut_jget(v, "saved_bytes"), 0),
                            .peak_bytes = int_or(gcut_jget(v, "peak_bytes"), -1),
                            .recompute_ns = real_or(gcut_jget(v, "recompute_ns"), 0),
                            .cost_ns = real_or(gcut_jget(v, "cost_ns"), 0),
                            .step_ns = real_or(gcut_jget(v, "step_ns"), NAN),
                            .machine = text_or(gcut_jget(v, "machine"), "unknown"),
                            .machine_hash = text_or(gcut_jget(v, "machine_hash"), NULL)};
}

void gcut_plan_format_check(const gcut_jnode *v)
{
    const gcut_jnode *format = gcut_jget(v, "format");
    int64_t is = int_or(format, GCUT_PLAN_FORMAT);
    if (is != GCUT_PLAN_FORMAT)
        gcut_jfail(format, "make the plan again with this one: gradcut plan FILE -o plan.json",
                   "this gradcut reads plan files of format %d, and this one is of format %lld",
                   GCUT_PLAN_FORMAT, (long long)is);
}

static gcut_plan_file *plan_of(gcut_arena *arena, const char *path, const gcut_jnode *v)
{
    gcut_plan_format_check(v);
    gcut_plan_file *f = gcut_calloc(arena, 1, sizeof *f);
    f->head = read_head(arena, path, v);
    f->save_dtype = text_or(gcut_jget(v, "save_dtype"), NULL);
    f->whole = read_part(arena, v, f->head.file);
    f->whole.less_workspace = read_names(arena, gcut_jget(v, "less_workspace"), &f->whole.nless_workspace);
    f->head.less_workspace = f->whole.less_workspace;
    f->head.nless_workspace = f->whole.nless_workspace;
    gcut_plan_lists_check(v, &f->whole, arena);
    const gcut_jnode *iterations = gcut_jget(v, "steps");
    for (uint32_t i = 0, n = iterations ? gcut_jcount(iterations) : 0; i < n; i++) {
        const gcut_jnode *one = gcut_jat(iterations, i);
        gcut_plan_part part = read_part(arena, one, f->head.file);
        part.loop = bare(gcut_jstr(gcut_jneed(one, "loop")));
        *GCUT_PUSH(arena, &f->iterations) = part;
    }
    return f;
}

gcut_plan_file *gcut_plan_file_parse(gcut_arena *arena, const char *name, const char *text, size_t n)
{
    return plan_of(arena, name, gcut_json_parse(arena, name, text, n));
}

gcut_plan_file *gcut_plan_file_read(gcut_arena *arena, const char *path)
{
    return plan_of(arena, path, gcut_json_read(arena, path, FILE_LIMIT));
}

static bool flip_in(gcut_plan_part *part, const char *value, gcut_arena *arena)
{
    for (uint32_t i = 0; i < part->lines.n; i++) {
        if (strcmp(part->lines.at[i]->name, value) != 0) continue;
        gcut_replay_line l = *part->lines.at[i];
        l.decision = l.decision == GCUT_PLAN_SAVED ? GCUT_PLAN_RECOMPUTED : GCUT_PLAN_SAVED;
        l.storage = NULL;
        l.nbefore = 0;
        part->lines.at[i] = gcut_memdup(arena, &l, sizeof l);
        return true;
    }
    return false;
}

void gcut_plan_file_flip(gcut_plan_file *f, const char *value, gcut_arena *arena)
{
    bool found = flip_in(&f->whole, bare(value), arena);
    for (uint32_t i = 0; i < f->iterations.n && !found; i++)
        found = flip_in(&f->iterations.at[i], bare(value), arena);
}

gcut_plan_part *gcut_plan_file_iteration(gcut_plan_file *f, const char *loop)
{
    for (uint32_t i = 0; i < f->iterations.n; i++) {
        gcut_plan_part *one = &f->iterations.at[i];
        if (one->taken || strcmp(one->loop, loop) != 0) continue;
        one->taken = true;
        return one;
    }
    return NULL;
}
