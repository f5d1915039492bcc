/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gcut_graph_dot, gcut_graph_tree, gcut_graph_levels: what they count is what the stages have, and the longest chain is the
 * one that a search over all pairs finds.
 */
#define _GNU_SOURCE
#include "harness.h"

#include "api.h"
#include "gradcut/inspect.h"
#include "gradcut/nodes.h"
#include "model_files.h"

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (const char *s = text; (s = strstr(s, what)); s++) n++;
    return n;
}

/* ---- Graphviz ---- */

/* Depth 0: a node for each value, an edge for each value and op that reads it. */
static void check_dot(gcut_graph *g, const gcut_options *o)
{
    gcut_stage_info *stage = gcut_stage_look(g, o, GCUT_STAGE_PRIMAL);
    assert_non_null(stage);
    const gcut_graph_info *x = stage->graph[stage->n - 1];
    char *flat = gcut_graph_dot(g, o, 0), *scopes = gcut_graph_dot(g, o, 1);
    size_t edges = 0;
    for (size_t i = 0; i < x->nnodes; i++) {
        const gcut_node_info *n = x->node[i];
        for (size_t k = 0; k < n->noperands; k++) {
            bool again = false;
            for (size_t b = 0; b < k; b++) again |= n->operand[b] == n->operand[k];
            edges += !again && n->nresults;
        }
    }
    assert_int_equal(count(flat, " -> "), edges);
    assert_true(count(scopes, "[label=") <= count(flat, "[label="));
    assert_true(count(scopes, " -> ") <= edges);
    assert_int_equal(count(flat, "{"), count(flat, "}"));
    gcut_free(flat);
    gcut_free(scopes);
    gcut_free(stage);
}

/* ---- outline ---- */

/* The number before each op name, 1 without, times how often the line is; names end at a semicolon. */
static size_t ops_in(const char *line)
{
    const char *times = strstr(line, " times: "), *end = strchr(line, '\n');
    size_t n = 0, each = 1;
    if (times && times < end) {
        const char *s = times;
        while (s > line && s[-1] >= '0' && s[-1] <= '9') s--;
        each = strtoul(s, NULL, 10);
    }
    const char *s = strstr(line, ": ") + 2;
    for (;; s += strspn(s, ", ")) {
        n += *s >= '0' && *s <= '9' ? strtoul(s, NULL, 10) : 1;
        s += strcspn(s, ",;\n");
        if (*s != ',') break;
    }
    return n * each;
}

static void check_tree(gcut_graph *g, const gcut_options *o)
{
    gcut_stage_info *stage = gcut_stage_look(g, o, GCUT_STAGE_PRIMAL);
    char *tree = gcut_graph_tree(g, o);
    size_t ops = 0, want = 0;
    assert_true(stage && tree);
    for (size_t i = 0; i < stage->n; i++) want += stage->graph[i]->nnodes;
    for (const char *s = tree; *s; s = strchr(s, '\n') + 1)
        if (*s == ' ') ops += ops_in(s);
    assert_int_equal(ops, want);
    assert_int_equal(count(tree, "@"), stage->n);
    gcut_free(tree);
    gcut_free(stage);
}

