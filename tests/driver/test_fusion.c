/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gcut_fusion_new: kernels are those of the plan's certificate, ops those that the stage of kernels marks with them,
 * pairs are of ops in two launches; and small graphs in two forms, of which one has an obstacle and its reason, while in
 * the other, without it, one launch runs both ops.
 */
#define _GNU_SOURCE
#include "harness.h"

#include <jansson.h>

#include "api.h"
#include "gradcut/inspect.h"
#include "model_files.h"

static int64_t int_of(const json_t *j, const char *key)
{
    return json_integer_value(json_object_get(j, key));
}

static const gcut_fused_kernel *launch_of(const gcut_fusion *f, int launch)
{
    for (size_t i = 0; i < f->nkernels; i++)
        if (f->kernel[i]->launch == launch) return f->kernel[i];
    return NULL;
}

static const gcut_fused_op *find(const gcut_fused_kernel *k, const char *value)
{
    for (size_t i = 0; k && i < k->nmade; i++)
        if (!strcmp(k->made[i]->value, value)) return k->made[i];
    return NULL;
}

/* ---- models ---- */

static size_t saved_pairs, saved_values;

static void check_kernels(const gcut_fusion *f, const gcut_plan *plan)
{
    char *file = gcut_plan_certificate(plan);
    json_t *j = json_loads(file, 0, NULL), *x,
           *all = json_object_get(json_object_get(j, "certificate"), "kernels");
    size_t i;
    double ns = 0;
    assert_int_equal(json_array_size(all), f->nkernels);
    json_array_foreach(all, i, x)
    {
        assert_int_equal(int_of(x, "kernel"), f->kernel[i]->launch);
        assert_string_equal(json_string_value(json_object_get(x, "makes")), f->kernel[i]->value);
        assert_true(json_real_value(json_object_get(x, "ns")) == f->kernel[i]->ns || f->kernel[i]->ns == 0);
        ns += f->kernel[i]->ns;
    }
    assert_true(fabs(ns - f->step_ns) <= 1e-9 * ns);
    json_decref(j);
    gcut_free(file);
}

/* A line "%v, %w: … #kernel(k3) … #epilogue(k2)". */
static void check_line(const gcut_fusion *f, const char *line, size_t length, size_t *ops)
{
    char s[4096], value[512], *kernel, *epilogue, *prologue;
    if (length >= sizeof s) return;
    memcpy(s, line, length);
    s[length] = 0;
    if (!(kernel = strstr(s, " #kernel(k")) || !strstr(s, ": "))
        return; /* a loop ends in a line of its own */
    epilogue = strstr(s, " #epilogue(k");
    prologue = strstr(s, " #prologue(k");
    const char *name = strchr(s, '%') + 1;
    snprintf(value, sizeof value, "%.*s", (int)strcspn(name, ":,"), name);
    const int launch = atoi(epilogue ? epilogue + strlen(" #epilogue(k") : kernel + strlen(" #kernel(k"));
    if (!launch_of(f, launch) && strstr(s, " = concat("))
        return; /* its operands are made where they belong */
    const gcut_fused_op *op = find(launch_of(f, launch), value);
    char *dot = strrchr(value, '.');
    if (!op && dot) { /* the printer numbers what has the name of a value outside of the body */
        *dot = 0;
        op = find(launch_of(f, launch), value);
    }
    if (!op) fail_msg("k%d does not make %s: %s", launch, value, s);
    assert_int_equal(!strcmp(op->part, "epilogue"), epilogue != NULL);
    assert_int_equal(!strcmp(op->part, "prologue"), prologue != NULL);
    (*ops)++;
}

static void check_ops(const gcut_fusion *f, gcut_graph *g, const gcut_options *o)
{
    char *text = gcut_show(g, o, GCUT_STAGE_KERNEL, false);
    size_t marked = 0, made = 0;
    for (const char *s = text, *end; *s; s = end + 1) {
        end = strchr(s, '\n');
        check_line(f, s, (size_t)(end - s), &marked);
    }
    for (size_t i = 0; i < f->nkernels; i++) made += f->kernel[i]->nmade;
    assert_true(made >= marked && marked > 0);
    gcut_free(text);
}

