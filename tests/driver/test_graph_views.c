/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gcut_graph_dot, gcut_graph_tree, gcut_graph_levels: what they count is what the stages have, and the critical path is the
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

/* The value by which the picture has it: the first result of its op. */
static size_t maker_of(const gcut_graph_info *g, size_t v)
{
    const size_t node = g->value[v]->node;
    return node == GCUT_NO_INDEX ? v : g->node[node]->result[0];
}

/* Depth 0: a node for each op and parameter, an edge for each op that reads one. */
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
            for (size_t b = 0; b < k; b++) again |= maker_of(x, n->operand[b]) == maker_of(x, n->operand[k]);
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

/* All results of an op are one node; what a scope reads with other ops between is one edge, its bytes counted once. */
static void scopes(void **state)
{
    (void)state;
    static const char text[] =
        "func @f(param %w: f32[256], param %xs: f32[4, 256]) -> (out loss: f32[]) {\n"
        "  %s.p = neg(%w)\n  %a.x = exp(%s.p)\n  %b.x = sin(%s.p)\n  %a.y = tanh(%s.p)\n"
        "  %l.last, %l.all = scan(%w, %xs, carries=1) body(%c: f32[256], %x: f32[256]) {\n"
        "    %c1 = add(%c, %x)\n    yield %c1, %c1\n  }\n"
        "  %q = sum(%l.all)\n  %r = add(%a.x, %b.x)\n  %t = add(%a.y, %r)\n  %u = add(%t, %l.last)\n"
        "  %v = sum(%u)\n  %loss = add(%v, %q)\n  return %loss\n}\n";
    gcut_ctx *ctx = new_ctx();
    gcut_options o = TEST_OPTIONS;
    char *dot = gcut_graph_dot(graph_from(ctx, text), &o, 1);
    if (!dot) fail_msg("%s", gcut_last_error(ctx));
    assert_int_equal(count(dot, "shape=ellipse"), 2); /* the parameters */
    /* w-s, s-a once, s-b, w-l, l-u, a-r, b-r, a-t, r-t, t-u, u-v */
    assert_int_equal(count(dot, "\"1.0 KiB\"];"), 11);
    assert_int_equal(count(dot, "label=\"l\\n"), 1 - 1); /* one op: no count of ops */
    assert_int_equal(count(dot, "[label=\"l\""), 1);
    gcut_free(dot);
    gcut_ctx_free(ctx);
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

/* With those of bodies of loops and branches. */
static size_t ops_of_graph(const gcut_graph_info *g)
{
    size_t n = g->nnodes;
    for (size_t i = 0; i < g->nnodes; i++)
        for (size_t k = 0; k < g->node[i]->nregions; k++) {
            const gcut_region_info *r = g->node[i]->region[k];
            if (strcmp(r->kind, "call") != 0 && strcmp(r->kind, "vjp") != 0) n += ops_of_graph(r->body);
        }
    return n;
}

static void check_tree(gcut_graph *g, const gcut_options *o)
{
    gcut_stage_info *stage = gcut_stage_look(g, o, GCUT_STAGE_PRIMAL);
    char *tree = gcut_graph_tree(g, o);
    size_t ops = 0, want = 0;
    assert_true(stage && tree);
    for (size_t i = 0; i < stage->n; i++) want += ops_of_graph(stage->graph[i]);
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
    assert_non_null(strstr(tree, "what a gradient reaches is not said"));
    assert_null(strstr(tree, "; a gradient"));
    gcut_free(tree);
    gcut_ctx_free(ctx);
}

/* ---- levels ---- */

/* Of the kernel, or of all of its loop. */
static double time_of(const gcut_fusion *f, size_t i)
{
    double ns = 0;
    for (size_t k = 0; k < f->nkernels; k++)
        if (f->kernel[i]->first == f->kernel[k]->first) ns += f->kernel[k]->ns;
    return ns;
}

/* Does the kernel read what several launches make: a concatenation whose operands are written in place? */
static bool reads_concatenation(const gcut_fusion *f, size_t kernel)
{
    for (size_t p = 0; p < f->nunfused; p++)
        if (f->unfused[p]->to == f->kernel[kernel]->launch && f->unfused[p]->from < 0 &&
            !strcmp(f->unfused[p]->op, "concat"))
            return true;
    return false;
}

static bool relax(double *end, const gcut_fusion *f, size_t from, size_t to)
{
    if (f->kernel[from]->first == f->kernel[to]->first || end[from] + time_of(f, to) <= end[to] + 1e-9)
        return false;
    end[to] = end[from] + time_of(f, to);
    return true;
}

/* When each kernel can end, by relaxing all pairs until nothing changes; one of a loop with all of the loop.  A pair names
 * no launch that makes a concatenation; its reader waits for all kernels that it is said to depend on. */
static double longest_chain(const gcut_fusion *f)
{
    double *end = calloc(f->nkernels + 1, sizeof *end), longest = 0;
    bool changed = true;
    for (size_t i = 0; i < f->nkernels; i++) end[i] = time_of(f, i);
    while (changed) {
        changed = false;
        for (size_t p = 0; p < f->nunfused; p++) {
            const gcut_unfused *x = f->unfused[p];
            for (size_t from = 0; from < f->nkernels; from++)
                for (size_t to = from + 1; f->kernel[from]->launch == x->from && to < f->nkernels; to++)
                    if (f->kernel[to]->launch == x->to) changed |= relax(end, f, from, to);
        }
        for (size_t i = 0; i < f->ndependences; i++)
            if (reads_concatenation(f, f->dependence[i].kernel))
                changed |= relax(end, f, f->dependence[i].on, f->dependence[i].kernel);
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
    bool others = false;
    if (!text) fail_msg("%s", gcut_last_error(ctx));
    for (size_t i = 0; i < f->nkernels; i++)
        others |= f->kernel[i]->loop != NULL || !strcmp(f->kernel[i]->op, "copy");
    const double want = longest_chain(f), got = ns_of(strstr(text, "the critical path is ") + 21);
    /* The pairs do not say what a loop itself reads and makes, and what waits for copies. */
    if (others ? got < 0.99 * want : fabs(got - want) > 0.01 * want)
        fail_msg("%g, not %g\n%s", got, want, text);
    assert_true(got <= 1.01 * f->step_ns);
    for (size_t i = 0; i < f->ndependences; i++) {
        assert_true(f->dependence[i].on < f->dependence[i].kernel && f->dependence[i].kernel < f->nkernels);
        assert_true(i == 0 || f->dependence[i - 1].kernel <= f->dependence[i].kernel);
    }
    gcut_free(text);
    gcut_free(f);
}

static void has_level(const char *levels, const char *row)
{
    if (!strstr(levels, row)) fail_msg("no \"%s\" in\n%s", row, levels);
}

/* Two loops that do not depend on each other, a third one that reads the product of both, and a sum that reads nothing of
 * any. */
static void levels_of_loops(void **state)
{
    (void)state;
#define LOOP(name, x, xs)                                                                                    \
    "  %" name ": f32[8] = scan(" x ", " xs ", carries=1) body(%c" name ": f32[8], %x" name ": f32[8]) {\n"  \
    "    %p" name " = add(%c" name ", %x" name ")\n    %t" name " = tanh(%p" name ")\n"                      \
    "    yield %t" name "\n  }\n"
    static const char text[] = "gcut 1\nfunc @f(param %w: f32[8], param %v: f32[8], input %xs: f32[5, 8], "
                               "input %ys: f32[5, 8]) -> (out a: "
                               "f32[8], out b: f32[8]) {\n" LOOP("f", "%w", "%xs")
                                   LOOP("g", "%v", "%ys") "  %s = mul(%f, %g)\n" LOOP(
                                       "h", "%s", "%xs") "  %m = sum(%ys, axes=[0])\n  return %h, %m\n}\n";
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_parse(ctx, text, GCUT_TO_NUL, "loops.gcut", NULL);
    gcut_options o = TEST_OPTIONS;
    o.forward_only = true;
    gcut_fusion *f = g ? gcut_fusion_new(g, &o) : NULL;
    if (!f) fail_msg("%s", gcut_last_error(ctx));
    double of[3] = {0}, product = 0; /* of[]: with the copy of what it begins with */
    for (size_t i = 0; i < f->nkernels; i++) {
        const gcut_fused_kernel *k = f->kernel[i];
        const char *loop = k->loop                      ? k->loop
                           : strcmp(k->op, "copy") != 0 ? ""
                           : !strcmp(k->value, "w")     ? "f"
                           : !strcmp(k->value, "v")     ? "g"
                                                        : "h";
        if (*loop) of[*loop - 'f'] += k->ns;
        if (!*loop && !strcmp(k->value, "s")) product += k->ns;
    }
    assert_true(of[0] > 0 && of[1] > 0 && of[2] > 0 && product > 0);
    char *levels = gcut_graph_levels(ctx, f, NULL);
    assert_non_null(strstr(levels, "8 kernels, those of 3 loops as one each, in 5 levels"));
    has_level(levels, "%f (scan), %g (scan)\n");
    has_level(levels, "%w, %v, %m\n");            /* the copies, and the sum beside them */
    assert_null(strstr(levels, "%h (scan)\n  ")); /* alone in its level */
    const double want = fmax(of[0], of[1]) + product + of[2],
                 got = ns_of(strstr(levels, "the critical path is ") + 21);
    if (fabs(got - want) > 0.01 * want) fail_msg("%g, not %g\n%s", got, want, levels);
    gcut_free(levels);
    gcut_free(f);
    gcut_ctx_free(ctx);
}

/* The kernels of both arms wait for the predicate, which none of them reads, and for what they read; a concatenation
 * whose first part is computed in place waits for that part, too. */
static void dependences(void **state)
{
    (void)state;
    static const char text[] =
        "gcut 1\nfunc @f(param %x: f32[400], param %u: f32[64, 32], param %p: f32[64, 48], param %q: f32[48, "
        "32])\n"
        "    -> (out y: f32[400], out z: f32[64, 64]) {\n"
        "  %s = sum(%x)\n  %o = full(shape=[], value=0)\n  %b = gt(%s, %o)\n"
        "  %y: f32[400] = if(%b) then {\n    %e = exp(%x)\n    yield %e\n  } else {\n    %n = neg(%x)\n    "
        "yield %n\n  }\n"
        "  %a = exp(%u)\n  %m = matmul(%p, %q)\n  %c = concat(%a, %m, axis=1)\n  %z = tanh(%c)\n"
        "  return %y, %z\n}\n";
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_parse(ctx, text, GCUT_TO_NUL, "branches.gcut", NULL);
    gcut_options o = TEST_OPTIONS;
    o.forward_only = true;
    gcut_fusion *f = g ? gcut_fusion_new(g, &o) : NULL;
    if (!f) fail_msg("%s", gcut_last_error(ctx));
    size_t apart = 0;
    static const char *const pairs[][2] = {{"e", "b"}, {"n", "b"}, {"c", "a"}, {"c", "m"}, {"z", "c"}};
    for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++) {
        size_t at[2] = {f->nkernels, f->nkernels};
        bool found = false;
        for (size_t i = 0; i < f->nkernels; i++)
            for (size_t k = 0; k < f->kernel[i]->nmade; k++)
                for (int j = 0; j < 2; j++)
                    if (!strcmp(f->kernel[i]->made[k]->value, pairs[p][j])) at[j] = f->kernel[i]->first;
        TRY("%s on %s", pairs[p][0], pairs[p][1]);
        assert_true(at[0] < f->nkernels && at[1] < f->nkernels);
        apart += at[0] != at[1];
        if (at[0] == at[1]) continue; /* one kernel */
        for (size_t i = 0; i < f->ndependences; i++)
            found |= f->dependence[i].kernel == at[0] && f->dependence[i].on == at[1];
        assert_true(found);
    }
    assert_true(apart >= 4); /* a pair in one kernel tests nothing */
    gcut_free(f);
    gcut_ctx_free(ctx);
}

static void models(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    glob_t files = model_files();
    for (size_t i = 0; i < files.gl_pathc; i++) {
        gcut_options o = UNREFINED_OPTIONS;
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(models), cmocka_unit_test(levels_of_loops),
                                       cmocka_unit_test(dependences), cmocka_unit_test(which_ops),
                                       cmocka_unit_test(scopes)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
