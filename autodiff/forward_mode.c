/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Forward mode and Hessian-vector products by reverse mode.
 */
#include "autodiff/autodiff.h"
#include "graph/build.h"

static gcut_build at_value(gcut_graph *g, gcut_ref v)
{
    uint32_t def = g->values.at[v].def;
    return (gcut_build){.g = g, .loc = def == GCUT_NONE ? g->loc : gcut_node_at(g, def)->loc};
}

/* The pairs (y[k], dy[k]) with both present. */
typedef struct seeds {
    uint32_t n;
    gcut_ref *y, *dy;
} seeds;

static seeds both(gcut_arena *tmp, const gcut_ref *y, const gcut_ref *dy, uint32_t n)
{
    seeds s = {0, gcut_alloc(tmp, (n + 1u) * sizeof *y), gcut_alloc(tmp, (n + 1u) * sizeof *dy)};
    for (uint32_t k = 0; k < n; k++)
        if (y[k] && dy[k]) {
            s.y[s.n] = y[k];
            s.dy[s.n++] = dy[k];
        }
    return s;
}

/* With J the Jacobian of y by x, the reverse pass computes u -> J' u, which is linear in u.  The reverse
 * pass of that by u, with the cotangent t, computes the transpose of its Jacobian J', that is J t (J.
 * Townsend, "A new trick for calculating Jacobian vector products", 2017; Radul et al., "You only
 * linearize once", 2022, on transposition as the primitive).  Since J' u is linear in u, J t does not
 * depend on the value of u, and all nodes that do are dead. */
void gcut_forward_mode(gcut_graph *g, const gcut_ref *y, uint32_t ny, const gcut_ref *x, const gcut_ref *tx,
                       uint32_t nx, gcut_ref *ty)
{
    gcut_arena *tmp = gcut_arena_new(g->module->env, g->module->arena);
    gcut_ref *u = gcut_alloc(tmp, (ny + 1u) * sizeof *u), *dx = gcut_alloc(tmp, (nx + 1u) * sizeof *dx);
    for (uint32_t k = 0; k < ny; k++) {
        gcut_build b = at_value(g, y[k]);
        u[k] = gcut_bconst(&b, y[k], 0);
    }
    gcut_reverse_mode(g, y, u, ny, x, nx, dx);
    seeds s = both(tmp, dx, tx, nx);
    gcut_reverse_mode(g, s.y, s.dy, s.n, u, ny, ty);
    gcut_arena_free(tmp);
}

/* The Hessian H of a scalar is symmetric: H v = d <dx, v> / dx, the gradient's own VJP. */
void gcut_hessian(gcut_graph *g, gcut_ref loss, const gcut_ref *x, const gcut_ref *v, uint32_t nx,
                  gcut_ref *hv)
{
    gcut_arena *tmp = gcut_arena_new(g->module->env, g->module->arena);
    gcut_ref *dx = gcut_alloc(tmp, (nx + 1u) * sizeof *dx);
    gcut_loss_gradient(g, loss, at_value(g, loss).loc, x, nx, dx);
    seeds s = both(tmp, dx, v, nx);
    gcut_reverse_mode(g, s.y, s.dy, s.n, x, nx, hv);
    gcut_arena_free(tmp);
}
