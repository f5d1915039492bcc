/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of launches: one row of numbers each, which the C compiler need not optimise, and the statements
 * that run stretches of it.
 */
#include <string.h>

#include "graph/names.h"
#include "kernels/emit/emit.h"

/* ---- sizes and buffers of a call ---- */

const char *gcut_call_size(gcut_emitter *e, gcut_dim d)
{
    gcut_module *m = e->p->module;
    if (gcut_dim_known(d)) return gcut_c_dim(m, d);
    return gcut_printf(m->arena, "x->size[%u]",
                       gcut_string_number(m->arena, &e->all->sizes, gcut_c_dim(m, d)));
}

/* The arena's buffers, then what is bound, then what loops read and write parts of. */
void gcut_number_places(const gcut_program *p, gcut_emission *all)
{
    all->place = gcut_calloc(p->module->arena, p->buffers.n + 1, sizeof *all->place);
    for (uint32_t i = 0; i < p->buffers.n; i++)
        if (p->buffers.at[i].kind == GCUT_BUFFER_ARENA && p->buffers.at[i].birth >= 0)
            all->place[i] = all->nslots++;
    all->nplaces = all->nslots + p->bindings.n;
    for (uint32_t i = 0; i < p->buffers.n; i++)
        if (p->buffers.at[i].kind == GCUT_BUFFER_BOUND)
            all->place[i] = all->nslots + p->buffers.at[i].binding;
        else if (p->buffers.at[i].kind == GCUT_BUFFER_PART)
            all->place[i] = all->nplaces++;
}

const char *gcut_c_pointer(gcut_emitter *e, uint32_t buffer)
{
    const gcut_program *p = e->p;
    gcut_module *m = p->module;
    const gcut_buffer *b = &p->buffers.at[buffer];
    if (b->kind != GCUT_BUFFER_PART) return gcut_printf(m->arena, "x->at[%u]", e->all->place[buffer]);
    const gcut_lowered *body = p->lowered.at[b->graph];
    const gcut_kernel *loop = &p->lowered.at[body->parent]->kernels.at[body->owner];
    gcut_dim size = gcut_dtype_bytes(b->dtype), start = gcut_dim_times(m, b->start, size);
    gcut_dim step = gcut_dim_times(m, b->step, size);
    gcut_text t = {.arena = m->arena};
    gcut_text_add(&t, "(char *)%s", gcut_c_pointer(e, b->whole));
    if (start != 0) gcut_text_add(&t, " + %s", gcut_call_size(e, start));
    if (step != 0) gcut_text_add(&t, " + i%d * %s", loop->step, gcut_call_size(e, step));
    return t.at;
}

/* ---- rows ---- */

static uint32_t count_words(const char *row)
{
    uint32_t n = 1;
    for (; *row; row++) n += *row == ',';
    return n;
}

const char *gcut_launch_args(gcut_emitter *e)
{
    gcut_arena *a = e->p->module->arena;
    gcut_text t = {.arena = a};
    gcut_text_add(&t, "%u", e->args.n);
    for (uint32_t k = 0; k < e->args.n; k++) gcut_text_add(&t, ", %u", e->all->place[e->args.at[k]]);
    gcut_text_add(&t, ", %u", e->numbers.n);
    for (uint32_t k = 0; k < e->numbers.n; k++) {
        const char *s = e->numbers.at[k];
        if (strspn(s, "0123456789") == strlen(s))
            gcut_text_add(&t, ", %s", s);
        else
            gcut_text_add(&t, ", GCUT_RT_SIZE(%u)", gcut_string_number(a, &e->all->sizes, s));
    }
    return t.at;
}

static void name_results(const gcut_lowered *h, const uint32_t *node, uint32_t count, gcut_text *out)
{
    for (uint32_t i = 0; i < count; i++) {
        const gcut_node *n = gcut_node_at(h->g, node[i]);
        for (uint32_t k = 0; k < n->nres; k++) gcut_text_add(out, " %s", h->g->values.at[n->res0 + k].name);
    }
}

