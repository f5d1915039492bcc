/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gcut_explain_cost: the times of the kernels that it names are those of the plan's certificate, its terms add up
 * to them, and the price is the plan's.
 */
#include "harness.h"

#include <jansson.h>

#include "api.h"
#include "public.h"

/* A product with a loop on its tiles, a sum that a product adds up, a view, and a loop that only scales by the
 * cotangent. */
static const char text[] = "func @f[N in 1..](param %w: f32[64, 96], param %b: f32[96], param %v: f32[96, "
                           "32], input %x: f32[N, 64])\n"
                           "    -> (out loss: f32[]) {\n"
                           "  %p = matmul(%x, %w)\n"
                           "  %q = broadcast(%b, shape=[N, 96], axes=[1])\n"
                           "  %h = add(%p, %q)\n"
                           "  %a = relu(%h)\n"
                           "  %y = matmul(%a, %v)\n"
                           "  %c = mul(%y, %y)\n"
                           "  %loss = mean(%c, axes=[0, 1])\n"
                           "  return %loss\n}\n";

/* By launch, from the certificate. */
static double certified_ns(json_t *plan, int launch)
{
    size_t i;
    json_t *k, *all = json_object_get(json_object_get(plan, "certificate"), "kernels");
    json_array_foreach(all, i, k) if (json_integer_value(json_object_get(k, "kernel")) ==
                                      launch) return json_real_value(json_object_get(k, "ns"));
    fail_msg("k%d is not in the certificate", launch);
    return 0;
}

static double sum_of(const gcut_explained_term *const *term, size_t n, const char *part)
{
    double ns = 0;
    for (size_t i = 0; i < n; i++)
        if (!term[i]->hidden && (!part || !strcmp(term[i]->part, part))) ns += term[i]->ns;
    return ns;
}

static void near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-12 * fabs(want))) fail_msg("%.17g instead of %.17g", got, want);
}

static void check_kernel(const gcut_explained_kernel *k, json_t *plan)
{
    double ns = 0;
    for (size_t i = 0; i < k->nruns; i++) {
        const gcut_explained_run *r = k->run[i];
        near(sum_of(r->term, r->nterms, "work"), r->work_ns);
        assert_true(sum_of(r->term, r->nterms, "traffic") == r->traffic_ns);
        assert_true(sum_of(r->term, r->nterms, "fixed") == r->fixed_ns);
        ns += r->times * r->ns;
    }
    assert_true(ns == k->ns);
    assert_true(k->ns == certified_ns(plan, k->launch));
}

/* as: what the kernels do with the value, one after the other. */
static void check(gcut_graph *g, const gcut_options *o, json_t *plan, const gcut_plan_info *info,
                  const char *name, const char *const *as)
{
    gcut_cost_explanation *e = gcut_explain_cost(g, o, name);
    assert_non_null(e);
    assert_string_equal(e->name, name);
    for (size_t i = 0; i < e->nkernels; i++) {
        if (!as[i] || strcmp(as[i], e->kernel[i]->as) != 0) fail_msg("%s", e->text);
        check_kernel(e->kernel[i], plan);
    }
    assert_null(as[e->nkernels]);
    for (size_t i = 0; i < info->n; i++)
        if (!strcmp(info->value[i]->name, name) && isfinite(info->value[i]->recompute_ns)) {
            assert_true(e->price_ns == info->value[i]->recompute_ns);
            near(sum_of(e->price_term, e->nprice_terms, NULL), e->price_ns);
        }
    json_t *j = json_loads(e->json, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(j, "kernels")), e->nkernels);
    json_decref(j);
    gcut_free(e);
}

static void kernels_of_values(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = graph_from(ctx, text);
    const gcut_size at = {"N", 512};
    gcut_options o = TEST_OPTIONS;
    o.at = &at, o.nat = 1, o.threads = 2;
    gcut_plan *plan = gcut_plan_new(g, &o);
    char *json = gcut_plan_certificate(plan);
    json_t *file = json_loads(json, 0, NULL);
    assert_non_null(file);
    const gcut_plan_info *info = gcut_plan_look(plan);
    static const char own[] = "computes it", tiles[] = "computes it on the tiles of a product",
                      packed[] = "adds it up while packing";
    check(g, &o, file, info, "p", (const char *[]){own, NULL});
    check(g, &o, file, info, "q", (const char *[]){NULL});
    check(g, &o, file, info, "h", (const char *[]){tiles, NULL});
    check(g, &o, file, info, "a", (const char *[]){tiles, NULL});
    check(g, &o, file, info, "loss", (const char *[]){own, NULL});
    check(g, &o, file, info, "dw", (const char *[]){own, NULL});
    check(g, &o, file, info, "db", (const char *[]){packed, NULL});
    check(g, &o, file, info, "dy", (const char *[]){own, NULL});
    check(g, &o, file, info, "w", (const char *[]){NULL});
    assert_null(gcut_explain_cost(g, &o, "%nothing"));
    assert_non_null(strstr(gcut_last_error(ctx), "there is no value %nothing"));
    assert_null(gcut_explain_cost(g, &o, NULL));
    assert_non_null(strstr(gcut_last_error(ctx), "gcut_explain_cost: its argument `value` is NULL"));
    assert_null(gcut_explain_cost(NULL, &o, "a"));
    assert_non_null(strstr(gcut_last_error(NULL), "gcut_explain_cost: its argument `g` is NULL"));
    json_decref(file);
    gcut_free(json);
    gcut_plan_free(plan);
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_of_values)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
