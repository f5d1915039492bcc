/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reading and writing .npz files by libzip.  This is the only file that includes zip.h.
 *
 * Memory.  What a file of n bytes makes us allocate is bounded, whatever it promises:
 *   - opening it takes less than 100 n bytes, for the directory, libzip's and ours, and at most 4 MiB: libzip's list of the
 *     65,535 entries that an archive may promise, and the head of one .npy file at a time, which has at most 65,545 bytes;
 *   - the elements of an entry are read when they are asked for, into as many bytes as its .npy head declares (twice as
 *     many for Fortran order).  Before that, the directory must give the entry the size that the head declares, which
 *     may be at most 1032 times its compressed size: deflate expands by no more than that factor, since the shortest code
 *     for a match of 258 bytes, the longest, takes two bits;
 *   - the compressed bytes of all entries are n at most, or they overlap and are refused, so that all entries together hold
 *     at most 1032 n.
 *
 * Traps of libzip 1.7:
 *   - it allocates with malloc, so what it returns is freed by deferred calls;
 *   - it compares the checksum and the size of an entry with the directory only where a read finds the end;
 *   - it does not say where an entry lies in the file: the position of the archive's source after a read of a stored
 *     entry does, and the bytes there are compared with those that were read;
 *   - it writes no archive without entries.
 */
#include "import/npz.h"

#include <string.h>
#include <zip.h>

#include "graph/ops/dtype_info.h"
#include "import/npy.h"

/* Of version 1, whose length is a u16. */
enum { HEAD_MAX = 10 + 65535 };
/* Bytes of an entry that are in memory at a time where its elements are used in the file. */
enum { BLOCK = 1 << 16 };
/* Bytes that deflate makes of one at most. */
enum { DEFLATE_MOST = 1032 };

typedef struct entry {
    const char *file; /* "w.npy" */
    gcut_npy_head head;
    size_t size;        /* of the .npy file */
    zip_uint64_t index; /* in the archive */
    const char *stored; /* the .npy file in `bytes`; NULL: it is deflated */
} entry;

struct gcut_npz {
    gcut_arena *arena;
    gcut_env *env;
    const char *name;
    const char *bytes;
    size_t size;
    zip_error_t error;
    zip_source_t *source; /* of the bytes */
    zip_t *zip;
    GCUT_VEC(entry) entry;
};

/* ---- errors ---- */

#define BAD(z, status, hint, ...)                                                                            \
    gcut_fail((z)->env, status, (gcut_place){.file = (z)->name}, hint, __VA_ARGS__)

static _Noreturn void refuse_archive(const gcut_npz *z, zip_error_t *e)
{
    switch (zip_error_code_zip(e)) {
    case ZIP_ER_MEMORY: gcut_throw(z->env, GCUT_ENOMEM);
    case ZIP_ER_NOZIP:
        BAD(z, GCUT_EIO, NULL,
            "'%s' is cut short or no .npz file: the directory at the end of a zip archive is missing",
            z->name);
    case ZIP_ER_INCONS:
        BAD(z, GCUT_EIO, NULL,
            "'%s' is not a readable .npz file: the directory of its zip archive is malformed", z->name);
    default: BAD(z, GCUT_EIO, NULL, "'%s' is not a readable .npz file: %s", z->name, zip_error_strerror(e));
    }
}

static _Noreturn void refuse_entry(const gcut_npz *z, const entry *x, zip_error_t *e)
{
    switch (zip_error_code_zip(e)) {
    case ZIP_ER_MEMORY: gcut_throw(z->env, GCUT_ENOMEM);
    case ZIP_ER_CRC:
        BAD(z, GCUT_EIO, "the file is damaged",
            "'%s': the entry '%s' has another checksum than the archive's directory", z->name, x->file);
    default:
        BAD(z, GCUT_EIO, NULL, "'%s': the entry '%s' cannot be read: %s", z->name, x->file,
            zip_error_strerror(e));
    }
}

/* ---- entries ---- */

static void close_file(void *file)
{
    zip_fclose(file);
}

/* Until the scratch arena is freed. */
static zip_file_t *open_entry(const gcut_npz *z, const entry *x, gcut_arena *scratch)
{
    zip_file_t *file = zip_fopen_index(z->zip, x->index, 0);
    if (!file) refuse_entry(z, x, zip_get_error(z->zip));
    gcut_arena_defer(scratch, close_file, file);
    return file;
}

