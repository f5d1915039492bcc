/* SPDX-License-Identifier: MIT
 *
 * macro.c for one element type: T the type, TYPE its suffix.
 */

#include "kernels/rt/glue.h"

#define NAME(x) GLUE(x, TYPE)

/* A product in the orientation of the micro-kernel: C [m, n] = S [m, k] V [k, n], for the columns and rows of
 * the caller's C that begin at i0 and j0. */
typedef struct NAME(problem) {
    const gcut_rt_macro *g;
    const T *s, *v;
    T *c;
    int64_t m, n, i0, j0;
    int64_t ss, sk, vs, vk, ci, cj; /* strides: along the rows of C and k, the columns of C and k, C's own */
    int turned;
    blocks b;
} NAME(problem);

/* One block of C through a buffer: its edge, or a C that the micro-kernel does not write to at once. */
static void NAME(partial)(const NAME(problem) * p, int64_t k, const T *s, const T *v, int add, T *c,
                          int64_t m, int64_t n)
{
    _Alignas(64) T part[PART_BYTES / sizeof(T)];
    const int64_t ld = p->b.micro.v;
    NAME(gcut_rt_micro_run)(k, s, v, 0, part, ld, s, v);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            T *o = c + i * p->ci + j * p->cj, x = part[i * ld + j];
            *o = add ? *o + x : x;
        }
}

/* Rows i0..i1 and columns j0..j1, in the orientation of the micro-kernel, are complete. */
static void NAME(complete)(const NAME(problem) * p, int64_t i0, int64_t i1, int64_t j0, int64_t j1)
{
    const gcut_rt_macro *g = p->g;
    i0 += p->i0, i1 += p->i0, j0 += p->j0, j1 += p->j0;
    if (p->turned)
        g->tile(g->arg, g->thread, j0, j1, i0, i1);
    else
        g->tile(g->arg, g->thread, i0, i1, j0, j1);
}

/* Part `part` of `parts` of a panel will be in the second-level cache soon: panels of S come from the last
 * one, and each is read only once per sweep, too late to wait for it then. */
static inline void NAME(announce)(const T *panel, int64_t n, int64_t part, int64_t parts)
{
    const int64_t line = 64 / (int64_t)sizeof(T), lines = gcut_rt_ceildiv(n, line);
    for (int64_t i = lines * part / parts; i < lines * (part + 1) / parts; i++)
        __builtin_prefetch(panel + i * line, 0, 2);
}

/* One step of k over rows i0..i1 and columns j0..j1; `last`: the block is complete with it. */
static void NAME(sweep)(const NAME(problem) * p, int64_t k, const T *s, const T *v, int add, int64_t i0,
                        int64_t i1, int64_t j0, int64_t j1, int last)
{
    const gcut_rt_micro *u = &p->b.micro;
    const int64_t panels = gcut_rt_ceildiv(j1 - j0, u->v);
    int64_t done = i0;
    for (int64_t i = i0; i < i1; i += u->s, s += u->lds * k) {
        const int64_t m = gcut_rt_min(u->s, i1 - i);
        const T *panel = v;
        for (int64_t j = j0; j < j1; j += u->v, panel += u->ldv * k) {
            const int64_t n = gcut_rt_min(u->v, j1 - j);
            T *c = p->c + i * p->ci + j * p->cj;
            if (i + u->s < i1) NAME(announce)(s + u->lds * k, u->lds * k, (j - j0) / u->v, panels);
            if (m < u->s || n < u->v || p->cj != 1)
                NAME(partial)(p, k, s, panel, add, c, m, n);
            else
                NAME(gcut_rt_micro_run)(k, s, panel, add, c, p->ci, s, panel + u->ldv * k);
        }
        if (last && (i + m == i1 || i + m - done >= p->b.tile)) {
            NAME(complete)(p, done, i + m, j0, j1);
            done = i + m;
        }
    }
}

