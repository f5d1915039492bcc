/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The bytes of a model are walked by the schema, which collects edits: bytes that are left out, and what is written in their
 * place.  They are the elements of initializers, the entries that say where external data are, and the lengths of the messages
 * around them where these change.
 */
#include "import/onnx/export/replaced_elements.h"

#include <inttypes.h>
#include <string.h>

#include "base/map.h"
#include "graph/ops/dtype_info.h"
#include "import/onnx/export/export.h"

enum { GRAPH_OF_MODEL = 7, INITIALIZER_OF_GRAPH = 5, ALIGNMENT = 64 };

typedef struct edit {
    const uint8_t *at; /* n bytes of the model */
    size_t n;
    gcut_file_part by;
} edit;

typedef struct rewriter {
    gcut_env *env;
    gcut_arena *a;
    gcut_onnx_file *f;
    const gcut_tensors *x;
    gcut_names names;     /* of x */
    gcut_map by_name;     /* place in x, + 1 */
    GCUT_VEC(edit) edits; /* in the order of the model's bytes */
    int64_t growth;       /* by the edits so far */
    GCUT_VEC(gcut_file_part) outside;
    uint64_t outside_bytes;
    const char *outside_path, *location; /* the same file as seen from here, and from the model */
} rewriter;

#define BAD(w, status, ...) gcut_fail((w)->env, status, (gcut_place){.file = (w)->f->name}, NULL, __VA_ARGS__)

static void replace(rewriter *w, const uint8_t *at, size_t n, const void *by, size_t nby)
{
    *GCUT_PUSH(w->a, &w->edits) = (edit){at, n, {by, nby}};
    w->growth += (int64_t)nby - (int64_t)n;
}

static void write_header(gcut_text *out, unsigned number, uint64_t bytes)
{
    gcut_onnx_write_varint(out, (uint64_t)number << 3 | GCUT_ONNX_BYTES);
    gcut_onnx_write_varint(out, bytes);
}

/* ---- elements ---- */

/* The elements in the width that raw bytes of the type have. */
static const void *in_width(rewriter *w, const gcut_tensor *x, int32_t data_type)
{
    const size_t width = (size_t)gcut_onnx_element_bytes(data_type), own = (size_t)gcut_dtype_bytes(x->dtype);
    if (width == own) return x->data;
    char *out = gcut_calloc(w->a, (size_t)x->n + 1, width);
    for (int64_t k = 0; k < x->n; k++) {
        uint64_t bits = 0;
        memcpy(&bits, (const char *)x->data + (size_t)k * own, own);
        if (bits >> 8 * width)
            BAD(w, GCUT_ETYPE, "element %lld of '%s', %lld, is no number of the initializer's type %s",
                (long long)k, x->name, (long long)bits, gcut_onnx_dtype_name(data_type));
        memcpy(out + (size_t)k * width, &bits, width);
    }
    return out;
}

/* The field of a list, packed. */
static gcut_text as_varints(rewriter *w, const gcut_tensor *x, unsigned number, const void *elements,
                            size_t width)
{
    const bool is_signed = x->dtype == GCUT_I8 || x->dtype == GCUT_I16 || x->dtype == GCUT_I32;
    gcut_text list = {.arena = w->a}, out = {.arena = w->a};
    for (int64_t k = 0; k < x->n; k++) {
        uint64_t bits = 0;
        memcpy(&bits, (const char *)elements + (size_t)k * width, width);
        if (is_signed && bits >> (8 * width - 1)) bits |= ~UINT64_C(0) << 8 * width;
        gcut_onnx_write_varint(&list, bits);
    }
    write_header(&out, number, list.n);
    gcut_text_addn(&out, list.at, list.n);
    return out;
}

typedef struct tensor_bytes { /* TensorProto */
    const uint8_t *at, *end;
    const char *name;
    int32_t data_type;
    bool is_raw, is_external;
} tensor_bytes;

static const ProtobufCMessageDescriptor *const tensor_proto = &onnx__tensor_proto__descriptor;

