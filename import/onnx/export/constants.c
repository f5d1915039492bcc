/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Initializers, constants and sizes.  A size is a number, or is computed from the shapes of the model's inputs; each is
 * computed once, in the outermost graph.
 */
#include <string.h>

#include "graph/build.h"
#include "import/onnx/export/writer.h"

/* ---- initializers ---- */

void gcut_onnx_add_initializer(gcut_onnx_writer *w, const char *name, gcut_dtype t, uint32_t rank,
                               const int64_t *dim, const void *data, size_t bytes)
{
    Onnx__TensorProto *x = GCUT_ONNX_MESSAGE(w, Onnx__TensorProto, ONNX__TENSOR_PROTO__INIT);
    x->name = (char *)(uintptr_t)name;
    x->has_data_type = 1;
    x->data_type = gcut_onnx_data_type(t);
    x->n_dims = rank;
    x->dims = gcut_calloc(w->a, rank + 1u, sizeof *x->dims);
    for (uint32_t r = 0; r < rank; r++) x->dims[r] = dim[r];
    *GCUT_PUSH(w->a, &w->initializers) = x;
    *GCUT_PUSH(w->a, &w->data) = (gcut_file_part){data, bytes};
}

/* Equal constants are one tensor. */
static const char *constant(gcut_onnx_writer *w, gcut_dtype t, uint32_t rank, int64_t n, const void *data)
{
    const size_t bytes = (size_t)n * (size_t)gcut_dtype_bytes(t);
    for (uint32_t i = 0; i < w->constants.n; i++) {
        const gcut_onnx_constant_tensor *c = &w->constants.at[i];
        if (c->dtype == t && c->rank == rank && c->n == n && (!bytes || !memcmp(c->data, data, bytes)))
            return c->name;
    }
    const char *name = gcut_onnx_fresh(w, "constant");
    data = gcut_memdup(w->a, data, bytes + 1);
    *GCUT_PUSH(w->a, &w->constants) = (gcut_onnx_constant_tensor){t, rank, n, data, name};
    gcut_onnx_add_initializer(w, name, t, rank, &n, data, bytes);
    return name;
}

const char *gcut_onnx_scalar_of(gcut_onnx_writer *w, gcut_dtype t, gcut_num x)
{
    uint64_t packed[2] = {0};
    const gcut_array a = gcut_array_new(w->a, t, 0, NULL);
    if (gcut_dtype_is_float(t))
        a.u.f[0] = x.f;
    else
        a.u.i[0] = x.is_int ? x.i : gcut_binteger(x.f);
    if (t == GCUT_BOOL) a.u.i[0] = a.u.i[0] != 0;
    gcut_array_store(&a, packed);
    return constant(w, t, 0, 1, packed);
}

const char *gcut_onnx_scalar(gcut_onnx_writer *w, gcut_dtype t, double x)
{
    return gcut_onnx_scalar_of(w, t, (gcut_num){.f = x});
}

const char *gcut_onnx_integers(gcut_onnx_writer *w, const int64_t *x, uint32_t n)
{
    int64_t some[GCUT_MAX_RANK * 2 + 1] = {0};
    GCUT_ASSERT(n <= GCUT_MAX_RANK * 2);
    for (uint32_t k = 0; k < n; k++) some[k] = x[k];
    return constant(w, GCUT_I64, 1, n, some);
}

/* ---- sizes ---- */

static const char *number(gcut_onnx_writer *w, int64_t x)
{
    return gcut_onnx_integers(w, &x, 1);
}

/* The shape of a tensor of the model along one axis. */
static const char *axis_of(gcut_onnx_writer *w, gcut_ref v, uint32_t axis)
{
    const char *symbol = gcut_dim_symbol_name(w->g->module->dims, gcut_type_of(w->g, v)->dim[axis]);
    const char *name = gcut_onnx_fresh(w, gcut_printf(w->a, "size.%s", symbol));
    const char *d = gcut_onnx_put1(w, "Shape", name, w->top->own[v]);
    gcut_onnx_put_int(w, "start", axis);
    gcut_onnx_put_int(w, "end", axis + 1);
    return d;
}

/* Records the tensor of a size, from which later sizes are computed. */
static const char *record_size(gcut_onnx_writer *w, gcut_dim d, const char *name)
{
    *GCUT_PUSH(w->a, &w->size) = name;
    *gcut_map_at(w->a, &w->sizes, (uint64_t)d) = w->size.n;
    return name;
}

static const void *visit_number(void *self, int64_t x)
{
    return number(self, x);
}

static const void *visit_symbol(void *self, gcut_dim symbol)
{
    gcut_onnx_writer *w = self;
    const uint32_t known = gcut_map_get(&w->sizes, (uint64_t)symbol);
    if (known) return w->size.at[known - 1];
    for (uint32_t i = 0; i < w->sized.n; i++) {
        const gcut_type *t = gcut_type_of(w->g, w->sized.at[i]);
        for (uint32_t r = 0; r < t->rank; r++)
            if (t->dim[r] == symbol) return record_size(w, symbol, axis_of(w, w->sized.at[i], r));
    }
    gcut_fail(w->env, GCUT_EUNSUPPORTED, gcut_loc_place(w->g->module, w->g->loc),
              "a size of an ONNX model is one of the shapes of its inputs",
              "no input of @%s has the size %s as an axis of its own", w->g->name,
              gcut_dim_text(w->a, w->g->module->dims, symbol));
}

