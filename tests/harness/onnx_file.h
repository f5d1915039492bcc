/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Models of ONNX, written field by field, right or wrong.
 */
#ifndef GCUT_TESTS_ONNX_FILE_H
#define GCUT_TESTS_ONNX_FILE_H

#include "harness.h"

typedef gcut_text msg;

static inline void varint(msg *m, uint64_t x)
{
    for (; x > 0x7f; x >>= 7) gcut_text_addn(m, &(char){(char)(uint8_t)(x | 0x80)}, 1);
    gcut_text_addn(m, &(char){(char)x}, 1);
}

static inline void number(msg *m, unsigned field, int64_t x)
{
    varint(m, field << 3);
    varint(m, (uint64_t)x);
}

static inline void counted(msg *m, unsigned field, const void *at, size_t n)
{
    varint(m, field << 3 | 2);
    varint(m, n);
    if (n) gcut_text_addn(m, at, n);
}

static inline void text(msg *m, unsigned field, const char *s)
{
    counted(m, field, s, strlen(s));
}

static inline void message(msg *m, unsigned field, const msg *inner)
{
    counted(m, field, inner->at, inner->n);
}

/* Every name of "a b c" as a field. */
static inline void names(msg *m, unsigned field, const char *list)
{
    for (const char *s = list; *s;) {
        const size_t n = strcspn(s, " ");
        counted(m, field, s, n);
        s += n + (s[n] == ' ');
    }
}

enum { FLOAT = 1, UINT8 = 2, UINT16 = 4, INT64 = 7, STRING = 8 }; /* TensorProto.DataType */
enum { NODE = 1, INITIALIZER = 5, INPUT = 11, OUTPUT = 12 };      /* fields of GraphProto */
enum { ATTR_FLOAT = 1, ATTR_INT = 2, ATTR_STRING = 3, ATTR_INTS = 7 };

static inline msg new_msg(gcut_arena *a)
{
    return (msg){.arena = a};
}

/* A value of that dtype and shape; negative sizes are symbols. */
static inline msg value(gcut_arena *a, const char *name, int dtype, const int64_t *dim, int rank)
{
    msg v = new_msg(a), type = new_msg(a), tensor = new_msg(a), shape = new_msg(a);
    for (int r = 0; r < rank; r++) {
        msg d = new_msg(a);
        if (dim[r] >= 0)
            number(&d, 1, dim[r]);
        else
            text(&d, 2, "N");
        message(&shape, 1, &d);
    }
    number(&tensor, 1, dtype);
    message(&tensor, 2, &shape);
    message(&type, 1, &tensor);
    text(&v, 1, name);
    message(&v, 2, &type);
    return v;
}

static inline void put_value(gcut_arena *a, msg *graph, unsigned field, const char *name, int64_t size)
{
    const msg v = value(a, name, FLOAT, &size, 1);
    message(graph, field, &v);
}

static inline msg node_of(gcut_arena *a, const char *op, const char *inputs, const char *outputs)
{
    msg n = new_msg(a);
    names(&n, 1, inputs);
    names(&n, 2, outputs);
    text(&n, 4, op);
    return n;
}

static inline void put_node(gcut_arena *a, msg *graph, const char *op, const char *inputs,
                            const char *outputs)
{
    const msg n = node_of(a, op, inputs, outputs);
    message(graph, NODE, &n);
}

static inline msg tensor_of(gcut_arena *a, const char *name, int dtype, const int64_t *dim, int rank)
{
    msg t = new_msg(a);
    for (int r = 0; r < rank; r++) number(&t, 1, dim[r]);
    number(&t, 2, dtype);
    text(&t, 8, name);
    return t;
}

/* An initializer of integers, by its raw bytes. */
static inline void put_integers(gcut_arena *a, msg *graph, const char *name, const int64_t *at, int64_t n)
{
    msg t = tensor_of(a, name, INT64, &n, 1);
    counted(&t, 9, at, (size_t)n * sizeof *at);
    message(graph, INITIALIZER, &t);
}

static inline void put_int(gcut_arena *a, msg *node, const char *name, int64_t i)
{
    msg attr = new_msg(a);
    text(&attr, 1, name);
    number(&attr, 3, i);
    number(&attr, 20, ATTR_INT);
    message(node, 5, &attr);
}

static inline void put_ints(gcut_arena *a, msg *node, const char *name, const int64_t *at, size_t n)
{
    msg attr = new_msg(a);
    text(&attr, 1, name);
    for (size_t k = 0; k < n; k++) number(&attr, 8, at[k]);
    number(&attr, 20, ATTR_INTS);
    message(node, 5, &attr);
}

static inline msg model_of(gcut_arena *a, const msg *graph, int64_t opset)
{
    msg m = new_msg(a), set = new_msg(a);
    number(&set, 2, opset);
    number(&m, 1, 8);
    message(&m, 8, &set);
    if (graph) message(&m, 7, graph);
    return m;
}

/* x: f32[4] and y = ... */
static inline msg graph_of(gcut_arena *a)
{
    msg g = new_msg(a);
    put_value(a, &g, INPUT, "x", 4);
    put_value(a, &g, OUTPUT, "y", 4);
    return g;
}

#endif
