/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of values of emitted C: initial contents against those of gcut_step, which the reference code of
 * interp/initial_values.c fills, and blocks that are saved, loaded, and refused.
 */
#define _GNU_SOURCE
#include "harness.h"

#include "api.h"
#include "driver/load/step.h"
#include "public.h"

/* Adds the elements of a value to a number, so that the step reads it. */
#define READ(n, value)                                                                                       \
    "  %" value ".c = cast(%" value ", to=\"f32\")\n  %" value ".s = sum(%" value ".c)\n  %" value           \
    ".n = add(%" n ", %" value ".s)\n"

/* Every kind of contents, in every dtype that has it. */
static const char all_kinds[] =
    "data @half: f16[3, 5] = normal(3, 0.5)\n"
    "data @brain: bf16[7] = normal(4, 100.0)\n"
    "data @single: f32[1001] = normal(5, 0.02)\n"
    "data @double: f64[3] = normal(6, 1.0)\n"
    "data @even: f32[129] = uniform(7, -0.1, 0.3)\n"
    "data @even16: f16[33] = uniform(9007199254740992, 0.0, 1.0)\n"
    "data @few: f32[2, 3] = dense([[1, -2.5, 0.1], [3e10, 1e-40, 7]])\n"
    "data @bytes: i8[4] = dense([-128, 127, 0, 5])\n"
    "data @flags: bool[3] = dense([1, 0, 1])\n"
    "data @unsigned: u8[2] = splat(255)\n"
    "data @words: i16[2] = splat(-32768)\n"
    "data @counts: i64[2] = dense([9007199254740992, -3])\n"
    "data @brainy: bf16[2] = splat(0.1)\n"
    "func @kinds[N in 1..](param %half: f16[3, 5], param %brain: bf16[7], param %single: f32[1001],\n"
    "  param %double: f64[3], param %even: f32[129], param %even16: f16[33], param %few: f32[2, 3],\n"
    "  state %bytes: i8[4], state %flags: bool[3], state %unsigned: u8[2], state %words: i16[2],\n"
    "  state %counts: i64[2], state %brainy: bf16[2], param %drawn: f32[6], param %drawn16: bf16[6],\n"
    "  state %any: i32[9] #range(-3, 4), state %bits: bool[9], state %large: u8[40] #range(0, 1000),\n"
    "  state %run: f32[N, 2], rng %key: i64[], rng %keys: i64[3], input %x: f32[N]) -> (out loss: f32[]) {\n"
    "  %a = sum(%single)\n  %b = sum(%x)\n  %n = mul(%a, %b)\n" READ("n", "bytes") READ("bytes.n", "flags")
        READ("flags.n", "unsigned") READ("unsigned.n", "words") READ("words.n", "counts")
            READ("counts.n", "brainy") READ("brainy.n", "any") READ("any.n", "bits") READ("bits.n", "large")
                READ("large.n", "run")
                    READ("run.n", "key") "  %c = cast(%keys, to=\"f32\")\n  %d = sum(%c)\n  %loss = "
                                         "add(%key.n, %d)\n  return %loss\n}\n";

static const char other_kinds[] = "func @other[N in 1..](param %w: f32[3], state %run: f32[N, 2], input %x: "
                                  "f32[N]) -> (out loss: f32[]) {\n"
                                  "  %a = sum(%w)\n  %b = sum(%x)\n  %n = mul(%a, %b)\n" READ(
                                      "n", "run") "  %loss = neg(%run.n)\n  return %loss\n}\n";

/* Values of a step of our own, in one buffer, and the pointers to them. */
typedef struct own {
    const gcut_rt_table *table;
    const void *plan;
    gcut_rt_value *value;
    int64_t bytes;
    char *buffer;
    void **io;
} own;

static own own_of(gcut_step *s)
{
    own o = {.table = s->entry->values, .plan = s->plan};
    o.value = calloc((size_t)o.table->n, sizeof *o.value);
    o.io = calloc((size_t)o.table->n, sizeof *o.io);
    o.bytes = gcut_rt_values(o.table, o.plan, o.value);
    assert_int_equal(o.bytes, gcut_rt_values(o.table, o.plan, NULL));
    o.buffer = aligned_alloc(64, (size_t)o.bytes + 64);
    assert_true(o.value);
    assert_true(o.io);
    assert_true(o.buffer);
    memset(o.buffer, 0x5a, (size_t)o.bytes + 64);
    gcut_rt_bind(o.table, o.plan, o.buffer, o.io);
    return o;
}

static void own_free(own *o)
{
    free(o->value);
    free(o->io);
    free(o->buffer);
}

/* ---- initial contents ---- */

