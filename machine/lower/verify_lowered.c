/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The invariants of the states of lowering (lowered.h), one function each, in that order.  Each returns the
 * first fault that it finds, as a sentence that begins with the invariant's name, or NULL.
 *
 * What a state must be is computed from the graph and the kernels, not taken from the pass that made it.  Shared with
 * the passes are queries: what a kernel reads and depends on (lowered.c), who reads a root (reads.h, whose index L1d
 * compares with what kernels read) and, in L1b, gcut_kernel_access, by which emission reads.
 */
#include "gradcut/gradcut_rt.h"
#include "machine/lower/fusion/reads.h"
#include "machine/lower/lower.h"

_Static_assert(GCUT_MAX_RANK == GCUT_RT_MAX_RANK,
               "the compiler and the run-time library agree on the largest rank");

typedef struct check {
    const gcut_program *p;
    const gcut_lowered *h;
    gcut_arena *a;
} check;

#define FAULT(c, ...) return gcut_printf((c)->a, __VA_ARGS__)

static const gcut_kernel *kernel_at(const check *c, uint32_t u)
{
    return &c->h->kernels.at[u];
}

static const gcut_node *node_at(const check *c, uint32_t node)
{
    return gcut_node_at(c->h->g, node);
}

static const char *name_of(const check *c, gcut_ref v)
{
    return v ? c->h->g->values.at[v].name : "nothing";
}

static bool is_live(const check *c, uint32_t u)
{
    return u < c->h->kernels.n && !kernel_at(c, u)->dead;
}

/* ---- L1: grouped ---- */

/* Nodes of these kinds may be no more than a view, or a number. */
static bool may_be_view(const gcut_node *n)
{
    const gcut_emit e = gcut_op_of(n)->emit;
    return e == GCUT_EMIT_VIEW || e == GCUT_EMIT_CONST || e == GCUT_EMIT_IOTA || e == GCUT_EMIT_CAST ||
           e == GCUT_EMIT_UNPACK;
}

static bool in_prologue(const gcut_lowered *h, const gcut_kernel *u, gcut_ref v)
{
    const gcut_prologue *c = gcut_kernel_prologue(u);
    return c && gcut_kernel_has(h, &c->loop, v);
}

static const char *L1a_members(const check *c)
{
    const gcut_lowered *h = c->h;
    uint32_t *times = gcut_calloc(c->a, h->g->nodes.n + 1, sizeof *times);
    for (uint32_t kernel = 0; kernel < h->kernels.n; kernel++) {
        const gcut_kernel *u = kernel_at(c, kernel);
        if (u->dead && u->nodes.n) FAULT(c, "L1a: kernel %u is dead and has members", kernel);
        for (uint32_t i = 0; i < u->nodes.n; i++) {
            const gcut_node *n = node_at(c, u->nodes.at[i]);
            if (i && u->nodes.at[i - 1] >= u->nodes.at[i] && !gcut_kernel_sums(u))
                FAULT(c, "L1a: the members of kernel %u are not in graph order", kernel);
            if (times[u->nodes.at[i]]++)
                FAULT(c, "L1a: %%%s is a member of two kernels", name_of(c, n->res0));
            for (uint32_t k = 0; k < n->nres; k++)
                if (h->kernel_of[n->res0 + k] != kernel)
                    FAULT(c, "L1a: kernel %u makes %%%s, which names another", kernel,
                          name_of(c, n->res0 + k));
        }
    }
    for (uint32_t i = 0; i < h->g->nodes.n; i++) {
        const gcut_node *n = node_at(c, i);
        const uint32_t kernel = n->nres ? h->kernel_of[n->res0] : GCUT_NONE;
        if (!n->nres || times[i] || (kernel == GCUT_NONE && may_be_view(n))) continue;
        if (kernel == GCUT_NONE || !is_live(c, kernel) ||
            (!in_prologue(h, kernel_at(c, kernel), n->res0) &&
             gcut_op_of(n)->emit != GCUT_EMIT_VIEW)) /* a transposition that its product writes */
            FAULT(c, "L1a: %%%s is in no kernel", name_of(c, n->res0));
    }
    return NULL;
}

