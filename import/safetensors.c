/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 *   length of the header, u64   {"name": {"dtype": "F32", "shape": [64, 4], "data_offsets": [0, 1024]}, …}   elements
 *
 * Offsets count from the end of the header.  The tensors fill the rest of the file without gaps, in any order.
 */
#include "import/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/json_read.h"
#include "graph/ops/dtype_info.h"

#define LENGTH_BYTES 8
/* Headers of other writers are shorter than this, and one of this length describes a million tensors. */
#define HEADER_MAX ((size_t)100 << 20)
/* Elements begin at a multiple of this many bytes of the file, so that they can be used where they are mapped. */
#define ALIGNMENT 64

static const char *const dtype_names[GCUT_NDTYPES] = {
#define DTYPE(id, text, size, class, ctype, npy) #id,
#include "graph/ops/dtype.def"
#undef DTYPE
};

/* ---- reading ---- */

typedef struct reader {
    gcut_env *env;
    const char *name;
    const char *data; /* the elements */
    int64_t bytes;    /* of them */
} reader;

#define BAD(r, ...) gcut_fail((r)->env, GCUT_EIO, (gcut_place){.file = (r)->name}, NULL, __VA_ARGS__)

static void read_dtype(const gcut_jnode *v, gcut_tensor *x)
{
    const char *text = gcut_jstr(v);
    x->dtype = GCUT_NO_DTYPE;
    for (int t = 0; t < GCUT_NDTYPES; t++)
        if (!strcmp(text, dtype_names[t])) x->dtype = (gcut_dtype)t;
    if (x->dtype == GCUT_NO_DTYPE) x->foreign = text;
}

static void read_shape(const gcut_jnode *v, gcut_tensor *x)
{
    x->rank = gcut_jcount(v);
    x->n = 1;
    if (x->rank > GCUT_MAX_RANK) gcut_jfail(v, NULL, "expected at most %d sizes", GCUT_MAX_RANK);
    bool empty = false; /* a size of 0 makes it 0 elements, even if other sizes overflow */
    for (uint32_t r = 0; r < x->rank; r++) {
        x->dim[r] = gcut_jint(gcut_jat(v, r));
        if (x->dim[r] < 0) gcut_jfail(gcut_jat(v, r), NULL, "expected a size, 0 or more");
        empty |= x->dim[r] == 0;
    }
    for (uint32_t r = 0; r < x->rank && !empty; r++)
        if (__builtin_mul_overflow(x->n, x->dim[r], &x->n))
            gcut_jfail(v, NULL, "the shape has more than 2^63 elements");
    if (empty) x->n = 0;
}

/* Sets data, of which the offsets are sorted later. */
static void read_offsets(const reader *r, const gcut_jnode *v, gcut_tensor *x, int64_t at[2])
{
    if (gcut_jcount(v) != 2) gcut_jfail(v, NULL, "expected two offsets, where the tensor begins and ends");
    for (uint32_t k = 0; k < 2; k++) at[k] = gcut_jint(gcut_jat(v, k));
    if (at[0] < 0 || at[0] > at[1] || at[1] > r->bytes)
        BAD(r, "'%s': the tensor '%s' lies at the bytes %lld to %lld of the elements, which are %lld",
            r->name, x->name, (long long)at[0], (long long)at[1], (long long)r->bytes);
    x->data = r->data + at[0];
    int64_t want;
    if (x->foreign) return;
    if (__builtin_mul_overflow(x->n, (int64_t)gcut_dtype_bytes(x->dtype), &want) || want != at[1] - at[0])
        BAD(r, "'%s': the tensor '%s' has %lld bytes, but its shape and dtype %s say otherwise", r->name,
            x->name, (long long)(at[1] - at[0]), dtype_names[x->dtype]);
}

/* A tensor and where it ends. */
typedef struct stored {
    gcut_tensor x;
    int64_t begin, end;
} stored;

static int by_offset(const void *a, const void *b)
{
    const stored *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return x->end != y->end ? (x->end > y->end) - (x->end < y->end) : strcmp(x->x.name, y->x.name);
}

static stored read_tensor(const reader *r, const gcut_jnode *v)
{
    stored s = {.x = {.name = v->key}};
    int64_t at[2];
    read_dtype(gcut_jneed(v, "dtype"), &s.x);
    read_shape(gcut_jneed(v, "shape"), &s.x);
    read_offsets(r, gcut_jneed(v, "data_offsets"), &s.x, at);
    if (v->n != 3) gcut_jfail(v, NULL, "expected the keys dtype, shape and data_offsets alone");
    s.begin = at[0];
    s.end = at[1];
    return s;
}

static void read_metadata(const gcut_jnode *v)
{
    gcut_jobject(v);
    for (uint32_t i = 0; i < v->n; i++) gcut_jstr(&v->u.item[i]);
}

