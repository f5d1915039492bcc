/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How saved values are stored: masks as bits, f32 rounded to bf16 on request.
 * What is computed stays what it was, to the last bit for bits, within the
 * rounding of bf16 for gradients, and forwards always.
 */
#include "driver/pipeline/compile.h"
#include "harness.h"

#include "base/file.h"
#include "driver/options/options.h"
#include "driver/load/step.h"
#include "interp/interp.h"
#include "partition/cut/storage_format.h"
#include "partition/plan.h"
#include "public.h"

typedef struct world {
    gcut_env *env;
    gcut_arena *arena; /* of one case */
} world;

FIXTURE(world)

/* ---- graphs and steps ---- */

/* @f over a product %h [N, columns], which is dear, and a value %y made of it, of which the loss needs no
 * more than its product with an input. */
static gcut_graph *around(world *w, const char *body, int columns)
{
    const char *text = gcut_printf(
        w->arena,
        "gcut 1\nfunc @f[N in 1..](param %%w: f32[300, %d], param %%v: f32[N, %d], input %%x: f32[N, 300], "
        "input %%c: f32[N, %d], rng %%key: i64[], state %%s: f32[N, %d]) -> (out loss: f32[], next s: f32[N, "
        "%d]) {\n  %%h = matmul(%%x, %%w)\n  %s\n  %%z = mul(%%y, %%c)\n  %%loss = sum(%%z)\n  return "
        "%%loss, "
        "%%s1\n}\n",
        columns, columns, columns, columns, columns, body);
    gcut_module *m = gcut_parse_module(w->env, w->arena, "f.gcut", text, strlen(text));
    return gcut_module_find(m, "f");
}

static gcut_step *step_at(world *w, gcut_graph *g, gcut_backend backend, const char *policy, const char *as,
                          const gcut_size *at, uint32_t nat)
{
    gcut_settings o = gcut_settings_of(NULL, NULL, 0);
    o.backend = backend;
    if (policy) o.policy = policy;
    o.save_dtype = as;
    o.at = at;
    o.nat = nat;
    o.threads = 2;
    gcut_arena *a = gcut_arena_new(w->env, w->arena);
    gcut_stage_name goal = backend == GCUT_BACKEND_COMPILED ? GCUT_STAGE_KERNEL : GCUT_STAGE_SPLIT;
    return gcut_step_of_pipeline(gcut_pipeline_new(g, &o, goal, a), a);
}

static gcut_step *step_of(world *w, gcut_graph *g, gcut_backend backend, const char *policy, const char *as,
                          int64_t n)
{
    const gcut_size at = {"N", n};
    return step_at(w, g, backend, policy, as, &at, 1);
}

static const gcut_plan *plan_of(world *w, gcut_graph *g, const char *as, int64_t n)
{
    return step_of(w, g, GCUT_BACKEND_PLANNED, "mincut", as, n)->p->plan;
}

static const gcut_decision *decision(const gcut_plan *p, const char *name)
{
    gcut_ref v = gcut_graph_find(p->joint, name);
    if (!v) fail_msg("there is no %%%s", name);
    return &p->value[v];
}

static bool is_result(const gcut_slot *x)
{
    return x->role == GCUT_ROLE_out || x->role == GCUT_ROLE_grad || x->updated;
}

static void same_results(gcut_step *a, gcut_step *b, const char *what)
{
    for (uint32_t k = 0; k < a->nslots; k++)
        if (is_result(&a->slot[k]) && memcmp(a->slot[k].at, b->slot[k].at, (size_t)a->slot[k].bytes) != 0)
            fail_msg("%s: %s differs", what, a->slot[k].name);
}

/* ---- masks ---- */

static const char *const masks[] = {
    "%y = relu(%h) %s1 = add(%s, %c)",
    "%y = leaky_relu(%h) %s1 = add(%s, %c)",
    "%y = clamp(%h, lo=-0.5, hi=0.5) %s1 = add(%s, %c)",
    "%y = dropout(%h, %key, p=0.25) %s1 = add(%s, %c)",
    "%o = gt(%h, %v) %z0 = full(shape=[N, COLS], value=0) %y = select(%o, %h, %z0) %s1 = add(%s, %c)",
};