static const char *reads_of_loop(const check *c, const gcut_kernel *u)
{
    for (gcut_use x = {0}; gcut_next_use(c->h, u, &x);) {
        const gcut_ref y = x.n->res0;
        const bool row = c->h->level[y] == GCUT_LEVEL_ROW && gcut_op_of(x.n)->emit != GCUT_EMIT_REDUCE;
        if (gcut_kernel_access(c->h, u, x.v, row ? GCUT_LEVEL_ROW : GCUT_LEVEL_FULL) == GCUT_ACCESS_BLOCKED)
            FAULT(c, "L1b: %%%s reads %%%s, whose element is not at hand", name_of(c, y), name_of(c, x.v));
    }
    return NULL;
}

static const char *L1b_at_hand(const check *c)
{
    for (uint32_t kernel = 0; kernel < c->h->kernels.n; kernel++) {
        const gcut_kernel *u = kernel_at(c, kernel);
        const char *fault = u->kind == GCUT_KERNEL_LOOP ? reads_of_loop(c, u) : NULL;
        if (gcut_kernel_prologue(u)) fault = reads_of_loop(c, &gcut_kernel_prologue(u)->loop);
        if (fault) return fault;
    }
    return NULL;
}

typedef GCUT_VEC(uint32_t) kernel_list;

static const char *L1c_no_circle(const check *c)
{
    const uint32_t n = c->h->kernels.n;
    kernel_list *after = gcut_calloc(c->a, n + 1, sizeof *after), ready = {0};
    uint32_t *waits = gcut_calloc(c->a, n + 1, sizeof *waits);
    for (uint32_t u = 0; u < n; u++) {
        gcut_cursor at = {0};
        if (!is_live(c, u)) continue;
        for (uint32_t s; (s = gcut_kernel_deps(c->h, u, &at)) != GCUT_NONE; waits[u]++) {
            if (!is_live(c, s)) FAULT(c, "L1a: kernel %u depends on kernel %u, which is dead", u, s);
            *GCUT_PUSH(c->a, &after[s]) = u;
        }
        if (!waits[u]) *GCUT_PUSH(c->a, &ready) = u;
    }
    for (uint32_t i = 0; i < ready.n; i++) {
        const kernel_list *next = &after[ready.at[i]];
        for (uint32_t k = 0; k < next->n; k++)
            if (--waits[next->at[k]] == 0) *GCUT_PUSH(c->a, &ready) = next->at[k];
    }
    for (uint32_t u = 0; u < n; u++)
        if (waits[u]) FAULT(c, "L1c: kernel %u depends on itself", u);
    return NULL;
}

static const char *note_read(const check *c, uint32_t u, gcut_ref root, uint32_t *times)
{
    times[root]++;
    if (!gcut_reads(c->h, u, root))
        FAULT(c, "L1d: kernel %u reads %%%s, and the index does not say so", u, name_of(c, root));
    return NULL;
}

static const char *L1d_index(const check *c)
{
    const gcut_lowered *h = c->h;
    uint32_t *times = gcut_calloc(c->a, h->g->values.n, sizeof *times);
    for (uint32_t kernel = 0; kernel < h->kernels.n; kernel++) {
        const gcut_kernel *u = kernel_at(c, kernel);
        const char *fault = NULL;
        gcut_cursor at = {0};
        if (u->kind == GCUT_KERNEL_COPY && u->copy.source == GCUT_NONE)
            fault = note_read(c, kernel, h->view[u->copy.value].root, times);
        for (gcut_ref v; !fault && gcut_kernel_read(h, kernel, &at, &v);)
            if (gcut_kernel_source(h, v) != kernel) fault = note_read(c, kernel, h->view[v].root, times);
        if (fault) return fault;
    }
    for (gcut_ref v = 1; v < h->g->values.n; v++) {
        for (uint32_t i = 0; i < h->reads->of[v].n; i++) times[v] -= h->reads->of[v].at[i].times;
        if (times[v]) FAULT(c, "L1d: the index has other reads of %%%s than there are", name_of(c, v));
    }
    return NULL;
}

/* ---- L2 to L4 ---- */

