/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The C of convolutions and pools: a description of the window and one call.
 */
#include "kernels/emit/emit.h"
#include "machine/lower/window_roles.h"
#include "machine/machine.h"

typedef struct window {
    gcut_emitter *e;
    const gcut_graph *g;
    const gcut_node *n;
    gcut_window_roles of;
} window;

static window begin(gcut_emitter *e)
{
    const gcut_node *n = gcut_node_at(e->h->g, e->h->kernels.at[e->kernel].nodes.at[0]);
    return (window){e, e->h->g, n, gcut_window_roles_of(e->h->g, n)};
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
    gcut_text_add(v->e->body, "    gcut_rt_%.*s_%s(&g", v->of.length, v->of.function,
                  gcut_dtype_name(gcut_type_of(v->g, v->n->res0)->dtype));
    for (uint32_t k = 0; k < v->n->nargs; k++) gcut_text_add(v->e->body, ", %s", gcut_emit_operand(v->e, k));
    gcut_text_add(v->e->body, ", %s%s, nt);\n", gcut_emit_result(v->e), more);
}

void gcut_emit_conv(gcut_emitter *e)
{
    window v = begin(e);
    const gcut_type *x = v.of.x, *w = v.of.w, *y = v.of.y;
    uint32_t work = e->h->kernels.at[e->kernel].workspace_all;
    const char *type = gcut_c_type(x->dtype);
    gcut_text_add(e->body, "    const gcut_rt_conv g = {\n        .n = %s, .c = %s, .h = %s, .w = %s,\n",
                  size(&v, x->dim[0]), size(&v, x->dim[1]), size(&v, x->dim[2]), size(&v, x->dim[3]));
    gcut_text_add(e->body, "        .o = %s, .oh = %s, .ow = %s, .kh = %s, .kw = %s", size(&v, w->dim[0]),
                  size(&v, y->dim[2]), size(&v, y->dim[3]), size(&v, w->dim[2]), size(&v, w->dim[3]));
    pair(&v, "stride", list(&v, GCUT_KEY_stride));
    pair(&v, "pad", list(&v, GCUT_KEY_pad));
    pair(&v, "dilation", list(&v, GCUT_KEY_dilation));
    gcut_text_add(e->body, ", .groups = %s", size(&v, gcut_attr_get(v.g, v.n, GCUT_KEY_groups)->u.dim));
    if (gcut_conv_window(v.g, v.n) == GCUT_WINDOW_tiled) gcut_text_add(e->body, ", .winograd = 1");
    gcut_text_add(e->body, ",\n    };\n");
    call(&v, work == GCUT_NONE ? ", NULL"
                               : gcut_printf(v.g->module->arena, ", (%s *)%s", type, gcut_c_arg(e, work)));
}

void gcut_emit_pool(gcut_emitter *e)
{
    window v = begin(e);
    gcut_module *m = v.g->module;
    const gcut_type *x = v.of.x, *y = v.of.y;
    const gcut_dim *stride = list(&v, GCUT_KEY_stride), *tap = list(&v, GCUT_KEY_window);
    gcut_text_add(e->body,
                  "    const gcut_rt_pool g = {\n        .planes = %s, .h = %s, .w = %s, .oh = %s, .ow = %s",
                  size(&v, gcut_dim_times(m, x->dim[0], x->dim[1])), size(&v, x->dim[2]), size(&v, x->dim[3]),
                  size(&v, y->dim[2]), size(&v, y->dim[3]));
    pair(&v, "window", tap);
    pair(&v, "stride", stride ? stride : tap);
    pair(&v, "pad", list(&v, GCUT_KEY_pad));
    gcut_text_add(e->body, ",\n    };\n");
    call(&v, "");
}