static const char *with_columns(world *w, const char *body, int columns)
{
    const char *at = strstr(body, "COLS");
    return at ? gcut_printf(w->arena, "%.*s%d%s", (int)(at - body), body, columns, at + 4) : body;
}

/* One mask crosses, an eighth of a byte for each element, and nothing of %h. */
static void mask_plan(const gcut_plan *p, const char *what, int64_t elements)
{
    uint32_t n = 0;
    for (gcut_ref v = 1; v < p->joint->values.n; v++) {
        if (p->value[v].decision != GCUT_PLAN_SAVED) continue;
        n++;
        assert_int_equal(p->value[v].format, GCUT_FORMAT_BITS);
        assert_int_equal(p->value[v].bytes, (elements + 7) / 8);
    }
    if (n != 1 || p->saved_bytes != (elements + 7) / 8)
        fail_msg("%s: %u values saved, %lld bytes", what, n, (long long)p->saved_bytes);
}

static void masks_body(void *arg)
{
    static const struct {
        int64_t rows;
        int columns;
    } sizes[] = {{512, 64}, {77, 37}, {4099, 3}};
    world *w = arg;
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        TRY("mask %zu", i);
        w->arena = gcut_arena_new(w->env, w->env->arena);
        int64_t n = sizes[i % 3].rows;
        int columns = sizes[i % 3].columns;
        gcut_graph *g = around(w, with_columns(w, masks[i], columns), columns);
        mask_plan(plan_of(w, g, NULL, n), masks[i], n * columns);
        gcut_step *joint = step_of(w, g, GCUT_BACKEND_JOINT, "mincut", NULL, n);
        gcut_step *planned = step_of(w, g, GCUT_BACKEND_PLANNED, "mincut", NULL, n);
        gcut_step *ours = step_of(w, g, GCUT_BACKEND_COMPILED, "mincut", NULL, n);
        gcut_step *again = step_of(w, g, GCUT_BACKEND_COMPILED, "recompute-all", NULL, n);
        gcut_step *all[] = {joint, planned, ours, again};
        for (int k = 0; k < 4; k++) gcut_step_run(all[k], GCUT_RT_STEP);
        same_results(joint, planned, masks[i]);
        same_results(ours, again, masks[i]);
        gcut_stats st = *gcut_step_stats(ours);
        assert_int_equal(st.peak_bytes, st.predicted_bytes);
        gcut_arena_free(w->arena);
    }
}

/* A search may save a mask as bytes instead: its bytes and its price are then those of this format. */
static void other_format_body(void *arg)
{
    world *w = arg;
    w->arena = w->env->arena;
    const gcut_plan *bits = plan_of(w, around(w, masks[0], 64), NULL, 512);
    gcut_problem p = *gcut_problem_of(w->arena, bits), q = p;
    bool *saved = gcut_calloc(w->arena, p.g->values.n, 1);
    q.format = gcut_calloc(w->arena, p.g->values.n, sizeof *q.format);
    for (gcut_ref v = 1; v < p.g->values.n; v++) saved[v] = bits->value[v].decision == GCUT_PLAN_SAVED;
    const gcut_choice *c = gcut_choice_saving(&q, w->arena, saved, NULL, bits->options.lambda);
    const gcut_plan *plain = gcut_plan_from(&p, &bits->options, c);
    assert_int_equal(plain->saved_bytes, 512 * 64);
    for (gcut_ref v = 1; v < p.g->values.n; v++) {
        if (!saved[v]) continue;
        const gcut_decision *d = &plain->value[v];
        assert_int_equal(d->bytes, 512 * 64);
        assert_true(d->save_ns == gcut_saved_ns(&p, v, GCUT_FORMAT_PLAIN) + c->lambda * 512 * 64);
        assert_true(d->save_ns != bits->value[v].save_ns);
    }
}

static void prices_are_of_the_format(void **state)
{
    world *w = *state;
    must(w->env, other_format_body, w);
}

static void masks_cross_as_bits(void **state)
{
    world *w = *state;
    must(w->env, masks_body, w);
}

/* Bits of rows of unknown length are unpacked strip by strip: for sums along rows, and for results that are written
 * past the caches, which 256 bytes are here. */
