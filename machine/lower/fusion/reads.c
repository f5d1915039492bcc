/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The read index: built by one walk over all kernels, updated kernel by kernel.
 */
#include "machine/lower/fusion/reads.h"

#include <string.h>

/* The place of a kernel among readers, or the one where it belongs. */
static uint32_t find(const gcut_readers *r, uint32_t kernel)
{
    uint32_t low = 0, high = r->n;
    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        if (r->at[mid].kernel < kernel)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool has(const gcut_readers *r, uint32_t at, uint32_t kernel)
{
    return at < r->n && r->at[at].kernel == kernel;
}

static void add(gcut_lowered *h, gcut_ref root, uint32_t kernel)
{
    gcut_readers *r = &h->reads->of[root];
    const uint32_t at = find(r, kernel);
    if (!has(r, at, kernel)) {
        *GCUT_PUSH(h->g->module->arena, r) = (gcut_reader){0};
        memmove(&r->at[at + 1], &r->at[at], (r->n - 1 - at) * sizeof *r->at);
        r->at[at] = (gcut_reader){kernel, 0};
    }
    r->at[at].times++;
}

static void remove_all(gcut_lowered *h, gcut_ref root, uint32_t kernel)
{
    gcut_readers *r = &h->reads->of[root];
    const uint32_t at = find(r, kernel);
    if (!has(r, at, kernel)) return;
    r->n--;
    memmove(&r->at[at], &r->at[at + 1], (r->n - at) * sizeof *r->at);
}

/* Calls f for every read from memory of a root that the kernel does not make. */
static void each_read(gcut_lowered *h, uint32_t kernel, void (*f)(gcut_lowered *, gcut_ref, uint32_t))
{
    const gcut_kernel *k = &h->kernels.at[kernel];
    if (k->kind == GCUT_KERNEL_COPY && k->copy.source == GCUT_NONE) f(h, h->view[k->copy.value].root, kernel);
    gcut_cursor at = {0};
    for (gcut_ref v; gcut_kernel_read(h, kernel, &at, &v);)
        if (gcut_kernel_source(h, v) != kernel) f(h, h->view[v].root, kernel);
}

void gcut_reads_add(gcut_lowered *h, uint32_t kernel)
{
    each_read(h, kernel, add);
}

void gcut_reads_remove(gcut_lowered *h, uint32_t kernel)
{
    each_read(h, kernel, remove_all);
}

void gcut_reads_build(gcut_lowered *h)
{
    gcut_arena *a = h->g->module->arena;
    const uint32_t nv = h->g->values.n;
    h->reads = gcut_calloc(a, 1, sizeof *h->reads);
    h->reads->of = gcut_calloc(a, nv, sizeof *h->reads->of);
    h->reads->is_result = gcut_calloc(a, nv, sizeof *h->reads->is_result);
    h->reads->views = gcut_calloc(a, nv, sizeof *h->reads->views);
    for (gcut_ref v = 1; v < nv; v++)
        if (h->view[v].root != v) h->reads->views[h->view[v].root]++;
    for (uint32_t i = 0; i < h->g->results.n; i++)
        h->reads->is_result[h->view[h->g->results.at[i].value].root] = true;
    for (uint32_t u = 0; u < h->kernels.n; u++) gcut_reads_add(h, u);
}

void gcut_reads_bind(gcut_lowered *h, uint32_t nbuffers)
{
    h->reads->nbuffers = nbuffers;
    h->reads->param = gcut_calloc(h->g->module->arena, nbuffers + 1, sizeof *h->reads->param);
    for (uint32_t i = h->g->params.n; i-- > 0;) {
        const gcut_ref v = h->g->params.at[i].value;
        if (h->buffer[v] != GCUT_NONE) h->reads->param[h->buffer[v]] = v;
    }
}

uint32_t gcut_reads(const gcut_lowered *h, uint32_t kernel, gcut_ref root)
{
    const gcut_readers *r = &h->reads->of[root];
    const uint32_t at = find(r, kernel);
    return has(r, at, kernel) ? r->at[at].times : 0;
}

uint32_t gcut_only_reader(const gcut_lowered *h, gcut_ref root)
{
    const gcut_readers *r = &h->reads->of[root];
    return r->n == 1 && !h->reads->is_result[root] ? r->at[0].kernel : GCUT_NONE;
}

bool gcut_is_stored(const gcut_lowered *h, gcut_ref root)
{
    return h->reads->of[root].n > 0 || h->reads->is_result[root];
}

gcut_ref gcut_param_in(const gcut_lowered *h, uint32_t buffer)
{
    return buffer < h->reads->nbuffers ? h->reads->param[buffer] : 0;
}
