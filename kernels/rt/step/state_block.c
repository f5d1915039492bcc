/* SPDX-License-Identifier: MIT
 *
 * What persists of a step as a block of bytes; gradcut/rt_values.h draws the layout.
 */
#include "gradcut/gradcut_rt.h"
#include "kernels/rt/step/values.h"

enum { VERSION = 1, SUM = 24 /* where the checksum is */, HEAD = 32, RECORD = 16 /* before the sizes */ };

static const char magic[8] = {'G', 'C', 'U', 'T', 'S', 'T', 'E', 'P'};

static int64_t padded(int64_t bytes)
{
    return gcut_rt_ceildiv(bytes, 8) * 8;
}

/* ---- bytes ---- */

static void put32(char *at, uint32_t x)
{
    for (int i = 0; i < 4; i++) at[i] = (char)(x >> 8 * i);
}
static void put64(char *at, uint64_t x)
{
    x = gcut_rt_little(x);
    memcpy(at, &x, 8);
}
static uint32_t get32(const char *at)
{
    uint32_t x = 0;
    for (int i = 0; i < 4; i++) x |= (uint32_t)(unsigned char)at[i] << 8 * i;
    return x;
}
static uint64_t get64(const char *at)
{
    uint64_t x;
    memcpy(&x, at, 8);
    return gcut_rt_little(x);
}

/* Copies elements of `size` bytes between this machine's byte order and little-endian, either way. */
static void copy(char *to, const char *from, int64_t bytes, int64_t size)
{
    if (size == 1 || gcut_rt_little(1) == 1) {
        if (bytes > 0) memcpy(to, from, (size_t)bytes);
        return;
    }
    for (int64_t k = 0; k < bytes; k++) to[k] = from[k / size * size + size - 1 - k % size];
}

/* Of a block whose length is a multiple of 8. */
static uint64_t checksum(const char *at, int64_t bytes)
{
    uint64_t c = UINT64_C(0xcbf29ce484222325);
    for (int64_t k = 0; k < bytes; k += 8) {
        if (k == SUM) continue;
        c = (c ^ get64(at + k)) * UINT64_C(0x100000001b3);
        c ^= c >> 32;
    }
    return c;
}

/* ---- records ---- */

/* A value in the block, at the place of its record. */
typedef struct record {
    const gcut_rt_row *row;
    int number;          /* of its pointer in NAME_io */
    int64_t name, bytes; /* of its name, of its elements */
    int64_t at, data, end;
} record;

/* The next value that persists after number `k` - 1, whose record begins at `at`; 0 when there is none. */
static int next(const gcut_rt_table *t, const void *plan, int k, int64_t at, record *r)
{
    while (k < t->n && !gcut_rt_row_persists(&t->row[k])) k++;
    if (k == t->n) return 0;
    const gcut_rt_row *row = &t->row[k];
    *r = (record){.row = row, .number = k, .name = (int64_t)strlen(row->name), .at = at};
    r->bytes = gcut_rt_row_elements(t, plan, row) * gcut_rt_dtype_bytes(row->dtype);
    r->data = at + RECORD + 8 * row->rank + padded(r->name);
    r->end = r->data + padded(r->bytes);
    return 1;
}

int64_t gcut_rt_block_bytes(const gcut_rt_table *t, const void *plan)
{
    int64_t end = HEAD;
    record r;
    for (int k = 0; next(t, plan, k, end, &r); k = r.number + 1) end = r.end;
    return end;
}

gcut_rt_status gcut_rt_save(const gcut_rt_table *t, const void *plan, const void *io, void *block,
                            int64_t bytes, gcut_rt_error *err)
{
    const int64_t all = gcut_rt_block_bytes(t, plan);
    char *const to = block;
    uint32_t n = 0;
    record r = {.end = HEAD};
    if (!block) return gcut_rt_fail(err, GCUT_RT_ENULL, "the block", "", 0, 0, 0);
    if (bytes < all) return gcut_rt_fail(err, GCUT_RT_EBLOCK, "has too little room", "", bytes, all, 1);
    for (int k = 0; next(t, plan, k, r.end, &r); k = r.number + 1, n++) {
        const void *from = gcut_rt_row_pointer(io, r.number);
        if (!from && r.bytes > 0) return gcut_rt_fail(err, GCUT_RT_ENULL, r.row->name, "", 0, 0, 0);
        memset(to + r.at, 0, (size_t)(r.data - r.at));
        put32(to + r.at, (uint32_t)r.name);
        put32(to + r.at + 4, r.row->role);
        put32(to + r.at + 8, r.row->dtype);
        put32(to + r.at + 12, r.row->rank);
        for (int d = 0; d < r.row->rank; d++)
            put64(to + r.at + RECORD + 8 * d, (uint64_t)gcut_rt_row_dim(t, plan, r.row, d));
        memcpy(to + r.at + RECORD + 8 * r.row->rank, r.row->name, (size_t)r.name);
        copy(to + r.data, from, r.bytes, gcut_rt_dtype_bytes(r.row->dtype));
        memset(to + r.data + r.bytes, 0, (size_t)(r.end - r.data - r.bytes));
    }
    memcpy(to, magic, sizeof magic);
    put32(to + 8, VERSION);
    put32(to + 12, n);
    put64(to + 16, (uint64_t)all);
    put64(to + SUM, checksum(to, all));
    return GCUT_RT_OK;
}

