/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libFuzzer entry of ONNX models.  Unpacking takes at most 100 bytes of memory for each byte of a file, the whole import
 * at most GCUT_ONNX_MOST_MEMORY.  What is imported passes the verifier, and its text is parsed and printed as the same
 * text; what is refused has one diagnostic.
 *
 * Half of the mutations change one field of the messages, by the schema, and correct the lengths of all messages around
 * it, which mutations of single bytes rarely do.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "graph/verify.h"
#include "import/onnx/import.h"
#include "text/text.h"

typedef struct job {
    const input *in;
    gcut_graph *g;
    gcut_text first, second;
} job;

static void unpack(void *arg)
{
    job *j = arg;
    gcut_arena *a = gcut_arena_new(j->in->env, j->in->env->arena);
    gcut_onnx_model(gcut_onnx_of_bytes(a, "fuzz.onnx", j->in->data, j->in->size));
    gcut_arena_free(a);
}

static void import(void *arg)
{
    job *j = arg;
    gcut_env *env = j->in->env;
    gcut_onnx_file *f = gcut_onnx_of_bytes(env->arena, "fuzz.onnx", j->in->data, j->in->size);
    j->g = gcut_onnx_import_model(f, gcut_module_new(env, env->arena), "main", NULL).g;
}

static void print(void *arg)
{
    job *j = arg;
    gcut_env *env = j->in->env;
    j->first.arena = j->second.arena = env->arena;
    gcut_verify_module(j->g->module);
    gcut_print_graph(j->g, NULL, &j->first);
    gcut_module *m = gcut_parse_module(env, env->arena, "printed.gcut", j->first.at, j->first.n);
    gcut_print_graph(gcut_module_find(m, "main"), NULL, &j->second);
}

static void stop(const gcut_env *env)
{
    fprintf(stderr, "%s\n", gcut_diag_text(env->arena, &env->diags[0]));
    abort();
}

static void fuzz(input *in)
{
    gcut_env *env = in->env;
    job j = {.in = in};
    in->memory.limit = in->memory.now + GCUT_ONNX_GROWTH * in->size + 65536;
    const gcut_status unpacked = gcut_protect(env, unpack, &j);
    gcut_diags_clear(env);
    in->memory.limit = in->memory.now + GCUT_ONNX_MOST_MEMORY(in->size);
    const gcut_status status = gcut_protect(env, import, &j);
    in->memory.limit = 0;
    if (status == GCUT_OK) {
        GCUT_ASSERT(unpacked == GCUT_OK);
        if (gcut_protect(env, print, &j) != GCUT_OK) stop(env);
        GCUT_ASSERT(j.first.n == j.second.n && !memcmp(j.first.at, j.second.at, j.first.n));
    } else {
        check_refusal(env, 1);
        GCUT_ASSERT(!strchr(env->diags[0].message, '\n'));
    }
}

/* ---- mutations by the schema ---- */

typedef struct field {
    const ProtobufCFieldDescriptor *of; /* NULL: the schema does not have it */
    unsigned wire;                      /* 0 a varint, 1 eight bytes, 2 counted bytes, 5 four bytes */
    const uint8_t *tag, *at, *end;      /* its first byte, its payload and the end of that */
} field;

enum change { REMOVE, REPEAT, CHANGE, REPLACE, APPEND, NCHANGES };

/* One change of a file: of field number `target`, counted through all messages in their order. */
typedef struct edit {
    uint32_t random;
    enum change how;
    long target, seen;
    field other; /* what REPLACE and APPEND insert: a field of this type from elsewhere in the file */
    uint8_t *out;
    size_t n, room;
    bool full;
} edit;

static uint32_t draw(edit *e, uint32_t below)
{
    e->random = e->random * 1664525 + 1013904223;
    return (uint32_t)(((uint64_t)e->random * below) >> 32);
}

