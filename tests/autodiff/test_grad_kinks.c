/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gradients where a function has none: kinks, ties and infinities, as PyTorch
 * has them.
 */
#include "oracle.h"

#include "autodiff/autodiff.h"

/* loss = sum of %y over a parameter %a: f32[4]; the gradient at given points, with d loss = 1. */
typedef struct point {
    const char *body;
    double a[4], want[4];
} point;

static const point points[] = {
    {"%y = relu(%a)", {0, -0.0, 2, -2}, {0, 0, 1, 0}},
    {"%y = abs(%a)", {0, -0.0, 2, -2}, {0, 0, 1, -1}},
    {"%y = max(%a, 1.0:f32[4])", {1, 2, 0, -1}, {0.5, 1, 0, 0}},
    {"%y = min(%a, 1.0:f32[4])", {1, 2, 0, -1}, {0.5, 0, 1, 1}},
    {"%y = max(%a, %a)", {1, 2, 0, -1}, {1, 1, 1, 1}},
    {"%y = clamp(%a, lo=-1, hi=1)", {-1, 1, 1.5, -2}, {1, 1, 0, 0}},
    {"%y = max_reduce(%a)", {3, 1, 3, 3}, {1.0 / 3, 0, 1.0 / 3, 1.0 / 3}},
    {"%y = min_reduce(%a)", {3, 1, 3, 1}, {0, 0.5, 0, 0.5}},
    {"%y = max_reduce(%a)", {-INFINITY, 1, -INFINITY, 0}, {0, 1, 0, 0}},
    {"%y = max_reduce(%a)", {INFINITY, 1, INFINITY, 0}, {0.5, 0, 0.5, 0}},
    {"%y = elu(%a, alpha=2)", {0, 1, -800, 800}, {2, 1, 0, 1}},
    {"%y = elu(%a)", {0, -INFINITY, INFINITY, -0.0}, {1, 0, 1, 1}},
    {"%y = leaky_relu(%a)", {0, 1, -1, -INFINITY}, {0.01, 1, 0.01, 0.01}},
    {"%y = hardsigmoid(%a)", {-3, 3, 0, INFINITY}, {0, 0, 1.0 / 6, 0}},
    {"%y = hardswish(%a)", {-3, 3, 0, 4}, {0, 1, 0.5, 1}},
    {"%y = hardswish(%a)", {-INFINITY, INFINITY, -4, 1.5}, {0, 1, 0, 1}},
    {"%y = prod(%a)", {1, 2, 3, 4}, {24, 12, 8, 6}},
    {"%y = prod(%a)", {0, 2, 3, 4}, {24, 0, 0, 0}},
    {"%y = prod(%a)", {0, 2, 0, 4}, {0, 0, 0, 0}},
    {"%y = cumprod(%a, axis=0)", {2, 0, 3, 4}, {1, 32, 0, 0}},
    {"%y = cumsum(%a, axis=0)", {1, 2, 3, 4}, {4, 3, 2, 1}},
    {"%y = pow(%a, 0.0:f32[4])", {0, 1, 2, -1}, {0, 0, 0, 0}},
    {"%y = pow(%a, 1.0:f32[4])", {0, 1, 2, -1}, {1, 1, 1, 1}},
    {"%y = pow(%a, 2.0:f32[4])", {0, 1, 2, -1}, {0, 2, 4, -2}},
    {"%y = pow(0.0:f32[4], %a)", {0, 1, 2, 3}, {0, 0, 0, 0}},
    {"%y = pow(1.0:f32[4], %a)", {0, 1, 2, -1}, {0, 0, 0, 0}},
    {"%y = sign(%a)", {0, 1, 2, -1}, {0, 0, 0, 0}},
    {"%y = floor(%a)", {0, 1, 0.5, -1}, {0, 0, 0, 0}},
    {"%y = ceil(%a)", {0, 1, 0.5, -1}, {0, 0, 0, 0}},
    {"%y = round(%a)", {0.5, 1.5, 0.25, -0.5}, {0, 0, 0, 0}},
    {"%y = mod(%a, 1.0:f32[4])", {0, 1, 0.5, -1}, {1, 1, 1, 1}},
    {"%s = stop_gradient(%a) %y = mul(%a, %s)", {1, 2, 3, 4}, {1, 2, 3, 4}},
    {"%y = logsumexp(%a)", {0, -INFINITY, 0, -INFINITY}, {0.5, 0, 0.5, 0}},
    {"%y = gelu(%a)", {0, 30, -30, 0}, {0.5, 1, 0, 0.5}},
    {"%y = gelu(%a, approx=\"tanh\")", {0, 30, -30, 0}, {0.5, 1, 0, 0.5}},
    {"%y = silu(%a)", {0, 800, -800, 0}, {0.5, 1, 0, 0.5}},
    {"%y = softplus(%a)", {0, 800, -800, 0}, {0.5, 1, 0, 0.5}},
    {"%y = sigmoid(%a)", {0, 800, -800, 0}, {0.25, 0, 0, 0.25}},
    /* An infinite cotangent does not leak to where the slope is 0. */
    {"%r = relu(%a) %y = div(%r, 0.0:f32[4])", {1, -1, 0, 2}, {INFINITY, 0, 0, INFINITY}},
    {"%m = max_reduce(%a) %z = full(shape=[], value=0.0) %y = div(%m, %z)",
     {3, 1, 2, 0},
     {INFINITY, 0, 0, 0}},
    {"%c = clamp(%a, lo=0, hi=1) %y = div(%c, 0.0:f32[4])", {-1, 0, 1, 2}, {0, INFINITY, INFINITY, 0}},
    /* The slope of log is infinite at 0 and must not leak through the branch that is not taken. */
    {"%p = gt(%a, 0.0:f32[4]) %b = select(%p, %a, 1.0:f32[4]) %l = log(%b) %y = select(%p, %l, %a)",
     {0, 1, 2, -1},
     {1, 1, 0.5, 1}},
    /* Masked scores: softmax over the first two, weighted 1, 2, 3, 4. */
    {"%i = iota(shape=[4], axis=0) %p = lt(%i, 2:i32[4]) %m = select(%p, %a, -inf:f32[4]) %s = softmax(%m, "
     "axis=0) "
     "%f = cast(%i, to=\"f32\") %y = mul(%s, %f)",
     {0, 0, 5, 6},
     {-0.25, 0.25, 0, 0}},
};

