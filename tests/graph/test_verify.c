/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The verifier: a sound module passes, and each way to break one invariant on
 * purpose is reported as that invariant at its place.
 */
#include "harness.h"

#include "passes/passes.h"
#include "graph/verify.h"

/* Forward and backward graph of a step whose nodes, types, names and results give every invariant something
 * to say. */
static const char sound[] =
    "gcut 1\n"
    "func @fwd[N in 1..64, M in 2.. mult 2](param %w: f32[4, 3], state %c: f32[3], "
    "input %x: f32[N, 4], input %i: i32[M]) "
    "-> (out y: f32[N, 3], saved h: f32[N, 3]) {\n"
    "  %h: f32[N, 3] = matmul(%x, %w) !1\n"
    "  %s: f32[3] = sum(%h, axes=[0]) !2\n"
    "  %b: f32[N, 3] = broadcast(%s, shape=[N, 3], axes=[1]) !3\n"
    "  %y: f32[N, 3] = add(%h, %b) !4\n"
    "  %k: f32[3] = add(%c, %s) !5\n"
    "  return %y, %h\n"
    "}\n"
    "func @bwd[N in 1..64](param %w: f32[4, 3], state %c: f32[3], input %x: f32[N, 4], saved %h: "
    "f32[N, 3], cotan %dy: f32[N, 3]) -> (grad w: f32[4, 3], next c: f32[3], next w: f32[4, 3]) {\n"
    "  %p: f32[N, 3] = mul(%h, %dy) !4\n"
    "  %g: f32[4, 3] = matmul(%x, %p, ta=true) !1\n"
    "  %n: f32[3] = neg(%c) !5\n"
    "  return %g, %n, %w\n"
    "}\n"
    "pair @step = (@fwd, @bwd)\n"
    "loc !1 = \"m.c\":11:1\n"
    "loc !2 = \"m.c\":12:1\n"
    "loc !3 = grad(!2)\n"
    "loc !4 = \"m.c\":14:1\n"
    "loc !5 = \"m.c\":15:1\n";

typedef struct job {
    gcut_env *env;
    gcut_module *m;
    gcut_graph *fwd, *bwd;
    void (*breakage)(struct job *);
} job;

static void prepare(void *arg)
{
    job *j = arg;
    j->m = gcut_parse_module(j->env, j->env->arena, "t.gcut", sound, strlen(sound));
    j->fwd = gcut_module_find(j->m, "fwd");
    j->bwd = gcut_module_find(j->m, "bwd");
    gcut_verify_module(j->m);
    gcut_verify(j->fwd);
    gcut_verify(j->bwd);
    j->breakage(j);
}

static void verify_body(void *arg)
{
    gcut_verify_module(((job *)arg)->m);
}

/* ---- ways to break things; node k of @fwd is the k-th line ---- */

static gcut_node *node(job *j, uint32_t k)
{
    return &j->fwd->nodes.at[k];
}
static gcut_value *value(job *j, const char *name)
{
    return &j->fwd->values.at[gcut_graph_find(j->fwd, name)];
}
/* The type of a value, of its own: types are shared. */
static gcut_type *own_type(job *j, const char *name)
{
    gcut_value *v = value(j, name);
    gcut_type *t = gcut_memdup(j->fwd->module->arena, v->type, sizeof *t);
    v->type = t;
    return t;
}
static gcut_ref *arg_of(job *j, uint32_t n, uint32_t k)
{
    return &j->fwd->args.at[node(j, n)->arg0 + k];
}
static gcut_attr *attr_of(job *j, uint32_t n, uint32_t k)
{
    return &j->fwd->attrs.at[node(j, n)->attr0 + k];
}

static void later_operand(job *j)
{
    *arg_of(j, 3, 1) = gcut_graph_find(j->fwd, "k");
}
static void own_operand(job *j)
{
    *arg_of(j, 3, 1) = gcut_graph_find(j->fwd, "y");
}
static void no_operand(job *j)
{
    *arg_of(j, 3, 1) = 0;
}
static void wild_operand(job *j)
{
    *arg_of(j, 3, 1) = 4000000000;
}
static void wild_args(job *j)
{
    node(j, 3)->arg0 = 4000000000;
}

