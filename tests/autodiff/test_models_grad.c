/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Whole models: losses, gradients and Hessian products against PyTorch's in
 * float64 (values from tests/reference/mlp_gpt.py), and gradients against
 * central differences.
 */
#include "oracle.h"

#include "autodiff/autodiff.h"
#include "torch_file.h"

#define SIZE 3 /* the symbol N, as in mlp_gpt.py */

typedef struct model {
    gcut_env *env;
    const char *name;
    int vocab;
    bool ignores; /* the fourth label is -100 */
} model;

static gcut_graph *load(gcut_arena *a, const model *m)
{
    const char *path = gcut_printf(a, "%s/tests/corpus/%s.gcut", GCUT_SOURCE_DIR, m->name);
    gcut_graph *g = gcut_parse_file(m->env, a, path)->graphs.at[0];
    gcut_verify(g);
    return g;
}

/* The formulas of mlp_gpt.py. */
static gcut_array *fill(gcut_arena *a, const gcut_graph *g, const model *m)
{
    gcut_array *at = gcut_calloc(a, g->params.n, sizeof *at);
    for (uint32_t k = 0; k < g->params.n; k++) {
        gcut_ref v = g->params.at[k].value;
        const char *name = g->values.at[v].name, *end = name + strlen(name);
        double base = end - name > 2 && !strcmp(end - 2, "_g") ? 1 : 0;
        at[k] = array_for(a, g, gcut_type_of(g, v), SIZE);
        for (int64_t i = 0; i < at[k].n; i++)
            if (gcut_dtype_is_float(at[k].dtype))
                at[k].u.f[i] = 0.3 * sin(0.37 * (double)i + k) + base;
            else
                at[k].u.i[i] = (7 * i + 3 * k) % m->vocab;
    }
    if (m->ignores) at[find_param(g, "labels")].u.i[3] = -100;
    return at;
}

static void check_against_pytorch(void *arg)
{
    const model *m = arg;
    gcut_arena *a = gcut_arena_new(m->env, NULL);
    gcut_graph *g = load(a, m), *joint = gcut_joint(g, NULL, "joint");
    gcut_verify(joint);
    gcut_array *out = run_graph(a, joint, GCUT_EXACT, with_cotangent(a, joint, fill(a, g, m)));

    double loss = out[find_result(joint, GCUT_ROLE_out, "loss")].u.f[0];
    check_file(a, m->name, loss, joint, GCUT_ROLE_grad, out, joint->results.n - g->results.n);
    gcut_arena_free(a);
}

/* The Hessian product along formulas of mlp_gpt.py, as results named like the parameters. */
static void check_hessian_against_pytorch(void *arg)
{
    const model *m = arg;
    gcut_arena *a = gcut_arena_new(m->env, NULL);
    gcut_graph *g = load(a, m);
    gcut_array *at = fill(a, g, m), *p = gcut_calloc(a, 2 * g->params.n, sizeof *p);
    gcut_ref x[64], v[64], hv[64];
    uint32_t n = 0, np = g->params.n;
    memcpy(p, at, np * sizeof *p);
    for (uint32_t k = 0; k < np; k++) {
        if (g->params.at[k].role != GCUT_ROLE_param) continue;
        gcut_type t = *gcut_type_of(g, x[n] = g->params.at[k].value);
        v[n] = gcut_param_new(g, GCUT_ROLE_input, gcut_printf(a, "along.%u", n), &t);
        p[np + n] = array_for(a, g, &t, SIZE);
        for (int64_t i = 0; i < p[np + n].n; i++) p[np + n].u.f[i] = 0.3 * sin(0.53 * (double)i + 2 * k);
        n++;
    }
    gcut_hessian(g, g->results.at[find_result(g, GCUT_ROLE_out, "loss")].value, x, v, n, hv);
    for (uint32_t k = 0; k < n; k++) gcut_result_new(g, GCUT_ROLE_grad, g->values.at[x[k]].name, hv[k]);
    gcut_verify(g);
    gcut_array *out = run_graph(a, g, GCUT_EXACT, p);
    double loss = out[find_result(g, GCUT_ROLE_out, "loss")].u.f[0];
    check_file(a, gcut_printf(a, "%s_hvp", m->name), loss, g, GCUT_ROLE_grad, out, n);
    gcut_arena_free(a);
}

static void check_against_differences(void *arg)
{
    const model *m = arg;
    gcut_arena *a = gcut_arena_new(m->env, NULL);
    uint64_t seed = 7;
    gcut_graph *g = load(a, m), *joint = gcut_joint(g, NULL, "joint");
    gcut_array *at = fill(a, g, m), *dir = directions(a, g, at, &seed);
    gcut_array *out = run_graph(a, joint, GCUT_EXACT, with_cotangent(a, joint, at));
    double got = 0;
    for (uint32_t r = g->results.n; r < joint->results.n; r++)
        got += dot(&out[r], &dir[find_param(joint, joint->results.at[r].name)]);
    double want = derivative_along(a, g, find_result(g, GCUT_ROLE_out, "loss"), at, dir);
    /* Fifth derivatives of a deep composition are large; h^4 of them is what the bound leaves room for. */
    assert_true(fabs(got - want) <= 1e-5 * fmax(fabs(want), 1e-2));
    gcut_arena_free(a);
}

static void with_env(model m, void (*body)(void *))
{
    m.env = gcut_env_new(NULL, NULL);
    must(m.env, body, &m);
    gcut_env_free(m.env);
}

static const model mlp = {NULL, "mlp_small", 5, false};
static const model gpt_tiny = {NULL, "gpt_tiny", 11, true};
static const model gpt_tied = {NULL, "gpt_tied", 11, true};

static void mlp_equals_pytorch(void **state)
{
    (void)state;
    with_env(mlp, check_against_pytorch);
}

static void gpt_equals_pytorch(void **state)
{
    (void)state;
    with_env(gpt_tiny, check_against_pytorch);
}

static void gpt_with_a_tied_head_equals_pytorch(void **state)
{
    (void)state;
    with_env(gpt_tied, check_against_pytorch);
}

static void hessian_products_equal_pytorch(void **state)
{
    (void)state;
    with_env(mlp, check_hessian_against_pytorch);
    with_env(gpt_tied, check_hessian_against_pytorch);
}

static void models_equal_central_differences(void **state)
{
    (void)state;
    with_env(mlp, check_against_differences);
    with_env(gpt_tiny, check_against_differences);
    with_env(gpt_tied, check_against_differences);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mlp_equals_pytorch),
        cmocka_unit_test(gpt_equals_pytorch),
        cmocka_unit_test(gpt_with_a_tied_head_equals_pytorch),
        cmocka_unit_test(hessian_products_equal_pytorch),
        cmocka_unit_test(models_equal_central_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