static void compare(gcut_step *s, const own *o, uint64_t seed)
{
    int64_t end = 0;
    for (int k = 0; k < o->table->n; k++) {
        const gcut_rt_value *v = &o->value[k];
        bool persists = v->role == GCUT_RT_PARAM || v->role == GCUT_RT_STATE || v->role == GCUT_RT_RNG;
        gcut_value_info info;
        if (v->role == GCUT_RT_GRAD) continue;
        assert_true(value_of(s, v->name, &info));
        assert_string_equal(gcut_rt_role_name(v->role), info.role);
        assert_int_equal(v->dtype, info.dtype);
        assert_int_equal(v->rank, info.rank);
        for (int d = 0; d < v->rank; d++) assert_int_equal(v->dim[d], info.dim[d]);
        assert_int_equal(v->bytes, info.bytes);
        if (!persists) {
            assert_int_equal(v->offset, -1);
            assert_null(o->io[k]);
            if (v->contents == GCUT_RT_SPLAT && v->dtype == GCUT_RT_F32 && v->bytes == 4)
                assert_true((float)v->row->number[0] == *(const float *)info.at);
            continue;
        }
        assert_that(v->offset, >=, end);
        assert_that(v->offset % 64, ==, 0);
        end = v->offset + v->bytes;
        assert_ptr_equal(o->io[k], o->buffer + v->offset);
        if (memcmp(o->io[k], info.at, (size_t)v->bytes))
            fail_msg("%s has other initial contents with seed %llu", v->name, (unsigned long long)seed);
    }
    assert_that(end, >, 0);
    assert_that(end, <=, o->bytes);
}

static void same_as_the_step(gcut_graph *g, const char *optimizer, uint64_t seed, int threads)
{
    gcut_options opt = TEST_OPTIONS;
    opt.optimizer = optimizer;
    opt.seed = seed;
    opt.threads = threads;
    gcut_step *s = gcut_compile(g, &opt);
    if (!s || gcut_prepare(s) != GCUT_OK) fail_msg("not compiled");
    own o = own_of(s);
    gcut_rt_error err;
    assert_int_equal(gcut_rt_init_values(o.table, o.plan, o.io, seed, &err), GCUT_RT_OK);
    compare(s, &o, seed);
    own_free(&o);
    gcut_step_free(s);
}

static void every_kind(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, all_kinds);
    same_as_the_step(g, "sgd(lr=0.25)", 0, 1);
    same_as_the_step(g, "sgd(lr=0.25)", UINT64_C(0xfedcba9876543210), 3);
    gcut_ctx_free(ctx);
}

static void models(void **state)
{
    (void)state;
    static const char *const files[] = {"corpus/mlp.gcut", "corpus/lstm.gcut", "corpus/transformer_bf16.gcut",
                                        "loops/state.gcut"};
    gcut_ctx *ctx = new_ctx();
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/tests/%s", GCUT_SOURCE_DIR, files[i]);
        gcut_graph *g = gcut_load(ctx, path, NULL);
        if (!g) fail_msg("%s", gcut_last_error(ctx));
        same_as_the_step(g, "adamw(lr=0.01)", 5, 2);
    }
    gcut_ctx_free(ctx);
}

static gcut_step *prepared(gcut_ctx *ctx, const char *text, gcut_size *n)
{
    gcut_options opt = TEST_OPTIONS;
    opt.optimizer = "sgd(lr=0.25)";
    opt.at = n;
    opt.nat = n ? 1 : 0;
    gcut_step *s = gcut_compile(graph_from(ctx, text), &opt);
    if (!s || gcut_prepare(s) != GCUT_OK) fail_msg("%s", gcut_last_error(ctx));
    return s;
}

