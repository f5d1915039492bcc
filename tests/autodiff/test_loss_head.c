/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Loss heads, whose gradient may be computed with the loss.  The eager backend
 * runs the joint graph as reverse mode made it, without heads: it is the oracle.
 */
#include "driver/pipeline/compile.h"
#include "harness.h"
#include "nightly.h"

#include "driver/options/options.h"
#include "driver/load/step.h"
#include "partition/partition.h"
#include "public.h"

typedef struct world {
    gcut_env *env;
    gcut_arena *arena; /* of one case */
} world;

FIXTURE(world)

#define ROWS 200 /* of the table %e; the logits %l have as many columns */
#define WIDTH 64 /* of its rows: enough that a product is dear */

/* %l = matmul(%h, %e, tb=true) is the widening product; %TYPE is f32 unless said otherwise. */
#define BODY "%x = take(%e, %ids, axis=0) %p = matmul(%x, %w) %h = tanh(%p) "
#define LOGITS BODY "%l = matmul(%h, %e, tb=true) "

static const struct {
    const char *name, *body;
    const char *end; /* the node of the joint graph at which the cotangent is put back, NULL: no head */
} cases[] = {
    {"tied", LOGITS "%loss = cross_entropy(%l, %y)", "dh"},
    {"biased",
     LOGITS "%bb = broadcast(%b, shape=[N, 200], axes=[1]) %m = add(%l, %bb) "
            "%loss = cross_entropy(%m, %y)",
     "dh"},
    {"squared error", LOGITS "%d = sub(%l, %k) %q = mul(%d, %d) %loss = sum(%q)", "dh"},
    {"capped", LOGITS "%c = tanh(%l) %loss = cross_entropy(%c, %y)", "dh"},
    {"two losses", LOGITS "%l1 = cross_entropy(%l, %y) %q = mul(%l, %l) %l2 = sum(%q) %loss = add(%l1, %l2)",
     "dh"},
    {"masked",
     LOGITS "%o = gt(%k, %l) %z = full(shape=[N, 200], value=0) %m = select(%o, %l, %z) "
            "%q = mul(%m, %k) %loss = sum(%q)",
     "dh"},
    {"narrowing", BODY "%l = matmul(%h, %v) %q = mul(%l, %l) %loss = sum(%q)", NULL},
    {"a gradient as wide", LOGITS "%m = mul(%l, %u) %q = mul(%m, %m) %loss = sum(%q)", NULL},
    {"no multiple", LOGITS "%m = cumsum(%l, axis=1) %q = mul(%m, %m) %loss = sum(%q)", NULL},
};
#define NCASES (sizeof cases / sizeof *cases)

/* %u is a parameter only where a body reads it: its gradient would be as wide as the logits. */
static gcut_graph *graph_of(world *w, const char *body, const char *type)
{
    const char *text = gcut_printf(
        w->arena,
        "gcut 1\nfunc @f[N in 1..](param %%e: %s[200, 64], param %%w: %s[64, 64], param %%v: %s[64, 4], "
        "param "
        "%%b: %s[200], %s %%u: %s[N, 200], input %%k: %s[N, 200], input %%ids: i32[N] #range(0, 200), input "
        "%%y: i32[N] #range(0, 200)) -> (out loss: %s[]) {\n  %s\n  return %%loss\n}\n",
        type, type, type, type, strstr(body, "%u") ? "param" : "input", type, type, type, body);
    gcut_module *m = gcut_parse_module(w->env, w->arena, "f.gcut", text, strlen(text));
    return gcut_module_find(m, "f");
}

typedef struct way {
    gcut_backend backend;
    const char *policy, *optimizer;
    bool keep_grads, forward;
    int threads;
} way;

