/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A .npy file is  "\x93NUMPY"  major minor  header length (u16, from version 2
 * on u32)  a Python dict literal  the elements.  Only the dict that NumPy
 * writes is read: its three keys, in any order, each once.
 */
#include "import/npy.h"

#include <stdio.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "elements are copied as they are in memory");

static const struct {
    const char *descr;
    size_t bytes;
} formats[GCUT_NDTYPES] = {
#define DTYPE(id, text, size, class, ctype, npy) {npy, size},
#include "graph/ops/dtype.def"
#undef DTYPE
};

/* ---- the header ---- */

/* at..end is what is left of the header. */
typedef struct reader {
    gcut_env *env;
    gcut_arena *arena;
    const char *name, *at, *end;
    gcut_tensor out;
    bool fortran;
} reader;

/* What `foreign` is where the descr is a list of fields. */
static const char structured[] = "struct";

#define BAD(s, status, ...) gcut_fail((s)->env, status, (gcut_place){.file = (s)->name}, NULL, __VA_ARGS__)

static bool accept(reader *s, char c)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\n' || *s->at == '\t')) s->at++;
    if (s->at == s->end || *s->at != c) return false;
    s->at++;
    return true;
}

static void expect(reader *s, char c)
{
    if (!accept(s, c))
        BAD(s, GCUT_EIO, "'%s' is not a readable .npy file: its header lacks a '%c'", s->name, c);
}

/* Reads a quoted string without escapes into buf; longer strings are not valid in this header. */
static void read_string(reader *s, char *buf, size_t room)
{
    char quote = '\'';
    size_t n = 0;
    if (!accept(s, quote)) expect(s, quote = '"');
    while (s->at < s->end && *s->at != quote && n + 1 < room) buf[n++] = *s->at++;
    buf[n] = '\0';
    expect(s, quote);
}

/* Goes to the comma or brace after a value of another type than a string; strings in it have no escapes. */
static void skip_value(reader *s)
{
    char quote = '\0';
    for (int depth = 0; s->at < s->end; s->at++) {
        const char c = *s->at;
        if (quote) {
            if (c == quote) quote = '\0';
        } else if (c == '\'' || c == '"') {
            quote = c;
        } else if (c == '[' || c == '(' || c == '{') {
            depth++;
        } else if (depth == 0 && (c == ',' || c == '}')) {
            return;
        } else if (c == ']' || c == ')' || c == '}') {
            depth--;
        }
    }
}

static void read_descr(reader *s)
{
    char descr[16];
    accept(s, ' ');
    s->out.dtype = GCUT_NO_DTYPE;
    if (s->at < s->end && *s->at != '\'' && *s->at != '"') {
        skip_value(s);
        s->out.foreign = structured;
        return;
    }
    read_string(s, descr, sizeof descr);
    for (int t = 0; t < GCUT_NDTYPES; t++) {
        const char *want = formats[t].descr;
        bool same = strcmp(want, descr) == 0;
        /* The byte order of single bytes does not matter. */
        if (*want && formats[t].bytes == 1 && strcmp(want + 1, descr + (*descr != '\0')) == 0) same = true;
        if (!same || !*descr) continue;
        s->out.dtype = (gcut_dtype)t;
        return;
    }
    s->out.foreign = gcut_strndup(
        s->arena, descr, strspn(descr, "<>=|abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"));
}

static _Noreturn void refuse_foreign(const reader *s)
{
    if (s->out.foreign == structured)
        BAD(s, GCUT_ETYPE,
            "'%s': the .npy header holds something else than a plain dtype; structured dtypes are not "
            "supported",
            s->name);
    gcut_fail(s->env, GCUT_ETYPE, (gcut_place){.file = s->name},
              "convert it in Python, for example with x.astype('<f4'); supported are little-endian "
              "b1 i1 i2 i4 i8 u1 f2 f4 f8",
              "'%s' holds elements of dtype '%s', which gradcut does not have", s->name, s->out.foreign);
}

static void read_order(reader *s)
{
    static const char *const words[] = {"False", "True"};
    accept(s, ' ');
    for (int k = 0; k < 2; k++) {
        size_t n = strlen(words[k]);
        if ((size_t)(s->end - s->at) < n || memcmp(s->at, words[k], n) != 0) continue;
        s->at += n;
        s->fortran = k == 1;
        return;
    }
    BAD(s, GCUT_EIO, "'%s' is not a readable .npy file: fortran_order is neither True nor False", s->name);
}

