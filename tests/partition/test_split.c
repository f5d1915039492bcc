/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Forward and backward graph, run one after the other, are the joint graph: bit for bit,
 * whatever the policy, because a value computed twice is computed alike.
 */
#include "harness.h"

#include "interp/interp.h"
#include "passes/passes.h"
#include "graph/verify.h"
#include "joint_gen.h"
#include "partition/partition.h"

#define ROWS 5

typedef struct world {
    gcut_env *env;
    gcut_arena *arena; /* of one case */
    uint64_t seed;
} world;

FIXTURE(world)

static double uniform(uint64_t *s)
{
    *s ^= *s << 13, *s ^= *s >> 7, *s ^= *s << 17;
    return (double)(int64_t)*s / 0x1p63;
}

/* Arrays for every parameter of g, with N = ROWS and values that f32 holds exactly. */
static gcut_array *inputs(world *w, const gcut_graph *g)
{
    gcut_array *in = gcut_calloc(w->arena, (size_t)g->params.n + 1, sizeof *in);
    for (uint32_t i = 0; i < g->params.n; i++) {
        const gcut_type *t = gcut_type_of(g, g->params.at[i].value);
        int64_t dim[GCUT_MAX_RANK];
        for (uint32_t k = 0; k < t->rank; k++) dim[k] = gcut_dim_known(t->dim[k]) ? t->dim[k] : ROWS;
        in[i] = gcut_array_new(w->arena, t->dtype, t->rank, dim);
        for (int64_t k = 0; k < in[i].n; k++) in[i].u.f[k] = gcut_round_to(uniform(&w->seed), GCUT_F32);
    }
    return in;
}

static const char *param_name(const gcut_graph *g, uint32_t i)
{
    return g->values.at[g->params.at[i].value].name;
}

/* By name from the joint's parameters; a `saved` parameter from the forward graph's results alone. */
static gcut_array *given(world *w, const gcut_graph *part, const gcut_graph *joint, const gcut_array *in,
                         const gcut_graph *fwd, const gcut_array *fwd_out)
{
    gcut_array *args = gcut_calloc(w->arena, (size_t)part->params.n + 1, sizeof *args);
    for (uint32_t i = 0; i < part->params.n; i++) {
        bool saved = part->params.at[i].role == GCUT_ROLE_saved, found = false;
        for (uint32_t k = 0; !saved && k < joint->params.n; k++)
            if (param_name(part, i) == param_name(joint, k)) args[i] = in[k], found = true;
        for (uint32_t k = 0; saved && k < fwd->results.n; k++)
            if (fwd->results.at[k].role == GCUT_ROLE_saved && fwd->results.at[k].name == param_name(part, i))
                args[i] = fwd_out[k], found = true;
        assert_true(found);
    }
    return args;
}

static void same_bits(const gcut_array *a, const gcut_array *b)
{
    assert_int_equal(a->dtype, b->dtype);
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->u.at, b->u.at, (size_t)a->n * 8);
}

static void compare(const gcut_graph *joint, const gcut_array *want, const gcut_graph *part,
                    const gcut_array *got, uint32_t *seen)
{
    for (uint32_t i = 0; i < joint->results.n; i++)
        for (uint32_t k = 0; k < part->results.n; k++) {
            const gcut_result *a = &joint->results.at[i], *b = &part->results.at[k];
            if (a->role != b->role || a->name != b->name) continue;
            same_bits(&want[i], &got[k]);
            ++*seen;
        }
}

