/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * BLAKE2b, after RFC 7693, sections 2 and 3; names as there.
 */
#include "base/hash.h"

#include <endian.h>
#include <string.h>

static const uint64_t IV[8] = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b,
                               0xa54ff53a5f1d36f1, 0x510e527fade682d1, 0x9b05688c2b3e6c1f,
                               0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};

static const uint8_t SIGMA[10][16] = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                                      {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
                                      {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
                                      {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
                                      {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
                                      {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
                                      {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
                                      {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
                                      {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
                                      {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

static inline uint64_t rotate(uint64_t x, int n)
{
    return x >> n | x << (64 - n);
}

static inline uint64_t load(const unsigned char *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return le64toh(x);
}

#define G(a, b, c, d, x, y)                                                                                  \
    (v[a] += v[b] + (x), v[d] = rotate(v[d] ^ v[a], 32), v[c] += v[d], v[b] = rotate(v[b] ^ v[c], 24),       \
     v[a] += v[b] + (y), v[d] = rotate(v[d] ^ v[a], 16), v[c] += v[d], v[b] = rotate(v[b] ^ v[c], 63))

static void compress(gcut_hash *s, const unsigned char *block, bool last)
{
    uint64_t v[16], m[16];
    for (int i = 0; i < 16; i++) m[i] = load(block + 8 * i);
    memcpy(v, s->h, sizeof s->h);
    memcpy(v + 8, IV, sizeof IV);
    v[12] ^= s->total; /* of less than 2^64 bytes: the counter's high word stays 0 */
    if (last) v[14] = ~v[14];
    for (int r = 0; r < 12; r++) {
        const uint8_t *p = SIGMA[r % 10];
        G(0, 4, 8, 12, m[p[0]], m[p[1]]);
        G(1, 5, 9, 13, m[p[2]], m[p[3]]);
        G(2, 6, 10, 14, m[p[4]], m[p[5]]);
        G(3, 7, 11, 15, m[p[6]], m[p[7]]);
        G(0, 5, 10, 15, m[p[8]], m[p[9]]);
        G(1, 6, 11, 12, m[p[10]], m[p[11]]);
        G(2, 7, 8, 13, m[p[12]], m[p[13]]);
        G(3, 4, 9, 14, m[p[14]], m[p[15]]);
    }
    for (int i = 0; i < 8; i++) s->h[i] ^= v[i] ^ v[i + 8];
}

void gcut_hash_begin(gcut_hash *s)
{
    memset(s, 0, sizeof *s);
    memcpy(s->h, IV, sizeof IV);
    s->h[0] ^= 0x01010000 ^ GCUT_HASH_BYTES; /* fan-out and depth 1, no key */
}

void gcut_hash_add(gcut_hash *s, const void *data, size_t n)
{
    const unsigned char *p = data;
    while (n > 0) {
        if (s->n == GCUT_HASH_BLOCK) {
            s->total += GCUT_HASH_BLOCK;
            compress(s, s->block, false);
            s->n = 0;
        }
        for (; s->n == 0 && n > GCUT_HASH_BLOCK; p += GCUT_HASH_BLOCK, n -= GCUT_HASH_BLOCK) {
            s->total += GCUT_HASH_BLOCK;
            compress(s, p, false);
        }
        size_t k = GCUT_HASH_BLOCK - s->n;
        if (k > n) k = n;
        memcpy(s->block + s->n, p, k);
        s->n += k, p += k, n -= k;
    }
}

void gcut_hash_end(gcut_hash *s, unsigned char out[GCUT_HASH_BYTES])
{
    s->total += s->n;
    memset(s->block + s->n, 0, GCUT_HASH_BLOCK - s->n);
    compress(s, s->block, true);
    for (int i = 0; i < GCUT_HASH_BYTES; i++) out[i] = (unsigned char)(s->h[i / 8] >> (8 * (i % 8)));
}

void gcut_hash_int(gcut_hash *s, int64_t i)
{
    unsigned char b[8];
    for (int k = 0; k < 8; k++) b[k] = (unsigned char)((uint64_t)i >> (8 * k));
    gcut_hash_add(s, b, sizeof b);
}

void gcut_hash_field(gcut_hash *s, const void *data, size_t n)
{
    gcut_hash_int(s, data ? (int64_t)n : -1);
    if (data) gcut_hash_add(s, data, n);
}

void gcut_hash_text(gcut_hash *s, const char *text)
{
    gcut_hash_field(s, text, text ? strlen(text) : 0);
}

/* Eight lanes of FNV-1a over words.  (lane ^ word) * odd is a bijection of the lane for any word, and of the
 * word for any lane. */
void gcut_hash_bulk(gcut_hash *s, const void *data, size_t n)
{
    enum { LANES = 8, BLOCK = 8 * LANES };
    uint64_t lane[LANES];
    const unsigned char *p = data;
    size_t rest = n;
    memcpy(lane, IV, sizeof lane);
    for (; rest >= BLOCK; rest -= BLOCK, p += BLOCK)
        for (int i = 0; i < LANES; i++)
            lane[i] = rotate((lane[i] ^ load(p + 8 * i)) * UINT64_C(0x100000001b3), 29);
    gcut_hash_int(s, (int64_t)n);
    for (int i = 0; i < LANES; i++) gcut_hash_int(s, (int64_t)lane[i]);
    gcut_hash_add(s, p, rest);
}

const char *gcut_hash_hex(gcut_hash *s, gcut_arena *arena)
{
    unsigned char b[GCUT_HASH_BYTES];
    char *out = gcut_alloc(arena, 2 * sizeof b + 1);
    gcut_hash_end(s, b);
    for (size_t i = 0; i < sizeof b; i++) {
        out[2 * i] = "0123456789abcdef"[b[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[b[i] & 15];
    }
    out[2 * sizeof b] = '\0';
    return out;
}
