/* SPDX-License-Identifier: MIT
 *
 * The table of a step's values: shapes, one buffer for what persists, initial contents.
 *
 * Random contents come from Philox4x32-10 (Salmon, Moraes, Dror & Shaw, "Parallel Random Numbers: As Easy as
 * 1, 2, 3", SC'11): element k of a stream is a function of (seed, stream, k) alone, so that any number of
 * threads may draw them, and gradcut's own step draws the same (tests/driver/test_value_table.c).
 *
 *   key = seed     counter = (block low, block high, stream low, stream high)
 *   block b = two 64-bit words, w0 first  ->  elements 2b and 2b + 1
 *   uniform   u = (w >> 11) 2^-53 in [0, 1)
 *   normal    r cos t and r sin t with r = sqrt(-2 log(1 - u0)), t = 2 pi u1 (Box & Muller 1958)
 *   integer   lo + floor(w (hi - lo) / 2^64)
 */
#include "gradcut/gradcut_rt.h"
#include "kernels/rt/step/values.h"

/* ---- names ---- */

const char *gcut_rt_role_name(int role)
{
    static const char *const names[] = {"param", "state", "rng", "input", "cotan", "out", "grad"};
    return role >= 0 && role < (int)(sizeof names / sizeof *names) ? names[role] : "unknown";
}

static const struct {
    const char *name;
    int64_t bytes;
} dtypes[] = {{"bool", 1}, {"i8", 1},  {"i16", 2},  {"i32", 4}, {"i64", 8},
              {"u8", 1},   {"f16", 2}, {"bf16", 2}, {"f32", 4}, {"f64", 8}};

static int is_dtype(int dtype)
{
    return dtype >= 0 && dtype < (int)(sizeof dtypes / sizeof *dtypes);
}

const char *gcut_rt_dtype_name(int dtype)
{
    return is_dtype(dtype) ? dtypes[dtype].name : "unknown";
}

int64_t gcut_rt_dtype_bytes(int dtype)
{
    return is_dtype(dtype) ? dtypes[dtype].bytes : 0;
}

/* ---- shapes ---- */

int gcut_rt_row_persists(const gcut_rt_row *r)
{
    return r->role == GCUT_RT_PARAM || r->role == GCUT_RT_STATE || r->role == GCUT_RT_RNG;
}

int64_t gcut_rt_row_dim(const gcut_rt_table *t, const void *plan, const gcut_rt_row *r, int d)
{
    return r->dim[d] < 0 ? t->size(plan, (int)(-1 - r->dim[d])) : r->dim[d];
}

int64_t gcut_rt_row_elements(const gcut_rt_table *t, const void *plan, const gcut_rt_row *r)
{
    int64_t n = 1; /* init has checked that it is below 2^48 bytes */
    for (int d = 0; d < r->rank; d++) n *= gcut_rt_row_dim(t, plan, r, d);
    return n;
}

void *gcut_rt_row_pointer(const void *io, int k)
{
    void *at; /* pointers to objects of any type look the same */
    memcpy(&at, (const char *)io + (size_t)k * sizeof at, sizeof at);
    return at;
}

int64_t gcut_rt_values(const gcut_rt_table *t, const void *plan, gcut_rt_value *v)
{
    int64_t end = 0;
    for (int k = 0; k < t->n; k++) {
        const gcut_rt_row *r = &t->row[k];
        gcut_rt_value x = {.row = r, .name = r->name, .role = r->role, .dtype = r->dtype, .rank = r->rank};
        x.contents = r->contents;
        for (int d = 0; d < r->rank; d++) x.dim[d] = gcut_rt_row_dim(t, plan, r, d);
        x.bytes = gcut_rt_row_elements(t, plan, r) * gcut_rt_dtype_bytes(r->dtype);
        x.offset = -1;
        if (gcut_rt_row_persists(r)) {
            x.offset = end;
            end += gcut_rt_ceildiv(x.bytes, 64) * 64;
        }
        if (v) v[k] = x;
    }
    return end;
}

