/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Predicted costs against closed forms: flops, bytes, sums, and that more is never cheaper.
 */
#include "harness.h"

#include "passes/passes.h"
#include "graph/verify.h"
#include "text/text.h"
#include "kernels/kernels.h"

typedef struct world {
    gcut_env *env;
    const char *text;
    int64_t n;
    int threads;
    const gcut_machine_model *machine; /* NULL: the shipped one */
    gcut_costs costs;                  /* with terms */
    double ns;
} world;

static void predict(void *arg)
{
    world *w = arg;
    gcut_module *m = gcut_parse_module(w->env, w->env->arena, "cost.gcut", w->text, strlen(w->text));
    gcut_graph *g = m->graphs.at[m->graphs.n - 1];
    gcut_verify_module(m);
    const gcut_machine_model *machine = w->machine ? w->machine : gcut_machine_model_shipped();
    gcut_dim_binding at[4];
    for (uint32_t i = 0; i < g->decls.n; i++) at[i] = (gcut_dim_binding){g->decls.at[i].sym, w->n};
    gcut_program *p = gcut_lower(g, NULL, at, g->decls.n, w->threads, machine, 0);
    w->costs = gcut_program_terms(p, machine, at, g->decls.n, w->threads, w->env->arena);
    w->ns = gcut_program_ns(p, machine, at, g->decls.n, w->threads);
}

static gcut_costs costs_of(world *w, const char *text, int64_t n, int threads)
{
    w->text = text;
    w->n = n;
    w->threads = threads;
    must(w->env, predict, w);
    assert_true(w->ns == w->costs.ns);
    return w->costs;
}

static void near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-9 * fabs(want))) fail_msg("%.17g instead of %.17g", got, want);
}

/* The sums are those of the launches, each of which has a class and takes time. */
static void adds_up(const gcut_costs *c)
{
    double ns = 0, flops = 0, read = 0, written = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        const gcut_cost *x = &c->at[i];
        assert_non_null(x->class);
        assert_non_null(x->value);
        assert_that(x->ns, >=, 0);
        assert_true(isfinite(x->ns));
        assert_that(x->times, >, 0);
        assert_true(i == 0 || x->launch > c->at[i - 1].launch);
        ns += x->ns, flops += x->flops, read += x->read, written += x->written;
    }
    near(c->ns, ns);
    near(c->flops, flops);
    near(c->read, read);
    near(c->written, written);
}

static const char matmul[] =
    "gcut 1\n"
    "func @f[N in 1..](input %x: f32[N, 300], param %w: f32[300, 70]) -> (out y: f32[N, 70]) {\n"
    "  %y = matmul(%x, %w)\n  return %y\n}\n";
static const char conv[] = "gcut 1\n"
                           "func @f[N in 1..](input %x: f32[N, 6, 20, 20], param %w: f32[8, 6, 3, 3]) -> "
                           "(out y: f32[N, 8, 18, 18]) {\n"
                           "  %y = conv2d(%x, %w)\n  return %y\n}\n";
static const char chain[] =
    "gcut 1\n"
    "func @f[N in 1..](input %x: f32[N, 100], param %b: f32[100]) -> (out y: f32[N, 100]) {\n"
    "  %c = broadcast(%b, shape=[N, 100], axes=[1])\n  %s = add(%x, %c)\n  %t = tanh(%s)\n"
    "  %u = exp(%t)\n  %y = mul(%u, %x)\n  return %y\n}\n";
static const char loop[] =
    "gcut 1\n"
    "func @f[N in 1..](input %x: f32[N, 4, 64], param %w: f32[64, 64], state %h0: "
    "f32[4, 64]) -> (out h: f32[4, 64]) {\n"
    "  %h: f32[4, 64] = scan(%h0, %x, carries=1) body(%a: f32[4, 64], %e: f32[4, 64]) {\n"
    "    %p = matmul(%a, %w)\n    %q = add(%p, %e)\n    yield %q\n  }\n"
    "  return %h\n}\n";