void gcut_safetensors_parse(gcut_arena *arena, const char *name, const void *bytes, size_t size,
                            gcut_tensors *out)
{
    reader r = {.env = gcut_arena_env(arena), .name = name};
    uint64_t length = 0;
    if (size < LENGTH_BYTES + 2) BAD(&r, "'%s' is too short for a .safetensors file", name);
    for (int k = LENGTH_BYTES; k-- > 0;) length = length << 8 | ((const unsigned char *)bytes)[k];
    if (length > size - LENGTH_BYTES)
        BAD(&r,
            "'%s' is cut short, or no .safetensors file: its header would have %llu bytes, and the file has "
            "%zu",
            name, (unsigned long long)length, size);
    if (length > HEADER_MAX)
        BAD(&r, "'%s': its header has %llu bytes; at most %zu are read", name, (unsigned long long)length,
            HEADER_MAX);
    r.data = (const char *)bytes + LENGTH_BYTES + length;
    r.bytes = (int64_t)(size - LENGTH_BYTES - length);

    const gcut_jnode *header =
        gcut_json_parse(arena, name, (const char *)bytes + LENGTH_BYTES, (size_t)length);
    gcut_jobject(header);
    gcut_arena *scratch = gcut_arena_new(r.env, arena);
    stored *s = gcut_calloc(scratch, (size_t)header->n + 1, sizeof *s);
    uint32_t n = 0;
    for (uint32_t i = 0; i < header->n; i++) {
        const gcut_jnode *v = &header->u.item[i];
        if (!strcmp(v->key, "__metadata__"))
            read_metadata(v);
        else
            s[n++] = read_tensor(&r, v);
    }
    if (n) qsort(s, n, sizeof *s, by_offset);
    int64_t end = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (s[i].begin < end)
            BAD(&r, "'%s': the tensors '%s' and '%s' overlap", name, s[i - 1].x.name, s[i].x.name);
        if (s[i].begin > end)
            BAD(&r, "'%s': the bytes %lld to %lld of the elements belong to no tensor", name, (long long)end,
                (long long)s[i].begin);
        end = s[i].end;
        *GCUT_PUSH(arena, out) = s[i].x;
    }
    if (end != r.bytes)
        BAD(&r, "'%s': the bytes %lld to %lld of the elements belong to no tensor", name, (long long)end,
            (long long)r.bytes);
    gcut_arena_free(scratch);
}

/* ---- writing ---- */

static size_t bytes_of(const gcut_tensor *x)
{
    return (size_t)x->n * (size_t)gcut_dtype_bytes(x->dtype);
}

static void add_header(gcut_json *j, const gcut_tensor *x, size_t begin)
{
    gcut_json_key_object(j, x->name);
    gcut_json_key_str(j, "dtype", dtype_names[x->dtype]);
    gcut_json_key_array(j, "shape");
    for (uint32_t r = 0; r < x->rank; r++) gcut_json_int(j, x->dim[r]);
    gcut_json_end(j);
    gcut_json_key_array(j, "data_offsets");
    gcut_json_int(j, (int64_t)begin);
    gcut_json_int(j, (int64_t)(begin + bytes_of(x)));
    gcut_json_end(j);
    gcut_json_end(j);
}

const gcut_file_part *gcut_safetensors_parts(gcut_arena *arena, const gcut_tensors *x, size_t *nparts)
{
    gcut_file_part *part = gcut_calloc(arena, (size_t)x->n + 1, sizeof *part);
    gcut_text text = {.arena = arena};
    gcut_json j = {.out = &text, .compact = true};
    size_t n = 1, at = 0;
    gcut_text_addn(&text, "\0\0\0\0\0\0\0", LENGTH_BYTES);
    gcut_json_object(&j);
    for (int width = 8; width > 0; width /= 2)
        for (uint32_t i = 0; i < x->n; i++) {
            const gcut_tensor *t = &x->at[i];
            if (gcut_dtype_bytes(t->dtype) != width) continue;
            add_header(&j, t, at);
            part[n++] = (gcut_file_part){t->data, bytes_of(t)};
            at += bytes_of(t);
        }
    gcut_json_end(&j);
    while (text.n % ALIGNMENT) gcut_text_addn(&text, " ", 1);
    for (size_t k = 0; k < LENGTH_BYTES; k++) text.at[k] = (char)((text.n - LENGTH_BYTES) >> 8 * k & 0xff);
    part[0] = (gcut_file_part){text.at, text.n};
    *nparts = n;
    return part;
}

void gcut_safetensors_write(gcut_env *env, const char *path, const gcut_tensors *x)
{
    gcut_arena *scratch = gcut_arena_new(env, env->arena);
    size_t n;
    const gcut_file_part *part = gcut_safetensors_parts(scratch, x, &n);
    gcut_file_write_parts(env, path, part, n);
    gcut_arena_free(scratch);
}
