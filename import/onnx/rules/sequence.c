/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sequences of tensors, whose length and indices are known at import: lists of values, which become no ops.  PyTorch's
 * exporter writes them for torch.split.
 */
#include <string.h>

#include "import/onnx/rules.h"
#include "import/onnx/scope.h"

static gcut_onnx_sequence *new_sequence(gcut_onnx_node *n, size_t length)
{
    gcut_onnx_sequence *s = gcut_calloc(n->o->arena, 1, sizeof *s);
    s->n = (uint32_t)length;
    s->at = gcut_calloc(n->o->arena, length + 1, sizeof *s->at);
    return s;
}

static void set_sequence(gcut_onnx_node *n, const gcut_onnx_sequence *s)
{
    if (gcut_onnx_wants(n, 0)) gcut_onnx_define(n->o, n->scope, n->p->output[0])->sequence = s;
}

static const gcut_onnx_sequence *sequence(gcut_onnx_node *n, uint32_t i)
{
    const gcut_onnx_value *v = gcut_onnx_input(n, i);
    if (!v->sequence) GCUT_ONNX_WRONG(n, "expected a sequence, input %u is '%s'", (unsigned)i, v->name);
    return v->sequence;
}

/* An index in 0..limit-1, which may be counted from the end of the sequence s. */
static uint32_t place(gcut_onnx_node *n, uint32_t i, const gcut_onnx_sequence *s, uint32_t limit)
{
    const gcut_array *x = gcut_onnx_need(n, i, "the index in a sequence");
    if (gcut_dtype_is_float(x->dtype) || x->n != 1 || gcut_onnx_is_symbolic(x->u.i[0]))
        GCUT_ONNX_WRONG(n, "expected one integer as the index in a sequence");
    const int64_t at = x->u.i[0] < 0 ? x->u.i[0] + s->n : x->u.i[0];
    if (at < 0 || at >= limit)
        GCUT_ONNX_WRONG(n, "there is no index %lld in a sequence of %u", (long long)x->u.i[0],
                        (unsigned)s->n);
    return (uint32_t)at;
}

/* Input i as an element: an initializer becomes a parameter once, however many copies of the value there are. */
static gcut_onnx_value *element(gcut_onnx_node *n, uint32_t i)
{
    gcut_onnx_value *v = gcut_onnx_input(n, i);
    if (v->sequence) GCUT_ONNX_UNSUPPORTED(n, "sequences of sequences are not supported");
    gcut_onnx_need_parameter(n->o, v);
    return v;
}

static gcut_onnx_value *part(gcut_onnx_node *n, gcut_ref x)
{
    gcut_onnx_value *v = gcut_calloc(n->o->arena, 1, sizeof *v);
    v->name = "a part of a sequence";
    v->g = n->b.g;
    v->ref = x;
    return v;
}

void gcut_onnx_split_to_sequence(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0);
    const gcut_type t = gcut_onnx_type(n, x);
    const uint32_t axis = gcut_onnx_axis(n, gcut_onnx_int(n, "axis", 0), t.rank);
    const gcut_array *sizes = gcut_onnx_has(n, 1) ? gcut_onnx_need(n, 1, "split") : NULL;
    const bool listed = sizes && sizes->rank == 1,
               drops = !sizes && !gcut_onnx_int(n, "keepdims", 1); /* the axis of the parts */
    if (sizes && (gcut_dtype_is_float(sizes->dtype) || sizes->rank > 1))
        GCUT_ONNX_WRONG(n, "expected a list of integers for 'split'");
    int64_t each = sizes && !listed ? sizes->u.i[0] : 1;
    if (!listed && (!gcut_dim_known(t.dim[axis]) || gcut_onnx_is_symbolic(each)))
        GCUT_ONNX_UNSUPPORTED(n, "the length of a sequence must be known at import");
    if (each < 1) GCUT_ONNX_WRONG(n, "expected parts of 1 or more, found %lld", (long long)each);
    const int64_t length = listed ? sizes->n : t.dim[axis] / each + (t.dim[axis] % each != 0);
    gcut_onnx_count_nodes(n->o, (uint64_t)length); /* before they take memory */
    gcut_onnx_sequence *s = new_sequence(n, (size_t)length);
    gcut_dim at = 0;
    for (uint32_t k = 0; k < s->n; k++) {
        gcut_dim end =
            gcut_onnx_dim(n, GCUT_DIM_ADD, at, listed ? gcut_onnx_need_size(n, sizes->u.i[k]) : each);
        if (!listed && k + 1 == s->n) end = t.dim[axis];
        const gcut_ref y = gcut_onnx_slice(n, x, axis, at, end, 1);
        s->at[k] = part(n, drops ? gcut_onnx_remove_axis(n, y, axis) : y);
        at = end;
    }
    gcut_dim_require(n->b.g, at, t.dim[axis], n->b.loc, n->p->op_type);
    set_sequence(n, s);
}

