/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Compiled control flow: the bodies of if, while and scan as kernels inside C
 * loops and branches, against the interpreter, for several lengths of one
 * compiled step, with 1 and 2 threads.
 */
#include "harness.h"

#include <glob.h>

#include "gradcut/gradcut.h"
#include "graph/graph.h"

/* Programs over sizes T, of loops, and N; those with a result `loss` are differentiated too. */
#define PROGRAMS GCUT_SOURCE_DIR "/tests/loops/*.gcut"

static double sample(const char *name, int64_t i)
{
    uint64_t s = 88172645463325252u + (uint64_t)i * 2654435761u;
    for (; *name; name++) s = s * 31 + (uint64_t)*name;
    s ^= s << 13, s ^= s >> 7, s ^= s << 17;
    return (double)(s % 2001) / 1000 - 1;
}

/* Binds every parameter at these sizes and fills it; the memory is the caller's to free. */
static uint32_t bind_all(gcut_step *s, const gcut_graph *g, int64_t t, int64_t n, void **memory)
{
    gcut_dim_binding at[2] = {{gcut_dim_symbol(g->module->dims, "T"), t},
                              {gcut_dim_symbol(g->module->dims, "N"), n}};
    for (uint32_t i = 0; i < g->params.n; i++) {
        const gcut_value *v = &g->values.at[g->params.at[i].value];
        int64_t dim[GCUT_MAX_RANK], count = 1;
        for (uint32_t d = 0; d < v->type.rank; d++) {
            assert_true(gcut_dim_eval(g->module->dims, v->type.dim[d], at, 2, &dim[d]));
            count *= dim[d];
        }
        void *x = memory[i] = malloc((size_t)count * 8 + 8);
        for (int64_t k = 0; k < count; k++) {
            double r = sample(v->name, k);
            switch (v->type.dtype) {
            case GCUT_f32: ((float *)x)[k] = (float)r; break;
            case GCUT_f64: ((double *)x)[k] = r; break;
            case GCUT_i32: ((int32_t *)x)[k] = (int32_t)(3.4 * r + 3.45); break;
            default: ((uint8_t *)x)[k] = r > 0;
            }
        }
        assert_int_equal(gcut_bind_n(s, v->name, x, v->type.rank, dim), GCUT_OK);
    }
    return g->params.n;
}

static gcut_step *compile(gcut_ctx *ctx, gcut_graph *g, gcut_backend b, int threads, const char *policy,
                          bool derive)
{
    gcut_options o = GCUT_OPTIONS_DEFAULT;
    o.backend = b;
    o.threads = threads;
    o.forward_only = !derive;
    if (policy) o.policy = policy;
    gcut_step *s = gcut_compile(g, &o);
    if (!s) {
        fprintf(stderr, "%s\n", gcut_last_error(ctx));
        fail();
    }
    return s;
}

static void run(gcut_ctx *ctx, gcut_step *s, const gcut_graph *g, int64_t t, int64_t n, void **memory)
{
    bind_all(s, g, t, n, memory);
    gcut_status st = gcut_run(s);
    if (st != GCUT_OK) fprintf(stderr, "%s\n", gcut_last_error(ctx));
    assert_int_equal(st, GCUT_OK);
    gcut_stats stats = gcut_step_stats(s);
    /* With no iteration, the end of the arena may stay untouched. */
    if (t)
        assert_int_equal(stats.peak_bytes, stats.predicted_bytes);
    else
        assert_true(stats.peak_bytes <= stats.predicted_bytes);
}

static double element(const gcut_value_info *v, int64_t k)
{
    switch (v->dtype) {
    case GCUT_F32: return ((const float *)v->at)[k];
    case GCUT_F64: return ((const double *)v->at)[k];
    case GCUT_I32: return ((const int32_t *)v->at)[k];
    default: return ((const uint8_t *)v->at)[k];
    }
}

static int64_t count(const gcut_value_info *v)
{
    int64_t n = 1;
    for (int d = 0; d < v->rank; d++) n *= v->dim[d];
    return n;
}

/* Every result of both, near enough or to the last bit. */
static void same(const char *what, int64_t t, const gcut_step *a, const gcut_step *b, bool bits)
{
    for (size_t i = 0; i < gcut_step_value_count(a); i++) {
        gcut_value_info x = gcut_step_value_at(a, i), y;
        if (strcmp(x.role, "out") != 0 && strcmp(x.role, "grad") != 0 && !x.updated) continue;
        assert_true(gcut_step_value(b, x.name, &y));
        assert_int_equal(count(&x), count(&y));
        double big = 1; /* f32 values are of this size at least, or sums of such */
        for (int64_t k = 0; k < count(&x); k++) big = fmax(big, fabs(element(&x, k)));
        for (int64_t k = 0; k < count(&x); k++) {
            double p = element(&x, k), q = element(&y, k);
            double room = bits || x.dtype == GCUT_I32 ? 0 : x.dtype == GCUT_F32 ? 2e-5 * big : 1e-12 * big;
            if (!(fabs(p - q) <= room) && !(isnan(p) && isnan(q)))
                fail_msg("%s at T=%d: %s[%d] is %.9g and %.9g", what, (int)t, x.name, (int)k, p, q);
        }
    }
}

static const int64_t lengths[] = {5, 0, 1, 100};

static void check(const char *what, const char *path, int64_t n, bool derive)
{
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_load(ctx, path, NULL);
    if (!g) fail_msg("%s", gcut_last_error(ctx));
    gcut_step *eager = compile(ctx, g, GCUT_EAGER, 1, NULL, derive),
              *one = compile(ctx, g, GCUT_COMPILED, 1, NULL, derive),
              *two = compile(ctx, g, GCUT_COMPILED, 2, "recompute-all", derive);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        void *memory[3][16];
        uint32_t k = g->params.n;
        assert_true(k <= 16);
        run(ctx, eager, g, lengths[i], n, memory[0]);
        run(ctx, one, g, lengths[i], n, memory[1]);
        run(ctx, two, g, lengths[i], n, memory[2]);
        same(what, lengths[i], eager, one, false);
        same(what, lengths[i], one, two, true);
        while (k-- > 0)
            for (int j = 0; j < 3; j++) free(memory[j][k]);
    }
    gcut_ctx_free(ctx);
}

static void forward_agrees(void **state)
{
    (void)state;
    glob_t files;
    assert_int_equal(glob(PROGRAMS, 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        const char *name = strrchr(files.gl_pathv[i], '/') + 1;
        check(name, files.gl_pathv[i], 3, false);
    }
    globfree(&files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(forward_agrees)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
