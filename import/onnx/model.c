/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * From the bytes of a file to fields and to messages.  A message of two bytes may unpack to hundreds, and protobuf-c
 * copies the elements of tensors.  So the bytes are walked first, by the schema: the walk counts what unpacking will take,
 * and writes a copy of the message in which the raw elements of each tensor are replaced by their place in the file.
 */
#include "import/onnx/model.h"

#include <string.h>

/* TensorProto.raw_data of the copy. */
typedef struct raw_place {
    uint64_t at, n;
} raw_place;

typedef struct walk {
    gcut_onnx_file *f;
    uint64_t memory; /* what unpacking takes, at most */
    int depth;
} walk;

#define BAD_FILE(f, ...)                                                                                     \
    gcut_fail(gcut_arena_env((f)->arena), GCUT_ESYNTAX, (gcut_place){.file = (f)->name}, NULL, __VA_ARGS__)
#define BAD(w, ...) BAD_FILE((w)->f, __VA_ARGS__)

static size_t place_of(const gcut_onnx_file *f, const uint8_t *at)
{
    return (size_t)(at - (const uint8_t *)f->file.at);
}

static uint64_t read_varint(const gcut_onnx_file *f, const uint8_t **p, const uint8_t *end)
{
    uint64_t x = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (*p == end) BAD_FILE(f, "the file ends within a number, at byte %zu", place_of(f, *p));
        const uint8_t byte = *(*p)++;
        x |= (uint64_t)(byte & 0x7F) << shift;
        if (!(byte & 0x80)) return x;
    }
    BAD_FILE(f, "expected a number of at most 64 bits at byte %zu: this is no ONNX file", place_of(f, *p));
}

/* Which wire type a field's items have; packed numbers are BYTES too. */
static enum gcut_onnx_wire wire_of(const ProtobufCFieldDescriptor *field)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE: return GCUT_ONNX_BYTES;
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32: return GCUT_ONNX_FIXED32;
    case PROTOBUF_C_TYPE_DOUBLE:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64: return GCUT_ONNX_FIXED64;
    default: return GCUT_ONNX_VARINT;
    }
}

gcut_onnx_field gcut_onnx_next_field(const gcut_onnx_file *f, const ProtobufCMessageDescriptor *of,
                                     const uint8_t **p, const uint8_t *end)
{
    gcut_onnx_field x = {.tag = *p};
    const uint64_t key = read_varint(f, p, end), number = key >> 3;
    const unsigned wire = (unsigned)key & 7;
    uint64_t n = 0;
    x.at = *p;
    if (wire == GCUT_ONNX_VARINT)
        x.value = read_varint(f, p, end);
    else if (wire == GCUT_ONNX_FIXED32)
        n = 4;
    else if (wire == GCUT_ONNX_FIXED64)
        n = 8;
    else if (wire == GCUT_ONNX_BYTES)
        n = read_varint(f, p, end);
    else
        BAD_FILE(f, "expected a field at byte %zu: this is no ONNX file", place_of(f, x.tag));
    if (n > (uint64_t)(end - *p))
        BAD_FILE(
            f,
            "a field at byte %zu has %llu bytes, but its message ends after %zu: this is no ONNX file, or a "
            "part of one",
            place_of(f, x.tag), (unsigned long long)n, (size_t)(end - *p));
    if (wire != GCUT_ONNX_VARINT) x.at = *p;
    *p += n;
    x.n = (size_t)(*p - x.at);
    x.wire = (enum gcut_onnx_wire)wire;
    if (!number || number >= 1u << 29) return x;
    x.field = protobuf_c_message_descriptor_get_field(of, (unsigned)number);
    if (!x.field) return x;
    const bool packed = wire == GCUT_ONNX_BYTES && x.field->label == PROTOBUF_C_LABEL_REPEATED &&
                        wire_of(x.field) != GCUT_ONNX_BYTES;
    if (wire != wire_of(x.field) && !packed)
        BAD_FILE(f, "the field '%s' of '%s' at byte %zu is of another kind: this is no ONNX file",
                 x.field->name, of->name, place_of(f, x.tag));
    return x;
}