static void replace_inside(rewriter *w, const tensor_bytes *t, const gcut_tensor *x)
{
    const unsigned list = t->is_raw ? GCUT_ONNX_RAW_DATA : gcut_onnx_list_field(t->data_type);
    const size_t width = (size_t)gcut_onnx_element_bytes(t->data_type), all = (size_t)x->n * width;
    const char *from = in_width(w, x, t->data_type);
    size_t done = 0;
    for (const uint8_t *p = t->at; p < t->end;) {
        const gcut_onnx_field field = gcut_onnx_next_field(w->f, tensor_proto, &p, t->end);
        if (!field.field || field.field->id != list) continue;
        if (t->is_raw || list == GCUT_ONNX_FLOAT_DATA || list == GCUT_ONNX_DOUBLE_DATA) {
            GCUT_ASSERT(field.n <= all - done);
            replace(w, field.at, field.n, from + done, field.n);
            done += field.n;
        } else {
            const gcut_text packed = done ? (gcut_text){0} : as_varints(w, x, list, from, width);
            replace(w, field.tag, (size_t)(p - field.tag), packed.at, packed.n);
            done = all;
        }
    }
    GCUT_ASSERT(done == all);
}

/* ---- external data ---- */

/* Puts elements into the file of data; the three entries that say so, as fields of the TensorProto. */
static gcut_text put_outside(rewriter *w, gcut_file_part part)
{
    static const uint8_t zeros[ALIGNMENT];
    const size_t gap = (ALIGNMENT - w->outside_bytes % ALIGNMENT) % ALIGNMENT;
    const char *const entry[][2] = {
        {"location", w->location},
        {"offset", gcut_printf(w->a, "%" PRIu64, w->outside_bytes + gap)},
        {"length", gcut_printf(w->a, "%zu", part.n)},
    };
    uint64_t most = w->f->file.n;
    for (uint32_t i = 0; i < w->f->data.n; i++) most += w->f->data.at[i].file.n;
    if (gap) *GCUT_PUSH(w->a, &w->outside) = (gcut_file_part){zeros, gap};
    if (part.n) *GCUT_PUSH(w->a, &w->outside) = part;
    w->outside_bytes += gap + part.n;
    if (w->outside_bytes / GCUT_ONNX_CONVERSIONS > most)
        BAD(w, GCUT_EIO,
            "tensors share bytes of the model's files, which would become more than %d times as large",
            GCUT_ONNX_CONVERSIONS);
    gcut_text out = {.arena = w->a};
    for (int i = 0; i < 3; i++) {
        gcut_text pair = {.arena = w->a};
        for (unsigned k = 0; k < 2; k++) {
            write_header(&pair, k + 1, strlen(entry[i][k]));
            gcut_text_addn(&pair, entry[i][k], strlen(entry[i][k]));
        }
        write_header(&out, GCUT_ONNX_EXTERNAL_DATA, pair.n);
        gcut_text_addn(&out, pair.at, pair.n);
    }
    return out;
}

/* Is it an entry that does not hold of the new file? */
static bool is_replaced(const rewriter *w, const gcut_onnx_field *entry)
{
    static const char *const keys[] = {"location", "offset", "length", "checksum"};
    for (const uint8_t *p = entry->at, *end = p + entry->n; p < end;) {
        const gcut_onnx_field x = gcut_onnx_next_field(w->f, entry->field->descriptor, &p, end);
        for (size_t k = 0; x.field && x.field->id == 1 && k < sizeof keys / sizeof *keys; k++)
            if (x.n == strlen(keys[k]) && !memcmp(x.at, keys[k], x.n)) return true;
    }
    return false;
}

/* The elements that it has, of any type. */
static gcut_file_part external_bytes(rewriter *w, const tensor_bytes *t)
{
    gcut_onnx_file alone = {.arena = w->f->arena, .name = w->f->name};
    alone.file = (gcut_file_bytes){.at = t->at, .n = (size_t)(t->end - t->at)};
    const Onnx__TensorProto *m = gcut_onnx_tensor_message(&alone);
    uint64_t want = (uint64_t)gcut_onnx_element_bytes(m->data_type);
    bool known = want != 0;
    for (size_t r = 0; r < m->n_dims; r++)
        known &= !__builtin_mul_overflow(want, (uint64_t)m->dims[r], &want);
    return gcut_onnx_external(w->f, m, known ? want : GCUT_ONNX_REST);
}

