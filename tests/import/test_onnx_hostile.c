/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Models of ONNX that nobody should have written, made byte by byte: each is refused in one sentence, in time and memory
 * that its size bounds.
 */
#define _GNU_SOURCE
#include "file_job.h"
#include "harness.h"

#include <sys/stat.h>
#include <unistd.h>

#include "graph/verify.h"
#include "import/onnx/import.h"
#include "onnx_file.h"

/* ---- importing ---- */

FILE_FIXTURE("m.onnx")

static void use(job *j, const msg *m)
{
    char *exact = gcut_alloc(j->a, m->n + 1); /* a sanitizer sees what is read after a large one */
    if (m->n) memcpy(exact, m->at, m->n);
    j->bytes = exact;
    j->size = m->n;
    j->path = NULL;
}

static void import_body(void *arg)
{
    job *j = arg;
    gcut_onnx_file *f = j->path ? gcut_onnx_open(j->env->arena, j->path)
                                : gcut_onnx_of_bytes(j->env->arena, j->called, j->bytes, j->size);
    j->graph = gcut_onnx_import_model(f, gcut_module_new(j->env, j->env->arena), "main", NULL).g;
    gcut_verify_module(j->graph->module);
}

static void refuse(job *j, gcut_status status, const char *words)
{
    renew(j);
    must_refuse(j->env, import_body, j, status, words);
    assert_that(j->memory.most, <=, GCUT_ONNX_MOST_MEMORY(j->size) + 65536);
}

static void refuse_graph(job *j, const msg *graph, gcut_status status, const char *word)
{
    const msg m = model_of(j->a, graph, 13);
    use(j, &m);
    refuse(j, status, word);
}

static void accept(job *j)
{
    renew(j);
    must(j->env, import_body, j);
}

/* ---- bytes that are no model ---- */

static void no_model(void **state)
{
    job *j = *state;
    msg m = new_msg(j->a);
    j->bytes = "";
    refuse(j, GCUT_ESYNTAX, "the file is empty");
    j->bytes = "\x08\xff";
    j->size = 2;
    refuse(j, GCUT_ESYNTAX, "ends within a number");
    j->bytes = "\x08\x08";
    refuse(j, GCUT_ESYNTAX, "has no graph");
    gcut_text_addn(&m, "GIF89a, or something else", 25);
    use(j, &m);
    refuse(j, GCUT_ESYNTAX, "no ONNX file");
    uint32_t seed = 7;
    for (int round = 0; round < 2000; round++) {
        char noise[64];
        for (size_t k = 0; k < sizeof noise; k++)
            noise[k] = (char)((seed = seed * 1664525 + 1013904223) >> 24);
        m.n = 0;
        gcut_text_addn(&m, noise, 1 + seed % sizeof noise);
        use(j, &m);
        assert_int_not_equal(attempt(j, import_body), GCUT_OK);
    }
    /* A string that is no string: a graph's name as a number. */
    msg g = new_msg(j->a);
    number(&g, 2, 5);
    refuse_graph(j, &g, GCUT_ESYNTAX, "is of another kind");
    /* A number of more than 64 bits. */
    m.n = 0;
    gcut_text_addn(&m, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12);
    use(j, &m);
    refuse(j, GCUT_ESYNTAX, "at most 64 bits");
}

static msg small_model(job *j)
{
    static const int64_t shape[] = {2, 2}, two = 2;
    msg g = graph_of(j->a), t = tensor_of(j->a, "w", FLOAT, &two, 1);
    counted(&t, 9, "\0\0\x80\x3f\0\0\0\x40", 8);
    message(&g, INITIALIZER, &t);
    put_integers(j->a, &g, "shape", shape, 2);
    put_node(j->a, &g, "Shape", "x", "s");
    put_node(j->a, &g, "Mul", "shape shape", "unused");
    put_node(j->a, &g, "Reshape", "x shape", "r");
    put_node(j->a, &g, "Add", "r w", "sum");
    put_node(j->a, &g, "Reshape", "sum s", "y");
    return model_of(j->a, &g, 13);
}

