/* SPDX-License-Identifier: MIT
 *
 * attention.c for one element type: T the type, TYPE its suffix.
 */
#define GLUE_(a, b) a##_##b
#define GLUE(a, b) GLUE_(a, b)
#define NAME(x) GLUE(x, TYPE)

/* C = A B or C += A B; k = 0 gives 0. */
static void NAME(multiply)(int64_t m, int64_t n, int64_t k, const T *a, int64_t rsa, int64_t csa, const T *b,
                           int64_t rsb, int64_t csb, int add, T *c, int64_t rsc, int64_t csc)
{
    if (k > 0 && m > 0 && n > 0) {
        NAME(gcut_rt_small)(m, n, k, a, rsa, csa, b, rsb, csb, add, c, rsc, csc);
        return;
    }
    for (int64_t i = 0; i < m && !add; i++)
        for (int64_t j = 0; j < n; j++) c[i * rsc + j * csc] = 0;
}

/* The transpose of x [rows, columns] packed to [columns, padded(rows)], 0 behind its rows. */
static void NAME(turn)(int64_t rows, int64_t columns, const T *x, int64_t rs, int64_t cs, T *out)
{
    int64_t ld = padded(rows);
    for (int64_t i0 = 0; i0 < ld; i0 += 16)
        for (int64_t j = 0; j < columns; j++)
            for (int64_t i = i0; i < i0 + 16; i++) out[j * ld + i] = i < rows ? x[i * rs + j * cs] : 0;
}

/* P of a block, in rows of `ld` elements; kt: the keys of its group, turned. */
static void NAME(probabilities)(const job *w, const span *x, const T *kt, T *p, int64_t ld)
{
    const gcut_rt_attention *a = w->a;
    const T *q = (const T *)w->q + at(a->q, x->batch, x->head, x->t0);
    NAME(multiply)(x->t1 - x->t0, x->width, a->d, q, a->q[2], a->q[3], kt, ld, 1, 0, p, ld, 1);
    for (int64_t t = x->t0; t < x->t1; t++, p += ld) {
        int64_t n = seen(a, t);
        const T *bias = w->bias ? (const T *)w->bias + at(a->bias, x->batch, x->head, t) : NULL;
        if (n > 0)
            NAME(softmax)(p, n, x->width, (T)a->scale, bias, a->bias[3]);
        else
            for (int64_t c = 0; c < x->width; c++) p[c] = (T)NAN;
    }
}

/* ---- forward ---- */

/* The blocks that thread t of nt has, in the order of batches, heads and queries. */
static void NAME(forward)(void *arg, int thread, int nt)
{
    const job *w = arg;
    const gcut_rt_attention *a = w->a;
    int64_t blocks = gcut_rt_ceildiv(a->t, block_rows(a)), ld = padded(a->s), i0, i1;
    T *kt = (T *)(w->work + thread * a->work), *p = kt + a->d * ld;
    gcut_rt_share(a->batch * a->heads * blocks, 1, thread, nt, &i0, &i1);
    for (int64_t i = i0, have = -1; i < i1; i++) {
        int64_t head = i / blocks % a->heads, batch = i / blocks / a->heads;
        span x = span_of(a, batch, head, i % blocks);
        if (have != batch * a->groups + x.group) {
            NAME(turn)(a->s, a->d, (const T *)w->k + at(a->k, batch, x.group, 0), a->k[2], a->k[3], kt);
            have = batch * a->groups + x.group;
        }
        NAME(probabilities)(w, &x, kt, p, ld);
        NAME(multiply)
        (x.t1 - x.t0, a->e, x.keys, p, ld, 1, (const T *)w->v + at(a->v, batch, x.group, 0), a->v[2], a->v[3],
         0, (T *)w->y + at(a->y, batch, head, x.t0), a->y[2], a->y[3]);
    }
}