/* Is it a block, and of a layout that is known? */
static gcut_rt_status check_head(const char *from, int64_t bytes, gcut_rt_error *err)
{
    if (!from) return gcut_rt_fail(err, GCUT_RT_ENULL, "the block", "", 0, 0, 0);
    if (bytes < HEAD || memcmp(from, magic, sizeof magic))
        return gcut_rt_fail(err, GCUT_RT_EBLOCK, "holds no values of a step", "", 0, 0, 0);
    if (get32(from + 8) != VERSION)
        return gcut_rt_fail(err, GCUT_RT_EBLOCK, "is of another version", "", get32(from + 8), VERSION, 1);
    return GCUT_RT_OK;
}

/* Is the record in the block that of r?  Its elements are not looked at. */
static gcut_rt_status check_record(const gcut_rt_table *t, const void *plan, const record *r,
                                   const char *from, int64_t bytes, gcut_rt_error *err)
{
    const gcut_rt_row *row = r->row;
    const char *at = from + r->at;
    int same = r->at + RECORD <= bytes && get32(at) == (uint32_t)r->name && get32(at + 4) == row->role &&
               get32(at + 8) == row->dtype && get32(at + 12) == row->rank && r->data <= bytes &&
               !memcmp(at + RECORD + 8 * row->rank, row->name, (size_t)r->name);
    if (!same) return gcut_rt_fail(err, GCUT_RT_EOTHER, row->name, "", 0, 0, 0);
    for (int d = 0; d < row->rank; d++) {
        const int64_t here = gcut_rt_row_dim(t, plan, row, d), there = (int64_t)get64(at + RECORD + 8 * d);
        if (there != here) return gcut_rt_fail(err, GCUT_RT_EOTHER, row->name, "", there, here, d + 1);
    }
    return GCUT_RT_OK;
}

/* Is the block whole, and of this step?  One that was cut is compared as far as it goes: who reads a file of
 * another step into the bytes of a block of this one is told which value differs. */
static gcut_rt_status check_block(const gcut_rt_table *t, const void *plan, const char *from, int64_t bytes,
                                  gcut_rt_error *err)
{
    const gcut_rt_status s = check_head(from, bytes, err);
    if (s != GCUT_RT_OK) return s;
    const int cut = get64(from + 16) != (uint64_t)bytes || bytes % 8;
    if (!cut && get64(from + SUM) != checksum(from, bytes))
        return gcut_rt_fail(err, GCUT_RT_EBLOCK, "is damaged: its checksum is another", "", 0, 0, 0);
    record r = {.end = HEAD};
    for (int k = 0; next(t, plan, k, r.end, &r); k = r.number + 1) {
        if (cut && r.data > bytes) break;
        const gcut_rt_status other = check_record(t, plan, &r, from, bytes, err);
        if (other != GCUT_RT_OK) return other;
    }
    if (cut)
        return gcut_rt_fail(err, GCUT_RT_EBLOCK, "has another length than when it was saved", "", bytes,
                            (int64_t)get64(from + 16), 1);
    return r.end == bytes ? GCUT_RT_OK : gcut_rt_fail(err, GCUT_RT_EOTHER, "", "", 0, 0, 0);
}

gcut_rt_status gcut_rt_load(const gcut_rt_table *t, const void *plan, const void *io, const void *block,
                            int64_t bytes, gcut_rt_error *err)
{
    const char *const from = block;
    const gcut_rt_status s = check_block(t, plan, from, bytes, err);
    record r = {.end = HEAD};
    if (s != GCUT_RT_OK) return s;
    for (int k = 0; next(t, plan, k, r.end, &r); k = r.number + 1)
        if (r.bytes > 0 && !gcut_rt_row_pointer(io, r.number))
            return gcut_rt_fail(err, GCUT_RT_ENULL, r.row->name, "", 0, 0, 0);
    r.end = HEAD;
    for (int k = 0; next(t, plan, k, r.end, &r); k = r.number + 1)
        copy(gcut_rt_row_pointer(io, r.number), from + r.data, r.bytes, gcut_rt_dtype_bytes(r.row->dtype));
    return GCUT_RT_OK;
}