static void wild_op(job *j)
{
    node(j, 3)->op = GCUT_NOPS + 7;
}
static void too_few(job *j)
{
    node(j, 3)->nargs = 1;
}
static void too_many(job *j)
{
    node(j, 1)->nargs = 2;
}
static void lacks_attr(job *j)
{
    node(j, 2)->nattrs = 1;
}
static void foreign_attr(job *j)
{
    *attr_of(j, 2, 1) = gcut_attr_real(GCUT_KEY_eps, 1);
}
static void wrong_kind(job *j)
{
    attr_of(j, 2, 0)->kind = GCUT_ATTR_KIND_BOOL;
}
static void unsorted(job *j)
{
    gcut_attr first = *attr_of(j, 2, 0);
    *attr_of(j, 2, 0) = *attr_of(j, 2, 1);
    *attr_of(j, 2, 1) = first;
}
static void default_stated(job *j)
{
    uint32_t at = j->fwd->attrs.n;
    gcut_attr axes = *attr_of(j, 1, 0);
    *GCUT_PUSH(j->m->arena, &j->fwd->attrs) = axes;
    *GCUT_PUSH(j->m->arena, &j->fwd->attrs) = gcut_attr_bool(GCUT_KEY_keep, false);
    node(j, 1)->attr0 = at;
    node(j, 1)->nattrs = 2;
}
static void wild_attrs(job *j)
{
    node(j, 2)->attr0 = 4000000000;
}

static void wrong_dtype(job *j)
{
    own_type(j, "s")->dtype = GCUT_F64;
}
static void wrong_dim(job *j)
{
    own_type(j, "k")->dim[0] = 5;
}
static void wrong_rank(job *j)
{
    own_type(j, "k")->rank = 0;
}
static void refused(job *j)
{
    *arg_of(j, 0, 0) = gcut_graph_find(j->fwd, "i");
}
static void wrong_def(job *j)
{
    value(j, "k")->index = 3;
}
/* 3 and N may be equal, but no check says so. */
static void lost_check(job *j)
{
    gcut_type t = {.dtype = GCUT_F32, .rank = 1, .dim = {gcut_dim_symbol(j->m->dims, "N")}};
    *arg_of(j, 4, 1) = gcut_param_new(j->fwd, GCUT_ROLE_input, "z", &t);
}

static void same_name(job *j)
{
    value(j, "k")->name = value(j, "s")->name;
}
static void empty_name(job *j)
{
    value(j, "k")->name = "";
}
static void unentered_name(job *j)
{
    value(j, "k")->name = gcut_intern_name(j->m, "unentered");
}
static void odd_name(job *j)
{
    value(j, "k")->name = "a-b";
}

static void undeclared(job *j)
{
    j->fwd->decls.at[1].sym = gcut_dim_symbol(j->m->dims, "Q");
}
static void empty_range(job *j)
{
    j->fwd->decls.at[1].hi = 1;
}
static void no_multiple(job *j)
{
    j->fwd->decls.at[1].mult = 0;
}
static void no_symbol(job *j)
{
    j->fwd->decls.at[1].sym = 3;
}
static void declared_twice(job *j)
{
    gcut_dim_decl again = j->fwd->decls.at[0];
    *GCUT_PUSH(j->m->arena, &j->fwd->decls) = again;
}
static void wild_result(job *j)
{
    j->fwd->results.at[0].value = 4000000000;
}
static void same_result(job *j)
{
    j->bwd->results.at[2].name = j->bwd->results.at[1].name;
}
static void param_role(job *j)
{
    j->fwd->results.at[0].role = GCUT_ROLE_input;
}
static void result_role(job *j)
{
    j->fwd->params.at[3].role = GCUT_ROLE_next;
}
static void next_of_input(job *j)
{
    j->bwd->results.at[1].name = gcut_intern_name(j->m, "x");
}
static void next_type(job *j)
{
    j->bwd->results.at[1].value = gcut_graph_find(j->bwd, "p");
}
static void grad_of_none(job *j)
{
    j->fwd->results.at[0].role = GCUT_ROLE_grad;
    j->fwd->results.at[0].name = gcut_intern_name(j->m, "none");
}

static void wild_loc(job *j)
{
    node(j, 3)->loc = 77;
}
static void circular_loc(job *j)
{
    gcut_loc *l = &j->m->locs.at[node(j, 2)->loc];
    assert_true(l->call);
    assert_that(l->nargs, ==, 1);
    l->args = gcut_memdup(j->m->arena, &node(j, 2)->loc, sizeof *l->args);
}