/* ONNX's Div of integers truncates; its Mod has the sign of the divisor, so a - mod(a, b) is divided exactly. */
static const void *visit_binary(void *self, gcut_dim_op op, const void *a, const void *b, gcut_dim x)
{
    gcut_onnx_writer *w = self;
    int64_t lo = 0, hi;
    if (x != GCUT_DIM_BAD && !gcut_dim_known(x))
        gcut_dim_range(w->g->module->dims, x, w->g->decls.at, w->g->decls.n, &lo, &hi);
    switch (op) {
    case GCUT_DIM_ADD: return gcut_onnx_put2(w, "Add", NULL, a, b);
    case GCUT_DIM_SUB: return gcut_onnx_put2(w, "Sub", NULL, a, b);
    case GCUT_DIM_MUL: return gcut_onnx_put2(w, "Mul", NULL, a, b);
    case GCUT_DIM_MIN: return gcut_onnx_put2(w, "Min", NULL, a, b);
    case GCUT_DIM_MAXOF: return gcut_onnx_put2(w, "Max", NULL, a, b);
    case GCUT_DIM_MOD: return gcut_onnx_put2(w, "Mod", NULL, a, b);
    case GCUT_DIM_CEILDIV:
        a = gcut_onnx_put2(w, "Add", NULL, a, gcut_onnx_put2(w, "Sub", NULL, b, number(w, 1)));
        break;
    case GCUT_DIM_DIV: break;
    }
    if (lo < 0) a = gcut_onnx_put2(w, "Sub", NULL, a, gcut_onnx_put2(w, "Mod", NULL, a, b));
    return gcut_onnx_put2(w, "Div", NULL, a, b);
}

/* Nodes of sizes go to the outermost graph, in front of the node with the subgraph that reads them. */
typedef struct place {
    gcut_onnx_frame *here;
    const char *base;
    gcut_locid loc;
    Onnx__NodeProto *last;
} place;

static place go_to_top(gcut_onnx_writer *w, const char *base)
{
    const place p = {w->here, w->base, w->loc, w->last};
    w->here = w->top;
    w->base = base;
    w->loc = 0;
    return p;
}

static void go_back(gcut_onnx_writer *w, place p)
{
    w->here = p.here;
    w->base = p.base;
    w->loc = p.loc;
    w->last = p.last;
}

const char *gcut_onnx_put_size(gcut_onnx_writer *w, gcut_dim d)
{
    if (gcut_dim_known(d)) return number(w, d);
    const uint32_t known = gcut_map_get(&w->sizes, (uint64_t)d);
    if (known) return w->size.at[known - 1];
    const place back = go_to_top(w, "size");
    const gcut_dim_visitor v = {w, visit_number, visit_symbol, visit_binary};
    const char *name = gcut_dim_visit(w->g->module->dims, d, &v);
    go_back(w, back);
    return record_size(w, d, name);
}

static gcut_onnx_size_list *same_list(gcut_onnx_writer *w, const gcut_dim *d, uint32_t n)
{
    for (uint32_t i = 0; i < w->lists.n; i++)
        if (w->lists.at[i].n == n && !memcmp(w->lists.at[i].d, d, n * sizeof *d)) return &w->lists.at[i];
    return NULL;
}

const char *gcut_onnx_put_sizes(gcut_onnx_writer *w, const gcut_dim *d, uint32_t n)
{
    const char *part[GCUT_MAX_RANK * 2];
    uint32_t parts = 0;
    GCUT_ASSERT(n <= GCUT_MAX_RANK * 2);
    if (!n) return gcut_onnx_integers(w, d, 0);
    const gcut_onnx_size_list *same = same_list(w, d, n);
    if (same) return same->name;
    for (uint32_t k = 0, run; k < n; k += run) {
        for (run = 0; k + run < n && gcut_dim_known(d[k + run]);) run++;
        part[parts++] = run ? gcut_onnx_integers(w, d + k, run) : gcut_onnx_put_size(w, d[k]);
        run += !run;
    }
    if (parts == 1) return part[0];
    const place back = go_to_top(w, "size");
    const char *name = gcut_onnx_put(w, "Concat", gcut_onnx_fresh(w, "shape"), part, parts);
    gcut_onnx_put_int(w, "axis", 0);
    go_back(w, back);
    gcut_onnx_size_list *list = GCUT_PUSH(w->a, &w->lists);
    *list = (gcut_onnx_size_list){.n = n, .name = name};
    memcpy(list->d, d, n * sizeof *d);
    return name;
}

const char *gcut_onnx_put_size_scalar(gcut_onnx_writer *w, gcut_dim d)
{
    if (gcut_dim_known(d)) return gcut_onnx_scalar_of(w, GCUT_I64, (gcut_num){true, d, (double)d});
    uint32_t known = gcut_map_get(&w->scalars, (uint64_t)d);
    if (!known) {
        const char *size = gcut_onnx_put_size(w, d);
        const place back = go_to_top(w, size);
        *GCUT_PUSH(w->a, &w->size) =
            gcut_onnx_put2(w, "Squeeze", NULL, size, gcut_onnx_integers(w, &(int64_t){0}, 1));
        go_back(w, back);
        *gcut_map_at(w->a, &w->scalars, (uint64_t)d) = known = w->size.n;
    }
    return w->size.at[known - 1];
}
