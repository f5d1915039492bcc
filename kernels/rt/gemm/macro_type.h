/* SPDX-License-Identifier: MIT
 *
 * macro.c for one element type (each_type.h).
 */

/* One operand: element i of step p is at[i * is + p * ps], and there are n.  Or it is computed: its element 0
 * is number `first` of what fills it, whose lines begin at `line`. */
typedef struct NAME(operand) {
    const T *at;
    int64_t n, is, ps;
    int width, ld; /* of its panels */
    const gcut_rt_operand *from;
    int64_t first, line;
    int64_t s0, s1; /* elements whose sums over k are made too: sum[i - s0]; whole panels */
    T *sum, *part;  /* part: of the block of k that is being added up */
} NAME(operand);

/* A product in the orientation of the micro-kernel: C [m, n] = left [m, k] right [k, n], for the rows and
 * columns of the caller's C, or of its transpose, that begin at i0 and j0. */
typedef struct NAME(problem) {
    const gcut_rt_macro *x; /* what the caller wants */
    int64_t k;
    NAME(operand) left, right;
    T *c;
    int64_t i0, j0;
    int64_t ci, cj; /* strides of C */
    int transposed;
    blocks b;
    T *packed, *panel; /* the resident block, and a panel of the streamed operand */
} NAME(problem);

static NAME(operand) NAME(resident)(const NAME(problem) * p)
{
    return p->b.right_resident ? p->right : p->left;
}
static NAME(operand) NAME(streamed)(const NAME(problem) * p)
{
    return p->b.right_resident ? p->left : p->right;
}

static void NAME(pack)(const NAME(problem) * of, const NAME(operand) * x, int64_t i0, int64_t i1, int64_t p,
                       int64_t k, T *out)
{
    if (x->from->fill) {
        NAME(pack_filled)
        (x->from, x->line, of->x->thread, x->first + i0, i1 - i0, p, k, x->width, x->ld, out);
        return;
    }
    NAME(gcut_rt_pack)
    (i1 - i0, k, x->at + i0 * x->is + p * x->ps, x->is, x->ps, x->width, x->ld, x->ld * k, out);
}

/* The sums of elements i0..i1 go on by steps q0..q1, which are packed at `packed`. */
static void NAME(add_up)(const NAME(operand) * x, int64_t i0, int64_t i1, int64_t q0, int64_t q1, int64_t k,
                         const T *packed)
{
    for (int64_t i = i0; i < i1; i += x->width, packed += x->ld * (q1 - q0)) {
        const int64_t n = gcut_rt_min(x->width, i1 - i), at = i - x->s0;
        if (at < 0 || i >= x->s1) continue;
        NAME(gcut_rt_sums_panel)(n, q0, q1, k, packed, x->ld, x->sum + at, x->part + at);
    }
}

/* Without room for what carries on between the steps. */
static void NAME(sum_in_place)(NAME(operand) * x, int64_t k)
{
    if (x->s1 > x->s0) NAME(gcut_rt_sums)(x->s1 - x->s0, k, x->at + x->s0 * x->is, x->is, x->ps, x->sum);
    x->s1 = x->s0;
}

/* m rows and n columns of C, at most one block of the micro-kernel.  Through a buffer where the micro-kernel
 * cannot write them at once. */
static void NAME(block)(const NAME(problem) * p, int64_t m, int64_t n, int64_t k, const T *a, const T *b,
                        int add, T *c, gcut_rt_prefetch prefetch)
{
    const gcut_rt_micro *u = &p->b.micro;
    _Alignas(64) T part[PART_BYTES / sizeof(T)];
    if (p->cj == 1 && (u->partial || (m == u->mr && n == u->nr))) {
        NAME(gcut_rt_micro_run)(u, m, n, k, a, b, add, c, p->ci, prefetch);
        return;
    }
    NAME(gcut_rt_micro_run)(u, u->mr, u->nr, k, a, b, 0, part, u->nr, prefetch);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            T *o = c + i * p->ci + j * p->cj, x = part[i * u->nr + j];
            *o = add ? *o + x : x;
        }
}

/* Rows i0..i1 and columns j0..j1, in the orientation of the micro-kernel, are complete. */
static void NAME(complete)(const NAME(problem) * p, int64_t i0, int64_t i1, int64_t j0, int64_t j1)
{
    const gcut_rt_macro *x = p->x;
    i0 += p->i0, i1 += p->i0, j0 += p->j0, j1 += p->j0;
    const int64_t c = x->line.c;
    if (p->transposed)
        x->tile(x->arg, x->thread, c + j0, c + j1, i0, i1);
    else
        x->tile(x->arg, x->thread, c + i0, c + i1, j0, j1);
}

