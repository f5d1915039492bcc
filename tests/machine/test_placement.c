/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Places of the kernel stage against memory: where gcut_stage_look says that saved values are, the arena of a
 * compiled step, or the block of a step called apart, has them after the forward graph, as the interpreter
 * computes them.  Kernels against a profile.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api.h"
#include "driver/load/step.h"

static const char *model;

/* What the interpreter's forward graph computes, by value of its graph. */
typedef struct oracle {
    gcut_step *step;
    gcut_array *values[2];
} oracle;

static void interpret(void *arg)
{
    oracle *o = arg;
    gcut_step_interpret(o->step, GCUT_RT_FORWARD, NULL, o->values);
}

static double at_place(const gcut_graph_value *v, const gcut_buffer_info *b, const char *memory, int64_t k)
{
    int64_t at = v->start;
    for (int r = v->rank; r-- > 0; k /= v->dim[r]) at += k % v->dim[r] * v->stride[r];
    const char *from = memory + b->offset;
    if (v->is_bits) return from[at / 8] >> at % 8 & 1;
    switch (b->dtype) {
    case GCUT_F32: return (double)((const float *)from)[at];
    case GCUT_I32: return ((const int32_t *)from)[at];
    case GCUT_I64: return (double)((const int64_t *)from)[at];
    case GCUT_BOOL:
    case GCUT_U8: return (double)((const unsigned char *)from)[at];
    default: fail_msg("%s: no dtype %d here", model, (int)b->dtype);
    }
    return 0;
}

static double wanted(const gcut_array *x, int64_t k)
{
    return gcut_dtype_is_float(x->dtype) ? x->u.f[k] : (double)x->u.i[k];
}

/* Returns how many values were compared. */
static size_t compare(const gcut_stage_info *s, const char *arena, const char *block, const oracle *o)
{
    const gcut_graph_info *bwd = s->graph[1];
    const gcut_graph *fwd = o->step->p->fwd;
    size_t compared = 0;
    for (size_t i = 0; i < bwd->nparams; i++) {
        const gcut_graph_value *v = bwd->value[bwd->param[i]->value];
        if (strcmp(bwd->param[i]->role, "saved") != 0) continue;
        assert_true(v->buffer < s->nbuffers);
        const gcut_buffer_info *b = s->buffer[v->buffer];
        gcut_ref want = 0;
        for (uint32_t r = 0; r < fwd->results.n; r++)
            if (fwd->results.at[r].role == GCUT_ROLE_saved && !strcmp(fwd->results.at[r].name, v->name))
                want = fwd->results.at[r].value;
        if (!want) fail_msg("%s: the forward graph saves no %s", model, v->name);
        if (b->storage == GCUT_STORAGE_BOUND) continue;
        assert_int_equal(b->storage, block ? GCUT_STORAGE_BLOCK : GCUT_STORAGE_ARENA);
        assert_true(b->saved);
        assert_that(o->values[0][want].n, ==, v->elements);
        for (int64_t k = 0; k < v->elements; k++) {
            const double x = wanted(&o->values[0][want], k), y = at_place(v, b, block ? block : arena, k);
            if (!(fabs(x - y) <= 1e-4 * (1 + fabs(x))))
                fail_msg("%s: %s[%lld] is %g in memory, not %g", model, v->name, (long long)k, y, x);
        }
        compared++;
    }
    return compared;
}

static size_t check(const char *path, const gcut_options *with)
{
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_load(ctx, path, NULL);
    gcut_options o = *with;
    static _Alignas(64) char block[1 << 22];
    model = path;
    o.unbound = GCUT_UNBOUND_RANDOM;
    gcut_stage_info *s = g ? gcut_stage_look(g, &o, GCUT_STAGE_KERNEL) : NULL;
    gcut_step *step = s ? gcut_compile(g, &o) : NULL;
    const bool apart = o.apart;
    o.backend = GCUT_BACKEND_PLANNED;
    o.apart = false;
    oracle planned = {.step = step ? gcut_compile(g, &o) : NULL};
    if (!planned.step || gcut_prepare(step) != GCUT_OK || gcut_prepare(planned.step) != GCUT_OK ||
        (apart && gcut_bind_saved(step, block, sizeof block) != GCUT_OK) || gcut_run_forward(step) != GCUT_OK)
        fail_msg("%s: %s", path, gcut_last_error(ctx));
    assert_true(gcut_guard(planned.step->env, interpret, &planned));
    const size_t compared = compare(s, step->kernel_arena, apart ? block : NULL, &planned);
    if (gcut_run(step) != GCUT_OK) fail_msg("%s: %s", path, gcut_last_error(ctx));
    assert_int_equal(gcut_step_stats(step)->arena_bytes, s->arena_bytes);
    assert_int_equal(gcut_step_stats(step)->saved_bytes, s->saved_bytes);
    assert_int_equal(gcut_step_stats(step)->threads, s->threads);
    gcut_ctx_free(ctx);
    return compared;
}

static void saved_values_are_where_the_stage_says(void **state)
{
    (void)state;
    static const char *const models[] = {"models/mlp", "models/lenet", "corpus/gpt_tiny", "loops/rnn",
                                         "loops/branches"};
    size_t compared = 0;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        for (int threads = 1; threads <= 2; threads++) {
            char path[256];
            snprintf(path, sizeof path, "%s/tests/%s.gcut", GCUT_SOURCE_DIR, models[i]);
            compared += check(path, &(gcut_options){.threads = threads});
            compared += check(path, &(gcut_options){.threads = threads, .policy = "save-all"});
            compared += check(path, &(gcut_options){.threads = threads, .apart = true});
        }
    assert_true(compared > 60);
}

/* A launch of the profile makes a value of that kernel, and every node belongs to one. */
static void kernels_are_those_of_the_profile(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_load(ctx, GCUT_SOURCE_DIR "/examples/mlp.gcut", NULL);
    const gcut_size at = {"N", 64}; /* rows enough for an epilogue */
    gcut_options o = {.unbound = GCUT_UNBOUND_RANDOM, .at = &at, .nat = 1, .profile = true, .threads = 1};
    gcut_stage_info *s = g ? gcut_stage_look(g, &o, GCUT_STAGE_KERNEL) : NULL;
    gcut_step *step = s ? gcut_compile(g, &o) : NULL;
    gcut_profile *p = step ? gcut_step_profile(step, 1) : NULL;
    if (!p) fail_msg("%s", gcut_last_error(ctx));
    size_t epilogues = 0, found = 0;
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < s->graph[i]->nnodes; k++) {
            const gcut_node_info *n = s->graph[i]->node[k];
            size_t at_launch = 0;
            while (at_launch < p->n && p->at[at_launch]->launch != n->launch) at_launch++;
            assert_int_equal(n->launch < 0, n->kernel < 0);
            if (n->launch < 0) continue;
            if (at_launch == p->n)
                fail_msg("%s is of launch %d, which the profile has not", n->op, n->launch);
            assert_int_equal(p->at[at_launch]->backward, i == 1);
            found += !strcmp(s->graph[i]->value[n->result[0]]->name, p->at[at_launch]->value);
            epilogues += n->launch != n->kernel;
        }
    assert_true(epilogues > 0);
    assert_int_equal(found, p->n);
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(saved_values_are_where_the_stage_says),
                                       cmocka_unit_test(kernels_are_those_of_the_profile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
