/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What recomputing a value costs where it is consumed, against the machine model: only what a kernel leaves
 * in memory pays for memory.
 */
#include "harness.h"

#include "gradcut/gradcut_rt.h"
#include "passes/passes.h"
#include "graph/verify.h"
#include "text/text.h"
#include "partition/cut/decisions.h"

#define N 4096.0
#define COLUMNS 256.0
#define BYTES (N * COLUMNS * 4)

/* The backward graph reads %a and %r in loops, %b in a product, %c transposed, %e and %f through reductions,
 * a slice, and a product, %s in one product alone, %t in one and in a loop, %u twice in one. */
static const char text[] =
    "gcut 1\n"
    "func @j(param %w: f32[256, 256], input %x: f32[4096, 256], cotan %dy: f32[4096, 256]) ->\n"
    "    (out y: f32[4096, 256], grad w: f32[256, 256], grad x: f32[4096, 256]) {\n"
    "  %a = tanh(%x)\n"
    "  %b = exp(%a)\n"
    "  %c = sin(%b)\n"
    "  %r = sum(%c, axes=[1])\n"
    "  %e = sum(%b, axes=[0])\n"
    "  %f = slice(%b, start=[0, 0], limit=[4096, 1])\n"
    "  %p = matmul(%c, %w)\n"
    "  %q = matmul(%b, %w)\n"
    "  %rr = broadcast(%r, shape=[4096, 256], axes=[0])\n"
    "  %y1 = add(%p, %rr)\n"
    "  %y2 = add(%y1, %q)\n"
    "  %er = broadcast(%e, shape=[4096, 256], axes=[1])\n"
    "  %fr = reshape(%f, shape=[4096])\n"
    "  %fb = broadcast(%fr, shape=[4096, 256], axes=[0])\n"
    "  %y3 = add(%y2, %er)\n"
    "  %s = relu(%x)\n"
    "  %y4 = add(%y3, %s)\n"
    "  %t = neg(%x)\n"
    "  %y5 = add(%y4, %t)\n"
    "  %u = abs(%x)\n"
    "  %y6 = add(%y5, %u)\n"
    "  %y = add(%y6, %fb)\n"
    "  %d1 = mul(%dy, %a)\n"
    "  %d2 = add(%d1, %rr)\n"
    "  %ct = transpose(%c, perm=[1, 0])\n"
    "  %dt = transpose(%d2, perm=[1, 0])\n"
    "  %dtc = mul(%dt, %ct)\n"
    "  %d3 = transpose(%dtc, perm=[1, 0])\n"
    "  %d4 = add(%d3, %er)\n"
    "  %d5 = add(%d4, %fb)\n"
    "  %d6 = mul(%d5, %p)\n"
    "  %dx = tanh(%d6)\n"
    "  %dw = matmul(%b, %d6, ta=true)\n"
    "  %dz = matmul(%q, %d6, ta=true)\n"
    "  %d7 = matmul(%d6, %s, ta=true)\n"
    "  %d8 = mul(%d6, %t)\n"
    "  %d9 = matmul(%d8, %t, ta=true)\n"
    "  %d10 = matmul(%u, %u, ta=true)\n"
    "  %d11 = sum(%d6, axes=[0, 1])\n"
    "  %d12 = broadcast(%d11, shape=[256, 256], axes=[])\n"
    "  %d13 = mul(%d10, %d12)\n"
    "  %d14 = add(%d9, %d13)\n"
    "  %d15 = add(%d7, %d14)\n"
    "  %dws1 = add(%dw, %dz)\n"
    "  %dws = add(%dws1, %d15)\n"
    "  return %y, %dws, %dx\n}\n";

typedef struct world {
    gcut_env *env;
    const char *text;
    gcut_problem *p;
} world;

/* Products of 20 columns, and of four batches under one second matrix. */
static const char products[] =
    "gcut 1\n"
    "func @j(param %v: f32[32, 20], param %w: f32[32, 16], input %x: f32[64, 32], input %z: f32[4, 8, 32],\n"
    "        cotan %dy: f32[64, 20]) -> (out y: f32[64, 20], out q: f32[4, 8, 16], grad x: f32[64, 32]) {\n"
    "  %p = matmul(%x, %v)\n"
    "  %y = tanh(%p)\n"
    "  %b = broadcast(%w, shape=[4, 32, 16], axes=[1, 2])\n"
    "  %r = matmul(%z, %b)\n"
    "  %q = tanh(%r)\n"
    "  %dp = mul(%dy, %p)\n"
    "  %dx = matmul(%dp, %v, tb=true)\n"
    "  return %y, %q, %dx\n}\n";

