/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The function of one loop kernel, and its launch.
 */
#include "kernels/emit/emit_loop.h"

#include "machine/lower/fusion/epilogue.h"
#include "machine/lower/memory/streamed_results.h"
#include "machine/lower/memory/updates_in_place.h"

#define W(w, ...) gcut_text_add((w)->out, __VA_ARGS__)

enum { LONG_ROW = 256 }; /* columns: equal functions have the number of those of shorter rows in common */

static const char *columns(const gcut_loop_writer *w)
{
    gcut_dim n = w->l->u->loop.inner;
    return gcut_dim_known(n) && n < LONG_ROW ? gcut_c_dim(w->l->m, n) : gcut_c_size(w->l->m, n);
}

/* ---- the kernel ---- */

/* One restrict pointer per buffer, whatever reads and writes through it; numbered in order of use. */
static void declare_pointers(gcut_loop_writer *w)
{
    gcut_arena *a = gcut_arena_new(w->l->m->env, w->l->m->arena);
    const gcut_program *p = w->e->p;
    bool *written = gcut_calloc(a, p->buffers.n + 1, sizeof *written);
    for (uint32_t i = 0; i < w->l->n; i++) {
        const gcut_loop_node *x = &w->l->at[i];
        const uint32_t to = w->l->prologue || gcut_loop_partial(x) ? GCUT_NONE : gcut_loop_stored(w->l, x);
        for (uint32_t k = 0; k < x->n->nargs; k++) {
            gcut_ref v = gcut_arg(w->l->g, x->n, k);
            if (gcut_loop_access(w->l, x, v) == GCUT_ACCESS_LOAD)
                gcut_loop_buffer(w, w->l->h->buffer[w->l->h->view[v].root]);
        }
        if (to == GCUT_NONE) continue;
        gcut_loop_buffer(w, to);
        written[to] = true;
    }
    for (uint32_t k = 0; k < w->numbered.n; k++) {
        const uint32_t b = w->numbered.at[k];
        const char *type = gcut_c_type(p->buffers.at[b].dtype);
        W(w, "    %s%s *const restrict %s = (%s *)%s;\n", written[b] ? "" : "const ", type,
          gcut_loop_buffer(w, b), type, gcut_c_arg(w->e, b));
    }
    gcut_arena_free(a);
}

static void declare_scratch(gcut_loop_writer *w)
{
    gcut_dim off = 0;
    for (uint32_t i = 0; i < w->l->n; i++) {
        const gcut_loop_node *x = &w->l->at[i];
        const char *t = gcut_c_type(x->dtype);
        if (x->keep != GCUT_SCRATCH) continue;
        W(w, "    %s *const restrict s%u = (%s *)((char *)%s + t * (%s) + %s);\n", t, x->v, t,
          gcut_c_arg(w->e, w->l->u->workspace_each),
          gcut_c_offset(w->l->m, w->e->p->buffers.at[w->l->u->workspace_each].count),
          gcut_c_offset(w->l->m, off));
        off = gcut_dim_make(w->l->m->dims, GCUT_DIM_ADD, off, gcut_loop_row_bytes(w->l, x->dtype));
    }
}

/* What emit_body declares, and a walk over nothing does not use. */
static void disuse(gcut_loop_writer *w)
{
    W(w, "    (void)r0, (void)r1, (void)%s;\n", w->l->u->loop.flat ? "E" : "C");
    if (w->columns) W(w, "    (void)j0, (void)j1;\n");
    for (uint32_t k = 0; k < w->numbered.n; k++) W(w, "    (void)p%u;\n", k);
    for (uint32_t i = 0; i < w->l->n; i++) {
        const gcut_loop_node *x = &w->l->at[i];
        if (x->keep == GCUT_SCRATCH) W(w, "    (void)s%u;\n", x->v);
        if (x->level == GCUT_LEVEL_COLUMN) W(w, "    (void)q%u;\n", x->v);
    }
}

