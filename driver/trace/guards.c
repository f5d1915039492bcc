/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which entry of a jit the arguments of a call fit: first the dtypes and ranks in one comparison, then each size.
 */
#include <string.h>

#include "driver/trace/jit.h"

/* Does the entry have as many arguments and results, and these dtypes and ranks? */
static bool same_kind(const gcut_entry *e, const gcut_call_args *c)
{
    return e->nin == c->nin && (!c->nout || e->nout == c->nout) &&
           (!c->nin || memcmp(e->signature, c->signature, c->nin * sizeof *c->signature) == 0);
}

bool gcut_entry_fits(const gcut_entry *e, const gcut_call_args *c, int64_t value[GCUT_JIT_SYMBOLS])
{
    if (!same_kind(e, c)) return false;
    gcut_sizes_unbound(e, value);
    for (uint32_t k = 0; k < e->nguards; k++)
        if (!gcut_size_fits(&e->guard[k], c->in, value)) return false;
    return true;
}

static gcut_known known(const gcut_entry *e, const gcut_call_args *c)
{
    return e->nsymbols ? (gcut_known)gcut_map_get(&e->known, gcut_sizes_hash(c)) : GCUT_SAME;
}

bool gcut_entry_knows(const gcut_entry *e, const gcut_call_args *c)
{
    return known(e, c) == GCUT_SAME;
}

gcut_entry *gcut_entry_find(const gcut_jit *jit, const gcut_call_args *c, int64_t value[GCUT_JIT_SYMBOLS])
{
    for (uint32_t k = 0; k < jit->entries.n; k++) {
        gcut_entry *e = jit->entries.at[k];
        if (gcut_entry_fits(e, c, value) && known(e, c) != GCUT_ANOTHER) return e;
    }
    return NULL;
}

static uint32_t distance(const gcut_entry *e, const gcut_call_args *c)
{
    int64_t value[GCUT_JIT_SYMBOLS];
    uint32_t differ = 0;
    gcut_sizes_unbound(e, value);
    for (uint32_t i = 0; i < e->nguards; i++) differ += !gcut_size_fits(&e->guard[i], c->in, value);
    return differ;
}

int gcut_entries_closest(const gcut_jit *jit, const gcut_call_args *c, const gcut_entry *out[], int most)
{
    uint32_t far[GCUT_JIT_NEAR];
    int n = 0;
    GCUT_ASSERT(most <= GCUT_JIT_NEAR);
    for (uint32_t k = 0; k < jit->entries.n; k++) {
        const gcut_entry *e = jit->entries.at[k];
        if (!same_kind(e, c)) continue;
        const uint32_t d = distance(e, c);
        int at = n;
        while (at > 0 && far[at - 1] > d) at--;
        if (at == most) continue;
        n += n < most;
        for (int i = n - 1; i > at; i--) far[i] = far[i - 1], out[i] = out[i - 1];
        far[at] = d, out[at] = e;
    }
    return n;
}

uint64_t gcut_sizes_hash(const gcut_call_args *c)
{
    uint64_t h = GCUT_FNV_BEGIN;
    for (uint32_t k = 0; k < c->nin; k++)
        for (int d = 0; d < c->in[k].rank; d++) h = gcut_fnv(h, (uint64_t)c->in[k].dim[d]);
    return h;
}

const char *gcut_entry_text(const gcut_entry *e, gcut_arena *a)
{
    gcut_text t = {.arena = a};
    for (uint32_t k = 0; k < e->nin; k++)
        gcut_text_add(&t, "%s%s", k ? ", " : "", gcut_type_text(a, e->m, &e->in[k].type));
    if (!e->nin) gcut_text_add(&t, "no arguments");
    for (uint32_t k = 0; k < e->nsymbols; k++)
        gcut_text_add(&t, "%s%s >= %d", k ? ", " : "; ", gcut_dim_symbol_name(e->m->dims, e->symbol[k]),
                      GCUT_SYMBOL_LEAST);
    return t.at;
}