static void products(void **state)
{
    for (int64_t n = 1; n <= 2000; n = n * 3 + 1) {
        gcut_costs c = costs_of(*state, matmul, n, 2);
        double rows = (double)n;
        adds_up(&c);
        assert_int_equal(c.n, 1);
        assert_string_equal(c.at[0].class, "gemm");
        near(c.flops, 2 * rows * 300 * 70);
        near(c.read, 4 * (rows * 300 + 300 * 70));
        near(c.written, 4 * rows * 70);
        c = costs_of(*state, conv, n, 2);
        adds_up(&c);
        assert_string_equal(c.at[0].class, "conv");
        near(c.flops, 2 * rows * 8 * 18 * 18 * 6 * 3 * 3);
        /* w is put into the order of its taps first. */
        near(c.read, 4 * (rows * 6 * 20 * 20 + 2 * 8 * 6 * 3 * 3));
        near(c.written, 4 * (rows * 8 * 18 * 18 + 8 * 6 * 3 * 3));
    }
}

/* What stays in registers costs no bytes, what is repeated is read once. */
static void fused(void **state)
{
    gcut_costs c = costs_of(*state, chain, 1000, 1);
    adds_up(&c);
    assert_int_equal(c.n, 1);
    near(c.flops, 0);
    near(c.read, 4 * (1000 * 100 + 100));
    near(c.written, 4 * 1000 * 100);
    near(c.at[0].times, 1);
}

/* A body's launches count as often as they run. */
static void loops(void **state)
{
    for (int64_t n = 1; n < 50; n = n * 2 + 1) {
        gcut_costs c = costs_of(*state, loop, n, 1);
        adds_up(&c);
        near(c.flops, (double)n * 2 * 4 * 64 * 64);
    }
}

/* The term of a buffer's traffic in a run of the launch that makes `value`. */
static const gcut_term *traffic_of(const gcut_costs *c, const char *value, uint32_t run, const char *buffer)
{
    for (uint32_t i = 0; i < c->n; i++)
        for (uint32_t k = 0; !strcmp(c->at[i].value, value) && k < c->at[i].run[run].nterms; k++) {
            const gcut_term *t = &c->at[i].run[run].term[k];
            if (t->kind == GCUT_TERM_TRAFFIC && t->name && !strcmp(t->name, buffer)) return t;
        }
    fail_msg("%s in run %u of %s touches no %s", value, run, value, buffer);
    return NULL;
}

/* From the middle of a launch to the middle of the next one, half of the bytes of both are moved. */
static void middle_to_middle(void **state)
{
    static const char text[] =
        "gcut 1\nfunc @f[N in 1..](input %x: f32[N, 64], param %w: f32[64, 64], param %v: f32[64, 4]) "
        "-> (out p: f32[N, 64], out q: f32[N, 4]) {\n"
        "  %p = matmul(%x, %w)\n  %q = matmul(%p, %v)\n  return %p, %q\n}\n";
    const double n = 1000, first = 4 * (2 * 64 * n + 64 * 64), second = 4 * (68 * n + 64 * 4);
    const gcut_costs c = costs_of(*state, text, (int64_t)n, 1);
    near(traffic_of(&c, "q", 0, "p")->ago, (first + second) / 2);
}

static const char five_products[] =
    "gcut 1\nfunc @f[N in 1..](input %x: f32[N, 64], param %w: f32[64, 64]) -> (out y: f32[N, 64]) {\n"
    "  %a = matmul(%x, %w)\n  %b = matmul(%a, %w)\n  %c = matmul(%b, %w)\n  %d = matmul(%c, %w)\n"
    "  %y = matmul(%d, %w)\n  return %y\n}\n";

/* %a and %c have one place in the arena, %b and %d another.  A launch that writes to a place finds it as near as the launch
 * that read the value there before, in the step before if need be. */
static void memory_of_temporaries(void **state)
{
    const double n = 1000, launch = 4 * (2 * 64 * n + 64 * 64);
    const gcut_costs costs = costs_of(*state, five_products, (int64_t)n, 1);
    assert_int_equal(costs.n, 5);
    near(traffic_of(&costs, "a", 0, "a")->ago, 2 * launch); /* %d is made, then %y */
    near(traffic_of(&costs, "b", 0, "b")->ago, 2 * launch); /* %y, then %a */
    near(traffic_of(&costs, "c", 0, "c")->ago, launch);
    near(traffic_of(&costs, "d", 0, "d")->ago, launch);
    near(traffic_of(&costs, "y", 0, "y")->ago, 5 * launch); /* the caller's */
}

/* Between two touches of %y more bytes are moved than the step has memory.  If L3 holds all of that memory, it is the working
 * set; if L3 holds none of it, the bytes moved are; between these two the set depends on the share that L3 does not hold. */
