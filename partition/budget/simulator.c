/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Simulation in three passes.
 *
 *   forwards    definitions: every occurrence of a node makes new copies of its results, a view shares its
 *               operand's copy, readers see the latest copy
 *   backwards   which kernel computes a value, hence what is stored and until when
 *   forwards    the sum of the bytes stored
 *
 * Kernels are estimated by stages: the stage of a node is the largest number of nodes that cannot be fused on
 * a path to it.  Loops of one stage cannot depend on each other through another kernel, so they may be fused;
 * a loop of an earlier stage may join its only reader.
 */
#include "partition/budget/simulator.h"

#include <stdlib.h>

#include "graph/ops/node_facts.h"
#include "graph/ops/value_bytes.h"

typedef struct item { /* the copy of a value that one occurrence of a node makes */
    gcut_ref value;
    int64_t bytes;
    uint32_t made, end; /* events */
    uint32_t stage;     /* of readers that could share its kernel */
    uint32_t reader;    /* event of the kernel that reads it */
    bool stored, saved, resident, several, loop;
    bool overwritable; /* only loops read it at its end, element by element: they may write a result
                  over it */
} item;

typedef struct read {
    uint32_t item;
    bool even; /* element by element */
} read;

typedef struct sim {
    gcut_arena *arena;
    const gcut_problem *p;
    const gcut_choice *c;
    const gcut_graph *g;
    const bool *sizes_only; /* by node */
    uint32_t *current;      /* by value: its latest item */
    bool *transposed;       /* by value: a view in another order */
    bool *in_result;        /* by value: the storage is a result's or a parameter's */
    GCUT_VEC(item) items;
    GCUT_VEC(read) reads;
    GCUT_VEC(uint32_t) node; /* by event */
    uint32_t *first;         /* by event: its first index in reads */
    uint32_t *made;          /* by event: the first item that it made, 0 = none */
    uint32_t *stage;         /* by event */
    uint32_t *group;         /* by event: no kernel spans two groups */
    const uint32_t *groups;  /* of gcut_live_grouped */
    uint32_t nforward;
} sim;

/* The result of n shares its operand's storage. */
static bool is_view(const gcut_node *n)
{
    return n->nargs && gcut_op_get((gcut_op)n->op)->emit == GCUT_EMIT_VIEW;
}

/* ---- what runs ---- */

/* By node: the forward graph runs it, because an `out` result or a saved value depends on it. */
static bool *forward_nodes(const sim *s)
{
    const gcut_graph *g = s->g;
    bool *needed = gcut_calloc(s->arena, g->values.n, 1);
    for (gcut_ref v = 1; v < g->values.n; v++)
        needed[v] = s->p->facts->out[v] || s->c->decision[v] == GCUT_PLAN_SAVED;
    return gcut_needed_nodes(s->arena, g, needed, NULL);
}

/* in_result: a result is computed in the caller's buffer unless it is a reordered view; so is the first
 * operand of a scatter_add in that buffer, if nothing else reads it. */
static void find_homes(sim *s)
{
    const gcut_graph *g = s->g;
    uint32_t *uses = gcut_calloc(s->arena, g->values.n, sizeof *uses);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        for (uint32_t k = 0; k < n->nargs; k++) uses[gcut_arg(g, n, k)]++;
        if (!is_view(n)) continue;
        gcut_ref a = gcut_arg(g, n, 0);
        s->transposed[n->res0] = s->transposed[a] || gcut_attr_get(g, n, GCUT_KEY_perm) ||
                                 s->p->price[n->res0].bytes != s->p->price[a].bytes;
    }
    for (uint32_t i = 0; i < g->results.n; i++) {
        gcut_ref v = g->results.at[i].value;
        if (!s->transposed[v]) s->in_result[s->p->facts->base[v]] = true;
    }
    for (uint32_t i = g->nodes.n; i-- > 0;) {
        const gcut_node *n = gcut_node_at(g, i);
        if (n->op == GCUT_OP_scatter_add && s->in_result[n->res0] && uses[gcut_arg(g, n, 0)] == 1)
            s->in_result[gcut_arg(g, n, 0)] = true;
    }
}

