/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Operands of matrix products that are computed while they are packed.
 *
 * in:  a grouped half.   out: chains of products; loops without the nodes that only a chain has.
 *
 * An elementwise value that nothing but one product reads is not stored: the packing asks for its elements,
 * block by block.  Its chain goes back to what memory holds anyway: parameters, what other units read, values
 * of rows.  What the loop needs for other results it computes too, to the same bits.
 *
 * A product that turns out to be too small to pack has a room for the operand, which is empty otherwise.
 */
#include "gradcut/gradcut_rt.h"
#include "kernels/lower.h"

enum {
    MAX_CHAIN = 48,
    WRITE_PS = 240, /* of four bytes of a value beyond the second-level cache, for one core */
    READ_PS = 90,
    LEAST_PS = 200, /* of any chain: more than packing four bytes takes, by way of a block in cache */
    ASSUMED = 1024, /* a size that nobody gave */
    THREADS = 2     /* likewise */
};

/* ---- the product ---- */

gcut_product gcut_product_of(const gcut_half *h, uint32_t unit)
{
    const gcut_unit *u = &h->units.at[unit];
    const gcut_node *n = gcut_node_at(h->g, u->nodes.at[0]);
    const gcut_ref v = gcut_arg(h->g, n, 0);
    const gcut_type *a = gcut_type_of(h->g, v), *c = gcut_type_of(h->g, n->res0);
    const uint32_t r = c->rank, along_k = gcut_attr_flag(h->g, n, GCUT_A_ta) ? r - 2 : r - 1;
    const bool packed = u->chain[0] || u->operand_copy[0] != GCUT_NONE;
    const gcut_view w = packed ? gcut_view_contiguous(h->g->module, a, v) : h->view[v];
    return (gcut_product){.m = c->dim[r - 2],
                          .n = c->dim[r - 1],
                          .k = a->dim[along_k],
                          .csa = w.stride[along_k],
                          .size = (int)gcut_dtype_bytes(c->dtype)};
}

static int64_t assumed(const gcut_program *p, gcut_dim d)
{
    int64_t n;
    return gcut_dim_eval(p->module->dims, d, p->at, p->nat, &n) ? n : ASSUMED;
}

/* How often each element of operand k is packed at the sizes that the program is to be fast at, 0 for never.
 */
static int64_t packings(const gcut_program *p, const gcut_product *q, bool whole_rows, uint32_t k)
{
    return gcut_rt_gemm_packings(assumed(p, q->m), assumed(p, q->n), assumed(p, q->k), assumed(p, q->csa),
                                 q->size, p->threads > 0 ? p->threads : THREADS, whole_rows, k == 1);
}

int64_t gcut_chain_packings(const gcut_half *h, uint32_t unit, uint32_t k, const gcut_dim_binding *at,
                            uint32_t nat, int threads)
{
    gcut_product q = gcut_product_of(h, unit);
    gcut_dims *ds = h->g->module->dims;
    int64_t m = 0, n = 0, steps = 0, csa = 0;
    if (!gcut_dim_eval(ds, q.m, at, nat, &m) || !gcut_dim_eval(ds, q.n, at, nat, &n) ||
        !gcut_dim_eval(ds, q.k, at, nat, &steps) || !gcut_dim_eval(ds, q.csa, at, nat, &csa))
        return 0;
    const gcut_chain *c = h->units.at[unit].chain[k];
    int64_t times = gcut_rt_gemm_packings(m, n, steps, csa, q.size, threads, c->ends_rows, k == 1);
    return times <= c->most ? times : 0;
}

const char *gcut_chain_fills_c(const gcut_half *h, uint32_t unit, uint32_t k, gcut_size_c *size)
{
    gcut_module *m = h->g->module;
    const gcut_chain *c = h->units.at[unit].chain[k];
    gcut_product q = gcut_product_of(h, unit);
    return gcut_printf(m->arena, "gcut_rt_gemm_fills(%s, %s, %s, %s, %d, nt, %d, %u, %s)", size(m, q.m),
                       size(m, q.n), size(m, q.k), size(m, q.csa), q.size, c->ends_rows, k, size(m, c->most));
}

/* ---- the chain ---- */

typedef struct search {
    const gcut_program *p;
    gcut_half *h;
    uint32_t gemm, operand;
    uint32_t unit;     /* the loop that has the value */
    uint32_t *outside; /* by root: reads from memory, and uses as a result */
    bool *on;          /* by node: of the chain */
    bool *own;         /* by node: of the chain alone */
    gcut_chain chain;
} search;