static void make(void *arg)
{
    world *w = arg;
    gcut_arena *a = w->env->arena;
    gcut_module *m = gcut_parse_module(w->env, a, "price.gcut", w->text, strlen(w->text));
    gcut_plan_options *opt = gcut_calloc(a, 1, sizeof *opt);
    gcut_verify_module(m);
    /* L2 and L3 told apart, so that reading from L3 has a price */
    gcut_machine machine = gcut_machine_at(gcut_machine_model_shipped(), 0);
    machine.read_ns_per_byte[GCUT_L3] *= 1.5;
    *opt = (gcut_plan_options){.lambda = 0.05, .machine = machine, .packings = gcut_rt_gemm_packings};
    w->p = gcut_problem_new(a, m->graphs.at[0], opt);
}

static double price_of(const world *w, const char *name)
{
    gcut_ref v = gcut_graph_find(w->p->g, name);
    assert_true(v != 0);
    return w->p->price[v].recompute_ns;
}

static void near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-9 * want)) fail_msg("%.17g instead of %.17g", got, want);
}

static void where_consumed(void **state)
{
    world *w = *state;
    w->text = text;
    must(w->env, make, w);
    const gcut_machine *m = &w->p->opt->machine;
    double n = N * COLUMNS, writing = gcut_machine_move_ns(m, 0, BYTES, BYTES);
    double reading = gcut_machine_move_ns(m, BYTES, 0, BYTES) - gcut_machine_move_ns(m, BYTES, 0, 0);
    double product = gcut_machine_gemm_ns(m, N, COLUMNS, COLUMNS);
    near(price_of(w, "a"), gcut_machine_op_ns(m, GCUT_OP_tanh, GCUT_F32, n));
    near(price_of(w, "b"),
         fmax(gcut_machine_op_ns(m, GCUT_OP_exp, GCUT_F32, n), writing) + reading + m->kernel_ns);
    near(price_of(w, "c"),
         fmax(gcut_machine_op_ns(m, GCUT_OP_sin, GCUT_F32, n), writing) + reading + m->kernel_ns);
    assert_int_equal(gcut_rt_gemm_packings(256, 256, 4096, 256, 4, (int)m->threads, 0, 1), 1);
    assert_true(reading > 0);
    near(price_of(w, "s"), gcut_machine_op_ns(m, GCUT_OP_relu, GCUT_F32, n));
    near(price_of(w, "t"), 2 * gcut_machine_op_ns(m, GCUT_OP_neg, GCUT_F32, n));
    near(price_of(w, "u"),
         fmax(gcut_machine_op_ns(m, GCUT_OP_abs, GCUT_F32, n), writing) + reading + m->kernel_ns);
    near(price_of(w, "r"), gcut_machine_op_ns(m, GCUT_OP_sum, GCUT_F32, n));
    near(price_of(w, "e"), gcut_machine_op_ns(m, GCUT_OP_sum, GCUT_F32, n) +
                               gcut_machine_move_ns(m, BYTES, 0, INFINITY) + m->kernel_ns);
    assert_true(price_of(w, "f") == 0);
    near(price_of(w, "p"), product + m->kernel_ns + m->call_ns + gcut_machine_move_ns(m, BYTES, 0, 0));
    near(price_of(w, "q"), product + m->kernel_ns + m->call_ns + gcut_machine_move_ns(m, BYTES, 0, BYTES));
}

/* Columns are multiplied in whole pairs of vectors; batches under one matrix are rows: as the kernels run them. */
static void as_the_kernels_run(void **state)
{
    world *w = *state;
    w->text = products;
    must(w->env, make, w);
    const gcut_machine *m = &w->p->opt->machine;
    const double fixed = m->kernel_ns + m->call_ns;
    near(price_of(w, "p"),
         gcut_machine_gemm_ns(m, 64, 32, 32) + fixed + gcut_machine_move_ns(m, 64 * 20 * 4, 0, 0));
    near(price_of(w, "r"),
         gcut_machine_gemm_ns(m, 4 * 8, 16, 32) + fixed + gcut_machine_move_ns(m, 4 * 8 * 16 * 4, 0, 0));
}

/* The help texts say the default price. */
static void default_price_is_printed(void **state)
{
    (void)state;
#define OPTION(member, kind, name, letter, argument, words, lo, hi, constant, unset, ...)                    \
    if (!strcmp(#member, "lambda")) assert_true(strtod(unset, NULL) == GCUT_LAMBDA_DEFAULT);
#include "gradcut/options.def"
#undef OPTION
}

FIXTURE(world)

int main(void)
{
    const struct CMUnitTest tests[] = {WITH_FIXTURE(where_consumed), WITH_FIXTURE(as_the_kernels_run),
                                       cmocka_unit_test(default_price_is_printed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