/* Each saved value of the plan that the backward graph reads is in a pair of the two graphs. */
static void check_saved(const gcut_fusion *f, const gcut_plan_info *p)
{
    for (size_t i = 0; i < p->n; i++) {
        const gcut_plan_value *v = p->value[i];
        bool found = false;
        if (v->decision != GCUT_PLAN_SAVED || strcmp(v->storage, "plain") != 0 || !v->bytes) continue;
        for (size_t k = 0; k < f->nunfused && !found; k++)
            found = !strcmp(f->unfused[k]->code, "two_graphs") && f->unfused[k]->anyway &&
                    !strcmp(f->unfused[k]->anyway, "saved for the backward graph") &&
                    !strcmp(f->unfused[k]->value, v->name);
        saved_pairs += found;
        saved_values++;
    }
}

static void check_pairs(gcut_ctx *ctx, const gcut_fusion *f)
{
    for (size_t i = 0; i < f->nunfused; i++) {
        const gcut_unfused *x = f->unfused[i];
        const gcut_fused_kernel *to = launch_of(f, x->to), *from = launch_of(f, x->from);
        assert_true(x->from != x->to && strcmp(x->code, "fused") != 0 && strlen(x->reason) > 10);
        assert_true(x->bytes >= 0 && x->ns >= 0 && isfinite(x->ns));
        assert_true(to && find(to, x->reader));
        assert_int_equal(x->from < 0, from == NULL);
        if (from) assert_true(x->bytes <= from->bytes + to->bytes);
        if (x->again) assert_true(x->bytes == 0 && x->ns == 0);
        char *why = gcut_fusion_why(ctx, f, x->value, x->reader);
        if (!why) fail_msg("%s, %s: %s", x->value, x->reader, gcut_last_error(ctx));
        assert_non_null(strstr(why, x->reason));
        gcut_free(why);
    }
}

static void check_json(const gcut_fusion *f)
{
    json_error_t at;
    json_t *j = json_loads(f->json, 0, &at);
    if (!j) fail_msg("%s in line %d", at.text, at.line);
    assert_int_equal(json_array_size(json_object_get(j, "kernels")), f->nkernels);
    assert_int_equal(json_array_size(json_object_get(j, "unfused")), f->nunfused);
    json_decref(j);
}

static void models(void **state)
{
    (void)state;
    saved_pairs = saved_values = 0;
    glob_t files = model_files();
    for (size_t i = 0; i < files.gl_pathc; i++) {
        gcut_ctx *ctx = new_ctx();
        gcut_options o = {.threads = 2, UNREFINED};
        if (strstr(files.gl_pathv[i], "/models/")) o.optimizer = "adamw";
        gcut_graph *g = gcut_load(ctx, files.gl_pathv[i], NULL);
        gcut_plan *plan = gcut_plan_new(g, &o);
        gcut_fusion *f = gcut_fusion_new(g, &o);
        if (!f || !plan) fail_msg("%s: %s", files.gl_pathv[i], gcut_last_error(ctx));
        check_kernels(f, plan);
        check_ops(f, g, &o);
        check_pairs(ctx, f);
        check_saved(f, gcut_plan_look(plan));
        check_json(f);
        char *text = gcut_fusion_text(ctx, f, NULL);
        assert_non_null(text);
        gcut_free(text);
        gcut_free(f);
        gcut_plan_free(plan);
        gcut_ctx_free(ctx);
    }
    globfree(&files);
    assert_that(saved_pairs, >,
                saved_values * 8 /
                    10); /* others are made or read by loops, or in the storage of another value */
}

/* ---- one obstacle each ---- */

/* The reason why the op of `reader` is not in the launch that makes `value`; "" where it is. */
static void check_reason(const char *signature, const char *body, bool unfused, const char *value,
                         const char *reader, const char *code)
{
    char text[16384], want[128];
    gcut_ctx *ctx = new_ctx();
    snprintf(text, sizeof text, "func @f(%s {\n%s}\n", signature, body);
    gcut_options o = {.forward_only = true, .threads = 2, .unfused = unfused};
    gcut_fusion *f = gcut_fusion_new(graph_from(ctx, text), &o);
    if (!f) fail_msg("%s", gcut_last_error(ctx));
    char *why = gcut_fusion_why(ctx, f, value, reader);
    if (!why) fail_msg("%s: %s", body, gcut_last_error(ctx));
    snprintf(want, sizeof want, *code ? "(%s)\n" : "are computed by one launch", code);
    if (!strstr(why, want)) fail_msg("'%s' is not in\n%sof\n%s", want, why, body);
    gcut_free(why);
    gcut_free(f);
    gcut_ctx_free(ctx);
}

#define WIDE "input %x: f32[2048, 256], param %w: f32[256, 1024]) -> (out y: f32[2048, 1024])"

