/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * .npy files in and out, and base/file.c underneath: round trips, files that
 * NumPy would write, files that nobody should have written, and full disks.
 */
#include "harness.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "import/npy.h"

typedef struct job {
    gcut_env *env;
    char dir[64], path[128];
    const void *bytes;
    size_t size;
    gcut_tensor npy;
    gcut_array array;
} job;

static int setup(void **state)
{
    job *j = calloc(1, sizeof *j);
    j->env = gcut_env_new(NULL, NULL);
    strcpy(j->dir, "/tmp/gcut_npy_XXXXXX");
    if (!mkdtemp(j->dir)) return -1;
    snprintf(j->path, sizeof j->path, "%s/x.npy", j->dir);
    *state = j;
    return 0;
}

/* Entries of the folder, which show a temporary file that was left behind. */
static int entries(const char *dir)
{
    int n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static int teardown(void **state)
{
    job *j = *state;
    unlink(j->path);
    int left = rmdir(j->dir);
    gcut_env_free(j->env);
    free(j);
    return left;
}

static void read_body(void *arg)
{
    job *j = arg;
    j->npy = gcut_npy_read(j->env->arena, j->path);
}

static void read_array_body(void *arg)
{
    job *j = arg;
    const gcut_tensor x = gcut_npy_read(j->env->arena, j->path);
    j->array = gcut_array_load(j->env->arena, x.dtype, x.rank, x.dim, x.data);
}

static void parse_body(void *arg)
{
    job *j = arg;
    j->npy = gcut_npy_parse(j->env->arena, "m.npy", j->bytes, j->size);
}

static void write_array(gcut_env *env, const char *path, const gcut_array *x)
{
    gcut_arena *scratch = gcut_arena_new(env, env->arena);
    void *data = gcut_calloc(scratch, (size_t)x->n + 1, (size_t)gcut_dtype_bytes(x->dtype));
    gcut_tensor out = {.dtype = x->dtype, .rank = x->rank, .n = x->n, .data = data};
    for (uint32_t r = 0; r < x->rank; r++) out.dim[r] = x->dim[r];
    gcut_array_store(x, data);
    gcut_npy_write(env, path, &out);
    gcut_arena_free(scratch);
}

static void write_body(void *arg)
{
    job *j = arg;
    gcut_npy_write(j->env, j->path, &j->npy);
}

static void write_array_body(void *arg)
{
    job *j = arg;
    write_array(j->env, j->path, &j->array);
}

static void refuse(job *j, void (*body)(void *), gcut_status status, const char *word)
{
    assert_int_equal(gcut_protect(j->env, body, j), status);
    assert_int_equal(j->env->ndiags, 1);
    if (!strstr(j->env->diags[0].message, word)) fail_msg("'%s' lacks '%s'", j->env->diags[0].message, word);
    gcut_diags_clear(j->env);
}

/* ---- round trips ---- */

static void round_trips(void **state)
{
    job *j = *state;
    static const int64_t shapes[][3] = {{2, 3, 4}, {0, 3, 4}, {24, 1, 1}, {5, 1, 1}, {1, 1, 1}};
    static const uint32_t ranks[] = {3, 3, 1, 1, 0};
    unsigned char bytes[24 * 8], bools[24], fill = 1;
    for (size_t k = 0; k < sizeof bytes; k++) bytes[k] = fill = (unsigned char)(fill * 5 + 3);
    for (size_t k = 0; k < sizeof bools; k++) bools[k] = bytes[k] & 1;
    for (int t = 0; t < GCUT_NDTYPES; t++)
        for (int s = 0; s < 5; s++) {
            if (t == GCUT_BF16) continue;
            const unsigned char *data = t == GCUT_BOOL ? bools : bytes;
            gcut_tensor x = {.dtype = (gcut_dtype)t, .rank = ranks[s], .n = 1, .data = data};
            for (uint32_t r = 0; r < ranks[s]; r++) x.n *= x.dim[r] = shapes[s][r];
            j->npy = x;
            must(j->env, write_body, j);
            must(j->env, read_body, j);
            assert_int_equal(j->npy.dtype, t);
            assert_int_equal(j->npy.rank, x.rank);
            assert_memory_equal(j->npy.dim, x.dim, x.rank * sizeof *x.dim);
            assert_int_equal(j->npy.n, x.n);
            assert_memory_equal(j->npy.data, data, (size_t)(x.n * gcut_dtype_bytes((gcut_dtype)t)));
            struct stat st;
            assert_int_equal(stat(j->path, &st), 0);
            assert_int_equal((st.st_size - x.n * gcut_dtype_bytes((gcut_dtype)t)) % 64, 0);
        }
    assert_int_equal(entries(j->dir), 1);
}

static void arrays(void **state)
{
    job *j = *state;
    j->array = gcut_array_new(j->env->arena, GCUT_F16, 2, (int64_t[]){1, 3});
    j->array.u.f[0] = 1.5, j->array.u.f[1] = -65504, j->array.u.f[2] = 0x1p-24;
    must(j->env, write_array_body, j);
    must(j->env, read_array_body, j);
    assert_int_equal(j->array.dtype, GCUT_F16);
    assert_that(j->array.u.f[0], ==, 1.5);
    assert_that(j->array.u.f[1], ==, -65504);
    assert_that(j->array.u.f[2], ==, 0x1p-24);
    j->array.dtype = GCUT_BF16;
    refuse(j, write_array_body, GCUT_ETYPE, "bf16");
}

/* ---- files as others write them ---- */

/* A file of the given version, dict and elements; returns its size. */
static size_t make(unsigned char *to, int version, const char *dict, const void *data, size_t n)
{
    size_t length = strlen(dict), start = version == 1 ? 10 : 12;
    memcpy(to, "\x93NUMPY", 6);
    to[6] = (unsigned char)version, to[7] = 0;
    for (size_t k = 8; k < start; k++) to[k] = (unsigned char)(length >> (8 * (k - 8)));
    memcpy(to + start, dict, length);
    if (n) memcpy(to + start + length, data, n);
    return start + length + n;
}

static void parse(job *j, int version, const char *dict, const void *data, size_t n)
{
    unsigned char *file = gcut_alloc(j->env->arena, 4096);
    j->size = make(file, version, dict, data, n);
    j->bytes = gcut_memdup(j->env->arena, file, j->size);
}

static void foreign_files(void **state)
{
    job *j = *state;
    static const int32_t columns[] = {1, 4, 2, 5, 3, 6}, want[] = {1, 2, 3, 4, 5, 6};
    for (int version = 1; version <= 3; version++) {
        parse(j, version, "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }   \n", columns, 24);
        must(j->env, parse_body, j);
        assert_int_equal(j->npy.rank, 2);
        assert_memory_equal(j->npy.data, want, 24);
    }
    parse(j, 1, "{\"shape\":(6,),\"fortran_order\":False,\"descr\":\"<i4\"}", want, 24);
    must(j->env, parse_body, j);
    assert_int_equal(j->npy.dim[0], 6);
    parse(j, 1, "{'descr': '<u1', 'fortran_order': False, 'shape': ()}", want, 1);
    must(j->env, parse_body, j);
    assert_int_equal(j->npy.dtype, GCUT_U8);
    assert_int_equal(j->npy.n, 1);
    parse(j, 1, "{'descr': '<i4', 'fortran_order': False, 'shape': (0, 9223372036854775807, 4)}", want, 0);
    must(j->env, parse_body, j);
    assert_int_equal(j->npy.n, 0);
}

static void malformed_files(void **state)
{
    job *j = *state;
    static const struct {
        const char *dict, *word;
        size_t bytes;
        gcut_status status;
    } cases[] = {
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}", ">f4", 4, GCUT_ETYPE},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", "<c8", 8, GCUT_ETYPE},
        {"{'descr': '', 'fortran_order': False, 'shape': (1,)}", "dtype", 8, GCUT_ETYPE},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "structured", 4, GCUT_ETYPE},
        {"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}", "fortran_order", 4, GCUT_EIO},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)", "','", 4, GCUT_EIO},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1", "','", 4, GCUT_EIO},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "shape", 4, GCUT_EIO},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (,)}", "shape", 4, GCUT_EIO},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': 3}", "'('", 4, GCUT_EIO},
        {"{'descr': '<f4', 'fortran_order': False}", "lacks", 4, GCUT_EIO},
        {"{'descr': '<f4', 'descr': '<f4', 'shape': (1,)}", "repeated", 4, GCUT_EIO},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}", "unknown", 4, GCUT_EIO},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}", "8 axes", 4, GCUT_ETYPE},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", "2^63", 4, GCUT_EIO},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", "larger", 4,
         GCUT_EIO},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1152921504606846976,)}", "larger", 4, GCUT_EIO},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "8 bytes of elements, the file holds 4",
         4, GCUT_EIO},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "the file holds 9", 9, GCUT_EIO},
        {"", "'{'", 0, GCUT_EIO},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        parse(j, 1, cases[k].dict, "123456789", cases[k].bytes);
        refuse(j, parse_body, cases[k].status, cases[k].word);
    }
    parse(j, 4, "{}", "", 0);
    refuse(j, parse_body, GCUT_EIO, "version 4");
    j->bytes = "PK\3\4zip-archive", j->size = 15;
    refuse(j, parse_body, GCUT_EIO, "not a .npy file");
    j->bytes = "\x93NUMPY\1\0\xff\xff{", j->size = 11;
    refuse(j, parse_body, GCUT_EIO, "cut short");
    j->bytes = "\x93NUMPY\2\0\0\0", j->size = 10;
    refuse(j, parse_body, GCUT_EIO, "cut short");
}

