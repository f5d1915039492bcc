/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The C of convolutions and pools: a description of the window and one call.  The op table's C column says
 * which function, and what each operand and then the result is: x, w or y of kernels/rt/conv/conv.c.
 */
#include <string.h>

#include "gradcut/gradcut_rt.h"
#include "machine/machine.h"
#include "kernels/lower/c_text.h"
#include "kernels/emit/emit.h"
#include "kernels/lower/team.h"

typedef struct window {
    gcut_emitter *e;
    const gcut_graph *g;
    const gcut_node *n;
    const char *function; /* with ":" and the letters behind it */
} window;

static window window_of(const gcut_lowered *h, uint32_t kernel)
{
    const gcut_node *n = gcut_node_at(h->g, h->kernels.at[kernel].nodes.at[0]);
    return (window){NULL, h->g, n, gcut_op_get((gcut_op)n->op)->cexpr};
}

/* The type of x, w or y, whichever operand or result that is. */
static const gcut_type *type_of(const window *v, char letter)
{
    const char *letters = strchr(v->function, ':') + 1, *at = strchr(letters, letter);
    GCUT_ASSERT(at != NULL);
    uint32_t k = (uint32_t)(at - letters);
    return gcut_type_of(v->g, k < v->n->nargs ? gcut_arg(v->g, v->n, k) : v->n->res0);
}

static char result_letter(const window *v)
{
    return v->function[strlen(v->function) - 1];
}

static const char *size(const window *v, gcut_dim d)
{
    return gcut_c_size(v->g->module, d);
}

/* ", .name = {a, b}" of the first two items of a list */
static void pair(const window *v, const char *name, const gcut_dim *d)
{
    gcut_text_add(v->e->body, ", .%s = {%s, %s}", name, size(v, d[0]), size(v, d[1]));
}

static const gcut_dim *list(const window *v, gcut_attr_key key)
{
    const gcut_attr *a = gcut_attr_get(v->g, v->n, key);
    return a ? a->u.dims : NULL;
}

/* The call: operands, result, and `more` arguments. */
static void call(const window *v, const char *more)
{
    gcut_text_add(v->e->body, "    gcut_rt_%.*s_%s(&g", (int)strcspn(v->function, ":"), v->function,
                  gcut_dtype_name(gcut_type_of(v->g, v->n->res0)->dtype));
    for (uint32_t k = 0; k < v->n->nargs; k++) gcut_text_add(v->e->body, ", %s", gcut_emit_operand(v->e, k));
    gcut_text_add(v->e->body, ", %s%s, nt);\n", gcut_emit_result(v->e), more);
}

/* Does the run-time library multiply in tiles? */
static bool in_tiles(const window *v)
{
    return gcut_conv_window(v->g, v->n) == GCUT_WINDOW_tiled;
}

static gcut_dim tiles_workspace(const window *v)
{
    const gcut_type *w = type_of(v, 'w');
    gcut_dim out = w->dim[0] / gcut_attr_get(v->g, v->n, GCUT_KEY_groups)->u.dim, in = w->dim[1];
    gcut_dim images = result_letter(v) == 'y' ? in : result_letter(v) == 'x' ? out : in + out;
    return GCUT_RT_WINOGRAD_W * in * out + GCUT_RT_WINOGRAD_C * images;
}

/* A window of one element, on all of the image: w times x, and w' times y. */
static bool is_product(const window *v)
{
    const gcut_type *w = type_of(v, 'w');
    const gcut_dim *stride = list(v, GCUT_KEY_stride), *pad = list(v, GCUT_KEY_pad);
    for (int d = 0; d < 2; d++)
        if (w->dim[2 + d] != 1 || stride[d] != 1 || pad[2 * d] != 0 || pad[2 * d + 1] != 0) return false;
    return true;
}

