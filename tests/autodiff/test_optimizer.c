/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Optimizer steps against PyTorch's (values from tests/reference/optimizer.py)
 * and against the formulas written out in C.
 */
#include "oracle.h"

#include "autodiff/autodiff.h"
#include "base/file.h"

#define NELEM 6

static const struct {
    const char *name, *text;
} cases[] = {
    {"sgd", "sgd(lr=0.01)"},
    {"sgd_decay", "sgd(lr=0.01, weight_decay=0.1)"},
    {"momentum", "momentum(lr=0.003, momentum=0.9, weight_decay=0.01)"},
    {"adamw", "adamw(lr=0.003)"},
    {"adamw_other", "adamw(lr=0.002, beta1=0.8, beta2=0.99, eps=1e-4, weight_decay=0.3)"},
    {"adam", "adamw(lr=3e-3,weight_decay=0)"},
};
#define NCASES (sizeof cases / sizeof *cases)

/* The loss of optimizer.py; w is f32, which the interpreter holds in f64 when it is to be exact. */
static const char program[] =
    "gcut 1\n"
    "func @f(param %w: f32[6], input %c: f32[6], input %d: f32[6]) -> (out loss: f32[]) {\n"
    "  %r = sub(%w, %d) %q = mul(%r, %r) %p = mul(%c, %q) %loss = sum(%p) return %loss\n"
    "}\n";

/* A training run: every step feeds each `next` result back to the parameter of its name. */
typedef struct training {
    gcut_arena *a;
    gcut_graph *g;
    gcut_precision precision;
    gcut_array *at;
} training;

static gcut_graph *step_graph(gcut_env *env, gcut_arena *a, const char *text, const char *optimizer,
                              bool keep)
{
    gcut_optimizer o = gcut_optimizer_parse(env, optimizer);
    o.keep_grads = keep;
    gcut_graph *joint =
        gcut_joint(gcut_parse_module(env, a, "f.gcut", text, strlen(text))->graphs.at[0], NULL, "f.joint");
    gcut_graph *g = gcut_add_updates(joint, &o, "f.step");
    gcut_verify(g);
    return g;
}

static double start(const char *name, int64_t i, double lr)
{
    double x = (double)i;
    if (!strcmp(name, "w")) return sin(0.37 * x);
    if (!strcmp(name, "c")) return 0.05 * (x + 1);
    if (!strcmp(name, "d")) return cos(0.9 * x);
    if (!strcmp(name, "dloss")) return 1;
    if (!strcmp(name, "lr")) return lr;
    return 0; /* states */
}

static training begin(gcut_env *env, gcut_arena *a, const char *optimizer, gcut_precision p)
{
    training t = {.a = a, .g = step_graph(env, a, program, optimizer, false), .precision = p};
    double lr = gcut_optimizer_parse(env, optimizer).lr;
    t.at = gcut_calloc(a, t.g->params.n, sizeof *t.at);
    for (uint32_t k = 0; k < t.g->params.n; k++) {
        gcut_ref v = t.g->params.at[k].value;
        t.at[k] = array_for(a, t.g, gcut_type_of(t.g, v), 0);
        for (int64_t i = 0; i < t.at[k].n; i++) {
            double x = start(t.g->values.at[v].name, i, lr);
            t.at[k].u.f[i] = p == GCUT_STATED ? gcut_round_to(x, GCUT_F32) : x;
        }
    }
    return t;
}

static const double *advance(training *t)
{
    gcut_arena *tmp = gcut_arena_new(gcut_arena_env(t->a), t->a);
    gcut_array *out = run_graph(tmp, t->g, t->precision, t->at);
    uint32_t states = 0;
    for (uint32_t r = 0; r < t->g->results.n; r++) {
        if (t->g->results.at[r].role != GCUT_ROLE_next) continue;
        gcut_array *to = &t->at[find_param(t->g, t->g->results.at[r].name)];
        assert_int_equal(to->n, out[r].n);
        memcpy(to->u.f, out[r].u.f, (size_t)to->n * sizeof(double));
        states++;
    }
    assert_true(states > 0);
    gcut_arena_free(tmp);
    return t->at[find_param(t->g, "w")].u.f;
}

typedef struct job {
    gcut_env *env;
    size_t which;
    bool f32;
} job;

static void close_file(void *f)
{
    fclose(f);
}

/* In f64 a thousand steps differ by their roundings only.  In f32 each step rounds w (|w| < 2) to 2^-24 of
 * itself; the loss contracts, so that errors do not pile up beyond some tens of those. */