static const gcut_node *node_of(const search *s, uint32_t node)
{
    return gcut_node_at(s->h->g, node);
}

/* Is x computed for the chain, and not read from memory?  Whatever others read is in memory. */
static bool follows(const search *s, gcut_ref x)
{
    gcut_ref root = s->h->view[x].root;
    return s->h->unit_of[root] == s->unit && s->h->level[root] == GCUT_L_FULL && !s->outside[root];
}

static bool collect(search *s, uint32_t node)
{
    const gcut_node *n = node_of(s, node);
    gcut_emit e = gcut_op_get((gcut_op)n->op)->emit;
    if (s->on[node]) return true;
    if (e == GCUT_EMIT_REDUCE || e == GCUT_EMIT_BOUNDED || s->chain.nodes.n >= MAX_CHAIN) return false;
    s->on[node] = true;
    for (uint32_t k = 0; k < n->nargs; k++) {
        gcut_ref x = gcut_arg(s->h->g, n, k);
        if (!follows(s, x) || collect(s, s->h->g->values.at[s->h->view[x].root].def)) continue;
        s->on[node] = false;
        return false;
    }
    *GCUT_PUSH(s->h->g->module->arena, &s->chain.nodes) = node;
    return true;
}

/* Nodes of the chain are in graph order when operands come first; own: nothing else of the loop reads them.
 */
static void find_own(search *s)
{
    const gcut_unit *u = &s->h->units.at[s->unit];
    for (uint32_t i = 0; i < s->chain.nodes.n; i++) s->own[s->chain.nodes.at[i]] = true;
    for (uint32_t i = 0; i < s->chain.nodes.n; i++)
        if (s->outside[node_of(s, s->chain.nodes.at[i])->res0] &&
            node_of(s, s->chain.nodes.at[i])->res0 != s->chain.v)
            s->own[s->chain.nodes.at[i]] = false;
    for (uint32_t i = u->nodes.n; i-- > 0;) {
        const gcut_node *n = node_of(s, u->nodes.at[i]);
        for (uint32_t k = 0; k < n->nargs && !s->own[u->nodes.at[i]]; k++) {
            gcut_ref root = s->h->view[gcut_arg(s->h->g, n, k)].root;
            if (s->h->unit_of[root] == s->unit) s->own[s->h->g->values.at[root].def] = false;
        }
    }
}

/* What remains of the loop is a loop: it has columns. */
static bool remains(const search *s, bool *any)
{
    const gcut_unit *u = &s->h->units.at[s->unit];
    bool columns = false;
    *any = false;
    for (uint32_t i = 0; i < u->nodes.n; i++) {
        const gcut_node *n = node_of(s, u->nodes.at[i]);
        if (s->own[u->nodes.at[i]]) continue;
        *any = true;
        columns = columns || s->h->level[n->res0] == GCUT_L_FULL ||
                  gcut_op_get((gcut_op)n->op)->emit == GCUT_EMIT_REDUCE;
    }
    return columns || !*any;
}

/* What chain node n reads from memory, element by element: every x that the packing loads. */
static bool loads(const search *s, gcut_ref x)
{
    gcut_ref root = s->h->view[x].root;
    return !gcut_root_is_const(s->h, root) && !gcut_root_is_iota(s->h, root) &&
           !gcut_chain_has(s->h, &s->chain, root) &&
           gcut_type_numel(s->h->g->module, gcut_type_of(s->h->g, root)) == s->h->units.at[s->unit].numel;
}

/* How often the loop reads a root. */
static uint32_t reads_of(const search *s, gcut_ref root)
{
    gcut_cursor at = {0};
    gcut_ref v;
    uint32_t n = 0;
    while (gcut_unit_read(s->h, s->unit, &at, &v)) n += s->h->view[v].root == root;
    return n;
}

/* A loop behind a product runs on its tiles, and its result lies where the product's was. */
static bool is_behind_product(const search *s)
{
    for (uint32_t i = 0; i < s->chain.nodes.n; i++) {
        const gcut_node *n = node_of(s, s->chain.nodes.at[i]);
        for (uint32_t k = 0; k < n->nargs; k++) {
            gcut_ref root = s->h->view[gcut_arg(s->h->g, n, k)].root;
            uint32_t from = s->h->unit_of[root];
            if (from != GCUT_NONE && s->h->units.at[from].kind == GCUT_U_GEMM &&
                s->outside[root] == reads_of(s, root))
                return true;
        }
    }
    return false;
}