static gcut_step *step_of(world *w, gcut_graph *g, way how, int64_t n)
{
    gcut_settings o = gcut_settings_of(NULL, NULL, 0);
    gcut_size at = {"N", n};
    o.backend = how.backend;
    if (how.policy) o.policy = how.policy;
    o.optimizer = how.optimizer;
    o.keep_grads = how.keep_grads;
    o.forward_only = how.forward;
    o.threads = how.threads ? how.threads : 2;
    o.at = &at;
    o.nat = 1;
    gcut_arena *a = gcut_arena_new(w->env, w->arena);
    return gcut_step_of_pipeline(
        gcut_pipeline_new(g, &o, how.backend == GCUT_BACKEND_COMPILED ? GCUT_STAGE_KERNEL : GCUT_STAGE_SPLIT,
                          a),
        a);
}

static gcut_slot *slot_of(gcut_step *s, gcut_role role, const char *name)
{
    for (uint32_t k = 0; k < s->nslots; k++)
        if (s->slot[k].role == role && (!name || !strcmp(s->slot[k].name, name))) return &s->slot[k];
    fail_msg("there is no %s", name ? name : gcut_role_name(role));
    return NULL;
}

static void set_cotangent(gcut_step *s, float to)
{
    gcut_step_prepare(s);
    *(float *)slot_of(s, GCUT_ROLE_cotan, NULL)->at = to;
}

/* Results, gradients and new states, to a few roundings of their largest element. */
static void assert_same(gcut_step *want, gcut_step *got, const char *what)
{
    for (uint32_t k = 0; k < want->nslots; k++) {
        const gcut_slot *a = &want->slot[k], *b = &got->slot[k];
        if (a->role != GCUT_ROLE_out && a->role != GCUT_ROLE_grad && !a->updated) continue;
        assert_string_equal(a->name, b->name);
        const float *x = a->at, *y = b->at;
        float most = 0;
        for (int64_t i = 0; i < a->bytes / 4; i++) most = fmaxf(most, fabsf(x[i]));
        assert_true(most > 0 || !strcmp(a->name, "grad.v") || !strcmp(a->name, "grad.b"));
        for (int64_t i = 0; i < a->bytes / 4; i++)
            if (!(fabsf(x[i] - y[i]) <= 1e-5f * most))
                fail_msg("%s: %s[%d] is %g, not %g", what, a->name, (int)i, (double)y[i], (double)x[i]);
    }
}

static bool is_head(const gcut_graph *g, gcut_ref v)
{
    const gcut_node *n = gcut_def(g, v);
    return n && gcut_mark_find(&n->marks, GCUT_MARK_head);
}

static uint32_t nodes_in_heads(const gcut_graph *g)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < g->nodes.n; i++)
        count += gcut_mark_find(&gcut_node_at(g, i)->marks, GCUT_MARK_head) != NULL;
    return count;
}

/* The last node of heads: dx, after the gradients of parameters. */
static const gcut_node *last_in_heads(const gcut_graph *g)
{
    const gcut_node *last = NULL;
    for (uint32_t i = 0; i < g->nodes.n; i++)
        if (gcut_mark_find(&gcut_node_at(g, i)->marks, GCUT_MARK_head)) last = gcut_node_at(g, i);
    return last;
}

/* ---- what is a head ---- */

static void find_body(void *arg)
{
    world *w = arg;
    w->arena = w->env->arena;
    for (size_t i = 0; i < NCASES; i++) {
        const gcut_graph *j =
            step_of(w, graph_of(w, cases[i].body, "f32"), (way){.backend = GCUT_BACKEND_JOINT}, 7)->p->joint;
        if ((nodes_in_heads(j) > 0) != (cases[i].end != NULL))
            fail_msg("%s: %u nodes in a head", cases[i].name, nodes_in_heads(j));
        if (!cases[i].end) continue;
        const gcut_node *n = gcut_def(j, gcut_graph_find(j, cases[i].end));
        assert_non_null(n);
        assert_int_equal(n->op, GCUT_OP_mul);
        assert_true(is_head(j, gcut_arg(j, n, 0)) || is_head(j, gcut_arg(j, n, 1)));
        assert_false(is_head(j, n->res0)); /* from here on all depends on the cotangent */
        const gcut_node *last = last_in_heads(j);
        assert_true(last->res0 == gcut_arg(j, n, 0) || last->res0 == gcut_arg(j, n, 1));
    }
}

static void heads_are_found(void **state)
{
    must(((world *)*state)->env, find_body, *state);
}