static const char *L2a_nodes(const check *c)
{
    for (uint32_t kernel = 0; kernel < c->h->kernels.n; kernel++) {
        const gcut_kernel *u = kernel_at(c, kernel);
        const uint32_t want = u->kind == GCUT_KERNEL_COPY ? 0 : 1 + (gcut_kernel_sums(u) != 0);
        if (u->kind == GCUT_KERNEL_LOOP) continue;
        if (u->nodes.n != want)
            FAULT(c, "L2a: kernel %u has %u nodes instead of %u", kernel, u->nodes.n, want);
        if (want < 2) continue;
        const gcut_node *sum = node_at(c, u->nodes.at[1]), *product = node_at(c, u->nodes.at[0]);
        const gcut_ref x = gcut_arg(c->h->g, product, u->gemm.sums == GCUT_RT_SUMS_A ? 0 : 1);
        if (gcut_op_of(sum)->emit != GCUT_EMIT_REDUCE ||
            c->h->view[gcut_arg(c->h->g, sum, 0)].root != c->h->view[x].root)
            FAULT(c, "L2a: %%%s is no sum of an operand of %%%s", name_of(c, sum->res0),
                  name_of(c, product->res0));
    }
    return NULL;
}

static const char *L3a_columns(const check *c)
{
    for (uint32_t kernel = 0; kernel < c->h->kernels.n; kernel++) {
        const gcut_kernel *u = kernel_at(c, kernel);
        if (u->dead || u->kind != GCUT_KERNEL_LOOP) continue;
        bool blocked = false;
        for (uint32_t i = 0; i < u->nodes.n; i++) {
            const gcut_level l = c->h->level[node_at(c, u->nodes.at[i])->res0];
            blocked = blocked || l == GCUT_LEVEL_COLUMN || l == GCUT_LEVEL_TOTAL;
        }
        if (blocked != u->loop.blocked)
            FAULT(c, "L3a: loop %u %s", kernel,
                  blocked ? "is not blocked, and adds up over rows" : "is blocked for nothing");
        if (u->loop.flat ? u->loop.inner != GCUT_CHUNK
                         : gcut_dim_times(c->p->module, u->loop.rows, u->loop.inner) != u->loop.numel)
            FAULT(c, "L3a: the rows of loop %u are not its elements", kernel);
    }
    return NULL;
}

static const char *L4a_prologues(const check *c)
{
    for (uint32_t kernel = 0; kernel < c->h->kernels.n; kernel++) {
        const gcut_kernel *u = kernel_at(c, kernel);
        const gcut_prologue *f = gcut_kernel_prologue(u);
        if (!f) continue;
        if (c->h->kernel_of[f->v] != kernel || !gcut_kernel_has(c->h, &f->loop, f->v) ||
            gcut_is_stored(c->h, f->v))
            FAULT(c, "L4a: %%%s is not computed for product %u alone", name_of(c, f->v), kernel);
        for (uint32_t i = 0; i < f->loop.nodes.n; i++) {
            const gcut_emit e = gcut_op_get((gcut_op)node_at(c, f->loop.nodes.at[i])->op)->emit;
            if (e == GCUT_EMIT_REDUCE || e == GCUT_EMIT_BOUNDED)
                FAULT(c, "L4a: %%%s of a prologue is not elementwise",
                      name_of(c, node_at(c, f->loop.nodes.at[i])->res0));
        }
    }
    return NULL;
}

/* ---- L5: placed ---- */

/* The root is made in the place of an operand of a concat. */
static bool in_concat(const check *c, gcut_ref root)
{
    const uint32_t u = gcut_only_reader(c->h, root);
    if (u == GCUT_NONE || kernel_at(c, u)->kind != GCUT_KERNEL_CONCAT) return false;
    return c->h->buffer[root] == c->h->buffer[node_at(c, kernel_at(c, u)->nodes.at[0])->res0];
}

/* The root's buffer can hold its elements; a parameter may be the beginning of a saved value, and an operand
 * of a concat a part of its buffer. */
static const char *fits_buffer(const check *c, gcut_ref root)
{
    const gcut_lowered *h = c->h;
    const uint32_t b = h->buffer[root];
    if (gcut_root_is_const(h, root) || gcut_root_is_iota(h, root)) return NULL;
    if (b >= c->p->buffers.n) FAULT(c, "L5a: %%%s has no buffer", name_of(c, root));
    const gcut_type *t = gcut_type_of(h->g, root);
    const gcut_buffer *x = &c->p->buffers.at[b];
    const bool part = h->kernel_of[root] == GCUT_NONE || in_concat(c, root);
    if (x->dtype != t->dtype || (!part && x->count != gcut_type_numel(c->p->module, t)))
        FAULT(c, "L5a: buffer %u cannot hold %%%s", b, name_of(c, root));
    return NULL;
}

