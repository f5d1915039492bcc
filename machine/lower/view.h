/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Views: where the elements of a value are in the storage of its root.
 */
#ifndef GCUT_MACHINE_LOWER_VIEW_H
#define GCUT_MACHINE_LOWER_VIEW_H

#include "graph/graph.h"

static inline gcut_dim gcut_dim_times(gcut_module *m, gcut_dim a, gcut_dim b)
{
    return gcut_dim_make(m->dims, GCUT_DIM_MUL, a, b);
}
/* The product of n sizes. */
gcut_dim gcut_dim_product(gcut_module *m, const gcut_dim *d, uint32_t n);

typedef struct gcut_view {
    gcut_ref root; /* owner of the storage; an iota is its own virtual storage: the address is the value */
    gcut_dim offset;
    gcut_dim stride[GCUT_MAX_RANK];
    bool bits; /* the storage is u8 and the value bool: offset and strides count bits, and readers take one */
    bool widens; /* the storage is f16 or bf16 and the value f32: whoever reads it converts */
} gcut_view;

gcut_view gcut_view_contiguous(gcut_module *m, const gcut_type *t, gcut_ref root);
/* The view of a VIEW op's result over what `in` (of type `from`) views; false: a reshape that strides cannot
 * express. */
bool gcut_view_through(gcut_graph *g, const gcut_node *n, const gcut_view *in, gcut_view *out);
/* Element k is element k of the storage, which may have more of them: a slice that begins where it does. */
bool gcut_view_packed(gcut_module *m, const gcut_type *t, const gcut_view *v);
/* The same, and the storage has no others. */
bool gcut_view_identity(const gcut_graph *g, const gcut_type *t, const gcut_view *v);
/* Who reads memory can read the storage as it stands: packed, in the value's dtype and not as bits. */
bool gcut_view_whole(gcut_module *m, const gcut_type *t, const gcut_view *v);
/* Row-major rows of `inner` elements of shape t: element (r, c) is root[r] whatever c. */
bool gcut_view_row_repeat(gcut_module *m, const gcut_type *t, const gcut_view *v, gcut_dim inner);
/* Axes begin..end of t as one axis: false unless their strides chain. *size, *stride of the merged axis. */
bool gcut_view_collapse(gcut_module *m, const gcut_type *t, const gcut_view *v, uint32_t begin, uint32_t end,
                        gcut_dim *size, gcut_dim *stride);
/* The first axis of the suffix of t that holds exactly `inner` elements; rank+1 when there is none. */
uint32_t gcut_view_split(gcut_module *m, const gcut_type *t, gcut_dim inner);

#endif