static void steps_that_caches_hold(void **state)
{
    const gcut_machine m = gcut_machine_at(gcut_machine_model_shipped(), 1);
    for (double times = 0.25; times < 5; times *= 1.3) {
        const double n = floor(times * m.level_bytes[GCUT_L3] / (4 * 4 * 64)), w = 4 * 64 * 64,
                     all = 4 * (4 * 64 * n) + w; /* two places, %x and %y */
        const gcut_costs costs = costs_of(*state, five_products, (int64_t)n, 1);
        const gcut_term *y = traffic_of(&costs, "y", 0, "y");
        const double gone = gcut_machine_reach(&m, all).share[GCUT_DRAM];
        near(y->ago, 5 * (4 * (2 * 64 * n) + w));
        near(y->set, exp((1 - gone) * log(all) + gone * log(y->ago)));
        near(y->reach.write_ns, gcut_machine_reach(&m, y->set).write_ns);
        assert_true(gone == 0 || times > 0.49);
        assert_true(gone == 1 || times < 2.01);
    }
}

/* What the iterations of a loop read is near after the loop, however many iterations there are. */
static void read_behind_a_loop(void **state)
{
    static const char text[] =
        "gcut 1\nfunc @f[N in 1..](param %w: f32[64, 64], state %h0: f32[64, 64]) -> (out y: f32[64, 64]) {\n"
        "  %h: f32[64, 64] = scan(%h0, carries=1, length=N) body(%a: f32[64, 64]) {\n"
        "    %q = matmul(%a, %w)\n    yield %q\n  }\n"
        "  %y = matmul(%w, %h)\n  return %y\n}\n";
    for (int64_t n = 10; n <= 1000; n *= 100) {
        const gcut_costs c = costs_of(*state, text, n, 1);
        assert_that(traffic_of(&c, "y", 0, "w")->ago, <=, 6 * 4 * 64 * 64);
    }
}

/* An iteration's first read of its part of %x comes after reads of all other parts; its second read follows at once. */
static void parts_of_a_buffer(void **state)
{
    static const char text[] =
        "gcut 1\n"
        "func @f[N in 1..](input %x: f32[N, 64, 64], param %w: f32[64, 64], state %h0: f32[64, 64]) "
        "-> (out h: f32[64, 64]) {\n"
        "  %h: f32[64, 64] = scan(%h0, %x, carries=1) body(%a: f32[64, 64], %e: f32[64, 64]) {\n"
        "    %p = matmul(%a, %e)\n    %q = matmul(%e, %p)\n    yield %q\n  }\n"
        "  return %h\n}\n";
    const double part = 4 * 64 * 64;
    for (int64_t n = 100; n <= 10000; n *= 100) {
        const gcut_costs c = costs_of(*state, text, n, 1);
        for (uint32_t run = 0; run < 2; run++) {
            assert_that(traffic_of(&c, "p", run, "e")->ago, >=, ((double)n - 1) * part);
            assert_that(traffic_of(&c, "q", run, "e")->ago, <=, 3 * part);
        }
    }
}

/* A launch over all of %x, and then a loop over its parts: between the touches of a part are as many bytes as %x has. */
static void parts_behind_a_launch(void **state)
{
    static const char text[] =
        "gcut 1\n"
        "func @f[N in 1..](input %x: f32[N, 64, 64], state %h0: f32[64, 64]) "
        "-> (out s: f32[], out h: f32[64, 64]) {\n"
        "  %s = sum(%x)\n"
        "  %h: f32[64, 64] = scan(%h0, %x, carries=1) body(%a: f32[64, 64], %e: f32[64, 64]) {\n"
        "    %p = matmul(%a, %e)\n    yield %p\n  }\n"
        "  return %s, %h\n}\n";
    const double n = 1000, part = 4 * 64 * 64;
    const gcut_costs c = costs_of(*state, text, (int64_t)n, 1);
    for (uint32_t run = 0; run < 2; run++) {
        assert_that(traffic_of(&c, "p", run, "e")->ago, >=, (n - 1) * part);
        assert_that(traffic_of(&c, "p", run, "e")->ago, <=, (n + 20) * part);
    }
}

/* In every iteration of an inner loop, what the outer iteration has read is near.  What the outer iteration has not read
 * stays as far as before both loops, although inner loops have ended since. */
