/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The tree of recordings, and its function.
 */
#include "driver/trace/tree.h"

#include <string.h>

#include "base/map.h"
#include "driver/builder/builder.h"
#include "passes/passes.h"
#include "text/text.h"

/* ---- adding a recording ---- */

const char *gcut_recorded_op(const gcut_graph *g, uint32_t n, gcut_arena *a)
{
    gcut_text t = {.arena = a};
    const gcut_place at = gcut_loc_place(g->module, g->nodes.at[n].loc);
    gcut_print_node(g, n, &t);
    return gcut_printf(a, "%s:%d: `%s`", at.file ? at.file : "?", at.line, t.at);
}

static const char *op_at(const gcut_graph *g, uint32_t n, gcut_arena *a)
{
    return n < g->nodes.n ? gcut_recorded_op(g, n, a) : "its end";
}

static _Noreturn void impure(const gcut_graph *f, const gcut_graph *g, uint32_t n)
{
    gcut_module *m = g->module;
    gcut_fail(m->env, GCUT_EUSAGE,
              n < g->nodes.n ? gcut_loc_place(m, g->nodes.at[n].loc) : gcut_loc_place(m, g->loc),
              "what a recorded function does may depend on its arguments alone: on their sizes, and through "
              "gcut_cond on "
              "their values",
              "the function recorded as @%s recorded %s before, and now %s", f->name, op_at(f, n, m->arena),
              op_at(g, n, m->arena));
}

static bool same_node(const gcut_graph *f, const gcut_graph *g, uint32_t n)
{
    const gcut_node *a = &f->nodes.at[n], *b = &g->nodes.at[n];
    if (a->op != b->op || a->nargs != b->nargs || a->nres != b->nres || a->nregs != b->nregs ||
        a->res0 != b->res0 || !gcut_attrs_equal(f, a, g, b))
        return false;
    for (uint32_t k = 0; k < a->nargs; k++)
        if (gcut_arg(f, a, k) != gcut_arg(g, b, k)) return false;
    for (uint32_t k = 0; k < a->nres; k++)
        if (!gcut_type_equal(gcut_type_of(f, a->res0 + k), gcut_type_of(g, b->res0 + k))) return false;
    for (uint32_t k = 0; k < a->nregs; k++)
        if (!gcut_graph_same(gcut_region_at(f, a, k)->body, gcut_region_at(g, b, k)->body)) return false;
    return true;
}

static bool same_results(const gcut_graph *f, const gcut_graph *g, bool values)
{
    if (f->results.n != g->results.n) return false;
    for (uint32_t k = 0; k < f->results.n; k++) {
        const gcut_result *a = &f->results.at[k], *b = &g->results.at[k];
        if (a->role != b->role || strcmp(a->name, b->name) != 0 || (values && a->value != b->value) ||
            !gcut_type_equal(gcut_type_of(f, a->value), gcut_type_of(g, b->value)))
            return false;
    }
    return true;
}

/* The part of a recording from branch k on. */
static gcut_path path_of(const gcut_record *r, uint32_t k)
{
    gcut_path p = {.of = r->g, .begin = k ? r->branches[k - 1].nodes : 0, .end = r->g->nodes.n};
    if (k == r->nbranches) return p;
    p.end = r->branches[k].nodes;
    p.cond = r->branches[k].v;
    p.loc = r->branches[k].loc;
    p.last = r->branches[k].taken;
    return p;
}

