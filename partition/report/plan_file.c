/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Makes the lines of a plan file from a plan, and reads them from a file.
 */
#include "partition/report/plan_file.h"

#include <math.h>
#include <string.h>

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
    const gcut_recomputations *again = gcut_recomputations_of(p, arena, plan);
    names *out = gcut_calloc(arena, g->nodes.n + 1u, sizeof *out);
    for (uint32_t i = 0; i <= n; i++)
        for (uint32_t k = 0; k < again[i].n; k++)
            *GCUT_PUSH(arena, &out[again[i].at[k]]) =
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

static gcut_plan_line line_of(const gcut_plan *plan, const gcut_problem *p, gcut_ref v, const names *before,
                              gcut_arena *arena)
{
    const gcut_graph *g = plan->joint;
    const gcut_decision *d = &plan->value[v];
    bool own = d->bytes || d->format == GCUT_FORMAT_GRAD;
    return (gcut_plan_line){.value = g->values.at[v].name,
                            .op = gcut_maker_name(g, v),
                            .type = gcut_type_text(arena, g->module, gcut_type_of(g, v)),
                            .decision = d->decision,
                            .has_format = d->decision == GCUT_PLAN_SAVED,
                            .format = d->format,
                            .forced = d->forced,
                            .bytes = own ? d->bytes : p->price[v].bytes,
                            .ns = line_ns(plan, p, v),
                            .before = before ? before->at : NULL,
                            .nbefore = before ? before->n : 0};
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

static gcut_format read_format(const gcut_jnode *v)
{
    if (!v || v->kind == GCUT_JSON_NULL) return GCUT_FORMAT_PLAIN;
    for (int f = GCUT_FORMAT_PLAIN; f <= GCUT_FORMAT_GRAD; f++)
        if (!strcmp(gcut_jstr(v), gcut_format_name((gcut_format)f))) return (gcut_format)f;
    gcut_jfail(v, "plain, bf16, bits or grad", "there is no form '%s'", gcut_jstr(v));
}

static const char *text_or(const gcut_jnode *v, const char *otherwise)
{
    return v && v->kind != GCUT_JSON_NULL ? gcut_jstr(v) : otherwise;
}

static double real_or(const gcut_jnode *v, double otherwise)
{
    return v && v->kind != GCUT_JSON_NULL ? gcut_jreal(v) : otherwise;
}

static int64_t int_or(const gcut_jnode *v, int64_t otherwise)
{
    return v && v->kind != GCUT_JSON_NULL ? gcut_jint(v) : otherwise;
}

static gcut_plan_line read_line(gcut_arena *arena, const gcut_jnode *v)
{
    gcut_plan_line l = {.value = bare(gcut_jstr(gcut_jneed(v, "value"))),
                        .op = gcut_jstr(gcut_jneed(v, "op")),
                        .type = gcut_jstr(gcut_jneed(v, "type")),
                        .decision = read_decision(gcut_jneed(v, "fate")),
                        .has_format = gcut_jget(v, "form") && gcut_jget(v, "form")->kind != GCUT_JSON_NULL,
                        .format = read_format(gcut_jget(v, "form")),
                        .bytes = int_or(gcut_jget(v, "bytes"), 0),
                        .ns = real_or(gcut_jget(v, "ns"), 0),
                        .where = gcut_jpath(arena, v)};
    const gcut_jnode *forced = gcut_jget(v, "forced"), *before = gcut_jget(v, "before");
    l.forced = forced && gcut_jbool(forced);
    l.nbefore = before ? gcut_jcount(before) : 0;
    const char **at = gcut_calloc(arena, l.nbefore + 1u, sizeof *at);
    for (uint32_t i = 0; i < l.nbefore; i++) {
        const char *s = gcut_jstr(gcut_jat(before, i));
        at[i] = strcmp(s, "results") != 0 ? bare(s) : NULL;
    }
    l.before = at;
    return l;
}

static void check_once(const gcut_plan_part *part, const gcut_jnode *lines, gcut_arena *arena)
{
    gcut_names seen = {.arena = arena};
    for (uint32_t i = 0; i < part->lines.n; i++) {
        uint32_t before = seen.n;
        gcut_intern(&seen, part->lines.at[i].value, strlen(part->lines.at[i].value));
        if (seen.n == before)
            gcut_jfail(gcut_jat(lines, i), "one line for each value", "a second line for %%%s",
                       part->lines.at[i].value);
    }
}

static void read_part(gcut_arena *arena, const gcut_jnode *v, const char *path, gcut_plan_part *part)
{
    const gcut_jnode *lines = gcut_jneed(v, "values");
    part->path = path;
    part->graph_hash = text_or(gcut_jget(v, "graph_hash"), "");
    part->nodes_hash = text_or(gcut_jget(v, "nodes_hash"), "");
    for (uint32_t i = 0, n = gcut_jcount(lines); i < n; i++)
        *GCUT_PUSH(arena, &part->lines) = read_line(arena, gcut_jat(lines, i));
    check_once(part, lines, arena);
}

static const char *read_policy(gcut_arena *arena, const gcut_jnode *v)
{
    gcut_plan_options o = {0};
    const char *s = gcut_jstr(v);
    if (!gcut_policy_read(s, &o)) gcut_jfail(v, gcut_policy_list(arena), "there is no policy '%s'", s);
    return s;
}

static gcut_plan_file *plan_of(gcut_arena *arena, const char *path, const gcut_jnode *v)
{
    gcut_plan_file *f = gcut_calloc(arena, 1, sizeof *f);
    f->path = gcut_strndup(arena, path, strlen(path));
    f->policy = read_policy(arena, gcut_jneed(v, "policy"));
    const gcut_jnode *lambda = gcut_jneed(v, "lambda");
    f->lambda = gcut_jreal(lambda);
    if (!gcut_is_lambda(f->lambda))
        gcut_jfail(lambda, NULL, "a price from 0 to %g is expected", GCUT_LAMBDA_MOST);
    f->save_dtype = text_or(gcut_jget(v, "save_dtype"), NULL);
    f->saved_bytes = int_or(gcut_jget(v, "saved_bytes"), 0);
    f->peak_bytes = int_or(gcut_jget(v, "peak_bytes"), -1);
    f->recompute_ns = real_or(gcut_jget(v, "recompute_ns"), 0);
    f->cost_ns = real_or(gcut_jget(v, "cost_ns"), 0);
    f->step_ns = real_or(gcut_jget(v, "step_ns"), NAN);
    const gcut_jnode *at = gcut_jneed(v, "at"), *steps = gcut_jget(v, "steps");
    gcut_jobject(at);
    for (uint32_t i = 0; i < at->n; i++) {
        const gcut_jnode *one = &at->u.item[i];
        *GCUT_PUSH(arena, &f->at) = (gcut_plan_at){one->key, gcut_jint(one)};
    }
    read_part(arena, v, f->path, &f->whole);
    gcut_plan_lists_check(v, &f->whole, arena);
    for (uint32_t i = 0, n = steps ? gcut_jcount(steps) : 0; i < n; i++) {
        const gcut_jnode *one = gcut_jat(steps, i);
        gcut_plan_part part = {.loop = bare(gcut_jstr(gcut_jneed(one, "loop")))};
        read_part(arena, one, f->path, &part);
        *GCUT_PUSH(arena, &f->steps) = part;
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

static bool flip_in(gcut_plan_part *part, const char *value)
{
    for (uint32_t i = 0; i < part->lines.n; i++) {
        gcut_plan_line *l = &part->lines.at[i];
        if (strcmp(l->value, value) != 0) continue;
        l->decision = l->decision == GCUT_PLAN_SAVED ? GCUT_PLAN_RECOMPUTED : GCUT_PLAN_SAVED;
        l->has_format = false;
        l->nbefore = 0;
        return true;
    }
    return false;
}

void gcut_plan_file_flip(gcut_plan_file *f, const char *value)
{
    bool found = flip_in(&f->whole, bare(value));
    for (uint32_t i = 0; i < f->steps.n && !found; i++) found = flip_in(&f->steps.at[i], bare(value));
}

gcut_plan_part *gcut_plan_file_step(gcut_plan_file *f, const char *loop)
{
    for (uint32_t i = 0; i < f->steps.n; i++)
        if (!f->steps.at[i].taken && !strcmp(f->steps.at[i].loop, loop)) {
            f->steps.at[i].taken = true;
            return &f->steps.at[i];
        }
    return NULL;
}