static void parts_in_inner_loops(void **state)
{
    static const char text[] =
        "gcut 1\n"
        "func @f[N in 1..](input %x: f32[N, 64, 64], input %big: f32[N, 64, 64], param %w: f32[64, 64], "
        "state %h0: f32[64, 64]) -> (out h: f32[64, 64], out s: f32[]) {\n"
        "  %s = sum(%big)\n"
        "  %h: f32[64, 64] = scan(%h0, %x, carries=1) body(%a: f32[64, 64], %e: f32[64, 64]) {\n"
        "    %p = matmul(%a, %e)\n"
        "    %i: f32[64, 64] = scan(%p, carries=1, length=3) body(%b: f32[64, 64]) {\n"
        "      %q = matmul(%e, %b)\n      yield %q\n    }\n"
        "    yield %i\n  }\n"
        "  return %h, %s\n}\n";
    const double part = 4 * 64 * 64, n = 1000;
    const gcut_costs c = costs_of(*state, text, (int64_t)n, 1);
    for (uint32_t run = 0; run < 2; run++)
        assert_that(traffic_of(&c, "p", run, "e")->ago, >=,
                    (2 * n - 2) * part); /* all of %big lies between */
    for (uint32_t i = 0, runs = 0; i < c.n; i++) {
        if (strcmp(c.at[i].value, "q") != 0) continue;
        for (; runs < c.at[i].nruns; runs++) assert_that(traffic_of(&c, "q", runs, "e")->ago, <=, 6 * part);
        assert_int_equal(runs, 4); /* first and further ones of both loops */
    }
}

/* Results as large as the step writes past the caches are paid for as such, by the model of any machine. */
static void past_the_caches(void **state)
{
    static const char text[] = "gcut 1\nfunc @f[N in 1..](input %x: f32[N]) -> (out y: f32[N]) {\n"
                               "  %y = neg(%x)\n  return %y\n}\n";
    world *w = *state;
    const int64_t n = 1 << 20;
    gcut_machine one = gcut_machine_at(gcut_machine_model_shipped(), 1);
    gcut_machine_model model = *gcut_machine_model_shipped();
    model.n = 1, model.at = &one, w->machine = &model;
    one.past_bytes = 4 * (double)n;
    const gcut_costs past = costs_of(w, text, n, 1);
    near(traffic_of(&past, "y", 0, "y")->fetched, 4 * (double)n / 2);
    one.past_bytes = 4 * (double)n + 1;
    const gcut_costs kept = costs_of(w, text, n, 1);
    near(traffic_of(&kept, "y", 0, "y")->fetched, 4 * (double)n);
    assert_that(past.ns, <, kept.ns);
    w->machine = NULL;
}

#define FAR ((int64_t)1 << 26) /* elements that no cache holds */

static double memory_ns(const gcut_machine *m, double read, double written)
{
    return 4 * FAR * (read * m->read_ns_per_byte[GCUT_DRAM] + written * m->write_ns_per_byte[GCUT_DRAM]);
}

/* What lies where an operand was read is not fetched again to be written: a read and a write there take as long as a
 * write alone.  Large results that wait for memory go past the caches, for half a write. */
static void in_place(void **state)
{
    world *w = *state;
    static const char out[] =
        "gcut 1\nfunc @f[N in 1..](state %w: f32[N], input %g: f32[N]) -> (out y: f32[N]) {\n"
        "  %y = sub(%w, %g)\n  return %y\n}\n",
                      next[] =
                          "gcut 1\nfunc @f[N in 1..](state %w: f32[N], input %g: f32[N]) -> (next w: f32[N]) "
                          "{\n  %y = sub(%w, %g)\n  return %y\n}\n";
    static const char dear[] = "gcut 1\nfunc @f[N in 1..](input %x: f32[N]) -> (out y: f32[N]) {\n"
                               "  %y = exp(%x)\n  return %y\n}\n";
    gcut_machine m = gcut_machine_at(gcut_machine_model_shipped(), 1);
    near(costs_of(*state, dear, FAR, 1).ns, m.kernel_ns + memory_ns(&m, 1, 1));
    near(costs_of(*state, out, FAR, 1).ns, m.kernel_ns + memory_ns(&m, 2, 0.5));
    near(costs_of(*state, out, FAR / 64, 1).ns,
         m.kernel_ns + gcut_machine_move_ns(&m, FAR / 8, FAR / 16, FAR / 16 * 3));
    near(costs_of(*state, next, FAR, 1).ns, m.kernel_ns + memory_ns(&m, 1, 1));
    const double read = FAR / 8, written = FAR / 16, set = read + written;
    gcut_machine_model model = *gcut_machine_model_shipped();
    m.write_ns_per_byte[GCUT_L3] = 3 * m.read_ns_per_byte[GCUT_L3];
    model.n = 1, model.at = &m, w->machine = &model;
    near(costs_of(*state, next, FAR / 64, 1).ns,
         m.kernel_ns + gcut_machine_move_ns(&m, read - written, written, set));
    w->machine = NULL;
}

