/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The public builder: derivatives as ordinary values.
 */
#include "autodiff/autodiff.h"
#include "driver/builder/builder.h"

/* One call; which lists are there depends on the function. */
typedef struct grad_call {
    gcut_here at;
    gcut_graph *g;
    int ny, nx;
    gcut_ref *y, *dy, *x, *t, *out;
} grad_call;

static _Noreturn void refuse(const grad_call *c, const char *what)
{
    gcut_fail(c->g->module->env, GCUT_EUSAGE, (gcut_place){c->at.file, c->at.line, 0}, NULL, "%s", what);
}

static void check_floats(const grad_call *c, const gcut_ref *v, int n)
{
    for (int k = 0; k < n; k++)
        if (!gcut_dtype_is_float(gcut_type_of(c->g, v[k])->dtype))
            refuse(c, gcut_printf(c->g->module->arena, "%s: only float values have derivatives",
                                  gcut_builder_show(c->g, v[k])));
}

static void check_types(const grad_call *c, const gcut_ref *v, const gcut_ref *of, int n)
{
    for (int k = 0; k < n; k++)
        if (!gcut_type_equal(gcut_type_of(c->g, v[k]), gcut_type_of(c->g, of[k])))
            refuse(c, gcut_printf(c->g->module->arena, "%s is not of the type of its value, %s",
                                  gcut_builder_show(c->g, v[k]), gcut_builder_show(c->g, of[k])));
}

static void check_loss(const grad_call *c)
{
    if (gcut_type_of(c->g, c->y[0])->rank)
        refuse(c, gcut_printf(c->g->module->arena, "%s: a loss is a scalar: reduce it with sum or mean first",
                              gcut_builder_show(c->g, c->y[0])));
}

/* A parameter that y does not depend on has the derivative 0. */
static void fill_zeros(const grad_call *c, const gcut_ref *like, int n)
{
    gcut_build b = {.g = c->g, .loc = gcut_loc_file(c->g->module, c->at.file, c->at.line, 0, c->g->scope)};
    for (int k = 0; k < n; k++)
        if (!c->out[k]) c->out[k] = gcut_bconst(&b, like[k], 0);
}

static void do_grad(void *arg)
{
    grad_call *c = arg;
    check_floats(c, c->y, 1);
    check_floats(c, c->x, c->nx);
    check_loss(c);
    gcut_build b = {.g = c->g, .loc = gcut_loc_file(c->g->module, c->at.file, c->at.line, 0, c->g->scope)};
    gcut_ref one = gcut_bconst(&b, c->y[0], 1);
    gcut_backward(c->g, c->y, &one, 1, c->x, (uint32_t)c->nx, c->out);
    fill_zeros(c, c->x, c->nx);
}

static void do_vjp(void *arg)
{
    grad_call *c = arg;
    check_floats(c, c->y, c->ny);
    check_floats(c, c->x, c->nx);
    check_types(c, c->dy, c->y, c->ny);
    gcut_backward(c->g, c->y, c->dy, (uint32_t)c->ny, c->x, (uint32_t)c->nx, c->out);
    fill_zeros(c, c->x, c->nx);
}

static void do_jvp(void *arg)
{
    grad_call *c = arg;
    check_floats(c, c->y, c->ny);
    check_floats(c, c->x, c->nx);
    check_types(c, c->t, c->x, c->nx);
    gcut_forward(c->g, c->y, (uint32_t)c->ny, c->x, c->t, (uint32_t)c->nx, c->out);
    fill_zeros(c, c->y, c->ny);
}

static void do_hvp(void *arg)
{
    grad_call *c = arg;
    check_floats(c, c->y, 1);
    check_floats(c, c->x, c->nx);
    check_loss(c);
    check_types(c, c->t, c->x, c->nx);
    gcut_hessian(c->g, c->y[0], c->x, c->t, (uint32_t)c->nx, c->out);
    fill_zeros(c, c->x, c->nx);
}

/* ---- from handles to ids and back ---- */

typedef struct grad_job {
    gcut_here at;
    void (*body)(void *);
    const gcut_val *y, *dy, *x, *t;
    int ny, nx, nout;
    gcut_val *out;
} grad_job;

static bool is_null(const gcut_val *v, int n)
{
    for (int k = 0; v && k < n; k++)
        if (!v[k].id || !v[k].graph) return true;
    return false;
}

/* Refuses values of graphs around a region: differentiation would treat other captured values as
 * independent. */
static void check_own(const grad_call *c, const gcut_val *v, int n)
{
    for (int k = 0; k < n; k++)
        if (v[k].graph != c->g)
            refuse(c, "what is differentiated, and what by, are values of one graph or of one region's body");
}

static void grad_body(void *arg)
{
    grad_job *j = arg;
    gcut_graph *g = j->y[0].graph;
    gcut_arena *a = gcut_arena_new(g->module->env, g->module->arena);
    grad_call c = {.at = j->at, .g = g, .ny = j->ny, .nx = j->nx};
    check_own(&c, j->y, j->ny);
    check_own(&c, j->x, j->nx);
    c.y = gcut_builder_refs(a, g, j->y, j->ny);
    c.dy = gcut_builder_refs(a, g, j->dy, j->dy ? j->ny : 0);
    c.x = gcut_builder_refs(a, g, j->x, j->nx);
    c.t = gcut_builder_refs(a, g, j->t, j->t ? j->nx : 0);
    c.out = gcut_calloc(a, (size_t)j->nout + 1, sizeof *c.out);
    j->body(&c);
    for (int k = 0; k < j->nout; k++) j->out[k] = (gcut_val){g, c.out[k]};
    gcut_arena_free(a);
}

/* Null operands give null results without an error, as in every call of the builder. */
static void start(grad_job *j)
{
    for (int k = 0; k < j->nout; k++) j->out[k] = (gcut_val){0};
    if (j->ny < 1 || is_null(j->y, j->ny) || is_null(j->dy, j->ny) || is_null(j->x, j->nx) ||
        is_null(j->t, j->nx))
        return;
    gcut_guard_at(j->at, j->y[0].graph, grad_body, j);
}

void gcut_grad_at(gcut_here at, gcut_val loss, const gcut_val *xs, int nx, gcut_val *dxs)
{
    start(&(grad_job){
        .at = at, .body = do_grad, .y = &loss, .ny = 1, .x = xs, .nx = nx, .nout = nx, .out = dxs});
}

void gcut_vjp_at(gcut_here at, const gcut_val *ys, const gcut_val *dys, int ny, const gcut_val *xs, int nx,
                 gcut_val *dxs)
{
    start(&(grad_job){
        .at = at, .body = do_vjp, .y = ys, .dy = dys, .ny = ny, .x = xs, .nx = nx, .nout = nx, .out = dxs});
}

void gcut_jvp_at(gcut_here at, const gcut_val *ys, int ny, const gcut_val *xs, const gcut_val *txs, int nx,
                 gcut_val *tys)
{
    start(&(grad_job){
        .at = at, .body = do_jvp, .y = ys, .ny = ny, .x = xs, .t = txs, .nx = nx, .nout = ny, .out = tys});
}

void gcut_hvp_at(gcut_here at, gcut_val loss, const gcut_val *xs, int nx, const gcut_val *vs, gcut_val *hvs)
{
    start(&(grad_job){
        .at = at, .body = do_hvp, .y = &loss, .ny = 1, .x = xs, .t = vs, .nx = nx, .nout = nx, .out = hvs});
}
