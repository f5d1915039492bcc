/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The plan as data against the plan file, which another program reads: the same values, bytes, prices and
 * readers in both.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>

#include "api.h"

static double number(const json_t *j, const char *key)
{
    const json_t *x = json_object_get(j, key);
    return json_is_number(x) ? json_number_value(x) : (double)NAN;
}

static void same_number(double want, double got, const char *what, const char *model)
{
    if (want != got && !(isnan(want) && isnan(got))) fail_msg("%s: %s is %g, not %g", model, what, got, want);
}

static void same_readers(const json_t *list, const gcut_plan_value *v, const char *model)
{
    if (json_array_size(list) != v->nreaders)
        fail_msg("%s: %s has %zu readers, not %zu", model, v->name, v->nreaders, json_array_size(list));
    for (size_t i = 0; i < v->nreaders; i++) {
        assert_string_equal(json_string_value(json_array_get(list, i)), v->readers[i].name);
        assert_non_null(v->readers[i].op);
    }
}

static void same_saved(const json_t *j, const gcut_plan_value *v, const char *model)
{
    assert_int_equal(v->decision, GCUT_PLAN_SAVED);
    assert_string_equal(json_string_value(json_object_get(j, "value")), v->name);
    assert_string_equal(json_string_value(json_object_get(j, "type")), v->type);
    assert_string_equal(json_string_value(json_object_get(j, "op")), v->op);
    assert_string_equal(json_string_value(json_object_get(j, "loc")), v->where);
    assert_int_equal(json_integer_value(json_object_get(j, "bytes")), v->bytes);
    assert_int_equal(json_is_true(json_object_get(j, "forced")), v->forced);
    const json_t *flip = json_object_get(j, "flip_ns_per_byte");
    if (v->nflips) same_number(json_number_value(flip), v->flips[0], "the first flip", model);
    same_readers(json_object_get(j, "readers"), v, model);
}

static void same_recomputed(const json_t *j, const gcut_plan_value *v, const char *model)
{
    assert_int_equal(v->decision, GCUT_PLAN_RECOMPUTED);
    assert_string_equal(json_string_value(json_object_get(j, "value")), v->name);
    assert_int_equal(json_integer_value(json_object_get(j, "copies")), v->copies);
    same_number(number(j, "ns"), v->recompute_ns, "recompute_ns", model);
    same_readers(json_object_get(j, "into"), v, model);
}

static void check(const char *model, const char *file, const gcut_options *o)
{
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_load(ctx, file, NULL);
    gcut_plan *plan = g ? gcut_plan_new(g, o) : NULL;
    if (!plan) fail_msg("%s: %s", model, gcut_last_error(ctx));
    const gcut_plan_info *p = gcut_plan_look(plan);
    char *text = gcut_plan_json(plan);
    assert_true(p && text);
    assert_ptr_equal(gcut_plan_look(plan), p);
    json_t *j = json_loads(text, 0, NULL), *saved = json_object_get(j, "saved"),
           *recomputed = json_object_get(j, "recomputed");
    same_number(number(j, "lambda"), p->lambda, "lambda", model);
    same_number(number(j, "saved_bytes"), (double)p->saved_bytes, "saved_bytes", model);
    same_number(number(j, "peak_bytes"), (double)p->peak_bytes, "peak_bytes", model);
    same_number(number(j, "cost_ns"), p->cost_ns, "cost_ns", model);
    same_number(number(j, "step_ns"), p->step_ns, "step_ns", model);
    same_number(number(j, "lower_bound"), p->lower_bound_ns, "lower_bound_ns", model);
    assert_string_equal(json_string_value(json_object_get(j, "policy")), p->policy);
    for (size_t i = 0; i < p->nat; i++)
        same_number(number(json_object_get(j, "at"), p->at[i].name), (double)p->at[i].value, "a size", model);
    size_t k = 0;
    int64_t bytes = 0;
    for (size_t i = 0; i < json_array_size(saved); i++, k++) {
        same_saved(json_array_get(saved, i), &p->value[k], model);
        bytes += p->value[k].bytes;
    }
    for (size_t i = 0; i < json_array_size(recomputed); i++, k++)
        same_recomputed(json_array_get(recomputed, i), &p->value[k], model);
    for (; k < p->n; k++) assert_int_equal(p->value[k].decision, GCUT_PLAN_ALIVE);
    same_number((double)p->saved_bytes, (double)bytes, "the sum of what is saved", model);
    json_decref(j);
    gcut_ctx_free(ctx);
}

static void data_is_what_the_file_says(void **state)
{
    (void)state;
    static const char *const models[] = {"mlp", "gpt_tiny", "lstm", "transformer_block", "index"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/tests/corpus/%s.gcut", GCUT_SOURCE_DIR, models[i]);
        check(models[i], path, NULL);
        check(models[i], path, &(gcut_options){.lambda = GCUT_LAMBDA_FASTEST, .optimizer = "adamw"});
        check(models[i], path, &(gcut_options){.policy = "recompute-all"});
    }
    check("mlp in bf16", GCUT_SOURCE_DIR "/examples/mlp.gcut", &(gcut_options){.save_dtype = "bf16"});
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(data_is_what_the_file_says)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