/* The next n bytes. */
static void read_bytes(const gcut_npz *z, const entry *x, zip_file_t *file, void *to, size_t n)
{
    for (size_t done = 0; done < n;) {
        const zip_int64_t got = zip_fread(file, (char *)to + done, n - done);
        if (got < 0) refuse_entry(z, x, zip_file_get_error(file));
        if (got == 0)
            BAD(z, GCUT_EIO, NULL,
                "'%s': the entry '%s' ends before the %zu bytes that the archive's directory gives it",
                z->name, x->file, x->size);
        done += (size_t)got;
    }
}

/* Where the checksum is compared. */
static void read_end(const gcut_npz *z, const entry *x, zip_file_t *file)
{
    char more;
    const zip_int64_t got = zip_fread(file, &more, 1);
    if (got < 0) refuse_entry(z, x, zip_file_get_error(file));
    if (got > 0)
        BAD(z, GCUT_EIO, NULL,
            "'%s': the entry '%s' goes on after the %zu bytes that the archive's directory gives it", z->name,
            x->file, x->size);
}

/* The name of an entry in what npy.c says of it. */
static const char *npy_name(gcut_arena *a, const gcut_npz *z, const entry *x)
{
    return gcut_printf(a, "%s(%s)", z->name, x->file);
}

/* The n bytes that a read of a stored entry has left behind; NULL where they are not those of the file. */
static const char *place_of(const gcut_npz *z, const entry *x, const char *read, size_t n)
{
    const zip_int64_t end = zip_source_tell(z->source);
    if (end < 0 || (size_t)end < n || (size_t)end > z->size) return NULL;
    const char *at = z->bytes + ((size_t)end - n);
    return x->size <= z->size - ((size_t)end - n) && !memcmp(at, read, n) ? at : NULL;
}

static void read_head(gcut_npz *z, entry *x, bool stored)
{
    gcut_arena *scratch = gcut_arena_new(z->env, z->arena);
    const char *name = npy_name(scratch, z, x);
    zip_file_t *file = open_entry(z, x, scratch);
    char first[12];
    const size_t have = x->size < sizeof first ? x->size : sizeof first;
    read_bytes(z, x, file, first, have);
    const size_t n = gcut_npy_head_size(z->env, name, first, x->size);
    if (n > HEAD_MAX)
        BAD(z, GCUT_EIO, NULL, "'%s': the entry '%s' has a .npy header of %zu bytes; at most %d are read",
            z->name, x->file, n, HEAD_MAX);
    char *head = gcut_alloc(scratch, n + sizeof first);
    memcpy(head, first, have);
    if (n > have) read_bytes(z, x, file, head + have, n - have);
    x->head = gcut_npy_read_head(z->arena, name, head, n, x->size);
    if (stored) x->stored = place_of(z, x, head, n > have ? n : have);
    gcut_arena_free(scratch);
}