static void run_pair(world *w, const gcut_plan *p, gcut_precision prec)
{
    const gcut_graph *joint = p->joint;
    gcut_array *in = inputs(w, joint);
    gcut_array *want = gcut_calloc(w->arena, joint->results.n, sizeof *want);
    gcut_array *fwd = gcut_calloc(w->arena, (size_t)p->fwd->results.n + 1, sizeof *fwd);
    gcut_array *bwd = gcut_calloc(w->arena, (size_t)p->bwd->results.n + 1, sizeof *bwd);
    gcut_interp(joint, prec, w->arena, in, want, NULL);
    gcut_interp(p->fwd, prec, w->arena, given(w, p->fwd, joint, in, NULL, NULL), fwd, NULL);
    gcut_interp(p->bwd, prec, w->arena, given(w, p->bwd, joint, in, p->fwd, fwd), bwd, NULL);
    uint32_t seen = 0;
    compare(joint, want, p->fwd, fwd, &seen);
    compare(joint, want, p->bwd, bwd, &seen);
    assert_int_equal(seen, joint->results.n);
}

/* ---- structure ---- */

static bool computes(const gcut_graph *g, const char *name)
{
    gcut_ref v = gcut_graph_find(g, name);
    return v && gcut_def(g, v);
}

/* Saved values cross, recomputed ones are made once on each side and say so. */
static void check_decisions(const gcut_plan *p)
{
    int64_t bytes = 0;
    for (gcut_ref v = 1; v < p->joint->values.n; v++) {
        const char *name = p->joint->values.at[v].name;
        const gcut_decision *d = &p->value[v];
        gcut_ref b = gcut_graph_find(p->bwd, name);
        /* a packed value crosses under another name and is unpacked there */
        if (d->decision == GCUT_PLAN_SAVED) {
            bool packed = d->format != GCUT_FORMAT_PLAIN;
            assert_true(packed || (b && !gcut_def(p->bwd, b)));
            if (packed && b) assert_int_equal(gcut_def(p->bwd, b)->op, GCUT_OP_unpack_bits);
            assert_true(computes(p->fwd, name));
            bytes += d->bytes;
        }
        if (d->decision == GCUT_PLAN_RECOMPUTED) {
            assert_true(computes(p->bwd, name));
            assert_int_equal(computes(p->fwd, name), d->side == GCUT_SIDE_FORWARD || computes(p->fwd, name));
        }
        if (d->decision == GCUT_PLAN_UNUSED) assert_int_equal(b, 0);
        if (d->decision == GCUT_PLAN_BACKWARD) assert_false(computes(p->fwd, name));
        if (b && gcut_def(p->bwd, b) && gcut_mark_find(&gcut_def(p->bwd, b)->marks, GCUT_MARK_recomputed))
            assert_true(d->decision == GCUT_PLAN_RECOMPUTED && d->side == GCUT_SIDE_FORWARD);
    }
    assert_int_equal(bytes, p->saved_bytes);
}

/* A recomputed node stands directly before the first node that reads it, but for others of its kind. */
static void check_lazy(const gcut_plan *p)
{
    const gcut_graph *b = p->bwd;
    for (uint32_t i = 0; i < b->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(b, i);
        gcut_ref v = gcut_graph_find(p->joint, b->values.at[n->res0].name);
        if (p->value[v].side == GCUT_SIDE_BACKWARD) continue;
        uint32_t first = UINT32_MAX, next = i + 1;
        for (uint32_t k = i + 1; k < b->nodes.n && first == UINT32_MAX; k++)
            for (uint32_t a = 0; a < b->nodes.at[k].nargs; a++)
                if (gcut_arg(b, &b->nodes.at[k], a) == n->res0) first = k;
        while (next < b->nodes.n && next < first) {
            gcut_ref u = gcut_graph_find(p->joint, b->values.at[b->nodes.at[next].res0].name);
            if (p->value[u].side == GCUT_SIDE_BACKWARD) break;
            next++;
        }
        assert_true(first == UINT32_MAX || next == first); /* no reader: it is a result itself */
    }
}

/* ---- random graphs ---- */

