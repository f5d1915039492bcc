/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which entry of a jit the arguments of a call fit: first the dtypes and ranks in one comparison, then each size.
 */
#include <string.h>

#include "driver/trace/jit.h"

static bool fits(const gcut_entry *e, const gcut_call_args *c, int64_t *value)
{
    if (e->nin != c->nin || (c->nout && e->nout != c->nout) ||
        (c->nin && memcmp(e->signature, c->signature, c->nin * sizeof *c->signature) != 0))
        return false;
    for (uint32_t k = 0; k < e->nsymbols; k++) value[k] = -1;
    for (uint32_t k = 0; k < e->nguards; k++)
        if (!gcut_size_fits(&e->guard[k], c->in, value)) return false;
    return true;
}

static bool lists(const uint64_t *at, uint32_t n, uint64_t hash)
{
    while (n-- > 0)
        if (at[n] == hash) return true;
    return false;
}

bool gcut_entry_knows(const gcut_entry *e, const gcut_call_args *c)
{
    return !e->nsymbols || lists(e->seen.at, e->seen.n, gcut_sizes_hash(c));
}

gcut_entry *gcut_entry_find(const gcut_jit *jit, const gcut_call_args *c, int64_t value[GCUT_JIT_SYMBOLS])
{
    for (uint32_t k = 0; k < jit->entries.n; k++) {
        gcut_entry *e = jit->entries.at[k];
        if (fits(e, c, value) && !(e->other.n && lists(e->other.at, e->other.n, gcut_sizes_hash(c))))
            return e;
    }
    return NULL;
}

const gcut_entry *gcut_entry_closest(const gcut_jit *jit, const gcut_call_args *c)
{
    const gcut_entry *best = NULL;
    uint32_t least = UINT32_MAX;
    for (uint32_t k = 0; k < jit->entries.n; k++) {
        const gcut_entry *e = jit->entries.at[k];
        int64_t value[GCUT_JIT_SYMBOLS];
        uint32_t differ = 0;
        if (e->nin != c->nin || memcmp(e->signature, c->signature, c->nin * sizeof *c->signature) != 0)
            continue;
        for (uint32_t i = 0; i < e->nsymbols; i++) value[i] = -1;
        for (uint32_t i = 0; i < e->nguards; i++) differ += !gcut_size_fits(&e->guard[i], c->in, value);
        if (differ < least) least = differ, best = e;
    }
    return best;
}

uint64_t gcut_sizes_hash(const gcut_call_args *c)
{
    uint64_t h = UINT64_C(14695981039346656037); /* FNV-1a over whole sizes */
    for (uint32_t k = 0; k < c->nin; k++)
        for (int d = 0; d < c->in[k].rank; d++) h = (h ^ (uint64_t)c->in[k].dim[d]) * UINT64_C(1099511628211);
    return h;
}

const char *gcut_entry_text(const gcut_entry *e, gcut_arena *a)
{
    gcut_text t = {.arena = a};
    for (uint32_t k = 0; k < e->nin; k++)
        gcut_text_add(&t, "%s%s", k ? ", " : "", gcut_type_text(a, e->m, &e->in[k].type));
    if (!e->nin) gcut_text_add(&t, "no arguments");
    for (uint32_t k = 0; k < e->nsymbols; k++)
        gcut_text_add(&t, "%s%s >= 2", k ? ", " : "; ", gcut_dim_symbol_name(e->m->dims, e->symbol[k]));
    return t.at;
}
