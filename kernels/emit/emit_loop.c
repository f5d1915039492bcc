/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The function of one loop kernel, and its launch.
 */
#include "kernels/emit/emit_loop.h"

#include "kernels/lower/c_text.h"
#include "kernels/emit/emit.h"
#include "kernels/lower/fusion/epilogue.h"
#include "kernels/lower/memory/place.h"
#include "kernels/lower/team.h"

#define W(l, ...) gcut_text_add((l)->out, __VA_ARGS__)

enum { LONG_ROW = 256 }; /* columns: equal functions have the number of those of shorter rows in common */

static const char *dim(const gcut_loop_analysis *l, gcut_dim d)
{
    return d == 0 ? "0" : gcut_c_size(l->m, d);
}

static const char *columns(const gcut_loop_analysis *l)
{
    gcut_dim n = l->u->loop.inner;
    return gcut_dim_known(n) && n < LONG_ROW ? gcut_c_dim(l->m, n) : gcut_c_size(l->m, n);
}

/* ---- the kernel ---- */

static void note_buffer(gcut_loop_analysis *l, uint32_t b, uint8_t how, uint8_t *use)
{
    gcut_loop_buffer(l, b);
    use[b] |= how;
}

/* One restrict pointer per buffer, whatever reads and writes through it; numbered in order of use. */
static void declare_pointers(gcut_loop_analysis *l)
{
    gcut_arena *a = gcut_arena_new(l->m->env, l->m->arena);
    const gcut_program *p = l->e->p;
    uint8_t *use = gcut_calloc(a, p->buffers.n + 1, 1);
    for (uint32_t i = 0; i < l->n; i++) {
        const gcut_loop_node *x = &l->at[i];
        const gcut_node *n = gcut_node_at(l->g, x->node);
        for (uint32_t k = 0; k < n->nargs; k++) {
            gcut_ref v = gcut_arg(l->g, n, k);
            if (gcut_loop_access(l, x, v) == GCUT_ACCESS_LOAD)
                note_buffer(l, l->h->buffer[l->h->view[v].root], 1, use);
        }
        if (gcut_loop_stored(l, x) != GCUT_NONE && !gcut_loop_partial(x) && !l->prologue)
            note_buffer(l, gcut_loop_stored(l, x), 2, use);
    }
    for (uint32_t k = 0; k < l->numbered.n; k++) {
        const uint32_t b = l->numbered.at[k];
        const char *type = gcut_c_type(p->buffers.at[b].dtype);
        W(l, "    %s%s *const restrict %s = (%s *)%s;\n", use[b] & 2 ? "" : "const ", type,
          gcut_loop_buffer(l, b), type, gcut_c_arg(l->e, b));
    }
    gcut_arena_free(a);
}

static void declare_scratch(gcut_loop_analysis *l)
{
    gcut_dim off = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        const gcut_loop_node *x = &l->at[i];
        const char *t = gcut_c_type(gcut_loop_dtype(l, x));
        if (x->keep != GCUT_SCRATCH) continue;
        W(l, "    %s *const restrict s%u = (%s *)((char *)%s + t * (%s) + %s);\n", t, x->v, t,
          gcut_c_arg(l->e, l->u->loop.scratch), dim(l, l->e->p->buffers.at[l->u->loop.scratch].count),
          dim(l, off));
        off = gcut_dim_make(l->m->dims, GCUT_DIM_ADD, off, gcut_loop_row_bytes(l, x->v));
    }
}

static bool is_empty(const gcut_loop_analysis *l)
{
    return l->u->loop.rows == 0 || l->u->loop.inner == 0;
}

/* What emit_body declares, and a walk over nothing does not use. */
static void disuse(gcut_loop_analysis *l)
{
    W(l, "    (void)r0, (void)r1, (void)%s;\n", l->u->loop.flat ? "E" : "C");
    if (l->columns) W(l, "    (void)j0, (void)j1;\n");
    for (uint32_t k = 0; k < l->numbered.n; k++) W(l, "    (void)p%u;\n", k);
    for (uint32_t i = 0; i < l->n; i++) {
        const gcut_loop_node *x = &l->at[i];
        if (x->keep == GCUT_SCRATCH) W(l, "    (void)s%u;\n", x->v);
        if (x->level == GCUT_LEVEL_COLUMN) W(l, "    (void)q%u;\n", x->v);
    }
}