static const struct {
    const char *code, *value, *reader;
    const char *signature, *body;         /* with the obstacle */
    const char *signature_too, *body_too; /* without it; signature_too NULL: the same */
} fixtures[] = {
    {"consumer_reads_memory", "a", "y", "input %x: f32[8, 9]) -> (out y: f32[8, 9])",
     "  %a = exp(%x)\n  %y = cumsum(%a, axis=1)\n  return %y\n", NULL,
     "  %a = exp(%x)\n  %y = neg(%a)\n  return %y\n"},
    {"producer_stores", "a", "y", "input %x: f32[8, 9]) -> (out y: f32[8, 9])",
     "  %a = cumsum(%x, axis=1)\n  %y = exp(%a)\n  return %y\n", NULL,
     "  %a = neg(%x)\n  %y = exp(%a)\n  return %y\n"},
    {"middle_axes", "a", "y", "input %x: f32[8, 9, 7]) -> (out y: f32[8, 7])",
     "  %a = exp(%x)\n  %y = sum(%a, axes=[1])\n  return %y\n",
     "input %x: f32[8, 9, 7]) -> (out y: f32[8, 9])",
     "  %a = exp(%x)\n  %y = sum(%a, axes=[2])\n  return %y\n"},
    {"elements", "a", "y", "input %x: f32[8], input %w: f32[8, 9]) -> (out y: f32[8, 9])",
     "  %a = exp(%x)\n  %b = broadcast(%a, shape=[8, 9], axes=[0])\n  %y = mul(%b, %w)\n  return %y\n",
     "input %x: f32[8, 9], input %w: f32[8, 9]) -> (out y: f32[8, 9])",
     "  %a = exp(%x)\n  %y = mul(%a, %w)\n  return %y\n"},
    {"rows", "a", "z", "input %x: f32[8, 6]) -> (out y: f32[8], out z: f32[6])",
     "  %a = exp(%x)\n  %b = reshape(%a, shape=[6, 8])\n  %y = sum(%a, axes=[1])\n  %z = sum(%b, axes=[1])\n"
     "  return %y, %z\n",
     "input %x: f32[8, 6]) -> (out y: f32[8], out z: f32[8])",
     "  %a = exp(%x)\n  %y = sum(%a, axes=[1])\n  %z = max_reduce(%a, axes=[1])\n  return %y, %z\n"},
    {"other_elements", "a", "y", "input %x: f32[8, 8]) -> (out y: f32[8, 8])",
     "  %a = exp(%x)\n  %b = transpose(%a, perm=[1, 0])\n  %y = add(%a, %b)\n  return %y\n", NULL,
     "  %a = exp(%x)\n  %y = add(%a, %a)\n  return %y\n"},
    {"other_readers", "a", "y",
     "input %x: f32[2048, 256], param %w: f32[256, 1024]) -> (out y: f32[2048, 1024], out a: f32[2048, 256])",
     "  %a = exp(%x)\n  %y = matmul(%a, %w)\n  return %y, %a\n", WIDE,
     "  %a = exp(%x)\n  %y = matmul(%a, %w)\n  return %y\n"},
    {"not_packed", "a", "y", "input %x: f32[4, 64], param %w: f32[64, 4]) -> (out y: f32[4, 4])",
     "  %a = exp(%x)\n  %y = matmul(%a, %w)\n  return %y\n", WIDE,
     "  %a = exp(%x)\n  %y = matmul(%a, %w)\n  return %y\n"},
    {"other_operand", "b", "y", WIDE, "  %a = exp(%x)\n  %b = exp(%w)\n  %y = matmul(%a, %b)\n  return %y\n",
     "input %x: f32[1024, 256], param %w: f32[256, 2048]) -> (out y: f32[1024, 2048])",
     "  %b = exp(%w)\n  %y = matmul(%x, %b)\n  return %y\n"},
    {"other_order", "a", "y",
     "input %x: f32[256, 2048], param %w: f32[256, 1024]) -> (out y: f32[2048, 1024])",
     "  %a = exp(%x)\n  %t = transpose(%a, perm=[1, 0])\n  %y = matmul(%t, %w)\n  return %y\n", WIDE,
     "  %a = exp(%x)\n  %y = matmul(%a, %w)\n  return %y\n"},
    {"packed_often", "a", "y", WIDE, "  %a = softmax(%x, axis=1)\n  %y = matmul(%a, %w)\n  return %y\n", NULL,
     "  %a = exp(%x)\n  %y = matmul(%a, %w)\n  return %y\n"},
    {"epilogue_instead", "a", "y",
     "input %x: f32[2048, 256], param %w: f32[256, 256], param %v: f32[256, 1024]) -> (out y: f32[2048, "
     "1024])",
     "  %p = matmul(%x, %w)\n  %a = exp(%p)\n  %y = matmul(%a, %v)\n  return %y\n", WIDE,
     "  %a = exp(%x)\n  %y = matmul(%a, %w)\n  return %y\n"},
    {"moved_sum", "e", "s",
     "input %x: f32[2048, 256], input %d: f32[2048, 512]) -> (out g: f32[256, 512], out s: f32[512])",
     "  %e = exp(%d)\n  %s = sum(%e, axes=[0])\n  %g = matmul(%x, %e, ta=true)\n  return %g, %s\n",
     "input %x: f32[2048, 256], input %d: f32[2048, 512]) -> (out s: f32[512])",
     "  %e = exp(%d)\n  %s = sum(%e, axes=[0])\n  return %s\n"},
    {"not_adjacent", "a", "y", "input %x: f32[64, 64], param %w: f32[64, 80]) -> (out y: f32[64, 80])",
     "  %a = matmul(%x, %w)\n  %b = cumsum(%a, axis=1)\n  %y = mul(%a, %b)\n  return %y\n", NULL,
     "  %a = matmul(%x, %w)\n  %y = mul(%a, %a)\n  return %y\n"},
    {"other_shape", "p", "m", "input %x: f32[64, 64], param %w: f32[64, 96]) -> (out y: f32[96, 64])",
     "  %p = matmul(%x, %w)\n  %r = reshape(%p, shape=[96, 64])\n  %m = max_reduce(%r, axes=[1])\n"
     "  %b = broadcast(%m, shape=[96, 64], axes=[0])\n  %y = sub(%r, %b)\n  return %y\n",
     "input %x: f32[64, 64], param %w: f32[64, 96]) -> (out y: f32[64, 96])",
     "  %p = matmul(%x, %w)\n  %m = max_reduce(%p, axes=[1])\n  %b = broadcast(%m, shape=[64, 96], "
     "axes=[0])\n"
     "  %y = sub(%p, %b)\n  return %y\n"},
    {"blocked", "a", "b", "input %x: f32[64, 64], param %w: f32[64, 80]) -> (out y: f32[80])",
     "  %a = matmul(%x, %w)\n  %b = exp(%a)\n  %y = sum(%b, axes=[0])\n  return %y\n",
     "input %x: f32[64, 64], param %w: f32[64, 80]) -> (out b: f32[64, 80])",
     "  %a = matmul(%x, %w)\n  %b = exp(%a)\n  return %b\n"},
    {"short_rows", "a", "y", "input %x: f32[64, 64], param %w: f32[64, 8]) -> (out y: f32[64, 8])",
     "  %a = matmul(%x, %w)\n  %y = exp(%a)\n  return %y\n",
     "input %x: f32[64, 64], param %w: f32[64, 80]) -> (out y: f32[64, 80])",
     "  %a = matmul(%x, %w)\n  %y = exp(%a)\n  return %y\n"},
    {"overwrites_operand", "p", "y",
     "state %x: f32[256, 256], param %w: f32[256, 256]) -> (next x: f32[256, 256])",
     "  %p = matmul(%x, %w)\n  %y = exp(%p)\n  return %y\n",
     "state %x: f32[256, 256], param %w: f32[256, 256]) -> (out y: f32[256, 256])",
     "  %p = matmul(%x, %w)\n  %y = exp(%p)\n  return %y\n"},
    {"cycle", "a", "y", "input %x: f32[64, 64]) -> (out y: f32[64, 64])",
     "  %a = exp(%x)\n  %c = cumsum(%a, axis=1)\n  %y = add(%a, %c)\n  return %y\n", NULL,
     "  %a = exp(%x)\n  %c = neg(%a)\n  %y = add(%a, %c)\n  return %y\n"},
};

