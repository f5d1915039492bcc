/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Concrete values of `data` declarations and of unbound inputs.
 */
#include "interp/initial_values.h"

#include <math.h>
#include <string.h>

#include "interp/eval.h"

/* ---- the generator ---- */

void gcut_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3], k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = UINT64_C(0xD2511F53) * c0, p1 = UINT64_C(0xCD9E8D57) * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u; /* the golden ratio */
        k1 += 0xBB67AE85u; /* sqrt 3 - 1 */
    }
    out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

typedef struct stream {
    uint64_t seed, id;
} stream;

/* The two words of block b. */
static void block(stream s, uint64_t b, uint64_t w[2])
{
    uint32_t counter[] = {(uint32_t)b, (uint32_t)(b >> 32), (uint32_t)s.id, (uint32_t)(s.id >> 32)};
    uint32_t key[] = {(uint32_t)s.seed, (uint32_t)(s.seed >> 32)}, out[4];
    gcut_philox(counter, key, out);
    w[0] = (uint64_t)out[1] << 32 | out[0];
    w[1] = (uint64_t)out[3] << 32 | out[2];
}

static uint64_t word(stream s, int64_t k)
{
    uint64_t w[2];
    block(s, (uint64_t)k / 2, w);
    return w[k % 2];
}

static double unit(uint64_t w)
{
    return (double)(w >> 11) * 0x1p-53;
}

static double normal(stream s, int64_t k)
{
    uint64_t w[2];
    block(s, (uint64_t)k / 2, w);
    double r = sqrt(-2 * log(1 - unit(w[0]))), t = 2 * M_PI * unit(w[1]);
    return r * (k % 2 == 0 ? cos(t) : sin(t));
}

/* floor(w span / 2^64): the high word of the product, from 32-bit halves. */
static uint64_t scale(uint64_t w, uint64_t span)
{
    uint64_t wl = (uint32_t)w, wh = w >> 32, sl = (uint32_t)span, sh = span >> 32;
    uint64_t mid = wh * sl + (wl * sl >> 32), low = wl * sh + (uint32_t)mid;
    return wh * sh + (mid >> 32) + (low >> 32);
}

/* FNV-1a, 64 bits (Fowler, Noll & Vo). */
static uint64_t hash(const char *s)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *s; s++) h = (h ^ (unsigned char)*s) * UINT64_C(0x100000001b3);
    return h;
}

/* ---- data declarations ---- */

#define BAD(m, status, ...) gcut_fail((m)->env, status, (gcut_place){.file = (m)->file}, NULL, __VA_ARGS__)

/* Sets element k to x, which must be exactly representable in an integer dtype. */
static void set(const gcut_module *m, const gcut_data *d, gcut_array *out, int64_t k, double x)
{
    if (gcut_dtype_is_float(out->dtype)) {
        out->u.f[k] = gcut_round_to(x, out->dtype);
        return;
    }
    out->u.i[k] = gcut_eval_truncate(x, out->dtype);
    if ((double)out->u.i[k] != x)
        BAD(m, GCUT_ETYPE, "data @%s: %.17g is no value of %s", d->name, x, gcut_dtype_name(out->dtype));
}

static void need(const gcut_module *m, const gcut_data *d, uint32_t nums, const char *form)
{
    if (d->nnums != nums)
        BAD(m, GCUT_ETYPE, "data @%s: expected %s, found %u numbers", d->name, form, (unsigned)d->nnums);
}

static void fill_random(const gcut_module *m, const gcut_data *d, gcut_array *out)
{
    bool is_normal = d->kind == GCUT_DATA_normal;
    need(m, d, is_normal ? 2 : 3, is_normal ? "normal(seed, std)" : "uniform(seed, lo, hi)");
    if (!gcut_dtype_is_float(out->dtype))
        BAD(m, GCUT_ETYPE, "data @%s: %s gives floats, not %s", d->name, gcut_data_kind_name(d->kind),
            gcut_dtype_name(out->dtype));
    double seed = d->nums[0];
    if (seed != floor(seed) || seed < 0 || seed > 0x1p53)
        BAD(m, GCUT_ETYPE, "data @%s: the seed must be an integer from 0 to 2^53, not %.17g", d->name, seed);
    stream s = {(uint64_t)seed, 0};
    for (int64_t k = 0; k < out->n; k++)
        out->u.f[k] = gcut_round_to(is_normal ? d->nums[1] * normal(s, k)
                                              : d->nums[1] + (d->nums[2] - d->nums[1]) * unit(word(s, k)),
                                    out->dtype);
}

gcut_array gcut_data_array(gcut_arena *arena, const gcut_module *m, const gcut_data *d, const int64_t *dims)
{
    GCUT_ASSERT(d->kind != GCUT_DATA_file);
    gcut_array out = gcut_array_new(arena, d->type.dtype, d->type.rank, dims);
    if (d->kind == GCUT_DATA_splat) {
        need(m, d, 1, "splat(x)");
        for (int64_t k = 0; k < out.n; k++) set(m, d, &out, k, d->nums[0]);
    } else if (d->kind == GCUT_DATA_dense) {
        if (d->nnums != out.n)
            BAD(m, GCUT_ETYPE, "data @%s: %u numbers for %lld elements", d->name, (unsigned)d->nnums,
                (long long)out.n);
        for (int64_t k = 0; k < out.n; k++) set(m, d, &out, k, d->nums[k]);
    } else {
        fill_random(m, d, &out);
    }
    return out;
}

/* ---- unbound inputs ---- */

gcut_array gcut_random_array(gcut_arena *arena, gcut_dtype t, uint32_t rank, const int64_t *dims,
                             uint64_t seed, const char *name, int64_t lo, int64_t hi)
{
    gcut_array out = gcut_array_new(arena, t, rank, dims);
    stream s = {seed, hash(name)};
    if (gcut_dtype_is_float(t)) {
        for (int64_t k = 0; k < out.n; k++) out.u.f[k] = gcut_round_to(normal(s, k), t);
        return out;
    }
    int64_t least, most;
    gcut_dtype_bounds(t, &least, &most);
    if (lo < least) lo = least;
    if (lo >= hi || lo > most)
        gcut_fail(gcut_arena_env(arena), GCUT_EUSAGE, (gcut_place){0}, NULL,
                  "no %s is in the range [%lld, %lld) asked for '%s'", gcut_dtype_name(t), (long long)lo,
                  (long long)hi, name);
    if (hi <= most) most = hi - 1;
    uint64_t span = (uint64_t)most - (uint64_t)lo + 1; /* not 0: at least 2^63 - 1 itself is left out */
    for (int64_t k = 0; k < out.n; k++) out.u.i[k] = (int64_t)((uint64_t)lo + scale(word(s, k), span));
    return out;
}
