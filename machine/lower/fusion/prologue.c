/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Operands of matrix products that are computed while they are packed.
 *
 * in:  L3.   out: L4: prologues of products; loops without the nodes that only a prologue has.   keeps:
 * views.
 *
 * An elementwise value that nothing but one product reads is not stored: the packing asks for its elements,
 * block by block; a batch begins at its own row of the value.  The prologue goes back to what
 * memory holds anyway: parameters, what other kernels read, values of rows.  What the loop needs for other
 * results it computes too, to the same bits.
 *
 * A product that turns out to be too small to pack has a buffer for the operand, which is empty otherwise.
 */
#include "machine/lower/fusion/prologue.h"

#include "gradcut/gradcut_rt.h"
#include "machine/lower/fusion/reads.h"
#include "machine/lower/fusion/reason.h"
#include "machine/lower/lower.h"

/* ---- the product ---- */

/* Rows of one product: batches that only continue the rows of A and C under one B are rows, as gemm.c has
 * it.  Here, only where that is so at all sizes: where gemm.c finds more rows, it packs at least as much. */
static gcut_dim rows_of_one(const gcut_lowered *h, const gcut_kernel *u, const gcut_view *a)
{
    gcut_module *m = h->g->module;
    const gcut_node *n = gcut_node_at(h->g, u->nodes.at[0]);
    const gcut_type *t = gcut_type_of(h->g, n->res0);
    const uint32_t r = t->rank;
    const gcut_ref v = gcut_arg(h->g, n, 1);
    const bool copied = gcut_operand_prologue(u, 1) || u->operand_copy[1] != GCUT_NONE;
    const gcut_view b = copied ? gcut_view_contiguous(m, gcut_type_of(h->g, v), v) : h->view[v];
    const gcut_view *c = &h->view[n->res0];
    gcut_dim rows = t->dim[r - 2];
    if (gcut_attr_flag(h->g, n, GCUT_KEY_ta)) return rows;
    for (uint32_t d = r - 2; d-- > 0;) {
        if (t->dim[d] == 1) continue;
        if (b.stride[d] != 0 || a->stride[d] != gcut_dim_times(m, rows, a->stride[r - 2]) ||
            c->stride[d] != gcut_dim_times(m, rows, c->stride[r - 2]))
            break;
        rows = gcut_dim_times(m, rows, t->dim[d]);
    }
    return rows;
}

gcut_product gcut_product_of(const gcut_lowered *h, uint32_t kernel)
{
    const gcut_kernel *u = &h->kernels.at[kernel];
    const gcut_node *n = gcut_node_at(h->g, u->nodes.at[0]);
    const gcut_ref v = gcut_arg(h->g, n, 0);
    const gcut_type *a = gcut_type_of(h->g, v), *c = gcut_type_of(h->g, n->res0);
    const uint32_t r = c->rank, along_k = gcut_attr_flag(h->g, n, GCUT_KEY_ta) ? r - 2 : r - 1;
    const bool packed = gcut_operand_prologue(u, 0) || u->operand_copy[0] != GCUT_NONE;
    const gcut_view w = packed ? gcut_view_contiguous(h->g->module, a, v) : h->view[v];
    return (gcut_product){.m = rows_of_one(h, u, &w),
                          .n = c->dim[r - 1],
                          .k = a->dim[along_k],
                          .csa = w.stride[along_k],
                          .size = (int)gcut_dtype_bytes(c->dtype)};
}

/* How often each element of an operand is packed, 0 for never; `otherwise` are sizes that are not known, -1:
 * then it says 0. */
static int64_t packings(gcut_dims *ds, const gcut_product *q, const gcut_dim_binding *at, uint32_t nat,
                        int threads, bool whole_rows, uint32_t operand, int64_t otherwise)
{
    const gcut_dim dims[] = {q->m, q->n, q->k, q->csa};
    int64_t n[4];
    for (int i = 0; i < 4; i++)
        if (!gcut_dim_eval(ds, dims[i], at, nat, &n[i]) && (n[i] = otherwise) < 0) return 0;
    return gcut_rt_gemm_packings(n[0], n[1], n[2], n[3], q->size, threads, whole_rows, operand == 1);
}

int64_t gcut_prologue_packings(const gcut_lowered *h, uint32_t kernel, const gcut_dim_binding *at,
                               uint32_t nat, int threads)
{
    const gcut_product q = gcut_product_of(h, kernel);
    const gcut_prologue *c = h->kernels.at[kernel].gemm.prologue;
    const int64_t times = packings(h->g->module->dims, &q, at, nat, threads, c->ends_rows, c->operand, -1);
    return times <= c->most ? times : 0;
}