static void follow_pytorch(void *arg)
{
    job *j = arg;
    gcut_arena *a = gcut_arena_new(j->env, NULL);
    training t = begin(j->env, a, cases[j->which].text, j->f32 ? GCUT_STATED : GCUT_EXACT);
    FILE *f = fopen(GCUT_SOURCE_DIR "/tests/reference/optimizer.txt", "r");
    assert_non_null(f);
    gcut_arena_defer(a, close_file, f);
    char name[32], dtype[16];
    int step, done = 0, compared = 0;
    double want[NELEM];
    const double *w = NULL, tolerance = j->f32 ? 3e-6 : 1e-11;
    while (fscanf(f, "%31s %15s %d", name, dtype, &step) == 3) {
        for (int i = 0; i < NELEM; i++) assert_int_equal(fscanf(f, "%lf", &want[i]), 1);
        if (strcmp(name, cases[j->which].name) != 0 || strcmp(dtype, j->f32 ? "float32" : "float64") != 0)
            continue;
        while (done < step) w = advance(&t), done++;
        for (int i = 0; i < NELEM; i++, compared++)
            if (!(fabs(w[i] - want[i]) <= tolerance))
                fail_msg("%s %s, step %d, w[%d]: %.17g, PyTorch has %.17g", name, dtype, step, i, w[i],
                         want[i]);
    }
    assert_int_equal(compared, 5 * NELEM);
    gcut_arena_free(a);
}

static void with_env(size_t which, bool f32, void (*body)(void *))
{
    job j = {gcut_env_new(NULL, NULL), which, f32};
    must(j.env, body, &j);
    gcut_env_free(j.env);
}

static void a_thousand_steps_equal_pytorchs(void **state)
{
    (void)state;
    for (size_t i = 0; i < NCASES; i++) with_env(i, false, follow_pytorch);
}

static void a_thousand_f32_steps_follow_pytorchs(void **state)
{
    (void)state;
    for (size_t i = 0; i < NCASES; i++) with_env(i, true, follow_pytorch);
}

/* ---- the formulas in C ---- */

static void formula_step(const gcut_optimizer *o, int t, double *w, double *m, double *v)
{
    for (int i = 0; i < NELEM; i++) {
        double g = 2 * start("c", i, 0) * (w[i] - start("d", i, 0));
        switch (o->kind) {
        case GCUT_OPT_SGD: w[i] -= o->lr * (g + o->weight_decay * w[i]); break;
        case GCUT_OPT_MOMENTUM:
            m[i] = o->momentum * m[i] + g + o->weight_decay * w[i];
            w[i] -= o->lr * m[i];
            break;
        case GCUT_OPT_ADAMW: {
            m[i] = o->beta1 * m[i] + (1 - o->beta1) * g;
            v[i] = o->beta2 * v[i] + (1 - o->beta2) * g * g;
            double mh = m[i] / (1 - pow(o->beta1, t)), vh = v[i] / (1 - pow(o->beta2, t));
            w[i] -= o->lr * (mh / (sqrt(vh) + o->eps) + o->weight_decay * w[i]);
            break;
        }
        case GCUT_OPT_NONE: break;
        }
    }
}

static void follow_formula(void *arg)
{
    job *j = arg;
    gcut_arena *a = gcut_arena_new(j->env, NULL);
    training run = begin(j->env, a, cases[j->which].text, GCUT_EXACT);
    gcut_optimizer o = gcut_optimizer_parse(j->env, cases[j->which].text);
    double w[NELEM], m[NELEM] = {0}, v[NELEM] = {0};
    for (int i = 0; i < NELEM; i++) w[i] = start("w", i, 0);
    for (int t = 1; t <= 50; t++) {
        const double *got = advance(&run);
        formula_step(&o, t, w, m, v);
        for (int i = 0; i < NELEM; i++) assert_true(fabs(got[i] - w[i]) <= 1e-12);
    }
    gcut_arena_free(a);
}

static void steps_equal_the_formulas(void **state)
{
    (void)state;
    for (size_t i = 0; i < NCASES; i++) with_env(i, false, follow_formula);
}

/* ---- the graph ---- */

static const char mixed[] =
    "gcut 1\n"
    "func @f(param %a: f32[2, 3], param %b: bf16[3], param %c: f64[], param %k: i32[2], input %x: f32[2, 3]) "
    "-> "
    "(out loss: f32[]) {\n"
    "  %p = mul(%a, %x) %s = sum(%p) %b32 = cast(%b, to=\"f32\") %t = sum(%b32) %c32 = cast(%c, to=\"f32\")\n"
    "  %u = mul(%s, %t) %loss = mul(%u, %c32) return %loss\n"
    "}\n";

static uint32_t with_role(const gcut_graph *g, gcut_role role)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->results.n; i++) n += g->results.at[i].role == role;
    return n;
}

