/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Products of gathered rows that become products of the table: which do and which stay, and that every result
 * and gradient keeps its value: the numbers are small integers, whose sums are exact in any order.
 */
#include "oracle.h"

#include "autodiff/autodiff.h"
#include "gradcut/gradcut.h"
#include "public.h"

/* Over e f32[3, 4], w f32[4, 5], v f32[5, 4], b f32[5] and six indices i i32[N, 2, 3]; ops: what is left. */
typedef struct row {
    const char *name, *type, *body, *ops;
} row;

#define ROWS "%g = take(%e, %i) %x = reshape(%g, shape=[6*N, 4]) "
#define STEPS ROWS "%h = matmul(%x, %w) %p = reshape(%h, shape=[N, 2, 3, 5]) "
static const row rows[] = {
    {"a product", "f32[6*N, 5]", ROWS "%r = matmul(%x, %w)", "matmul take reshape"},
    {"a transposed one", "f32[6*N, 5]", ROWS "%r = matmul(%x, %v, tb=true)", "matmul take reshape"},
    {"in the shape of the indices", "f32[N, 2, 3, 5]",
     ROWS "%p = matmul(%x, %w) %r = reshape(%p, shape=[N, 2, 3, 5])", "matmul take"},
    {"and an addend for each column", "f32[6*N, 5]",
     ROWS "%p = matmul(%x, %w) %c = broadcast(%b, shape=[6*N, 5], axes=[1]) %r = add(%p, %c)",
     "matmul broadcast add take reshape"},
    {"the same of a higher rank", "f32[N, 2, 3, 5]",
     STEPS "%c = broadcast(%b, shape=[N, 2, 3, 5], axes=[3]) %r = add(%p, %c)", "matmul broadcast add take"},
    {"and a constant", "f32[6*N, 5]",
     ROWS "%p = matmul(%x, %w) %c = full(shape=[6*N, 5], value=2.0) %r = mul(%p, %c)",
     "matmul take reshape full mul"},
    {"two layers", "f32[6*N, 4]", ROWS "%p = matmul(%x, %w) %h = relu(%p) %r = matmul(%h, %v)",
     "matmul take reshape relu matmul"},
    {"two products of the same rows", "f32[6*N, 5]",
     ROWS "%p = matmul(%x, %w) %y = neg(%w) %q = matmul(%x, %y) %r = mul(%p, %q)",
     "matmul take reshape neg matmul take reshape mul"},
    {"a result that others need", "f32[6*N, 5]", ROWS "%p = matmul(%x, %w) %h = relu(%p) %r = mul(%h, %p)",
     "matmul take reshape relu mul"},
    {"an addend for each row", "f32[6*N, 5]",
     ROWS "%p = matmul(%x, %w) %s = sum(%x, axes=[1]) %c = broadcast(%s, shape=[6*N, 5], axes=[0]) "
          "%r = add(%p, %c)",
     "take reshape matmul take reshape sum broadcast add"},
    {"elementwise alone", "f32[N, 2, 3, 4]", "%x = take(%e, %i) %r = relu(%x)", "take relu"},
    {"a reshape across rows", "f32[3*N, 20]",
     "%x = take(%e, %i) %y = reshape(%x, shape=[3*N, 8]) %a = concat(%w, %w, axis=0) "
     "%d = concat(%a, %a, %a, %a, axis=1) %r = matmul(%y, %d)",
     "take reshape concat concat matmul"},
    {"rows that are contracted", "f32[4, 5]", ROWS "%q = matmul(%x, %w) %r = matmul(%x, %q, ta=true)",
     "take reshape matmul take reshape matmul"},
    {"rows in another order", "f32[6*N, 5]",
     "%g = take(%e, %i) %t = transpose(%g, perm=[2, 0, 1, 3]) %x = reshape(%t, shape=[6*N, 4]) %r = "
     "matmul(%x, %w)",
     "transpose matmul take reshape"},
    {"rows in another order, twice, and an addend", "f32[3, 2, N, 5]",
     "%g = take(%e, %i) %s = transpose(%g, perm=[1, 0, 2, 3]) %t = transpose(%s, perm=[2, 0, 1, 3]) "
     "%x = reshape(%t, shape=[6*N, 4]) %p = matmul(%x, %w) %h = reshape(%p, shape=[3, 2, N, 5]) "
     "%c = broadcast(%b, shape=[3, 2, N, 5], axes=[3]) %r = add(%h, %c)",
     "transpose matmul broadcast add take"},
    {"elements of rows in another order", "f32[8*N, 5]",
     "%g = take(%e, %i) %t = transpose(%g, perm=[0, 1, 3, 2]) %x = reshape(%t, shape=[8*N, 3]) "
     "%y = slice(%w, start=[0, 0], limit=[3, 5]) %r = matmul(%x, %y)",
     "take transpose reshape slice matmul"},
    {"columns", "f32[3, N, 2, 3]", "%r = take(%e, %i, axis=1)", "take"},
    {"steps of a scan", "f32[N, 2, 5]",
     STEPS "%z = full(shape=[N, 2, 5], value=0.0) "
           "%r = scan(%z, %p, carries=1, axis=2) body(%s: f32[N, 2, 5], %t: f32[N, 2, 5]) {\n"
           "%q = neg(%s) %n = add(%q, %t)\nyield %n }",
     "matmul full transpose take transpose scan"},
    {"steps along the axis between", "f32[N, 3, 5]",
     STEPS "%z = full(shape=[N, 3, 5], value=0.0) "
           "%r = scan(%z, %p, carries=1, axis=1) body(%s: f32[N, 3, 5], %t: f32[N, 3, 5]) {\n"
           "%n = sub(%t, %s)\nyield %n }",
     "matmul full transpose take transpose scan"},
    {"tables of other heights", "f32[6*N, 5]",
     ROWS "%p = matmul(%x, %w) %d = concat(%e, %e, axis=0) %k = take(%d, %i) "
          "%y = reshape(%k, shape=[6*N, 4]) %q = matmul(%y, %w) %r = add(%p, %q)",
     "matmul take reshape concat matmul take reshape add"},
    {"empty rows, of which there are any number", "f32[7, 5]",
     "%n = slice(%e, start=[0, 0], limit=[3, 0]) %g = take(%n, %i) %x = reshape(%g, shape=[7, 0]) "
     "%u = slice(%w, start=[0, 0], limit=[0, 5]) %r = matmul(%x, %u)",
     "slice take reshape slice matmul"},
    {"rows that grow", "f32[N, 2, 3, 10]", STEPS "%r = upsample(%p, factor=[1, 2])", "matmul take upsample"},
    {"what drops elements", "f32[6*N, 5]",
     ROWS "%p = matmul(%x, %w) %k = full(shape=[], value=7, dtype=\"i64\") %r = dropout(%p, %k, p=0.5)",
     "matmul take reshape full dropout"},
    {"what is undefined at 0", "f32[6*N, 5]",
     ROWS "%p = matmul(%x, %w) %q = sin(%p) %c = full(shape=[6*N, 5], value=0.0) %r = div(%c, %q)",
     "matmul take reshape sin full div"},
    {"a check of each row", "f32[6*N, 5]",
     ROWS "%p = matmul(%x, %w) %q = abs(%p) %c = cast(%q, to=\"i32\") "
          "%k = bounded(%c, of=1000000) %r = cast(%k, to=\"f32\")",
     "matmul take reshape abs cast bounded cast"},
    {"a marked product", "f32[6*N, 5]", ROWS "%r = matmul(%x, %w) #note(\"kept\")", "take reshape matmul"},
};