/* Packings of an element that, with its arithmetic at each, take a core no longer than computing and storing
 * it once, while long arithmetic hides the traffic.  A packing loads a stored value as it would load the
 * first that the chain reads; the loop that remains loads what the chain reads in any case. */
static int64_t most_packings(const search *s, const gcut_product *q, bool remains)
{
    int64_t all = 0, own = 0, reads = 0;
    for (uint32_t i = 0; i < s->chain.nodes.n; i++) {
        const gcut_node *n = node_of(s, s->chain.nodes.at[i]);
        int64_t ps = gcut_op_get((gcut_op)n->op)->cost_ps;
        all += ps;
        if (s->own[s->chain.nodes.at[i]]) own += ps;
        for (uint32_t k = 0; k < n->nargs; k++) reads += loads(s, gcut_arg(s->h->g, n, k));
    }
    int64_t read = READ_PS * q->size / 4, least = LEAST_PS * q->size / 4;
    int64_t traffic = WRITE_PS * q->size / 4 + (remains ? 0 : reads * read);
    int64_t once = own > traffic ? own : traffic;
    return once / ((all > least ? all : least) + (reads > 1 ? reads - 1 : 0) * read);
}

/* Some of its results are complete with a row. */
static bool has_rows(const gcut_half *h, uint32_t unit)
{
    const gcut_unit *u = &h->units.at[unit];
    for (uint32_t i = 0; i < u->nodes.n; i++)
        if (h->level[gcut_node_at(h->g, u->nodes.at[i])->res0] == GCUT_L_ROW) return true;
    return false;
}

/* A loop that may run behind the product takes whole rows of it.  Then it is A that stays packed, and B is
 * packed for every few rows. */
static bool ends_rows(const gcut_half *h, uint32_t gemm)
{
    gcut_ref c = gcut_node_at(h->g, h->units.at[gemm].nodes.at[0])->res0;
    for (uint32_t u = 0; u < h->units.n; u++) {
        gcut_cursor at = {0};
        if (h->units.at[u].dead || h->units.at[u].kind != GCUT_U_LOOP || !has_rows(h, u)) continue;
        for (gcut_ref v; gcut_unit_read(h, u, &at, &v);)
            if (h->view[v].root == c) return true;
    }
    return false;
}

/* The operand is made by a loop, read by this product alone, as it is and in the order of the loop.  Of two
 * operands one stays packed, so one is computed. */
static bool is_candidate(search *s)
{
    const gcut_half *h = s->h;
    const gcut_unit *u = &h->units.at[s->gemm];
    const gcut_node *n = node_of(s, u->nodes.at[0]);
    const gcut_ref w = gcut_arg(h->g, n, s->operand), v = h->view[w].root;
    const gcut_type *t = gcut_type_of(h->g, w);
    s->unit = h->unit_of[v];
    s->chain = (gcut_chain){.v = v, .rows = t->dim[0], .inner = t->dim[1], .room = GCUT_NONE};
    return t->rank == 2 && gcut_type_of(h->g, n->res0)->rank == 2 && !u->chain[1 - s->operand] &&
           s->unit != GCUT_NONE && h->units.at[s->unit].kind == GCUT_U_LOOP && h->level[v] == GCUT_L_FULL &&
           s->outside[v] == 1 && u->operand_copy[s->operand] == GCUT_NONE && !h->view[w].widens &&
           !h->view[w].bits && gcut_view_identity(h->g, t, &h->view[w]);
}

/* Every operand steps evenly along the lines. */
static bool is_even(const search *s, gcut_arena *a)
{
    uint32_t unit;
    gcut_half h = gcut_chain_half(s->h, &s->chain, a, &unit);
    return gcut_unit_is_even(&h, unit, s->chain.inner);
}

/* Is it computed while it is packed? */
static bool judge(search *s, gcut_arena *a)
{
    const gcut_product q = gcut_product_of(s->h, s->gemm);
    if (!is_candidate(s)) return false;
    s->chain.ends_rows = ends_rows(s->h, s->gemm);
    const int64_t times = packings(s->p, &q, s->chain.ends_rows, s->operand);
    bool loop;
    if (times == 0 || (s->operand == 1 && s->chain.ends_rows)) return false;
    if (!collect(s, s->h->g->values.at[s->chain.v].def)) return false;
    find_own(s);
    if (!remains(s, &loop) || is_behind_product(s)) return false;
    s->chain.most = most_packings(s, &q, loop);
    return times <= s->chain.most && is_even(s, a);
}

