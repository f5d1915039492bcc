/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Decisions about kernels follow the machine model: one changed rate flips one decision, and all of them changed
 * alike flip none.
 */
#include "harness.h"

#include "graph/verify.h"
#include "machine/lower/fusion/reason.h"
#include "machine/lower/lowered.h"
#include "machine/lower/fusion/loop_phases.h"
#include "text/text.h"

enum { N = 2048 };

typedef struct world {
    gcut_env *env;
    const char *text;
    gcut_machine m; /* of one thread */
    gcut_lowered *h;
} world;

FIXTURE(world)

/* An op in front of a product, and one whose result two phases read. */
static const char packing[] = "gcut 1\n"
                              "func @f[N in 1..](input %x: f32[N, 512], param %w: f32[512, 512]) -> "
                              "(out y: f32[N, 512]) {\n"
                              "  %a = mul(%x, %x)\n  %y = matmul(%a, %w)\n  return %y\n}\n";
static const char phases[] =
    "gcut 1\n"
    "func @f[N in 1..](input %x: f32[N, 512]) -> (out y: f32[N, 512]) {\n"
    "  %e = sqrt(%x)\n  %s = sum(%e, axes=[1])\n"
    "  %b = broadcast(%s, shape=[N, 512], axes=[0])\n  %y = div(%e, %b)\n  return %y\n}\n";

static void lower(void *arg)
{
    world *w = arg;
    gcut_module *m = gcut_parse_module(w->env, w->env->arena, "t.gcut", w->text, strlen(w->text));
    gcut_graph *g = m->graphs.at[0];
    gcut_verify_module(m);
    gcut_dim_binding *at = gcut_calloc(w->env->arena, 1, sizeof *at);
    *at = (gcut_dim_binding){g->decls.at[0].sym, N};
    const gcut_machine_model model = {.made = "m", .default_threads = 2, .n = 1, .at = &w->m};
    w->h = gcut_lower(g, NULL, at, 1, 2, &model, GCUT_LOWER_VERIFY)->lowered.at[GCUT_FORWARD];
}

static const gcut_lowered *lowered(world *w, const char *text)
{
    w->text = text;
    must(w->env, lower, w);
    return w->h;
}

static bool is_prologue(world *w)
{
    const gcut_lowered *h = lowered(w, packing);
    for (uint32_t u = 0; u < h->kernels.n; u++)
        if (gcut_kernel_prologue(&h->kernels.at[u])) return true;
    return false;
}

static gcut_keep kept(world *w)
{
    const gcut_lowered *h = lowered(w, phases);
    const gcut_node *n = gcut_node_at(h->g, 0);
    gcut_loop_analysis l = gcut_loop_analyse(w->env->arena, h, h->kernel_of[n->res0], NULL);
    assert_int_equal(l.phases, 2);
    return gcut_loop_member(&l, n->res0)->keep;
}

static gcut_machine shipped(void)
{
    return gcut_machine_at(gcut_machine_model_shipped(), 1);
}

/* An operand is stored where memory is quick, or the model says so of storing itself. */
static void operands_of_products(void **state)
{
    world *w = *state;
    w->m = shipped();
    assert_true(is_prologue(w));
    w->m.write_ns_per_byte[GCUT_DRAM] /= 100;
    w->m.read_ns_per_byte[GCUT_DRAM] /= 100;
    assert_false(is_prologue(w));
    w->m = shipped();
    w->m.threshold_ps[GCUT_THRESHOLD_stored] = 1;
    w->m.threshold_ps[GCUT_THRESHOLD_loaded] = 1;
    assert_false(is_prologue(w));
}

/* What is dear is kept for the next phase, what is cheap computed again. */
static void rows_of_scratch(void **state)
{
    world *w = *state;
    w->m = shipped();
    assert_int_equal(kept(w), GCUT_SCRATCH);
    w->m.op_ns[GCUT_OP_sqrt][0] /= 4;
    assert_int_equal(kept(w), GCUT_RECOMPUTE);
    w->m = shipped();
    w->m.op_scale *= 4; /* nothing is as quick as its square roots */
    assert_int_equal(kept(w), GCUT_RECOMPUTE);
}

static void alike(void **state)
{
    world *w = *state;
    for (double times = 0.1; times < 20; times *= 3) {
        w->m = shipped();
        w->m.op_scale *= times;
        for (int i = 0; i < GCUT_NLEVELS; i++)
            w->m.read_ns_per_byte[i] *= times, w->m.write_ns_per_byte[i] *= times;
        for (int op = 0; op < GCUT_NOPS; op++) w->m.op_ns[op][0] *= times;
        assert_true(is_prologue(w));
        assert_int_equal(kept(w), GCUT_SCRATCH);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(operands_of_products),
        WITH_FIXTURE(rows_of_scratch),
        WITH_FIXTURE(alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