bool gcut_tree_add(gcut_path **tree, const gcut_record *r)
{
    gcut_module *m = r->m;
    if (r->nbranches > GCUT_MOST_BRANCHES)
        gcut_fail(m->env, GCUT_EUNSUPPORTED, gcut_loc_place(m, r->branches[GCUT_MOST_BRANCHES].loc),
                  "gcut_while makes a loop whose length depends on values",
                  "the function recorded as @%s asks gcut_cond %u times in one run; at most %d", r->g->name,
                  (unsigned)r->nbranches, GCUT_MOST_BRANCHES);
    gcut_path **at = tree, *p = NULL;
    for (uint32_t k = 0; k <= r->nbranches; k++) {
        const gcut_path now = path_of(r, k);
        if (!*at) {
            gcut_path *rest = NULL;
            for (uint32_t i = r->nbranches + 1; i-- > k;) {
                p = gcut_calloc(m->arena, 1, sizeof *p);
                *p = path_of(r, i);
                if (p->cond) p->arm[p->last] = rest;
                rest = p;
            }
            *at = rest; /* all of it, or nothing where there is no memory */
            return true;
        }
        p = *at;
        for (uint32_t n = p->begin; n < p->end || n < now.end; n++)
            if (n >= p->end || n >= now.end || !same_node(p->of, r->g, n)) impure(p->of, r->g, n);
        if (p->cond != now.cond || (!p->cond && !same_results(p->of, r->g, true)))
            impure(p->of, r->g, now.end);
        if (!p->cond) return false;
        if (!r->explores) p->last = now.last;
        at = &p->arm[now.last];
    }
    GCUT_NEVER("the last part of a recording has no condition");
    return false;
}

bool gcut_tree_follow(gcut_path *tree, const gcut_record *r)
{
    const gcut_path *p = tree;
    for (uint32_t k = 0; k < r->nbranches; k++) {
        if (!p || !p->cond) return false;
        p = p->arm[r->branches[k].taken];
    }
    if (!p || p->cond) return false;
    for (uint32_t k = 0; k < r->nbranches; k++) {
        tree->last = r->branches[k].taken;
        tree = tree->arm[tree->last];
    }
    return true;
}

/* Appends the outcomes to `out`; false: everything below p is recorded. */
static bool missing(const gcut_path *p, bool *out, uint32_t *n)
{
    if (!p->cond || *n >= GCUT_MOST_BRANCHES) return false;
    const uint32_t here = *n;
    for (int outcome = 0; outcome < 2; outcome++) {
        out[here] = outcome;
        *n = here + 1;
        if (!p->arm[outcome] || missing(p->arm[outcome], out, n)) return true;
    }
    *n = here;
    return false;
}

const bool *gcut_tree_missing(const gcut_path *tree, gcut_arena *a, uint32_t *n)
{
    bool *out = gcut_calloc(a, GCUT_MOST_BRANCHES, sizeof *out);
    *n = 0;
    return missing(tree, out, n) ? out : NULL;
}

/* Descends to end *k; false: there are fewer, and *k is by how many less. */
static bool descend(const gcut_path *p, bool *out, uint32_t *n, uint32_t *k)
{
    if (!p->cond) return (*k)-- == 0;
    const uint32_t here = *n;
    for (int outcome = 0; outcome < 2; outcome++) {
        out[here] = outcome;
        *n = here + 1;
        if (p->arm[outcome] && descend(p->arm[outcome], out, n, k)) return true;
    }
    *n = here;
    return false;
}

const bool *gcut_tree_outcomes(const gcut_path *tree, gcut_arena *a, uint32_t k, uint32_t *n)
{
    bool *out = gcut_calloc(a, GCUT_MOST_BRANCHES, sizeof *out);
    *n = 0;
    return descend(tree, out, n, &k) ? out : NULL;
}

/* ---- the function ---- */

/* A recording that ends below p: of the last arms. */
static const gcut_graph *end_of(const gcut_path *p)
{
    while (p->cond) p = p->arm[p->last];
    return p->of;
}

/* Do all ends below p have the same results? */
static bool agrees(const gcut_path *p, const gcut_graph *with)
{
    if (!p) return true;
    if (!p->cond) return same_results(p->of, with, false);
    return agrees(p->arm[0], with) && agrees(p->arm[1], with);
}

/* Can both arms of p become regions?  A result that is a gradient or a new value is one of every arm. */
static bool has_both(const gcut_path *p)
{
    return p->arm[0] && p->arm[1] && agrees(p, end_of(p));
}

static uint64_t choice_of(const gcut_path *p, uint64_t h)
{
    const uint64_t what = !p ? 1 : !p->cond ? 2 : has_both(p) ? 3 : p->last ? 4 : 5;
    h = gcut_fnv(h, what);
    return p && p->cond ? choice_of(p->arm[1], choice_of(p->arm[0], h)) : h;
}

