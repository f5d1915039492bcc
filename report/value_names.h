/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the names of values say: the scope that a value is in, and which value of the user's graph one of the step is of.
 *
 * A composite op's parts are named after it: "loss.log_softmax" is of "loss".  What the backward graph alone has is named
 * after the value whose gradient it is a part of, with a d before it.
 */
#ifndef GCUT_REPORT_VALUE_NAMES_H
#define GCUT_REPORT_VALUE_NAMES_H

#include "base/arena.h"

typedef struct gcut_indexed_name {
    const char *at;
    size_t length;
    uint32_t index; /* of the caller: a line, a node */
} gcut_indexed_name;

typedef struct gcut_name_index {
    GCUT_VEC(gcut_indexed_name) list;
} gcut_name_index;

/* Add all, then sort once. */
void gcut_name_index_add(gcut_arena *a, gcut_name_index *n, const char *name, size_t length, uint32_t index);
void gcut_name_index_sort(gcut_name_index *n);
/* The index of the value that this one is, or is a part of; -1: none is known. */
int64_t gcut_name_index_find(const gcut_name_index *n, const char *name, size_t length);
/* How much of a name is its scope: "block0.attn" of "block0.attn.reshape.2", whose last numbers tell it from others; 0. */
size_t gcut_scope_length(const char *name, size_t length);
/* How much of the scope are its first `depth` components, from 1; 0: it has fewer. */
size_t gcut_scope_prefix(const char *name, int depth);

#endif