static void one_case(world *w, uint64_t seed, gcut_policy policy, double lambda)
{
    TRY("seed %d, policy %d, lambda %g", (int)seed, (int)policy, lambda);
    w->arena = gcut_arena_new(w->env, w->env->arena);
    w->seed = seed * 7919 + 3;
    gcut_module *m = gcut_module_new(w->env, w->arena);
    gcut_graph *g = joint_random(m, seed, 4 + (uint32_t)(seed % 14), 0, 4, "j");
    gcut_dim_binding at = {gcut_dim_symbol(m->dims, "N"), 10 + (int64_t)(seed % 3) * 1000};
    gcut_plan_options opt = {.policy = policy,
                             .lambda = lambda,
                             .at = &at,
                             .nat = 1,
                             .machine = gcut_machine_at(gcut_machine_model_shipped(), 0)};
    opt.torch_budget = (double)(seed % 10) / 10;
    opt.machine.kernel_ns = seed % 2 ? 1000 : 0;
    gcut_plan *p = gcut_plan_make(g, &opt);
    gcut_split(p, "j");
    gcut_verify(p->fwd);
    gcut_verify(p->bwd);
    gcut_verify_module(m);
    check_decisions(p);
    check_lazy(p);
    for (uint32_t i = 0; i < p->fwd->params.n; i++)
        assert_int_not_equal(p->fwd->params.at[i].role, GCUT_ROLE_cotan);
    run_pair(w, p, GCUT_STATED);
    run_pair(w, p, GCUT_EXACT);
    gcut_arena_free(w->arena);
}

static void random_body(void *arg)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        for (int k = 0; k < GCUT_NPOLICIES; k++) one_case(arg, seed, (gcut_policy)k, 0.05);
        one_case(arg, seed, GCUT_POLICY_MINCUT, 0);
        one_case(arg, seed, GCUT_POLICY_MINCUT, 2);
    }
}

static void parts_equal_joint(void **state)
{
    world *w = *state;
    must(w->env, random_body, w);
}

/* ---- one split in full ---- */

static void golden_body(void *arg)
{
    static const char text[] =
        "gcut 1\n"
        "func @f[N in 1..](param %b: f32[4], input %x: f32[N, 4] #range(0, 1), state %s: f32[4], cotan %dy: "
        "f32[])\n"
        "  -> (out y: f32[], grad b: f32[4], next s: f32[4]) {\n"
        "  %bb: f32[N, 4] = broadcast(%b, shape=[N, 4], axes=[1])\n  %a = add(%x, %bb) #must_save\n"
        "  %y = sum(%a)\n  %d = broadcast(%dy, shape=[N, 4], axes=[])\n  %db = sum(%d, axes=[0])\n"
        "  %m = sum(%x, axes=[0])\n  %s2 = add(%s, %m)\n  return %y, %db, %s2\n}\n";
    world *w = arg;
    w->arena = w->env->arena;
    gcut_module *m = gcut_parse_module(w->env, w->arena, "f.gcut", text, sizeof text - 1);
    gcut_dim_binding at = {gcut_dim_symbol(m->dims, "N"), 8};
    gcut_plan_options opt = {
        .lambda = 0.05, .at = &at, .nat = 1, .machine = gcut_machine_at(gcut_machine_model_shipped(), 0)};
    gcut_plan *p = gcut_plan_make(m->graphs.at[0], &opt);
    gcut_split(p, "g");
    gcut_verify_module(m);
    run_pair(w, p, GCUT_STATED);
    gcut_text t = {.arena = w->arena};
    gcut_print_graph(p->fwd, &(gcut_print_options){.no_loc = true}, &t);
    assert_non_null(strstr(t.at, "func @g.fwd[N in 1..](param %b: f32[4], input %x: f32[N, 4] #range(0, 1)"));
    assert_non_null(strstr(t.at, "#must_save #saved(16*N)"));
    assert_string_equal(p->bwd->name, "g.bwd");
    assert_int_equal(p->bwd->params.n, 4); /* saved a, x, s, dy, in this order */
    assert_string_equal(param_name(p->bwd, 0), "a");
    assert_int_equal(p->bwd->params.at[0].role, GCUT_ROLE_saved);
    assert_string_equal(param_name(p->bwd, 3), "dy");
    assert_int_equal(m->pairs.n, 1);
    assert_string_equal(m->pairs.at[0].name, "g.step");
    gcut_text bytes = {.arena = m->arena};
    gcut_dim_print(m->dims, gcut_mark_find(&m->pairs.at[0].marks, GCUT_MARK_saved_bytes)->arg[0].i, &bytes);
    assert_string_equal(bytes.at, "16*N");
}