/* ---- forwards: occurrences ---- */

static uint32_t new_item(sim *s, gcut_ref v, uint32_t event, int64_t bytes)
{
    *GCUT_PUSH(s->arena, &s->items) =
        (item){.value = v, .bytes = bytes, .made = event, .end = event, .reader = GCUT_NONE};
    return s->items.n - 1;
}

static bool is_loop(const gcut_node *n)
{
    gcut_class c = gcut_node_class(n);
    return c == GCUT_CLASS_POINTWISE || c == GCUT_CLASS_REDUCTION;
}

static int64_t elements(const sim *s, gcut_ref v)
{
    return s->p->price[v].bytes / gcut_dtype_bytes(gcut_type_of(s->g, v)->dtype);
}

static void read_operands(sim *s, const gcut_node *n, uint32_t event)
{
    int64_t mine = elements(s, n->res0);
    s->first[event] = s->reads.n;
    for (uint32_t k = 0; k < n->nargs; k++) {
        gcut_ref v = gcut_arg(s->g, n, k);
        uint32_t it = s->current[v];
        if (!it) continue;
        bool reduces = gcut_node_class(n) == GCUT_CLASS_REDUCTION && k == 0;
        bool even = !s->transposed[v] && (reduces || elements(s, v) == mine);
        *GCUT_PUSH(s->arena, &s->reads) = (read){it, even};
        if (s->items.at[it].stage > s->stage[event]) s->stage[event] = s->items.at[it].stage;
    }
    s->first[event + 1] = s->reads.n;
}

/* Makes a new item for a result of the event's node, unless it needs no storage or shares another item's. */
static void make_result(sim *s, const gcut_node *n, uint32_t i, gcut_ref v, uint32_t event, bool backward)
{
    if (backward && gcut_crosses(s->g, v, s->c->decision[v])) return;
    if (s->sizes_only[i] || (gcut_node_class(n) == GCUT_CLASS_CONSTANT)) {
        s->current[v] = 0;
        return;
    }
    if (is_view(n) && s->c->decision[v] != GCUT_PLAN_SAVED) { /* a slice may be saved as a copy */
        s->current[v] = s->current[gcut_arg(s->g, n, 0)];
        return;
    }
    bool own = s->p->facts->side[v] == GCUT_SIDE_BACKWARD || !backward;
    uint32_t it = new_item(s, v, event, s->p->price[v].bytes);
    s->items.at[it].resident = own && s->in_result[v];
    s->items.at[it].stored = s->items.at[it].resident;
    s->items.at[it].stage = s->stage[event] + gcut_node_ends_kernel(s->g, n);
    s->items.at[it].loop = is_loop(n) && n->nres == 1;
    s->current[v] = it;
}

static void run_node(sim *s, uint32_t i, bool backward)
{
    const gcut_node *n = gcut_node_at(s->g, i);
    uint32_t event = s->node.n;
    *GCUT_PUSH(s->arena, &s->node) = i;
    read_operands(s, n, event);
    uint32_t before = s->items.n;
    for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++) make_result(s, n, i, v, event, backward);
    s->made[event] = s->items.n > before ? before : 0;
}

