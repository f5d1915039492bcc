/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The public builder: derivatives as ordinary values.
 */
#include "autodiff/autodiff.h"
#include "driver/builder/builder.h"

typedef enum mode { GRAD, VJP, JVP, HVP } mode;

/* One call.  Which lists there are depends on the mode; those of ids have as many members. */
typedef struct grad_job {
    mode mode;
    gcut_here at;
    gcut_graph *g;
    const gcut_val *ys, *dys, *xs, *ts; /* the caller's: ny, ny, nx, nx of them */
    gcut_ref *y, *dy, *x, *t;
    int ny, nx;
    gcut_val *out; /* one for each y of JVP, else for each x */
} grad_job;

static int results(const grad_job *j)
{
    return j->mode == JVP ? j->ny : j->nx;
}

/* ---- checks ---- */

/* Refuses values of graphs around a region: differentiation would treat other captured values as
 * independent. */
static void check_own(const grad_job *j, const gcut_val *v, int n)
{
    for (int k = 0; k < n; k++)
        if (v[k].graph != j->g)
            WRONG(j, NULL,
                  "what is differentiated, and what by, are values of one graph or of one region's body");
}

static void check_floats(const grad_job *j, const gcut_ref *v, int n)
{
    for (int k = 0; k < n; k++)
        if (!gcut_dtype_is_float(gcut_type_of(j->g, v[k])->dtype))
            WRONG(j, NULL, "%s: only float values have derivatives", gcut_builder_show(j->g, v[k]));
}

static void check_types(const grad_job *j, const gcut_ref *v, const gcut_ref *of, int n)
{
    for (int k = 0; k < n; k++)
        if (!gcut_type_equal(gcut_type_of(j->g, v[k]), gcut_type_of(j->g, of[k])))
            WRONG(j, NULL, "%s is not of the type of its value, %s", gcut_builder_show(j->g, v[k]),
                  gcut_builder_show(j->g, of[k]));
}

static void check(const grad_job *j)
{
    const bool loss = j->mode == GRAD || j->mode == HVP;
    check_floats(j, j->y, j->ny);
    check_floats(j, j->x, j->nx);
    if (loss && gcut_type_of(j->g, j->y[0])->rank)
        WRONG(j, NULL, "%s: a loss is a scalar: reduce it with sum or mean first",
              gcut_builder_show(j->g, j->y[0]));
    if (j->dy) check_types(j, j->dy, j->y, j->ny);
    if (j->t) check_types(j, j->t, j->x, j->nx);
}

/* ---- the derivatives ---- */

static void differentiate(grad_job *j, gcut_ref *out)
{
    gcut_build b = {.g = j->g, .loc = gcut_builder_loc(j->at, j->g)};
    const uint32_t ny = (uint32_t)j->ny, nx = (uint32_t)j->nx;
    const gcut_ref *like = j->mode == JVP ? j->y : j->x;
    switch (j->mode) {
    case GRAD: gcut_loss_gradient(j->g, j->y[0], b.loc, j->x, nx, out); break;
    case VJP: gcut_reverse_mode(j->g, j->y, j->dy, ny, j->x, nx, out); break;
    case JVP: gcut_forward_mode(j->g, j->y, ny, j->x, j->t, nx, out); break;
    case HVP: gcut_hessian(j->g, j->y[0], j->x, j->t, nx, out); break;
    }
    /* A parameter that y does not depend on has the derivative 0. */
    for (int k = 0; k < results(j); k++)
        if (!out[k]) out[k] = gcut_bconst(&b, like[k], 0);
}

static gcut_ref *ids(gcut_arena *a, const grad_job *j, const gcut_val *v, int n)
{
    return v ? gcut_builder_refs(a, j->g, v, n) : NULL;
}