void gcut_onnx_sequence_construct(gcut_onnx_node *n)
{
    gcut_onnx_sequence *s = new_sequence(n, n->p->n_input);
    for (uint32_t k = 0; k < s->n; k++) s->at[k] = element(n, k);
    set_sequence(n, s);
}

void gcut_onnx_sequence_at(gcut_onnx_node *n)
{
    const gcut_onnx_sequence *s = sequence(n, 0);
    gcut_onnx_value *v = s->at[place(n, 1, s, s->n)];
    if (gcut_onnx_wants(n, 0)) gcut_onnx_define_as(n->o, n->scope, n->p->output[0], v);
}

void gcut_onnx_sequence_insert(gcut_onnx_node *n)
{
    const gcut_onnx_sequence *old = sequence(n, 0);
    const uint32_t at = gcut_onnx_has(n, 2) ? place(n, 2, old, old->n + 1) : old->n;
    gcut_onnx_sequence *s = new_sequence(n, old->n + (size_t)1);
    for (uint32_t k = 0; k < old->n; k++) s->at[k + (k >= at)] = old->at[k];
    s->at[at] = element(n, 1);
    set_sequence(n, s);
}

void gcut_onnx_sequence_erase(gcut_onnx_node *n)
{
    const gcut_onnx_sequence *old = sequence(n, 0);
    if (!old->n) GCUT_ONNX_WRONG(n, "the sequence is empty");
    const uint32_t at = gcut_onnx_has(n, 1) ? place(n, 1, old, old->n) : old->n - 1;
    gcut_onnx_sequence *s = new_sequence(n, old->n - 1);
    for (uint32_t k = 0; k < s->n; k++) s->at[k] = old->at[k + (k >= at)];
    set_sequence(n, s);
}

void gcut_onnx_sequence_length(gcut_onnx_node *n)
{
    gcut_array x = gcut_onnx_array(n, GCUT_I64, 0, NULL);
    x.u.i[0] = sequence(n, 0)->n;
    gcut_onnx_set_known(n, 0, &x);
}

void gcut_onnx_concat_from_sequence(gcut_onnx_node *n)
{
    const gcut_onnx_sequence *s = sequence(n, 0);
    if (!s->n) GCUT_ONNX_WRONG(n, "the sequence is empty");
    gcut_ref *x = gcut_calloc(n->o->arena, s->n, sizeof *x);
    for (uint32_t k = 0; k < s->n; k++) x[k] = gcut_onnx_value_in(n, s->at[k], false);
    const bool stacks = gcut_onnx_int(n, "new_axis", 0);
    const uint32_t axis =
        gcut_onnx_axis(n, gcut_onnx_int(n, "axis", 0), gcut_onnx_type(n, x[0]).rank + (stacks ? 1u : 0u));
    for (uint32_t k = 0; stacks && k < s->n; k++) {
        if (axis > gcut_onnx_type(n, x[k]).rank) GCUT_ONNX_WRONG(n, "the tensors have different axes");
        x[k] = gcut_onnx_insert_axis(n, x[k], axis);
    }
    gcut_onnx_set(n, 0, gcut_onnx_concat(n, x, s->n, axis));
}