/* Cut anywhere: refused, or what is missing were whole fields at the end. */
static void cut_short(void **state)
{
    job *j = *state;
    const msg m = small_model(j);
    use(j, &m);
    accept(j);
    for (size_t n = 1; n < m.n; n++) {
        const msg part = {.at = m.at, .n = n};
        use(j, &part);
        assert_int_not_equal(attempt(j, import_body), GCUT_OK);
    }
}

/* Any byte of another value: refused in one sentence, or imported as a graph that passes the verifier. */
static void damaged(void **state)
{
    job *j = *state;
    const msg m = small_model(j);
    for (size_t at = 0; at < m.n; at++)
        for (int k = 0; k < 8; k++) {
            use(j, &m);
            ((char *)(uintptr_t)j->bytes)[at] ^= (char)(1 << k);
            renew(j);
            attempt(j, import_body);
        }
}

static void nested(void **state)
{
    job *j = *state;
    /* Attributes with graphs with nodes with attributes: three messages each. */
    msg g = new_msg(j->a);
    put_node(j->a, &g, "Relu", "x", "y");
    for (int depth = 0; depth < 30; depth++) {
        msg n = node_of(j->a, "Relu", "x", "y"), a = new_msg(j->a), outer = new_msg(j->a);
        text(&a, 1, "body");
        message(&a, 6, &g);
        message(&n, 5, &a);
        message(&outer, NODE, &n);
        g = outer;
    }
    refuse_graph(j, &g, GCUT_ESYNTAX, "nested deeper than 64");
}

/* Two bytes each, of which protobuf-c would make a message of a hundred or more. */
static void swollen(void **state)
{
    job *j = *state;
    msg g = new_msg(j->a), node = node_of(j->a, "Relu", "x", "y");
    for (int k = 0; k < 20000; k++) counted(&g, NODE, "", 0);
    refuse_graph(j, &g, GCUT_ESYNTAX, "more than 100 for each");
    for (int k = 0; k < 20000; k++) counted(&node, 5, "", 0);
    g = graph_of(j->a);
    message(&g, NODE, &node);
    refuse_graph(j, &g, GCUT_ESYNTAX, "more than 100 for each");
    /* Fewer than that, but more than any op has. */
    g = graph_of(j->a);
    node = node_of(j->a, "Relu", "x", "y");
    for (int k = 0; k < 1001; k++) put_int(j->a, &node, "an_attribute_of_some_length", k);
    message(&g, NODE, &node);
    refuse_graph(j, &g, GCUT_EUNSUPPORTED, "1001 attributes");
}

/* ---- graphs that contradict themselves ---- */

