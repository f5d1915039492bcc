/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Nodes, their attributes, and types.
 */
#include <ctype.h>
#include <string.h>

#include "import/onnx/export/writer.h"

const char *gcut_onnx_fresh(gcut_onnx_writer *w, const char *base)
{
    return gcut_name_set_add(&w->names, base);
}

/* "h1.unsqueeze" */
static const char *helper(gcut_onnx_writer *w, const char *op)
{
    char *name = gcut_printf(w->a, "%s.%s", w->base, op);
    for (char *c = name + strlen(w->base); *c; c++) *c = (char)tolower((unsigned char)*c);
    return gcut_onnx_fresh(w, name);
}

/* Is it the scope, or the last part of it? */
static bool names_scope(const char *scope, const char *out)
{
    const size_t n = strlen(scope), k = strlen(out);
    return n >= k && !strcmp(scope + n - k, out) && (n == k || scope[n - k - 1] == '/');
}

/* "mlp/fc1/matmul" of the tensor mlp.fc1.matmul that is made at the scope mlp/fc1.  A node of another model, which was
 * imported, is the scope of its ops, and keeps its name. */
static const char *node_name(gcut_onnx_writer *w, const char *out)
{
    const gcut_module *m = w->g->module;
    const char *scope = m->locs.at[w->loc].scope, *prefix = gcut_loc_prefix(w->g->module, w->loc);
    const size_t n = strlen(prefix);
    const bool within = scope && n && !strncmp(out, prefix, n - 1);
    if ((within && !out[n - 1]) || (scope && names_scope(scope, out)))
        out = scope;
    else if (within && out[n - 1] == '.' && out[n])
        out = gcut_printf(w->a, "%s/%s", scope, out + n);
    else if (scope && *scope)
        out = gcut_printf(w->a, "%s/%s", scope, out);
    return gcut_name_set_add(&w->node_names, out);
}

const char *gcut_onnx_put(gcut_onnx_writer *w, const char *op, const char *out, const char *const *in,
                          uint32_t n)
{
    Onnx__NodeProto *p = GCUT_ONNX_MESSAGE(w, Onnx__NodeProto, ONNX__NODE_PROTO__INIT);
    p->op_type = (char *)(uintptr_t)op;
    p->n_input = n;
    p->input = gcut_calloc(w->a, n + 1, sizeof *p->input);
    for (uint32_t k = 0; k < n; k++) p->input[k] = (char *)(uintptr_t)in[k];
    *GCUT_PUSH(w->a, w->here->nodes) = w->last = p;
    w->nodes++;
    if (!out) out = helper(w, op);
    p->name = (char *)(uintptr_t)node_name(w, out);
    gcut_onnx_put_output(w, out);
    return out;
}

void gcut_onnx_put_output(gcut_onnx_writer *w, const char *name)
{
    Onnx__NodeProto *p = w->last;
    char **output = gcut_calloc(w->a, p->n_output + 1, sizeof *output);
    if (p->n_output) memcpy(output, p->output, p->n_output * sizeof *output);
    output[p->n_output++] = (char *)(uintptr_t)name;
    p->output = output;
}

static Onnx__AttributeProto *attribute(gcut_onnx_writer *w, const char *key,
                                       Onnx__AttributeProto__AttributeType type)
{
    Onnx__NodeProto *p = w->last;
    Onnx__AttributeProto *a = GCUT_ONNX_MESSAGE(w, Onnx__AttributeProto, ONNX__ATTRIBUTE_PROTO__INIT),
                         **all = gcut_calloc(w->a, p->n_attribute + 1, sizeof *all);
    if (p->n_attribute) memcpy(all, p->attribute, p->n_attribute * sizeof *all);
    all[p->n_attribute++] = a;
    p->attribute = all;
    a->name = (char *)(uintptr_t)key;
    a->has_type = 1;
    a->type = type;
    return a;
}