static void emit_rows(gcut_loop_writer *w)
{
    if (w->l->u->loop.rows == 0 || w->l->u->loop.inner == 0) disuse(w);
    if (w->l->u->loop.rows == 0) return; /* addresses in axes of size 0 would divide by it */
    W(w, "    for (int64_t r = r0; r < r1; r++) {\n");
    if (w->l->u->loop.flat)
        W(w, "        const int64_t first = r * %d, C = gcut_rt_min(%d, E - first);\n", GCUT_CHUNK,
          GCUT_CHUNK);
    for (uint32_t i = 0; i < w->l->n; i++) {
        const gcut_loop_node *x = &w->l->at[i];
        if (x->level != GCUT_LEVEL_FULL || gcut_loop_stored(w->l, x) == GCUT_NONE || w->l->u->loop.inner == 0)
            continue;
        if (w->l->prologue)
            W(w, "        %s *const o%u = (%s *)out + (r - r0) * ld;\n", gcut_c_type(x->dtype), x->v,
              gcut_c_type(x->dtype));
        else
            W(w, "        %s *const o%u = %s + %s;\n", gcut_c_type(x->dtype), x->v,
              gcut_loop_pointer(w, x->v), gcut_loop_store_at(w, x->v));
    }
    gcut_loop_row_values(w, -1);
    for (int p = 0; p < w->l->phases; p++) {
        gcut_loop_phase(w, p);
        gcut_loop_row_values(w, p);
    }
    for (uint32_t i = 0; i < w->declared.n; i++) w->seen[w->declared.at[i]] = false;
    W(w, "    }\n");
}

static void emit_faults(gcut_loop_writer *w, bool declare)
{
    uint32_t number = 0;
    for (uint32_t i = 0; i < w->l->n; i++) {
        if (!gcut_loop_is_bounded(&w->l->at[i])) continue;
        if (declare)
            W(w, "    gcut_rt_fault fault%u = GCUT_RT_NO_FAULT;\n", w->l->at[i].v);
        else
            W(w, "    gcut_rt_note(&args->fault[%u], &fault%u);\n", number++, w->l->at[i].v);
    }
}

/* Everything a range of rows needs, and the walk over them. */
static void emit_body(gcut_loop_writer *w)
{
    declare_pointers(w);
    declare_scratch(w);
    gcut_loop_declare_partials(w);
    emit_faults(w, true);
    W(w, "    const int64_t %s = %s;\n", w->l->u->loop.flat ? "E" : "C",
      w->l->u->loop.flat ? gcut_c_named(w->l->m, "elements", w->l->u->loop.numel) : columns(w));
    if (w->l->prologue)
        W(w, "    (void)C;\n");
    else
        gcut_loop_stream_declare(w);
    if (w->l->u->loop.blocked) {
        /* Neighbouring blocks go to one thread: their sums lie side by side, and what a processor fetches
         * ahead of the one it works on would take lines from a thread that writes the next. */
        W(w, "    int64_t k0, k1;\n    gcut_rt_share(%s, 1, t, nt, &k0, &k1);\n",
          gcut_c_named(w->l->m, "blocks", gcut_loop_blocks(w->l->m, w->l->u)));
        W(w,
          "    for (int64_t k = k0; k < k1; k++) {\n    int64_t r0, r1;\n"
          "    gcut_rt_share(%s, 1, (int)k, %d, &r0, &r1);\n",
          gcut_c_named(w->l->m, "rows", w->l->u->loop.rows), GCUT_BLOCKS);
        gcut_loop_begin_block(w);
    }
    emit_rows(w);
    if (w->l->u->loop.blocked) {
        gcut_loop_end_block(w);
        W(w, "    }\n");
    }
    gcut_loop_stream_finish(w);
    emit_faults(w, false);
    W(w, "}\n\n");
}

/* "linkage void NAME_f<number><suffix>(arguments) {" of a function with an argument `arg`. */
static void begin_function(gcut_loop_writer *w, const char *linkage, const char *suffix,
                           const char *arguments)
{
    W(w,
      "%s void %s_f" GCUT_C_LABEL
      "%s(%s)\n{\n    const gcut_rt_args *const args = (const gcut_rt_args *)arg;\n" GCUT_C_VARIABLES,
      linkage, w->e->prefix, suffix, arguments);
}

