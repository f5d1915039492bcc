/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Convolutions and pools as a whole: against PyTorch's values and gradients in float64
 * (tests/reference/conv.py), what is refused and how, symbolic images, the builder.
 */
#include "harness.h"

#include "gradcut/gradcut.h"
#include "graph/ops/node_facts.h"
#include "public.h"

/* ---- PyTorch ---- */

/* The cases of conv.py; w NULL for a pool. */
static const struct {
    const char *name, *x, *w, *y, *op;
    bool halves;
} cases[] = {
    {"plain", "2, 2, 5, 6", "3, 2, 3, 2", "2, 3, 3, 5", "conv2d(%x, %w)", false},
    {"strided", "2, 2, 5, 6", "3, 2, 3, 3", "2, 3, 3, 8", "conv2d(%x, %w, stride=[2, 1], pad=[1, 2, 1, 2])",
     false},
    {"asymmetric", "2, 2, 5, 6", "3, 2, 2, 3", "2, 3, 5, 3",
     "conv2d(%x, %w, stride=[1, 2], pad=[0, 2, 1, 0])", false},
    {"dilated", "2, 2, 5, 6", "3, 2, 2, 3", "2, 3, 2, 2",
     "conv2d(%x, %w, stride=[2, 2], pad=[1, 1, 1, 1], dilation=[3, 2])", false},
    {"grouped", "1, 4, 4, 5", "6, 2, 2, 2", "1, 6, 5, 6", "conv2d(%x, %w, pad=[1, 1, 1, 1], groups=2)",
     false},
    {"depthwise", "2, 3, 4, 5", "3, 1, 3, 3", "2, 3, 2, 3",
     "conv2d(%x, %w, stride=[2, 2], pad=[1, 1, 1, 1], groups=3)", false},
    {"transposed", "2, 4, 3, 2", "4, 3, 3, 2", "2, 6, 6, 7",
     "conv_transpose2d(%x, %w, stride=[2, 3], pad=[1, 0, 1, 0], output_pad=[1, 2], groups=2)", false},
    {"max", "2, 2, 5, 6", NULL, "2, 2, 2, 3", "max_pool2d(%x, window=[2, 2])", true},
    {"max_padded", "2, 2, 5, 6", NULL, "2, 2, 3, 3",
     "max_pool2d(%x, window=[3, 3], stride=[2, 2], pad=[1, 1, 1, 1])", true},
    {"avg", "2, 2, 5, 6", NULL, "2, 2, 6, 3",
     "avg_pool2d(%x, window=[2, 3], stride=[1, 2], pad=[1, 1, 1, 1])", false},
};
enum { NCASES = sizeof cases / sizeof *cases };

/* %x and %w of an expression as those of the case. */
static void put_op(FILE *f, const char *name, const char *op)
{
    for (; *op; op++)
        if (*op == '%')
            fprintf(f, "%%%s.", name);
        else
            fputc(*op, f);
}

/* One function with every case in it, and the sum of y * t over all of them as its loss. */
static gcut_graph *every_case(gcut_ctx *ctx)
{
    char path[] = "/tmp/gradcut-conv-XXXXXX";
    int fd = mkstemp(path);
    FILE *f = fdopen(fd, "w");
    assert_non_null(f);
    fprintf(f, "gcut 1\nfunc @all(");
    for (int i = 0; i < NCASES; i++) {
        fprintf(f, "%sparam %%%s.x: f64[%s], ", i ? ", " : "", cases[i].name, cases[i].x);
        if (cases[i].w) fprintf(f, "param %%%s.w: f64[%s], ", cases[i].name, cases[i].w);
        fprintf(f, "input %%%s.t: f64[%s]", cases[i].name, cases[i].y);
    }
    fprintf(f, ") -> (out loss: f64[]");
    for (int i = 0; i < NCASES; i++) fprintf(f, ", out %s.y: f64[%s]", cases[i].name, cases[i].y);
    fprintf(f, ") {\n  %%sum.0 = full(shape=[], value=0, dtype=\"f64\")\n");
    for (int i = 0; i < NCASES; i++) {
        const char *n = cases[i].name;
        fprintf(f, "  %%%s.y = ", n);
        put_op(f, n, cases[i].op);
        fprintf(f, "\n  %%%s.p = mul(%%%s.y, %%%s.t)\n  %%%s.s = sum(%%%s.p)\n", n, n, n, n, n);
        fprintf(f, "  %%sum.%d = add(%%sum.%d, %%%s.s)\n", i + 1, i, n);
    }
    fprintf(f, "  return %%sum.%d", NCASES);
    for (int i = 0; i < NCASES; i++) fprintf(f, ", %%%s.y", cases[i].name);
    fprintf(f, "\n}\n");
    assert_int_equal(fclose(f), 0);
    gcut_graph *g = gcut_load(ctx, path, NULL);
    remove(path);
    if (!g) fail_msg("%s", gcut_last_error(ctx));
    return g;
}