static void contradictions(void **state)
{
    job *j = *state;
    static const struct {
        const char *op, *inputs, *outputs;
        gcut_status status;
        const char *says;
    } nodes[] = {
        {"Relu", "z", "y", GCUT_ETYPE, "input 0 is 'z', which is no input"},
        {"Relu", "y", "y", GCUT_ETYPE, "input 0 is 'y', which is no input"}, /* itself */
        {"Relu", "x", "x", GCUT_ETYPE, "two values of the model have the name 'x'"},
        {"Relu", "x", "z", GCUT_ETYPE, "no node gives the model's output 'y'"},
        {"Relu", "", "y", GCUT_ETYPE, "input 0 is missing"},
        {"Add", "x", "y", GCUT_ETYPE, "input 1 is missing"},
        {"Concat", "", "y", GCUT_ETYPE, "nothing to concatenate"},
        {"Split", "x", "", GCUT_ETYPE, "no outputs"},
        {"Relu", "x", "y z", GCUT_EUNSUPPORTED, "output 1, 'z', is not supported"},
        {"Conv", "x x", "y", GCUT_EUNSUPPORTED, "1 to 3 axes"},
        {"Nonsense\n\x1b[31m", "x", "y", GCUT_EUNSUPPORTED, "Nonsense??[31m, 1 node"},
        {"", "x", "y", GCUT_EUNSUPPORTED, "1 op of the model is not supported"},
    };
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        msg g = graph_of(j->a);
        put_node(j->a, &g, nodes[i].op, nodes[i].inputs, nodes[i].outputs);
        refuse_graph(j, &g, nodes[i].status, nodes[i].says);
    }
    /* Two nodes that read each other. */
    msg g = graph_of(j->a);
    put_node(j->a, &g, "Add", "x b", "y");
    put_node(j->a, &g, "Relu", "y", "b");
    refuse_graph(j, &g, GCUT_ETYPE, "input 1 is 'b'");
    /* All ops that are missing, at once. */
    g = graph_of(j->a);
    put_node(j->a, &g, "Frobnicate", "x", "a");
    put_node(j->a, &g, "Relu", "a", "b");
    put_node(j->a, &g, "Twiddle", "b", "c");
    put_node(j->a, &g, "Frobnicate", "c", "y");
    refuse_graph(j, &g, GCUT_EUNSUPPORTED, "2 ops of the model are not supported");
    refuse(j, GCUT_EUNSUPPORTED, "Frobnicate, 2 nodes, first 'a'\n");
    refuse(j, GCUT_EUNSUPPORTED, "Twiddle, 1 node, first 'c'");
    /* Values twice. */
    g = graph_of(j->a);
    put_value(j->a, &g, INPUT, "x", 4);
    put_node(j->a, &g, "Relu", "x", "y");
    refuse_graph(j, &g, GCUT_ETYPE, "the name 'x'");
    g = graph_of(j->a);
    put_node(j->a, &g, "Relu", "x", "y");
    put_node(j->a, &g, "Relu", "x", "y");
    refuse_graph(j, &g, GCUT_ETYPE, "the name 'y'");
    g = graph_of(j->a);
    put_value(j->a, &g, OUTPUT, "y", 4);
    put_node(j->a, &g, "Relu", "x", "y");
    refuse_graph(j, &g, GCUT_ETYPE, "two outputs of the model have the name 'y'");
    /* Inputs without a type or a name, and outputs without one. */
    msg nothing = new_msg(j->a);
    g = new_msg(j->a);
    message(&g, INPUT, &nothing);
    refuse_graph(j, &g, GCUT_EUNSUPPORTED, "the input '' is no tensor");
    g = new_msg(j->a);
    message(&g, OUTPUT, &nothing);
    refuse_graph(j, &g, GCUT_ETYPE, "no node gives the model's output ''");
    const int64_t many[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    const msg v = value(j->a, "x", FLOAT, many, 9);
    g = new_msg(j->a);
    message(&g, INPUT, &v);
    refuse_graph(j, &g, GCUT_EUNSUPPORTED, "more than 8 axes");
}

/* Outputs whose names differ, but not as names of the text IR. */
static void names_alike(void **state)
{
    job *j = *state;
    msg g = new_msg(j->a);
    static const char *const name[] = {"a/b", "a.b", "a.b_2", "a b"};
    put_value(j->a, &g, INPUT, "x", 4);
    for (int k = 0; k < 3; k++) {
        put_value(j->a, &g, OUTPUT, name[k], 4);
        put_node(j->a, &g, "Relu", "x", name[k]);
    }
    const msg m = model_of(j->a, &g, 13);
    use(j, &m);
    accept(j);
    assert_int_equal(j->graph->results.n, 3);
}

/* ---- attributes ---- */