/* Kernels compute with a bool as with 0 or 1.  The index is that of the array, whatever the order of the
 * file. */
static void bools_that_are_neither_0_nor_1(void **state)
{
    job *j = *state;
    static const unsigned char good[] = {0, 1, 1, 0, 1, 0}, bad[] = {0, 1, 1, 0, 255, 2};
    parse(j, 1, "{'descr': '|b1', 'fortran_order': False, 'shape': (2, 3)}", good, 6);
    must(j->env, parse_body, j);
    assert_memory_equal(j->npy.data, good, 6);
    parse(j, 1, "{'descr': '|b1', 'fortran_order': False, 'shape': (2, 3)}", bad, 6);
    refuse(j, parse_body, GCUT_ETYPE, "element [1, 1] is the byte 255");
    parse(j, 1, "{'descr': '|b1', 'fortran_order': True, 'shape': (2, 3)}", bad, 6);
    refuse(j, parse_body, GCUT_ETYPE, "element [0, 2] is the byte 255");
    parse(j, 1, "{'descr': '|b1', 'fortran_order': False, 'shape': ()}", bad + 5, 1);
    refuse(j, parse_body, GCUT_ETYPE, "element [] is the byte 2");
}

/* Whatever the bytes, a file is refused with one diagnostic or describes exactly the bytes it has.  Each
 * mutant is a heap block of its own, so that a sanitizer sees a read past its end. */