/* The formulas of conv.py. */
static void fill(gcut_step *s, const char *name, const char *what, int k, bool halves)
{
    char full[64];
    gcut_value_info v;
    snprintf(full, sizeof full, "%s.%s", name, what);
    assert_true(value_of(s, full, &v));
    double *at = v.at;
    for (size_t i = 0; i < (size_t)v.bytes / sizeof *at; i++) {
        at[i] = k < 0 ? cos(0.53 * (double)i) : sin(0.37 * (double)i + k);
        if (halves && k >= 0) at[i] = nearbyint(2 * at[i]) / 2;
    }
}

/* The next line of conv.txt, which is of `name`.`what`, against the value; 13 digits are stored. */
static void check_line(FILE *f, gcut_step *s, const char *name, const char *what)
{
    char full[64], read[64];
    gcut_value_info v;
    size_t n;
    snprintf(full, sizeof full, "%s.%s", name, what);
    assert_int_equal(fscanf(f, "%63s %zu", read, &n), 2);
    assert_string_equal(read, full);
    snprintf(full, sizeof full, *what == 'y' ? "%s.%s" : "grad.%s.%s", name, what);
    assert_true(value_of(s, full, &v));
    assert_int_equal(v.bytes, n * sizeof(double));
    for (size_t i = 0; i < n; i++) {
        double want, got = ((const double *)v.at)[i];
        assert_int_equal(fscanf(f, "%lf", &want), 1);
        if (fabs(got - want) > 1e-11 * fmax(1, fabs(want)))
            fail_msg("%s[%zu] is %.17g, PyTorch has %.17g", full, i, got, want);
    }
}

static void values_and_gradients_are_pytorchs(void **state)
{
    (void)state;
    static const gcut_backend backends[] = {GCUT_BACKEND_JOINT, GCUT_BACKEND_COMPILED};
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = every_case(ctx);
    for (int b = 0; b < 2; b++) {
        gcut_options o = TEST_OPTIONS;
        o.backend = backends[b];
        gcut_step *s = gcut_compile(g, &o);
        if (!s || gcut_prepare(s) != GCUT_OK) fail_msg("%s", gcut_last_error(ctx));
        for (int i = 0; i < NCASES; i++) {
            fill(s, cases[i].name, "x", 0, cases[i].halves);
            if (cases[i].w) fill(s, cases[i].name, "w", 1, cases[i].halves);
            fill(s, cases[i].name, "t", -1, false);
        }
        if (gcut_run(s) != GCUT_OK) fail_msg("%s", gcut_last_error(ctx));
        FILE *f = fopen(GCUT_SOURCE_DIR "/tests/reference/conv.txt", "r");
        assert_non_null(f);
        for (int i = 0; i < NCASES; i++) {
            check_line(f, s, cases[i].name, "y");
            check_line(f, s, cases[i].name, "x");
            if (cases[i].w) check_line(f, s, cases[i].name, "w");
        }
        fclose(f);
    }
    gcut_ctx_free(ctx);
}

/* ---- refusals ---- */

typedef struct job {
    gcut_env *env;
    char text[512];
    gcut_graph *g;
} job;