uint64_t gcut_tree_choice(const gcut_path *tree)
{
    return choice_of(tree, GCUT_FNV_BEGIN);
}

/* The results of a path, and whether its outcomes were the right ones; ok.id 0: they always are. */
typedef struct ends {
    gcut_val *out;
    uint32_t n;
    gcut_val ok;
} ends;

static gcut_val true_of(gcut_graph *g, gcut_locid loc)
{
    gcut_build b = {.g = g, .loc = loc};
    return gcut_val_of(g, gcut_bfull_of(&b, &(gcut_type){.dtype = GCUT_BOOL}, (gcut_num){true, 1, 1}));
}

/* The cotangent of a loss is marked where forward and backward are split, which is not inside of a region. */
static void drop_cotangent(gcut_marks *marks, gcut_arena *a)
{
    gcut_marks rest = {0};
    for (uint32_t k = 0; k < marks->n; k++)
        if (marks->at[k].name != GCUT_MARK_cotan) gcut_mark_add(a, &rest, marks->at[k]);
    *marks = rest;
}

/* map: by value of a recording through p, what stands for it in dst or a graph around dst. */
static ends emit(const gcut_path *p, gcut_graph *dst, const gcut_val *map, uint32_t nmap);

static ends emit_both(const gcut_path *p, gcut_graph *dst, const gcut_val *map, uint32_t nmap)
{
    gcut_module *m = dst->module;
    gcut_graph *body[2] = {gcut_body_new(dst), gcut_body_new(dst)};
    ends of[2];
    for (int k = 0; k < 2; k++) of[k] = emit(p->arm[!k], body[k], map, nmap); /* the first region is `then` */
    const bool guarded = of[0].ok.id || of[1].ok.id;
    for (int k = 0; k < 2; k++) {
        for (uint32_t i = 0; i < of[k].n; i++)
            gcut_result_new(body[k], GCUT_ROLE_out, gcut_printf(m->arena, "y%u", (unsigned)i),
                            gcut_builder_ref(body[k], of[k].out[i]));
        if (!guarded) continue;
        gcut_val ok = of[k].ok.id ? of[k].ok : true_of(body[k], p->loc);
        gcut_result_new(body[k], GCUT_ROLE_out, "ok", gcut_builder_ref(body[k], ok));
    }
    gcut_build b = {.g = dst, .loc = p->loc};
    gcut_ref cond = gcut_builder_ref(dst, map[p->cond]);
    gcut_ref first = gcut_bregion_node(&b, GCUT_OP_if, &cond, 1, body, 2, NULL, 0);
    ends e = {.out = gcut_calloc(m->arena, of[0].n + 1, sizeof *e.out), .n = of[0].n};
    for (uint32_t i = 0; i < e.n; i++) e.out[i] = gcut_val_of(dst, first + i);
    if (guarded) e.ok = gcut_val_of(dst, first + e.n);
    return e;
}

/* The arm of the last recording, if the condition is what it was then. */
static ends emit_last(const gcut_path *p, gcut_graph *dst, const gcut_val *map, uint32_t nmap)
{
    gcut_build b = {.g = dst, .loc = p->loc};
    gcut_ref right = gcut_builder_ref(dst, map[p->cond]);
    if (!p->last) right = gcut_b1(&b, GCUT_OP_not, right);
    ends e = emit(p->arm[p->last], dst, map, nmap);
    e.ok = gcut_val_of(dst, e.ok.id ? gcut_b2(&b, GCUT_OP_and, right, gcut_builder_ref(dst, e.ok)) : right);
    return e;
}

