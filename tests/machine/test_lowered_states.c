/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The verifier of lowered graphs: a graph that has a prologue, an epilogue, a moved sum, rows, blocks and an
 * update keeps every invariant of machine/lower/lowered.h; broken in one place, it is said which invariant
 * that breaks.
 */
#include "harness.h"

#include "driver/pipeline/compile.h"
#include "machine/lower/lower.h"
#include "machine/lower/fusion/reads.h"

static const char source[] = "gcut 1\n"
                             "func @f(input %x: f32[2048, 256], param %w: f32[256, 1024], input %d: "
                             "f32[2048, 1024], param %v: f32[1024])\n"
                             "  -> (out y: f32[2048, 1024], out g: f32[256, 1024], out s: f32[1024], out c: "
                             "f32[1024], out r: f32[2048],\n"
                             "      out z: f32[1024], next v: f32[1024]) {\n"
                             "  %p = mul(%x, %x)\n"
                             "  %m = matmul(%p, %w)\n"
                             "  %y = relu(%m)\n"
                             "  %g = matmul(%x, %d, ta=true)\n"
                             "  %s = sum(%d, axes=[0])\n"
                             "  %e = exp(%d)\n"
                             "  %c = sum(%e, axes=[0])\n"
                             "  %r = sum(%e, axes=[1])\n"
                             "  %a = cumsum(%v, axis=0)\n"
                             "  %b = cumsum(%a, axis=0)\n"
                             "  %ab = mul(%a, %b)\n"
                             "  %z = cumsum(%ab, axis=0)\n"
                             "  %u = mul(%v, %v)\n"
                             "  return %y, %g, %s, %c, %r, %z, %u\n"
                             "}\n";

typedef void breaker(gcut_program *p, gcut_lowered *h);

typedef struct job {
    gcut_env *env;
    breaker *breaks;
    const char *name;
} job;

static void find_fault(void *arg)
{
    job *j = arg;
    gcut_arena *a = gcut_arena_new(j->env, NULL);
    gcut_module *m = gcut_parse_module(j->env, a, "states", source, strlen(source));
    gcut_settings opt = gcut_settings_of(j->env, NULL, 0);
    opt.forward_only = true;
    gcut_program *p = gcut_pipeline_new(m->graphs.at[0], &opt, GCUT_STAGE_KERNEL, a)->program;
    gcut_lowered *h = p->lowered.at[GCUT_FORWARD];
    const char *fault = gcut_lowered_fault(p, h, 10, a);
    if (fault) fail_msg("unbroken: %s", fault);
    j->breaks(p, h);
    fault = gcut_lowered_fault(p, h, 10, a);
    if (!fault || strncmp(fault, j->name, strlen(j->name)) != 0)
        fail_msg("%s was broken, and the verifier says: %s", j->name, fault ? fault : "nothing");
    gcut_arena_free(a);
}

static void names(const char *invariant, breaker *breaks)
{
    gcut_env *env = gcut_env_new(NULL, NULL);
    must(env, find_fault, &(job){env, breaks, invariant});
    gcut_env_free(env);
}

static gcut_ref value(const gcut_lowered *h, const char *name)
{
    for (gcut_ref v = 1; v < h->g->values.n; v++)
        if (!strcmp(h->g->values.at[v].name, name)) return v;
    fail_msg("no %%%s", name);
    return 0;
}

static gcut_kernel *kernel(gcut_lowered *h, const char *name)
{
    return &h->kernels.at[h->kernel_of[value(h, name)]];
}

/* ---- L1 ---- */

static void names_another(gcut_program *p, gcut_lowered *h)
{
    (void)p;
    h->kernel_of[value(h, "g")] = h->kernel_of[value(h, "m")];
}

static void belongs_twice(gcut_program *p, gcut_lowered *h)
{
    gcut_kernel *e = kernel(h, "e");
    *GCUT_PUSH(p->module->arena, &kernel(h, "u")->nodes) = e->nodes.at[e->nodes.n - 1];
}

static void out_of_order(gcut_program *p, gcut_lowered *h)
{
    (void)p;
    gcut_kernel *e = kernel(h, "e");
    const uint32_t first = e->nodes.at[0];
    assert_true(e->nodes.n >= 2);
    e->nodes.at[0] = e->nodes.at[1];
    e->nodes.at[1] = first;
}

static void lives_on(gcut_program *p, gcut_lowered *h)
{
    (void)p;
    kernel(h, "u")->dead = true;
}

static void in_no_kernel(gcut_program *p, gcut_lowered *h)
{
    (void)p;
    kernel(h, "u")->nodes.n = 0;
}

static void not_at_hand(gcut_program *p, gcut_lowered *h)
{
    (void)p;
    h->level[value(h, "e")] = GCUT_LEVEL_COLUMN;
}

static void circle(gcut_program *p, gcut_lowered *h)
{
    *GCUT_PUSH(p->module->arena, &kernel(h, "a")->before) = h->kernel_of[value(h, "z")];
}

static void unknown_reader(gcut_program *p, gcut_lowered *h)
{
    (void)p;
    h->reads->of[value(h, "a")].n--;
}

static void reader_too_many(gcut_program *p, gcut_lowered *h)
{
    (void)p;
    h->reads->of[value(h, "a")].at[0].times++;
}