static void emit_rows(gcut_loop_analysis *l)
{
    if (is_empty(l)) disuse(l);
    if (l->u->loop.rows == 0) return; /* addresses in axes of size 0 would divide by it */
    W(l, "    for (int64_t r = r0; r < r1; r++) {\n");
    if (l->u->loop.flat)
        W(l, "        const int64_t first = r * %d, C = gcut_rt_min(%d, E - first);\n", GCUT_CHUNK,
          GCUT_CHUNK);
    for (uint32_t i = 0; i < l->n; i++) {
        const gcut_loop_node *x = &l->at[i];
        if (x->level != GCUT_LEVEL_FULL || gcut_loop_stored(l, x) == GCUT_NONE || l->u->loop.inner == 0)
            continue;
        if (l->prologue)
            W(l, "        %s *const o%u = (%s *)out + (r - r0) * ld;\n", gcut_c_type(gcut_loop_dtype(l, x)),
              x->v, gcut_c_type(gcut_loop_dtype(l, x)));
        else
            W(l, "        %s *const o%u = %s + %s;\n", gcut_c_type(gcut_loop_dtype(l, x)), x->v,
              gcut_loop_pointer(l, x->v), gcut_loop_store_at(l, x->v));
    }
    gcut_loop_row_values(l, -1);
    for (int p = 0; p < l->phases; p++) {
        gcut_loop_phase(l, p);
        gcut_loop_row_values(l, p);
    }
    for (uint32_t i = 0; i < l->declared.n; i++) l->seen[l->declared.at[i]] = false;
    W(l, "    }\n");
}

static void emit_faults(gcut_loop_analysis *l, bool declare)
{
    uint32_t number = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        if (!gcut_loop_is_bounded(gcut_node_at(l->g, l->at[i].node))) continue;
        if (declare)
            W(l, "    gcut_rt_fault fault%u = GCUT_RT_NO_FAULT;\n", l->at[i].v);
        else
            W(l, "    gcut_rt_note(&args->fault[%u], &fault%u);\n", number++, l->at[i].v);
    }
}

static const char *row_count(const gcut_loop_analysis *l)
{
    return gcut_c_named(l->m, "rows", l->u->loop.rows);
}

/* Everything a range of rows needs, and the walk over them. */
static void emit_body(gcut_loop_analysis *l)
{
    declare_pointers(l);
    declare_scratch(l);
    gcut_loop_declare_partials(l);
    emit_faults(l, true);
    W(l, "    const int64_t %s = %s;\n", l->u->loop.flat ? "E" : "C",
      l->u->loop.flat ? gcut_c_named(l->m, "elements", l->u->loop.numel) : columns(l));
    if (l->prologue)
        W(l, "    (void)C;\n");
    else
        gcut_loop_stream_declare(l);
    if (l->u->loop.blocked) {
        /* Neighbouring blocks go to one thread: their sums lie side by side, and what a processor fetches
         * ahead of the one it works on would take lines from a thread that writes the next. */
        W(l, "    int64_t k0, k1;\n    gcut_rt_share(%d, 1, t, nt, &k0, &k1);\n", GCUT_BLOCKS);
        W(l,
          "    for (int64_t k = k0; k < k1; k++) {\n    int64_t r0, r1;\n"
          "    gcut_rt_share(%s, 1, (int)k, %d, &r0, &r1);\n",
          row_count(l), GCUT_BLOCKS);
        gcut_loop_begin_block(l);
    }
    emit_rows(l);
    if (l->u->loop.blocked) {
        gcut_loop_end_block(l);
        W(l, "    }\n");
    }
    gcut_loop_stream_finish(l);
    emit_faults(l, false);
    W(l, "}\n\n");
}

/* "linkage void NAME_f<number><suffix>(arguments) {" of a function with an argument `arg`. */
static void begin_function(gcut_loop_analysis *l, const char *linkage, const char *suffix,
                           const char *arguments)
{
    W(l, "%s void %s_f\1%s(%s)\n{\n    const gcut_rt_args *const args = (const gcut_rt_args *)arg;\n\4",
      linkage, l->e->prefix, suffix, arguments);
}