static const char rows_of_bits[] =
    "gcut 1\nfunc @f[N in 1.., C in 1..](param %w: f32[40, C], param %v: f32[N, C], input %x: f32[N, 40], "
    "input %b: f32[C], rng %key: i64[]) -> (out loss: f32[]) {\n"
    "  %h = matmul(%x, %w)\n  %p = softmax(%h, axis=1)\n  %d = dropout(%p, %key, p=0.25)\n"
    "  %bb = broadcast(%b, shape=[N, C], axes=[1])\n  %z = mul(%d, %bb)\n"
    "  %y0 = mul(%v, %bb)\n  %y1 = relu(%y0)\n  %y = dropout(%y1, %key, p=0.5)\n"
    "  %l1 = sum(%z)\n  %l2 = sum(%y)\n  %loss = add(%l1, %l2)\n  return %loss\n}\n";

static void rows_body(void *arg)
{
    static const int64_t columns[] = {1, 61, 256, 257, 1030};
    world *w = arg;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        TRY("%d columns", (int)columns[i]);
        w->arena = gcut_arena_new(w->env, w->env->arena);
        gcut_module *m = gcut_parse_module(w->env, w->arena, "f.gcut", rows_of_bits, strlen(rows_of_bits));
        gcut_graph *g = gcut_module_find(m, "f");
        const gcut_size at[] = {{"N", 19}, {"C", columns[i]}};
        gcut_step *bits = step_at(w, g, GCUT_BACKEND_COMPILED, "save-all", NULL, at, 2);
        gcut_step *none = step_at(w, g, GCUT_BACKEND_COMPILED, "recompute-all", NULL, at, 2);
        const gcut_plan *p = bits->p->plan;
        uint32_t n = 0;
        for (gcut_ref v = 1; v < p->joint->values.n; v++) n += p->value[v].format == GCUT_FORMAT_BITS;
        assert_true(columns[i] == 1 || n >= 2); /* small values stay as they are */
        gcut_step_run(bits, GCUT_RT_STEP);
        gcut_step_run(none, GCUT_RT_STEP);
        same_results(bits, none, "bits and none");
        gcut_arena_free(w->arena);
    }
}

static void rows_of_unknown_length(void **state)
{
    world *w = *state;
    setenv("GRADCUT_STREAM_BYTES", "256", 1);
    must(w->env, rows_body, w);
    unsetenv("GRADCUT_STREAM_BYTES");
}

/* ---- what may be rounded ---- */

/* Saved as asked for by a mark: in the form of the last column when bf16 is allowed. */
static const struct {
    const char *body, *value;
    gcut_format format;
} forms[] = {
    {"%t = tanh(%h) #must_save %y = mul(%t, %t) %s1 = add(%s, %c)", "t", GCUT_FORMAT_BF16},
    /* a mark on a view is about its base */
    {"%u = neg(%h) %t = reshape(%u, shape=[N*COLS]) #must_save %r = reshape(%t, shape=[N, COLS]) %y = "
     "mul(%r, "
     "%r) %s1 = add(%s, %c)",
     "u", GCUT_FORMAT_BF16},
    /* signs survive rounding, other comparisons may not */
    {"%t = neg(%h) #must_save %y = relu(%t) %s1 = add(%s, %c)", "t", GCUT_FORMAT_BF16},
    {"%t = neg(%h) #must_save %y = clamp(%t, lo=-1, hi=1) %s1 = add(%s, %c)", "t", GCUT_FORMAT_PLAIN},
    {"%t = neg(%h) #must_save %u = cos(%t) %y = clamp(%u, lo=-0.5, hi=0.5) %s1 = add(%s, %c)", "t",
     GCUT_FORMAT_PLAIN},
    {"%t = neg(%h) #must_save %y = abs(%t) %s1 = add(%s, %c)", "t", GCUT_FORMAT_PLAIN},
    {"%t = neg(%h) #must_save %m = max_reduce(%t, axes=[1], keep=true) %y = broadcast(%m, shape=[N, COLS], "
     "axes=[0, 1]) %s1 = add(%s, %c)",
     "t", GCUT_FORMAT_PLAIN},
    {"%t = neg(%h) #must_save %i = reshape(%t, shape=[N, 1, 1, COLS]) %p = max_pool2d(%i, window=[1, 3], "
     "stride=[1, 1], pad=[0, 1, 0, 1]) %y = reshape(%p, shape=[N, COLS]) %s1 = add(%s, %c)",
     "t", GCUT_FORMAT_PLAIN},
    /* the backward graph returns it */
    {"%t = tanh(%h) #must_save %y = mul(%t, %t) %s1 = stop_gradient(%t)", "t", GCUT_FORMAT_PLAIN},
    /* other dtypes */
    {"%a = cast(%h, to=\"f64\") %t = tanh(%a) #must_save %b = mul(%t, %t) %y = cast(%b, to=\"f32\") %s1 = "
     "add(%s, %c)",
     "t", GCUT_FORMAT_PLAIN},
    {"%a = cast(%c, to=\"i32\") %t = mul(%a, %a) #must_save %b = cast(%t, to=\"f32\") %y = mul(%b, %h) %s1 = "
     "add(%s, %c)",
     "t", GCUT_FORMAT_PLAIN},
    {"%t = gt(%h, %v) #must_save %z0 = full(shape=[N, COLS], value=0) %y = select(%t, %h, %z0) %s1 = "
     "add(%s, %c)",
     "t", GCUT_FORMAT_BITS},
};