/* ---- the decision ---- */

/* Whether one operand of one product is computed while it is packed, and by what. */
typedef struct candidate {
    const gcut_program *p;
    const gcut_lowered *h;
    uint32_t gemm, operand;
    uint32_t loop; /* the kernel that makes the value */
    bool *on;      /* by node: a member of the prologue */
    bool *own;     /* by node: a member of the prologue alone, which the loop loses */
    uint32_t members;
    gcut_ref v;
    bool ends_rows, remains; /* remains: the loop has other members */
    int64_t most;
} candidate;

static const gcut_kernel *loop_of(const candidate *s)
{
    return &s->h->kernels.at[s->loop];
}

static const gcut_node *member(const candidate *s, uint32_t i)
{
    return gcut_node_at(s->h->g, loop_of(s)->nodes.at[i]);
}

/* Is x computed by the prologue, and not read from memory?  Whatever others read is in memory. */
static bool follows(const candidate *s, gcut_ref x)
{
    gcut_ref root = s->h->view[x].root;
    return s->h->kernel_of[root] == s->loop && s->h->level[root] == GCUT_LEVEL_FULL &&
           !gcut_is_stored(s->h, root);
}

static gcut_reason collect(candidate *s, uint32_t node)
{
    const gcut_node *n = gcut_node_at(s->h->g, node);
    gcut_emit e = gcut_op_of(n)->emit;
    if (s->on[node]) return GCUT_REASON_fused;
    if (e == GCUT_EMIT_REDUCE || e == GCUT_EMIT_BOUNDED) return GCUT_REASON_not_elementwise;
    if (s->members >= GCUT_MAX_PROLOGUE) return GCUT_REASON_long_prologue;
    s->on[node] = true;
    for (uint32_t k = 0; k < n->nargs; k++) {
        gcut_ref x = gcut_arg(s->h->g, n, k);
        if (!follows(s, x)) continue;
        gcut_reason r = collect(s, s->h->g->values.at[s->h->view[x].root].def);
        if (r != GCUT_REASON_fused) return r;
    }
    s->members++;
    return GCUT_REASON_fused;
}

/* A member is the prologue's own where nothing else of the loop reads it and no other kernel does. */
static void find_own(candidate *s)
{
    const gcut_kernel *u = loop_of(s);
    for (uint32_t i = u->nodes.n; i-- > 0;) {
        const uint32_t node = u->nodes.at[i];
        const gcut_node *n = member(s, i);
        s->own[node] = s->on[node] && s->own[node] && (n->res0 == s->v || !gcut_is_stored(s->h, n->res0));
        for (uint32_t k = 0; k < n->nargs && !s->own[node]; k++) {
            gcut_ref root = s->h->view[gcut_arg(s->h->g, n, k)].root;
            if (s->h->kernel_of[root] == s->loop) s->own[s->h->g->values.at[root].def] = false;
        }
    }
}

/* What remains of the loop is a loop: it has columns. */
static bool remains_loop(candidate *s)
{
    bool columns = false;
    s->remains = false;
    for (uint32_t i = 0; i < loop_of(s)->nodes.n; i++) {
        const gcut_node *n = member(s, i);
        if (s->own[loop_of(s)->nodes.at[i]]) continue;
        s->remains = true;
        columns =
            columns || s->h->level[n->res0] == GCUT_LEVEL_FULL || gcut_op_of(n)->emit == GCUT_EMIT_REDUCE;
    }
    return columns || !s->remains;
}

/* What a member reads from memory, element by element: every x that the packing loads. */
static bool loads(const candidate *s, gcut_ref x)
{
    gcut_ref root = s->h->view[x].root;
    const uint32_t def = s->h->g->values.at[root].def;
    return !gcut_root_is_const(s->h, root) && !gcut_root_is_iota(s->h, root) &&
           (def == GCUT_NONE || !s->on[def]) &&
           gcut_type_numel(s->h->g->module, gcut_type_of(s->h->g, root)) == loop_of(s)->loop.numel;
}

/* A loop after a product runs on its tiles, and its result lies where the product's was. */
static bool is_behind_product(const candidate *s)
{
    for (gcut_use x = {0}; gcut_next_use(s->h, loop_of(s), &x);) {
        gcut_ref root = s->h->view[x.v].root;
        uint32_t from = s->h->kernel_of[root];
        if (s->on[loop_of(s)->nodes.at[x.i]] && from != GCUT_NONE &&
            s->h->kernels.at[from].kind == GCUT_KERNEL_GEMM && gcut_only_reader(s->h, root) == s->loop)
            return true;
    }
    return false;
}

