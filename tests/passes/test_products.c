/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sums that leave their scans: which do and which stay, and that every result keeps its value: the numbers
 * are small integers, whose sums are exact in any order.  The derivative of an LSTM has no product of weights
 * left in its backward loop.
 */
#include "oracle.h"

#include "gradcut/gradcut.h"
#include "passes/passes.h"
#include "graph/verify.h"
#include "public.h"

typedef struct row {
    const char *name, *inits, *carried, *body, *yields;
    uint32_t carries; /* that are left */
    uint32_t results; /* of the scan that is left */
} row;

/* Carried values of types f32[4, 5], f32[5] and f32[3, 4]; sliced x f32[3, 4] and y f32[3, 5]; captured w
 * f32[3, 5].
 */
static const row rows[] = {
    {"a product", "%z", "%s: f32[4, 5]", "%p = matmul(%x, %y, ta=true) %n = add(%s, %p)", "%n", 0, 0},
    {"the carried value second", "%z", "%s: f32[4, 5]", "%p = matmul(%x, %y, ta=true) %n = add(%p, %s)", "%n",
     0, 0},
    {"a start", "%a", "%s: f32[4, 5]", "%p = matmul(%x, %y, ta=true) %n = add(%s, %p)", "%n", 0, 0},
    {"two products", "%a", "%s: f32[4, 5]",
     "%x2 = neg(%x) %p = matmul(%x, %y, ta=true) %q = matmul(%x2, %y, ta=true) %m = add(%p, %q) %n = add(%s, "
     "%m)",
     "%n", 0, 1},
    {"a product with a value that becomes a stack", "%z", "%s: f32[4, 5]",
     "%v = mul(%y, %y) %p = matmul(%x, %v, ta=true) %n = add(%s, %p)", "%n", 0, 1},
    {"a reshaped slice", "%z", "%s: f32[4, 5]",
     "%r = reshape(%x, shape=[4, 3]) %q = reshape(%r, shape=[3, 4]) %p = matmul(%q, %y, ta=true) %n = "
     "add(%s, %p)",
     "%n", 0, 0},
    {"neither operand a slice", "%z", "%s: f32[4, 5]",
     "%u = mul(%x, %x) %v = mul(%y, %y) %p = matmul(%u, %v, ta=true) %n = add(%s, %p)", "%n", 1, 1},
    {"a captured operand", "%z", "%s: f32[4, 5]", "%p = matmul(%x, %w, ta=true) %n = add(%s, %p)", "%n", 1,
     1},
    {"a product in another order", "%z", "%s: f32[4, 5]",
     "%t = transpose(%x, perm=[1, 0]) %p = matmul(%t, %y) %n = add(%s, %p)", "%n", 1, 1},
    {"a sum that steps read", "%z", "%s: f32[4, 5]",
     "%p = matmul(%x, %y, ta=true) %t = add(%s, %p) %n = add(%t, %s)", "%n", 1, 1},
    {"a sum that steps yield", "%z, %b", "%s: f32[4, 5], %c: f32[5]",
     "%p = matmul(%x, %y, ta=true) %n = add(%s, %p) %v = sum(%n, axes=[0]) %m = add(%c, %v)", "%n, %m", 2, 2},
    {"sums of a slice", "%b", "%c: f32[5]", "%v = sum(%y, axes=[0]) %m = add(%c, %v)", "%m", 0, 0},
    {"slices", "%d", "%c: f32[3, 4]", "%m = add(%c, %x)", "%m", 0, 0},
    {"a sum of what no product stacks", "%b", "%c: f32[5]",
     "%u = mul(%y, %y) %v = sum(%u, axes=[0]) %m = add(%c, %v)", "%m", 1, 1},
    {"a sum of what a later product stacks", "%b, %z", "%c: f32[5], %s: f32[4, 5]",
     "%u = mul(%y, %y) %v = sum(%u, axes=[0]) %m = add(%c, %v) %p = matmul(%x, %u, ta=true) %n = add(%s, %p)",
     "%m, %n", 0, 1},
    {"one of two", "%d, %z", "%c: f32[3, 4], %s: f32[4, 5]",
     "%m = mul(%c, %x) %p = matmul(%c, %y, ta=true) %n = add(%s, %p)", "%m, %n", 1, 2},
};

typedef struct job {
    gcut_env *env;
    gcut_arena *arena;
    const row *r;
    int64_t steps;
    bool reverse;
} job;

static const gcut_node *find_scan(const gcut_graph *g)
{
    for (uint32_t i = 0; i < g->nodes.n; i++)
        if (g->nodes.at[i].op == GCUT_OP_scan) return gcut_node_at(g, i);
    return NULL;
}