/* x NULL: its elements stay the same. */
static void move_outside(rewriter *w, const tensor_bytes *t, const gcut_tensor *x)
{
    gcut_file_part part = external_bytes(w, t);
    if (x) part.at = in_width(w, x, t->data_type); /* as many: its shape is the initializer's */
    bool any = false;
    for (const uint8_t *p = t->at; p < t->end;) {
        const gcut_onnx_field field = gcut_onnx_next_field(w->f, tensor_proto, &p, t->end);
        if (!field.field || field.field->id != GCUT_ONNX_EXTERNAL_DATA) continue;
        if (!any) {
            const gcut_text entries = put_outside(w, part);
            replace(w, field.tag, 0, entries.at, entries.n);
        }
        any = true;
        if (is_replaced(w, &field)) replace(w, field.tag, (size_t)(p - field.tag), NULL, 0);
    }
}

/* ---- messages ---- */

/* Fields that a message has once: of two, readers take the last, or merge them. */
static void need_once(rewriter *w, const ProtobufCMessageDescriptor *of, const gcut_onnx_field *x,
                      uint64_t *seen)
{
    if (!x->field || x->field->label == PROTOBUF_C_LABEL_REPEATED) return;
    GCUT_ASSERT(of->n_fields <= 64);
    const uint64_t bit = UINT64_C(1) << (x->field - of->fields);
    if (*seen & bit)
        BAD(w, GCUT_ESYNTAX, "the message '%s' at byte %zu has the field '%s' twice", of->name,
            (size_t)(x->tag - (const uint8_t *)w->f->file.at), x->field->name);
    *seen |= bit;
}

static void rewrite_tensor(rewriter *w, const gcut_onnx_field *of, bool is_initializer)
{
    tensor_bytes t = {.at = of->at, .end = of->at + of->n, .name = ""};
    uint64_t seen = 0;
    for (const uint8_t *p = t.at; p < t.end;) {
        const gcut_onnx_field x = gcut_onnx_next_field(w->f, tensor_proto, &p, t.end);
        need_once(w, tensor_proto, &x, &seen);
        switch (x.field ? x.field->id : 0) {
        case GCUT_ONNX_DATA_TYPE: t.data_type = (int32_t)x.value; break;
        case GCUT_ONNX_TENSOR_NAME: t.name = gcut_strndup(w->a, (const char *)x.at, x.n); break;
        case GCUT_ONNX_RAW_DATA: t.is_raw = true; break;
        case GCUT_ONNX_DATA_LOCATION:
            t.is_external = x.value == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
            break;
        default: break;
        }
    }
    const char *name = is_initializer ? gcut_interned(&w->names, t.name, strlen(t.name)) : NULL;
    const uint32_t i = name ? gcut_map_get(&w->by_name, gcut_map_key(name)) : 0;
    const gcut_tensor *x = i ? &w->x->at[i - 1] : NULL;
    if (t.is_external)
        move_outside(w, &t, x);
    else if (x && x->n)
        replace_inside(w, &t, x);
}

/* May a tensor be in it? */
static bool has_tensors(const ProtobufCMessageDescriptor *m)
{
    return m == tensor_proto || m == &onnx__graph_proto__descriptor || m == &onnx__node_proto__descriptor ||
           m == &onnx__attribute_proto__descriptor || m == &onnx__function_proto__descriptor ||
           m == &onnx__sparse_tensor_proto__descriptor || m == &onnx__training_info_proto__descriptor;
}