/* Packings of an element that, with its arithmetic at each, take a core no longer than computing and storing
 * it once, while long arithmetic hides the traffic.  A packing loads a stored value as it would load the
 * first that the prologue reads; the loop that remains loads what the prologue reads in any case. */
static int64_t most_packings(const candidate *s, const gcut_product *q)
{
    const int *of_four = s->h->thresholds->ps;
    int64_t all = 0, own = 0, reads = 0;
    for (gcut_use x = {0}; gcut_next_use(s->h, loop_of(s), &x);) {
        const uint32_t node = loop_of(s)->nodes.at[x.i];
        const int64_t ps = x.k == 0 ? gcut_op_ps(s->h, x.n) : 0;
        if (!s->on[node]) continue;
        all += ps;
        if (s->own[node]) own += ps;
        reads += loads(s, x.v);
    }
    int64_t read = (int64_t)of_four[GCUT_THRESHOLD_loaded] * q->size / 4,
            least = (int64_t)of_four[GCUT_THRESHOLD_packed] * q->size / 4;
    int64_t traffic = (int64_t)of_four[GCUT_THRESHOLD_stored] * q->size / 4 + (s->remains ? 0 : reads * read);
    int64_t once = own > traffic ? own : traffic;
    return once / ((all > least ? all : least) + (reads > 1 ? reads - 1 : 0) * read);
}

/* A loop that may run after the product takes whole rows of it.  Then it is A that stays packed, and B is
 * packed for every few rows. */
static bool ends_rows(const gcut_lowered *h, uint32_t gemm)
{
    const gcut_readers *r = &h->reads->of[gcut_node_at(h->g, h->kernels.at[gemm].nodes.at[0])->res0];
    for (uint32_t i = 0; i < r->n; i++) {
        const gcut_kernel *u = &h->kernels.at[r->at[i].kernel];
        if (u->kind == GCUT_KERNEL_LOOP && gcut_kernel_has_rows(h, u)) return true;
    }
    return false;
}

/* The operand is made by a loop, read by this product alone, as it is and in the order of the loop.  Of two
 * operands one stays packed, so one is computed. */
static gcut_reason find_loop(candidate *s)
{
    const gcut_lowered *h = s->h;
    const gcut_kernel *u = &h->kernels.at[s->gemm];
    const gcut_node *n = gcut_node_at(h->g, u->nodes.at[0]);
    const gcut_ref w = gcut_arg(h->g, n, s->operand), v = h->view[w].root;
    const gcut_type *t = gcut_type_of(h->g, w);
    s->loop = h->kernel_of[v];
    s->v = v;
    if (s->loop == GCUT_NONE || h->kernels.at[s->loop].kind != GCUT_KERNEL_LOOP)
        return GCUT_REASON_producer_stores;
    if (u->gemm.prologue) return GCUT_REASON_other_operand;
    if (gcut_only_reader(h, v) != s->gemm || gcut_reads(h, s->gemm, v) != 1) return GCUT_REASON_other_readers;
    if (h->level[v] != GCUT_LEVEL_FULL) return GCUT_REASON_not_elementwise;
    if (u->operand_copy[s->operand] != GCUT_NONE || h->view[w].widens || h->view[w].bits ||
        !gcut_view_identity(h->g, t, &h->view[w]))
        return GCUT_REASON_other_order;
    return GCUT_REASON_fused;
}

/* The loop of the prologue: every member of the loop that it computes, in graph order. */
static gcut_prologue prologue_of(const candidate *s, gcut_arena *a)
{
    const gcut_kernel *u = loop_of(s);
    const gcut_type *t = gcut_type_of(s->h->g, s->v);
    gcut_prologue c = {
        .operand = s->operand,
        .v = s->v,
        .ends_rows = s->ends_rows,
        .most = s->most,
        .buffer = GCUT_NONE,
        .loop = {.kind = GCUT_KERNEL_LOOP, .workspace_each = GCUT_NONE, .workspace_all = GCUT_NONE}};
    c.loop.loop = (gcut_loop_kernel){.numel = gcut_type_numel(s->h->g->module, t),
                                     .inner = t->dim[t->rank - 1],
                                     .rows = gcut_dim_product(s->h->g->module, t->dim, t->rank - 1),
                                     .called = true,
                                     .product = GCUT_NONE};
    for (uint32_t i = 0; i < u->nodes.n; i++)
        if (s->on[u->nodes.at[i]]) *GCUT_PUSH(a, &c.loop.nodes) = u->nodes.at[i];
    return c;
}

