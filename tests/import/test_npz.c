/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * .npz files: what is written is read as it was; archives as other writers make them, stored, deflated and zip64; archives
 * that are refused, with a sentence for each reason and in little memory; and every refused request for memory.
 */
#include <unistd.h>

#include "file_job.h"
#include "harness.h"

#include "graph/ops/dtype_info.h"
#include "import/npz.h"

FILE_FIXTURE("m.npz")

static void load_body(void *arg)
{
    job *j = arg;
    read_body(j);
    gcut_tensor_load(j->file, gcut_tensor_get(j->env, j->file, j->name));
}

static void write_body(void *arg)
{
    job *j = arg;
    gcut_tensors_write(j->env, j->path, &j->tensors);
}

/* ---- archives ---- */

typedef struct member {
    const char *name, *at; /* the bytes in the archive, n of them */
    size_t n;
    size_t size;   /* of the contents; 0: n */
    unsigned crc;  /* of the contents; 0: that of the bytes */
    int method;    /* of compression */
    int flags;     /* 1: encrypted */
    bool zip64;    /* sizes and offset in the extra fields */
    bool at_first; /* its directory entry is of the bytes of the first member */
    size_t skip;   /* bytes of the archive that are not written */
} member;

static unsigned crc_of(const char *at, size_t n)
{
    unsigned crc = ~0u;
    for (size_t i = 0; i < n; i++) {
        crc ^= (unsigned char)at[i];
        for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static void add(gcut_text *t, int bytes, uint64_t x)
{
    for (int k = 0; k < bytes; k++) gcut_text_addn(t, &(char){(char)(x >> 8 * k & 0xff)}, 1);
}

/* What the local header and the entry of the directory share; the extra field has 20 bytes, or 28 in the directory. */
static void add_header(gcut_text *t, const member *x, bool directory)
{
    add(t, 2, 20);
    add(t, 2, (uint64_t)x->flags);
    add(t, 2, (uint64_t)x->method);
    add(t, 4, 0x21u << 16);
    add(t, 4, x->crc ? x->crc : crc_of(x->at, x->n));
    add(t, 4, x->zip64 ? ~0u : x->n);
    add(t, 4, x->zip64 ? ~0u : x->size ? x->size : x->n);
    add(t, 2, strlen(x->name));
    add(t, 2, x->zip64 ? (directory ? 28 : 20) : 0);
}

static void add_extra(gcut_text *t, const member *x, const size_t *offset)
{
    if (!x->zip64) return;
    add(t, 2, 1);
    add(t, 2, offset ? 24 : 16);
    add(t, 8, x->size ? x->size : x->n);
    add(t, 8, x->n);
    if (offset) add(t, 8, *offset);
}

static void make(job *j, const member *x, size_t n)
{
    gcut_text t = {.arena = j->a};
    size_t at[8] = {0};
    bool zip64 = false;
    assert_true(n <= 8);
    for (size_t i = 0; i < n; i++) {
        zip64 |= x[i].zip64;
        at[i] = x[i].at_first ? at[0] : t.n;
        if (x[i].at_first) continue;
        add(&t, 4, 0x04034b50);
        add_header(&t, &x[i], false);
        gcut_text_addn(&t, x[i].name, strlen(x[i].name));
        add_extra(&t, &x[i], NULL);
        gcut_text_addn(&t, x[i].at, x[i].n - x[i].skip);
    }
    const size_t directory = t.n;
    for (size_t i = 0; i < n; i++) {
        add(&t, 4, 0x02014b50);
        add(&t, 2, 20);
        add_header(&t, &x[i], true);
        add(&t, 8, 0);
        add(&t, 2, 0);
        add(&t, 4, x[i].zip64 ? ~0u : at[i]);
        gcut_text_addn(&t, x[i].name, strlen(x[i].name));
        add_extra(&t, &x[i], &at[i]);
    }
    const size_t end = t.n;
    if (zip64) {
        add(&t, 4, 0x06064b50);
        add(&t, 8, 44);
        add(&t, 4, 45 << 16 | 45);
        add(&t, 8, 0);
        for (int k = 0; k < 2; k++) add(&t, 8, n);
        add(&t, 8, end - directory);
        add(&t, 8, directory);
        add(&t, 4, 0x07064b50);
        add(&t, 4, 0);
        add(&t, 8, end);
        add(&t, 4, 1);
    }
    add(&t, 4, 0x06054b50);
    add(&t, 4, 0);
    for (int k = 0; k < 2; k++) add(&t, 2, zip64 ? 0xffff : n);
    add(&t, 4, zip64 ? ~0u : end - directory);
    add(&t, 4, zip64 ? ~0u : directory);
    add(&t, 2, 0);
    j->bytes = t.at;
    j->size = t.n;
}

/* The bytes k % 251 of n elements bytes after a header. */
static gcut_text npy(job *j, const char *header, size_t n)
{
    gcut_text t = {.arena = j->a};
    gcut_text_addn(&t, "\x93NUMPY\1\0", 8);
    add(&t, 2, strlen(header));
    gcut_text_addn(&t, header, strlen(header));
    for (size_t k = 0; k < n; k++) gcut_text_addn(&t, &(char){(char)(k % 251)}, 1);
    return t;
}

#define HEADER(descr, order, shape) "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape ", }\n"

/* As deflate: blocks that are not compressed. */
static gcut_text in_blocks(job *j, const gcut_text *x)
{
    gcut_text t = {.arena = j->a};
    for (size_t at = 0, n; at < x->n; at += n) {
        n = x->n - at < 65535 ? x->n - at : 65535;
        add(&t, 1, at + n == x->n);
        add(&t, 2, n);
        add(&t, 2, ~n & 0xffff);
        gcut_text_addn(&t, x->at + at, n);
    }
    return t;
}

/* As deflate: x in blocks, and then n * 258 copies of its last byte in one block of matches. */
static gcut_text with_matches(job *j, const gcut_text *x, size_t n)
{
    gcut_text t = in_blocks(j, x);
    t.at[0] = 0; /* not the last block */
    unsigned bits = 0, have = 0;
    for (size_t k = 0; k <= n + 1; k++) {
        /* The last block, with fixed codes; the length 258 and the distance 1; its end. */
        const unsigned code = k == 0 ? 3 : k <= n ? 0xa3 : 0, width = k == 0 ? 3 : k <= n ? 13 : 7;
        for (bits |= code << have, have += width; have >= 8; have -= 8, bits >>= 8) add(&t, 1, bits & 0xff);
    }
    if (have) add(&t, 1, bits);
    return t;
}

/* Of `good` and of any bytes, deflated. */
#define GOOD(label, ...)                                                                                     \
    {                                                                                                        \
        .name = label, .at = good.at, .n = good.n, __VA_ARGS__                                               \
    }
#define PACKED(label, bytes, promised, check)                                                                \
    {                                                                                                        \
        .name = label, .at = bytes.at, .n = bytes.n, .size = promised, .crc = check, .method = 8             \
    }

/* ---- round trips ---- */

static const char *const paths[] = {"first.npz", "second.npz"};

static void round_trip(void **state)
{
    job *j = *state;
    static const int64_t shapes[][3] = {{2, 3, 4}, {0, 3, 4}, {24, 1, 1}, {1, 1, 1}};
    static const uint32_t ranks[] = {3, 3, 1, 0};
    char data[24 * 8], folder[] = "/tmp/gradcut-npz-XXXXXX";
    assert_non_null(mkdtemp(folder));
    for (size_t k = 0; k < sizeof data; k++) data[k] = (char)(k * 37 + 1);
    char bools[24] = {0, 1, 1};
    for (int t = 0; t < GCUT_NDTYPES; t++)
        for (size_t s = 0; s < sizeof ranks / sizeof *ranks && t != GCUT_BF16; s++) {
            gcut_tensor x = {.name = gcut_printf(j->a, "%s.%zu/\xc3\xa9", gcut_dtype_name(t), s),
                             .dtype = (gcut_dtype)t,
                             .rank = ranks[s],
                             .n = 1,
                             .data = t == GCUT_BOOL ? bools : data};
            for (uint32_t r = 0; r < x.rank; r++) x.n *= x.dim[r] = shapes[s][r];
            *GCUT_PUSH(j->a, &j->tensors) = x;
        }
    gcut_file_bytes of[2];
    for (int k = 0; k < 2; k++) {
        j->path = gcut_printf(j->a, "%s/%s", folder, paths[k]);
        must(j->env, write_body, j);
        of[k] = gcut_file_map(j->a, j->path);
    }
    assert_int_equal(of[0].n, of[1].n);
    assert_memory_equal(of[0].at, of[1].at, of[0].n); /* nothing in it is of the time or the path */
    must(j->env, read_body, j);
    assert_int_equal(j->file->tensor.n, j->tensors.n);
    for (uint32_t i = 0; i < j->tensors.n; i++) {
        const gcut_tensor *x = &j->tensors.at[i], *y = &j->file->tensor.at[i];
        assert_string_equal(x->name, y->name);
        assert_ptr_equal(gcut_tensor_get(j->env, j->file, x->name), y);
        assert_int_equal(x->dtype, y->dtype);
        assert_int_equal(x->rank, y->rank);
        assert_int_equal(x->n, y->n);
        assert_memory_equal(x->dim, y->dim, x->rank * sizeof *x->dim);
        assert_null(y->data); /* it is read when it is asked for, */
        gcut_tensor_load(j->file, y);
        assert_memory_equal(x->data, y->data, (size_t)(x->n * gcut_dtype_bytes(x->dtype)));
        const char *file = j->file->file.at;
        assert_true((const char *)y->data >= file && (const char *)y->data <= file + of[0].n); /* in place */
    }
    /* Empty, as numpy.savez() writes, and a dtype that NumPy lacks. */
    j->tensors.n = 0;
    must(j->env, write_body, j);
    must(j->env, read_body, j);
    assert_int_equal(j->file->tensor.n, 0);
    *GCUT_PUSH(j->a, &j->tensors) =
        (gcut_tensor){.name = "w", .dtype = GCUT_BF16, .rank = 1, .dim = {2}, .n = 2, .data = data};
    must_refuse(j->env, write_body, j, GCUT_ETYPE, "'w' is bf16, which NumPy does not have");
    must_refuse(j->env, write_body, j, GCUT_ETYPE, ".safetensors");
    must(j->env, read_body, j); /* and the file is as it was */
    j->tensors.at[0].dtype = GCUT_F16;
    j->path = gcut_printf(j->a, "%s/none/m.npz", folder);
    must_refuse(j->env, write_body, j, GCUT_EIO, "none/m.npz");
    for (int k = 0; k < 2; k++) unlink(gcut_printf(j->a, "%s/%s", folder, paths[k]));
    assert_int_equal(rmdir(folder), 0); /* no temporary file is left */
}

/* ---- files of other writers ---- */

static void others(void **state)
{
    job *j = *state;
    const gcut_text a = npy(j, HEADER("'<f4'", "False", "(2, 3)"), 24),
                    b = npy(j, HEADER("'<i2'", "True", "(2, 3)"), 12),
                    c = npy(j, HEADER("'|O'", "False", "(2,)"), 99),
                    d = npy(j, HEADER("[('x', '<f4'), ('y}', '<i4', (2,))]", "False", "(3,)"), 36),
                    e = npy(j, HEADER("'<M8[ns]'", "False", "()"), 8),
                    f = npy(j, HEADER("'|u1'", "False", "(200000,)"), 200000);
    const gcut_text pa = in_blocks(j, &a), pb = in_blocks(j, &b), pf = in_blocks(j, &f);
    for (int packed = 0; packed < 2; packed++)
        for (int zip64 = 0; zip64 < 2; zip64++) {
#define OF(label, x, packed_x)                                                                               \
    {                                                                                                        \
        .name = label ".npy", .at = packed ? packed_x.at : x.at, .n = packed ? packed_x.n : x.n,             \
        .size = x.n, .crc = crc_of(x.at, x.n), .method = packed ? 8 : 0, .zip64 = zip64                      \
    }
            const member all[] = {OF("layer/a", a, pa),
                                  OF("b", b, pb),
                                  {.name = "c.npy", .at = c.at, .n = c.n},
                                  {.name = "d.npy", .at = d.at, .n = d.n},
                                  {.name = "e.npy", .at = e.at, .n = e.n},
                                  OF("f", f, pf)};
            make(j, all, 6);
            must(j->env, read_body, j);
            assert_int_equal(j->file->tensor.n, 6);
            const gcut_tensor *x = gcut_tensor_get(j->env, j->file, "layer/a");
            gcut_tensor_load(j->file, x);
            assert_memory_equal(x->data, a.at + a.n - 24, 24);
            const void *once = x->data;
            gcut_tensor_load(j->file, x);
            assert_ptr_equal(x->data, once);
            assert_int_equal((const char *)once > j->bytes && (const char *)once < j->bytes + j->size,
                             !packed);
            x = gcut_tensor_get(j->env, j->file, "b");
            int16_t rows[6], columns[6];
            memcpy(columns, b.at + b.n - 12, 12);
            gcut_tensor_copy(j->env, j->file, x, GCUT_I16, rows);
            for (int r = 0; r < 6; r++) assert_int_equal(rows[r], columns[r % 3 * 2 + r / 3]);
            x = gcut_tensor_get(j->env, j->file, "f");
            gcut_tensor_load(j->file, x);
            assert_memory_equal(x->data, f.at + f.n - 200000, 200000);
            /* Dtypes that gradcut does not have are refused where they are asked for. */
            assert_string_equal(gcut_tensor_type_text(j->a, gcut_tensor_get(j->env, j->file, "c")), "|O[2]");
            assert_string_equal(gcut_tensor_type_text(j->a, gcut_tensor_get(j->env, j->file, "d")),
                                "struct[3]");
            assert_string_equal(gcut_tensor_type_text(j->a, gcut_tensor_get(j->env, j->file, "e")), "<M8[]");
            assert_false(gcut_tensor_converts(gcut_tensor_get(j->env, j->file, "c"), GCUT_F32));
        }
}

/* One axis has one order, whatever the header says. */
static void one_axis(void **state)
{
    job *j = *state;
    const gcut_text x = npy(j, HEADER("'<f8'", "True", "(20000,)"), 160000), packed = in_blocks(j, &x);
    const member all[] = {PACKED("w.npy", packed, x.n, crc_of(x.at, x.n))};
    make(j, all, 1);
    j->name = "w";
    must(j->env, load_body, j);
    assert_memory_equal(gcut_tensor_get(j->env, j->file, "w")->data, x.at + x.n - 160000, 160000);
}

/* Of numpy.savez and numpy.savez_compressed. */
static void of_numpy(void **state)
{
    job *j = *state;
    static const float w[] = {0, 1, 2, 3, 4, 5};
    static const int16_t i[] = {0, 1, 2, 3, 4, 5};
    for (int k = 0; k < 2; k++) {
        j->path =
            k ? GCUT_SOURCE_DIR "/tests/corpus/deflated.npz" : GCUT_SOURCE_DIR "/tests/corpus/stored.npz";
        must(j->env, read_body, j);
        char to[24];
        gcut_tensor_copy(j->env, j->file, gcut_tensor_get(j->env, j->file, "w"), GCUT_F32, to);
        assert_memory_equal(to, w, sizeof w);
    }
    assert_int_equal(j->file->tensor.n, 6);
    int16_t to[6];
    gcut_tensor_copy(j->env, j->file, gcut_tensor_get(j->env, j->file, "i"), GCUT_I16, to);
    assert_memory_equal(to, i, sizeof i); /* in Fortran order in the file */
}

/* ---- files that nobody should have written ---- */

static void malformed(void **state)
{
    job *j = *state;
    const gcut_text good = npy(j, HEADER("'<f4'", "False", "(2,)"), 8),
                    short_of = npy(j, HEADER("'<f4'", "False", "(2,)"), 7),
                    deep = npy(j, HEADER("'<f4'", "False", "(1,1,1,1,1,1,1,1,1)"), 4),
                    bools = npy(j, HEADER("'|b1'", "False", "(3,)"), 3), packed = in_blocks(j, &good);
    gcut_text long_head = {.arena = j->a};
    gcut_text_addn(&long_head, "\x93NUMPY\2\0\0\0\1\0", 12);
    for (int k = 0; k < 65536; k++) gcut_text_addn(&long_head, " ", 1);
    const struct {
        member x[2];
        size_t n;
        gcut_status status;
        const char *says;
    } files[] = {
        {{GOOD("w.npy"), GOOD("w.npy")}, 2, GCUT_EIO, "'m.npz' has two entries 'w.npy'"},
        {{GOOD("w.txt")}, 1, GCUT_EIO, "the entry 'w.txt' is not a .npy file"},
        {{GOOD("")}, 1, GCUT_EIO, "the entry '' is not a .npy file"},
        {{{.name = "a/", .at = ""}}, 1, GCUT_EIO, "the entry 'a/' is a folder"},
        {{GOOD("w.npy", .flags = 1)}, 1, GCUT_EUNSUPPORTED, "the entry 'w.npy' is encrypted"},
        {{GOOD("w.npy", .method = 12)}, 1, GCUT_EUNSUPPORTED, "compressed by method 12 of zip"},
        {{{.name = "w.npy", .at = "PK\3\4 is no array", .n = 16}},
         1,
         GCUT_EIO,
         "'m.npz(w.npy)' is not a .npy file"},
        {{{.name = "w.npy", .at = ""}}, 1, GCUT_EIO, "'m.npz(w.npy)' is not a .npy file"},
        {{{.name = "w.npy", .at = good.at, .n = 9}}, 1, GCUT_EIO, "is not a .npy file"},
        {{{.name = "w.npy", .at = good.at, .n = 30}}, 1, GCUT_EIO, "is cut short"},
        {{{.name = "w.npy", .at = short_of.at, .n = short_of.n}},
         1,
         GCUT_EIO,
         "promises 8 bytes of elements, the file holds 7"},
        {{{.name = "w.npy", .at = deep.at, .n = deep.n}},
         1,
         GCUT_ETYPE,
         "'m.npz(w.npy)' has more than 8 axes"},
        {{{.name = "w.npy", .at = long_head.at, .n = long_head.n}},
         1,
         GCUT_EIO,
         "a .npy header of 65548 bytes"},
        {{GOOD("w.npy", .size = 1000)}, 1, GCUT_EIO, "of which no 1000 can be made"},
        {{PACKED("w.npy", packed, 1 << 30, 1)}, 1, GCUT_EIO, "of which no 1073741824 can be made"},
        {{PACKED("w.npy", packed, good.n + 1, 1)},
         1,
         GCUT_EIO,
         "promises 8 bytes of elements, the file holds 9"},
        {{GOOD("v.npy"), GOOD("w.npy", .at_first = true)}, 2, GCUT_OK, NULL},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        make(j, files[i].x, files[i].n);
        if (files[i].says)
            must_refuse(j->env, read_body, j, files[i].status, files[i].says);
        else
            must(j->env, read_body, j);
    }
    /* What only reading all of an entry shows. */
    const gcut_text more = npy(j, HEADER("'<f4'", "False", "(2,)"), 9), long_one = in_blocks(j, &more),
                    short_one = in_blocks(j, &short_of);
    gcut_text broken = {.arena = j->a};
    gcut_text_addn(&broken, packed.at, packed.n);
    broken.at[0] = 7; /* a block of a kind that there is not */
    const struct {
        member x;
        gcut_status status;
        const char *says;
    } loads[] = {
        {GOOD("w.npy", .crc = 1), GCUT_EIO,
         "the entry 'w.npy' has another checksum than the archive's directory"},
        {PACKED("w.npy", packed, good.n, 1), GCUT_EIO,
         "the entry 'w.npy' has another checksum than the archive's directory"},
        {PACKED("w.npy", long_one, good.n, 1), GCUT_EIO, "goes on after the"},
        {PACKED("w.npy", short_one, good.n, crc_of(short_of.at, short_of.n)), GCUT_EIO,
         "the entry 'w.npy' ends before the"},
        {PACKED("w.npy", broken, good.n, 1), GCUT_EIO, "the entry 'w.npy' cannot be read"},
        {{.name = "w.npy", .at = bools.at, .n = bools.n},
         GCUT_ETYPE,
         "'m.npz(w.npy)' holds bools, but its element [2] is the byte 2"},
    };
    j->name = "w";
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
        make(j, &loads[i].x, 1);
        must_refuse(j->env, load_body, j, loads[i].status, loads[i].says);
    }
    static const char text[] = "PK is how this text begins";
    j->bytes = text;
    j->size = sizeof text;
    must_refuse(j->env, read_body, j, GCUT_EIO, "neither a .safetensors nor a .npz nor a .npy file");
}

/* Cut anywhere, or with a byte of another value: refused in one sentence, or read. */
static void damaged(void **state)
{
    job *j = *state;
    const gcut_text good = npy(j, HEADER("'<f4'", "False", "(2,)"), 8), packed = in_blocks(j, &good);
    const member all[] = {GOOD("v.npy"), PACKED("w.npy", packed, good.n, crc_of(good.at, good.n))};
    make(j, all, 2);
    for (size_t n = j->size; n-- > 4;) {
        job k = *j;
        k.size = n;
        must_refuse(k.env, read_body, &k, GCUT_EIO, "cut short");
    }
    char *at = gcut_memdup(j->a, j->bytes, j->size);
    j->bytes = at;
    int read = 0;
    for (size_t i = 0; i < j->size; i++)
        for (int bit = 0; bit < 8; bit++) {
            at[i] = (char)(at[i] ^ 1 << bit);
            for (int k = 0; k < 2; k++) {
                j->name = k ? "w" : "v";
                read += attempt(j, load_body) == GCUT_OK;
            }
            at[i] = (char)(at[i] ^ 1 << bit);
        }
    assert_true(read > 0);
    must(j->env, load_body, j);
}

/* ---- memory ---- */

/* An entry that grows to 150 times its bytes is read where its header says so, and its size alone is taken.  No other
 * entry of the archive takes any, and entries that share bytes are not read. */
static void bombs(void **state)
{
    job *j = *state;
    enum { MATCHES = 100000, ELEMENTS = 258 * MATCHES };
    const gcut_text honest = npy(j, HEADER("'|u1'", "False", "(25800001,)"), 1),
                    small = npy(j, HEADER("'|u1'", "False", "(1,)"), 1);
    gcut_text bomb = with_matches(j, &honest, MATCHES), lie = with_matches(j, &small, MATCHES);
    gcut_text all = {.arena = j->a};
    gcut_text_addn(&all, honest.at, honest.n);
    for (size_t k = 0; k < ELEMENTS; k++) gcut_text_addn(&all, "", 1);
    const member x[] = {{.name = "w.npy",
                         .at = bomb.at,
                         .n = bomb.n,
                         .size = all.n,
                         .crc = crc_of(all.at, all.n),
                         .method = 8},
                        {.name = "v.npy", .at = lie.at, .n = lie.n, .size = small.n, .crc = 1, .method = 8},
                        {.name = "w2.npy",
                         .at = bomb.at,
                         .n = bomb.n,
                         .size = all.n,
                         .crc = crc_of(all.at, all.n),
                         .method = 8,
                         .at_first = true},
                        {.name = "w3.npy",
                         .at = bomb.at,
                         .n = bomb.n,
                         .size = all.n,
                         .crc = crc_of(all.at, all.n),
                         .method = 8,
                         .at_first = true}};
    make(j, x, 2);
    const size_t opened = j->memory.now;
    j->memory.most = opened;
    must(j->env, read_body, j);
    assert_true(j->memory.most - opened < 100000);
    j->name = "v"; /* a header of one byte, and 25 MB after it */
    must_refuse(j->env, load_body, j, GCUT_EIO, "the entry 'v.npy' goes on after the");
    assert_true(j->memory.most - opened < 200000);
    j->name = "w";
    must(j->env, load_body, j);
    assert_true(j->memory.most - opened < all.n + 400000);
    const gcut_tensor *w = gcut_tensor_get(j->env, j->file, "w");
    assert_int_equal(w->n, ELEMENTS + 1);
    assert_memory_equal(w->data, all.at + honest.n - 1, ELEMENTS + 1);
    make(j, x, 4);
    must_refuse(j->env, read_body, j, GCUT_EIO, "'m.npz' has fewer bytes than its entries");
}

/* Reading and writing, with each request for memory refused in turn. */
static void sweep_body(void *arg)
{
    job *j = arg;
    j->name = "v";
    load_body(j);
    j->name = "w";
    gcut_tensor_load(j->file, gcut_tensor_get(j->env, j->file, "w"));
    gcut_tensors x = {0};
    for (uint32_t i = 0; i < j->file->tensor.n; i++) *GCUT_PUSH(j->env->arena, &x) = j->file->tensor.at[i];
    gcut_npz_write(j->env, "/dev/null", &x);
}

static void no_memory(void **state)
{
    job *j = *state;
    const gcut_text good = npy(j, HEADER("'<f4'", "True", "(1, 2)"), 8), packed = in_blocks(j, &good);
    const member all[] = {GOOD("v.npy"), PACKED("w.npy", packed, good.n, crc_of(good.at, good.n))};
    make(j, all, 2);
    assert_true(refuse_each_request(j, sweep_body) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(round_trip), WITH_FIXTURE(others),  WITH_FIXTURE(one_axis), WITH_FIXTURE(of_numpy),
        WITH_FIXTURE(malformed),  WITH_FIXTURE(damaged), WITH_FIXTURE(bombs),    WITH_FIXTURE(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