/* "1.0:f32[4]" in the body of a point is short for a %cN = full(...) before it. */
static void add_body(gcut_text *t, const char *body)
{
    gcut_text line = {.arena = t->arena};
    int n = 0;
    for (const char *p = body; *p; p++) {
        bool starts = p > body && (p[-1] == ' ' || p[-1] == '(');
        size_t len = starts ? strspn(p, "-.0123456789inf") : 0;
        if (len == 0 || p[len] != ':') {
            gcut_text_addn(&line, p, 1);
            continue;
        }
        gcut_text_add(t, "%%c%d = full(shape=[4], value=%.*s, dtype=\"%.3s\") ", n, (int)len, p, p + len + 1);
        gcut_text_add(&line, "%%c%d", n++);
        p = strchr(p, ']');
    }
    gcut_text_add(t, "%s", line.at);
}

typedef struct point_job {
    gcut_env *env;
    const point *p;
} point_job;

static void check_point(void *arg)
{
    point_job *j = arg;
    gcut_arena *a = gcut_arena_new(j->env, NULL);
    gcut_text t = {.arena = a};
    gcut_text_add(&t, "gcut 1\nfunc @f(param %%a: f32[4]) -> (out loss: f32[]) { ");
    add_body(&t, j->p->body);
    gcut_text_add(&t, " %%loss = sum(%%y) return %%loss }\n");
    gcut_graph *joint = gcut_joint(gcut_parse_module(j->env, a, "point", t.at, t.n)->graphs.at[0], NULL, "j");
    gcut_array at = gcut_array_new(a, GCUT_F32, 1, (int64_t[]){4});
    memcpy(at.u.f, j->p->a, sizeof j->p->a);
    gcut_array *out = run_graph(a, joint, GCUT_EXACT, with_cotangent(a, joint, &at));
    const double *got = out[find_result(joint, GCUT_ROLE_grad, "a")].u.f;
    for (int i = 0; i < 4; i++)
        if (got[i] != j->p->want[i] && !(fabs(got[i] - j->p->want[i]) <= 1e-12))
            fail_msg("%s at %g: %.17g, expected %g", j->p->body, j->p->a[i], got[i], j->p->want[i]);
    gcut_arena_free(a);
}

static void kinks_ties_and_infinities_are_pytorchs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        gcut_env *env = gcut_env_new(NULL, NULL);
        point_job j = {env, &points[i]};
        must(env, check_point, &j);
        gcut_env_free(env);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinks_ties_and_infinities_are_pytorchs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