void gcut_rt_bind(const gcut_rt_table *t, const void *plan, void *buffer, void *io)
{
    int64_t end = 0;
    for (int k = 0; k < t->n; k++) {
        const gcut_rt_row *r = &t->row[k];
        if (!gcut_rt_row_persists(r)) continue;
        void *at = (char *)buffer + end;
        memcpy((char *)io + (size_t)k * sizeof at, &at, sizeof at);
        end += gcut_rt_ceildiv(gcut_rt_row_elements(t, plan, r) * gcut_rt_dtype_bytes(r->dtype), 64) * 64;
    }
}

/* ---- random numbers ---- */

enum { DRAW_PS = 20000 }; /* of a normal number, about */

typedef struct stream {
    uint64_t seed, id;
} stream;

/* The two words of block b. */
static void block(stream s, uint64_t b, uint64_t w[2])
{
    uint32_t c0 = (uint32_t)b, c1 = (uint32_t)(b >> 32), c2 = (uint32_t)s.id, c3 = (uint32_t)(s.id >> 32);
    uint32_t k0 = (uint32_t)s.seed, k1 = (uint32_t)(s.seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = UINT64_C(0xD2511F53) * c0, p1 = UINT64_C(0xCD9E8D57) * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1, c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u, k1 += 0xBB67AE85u; /* the golden ratio, sqrt 3 - 1 */
    }
    w[0] = (uint64_t)c1 << 32 | c0;
    w[1] = (uint64_t)c3 << 32 | c2;
}

static double unit(uint64_t w)
{
    return (double)(w >> 11) * 0x1p-53;
}

/* Elements 2b and 2b + 1 of the standard normal distribution. */
static void normals(const uint64_t w[2], double x[2])
{
    static const double two_pi = 6.283185307179586;
    double r = sqrt(-2 * log(1 - unit(w[0]))), t = two_pi * unit(w[1]);
    x[0] = r * cos(t);
    x[1] = r * sin(t);
}

/* floor(w span / 2^64), from products of 32-bit halves. */
static uint64_t scaled(uint64_t w, uint64_t span)
{
    uint64_t wl = (uint32_t)w, wh = w >> 32, sl = (uint32_t)span, sh = span >> 32;
    uint64_t mid = wh * sl + (wl * sl >> 32), low = wl * sh + (uint32_t)mid;
    return wh * sh + (mid >> 32) + (low >> 32);
}

/* FNV-1a of 64 bits: the stream of a name. */
static uint64_t hash(const char *s)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *s; s++) h = (h ^ (unsigned char)*s) * UINT64_C(0x100000001b3);
    return h;
}

/* ---- contents ---- */

typedef struct filling {
    const gcut_rt_row *row;
    void *at;
    int64_t n;
    stream from;
    int64_t least; /* of integers that are drawn, */
    uint64_t span; /* and how many there are */
} filling;

static int is_float(int dtype)
{
    return dtype >= GCUT_RT_F16;
}

static void store_real(const filling *f, int64_t k, double x)
{
    switch (f->row->dtype) {
    case GCUT_RT_F16: ((uint16_t *)f->at)[k] = gcut_to_f16_f64(x); break;
    case GCUT_RT_BF16: ((uint16_t *)f->at)[k] = gcut_to_bf16_f64(x); break;
    case GCUT_RT_F32: ((float *)f->at)[k] = (float)x; break;
    case GCUT_RT_F64: ((double *)f->at)[k] = x; break;
    default: break;
    }
}

static void store_integer(const filling *f, int64_t k, int64_t x)
{
    switch (f->row->dtype) {
    case GCUT_RT_BOOL: ((uint8_t *)f->at)[k] = x != 0; break;
    case GCUT_RT_I8: ((int8_t *)f->at)[k] = (int8_t)x; break;
    case GCUT_RT_I16: ((int16_t *)f->at)[k] = (int16_t)x; break;
    case GCUT_RT_I32: ((int32_t *)f->at)[k] = (int32_t)x; break;
    case GCUT_RT_I64: ((int64_t *)f->at)[k] = x; break;
    case GCUT_RT_U8: ((uint8_t *)f->at)[k] = (uint8_t)x; break;
    default: break;
    }
}

static void store(const filling *f, int64_t k, double x)
{
    if (is_float(f->row->dtype))
        store_real(f, k, x);
    else
        store_integer(f, k, (int64_t)x);
}