/* Between forward and backward graph: saved values stay, in their storage format; all other items end. */
static void cross(sim *s)
{
    const gcut_graph *g = s->g;
    uint32_t last = s->nforward ? s->nforward - 1 : 0;
    for (gcut_ref v = 1; v < g->values.n; v++) {
        uint32_t it = s->current[v];
        s->current[v] = 0;
        if (!it && gcut_value_is_lost(g, v) && s->c->decision[v] == GCUT_PLAN_SAVED)
            it = new_item(s, v, last, s->p->price[v].bytes); /* a copy */
        if (!it || !gcut_crosses(g, v, s->c->decision[v])) continue;
        if (s->c->format[v] == GCUT_FORMAT_GRAD) s->items.at[it].resident = true;
        if (gcut_format_packs(s->c->format[v])) {
            s->items.at[it].stored |= s->items.at[it].end < last;
            it = new_item(s, v, s->items.at[it].made, gcut_value_saved_bytes(s->p, v, s->c->format[v]));
        }
        item *x = &s->items.at[it];
        x->stored = true;
        x->stage = 0;
        x->saved = s->c->decision[v] == GCUT_PLAN_SAVED;
        if (x->end < last) x->end = last;
        s->current[v] = it;
    }
}

static void run_both(sim *s)
{
    const gcut_graph *g = s->g;
    bool *run = forward_nodes(s);
    uint32_t max = g->nodes.n + s->c->backward.n + 2;
    s->first = gcut_calloc(s->arena, max, sizeof *s->first);
    s->made = gcut_calloc(s->arena, max, sizeof *s->made);
    s->stage = gcut_calloc(s->arena, max, sizeof *s->stage);
    s->group = gcut_calloc(s->arena, max, sizeof *s->group);
    new_item(s, 0, 0, 0); /* item 0 is none */
    for (uint32_t i = 0; i < g->nodes.n; i++)
        if (run[i]) run_node(s, i, false);
    s->nforward = s->node.n;
    cross(s);
    for (uint32_t k = 0, pos = 0; k < s->c->backward.n; k++) {
        uint32_t i = s->c->backward.node[k];
        if (s->groups) s->group[s->node.n] = s->groups[pos];
        pos += s->p->facts->side[gcut_node_at(g, i)->res0] == GCUT_SIDE_BACKWARD;
        run_node(s, i, true);
    }
}

/* ---- backwards: kernels ---- */

/* A loop of the same graph made the item, and may be fused with a reader that runs in `kernel`. */
static void note_reader(item *x, bool fusable, uint32_t kernel, uint32_t stage)
{
    if (!fusable)
        x->stored = true;
    else if (x->reader == GCUT_NONE)
        x->reader = kernel, x->stage = stage;
    else if (x->reader != kernel) {
        x->several = true;
        if (x->stage != stage) x->stored = true;
    }
}

static void note_end(item *x, bool overwritable, uint32_t end)
{
    if (end < x->end || (end == x->end && end == x->made)) return;
    x->overwritable = overwritable && (end > x->end || x->overwritable);
    x->end = end;
}

/* An event without stored results runs in its readers' kernel; ends[] is the event of that kernel. */
static void find_kernels(sim *s)
{
    uint32_t n = s->node.n;
    for (uint32_t t = n; t-- > 0;) {
        const gcut_node *x = gcut_node_at(s->g, s->node.at[t]);
        uint32_t kernel = t, stage = s->stage[t], end = t;
        bool loop = is_loop(x);
        if (s->made[t]) {
            item *r = &s->items.at[s->made[t]];
            bool mine = r->loop && !r->stored && r->reader != GCUT_NONE;
            if (mine && r->several && r->stage != stage) mine = false;
            if (r->loop && !mine) r->stored = true;
            if (mine) kernel = r->reader, stage = r->stage, end = r->end;
        }
        for (uint32_t k = s->first[t]; k < s->first[t + 1]; k++) {
            item *a = &s->items.at[s->reads.at[k].item];
            bool same = (a->made < s->nforward) == (t < s->nforward) && s->group[a->made] == s->group[t];
            bool even = loop && s->reads.at[k].even;
            note_reader(a, even && same && a->loop, kernel, stage);
            note_end(a, even, end);
        }
    }
}

/* ---- the sum ---- */

/* The item that an elementwise result overwrites: an operand of its kernel that dies there, of the same
 * size. */
