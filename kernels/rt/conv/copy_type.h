/* SPDX-License-Identifier: MIT
 *
 * Short copies of elements of type T, TYPE its suffix (each_type.h).
 */

static inline void NAME(copy)(T *restrict to, const T *restrict from, int64_t n)
{
    for (; n >= 16; n -= 16, to += 16, from += 16) memcpy(to, from, 16 * sizeof(T));
    if (n & 8) memcpy(to, from, 8 * sizeof(T)), to += 8, from += 8;
    if (n & 4) memcpy(to, from, 4 * sizeof(T)), to += 4, from += 4;
    for (int64_t j = 0; j < (n & 3); j++) to[j] = from[j];
}