static bool is_copied(const check *c, gcut_ref v)
{
    for (uint32_t u = 0; u < c->h->kernels.n; u++)
        if (kernel_at(c, u)->kind == GCUT_KERNEL_COPY && kernel_at(c, u)->copy.value == v) return true;
    return false;
}

static const char *L5a_buffers(const check *c)
{
    const gcut_lowered *h = c->h;
    const char *fault = NULL;
    for (uint32_t u = 0; u < h->kernels.n && !fault; u++) {
        gcut_cursor at = {0};
        if (kernel_at(c, u)->kind == GCUT_KERNEL_COPY && kernel_at(c, u)->copy.to >= c->p->buffers.n)
            FAULT(c, "L5a: copy %u goes nowhere", u);
        for (gcut_ref v; !fault && gcut_kernel_read(h, u, &at, &v);)
            if (at.copy == GCUT_NONE && gcut_kernel_source(h, v) != u)
                fault = fits_buffer(c, h->view[v].root);
    }
    for (uint32_t i = 0; i < h->g->params.n && !fault; i++) fault = fits_buffer(c, h->g->params.at[i].value);
    for (uint32_t i = 0; i < h->g->results.n && !fault; i++) {
        const gcut_ref v = h->g->results.at[i].value;
        if (!is_copied(c, v)) fault = fits_buffer(c, h->view[v].root);
    }
    return fault;
}

/* ---- L6 to L9 ---- */

static uint32_t *positions(const check *c)
{
    uint32_t *at = gcut_calloc(c->a, c->h->kernels.n + 1, sizeof *at);
    for (uint32_t i = 0; i < c->h->order.n; i++)
        if (is_live(c, c->h->order.at[i])) at[c->h->order.at[i]] = i + 1;
    return at;
}

static const char *L6a_order(const check *c)
{
    const uint32_t *at = positions(c);
    uint32_t live = 0;
    for (uint32_t u = 0; u < c->h->kernels.n; u++) {
        gcut_cursor cursor = {0};
        if (!is_live(c, u)) continue;
        live++;
        if (!at[u]) FAULT(c, "L6a: kernel %u never runs", u);
        for (uint32_t s; (s = gcut_kernel_deps(c->h, u, &cursor)) != GCUT_NONE;)
            if (at[s] > at[u]) FAULT(c, "L6a: kernel %u runs before kernel %u, on which it depends", u, s);
    }
    if (live != c->h->order.n) FAULT(c, "L6a: %u kernels run instead of %u", c->h->order.n, live);
    return NULL;
}

static const char *L8a_epilogues(const check *c)
{
    for (uint32_t i = 0; i < c->h->order.n; i++) {
        const uint32_t kernel = c->h->order.at[i];
        const gcut_kernel *u = kernel_at(c, kernel);
        if (u->kind != GCUT_KERNEL_LOOP || u->loop.product == GCUT_NONE) continue;
        if (!i || c->h->order.at[i - 1] != u->loop.product ||
            kernel_at(c, u->loop.product)->kind != GCUT_KERNEL_GEMM)
            FAULT(c, "L8a: loop %u does not run right after its product", kernel);
        const gcut_ref y = node_at(c, kernel_at(c, u->loop.product)->nodes.at[0])->res0;
        const gcut_type *t = gcut_type_of(c->h->g, y);
        if (u->loop.flat || u->loop.blocked || t->dim[t->rank - 1] != u->loop.inner ||
            gcut_dim_product(c->p->module, t->dim, t->rank - 1) != u->loop.rows)
            FAULT(c, "L8a: loop %u does not go along the rows of %%%s", kernel, name_of(c, y));
    }
    return NULL;
}

