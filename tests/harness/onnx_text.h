/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Models of ONNX in a few lines, with the contents of their inputs and what is expected of their outputs:
 *
 *   in x f32[N=2, 3] {1 2 3 4 5 6}        an input; a size may be that of a symbol
 *   init w f32[3] {1 2 3}                 an initializer
 *   y, z = Op(x, w) a=1 b=0.5 c='text' d=[1, 2] e=[0.5] f=['text'] g=i64[] {1} h={ statements } i=@attribute
 *   out y f32[2, 3] {1 2 3 4 5 6}         an output
 *   function f(a, b) -> (c) al=0.5 { statements }
 *
 * One statement ends with a line or a semicolon.  A float has a dot or is inf or nan.  Inputs and outputs of subgraphs are
 * names alone; a node's op may be a function; an input that is left out is _.  "opset 18" in front is the version, else 17.
 */
#ifndef GCUT_TESTS_ONNX_TEXT_H
#define GCUT_TESTS_ONNX_TEXT_H

#include <ctype.h>

#include "import/onnx/export/writer.h"
#include "interp/array.h"
#include "onnx_file.h"

typedef struct onnx_contents {
    const char *name;
    gcut_array x;
} onnx_contents;

typedef struct onnx_text {
    gcut_arena *a;
    const char *at;
    int64_t opset;
    msg model;
    GCUT_VEC(const char *) functions;
    GCUT_VEC(onnx_contents) in;
    GCUT_VEC(onnx_contents) out;
} onnx_text;

static inline void skip_blanks(onnx_text *t)
{
    while (*t->at && strchr(" \n;", *t->at)) t->at++;
}

/* Skips that text, if it is next. */
static inline bool next_is(onnx_text *t, const char *s)
{
    skip_blanks(t);
    if (strncmp(t->at, s, strlen(s))) return false;
    t->at += strlen(s);
    return true;
}

static inline void need_next(onnx_text *t, const char *s)
{
    if (!next_is(t, s)) fail_msg("expected '%s' at '%.40s'", s, t->at);
}

static inline char *next_word(onnx_text *t)
{
    skip_blanks(t);
    size_t n = 0;
    while (isalnum((unsigned char)t->at[n]) || (t->at[n] && strchr("_./+-", t->at[n]))) n++;
    if (!n) fail_msg("expected a word at '%.40s'", t->at);
    t->at += n;
    return gcut_strndup(t->a, t->at - n, n);
}

/* f32[N=2, 3]; names of sizes that are symbols. */
static inline gcut_array next_type(onnx_text *t, const char **symbol)
{
    static const struct {
        const char *name;
        gcut_dtype dtype;
    } all[] = {{"f16", GCUT_F16}, {"f32", GCUT_F32}, {"f64", GCUT_F64}, {"i8", GCUT_I8},    {"i16", GCUT_I16},
               {"i32", GCUT_I32}, {"i64", GCUT_I64}, {"u8", GCUT_U8},   {"bool", GCUT_BOOL}};
    const char *name = next_word(t);
    int64_t dim[GCUT_MAX_RANK];
    uint32_t rank = 0;
    size_t k = 0;
    while (k < sizeof all / sizeof *all && strcmp(all[k].name, name)) k++;
    if (k == sizeof all / sizeof *all) fail_msg("there is no dtype '%s'", name);
    need_next(t, "[");
    while (!next_is(t, "]")) {
        const char *equals = t->at + strcspn(t->at, "=,]");
        symbol[rank] = *equals == '=' ? gcut_strndup(t->a, t->at, (size_t)(equals - t->at)) : NULL;
        if (*equals == '=') t->at = equals + 1;
        dim[rank++] = strtoll(t->at, (char **)(uintptr_t)&t->at, 10);
        next_is(t, ",");
    }
    return gcut_array_new(t->a, all[k].dtype, rank, dim);
}