/* Rows i0..i1 of C. */
static void NAME(stripe)(const NAME(problem) * p, T *spack, T *vpack, int64_t i0, int64_t i1)
{
    const blocks *b = &p->b;
    const int64_t k = p->g->k, group = b->kc * b->steps;
    const int tiles = p->g->tile && !p->g->whole_rows;
    for (int64_t p0 = 0; p0 < k; p0 += group) {
        const int64_t p1 = gcut_rt_min(p0 + group, k);
        const int64_t per_step = panel_elements(i1 - i0, b->micro.s, b->micro.lds, 1);
        for (int64_t q = p0; q < p1; q += b->kc) NAME(gcut_rt_pack)
        (i1 - i0, gcut_rt_min(b->kc, p1 - q), p->s + i0 * p->ss + q * p->sk, p->ss, p->sk, b->micro.s,
         b->micro.lds, spack + (q - p0) * per_step);
        for (int64_t j = 0; j < p->n; j += b->nb) {
            const int64_t j1 = gcut_rt_min(j + b->nb, p->n);
            for (int64_t q = p0; q < p1; q += b->kc) {
                const int64_t kc = gcut_rt_min(b->kc, p1 - q);
                NAME(gcut_rt_pack)
                (j1 - j, kc, p->v + j * p->vs + q * p->vk, p->vs, p->vk, b->micro.v, b->micro.ldv, vpack);
                NAME(sweep)
                (p, kc, spack + (q - p0) * per_step, vpack, p->g->add || q > 0, i0, i1, j, j1,
                 tiles && q + kc == k);
            }
        }
    }
}

static NAME(problem) NAME(orient)(const gcut_rt_macro *g, const T *a, const T *b, T *c)
{
    const T *s = a + g->m0 * g->rsa, *v = b + g->n0 * g->csb;
    T *o = c + g->m0 * g->rsc + g->n0 * g->csc;
    const int64_t m = g->m1 - g->m0, n = g->n1 - g->n0;
    if (g->csc == 1 || g->rsc != 1)
        return (NAME(problem)){g,      s,      v,      o,      m,      n,      g->m0, g->n0,
                               g->rsa, g->csa, g->csb, g->rsb, g->rsc, g->csc, 0,     {.kc = 0}};
    return (NAME(problem)){g,      v,      s,      o,      n,      m,      g->n0, g->m0,
                           g->csb, g->rsb, g->rsa, g->csa, g->csc, g->rsc, 1,     {.kc = 0}};
}

void NAME(gcut_rt_macro)(const gcut_rt_macro *g, const T *a, const T *b, T *c)
{
    NAME(problem) p = NAME(orient)(g, a, b, c);
    if (p.m <= 0 || p.n <= 0) return;
    p.b = cut(NAME(gcut_rt_micro)(), p.m, p.n, g->k, g->whole_rows && !p.turned, (int64_t)sizeof(T));
    const int64_t want = packed_s(&p.b) + packed_v(&p.b);
    gcut_rt_workspace w = gcut_rt_borrow((size_t)want * sizeof(T));
    if (w.bytes < (size_t)want * sizeof(T)) shrink(&p.b);
    T *spack = w.at, *vpack = spack + packed_s(&p.b);
    for (int64_t i = 0; i < p.m; i += p.b.mb) {
        const int64_t i1 = gcut_rt_min(i + p.b.mb, p.m);
        NAME(stripe)(&p, spack, vpack, i, i1);
        if (g->tile && g->whole_rows && !p.turned)
            g->tile(g->arg, g->thread, g->m0 + i, g->m0 + i1, g->n0, g->n1);
    }
    gcut_rt_give_back(w);
    /* Its rows are the columns here: they are complete when everything is. */
    if (g->tile && g->whole_rows && p.turned) g->tile(g->arg, g->thread, g->m0, g->m1, g->n0, g->n1);
}

gcut_rt_grain NAME(gcut_rt_macro_grain)(int row_major_c)
{
    const gcut_rt_micro u = NAME(gcut_rt_micro)();
    return row_major_c ? (gcut_rt_grain){u.s, u.v} : (gcut_rt_grain){u.v, u.s};
}

#undef NAME
#undef T
#undef TYPE