static void mutants(void **state)
{
    job *j = *state;
    unsigned char good[256];
    size_t n =
        make(good, 1, "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }\n", "abcdefghijkl", 12);
    static const char spice[] = "(){}',:0129 TFuibf<>|\"\x93\xff";
    uint32_t seed = 12345;
    int accepted = 0, refused = 0;
    for (int round = 0; round < 20000; round++) {
        TRY("round %d", (int)round);
        gcut_arena *a = gcut_arena_new(j->env, NULL);
        unsigned char *bytes = malloc(n);
        memcpy(bytes, good, n);
        size_t size = n;
        for (int edits = 1 + round % 3; edits > 0; edits--) {
            seed = seed * 1664525u + 1013904223u;
            size_t at = (seed >> 8) % n;
            bytes[at] =
                (unsigned char)(seed & 1 ? spice[(seed >> 20) % (sizeof spice - 1)] : (int)(seed >> 24));
        }
        if (round % 7 == 0) size = (seed >> 9) % n;
        unsigned char *exact = malloc(size ? size : 1);
        memcpy(exact, bytes, size);
        free(bytes);
        j->bytes = exact, j->size = size;
        gcut_status status = gcut_protect(j->env, parse_body, j);
        if (status == GCUT_OK) {
            size_t data = (size_t)(j->npy.n * gcut_dtype_bytes(j->npy.dtype)), sum = 0;
            for (size_t k = 0; k < data; k++) sum += ((const unsigned char *)j->npy.data)[k];
            assert_that(data, <=, size);
            assert_that(sum, <=, 255 * data);
            accepted++;
        } else {
            assert_true(status == GCUT_EIO || status == GCUT_ETYPE);
            assert_int_equal(j->env->ndiags, 1);
            gcut_diags_clear(j->env);
            refused++;
        }
        free(exact);
        gcut_arena_free(a);
    }
    assert_that(accepted, >, 100);
    assert_that(refused, >, 1000);
}

/* ---- the file system ---- */

static void file_read_body(void *arg)
{
    job *j = arg;
    j->bytes = gcut_file_read(j->env->arena, j->path, j->size, &j->size);
}

static void file_write_body(void *arg)
{
    job *j = arg;
    gcut_file_write(j->env, j->path, j->bytes, j->size);
}

