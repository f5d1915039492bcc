/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * .safetensors files in memory: what is written is read as it was, whatever the dtypes and shapes; files of other
 * writers; and files that are refused, with a sentence for each reason.
 */
#include "file_job.h"
#include "harness.h"

#include "graph/ops/dtype_info.h"
#include "import/safetensors.h"

FILE_FIXTURE("m.safetensors")

/* The file's bytes, of its tensors. */
static void write_body(void *arg)
{
    job *j = arg;
    size_t n;
    const gcut_file_part *part = gcut_safetensors_parts(j->env->arena, &j->tensors, &n);
    gcut_text all = {.arena = j->env->arena};
    for (size_t i = 0; i < n; i++) gcut_text_addn(&all, part[i].at, part[i].n);
    j->bytes = all.at;
    j->size = all.n;
}

static void get_body(void *arg)
{
    job *j = arg;
    gcut_tensor_get(j->env, j->file, j->name);
}

static void copy_body(void *arg)
{
    job *j = arg;
    gcut_tensor_copy(j->env, j->file, gcut_tensor_get(j->env, j->file, j->name), j->to, j->at);
}

/* A file of that header and as many elements' bytes, 0, 1, 2, … */
static void make(job *j, const char *header, size_t elements)
{
    const size_t n = strlen(header);
    char *at = gcut_alloc(j->a, 8 + n + elements + 1);
    for (int k = 0; k < 8; k++) at[k] = (char)(n >> 8 * k & 0xff);
    memcpy(at + 8, header, n);
    for (size_t k = 0; k < elements; k++) at[8 + n + k] = (char)k;
    j->bytes = at;
    j->size = 8 + n + elements;
}

/* ---- round trips ---- */

static void round_trip(void **state)
{
    job *j = *state;
    static const int64_t shapes[][3] = {{2, 3, 4}, {0, 3, 4}, {24, 1, 1}, {5, 1, 1}, {1, 1, 1}};
    static const uint32_t ranks[] = {3, 3, 1, 1, 0};
    char data[24 * 8];
    for (size_t k = 0; k < sizeof data; k++) data[k] = (char)(k * 37 + 1);
    for (int t = 0; t < GCUT_NDTYPES; t++)
        for (size_t s = 0; s < sizeof ranks / sizeof *ranks; s++) {
            gcut_tensor x = {.name = gcut_printf(j->a, "%s.%zu \"\\ \xc3\xa9", gcut_dtype_name(t), s),
                             .dtype = (gcut_dtype)t,
                             .rank = ranks[s],
                             .n = 1,
                             .data = data};
            for (uint32_t r = 0; r < x.rank; r++) x.n *= x.dim[r] = shapes[s][r];
            *GCUT_PUSH(j->a, &j->tensors) = x;
        }
    must(j->env, write_body, j);
    must(j->env, read_body, j);
    assert_int_equal(j->file->tensor.n, j->tensors.n);
    for (uint32_t i = 0; i < j->tensors.n; i++) {
        const gcut_tensor *x = &j->tensors.at[i], *y = gcut_tensor_get(j->env, j->file, x->name);
        assert_int_equal(x->dtype, y->dtype);
        assert_int_equal(x->rank, y->rank);
        assert_int_equal(x->n, y->n);
        assert_memory_equal(x->dim, y->dim, x->rank * sizeof *x->dim);
        const size_t width = (size_t)gcut_dtype_bytes(x->dtype);
        assert_memory_equal(x->data, y->data, (size_t)x->n * width);
        assert_int_equal(((const char *)y->data - j->bytes) % (long)width, 0); /* as aligned as the file is */
    }
}

/* ---- files of other writers ---- */