void gcut_onnx_write_varint(gcut_text *out, uint64_t x)
{
    char byte[10];
    size_t n = 0;
    do byte[n++] = (char)(uint8_t)((x & 0x7F) | (x > 0x7F ? 0x80 : 0));
    while (x >>= 7);
    gcut_text_addn(out, byte, n);
}

/* The length of what will be written after it, in five bytes, so that nothing is moved or copied twice. */
static size_t begin_length(gcut_text *out)
{
    gcut_text_addn(out, "\x80\x80\x80\x80", 5);
    return out->n;
}

static void end_length(const walk *w, gcut_text *out, size_t from)
{
    const size_t n = out->n - from;
    if (n > INT32_MAX) BAD(w, "a message has more than 2^31 bytes besides the elements of its tensors");
    for (int k = 0; k < 5; k++)
        out->at[from - 5 + (size_t)k] = (char)(uint8_t)((n >> 7 * k & 0x7F) | (k < 4 ? 0x80 : 0));
}

static bool is_raw_data(const ProtobufCMessageDescriptor *of, const ProtobufCFieldDescriptor *field)
{
    return of == &onnx__tensor_proto__descriptor && !strcmp(field->name, "raw_data");
}

static void walk_message(walk *w, const ProtobufCMessageDescriptor *of, const uint8_t *p, const uint8_t *end,
                         gcut_text *out);

/* The part of a field with that many bytes, begun by its tag at `tag`. */
static void walk_bytes(walk *w, const ProtobufCMessageDescriptor *of, const ProtobufCFieldDescriptor *field,
                       const uint8_t *tag, const uint8_t *at, size_t n, gcut_text *out)
{
    if (field->type != PROTOBUF_C_TYPE_MESSAGE && !is_raw_data(of, field)) {
        /* Packed numbers take eight bytes each; a string has a NUL. */
        w->memory += (wire_of(field) == GCUT_ONNX_BYTES ? n : 8 * n) + 64;
        gcut_text_addn(out, (const char *)tag, (size_t)(at - tag) + n);
        return;
    }
    gcut_onnx_write_varint(out, (uint64_t)field->id << 3 | GCUT_ONNX_BYTES);
    const size_t from = begin_length(out);
    if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
        walk_message(w, field->descriptor, at, at + n, out);
    } else {
        const raw_place place = {place_of(w->f, at), n};
        w->memory += sizeof place;
        gcut_text_addn(out, (const char *)&place, sizeof place);
    }
    end_length(w, out, from);
}

static void walk_field(walk *w, const ProtobufCMessageDescriptor *of, const uint8_t **p, const uint8_t *end,
                       gcut_text *out)
{
    const gcut_onnx_field x = gcut_onnx_next_field(w->f, of, p, end);
    if (!x.field) return;
    w->memory += 64; /* protobuf-c's note of the field, and its place in a list */
    if (x.wire == GCUT_ONNX_BYTES)
        walk_bytes(w, of, x.field, x.tag, x.at, x.n, out);
    else
        gcut_text_addn(out, (const char *)x.tag, (size_t)(*p - x.tag));
}

static void walk_message(walk *w, const ProtobufCMessageDescriptor *of, const uint8_t *p, const uint8_t *end,
                         gcut_text *out)
{
    if (w->depth++ == GCUT_ONNX_NESTING) BAD(w, "messages are nested deeper than %d", GCUT_ONNX_NESTING);
    w->memory += of->sizeof_message;
    while (p < end) walk_field(w, of, &p, end, out);
    w->depth--;
}

/* ---- unpacking ---- */

typedef struct heap {
    gcut_env *env;
    bool failed;
} heap;

static void *heap_alloc(void *of, size_t n)
{
    heap *h = of;
    void *at = gcut_env_alloc(h->env, NULL, n ? n : 1);
    h->failed |= !at;
    return at;
}