static void attributes(void **state)
{
    job *j = *state;
    static const int64_t far[] = {INT64_MIN, INT64_MIN + 1, -(INT64_C(1) << 62) - 1, -1, INT64_MAX};
    /* Of another type. */
    msg g = graph_of(j->a), n = node_of(j->a, "LeakyRelu", "x", "y");
    put_int(j->a, &n, "alpha", 1);
    message(&g, NODE, &n);
    refuse_graph(j, &g, GCUT_ETYPE, "expected a float for the attribute 'alpha'");
    g = graph_of(j->a);
    n = node_of(j->a, "Softmax", "x", "y");
    put_ints(j->a, &n, "axis", far, 1);
    message(&g, NODE, &n);
    refuse_graph(j, &g, GCUT_ETYPE, "expected an integer for the attribute 'axis'");
    /* Numbers whose negative, sum or product is none of 64 bits, or that would name an expression of sizes. */
    static const struct {
        const char *op, *key, *says;
        int64_t opset;
        uint32_t count;
    } lists[] = {
        {"Pad", "pads", "pad", 2, 2},       {"Transpose", "perm", "axis", 13, 1},
        {"Reshape", "shape", "size", 4, 1}, {"ReduceSum", "axes", "axis", 11, 1},
        {"Squeeze", "axes", "axis", 11, 1}, {"Unsqueeze", "axes", "axis", 11, 1},
        {"Split", "split", "size", 11, 1},
    };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (size_t k = 0; k < sizeof far / sizeof *far; k++) {
            const int64_t items[2] = {far[k], far[k]};
            g = graph_of(j->a);
            n = node_of(j->a, lists[i].op, "x", "y");
            put_ints(j->a, &n, lists[i].key, items, lists[i].count);
            message(&g, NODE, &n);
            const msg m = model_of(j->a, &g, lists[i].opset);
            use(j, &m);
            attempt(j, import_body);
        }
    static const char *const windows[] = {"kernel_shape", "strides", "pads", "dilations"};
    const int64_t image[] = {1, 1, 8, 8};
    for (size_t w = 0; w < 4; w++)
        for (size_t k = 0; k < sizeof far / sizeof *far; k++)
            for (int op = 0; op < 4; op++) {
                static const char *const ops[] = {"MaxPool", "AveragePool", "LpPool", "MaxUnpool"};
                const int64_t two[] = {2, 2}, items[] = {far[k], 1, far[k], 1};
                msg x = value(j->a, "x", FLOAT, image, 4);
                g = new_msg(j->a);
                message(&g, INPUT, &x);
                put_value(j->a, &g, OUTPUT, "y", 1);
                n = node_of(j->a, ops[op], op == 3 ? "x x" : "x", "y");
                if (w) put_ints(j->a, &n, "kernel_shape", two, 2);
                put_ints(j->a, &n, windows[w], items, w == 2 ? 4 : 2);
                if (k % 2) put_int(j->a, &n, "ceil_mode", 1);
                message(&g, NODE, &n);
                const msg m = model_of(j->a, &g, 13);
                use(j, &m);
                assert_int_not_equal(attempt(j, import_body), GCUT_OK);
            }
    /* A window of a billion places, each of which would be a node. */
    const int64_t billion = 1000000000, line[] = {1, 1, INT32_MAX};
    msg x = value(j->a, "x", FLOAT, line, 3);
    g = new_msg(j->a);
    message(&g, INPUT, &x);
    put_value(j->a, &g, OUTPUT, "y", 1);
    n = node_of(j->a, "MaxPool", "x", "y i");
    put_ints(j->a, &n, "kernel_shape", &billion, 1);
    message(&g, NODE, &n);
    refuse_graph(j, &g, GCUT_EUNSUPPORTED, "1000000000 elements");
}

/* ---- tensors ---- */

/* An initializer, and y = x + w. */
static msg graph_adding(job *j, const msg *initializer)
{
    msg g = graph_of(j->a);
    message(&g, INITIALIZER, initializer);
    put_node(j->a, &g, "Add", "x w", "y");
    return g;
}

