/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Operands of matrix products that are computed while they are packed.
 *
 * in:  a grouped graph.   out: prologues of products; loops without the nodes that only a prologue has.
 *
 * An elementwise value that nothing but one product reads is not stored: the packing asks for its elements,
 * block by block.  The prologue goes back to what memory holds anyway: parameters, what other kernels read,
 * values of rows.  What the loop needs for other results it computes too, to the same bits.
 *
 * A product that turns out to be too small to pack has a buffer for the operand, which is empty otherwise.
 */
#include "kernels/lower/prologue.h"

#include "gradcut/gradcut_rt.h"
#include "kernels/lower/lower.h"

enum {
    MAX_PROLOGUE = 48,
    WRITE_PS = 240, /* of four bytes of a value beyond the second-level cache, for one core */
    READ_PS = 90,
    LEAST_PS = 200, /* of any prologue: more than packing four bytes takes, by way of a block in cache */
    ASSUMED = 1024, /* a size that nobody gave */
    THREADS = 2     /* likewise */
};

/* ---- the product ---- */

gcut_product gcut_product_of(const gcut_lowered *h, uint32_t kernel)
{
    const gcut_kernel *u = &h->kernels.at[kernel];
    const gcut_node *n = gcut_node_at(h->g, u->nodes.at[0]);
    const gcut_ref v = gcut_arg(h->g, n, 0);
    const gcut_type *a = gcut_type_of(h->g, v), *c = gcut_type_of(h->g, n->res0);
    const uint32_t r = c->rank, along_k = gcut_attr_flag(h->g, n, GCUT_A_ta) ? r - 2 : r - 1;
    const bool packed = u->gemm.prologue[0] || u->operand_copy[0] != GCUT_NONE;
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

int64_t gcut_prologue_packings(const gcut_lowered *h, uint32_t kernel, uint32_t k, const gcut_dim_binding *at,
                               uint32_t nat, int threads)
{
    gcut_product q = gcut_product_of(h, kernel);
    gcut_dims *ds = h->g->module->dims;
    int64_t m = 0, n = 0, steps = 0, csa = 0;
    if (!gcut_dim_eval(ds, q.m, at, nat, &m) || !gcut_dim_eval(ds, q.n, at, nat, &n) ||
        !gcut_dim_eval(ds, q.k, at, nat, &steps) || !gcut_dim_eval(ds, q.csa, at, nat, &csa))
        return 0;
    const gcut_prologue *c = h->kernels.at[kernel].gemm.prologue[k];
    int64_t times = gcut_rt_gemm_packings(m, n, steps, csa, q.size, threads, c->ends_rows, k == 1);
    return times <= c->most ? times : 0;
}

const char *gcut_prologue_fills_c(const gcut_lowered *h, uint32_t kernel, uint32_t k, gcut_size_c *size)
{
    gcut_module *m = h->g->module;
    const gcut_prologue *c = h->kernels.at[kernel].gemm.prologue[k];
    gcut_product q = gcut_product_of(h, kernel);
    return gcut_printf(m->arena, "gcut_rt_gemm_fills(%s, %s, %s, %s, %d, nt, %d, %u, %s)", size(m, q.m),
                       size(m, q.n), size(m, q.k), size(m, q.csa), q.size, c->ends_rows, k, size(m, c->most));
}

/* ---- one prologue ---- */

typedef struct search {
    const gcut_program *p;
    gcut_lowered *h;
    uint32_t gemm, operand;
    uint32_t kernel;   /* the loop that has the value */
    uint32_t *outside; /* by root: reads from memory, and uses as a result */
    bool *on;          /* by node: of the prologue */
    bool *own;         /* by node: of the prologue alone */
    gcut_prologue found;
} search;

static const gcut_node *node_of(const search *s, uint32_t node)
{
    return gcut_node_at(s->h->g, node);
}

/* Is x computed for the prologue, and not read from memory?  Whatever others read is in memory. */
static bool follows(const search *s, gcut_ref x)
{
    gcut_ref root = s->h->view[x].root;
    return s->h->kernel_of[root] == s->kernel && s->h->level[root] == GCUT_LEVEL_FULL && !s->outside[root];
}

static bool collect(search *s, uint32_t node)
{
    const gcut_node *n = node_of(s, node);
    gcut_emit e = gcut_op_get((gcut_op)n->op)->emit;
    if (s->on[node]) return true;
    if (e == GCUT_EMIT_REDUCE || e == GCUT_EMIT_BOUNDED || s->found.nodes.n >= MAX_PROLOGUE) return false;
    s->on[node] = true;
    for (uint32_t k = 0; k < n->nargs; k++) {
        gcut_ref x = gcut_arg(s->h->g, n, k);
        if (!follows(s, x) || collect(s, s->h->g->values.at[s->h->view[x].root].def)) continue;
        s->on[node] = false;
        return false;
    }
    *GCUT_PUSH(s->h->g->module->arena, &s->found.nodes) = node;
    return true;
}

/* Nodes of the prologue are in graph order when operands come first; own: nothing else of the loop reads
 * them.
 */
static void find_own(search *s)
{
    const gcut_kernel *u = &s->h->kernels.at[s->kernel];
    for (uint32_t i = 0; i < s->found.nodes.n; i++) s->own[s->found.nodes.at[i]] = true;
    for (uint32_t i = 0; i < s->found.nodes.n; i++)
        if (s->outside[node_of(s, s->found.nodes.at[i])->res0] &&
            node_of(s, s->found.nodes.at[i])->res0 != s->found.v)
            s->own[s->found.nodes.at[i]] = false;
    for (uint32_t i = u->nodes.n; i-- > 0;) {
        const gcut_node *n = node_of(s, u->nodes.at[i]);
        for (uint32_t k = 0; k < n->nargs && !s->own[u->nodes.at[i]]; k++) {
            gcut_ref root = s->h->view[gcut_arg(s->h->g, n, k)].root;
            if (s->h->kernel_of[root] == s->kernel) s->own[s->h->g->values.at[root].def] = false;
        }
    }
}

/* What remains of the loop is a loop: it has columns. */
static bool remains(const search *s, bool *any)
{
    const gcut_kernel *u = &s->h->kernels.at[s->kernel];
    bool columns = false;
    *any = false;
    for (uint32_t i = 0; i < u->nodes.n; i++) {
        const gcut_node *n = node_of(s, u->nodes.at[i]);
        if (s->own[u->nodes.at[i]]) continue;
        *any = true;
        columns = columns || s->h->level[n->res0] == GCUT_LEVEL_FULL ||
                  gcut_op_get((gcut_op)n->op)->emit == GCUT_EMIT_REDUCE;
    }
    return columns || !*any;
}

/* What prologue node n reads from memory, element by element: every x that the packing loads. */
static bool loads(const search *s, gcut_ref x)
{
    gcut_ref root = s->h->view[x].root;
    return !gcut_root_is_const(s->h, root) && !gcut_root_is_iota(s->h, root) &&
           !gcut_prologue_has(s->h, &s->found, root) &&
           gcut_type_numel(s->h->g->module, gcut_type_of(s->h->g, root)) ==
               s->h->kernels.at[s->kernel].loop.numel;
}

/* How often the loop reads a root. */
static uint32_t reads_of(const search *s, gcut_ref root)
{
    gcut_cursor at = {0};
    gcut_ref v;
    uint32_t n = 0;
    while (gcut_kernel_read(s->h, s->kernel, &at, &v)) n += s->h->view[v].root == root;
    return n;
}

/* A loop behind a product runs on its tiles, and its result lies where the product's was. */
static bool is_behind_product(const search *s)
{
    for (uint32_t i = 0; i < s->found.nodes.n; i++) {
        const gcut_node *n = node_of(s, s->found.nodes.at[i]);
        for (uint32_t k = 0; k < n->nargs; k++) {
            gcut_ref root = s->h->view[gcut_arg(s->h->g, n, k)].root;
            uint32_t from = s->h->kernel_of[root];
            if (from != GCUT_NONE && s->h->kernels.at[from].kind == GCUT_KERNEL_GEMM &&
                s->outside[root] == reads_of(s, root))
                return true;
        }
    }
    return false;
}

/* Packings of an element that, with its arithmetic at each, take a core no longer than computing and storing
 * it once, while long arithmetic hides the traffic.  A packing loads a stored value as it would load the
 * first that the prologue reads; the loop that remains loads what the prologue reads in any case. */
static int64_t most_packings(const search *s, const gcut_product *q, bool remains)
{
    int64_t all = 0, own = 0, reads = 0;
    for (uint32_t i = 0; i < s->found.nodes.n; i++) {
        const gcut_node *n = node_of(s, s->found.nodes.at[i]);
        int64_t ps = gcut_op_get((gcut_op)n->op)->cost_ps;
        all += ps;
        if (s->own[s->found.nodes.at[i]]) own += ps;
        for (uint32_t k = 0; k < n->nargs; k++) reads += loads(s, gcut_arg(s->h->g, n, k));
    }
    int64_t read = READ_PS * q->size / 4, least = LEAST_PS * q->size / 4;
    int64_t traffic = WRITE_PS * q->size / 4 + (remains ? 0 : reads * read);
    int64_t once = own > traffic ? own : traffic;
    return once / ((all > least ? all : least) + (reads > 1 ? reads - 1 : 0) * read);
}

/* Some of its results are complete with a row. */
static bool has_rows(const gcut_lowered *h, uint32_t kernel)
{
    const gcut_kernel *u = &h->kernels.at[kernel];
    for (uint32_t i = 0; i < u->nodes.n; i++)
        if (h->level[gcut_node_at(h->g, u->nodes.at[i])->res0] == GCUT_LEVEL_ROW) return true;
    return false;
}

/* A loop that may run behind the product takes whole rows of it.  Then it is A that stays packed, and B is
 * packed for every few rows. */
static bool ends_rows(const gcut_lowered *h, uint32_t gemm)
{
    gcut_ref c = gcut_node_at(h->g, h->kernels.at[gemm].nodes.at[0])->res0;
    for (uint32_t u = 0; u < h->kernels.n; u++) {
        gcut_cursor at = {0};
        if (h->kernels.at[u].dead || h->kernels.at[u].kind != GCUT_KERNEL_LOOP || !has_rows(h, u)) continue;
        for (gcut_ref v; gcut_kernel_read(h, u, &at, &v);)
            if (h->view[v].root == c) return true;
    }
    return false;
}

/* The operand is made by a loop, read by this product alone, as it is and in the order of the loop.  Of two
 * operands one stays packed, so one is computed. */
static bool is_candidate(search *s)
{
    const gcut_lowered *h = s->h;
    const gcut_kernel *u = &h->kernels.at[s->gemm];
    const gcut_node *n = node_of(s, u->nodes.at[0]);
    const gcut_ref w = gcut_arg(h->g, n, s->operand), v = h->view[w].root;
    const gcut_type *t = gcut_type_of(h->g, w);
    s->kernel = h->kernel_of[v];
    s->found = (gcut_prologue){.v = v, .rows = t->dim[0], .inner = t->dim[1], .buffer = GCUT_NONE};
    return t->rank == 2 && gcut_type_of(h->g, n->res0)->rank == 2 && !u->gemm.prologue[1 - s->operand] &&
           s->kernel != GCUT_NONE && h->kernels.at[s->kernel].kind == GCUT_KERNEL_LOOP &&
           h->level[v] == GCUT_LEVEL_FULL && s->outside[v] == 1 && u->operand_copy[s->operand] == GCUT_NONE &&
           !h->view[w].widens && !h->view[w].bits && gcut_view_identity(h->g, t, &h->view[w]);
}

/* Every operand steps evenly along the lines. */
static bool is_even(const search *s, gcut_arena *a)
{
    uint32_t kernel;
    gcut_lowered h = gcut_prologue_as_loop(s->h, &s->found, a, &kernel);
    return gcut_kernel_is_even(&h, kernel, s->found.inner);
}

/* Is it computed while it is packed? */
static bool judge(search *s, gcut_arena *a)
{
    const gcut_product q = gcut_product_of(s->h, s->gemm);
    if (!is_candidate(s)) return false;
    s->found.ends_rows = ends_rows(s->h, s->gemm);
    const int64_t times = packings(s->p, &q, s->found.ends_rows, s->operand);
    bool loop;
    if (times == 0 || (s->operand == 1 && s->found.ends_rows)) return false;
    if (!collect(s, s->h->g->values.at[s->found.v].def)) return false;
    find_own(s);
    if (!remains(s, &loop) || is_behind_product(s)) return false;
    s->found.most = most_packings(s, &q, loop);
    return times <= s->found.most && is_even(s, a);
}

/* The loop keeps what others need of it. */
static void take(search *s)
{
    gcut_lowered *h = s->h;
    gcut_kernel *u = &h->kernels.at[s->kernel], *g = &h->kernels.at[s->gemm];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < u->nodes.n; i++) {
        if (!s->own[u->nodes.at[i]])
            u->nodes.at[kept++] = u->nodes.at[i];
        else
            h->kernel_of[node_of(s, u->nodes.at[i])->res0] = s->gemm;
    }
    u->nodes.n = kept;
    u->dead = kept == 0;
    g->gemm.prologue[s->operand] = gcut_calloc(h->g->module->arena, 1, sizeof s->found);
    *g->gemm.prologue[s->operand] = s->found;
}