/* A state is multiplied by a number where it is: the step tests at run time whether that is 1, and of a cotangent
 * alone the prediction assumes so. */
static void scaled_in_place(void **state)
{
    static const char *const role[] = {"input", "cotan"};
    const gcut_machine m = gcut_machine_at(gcut_machine_model_shipped(), 1);
    for (int k = 0; k < 2; k++) {
        char text[256];
        snprintf(text, sizeof text,
                 "gcut 1\nfunc @f[N in 1..](state %%s: f32[N], %s %%d: f32[]) -> (next s: f32[N]) {\n"
                 "  %%b = broadcast(%%d, shape=[N], axes=[])\n  %%t = mul(%%s, %%b)\n  return %%t\n}\n",
                 role[k]);
        const gcut_costs c = costs_of(*state, text, FAR, 1);
        adds_up(&c);
        if (k)
            assert_true(c.ns == 0);
        else
            assert_that(c.ns, >=, m.kernel_ns + memory_ns(&m, 0, 1));
    }
}

/* One long function computes while its operand comes; of several, the others do not. */
static void parts(void **state)
{
    static const char one[] = "gcut 1\nfunc @f[N in 1..](input %x: f32[N]) -> (out y: f32[N]) {\n"
                              "  %y = sin(%x)\n  return %y\n}\n",
                      two[] = "gcut 1\nfunc @f[N in 1..](input %x: f32[N]) -> (out y: f32[N]) {\n"
                              "  %s = sin(%x)\n  %y = sin(%s)\n  return %y\n}\n";
    gcut_machine m = gcut_machine_at(gcut_machine_model_shipped(), 1);
    double sine = gcut_machine_op_ns(&m, GCUT_OP_sin, GCUT_F32, FAR), moves = memory_ns(&m, 1, 1);
    near(costs_of(*state, one, FAR, 1).ns, m.kernel_ns + fmax(sine, moves));
    near(costs_of(*state, two, FAR, 1).ns, m.kernel_ns + 2 * sine + moves);
}

/* The time of the ends of rows in some phases; left: the elements of a row after its whole vectors. */
static double ends_ns(const gcut_machine *m, double rows, int phases, int left)
{
    const gcut_rate rate = gcut_machine_row_rate(m);
    return gcut_rate_ns(&rate, rows * phases * (left ? 1.5 : 0.5));
}

/* A loop of one phase waits for memory while it computes; of two phases, the first alone does.  In each phase a row
 * has an end. */
static void phases(void **state)
{
    static const char head[] = "gcut 1\nfunc @f[N in 1..](input %x: f32[N, 64]) -> (out ",
                      once[] = "y: f32[N]) {\n  %d = sqrt(%x)\n  %y = sum(%d, axes=[1])\n  return %y\n}\n",
                      twice[] = "y: f32[N, 64]) {\n  %s = sum(%x, axes=[1])\n"
                                "  %b = broadcast(%s, shape=[N, 64], axes=[0])\n  %d = sub(%x, %b)\n"
                                "  %y = sin(%d)\n  return %y\n}\n";
    char text[512];
    gcut_machine m = gcut_machine_at(gcut_machine_model_shipped(), 1);
    const double sum = gcut_machine_op_ns(&m, GCUT_OP_sum, GCUT_F32, FAR),
                 root = gcut_machine_op_ns(&m, GCUT_OP_sqrt, GCUT_F32, FAR),
                 sine = gcut_machine_op_ns(&m, GCUT_OP_sin, GCUT_F32, FAR),
                 minus = gcut_machine_op_ns(&m, GCUT_OP_sub, GCUT_F32, FAR);
    snprintf(text, sizeof text, "%s%s", head, once);
    near(costs_of(*state, text, FAR / 64, 1).ns,
         m.kernel_ns + fmax(root + sum + ends_ns(&m, FAR / 64, 1, 0), memory_ns(&m, 1, 1.0 / 64)));
    snprintf(text, sizeof text, "%s%s", head, twice);
    near(costs_of(*state, text, FAR / 64, 1).ns,
         m.kernel_ns + sum + minus + sine + ends_ns(&m, FAR / 64, 2, 0) + memory_ns(&m, 1, 1));
    /* Of 70 columns, 6 are a remainder, each of which takes 8 times as long. */
    for (char *at = text; (at = strstr(at, "64]")); at++) memcpy(at, "70", 2);
    const double rows = 8, near_sum = (64 + 6 * 8) * rows / FAR * (sum + minus + sine),
                 moved = gcut_machine_move_ns(&m, 4 * 70 * rows, 4 * 70 * rows, 0);
    near(costs_of(*state, text, (int64_t)rows, 1).ns,
         m.kernel_ns + near_sum + ends_ns(&m, rows, 2, 6) + moved);
}