static bool takes_over(const sim *s, const uint32_t *head, const uint32_t *next, bool *taken, const item *x)
{
    const gcut_node *n = gcut_def(s->g, x->value); /* NULL: the copy of a parameter */
    if (!n || gcut_node_class(n) != GCUT_CLASS_POINTWISE) return false;
    for (uint32_t i = head[x->made]; i; i = next[i]) {
        const item *a = &s->items.at[i];
        bool alike = a->bytes == x->bytes &&
                     gcut_type_of(s->g, a->value)->dtype == gcut_type_of(s->g, x->value)->dtype;
        if (taken[i] || !alike) continue;
        return taken[i] = true;
    }
    return false;
}

static void add_up(const sim *s, gcut_live *l, gcut_arena *arena)
{
    uint32_t n = s->node.n;
    int64_t *bytes = gcut_calloc(arena, (size_t)n + 2, sizeof *bytes), most = 0;
    uint32_t *head =
        gcut_calloc(s->arena, (size_t)n + 1, sizeof *head); /* by event: items that die in its loop */
    uint32_t *next = gcut_calloc(s->arena, s->items.n, sizeof *next);
    bool *taken = gcut_calloc(s->arena, s->items.n, sizeof *taken);
    for (uint32_t i = 1; i < s->items.n; i++) {
        const item *x = &s->items.at[i];
        if (x->resident || !x->stored || !x->overwritable || x->made >= x->end) continue;
        next[i] = head[x->end];
        head[x->end] = i;
    }
    for (uint32_t i = 1; i < s->items.n; i++) {
        const item *x = &s->items.at[i];
        if (x->resident || !x->stored || !x->bytes) continue;
        *GCUT_PUSH(arena, &l->ranges) = (gcut_live_range){x->value, x->bytes, x->made, x->end, x->saved};
        if (s->p->opt->apart && x->saved) { /* the saved block is alive during both calls */
            bytes[0] += x->bytes;
            continue;
        }
        /* An item and the item that overwrites it share one buffer. */
        uint32_t from = x->made + (x->end > x->made && takes_over(s, head, next, taken, x));
        bytes[from] += x->bytes;
        bytes[x->end + 1] -= x->bytes;
    }
    for (uint32_t t = 0; t < n; t++) {
        if (t) bytes[t] += bytes[t - 1];
        if (bytes[t] > most) most = bytes[t], l->peak_event = t;
    }
    l->bytes = bytes;
    l->resident_bytes = gcut_resident_bytes(s->g, s->p->opt->at, s->p->opt->nat);
    l->peak_bytes = l->resident_bytes + most;
}

gcut_live gcut_live_of(const gcut_problem *p, const gcut_choice *c, gcut_arena *arena)
{
    return gcut_live_grouped(p, c, arena, NULL);
}

gcut_live gcut_live_grouped(const gcut_problem *p, const gcut_choice *c, gcut_arena *arena,
                            const uint32_t *groups)
{
    const gcut_graph *g = p->g;
    gcut_live l = {0};
    sim s = {.arena = gcut_arena_new(g->module->env, arena), .p = p, .c = c, .g = g, .groups = groups};
    s.sizes_only = gcut_sizes_only(g, s.arena);
    s.current = gcut_calloc(s.arena, g->values.n, sizeof *s.current);
    s.transposed = gcut_calloc(s.arena, g->values.n, 1);
    s.in_result = gcut_calloc(s.arena, g->values.n, 1);
    find_homes(&s);
    run_both(&s);
    find_kernels(&s);
    l.nforward = s.nforward;
    l.nevents = s.node.n;
    l.node = gcut_memdup(arena, s.node.at, s.node.n * sizeof *s.node.at);
    add_up(&s, &l, arena);
    gcut_arena_free(s.arena);
    return l;
}

int64_t gcut_live_peak(const gcut_problem *p, const gcut_choice *c)
{
    gcut_arena *scratch = gcut_arena_new(p->g->module->env, p->g->module->arena);
    int64_t peak = gcut_live_of(p, c, scratch).peak_bytes;
    gcut_arena_free(scratch);
    return peak;
}
