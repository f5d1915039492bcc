/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Names of values.
 */
#include "report/value_names.h"

#include <stdlib.h>
#include <string.h>

static int compare(const char *a, size_t na, const char *b, size_t nb)
{
    const int order = memcmp(a, b, na < nb ? na : nb);
    return order ? order : (na > nb) - (na < nb);
}

static int by_name(const void *a, const void *b)
{
    const gcut_indexed_name *x = a, *y = b;
    const int order = compare(x->at, x->length, y->at, y->length);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

void gcut_name_index_add(gcut_arena *a, gcut_name_index *n, const char *name, size_t length, uint32_t index)
{
    *GCUT_PUSH(a, &n->list) = (gcut_indexed_name){name, length, index};
}

void gcut_name_index_sort(gcut_name_index *n)
{
    if (n->list.n) qsort(n->list.at, n->list.n, sizeof *n->list.at, by_name);
}

static int64_t find_exactly(const gcut_name_index *n, const char *name, size_t length)
{
    uint32_t lo = 0, hi = n->list.n;
    while (lo < hi) {
        const uint32_t mid = (lo + hi) / 2;
        const gcut_indexed_name *x = &n->list.at[mid];
        const int order = compare(name, length, x->at, x->length);
        if (!order) return x->index;
        if (order < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return -1;
}

static int64_t find_prefix(const gcut_name_index *n, const char *name, size_t length)
{
    int64_t found = find_exactly(n, name, length);
    while (found < 0 && length > 0) {
        while (length > 0 && name[--length] != '.') {
        }
        if (length) found = find_exactly(n, name, length);
    }
    return found;
}

int64_t gcut_name_index_find(const gcut_name_index *n, const char *name, size_t length)
{
    const int64_t found = find_prefix(n, name, length);
    return found < 0 && length > 1 && *name == 'd' ? find_prefix(n, name + 1, length - 1) : found;
}

/* What is left without a number after the last dot. */
static size_t without_number(const char *name, size_t length)
{
    size_t end = length;
    while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9') end--;
    return end == length || end < 2 || name[end - 1] != '.' ? length : end - 1;
}

size_t gcut_scope_length(const char *name, size_t length)
{
    for (size_t all = 0; all != length;) all = length, length = without_number(name, length);
    while (length > 0 && name[--length] != '.') continue;
    return length;
}

size_t gcut_scope_prefix(const char *name, int depth)
{
    const size_t scope = gcut_scope_length(name, strlen(name));
    for (size_t i = 0; i < scope; i++)
        if (name[i] == '.' && --depth == 0) return i;
    return depth == 1 ? scope : 0;
}