/* A cotangent other than 1 guards f16 from underflow, so it stays where it is. */
static void narrow_body(void *arg)
{
    static const char *const types[] = {"f16", "bf16"};
    world *w = arg;
    w->arena = w->env->arena;
    for (int k = 0; k < 2; k++) {
        gcut_graph *g = graph_of(w, LOGITS "%d = sub(%l, %k) %q = mul(%d, %d) %loss = sum(%q)", types[k]);
        assert_int_equal(nodes_in_heads(step_of(w, g, (way){.backend = GCUT_BACKEND_JOINT}, 7)->p->joint), 0);
    }
}

static void narrow_floats_have_none(void **state)
{
    must(((world *)*state)->env, narrow_body, *state);
}

/* ---- the same gradients ---- */

static void gradients_body(void *arg)
{
    static const way ways[] = {{.backend = GCUT_BACKEND_JOINT},
                               {.backend = GCUT_BACKEND_PLANNED},
                               {.backend = GCUT_BACKEND_PLANNED, .policy = "save-all"},
                               {.backend = GCUT_BACKEND_COMPILED},
                               {.backend = GCUT_BACKEND_COMPILED, .threads = 1},
                               {.backend = GCUT_BACKEND_COMPILED, .policy = "recompute-all"},
                               {.backend = GCUT_BACKEND_COMPILED, .policy = "torch"}};
    world *w = arg;
    for (size_t i = 0; i < NCASES; i++) {
        w->arena = gcut_arena_new(w->env, w->env->arena);
        gcut_graph *g = graph_of(w, cases[i].body, "f32");
        for (int64_t n = i == 0 ? 1 : 64; n <= 64; n += 63) {
            gcut_step *want = step_of(w, g, (way){.backend = GCUT_BACKEND_EAGER}, n);
            set_cotangent(want, -1.75f);
            gcut_step_run(want, GCUT_RT_STEP);
            for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
                TRY("way %zu", k);
                /* The last three are compiled once more; in turn, but for the nightly run. */
                if (k > 3 && k - 4 != i % 3 && !nightly()) continue;
                gcut_step *got = step_of(w, g, ways[k], n);
                set_cotangent(got, -1.75f);
                gcut_step_run(got, GCUT_RT_STEP);
                assert_same(want, got, gcut_printf(w->arena, "%s, way %d", cases[i].name, (int)k));
            }
        }
        gcut_arena_free(w->arena);
    }
}

static void gradients_stay(void **state)
{
    must(((world *)*state)->env, gradients_body, *state);
}

/* ---- in the memory of the gradient ---- */

/* The only value in form GRAD, 0 for none. */
static gcut_ref begun(const gcut_plan *p)
{
    gcut_ref found = 0;
    int64_t sum = 0;
    for (gcut_ref v = 1; v < p->joint->values.n; v++) {
        if (p->value[v].decision != GCUT_PLAN_SAVED) continue;
        sum += p->value[v].bytes;
        if (p->value[v].format != GCUT_FORMAT_GRAD) continue;
        assert_int_equal(found, 0);
        assert_int_equal(p->value[v].bytes, 0);
        found = v;
    }
    assert_int_equal(sum, p->saved_bytes);
    return found;
}

/* Of as many tokens the logits are larger than what is made of them, also where dw has to be stored; and the
 * product after the lookup becomes one of the table, whose gradient is a third term. */
#define MANY 1024