void NAME(gcut_rt_attention)(const gcut_rt_attention *a, const T *q, const T *k, const T *v, const T *bias,
                             T *y, void *work, int threads)
{
    job w = {.a = a, .q = q, .k = k, .v = v, .bias = bias, .y = y, .work = work};
    if (a->batch * a->heads * a->t > 0) gcut_rt_parallel(NAME(forward), &w, threads);
}

/* ---- backward ---- */

/* dS of a block from dP, in place; what nobody sees has none, and dbias is dS. */
static void NAME(scores)(const job *w, const span *x, const T *p, T *d, int64_t ld)
{
    const gcut_rt_attention *a = w->a;
    for (int64_t t = x->t0; t < x->t1; t++, p += ld, d += ld) {
        int64_t n = seen(a, t);
        if (n > 0)
            NAME(backward)(p, d, n, x->width);
        else
            for (int64_t c = 0; c < x->width; c++) d[c] = 0;
        T *out = w->dbias ? (T *)w->dbias + at(a->dbias, x->batch, x->head, t) : NULL;
        for (int64_t c = 0; out && c < a->s; c++) out[c * a->dbias[3]] = c < x->keys ? d[c] : 0;
        for (int64_t c = 0; c < x->width; c++) d[c] *= (T)a->scale;
    }
}

/* A thread's workspace: the keys and values of a group turned, P and dS of a block. */
typedef struct NAME(tiles) {
    int64_t ld;
    T *kt, *vt, *p, *d;
} NAME(tiles);

static void NAME(block)(const job *w, const span *x, const NAME(tiles) * s)
{
    const gcut_rt_attention *a = w->a;
    int64_t m = x->t1 - x->t0, ld = s->ld;
    const T *q = (const T *)w->q + at(a->q, x->batch, x->head, x->t0);
    const T *k = (const T *)w->k + at(a->k, x->batch, x->group, 0);
    const T *dy = (const T *)w->dy + at(a->y, x->batch, x->head, x->t0);
    NAME(probabilities)(w, x, s->kt, s->p, ld);
    if (w->dv) NAME(multiply)
    (x->keys, a->e, m, s->p, 1, ld, dy, a->y[2], a->y[3], 1, (T *)w->dv + at(a->dv, x->batch, x->group, 0),
     a->dv[2], a->dv[3]);
    if (!w->dq && !w->dk && !w->dbias) return;
    NAME(multiply)(m, x->width, a->e, dy, a->y[2], a->y[3], s->vt, ld, 1, 0, s->d, ld, 1);
    NAME(scores)(w, x, s->p, s->d, ld);
    if (w->dq) NAME(multiply)
    (m, a->d, x->keys, s->d, ld, 1, k, a->k[2], a->k[3], 0, (T *)w->dq + at(a->dq, x->batch, x->head, x->t0),
     a->dq[2], a->dq[3]);
    if (w->dk) NAME(multiply)
    (x->keys, a->d, m, s->d, 1, ld, q, a->q[2], a->q[3], 1, (T *)w->dk + at(a->dk, x->batch, x->group, 0),
     a->dk[2], a->dk[3]);
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
    int64_t blocks = gcut_rt_ceildiv(a->t, block_rows(a)), per = a->heads / a->groups, i0, i1;
    NAME(tiles) s = {.ld = padded(a->s), .kt = (T *)(w->work + thread * a->work)};
    s.vt = s.kt + a->d * s.ld;
    s.p = s.vt + a->e * s.ld;
    s.d = s.p + block_rows(a) * s.ld;
    gcut_rt_share(a->batch * a->groups, 1, thread, nt, &i0, &i1);
    for (int64_t i = i0; i < i1; i++) {
        int64_t batch = i / a->groups, group = i % a->groups;
        NAME(turn)(a->s, a->d, (const T *)w->k + at(a->k, batch, group, 0), a->k[2], a->k[3], s.kt);
        NAME(turn)(a->s, a->e, (const T *)w->v + at(a->v, batch, group, 0), a->v[2], a->v[3], s.vt);
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

#undef NAME
#undef GLUE
#undef GLUE_
#undef T
#undef TYPE