/* The function of the launch: it hands out the rows, unless the loop multiplies by 1. */
static void emit_launcher(gcut_loop_analysis *l)
{
    gcut_team team = gcut_loop_team(l->h, l->kernel);
    team.tiled = false;
    gcut_ref factor = gcut_scaling_factor(l->h, l->kernel);
    W(l,
      "GCUT_RT_LOCAL void %s_f\1(const gcut_rt_args *args)\n{\n\4    const int nt = "
      "args->x->plan->threads;\n",
      l->e->prefix);
    if (factor)
        W(l, "    if (*(const %s *)%s == 1) return; /* it is done */\n",
          gcut_c_type(gcut_type_of(l->h->g, factor)->dtype), gcut_c_arg(l->e, l->h->buffer[factor]));
    const char *threads = gcut_team_c(l->m, &team, gcut_c_size);
    if (l->u->loop.blocked)
        W(l, "    gcut_rt_parallel(%s_f\1_part, (void *)args, %s);\n", l->e->prefix, threads);
    else
        W(l, "    gcut_rt_rows(%s_f\1_rows, args, %s, %s);\n", l->e->prefix, row_count(l), threads);
    if (l->u->loop.blocked) gcut_loop_join(l);
    W(l, "}\n\n");
}

/* What is by buffer or value belongs to the emission: a program has as many loops as it has buffers. */
static gcut_loop_analysis begin_loop(gcut_emitter *e, gcut_arena *a)
{
    gcut_loop_analysis l = e->prologue ? gcut_loop_analyse_prologue(a, e->h, e->kernel, e->prologue)
                                       : gcut_loop_analyse(a, e->h, e->kernel);
    l.e = e;
    l.out = e->body;
    gcut_emission_reserve(e);
    l.number = e->all->number;
    l.seen = e->all->seen;
    return l;
}

gcut_loop_analysis gcut_emit_loop(gcut_emitter *e, gcut_arena *a, bool tiled, uint32_t *function)
{
    gcut_loop_analysis l = begin_loop(e, a);
    l.columns = tiled && gcut_takes_columns(e->h, e->kernel);
    if (!l.columns) gcut_loop_find_streams(&l);
    if (l.u->loop.blocked) {
        begin_function(&l, "static", "_part", "void *arg, int t, int nt");
    } else {
        begin_function(&l, tiled ? "GCUT_RT_LOCAL" : "static", "_rows",
                       "void *arg, int t, int64_t r0, int64_t r1, int64_t j0, int64_t j1");
        W(&l, l.columns ? "    (void)t;\n" : "    (void)t, (void)j0, (void)j1;\n");
    }
    emit_body(&l);
    if (!tiled) emit_launcher(&l);
    *function = gcut_c_function(e, tiled ? GCUT_FUNCTION_TILE : GCUT_FUNCTION_KERNEL);
    return l;
}

uint32_t gcut_emit_fill(gcut_emitter *e, gcut_arena *a)
{
    gcut_loop_analysis l = begin_loop(e, a);
    l.columns = true;
    begin_function(&l, "GCUT_RT_LOCAL", "",
                   "void *arg, int t, int64_t r0, int64_t r1, int64_t j0, int64_t j1, void *out,\n"
                   "                   int64_t ld");
    W(&l, "    (void)t;\n");
    emit_body(&l);
    return gcut_c_function(e, GCUT_FUNCTION_FILL);
}

uint32_t gcut_loop_checks(const gcut_loop_analysis *l)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->n; i++) n += gcut_loop_is_bounded(gcut_node_at(l->g, l->at[i].node));
    return n;
}

void gcut_emit_check_sites(const gcut_loop_analysis *l)
{
    for (uint32_t i = 0; i < l->n; i++) {
        const gcut_node *node = gcut_node_at(l->g, l->at[i].node);
        if (gcut_loop_is_bounded(node))
            gcut_emit_check_site(l->e, node, gcut_attr_get(l->g, node, GCUT_KEY_of)->u.dim);
    }
}

const char *gcut_loop_kind(const gcut_loop_analysis *l)
{
    gcut_text t = {.arena = l->m->arena};
    gcut_dim_print(l->m->dims, l->u->loop.flat ? l->u->loop.numel : l->u->loop.rows, &t);
    gcut_text_add(&t, l->u->loop.flat ? " elements" : " rows of ");
    if (!l->u->loop.flat) gcut_dim_print(l->m->dims, l->u->loop.inner, &t);
    return t.at;
}
