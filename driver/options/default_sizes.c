/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Chooses a size for every symbol.
 */
#include "driver/options/default_sizes.h"

#include <string.h>

/* The smallest size from 4 on, or the largest. */
static int64_t smallest(const gcut_dim_decl *d)
{
    const int64_t n = d->lo > 4 ? d->lo : 4, m = d->mult > 1 ? d->mult : 1, most = d->hi / m * m;
    return n > most ? most : n % m ? n - n % m + m : n; /* no more than `most`, a multiple too */
}

/* N in 1..64, a multiple of 4 */
static const char *declared_text(gcut_arena *a, const gcut_module *m, const gcut_dim_decl *d)
{
    gcut_text t = {.arena = a};
    gcut_text_add(&t, "%s in %lld..", gcut_dim_symbol_name(m->dims, d->sym), (long long)d->lo);
    if (d->hi != GCUT_DIM_MAX) gcut_text_add(&t, "%lld", (long long)d->hi);
    if (d->mult > 1) gcut_text_add(&t, ", a multiple of %lld", (long long)d->mult);
    return t.at;
}

/* sizes of @f: N in 1..64, T in 1.. */
static const char *known_text(gcut_arena *a, const gcut_graph *g)
{
    gcut_text t = {.arena = a};
    if (!g->decls.n) return gcut_printf(a, "every size of @%s is a number", g->name);
    gcut_text_add(&t, "sizes of @%s:", g->name);
    for (uint32_t i = 0; i < g->decls.n; i++)
        gcut_text_add(&t, "%s %s", i ? ";" : "", declared_text(a, g->module, &g->decls.at[i]));
    return t.at;
}

gcut_dim_binding *gcut_default_sizes(gcut_arena *a, const gcut_graph *g, const gcut_size *at, size_t nat,
                                     uint32_t *n)
{
    const gcut_module *m = g->module;
    gcut_dim_binding *out = gcut_calloc(a, g->decls.n + 1, sizeof *out);
    bool *used = gcut_calloc(a, nat + 1, sizeof *used);
    for (uint32_t i = 0; i < g->decls.n; i++) {
        const gcut_dim_decl *d = &g->decls.at[i];
        out[i] = (gcut_dim_binding){d->sym, smallest(d)};
        for (size_t k = 0; k < nat; k++) {
            if (strcmp(at[k].name, gcut_dim_symbol_name(m->dims, d->sym)) != 0) continue;
            used[k] = true;
            out[i].value = at[k].value;
            if (at[k].value < d->lo || at[k].value > d->hi || at[k].value % (d->mult > 1 ? d->mult : 1))
                gcut_fail(m->env, GCUT_EDIM, (gcut_place){.file = m->file}, NULL,
                          "%s=%lld is no such size: @%s declares %s", at[k].name, (long long)at[k].value,
                          g->name, declared_text(a, m, d));
        }
    }
    for (size_t k = 0; k < nat; k++)
        if (!used[k])
            gcut_fail(m->env, GCUT_EUSAGE, (gcut_place){.file = m->file}, known_text(a, g),
                      "@%s has no size called '%s'", g->name, at[k].name);
    *n = g->decls.n;
    return out;
}

const gcut_size *gcut_sizes_named(gcut_arena *a, const gcut_module *m, const gcut_dim_binding *at, uint32_t n)
{
    gcut_size *out = gcut_calloc(a, (size_t)n + 1, sizeof *out);
    for (uint32_t i = 0; i < n; i++)
        out[i] = (gcut_size){gcut_keep(a, gcut_dim_symbol_name(m->dims, at[i].sym)), at[i].value};
    return out;
}