static void roles_and_marks(void **state)
{
    world *w = *state;
    must(w->env, golden_body, w);
}

/* The backward graph reads nothing of size N, and yet computes with N: it is given x for its shape. */
static void shape_only_body(void *arg)
{
    static const char text[] =
        "gcut 1\n"
        "func @f[N in 1..](param %b: f32[4], input %x: f32[2*N, 4], cotan %dy: f32[4])\n"
        "  -> (out y: f32[4], grad b: f32[4]) {\n"
        "  %r = sum(%x, axes=[0])\n  %y = mul(%r, %b)\n  %d = broadcast(%dy, shape=[2*N, 4], axes=[1])\n"
        "  %db = sum(%d, axes=[0])\n  return %y, %db\n}\n";
    world *w = arg;
    w->arena = w->env->arena;
    gcut_module *m = gcut_parse_module(w->env, w->arena, "f.gcut", text, sizeof text - 1);
    gcut_dim_binding at = {gcut_dim_symbol(m->dims, "N"), 3};
    gcut_plan_options opt = {
        .lambda = 0.05, .at = &at, .nat = 1, .machine = gcut_machine_at(gcut_machine_model_shipped(), 0)};
    gcut_plan *p = gcut_plan_make(m->graphs.at[0], &opt);
    gcut_split(p, "g");
    assert_int_equal(p->bwd->params.n, 2);
    assert_string_equal(param_name(p->bwd, 0), "x");
    int64_t dims[4] = {6, 4, 4, 0};
    gcut_array in[3] = {gcut_array_new(w->arena, GCUT_F32, 1, dims + 1),
                        gcut_array_new(w->arena, GCUT_F32, 2, dims),
                        gcut_array_new(w->arena, GCUT_F32, 1, dims + 1)};
    gcut_array out[1];
    in[2].u.f[1] = 0.5;
    gcut_interp(p->bwd, GCUT_STATED, w->arena, (gcut_array[]){in[1], in[2]}, out, NULL);
    assert_that(out[0].u.f[1], ==, 3.0);
    assert_that(out[0].u.f[0], ==, 0);
}

static void sizes_are_given(void **state)
{
    world *w = *state;
    must(w->env, shape_only_body, w);
}

/* A node of several results is computed in one place as a whole; each result is saved or not by itself. */
static void several_body(void *arg)
{
    static const char text[] =
        "gcut 1\n"
        "func @f[N in 1..](param %w: f32[1, 1, N, 4], state %s: f32[1, 1, N, 4], input %x: f32[1, 1, N, 4], "
        "cotan %dy: f32[]) -> (out y: f32[1, 1, N, 4], grad w: f32[1, 1, N, 4], next s: f32[1, 1, N, 4]) {\n"
        "  %a, %b, %c = attention_grad(%w, %x, %x, %w, causal=true)\n  %y = tanh(%a)\n"
        "  %d = broadcast(%dy, shape=[1, 1, N, 4], axes=[])\n  %e = mul(%d, %b)\n  %g = mul(%e, %c)\n"
        "  return %y, %g, %c\n}\n";
    static const struct {
        gcut_policy policy;
        const char *save, *recompute;
        bool again; /* the backward graph computes the node */
    } ways[] = {{GCUT_POLICY_SAVE_ALL, NULL, NULL, false}, {GCUT_POLICY_RECOMPUTE_ALL, NULL, NULL, true},
                {GCUT_POLICY_MINCUT, NULL, NULL, false},   {GCUT_POLICY_MINCUT, "b", "c", true},
                {GCUT_POLICY_MINCUT, "c", "b", true},      {GCUT_POLICY_RECOMPUTE_ALL, "a", NULL, true}};
    world *w = arg;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        TRY("way %zu", i);
        w->arena = gcut_arena_new(w->env, w->env->arena);
        w->seed = 11;
        gcut_module *m = gcut_parse_module(w->env, w->arena, "f.gcut", text, sizeof text - 1);
        gcut_dim_binding at = {gcut_dim_symbol(m->dims, "N"), 7};
        gcut_plan_options opt = {.policy = ways[i].policy,
                                 .lambda = 0.05,
                                 .at = &at,
                                 .nat = 1,
                                 .machine = gcut_machine_at(gcut_machine_model_shipped(), 0),
                                 .save = &ways[i].save,
                                 .nsave = ways[i].save != NULL,
                                 .recompute = &ways[i].recompute,
                                 .nrecompute = ways[i].recompute != NULL};
        gcut_plan *p = gcut_plan_make(m->graphs.at[0], &opt);
        gcut_split(p, "g");
        gcut_verify_module(m);
        run_pair(w, p, GCUT_STATED);
        bool again = false;
        for (uint32_t n = 0; n < p->bwd->nodes.n; n++)
            again |= p->bwd->nodes.at[n].op == GCUT_OP_attention_grad;
        assert_int_equal(again, ways[i].again);
        for (const char *v = "abc"; *v; v++)
            assert_int_equal(p->value[gcut_graph_find(p->joint, (char[]){*v, 0})].side, GCUT_SIDE_FORWARD);
        gcut_arena_free(w->arena);
    }
}