static const char *fill_columns(world *w, const char *body, int columns)
{
    for (const char *next = with_columns(w, body, columns); next != body;
         next = with_columns(w, body, columns))
        body = next;
    return body;
}

static void forms_body(void *arg)
{
    world *w = arg;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        w->arena = gcut_arena_new(w->env, w->env->arena);
        gcut_graph *g = around(w, fill_columns(w, forms[i].body, 64), 64);
        const gcut_plan *p = plan_of(w, g, "bf16", 512);
        const gcut_decision *d = decision(p, forms[i].value);
        if (d->decision != GCUT_PLAN_SAVED || d->format != forms[i].format)
            fail_msg("%s: %%%s has decision %d, form %d", forms[i].body, forms[i].value, d->decision,
                     d->format);
        const gcut_decision *plain = decision(plan_of(w, g, NULL, 512), forms[i].value);
        assert_int_equal(plain->format == GCUT_FORMAT_BITS, forms[i].format == GCUT_FORMAT_BITS);
        if (forms[i].format == GCUT_FORMAT_BF16) assert_int_equal(2 * d->bytes, plain->bytes);
        gcut_arena_free(w->arena);
    }
}

static void what_is_rounded(void **state)
{
    world *w = *state;
    must(w->env, forms_body, w);
}

/* Fewer bytes than the arena deals out are no gain. */
static void small_body(void *arg)
{
    world *w = arg;
    w->arena = gcut_arena_new(w->env, w->env->arena);
    gcut_graph *g = around(w, "%t = tanh(%h) #must_save %y = mul(%t, %t) %s1 = add(%s, %c)", 4);
    assert_int_equal(decision(plan_of(w, g, "bf16", 4), "t")->format, GCUT_FORMAT_PLAIN);
    assert_int_equal(decision(plan_of(w, g, "bf16", 5), "t")->format, GCUT_FORMAT_BF16);
}

static void small_values_stay(void **state)
{
    world *w = *state;
    must(w->env, small_body, w);
}

static void wrong_body(void *arg)
{
    world *w = arg;
    w->arena = gcut_arena_new(w->env, w->env->arena);
    plan_of(w, around(w, masks[0], 4), "f16", 4);
}

static void other_types_are_refused(void **state)
{
    world *w = *state;
    assert_int_equal(gcut_protect(w->env, wrong_body, w), GCUT_EUSAGE);
    assert_string_equal(w->env->diags[0].message, "values cannot be saved as 'f16'");
}

/* ---- rounding ---- */