/* Columns come in pairs of vectors; a product reads what L2 does not hold on top of its rate. */
static void columns_and_operands(void **state)
{
    static const char form[] =
        "gcut 1\nfunc @f[N in 1..](input %%x: f32[N, 64], param %%w: f32[64, %d]) -> (out y: f32[N, %d]) {\n"
        "  %%y = matmul(%%x, %%w)\n  return %%y\n}\n";
    char text[2][256];
    gcut_machine m = gcut_machine_at(gcut_machine_model_shipped(), 1);
    snprintf(text[0], sizeof text[0], form, 65, 65);
    snprintf(text[1], sizeof text[1], form, 96, 96);
    near(costs_of(*state, text[0], 16, 1).ns, costs_of(*state, text[1], 16, 1).ns);
    near(costs_of(*state, text[1], 16, 1).ns, m.kernel_ns + m.call_ns + gcut_machine_gemm_ns(&m, 16, 96, 64));
    double rows = 1 << 22, in = 4 * rows * 64, w = 4 * 64 * 96, out = 4 * rows * 96;
    near(costs_of(*state, text[1], 1 << 22, 1).ns, m.kernel_ns + m.call_ns +
                                                       gcut_machine_gemm_ns(&m, rows, 96, 64) +
                                                       gcut_machine_bring_ns(&m, in + w, out, INFINITY));
}

/* Of a sum over the first and the last two axes, those are one row, which has an end as in a loop; it is added up in doubles. */
static void rows_of_reductions(void **state)
{
    static const char form[] = "gcut 1\nfunc @f[N in 1..](input %%x: %s[N, 4, %d, %d]) -> (out y: %s[4]) {\n"
                               "  %%y = sum(%%x, axes=[0, 2, 3])\n  return %%y\n}\n";
    static const struct {
        int size;
        gcut_dtype dtype;
        double ends, wide;
    } rows[] = {{32, GCUT_F32, 0.5, 2}, {32, GCUT_F64, 0.5, 1}, {2, GCUT_F32, 1.5, 2}, {9, GCUT_F32, 1.5, 2}};
    const gcut_machine m = gcut_machine_at(gcut_machine_model_shipped(), 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[256];
        const char *type = gcut_dtype_name(rows[i].dtype);
        const double elements = 8 * 4.0 * rows[i].size * rows[i].size;
        TRY("row %zu", i);
        snprintf(text, sizeof text, form, type, rows[i].size, rows[i].size, type);
        near(costs_of(*state, text, 8, 1).ns,
             m.kernel_ns + rows[i].ends * 8 * 4 * GCUT_ROW_NS * m.op_scale +
                 rows[i].wide * gcut_machine_op_ns(&m, GCUT_OP_sum, rows[i].dtype, elements));
    }
}

/* A part of a concatenation has no gaps from its axis on: along the second axis a row for each image, along the last one
 * for each four elements. */
static void rows_of_concatenations(void **state)
{
    static const char second[] =
        "gcut 1\nfunc @f(input %x: f32[8, 64, 4, 4], input %z: f32[8, 64, 4, 4]) -> "
        "(out y: f32[8, 128, 4, 4]) {\n  %y = concat(%x, %z, axis=1)\n  return %y\n}\n",
                      last[] = "gcut 1\nfunc @f(input %x: f32[8, 64, 4, 4], input %z: f32[8, 64, 4, 4]) -> "
                               "(out y: f32[8, 64, 4, 8]) {\n  %y = concat(%x, %z, axis=3)\n  return %y\n}\n";
    gcut_machine m = gcut_machine_at(gcut_machine_model_shipped(), 1);
    const double more = costs_of(*state, last, 1, 1).ns - costs_of(*state, second, 1, 1).ns,
                 rows = 2 * 8 * (64 * 4 - 1) * GCUT_ROW_NS * m.op_scale;
    assert_true(fabs(more - rows) < 0.01 * rows); /* but for the memory that one of them waits for */
}