/* Part `part` of `parts` of what the next panel is packed from: n elements from i on and k steps from q on.
 */
static gcut_rt_prefetch NAME(prefetch_part)(const NAME(operand) * x, int64_t i, int64_t n, int64_t q,
                                            int64_t k, int64_t part, int64_t parts)
{
    const int64_t size = (int64_t)sizeof(T), piece = 128;
    const int along_k = x->is != 1;
    const int64_t rows = along_k ? n : k, length = (along_k ? k : n) * size;
    const int64_t stride = (along_k ? x->is : x->ps) * size;
    const int64_t all = gcut_rt_ceildiv(length, piece) * rows;
    const int64_t first = all * part / parts, count = all * (part + 1) / parts - first;
    if (count <= 0 || x->from->fill || (x->is != 1 && x->ps != 1)) return (gcut_rt_prefetch){.n = 0};
    return (gcut_rt_prefetch){.at = (const char *)(x->at + i * x->is + q * x->ps) + first / rows * piece +
                                    first % rows * stride,
                              .n = count,
                              .step = stride,
                              .last = gcut_rt_min(piece, length) - 1,
                              .turn = rows - first % rows,
                              .round = rows,
                              .jump = piece - rows * stride};
}

/* Steps q0..q1 of the streamed panel x0..x1 times r0..r1 of the resident block, packed at `block`; xn and qn
 * are where the next panel begins. */
static void NAME(macro_kernel)(const NAME(problem) * p, const T *block, int64_t r0, int64_t r1, int64_t x0,
                               int64_t x1, int64_t q0, int64_t q1, int64_t xn, int64_t qn)
{
    const NAME(operand) r = NAME(resident)(p), x = NAME(streamed)(p);
    const int64_t k = q1 - q0, parts = gcut_rt_ceildiv(r1 - r0, r.width);
    const int64_t next = gcut_rt_min(x.width, x.n - xn), kn = gcut_rt_min(p->b.kc, p->k - qn);
    const int add = p->x->g->accumulate || q0 > 0;
    NAME(pack)(p, &x, x0, x1, q0, k, p->panel);
    if (r0 == 0) NAME(add_up)(&x, x0, x1, q0, q1, p->k, p->panel);
    for (int64_t i = r0, part = 0; i < r1; i += r.width, part++, block += r.ld * k) {
        const int64_t rest = gcut_rt_min(r.width, r1 - i);
        const gcut_rt_prefetch prefetch = NAME(prefetch_part)(&x, xn, next, qn, kn, part, parts);
        if (p->b.right_resident)
            NAME(block)(p, x1 - x0, rest, k, p->panel, block, add, p->c + x0 * p->ci + i * p->cj, prefetch);
        else
            NAME(block)(p, rest, x1 - x0, k, block, p->panel, add, p->c + i * p->ci + x0 * p->cj, prefetch);
    }
}

/* Steps p0..p1 for the resident rows or columns r0..r1. */
static void NAME(k_group)(const NAME(problem) * p, int64_t r0, int64_t r1, int64_t p0, int64_t p1)
{
    const blocks *b = &p->b;
    const NAME(operand) r = NAME(resident)(p), x = NAME(streamed)(p);
    const int last = p->x->tile && !p->x->whole_rows && p1 == p->k;
    for (int64_t q = p0; q < p1; q += b->kc) {
        const int64_t q1 = gcut_rt_min(q + b->kc, p1);
        T *const packed = p->packed + resident_elements(b, r1 - r0, q - p0);
        NAME(pack)(p, &r, r0, r1, q, q1 - q, packed);
        NAME(add_up)(&r, r0, r1, q, q1, p->k, packed);
    }
    for (int64_t i = 0, done = 0; i < x.n; i += x.width) {
        const int64_t i1 = gcut_rt_min(i + x.width, x.n);
        for (int64_t q = p0; q < p1; q += b->kc) {
            const int64_t q1 = gcut_rt_min(q + b->kc, p1);
            NAME(macro_kernel)
            (p, p->packed + resident_elements(b, r1 - r0, q - p0), r0, r1, i, i1, q, q1, q1 < p1 ? i : i1,
             q1 < p1 ? q1 : p0);
        }
        if (!last || (i1 < x.n && i1 - done < b->tile)) continue;
        if (b->right_resident)
            NAME(complete)(p, done, i1, r0, r1);
        else
            NAME(complete)(p, r0, r1, done, i1);
        done = i1;
    }
}

