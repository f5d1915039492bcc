/* SPDX-License-Identifier: MIT
 *
 * attention.c for one element type (each_type.h).
 */

/* Panels of PAD elements side by side: of the keys, or of the elements of a row (kernels/rt/gemm/pack.h). */
static void NAME(pack)(int64_t n, int64_t k, const T *x, int64_t is, int64_t ks, T *out)
{
    NAME(gcut_rt_pack)(n, k, x, is, ks, PAD, PAD, PAD * k, out);
}

/* C = A B or C += A B, B of n columns in panels of k steps out of `steps`; k = 0 gives 0. */
static void NAME(by_panels)(int64_t m, int64_t n, int64_t k, const T *a, int64_t rsa, int64_t csa, const T *b,
                            int64_t steps, int add, T *c, int64_t rsc, int64_t csc)
{
    for (int64_t j = 0; j < n && m > 0 && k > 0; j += PAD) NAME(gcut_rt_small)
    (m, gcut_rt_min(n - j, PAD), k, a, rsa, csa, b + j * steps, PAD, 1, add, c + j * csc, rsc, csc);
    for (int64_t i = 0; i < m && k <= 0 && !add; i++)
        for (int64_t j = 0; j < n; j++) c[i * rsc + j * csc] = 0;
}

/* How many keys each query of a block sees. */
static void NAME(count)(const gcut_rt_attention *a, const span *x, int64_t *n)
{
    for (int64_t t = x->t0; t < x->t1; t++) n[t - x->t0] = seen(a, t);
}

/* P of a block before rows are divided by their sums, in rows of `ld` elements; kt: the keys of its group in
 * panels of keys. */
static void NAME(probabilities)(const job *w, const span *x, const int64_t *n, const T *kt, T *p, int64_t ld,
                                T *sum)
{
    const gcut_rt_attention *a = w->a;
    const T *q = (const T *)w->q + at(a->q, x->batch, x->head, x->t0);
    const T *bias = w->bias ? (const T *)w->bias + at(a->bias, x->batch, x->head, x->t0) : NULL;
    NAME(by_panels)(x->t1 - x->t0, x->width, a->d, q, a->q[2], a->q[3], kt, a->d, 0, p, ld, 1);
    RUN(softmax)(x->t1 - x->t0, n, x->width, p, ld, (T)a->scale, bias, &a->bias[2], sum);
}

/* ---- forward ---- */

/* y of a block: P v, each row over its sum. */
static void NAME(values)(const job *w, const span *x, const T *p, int64_t ld, const T *v, const T *sum)
{
    const gcut_rt_attention *a = w->a;
    T *y = (T *)w->y + at(a->y, x->batch, x->head, x->t0);
    int64_t rows = x->t1 - x->t0;
    NAME(by_panels)(rows, a->e, x->keys, p, ld, 1, v, a->s, 0, y, a->y[2], a->y[3]);
    for (int64_t t = 0; t < rows && x->keys > 0; t++) { /* of no keys there is no sum, and y is 0 */
        T r = 1 / sum[t];
        for (int64_t c = 0; c < a->e; c++) y[t * a->y[2] + c * a->y[3]] *= r;
    }
}

/* The blocks that thread t of nt has, in the order of batches, heads and queries.  Its workspace ends with
 * the values, which it packs whole whatever its blocks are: of P a mask or a short block leaves the end
 * alone, and what is stated would be more than what is touched. */
static void NAME(forward)(void *arg, int thread, int nt)
{
    const job *w = arg;
    const gcut_rt_attention *a = w->a;
    int64_t blocks = gcut_rt_ceildiv(a->t, ROWS), ld = padded(a->s), i0, i1, n[ROWS];
    T *p = (T *)(w->work + thread * a->work), *kt = p + block_rows(a) * ld, *v = kt + a->d * ld, sum[ROWS];
    gcut_rt_share(a->batch * a->heads * blocks, 1, thread, nt, &i0, &i1);
    for (int64_t i = i0, have = -1; i < i1; i++) {
        int64_t head = i / blocks % a->heads, batch = i / blocks / a->heads;
        span x = span_of(a, batch, head, i % blocks);
        if (have != batch * a->groups + x.group) {
            NAME(pack)(a->s, a->d, (const T *)w->k + at(a->k, batch, x.group, 0), a->k[2], a->k[3], kt);
            NAME(pack)(a->e, a->s, (const T *)w->v + at(a->v, batch, x.group, 0), a->v[3], a->v[2], v);
            have = batch * a->groups + x.group;
        }
        NAME(count)(a, &x, n);
        NAME(probabilities)(w, &x, n, kt, p, ld, sum);
        NAME(values)(w, &x, p, ld, v, sum);
    }
}

void NAME(gcut_rt_attention)(const gcut_rt_attention *a, const T *q, const T *k, const T *v, const T *bias,
                             T *y, void *work, int threads)
{
    job w = {.a = a, .q = q, .k = k, .v = v, .bias = bias, .y = y, .work = work};
    if (a->batch * a->heads * a->t > 0) gcut_rt_parallel(NAME(forward), &w, threads);
}

/* ---- backward ---- */