/* What is in a file is left to the caller and named, after all else is filled; NULL is skipped. */
static void files(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_step *w = prepared(ctx, other_kinds, NULL);
    assert_int_equal(gcut_step_value_save(w, "w", in_tmp("w \"1\".npy")), GCUT_OK);
    char text[1024], message[512];
    snprintf(text, sizeof text,
             "data @w: f32[3] = file(\"%s\")\ndata @b: f32[2] = splat(4.0)\n"
             "func @f(param %%w: f32[3], param %%b: f32[2]) -> (out loss: f32[]) {\n  %%p = sum(%%w)\n"
             "  %%q = sum(%%b)\n  %%loss = mul(%%p, %%q)\n  return %%loss\n}\n",
             "FILE");
    char *at = strstr(text, "FILE"), full[1400];
    snprintf(full, sizeof full, "%.*s%s/w \\\"1\\\".npy%s", (int)(at - text), text, tmp, at + 4);
    gcut_step *s = prepared(ctx, full, NULL);
    own o = own_of(s);
    gcut_rt_error err;
    assert_int_equal(gcut_rt_init_values(o.table, o.plan, o.io, 0, &err), GCUT_RT_EFILE);
    gcut_rt_message(&err, message, sizeof message);
    assert_non_null(strstr(message, "initial contents of w are in the file"));
    assert_non_null(strstr(message, in_tmp("w \"1\".npy")));
    assert_int_equal(*(unsigned char *)o.io[0], 0x5a);
    assert_true(*(float *)o.io[1] == 4);
    memset(o.buffer, 0x5a, (size_t)o.bytes);
    o.io[1] = NULL;
    assert_int_equal(gcut_rt_init_values(o.table, o.plan, o.io, 0, NULL), GCUT_RT_EFILE);
    for (int64_t i = 0; i < o.bytes; i++) assert_int_equal((unsigned char)o.buffer[i], 0x5a);
    own_free(&o);
    gcut_ctx_free(ctx);
}

/* ---- blocks ---- */

static uint64_t little(const unsigned char *at, int n)
{
    uint64_t x = 0;
    for (int i = n - 1; i >= 0; i--) x = x << 8 | at[i];
    return x;
}

/* The layout, read as rt_values.h draws it. */
static void check_layout(const unsigned char *block, int64_t bytes, const own *o)
{
    assert_memory_equal(block, "GCUTSTEP", 8);
    assert_int_equal(little(block + 8, 4), 1);
    assert_int_equal(little(block + 16, 8), bytes);
    uint64_t sum = UINT64_C(0xcbf29ce484222325), count = 0;
    for (int64_t k = 0; k < bytes; k += 8) {
        if (k == 24) continue;
        sum = (sum ^ little(block + k, 8)) * UINT64_C(0x100000001b3);
        sum ^= sum >> 32;
    }
    assert_true(little(block + 24, 8) == sum);
    const unsigned char *at = block + 32;
    for (int k = 0; k < o->table->n; k++) {
        const gcut_rt_value *v = &o->value[k];
        if (v->offset < 0) continue;
        size_t name = strlen(v->name);
        count++;
        assert_int_equal(little(at, 4), name);
        assert_int_equal(little(at + 4, 4), v->role);
        assert_int_equal(little(at + 8, 4), v->dtype);
        assert_int_equal(little(at + 12, 4), v->rank);
        at += 16;
        for (int d = 0; d < v->rank; d++, at += 8) assert_int_equal(little(at, 8), v->dim[d]);
        assert_memory_equal(at, v->name, name);
        at += (name + 7) / 8 * 8;
        int64_t size = gcut_rt_dtype_bytes(v->dtype);
        for (int64_t i = 0; i < v->bytes; i += size) {
            uint64_t here = 0;
            if (size == 1) here = *((unsigned char *)o->io[k] + i);
            if (size == 2) here = *(uint16_t *)(void *)((char *)o->io[k] + i);
            if (size == 4) here = *(uint32_t *)(void *)((char *)o->io[k] + i);
            if (size == 8) here = *(uint64_t *)(void *)((char *)o->io[k] + i);
            assert_true(little(at + i, (int)size) == here);
        }
        at += (v->bytes + 7) / 8 * 8;
    }
    assert_int_equal(little(block + 12, 4), count);
    assert_int_equal(at - block, bytes);
}

static void refused(const own *o, const void *block, int64_t bytes, gcut_rt_status status, const char *says)
{
    gcut_rt_error err;
    char message[256];
    memset(o->buffer, 0x77, (size_t)o->bytes);
    gcut_rt_status s = gcut_rt_load(o->table, o->plan, o->io, block, bytes, &err);
    if (s != status) fail_msg("a block of %lld bytes: status %d, not %d", (long long)bytes, s, status);
    for (int64_t i = 0; i < o->bytes; i++)
        if (o->buffer[i] != 0x77) fail_msg("a refused block was loaded in part");
    gcut_rt_message(&err, message, sizeof message);
    if (!strstr(message, says)) fail_msg("expected '%s' in: %s", says, message);
}