static int64_t read_size(reader *s)
{
    int64_t n = 0;
    const char *begin = s->at;
    for (; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++)
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *s->at - '0', &n))
            BAD(s, GCUT_EIO, "'%s': a size in its .npy header is beyond 2^63", s->name);
    if (s->at == begin) BAD(s, GCUT_EIO, "'%s' is not a readable .npy file: its shape is malformed", s->name);
    return n;
}

/* (), (3,), (3, 4) or (3, 4, ) */
static void read_shape(reader *s)
{
    s->out.rank = 0;
    expect(s, '(');
    while (!accept(s, ')')) {
        if (s->out.rank == GCUT_MAX_RANK)
            BAD(s, GCUT_ETYPE, "'%s' has more than %d axes", s->name, GCUT_MAX_RANK);
        s->out.dim[s->out.rank++] = read_size(s);
        if (accept(s, ')')) return;
        expect(s, ',');
        accept(s, ' ');
    }
}

static void read_header(reader *s)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    static void (*const readers[])(reader *) = {read_descr, read_order, read_shape};
    unsigned seen = 0;
    char key[16];
    expect(s, '{');
    while (!accept(s, '}')) {
        int k = 0;
        read_string(s, key, sizeof key);
        while (k < 3 && strcmp(keys[k], key) != 0) k++;
        if (k == 3 || seen >> k & 1)
            BAD(s, GCUT_EIO, "'%s' is not a readable .npy file: its header has an unknown or repeated key",
                s->name);
        seen |= 1u << k;
        expect(s, ':');
        accept(s, ' ');
        readers[k](s);
        if (accept(s, '}')) break;
        expect(s, ',');
    }
    if (seen != 7)
        BAD(s, GCUT_EIO, "'%s' is not a readable .npy file: its header lacks descr, fortran_order or shape",
            s->name);
}

/* The number of elements, or, of a dtype that gradcut does not have, the product of the sizes; a size of 0 makes it 0,
 * even if other sizes overflow. */
static size_t count(reader *s)
{
    const uint64_t item = s->out.foreign ? 1 : formats[s->out.dtype].bytes;
    uint64_t bytes = item;
    for (uint32_t r = 0; r < s->out.rank; r++)
        if (s->out.dim[r] == 0) return 0;
    for (uint32_t r = 0; r < s->out.rank; r++)
        if (__builtin_mul_overflow(bytes, (uint64_t)s->out.dim[r], &bytes) || bytes > INT64_MAX)
            BAD(s, GCUT_EIO, "'%s': the shape in its .npy header is larger than any file", s->name);
    return (size_t)(bytes / item);
}

size_t gcut_npy_head_size(gcut_env *env, const char *name, const void *bytes, size_t size)
{
    const char *p = bytes;
    const reader s = {.env = env, .name = name};
    if (size < 10 || memcmp(p, "\x93NUMPY", 6) != 0) BAD(&s, GCUT_EIO, "'%s' is not a .npy file", name);
    const int major = p[6];
    const size_t start = major == 1 ? 10 : 12;
    size_t length = 0;
    if (major < 1 || major > 3)
        BAD(&s, GCUT_EIO, "'%s' is a .npy file of version %d; 1 to 3 are supported", name, major);
    for (size_t k = start; k-- > 8;) length = length << 8 | (k < size ? (unsigned char)p[k] : 0);
    if (size < start || length > size - start)
        BAD(&s, GCUT_EIO, "'%s' is cut short: the file ends inside of the .npy header", name);
    return start + length;
}

gcut_npy_head gcut_npy_read_head(gcut_arena *arena, const char *name, const void *head, size_t n, size_t size)
{
    const char *p = head;
    reader s = {.env = gcut_arena_env(arena), .arena = arena, .name = name, .end = p + n};
    s.at = p + (p[6] == 1 ? 10 : 12);
    read_header(&s);
    const size_t elements = count(&s), have = size - n;
    const size_t want = s.out.foreign ? have : elements * formats[s.out.dtype].bytes;
    if (have != want)
        BAD(&s, GCUT_EIO, "'%s': its header promises %zu bytes of elements, the file holds %zu", name, want,
            have);
    s.out.n = (int64_t)elements;
    return (gcut_npy_head){.x = s.out, .size = n, .fortran = s.fortran && s.out.rank > 1};
}

/* ---- the elements ---- */