static void tensors(void **state)
{
    job *j = *state;
    static const struct {
        int dtype, rank;
        int64_t dim[9];
        size_t bytes;
        gcut_status status;
        const char *says;
    } all[] = {
        {FLOAT, 1, {4}, 15, GCUT_EIO, "'w' has 15 bytes, but its shape and dtype float say 16"},
        {FLOAT, 1, {4}, 17, GCUT_EIO, "'w' has 17 bytes, but its shape and dtype float say 16"},
        {FLOAT, 1, {4}, 0, GCUT_EIO, "'w' has 0 bytes"},
        {FLOAT, 0, {0}, 0, GCUT_EIO, "say 4"},
        {FLOAT, 1, {-4}, 16, GCUT_EIO, "'w' has the size -4"},
        {FLOAT, 1, {INT64_MIN}, 16, GCUT_EIO, "has the size -9223372036854775808"},
        {FLOAT, 2, {INT64_C(1) << 32, INT64_C(1) << 31}, 16, GCUT_EIO, "more than 2^63 elements"},
        {INT64, 1, {INT64_C(1) << 61}, 0, GCUT_EIO, "more than 2^64 bytes"},
        {INT64, 1, {INT64_C(1) << 60}, 16, GCUT_EIO, "say 9223372036854775808"},
        {FLOAT, 9, {1, 1, 1, 1, 1, 1, 1, 1, 1}, 4, GCUT_EIO, "has 9 axes, more than 8"},
        {STRING, 1, {1}, 4, GCUT_EUNSUPPORTED, "is of string"},
        {99, 1, {1}, 4, GCUT_EUNSUPPORTED, "is of a quantised type"},
        {-1, 1, {1}, 4, GCUT_EUNSUPPORTED, "is of a quantised type"},
    };
    static const char zeros[64];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        msg t = tensor_of(j->a, "w", all[i].dtype, all[i].dim, all[i].rank);
        counted(&t, 9, zeros, all[i].bytes);
        const msg g = graph_adding(j, &t);
        refuse_graph(j, &g, all[i].status, all[i].says);
    }
    /* In a list of numbers instead, of the wrong length, or in that of another dtype. */
    const int64_t four = 4;
    msg t = tensor_of(j->a, "w", FLOAT, &four, 1);
    counted(&t, 4, zeros, 12);
    msg g = graph_adding(j, &t);
    refuse_graph(j, &g, GCUT_EIO, "'w' has 3 elements, but its shape and dtype float say 4");
    t = tensor_of(j->a, "w", FLOAT, &four, 1);
    counted(&t, 7, zeros, 4);
    g = graph_adding(j, &t);
    refuse_graph(j, &g, GCUT_EIO, "'w' has 0 elements");
    /* The name of an initializer twice. */
    t = tensor_of(j->a, "w", FLOAT, &four, 1);
    counted(&t, 9, zeros, 16);
    g = graph_adding(j, &t);
    message(&g, INITIALIZER, &t);
    refuse_graph(j, &g, GCUT_ETYPE, "two values of the model have the name 'w'");
}

/* ---- bombs: small files that would become large ---- */

/* A model that calls a function of its own: y = f(inputs). */
static msg model_calling(job *j, const char *f, const char *inputs)
{
    msg g = graph_of(j->a), call = node_of(j->a, f, inputs, "y");
    text(&call, 7, "own");
    message(&g, NODE, &call);
    return model_of(j->a, &g, 13);
}

/* function f(a) { b = called(a)  c = called(b)  return c } */
static void put_function(job *j, msg *model, const char *name, const char *called)
{
    msg f = new_msg(j->a), set = new_msg(j->a), n = node_of(j->a, called, "a", "b"),
        again = node_of(j->a, called, "b", "c");
    number(&set, 2, 13);
    text(&f, 1, name);
    text(&f, 4, "a");
    text(&f, 5, "c");
    if (strcmp(called, "Relu")) {
        text(&n, 7, "own");
        text(&again, 7, "own");
    }
    message(&f, 7, &n);
    message(&f, 7, &again);
    message(&f, 9, &set);
    text(&f, 10, "own");
    message(model, 25, &f);
}

static void functions(void **state)
{
    job *j = *state;
    /* f<k> calls f<k-1> twice, and f0 Relu: 2^(k+1) nodes. */
    msg m = model_calling(j, "f40", "x");
    put_function(j, &m, "f0", "Relu");
    for (int k = 1; k <= 40; k++)
        put_function(j, &m, gcut_printf(j->a, "f%d", k), gcut_printf(j->a, "f%d", k - 1));
    use(j, &m);
    refuse(j, GCUT_EUNSUPPORTED, "would become more than");
    /* A function that calls itself. */
    m = model_calling(j, "f", "x");
    put_function(j, &m, "f", "f");
    use(j, &m);
    refuse(j, GCUT_ETYPE, "call each other deeper than 64");
    /* More values than the function has. */
    m = model_calling(j, "f", "x x");
    put_function(j, &m, "f", "Relu");
    use(j, &m);
    refuse(j, GCUT_ETYPE, "the function has 1 inputs and 1 outputs, its call 2 and 1");
}