static void heap_free(void *of, void *at)
{
    if (at) gcut_env_alloc(((heap *)of)->env, at, 0);
}

typedef struct unpacked {
    heap heap;
    ProtobufCMessage *message;
} unpacked;

static void free_message(void *of)
{
    unpacked *u = of;
    protobuf_c_message_free_unpacked(u->message, &(ProtobufCAllocator){heap_alloc, heap_free, &u->heap});
}

static const void *unpack(gcut_onnx_file *f, const ProtobufCMessageDescriptor *of)
{
    gcut_env *env = gcut_arena_env(f->arena);
    gcut_arena *a = gcut_arena_new(env, f->arena);
    const uint8_t *file = f->file.at;
    walk w = {.f = f};
    gcut_text copy = {.arena = a};
    if (!f->file.n) BAD(&w, "the file is empty");
    walk_message(&w, of, file, file + f->file.n, &copy);
    w.memory += 3 * (uint64_t)copy.n; /* with what it takes to grow */
    if (w.memory > GCUT_ONNX_GROWTH * (uint64_t)f->file.n + 4096)
        BAD(&w, "the %zu bytes of the file would take %llu bytes of memory, more than %d for each", f->file.n,
            (unsigned long long)w.memory, GCUT_ONNX_GROWTH);
    unpacked *u = gcut_calloc(f->arena, 1, sizeof *u);
    u->heap.env = env;
    u->message = protobuf_c_message_unpack(of, &(ProtobufCAllocator){heap_alloc, heap_free, &u->heap}, copy.n,
                                           (const uint8_t *)copy.at);
    if (!u->message && u->heap.failed) gcut_throw(env, GCUT_ENOMEM);
    if (!u->message) BAD(&w, "this is no ONNX file");
    gcut_arena_defer(f->arena, free_message, u);
    gcut_arena_free(a);
    return u->message;
}

const Onnx__ModelProto *gcut_onnx_model(gcut_onnx_file *f)
{
    return unpack(f, &onnx__model_proto__descriptor);
}

const Onnx__TensorProto *gcut_onnx_tensor_message(gcut_onnx_file *f)
{
    return unpack(f, &onnx__tensor_proto__descriptor);
}

gcut_onnx_file *gcut_onnx_open(gcut_arena *arena, const char *path)
{
    gcut_onnx_file *f = gcut_calloc(arena, 1, sizeof *f);
    const char *slash = strrchr(path, '/');
    f->arena = arena;
    f->name = gcut_strndup(arena, path, strlen(path));
    f->folder = slash ? gcut_strndup(arena, path, (size_t)(slash - path) + 1) : "./";
    f->file = gcut_file_map(arena, path);
    return f;
}

gcut_onnx_file *gcut_onnx_of_bytes(gcut_arena *arena, const char *name, const void *bytes, size_t size)
{
    gcut_onnx_file *f = gcut_calloc(arena, 1, sizeof *f);
    f->arena = arena;
    f->name = gcut_strndup(arena, name, strlen(name));
    f->file = (gcut_file_bytes){.at = bytes, .n = size};
    return f;
}

/* ---- tensors ---- */