/* Elements 2b and 2b + 1, the latter where it exists. */
static void draw(const filling *f, int64_t b)
{
    const gcut_rt_row *r = f->row;
    const int64_t last = 2 * b + 1 < f->n ? 1 : 0;
    uint64_t w[2];
    double x[2];
    block(f->from, (uint64_t)b, w);
    if (r->contents == GCUT_RT_UNIFORM) {
        for (int i = 0; i < 2; i++) x[i] = r->number[1] + (r->number[2] - r->number[1]) * unit(w[i]);
    } else if (is_float(r->dtype)) {
        normals(w, x);
        for (int i = 0; i < 2 && r->contents == GCUT_RT_NORMAL; i++) x[i] *= r->number[1];
    } else {
        for (int64_t i = 0; i <= last; i++)
            store_integer(f, 2 * b + i, (int64_t)((uint64_t)f->least + scaled(w[i], f->span)));
        return;
    }
    for (int64_t i = 0; i <= last; i++) store_real(f, 2 * b + i, x[i]);
}

static void fill(void *arg, int t, int nt)
{
    const filling *const f = arg;
    const gcut_rt_row *r = f->row;
    int64_t k, end;
    int drawn =
        r->contents == GCUT_RT_NORMAL || r->contents == GCUT_RT_UNIFORM || r->contents == GCUT_RT_DRAWN;
    gcut_rt_share(drawn ? gcut_rt_ceildiv(f->n, 2) : f->n, 64, t, nt, &k, &end);
    for (; k < end; k++)
        if (drawn)
            draw(f, k);
        else
            store(f, k, r->contents == GCUT_RT_DENSE ? r->list[k] : r->number[0]);
}

static int64_t integer_of(double x)
{
    return x >= 0x1p63 ? INT64_MAX : x <= -0x1p63 ? INT64_MIN : (int64_t)x;
}

/* The integers lo <= i < hi that the dtype can hold. */
static void find_span(filling *f)
{
    const int dtype = f->row->dtype, bits = 8 * (int)gcut_rt_dtype_bytes(dtype);
    const int is_signed = dtype != GCUT_RT_U8 && dtype != GCUT_RT_BOOL;
    int64_t most = dtype == GCUT_RT_BOOL ? 1 : INT64_MAX >> (64 - bits - !is_signed);
    const int64_t least = is_signed ? -most - 1 : 0;
    int64_t lo = integer_of(f->row->number[0]);
    const int64_t hi = integer_of(f->row->number[1]);
    if (lo < least) lo = least;
    if (hi <= most) most = hi - 1;
    if (lo > most) lo = most;
    f->least = lo;
    f->span = (uint64_t)most - (uint64_t)lo + 1;
}

gcut_rt_status gcut_rt_init_values(const gcut_rt_table *t, const void *plan, const void *io, uint64_t seed,
                                   gcut_rt_error *err)
{
    const gcut_rt_row *file = NULL;
    for (int k = 0; k < t->n; k++) {
        const gcut_rt_row *r = &t->row[k];
        filling f = {.row = r, .at = gcut_rt_row_pointer(io, k), .n = gcut_rt_row_elements(t, plan, r)};
        if (!gcut_rt_row_persists(r) || !f.at) continue;
        if (r->contents == GCUT_RT_FILE) {
            if (!file) file = r;
            continue;
        }
        if (r->contents == GCUT_RT_DRAWN)
            f.from = (stream){seed, hash(r->name)};
        else
            f.from = (stream){(uint64_t)r->number[0], 0};
        if (r->contents == GCUT_RT_DRAWN && !is_float(r->dtype)) find_span(&f);
        gcut_rt_parallel(
            fill, &f, gcut_rt_threads_worth(((const gcut_rt_plan *)plan)->threads, f.n, DRAW_PS, INT64_MAX));
    }
    return file ? gcut_rt_fail(err, GCUT_RT_EFILE, file->name, file->file, 0, 0, 0) : GCUT_RT_OK;
}

gcut_rt_status gcut_rt_expect_abi(int abi, gcut_rt_error *err)
{
    if (abi == GCUT_RT_ABI) return GCUT_RT_OK;
    return gcut_rt_fail(err, GCUT_RT_EVERSION, "gradcut_rt", "", abi, GCUT_RT_ABI, GCUT_RT_ABI + 1);
}