/* Constants of thousands of elements, each computed of the one before, and products that take long. */
static void folding(void **state)
{
    job *j = *state;
    static const int64_t shape[] = {1, 64, 64};
    msg g = graph_of(j->a);
    put_integers(j->a, &g, "s", shape, 3);
    put_node(j->a, &g, "ConstantOfShape", "s", "c0");
    for (int k = 0; k < 3000; k++) {
        msg n = node_of(j->a, k % 2 ? "Add" : "MatMul", gcut_printf(j->a, "c%d c%d", k, k),
                        gcut_printf(j->a, "c%d", k + 1));
        message(&g, NODE, &n);
    }
    put_node(j->a, &g, "Relu", "x", "y");
    const msg m = model_of(j->a, &g, 13);
    use(j, &m);
    renew(j);
    const gcut_status status = gcut_protect(j->env, import_body, j);
    assert_true(status == GCUT_OK || status == GCUT_EUNSUPPORTED);
    assert_that(j->memory.most, <=, GCUT_ONNX_MOST_MEMORY(j->size) + 65536);
}

/* ---- data beside the model ---- */

static void write_bytes(const char *path, const void *at, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(at, 1, n, f), n);
    fclose(f);
}

/* An entry of the external data of a tensor. */
static void put_entry(job *j, msg *tensor, const char *key, const char *content)
{
    msg e = new_msg(j->a);
    text(&e, 1, key);
    text(&e, 2, content);
    message(tensor, 13, &e);
}

/* A model at j->path whose initializer w: f32[2] is elsewhere. */
static void external(job *j, int dtype, const char *location, const char *offset, const char *length)
{
    const int64_t two = 2;
    const char *const entry[][2] = {{"location", location}, {"offset", offset}, {"length", length}};
    msg g = graph_of(j->a), t = tensor_of(j->a, "w", dtype, &two, 1);
    for (int k = 0; k < 3; k++)
        if (entry[k][1]) put_entry(j, &t, entry[k][0], entry[k][1]);
    number(&t, 14, 1);
    message(&g, INITIALIZER, &t);
    put_node(j->a, &g, "Relu", "w", "y");
    const msg m = model_of(j->a, &g, 13);
    write_bytes(j->path, m.at, m.n);
    j->size = m.n;
}