/* is_main: it is the model, or its graph. */
static void rewrite_message(rewriter *w, const ProtobufCMessageDescriptor *of, const uint8_t *p,
                            const uint8_t *end, bool is_main)
{
    uint64_t seen = 0;
    while (p < end) {
        const gcut_onnx_field x = gcut_onnx_next_field(w->f, of, &p, end);
        need_once(w, of, &x, &seen);
        if (!x.field || x.field->type != PROTOBUF_C_TYPE_MESSAGE || !has_tensors(x.field->descriptor))
            continue;
        const uint32_t header = w->edits.n;
        const int64_t before = w->growth;
        replace(w, x.tag, 0, NULL, 0);
        if (x.field->descriptor == tensor_proto)
            rewrite_tensor(w, &x, is_main && x.field->id == INITIALIZER_OF_GRAPH);
        else
            rewrite_message(w, x.field->descriptor, x.at, x.at + x.n,
                            is_main && x.field->id == GRAPH_OF_MODEL);
        if (w->edits.n == header + 1) w->edits.n = header;
        if (w->growth == before) continue;
        gcut_text own = {.arena = w->a};
        edit *e = &w->edits.at[header];
        write_header(&own, x.field->id, (uint64_t)((int64_t)x.n + w->growth - before));
        e->n = (size_t)(x.at - x.tag);
        e->by = (gcut_file_part){own.at, own.n};
        w->growth += (int64_t)own.n - (int64_t)e->n;
    }
}

/* ---- files ---- */

static void write_parts(rewriter *w, const char *path)
{
    const uint8_t *p = w->f->file.at, *end = p + w->f->file.n;
    gcut_file_part *part = gcut_calloc(w->a, 2u * (size_t)w->edits.n + 1, sizeof *part);
    size_t n = 0;
    for (uint32_t i = 0; i < w->edits.n; i++) {
        const edit *e = &w->edits.at[i];
        if (e->at > p) part[n++] = (gcut_file_part){p, (size_t)(e->at - p)};
        if (e->by.n) part[n++] = e->by;
        p = e->at + e->n;
    }
    if (p < end) part[n++] = (gcut_file_part){p, (size_t)(end - p)};
    gcut_file_write_parts(w->env, path, part, n);
}

/* The model may be replaced, as it is read where it is mapped and replaced as a whole; its data may not, since the model
 * is replaced after them. */
static void need_other_files(rewriter *w, const char *path)
{
    for (uint32_t i = 0; i < w->f->data.n; i++) {
        const char *own = gcut_printf(w->a, "%s%s", w->f->folder, w->f->data.at[i].location);
        if (gcut_file_is_same(own, path) || (w->outside.n && gcut_file_is_same(own, w->outside_path)))
            BAD(w, GCUT_EIO,
                "the model has elements in '%s', which would be overwritten: write to another path", own);
    }
    if (w->outside.n && gcut_file_is_same(w->f->name, w->outside_path))
        BAD(w, GCUT_EIO, "the model itself would be overwritten by its data: write to another path");
}

gcut_onnx_replaced gcut_onnx_replace_elements(gcut_onnx_file *f, gcut_arena *a, const gcut_tensors *x,
                                              const char *path)
{
    const uint8_t *at = f->file.at;
    rewriter w = {.env = gcut_arena_env(a), .a = a, .f = f, .x = x, .names = {.arena = a}};
    const char *slash = strrchr(path, '/');
    w.outside_path = gcut_printf(a, "%s.data", path);
    w.location = gcut_printf(a, "%s.data", slash ? slash + 1 : path);
    for (uint32_t i = 0; i < x->n; i++) {
        const char *name = gcut_intern(&w.names, x->at[i].name, strlen(x->at[i].name));
        *gcut_map_at(a, &w.by_name, gcut_map_key(name)) = i + 1;
    }
    rewrite_message(&w, &onnx__model_proto__descriptor, at, at + f->file.n, true);
    const uint64_t bytes = (uint64_t)((int64_t)f->file.n + w.growth);
    if (bytes > GCUT_ONNX_LARGEST)
        BAD(&w, GCUT_EUNSUPPORTED, "the model would have %llu bytes, more than 2^31",
            (unsigned long long)bytes);
    need_other_files(&w, path);
    if (w.outside.n) gcut_file_write_parts(w.env, w.outside_path, w.outside.at, w.outside.n);
    write_parts(&w, path);
    return (gcut_onnx_replaced){.bytes = bytes + w.outside_bytes,
                                .outside = w.outside.n ? w.outside_path : NULL};
}