static const struct {
    const char *name;
    gcut_dtype dtype;
    int bytes;  /* of an element in raw_data */
    char field; /* where elements are that are not raw: Float, Int, Long, Double, Unsigned */
} types[] = {
    [ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT] = {"float", GCUT_F32, 4, 'F'},
    [ONNX__TENSOR_PROTO__DATA_TYPE__UINT8] = {"uint8", GCUT_U8, 1, 'I'},
    [ONNX__TENSOR_PROTO__DATA_TYPE__INT8] = {"int8", GCUT_I8, 1, 'I'},
    [ONNX__TENSOR_PROTO__DATA_TYPE__UINT16] = {"uint16", GCUT_I64, 2, 'I'},
    [ONNX__TENSOR_PROTO__DATA_TYPE__INT16] = {"int16", GCUT_I16, 2, 'I'},
    [ONNX__TENSOR_PROTO__DATA_TYPE__INT32] = {"int32", GCUT_I32, 4, 'I'},
    [ONNX__TENSOR_PROTO__DATA_TYPE__INT64] = {"int64", GCUT_I64, 8, 'L'},
    [ONNX__TENSOR_PROTO__DATA_TYPE__STRING] = {"string", GCUT_NO_DTYPE, 0, 0},
    [ONNX__TENSOR_PROTO__DATA_TYPE__BOOL] = {"bool", GCUT_BOOL, 1, 'I'},
    [ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16] = {"float16", GCUT_F16, 2, 'I'},
    [ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE] = {"double", GCUT_F64, 8, 'D'},
    [ONNX__TENSOR_PROTO__DATA_TYPE__UINT32] = {"uint32", GCUT_I64, 4, 'U'},
    [ONNX__TENSOR_PROTO__DATA_TYPE__UINT64] = {"uint64", GCUT_I64, 8, 'U'},
    [ONNX__TENSOR_PROTO__DATA_TYPE__COMPLEX64] = {"complex64", GCUT_NO_DTYPE, 0, 0},
    [ONNX__TENSOR_PROTO__DATA_TYPE__COMPLEX128] = {"complex128", GCUT_NO_DTYPE, 0, 0},
    [ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16] = {"bfloat16", GCUT_BF16, 2, 'I'},
};
#define NTYPES ((int32_t)(sizeof types / sizeof *types))

gcut_dtype gcut_onnx_dtype(int32_t t)
{
    return t > 0 && t < NTYPES ? types[t].dtype : GCUT_NO_DTYPE;
}

const char *gcut_onnx_dtype_name(int32_t t)
{
    return t > 0 && t < NTYPES ? types[t].name : "a quantised type";
}

int64_t gcut_onnx_opset(Onnx__OperatorSetIdProto *const *opset, size_t n, const char *domain)
{
    for (size_t i = 0; i < n; i++) {
        const char *of = opset[i]->domain ? opset[i]->domain : "";
        if (!strcmp(strcmp(of, "ai.onnx") ? of : "", domain)) return opset[i]->version;
    }
    return 0;
}

int gcut_onnx_element_bytes(int32_t t)
{
    return t > 0 && t < NTYPES ? types[t].bytes : 0;
}

unsigned gcut_onnx_list_field(int32_t t)
{
    switch (t > 0 && t < NTYPES ? types[t].field : 0) {
    case 'F': return GCUT_ONNX_FLOAT_DATA;
    case 'I': return GCUT_ONNX_INT32_DATA;
    case 'L': return GCUT_ONNX_INT64_DATA;
    case 'D': return GCUT_ONNX_DOUBLE_DATA;
    case 'U': return GCUT_ONNX_UINT64_DATA;
    default: return 0;
    }
}

#define BAD_DATA(f, t, ...)                                                                                  \
    gcut_fail(gcut_arena_env((f)->arena), GCUT_EIO, (gcut_place){.file = (f)->name}, NULL, __VA_ARGS__)

static const char *name_of(const Onnx__TensorProto *t)
{
    return t->name ? t->name : "";
}

static const char *external_entry(const Onnx__TensorProto *t, const char *key)
{
    for (size_t i = 0; i < t->n_external_data; i++)
        if (t->external_data[i]->key && !strcmp(t->external_data[i]->key, key))
            return t->external_data[i]->value;
    return NULL;
}

/* The number of an entry, 0 where there is none. */
static uint64_t external_number(gcut_onnx_file *f, const Onnx__TensorProto *t, const char *key)
{
    const char *text = external_entry(t, key);
    uint64_t x = 0;
    for (const char *p = text ? text : ""; *p; p++)
        if (*p < '0' || *p > '9' || __builtin_mul_overflow(x, 10, &x) ||
            __builtin_add_overflow(x, (uint64_t)(*p - '0'), &x))
            BAD_DATA(f, t, "tensor '%s': expected a number for the %s of its external data, found '%s'",
                     name_of(t), key, text);
    return x;
}

