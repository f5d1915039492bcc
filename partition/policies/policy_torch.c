/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rules of PyTorch's min-cut partitioner on our op table, as a baseline.
 *
 * Its network has the shape of ours, but recomputing a value is either free or banned, and saving it costs an
 * estimate: its bytes times 1.1 for each op between it and the backward graph, twice that when every
 * reader could fuse it into its own kernel.  Parameters cost nothing to save, other inputs do.
 *
 * Under a budget B, a share of the bytes kept without one, it drops rules in turn; when that
 * keeps too much, a 0/1 knapsack chooses which of the banned values stay banned, as if
 * they were independent, and the cut after that decides what is kept, whether or not it fits.
 *
 * What PyTorch sees is decomposed further than a joint graph, so the column `torch` of the op table says what
 * each op counts as, and in doubt in PyTorch's favour: a softmax is its elementwise parts, and of their two
 * reductions nothing is kept (PyTorch keeps them, 8 bytes a row); attention keeps its operands and its
 * result (PyTorch a logarithm for each row besides) and is compute-intensive, as it is on a GPU.  A random op
 * is on no list, because PyTorch's compiler replaces it before it partitions: recomputed in PyTorch it would
 * draw other numbers, here it draws the same.  Constants have no bytes.  Saving a view saves its base.
 */
#include "partition/policies/policy_torch.h"

#include <math.h>
#include <stdlib.h>

#include "graph/ops/infer.h"
#include "graph/ops/node_facts.h"
#include "partition/cut/min_cut.h"

#define FAR 1000000000 /* distance of a value on which no op of the backward graph depends */

static gcut_torch kind_of(const gcut_node *n)
{
    return gcut_torch_of((gcut_op)n->op);
}

static bool is_list_fusible(const gcut_node *n)
{
    gcut_torch k = kind_of(n);
    return k == GCUT_TORCH_POINT || k == GCUT_TORCH_VIEW || k == GCUT_TORCH_RANDOM;
}

/* Reader b could fuse the result of node a into its own kernel; a NULL: a parameter. */
static bool is_fusible(const gcut_node *a, const gcut_node *b)
{
    return kind_of(b) == GCUT_TORCH_CAT || (a && is_list_fusible(a) && is_list_fusible(b));
}

static bool in_forward(const gcut_torch_rules *t, uint32_t node)
{
    const gcut_node *n = gcut_node_at(t->g, node);
    return n->nres && t->p->facts->side[n->res0] == GCUT_SIDE_FORWARD;
}

/* ---- readers and distances ---- */

static void find_readers(gcut_torch_rules *t)
{
    const gcut_graph *g = t->g;
    t->reader0 = gcut_calloc(t->arena, (size_t)g->values.n + 1, sizeof *t->reader0);
    t->reader = gcut_calloc(t->arena, (size_t)g->args.n + 1, sizeof *t->reader);
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t i = g->nodes.n; i-- > 0;) {
            const gcut_node *n = gcut_node_at(g, i);
            for (uint32_t k = 0; t->p->facts->live[i] && k < n->nargs; k++) {
                uint32_t *slot = &t->reader0[gcut_arg(g, n, k)];
                if (fill)
                    t->reader[--*slot] = i;
                else
                    ++*slot;
            }
        }
        for (gcut_ref v = 1; !fill && v <= g->values.n; v++) t->reader0[v] += t->reader0[v - 1];
    }
    for (uint32_t i = 0; i < g->results.n; i++) t->result[g->results.at[i].value] = true;
}

static void find_distances(gcut_torch_rules *t)
{
    const gcut_graph *g = t->g;
    int32_t *node = gcut_calloc(t->arena, (size_t)g->nodes.n + 1, sizeof *node);
    for (gcut_ref v = 1; v < g->values.n; v++) t->distance[v] = FAR;
    for (uint32_t i = g->nodes.n; i-- > 0;) {
        const gcut_node *n = gcut_node_at(g, i);
        node[i] = FAR;
        for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++)
            if (t->distance[v] < node[i]) node[i] = t->distance[v];
        if (!in_forward(t, i)) node[i] = 0;
        for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++) t->distance[v] = node[i];
        for (uint32_t k = 0; t->p->facts->live[i] && k < n->nargs; k++) {
            gcut_ref a = gcut_arg(g, n, k);
            if (node[i] + 1 < t->distance[a]) t->distance[a] = node[i] + 1;
        }
    }
}