static void invariants_of_L1(void **state)
{
    (void)state;
    names("L1a", names_another);
    names("L1a", belongs_twice);
    names("L1a", out_of_order);
    names("L1a", lives_on);
    names("L1a", in_no_kernel);
    names("L1b", not_at_hand);
    names("L1c", circle);
    names("L1d", unknown_reader);
    names("L1d", reader_too_many);
}

/* ---- L2 to L4 ---- */

static void sum_of_the_other(gcut_program *p, gcut_lowered *h)
{
    (void)p;
    gcut_kernel *g = kernel(h, "g");
    assert_true(g->gemm.sums == GCUT_RT_SUMS_B);
    g->gemm.sums = GCUT_RT_SUMS_A;
}

static void sum_without_a_node(gcut_program *p, gcut_lowered *h)
{
    (void)p;
    kernel(h, "m")->gemm.sums = GCUT_RT_SUMS_A;
}

static void row_too_many(gcut_program *p, gcut_lowered *h)
{
    (void)p;
    kernel(h, "e")->loop.rows++;
}

static void not_blocked(gcut_program *p, gcut_lowered *h)
{
    (void)p;
    assert_true(kernel(h, "c")->loop.blocked);
    kernel(h, "c")->loop.blocked = false;
}

static void prologue_of_a_result(gcut_program *p, gcut_lowered *h)
{
    (void)p;
    assert_non_null(gcut_kernel_prologue(kernel(h, "m")));
    h->reads->is_result[value(h, "p")] = true;
}

static void invariants_of_L2_to_L4(void **state)
{
    (void)state;
    names("L2a", sum_of_the_other);
    names("L2a", sum_without_a_node);
    names("L3a", row_too_many);
    names("L3a", not_blocked);
    names("L4a", prologue_of_a_result);
}

/* ---- L5 to L10 ---- */

static void no_buffer(gcut_program *p, gcut_lowered *h)
{
    (void)p;
    h->buffer[value(h, "a")] = GCUT_NONE;
}

static void small_buffer(gcut_program *p, gcut_lowered *h)
{
    p->buffers.at[h->buffer[value(h, "a")]].count = 7;
}

static void copy_to_nowhere(gcut_program *p, gcut_lowered *h)
{
    const uint32_t u = gcut_kernel_new(h, GCUT_KERNEL_COPY, GCUT_NONE);
    (void)p;
    h->kernels.at[u].copy.value = value(h, "a");
    gcut_reads_add(h, u);
}

static uint32_t position(const gcut_lowered *h, const char *name)
{
    for (uint32_t i = 0; i < h->order.n; i++)
        if (h->order.at[i] == h->kernel_of[value(h, name)]) return i;
    fail_msg("%%%s does not run", name);
    return 0;
}

static void too_early(gcut_program *p, gcut_lowered *h)
{
    (void)p;
    const uint32_t a = position(h, "a"), b = position(h, "b"), u = h->order.at[a];
    h->order.at[a] = h->order.at[b];
    h->order.at[b] = u;
}

static void never_runs(gcut_program *p, gcut_lowered *h)
{
    (void)p;
    h->order.n--;
}

static void other_product(gcut_program *p, gcut_lowered *h)
{
    (void)p;
    assert_int_equal(kernel(h, "y")->loop.product, h->kernel_of[value(h, "m")]);
    kernel(h, "y")->loop.product = h->kernel_of[value(h, "g")];
}

static void dies_early(gcut_program *p, gcut_lowered *h)
{
    gcut_buffer *b = &p->buffers.at[h->buffer[value(h, "a")]];
    assert_true(b->death > b->birth);
    b->death--;
}

static void steps_meet(gcut_program *p, gcut_lowered *h)
{
    (void)p;
    h->kernels.at[h->order.at[1]].step = h->kernels.at[h->order.at[0]].step;
}

/* %b over %a, which is read together with it. */
static void overwritten(gcut_program *p, gcut_lowered *h)
{
    gcut_buffer *b = &p->buffers.at[h->buffer[value(h, "a")]];
    b->birth = 0;
    b->death = h->end;
    h->buffer[value(h, "b")] = h->buffer[value(h, "a")];
}

/* The relu over the matrix that its product still reads: buffers of one size are enough. */
static void epilogue_over_operand(gcut_program *p, gcut_lowered *h)
{
    const uint32_t x = h->buffer[value(h, "x")], y = h->buffer[value(h, "y")];
    p->buffers.at[x].count = p->buffers.at[y].count;
    p->buffers.at[x].birth = 0;
    p->buffers.at[x].death = h->end;
    h->buffer[value(h, "y")] = x;
}

static void invariants_of_L5_to_L10(void **state)
{
    (void)state;
    names("L5a", no_buffer);
    names("L5a", small_buffer);
    names("L5a", copy_to_nowhere);
    names("L6a", too_early);
    names("L6a", never_runs);
    names("L8a", other_product);
    names("L9a", dies_early);
    names("L9a", steps_meet);
    names("L10a", overwritten);
    names("L10a", epilogue_over_operand);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(invariants_of_L1),
                                       cmocka_unit_test(invariants_of_L2_to_L4),
                                       cmocka_unit_test(invariants_of_L5_to_L10)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