static double conv_ns(const gcut_machine *m, gcut_window window, double flops)
{
    const gcut_rate rate = gcut_machine_conv_rate(m, GCUT_WAY_conv_y, window, GCUT_F32);
    return gcut_rate_ns(&rate, flops);
}

/* What the arithmetic of the only launch is said to take. */
static double work_of(world *w, const char *text)
{
    const gcut_costs c = costs_of(w, text, 1, 1);
    assert_int_equal(c.n, 1);
    assert_int_equal(c.at[0].nruns, 1);
    return c.at[0].run[0].work_ns;
}

/* The price of a convolution follows from its class of windows and its shape, that of a depthwise one from the vectors that
 * its planes fill.  Traffic beyond L2 is added to it. */
static void windows(void **state)
{
    static const char tiled[] =
        "gcut 1\nfunc @f[N in 1..](input %x: f32[N, 32, 9, 9], param %w: f32[32, 32, 3, 3]) "
        "-> (out y: f32[N, 32, 7, 7]) {\n  %y = conv2d(%x, %w)\n  return %y\n}\n",
                      depthwise[] = "gcut 1\nfunc @f[N in 1..](input %x: f32[N, 32, 6, 6], param %w: "
                                    "f32[32, 1, 3, 3]) -> (out y: f32[N, 32, 4, 4]) {\n"
                                    "  %y = conv2d(%x, %w, groups=32)\n  return %y\n}\n";
    gcut_machine m = gcut_machine_at(gcut_machine_model_shipped(), 1);
    double flops = 2.0 * 32 * 7 * 7 * 32 * 9, fixed = m.kernel_ns + m.call_ns,
           /* Of 4 rows of 4, 6 apart, 2 vectors under 9 taps; 28 * 28 as measured have 53. */
        planes = 32 * (2 * 9 + 5 * (6 + 4) + 50) / (53 * 9 + 5 * (28 + 28) + 50.0) * 2 * 28 * 28 * 9,
           /* 32 channels, and 7 * 7 / 4 tiles; measured: 96, and 4 images of 20 * 20. */
        channels = 1 + (12 + 5) / 32.0, tiles = 7 * 7 / 4.0,
           measured = 1 + (12 + 5) / 96.0 + 90 / (4 * 20 * 20 / 4.0);
    near(work_of(*state, tiled), conv_ns(&m, GCUT_WINDOW_tiled, flops) * (channels + 90 / tiles) / measured);
    const double images = 1 << 16, in = 4 * (images * 32 * 9 * 9 + 32 * 32 * 9),
                 out = 4 * images * 32 * 7 * 7;
    near(costs_of(*state, tiled, 1 << 16, 1).ns,
         fixed +
             conv_ns(&m, GCUT_WINDOW_tiled, images * flops) * (channels + 90 / (images * tiles)) / measured +
             gcut_machine_bring_ns(&m, in, out, INFINITY));
    near(costs_of(*state, depthwise, 1, 1).ns, fixed + conv_ns(&m, GCUT_WINDOW_depthwise, planes));
}

/* Windows of 2 * 2 side by side go by the rate that calibrate measures, where rows of 14 results have two vectors of 8, and
 * by the vectors that a row fills; others by each element that they see.  The gradient of a pool has as many windows as it. */