/* dv is the cotangent, 1, times what was saved of %t: its rounding, element by element. */
static void exact_body(void *arg)
{
    static const float special[] = {INFINITY, -INFINITY, NAN, 0.0f, -0.0f, 0x1p-126f, 0x1p-149f, 3.3e38f};
    world *w = arg;
    for (int backend = 0; backend < 2; backend++) {
        w->arena = gcut_arena_new(w->env, w->env->arena);
        const char *text =
            "gcut 1\nfunc @f[N in 1..](param %v: f32[N], input %x: f32[N]) -> (out loss: f32[], "
            "out y: f32[N]) {\n  %t = neg(%x) #must_save\n  %y = mul(%t, %v)\n  %loss = "
            "sum(%y)\n  return %loss, %y\n}\n";
        gcut_graph *g =
            gcut_module_find(gcut_parse_module(w->env, w->arena, "f.gcut", text, strlen(text)), "f");
        gcut_backend b = backend ? GCUT_BACKEND_COMPILED : GCUT_BACKEND_PLANNED;
        gcut_step *s = step_of(w, g, b, "mincut", "bf16", 1000);
        assert_int_equal(decision(s->p->plan, "t")->format, GCUT_FORMAT_BF16);
        gcut_step_prepare(s);
        float *x = gcut_slot_find(s, "x")->at;
        memcpy(x, special, sizeof special);
        gcut_step_run(s, GCUT_RT_STEP);
        const float *dv = gcut_slot_find(s, "grad.v")->at;
        for (int i = 0; i < 1000; i++) {
            double want = gcut_round_to(-(double)x[i], GCUT_BF16);
            if (isnan(x[i])) {
                assert_true(isnan(dv[i]));
                continue;
            }
            assert_that((double)dv[i], ==, want);
            assert_that(!signbit(dv[i]), ==, !!signbit(x[i]));
            bool normal = isnormal(x[i]) && fabsf(x[i]) < 3e38f;
            if (normal) assert_true(fabs(dv[i] + (double)x[i]) <= GCUT_BF16_ERROR * fabs((double)x[i]));
        }
        const float *y = gcut_slot_find(s, "y")->at, *v = gcut_slot_find(s, "v")->at;
        for (int i = 8; i < 1000; i++) assert_true(y[i] == -x[i] * v[i]); /* not rounded forwards */
        gcut_arena_free(w->arena);
    }
}

static void rounding_is_that_of_bf16(void **state)
{
    world *w = *state;
    must(w->env, exact_body, w);
}

/* ---- models ---- */

static gcut_graph *model(world *w, const char *name)
{
    size_t n;
    const char *path = gcut_printf(w->arena, "%s/tests/models/%s.gcut", GCUT_SOURCE_DIR, name);
    const char *text = gcut_file_read(w->arena, path, 1 << 20, &n);
    return gcut_module_find(gcut_parse_module(w->env, w->arena, path, text, n), name);
}

static double largest(const gcut_slot *x)
{
    double most = 0;
    for (int64_t i = 0; i < x->bytes / 4; i++) most = fmax(most, fabs((double)((const float *)x->at)[i]));
    return most;
}

/* What the forward graph computes is the same to the last bit.  Gradients are compared as the ladder compares
 * bf16: 2^-4 of the largest element, which counts as at least 1/100 of the largest of any gradient. */
static void compare_rounded(gcut_step *plain, gcut_step *rounded, const char *what)
{
    double least = 0;
    bool differs = false;
    for (uint32_t k = 0; k < plain->nslots; k++)
        if (plain->slot[k].role == GCUT_ROLE_grad) least = fmax(least, largest(&plain->slot[k]) / 100);
    for (uint32_t k = 0; k < plain->nslots; k++) {
        const gcut_slot *x = &plain->slot[k], *y = &rounded->slot[k];
        bool same = x->bytes == 0 || !memcmp(x->at, y->at, (size_t)x->bytes);
        if (x->role == GCUT_ROLE_out && !same) fail_msg("%s: result %s differs", what, x->name);
        if (x->role != GCUT_ROLE_grad) continue;
        differs |= !same;
        double room = 0x1p-4 * fmax(largest(x), least);
        for (int64_t i = 0; i < x->bytes / 4; i++) {
            double d = fabs((double)((const float *)x->at)[i] - (double)((const float *)y->at)[i]);
            if (!(d <= room)) fail_msg("%s: %s[%lld] is off by %g", what, x->name, (long long)i, d);
        }
    }
    assert_true(differs);
}