/* Is operand s->operand computed while it is packed?  Says by what in *out, in memory of a. */
static gcut_reason decide(candidate *s, gcut_prologue *out, gcut_arena *a)
{
    const gcut_product q = gcut_product_of(s->h, s->gemm);
    gcut_reason r = find_loop(s);
    if (r != GCUT_REASON_fused) return r;
    s->ends_rows = ends_rows(s->h, s->gemm);
    /* At the sizes that the program is to be fast at. */
    const int64_t times = packings(s->h->g->module->dims, &q, s->p->at, s->p->nat,
                                   s->p->threads > 0 ? s->p->threads : s->h->thresholds->threads,
                                   s->ends_rows, s->operand, GCUT_ASSUMED_SIZE);
    if (times == 0 || (s->operand == 1 && s->ends_rows)) return GCUT_REASON_not_packed;
    const gcut_kernel *u = loop_of(s);
    for (uint32_t i = 0; i < u->nodes.n; i++) s->on[u->nodes.at[i]] = false, s->own[u->nodes.at[i]] = true;
    s->members = 0;
    r = collect(s, s->h->g->values.at[s->v].def);
    if (r != GCUT_REASON_fused) return r;
    find_own(s);
    if (!s->own[s->h->g->values.at[s->v].def]) return GCUT_REASON_other_readers; /* members of its loop */
    if (!remains_loop(s)) return GCUT_REASON_rows_remain;
    if (is_behind_product(s)) return GCUT_REASON_epilogue_instead;
    s->most = most_packings(s, &q);
    if (times > s->most) return GCUT_REASON_packed_often;
    *out = prologue_of(s, a);
    return gcut_kernel_is_even(s->h, &out->loop, out->loop.loop.inner) ? r : GCUT_REASON_uneven;
}

/* ---- the execution ---- */

/* What the node reads of the loop, it reads from memory from now on. */
static void leave_behind(gcut_lowered *h, uint32_t loop, uint32_t node)
{
    const gcut_node *n = gcut_node_at(h->g, node);
    for (uint32_t k = 0; k < n->nargs; k++)
        if (gcut_kernel_source(h, gcut_arg(h->g, n, k)) == loop)
            gcut_set_reason(h, node, k, GCUT_REASON_stored_anyway);
}

/* The loop keeps what others need of it. */
static void take(gcut_lowered *h, const candidate *s, const gcut_prologue *c)
{
    gcut_kernel *u = &h->kernels.at[s->loop], *g = &h->kernels.at[s->gemm];
    uint32_t kept = 0;
    gcut_reads_remove(h, s->loop);
    gcut_reads_remove(h, s->gemm);
    for (uint32_t i = 0; i < u->nodes.n; i++) {
        if (!s->own[u->nodes.at[i]])
            u->nodes.at[kept++] = u->nodes.at[i];
        else
            h->kernel_of[gcut_node_at(h->g, u->nodes.at[i])->res0] = s->gemm;
    }
    for (uint32_t i = 0; i < c->loop.nodes.n; i++) /* values per row, and those that others read */
        if (s->own[c->loop.nodes.at[i]]) leave_behind(h, s->loop, c->loop.nodes.at[i]);
    u->nodes.n = kept;
    u->dead = kept == 0;
    g->gemm.prologue = gcut_calloc(h->g->module->arena, 1, sizeof *c);
    *g->gemm.prologue = *c;
    gcut_reads_add(h, s->loop);
    gcut_reads_add(h, s->gemm);
}

void gcut_make_prologues(gcut_program *p, gcut_lowered *h)
{
    if (h->unfused) return;
    gcut_arena *a = gcut_arena_new(h->g->module->env, h->g->module->arena);
    candidate s = {.p = p, .h = h};
    s.on = gcut_calloc(a, h->g->nodes.n + 1, sizeof *s.on);
    s.own = gcut_calloc(a, h->g->nodes.n + 1, sizeof *s.own);
    for (uint32_t u = 0; u < h->kernels.n; u++)
        for (uint32_t k = 0; k < 2 && h->kernels.at[u].kind == GCUT_KERNEL_GEMM; k++) {
            gcut_prologue c;
            s.gemm = u;
            s.operand = k;
            const gcut_reason r = decide(&s, &c, h->g->module->arena);
            gcut_set_reason(h, h->kernels.at[u].nodes.at[0], k, r);
            if (r == GCUT_REASON_fused) take(h, &s, &c);
        }
    gcut_arena_free(a);
}
