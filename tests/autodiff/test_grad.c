/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Every op's VJP against central differences, and its derivative's derivative
 * too.  The loop runs over the op table: an op without a sample in
 * grad_samples.h fails.
 */
#include "oracle.h"

#include "autodiff/autodiff.h"
#include "grad_samples.h"
#include "modes.h"

/* "%a: f32[2], %i: i32[3]" with the role of each: floats are params, the rest inputs. */
static void add_roles(gcut_text *t, const char *params)
{
    for (const char *p = params; *p;) {
        size_t n = strcspn(p, "]") + 1;
        const char *type = strchr(p, ':') + 2;
        gcut_text_add(t, "%s%s ", p == params ? "" : ", ", *type == 'f' ? "param" : "input");
        gcut_text_addn(t, p, n);
        p += n + strspn(p + n, ", ");
    }
}

/* The sample as a graph with `out loss` = sum(y * t), t one more input. */
static gcut_graph *sample_graph(gcut_env *env, gcut_arena *a, const sample *s)
{
    gcut_text t = {.arena = a};
    gcut_text_add(&t, "gcut 1\nfunc @f%s(", s->dims);
    add_roles(&t, s->params);
    gcut_text_add(&t, ") -> (out y: %s) { %s return %%y }\n", s->type, s->body);
    gcut_module *m = gcut_parse_module(env, a, gcut_op_get(s->op)->name, t.at, t.n);
    gcut_graph *g = m->graphs.at[0];
    bool uses = false;
    for (uint32_t n = 0; n < g->nodes.n; n++) uses = uses || g->nodes.at[n].op == s->op;
    assert_true(uses);
    gcut_build b = {.g = g};
    gcut_ref y = g->results.at[0].value;
    if (!gcut_dtype_is_float(gcut_type_of(g, y)->dtype)) y = gcut_bconvert(&b, y, GCUT_F32);
    gcut_type ty = *gcut_type_of(g, y);
    gcut_ref p = gcut_b2(&b, GCUT_OP_mul, y, gcut_param_new(g, GCUT_ROLE_input, "t", &ty));
    if (ty.rank) p = gcut_breduce(&b, GCUT_OP_sum, p, (1u << ty.rank) - 1);
    g->results.n = 0;
    gcut_result_new(g, GCUT_ROLE_out, "loss", p);
    return g;
}

static void shuffle(double *x, int64_t n, uint64_t *seed)
{
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t k = (int64_t)(next_unit(seed) * (double)(i + 1));
        double tmp = x[i];
        x[i] = x[k];
        x[k] = tmp;
    }
}

/* The arrays of g's parameters; all differentiated floats share one grid. */
static gcut_array *fill(gcut_arena *a, const gcut_graph *g, const sample *s, int64_t size, uint64_t *seed)
{
    gcut_array *at = gcut_calloc(a, g->params.n + 1u, sizeof *at);
    int64_t n = 0, next = 0;
    for (uint32_t k = 0; k < g->params.n; k++) {
        at[k] = array_for(a, g, gcut_type_of(g, g->params.at[k].value), size);
        if (g->params.at[k].role == GCUT_ROLE_param) n += at[k].n;
    }
    n += n % 2;
    if (n == 0) n = 2;
    /* An even number of cells puts a boundary at the middle of [lo, hi], where most kinks are. */
    double *grid = gcut_calloc(a, (size_t)n, sizeof *grid);
    for (int64_t i = 0; i < n; i++)
        grid[i] = s->lo + (s->hi - s->lo) * ((double)i + 0.4 + 0.2 * next_unit(seed)) / (double)n;
    shuffle(grid, n, seed);
    for (uint32_t k = 0; k < g->params.n; k++)
        for (int64_t i = 0; i < at[k].n; i++) {
            if (!gcut_dtype_is_float(at[k].dtype))
                at[k].u.i[i] = (int64_t)(next_unit(seed) * s->bound);
            else if (g->params.at[k].role == GCUT_ROLE_param)
                at[k].u.f[i] = grid[next++];
            else
                at[k].u.f[i] = 2 * next_unit(seed) - 1;
        }
    return at;
}

static void assert_close(const sample *s, int64_t size, const char *what, double got, double want)
{
    double scale = fmax(fabs(want), 1e-3);
    if (fabs(got - want) <= 1e-6 * scale) return;
    fail_msg("%s, N=%lld, %s: %.17g, expected %.17g\n  (%s) { %s }", gcut_op_get(s->op)->name,
             (long long)size, what, got, want, s->params, s->body);
}

typedef struct job {
    gcut_env *env;
    const sample *s;
    int64_t size;
} job;