static void memory_body(void *arg)
{
    world *w = arg;
    w->arena = w->env->arena;
    gcut_graph *g = graph_of(w, cases[0].body, "f32");
    gcut_step *eager = step_of(w, g, (way){.backend = GCUT_BACKEND_EAGER}, MANY);
    gcut_step *s = step_of(w, g, (way){.backend = GCUT_BACKEND_COMPILED}, MANY);
    gcut_ref v = begun(s->p->plan);
    assert_true(v);
    assert_true(is_head(s->p->joint, v));
    for (gcut_ref u = 1; u < s->p->joint->values.n; u++) /* the logits do not cross */
        assert_true(s->p->plan->value[u].bytes < MANY * ROWS * 4 ||
                    s->p->plan->value[u].decision != GCUT_PLAN_SAVED);

    /* The forward graph leaves dw at the cotangent 1 there, however often it runs; the backward graph is told
     * the cotangent. */
    const gcut_slot *de = slot_of(s, GCUT_ROLE_grad, "grad.e");
    gcut_step_prepare(s);
    memset(de->at, 0xff, (size_t)de->bytes);
    for (int k = 0; k < 2; k++) gcut_step_run(s, GCUT_RT_FORWARD);
    for (int64_t i = 0; i < de->bytes / 4; i++) assert_true(isfinite(((const float *)de->at)[i]));
    set_cotangent(s, 3);
    set_cotangent(eager, 3);
    gcut_step_run(s, GCUT_RT_BACKWARD);
    gcut_step_run(eager, GCUT_RT_STEP);
    assert_same(eager, s, "forward and backward");
    gcut_stats st = *gcut_step_stats(s);
    assert_int_equal(st.peak_bytes, st.predicted_bytes);
}

static void gradients_begin_in_place(void **state)
{
    must(((world *)*state)->env, memory_body, *state);
}

/* There is no such memory where an optimizer takes the gradient, unless the gradient is a result too. */
static void optimizer_body(void *arg)
{
    world *w = arg;
    w->arena = w->env->arena;
    gcut_graph *g = graph_of(w, cases[0].body, "f32");
    way plain = {.backend = GCUT_BACKEND_PLANNED, .optimizer = "adamw(lr=0.1)"}, kept = plain;
    kept.keep_grads = true;
    assert_int_equal(begun(step_of(w, g, plain, MANY)->p->plan), 0);
    assert_true(begun(step_of(w, g, kept, MANY)->p->plan) != 0);
    /* Of few tokens the gradient would be larger: that by the logits crosses, not what is made of it. */
    const gcut_plan *few = step_of(w, g, plain, 4)->p->plan;
    for (gcut_ref v = 1; v < few->joint->values.n; v++) {
        const gcut_node *n = gcut_def(few->joint, v);
        assert_false(n && n->op == GCUT_OP_matmul && is_head(few->joint, v) &&
                     few->value[v].decision == GCUT_PLAN_SAVED);
    }
}

static void optimizers_leave_no_place(void **state)
{
    must(((world *)*state)->env, optimizer_body, *state);
}

/* The rules of PyTorch know no such thing. */
static void torch_body(void *arg)
{
    world *w = arg;
    w->arena = w->env->arena;
    gcut_graph *g = graph_of(w, cases[0].body, "f32");
    const gcut_plan *p =
        step_of(w, g, (way){.backend = GCUT_BACKEND_PLANNED, .policy = "torch"}, MANY)->p->plan;
    for (gcut_ref v = 1; v < p->joint->values.n; v++)
        assert_false(is_head(p->joint, v) && p->value[v].decision == GCUT_PLAN_SAVED);
}

static void torch_computes_it_behind(void **state)
{
    must(((world *)*state)->env, torch_body, *state);
}

/* ---- rows added to a gradient ---- */

#define LOSS " %p = matmul(%s, %w) %q = mul(%p, %p) %loss = sum(%q)"

static const char *const rows[] = {
    /* two lookups of one table, and a product: rows are added to what is there already, in its place */
    "%x = take(%e, %ids, axis=0) %z = take(%e, %y, axis=0) %q = mul(%x, %z) %p = matmul(%q, %w) "
    "%l = matmul(%p, %e, tb=true) %c = mul(%l, %k) %loss = sum(%c)",
    /* not in the place of rows that are still to be added: of all of them, of a part, of the cotangent */
    "%x = take(%e, %ids, axis=0) %t = tanh(%x) %s = scatter_add(%t, %ids, %t, axis=0)" LOSS,
    "%x = take(%e, %ids, axis=0) %t = tanh(%x) %t1 = slice(%t, start=[0, 0], limit=[90, 64]) "
    "%i1 = slice(%ids, start=[0], limit=[90]) %s = scatter_add(%t, %i1, %t1, axis=0)" LOSS,
    "%x = take(%e, %ids, axis=0) %t = tanh(%x) %z = take(%t, %y, axis=0) %s = add(%t, %z)" LOSS,
    /* a number that is not the cotangent */
    "%x = take(%e, %ids, axis=0) %n = sum(%k) %m = broadcast(%n, shape=[N, 64], axes=[]) %s = mul(%x, "
    "%m)" LOSS,
};

