/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The public builder's random values: ops by name, their attributes as text.
 */
#include <stdio.h>

#include "driver/builder.h"

/* before, the sizes between commas, after: written under protection, since a size may be none of the graph's.
 */
typedef struct attrs_job {
    gcut_graph *g;
    const char *before, *after;
    const gcut_shape *shape;
    const char *text;
} attrs_job;

static void write_attrs(void *arg)
{
    attrs_job *j = arg;
    gcut_text t = {.arena = j->g->module->arena};
    gcut_text_add(&t, "%s", j->before);
    for (int d = 0; d < j->shape->rank && d < GCUT_MAX_RANK; d++) {
        if (d) gcut_text_add(&t, ", ");
        gcut_dim_print(j->g->module->dims, j->shape->dim[d], &t);
    }
    gcut_text_add(&t, "%s", j->after);
    j->text = t.at;
}

static gcut_val apply_to_key(gcut_here at, const char *op, gcut_val key, const char *before,
                             const gcut_shape *shape, const char *after)
{
    gcut_graph *g = key.graph;
    attrs_job j = {g, before, after, shape, NULL};
    if (!g || g->failed) return (gcut_val){0};
    if (gcut_guard(g->module->env, write_attrs, &j)) return gcut_apply_at(at, g, op, &key, 1, j.text);
    g->failed = true;
    return (gcut_val){0};
}

static gcut_val draw(gcut_here at, const char *op, gcut_val key, int dtype, const gcut_shape *shape,
                     const char *first, double x, const char *second, double y)
{
    char after[128];
    snprintf(after, sizeof after, "], %s=%.17g, %s=%.17g, dtype=\"%s\"", first, x, second, y,
             dtype < 0 || dtype >= GCUT_NDTYPES ? "?" : gcut_dtype_name((gcut_dtype)dtype));
    return apply_to_key(at, op, key, "shape=[", shape, after);
}

gcut_val gcut_uniform_at(gcut_here at, gcut_val key, int dtype, gcut_shape shape, double lo, double hi)
{
    return draw(at, "uniform", key, dtype, &shape, "lo", lo, "hi", hi);
}

gcut_val gcut_normal_at(gcut_here at, gcut_val key, int dtype, gcut_shape shape, double mean, double std)
{
    return draw(at, "normal", key, dtype, &shape, "mean", mean, "std", std);
}

gcut_val gcut_dropout_at(gcut_here at, gcut_val x, gcut_val key, double p)
{
    char attrs[64];
    gcut_val in[] = {x, key};
    snprintf(attrs, sizeof attrs, "p=%.17g", p);
    return gcut_apply_at(at, gcut_builder_graph(in, 2), "dropout", in, 2, attrs);
}

gcut_val gcut_key_split_at(gcut_here at, gcut_val key, gcut_dim n)
{
    return apply_to_key(at, "key_split", key, "n=", &GCUT_SHAPE(n), "");
}

gcut_val gcut_key_of_at(gcut_here at, gcut_val keys, int i)
{
    char attrs[96];
    snprintf(attrs, sizeof attrs, "start=[%d], limit=[%d]", i, i + 1);
    gcut_val one = gcut_apply_at(at, keys.graph, "slice", &keys, 1, attrs);
    return gcut_reshape_at(at, one, GCUT_SCALAR);
}