static int64_t as_they_are(const gcut_plan *p)
{
    int64_t sum = 0;
    for (gcut_ref v = 1; v < p->joint->values.n; v++)
        if (p->value[v].decision == GCUT_PLAN_SAVED)
            sum += p->value[v].bytes * (p->value[v].format == GCUT_FORMAT_BF16   ? 2
                                        : p->value[v].format == GCUT_FORMAT_BITS ? 8
                                                                                 : 1);
    return sum;
}

static void models_body(void *arg)
{
    static const char *const names[] = {"lenet", "gpt2", "lstm", "vit", "bert", "vae", "llama"};
    world *w = arg;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        TRY("name %zu", i);
        w->arena = gcut_arena_new(w->env, w->env->arena);
        gcut_graph *g = model(w, names[i]);
        for (int backend = 0; backend < (i < 3 ? 2 : 1); backend++) {
            gcut_backend b = backend ? GCUT_BACKEND_COMPILED : GCUT_BACKEND_PLANNED;
            gcut_step *plain = step_of(w, g, b, "mincut", NULL, 16);
            gcut_step *rounded = step_of(w, g, b, "mincut", "bf16", 16);
            assert_true(rounded->p->plan->saved_bytes < as_they_are(rounded->p->plan));
            gcut_step_run(plain, GCUT_RT_STEP);
            gcut_step_run(rounded, GCUT_RT_STEP);
            compare_rounded(plain, rounded, names[i]);
            gcut_stats st = *gcut_step_stats(rounded);
            if (backend) assert_int_equal(st.peak_bytes, st.predicted_bytes);
        }
        gcut_arena_free(w->arena);
    }
}

static void models_are_trained_alike(void **state)
{
    world *w = *state;
    must(w->env, models_body, w);
}

/* ---- the run-time library ---- */

/* Every length and alignment: whole bytes, beginnings and ends, and steps of several bits. */
static void bits_of_every_alignment(void **state)
{
    (void)state;
    uint8_t bools[300], packed[38], got[300];
    uint32_t seed = 1;
    for (int i = 0; i < 300; i++) bools[i] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 31);
    for (int64_t n = 0; n <= 300; n++) {
        memset(packed, 0xA5, sizeof packed);
        gcut_rt_pack_bits(n, bools, packed, 2);
        for (int64_t i = 0; i < (n + 7) / 8 * 8; i++)
            assert_int_equal(gcut_rt_bit(packed, i), i < n ? bools[i] : 0);
        for (int64_t b = (n + 7) / 8; b < 38; b++) assert_int_equal(packed[b], 0xA5);
    }
    gcut_rt_pack_bits(300, bools, packed, 1);
    for (int64_t from = 0; from < 20; from++)
        for (int64_t n = 0; n <= 70; n++) {
            memset(got, 0xA5, sizeof got);
            gcut_rt_bits(packed, from, n, got);
            assert_memory_equal(got, bools + from, (size_t)n);
            assert_int_equal(got[n], 0xA5);
            const int64_t dim[] = {2, n}, step[] = {100, 1}, turned[] = {1, 3};
            gcut_rt_unpack_bits(2, dim, packed, from, step, got, 2);
            assert_memory_equal(got, bools + from, (size_t)n);
            assert_memory_equal(got + n, bools + from + 100, (size_t)n);
            gcut_rt_unpack_bits(2, dim, packed, from, turned, got, 2);
            for (int64_t i = 0; i < 2 * n; i++) assert_int_equal(got[i], bools[from + i / n + 3 * (i % n)]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bits_of_every_alignment),
                                       WITH_FIXTURE(masks_cross_as_bits),
                                       WITH_FIXTURE(prices_are_of_the_format),
                                       WITH_FIXTURE(rows_of_unknown_length),
                                       WITH_FIXTURE(what_is_rounded),
                                       WITH_FIXTURE(small_values_stay),
                                       WITH_FIXTURE(other_types_are_refused),
                                       WITH_FIXTURE(rounding_is_that_of_bf16),
                                       WITH_FIXTURE(models_are_trained_alike)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