/* The entry without its head. */
static entry read_directory(const gcut_npz *z, zip_uint64_t i, zip_uint64_t *compressed, bool *stored)
{
    enum {
        NEEDED = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD |
                 ZIP_STAT_ENCRYPTION_METHOD
    };
    zip_stat_t of;
    if (zip_stat_index(z->zip, i, 0, &of) != 0) refuse_archive(z, zip_get_error(z->zip));
    if ((of.valid & NEEDED) != NEEDED)
        BAD(z, GCUT_EIO, NULL, "'%s' is not a readable .npz file: its directory lacks the size of an entry",
            z->name);
    entry x = {.file = gcut_strndup(z->arena, of.name, strlen(of.name)), .size = of.size, .index = i};
    const size_t n = strlen(x.file);
    static const char hint[] = "a .npz file has one entry for each tensor, NAME.npy";
    if (n && x.file[n - 1] == '/')
        BAD(z, GCUT_EIO, hint, "'%s': the entry '%s' is a folder", z->name, x.file);
    if (n < 4 || strcmp(x.file + n - 4, ".npy") != 0)
        BAD(z, GCUT_EIO, hint, "'%s': the entry '%s' is not a .npy file", z->name, x.file);
    if (of.encryption_method != ZIP_EM_NONE)
        BAD(z, GCUT_EUNSUPPORTED, NULL, "'%s': the entry '%s' is encrypted", z->name, x.file);
    *stored = of.comp_method == ZIP_CM_STORE;
    if (!*stored && of.comp_method != ZIP_CM_DEFLATE)
        BAD(z, GCUT_EUNSUPPORTED, "numpy.savez and numpy.savez_compressed write files that can be read",
            "'%s': the entry '%s' is compressed by method %u of zip; stored and deflated entries can be read",
            z->name, x.file, (unsigned)of.comp_method);
    if (of.comp_size > z->size || (*compressed += of.comp_size) > z->size)
        BAD(z, GCUT_EIO, NULL,
            "'%s' has fewer bytes than its entries: they overlap, or the file is cut short", z->name);
    if (*stored ? of.size != of.comp_size : of.size / DEFLATE_MOST > of.comp_size)
        BAD(z, GCUT_EIO, NULL,
            "'%s': the entry '%s' has %llu bytes in the file, of which no %llu can be made", z->name, x.file,
            (unsigned long long)of.comp_size, (unsigned long long)of.size);
    return x;
}

/* ---- archives ---- */

static void drop_error(void *error)
{
    zip_error_fini(error);
}

static void drop_source(void *source)
{
    zip_source_free(source);
}

static void drop_archive(void *zip)
{
    zip_discard(zip);
}

static void open_archive(gcut_npz *z)
{
    zip_error_init(&z->error);
    gcut_arena_defer(z->arena, drop_error, &z->error);
    z->source = zip_source_buffer_create(z->bytes, z->size, 0, &z->error);
    if (!z->source) refuse_archive(z, &z->error);
    gcut_arena_defer(z->arena, drop_source, z->source);
    z->zip = zip_open_from_source(z->source, ZIP_RDONLY, &z->error);
    if (!z->zip) refuse_archive(z, &z->error);
    zip_source_keep(z->source); /* the archive has taken the other reference */
    gcut_arena_defer(z->arena, drop_archive, z->zip);
}

gcut_npz *gcut_npz_parse(gcut_arena *arena, const char *name, const void *bytes, size_t size,
                         gcut_tensors *out)
{
    gcut_npz *z = gcut_calloc(arena, 1, sizeof *z);
    *z = (gcut_npz){.arena = arena, .env = gcut_arena_env(arena), .name = name, .bytes = bytes, .size = size};
    open_archive(z);
    gcut_arena *scratch = gcut_arena_new(z->env, arena);
    gcut_names seen = {.arena = scratch};
    const zip_int64_t n = zip_get_num_entries(z->zip, 0);
    zip_uint64_t compressed = 0;
    for (zip_int64_t i = 0; i < n; i++) {
        bool stored;
        entry x = read_directory(z, (zip_uint64_t)i, &compressed, &stored);
        if (gcut_interned(&seen, x.file, strlen(x.file)))
            BAD(z, GCUT_EIO, NULL, "'%s' has two entries '%s'", name, x.file);
        gcut_intern(&seen, x.file, strlen(x.file));
        read_head(z, &x, stored);
        x.head.x.name = gcut_strndup(arena, x.file, strlen(x.file) - 4);
        *GCUT_PUSH(arena, &z->entry) = x;
        *GCUT_PUSH(arena, out) = x.head.x;
    }
    gcut_arena_free(scratch);
    return z;
}

/* Compares the elements of an entry that is stored with those that libzip reads, and so their checksum. */
static void verify_stored(const gcut_npz *z, const gcut_file_bytes *mapped, const entry *x, zip_file_t *file,
                          gcut_arena *scratch)
{
    char *block = gcut_alloc(scratch, BLOCK);
    for (size_t at = 0; at < x->size; at += BLOCK) {
        const size_t n = x->size - at < BLOCK ? x->size - at : BLOCK;
        read_bytes(z, x, file, block, n);
        if (memcmp(x->stored + at, block, n) != 0)
            BAD(z, GCUT_EIO, NULL, "'%s': the entry '%s' has changed while it was read", z->name, x->file);
        gcut_file_drop_pages(mapped, x->stored + at, n);
    }
}