bool gcut_torch_reaches(const gcut_torch_rules *t, const gcut_node *n)
{
    return t->distance[n->res0] < FAR;
}

static double bytes_of(const gcut_torch_rules *t, gcut_ref v)
{
    return gcut_value_is(t->g, v, GCUT_CLASS_CONSTANT) ? 0 : (double)t->p->price[v].bytes;
}

static double node_bytes(const gcut_torch_rules *t, const gcut_node *n)
{
    double sum = 0;
    for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++) sum += bytes_of(t, v);
    return sum;
}

/* v is stored whatever is saved: it is a parameter, or some reader is a kernel of its own. */
static bool is_materialized(const gcut_torch_rules *t, gcut_ref v)
{
    const gcut_node *def = gcut_def(t->g, v);
    bool alone = !def || t->result[v];
    for (uint32_t k = t->reader0[v]; k < t->reader0[v + 1]; k++)
        alone |= !is_fusible(def, gcut_node_at(t->g, t->reader[k]));
    return alone;
}

static double weight_of(const gcut_torch_rules *t, gcut_ref v)
{
    const gcut_graph *g = t->g;
    const gcut_value *x = &g->values.at[v];
    if (x->def == GCUT_NONE && g->params.at[x->index].role == GCUT_ROLE_param) return 0;
    int32_t hops = t->distance[v] > 100 ? 100 : t->distance[v] < 1 ? 1 : t->distance[v];
    double w = floor(bytes_of(t, v) * pow(1.1, hops));
    return is_materialized(t, v) ? w : 2 * w;
}

/* fed[v]: an op outside of the forward graph that is a kernel of its own reads v or a view of it.  A view
 * comes after its base, so the walk from the end of the graph knows fed[] of views before that of their
 * bases. */
static void find_fed(gcut_torch_rules *t)
{
    for (uint32_t i = t->g->nodes.n; i-- > 0;) {
        const gcut_node *n = gcut_node_at(t->g, i);
        for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++) {
            bool fed = t->result[v];
            for (uint32_t k = t->reader0[v]; !fed && k < t->reader0[v + 1]; k++) {
                const gcut_node *r = gcut_node_at(t->g, t->reader[k]);
                fed = !in_forward(t, t->reader[k]) && !is_fusible(n, r);
                fed |= kind_of(r) == GCUT_TORCH_VIEW && t->fed[r->res0];
            }
            t->fed[v] = fed;
        }
    }
}

/* Gradients are computed there: what depends on a cotangent, nodes of a loss head, and what is computed from either, since a
 * pass may have replaced nodes of the head. */
static void find_backward(gcut_torch_rules *t)
{
    const gcut_graph *g = t->g;
    const gcut_value_side *side = t->p->facts->side;
    for (gcut_ref v = 1; v < g->values.n; v++) t->backward[v] = side[v] == GCUT_SIDE_BACKWARD;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        bool head = gcut_mark_find(&n->marks, GCUT_MARK_head) != NULL;
        for (uint32_t k = 0; k < n->nargs; k++) head |= t->backward[gcut_arg(g, n, k)];
        for (gcut_ref v = n->res0; head && v < n->res0 + n->nres; v++)
            t->backward[v] |= side[v] == GCUT_SIDE_EITHER;
    }
}

gcut_torch_rules *gcut_torch_rules_new(const gcut_problem *p, gcut_arena *arena)
{
    gcut_torch_rules *t = gcut_calloc(arena, 1, sizeof *t);
    *t = (gcut_torch_rules){.p = p, .g = p->g, .arena = arena};
    t->result = gcut_calloc(arena, p->g->values.n, 1);
    t->backward = gcut_calloc(arena, p->g->values.n, 1);
    t->fed = gcut_calloc(arena, p->g->values.n, 1);
    t->distance = gcut_calloc(arena, p->g->values.n, sizeof *t->distance);
    find_backward(t);
    find_readers(t);
    find_distances(t);
    find_fed(t);
    return t;
}

/* ---- values banned from recomputation ---- */

static bool is_asked(const gcut_torch_rules *t, const gcut_node *n, gcut_constraint what)
{
    bool any = false;
    for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++) any |= t->p->force[v] == what;
    return any;
}