static void graph_body(void *arg)
{
    job *j = arg;
    gcut_arena *a = gcut_arena_new(j->env, NULL);
    gcut_graph *g = step_graph(j->env, a, mixed, "adamw", false);
    assert_int_equal(with_role(g, GCUT_ROLE_grad), 0);
    /* value, m and v of three; the rest of the bf16 one; the step count */
    assert_int_equal(with_role(g, GCUT_ROLE_next), 3 * 3 + 1 + 1);
    assert_int_equal(g->params.n, 5 + 1 + 1 + 2 * 3 + 1 + 1);
    const gcut_type *v = gcut_type_of(g, g->params.at[find_param(g, "b.v")].value);
    assert_int_equal(v->dtype, GCUT_F32);
    find_result(g, GCUT_ROLE_next, "b.rest");
    assert_int_equal(gcut_type_of(g, g->params.at[find_param(g, "adamw.t")].value)->rank, 0);
    const char *made = g->values.at[g->results.at[find_result(g, GCUT_ROLE_next, "adamw.t")].value].name;
    assert_string_equal(made, "adamw.t.next");
    find_result(g, GCUT_ROLE_next, "a.m");
    find_param(g, "lr");
    /* The scalars stand once per computing dtype, f32 and f64, not once per parameter. */
    uint32_t roots = 0, logs = 0;
    for (uint32_t n = 0; n < g->nodes.n; n++) {
        roots += g->nodes.at[n].op == GCUT_OP_rsqrt;
        logs += g->nodes.at[n].op == GCUT_OP_expm1;
    }
    assert_int_equal(roots, 2);
    assert_int_equal(logs, 4);

    g = step_graph(j->env, a, mixed, "momentum", true);
    assert_int_equal(with_role(g, GCUT_ROLE_grad), 3);
    assert_int_equal(with_role(g, GCUT_ROLE_next), 2 * 3 + 1);
    g = step_graph(j->env, a, mixed, "sgd", false);
    assert_int_equal(with_role(g, GCUT_ROLE_next), 3 + 1);
    g = step_graph(j->env, a, mixed, "none", false);
    assert_int_equal(with_role(g, GCUT_ROLE_grad), 3);
    assert_int_equal(with_role(g, GCUT_ROLE_next), 0);
    gcut_arena_free(a);
}

static void states_scalars_and_results_are_as_documented(void **state)
{
    (void)state;
    with_env(0, false, graph_body);
}

/* ---- the option string ---- */

static void parse_body(void *arg)
{
    job *j = arg;
    gcut_optimizer o = gcut_optimizer_parse(j->env, " adamw ( lr = 3e-4 , beta2=0.95,eps=0 ) ");
    assert_int_equal(o.kind, GCUT_OPT_ADAMW);
    assert_that(o.lr, ==, 3e-4);
    assert_that(o.beta1, ==, 0.9);
    assert_that(o.beta2, ==, 0.95);
    assert_that(o.eps, ==, 0);
    assert_that(o.weight_decay, ==, 0.01);
    o = gcut_optimizer_parse(j->env, "sgd");
    assert_int_equal(o.kind, GCUT_OPT_SGD);
    assert_true(o.weight_decay == 0);
    o = gcut_optimizer_parse(j->env, "momentum()");
    assert_int_equal(o.kind, GCUT_OPT_MOMENTUM);
    assert_that(o.momentum, ==, 0.9);
    assert_true(!o.keep_grads);
    assert_int_equal(gcut_optimizer_parse(j->env, "none").kind, GCUT_OPT_NONE);
}

static const char *const refused[][2] = {
    {"", "unknown optimizer ''"},
    {"adam", "unknown optimizer 'adam'"},
    {"AdamW(lr=1e-3)", "unknown optimizer 'AdamW'"},
    {"adamw(LR=1)", "no key 'LR'"},
    {"sgd(momentum=0.9)", "no key 'momentum'"},
    {"adamw(beta=0.9)", "no key 'beta'"},
    {"adamw(beta1=1)", "beta1=1: must be at least 0 and below 1"},
    {"sgd(lr=-0.5)", "lr=-0.5: must be finite"},
    {"sgd(lr=inf)", "lr=inf: must be finite"},
    {"sgd(lr=nan)", "lr=nan: must be finite"},
    {"sgd(lr=x)", "'lr' needs a number"},
    {"sgd(lr 1)", "expected '=' after optimizer key 'lr'"},
    {"sgd(lr=1, lr=2)", "'lr' is given twice"},
    {"sgd(lr=1", "expected ',' or ')'"},
    {"sgd(lr=1)x", "'x' is left over"},
    {"sgd lr", "'lr' is left over"},
};

static void refuse_body(void *arg)
{
    job *j = arg;
    gcut_optimizer_parse(j->env, refused[j->which][0]);
}

