/* SPDX-License-Identifier: MIT
 *
 * The transforms of winograd_type.h for one vector of tiles; included by conv_tile_kernel.h.
 */

/* to[e * pitch], for e < 16, = the transform of the 4 * 4 vectors at from + off[e]. */
TARGET static void NAME(winograd_input)(const T *from, const int32_t *off, T *to, int64_t pitch)
{
    NAME(vec) d[4][4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
        NAME(vec) a = *(const NAME(vec) *)(from + off[j]), b = *(const NAME(vec) *)(from + off[4 + j]);
        NAME(vec) c = *(const NAME(vec) *)(from + off[8 + j]), e = *(const NAME(vec) *)(from + off[12 + j]);
        d[0][j] = a - c;
        d[1][j] = b + c;
        d[2][j] = c - b;
        d[3][j] = b - e;
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        *(NAME(vec) *)(to + (4 * i + 0) * pitch) = d[i][0] - d[i][2];
        *(NAME(vec) *)(to + (4 * i + 1) * pitch) = d[i][1] + d[i][2];
        *(NAME(vec) *)(to + (4 * i + 2) * pitch) = d[i][2] - d[i][1];
        *(NAME(vec) *)(to + (4 * i + 3) * pitch) = d[i][1] - d[i][3];
    }
}

/* to[e * pitch], for e < 16, = the transforms of n windows, from[i * GCUT_RT_ROW_PITCH], i < 9. */
TARGET static void NAME(winograd_filter)(int64_t n, const T *from, T *to, int64_t pitch)
{
    const T one_half = (T)0.5;
    for (int64_t v = 0; v < n; v += LANES) {
        NAME(vec) half[4][3];
#pragma GCC unroll 3
        for (int j = 0; j < 3; j++) {
            const T *w = from + v + j * GCUT_RT_ROW_PITCH;
            NAME(vec)
            a = *(const NAME(vec) *)w, b = *(const NAME(vec) *)(w + 3 * GCUT_RT_ROW_PITCH),
            c = *(const NAME(vec) *)(w + 6 * GCUT_RT_ROW_PITCH);
            half[0][j] = a;
            half[1][j] = one_half * (a + b + c);
            half[2][j] = one_half * (a - b + c);
            half[3][j] = c;
        }
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            NAME(vec) a = half[i][0], b = half[i][1], c = half[i][2];
            NAME(vec) out[4] = {a, one_half * (a + b + c), one_half * (a - b + c), c};
#pragma GCC unroll 4
            for (int j = 0; j < 4; j++) *(NAME(vec) *)(to + v + (4 * i + j) * pitch) = out[j];
        }
    }
}

/* to[e * pitch], for e < 16, = the transform of the 2 * 2 vectors at from + off[e]. */
TARGET static void NAME(winograd_gradient)(const T *from, const int32_t *off, T *to, int64_t pitch)
{
    NAME(vec) d[4][2];
#pragma GCC unroll 2
    for (int j = 0; j < 2; j++) {
        NAME(vec) a = *(const NAME(vec) *)(from + off[j]), b = *(const NAME(vec) *)(from + off[2 + j]);
        d[0][j] = a;
        d[1][j] = a + b;
        d[2][j] = a - b;
        d[3][j] = -b;
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        *(NAME(vec) *)(to + (4 * i + 0) * pitch) = d[i][0];
        *(NAME(vec) *)(to + (4 * i + 1) * pitch) = d[i][0] + d[i][1];
        *(NAME(vec) *)(to + (4 * i + 2) * pitch) = d[i][0] - d[i][1];
        *(NAME(vec) *)(to + (4 * i + 3) * pitch) = -d[i][1];
    }
}

/* Two rows of 2 * LANES results, from the 16 vectors at m + e * pitch. */
TARGET static void NAME(winograd_output)(const T *m, int64_t pitch, T *to)
{
    NAME(vec) s[2][4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
        NAME(vec) a = *(const NAME(vec) *)(m + j * pitch), b = *(const NAME(vec) *)(m + (4 + j) * pitch);
        NAME(vec)
        c = *(const NAME(vec) *)(m + (8 + j) * pitch), e = *(const NAME(vec) *)(m + (12 + j) * pitch);
        s[0][j] = (a + b) + c;
        s[1][j] = (b - c) - e;
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        NAME(piece) even[NAME(PIECES)], odd[NAME(PIECES)];
        NAME(vec) u = (s[i][0] + s[i][1]) + s[i][2], v = (s[i][1] - s[i][2]) - s[i][3];
        memcpy(even, &u, sizeof u);
        memcpy(odd, &v, sizeof v);
#pragma GCC unroll 4
        for (int q = 0; q < NAME(PIECES); q++) {
            const NAME(piece) low = LOW(PIECE_LANES)(even[q], odd[q]),
                              high = HIGH(PIECE_LANES)(even[q], odd[q]);
            memcpy(to + i * 2 * LANES + q * 2 * PIECE_LANES, &low, sizeof low);
            memcpy(to + i * 2 * LANES + (q * 2 + 1) * PIECE_LANES, &high, sizeof high);
        }
    }
}
