/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Steps for machines on which everything is decided otherwise: other kernels, the same bits.
 */
#include "harness.h"

#include "api.h"
#include "machine/machine.h"
#include "public.h"

enum { N = 333 };

/* Phases with cheap and with dear values, several long functions, operands of products that pack, a flat loop. */
static const char text[] = "func @f[N in 1..](input %x: f32[N, 320], param %g: f32[320], param %c: f32[320], "
                           "param %w: f32[320, 384],\n"
                           "                  param %v: f32[384, 320]) -> (out loss: f32[]) {\n"
                           "  %n = layer_norm(%x, %g, %c)\n"
                           "  %p = matmul(%n, %w)\n"
                           "  %t = tanh(%p)\n"
                           "  %s = sin(%t)\n"
                           "  %e = exp(%s)\n"
                           "  %a = mul(%e, %p)\n"
                           "  %y = matmul(%a, %v)\n"
                           "  %z = softmax(%y, axis=1)\n"
                           "  %k = mul(%z, %x)\n"
                           "  %loss = mean(%k, axes=[0, 1])\n"
                           "  return %loss\n"
                           "}\n";

static void write_model(const char *path, int ps)
{
    gcut_env *env = gcut_env_new(NULL, NULL);
    gcut_text t = {.arena = env->arena};
    gcut_machine m = gcut_machine_at(gcut_machine_model_shipped(), 2);
    for (int i = 0; i < GCUT_NTHRESHOLDS; i++) m.threshold_ps[i] = ps;
    gcut_machine_json(&(gcut_machine_model){.made = "extreme", .default_threads = 2, .n = 1, .at = &m}, &t);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(t.at, f) >= 0);
    assert_int_equal(fclose(f), 0);
    gcut_env_free(env);
}

/* All results; the caller's, as is *c, the C that made them. */
static unsigned char *results(const char *machine, size_t *size, char **c)
{
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = graph_from(ctx, text);
    const gcut_size at = {"N", N};
    gcut_options o = TEST_OPTIONS;
    o.at = &at, o.nat = 1, o.threads = 2, o.policy = "save-all", o.machine = machine;
    gcut_step *s = gcut_compile(g, &o);
    if (!s || gcut_run(s) != GCUT_OK) fail_msg("%s", gcut_last_error(ctx));
    const gcut_stats *st = gcut_step_stats(s);
    assert_int_equal(st->peak_bytes, st->predicted_bytes);
    unsigned char *all = result_bytes(s, size);
    *c = emitted(ctx, g, &o);
    gcut_ctx_free(ctx);
    return all;
}

static void same_bits(void **state)
{
    (void)state;
    static const int extremes[] = {1, 20000};
    size_t size, other;
    char *shipped, *c;
    unsigned char *want = results("shipped", &size, &shipped);
    for (size_t i = 0; i < sizeof extremes / sizeof *extremes; i++) {
        const char *path = in_tmp("machine.json");
        write_model(path, extremes[i]);
        unsigned char *got = results(path, &other, &c);
        assert_int_equal(other, size);
        assert_memory_equal(got, want, size);
        assert_string_not_equal(c, shipped);
        assert_int_equal(strstr(c, "gcut_rt_expect(a") != NULL, extremes[i] == 1);
        free(got);
        free(c);
    }
    free(want);
    free(shipped);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_bits)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
