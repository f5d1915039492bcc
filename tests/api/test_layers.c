/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The models of examples/layers against tests/reference/layers.txt, which PyTorch computed: one compiled step
 * for all sizes, on every backend, whole, and forward and backward called apart with a block of saved values
 * for each case.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "api.h"

enum { MOST_VALUES = 16, MOST_CASES = 16 };

typedef struct array {
    bool want; /* a result or gradient, of which there are norm, sum and some elements */
    char name[32];
    int rank;
    int64_t dim[GCUT_MAX_RANK], n;
    float *at;
    double norm, sum;
    int nprobes;
    struct {
        long long i;
        double v;
    } probe[16];
} array;

typedef struct example {
    char model[32], wrt[32], sizes[32];
    int n;
    array value[MOST_VALUES];
} example;

static example all[MOST_CASES];
static int nall;

static void read_sizes(FILE *f, array *x)
{
    char text[64], *s = text + 1;
    assert_int_equal(fscanf(f, " %63s", text), 1);
    assert_int_equal(text[0], '[');
    for (x->n = 1; *s != ']'; s += *s == ',') {
        x->dim[x->rank] = strtoll(s, &s, 10);
        x->n *= x->dim[x->rank++];
    }
}

/* scale * (-0.5 to 0.5), as `filled` in layers.py. */
static float filled(int64_t i, int k, double scale)
{
    return (float)(scale * (double)((31 * i * i + 7919 * i + 104729 * (int64_t)k) % 65521 - 32760) / 65536);
}

static void read_array(FILE *f, const char *kind, array *x)
{
    int k;
    double scale;
    x->want = !strcmp(kind, "want");
    assert_int_equal(fscanf(f, " %31s", x->name), 1);
    read_sizes(f, x);
    if (x->want) {
        assert_int_equal(fscanf(f, "%lf %lf", &x->norm, &x->sum), 2);
        while (x->nprobes < 16 &&
               fscanf(f, "%lld:%lf", &x->probe[x->nprobes].i, &x->probe[x->nprobes].v) == 2)
            x->nprobes++;
        assert_int_equal(x->nprobes, x->n < 16 ? x->n : 16);
        return;
    }
    x->at = calloc((size_t)x->n + 1, sizeof *x->at);
    assert_non_null(x->at);
    if (!strcmp(kind, "fill")) {
        assert_int_equal(fscanf(f, "%d %lf", &k, &scale), 2);
        for (int64_t i = 0; i < x->n; i++) x->at[i] = filled(i, k, scale);
    } else {
        assert_string_equal(kind, "give");
        for (int64_t i = 0; i < x->n; i++) assert_int_equal(fscanf(f, "%f", &x->at[i]), 1);
    }
}

static int read_reference(void **state)
{
    FILE *f = fopen(GCUT_SOURCE_DIR "/tests/reference/layers.txt", "r");
    assert_non_null(f);
    char kind[8];
    while (fscanf(f, " %7s", kind) == 1) {
        example *c = &all[nall - !!nall];
        if (!strcmp(kind, "case")) {
            assert_true(nall < MOST_CASES);
            c = &all[nall++];
            assert_int_equal(fscanf(f, " %31s %31s %31s", c->model, c->wrt, c->sizes), 3);
            continue;
        }
        assert_true(nall);
        assert_that(c->n, <, MOST_VALUES);
        read_array(f, kind, &c->value[c->n++]);
    }
    assert_true(feof(f));
    fclose(f);
    return make_folder(state);
}

static int free_reference(void **state)
{
    for (int i = 0; i < nall; i++)
        for (int k = 0; k < all[i].n; k++) free(all[i].value[k].at);
    return remove_folder(state);
}

/* The results or the gradients: a sum of some hundred products of f32 is off by 1e-6 or so of their size. */
static void check(gcut_step *s, const example *c, const char *role, const char *how)
{
    int found = 0;
    for (int i = 0; i < c->n; i++) {
        const array *x = &c->value[i];
        const gcut_value_info *v = x->want ? gcut_step_value(s, x->name) : NULL;
        if (x->want && !v) fail_msg("%s: no %s", c->model, x->name);
        if (!v || strcmp(v->role, role) != 0) continue;
        assert_int_equal(v->rank, x->rank);
        for (int k = 0; k < x->rank; k++) assert_int_equal(v->dim[k], x->dim[k]);
        const float *at = v->at;
        const double typical = x->norm / sqrt((double)x->n);
        double squares = 0, sum = 0;
        for (int64_t k = 0; k < x->n; k++) squares += (double)at[k] * (double)at[k], sum += (double)at[k];
        for (int k = 0; k < x->nprobes; k++) {
            const double want = x->probe[k].v, got = (double)at[x->probe[k].i];
            if (!(fabs(got - want) <= 1e-5 * fmax(fabs(want), typical)))
                fail_msg("%s at %s, %s: %s[%lld] is %.9g, not %.9g", c->model, c->sizes, how, x->name,
                         x->probe[k].i, got, want);
        }
        if (!(fabs(sqrt(squares) - x->norm) <= 1e-5 * x->norm) ||
            !(fabs(sum - x->sum) <= 1e-5 * x->norm * sqrt((double)x->n)))
            fail_msg("%s at %s, %s: %s has the norm %.9g and the sum %.9g, not %.9g and %.9g", c->model,
                     c->sizes, how, x->name, sqrt(squares), sum, x->norm, x->sum);
        found++;
    }
    assert_true(found > 0);
}