/* The loop keeps what others need of it. */
static void take(search *s)
{
    gcut_half *h = s->h;
    gcut_unit *u = &h->units.at[s->unit], *g = &h->units.at[s->gemm];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < u->nodes.n; i++) {
        if (!s->own[u->nodes.at[i]])
            u->nodes.at[kept++] = u->nodes.at[i];
        else
            h->unit_of[node_of(s, u->nodes.at[i])->res0] = s->gemm;
    }
    u->nodes.n = kept;
    u->dead = kept == 0;
    g->chain[s->operand] = gcut_calloc(h->g->module->arena, 1, sizeof s->chain);
    *g->chain[s->operand] = s->chain;
}

/* ---- the half ---- */

/* By root: how many reads from memory there are, by units that do not make it, copies, and results. */
static uint32_t *reads_outside(const gcut_half *h, gcut_arena *a)
{
    uint32_t *n = gcut_calloc(a, h->g->values.n, sizeof *n);
    for (uint32_t u = 0; u < h->units.n; u++) {
        gcut_cursor at = {0};
        gcut_ref v;
        if (h->units.at[u].dead) continue;
        if (h->units.at[u].kind == GCUT_U_COPY) n[h->view[h->units.at[u].copy_from].root]++;
        while (gcut_unit_read(h, u, &at, &v))
            if (gcut_unit_source(h, v) != u) n[h->view[v].root]++;
    }
    for (uint32_t i = 0; i < h->g->results.n; i++) n[h->view[h->g->results.at[i].value].root] += 2;
    return n;
}

void gcut_prologues(const gcut_program *p, gcut_half *h)
{
    if (h->unfused) return;
    gcut_arena *a = gcut_arena_new(h->g->module->env, h->g->module->arena);
    uint32_t units = h->units.n;
    search s = {.p = p, .h = h, .outside = reads_outside(h, a)};
    s.on = gcut_calloc(a, h->g->nodes.n + 1, sizeof *s.on);
    s.own = gcut_calloc(a, h->g->nodes.n + 1, sizeof *s.own);
    for (uint32_t u = 0; u < units; u++)
        for (uint32_t k = 0; k < 2 && h->units.at[u].kind == GCUT_U_GEMM; k++) {
            s.gemm = u;
            s.operand = k;
            if (judge(&s, a)) {
                take(&s);
                s.outside = reads_outside(h, a);
            }
            for (uint32_t i = 0; i < s.chain.nodes.n; i++)
                s.on[s.chain.nodes.at[i]] = s.own[s.chain.nodes.at[i]] = false;
        }
    gcut_arena_free(a);
}

/* ---- the chain as a loop ---- */

gcut_half gcut_chain_half(const gcut_half *h, const gcut_chain *c, gcut_arena *a, uint32_t *unit)
{
    gcut_half out = *h;
    uint32_t nv = h->g->values.n;
    *unit = h->units.n;
    out.unit_of = gcut_calloc(a, nv, sizeof *out.unit_of);
    out.buffer = gcut_calloc(a, nv, sizeof *out.buffer);
    out.units.at = gcut_calloc(a, h->units.n + 1, sizeof *out.units.at);
    for (gcut_ref v = 0; v < nv; v++) out.unit_of[v] = h->unit_of[v], out.buffer[v] = h->buffer[v];
    for (uint32_t u = 0; u < h->units.n; u++) out.units.at[u] = h->units.at[u];
    for (uint32_t i = 0; i < c->nodes.n; i++) {
        gcut_ref v = gcut_node_at(h->g, c->nodes.at[i])->res0;
        out.unit_of[v] = *unit;
        out.buffer[v] = v == c->v ? c->room : GCUT_NONE;
    }
    out.units.at[*unit] = (gcut_unit){.kind = GCUT_U_LOOP,
                                      .numel = gcut_type_numel(h->g->module, gcut_type_of(h->g, c->v)),
                                      .inner = c->inner,
                                      .rows = c->rows,
                                      .scratch = GCUT_NONE,
                                      .partial = GCUT_NONE};
    out.units.at[*unit].nodes.at = c->nodes.at;
    out.units.at[*unit].nodes.n = out.units.at[*unit].nodes.cap = c->nodes.n;
    out.units.n = out.units.cap = h->units.n + 1;
    return out;
}