/* ---- all products ---- */

/* By root: how many reads from memory there are, by kernels that do not make it, copies, and results. */
static uint32_t *reads_outside(const gcut_lowered *h, gcut_arena *a)
{
    uint32_t *n = gcut_calloc(a, h->g->values.n, sizeof *n);
    for (uint32_t u = 0; u < h->kernels.n; u++) {
        gcut_cursor at = {0};
        gcut_ref v;
        if (h->kernels.at[u].dead) continue;
        if (h->kernels.at[u].kind == GCUT_KERNEL_COPY) n[h->view[h->kernels.at[u].copy.value].root]++;
        while (gcut_kernel_read(h, u, &at, &v))
            if (gcut_kernel_source(h, v) != u) n[h->view[v].root]++;
    }
    for (uint32_t i = 0; i < h->g->results.n; i++) n[h->view[h->g->results.at[i].value].root] += 2;
    return n;
}

void gcut_make_prologues(const gcut_program *p, gcut_lowered *h)
{
    if (h->unfused) return;
    gcut_arena *a = gcut_arena_new(h->g->module->env, h->g->module->arena);
    uint32_t kernels = h->kernels.n;
    search s = {.p = p, .h = h, .outside = reads_outside(h, a)};
    s.on = gcut_calloc(a, h->g->nodes.n + 1, sizeof *s.on);
    s.own = gcut_calloc(a, h->g->nodes.n + 1, sizeof *s.own);
    for (uint32_t u = 0; u < kernels; u++)
        for (uint32_t k = 0; k < 2 && h->kernels.at[u].kind == GCUT_KERNEL_GEMM; k++) {
            s.gemm = u;
            s.operand = k;
            if (judge(&s, a)) {
                take(&s);
                s.outside = reads_outside(h, a);
            }
            for (uint32_t i = 0; i < s.found.nodes.n; i++)
                s.on[s.found.nodes.at[i]] = s.own[s.found.nodes.at[i]] = false;
        }
    gcut_arena_free(a);
}