static void parse(void *arg)
{
    job *j = arg;
    j->g = gcut_parse_module(j->env, j->env->arena, "t.gcut", j->text, strlen(j->text))->graphs.at[0];
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *expr, *says;
    } wrong[] = {
        {"conv2d(%x, %w, stride=[0, 1])", "stride must be constants from 1 to 2147483647, not 0"},
        {"conv_transpose2d(%y, %w, stride=[2147483648, 1])", "to 2147483647, not 2147483648"},
        {"conv2d(%x, %w, dilation=[1, 4611686018427387904])", "to 2147483647, not 4611686018427387904"},
        {"conv2d(%x, %w, stride=[1])", "stride has 1 item, expected 2"},
        {"conv2d(%x, %w, stride=[N, 1])", "stride must be constants"},
        {"conv2d(%x, %w, dilation=[0, 1])", "dilation must be constants from 1"},
        {"conv2d(%x, %w, pad=[1, 1])", "pad has 2 items, expected 4"},
        {"conv2d(%x, %w, groups=0)", "groups must be a constant of at least 1"},
        {"conv2d(%x, %w, groups=3)", "the channels of x and of w: 4 and 12 differ"},
        {"conv2d(%x, %w2, groups=2)", "3 output channels do not divide into 2 groups"},
        {"conv2d(%x, %w, dilation=[3, 1])", "the window spans 7 rows, but the padded input has only 5"},
        {"conv2d(%x, %w, dilation=[1, 3])", "the window spans 7 columns, but the padded input has only 6"},
        {"conv2d(%x, %v)", "operand 2 is %v f32[3], expected four axes"},
        {"conv2d(%x, %d)", "dtypes must be equal"},
        {"conv2d_input(%x, %w, shape=[7, 8])", "the channels of y and of w: 4 and 6 differ"},
        {"conv2d_input(%y, %w, shape=[9, 8])", "y and the positions of the window: 5 and 7 differ"},
        {"conv2d_input(%y, %w, shape=[9])", "shape has 1 item, expected 2"},
        {"conv2d_weight(%x, %x, window=[2, 1])", "y and the positions of the window: 5 and 4 differ"},
        {"conv2d_weight(%x, %x, window=[0, 1])", "the window has no rows"},
        {"conv_transpose2d(%y, %w, pad=[4, 0, 4, 0])", "padding takes 8 of 7 rows away"},
        {"max_pool2d(%x, window=[2, 2], pad=[0, 0, 2, 0])", "a padding of 2 is not below the window's 2"},
        {"max_pool2d(%x, window=[6, 2])", "the window spans 6 rows, but the padded input has only 5"},
        {"max_pool2d(%x, window=[0, 2])", "window must be constants from 1"},
        {"avg_pool2d(%v, window=[2, 2])", "operand 1 is %v f32[3], expected four axes"},
        {"max_pool2d_grad(%x, %x, window=[2, 2])", "y and the positions of the window: 5 and 2 differ"},
        {"avg_pool2d_grad(%x, shape=[10, 11], window=[2, 2])",
         "y and the positions of the window: 6 and 5 differ"},
    };
    gcut_env *env = gcut_env_new(NULL, NULL);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        job j = {.env = env};
        snprintf(
            j.text, sizeof j.text,
            "gcut 1\nfunc @f[N in 1..](input %%x: f32[N, 4, 5, 6], input %%w: f32[6, 4, 3, 3], input %%v: "
            "f32[3],\n  input %%y: f32[N, 6, 5, 6], input %%d: f64[6, 4, 3, 3], input %%w2: f32[3, 2, 1, 1]) "
            "-> () {\n  %%r = %s\n  return\n}\n",
            wrong[i].expr);
        assert_int_equal(gcut_protect(env, parse, &j), GCUT_ETYPE);
        assert_int_equal(env->ndiags, 1);
        if (!strstr(env->diags[0].message, wrong[i].says))
            fail_msg("'%s' does not say '%s'", env->diags[0].message, wrong[i].says);
        assert_int_equal(env->diags[0].at.line, 4);
        gcut_diags_clear(env);
    }
    gcut_env_free(env);
}

/* ---- cost ---- */

/* Every contraction is priced by its multiply-adds: those of the three convolutions are one number. */
static void multiply_adds_are_counted(void **state)
{
    (void)state;
    for (int op = 0; op < GCUT_NOPS; op++) {
        const gcut_op_info *info = gcut_op_get((gcut_op)op);
        if ((info->class == GCUT_CLASS_CONTRACTION) != (info->madds != NULL)) fail_msg("%s", info->name);
    }
    gcut_env *env = gcut_env_new(NULL, NULL);
    job j = {.env = env};
    strcpy(j.text, "gcut 1\nfunc @f[N in 1..](input %x: f32[N, 4, 9, 7], input %w: f32[6, 2, 3, 2]) -> () {\n"
                   "  %y = conv2d(%x, %w, groups=2, stride=[2, 1])\n"
                   "  %a = conv2d_input(%y, %w, shape=[9, 7], groups=2, stride=[2, 1])\n"
                   "  %b = conv2d_weight(%x, %y, window=[3, 2], groups=2, stride=[2, 1])\n"
                   "  %t = conv_transpose2d(%y, %w, groups=2, stride=[2, 1])\n"
                   "  return\n}\n");
    parse(&j);
    gcut_dim_binding n = {gcut_dim_symbol(j.g->module->dims, "N"), 5};
    for (uint32_t i = 0; i < j.g->nodes.n; i++)
        assert_true(gcut_node_flops(j.g, gcut_node_at(j.g, i), &n, 1) == 2.0 * (5 * 6 * 4 * 6) * (2 * 3 * 2));
    gcut_env_free(env);
}