static ends emit(const gcut_path *p, gcut_graph *dst, const gcut_val *map, uint32_t nmap)
{
    gcut_module *m = dst->module;
    const gcut_graph *src = p->of;
    gcut_arena *a = gcut_arena_new(m->env, m->arena);
    gcut_val *own = gcut_calloc(a, src->values.n + 1, sizeof *own);
    gcut_ref *args = gcut_calloc(a, src->args.n + 1, sizeof *args),
             *ids = gcut_calloc(a, src->values.n + 1, sizeof *ids);
    memcpy(own, map, (nmap < src->values.n ? nmap : src->values.n) * sizeof *own);
    for (uint32_t n = p->begin; n < p->end; n++) {
        const gcut_node *node = gcut_node_at(src, n);
        for (uint32_t k = 0; k < node->nargs; k++) {
            gcut_ref v = gcut_arg(src, node, k);
            args[k] = ids[v] = gcut_builder_ref(dst, own[v]);
        }
        gcut_ref r = gcut_node_copy(dst, src, n, args, ids, node->loc, NULL);
        if (dst->is_body) drop_cotangent(&dst->nodes.at[dst->nodes.n - 1].marks, m->arena);
        for (uint32_t k = 0; k < node->nres; k++) {
            own[node->res0 + k] = gcut_val_of(dst, r + k);
            ids[node->res0 + k] = r + k;
            dst->values.at[r + k].made_up = src->values.at[node->res0 + k].made_up;
        }
    }
    ends e = {0};
    if (p->cond) {
        e = (has_both(p) ? emit_both : emit_last)(p, dst, own, src->values.n);
    } else {
        e.n = src->results.n;
        e.out = gcut_calloc(m->arena, e.n + 1, sizeof *e.out);
        for (uint32_t k = 0; k < e.n; k++) e.out[k] = own[src->results.at[k].value];
    }
    gcut_arena_free(a);
    return e;
}

/* Says where a C loop stays unrolled: the line of the op that was recorded most often, if that is as often as makes a scan. */
static void advise(const gcut_graph *g)
{
    gcut_module *m = g->module;
    gcut_arena *a = gcut_arena_new(m->env, m->arena);
    uint32_t *count = gcut_calloc(a, (size_t)m->locs.n * GCUT_NOPS, sizeof *count), most = 0, at = 0;
    for (uint32_t n = 0; n < g->nodes.n; n++) {
        const gcut_node *node = gcut_node_at(g, n);
        uint32_t *c = &count[(size_t)node->loc * GCUT_NOPS + node->op];
        if (node->loc && ++*c > most) most = *c, at = n;
    }
    if (most >= GCUT_REROLL_LEAST) {
        const gcut_place place = gcut_loc_place(m, g->nodes.at[at].loc);
        gcut_env_log(m->env, "%s:%d: '%s' was recorded %u times: gcut_scan makes one body of a loop",
                     place.file, place.line, gcut_op_get((gcut_op)g->nodes.at[at].op)->name, (unsigned)most);
    }
    gcut_arena_free(a);
}

gcut_graph *gcut_tree_graph(const gcut_path *tree, const char *name, bool *guarded)
{
    const gcut_graph *src = end_of(tree);
    gcut_module *m = src->module;
    gcut_graph *g = gcut_graph_create(m, gcut_module_unused(m, name, "unrolled"));
    gcut_val *map = gcut_calloc(m->arena, src->values.n + 1, sizeof *map);
    g->loc = src->loc;
    gcut_decls_copy(g, src);
    for (uint32_t k = 0; k < src->params.n; k++) {
        const gcut_param *p = &src->params.at[k];
        gcut_ref v = gcut_param_new(g, p->role, src->values.at[p->value].name, gcut_type_of(src, p->value));
        g->params.at[k].marks = p->marks;
        map[p->value] = gcut_val_of(g, v);
    }
    gcut_checks_copy(g, src);
    const ends e = emit(tree, g, map, src->values.n);
    for (uint32_t k = 0; k < e.n; k++) {
        gcut_result_new(g, src->results.at[k].role, src->results.at[k].name, e.out[k].id);
        g->results.at[k].marks = src->results.at[k].marks;
    }
    *guarded = e.ok.id != 0;
    if (*guarded) gcut_result_new(g, GCUT_ROLE_out, "guard", e.ok.id);
    gcut_bodies_canonical(g);
    gcut_graph *rolled = gcut_reroll(g, name);
    if (rolled == g)
        gcut_graph_rename(g, name);
    else
        gcut_module_unlist(m, g);
    if (m->env->hook.log) advise(rolled);
    return rolled;
}