/* The result has less than a quarter of the bytes of the operands, so it is cheap to keep. */
static bool is_reduction(const gcut_torch_rules *t, const gcut_node *n)
{
    double in = 0;
    for (uint32_t k = 0; k < n->nargs; k++) in += bytes_of(t, gcut_arg(t->g, n, k));
    return 4 * node_bytes(t, n) < in;
}

static bool is_banned_by_itself(const gcut_torch_rules *t, uint32_t i, gcut_torch_level level)
{
    const gcut_node *n = gcut_node_at(t->g, i);
    gcut_torch k = kind_of(n);
    if (is_asked(t, n, GCUT_CONSTRAINT_SAVE) || gcut_value_runs_once(t->g, n->res0)) return true;
    if (level < GCUT_TORCH_DENY ? k != GCUT_TORCH_POINT : k == GCUT_TORCH_HEAVY) return true;
    for (gcut_ref v = n->res0; level < GCUT_TORCH_LIST && v < n->res0 + n->nres; v++)
        if (t->fed[v]) return true;
    return is_reduction(t, n);
}

/* Bans node i unless it is a view or a constant, or a constraint or the knapsack allows recomputing it. */
static void ban(const gcut_torch_rules *t, uint32_t i, const bool *allowed, bool *banned)
{
    const gcut_node *n = gcut_node_at(t->g, i);
    if (kind_of(n) == GCUT_TORCH_VIEW || gcut_node_class(n) == GCUT_CLASS_CONSTANT) return;
    if (is_asked(t, n, GCUT_CONSTRAINT_RECOMPUTE) || (allowed && allowed[i])) return;
    banned[i] = true;
}

/* Walks forward readers from `start` up to node `limit` in graph order.  Returns the first node that cannot
 * be fused with all nodes on the way to it, or `limit`. */
static uint32_t first_unfusible(const gcut_torch_rules *t, const gcut_node *start, uint32_t limit, char *seen)
{
    const gcut_graph *g = t->g;
    uint32_t found = limit, from = (uint32_t)(start - g->nodes.at) + 1;
    for (uint32_t i = from; i <= limit; i++) seen[i] = 0;
    for (uint32_t k = t->reader0[start->res0]; k < t->reader0[start->res0 + 1]; k++)
        if (in_forward(t, t->reader[k])) seen[t->reader[k]] = 1;
    for (uint32_t i = from; i <= limit; i++) { /* 1: by fusible readers alone, 2: not */
        const gcut_node *n = gcut_node_at(g, i);
        if (!seen[i]) continue;
        if (seen[i] == 2) {
            found = i;
            break;
        }
        for (uint32_t k = t->reader0[n->res0]; k < t->reader0[n->res0 + 1]; k++) {
            uint32_t r = t->reader[k];
            if (!in_forward(t, r) || r > limit) continue;
            if (!is_fusible(n, gcut_node_at(g, r)))
                seen[r] = 2;
            else if (!seen[r])
                seen[r] = 1;
        }
    }
    return found;
}

/* Bans readers that could fuse with their operand if no kernel separated the two. */
static void ban_used_far_apart(const gcut_torch_rules *t, const bool *allowed, bool *banned)
{
    const gcut_graph *g = t->g;
    char *seen = gcut_calloc(t->arena, (size_t)g->nodes.n + 1, 1);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        uint32_t last = 0;
        if (n->nres != 1 || !in_forward(t, i)) continue;
        for (uint32_t k = t->reader0[n->res0]; k < t->reader0[n->res0 + 1]; k++)
            if (in_forward(t, t->reader[k]) && t->reader[k] > last) last = t->reader[k];
        if (last == 0) continue;
        uint32_t first = first_unfusible(t, n, last, seen);
        for (uint32_t k = t->reader0[n->res0]; k < t->reader0[n->res0 + 1]; k++) {
            uint32_t r = t->reader[k];
            if (in_forward(t, r) && r > first && is_fusible(n, gcut_node_at(g, r)))
                ban(t, r, allowed, banned);
        }
    }
}

/* Bans the node at which a chain of fusible ops has spanned more than 100 forward ops, when no other node of
 * the chain is open.  A node belongs to the chain of the first start that reaches it. */