static inline gcut_array next_array(onnx_text *t, const char **symbol)
{
    gcut_array x = next_type(t, symbol);
    need_next(t, "{");
    for (int64_t k = 0; k < x.n; k++)
        if (gcut_dtype_is_float(x.dtype))
            x.u.f[k] = strtod(t->at, (char **)(uintptr_t)&t->at);
        else
            x.u.i[k] = strtoll(t->at, (char **)(uintptr_t)&t->at, 10);
    need_next(t, "}");
    return x;
}

static inline msg tensor_message(onnx_text *t, const char *name, const gcut_array *x)
{
    msg m = tensor_of(t->a, name, gcut_onnx_data_type(x->dtype), x->dim, x->rank);
    const size_t bytes = (size_t)x->n * (size_t)gcut_dtype_bytes(x->dtype);
    char *packed = gcut_calloc(t->a, bytes + 1, 1);
    gcut_array_store(x, packed);
    counted(&m, 9, packed, bytes);
    return m;
}

static inline msg value_message(onnx_text *t, const char *name, const gcut_array *x, const char **symbol)
{
    msg v = new_msg(t->a), type = new_msg(t->a), tensor = new_msg(t->a), shape = new_msg(t->a);
    for (uint32_t r = 0; r < x->rank; r++) {
        msg d = new_msg(t->a);
        if (symbol[r])
            text(&d, 2, symbol[r]);
        else
            number(&d, 1, x->dim[r]);
        message(&shape, 1, &d);
    }
    number(&tensor, 1, gcut_onnx_data_type(x->dtype));
    if (symbol != NULL) message(&tensor, 2, &shape);
    message(&type, 1, &tensor);
    text(&v, 1, name);
    message(&v, 2, &type);
    return v;
}

static inline void next_statements(onnx_text *t, msg *graph, unsigned node_field, bool outermost);

static inline void put_float(msg *m, unsigned field, float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    varint(m, field << 3 | 5);
    for (int k = 0; k < 4; k++) gcut_text_addn(m, &(char){(char)(uint8_t)(bits >> 8 * k)}, 1);
}

static inline bool number_is_float(const char *s)
{
    const size_t n = strspn(s, "-0123456789");
    return s[n] == '.' || !strncmp(s + n, "inf", 3) || !strncmp(s + n, "nan", 3);
}

/* One item of an attribute, in the field of a single one or of a list; its AttributeType. */
static inline int next_item(onnx_text *t, msg *attr, bool list)
{
    if (next_is(t, "'")) {
        const size_t n = strcspn(t->at, "'");
        counted(attr, list ? 9 : 4, t->at, n);
        t->at += n + 1;
        return list ? 8 : ATTR_STRING;
    }
    if (number_is_float(t->at)) {
        put_float(attr, list ? 7 : 2, (float)strtod(t->at, (char **)(uintptr_t)&t->at));
        return list ? 6 : ATTR_FLOAT;
    }
    number(attr, list ? 8 : 3, strtoll(t->at, (char **)(uintptr_t)&t->at, 10));
    return list ? ATTR_INTS : ATTR_INT;
}

static inline msg next_attribute(onnx_text *t)
{
    msg attr = new_msg(t->a);
    const char *symbol[GCUT_MAX_RANK];
    int type = 0;
    text(&attr, 1, next_word(t));
    need_next(t, "=");
    if (next_is(t, "@")) {
        text(&attr, 21, next_word(t));
        return attr;
    }
    if (next_is(t, "[")) {
        type = ATTR_INTS;
        while (!next_is(t, "]")) {
            type = next_item(t, &attr, true);
            next_is(t, ",");
        }
    } else if (next_is(t, "{")) {
        msg graph = new_msg(t->a);
        type = 5;
        text(&graph, 2, "g");
        next_statements(t, &graph, NODE, false);
        message(&attr, 6, &graph);
    } else if (isalpha((unsigned char)*t->at) && !number_is_float(t->at)) {
        const gcut_array x = next_array(t, symbol);
        const msg m = tensor_message(t, "", &x);
        type = 4;
        message(&attr, 5, &m);
    } else {
        type = next_item(t, &attr, false);
    }
    number(&attr, 20, type);
    return attr;
}