/* A region where the op has none, with a body of its own. */
static void stray_region(job *j)
{
    *GCUT_PUSH(j->m->arena, &j->fwd->regions) = (gcut_region){gcut_body_new(j->fwd)};
    node(j, 1)->nregs = 1;
}
static void wild_regions(job *j)
{
    node(j, 1)->nregs = 1;
    node(j, 1)->reg0 = 4000000000;
}
/* The last node of @fwd becomes one that only a damaged module has. */
static gcut_node *with_region(job *j, gcut_op op, gcut_graph *body)
{
    gcut_node *n = node(j, 4);
    n->op = (uint16_t)op;
    n->reg0 = j->fwd->regions.n;
    n->nregs = 1;
    *GCUT_PUSH(j->m->arena, &j->fwd->regions) = (gcut_region){body};
    return n;
}
static void call_of_a_body(job *j)
{
    with_region(j, GCUT_OP_call, gcut_body_new(j->fwd));
}
static void function_as_body(job *j)
{
    with_region(j, GCUT_OP_while, j->bwd);
}
static void missing_region(job *j)
{
    with_region(j, GCUT_OP_while, gcut_body_new(j->fwd))->nregs = 0;
}
/* A loop in a body in a loop whose condition is the first body again. */
static void circular_body(job *j)
{
    gcut_graph *body[2] = {gcut_body_new(j->fwd), gcut_body_new(j->fwd)};
    gcut_type t = {.dtype = GCUT_BOOL};
    with_region(j, GCUT_OP_while, body[0])->nargs = 1;
    for (int k = 0; k < 2; k++) {
        gcut_ref v = gcut_param_new(body[k], GCUT_ROLE_input, "p", &t);
        *GCUT_PUSH(j->m->arena, &body[k]->args) = v;
        *GCUT_PUSH(j->m->arena, &body[k]->regions) = (gcut_region){body[1 - k]};
        *GCUT_PUSH(j->m->arena, &body[k]->nodes) =
            (gcut_node){.op = GCUT_OP_while, .nargs = 1, .nregs = 1, .loc = node(j, 4)->loc};
    }
}
static void wild_captures(job *j)
{
    node(j, 1)->ncaptured = 9;
}

static void adjoint_of_no_scan(job *j)
{
    gcut_mark_add(j->m->arena, &node(j, 1)->marks, (gcut_mark){GCUT_MARK_adjoint, 1, {{.i = 1}}});
}
static void saved_type(job *j)
{
    j->fwd->results.at[1].value = gcut_graph_find(j->fwd, "x");
}
static void saved_unknown(job *j)
{
    j->fwd->results.at[1].name = gcut_intern_name(j->m, "other");
}
static void saved_missing(job *j)
{
    j->fwd->results.at[1].role = GCUT_ROLE_out;
}
static void bwd_grad(job *j)
{
    j->bwd->results.at[0].name = gcut_intern_name(j->m, "nobody");
}
static void pair_of_none(job *j)
{
    j->m->pairs.at[0].bwd = "gone";
}

typedef struct row {
    const char *name;
    void (*breakage)(job *);
    const char *rule;
    int line; /* where, in m.c; 0 = anywhere */
} row;

#define ROW(fn, rule, line)                                                                                  \
    {                                                                                                        \
#fn, fn, rule, line                                                                                  \
    }
static const row rows[] = {
    ROW(later_operand, "G1", 14),  ROW(own_operand, "G1", 14),      ROW(no_operand, "G1", 14),
    ROW(wild_operand, "G1", 14),   ROW(wild_args, "G1", 14),        ROW(wild_op, "G2", 14),
    ROW(too_few, "G2", 14),        ROW(too_many, "G2", 12),         ROW(lacks_attr, "G2", 12),
    ROW(foreign_attr, "G2", 12),   ROW(wrong_kind, "G2", 12),       ROW(unsorted, "G2", 12),
    ROW(default_stated, "G2", 12), ROW(wild_attrs, "G2", 12),       ROW(wrong_dtype, "G3", 12),
    ROW(wrong_dim, "G3", 15),      ROW(wrong_rank, "G3", 15),       ROW(refused, "G3", 11),
    ROW(wrong_def, "G3", 15),      ROW(lost_check, "G3", 15),       ROW(same_name, "G4", 15),
    ROW(empty_name, "G4", 15),     ROW(unentered_name, "G4", 15),   ROW(odd_name, "G4", 15),
    ROW(undeclared, "G5", 0),      ROW(empty_range, "G5", 0),       ROW(no_multiple, "G5", 0),
    ROW(no_symbol, "G5", 0),       ROW(declared_twice, "G5", 0),    ROW(wild_result, "G6", 0),
    ROW(same_result, "G6", 0),     ROW(param_role, "G6", 0),        ROW(result_role, "G6", 0),
    ROW(next_of_input, "G6", 0),   ROW(next_type, "G6", 0),         ROW(grad_of_none, "G6", 0),
    ROW(wild_loc, "G7", 0),        ROW(circular_loc, "G7", 0),      ROW(stray_region, "G8", 12),
    ROW(call_of_a_body, "G8", 15), ROW(function_as_body, "G8", 15), ROW(circular_body, "G8", 0),
    ROW(missing_region, "G3", 15), ROW(wild_captures, "G8", 12),    ROW(wild_regions, "G8", 12),
    ROW(saved_type, "G9", 0),      ROW(saved_unknown, "G9", 0),     ROW(saved_missing, "G9", 0),
    ROW(bwd_grad, "G9", 0),        ROW(pair_of_none, "G9", 0),      ROW(adjoint_of_no_scan, "G10", 12),
};