/* Gives what the forward call takes; or the cotangents, d<result>. */
static void give(gcut_step *s, const example *c, bool cotangents)
{
    for (int i = 0; i < c->n; i++) {
        const array *x = &c->value[i];
        if (x->want || cotangents != (x->name[0] == 'd')) continue;
        assert_int_equal(gcut_set_as(s, x->name, GCUT_F32, x->at, x->rank, x->dim), GCUT_OK);
    }
}

static gcut_step *compile(gcut_graph *g, const example *c, int run, bool apart)
{
    char list[32];
    const char *wrt[4];
    size_t n = 0;
    memcpy(list, c->wrt, sizeof list);
    for (char *at = strtok(list, ","); at; at = strtok(NULL, ",")) wrt[n++] = at;
    gcut_options o = {
        .backend = (gcut_backend)(run % 4), .threads = 1 + run / 4, .wrt = wrt, .nwrt = n, .apart = apart};
    return gcut_compile(g, &o);
}

static void run_whole(gcut_ctx *ctx, gcut_step *s, const example *c, int n)
{
    for (int i = 0; i < n; i++) {
        give(s, &c[i], false);
        give(s, &c[i], true);
        must_run(ctx, s);
        check(s, &c[i], "out", "whole");
        check(s, &c[i], "grad", "whole");
    }
}

/* Binds a block of the case's own, which is made when it is NULL. */
static void bind_block(gcut_ctx *ctx, gcut_step *s, void **block)
{
    const int64_t bytes = gcut_saved_bytes(s);
    if (bytes < 0) fail_msg("%s", gcut_last_error(ctx));
    if (!*block) *block = aligned_alloc(64, (size_t)bytes);
    assert_non_null(*block);
    assert_int_equal(gcut_bind_saved(s, *block, (size_t)bytes), GCUT_OK);
}

/* Inputs and results of a layer are #transient: their memory holds something else by now. */
static void overwrite(gcut_step *s)
{
    for (size_t i = 0; i < gcut_step_value_count(s); i++) {
        const gcut_value_info *v = gcut_step_value_at(s, i);
        if (!strcmp(v->role, "input") || !strcmp(v->role, "out")) memset(v->at, 0x41, (size_t)v->bytes);
    }
}

/* All forward calls, then the backward calls in the opposite order. */
static void run_apart(gcut_ctx *ctx, gcut_step *s, const example *c, int n)
{
    void *block[MOST_CASES] = {NULL};
    for (int i = 0; i < n; i++) {
        give(s, &c[i], false);
        bind_block(ctx, s, &block[i]);
        if (gcut_run_forward(s) != GCUT_OK) fail_msg("%s: %s", c[i].model, gcut_last_error(ctx));
        check(s, &c[i], "out", "forward");
    }
    for (int i = n; i-- > 0;) {
        give(s, &c[i], false);
        give(s, &c[i], true);
        bind_block(ctx, s, &block[i]);
        overwrite(s);
        if (gcut_run_backward(s) != GCUT_OK) fail_msg("%s: %s", c[i].model, gcut_last_error(ctx));
        check(s, &c[i], "grad", "backward");
        free(block[i]);
    }
}

static gcut_graph *load(gcut_ctx *ctx, const char *model)
{
    char path[256];
    snprintf(path, sizeof path, GCUT_SOURCE_DIR "/examples/layers/%s.gcut", model);
    gcut_graph *g = gcut_load(ctx, path, NULL);
    if (!g) fail_msg("%s", gcut_last_error(ctx));
    return g;
}

static void values_of_pytorch(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    int models = 0;
    for (int i = 0, n; i < nall; i += n, models++) {
        for (n = 1; i + n < nall && !strcmp(all[i].model, all[i + n].model);) n++;
        gcut_graph *g = load(ctx, all[i].model);
        for (int run = 0; run < 8; run++)
            for (int apart = 0; apart < 2; apart++) {
                gcut_step *s = compile(g, &all[i], run, apart);
                if (!s) fail_msg("%s: %s", all[i].model, gcut_last_error(ctx));
                (apart ? run_apart : run_whole)(ctx, s, &all[i], n);
                gcut_step_free(s);
            }
    }
    assert_int_equal(models, 5);
    gcut_ctx_free(ctx);
}