/* ---- a prologue as a loop ---- */

gcut_lowered gcut_prologue_as_loop(const gcut_lowered *h, const gcut_prologue *c, gcut_arena *a,
                                   uint32_t *kernel)
{
    gcut_lowered out = *h;
    uint32_t nv = h->g->values.n;
    *kernel = h->kernels.n;
    out.kernel_of = gcut_calloc(a, nv, sizeof *out.kernel_of);
    out.buffer = gcut_calloc(a, nv, sizeof *out.buffer);
    out.kernels.at = gcut_calloc(a, h->kernels.n + 1, sizeof *out.kernels.at);
    for (gcut_ref v = 0; v < nv; v++) out.kernel_of[v] = h->kernel_of[v], out.buffer[v] = h->buffer[v];
    for (uint32_t u = 0; u < h->kernels.n; u++) out.kernels.at[u] = h->kernels.at[u];
    for (uint32_t i = 0; i < c->nodes.n; i++) {
        gcut_ref v = gcut_node_at(h->g, c->nodes.at[i])->res0;
        out.kernel_of[v] = *kernel;
        out.buffer[v] = v == c->v ? c->buffer : GCUT_NONE;
    }
    out.kernels.at[*kernel] =
        (gcut_kernel){.kind = GCUT_KERNEL_LOOP,
                      .loop = {.numel = gcut_type_numel(h->g->module, gcut_type_of(h->g, c->v)),
                               .inner = c->inner,
                               .rows = c->rows,
                               .scratch = GCUT_NONE,
                               .partial = GCUT_NONE}};
    out.kernels.at[*kernel].nodes.at = c->nodes.at;
    out.kernels.at[*kernel].nodes.n = out.kernels.at[*kernel].nodes.cap = c->nodes.n;
    out.kernels.n = out.kernels.cap = h->kernels.n + 1;
    return out;
}