/* One operand at a time gives the same gradient as all at once. */
static void check_each_alone(gcut_arena *a, gcut_graph *g, const gcut_array *at, const gcut_graph *joint,
                             const gcut_array *all)
{
    for (uint32_t k = 0; k < g->params.n; k++) {
        if (g->params.at[k].role != GCUT_ROLE_param) continue;
        const char *name = g->values.at[g->params.at[k].value].name;
        gcut_joint_options o = {.wrt = &name, .nwrt = 1};
        gcut_graph *one = gcut_joint(g, &o, gcut_printf(a, "only.%s", name));
        gcut_array *out = run_graph(a, one, GCUT_EXACT, with_cotangent(a, one, at));
        assert_int_equal(one->results.n, g->results.n + 1);
        const gcut_array *x = &out[find_result(one, GCUT_ROLE_grad, name)];
        const gcut_array *y = &all[find_result(joint, GCUT_ROLE_grad, name)];
        assert_memory_equal(x->u.f, y->u.f, (size_t)x->n * sizeof(double));
    }
}

static void check_sample(void *arg)
{
    job *j = arg;
    gcut_arena *a = gcut_arena_new(j->env, NULL);
    uint64_t seed = 1 + (uint64_t)j->size;
    gcut_graph *g = sample_graph(j->env, a, j->s);
    gcut_verify(g);
    gcut_array *at = fill(a, g, j->s, j->size, &seed), *dir = directions(a, g, at, &seed);

    gcut_graph *joint = gcut_joint(g, NULL, "f.joint");
    gcut_verify(joint);
    assert_int_equal(g->module->graphs.n, 2);
    gcut_array *both = with_cotangent(a, joint, at);
    gcut_array *out = run_graph(a, joint, GCUT_EXACT, both);
    assert_close(j->s, j->size, "first derivative", inner(joint, out, dir),
                 derivative_along(a, g, 0, at, dir));
    check_each_alone(a, g, at, joint, out);

    gcut_graph *slope = gradient_as_loss(joint);
    gcut_graph *second = gcut_joint(slope, NULL, "f.second");
    gcut_verify(second);
    gcut_array *dir2 = directions(a, slope, both, &seed);
    out = run_graph(a, second, GCUT_EXACT, with_cotangent(a, second, both));
    assert_close(j->s, j->size, "second derivative", inner(second, out, dir2),
                 derivative_along(a, slope, 0, both, dir2));
    gcut_arena_free(a);
}

/* With c = %t: <c, J d> = <J' c, d> = the derivative of the loss along d; d'(H d) = that of <J' c, d>. */
static void check_modes(void *arg)
{
    job *j = arg;
    gcut_arena *a = gcut_arena_new(j->env, NULL);
    uint64_t seed = 11 + (uint64_t)j->size;
    gcut_graph *g = sample_graph(j->env, a, j->s);
    gcut_array *at = fill(a, g, j->s, j->size, &seed), *dir = directions(a, g, at, &seed);
    uint32_t before = g->params.n;
    gcut_ref x[16], v[16], dx[16], hv[16], y = weighed(g), c = gcut_graph_find(g, "t"), ty;
    gcut_ref loss = g->results.at[0].value;
    uint32_t n = add_directions(g, a, x, v);
    gcut_reverse_mode(g, &y, &c, 1, x, n, dx);
    add_inner(g, "reverse", dx, v, n);
    gcut_forward_mode(g, &y, 1, x, v, n, &ty);
    add_inner(g, "forward", &c, &ty, 1);
    gcut_hessian(g, loss, x, v, n, hv);
    add_inner(g, "curvature", v, hv, n);
    gcut_verify(g);

    gcut_array *p = with_directions(a, g, before, at, dir), *move = with_directions(a, g, before, dir, NULL);
    gcut_array *out = run_graph(a, g, GCUT_EXACT, p);
    double reverse = out[1].u.f[0], forward = out[2].u.f[0];
    assert_close(j->s, j->size, "reverse mode", reverse, derivative_along(a, g, 0, p, move));
    assert_close(j->s, j->size, "curvature", out[3].u.f[0], derivative_along(a, g, 1, p, move));
    if (!(fabs(forward - reverse) <= 1e-10 * fmax(fabs(reverse), 1e-3)))
        fail_msg("%s: forward mode gives %.17g, reverse mode %.17g", j->s->body, forward, reverse);
    gcut_arena_free(a);
}

static void each_sample(void (*check)(void *))
{
    for (int op = 0; op < GCUT_NOPS; op++) {
        if (gcut_op_get((gcut_op)op)->emit == GCUT_EMIT_REGION) continue; /* test_control */
        if (op == GCUT_OP_external) continue;                             /* test_external */
        uint32_t found = 0;
        for (size_t i = 0; i < NSAMPLES; i++) {
            if ((int)samples[i].op != op) continue;
            for (const char *size = samples[i].sizes; *size; size++) {
                gcut_env *env = gcut_env_new(NULL, NULL);
                job j = {env, &samples[i], *size - '0'};
                must(env, check, &j);
                gcut_env_free(env);
                found++;
            }
        }
        if (!found) fail_msg("the op '%s' has no sample in this test", gcut_op_get((gcut_op)op)->name);
    }
}

static void every_op_matches_central_differences(void **state)
{
    (void)state;
    each_sample(check_sample);
}

static void forward_mode_is_the_transpose_and_hessians_are_right(void **state)
{
    (void)state;
    each_sample(check_modes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_matches_central_differences),
        cmocka_unit_test(forward_mode_is_the_transpose_and_hessians_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
