/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Chooses a size for every symbol.
 */
#include "driver/options/default_sizes.h"

#include <string.h>

#include "base/names.h"

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

/* did you mean N? sizes of @f: N in 1..64; T in 1.. */
static const char *known_text(gcut_arena *a, const gcut_graph *g, const char *wanted)
{
    gcut_text t = {.arena = a};
    gcut_nearest near = gcut_nearest_start(wanted);
    if (!g->decls.n) return gcut_printf(a, "every size of @%s is a number", g->name);
    for (uint32_t i = 0; i < g->decls.n; i++)
        gcut_nearest_add(&near, gcut_dim_symbol_name(g->module->dims, g->decls.at[i].sym));
    if (near.best) gcut_text_add(&t, "did you mean %s? ", near.best);
    gcut_text_add(&t, "sizes of @%s:", g->name);
    for (uint32_t i = 0; i < g->decls.n; i++)
        gcut_text_add(&t, "%s %s", i ? ";" : "", declared_text(a, g->module, &g->decls.at[i]));
    return t.at;
}

uint32_t gcut_size_named(gcut_arena *a, const gcut_graph *g, const char *name)
{
    const gcut_module *m = g->module;
    for (uint32_t i = 0; i < g->decls.n; i++)
        if (!strcmp(name, gcut_dim_symbol_name(m->dims, g->decls.at[i].sym))) return i;
    gcut_fail(m->env, GCUT_EUSAGE, (gcut_place){.file = m->file}, known_text(a, g, name),
              "@%s has no size called '%s'", g->name, name);
}

/* The index of the symbol's declaration.  Throws where g has no such symbol, or declares that it has no such
 * size. */
static uint32_t declared(gcut_arena *a, const gcut_graph *g, const gcut_size *x)
{
    const gcut_module *m = g->module;
    const uint32_t i = gcut_size_named(a, g, x->name);
    const gcut_dim_decl *d = &g->decls.at[i];
    if (x->value < d->lo || x->value > d->hi || x->value % (d->mult > 1 ? d->mult : 1))
        gcut_fail(m->env, GCUT_EDIM, (gcut_place){.file = m->file}, NULL,
                  "%s=%lld is no such size: @%s declares %s", x->name, (long long)x->value, g->name,
                  declared_text(a, m, d));
    return i;
}

gcut_dim_binding *gcut_default_sizes(gcut_arena *a, const gcut_graph *g, const gcut_size *at, size_t nat,
                                     uint32_t *n)
{
    gcut_dim_binding *out = gcut_calloc(a, g->decls.n + 1, sizeof *out);
    for (uint32_t i = 0; i < g->decls.n; i++)
        out[i] = (gcut_dim_binding){g->decls.at[i].sym, smallest(&g->decls.at[i])};
    for (size_t k = 0; k < nat; k++) out[declared(a, g, &at[k])].value = at[k].value;
    *n = g->decls.n;
    return out;
}

gcut_dim_subst *gcut_fixed_sizes(gcut_arena *a, const gcut_graph *g, const gcut_settings *s)
{
    gcut_dim_subst *out = gcut_calloc(a, s->nfix + 1, sizeof *out);
    for (size_t k = 0; k < s->nfix; k++) {
        out[k] = (gcut_dim_subst){g->decls.at[declared(a, g, &s->fix[k])].sym, s->fix[k].value};
        for (size_t i = 0; i < s->nat; i++)
            if (!strcmp(s->at[i].name, s->fix[k].name))
                gcut_fail(g->module->env, GCUT_EUSAGE, (gcut_place){0}, "leave one of the two out",
                          "%s is fixed to %lld (fix, --fix), so it cannot be planned for %lld (at, --at)",
                          s->fix[k].name, (long long)s->fix[k].value, (long long)s->at[i].value);
    }
    return out;
}

const gcut_size *gcut_sizes_named(gcut_arena *a, const gcut_module *m, const gcut_dim_binding *at, uint32_t n)
{
    gcut_size *out = gcut_calloc(a, (size_t)n + 1, sizeof *out);
    for (uint32_t i = 0; i < n; i++)
        out[i] = (gcut_size){gcut_keep(a, gcut_dim_symbol_name(m->dims, at[i].sym)), at[i].value};
    return out;
}