/* All of C. */
static void NAME(product)(const NAME(problem) * p)
{
    const gcut_rt_macro *x = p->x;
    const int64_t n = NAME(resident)(p).n, group = p->b.kc * p->b.steps;
    const int64_t c = x->line.c + x->m0;
    for (int64_t r = 0; r < n; r += p->b.resident) {
        const int64_t r1 = gcut_rt_min(r + p->b.resident, n);
        for (int64_t q = 0; q < p->k; q += group) NAME(k_group)(p, r, r1, q, gcut_rt_min(q + group, p->k));
        if (x->tile && x->whole_rows && !p->transposed)
            x->tile(x->arg, x->thread, c + r, c + r1, x->n0, x->n1);
    }
    /* The caller's rows are the columns here: they are complete when everything is. */
    if (x->tile && x->whole_rows && p->transposed)
        x->tile(x->arg, x->thread, c, c + x->m1 - x->m0, x->n0, x->n1);
}

/* n rows of A or columns of B from `first` on; `sums` where their sums are wanted. */
static NAME(operand) NAME(operand_of)(const gcut_rt_macro *x, const gcut_rt_operand *from, const T *at,
                                      int64_t first, int64_t n, int64_t is, int64_t ps, int sums)
{
    NAME(operand) o = {.n = n, .is = is, .ps = ps, .from = from, .first = first};
    if (!from->fill) o.at = at + first * is;
    if (x->g->sums == sums) o.s0 = x->s0 - first, o.s1 = x->s1 - first, o.sum = (T *)x->g->sum + x->s0;
    return o;
}

static NAME(problem) NAME(orient)(const gcut_rt_macro *x, const T *a, const T *b, T *c)
{
    const gcut_rt_gemm *g = x->g;
    const gcut_rt_micro u = gcut_rt_micro_of(sizeof(T));
    NAME(operand)
    rows = NAME(operand_of)(x, &g->from_a, a, x->m0, x->m1 - x->m0, g->rsa, g->csa, GCUT_RT_SUMS_A);
    NAME(operand)
    columns = NAME(operand_of)(x, &g->from_b, b, x->n0, x->n1 - x->n0, g->csb, g->rsb, GCUT_RT_SUMS_B);
    const int transposed = gcut_rt_column_major(g);
    rows.line = x->line.a, columns.line = x->line.b;
    NAME(problem)
    p = {.x = x,
         .k = g->k,
         .left = transposed ? columns : rows,
         .right = transposed ? rows : columns,
         .c = c + x->m0 * g->rsc + x->n0 * g->csc,
         .transposed = transposed,
         .ci = transposed ? g->csc : g->rsc,
         .cj = transposed ? g->rsc : g->csc};
    p.i0 = p.left.first, p.j0 = p.right.first;
    p.left.width = u.mr, p.left.ld = u.packmr;
    p.right.width = u.nr, p.right.ld = u.packnr;
    const int whole = x->tile && x->whole_rows && !transposed;
    const needs w = {x->tile && !whole, whole, p.left.from->fill != NULL, p.right.from->fill != NULL};
    p.b = choose_blocks(u, p.left.n, p.right.n, g->k, w, (int64_t)sizeof(T));
    return p;
}

void NAME(gcut_rt_macro)(const gcut_rt_macro *x, const T *a, const T *b, T *c)
{
    if (x->m1 <= x->m0 || x->n1 <= x->n0) return;
    NAME(problem) p = NAME(orient)(x, a, b, c);
    const int64_t packed = packed_resident(&p.b) + packed_streamed(&p.b);
    const size_t want = (size_t)(packed + gcut_rt_max(x->s1 - x->s0, 0)) * sizeof(T);
    gcut_rt_packing_memory w = gcut_rt_borrow(want);
    p.packed = w.at;
    if (w.bytes >= want) {
        p.left.part = p.right.part = p.packed + packed;
    } else {
        smallest_blocks(&p.b);
        NAME(sum_in_place)(&p.left, p.k);
        NAME(sum_in_place)(&p.right, p.k);
    }
    p.panel = p.packed + packed_resident(&p.b);
    NAME(product)(&p);
    gcut_rt_give_back(w);
}