static void pools(void **state)
{
    static const char fmt[] = "gcut 1\nfunc @f(input %%x: f32[2, 3, 8, 8], input %%g: f32[2, 3, 4, 4]) -> "
                              "(out y: f32[2, 3, %s]) {\n"
                              "  %%y = %s\n  return %%y\n}\n";
    static const char three[] = "window=[3, 3], stride=[2, 2], pad=[1, 1, 1, 1]";
    gcut_machine m = gcut_machine_at(gcut_machine_model_shipped(), 1);
    const double places = 2 * 3 * 4 * 4, all = 2 * 3 * 8 * 8;
    char text[400], op[200];
    snprintf(text, sizeof text, fmt, "4, 4", "max_pool2d(%x, window=[2, 2])");
    const double one_of_4 = (1 / 4.0) / (2 / 14.0);
    near(work_of(*state, text), one_of_4 * gcut_machine_op_ns(&m, GCUT_OP_max_pool2d, GCUT_F32, places));
    snprintf(text, sizeof text, fmt, "8, 8", "max_pool2d_grad(%x, %g, window=[2, 2])");
    near(work_of(*state, text), one_of_4 * gcut_machine_op_ns(&m, GCUT_OP_max_pool2d_grad, GCUT_F32, all));
    static const struct {
        int columns;
        double vectors;
    } rows[] = {{1, 1}, {3, 3}, {4, 1}, {7, 2}, {8, 1}, {9, 2}, {14, 2}, {16, 1}, {28, 2}, {33, 3}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int n = rows[i].columns;
        TRY("%d columns", n);
        snprintf(text, sizeof text,
                 "gcut 1\nfunc @f(input %%x: f32[2, 3, 8, %d]) -> (out y: f32[2, 3, 4, %d]) {\n"
                 "  %%y = avg_pool2d(%%x, window=[2, 2])\n  return %%y\n}\n",
                 2 * n, n);
        near(work_of(*state, text),
             rows[i].vectors * gcut_machine_op_ns(&m, GCUT_OP_avg_pool2d, GCUT_F32, 2 * 3 * 4 * 14 / 2.0));
    }
    static const struct {
        gcut_op id;
        const char *call, *shape;
    } ops[] = {{GCUT_OP_max_pool2d, "max_pool2d(%%x, %s)", "4, 4"},
               {GCUT_OP_avg_pool2d, "avg_pool2d(%%x, %s)", "4, 4"},
               {GCUT_OP_max_pool2d_grad, "max_pool2d_grad(%%x, %%g, %s)", "8, 8"},
               {GCUT_OP_avg_pool2d_grad, "avg_pool2d_grad(%%g, shape=[8, 8], %s)", "8, 8"},
               {GCUT_OP_max_pool2d_take, "max_pool2d_take(%%x, %%x, %s)", "4, 4"}};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        const gcut_rate rate = gcut_machine_table_rate(&m, ops[i].id, GCUT_F32);
        TRY("%s", gcut_op_get(ops[i].id)->name);
        snprintf(op, sizeof op, ops[i].call, three);
        snprintf(text, sizeof text, fmt, ops[i].shape, op);
        near(work_of(*state, text), gcut_rate_ns(&rate, 9 * places));
    }
}

/* Attention stores its result in the layout that its reader wants; it is written all the same. */
static void stored_as_a_view(void **state)
{
    static const char text[] =
        "gcut 1\nfunc @f[N in 1..](input %x: f32[N, 16, 2, 8]) -> (out y: f32[N, 16, 16]) {\n"
        "  %q = transpose(%x, perm=[0, 2, 1, 3])\n  %a = attention(%q, %q, %q, causal=true)\n"
        "  %t = transpose(%a, perm=[0, 2, 1, 3])\n  %y = reshape(%t, shape=[N, 16, 16])\n  return %y\n}\n";
    const gcut_costs c = costs_of(*state, text, 3, 1);
    const gcut_cost *attention = NULL;
    for (uint32_t i = 0; i < c.n; i++)
        if (!strcmp(c.at[i].class, "attention")) attention = &c.at[i];
    assert_non_null(attention);
    near(attention->written, 3 * 16 * 16 * 4);
}

static void grows(void **state)
{
    static const char *const all[] = {matmul, conv, chain, loop};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        TRY("case %zu", i);
        double last = 0;
        for (int64_t n = 1; n <= 4096; n *= 2) {
            double ns = costs_of(*state, all[i], n, 1).ns;
            assert_true(ns > last);
            last = ns;
        }
    }
}

FIXTURE(world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(products),
        WITH_FIXTURE(fused),
        WITH_FIXTURE(loops),
        WITH_FIXTURE(in_place),
        WITH_FIXTURE(parts),
        WITH_FIXTURE(phases),
        WITH_FIXTURE(columns_and_operands),
        WITH_FIXTURE(scaled_in_place),
        WITH_FIXTURE(rows_of_reductions),
        WITH_FIXTURE(rows_of_concatenations),
        WITH_FIXTURE(windows),
        WITH_FIXTURE(pools),
        WITH_FIXTURE(stored_as_a_view),
        WITH_FIXTURE(grows),
        WITH_FIXTURE(middle_to_middle),
        WITH_FIXTURE(memory_of_temporaries),
        WITH_FIXTURE(steps_that_caches_hold),
        WITH_FIXTURE(read_behind_a_loop),
        WITH_FIXTURE(parts_of_a_buffer),
        WITH_FIXTURE(parts_behind_a_launch),
        WITH_FIXTURE(parts_in_inner_loops),
        WITH_FIXTURE(past_the_caches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
