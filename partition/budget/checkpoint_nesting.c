/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * From nested checkpoints to a choice: values that the forward graph keeps are saved; at the beginning of an
 * epoch the nodes from cut[from] on are recomputed; within the epoch, values of its block are recomputed just
 * before the backward graph reads them.
 */
#include "partition/budget/block_costs.h"

#include "graph/ops/node_facts.h"

typedef struct epoch_copies {
    gcut_arena *arena;
    const gcut_chain *c;
    const gcut_nesting *s;
    const bool *saved; /* by value */
    bool *kept;        /* by node: kept by the last recomputation for its block's epoch */
    bool *either;      /* by node: an either value whose copies were requested before */
    uint32_t *made;    /* by node: the epoch of its last copy, GCUT_NONE before the first */
    gcut_recomputations *copies;
    GCUT_VEC(gcut_ref) pending;
} epoch_copies;

static void copy(epoch_copies *w, uint32_t pos, uint32_t epoch, uint32_t node)
{
    if (w->made[node] == epoch) return;
    w->made[node] = epoch;
    *GCUT_PUSH(w->arena, &w->copies[pos]) = node;
}

/* ---- recomputation at the beginning of an epoch ---- */

/* Marks what block k keeps for its own epoch, and the nodes of the block on which that depends. */
static void keep_option(epoch_copies *w, uint32_t pos, uint32_t epoch, uint32_t k, bool *need)
{
    const gcut_graph *g = w->c->p->g;
    const gcut_block_option *o = &w->c->at[k].opt[w->s->option[k]];
    for (uint32_t i = g->nodes.n; i-- > 0;) {
        if (w->c->b.of[i] != k) continue;
        const gcut_node *n = gcut_node_at(g, i);
        bool here = false;
        for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++) {
            bool keep = o->saved && o->saved[v] && w->c->b.enter[v] == GCUT_NONE && !w->c->b.through[v];
            if (keep) w->kept[i] = true;
            here |= keep || need[v];
            need[v] = false;
        }
        if (!here) continue;
        copy(w, pos, epoch, i);
        for (uint32_t j = 0; j < n->nargs; j++) {
            gcut_ref a = gcut_arg(g, n, j);
            need[a] = w->c->owner[a] == k && !w->saved[a] && w->c->b.enter[a] == GCUT_NONE;
        }
    }
}

static void recompute(epoch_copies *w, uint32_t pos, uint32_t from, uint32_t epoch)
{
    const gcut_chain *c = w->c;
    gcut_arena *scratch = gcut_arena_new(c->p->g->module->env, w->arena);
    bool *need = gcut_calloc(scratch, c->p->g->values.n, 1);
    for (uint32_t i = 0; i < c->p->g->nodes.n; i++)
        if (c->b.advance[i] && c->b.of[i] >= from && c->b.of[i] < epoch) copy(w, pos, epoch, i);
    for (uint32_t k = from; k < epoch; k++)
        if (w->s->option[k] && !w->s->first[k]) keep_option(w, pos, epoch, k, need);
    gcut_arena_free(scratch);
}

/* ---- within an epoch ---- */

static void ask(epoch_copies *w, const gcut_node *n)
{
    for (uint32_t k = 0; k < n->nargs; k++) *GCUT_PUSH(w->arena, &w->pending) = gcut_arg(w->c->p->g, n, k);
}

/* Recomputes all values of block `epoch` that node n of the backward graph reads and that have no copy of
 * this epoch. */
static void copy_operands(epoch_copies *w, const gcut_node *n, uint32_t pos, uint32_t epoch)
{
    const gcut_problem *p = w->c->p;
    ask(w, n);
    while (w->pending.n) {
        gcut_ref v = w->pending.at[--w->pending.n];
        uint32_t def = p->g->values.at[v].def;
        if (def == GCUT_NONE || w->saved[v] || p->facts->kept[v]) continue;
        const gcut_node *d = gcut_node_at(p->g, def);
        if (p->facts->side[v] == GCUT_SIDE_EITHER && !w->either[def]) {
            w->either[def] = true;
            ask(w, d);
        }
        if (p->facts->side[v] != GCUT_SIDE_FORWARD || w->c->b.of[def] != epoch) continue;
        if (w->kept[def] || w->made[def] == epoch || gcut_node_class(d) == GCUT_CLASS_CONSTANT) continue;
        if (w->c->b.enter[v] != GCUT_NONE && w->made[def] != GCUT_NONE) continue;
        copy(w, pos, epoch, def);
        ask(w, d);
    }
}

static void copy_all(epoch_copies *w)
{
    const gcut_chain *c = w->c;
    uint32_t last = c->b.n, from = c->b.n;
    for (uint32_t i = 0; i < c->npos; i++) {
        uint32_t t = c->epoch[i];
        for (uint32_t k = last; k-- > t;) /* epochs without nodes recompute here */
            if (t != last && w->s->from[k] < from) from = w->s->from[k];
        if (t != last && from < t) recompute(w, i, from, t);
        from = c->b.n;
        last = t;
        copy_operands(w, gcut_node_at(c->p->g, c->order[i]), i, t);
    }
}

static void save_first(const gcut_chain *c, const gcut_nesting *s, bool *saved)
{
    for (gcut_ref v = 1; v < c->p->g->values.n; v++) {
        uint32_t enter = c->b.enter[v], k = c->owner[v];
        if (c->b.through[v] || (enter != GCUT_NONE && s->saved[enter])) saved[v] = true;
        if (enter != GCUT_NONE || k == GCUT_NONE || !s->first[k]) continue;
        const bool *keep = c->at[k].opt[s->option[k]].saved;
        if (keep && keep[v]) saved[v] = true;
    }
}

gcut_choice *gcut_nesting_choice(const gcut_chain *c, gcut_arena *arena, const gcut_nesting *s)
{
    const gcut_graph *g = c->p->g;
    gcut_arena *scratch = gcut_arena_new(g->module->env, arena);
    bool *saved = gcut_calloc(scratch, g->values.n, 1);
    save_first(c, s, saved);
    epoch_copies w = {.arena = scratch, .c = c, .s = s, .saved = saved};
    w.kept = gcut_calloc(scratch, (size_t)g->nodes.n + 1, 1);
    w.either = gcut_calloc(scratch, (size_t)g->nodes.n + 1, 1);
    w.made = gcut_alloc(scratch, ((size_t)g->nodes.n + 1) * sizeof *w.made);
    for (uint32_t i = 0; i <= g->nodes.n; i++) w.made[i] = GCUT_NONE;
    w.copies = gcut_calloc(scratch, (size_t)c->npos + 1, sizeof *w.copies);
    copy_all(&w);
    gcut_choice *out = gcut_choice_saving(c->p, arena, saved, w.copies, 0);
    gcut_arena_free(scratch);
    return out;
}
