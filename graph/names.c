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

#include <stdio.h>
#include <string.h>

/* The slot of the value that has the name, or the free one where it belongs.  A renamed value is in two slots, of
 * which the former is passed by. */
static gcut_ref *slot_of(const gcut_graph *g, const gcut_name_table *t, const char *name)
{
    uint32_t k = gcut_map_hash(gcut_map_key(name)) & (t->cap - 1);
    while (t->slot[k] && g->values.at[t->slot[k]].name != name) k = (k + 1) & (t->cap - 1);
    return &t->slot[k];
}

void gcut_name_insert(gcut_graph *g, gcut_ref v)
{
    gcut_name_table *t = &g->by_name;
    if (2 * (t->n + 1) > t->cap) {
        gcut_name_table bigger = {.n = t->n, .cap = t->cap ? 2 * t->cap : 16};
        bigger.slot = gcut_calloc(g->module->arena, bigger.cap, sizeof *bigger.slot);
        for (uint32_t k = 0; k < t->cap; k++)
            if (t->slot[k]) *slot_of(g, &bigger, g->values.at[t->slot[k]].name) = t->slot[k];
        gcut_release(g->module->arena, t->slot, t->cap * sizeof *t->slot);
        *t = bigger;
    }
    gcut_ref *s = slot_of(g, t, g->values.at[v].name);
    t->n += !*s;
    *s = v;
}

gcut_ref gcut_name_find_interned(const gcut_graph *g, const char *name)
{
    return g->by_name.cap ? *slot_of(g, &g->by_name, name) : 0;
}

gcut_ref gcut_graph_find(const gcut_graph *g, const char *name)
{
    const char *known = gcut_interned(&g->module->names, name, strlen(name));
    return known ? gcut_name_find_interned(g, known) : 0;
}

void gcut_value_rename(gcut_graph *g, gcut_ref v, const char *name)
{
    g->values.at[v].made_up = false;
    g->values.at[v].name = gcut_intern_name(g->module, name);
    gcut_name_insert(g, v);
}

/* Interns what fmt gives; a name of usual length leaves nothing else in memory. */
static GCUT_PRINTF(2, 3) const char *intern(gcut_module *m, const char *fmt, ...)
{
    char few[128];
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(few, sizeof few, fmt, ap);
    const char *s = n >= 0 && (size_t)n < sizeof few ? few : gcut_vprintf(m->arena, fmt, again);
    va_end(again);
    va_end(ap);
    return gcut_intern_name(m, s);
}

/* ---- numbers at the end of names ---- */

/* base, which is interned, else base.1, base.2, … (or from base.2): the first after the last one used for which
 * is_taken is false.  The last one is remembered, so that n names of one base take O(n) time, also when their
 * values are renamed. */
static const char *number(gcut_graph *g, const char *base, uint32_t first,
                          bool (*is_taken)(const gcut_graph *, const char *))
{
    const char *name = base;
    if (!is_taken(g, name)) return name;
    uint32_t *last = gcut_map_at(g->module->arena, &g->last_number, gcut_map_key(base));
    if (*last + 1 < first) *last = first - 1;
    do name = intern(g->module, "%s.%u", base, ++*last);
    while (is_taken(g, name));
    return name;
}

static bool has(const gcut_graph *g, const char *name)
{
    return gcut_name_find_interned(g, name) != 0;
}

const char *gcut_name_fresh_interned(gcut_graph *g, const char *base)
{
    return number(g, base, 1, has);
}

const char *gcut_name_fresh(gcut_graph *g, const char *base)
{
    return gcut_name_fresh_interned(g, gcut_intern_name(g->module, base));
}

/* ---- the names of a function ---- */

/* Is the name new? */
static bool add(gcut_name_set *set, const char *name)
{
    const uint32_t before = set->all.n;
    gcut_intern(&set->all, name, strlen(name));
    return set->all.n > before;
}

gcut_name_set gcut_name_set_of(gcut_arena *a, const gcut_graph *g)
{
    gcut_name_set set = {.arena = a, .all = {.arena = a}};
    for (gcut_ref v = 1; v < g->values.n; v++) add(&set, g->values.at[v].name);
    return set;
}

const char *gcut_name_set_add(gcut_name_set *set, const char *name)
{
    const char *numbered = name;
    if (add(set, name)) return name;
    uint32_t *last = gcut_map_at(set->arena, &set->last, gcut_map_key(name));
    do numbered = gcut_printf(set->arena, "%s.%u", name, ++*last);
    while (!add(set, numbered));
    return numbered;
}

/* ---- generated names ---- */

/* Is the name taken in g, in the graph that g copies, or in a graph around g? */
static bool is_taken(const gcut_graph *g, const char *name)
{
    if (g->copy_of && gcut_name_find_interned(g->copy_of, name)) return true;
    for (; g; g = g->outer)
        if (gcut_name_find_interned(g, name)) return true;
    return false;
}

/* base is interned. */
static const char *next_name(gcut_graph *g, const char *base)
{
    return number(g, base, 2, is_taken);
}

/* The location, where it is derived from others; NULL for a location in a file. */
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

/* A generated name without its number. */
static const char *generated(gcut_module *m, gcut_op op, gcut_locid loc)
{
    return intern(m, "%s%s%s", is_gradient(m, loc) ? "d" : "", gcut_loc_prefix(m, loc),
                  gcut_op_get(op)->name);
}

const char *gcut_name_make_up(gcut_graph *g, gcut_op op, gcut_locid loc)
{
    return next_name(g, generated(g->module, op, loc));
}

/* Has node n a generated name with a number?  Then *base is it without. */
static bool is_numbered(gcut_graph *g, const gcut_node *n, const char **base)
{
    const char *name = g->values.at[n->res0].name;
    *base = generated(g->module, (gcut_op)n->op, n->loc);
    const size_t k = strlen(*base);
    return n->nres == 1 && !strncmp(name, *base, k) && name[k] == '.' && name[k + 1] &&
           !name[k + 1 + strspn(name + k + 1, "0123456789")];
}

void gcut_names_renumber(gcut_graph *g)
{
    gcut_arena *a = gcut_arena_new(g->module->env, g->module->arena);
    const char **base = gcut_calloc(a, g->nodes.n + 1u, sizeof *base);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        const char *of;
        if (!is_numbered(g, n, &of)) continue;
        base[i] = of;
        *gcut_map_at(g->module->arena, &g->last_number, gcut_map_key(of)) = 0;
        gcut_value_rename(g, n->res0, intern(g->module, "/%u", i)); /* no name in text has a '/' */
    }
    for (uint32_t i = 0; i < g->nodes.n; i++)
        if (base[i]) gcut_value_rename(g, gcut_node_at(g, i)->res0, number(g, base[i], 2, has));
    gcut_arena_free(a);
}

void gcut_name_claim(gcut_graph *g, const char *name)
{
    gcut_ref v = gcut_graph_find(g, name);
    if (!v || !g->values.at[v].made_up) return;
    gcut_value_rename(g, v, next_name(g, g->values.at[v].name));
    g->values.at[v].made_up = true;
}