typedef struct job {
    gcut_env *env;
    gcut_arena *arena;
    const row *r;
    int64_t n;
} job;

static gcut_graph *graph_of(const job *j)
{
    const char *text = gcut_printf(j->arena,
                                   "gcut 1\nfunc @f[N in 0..](param %%e: f32[3, 4], param %%w: f32[4, 5], "
                                   "param %%v: f32[5, 4], param %%b: f32[5], input %%i: i32[N, 2, 3]) -> "
                                   "(out r: %s, out loss: f32[]) {\n%s\n%%square = mul(%%r, %%r)\n"
                                   "%%loss = sum(%%square)\nreturn %%r, %%loss\n}\n",
                                   j->r->type, j->r->body);
    return gcut_parse_module(j->env, j->arena, "t.gcut", text, strlen(text))->graphs.at[0];
}

/* As for so many N. */
static gcut_graph *gathered(gcut_graph *g, const char *name, int64_t n)
{
    gcut_dim_binding at = {g->decls.at[0].sym, n};
    gcut_graph *h = gcut_pass_gather(g, name, &at, 1);
    gcut_verify(h);
    h = gcut_pass_fold(h, gcut_printf(g->module->arena, "%s.folded", name));
    h = gcut_pass_cse(h, gcut_printf(g->module->arena, "%s.shared", name));
    h = gcut_pass_dce(h, gcut_printf(g->module->arena, "%s.live", name));
    gcut_verify(h);
    return h;
}

