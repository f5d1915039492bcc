/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the tests of the interpreter share: a text that is run, or refused, and
 * values compared.
 */
#ifndef GCUT_TESTS_INTERP_H
#define GCUT_TESTS_INTERP_H

#include "harness.h"

#include "interp/interp.h"
#include "passes/passes.h"
#include "graph/verify.h"

#define INF ((double)INFINITY)
#define NaN ((double)NAN)

typedef struct job {
    gcut_env *env;
    const char *text;
    gcut_precision prec;
    const int64_t *sizes; /* of every axis of every parameter; NULL when all are constants */
    const double *in;     /* all parameters, one after the other */
    bool expand;          /* decompose every composite first */
    gcut_array out;
    gcut_graph *ran;
} job;

static inline void set(gcut_array *x, int64_t k, double v)
{
    if (gcut_dtype_is_float(x->dtype))
        x->u.f[k] = v;
    else
        x->u.i[k] = (int64_t)v;
}

static inline double get(const gcut_array *x, int64_t k)
{
    return gcut_dtype_is_float(x->dtype) ? x->u.f[k] : (double)x->u.i[k];
}

static inline void run_body(void *arg)
{
    job *j = arg;
    gcut_arena *a = j->env->arena;
    gcut_module *m = gcut_parse_module(j->env, a, "t.gcut", j->text, strlen(j->text));
    gcut_graph *g = m->graphs.at[0];
    if (j->expand) g = gcut_pass_expand(g, "expanded", NULL);
    gcut_verify(g);
    j->ran = g;
    gcut_array params[8];
    const double *in = j->in;
    const int64_t *size = j->sizes;
    for (uint32_t k = 0; k < g->params.n; k++) {
        const gcut_type *t = gcut_type_of(g, g->params.at[k].value);
        int64_t dim[GCUT_MAX_RANK];
        for (uint32_t r = 0; r < t->rank; r++) dim[r] = size ? *size++ : t->dim[r];
        params[k] = gcut_array_new(a, t->dtype, t->rank, dim);
        for (int64_t i = 0; i < params[k].n; i++) set(&params[k], i, in ? *in++ : 0);
    }
    gcut_interp(g, j->prec, a, params, &j->out, NULL);
}

static inline void run(job *j)
{
    must(j->env, run_body, j);
}

/* Runs what must fail, and checks the status and that the message says all of `words`. */
static inline void refuse(job *j, gcut_status status, int line, const char *const *words)
{
    assert_int_equal(gcut_protect(j->env, run_body, j), status);
    assert_int_equal(j->env->ndiags, 1);
    const gcut_diag *d = &j->env->diags[0];
    assert_int_equal(d->status, status);
    if (line) assert_int_equal(d->at.line, line);
    for (; *words; words++)
        if (!strstr(d->message, *words)) fail_msg("'%s' does not say '%s'", d->message, *words);
    gcut_diags_clear(j->env);
}
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* The state of a test is its environment. */
static inline int setup(void **state)
{
    *state = gcut_env_new(NULL, NULL);
    return *state ? 0 : -1;
}

static inline int teardown(void **state)
{
    gcut_env_free(*state);
    return 0;
}

static inline void check_close(double got, double want, double tol, const char *what, int64_t k)
{
    if (isnan(want) ? isnan(got) : got == want || fabs(got - want) <= tol * fmax(1, fabs(want))) return;
    fail_msg("%s: element %lld is %.17g, expected %.17g", what, (long long)k, got, want);
}

#endif