static void option_strings_are_read_or_refused_by_name(void **state)
{
    (void)state;
    with_env(0, false, parse_body);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        job j = {gcut_env_new(NULL, NULL), i, false};
        assert_int_equal(gcut_protect(j.env, refuse_body, &j), GCUT_EUSAGE);
        assert_int_equal(j.env->ndiags, 1);
        if (!strstr(j.env->diags[0].message, refused[i][1]))
            fail_msg("'%s': %s", refused[i][0], j.env->diags[0].message);
        gcut_env_free(j.env);
    }
}

/* ---- what is documented ---- */

typedef struct asked {
    gcut_env *env;
    const char *text;
    gcut_optimizer got;
} asked;

static void ask_body(void *arg)
{
    asked *q = arg;
    q->got = gcut_optimizer_parse(q->env, q->text);
}

/* The hint to a text that is refused. */
static const char *hint_to(gcut_env *env, const char *text)
{
    asked q = {.env = env, .text = text};
    gcut_diags_clear(env);
    assert_int_equal(gcut_protect(env, ask_body, &q), GCUT_EUSAGE);
    assert_non_null(env->diags[0].hint);
    return gcut_strndup(env->arena, env->diags[0].hint, strlen(env->diags[0].hint));
}

static bool same(const gcut_optimizer *a, const gcut_optimizer *b)
{
    return a->kind == b->kind && a->lr == b->lr && a->momentum == b->momentum && a->beta1 == b->beta1 &&
           a->beta2 == b->beta2 && a->eps == b->eps && a->weight_decay == b->weight_decay;
}

/* Row `name` of the table of doc/ir.md has the keys of the parser and no other, each with the value that it
 * has when nothing is written; the manual page has the same row. */
static void check_row(gcut_env *env, const char *ir, const char *man, const char *name)
{
    const char *row = strstr(ir, gcut_printf(env->arena, "\n| `%s` | ", name));
    const char *known = hint_to(env, gcut_printf(env->arena, "%s(no=1)", name)) + strlen("known: ");
    gcut_text keys = {.arena = env->arena}, plain = {.arena = env->arena};
    asked bare = {.env = env, .text = name};
    if (!row) fail_msg("doc/ir.md has no optimizer %s", name);
    assert_int_equal(gcut_protect(env, ask_body, &bare), GCUT_OK);
    row = strstr(row + 4 + strlen(name), "| ") + 2;
    for (const char *end = strchr(row, '|'); (row = strchr(row, '`')) && row < end;) {
        size_t n = strcspn(++row, "`"), k = strcspn(row, "=");
        const char *pair = gcut_strndup(env->arena, row, n);
        asked written = {.env = env, .text = gcut_printf(env->arena, "%s(%s)", name, pair)};
        gcut_text_add(&keys, "%.*s ", (int)k, pair);
        gcut_text_add(&plain, "%s%s", plain.n ? " " : "", pair);
        assert_int_equal(gcut_protect(env, ask_body, &written), GCUT_OK);
        if (!same(&written.got, &bare.got)) fail_msg("%s: %s is no default", name, pair);
        row += n + 1;
    }
    assert_string_equal(keys.at, known);
    if (!strstr(man, gcut_printf(env->arena, ".It Cm %s\n.Ql %s\n", name, plain.at)))
        fail_msg("doc/gradcut.1: %s has not %s", name, plain.at);
}

static void documented_as_parsed(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    size_t size, most = (size_t)1 << 20;
    const char *ir = gcut_file_read(env->arena, GCUT_SOURCE_DIR "/doc/ir.md", most, &size);
    const char *man = gcut_file_read(env->arena, GCUT_SOURCE_DIR "/doc/gradcut.1", most, &size);
    const char *names = hint_to(env, "xxxxxxxxxxxxxxxx");
    char *list = gcut_strndup(env->arena, names, strlen(names));
    int n = 0;
    assert_int_equal(strncmp(names, "known: none ", 12), 0);
    for (char *name = strtok(list + 12, " "); name; name = strtok(NULL, " "), n++)
        check_row(env, ir, man, name);
    assert_true(n >= 3);
    assert_string_equal(hint_to(env, "adam(lr=1)"), "did you mean adamw? known: none sgd momentum adamw");
    assert_string_equal(hint_to(env, "SGD(lr=1)"), "did you mean sgd? known: none sgd momentum adamw");
    assert_string_equal(hint_to(env, "AdamW"), "did you mean adamw? known: none sgd momentum adamw");
    gcut_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thousand_steps_equal_pytorchs),
        cmocka_unit_test(a_thousand_f32_steps_follow_pytorchs),
        cmocka_unit_test(steps_equal_the_formulas),
        cmocka_unit_test(states_scalars_and_results_are_as_documented),
        cmocka_unit_test(option_strings_are_read_or_refused_by_name),
        cmocka_unit_test(documented_as_parsed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
