/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Random graphs: what derivatives must satisfy whatever the graph, without
 * differences, so at kinks too.
 *
 *   forward against reverse mode   d loss along t = <gradient, t>
 *   symmetry of the Hessian        <s, H t> = <t, H s>
 *
 * GCUT_GRAPHS=n tries n graphs.  A graph that fails is printed.
 */
#include "oracle.h"

#include <stdlib.h>

#include "autodiff/autodiff.h"
#include "text/text.h"
#include "graph_gen.h"
#include "modes.h"

typedef struct job {
    gcut_env *env;
    uint32_t index;
    bool finite, moves;
} job;

/* The float leaves, and an input for a direction of each; the direction of an integer leaf is none. */
static uint32_t add_inputs(gcut_graph *g, gcut_arena *a, const char *prefix, uint32_t leaves, gcut_ref *x,
                           gcut_ref *t)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < leaves; k++) {
        gcut_ref v = g->params.at[k].value;
        gcut_type type = *gcut_type_of(g, v);
        if (!gcut_dtype_is_float(type.dtype)) continue;
        x[n] = v;
        t[n++] = gcut_param_new(g, GCUT_ROLE_input, gcut_printf(a, "%s.%u", prefix, k), &type);
    }
    return n;
}

static void check_equal(job *j, const gcut_graph *g, const char *what, double p, double q, double scale)
{
    if (!isfinite(p) || !isfinite(q)) {
        j->finite = false; /* both are 0 * inf somewhere, in another order */
        return;
    }
    if (fabs(p - q) <= 1e-9 * fmax(fmax(fabs(p), fabs(q)), scale)) return;
    gcut_text text = {.arena = j->env->arena};
    gcut_print_graph(g, &(gcut_print_options){.no_loc = true}, &text);
    fail_msg("graph %u, %s: %.17g and %.17g\n%s", j->index, what, p, q, text.at);
}

static void check_graph(void *arg)
{
    job *j = arg;
    TRY("graph %u", j->index);
    gcut_arena *a = gcut_arena_new(j->env, NULL);
    gcut_module *m = gcut_module_new(j->env, a);
    static graph_gen gen;
    gcut_op first[3];
    for (uint32_t k = 0; k < 3; k++) first[k] = (gcut_op)((j->index * 3 + k) % GEN_OPS);
    gcut_graph *g = graph_random(&gen, m, "random", j->index, 3 + j->index % 6, first, 3);
    uint32_t leaves = g->params.n;
    gcut_ref loss = 0, tangent;
    for (uint32_t r = 0; r < g->results.n; r++)
        if (!strcmp(g->results.at[r].name, "loss")) loss = g->results.at[r].value;
    assert_int_not_equal(loss, 0);
    gcut_ref x[GEN_LEAVES], s[GEN_LEAVES], t[GEN_LEAVES], dx[GEN_LEAVES], hs[GEN_LEAVES], ht[GEN_LEAVES];
    uint32_t n = add_inputs(g, a, "s", leaves, x, s);
    add_inputs(g, a, "t", leaves, x, t);
    gcut_build b = {.g = g};
    gcut_ref one = gcut_bconst(&b, loss, 1);
    gcut_reverse_mode(g, &loss, &one, 1, x, n, dx);
    gcut_forward_mode(g, &loss, 1, x, t, n, &tangent);
    gcut_hessian(g, loss, x, s, n, hs);
    gcut_hessian(g, loss, x, t, n, ht);
    g->results.n = 0;
    add_inner(g, "reverse", dx, t, n);
    add_inner(g, "forward", &one, &tangent, 1);
    add_inner(g, "sHt", s, ht, n);
    add_inner(g, "tHs", t, hs, n);
    add_inner(g, "size", dx, dx, n);
    gcut_verify(g);
    uint64_t seed = j->index + 1;
    gcut_array *at = gcut_calloc(a, g->params.n, sizeof *at);
    for (uint32_t k = 0; k < g->params.n; k++) at[k] = random_leaf(a, &gen, g->params.at[k].value, &seed);
    gcut_array *out = run_graph(a, g, GCUT_EXACT, at);
    double size = sqrt(out[4].u.f[0]);
    j->moves = out[3].u.f[0] != 0;
    check_equal(j, g, "forward and reverse mode", out[0].u.f[0], out[1].u.f[0], size);
    check_equal(j, g, "symmetry of the Hessian", out[2].u.f[0], out[3].u.f[0], 1e-3 + size);
    gcut_arena_free(a);
}

static void derivatives_of_random_graphs_agree(void **state)
{
    (void)state;
    const char *setting = getenv("GCUT_GRAPHS");
    uint32_t n = setting && *setting ? (uint32_t)strtoul(setting, NULL, 10) : 300, finite = 0, moves = 0;
    for (uint32_t i = 0; i < n; i++) {
        job j = {gcut_env_new(NULL, NULL), i, true, false};
        must(j.env, check_graph, &j);
        finite += j.finite;
        moves += j.moves;
        gcut_env_free(j.env);
    }
    assert_that(finite * 10, >=, n * 9);
    assert_that(moves * 3, >=, n); /* the others are linear, or cut off by rounding and comparing */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(derivatives_of_random_graphs_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