/* Column-major data in row-major order. */
static const void *to_row_major(gcut_arena *arena, const gcut_tensor *x, const char *data)
{
    size_t item = formats[x->dtype].bytes;
    char *out = gcut_alloc(arena, (size_t)x->n * item + 1);
    for (int64_t k = 0; k < x->n; k++) {
        int64_t rest = k, from = 0, at[GCUT_MAX_RANK];
        for (uint32_t r = x->rank; r-- > 0; rest /= x->dim[r]) at[r] = rest % x->dim[r];
        for (uint32_t r = x->rank; r-- > 0;) from = from * x->dim[r] + at[r];
        memcpy(out + (size_t)k * item, data + (size_t)from * item, item);
    }
    return out;
}

/* Kernels use a bool as the number 0 or 1; NumPy writes only these bytes, though it reads any other as
 * true. */
static void check_bools(const reader *s, gcut_arena *arena)
{
    const gcut_tensor *x = &s->out;
    const unsigned char *at = x->data;
    int64_t k = 0, index[GCUT_MAX_RANK];
    while (k < x->n && at[k] <= 1) k++;
    if (k == x->n) return;
    unsigned found = at[k];
    for (uint32_t r = x->rank; r-- > 0; k /= x->dim[r]) index[r] = k % x->dim[r];
    gcut_text where = {.arena = arena};
    for (uint32_t r = 0; r < x->rank; r++) gcut_text_add(&where, r ? ", %lld" : "%lld", (long long)index[r]);
    gcut_fail(s->env, GCUT_ETYPE, (gcut_place){.file = s->name}, "in Python: x.view('u1') != 0",
              "'%s' holds bools, but its element [%s] is the byte %u, neither 0 nor 1", s->name,
              x->rank ? where.at : "", found);
}

const void *gcut_npy_elements(gcut_arena *arena, const char *name, const gcut_npy_head *head, const void *at)
{
    reader s = {.env = gcut_arena_env(arena), .arena = arena, .name = name, .out = head->x};
    if (s.out.foreign) refuse_foreign(&s);
    s.out.data = head->fortran ? to_row_major(arena, &s.out, at) : at;
    if (s.out.dtype == GCUT_BOOL) check_bools(&s, arena);
    return s.out.data;
}

gcut_tensor gcut_npy_parse(gcut_arena *arena, const char *name, const void *bytes, size_t size)
{
    const size_t n = gcut_npy_head_size(gcut_arena_env(arena), name, bytes, size);
    gcut_npy_head head = gcut_npy_read_head(arena, name, bytes, n, size);
    head.x.data = gcut_npy_elements(arena, name, &head, (const char *)bytes + n);
    return head.x;
}

gcut_tensor gcut_npy_read(gcut_arena *arena, const char *path)
{
    const gcut_file_bytes f = gcut_file_map(arena, path);
    return gcut_npy_parse(arena, path, f.at, f.n);
}

/* ---- writing ---- */

bool gcut_npy_has(gcut_dtype t)
{
    return *formats[t].descr != '\0';
}

/* Elements start at a multiple of 64, as NumPy's own files do, so that they can be mapped. */
gcut_file_part gcut_npy_new_head(gcut_arena *arena, const gcut_tensor *x)
{
    gcut_text head = {.arena = arena};
    gcut_text_addn(&head, "\x93NUMPY\x01\x00\x00\x00", 10);
    gcut_text_add(&head, "{'descr': '%s', 'fortran_order': False, 'shape': (", formats[x->dtype].descr);
    for (uint32_t r = 0; r < x->rank; r++) gcut_text_add(&head, r ? " %lld," : "%lld,", (long long)x->dim[r]);
    if (x->rank > 1) head.n--; /* only a tuple of one keeps its comma */
    gcut_text_addn(&head, "), }", 4);
    while (head.n % 64 != 63) gcut_text_addn(&head, " ", 1);
    gcut_text_addn(&head, "\n", 1);
    head.at[8] = (char)((head.n - 10) & 0xff);
    head.at[9] = (char)((head.n - 10) >> 8);
    return (gcut_file_part){head.at, head.n};
}

void gcut_npy_write(gcut_env *env, const char *path, const gcut_tensor *x)
{
    if (!gcut_npy_has(x->dtype))
        gcut_fail(env, GCUT_ETYPE, (gcut_place){.file = path}, "cast it to f32 first",
                  "cannot write '%s': .npy has no descriptor for %s", path, gcut_dtype_name(x->dtype));
    gcut_arena *scratch = gcut_arena_new(env, env->arena);
    const gcut_file_part part[] = {gcut_npy_new_head(scratch, x),
                                   {x->data, (size_t)x->n * formats[x->dtype].bytes}};
    gcut_file_write_parts(env, path, part, 2);
    gcut_arena_free(scratch);
}