static void ban_in_long_chains(const gcut_torch_rules *t, const bool *allowed, bool *banned)
{
    const gcut_graph *g = t->g;
    bool *visited = gcut_calloc(t->arena, (size_t)g->nodes.n + 1, 1);
    bool *open = gcut_calloc(t->arena, (size_t)g->nodes.n + 1, 1);
    uint32_t *place = gcut_calloc(t->arena, (size_t)g->nodes.n + 1, sizeof *place);
    for (uint32_t i = 0, at = 0; i < g->nodes.n; i++) place[i] = in_forward(t, i) ? at++ : at;
    for (uint32_t s = 0; s < g->nodes.n; s++) {
        if (!in_forward(t, s) || visited[s]) continue;
        uint32_t under_way = 1, end = s;
        open[s] = true;
        for (uint32_t i = s; i <= end; i++) {
            const gcut_node *n = gcut_node_at(g, i);
            if (!open[i]) continue;
            open[i] = false;
            under_way--;
            if (visited[i]) continue;
            visited[i] = true;
            if (place[i] > place[s] + 100 && under_way == 0) {
                ban(t, i, allowed, banned);
                break;
            }
            for (uint32_t k = t->reader0[n->res0]; k < t->reader0[n->res0 + 1]; k++) {
                uint32_t r = t->reader[k];
                if (!in_forward(t, r) || open[r] || banned[r] || !is_fusible(n, gcut_node_at(g, r))) continue;
                open[r] = true;
                under_way++;
                if (r > end) end = r;
            }
        }
    }
}

static bool *find_banned(const gcut_torch_rules *t, gcut_torch_level level, const bool *allowed)
{
    bool *banned = gcut_calloc(t->arena, (size_t)t->g->nodes.n + 1, 1);
    for (uint32_t i = 0; i < t->g->nodes.n; i++)
        if (in_forward(t, i) && is_banned_by_itself(t, i, level)) ban(t, i, allowed, banned);
    if (level == GCUT_TORCH_FAST) {
        ban_used_far_apart(t, allowed, banned);
        ban_in_long_chains(t, allowed, banned);
    }
    return banned;
}

/* ---- the cut ---- */

static bool is_read(const gcut_torch_rules *t, gcut_ref v)
{
    bool read = t->p->facts->read[v];
    for (uint32_t k = t->reader0[v]; !read && k < t->reader0[v + 1]; k++) {
        const gcut_node *n = gcut_node_at(t->g, t->reader[k]);
        read = n->nres && t->backward[n->res0];
    }
    return read;
}

static gcut_network *build(const gcut_torch_rules *t, const bool *banned)
{
    const gcut_graph *g = t->g;
    gcut_network *net = gcut_network_new(t->arena, g->values.n);
    for (gcut_ref v = 1; v < g->values.n; v++) {
        if (t->backward[v]) continue;
        bool never = gcut_value_is(g, v, GCUT_CLASS_CONSTANT) || t->p->force[v] == GCUT_CONSTRAINT_RECOMPUTE;
        gcut_network_value(net, v, never ? INFINITY : weight_of(t, v), t->p->price[v].bytes, 1, NULL);
        if (is_read(t, v)) gcut_network_read(net, v, NULL);
        if (!gcut_def(g, v)) gcut_network_work(net, INFINITY, NULL, NULL, 0, &v, 1);
    }
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        if (n->nres == 0 || t->backward[n->res0]) continue;
        gcut_ref res[GCUT_MAX_RESULTS];
        for (uint32_t k = 0; k < n->nres; k++) res[k] = n->res0 + k;
        gcut_network_work(net, banned[i] ? INFINITY : 0, NULL, &g->args.at[n->arg0], n->nargs, res, n->nres);
    }
    return net;
}

gcut_torch_cut gcut_torch_solve(const gcut_torch_rules *t, gcut_torch_level level, const bool *allowed)
{
    gcut_torch_cut c = {gcut_calloc(t->arena, t->g->values.n, 1), find_banned(t, level, allowed), 0};
    gcut_network *net = build(t, c.banned);
    gcut_cut cut = gcut_solve(net, t->arena);
    for (gcut_ref v = 1; v < t->g->values.n; v++) {
        if (!net->in[v] || !cut.source_side[net->in[v]] || cut.source_side[net->out[v]]) continue;
        c.bytes += bytes_of(t, v);
        c.saved[t->p->facts->base[v]] = true;
    }
    return c;
}

bool *gcut_policy_torch(const gcut_problem *p, gcut_arena *arena)
{
    return gcut_torch_solve(gcut_torch_rules_new(p, arena), GCUT_TORCH_FAST, NULL).saved;
}