/* dS of a block from dP, in place, 0 for keys that no query of the block sees; dbias is dS. */
static void NAME(scores)(const job *w, const span *x, const int64_t *n, const T *p, T *d, int64_t ld)
{
    const gcut_rt_attention *a = w->a;
    RUN(backward)(x->t1 - x->t0, n, x->width, p, d, ld);
    for (int64_t t = x->t0; t < x->t1; t++, d += ld) {
        T *out = w->dbias ? (T *)w->dbias + at(a->dbias, x->batch, x->head, t) : NULL;
        for (int64_t c = 0; out && c < a->s; c++) out[c * a->dbias[3]] = c < x->keys ? d[c] : 0;
        for (int64_t c = 0; c < x->width; c++) d[c] *= (T)a->scale;
    }
}

/* A thread's workspace: of a block P, dS, and q and dy in panels of their elements; of a group the keys in
 * panels of their elements, and the values and keys in panels of keys.  The last two are packed whole
 * whichever results are wanted: at the end, they make the workspace what is touched. */
typedef struct NAME(tiles) {
    int64_t ld;
    T *p, *d, *q, *dy, *k, *vt, *kt;
} NAME(tiles);

static NAME(tiles) NAME(tiles_of)(const gcut_rt_attention *a, void *work)
{
    int64_t rows = block_rows(a);
    NAME(tiles) s = {.ld = padded(a->s), .p = work};
    s.d = s.p + rows * s.ld;
    s.q = s.d + rows * s.ld;
    s.dy = s.q + rows * padded(a->d);
    s.k = s.dy + rows * padded(a->e);
    s.vt = s.k + padded(a->d) * a->s;
    s.kt = s.vt + a->e * s.ld;
    return s;
}

static void NAME(block)(const job *w, const span *x, const NAME(tiles) * s)
{
    const gcut_rt_attention *a = w->a;
    int64_t m = x->t1 - x->t0, ld = s->ld, n[ROWS];
    const T *q = (const T *)w->q + at(a->q, x->batch, x->head, x->t0);
    const T *dy = (const T *)w->dy + at(a->y, x->batch, x->head, x->t0);
    T sum[ROWS];
    NAME(count)(a, x, n);
    NAME(probabilities)(w, x, n, s->kt, s->p, ld, sum);
    RUN(divide)(m, x->width, s->p, ld, sum);
    if (w->dv) {
        NAME(pack)(a->e, m, dy, a->y[3], a->y[2], s->dy);
        NAME(by_panels)
        (x->keys, a->e, m, s->p, 1, ld, s->dy, m, 1, (T *)w->dv + at(a->dv, x->batch, x->group, 0), a->dv[2],
         a->dv[3]);
    }
    if (!w->dq && !w->dk && !w->dbias) return;
    NAME(by_panels)(m, x->width, a->e, dy, a->y[2], a->y[3], s->vt, a->e, 0, s->d, ld, 1);
    NAME(scores)(w, x, n, s->p, s->d, ld);
    if (w->dq) NAME(by_panels)
    (m, a->d, x->keys, s->d, ld, 1, s->k, a->s, 0, (T *)w->dq + at(a->dq, x->batch, x->head, x->t0), a->dq[2],
     a->dq[3]);
    if (!w->dk) return;
    NAME(pack)(a->d, m, q, a->q[3], a->q[2], s->q);
    NAME(by_panels)
    (x->keys, a->d, m, s->d, 1, ld, s->q, m, 1, (T *)w->dk + at(a->dk, x->batch, x->group, 0), a->dk[2],
     a->dk[3]);
}

static void NAME(clear)(int64_t rows, int64_t columns, T *x, const int64_t *stride)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) x[i * stride[2] + j * stride[3]] = 0;
}

/* The groups that thread t of nt has. */
static void NAME(groups)(void *arg, int thread, int nt)
{
    const job *w = arg;
    const gcut_rt_attention *a = w->a;
    int64_t blocks = gcut_rt_ceildiv(a->t, ROWS), per = a->heads / a->groups, i0, i1;
    const NAME(tiles) s = NAME(tiles_of)(a, w->work + thread * a->work);
    gcut_rt_share(a->batch * a->groups, 1, thread, nt, &i0, &i1);
    for (int64_t i = i0; i < i1; i++) {
        int64_t batch = i / a->groups, group = i % a->groups;
        const T *k = (const T *)w->k + at(a->k, batch, group, 0),
                *v = (const T *)w->v + at(a->v, batch, group, 0);
        NAME(pack)(a->s, a->d, k, a->k[2], a->k[3], s.kt);
        NAME(pack)(a->s, a->e, v, a->v[2], a->v[3], s.vt);
        if (w->dq) NAME(pack)(a->d, a->s, k, a->k[3], a->k[2], s.k);
        if (w->dk) NAME(clear)(a->s, a->d, (T *)w->dk + at(a->dk, batch, group, 0), a->dk);
        if (w->dv) NAME(clear)(a->s, a->e, (T *)w->dv + at(a->dv, batch, group, 0), a->dv);
        for (int64_t j = 0; j < per * blocks; j++) {
            span x = span_of(a, batch, group * per + j / blocks, j % blocks);
            NAME(block)(w, &x, &s);
        }
    }
}

void NAME(gcut_rt_attention_grad)(const gcut_rt_attention *a, const T *q, const T *k, const T *v,
                                  const T *bias, const T *dy, T *dq, T *dk, T *dv, T *dbias, void *work,
                                  int threads)
{
    job w = {.a = a, .q = q, .k = k, .v = v, .bias = bias, .dy = dy};
    w.dq = dq, w.dk = dk, w.dv = dv, w.dbias = dbias, w.work = work;
    if (a->batch * a->groups > 0) gcut_rt_parallel(NAME(groups), &w, threads);
}
