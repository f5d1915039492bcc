/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The attributes of a node.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/onnx/scope.h"

static const Onnx__AttributeProto *find(Onnx__AttributeProto *const *at, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (at[i]->name && !strcmp(at[i]->name, name)) return at[i];
    return NULL;
}

/* Within a function of the model an attribute may stand for one of its call, which may have a default. */
const Onnx__AttributeProto *gcut_onnx_attr(const gcut_onnx_node *n, const char *name)
{
    const Onnx__AttributeProto *a = find(n->p->attribute, n->p->n_attribute, name);
    const gcut_onnx_scope *s = n->scope;
    while (a && a->ref_attr_name && *a->ref_attr_name) {
        const char *of = a->ref_attr_name;
        if (!s->call) return NULL;
        a = find(s->call->p->attribute, s->call->p->n_attribute, of);
        if (!a) return find(s->function->attribute_proto, s->function->n_attribute_proto, of);
        s = s->call->scope;
    }
    return a;
}

#define NEED_TYPE(n, a, TYPE, what)                                                                          \
    do {                                                                                                     \
        if ((a)->has_type && (a)->type != ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__##TYPE)                     \
            GCUT_ONNX_WRONG(n, "expected %s for the attribute '%s'", what, (a)->name);                       \
    } while (0)

static int64_t clamped(int64_t x)
{
    return x < -GCUT_ONNX_INT_MAX ? -GCUT_ONNX_INT_MAX : x > GCUT_ONNX_INT_MAX ? GCUT_ONNX_INT_MAX : x;
}

int64_t gcut_onnx_int(const gcut_onnx_node *n, const char *name, int64_t otherwise)
{
    const Onnx__AttributeProto *a = gcut_onnx_attr(n, name);
    if (!a) return otherwise;
    NEED_TYPE(n, a, INT, "an integer");
    return clamped(a->i);
}

/* The number of the fewest digits that is this float: 0.9, not 0.8999999762. */
static double as_written(float f)
{
    char text[32];
    for (int digits = 1; digits < 10; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)f);
        if (strtof(text, NULL) == f) return strtod(text, NULL);
    }
    return (double)f;
}

double gcut_onnx_float(const gcut_onnx_node *n, const char *name, double otherwise)
{
    const Onnx__AttributeProto *a = gcut_onnx_attr(n, name);
    if (!a) return otherwise;
    NEED_TYPE(n, a, FLOAT, "a float");
    return as_written(a->f);
}

double gcut_onnx_float_item(const gcut_onnx_node *n, const char *name, uint32_t k, double otherwise)
{
    const Onnx__AttributeProto *a = gcut_onnx_attr(n, name);
    if (!a || k >= a->n_floats) return otherwise;
    return as_written(a->floats[k]);
}

const char *gcut_onnx_text(const gcut_onnx_node *n, const char *name, const char *otherwise)
{
    const Onnx__AttributeProto *a = gcut_onnx_attr(n, name);
    if (!a) return otherwise;
    NEED_TYPE(n, a, STRING, "a string");
    return gcut_strndup(n->o->arena, a->s.data ? (const char *)a->s.data : "", a->s.len);
}

gcut_onnx_list gcut_onnx_list_of(const gcut_onnx_node *n, const int64_t *at, size_t count, bool symbols)
{
    static const int64_t empty[1];
    bool any_beyond = false;
    if (count > UINT32_MAX / 2) GCUT_ONNX_WRONG(n, "a list has %zu items", count);
    for (size_t i = 0; i < count; i++)
        any_beyond |= clamped(at[i]) != at[i] && !(symbols && gcut_onnx_is_symbolic(at[i]));
    if (any_beyond) {
        gcut_onnx_count_elements(n->o, count);
        int64_t *copy = gcut_memdup(n->o->arena, at, count * sizeof *at);
        for (size_t i = 0; i < count; i++)
            if (!(symbols && gcut_onnx_is_symbolic(at[i]))) copy[i] = clamped(at[i]);
        at = copy;
    }
    return (gcut_onnx_list){count ? at : empty, (uint32_t)count};
}

gcut_onnx_list gcut_onnx_ints(const gcut_onnx_node *n, const char *name)
{
    const Onnx__AttributeProto *a = gcut_onnx_attr(n, name);
    if (!a) return (gcut_onnx_list){0};
    NEED_TYPE(n, a, INTS, "a list of integers");
    return gcut_onnx_list_of(n, a->ints, a->n_ints, false);
}