/* Tensors in any order of their bytes, metadata, dtypes that gradcut does not have. */
static void others(void **state)
{
    job *j = *state;
    make(j,
         "{\"layer.b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]},\n"
         " \"__metadata__\": {\"format\": \"pt\"},\n"
         " \"a\":{\"data_offsets\":[0,4],\"shape\":[2, 2],\"dtype\":\"F8_E4M3\"},"
         " \"c\":{\"dtype\":\"U16\",\"shape\":[],\"data_offsets\":[12,14]},"
         " \"d\":{\"dtype\":\"I64\",\"shape\":[0, 9223372036854775807, 2],\"data_offsets\":[14,14]}}   ",
         14);
    must(j->env, read_body, j);
    const gcut_tensor *a = gcut_tensor_get(j->env, j->file, "a"),
                      *b = gcut_tensor_get(j->env, j->file, "layer.b");
    assert_int_equal(j->file->tensor.n, 4);
    assert_string_equal(a->foreign, "F8_E4M3");
    assert_string_equal(gcut_tensor_type_text(j->a, a), "F8_E4M3[2, 2]");
    assert_string_equal(gcut_tensor_type_text(j->a, b), "f32[2]");
    assert_int_equal(((const unsigned char *)b->data)[0], 4);
    assert_int_equal(gcut_tensor_get(j->env, j->file, "d")->n, 0);
    j->name = "a";
    j->to = GCUT_F32;
    float to[4];
    j->at = to;
    must_refuse(j->env, copy_body, j, GCUT_ETYPE, "F8_E4M3");
    j->name = "layer.bb";
    must_refuse(j->env, get_body, j, GCUT_EIO, "did you mean 'layer.b'?");
    j->name = NULL;
    must_refuse(j->env, get_body, j, GCUT_EIO, "has 4 tensors");
}

/* Every float into every float, by the interpreter's rounding; more elements than are converted at a time. */
static void conversions(void **state)
{
    job *j = *state;
    enum { N = 300001 };
    static const double some[] = {0, -0.0, 1, -1.5, 1e-3, 65504, 3e38, 0.1, -7.25, 1e-40};
    char *packed = gcut_alloc(j->a, N * 8), *got = gcut_alloc(j->a, N * 8), *want = gcut_alloc(j->a, N * 8);
    const int64_t n = N;
    for (int from = 0; from < GCUT_NDTYPES; from++)
        for (int to = 0; to < GCUT_NDTYPES; to++) {
            if (!gcut_dtype_is_float(from) || !gcut_dtype_is_float(to)) continue;
            gcut_array x = gcut_array_new(j->a, (gcut_dtype)from, 1, &n);
            for (int k = 0; k < N; k++) x.u.f[k] = some[k % 10] * (1 + k / 10 % 1000);
            gcut_array_store(&x, packed);
            x = gcut_array_load(j->a, (gcut_dtype)from, 1, &n, packed);
            x.dtype = (gcut_dtype)to;
            gcut_array_store(&x, want);
            j->tensors = (gcut_tensors){0};
            gcut_tensor_file f = {.name = "m"};
            *GCUT_PUSH(j->a, &f.tensor) = (gcut_tensor){
                .name = "x", .dtype = (gcut_dtype)from, .rank = 1, .dim = {n}, .n = n, .data = packed};
            j->file = &f;
            j->name = "x";
            j->to = (gcut_dtype)to;
            j->at = got;
            must(j->env, copy_body, j);
            assert_memory_equal(got, want, (size_t)(N * gcut_dtype_bytes((gcut_dtype)to)));
        }
}

/* ---- files that nobody should have written ---- */