static void several_results(void **state)
{
    world *w = *state;
    must(w->env, several_body, w);
}

/* ---- sizes over many symbols ---- */

#define SYMBOLS 70

/* A size is the sum of many symbols; the backward graph takes a parameter that binds each. */
static void many_symbols_body(void *arg)
{
    world *w = arg;
    w->arena = w->env->arena;
    gcut_text size = {.arena = w->arena}, f = {.arena = w->arena};
    for (int i = 0; i < SYMBOLS; i++) gcut_text_add(&size, "%sS%d", i ? " + " : "", i);
    gcut_text_add(&f, "gcut 1\nfunc @f[");
    for (int i = 0; i < SYMBOLS; i++) gcut_text_add(&f, "%sS%d in 1..", i ? ", " : "", i);
    gcut_text_add(&f, "](param %%b: f32[%s]", size.at);
    for (int i = 0; i < SYMBOLS; i++) gcut_text_add(&f, ", input %%x%d: f32[S%d]", i, i);
    gcut_text_add(&f,
                  ", cotan %%dy: f32[%s]) -> (out y: f32[%s], grad b: f32[%s]) {\n"
                  "  %%y = exp(%%b) #must_save\n  %%db = mul(%%y, %%dy)\n  return %%y, %%db\n}\n",
                  size.at, size.at, size.at);
    gcut_module *m = gcut_parse_module(w->env, w->arena, "f.gcut", f.at, strlen(f.at));
    gcut_dim_binding at[SYMBOLS];
    for (int i = 0; i < SYMBOLS; i++)
        at[i] = (gcut_dim_binding){gcut_dim_symbol(m->dims, gcut_printf(w->arena, "S%d", i)), 2};
    gcut_plan_options opt = {.lambda = 0.05,
                             .at = at,
                             .nat = SYMBOLS,
                             .machine = gcut_machine_at(gcut_machine_model_shipped(), 0)};
    gcut_plan *p = gcut_plan_make(m->graphs.at[0], &opt);
    gcut_split(p, "g");
    gcut_verify_module(m);
    for (int i = 0; i < SYMBOLS; i++)
        if (!gcut_graph_find(p->bwd, gcut_printf(w->arena, "x%d", i)))
            fail_msg("nothing binds S%d in the backward graph", i);
}

static void many_symbols(void **state)
{
    world *w = *state;
    must(w->env, many_symbols_body, w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {WITH_FIXTURE(parts_equal_joint), WITH_FIXTURE(roles_and_marks),
                                       WITH_FIXTURE(sizes_are_given), WITH_FIXTURE(several_results),
                                       WITH_FIXTURE(many_symbols)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