/* A file within the model's folder, reached without links. */
static const gcut_file_bytes *external_file(gcut_onnx_file *f, const Onnx__TensorProto *t)
{
    const char *at = external_entry(t, "location");
    if (!at || !*at) BAD_DATA(f, t, "tensor '%s': its external data name no file", name_of(t));
    if (!f->folder)
        BAD_DATA(f, t, "tensor '%s' is in the file '%s', but the model was read from memory", name_of(t), at);
    for (uint32_t i = 0; i < f->data.n; i++)
        if (!strcmp(f->data.at[i].location, at)) return &f->data.at[i].file;
    if (f->data.n == GCUT_ONNX_MOST_FILES)
        BAD_DATA(f, t, "tensor '%s': the model has its data in more than %d files", name_of(t),
                 GCUT_ONNX_MOST_FILES);
    for (const char *part = at; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL)
        if (*part == '/' || (!strncmp(part, "..", 2) && (part[2] == '/' || !part[2])))
            BAD_DATA(f, t, "tensor '%s': expected a file in the model's folder, found the path '%s'",
                     name_of(t), at);
    for (const char *slash = strchr(at, '/');; slash = strchr(slash + 1, '/')) {
        const char *part = slash ? gcut_strndup(f->arena, at, (size_t)(slash - at)) : at;
        if (gcut_file_is_link(gcut_printf(f->arena, "%s%s", f->folder, part)))
            BAD_DATA(f, t, "tensor '%s': '%s' is a link, and may lead out of the model's folder", name_of(t),
                     part);
        if (!slash) break;
    }
    const char *path = gcut_printf(f->arena, "%s%s", f->folder, at);
    if (gcut_file_is_special(path)) /* opening a pipe would wait for its writer */
        BAD_DATA(f, t, "tensor '%s': '%s' is a folder, a pipe or a device", name_of(t), at);
    *GCUT_PUSH(f->arena, &f->data) = (gcut_onnx_data){.location = at, .file = gcut_file_map(f->arena, path)};
    return &f->data.at[f->data.n - 1].file;
}

gcut_file_part gcut_onnx_external(gcut_onnx_file *f, const Onnx__TensorProto *t, uint64_t want)
{
    const gcut_file_bytes *file = external_file(f, t);
    const uint64_t at = external_number(f, t, "offset");
    uint64_t n = external_entry(t, "length") ? external_number(f, t, "length") : want;
    if (n == GCUT_ONNX_REST && at <= file->n) n = file->n - at;
    if (at > file->n || n > file->n - at)
        BAD_DATA(f, t, "tensor '%s' lies at the bytes %llu to %llu of '%s', which has %zu", name_of(t),
                 (unsigned long long)at, (unsigned long long)(at + n), external_entry(t, "location"),
                 file->n);
    return (gcut_file_part){(const char *)file->at + at, (size_t)n};
}

/* The elements where they are as raw bytes; at NULL: in a list of numbers. */
static gcut_file_part raw_of(gcut_onnx_file *f, const Onnx__TensorProto *t, uint64_t want)
{
    raw_place place;
    if (t->has_data_location && t->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL)
        return gcut_onnx_external(f, t, want);
    if (!t->has_raw_data) return (gcut_file_part){0};
    GCUT_ASSERT(t->raw_data.len == sizeof place);
    memcpy(&place, t->raw_data.data, sizeof place);
    return (gcut_file_part){(const char *)f->file.at + place.at, (size_t)place.n};
}

/* The number of elements in the list that the dtype uses. */
static size_t listed(const Onnx__TensorProto *t)
{
    switch (types[t->data_type].field) {
    case 'F': return t->n_float_data;
    case 'I': return t->n_int32_data;
    case 'L': return t->n_int64_data;
    case 'D': return t->n_double_data;
    default: return t->n_uint64_data;
    }
}