static void rows_body(void *arg)
{
    world *w = arg;
    w->arena = w->env->arena;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        TRY("row %zu", i);
        gcut_graph *g = graph_of(w, rows[i], "f32");
        gcut_step *want = step_of(w, g, (way){.backend = GCUT_BACKEND_EAGER}, 300);
        gcut_step_run(want, GCUT_RT_STEP);
        for (int k = 0; k < 2; k++) {
            gcut_step *got = step_of(
                w, g, (way){.backend = GCUT_BACKEND_COMPILED, .policy = k ? "recompute-all" : NULL}, 300);
            gcut_step_run(got, GCUT_RT_STEP);
            assert_same(want, got, rows[i]);
            gcut_stats st = *gcut_step_stats(got);
            assert_int_equal(st.peak_bytes, st.predicted_bytes);
        }
        const gcut_graph *j = want->p->raw;
        for (uint32_t n = 0; n < j->nodes.n; n++) /* no sum of tables */
            assert_false(gcut_node_at(j, n)->op == GCUT_OP_add &&
                         gcut_type_of(j, gcut_node_at(j, n)->res0)->dim[0] == ROWS);
    }
}

static void rows_are_added_in_place(void **state)
{
    must(((world *)*state)->env, rows_body, *state);
}

/* A state that rows are added to while others read it, and one to which a loop adds rows in every step. */
static const char states[] =
    "gcut 1\nfunc @f[N in 1..](state %t: f32[200, 64], state %s: f32[200, 64], input %x: f32[4, N, 64], "
    "input %i: i32[4, N] #range(0, 200), input %j: i32[N] #range(0, 200), input %u: f32[N, 64]) -> (out "
    "loss: f32[], next t: f32[200, 64], next s: f32[200, 64]) {\n"
    "  %t1 = scatter_add(%t, %j, %u, axis=0)\n"
    "  %s1 = scan(%s, %x, %i, carries=1) body(%c, %xk, %ik) {\n"
    "    %c1 = scatter_add(%c, %ik, %xk, axis=0)\n    yield %c1\n  }\n"
    "  %q = mul(%t, %t)\n  %loss = sum(%q)\n  return %loss, %t1, %s1\n}\n";

static void states_body(void *arg)
{
    world *w = arg;
    w->arena = w->env->arena;
    gcut_graph *g =
        gcut_module_find(gcut_parse_module(w->env, w->arena, "f.gcut", states, strlen(states)), "f");
    gcut_step *want = step_of(w, g, (way){.backend = GCUT_BACKEND_EAGER, .forward = true}, 300);
    gcut_step *got = step_of(w, g, (way){.backend = GCUT_BACKEND_COMPILED, .forward = true}, 300);
    for (int k = 0; k < 2; k++) {
        gcut_step_run(want, GCUT_RT_STEP);
        gcut_step_run(got, GCUT_RT_STEP);
        assert_same(want, got, "states");
    }
    const gcut_program *p = got->p->program;
    gcut_memory m = gcut_program_memory(p, got->p->at, got->p->nat, 2);
    assert_true(m.arena_bytes < 2 * ROWS * WIDTH * 4); /* what the loop carries, and no other table */
}

static void states_take_rows_in_place(void **state)
{
    must(((world *)*state)->env, states_body, *state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(heads_are_found),
        WITH_FIXTURE(narrow_floats_have_none),
        WITH_FIXTURE(gradients_stay),
        WITH_FIXTURE(gradients_begin_in_place),
        WITH_FIXTURE(optimizers_leave_no_place),
        WITH_FIXTURE(torch_computes_it_behind),
        WITH_FIXTURE(rows_are_added_in_place),
        WITH_FIXTURE(states_take_rows_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