void gcut_npz_load(gcut_npz *z, const gcut_file_bytes *mapped, uint32_t i, gcut_tensor *t)
{
    const entry *x = &z->entry.at[i];
    const size_t head = x->head.size;
    gcut_arena *scratch = gcut_arena_new(z->env, z->arena);
    zip_file_t *file = open_entry(z, x, scratch);
    const char *at;
    if (x->stored) {
        verify_stored(z, mapped, x, file, scratch);
        at = x->stored + head;
    } else {
        char *npy = gcut_alloc(x->head.fortran ? scratch : z->arena, x->size);
        read_bytes(z, x, file, npy, x->size);
        at = npy + head;
    }
    read_end(z, x, file);
    t->data = gcut_npy_elements(z->arena, npy_name(scratch, z, x), &x->head, at);
    gcut_arena_free(scratch);
}

/* ---- writing ---- */

/* Bytes of an entry besides its name, twice, and its contents, at most: its two headers have 76 and, of a file beyond
 * 4 GiB, the sizes again. */
enum { ENTRY_MOST = 256 };
/* Of the end of an archive: 98, with those for zip64. */
enum { END_MOST = 128 };

/* An archive that libzip writes to memory.  Nothing in its callbacks throws. */
typedef struct image {
    gcut_env *env;
    const char *path;
    char *bytes;
    size_t at, size, room;
    zip_t *zip;        /* NULL: closed */
    zip_error_t error; /* of the callbacks */
    zip_error_t opening;
} image;

static zip_int64_t refuse(image *m, int code)
{
    zip_error_set(&m->error, code, 0);
    return -1;
}

static zip_int64_t write_image(image *m, const void *bytes, zip_uint64_t n)
{
    if (n > m->room - m->at) return refuse(m, ZIP_ER_WRITE);
    if (n) memcpy(m->bytes + m->at, bytes, n);
    m->at += n;
    if (m->size < m->at) m->size = m->at;
    return (zip_int64_t)n;
}

static zip_int64_t seek_image(image *m, void *to, zip_uint64_t n)
{
    const zip_int64_t at = zip_source_seek_compute_offset(m->at, m->size, to, n, &m->error);
    if (at < 0 || (size_t)at > m->size) return refuse(m, ZIP_ER_SEEK);
    m->at = (size_t)at;
    return 0;
}

/* A file that is empty when it is read. */
static zip_int64_t on_image(void *arg, void *data, zip_uint64_t n, zip_source_cmd_t command)
{
    image *m = arg;
    switch (command) {
    case ZIP_SOURCE_SUPPORTS:
        return zip_source_make_command_bitmap(
            ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR,
            ZIP_SOURCE_FREE, ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL, ZIP_SOURCE_BEGIN_WRITE,
            ZIP_SOURCE_COMMIT_WRITE, ZIP_SOURCE_ROLLBACK_WRITE, ZIP_SOURCE_SEEK_WRITE, ZIP_SOURCE_TELL_WRITE,
            ZIP_SOURCE_WRITE, ZIP_SOURCE_REMOVE, -1);
    case ZIP_SOURCE_STAT: zip_stat_init(data); return sizeof(zip_stat_t);
    case ZIP_SOURCE_ERROR: return zip_error_to_data(&m->error, data, n);
    case ZIP_SOURCE_BEGIN_WRITE: m->at = m->size = 0; return 0;
    case ZIP_SOURCE_WRITE: return write_image(m, data, n);
    case ZIP_SOURCE_SEEK_WRITE: return seek_image(m, data, n);
    case ZIP_SOURCE_TELL_WRITE: return (zip_int64_t)m->at;
    case ZIP_SOURCE_OPEN:
    case ZIP_SOURCE_READ:
    case ZIP_SOURCE_COMMIT_WRITE:
    case ZIP_SOURCE_ROLLBACK_WRITE:
    case ZIP_SOURCE_REMOVE:
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_FREE: return 0;
    default: return refuse(m, ZIP_ER_OPNOTSUPP);
    }
}

static _Noreturn void fail_writing(const image *m, zip_error_t *e)
{
    if (zip_error_code_zip(e) == ZIP_ER_MEMORY) gcut_throw(m->env, GCUT_ENOMEM);
    gcut_fail(m->env, GCUT_EIO, (gcut_place){.file = m->path}, NULL, "cannot write '%s': %s", m->path,
              zip_error_strerror(e));
}