/* By what each op's gradient is by finite differences: none where the loss does not depend on it. */
static void which_ops(void **state)
{
    (void)state;
    static const char text[] = "func @f(param %w: f32[4], param %u: f32[4], input %x: f32[4]) -> (out loss: "
                               "f32[], out extra: f32[4]) {\n"
                               "  %a = mul(%w, %x)\n"        /* reached */
                               "  %b = tanh(%x)\n"           /* not: of no parameter */
                               "  %c = mul(%a, %b)\n"        /* reached */
                               "  %d = gt(%w, %x)\n"         /* not: no derivative */
                               "  %e = mul(%u, %x)\n"        /* not: the loss does not depend on it */
                               "  %s = select(%d, %c, %b)\n" /* reached */
                               "  %loss = sum(%s)\n"         /* reached */
                               "  return %loss, %e\n}\n";
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, text);
    gcut_options o = TEST_OPTIONS;
    static const char *const u[] = {"u"};
    char *tree = gcut_graph_tree(g, &o);
    if (!tree) fail_msg("%s", gcut_last_error(ctx));
    assert_non_null(strstr(tree, "a gradient reaches 4 of 7"));
    gcut_free(tree);
    o.wrt = u, o.nwrt = 1;
    assert_null(gcut_graph_tree(g, &o));
    assert_says(ctx, GCUT_EGRAD, "depends on none of the parameters");
    o.wrt = NULL, o.nwrt = 0;
    o.forward_only = true;
    tree = gcut_graph_tree(g, &o);
    if (!tree) fail_msg("%s", gcut_last_error(ctx));
    assert_null(strstr(tree, "a gradient reaches"));
    gcut_free(tree);
    gcut_ctx_free(ctx);
}

/* ---- levels ---- */

/* When each kernel can end, by relaxing all pairs until nothing changes. */
static double longest_chain(const gcut_fusion *f)
{
    double *end = calloc(f->nkernels + 1, sizeof *end), longest = 0;
    bool changed = true;
    for (size_t i = 0; i < f->nkernels; i++) end[i] = f->kernel[i]->ns;
    while (changed) {
        changed = false;
        for (size_t p = 0; p < f->nunfused; p++) {
            const gcut_unfused *x = f->unfused[p];
            for (size_t from = 0; from < f->nkernels; from++)
                for (size_t to = from + 1; f->kernel[from]->launch == x->from && to < f->nkernels; to++)
                    if (f->kernel[to]->launch == x->to && end[from] + f->kernel[to]->ns > end[to] + 1e-9)
                        end[to] = end[from] + f->kernel[to]->ns, changed = true;
        }
    }
    for (size_t i = 0; i < f->nkernels; i++) longest = fmax(longest, end[i]);
    free(end);
    return longest;
}

static double ns_of(const char *text)
{
    char unit[8] = "";
    double x = 0;
    assert_int_equal(sscanf(text, "%lf %7[a-z]", &x, unit), 2);
    return x * (!strcmp(unit, "ns") ? 1 : !strcmp(unit, "us") ? 1e3 : !strcmp(unit, "ms") ? 1e6 : 1e9);
}

static void check_levels(gcut_ctx *ctx, gcut_graph *g, const gcut_options *o)
{
    gcut_fusion *f = gcut_fusion_new(g, o);
    char *text = gcut_graph_levels(ctx, f, &(gcut_table_options){.all = true});
    bool loops = false;
    assert_non_null(text);
    for (size_t i = 0; i < f->nunfused; i++) loops |= f->unfused[i]->from < 0;
    const double want = longest_chain(f), got = ns_of(strstr(text, "the longest chain is ") + 21);
    /* Readers of what a loop makes wait for all kernels before them. */
    if (loops ? got < 0.99 * want : fabs(got - want) > 0.01 * want)
        fail_msg("%g, not %g\n%s", got, want, text);
    assert_true(got <= 1.01 * f->step_ns);
    gcut_free(text);
    gcut_free(f);
}

static void models(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    glob_t files = model_files();
    for (size_t i = 0; i < files.gl_pathc; i++) {
        gcut_options o = TEST_OPTIONS;
        if (!in_turn(i, 4)) continue;
        TRY("%s", files.gl_pathv[i]);
        gcut_graph *g = gcut_load(ctx, files.gl_pathv[i], NULL);
        if (!g) fail_msg("%s", gcut_last_error(ctx));
        check_dot(g, &o);
        check_tree(g, &o);
        check_levels(ctx, g, &o);
        gcut_graph_free(g);
    }
    globfree(&files);
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(models), cmocka_unit_test(which_ops)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