static void obstacles(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof fixtures / sizeof *fixtures; i++) {
        TRY("%s", fixtures[i].code);
        check_reason(fixtures[i].signature, fixtures[i].body, false, fixtures[i].value, fixtures[i].reader,
                     fixtures[i].code);
        check_reason(fixtures[i].signature_too ? fixtures[i].signature_too : fixtures[i].signature,
                     fixtures[i].body_too, false, fixtures[i].value, fixtures[i].reader, "");
    }
}

/* Too many members of a loop; an option; and what is no obstacle: a cast between a product and its activation, and
 * between an activation and the product that reads it. */
static void more_obstacles(void **state)
{
    (void)state;
    char *long_chain = NULL;
    size_t size;
    static const char square[] = "input %x: f32[64, 64]) -> (out y: f32[64, 64])";
    FILE *f = open_memstream(&long_chain, &size);
    for (int i = 0; i < 100; i++) {
        if (i)
            fprintf(f, "  %%a%d = %s(%%a%d)\n", i, i % 2 ? "exp" : "neg", i - 1);
        else
            fprintf(f, "  %%a0 = neg(%%x)\n");
    }
    fprintf(f, "  %%y = neg(%%a99)\n  return %%y\n");
    fclose(f);
    check_reason(square, long_chain, false, "a95", "a96", "members");
    check_reason(square, long_chain, false, "a94", "a95", "");
    free(long_chain);
    check_reason(square, "  %a = exp(%x)\n  %y = neg(%a)\n  return %y\n", true, "a", "y", "unfused");
    check_reason("input %x: f32[256, 128], param %w: f32[128, 256]) -> (out y: bf16[256, 256])",
                 "  %p = matmul(%x, %w)\n  %c = cast(%p, to=\"bf16\")\n  %y = relu(%c)\n  return %y\n", false,
                 "p", "c", "");
    check_reason("input %x: f32[2048, 256], param %w: bf16[256, 1024]) -> (out y: bf16[2048, 1024])",
                 "  %a = exp(%x)\n  %c = cast(%a, to=\"bf16\")\n  %y = matmul(%c, %w)\n  return %y\n", false,
                 "a", "c", "");
}

