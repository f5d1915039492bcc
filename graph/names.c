/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Names of values: the hash table, and generated names.
 *
 * A generated name is the scope of the node's location and its op: `block0.mlp.gelu` for a gelu of scope
 * "block0/mlp", `gelu` without a scope, with a prefix d for a node of a derivative; the second one is
 * `block0.mlp.gelu.2`.  When the user asks for a name that is taken by a generated one, the generated one
 * is changed (made_up of gcut_value).
 */
#include "graph/names.h"

#include <string.h>

#include "graph/ops/op_table.h"

/* Names are interned, so a pointer is its own key; mixed because the low bits are alignment. */
static uint32_t slot_of(const char *name, uint32_t cap)
{
    uint64_t h = (uint64_t)(uintptr_t)name * UINT64_C(0x9E3779B97F4A7C15);
    return (uint32_t)(h >> 32) & (cap - 1);
}

static void slot_put(gcut_graph *g, gcut_ref v)
{
    uint32_t k = slot_of(g->values.at[v].name, g->name_cap);
    while (g->name_slot[k]) k = (k + 1) & (g->name_cap - 1);
    g->name_slot[k] = v;
    g->name_used++;
}

/* A slot whose value was renamed stays in use and no longer matches; growing the table drops it. */
void gcut_name_insert(gcut_graph *g, gcut_ref v)
{
    if (2 * g->name_used >= g->name_cap) {
        g->name_cap = g->name_cap ? 2 * g->name_cap : 64;
        g->name_slot = gcut_calloc(g->module->arena, g->name_cap, sizeof *g->name_slot);
        g->name_used = 0;
        for (gcut_ref u = 1; u < g->values.n; u++)
            if (u != v) slot_put(g, u);
    }
    slot_put(g, v);
}

static gcut_ref find_interned(const gcut_graph *g, const char *name)
{
    if (!g->name_cap) return 0;
    uint32_t k = slot_of(name, g->name_cap);
    for (; g->name_slot[k]; k = (k + 1) & (g->name_cap - 1))
        if (g->values.at[g->name_slot[k]].name == name) return g->name_slot[k];
    return 0;
}

gcut_ref gcut_graph_find(const gcut_graph *g, const char *name)
{
    return find_interned(g, gcut_intern_name(g->module, name));
}

void gcut_value_rename(gcut_graph *g, gcut_ref v, const char *name)
{
    g->values.at[v].made_up = false;
    g->values.at[v].name = gcut_intern_name(g->module, name);
    gcut_name_insert(g, v);
}

/* ---- numbers behind names ---- */

/* The last number appended to a base name.  The search for a free name starts after it, so that n names of
 * one base take O(n) time, also when their values are renamed. */
typedef struct gcut_series {
    const char *base; /* interned; NULL: a free slot */
    uint32_t last;
} gcut_series;

/* The slot of base, or the free one where it belongs. */
static gcut_series *series_slot(gcut_series *slot, uint32_t cap, const char *base)
{
    uint32_t k = slot_of(base, cap);
    while (slot[k].base && slot[k].base != base) k = (k + 1) & (cap - 1);
    return &slot[k];
}

/* The counter of an interned base; the pointer is valid until the next call. */
static uint32_t *last_of(gcut_graph *g, const char *base)
{
    if (2 * g->series_used >= g->series_cap) {
        uint32_t cap = g->series_cap ? 2 * g->series_cap : 16;
        gcut_series *slot = gcut_calloc(g->module->arena, cap, sizeof *slot);
        for (uint32_t k = 0; k < g->series_cap; k++)
            if (g->series[k].base) *series_slot(slot, cap, g->series[k].base) = g->series[k];
        g->series = slot;
        g->series_cap = cap;
    }
    gcut_series *s = series_slot(g->series, g->series_cap, base);
    g->series_used += !s->base;
    s->base = base;
    return &s->last;
}

/* base, else base.1, base.2, … (or from base.2): the first after the last one used for which is_taken is
 * false. */
static const char *number(gcut_graph *g, const char *text, uint32_t first,
                          bool (*is_taken)(const gcut_graph *, const char *))
{
    const char *base = gcut_intern_name(g->module, text), *name = base;
    if (!is_taken(g, name)) return name;
    uint32_t *last = last_of(g, base);
    if (*last + 1 < first) *last = first - 1;
    do name = gcut_intern_name(g->module, gcut_printf(g->module->arena, "%s.%u", base, ++*last));
    while (is_taken(g, name));
    return name;
}

static bool has(const gcut_graph *g, const char *name)
{
    return find_interned(g, name) != 0;
}

const char *gcut_name_fresh(gcut_graph *g, const char *base)
{
    return number(g, base, 1, has);
}

/* ---- generated names ---- */

/* Is the name taken in g, in the graph that g copies, or in a graph around g? */
static bool is_taken(const gcut_graph *g, const char *name)
{
    if (g->copy_of && find_interned(g->copy_of, name)) return true;
    for (; g; g = g->outer)
        if (find_interned(g, name)) return true;
    return false;
}

static const char *next_name(gcut_graph *g, const char *base)
{
    return number(g, base, 2, is_taken);
}

/* The first argument of a derived location; NULL for a location in a file. */
static const gcut_loc *derived(const gcut_module *m, gcut_locid loc)
{
    const gcut_loc *l = loc < m->locs.n ? &m->locs.at[loc] : &m->locs.at[0];
    return l->call && l->nargs ? l : NULL;
}

/* Is the location that of a derivative? */
static bool is_gradient(const gcut_module *m, gcut_locid loc)
{
    for (const gcut_loc *l = derived(m, loc); l; l = derived(m, l->args[0]))
        if (!strcmp(l->name, "grad")) return true;
    return false;
}

const char *gcut_loc_prefix(gcut_module *m, gcut_locid loc)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.";
    gcut_text out = {.arena = m->arena};
    for (const gcut_loc *l; (l = derived(m, loc));) loc = l->args[0];
    for (const char *s = loc < m->locs.n ? m->locs.at[loc].scope : NULL; s && *s;) {
        size_t n = strcspn(s, "/");
        for (size_t i = 0; i < n; i++) gcut_text_addn(&out, strchr(letters, s[i]) ? s + i : "_", 1);
        if (n) gcut_text_add(&out, ".");
        s += n + (s[n] == '/');
    }
    return out.n ? out.at : "";
}

const char *gcut_name_make_up(gcut_graph *g, gcut_op op, gcut_locid loc)
{
    gcut_module *m = g->module;
    return next_name(g, gcut_printf(m->arena, "%s%s%s", is_gradient(m, loc) ? "d" : "",
                                    gcut_loc_prefix(m, loc), gcut_op_get(op)->name));
}

void gcut_name_claim(gcut_graph *g, const char *name)
{
    gcut_ref v = gcut_graph_find(g, name);
    if (!v || !g->values.at[v].made_up) return;
    gcut_value_rename(g, v, next_name(g, name));
    g->values.at[v].made_up = true;
}