/* Which values cross: with time at a price x alone, and cos x is computed again; else both. */
static void cosine_saves_its_input(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = load(ctx, "cosine");
    const char *wrt = "x";
    const gcut_size at[] = {{"A", 5}, {"B", 5}, {"C", 5}};
    for (int threads = 1; threads <= 2; threads++)
        for (int all_of_it = 0; all_of_it < 2; all_of_it++) {
            gcut_plan *p = gcut_plan_new(g, (&(gcut_options){.wrt = &wrt,
                                                             .nwrt = 1,
                                                             .lambda = 1,
                                                             .policy = all_of_it ? "save-all" : NULL,
                                                             .at = at,
                                                             .nat = 3,
                                                             .threads = threads,
                                                             .machine = "shipped"}));
            if (!p) fail_msg("%s", gcut_last_error(ctx));
            const gcut_plan_info *i = gcut_plan_look(p);
            assert_int_equal(i->n, 2);
            assert_string_equal(i->value[0]->name, "x");
            assert_string_equal(i->value[1]->name, "a");
            assert_int_equal(i->value[0]->decision, GCUT_PLAN_SAVED);
            assert_int_equal(i->value[1]->decision, all_of_it ? GCUT_PLAN_SAVED : GCUT_PLAN_RECOMPUTED);
            assert_int_equal(i->saved_bytes, all_of_it ? 1000 : 500);
            gcut_plan_free(p);
        }
    gcut_ctx_free(ctx);
}

/* Of 2^18 elements, what the launches read and write: the backward graph has one kernel, which reads x, dz
 * and, where it is saved, cos x, and writes dx.  The forward graph copies x beside it. */
static void cosine_moves(void **state)
{
    (void)state;
    enum { TENSOR = 1 << 20 };
    static const char *const variants[] = {"save-all", "planned"};
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = load(ctx, "cosine");
    const char *wrt = "x";
    const gcut_size at[] = {{"A", 64}, {"B", 64}, {"C", 64}};
    for (int threads = 1; threads <= 2; threads++) {
        gcut_options o = {.wrt = &wrt,
                          .nwrt = 1,
                          .lambda = 1,
                          .at = at,
                          .nat = 3,
                          .threads = threads,
                          .machine = "shipped"};
        gcut_compare_options how = {.variant = variants, .nvariants = 2, .rounds = 1};
        gcut_comparison *c = gcut_compare(g, &o, &how);
        if (!c) fail_msg("%s", gcut_last_error(ctx));
        const gcut_variant *every = c->variant[0], *planned = c->variant[1];
        assert_int_equal((int64_t)every->backward->bytes, 4 * TENSOR);
        assert_int_equal((int64_t)planned->backward->bytes, 3 * TENSOR);
        assert_int_equal((int64_t)every->forward->bytes, 5 * TENSOR);
        assert_int_equal((int64_t)planned->forward->bytes, 4 * TENSOR);
        assert_int_equal(planned->backward->kernels, 1);
        assert_int_equal(every->saved_bytes, 2 * TENSOR);
        assert_int_equal(planned->saved_bytes, TENSOR);
        assert_int_equal(planned->peak_measured, planned->peak_predicted);
        gcut_free(c);
    }
    gcut_ctx_free(ctx);
}

/* By every parameter and input, along random cotangents. */
static void gradients_agree(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    const char *wrt = "*";
    for (int i = 0; i < nall; i++) {
        if (i && !strcmp(all[i].model, all[i - 1].model)) continue;
        gcut_graph *g = load(ctx, all[i].model);
        for (int apart = 0; apart < 2; apart++) {
            gcut_options o = {.wrt = &wrt, .nwrt = 1, .apart = apart};
            gcut_check_report r = gradcheck(g, &o, NULL, 0, 0);
            if (!r.ok) fail_msg("%s: %s", all[i].model, r.text ? r.text : gcut_last_error(ctx));
            r = crosscheck(g, &o, NULL, 0, 0);
            if (!r.ok) fail_msg("%s: %s", all[i].model, r.text ? r.text : gcut_last_error(ctx));
        }
    }
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_pytorch),
        cmocka_unit_test(gradients_agree),
        cmocka_unit_test(cosine_saves_its_input),
        cmocka_unit_test(cosine_moves),
    };
    return cmocka_run_group_tests(tests, read_reference, free_reference);
}