/* w in the order of its taps; of x, in that of the taps that a lattice sees, the one that sees most. */
static gcut_dim taps_workspace(const window *v)
{
    const gcut_type *w = type_of(v, 'w');
    gcut_module *m = v->g->module;
    gcut_dim n = gcut_dim_make(m->dims, GCUT_DIM_MUL, w->dim[0], w->dim[1]);
    for (int d = 0; d < 2; d++) {
        gcut_dim every = 1, stride = list(v, GCUT_KEY_stride)[d], dilation = list(v, GCUT_KEY_dilation)[d];
        while (result_letter(v) == 'x' && every * dilation % stride != 0) every++;
        n = gcut_dim_make(m->dims, GCUT_DIM_MUL, n,
                          gcut_dim_make(m->dims, GCUT_DIM_CEILDIV, w->dim[2 + d], every));
    }
    return n;
}

gcut_dim gcut_conv_workspace(const gcut_lowered *h, uint32_t kernel)
{
    window v = window_of(h, kernel);
    const gcut_type *w = type_of(&v, 'w');
    char what = result_letter(&v);
    gcut_dim groups = gcut_attr_get(v.g, v.n, GCUT_KEY_groups)->u.dim, o = w->dim[0];
    bool tapwise = w->dim[1] == 1 && gcut_dim_known(o) && gcut_rt_conv_tapwise(groups, o, groups);
    if (in_tiles(&v)) return tiles_workspace(&v);
    return what == 'w' || tapwise || is_product(&v) ? 0 : taps_workspace(&v);
}

void gcut_emit_conv(gcut_emitter *e)
{
    window v = window_of(e->h, e->kernel);
    v.e = e;
    const gcut_type *x = type_of(&v, 'x'), *w = type_of(&v, 'w'), *y = type_of(&v, 'y');
    uint32_t work = e->h->kernels.at[e->kernel].conv.workspace;
    const char *type = gcut_c_type(x->dtype);
    gcut_text_add(e->body, "    const gcut_rt_conv g = {\n        .n = %s, .c = %s, .h = %s, .w = %s,\n",
                  size(&v, x->dim[0]), size(&v, x->dim[1]), size(&v, x->dim[2]), size(&v, x->dim[3]));
    gcut_text_add(e->body, "        .o = %s, .oh = %s, .ow = %s, .kh = %s, .kw = %s", size(&v, w->dim[0]),
                  size(&v, y->dim[2]), size(&v, y->dim[3]), size(&v, w->dim[2]), size(&v, w->dim[3]));
    pair(&v, "stride", list(&v, GCUT_KEY_stride));
    pair(&v, "pad", list(&v, GCUT_KEY_pad));
    pair(&v, "dilation", list(&v, GCUT_KEY_dilation));
    gcut_text_add(e->body, ", .groups = %s", size(&v, gcut_attr_get(v.g, v.n, GCUT_KEY_groups)->u.dim));
    if (in_tiles(&v)) gcut_text_add(e->body, ", .winograd = 1");
    gcut_text_add(e->body, ",\n    };\n");
    call(&v, work == GCUT_NONE ? ", NULL"
                               : gcut_printf(v.g->module->arena, ", (%s *)%s", type, gcut_c_arg(e, work)));
}

void gcut_emit_pool(gcut_emitter *e)
{
    window v = window_of(e->h, e->kernel);
    v.e = e;
    gcut_module *m = v.g->module;
    const gcut_type *x = type_of(&v, 'x'), *y = type_of(&v, 'y');
    const gcut_dim *stride = list(&v, GCUT_KEY_stride), *tap = list(&v, GCUT_KEY_window);
    gcut_text_add(e->body,
                  "    const gcut_rt_pool g = {\n        .planes = %s, .h = %s, .w = %s, .oh = %s, .ow = %s",
                  size(&v, gcut_dim_make(m->dims, GCUT_DIM_MUL, x->dim[0], x->dim[1])), size(&v, x->dim[2]),
                  size(&v, x->dim[3]), size(&v, y->dim[2]), size(&v, y->dim[3]));
    pair(&v, "window", tap);
    pair(&v, "stride", stride ? stride : tap);
    pair(&v, "pad", list(&v, GCUT_KEY_pad));
    gcut_text_add(e->body, ",\n    };\n");
    call(&v, "");
}