static void grad_body(void *arg)
{
    grad_job *j = arg;
    gcut_arena *a = gcut_arena_new(j->g->module->env, j->g->module->arena);
    check_own(j, j->ys, j->ny);
    check_own(j, j->xs, j->nx);
    j->y = ids(a, j, j->ys, j->ny);
    j->dy = ids(a, j, j->dys, j->ny);
    j->x = ids(a, j, j->xs, j->nx);
    j->t = ids(a, j, j->ts, j->nx);
    gcut_ref *out = gcut_calloc(a, (size_t)results(j) + 1, sizeof *out);
    check(j);
    differentiate(j, out);
    for (int k = 0; k < results(j); k++) j->out[k] = gcut_val_of(j->g, out[k]);
    gcut_arena_free(a);
}

static bool is_null(const gcut_val *v, int n)
{
    for (int k = 0; v && k < n; k++)
        if (!v[k].id || !v[k].graph) return true;
    return false;
}

static gcut_graph *graph_of(const gcut_val *v, int n)
{
    for (int k = 0; v && k < n; k++)
        if (v[k].graph) return v[k].graph;
    return NULL;
}

/* Has the call every list of its mode? */
static bool has_lists(const grad_job *j)
{
    static const struct {
        const char *call, *dys, *ts, *out; /* dys, ts NULL: the mode has none */
    } modes[] = {[GRAD] = {"gcut_grad", NULL, NULL, "dxs"},
                 [VJP] = {"gcut_vjp", "dys", NULL, "dxs"},
                 [JVP] = {"gcut_jvp", NULL, "txs", "tys"},
                 [HVP] = {"gcut_hvp", NULL, "vs", "hvs"}};
    const char *function = modes[j->mode].call, *dys = modes[j->mode].dys, *ts = modes[j->mode].ts,
               *out = modes[j->mode].out;
    gcut_graph *g = graph_of(j->ys, j->ny);
    if (!g) g = graph_of(j->xs, j->nx);
    return gcut_builder_list(j->at, g, function, "ys", j->ys, j->ny) &&
           (!dys || gcut_builder_list(j->at, g, function, dys, j->dys, j->ny)) &&
           gcut_builder_list(j->at, g, function, "xs", j->xs, j->nx) &&
           (!ts || gcut_builder_list(j->at, g, function, ts, j->ts, j->nx)) &&
           gcut_builder_list(j->at, g, function, out, j->out, results(j));
}

/* Null operands give null results without an error, as in every call of the builder. */
static void start(grad_job *j)
{
    for (int k = 0; j->out && k < results(j); k++) j->out[k] = (gcut_val){0};
    if (!has_lists(j) || j->ny < 1 || is_null(j->ys, j->ny) || is_null(j->dys, j->ny) ||
        is_null(j->xs, j->nx) || is_null(j->ts, j->nx))
        return;
    j->g = j->ys[0].graph;
    gcut_guard_at(j->at, j->g, grad_body, j);
}

void gcut_grad_at(gcut_here at, gcut_val loss, const gcut_val *xs, int nx, gcut_val *dxs)
{
    start(&(grad_job){.mode = GRAD, .at = at, .ys = &loss, .ny = 1, .xs = xs, .nx = nx, .out = dxs});
}

void gcut_vjp_at(gcut_here at, const gcut_val *ys, const gcut_val *dys, int ny, const gcut_val *xs, int nx,
                 gcut_val *dxs)
{
    start(&(grad_job){.mode = VJP, .at = at, .ys = ys, .dys = dys, .ny = ny, .xs = xs, .nx = nx, .out = dxs});
}

void gcut_jvp_at(gcut_here at, const gcut_val *ys, int ny, const gcut_val *xs, const gcut_val *txs, int nx,
                 gcut_val *tys)
{
    start(&(grad_job){.mode = JVP, .at = at, .ys = ys, .ny = ny, .xs = xs, .ts = txs, .nx = nx, .out = tys});
}

void gcut_hvp_at(gcut_here at, gcut_val loss, const gcut_val *xs, int nx, const gcut_val *vs, gcut_val *hvs)
{
    start(&(grad_job){.mode = HVP, .at = at, .ys = &loss, .ny = 1, .xs = xs, .ts = vs, .nx = nx, .out = hvs});
}
