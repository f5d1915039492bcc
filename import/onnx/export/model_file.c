/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The bytes of a model.  The elements of its initializers go from where they are to the file: each is the last field of its
 * TensorProto, each TensorProto the last field of the graph so far, and the graph the last field of the model.
 *
 *   model without graph | 7: length | graph without initializers | 5: length | tensor without elements | 9: length | elements …
 *
 * (https://protobuf.dev/programming-guides/encoding/)
 */
#include <inttypes.h>
#include <string.h>

#include "import/onnx/export/writer.h"

enum { MODEL_GRAPH = 7, GRAPH_INITIALIZER = 5, TENSOR_RAW_DATA = 9, LENGTH_DELIMITED = 2, MOST_OF_TAG = 11 };
enum { LEAST_OUTSIDE = 1024, ALIGNMENT = 64 }; /* bytes: smaller tensors stay in the model */

static size_t put_varint(uint8_t *at, uint64_t x)
{
    size_t n = 0;
    do at[n++] = (uint8_t)((x & 0x7F) | (x > 0x7F ? 0x80 : 0));
    while (x >>= 7);
    return n;
}

static size_t put_tag(uint8_t at[MOST_OF_TAG], int field, uint64_t bytes)
{
    at[0] = (uint8_t)(field << 3 | LENGTH_DELIMITED);
    return 1 + put_varint(at + 1, bytes);
}

/* A message as bytes. */
typedef struct packed {
    uint8_t *at;
    size_t n;
} packed;

static packed pack(gcut_arena *a, const ProtobufCMessage *m)
{
    packed p = {NULL, protobuf_c_message_get_packed_size(m)};
    p.at = gcut_alloc(a, p.n + 1);
    protobuf_c_message_pack(m, p.at);
    return p;
}

static uint64_t size_of_part(packed p, uint64_t bytes)
{
    uint8_t tag[MOST_OF_TAG];
    return p.n + (bytes ? put_tag(tag, TENSOR_RAW_DATA, bytes) + bytes : 0);
}

typedef struct parts {
    gcut_file_part *at;
    size_t n;
    uint64_t bytes;
} parts;

static void add(parts *p, const void *at, size_t n)
{
    if (!n) return;
    p->at[p->n++] = (gcut_file_part){at, n};
    p->bytes += n;
}

static void add_tag(gcut_arena *a, parts *p, int field, uint64_t bytes)
{
    uint8_t *tag = gcut_alloc(a, MOST_OF_TAG);
    add(p, tag, put_tag(tag, field, bytes));
}

static parts model_parts(gcut_onnx_writer *w, const Onnx__ModelProto *m)
{
    const uint32_t n = w->initializers.n;
    packed *tensor = gcut_calloc(w->a, n + 1u, sizeof *tensor);
    Onnx__ModelProto rest = *m;
    uint8_t tag[MOST_OF_TAG];
    rest.graph = NULL;
    const packed model = pack(w->a, &rest.base), graph = pack(w->a, &m->graph->base);
    uint64_t bytes = graph.n;
    for (uint32_t i = 0; i < n; i++) {
        tensor[i] = pack(w->a, &w->initializers.at[i]->base);
        const uint64_t size = size_of_part(tensor[i], w->data.at[i].n);
        bytes += put_tag(tag, GRAPH_INITIALIZER, size) + size;
    }
    parts p = {.at = gcut_calloc(w->a, 4u * n + 4u, sizeof *p.at)};
    add(&p, model.at, model.n);
    add_tag(w->a, &p, MODEL_GRAPH, bytes);
    add(&p, graph.at, graph.n);
    for (uint32_t i = 0; i < n; i++) {
        const gcut_file_part data = w->data.at[i];
        add_tag(w->a, &p, GRAPH_INITIALIZER, size_of_part(tensor[i], data.n));
        add(&p, tensor[i].at, tensor[i].n);
        if (!data.n) continue;
        add_tag(w->a, &p, TENSOR_RAW_DATA, data.n);
        add(&p, data.at, data.n);
    }
    return p;
}

/* ---- data outside of the model ---- */

static Onnx__StringStringEntryProto *entry(gcut_onnx_writer *w, const char *key, const char *value)
{
    Onnx__StringStringEntryProto *e =
        GCUT_ONNX_MESSAGE(w, Onnx__StringStringEntryProto, ONNX__STRING_STRING_ENTRY_PROTO__INIT);
    e->key = (char *)(uintptr_t)key;
    e->value = (char *)(uintptr_t)value;
    return e;
}

static parts move_outside(gcut_onnx_writer *w, const char *file)
{
    static const uint8_t zeros[ALIGNMENT];
    parts p = {.at = gcut_calloc(w->a, 2u * w->initializers.n + 1u, sizeof *p.at)};
    const char *slash = strrchr(file, '/'), *location = slash ? slash + 1 : file;
    for (uint32_t i = 0; i < w->initializers.n; i++) {
        Onnx__TensorProto *x = w->initializers.at[i];
        gcut_file_part *data = &w->data.at[i];
        if (data->n < LEAST_OUTSIDE) continue;
        add(&p, zeros, (ALIGNMENT - p.bytes % ALIGNMENT) % ALIGNMENT);
        x->has_data_location = 1;
        x->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
        x->external_data = gcut_calloc(w->a, 3, sizeof(Onnx__StringStringEntryProto *));
        x->external_data[x->n_external_data++] = entry(w, "location", location);
        x->external_data[x->n_external_data++] = entry(w, "offset", gcut_printf(w->a, "%" PRIu64, p.bytes));
        x->external_data[x->n_external_data++] = entry(w, "length", gcut_printf(w->a, "%zu", data->n));
        add(&p, data->at, data->n);
        *data = (gcut_file_part){NULL, 0};
    }
    return p;
}

uint64_t gcut_onnx_write_file(gcut_onnx_writer *w, const Onnx__ModelProto *m, const char *path,
                              uint64_t largest, const char **outside)
{
    parts model = model_parts(w, m), data = {0};
    *outside = NULL;
    if (model.bytes > largest) {
        *outside = gcut_printf(w->a, "%s.data", path);
        data = move_outside(w, *outside);
        model = model_parts(w, m);
        gcut_file_write_parts(w->env, *outside, data.at, data.n);
    }
    gcut_file_write_parts(w->env, path, model.at, model.n);
    return model.bytes + data.bytes;
}
