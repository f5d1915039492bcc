/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * BLAKE2b with 32 bytes of hash and no key (RFC 7693): the key of cached results by their inputs, and the
 * checksum of files.
 */
#ifndef GCUT_BASE_HASH_H
#define GCUT_BASE_HASH_H

#include "base/arena.h"

enum { GCUT_HASH_BYTES = 32, GCUT_HASH_BLOCK = 128 };

typedef struct gcut_hash {
    uint64_t h[8];
    uint64_t total; /* bytes added */
    unsigned char block[GCUT_HASH_BLOCK];
    size_t n; /* bytes in block: it is compressed when more come, as the last one differs */
} gcut_hash;

void gcut_hash_begin(gcut_hash *s);
void gcut_hash_add(gcut_hash *s, const void *data, size_t n);
void gcut_hash_end(gcut_hash *s, unsigned char out[GCUT_HASH_BYTES]);

/* Adds a length and the bytes, so that different sequences of fields are different input.  NULL differs
 * from "". */
void gcut_hash_field(gcut_hash *s, const void *data, size_t n);
void gcut_hash_text(gcut_hash *s, const char *text);
void gcut_hash_int(gcut_hash *s, int64_t i);

/* Adds the length and a checksum of many bytes, several times as fast as the bytes themselves.  It detects
 * damage, not forgery: a change of one aligned 8-byte word always, any other but once in 2^64. */
void gcut_hash_bulk(gcut_hash *s, const void *data, size_t n);

/* The hash in 64 hexadecimal digits. */
const char *gcut_hash_hex(gcut_hash *s, gcut_arena *arena);

#endif