static const char *alive(const check *c, uint32_t u, uint32_t buffer)
{
    const int step = kernel_at(c, u)->step;
    if (buffer == GCUT_NONE) return NULL;
    while (c->p->buffers.at[buffer].kind == GCUT_BUFFER_PART) buffer = c->p->buffers.at[buffer].whole;
    const gcut_buffer *b = &c->p->buffers.at[buffer];
    if (b->birth > step || b->death < step || b->birth < 0)
        FAULT(c, "L9a: buffer %u (%s) lives from step %d to %d, and kernel %u uses it at step %d", buffer,
              b->name, b->birth, b->death, u, step);
    return NULL;
}

static const char *L9a_live_ranges(const check *c)
{
    const gcut_lowered *h = c->h;
    const char *fault = NULL;
    for (uint32_t i = 0; i < h->order.n && !fault; i++) {
        const uint32_t kernel = h->order.at[i];
        const gcut_kernel *u = kernel_at(c, kernel);
        gcut_cursor at = {0};
        if (i && u->step < kernel_at(c, h->order.at[i - 1])->end)
            FAULT(c, "L9a: kernel %u begins before the one in front of it ends", kernel);
        fault = alive(c, kernel, u->workspace_each);
        if (!fault) fault = alive(c, kernel, u->workspace_all);
        if (!fault && u->kind == GCUT_KERNEL_COPY) fault = alive(c, kernel, u->copy.to);
        if (!fault && gcut_kernel_prologue(u)) fault = alive(c, kernel, gcut_kernel_prologue(u)->buffer);
        for (gcut_ref v; !fault && gcut_kernel_read(h, kernel, &at, &v);)
            if (at.copy != GCUT_NONE || gcut_kernel_source(h, v) != kernel)
                fault = alive(c, kernel, gcut_read_buffer(h, &at, v));
        for (uint32_t k = 0; k < u->nodes.n; k++) {
            const gcut_node *n = node_at(c, u->nodes.at[k]);
            for (gcut_ref v = n->res0; v < n->res0 + n->nres && !fault; v++)
                fault = alive(c, kernel, h->buffer[h->view[v].root]);
        }
    }
    return fault;
}

static const char *L9b_saved(const check *c)
{
    const gcut_lowered *backward = c->p->lowered.at[GCUT_BACKWARD];
    if (!backward->g || backward->first == backward->end) return NULL;
    for (uint32_t i = 0; i < c->p->buffers.n; i++) {
        const gcut_buffer *b = &c->p->buffers.at[i];
        if (b->saved && b->birth >= 0 && b->death < backward->first)
            FAULT(c,
                  "L9b: buffer %u (%s) is saved and lives to step %d, the backward graph begins at step %d",
                  i, b->name, b->death, backward->first);
    }
    return NULL;
}

/* ---- L10: shared ---- */

/* What was written to a buffer last: a root, a copy of a value, or parts of a concat; parameters of one
 * buffer are the first of them. */
typedef uint64_t content;
enum { PARTS = UINT32_MAX };

static content copy_by(uint32_t kernel)
{
    return (content)1 << 32 | kernel;
}

static content content_of(const check *c, gcut_ref root)
{
    const gcut_lowered *h = c->h;
    if (h->kernel_of[root] == GCUT_NONE) {
        for (uint32_t i = 0; i < h->g->params.n; i++)
            if (h->buffer[h->g->params.at[i].value] == h->buffer[root]) return h->g->params.at[i].value;
        return root;
    }
    const gcut_type *t = gcut_type_of(h->g, root);
    return c->p->buffers.at[h->buffer[root]].count == gcut_type_numel(c->p->module, t) ? root : PARTS;
}

static const char *expect(const check *c, const content *now, uint32_t u, uint32_t buffer, content want,
                          gcut_ref v)
{
    if (buffer == GCUT_NONE || now[buffer] == want) return NULL;
    FAULT(c, "L10a: kernel %u reads %%%s from buffer %u, which has %s", u, name_of(c, v), buffer,
          now[buffer] == PARTS ? "parts of a concat"
          : now[buffer] >> 32  ? "a copy"
                               : name_of(c, (gcut_ref)now[buffer]));
}