static void whole_files(void **state)
{
    job *j = *state;
    char link[160];
    j->bytes = "first", j->size = 5;
    must(j->env, file_write_body, j);
    assert_int_equal(chmod(j->path, 0640), 0);
    j->bytes = "second", j->size = 6;
    must(j->env, file_write_body, j);
    struct stat st;
    assert_int_equal(stat(j->path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    j->size = 6;
    must(j->env, file_read_body, j);
    assert_string_equal(j->bytes, "second");
    assert_int_equal(j->size, 6);
    j->size = 5;
    refuse(j, file_read_body, GCUT_EIO, "longer than 5 bytes");

    /* A link stays a link. */
    snprintf(link, sizeof link, "%s/link", j->dir);
    assert_int_equal(symlink(j->path, link), 0);
    char path[sizeof j->path];
    strcpy(path, j->path);
    strcpy(j->path, link);
    j->bytes = "third", j->size = 0;
    must(j->env, file_write_body, j);
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    strcpy(j->path, path);
    j->size = 100;
    must(j->env, file_read_body, j);
    assert_int_equal(j->size, 0);
    assert_string_equal(j->bytes, "");
    unlink(link);
}

static void pipes_and_devices(void **state)
{
    job *j = *state;
    char path[sizeof j->path];
    strcpy(path, j->path);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    char text[9000];
    memset(text, 'x', sizeof text);
    assert_int_equal(write(ends[1], text, sizeof text), sizeof text);
    close(ends[1]);
    snprintf(j->path, sizeof j->path, "/dev/fd/%d", ends[0]);
    j->size = sizeof text;
    must(j->env, file_read_body, j);
    assert_int_equal(j->size, sizeof text);
    assert_memory_equal(j->bytes, text, sizeof text);
    close(ends[0]);
    strcpy(j->path, "/dev/zero");
    j->size = 1 << 20;
    refuse(j, file_read_body, GCUT_EIO, "longer than");
    strcpy(j->path, path);
}

static void failing_writes(void **state)
{
    job *j = *state;
    char path[sizeof j->path];
    strcpy(path, j->path);
    j->npy = (gcut_tensor){.dtype = GCUT_U8, .rank = 1, .dim = {3}, .n = 3, .data = "abc"};
    strcpy(j->path, "/dev/full");
    refuse(j, write_body, GCUT_EIO, "No space left on device");
    struct stat st;
    assert_int_equal(stat("/dev/full", &st), 0);
    assert_true(S_ISCHR(st.st_mode)); /* it was written to, not replaced */
    strcpy(j->path, j->dir);
    refuse(j, write_body, GCUT_EIO, "cannot write");
    refuse(j, read_body, GCUT_EIO, "Is a directory");
    snprintf(j->path, sizeof j->path, "%s/none/x.npy", j->dir);
    refuse(j, write_body, GCUT_EIO, "No such file");
    refuse(j, read_body, GCUT_EIO, "No such file");
    strcpy(j->path, path);
    assert_int_equal(entries(j->dir), 0);
}

/* ---- no memory ---- */

/* Lets `left` more blocks be allocated; negative = all. */
static void *limited(void *user, void *block, size_t size)
{
    int *left = user;
    if (size == 0) {
        free(block);
        return NULL;
    }
    if (*left == 0) return NULL;
    if (*left > 0) --*left;
    return realloc(block, size);
}

static void write_and_read_body(void *arg)
{
    write_array_body(arg);
    read_array_body(arg);
}

static int descriptors(void)
{
    return entries("/proc/self/fd");
}

/* Whichever allocation fails, nothing is left open or half written. */
static void every_allocation_may_fail(void **state)
{
    job *j = *state;
    gcut_env *old = j->env;
    int before = descriptors(), failures = 0;
    gcut_status status = GCUT_ENOMEM;
    for (int k = 0; status != GCUT_OK; k++) {
        int left = -1;
        j->env = gcut_env_new(limited, &left);
        j->array = gcut_array_new(j->env->arena, GCUT_F32, 2, (int64_t[]){100, 300});
        left = k;
        status = gcut_protect(j->env, write_and_read_body, j);
        failures += status != GCUT_OK;
        assert_true(status == GCUT_OK || status == GCUT_ENOMEM);
        assert_that(entries(j->dir), <=, 1);
        gcut_env_free(j->env);
        assert_int_equal(descriptors(), before);
    }
    assert_that(failures, >, 3);
    j->env = old;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(round_trips, setup, teardown),
        cmocka_unit_test_setup_teardown(arrays, setup, teardown),
        cmocka_unit_test_setup_teardown(foreign_files, setup, teardown),
        cmocka_unit_test_setup_teardown(malformed_files, setup, teardown),
        cmocka_unit_test_setup_teardown(bools_that_are_neither_0_nor_1, setup, teardown),
        cmocka_unit_test_setup_teardown(mutants, setup, teardown),
        cmocka_unit_test_setup_teardown(whole_files, setup, teardown),
        cmocka_unit_test_setup_teardown(pipes_and_devices, setup, teardown),
        cmocka_unit_test_setup_teardown(failing_writes, setup, teardown),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