/* "k5: 32 elements: v2.div v2.sub.1, mlp.c:432:57" */
static void describe(const gcut_emitter *e, const char *kind, const gcut_emitter *epilogue, gcut_text *out)
{
    const gcut_kernel *u = &e->h->kernels.at[e->kernel];
    gcut_text_add(out, "k%u: %s:", e->number, kind);
    name_results(e->h, u->nodes.at, u->nodes.n, out);
    const gcut_prologue *c = gcut_kernel_prologue(u);
    if (c) {
        gcut_text_add(out, "; its %s operand, computed while it is packed:", c->operand ? "right" : "left");
        name_results(e->h, c->loop.nodes.at, c->loop.nodes.n, out);
    }
    if (epilogue) {
        const gcut_kernel *loop = &epilogue->h->kernels.at[epilogue->kernel];
        gcut_text_add(out, "; k%u, its epilogue:", epilogue->number);
        name_results(epilogue->h, loop->nodes.at, loop->nodes.n, out);
    }
    const gcut_node *n = u->nodes.n ? gcut_node_at(e->h->g, u->nodes.at[0]) : NULL;
    const char *place = n ? gcut_c_place(e->h->g, n->loc) : "";
    gcut_text_add(out, "%s%s", *place ? ", " : "", place);
}

void gcut_c_comment(gcut_emitter *e, const char *kind, gcut_text *out)
{
    gcut_text_add(out, "    /* ");
    describe(e, kind, NULL, out);
    gcut_text_add(out, " */\n");
}

void gcut_emit_launch(gcut_emitter *e, uint32_t function, uint32_t checks, gcut_emitter *epilogue,
                      const char *kind)
{
    const gcut_kernel *u = &e->h->kernels.at[e->kernel];
    gcut_text row = {.arena = e->p->module->arena};
    gcut_text_add(&row, "%u, %u, %u, %u, %u, %s", function, e->number, e->all->nsites, checks,
                  1 + (gcut_kernel_prologue(u) != NULL) + (epilogue != NULL), gcut_launch_args(e));
    if (gcut_kernel_prologue(u)) gcut_text_add(&row, ", %s", e->fill_args);
    if (epilogue) gcut_text_add(&row, ", %s", gcut_launch_args(epilogue));
    uint32_t words = count_words(row.at);
    e->all->words += words;
    if (words > e->all->most) e->all->most = words;
    gcut_text_add(&e->all->code, "    %s, /* ", row.at);
    describe(e, kind, epilogue, &e->all->code);
    gcut_text_add(&e->all->code, " */\n");
}

void gcut_emit_run(gcut_emitter *e, uint32_t from)
{
    if (e->all->words > from)
        gcut_c_add(
            e->call, e->prefix,
            "    if (gcut_rt_launch(x, @_code + %u, @_code + %u) != GCUT_RT_OK) return GCUT_RT_EINDEX;\n",
            from, e->all->words);
}

/* ---- index checks ---- */

void gcut_emit_check_site(gcut_emitter *e, const gcut_node *n, gcut_dim limit)
{
    const gcut_graph *g = e->h->g;
    gcut_arena *a = g->module->arena;
    const char *name = g->values.at[n->res0].name, *op = gcut_op_of(n)->name;
    size_t all = strlen(name), tail = strlen(op) + 1;
    /* What an expansion made is called <value>.<op>: its user knows the value alone.  So is, for its scope, a
     * value that nobody named.  Names need no escapes. */
    bool inner = all > tail && name[all - tail] == '.' && !strcmp(name + all - tail + 1, op);
    const char *scope = gcut_loc_prefix(g->module, n->loc);
    if (inner && strlen(scope) == all - tail + 1 && !strncmp(name, scope, all - tail + 1)) inner = false;
    const char *most = gcut_dim_known(limit)
                           ? gcut_c_dim(g->module, limit)
                           : gcut_printf(a, "GCUT_RT_SIZE(%u)",
                                         gcut_string_number(a, &e->all->sizes, gcut_c_dim(g->module, limit)));
    gcut_text_add(&e->all->sites, "    {\"%s%s%%%.*s\", \"%s\", %s},\n", inner ? "" : op, inner ? "" : " ",
                  (int)(inner ? all - tail : all), name, gcut_c_place(g, n->loc), most);
    e->all->nsites++;
}