static void why_says(gcut_ctx *ctx, const gcut_fusion *f, const char *value, const char *reader,
                     const char *want, const char *never)
{
    char *why = gcut_fusion_why(ctx, f, value, reader);
    if (!why) fail_msg("%s", gcut_last_error(ctx));
    if (!strstr(why, want) || strstr(why, never))
        fail_msg("'%s', and not '%s', is not what it says:\n%s", want, never, why);
    gcut_free(why);
}

/* A saved value crosses from graph to graph; what is made in its memory later is not saved; each op of a kernel has a
 * reason of its own. */
static void saved_and_not(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_load(ctx, GCUT_SOURCE_DIR "/examples/mlp.gcut", NULL);
    gcut_options o = {.at = &(gcut_size){"N", 32}, .nat = 1, .threads = 2};
    gcut_fusion *f = gcut_fusion_new(g, &o);
    assert_non_null(f);
    why_says(ctx, f, "h2", "dw2", "(two_graphs)\n  that costs 32,768 bytes", "write");
    why_says(ctx, f, "dh1", "dw1", "65,536 bytes (64.0 KiB) to write and read", "saved");
    why_says(ctx, f, "dh1", "db1", "(moved_sum)\n  another op of k13 reads it, too", "saved");
    gcut_free(f);
    gcut_ctx_free(ctx);
}

static void refused(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, "func @f(param %x: f32[8, 9]) -> (out y: f32[]) {\n"
                                    "  %a = exp(%x)\n  %b = cumsum(%a, axis=1)\n  %y = sum(%b, axes=[0, 1])\n"
                                    "  return %y\n}\n");
    gcut_fusion *f = gcut_fusion_new(g, NULL);
    assert_non_null(f);
    assert_null(gcut_fusion_why(ctx, f, "a", "nothing"));
    assert_says(ctx, GCUT_EPLAN, "no kernel computes %nothing");
    assert_null(gcut_fusion_why(ctx, f, "x", "a"));
    assert_says(ctx, GCUT_EPLAN, "no kernel computes %x");
    assert_null(gcut_fusion_why(ctx, f, "%y", "%a"));
    assert_says(ctx, GCUT_EPLAN, "reads nothing of %y");
    assert_null(gcut_fusion_why(ctx, f, NULL, "a"));
    assert_null(gcut_fusion_text(ctx, NULL, NULL));
    assert_null(gcut_fusion_new(NULL, NULL));
    assert_null(gcut_fusion_text(ctx, f, &(gcut_table_options){.columns = -1}));
    assert_says(ctx, GCUT_EUSAGE, "a table has no -1 columns");
    gcut_free(f);
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models),        cmocka_unit_test(obstacles), cmocka_unit_test(more_obstacles),
        cmocka_unit_test(saved_and_not), cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