static const char *program(const job *j)
{
    static const char *const types[] = {"f32[4, 5]", "f32[5]", "f32[3, 4]"};
    gcut_text t = {.arena = j->arena};
    const char *y = j->r->yields;
    gcut_text_add(&t,
                  "gcut 1\nfunc @f[T in 0..](input %%a: f32[4, 5], input %%b: f32[5], input %%d: f32[3, 4], "
                  "input %%w: f32[3, 5], input %%xs: f32[T, 3, 4], input %%ys: f32[T, 3, 5]) -> (");
    uint32_t n = 1;
    for (const char *s = y; *s; s++) n += *s == ',';
    /* the k-th result has the type of the k-th initial value: %z %a, %b, %d */
    const char *s = j->r->inits;
    for (uint32_t k = 0; k < n; k++, s += strcspn(s, "%"))
        gcut_text_add(&t, "%sout r%u: %s", k ? ", " : "", k, types[*++s == 'b' ? 1 : *s == 'd' ? 2 : 0]);
    gcut_text_add(&t, ") {\n%%z = full(shape=[4, 5], value=0.0)\n");
    for (uint32_t k = 0; k < n; k++) gcut_text_add(&t, "%s%%r%u", k ? ", " : "", k);
    gcut_text_add(
        &t,
        " = scan(%s, %%xs, %%ys, carries=%u%s) body(%s, %%x: f32[3, 4], %%y: f32[3, 5]) {\n%s\nyield %s\n}\n",
        j->r->inits, n, j->reverse ? ", reverse=true" : "", j->r->carried, j->r->body, y);
    gcut_text_add(&t, "return ");
    for (uint32_t k = 0; k < n; k++) gcut_text_add(&t, "%s%%r%u", k ? ", " : "", k);
    gcut_text_add(&t, "\n}\n");
    return t.at;
}

static void check_row(void *arg)
{
    job *j = arg;
    const char *text = program(j);
    gcut_graph *g = gcut_parse_module(j->env, j->arena, "t.gcut", text, strlen(text))->graphs.at[0];
    gcut_graph *h = gcut_pass_dce(gcut_pass_products(g, "products"), "dce");
    gcut_verify(h);
    const gcut_node *scan = find_scan(h);
    assert_int_equal(scan ? gcut_node_carries(h, scan) : 0, j->r->carries);
    assert_int_equal(scan ? scan->nres : 0, j->r->results);
    gcut_array *in = gcut_calloc(j->arena, g->params.n, sizeof *in);
    for (uint32_t k = 0; k < g->params.n; k++) {
        in[k] = array_for(j->arena, g, gcut_type_of(g, g->params.at[k].value), j->steps);
        for (int64_t i = 0; i < in[k].n; i++)
            in[k].u.f[i] = (double)((i * 7 + k * 5) % 7 - 3) / (k == 4 ? 2 : 1);
    }
    gcut_array *x = run_graph(j->arena, g, GCUT_STATED, in), *y = run_graph(j->arena, h, GCUT_STATED, in);
    for (uint32_t k = 0; k < g->results.n; k++) {
        assert_string_equal(g->results.at[k].name, h->results.at[k].name);
        assert_int_equal(x[k].n, y[k].n);
        for (int64_t i = 0; i < x[k].n; i++)
            if (x[k].u.f[i] != y[k].u.f[i])
                fail_msg("%s, %d steps: result %u[%d] is %g and was %g", j->r->name, (int)j->steps, k, (int)i,
                         y[k].u.f[i], x[k].u.f[i]);
    }
}

static void sums_leave(void **state)
{
    (void)state;
    static const int64_t lengths[] = {0, 1, 4};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int k = 0; k < 6; k++) {
            job j = {
                .env = gcut_env_new(NULL, NULL), .r = &rows[i], .steps = lengths[k / 2], .reverse = k % 2};
            j.arena = j.env->arena;
            must(j.env, check_row, &j);
            gcut_env_free(j.env);
        }
}

/* ---- a derivative ---- */

static void count_products(const gcut_graph *g, uint32_t *weights, uint32_t *pads)
{
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        *weights += n->op == GCUT_OP_matmul && gcut_attr_flag(g, n, GCUT_KEY_ta);
        *pads += n->op == GCUT_OP_pad;
    }
}

/* Every gradient of a weight is one product after the loop; the cotangents of the gates one concatenation.
 */
static void lstm_is_lean(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *user = gcut_load(ctx, GCUT_SOURCE_DIR "/tests/loops/lstm.gcut", NULL);
    assert_non_null(user);
    gcut_options o = TEST_OPTIONS;
    o.loss = "loss";
    const char *text = gcut_show(user, &o, GCUT_STAGE_JOINT, false);
    assert_non_null(text);
    job j = {.env = gcut_env_new(NULL, NULL)};
    gcut_graph *g = gcut_parse_module(j.env, j.env->arena, "joint.gcut", text, strlen(text))->graphs.at[0];
    uint32_t outside = 0, inside = 0, pads = 0;
    count_products(g, &outside, &pads);
    for (uint32_t i = 0; i < g->nodes.n; i++)
        if (gcut_node_at(g, i)->nregs) {
            assert_int_equal(gcut_node_carries(g, gcut_node_at(g, i)), 2);
            count_products(gcut_region_at(g, gcut_node_at(g, i), 0)->body, &inside, &pads);
        }
    assert_int_equal(outside, 2);
    assert_int_equal(inside, 0);
    assert_int_equal(pads, 0);
    gcut_env_free(j.env);
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums_leave), cmocka_unit_test(lstm_is_lean)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