/* The function of the launch: it hands out the rows, unless the loop multiplies by 1. */
static void emit_launcher(gcut_loop_writer *w)
{
    gcut_team team = gcut_kernel_team(w->l->h, w->l->kernel);
    team.rule = GCUT_TEAM_ROWS;
    gcut_ref factor = gcut_scaling_factor(w->l->h, w->l->kernel);
    W(w,
      "GCUT_RT_LOCAL void %s_f" GCUT_C_LABEL "(const gcut_rt_args *args)\n{\n" GCUT_C_VARIABLES
      "    const int nt = "
      "args->x->plan->threads;\n",
      w->e->prefix);
    if (factor)
        W(w, "    if (*(const %s *)%s == 1) return; /* it is done */\n",
          gcut_c_type(gcut_type_of(w->l->h->g, factor)->dtype), gcut_c_arg(w->e, w->l->h->buffer[factor]));
    const char *threads = gcut_team_c(w->l->m, &team, gcut_c_size);
    if (w->l->u->loop.blocked)
        W(w, "    gcut_rt_parallel(%s_f" GCUT_C_LABEL "_part, (void *)args, %s);\n", w->e->prefix, threads);
    else
        W(w, "    gcut_rt_rows(%s_f" GCUT_C_LABEL "_rows, args, %s, %s);\n", w->e->prefix,
          gcut_c_named(w->l->m, "rows", w->l->u->loop.rows), threads);
    if (w->l->u->loop.blocked) gcut_loop_join(w);
    W(w, "}\n\n");
}

/* What is by buffer or value belongs to the emission: a program has as many loops as it has buffers. */
static gcut_loop_writer begin_loop(gcut_emitter *e, gcut_arena *a, bool columns)
{
    gcut_loop_analysis *l = gcut_calloc(a, 1, sizeof *l);
    *l = gcut_loop_analyse(a, e->h, e->kernel, e->prologue);
    if (!columns) gcut_find_streamed_results(l);
    gcut_emission_reserve(e);
    return (gcut_loop_writer){.l = l,
                              .e = e,
                              .out = e->body,
                              .number = e->all->number,
                              .seen = e->all->seen,
                              .have = gcut_calloc(a, l->n + 1, sizeof(bool)),
                              .columns = columns};
}

gcut_loop_writer gcut_emit_loop(gcut_emitter *e, gcut_arena *a, bool tiled, uint32_t *function)
{
    gcut_loop_writer w = begin_loop(e, a, tiled && gcut_takes_columns(e->h, e->kernel));
    if (w.l->u->loop.blocked) {
        begin_function(&w, "static", "_part", "void *arg, int t, int nt");
    } else {
        begin_function(&w, tiled ? "GCUT_RT_LOCAL" : "static", "_rows",
                       "void *arg, int t, int64_t r0, int64_t r1, int64_t j0, int64_t j1");
        W(&w, w.columns ? "    (void)t;\n" : "    (void)t, (void)j0, (void)j1;\n");
    }
    emit_body(&w);
    if (!tiled) emit_launcher(&w);
    *function = gcut_c_function(e, tiled ? GCUT_FUNCTION_TILE : GCUT_FUNCTION_KERNEL);
    return w;
}

uint32_t gcut_emit_fill(gcut_emitter *e, gcut_arena *a)
{
    gcut_loop_writer w = begin_loop(e, a, true);
    begin_function(&w, "GCUT_RT_LOCAL", "",
                   "void *arg, int t, int64_t r0, int64_t r1, int64_t j0, int64_t j1, void *out,\n"
                   "                   int64_t ld");
    W(&w, "    (void)t;\n");
    emit_body(&w);
    return gcut_c_function(e, GCUT_FUNCTION_FILL);
}

uint32_t gcut_loop_checks(const gcut_loop_writer *w)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->l->n; i++) n += gcut_loop_is_bounded(&w->l->at[i]);
    return n;
}

void gcut_emit_check_sites(const gcut_loop_writer *w)
{
    for (uint32_t i = 0; i < w->l->n; i++) {
        const gcut_loop_node *x = &w->l->at[i];
        if (gcut_loop_is_bounded(x))
            gcut_emit_check_site(w->e, x->n, gcut_attr_get(w->l->g, x->n, GCUT_KEY_of)->u.dim);
    }
}

const char *gcut_loop_kind(const gcut_loop_writer *w)
{
    gcut_text t = {.arena = w->l->m->arena};
    gcut_dim_print(w->l->m->dims, w->l->u->loop.flat ? w->l->u->loop.numel : w->l->u->loop.rows, &t);
    gcut_text_add(&t, w->l->u->loop.flat ? " elements" : " rows of ");
    if (!w->l->u->loop.flat) gcut_dim_print(w->l->m->dims, w->l->u->loop.inner, &t);
    return t.at;
}