/* Some breakages break two invariants, or let the shape rule speak as well: one report must name the rule. */
static bool reported(const gcut_env *env, const row *r)
{
    for (uint32_t i = 0; i < env->ndiags; i++)
        if (strstr(env->diags[i].message, gcut_printf(env->arena, "breaks invariant %s:", r->rule)) &&
            (!r->line || (env->diags[i].at.line == r->line && !strcmp(env->diags[i].at.file, "m.c"))))
            return true;
    return false;
}

static void print_all(const gcut_env *env)
{
    for (uint32_t i = 0; i < env->ndiags; i++) fputs(gcut_diag_text(env->arena, &env->diags[i]), stderr);
}

static void breakages(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        job j = {.env = gcut_env_new(NULL, NULL), .breakage = rows[i].breakage};
        must(j.env, prepare, &j);
        assert_int_equal(j.env->ndiags, 0);
        gcut_status s = gcut_protect(j.env, verify_body, &j);
        if (s != GCUT_ETYPE || !reported(j.env, &rows[i])) {
            print_all(j.env);
            fail_msg("%s: status %d and no report of %s", rows[i].name, (int)s, rows[i].rule);
        }
        gcut_env_free(j.env);
    }
}

static void two_faults(job *j)
{
    odd_name(j);
    wrong_dtype(j);
    wild_loc(j);
}

static void all_are_reported(void **state)
{
    (void)state;
    job j = {.env = gcut_env_new(NULL, NULL), .breakage = two_faults};
    must(j.env, prepare, &j);
    assert_int_equal(gcut_protect(j.env, verify_body, &j), GCUT_ETYPE);
    const row want[] = {{"", NULL, "G3", 12}, {"", NULL, "G4", 15}, {"", NULL, "G7", 0}};
    for (int k = 0; k < 3; k++) assert_true(reported(j.env, &want[k]));
    gcut_env_free(j.env);
}

/* Verifying adds nothing to the graph and leaves no growing memory of note behind: a hundred rounds agree. */
static void is_pure_body(job *j)
{
    uint32_t checks = j->fwd->checks.n, nodes = j->fwd->nodes.n, values = j->fwd->values.n;
    for (int k = 0; k < 100; k++) gcut_verify(j->fwd);
    assert_int_equal(j->fwd->checks.n, checks);
    assert_int_equal(j->fwd->nodes.n, nodes);
    assert_int_equal(j->fwd->values.n, values);
    assert_int_equal(j->env->ndiags, 0);
}

static void is_pure(void **state)
{
    (void)state;
    job j = {.env = gcut_env_new(NULL, NULL), .breakage = is_pure_body};
    must(j.env, prepare, &j);
    gcut_env_free(j.env);
}

/* Each of a `saved` value, a mark and a pair says by itself which graph of a split a function is. */
static void parts_body(void *arg)
{
    static const char text[] =
        "gcut 1\n"
        "func @plain(input %x: f32[]) -> (out y: f32[]) {\n  return %x\n}\n"
        "func @saves(input %x: f32[]) -> (out y: f32[], saved x: f32[]) {\n  return %x, %x\n}\n"
        "func @takes(saved %x: f32[], input %z: f32[]) -> (out y: f32[]) {\n  return %x\n}\n"
        "func @fmarked(input %x: f32[]) -> (out y: f32[]) #fwd {\n  return %x\n}\n"
        "func @bmarked(input %x: f32[]) -> (out y: f32[]) #bwd {\n  return %x\n}\n"
        "func @fpaired(input %x: f32[]) -> (out y: f32[]) {\n  return %x\n}\n"
        "func @bpaired(input %x: f32[]) -> (out z: f32[] #late) {\n  return %x\n}\n"
        "pair @step = (@fpaired, @bpaired)\n";
    static const struct {
        const char *name;
        bool forward, backward;
    } want[] = {{"plain", false, false},  {"saves", true, false},   {"takes", false, true},
                {"fmarked", true, false}, {"bmarked", false, true}, {"fpaired", true, false},
                {"bpaired", false, true}};
    gcut_env *env = arg;
    const gcut_module *m = gcut_parse_module(env, env->arena, "t.gcut", text, strlen(text));
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        const gcut_graph *g = gcut_module_find(m, want[i].name);
        if (gcut_is_forward(g) != want[i].forward || gcut_is_backward(g) != want[i].backward)
            fail_msg("@%s: forward %d, backward %d", want[i].name, gcut_is_forward(g), gcut_is_backward(g));
    }
}

static void parts_of_a_split(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    must(env, parts_body, env);
    gcut_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(breakages),
        cmocka_unit_test(all_are_reported),
        cmocka_unit_test(is_pure),
        cmocka_unit_test(parts_of_a_split),
    };
    return cmocka_run_group_tests_name("verify", tests, NULL, NULL);
}