/* (a, b) as fields */
static inline void next_names(onnx_text *t, msg *m, unsigned field)
{
    need_next(t, "(");
    while (!next_is(t, ")")) {
        const char *name = next_word(t);
        text(m, field, strcmp(name, "_") ? name : "");
        next_is(t, ",");
    }
}

static inline bool statement_goes_on(onnx_text *t)
{
    while (*t->at == ' ') t->at++;
    return *t->at && !strchr("\n;}", *t->at);
}

static inline void next_function(onnx_text *t)
{
    msg f = new_msg(t->a), set = new_msg(t->a);
    const char *name = next_word(t);
    text(&f, 1, name);
    *GCUT_PUSH(t->a, &t->functions) = name;
    next_names(t, &f, 4);
    need_next(t, "->");
    next_names(t, &f, 5);
    while (!next_is(t, "{")) {
        const msg attr = next_attribute(t);
        message(&f, 11, &attr);
    }
    next_statements(t, &f, 7, false);
    number(&set, 2, t->opset);
    message(&f, 9, &set);
    text(&f, 10, "own");
    message(&t->model, 25, &f);
}

static inline void next_node(onnx_text *t, msg *graph, unsigned field)
{
    msg n = new_msg(t->a);
    do text(&n, 2, next_word(t));
    while (next_is(t, ","));
    need_next(t, "=");
    const char *op = next_word(t);
    text(&n, 4, op);
    for (uint32_t i = 0; i < t->functions.n; i++)
        if (!strcmp(t->functions.at[i], op)) text(&n, 7, "own");
    next_names(t, &n, 1);
    while (statement_goes_on(t)) {
        const msg attr = next_attribute(t);
        message(&n, 5, &attr);
    }
    message(graph, field, &n);
}

/* Up to the end or a closing brace. */
static inline void next_statements(onnx_text *t, msg *graph, unsigned node_field, bool outermost)
{
    const char *symbol[GCUT_MAX_RANK] = {NULL};
    for (skip_blanks(t); *t->at && !next_is(t, "}"); skip_blanks(t)) {
        const bool in = next_is(t, "in ");
        if (in || next_is(t, "out ")) {
            onnx_contents c = {.name = next_word(t)};
            msg v = new_msg(t->a);
            text(&v, 1, c.name);
            if (outermost) {
                c.x = next_array(t, symbol);
                v = value_message(t, c.name, &c.x, symbol);
                if (in)
                    *GCUT_PUSH(t->a, &t->in) = c;
                else
                    *GCUT_PUSH(t->a, &t->out) = c;
            }
            message(graph, in ? INPUT : OUTPUT, &v);
        } else if (next_is(t, "init ")) {
            const char *name = next_word(t);
            const gcut_array x = next_array(t, symbol);
            const msg m = tensor_message(t, name, &x);
            message(graph, INITIALIZER, &m);
        } else if (next_is(t, "function ")) {
            next_function(t);
        } else {
            next_node(t, graph, node_field);
        }
    }
}

static inline onnx_text read_onnx_text(gcut_arena *a, const char *s)
{
    onnx_text t = {.a = a, .at = s, .opset = 17};
    msg graph = new_msg(a), set = new_msg(a);
    if (next_is(&t, "opset ")) t.opset = strtoll(t.at, (char **)(uintptr_t)&t.at, 10);
    t.model = model_of(a, NULL, t.opset);
    text(&set, 1, "own");
    number(&set, 2, 1);
    message(&t.model, 8, &set);
    text(&graph, 2, "g");
    next_statements(&t, &graph, NODE, true);
    message(&t.model, 7, &graph);
    return t;
}

#endif