static bool varint(const uint8_t **p, const uint8_t *end, uint64_t *x)
{
    *x = 0;
    for (unsigned shift = 0; shift < 64 && *p < end; shift += 7) {
        const uint8_t byte = *(*p)++;
        *x |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

static bool next_field(const ProtobufCMessageDescriptor *m, const uint8_t **p, const uint8_t *end, field *f)
{
    uint64_t key, n = 0;
    f->tag = *p;
    if (*p >= end || !varint(p, end, &key) || key >> 3 >= 1u << 29) return false;
    f->wire = key & 7;
    f->of = protobuf_c_message_descriptor_get_field(m, (unsigned)(key >> 3));
    f->at = *p;
    if (f->wire == 0 && !varint(p, end, &n)) return false;
    if (f->wire == 2) {
        if (!varint(p, end, &n) || n > (size_t)(end - *p)) return false;
        f->at = *p;
        *p += n;
    }
    if (f->wire == 1 || f->wire == 5) {
        n = f->wire == 1 ? 8 : 4;
        if (n > (size_t)(end - *p)) return false;
        *p += n;
    }
    f->end = *p;
    return f->wire <= 2 || f->wire == 5;
}

static void put(edit *e, const void *bytes, size_t n)
{
    if (n > e->room - e->n) {
        e->full = true;
        return;
    }
    if (n) memcpy(e->out + e->n, bytes, n);
    e->n += n;
}

static void put_varint(edit *e, uint64_t x)
{
    uint8_t byte[10];
    size_t n = 0;
    for (; x > 0x7f; x >>= 7) byte[n++] = (uint8_t)(x | 0x80);
    byte[n++] = (uint8_t)x;
    put(e, byte, n);
}

static void put_field(edit *e, const field *f, const void *bytes, size_t n)
{
    put_varint(e, (uint64_t)f->of->id << 3 | f->wire);
    if (f->wire == 2) put_varint(e, n);
    put(e, bytes, n);
}

static bool is_message(const field *f)
{
    return f->of && f->of->type == PROTOBUF_C_TYPE_MESSAGE && f->wire == 2;
}

static bool like(const field *a, const ProtobufCFieldDescriptor *b)
{
    return a->of && b && a->of->type == b->type && a->of->descriptor == b->descriptor;
}

/* Counts the fields; where `as` is not NULL, keeps a random one of the type of that field. */
static void survey(edit *e, const ProtobufCMessageDescriptor *m, const uint8_t *p, const uint8_t *end,
                   const ProtobufCFieldDescriptor *as, uint32_t *alike)
{
    field f;
    while (next_field(m, &p, end, &f)) {
        if (!as && e->seen++ == e->target) e->other = f;
        if (as && like(&f, as) && draw(e, ++*alike) == 0) e->other = f;
        if (is_message(&f)) survey(e, f.of->descriptor, f.at, f.end, as, alike);
    }
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

/* Another number, or other bytes. */
static void put_changed(edit *e, const field *f)
{
    static const int64_t numbers[] = {0,
                                      1,
                                      2,
                                      3,
                                      7,
                                      16,
                                      22,
                                      -1,
                                      -2,
                                      INT32_MAX,
                                      INT32_MIN,
                                      INT64_MAX,
                                      INT64_MIN,
                                      INT64_MIN + 1,
                                      INT64_C(1) << 62,
                                      -(INT64_C(1) << 62) - 1,
                                      INT64_C(1) << 31};
    uint8_t bytes[4096];
    size_t n = (size_t)(f->end - f->at);
    if (f->wire == 0) {
        const uint8_t *at = f->at;
        uint64_t x = 0;
        varint(&at, f->end, &x);
        put_varint(e, (uint64_t)f->of->id << 3);
        put_varint(e, draw(e, 2) ? (uint64_t)numbers[draw(e, sizeof numbers / sizeof *numbers)]
                                 : x + draw(e, 5) - 2);
        return;
    }
    if (n > sizeof bytes / 2) n = sizeof bytes / 2;
    memcpy(bytes, f->at, n);
    const size_t most = f->wire == 2 ? sizeof bytes : n;
    const size_t changed = LLVMFuzzerMutate(bytes, n, most);
    put_field(e, f, bytes, f->wire == 2 ? changed : n);
}

static void copy(edit *e, const ProtobufCMessageDescriptor *m, const uint8_t *p, const uint8_t *end);

static void copy_field(edit *e, const field *f)
{
    if (!is_message(f)) {
        put(e, f->tag, (size_t)(f->end - f->tag));
        return;
    }
    /* The length comes before what it counts: five bytes are left for it. */
    put_varint(e, (uint64_t)f->of->id << 3 | 2);
    const size_t at = e->n;
    put(e, "\0\0\0\0", 5);
    copy(e, f->of->descriptor, f->at, f->end);
    if (e->full) return;
    const size_t end = e->n, n = end - at - 5;
    e->n = at;
    put_varint(e, n);
    memmove(e->out + e->n, e->out + at + 5, n);
    e->n += n;
}

static void copy(edit *e, const ProtobufCMessageDescriptor *m, const uint8_t *p, const uint8_t *end)
{
    field f;
    while (!e->full && next_field(m, &p, end, &f)) {
        if (e->seen++ != e->target) {
            copy_field(e, &f);
            continue;
        }
        if (e->how != REMOVE && e->how != REPLACE && !(e->how == CHANGE && f.of)) copy_field(e, &f);
        if (e->how == REPEAT) copy_field(e, &f);
        if (e->how == CHANGE && f.of) put_changed(e, &f);
        if ((e->how == REPLACE || e->how == APPEND) && e->other.of) {
            field as = e->other;
            if (e->how == REPLACE) as.of = f.of;
            put_field(e, &as, as.at, (size_t)(as.end - as.at));
        }
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    static uint8_t out[1 << 17];
    edit e = {.random = seed, .out = out, .room = most < sizeof out ? most : sizeof out, .target = -1};
    const ProtobufCMessageDescriptor *model = &onnx__model_proto__descriptor;
    survey(&e, model, data, data + size, NULL, NULL);
    if (e.seen == 0 || draw(&e, 2)) return LLVMFuzzerMutate(data, size, most);
    const long fields = e.seen;
    for (uint32_t changes = 1 + draw(&e, 3); changes; changes--) {
        uint32_t alike = 0;
        e.seen = 0;
        e.target = (long)draw(&e, (uint32_t)fields);
        e.how = (enum change)draw(&e, NCHANGES);
        survey(&e, model, data, data + size, NULL, NULL);
        const ProtobufCFieldDescriptor *as = e.other.of;
        if (as) survey(&e, model, data, data + size, as, &alike);
        e.seen = 0;
        e.n = 0;
        copy(&e, model, data, data + size);
        if (e.full || e.n == 0) break;
        memcpy(data, out, e.n);
        size = e.n;
    }
    return size;
}