static void assert_equal(const job *j, const gcut_graph *g, const gcut_graph *h, int64_t n)
{
    gcut_array *in = gcut_calloc(j->arena, g->params.n, sizeof *in);
    for (uint32_t k = 0; k < g->params.n; k++) {
        in[k] = array_for(j->arena, g, gcut_type_of(g, g->params.at[k].value), n);
        for (int64_t i = 0; i < in[k].n; i++)
            if (gcut_dtype_is_float(in[k].dtype))
                in[k].u.f[i] = in[k].rank ? (double)((i * 5 + k * 3) % 7 - 3) : 1; /* no two rows are equal */
            else
                in[k].u.i[i] = i * i % 3; /* one row is never named */
    }
    gcut_array *x = run_graph(j->arena, g, GCUT_STATED, in), *y = run_graph(j->arena, h, GCUT_STATED, in);
    assert_int_equal(g->results.n, h->results.n);
    for (uint32_t k = 0; k < g->results.n; k++) {
        assert_string_equal(g->results.at[k].name, h->results.at[k].name);
        assert_int_equal(x[k].n, y[k].n);
        for (int64_t i = 0; i < x[k].n; i++)
            if (x[k].u.f[i] != y[k].u.f[i])
                fail_msg("%s, N=%d: %s[%d] is %g and was %g", j->r->name, (int)n, g->results.at[k].name,
                         (int)i, y[k].u.f[i], x[k].u.f[i]);
    }
}

static void check_row(void *arg)
{
    const job *j = arg;
    gcut_graph *g = graph_of(j), *h = gathered(g, "gathered", 2);
    const char *ops = ops_of(j->arena, h), *want = gcut_printf(j->arena, "%s mul sum", j->r->ops);
    if (strcmp(ops, want) != 0) fail_msg("%s leaves '%s', not '%s'", j->r->name, ops, want);
    gcut_graph *dg = gcut_joint(g, &(gcut_joint_options){.loss = "loss"}, "dg");
    gcut_graph *dh = gcut_joint(h, &(gcut_joint_options){.loss = "loss"}, "dh");
    for (int64_t n = 0; n < 4; n++) {
        assert_equal(j, g, h, n);
        assert_equal(j, dg, dh, n);
    }
}

static void each(void (*check)(void *), const row *r)
{
    job j = {.env = gcut_env_new(NULL, NULL), .r = r};
    j.arena = j.env->arena;
    must(j.env, check, &j);
    gcut_env_free(j.env);
}

static void products_of_tables(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) each(check_row, &rows[i]);
}

/* Three rows: with six indices it pays, with none it does not. */
static void check_sizes(void *arg)
{
    const job *j = arg;
    gcut_graph *g = graph_of(j);
    assert_string_equal(ops_of(j->arena, gathered(g, "some", 1)), "matmul take reshape mul sum");
    assert_string_equal(ops_of(j->arena, gathered(g, "none", 0)), "take reshape matmul mul sum");
}

static void sizes_decide(void **state)
{
    (void)state;
    each(check_sizes, &rows[0]);
}

/* What is no row of the table is reported as it was, with the place of the gather. */
static void check_index(void *arg)
{
    const job *j = arg;
    gcut_graph *h = gathered(graph_of(j), "gathered", 2);
    gcut_array in[5];
    for (uint32_t k = 0; k < 5; k++)
        in[k] = array_for(j->arena, h, gcut_type_of(h, h->params.at[k].value), 1);
    in[4].u.i[5] = 3;
    run_graph(j->arena, h, GCUT_STATED, in);
}

static void indices_are_checked(void **state)
{
    (void)state;
    job j = {.env = gcut_env_new(NULL, NULL), .r = &rows[0]};
    j.arena = j.env->arena;
    assert_int_not_equal(gcut_protect(j.env, check_index, &j), GCUT_OK);
    assert_int_equal(j.env->ndiags, 1);
    assert_int_equal(j.env->diags[0].at.line, 3);
    gcut_env_free(j.env);
}

/* In the pipeline: at sizes that repeat rows, unless somebody names a value that would go. */
static void named_values_stay(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *user = gcut_load(ctx, GCUT_SOURCE_DIR "/tests/models/lstm.gcut", NULL);
    assert_non_null(user);
    const gcut_size at[] = {{"N", 16}, {"T", 16}};
    const char *names[] = {"%layer0.x.reshape", "%layer0.scan"};
    for (int k = 0; k < 4; k++) {
        gcut_options o = TEST_OPTIONS;
        o.at = at;
        o.nat = k == 0 ? 0 : 2;
        o.save = k == 2 ? &names[0] : &names[1];
        o.nsave = k >= 2;
        const char *text = gcut_show(user, &o, GCUT_STAGE_JOINT, false);
        if (!text) fail_msg("%s", gcut_last_error(ctx));
        assert_int_equal(strstr(text, "%layer0.x.matmul.table: f32[48, 24] = matmul(") != NULL,
                         k == 1 || k == 3);
        assert_int_equal(strstr(text, "%layer0.x.reshape: f32[N*T, 6] = reshape(") != NULL, k == 0 || k == 2);
    }
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(products_of_tables), cmocka_unit_test(sizes_decide),
                                       cmocka_unit_test(indices_are_checked),
                                       cmocka_unit_test(named_values_stay)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