static void saved_and_loaded(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    own a = own_of(prepared(ctx, all_kinds, NULL)), b = own_of(prepared(ctx, all_kinds, NULL));
    gcut_rt_error err;
    assert_int_equal(gcut_rt_init_values(a.table, a.plan, a.io, 3, &err), GCUT_RT_OK);
    const int64_t bytes = gcut_rt_block_bytes(a.table, a.plan);
    unsigned char *block = malloc((size_t)bytes + 1);
    assert_non_null(block);
    block[bytes] = 0x33;
    assert_int_equal(gcut_rt_save(a.table, a.plan, a.io, block, bytes - 1, &err), GCUT_RT_EBLOCK);
    assert_int_equal(gcut_rt_save(a.table, a.plan, a.io, block, bytes, &err), GCUT_RT_OK);
    assert_int_equal(block[bytes], 0x33);
    check_layout(block, bytes, &a);
    assert_int_equal(gcut_rt_load(b.table, b.plan, b.io, block, bytes, &err), GCUT_RT_OK);
    for (int k = 0; k < a.table->n; k++)
        if (a.io[k]) assert_memory_equal(a.io[k], b.io[k], (size_t)a.value[k].bytes);
    /* whatever byte is changed, and wherever it is cut */
    refused(&b, "GCUTSTEX", 8, GCUT_RT_EBLOCK, "holds no values of a step");
    for (int64_t i = 0; i < bytes; i++) {
        block[i] ^= 1;
        refused(&b, block, bytes, GCUT_RT_EBLOCK, i >= 32 ? "is damaged" : "the block ");
        block[i] ^= 1;
    }
    for (int64_t n = 0; n < bytes; n += 13) refused(&b, block, n, GCUT_RT_EBLOCK, "the block ");
    refused(&b, NULL, bytes, GCUT_RT_ENULL, "null");
    int k = 0;
    while (strcmp(b.value[k].name, "double")) k++;
    void *kept = b.io[k];
    b.io[k] = NULL;
    refused(&b, block, bytes, GCUT_RT_ENULL, "the pointer of double is null");
    assert_int_equal(gcut_rt_save(b.table, b.plan, b.io, block, bytes, &err), GCUT_RT_ENULL);
    b.io[k] = kept;
    free(block);
    own_free(&a);
    own_free(&b);
    gcut_ctx_free(ctx);
}

static void of_another_step(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_size four = {"N", 4}, five = {"N", 5};
    own a = own_of(prepared(ctx, other_kinds, &four)), b = own_of(prepared(ctx, other_kinds, &five)),
        c = own_of(prepared(ctx, all_kinds, NULL));
    own *from[] = {&a, &b, &c};
    char *block[3];
    int64_t bytes[3];
    for (int i = 0; i < 3; i++) {
        assert_int_equal(gcut_rt_init_values(from[i]->table, from[i]->plan, from[i]->io, 3, NULL),
                         GCUT_RT_OK);
        bytes[i] = gcut_rt_block_bytes(from[i]->table, from[i]->plan);
        block[i] = malloc((size_t)bytes[i]);
        assert_int_equal(gcut_rt_save(from[i]->table, from[i]->plan, from[i]->io, block[i], bytes[i], NULL),
                         GCUT_RT_OK);
    }
    refused(&a, block[1], bytes[1], GCUT_RT_EOTHER, "axis 0 of run has size 5 there, and 4 here");
    refused(&b, block[0], bytes[0], GCUT_RT_EOTHER, "axis 0 of run has size 4 there, and 5 here");
    refused(&a, block[2], bytes[2], GCUT_RT_EOTHER, "it has no w of this type in its place");
    /* ... and where as many bytes were read as a block of this step has */
    assert_true(bytes[0] < bytes[1]);
    refused(&a, block[1], bytes[0], GCUT_RT_EOTHER, "axis 0 of run has size 5 there, and 4 here");
    refused(&a, block[2], bytes[0], GCUT_RT_EOTHER, "it has no w of this type in its place");
    refused(&c, block[0], bytes[0], GCUT_RT_EOTHER, "it has no single of this type in its place");
    for (int i = 0; i < 3; i++) {
        free(block[i]);
        own_free(from[i]);
    }
    gcut_ctx_free(ctx);
}

static void versions(void **state)
{
    (void)state;
    gcut_rt_error err;
    char message[256];
    assert_int_equal(gcut_rt_expect_abi(GCUT_RT_ABI, &err), GCUT_RT_OK);
    assert_int_equal(gcut_rt_expect_abi(GCUT_RT_ABI - 1, &err), GCUT_RT_EVERSION);
    gcut_rt_message(&err, message, sizeof message);
    assert_non_null(strstr(message, "compile the model again"));
}

static int setup(void **state)
{
    (void)state;
    return mkdtemp(tmp) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    unlink(in_tmp("graph.gcut"));
    unlink(in_tmp("w \"1\".npy"));
    return rmdir(tmp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind),       cmocka_unit_test(models),          cmocka_unit_test(files),
        cmocka_unit_test(saved_and_loaded), cmocka_unit_test(of_another_step), cmocka_unit_test(versions),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