/* What kernel u finds in the buffers that it reads. */
static const char *finds(const check *c, const content *now, uint32_t kernel)
{
    const gcut_lowered *h = c->h;
    const gcut_kernel *u = kernel_at(c, kernel);
    const char *fault = NULL;
    gcut_cursor at = {0};
    if (u->kind == GCUT_KERNEL_COPY && h->buffer[h->view[u->copy.value].root] != GCUT_NONE)
        fault = expect(c, now, kernel, gcut_copy_buffer(h, u),
                       u->copy.source != GCUT_NONE ? copy_by(u->copy.source)
                                                   : content_of(c, h->view[u->copy.value].root),
                       u->copy.value);
    for (gcut_ref v; !fault && gcut_kernel_read(h, kernel, &at, &v);) {
        const gcut_ref root = h->view[v].root;
        if (gcut_kernel_source(h, v) == kernel) continue;
        if (at.copy != GCUT_NONE)
            fault = expect(c, now, kernel, gcut_read_buffer(h, &at, v), copy_by(at.copy), v);
        else if (h->buffer[root] != GCUT_NONE)
            fault = expect(c, now, kernel, h->buffer[root], content_of(c, root), v);
    }
    return fault;
}

static void writes(const check *c, content *now, uint32_t kernel)
{
    const gcut_kernel *u = kernel_at(c, kernel);
    if (u->kind == GCUT_KERNEL_COPY) now[u->copy.to] = copy_by(kernel);
    for (uint32_t k = 0; k < u->nodes.n; k++) {
        const gcut_node *n = node_at(c, u->nodes.at[k]);
        for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++) {
            const gcut_ref root = c->h->view[v].root;
            if (c->h->buffer[root] != GCUT_NONE && !gcut_kernel_omits(u, v - n->res0))
                now[c->h->buffer[root]] = content_of(c, root);
        }
    }
}

/* The epilogue writes no buffer that its product reads. */
static const char *overwrites_operand(const check *c, uint32_t epilogue)
{
    const gcut_kernel *u = kernel_at(c, epilogue);
    gcut_cursor at = {0};
    for (gcut_ref v; gcut_kernel_read(c->h, u->loop.product, &at, &v);)
        for (uint32_t k = 0; k < u->nodes.n; k++) {
            const uint32_t b = c->h->buffer[node_at(c, u->nodes.at[k])->res0];
            if (b != GCUT_NONE && b == gcut_read_buffer(c->h, &at, v))
                FAULT(c, "L10a: epilogue %u overwrites %%%s, which its product still reads", epilogue,
                      name_of(c, v));
        }
    return NULL;
}

/* In a body, what was written may be that of the iteration before. */
static const char *L10a_contents(const check *c)
{
    const gcut_lowered *h = c->h;
    const char *fault = NULL;
    content *now = gcut_calloc(c->a, c->p->buffers.n + 1, sizeof *now);
    if (h->parent != GCUT_NONE) return NULL;
    for (uint32_t i = h->g->params.n; i-- > 0;)
        if (h->buffer[h->g->params.at[i].value] != GCUT_NONE)
            now[h->buffer[h->g->params.at[i].value]] = h->g->params.at[i].value;
    for (uint32_t i = 0; i < h->order.n && !fault; i++) {
        const uint32_t u = h->order.at[i];
        fault = finds(c, now, u);
        if (!fault && kernel_at(c, u)->kind == GCUT_KERNEL_LOOP && kernel_at(c, u)->loop.product != GCUT_NONE)
            fault = overwrites_operand(c, u);
        writes(c, now, u);
    }
    return fault;
}

const char *gcut_lowered_fault(const gcut_program *p, const gcut_lowered *h, int state, gcut_arena *a)
{
    static const struct {
        int state;
        const char *(*find)(const check *c);
    } invariants[] = {
        {1, L1a_members},     {1, L1b_at_hand},   {1, L1c_no_circle},  {1, L1d_index}, {2, L2a_nodes},
        {3, L3a_columns},     {4, L4a_prologues}, {5, L5a_buffers},    {6, L6a_order}, {8, L8a_epilogues},
        {9, L9a_live_ranges}, {9, L9b_saved},     {10, L10a_contents},
    };
    const check c = {p, h, a};
    const char *fault = NULL;
    for (size_t i = 0; i < sizeof invariants / sizeof *invariants && !fault; i++)
        if (invariants[i].state <= state) fault = invariants[i].find(&c);
    return fault;
}