/* Element k of the lists that hold integers, or of raw bytes. */
static uint64_t integer_at(const Onnx__TensorProto *t, const gcut_file_part *raw, size_t k)
{
    uint64_t x = 0;
    const size_t width = (size_t)types[t->data_type].bytes;
    if (!raw->at)
        return types[t->data_type].field == 'I' ? (uint64_t)(int64_t)t->int32_data[k] : t->uint64_data[k];
    memcpy(&x, (const char *)raw->at + k * width, width);
    return x;
}

/* Elements in the dtype's own width, from the list or from raw bytes of another. */
static const void *converted(gcut_onnx_file *f, const Onnx__TensorProto *t, const gcut_file_part *raw,
                             const gcut_tensor *x)
{
    const size_t width = (size_t)gcut_dtype_bytes(x->dtype), n = (size_t)x->n;
    switch (raw->at ? 'I' : types[t->data_type].field) {
    case 'F': return t->float_data;
    case 'L': return t->int64_data;
    case 'D': return t->double_data;
    default: break;
    }
    uint64_t bytes = f->file.n;
    for (uint32_t i = 0; i < f->data.n; i++) bytes += f->data.at[i].file.n;
    f->converted += n;
    if (f->converted > GCUT_ONNX_CONVERSIONS * bytes)
        BAD_DATA(
            f, t,
            "tensor '%s' would be converted, and with it more elements than %d for each byte of all files",
            x->name, GCUT_ONNX_CONVERSIONS);
    char *to = gcut_calloc(f->arena, n + 1, width);
    for (size_t k = 0; k < n; k++) {
        const uint64_t bits = integer_at(t, raw, k);
        memcpy(to + k * width, &bits, width);
    }
    return to;
}

gcut_tensor gcut_onnx_tensor(gcut_onnx_file *f, const Onnx__TensorProto *t)
{
    gcut_tensor x = {
        .name = name_of(t), .dtype = gcut_onnx_dtype(t->data_type), .rank = (uint32_t)t->n_dims, .n = 1};
    uint64_t want;
    bool empty = false;
    if (t->n_dims > GCUT_MAX_RANK)
        BAD_DATA(f, t, "tensor '%s' has %zu axes, more than %d", x.name, t->n_dims, GCUT_MAX_RANK);
    for (uint32_t r = 0; r < x.rank; r++) {
        x.dim[r] = t->dims[r];
        if (x.dim[r] < 0) BAD_DATA(f, t, "tensor '%s' has the size %lld", x.name, (long long)x.dim[r]);
        empty |= x.dim[r] == 0;
    }
    for (uint32_t r = 0; r < x.rank && !empty; r++)
        if (__builtin_mul_overflow(x.n, x.dim[r], &x.n))
            BAD_DATA(f, t, "tensor '%s' has more than 2^63 elements", x.name);
    if (empty) x.n = 0;
    if (x.dtype == GCUT_NO_DTYPE) {
        x.foreign = gcut_onnx_dtype_name(t->data_type);
        return x;
    }
    if (__builtin_mul_overflow((uint64_t)x.n, (uint64_t)types[t->data_type].bytes, &want))
        BAD_DATA(f, t, "tensor '%s' has more than 2^64 bytes", x.name);
    const gcut_file_part raw = raw_of(f, t, want);
    if (raw.at ? raw.n != want : listed(t) != (size_t)x.n)
        BAD_DATA(f, t, "tensor '%s' has %llu %s, but its shape and dtype %s say %llu", x.name,
                 raw.at ? (unsigned long long)raw.n : (unsigned long long)listed(t),
                 raw.at ? "bytes" : "elements", types[t->data_type].name,
                 raw.at ? (unsigned long long)want : (unsigned long long)x.n);
    x.data =
        raw.at && types[t->data_type].bytes == gcut_dtype_bytes(x.dtype) ? raw.at : converted(f, t, &raw, &x);
    return x;
}