static size_t bytes_of(const gcut_tensor *x)
{
    return (size_t)x->n * (size_t)gcut_dtype_bytes(x->dtype);
}

static void drop_image(void *arg)
{
    const image *m = arg;
    if (m->zip) zip_discard(m->zip);
}

static void add_entry(const image *m, gcut_arena *a, const gcut_tensor *x, const gcut_file_part *head)
{
    const zip_buffer_fragment_t parts[] = {{(zip_uint8_t *)(uintptr_t)head->at, head->n},
                                           {(zip_uint8_t *)(uintptr_t)x->data, bytes_of(x)}};
    zip_source_t *source = zip_source_buffer_fragment(m->zip, parts, bytes_of(x) ? 2 : 1, 0);
    if (!source) fail_writing(m, zip_get_error(m->zip));
    const char *name = gcut_printf(a, "%s.npy", x->name);
    const zip_int64_t i = zip_file_add(m->zip, name, source, ZIP_FL_ENC_UTF_8);
    if (i < 0) {
        zip_source_free(source);
        fail_writing(m, zip_get_error(m->zip));
    }
    /* The first day of zip's calendar. */
    enum { MIDNIGHT = 0, DAY = 0 << 9 | 1 << 5 | 1 };
    if (zip_set_file_compression(m->zip, (zip_uint64_t)i, ZIP_CM_STORE, 0) != 0 ||
        zip_file_set_dostime(m->zip, (zip_uint64_t)i, MIDNIGHT, DAY, 0) != 0)
        fail_writing(m, zip_get_error(m->zip));
}

/* Makes the archive; a is for what it is made of. */
static void make_image(image *m, gcut_arena *a, const gcut_tensors *x)
{
    gcut_file_part *head = gcut_calloc(a, (size_t)x->n + 1, sizeof *head);
    m->room = END_MOST;
    for (uint32_t i = 0; i < x->n; i++) {
        head[i] = gcut_npy_new_head(a, &x->at[i]);
        m->room += ENTRY_MOST + 2 * strlen(x->at[i].name) + head[i].n + bytes_of(&x->at[i]);
    }
    m->bytes = gcut_alloc(a, m->room);
    if (x->n == 0) { /* as numpy.savez() writes */
        static const char end[22] = "PK\005\006";
        write_image(m, end, sizeof end);
        return;
    }
    zip_error_init(&m->error);
    gcut_arena_defer(a, drop_error, &m->error);
    zip_error_init(&m->opening);
    gcut_arena_defer(a, drop_error, &m->opening);
    zip_source_t *source = zip_source_function_create(on_image, m, &m->opening);
    if (!source) fail_writing(m, &m->opening);
    gcut_arena_defer(a, drop_source, source);
    m->zip = zip_open_from_source(source, ZIP_CREATE | ZIP_TRUNCATE, &m->opening);
    if (!m->zip) fail_writing(m, &m->opening);
    zip_source_keep(source);
    gcut_arena_defer(a, drop_image, m);
    for (uint32_t i = 0; i < x->n; i++) add_entry(m, a, &x->at[i], &head[i]);
    if (zip_close(m->zip) != 0) fail_writing(m, zip_get_error(m->zip));
    m->zip = NULL;
}

void gcut_npz_write(gcut_env *env, const char *path, const gcut_tensors *x)
{
    for (uint32_t i = 0; i < x->n; i++)
        if (!gcut_npy_has(x->at[i].dtype))
            gcut_fail(env, GCUT_ETYPE, (gcut_place){.file = path},
                      "write a .safetensors file, which can hold every dtype",
                      "cannot write '%s': '%s' is %s, which NumPy does not have", path, x->at[i].name,
                      gcut_dtype_name(x->at[i].dtype));
    gcut_arena *scratch = gcut_arena_new(env, env->arena);
    image *m = gcut_calloc(scratch, 1, sizeof *m);
    m->env = env;
    m->path = path;
    make_image(m, scratch, x);
    gcut_file_write(env, path, m->bytes, m->size);
    gcut_arena_free(scratch);
}