static void malformed(void **state)
{
    job *j = *state;
    static const struct {
        const char *header;
        size_t elements;
        gcut_status status;
        const char *says;
    } files[] = {
#define T(type, shape, from, to)                                                                             \
    "{\"dtype\":\"" type "\",\"shape\":" shape ",\"data_offsets\":[" #from "," #to "]}"
        {"{\"a\":" T("F32", "[1]", 0, 4) "}", 3, GCUT_EIO, "the bytes 0 to 4 of the elements, which are 3"},
        {"{\"a\":" T("F32", "[1]", 0, 4) "}", 5, GCUT_EIO,
         "the bytes 4 to 5 of the elements belong to no tensor"},
        {"{\"a\":" T("F32", "[1]", 4, 8) "}", 8, GCUT_EIO,
         "the bytes 0 to 4 of the elements belong to no tensor"},
        {"{\"a\":" T("F32", "[2]", 0, 8) ",\"b\":" T("F32", "[1]", 4, 8) "}", 8, GCUT_EIO,
         "'a' and 'b' overlap"},
        {"{\"a\":" T("F32", "[1]", 0, 4) ",\"b\":" T("F32", "[1]", 0, 4) "}", 4, GCUT_EIO,
         "'a' and 'b' overlap"},
        {"{\"a\":" T("F32", "[2]", 0, 4) "}", 4, GCUT_EIO, "shape and dtype F32 say otherwise"},
        {"{\"a\":" T("F32", "[1]", 4, 0) "}", 4, GCUT_EIO, "the bytes 4 to 0"},
        {"{\"a\":" T("F32", "[1]", -4, 0) "}", 4, GCUT_EIO, "the bytes -4 to 0"},
        {"{\"a\":" T("F32", "[-1]", 0, 4) "}", 4, GCUT_ESYNTAX, "a.shape[0]: expected a size"},
        {"{\"a\":" T("F32", "[4294967296,4294967296]", 0, 4) "}", 4, GCUT_ESYNTAX, "more than 2^63"},
        {"{\"a\":" T("F64", "[2305843009213693952]", 0, 4) "}", 4, GCUT_EIO, "say otherwise"},
        {"{\"a\":" T("F32", "[1,1,1,1,1,1,1,1,1]", 0, 4) "}", 4, GCUT_ESYNTAX, "at most 8 sizes"},
        {"{\"a\":" T("F32", "1", 0, 4) "}", 4, GCUT_ESYNTAX, "a.shape"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[]}}", 4, GCUT_ESYNTAX, "data_offsets"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,4]}}", 4, GCUT_ESYNTAX,
         "two offsets"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":1}}", 4, GCUT_ESYNTAX,
         "alone"},
        {"{\"a\":" T("F32", "[1]", 0, 4) ",\"a\":" T("F32", "[1]", 0, 4) "}", 4, GCUT_ESYNTAX, "a"},
        {"{\"__metadata__\":{\"x\":1}}", 0, GCUT_ESYNTAX, "__metadata__.x"},
        {"{\"a\":1}", 0, GCUT_ESYNTAX, "a"},
        {"{\"a\"", 0, GCUT_ESYNTAX, "m.safetensors"},
        {"{}{}", 0, GCUT_ESYNTAX, "m.safetensors"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        make(j, files[i].header, files[i].elements);
        must_refuse(j->env, read_body, j, files[i].status, files[i].says);
    }
    make(j, "{}", 0);
    must(j->env, read_body, j);
    assert_int_equal(j->file->tensor.n, 0);
}

/* Cut anywhere, and with a length of the header that lies. */
static void cut_short(void **state)
{
    job *j = *state;
    make(j, "{\"a\":" T("F32", "[1]", 0, 4) "}", 4);
    for (size_t n = j->size; n-- > 0;) {
        job k = *j;
        k.size = n;
        assert_int_not_equal(attempt(&k, read_body), GCUT_OK);
    }
    char *at = (char *)(uintptr_t)j->bytes;
    at[7] = 0x7f;
    must_refuse(j->env, read_body, j, GCUT_EIO, "cut short");
    memset(at, 0xff, 8);
    must_refuse(j->env, read_body, j, GCUT_EIO, "cut short");
    static const char text[] = "something else";
    j->bytes = text;
    j->size = sizeof text;
    must_refuse(j->env, read_body, j, GCUT_EIO, "neither a .safetensors nor");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(round_trip), WITH_FIXTURE(others),    WITH_FIXTURE(conversions),
        WITH_FIXTURE(malformed),  WITH_FIXTURE(cut_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