void gcut_onnx_put_int(gcut_onnx_writer *w, const char *key, int64_t x)
{
    Onnx__AttributeProto *a = attribute(w, key, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
    a->has_i = 1;
    a->i = x;
}

void gcut_onnx_put_float(gcut_onnx_writer *w, const char *key, double x)
{
    Onnx__AttributeProto *a = attribute(w, key, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);
    a->has_f = 1;
    a->f = (float)x;
}

void gcut_onnx_put_text(gcut_onnx_writer *w, const char *key, const char *x)
{
    Onnx__AttributeProto *a = attribute(w, key, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);
    a->has_s = 1;
    a->s = (ProtobufCBinaryData){strlen(x), (uint8_t *)(uintptr_t)x};
}

void gcut_onnx_put_ints(gcut_onnx_writer *w, const char *key, const int64_t *x, size_t n)
{
    Onnx__AttributeProto *a = attribute(w, key, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
    a->n_ints = n;
    a->ints = gcut_calloc(w->a, n + 1, sizeof *a->ints);
    if (n) memcpy(a->ints, x, n * sizeof *x);
}

void gcut_onnx_put_graph(gcut_onnx_writer *w, const char *key, Onnx__GraphProto *x)
{
    attribute(w, key, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH)->g = x;
}

/* ---- types ---- */

const char *gcut_onnx_put_cast(gcut_onnx_writer *w, const char *out, const char *x, gcut_dtype to)
{
    const char *y = gcut_onnx_put1(w, "Cast", out, x);
    gcut_onnx_put_int(w, "to", gcut_onnx_data_type(to));
    return y;
}

gcut_dtype gcut_onnx_computed_in(const char *op, gcut_dtype t)
{
    enum { U8 = 1 << GCUT_U8, I16 = 1 << GCUT_I16, NARROW = U8 | I16 | 1 << GCUT_I8 };
    static const struct {
        const char *op;
        int lacks;
    } all[] = {{"Neg", U8},        {"Relu", U8},       {"ReduceSum", NARROW}, {"ReduceProd", NARROW},
               {"CumSum", NARROW}, {"ReduceMax", I16}, {"ReduceMin", I16}};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if (!strcmp(all[k].op, op) && all[k].lacks >> t & 1) return GCUT_I32;
    return t;
}

int32_t gcut_onnx_data_type(gcut_dtype t)
{
    switch (t) {
    case GCUT_F32: return ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    case GCUT_F64: return ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE;
    case GCUT_F16: return ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16;
    case GCUT_BF16: return ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16;
    case GCUT_I8: return ONNX__TENSOR_PROTO__DATA_TYPE__INT8;
    case GCUT_I16: return ONNX__TENSOR_PROTO__DATA_TYPE__INT16;
    case GCUT_I32: return ONNX__TENSOR_PROTO__DATA_TYPE__INT32;
    case GCUT_I64: return ONNX__TENSOR_PROTO__DATA_TYPE__INT64;
    case GCUT_U8: return ONNX__TENSOR_PROTO__DATA_TYPE__UINT8;
    case GCUT_BOOL: return ONNX__TENSOR_PROTO__DATA_TYPE__BOOL;
    default: GCUT_NEVER("a value has no dtype");
    }
}

Onnx__ValueInfoProto *gcut_onnx_value_info(gcut_onnx_writer *w, const char *name, const gcut_type *t)
{
    Onnx__ValueInfoProto *v = GCUT_ONNX_MESSAGE(w, Onnx__ValueInfoProto, ONNX__VALUE_INFO_PROTO__INIT);
    Onnx__TypeProto *type = GCUT_ONNX_MESSAGE(w, Onnx__TypeProto, ONNX__TYPE_PROTO__INIT);
    Onnx__TypeProto__Tensor *x =
        GCUT_ONNX_MESSAGE(w, Onnx__TypeProto__Tensor, ONNX__TYPE_PROTO__TENSOR__INIT);
    Onnx__TensorShapeProto *shape =
        GCUT_ONNX_MESSAGE(w, Onnx__TensorShapeProto, ONNX__TENSOR_SHAPE_PROTO__INIT);
    v->name = (char *)(uintptr_t)name;
    v->type = type;
    type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    type->tensor_type = x;
    x->has_elem_type = 1;
    x->elem_type = gcut_onnx_data_type(t->dtype);
    x->shape = shape;
    shape->n_dim = t->rank;
    shape->dim = gcut_calloc(w->a, t->rank + 1u, sizeof *shape->dim);
    for (uint32_t r = 0; r < t->rank; r++) {
        Onnx__TensorShapeProto__Dimension *d = shape->dim[r] = GCUT_ONNX_MESSAGE(
            w, Onnx__TensorShapeProto__Dimension, ONNX__TENSOR_SHAPE_PROTO__DIMENSION__INIT);
        if (gcut_dim_known(t->dim[r])) {
            d->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
            d->dim_value = t->dim[r];
        } else {
            d->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
            d->dim_param = (char *)(uintptr_t)gcut_dim_text(w->a, w->g->module->dims, t->dim[r]);
        }
    }
    return v;
}