static void beside(void **state)
{
    job *j = *state;
    char folder[] = "/tmp/gcut-hostile-XXXXXX";
    assert_non_null(mkdtemp(folder));
    const char *const path = gcut_printf(j->a, "%s/model/m.onnx", folder);
#define IN(name) gcut_printf(j->a, "%s/%s", folder, name)
    assert_int_equal(mkdir(IN("model"), 0700), 0);
    assert_int_equal(mkdir(IN("model/sub"), 0700), 0);
    assert_int_equal(mkdir(IN("outside"), 0700), 0);
    assert_int_equal(mkfifo(IN("model/pipe"), 0600), 0);
    write_bytes(IN("model/data"), "0123456789abcdef", 16);
    write_bytes(IN("model/sub/data"), "0123456789abcdef", 16);
    write_bytes(IN("outside/data"), "0123456789abcdef", 16);
    assert_int_equal(symlink("../outside/data", IN("model/link")), 0);
    assert_int_equal(symlink("../outside", IN("model/away")), 0);
    assert_int_equal(symlink("data", IN("model/near")), 0);
    static const struct {
        const char *location, *offset, *length, *says; /* NULL: it is read */
    } all[] = {
        {"data", NULL, NULL, NULL},
        {"data", "8", "8", NULL},
        {"./sub/data", "4", NULL, NULL},
        {NULL, NULL, NULL, "name no file"},
        {"", NULL, NULL, "name no file"},
        {"../outside/data", NULL, NULL, "in the model's folder, found the path '../outside/data'"},
        {"sub/../../outside/data", NULL, NULL, "in the model's folder"},
        {"sub/..", NULL, NULL, "in the model's folder"},
        {"/etc/passwd", NULL, NULL, "in the model's folder, found the path '/etc/passwd'"},
        {"sub//data", NULL, NULL, "in the model's folder"},
        {"link", NULL, NULL, "'link' is a link"},
        {"near", NULL, NULL, "'near' is a link"},
        {"away/data", NULL, NULL, "'away' is a link"},
        {"sub", NULL, NULL, "a folder, a pipe or a device"},
        {"pipe", NULL, NULL, "a folder, a pipe or a device"},
        {"none", NULL, NULL, "none': No such file"},
        {"data", "9", NULL, "bytes 9 to 17 of 'data', which has 16"},
        {"data", "0", "17", "bytes 0 to 17"},
        {"data", "18446744073709551615", "2", "which has 16"},
        {"data", "18446744073709551616", NULL, "expected a number for the offset"},
        {"data", "-1", NULL, "expected a number for the offset of its external data, found '-1'"},
        {"data", "0x8", NULL, "expected a number for the offset"},
        {"data", "0", "4", "'w' has 4 bytes, but its shape and dtype float say 8"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        j->path = path;
        external(j, FLOAT, all[i].location, all[i].offset, all[i].length);
        if (all[i].says)
            refuse(j, GCUT_EIO, all[i].says);
        else
            accept(j);
    }
    /* A file of 1 MiB that a thousand tensors share: as they are, and to be converted to i64. */
    char *large = gcut_calloc(j->a, 1, 1 << 20);
    write_bytes(IN("model/data"), large, 1 << 20);
    for (int converts = 0; converts < 2; converts++) {
        msg g = graph_of(j->a);
        for (int k = 0; k < 1000; k++) {
            const int64_t n = (1 << 20) / 4;
            msg t = tensor_of(j->a, gcut_printf(j->a, "w%d", k), converts ? UINT16 : FLOAT, &n, 1);
            put_entry(j, &t, "location", "data");
            number(&t, 14, 1);
            message(&g, INITIALIZER, &t);
        }
        put_node(j->a, &g, "Relu", "x", "y");
        const msg shared = model_of(j->a, &g, 13);
        write_bytes(path, shared.at, shared.n);
        j->path = path;
        j->size = shared.n + (1 << 20);
        if (converts)
            refuse(j, GCUT_EIO, "more elements than 16 for each byte");
        else
            accept(j);
    }
    /* Not from memory, where there is no folder. */
    msg m = new_msg(j->a);
    external(j, FLOAT, "data", NULL, NULL);
    size_t n;
    const char *bytes = gcut_file_read(j->a, path, 1 << 20, &n);
    gcut_text_addn(&m, bytes, n);
    use(j, &m);
    refuse(j, GCUT_EIO, "the model was read from memory");
    static const char *const made[] = {"model/near", "model/away",     "model/link",   "model/pipe",
                                       "model/data", "model/sub/data", "outside/data", "model/m.onnx"};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) assert_int_equal(unlink(IN(made[i])), 0);
    assert_int_equal(rmdir(IN("model/sub")) | rmdir(IN("model")) | rmdir(IN("outside")) | rmdir(folder), 0);
}

/* ---- memory ---- */

/* Each request for memory refused in turn. */
static void no_memory(void **state)
{
    job *j = *state;
    const msg m = small_model(j);
    use(j, &m);
    assert_true(refuse_each_request(j, import_body) > 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(no_model),    WITH_FIXTURE(cut_short),  WITH_FIXTURE(damaged),
        WITH_FIXTURE(nested),      WITH_FIXTURE(swollen),    WITH_FIXTURE(contradictions),
        WITH_FIXTURE(names_alike), WITH_FIXTURE(attributes), WITH_FIXTURE(tensors),
        WITH_FIXTURE(functions),   WITH_FIXTURE(folding),    WITH_FIXTURE(beside),
        WITH_FIXTURE(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
