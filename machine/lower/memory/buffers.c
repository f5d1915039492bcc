/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Buffers, and what is stored in which.
 */
#include "machine/lower/memory/buffers.h"

#include "machine/lower/fusion/reads.h"

uint32_t gcut_buffer_new(gcut_program *p, gcut_buffer_kind kind, gcut_dtype t, gcut_dim count,
                         const char *name)
{
    gcut_buffer *out = GCUT_PUSH(p->module->arena, &p->buffers);
    *out = (gcut_buffer){.kind = kind, .dtype = t, .count = count, .name = name};
    out->shared_by = out->packed_by = GCUT_NONE;
    out->birth = out->death = -1;
    return p->buffers.n - 1;
}

uint32_t gcut_buffer_in_arena(gcut_program *p, const gcut_type *t, const char *name)
{
    return gcut_buffer_new(p, GCUT_BUFFER_ARENA, t->dtype, gcut_type_numel(p->module, t), name);
}

bool gcut_can_own_buffer(const gcut_lowered *h, gcut_ref v)
{
    gcut_ref r = h->view[v].root;
    return gcut_kernel_source(h, v) != GCUT_NONE && h->buffer[r] == GCUT_NONE && !h->view[v].widens &&
           !h->view[v].bits && gcut_view_identity(h->g, gcut_type_of(h->g, v), &h->view[v]);
}

uint32_t gcut_copy_new(gcut_lowered *h, gcut_ref v, uint32_t to, uint32_t source)
{
    uint32_t u = gcut_kernel_new(h, GCUT_KERNEL_COPY, GCUT_NONE);
    h->kernels.at[u].copy.value = v;
    h->kernels.at[u].copy.to = to;
    h->kernels.at[u].copy.source = source;
    gcut_reads_add(h, u);
    return u;
}

void gcut_store_in(gcut_lowered *h, gcut_ref v, uint32_t to)
{
    if (gcut_can_own_buffer(h, v))
        h->buffer[h->view[v].root] = to;
    else
        gcut_copy_new(h, v, to, GCUT_NONE);
}

void gcut_store_in_arena(gcut_program *p, gcut_lowered *h, gcut_ref v)
{
    gcut_ref r = h->view[v].root;
    if (h->buffer[r] == GCUT_NONE)
        h->buffer[r] = gcut_buffer_in_arena(p, gcut_type_of(h->g, r), h->g->values.at[r].name);
}