/* ---- the builder, on an image of any size ---- */

static gcut_graph *network(gcut_ctx *ctx)
{
    gcut_graph *g = gcut_graph_new(ctx, "net");
    gcut_dim N = gcut_dim_sym(g, "N", 0, 64), H = gcut_dim_sym(g, "H", 1, 64),
             W = gcut_dim_sym(g, "W", 4, 64);
    gcut_val x = gcut_input(g, "x", GCUT_F32, GCUT_SHAPE(N, 3, H, W));
    gcut_val w = gcut_param(g, "w", GCUT_F32, GCUT_SHAPE(8, 3, 3, 3));
    gcut_val v = gcut_param(g, "v", GCUT_F32, GCUT_SHAPE(8, 1, 3, 3));
    gcut_val u = gcut_param(g, "u", GCUT_F32, GCUT_SHAPE(8, 2, 2, 2));
    x = gcut_silu(gcut_conv2d(x, w, (gcut_conv){.stride = {2}, .pad = {1, 1, 1, 1}}));
    x = gcut_conv2d(x, v, (gcut_conv){.groups = 8, .pad = {1, 1, 1, 1}});
    x = gcut_avg_pool2d(x, (gcut_pool){.window = {2, 2}, .stride = {1}, .pad = {1, 0, 0, 1}});
    x = gcut_conv_transpose2d(x, u, (gcut_conv){.stride = {2, 2}, .output_pad = {1, 0}});
    x = gcut_max_pool2d(x, (gcut_pool){.window = {2, 1}});
    gcut_output(g, "loss", gcut_sum(gcut_tanh(x), 0, 1, 2, 3));
    return g;
}

static void the_builder_and_symbolic_images(void **state)
{
    (void)state;
    static const gcut_size sizes[][3] = {{{"N", 3}, {"H", 9}, {"W", 6}}, {{"N", 0}, {"H", 4}, {"W", 4}}};
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = network(ctx);
    const char *text = gcut_show(g, NULL, GCUT_STAGE_PRIMAL, false);
    if (!text) fail_msg("%s", gcut_last_error(ctx));
    assert_non_null(strstr(text, "conv2d(%x, %w, stride=[2, 2], pad=[1, 1, 1, 1])"));
    assert_non_null(strstr(text, "stride=[1, 1], pad=[1, 0, 0, 1])"));
    assert_non_null(strstr(text, "max_pool2d(%conv_transpose2d, window=[2, 1])"));
    for (int i = 0; i < 2; i++) {
        gcut_options o = TEST_OPTIONS;
        o.at = sizes[i];
        o.nat = 3;
        gcut_check_report r = crosscheck(g, &o, NULL, 0, 0);
        if (!r.ok) fail_msg("%s", r.text ? r.text : gcut_last_error(ctx));
    }
    gcut_ctx_free(ctx);
}

static void the_builder_refuses(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    for (int i = 0; i < 4; i++) {
        gcut_graph *g = gcut_graph_new(ctx, "g");
        gcut_val x = gcut_input(g, "x", GCUT_F32, GCUT_SHAPE(1, 2, 5, 5));
        gcut_val w = gcut_param(g, "w", GCUT_F32, GCUT_SHAPE(2, 2, 3, 3));
        gcut_val y = i == 0   ? gcut_conv2d(x, w, (gcut_conv){.stride = {-1, 1}})
                     : i == 1 ? gcut_conv2d(x, w, (gcut_conv){.output_pad = {1, 0}})
                     : i == 2 ? gcut_conv2d(x, w, (gcut_conv){.pad = {-1, 0, 0, 0}})
                              : gcut_max_pool2d(x, (gcut_pool){.pad = {1, 0, 0, 0}});
        assert_int_equal(y.id, 0);
        assert_false(gcut_graph_ok(g));
    }
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_and_gradients_are_pytorchs),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(multiply_adds_are_counted),
        cmocka_unit_test(the_builder_and_symbolic_images),
        cmocka_unit_test(the_builder_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
