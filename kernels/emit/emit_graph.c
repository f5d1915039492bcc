/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The kernels of a lowered graph one after the other: functions, launches, and the C around
 * the bodies of regions.
 *
 * A kernel's launch has the number of its step of the timeline, and a loop's
 * counter that of its region: i7 counts the iterations of k7.
 */
#include <string.h>

#include "kernels/emit/emit_loop.h"
#include "machine/lower/fusion/epilogue.h"
#include "machine/lower/memory/concat.h"

/* The kernel at position i of the order; returns 1 when the next one went with it as its epilogue. */
static uint32_t emit_kernel(gcut_emitter *e, uint32_t i)
{
    const gcut_lowered *h = e->h;
    const gcut_kernel *u = &h->kernels.at[e->kernel];
    gcut_arena *a = gcut_arena_new(e->p->module->env, e->p->module->arena);
    gcut_text first = {.arena = a}, second = {.arena = a};
    uint32_t took = 0, f;
    e->body = &first;
    if (u->kind == GCUT_KERNEL_LOOP) {
        gcut_loop_writer w = gcut_emit_loop(e, a, false, &f);
        gcut_emit_launch(e, f, gcut_loop_checks(&w), NULL, gcut_loop_kind(&w));
        gcut_emit_check_sites(&w);
    } else if (i + 1 < h->order.n && gcut_is_epilogue(h, e->kernel, h->order.at[i + 1])) {
        gcut_emitter next = *e;
        next.kernel = h->order.at[i + 1];
        next.number = e->number + 1;
        next.body = &second;
        gcut_emit_prologue(e);
        gcut_loop_writer w = gcut_emit_loop(&next, a, true, &f);
        gcut_emit_launch(e, gcut_emit_tiles(e, &w, f), gcut_loop_checks(&w), &next, "matrix product");
        gcut_emit_check_sites(&w);
        took = 1;
    } else {
        const gcut_node *n = u->nodes.n ? gcut_node_at(h->g, u->nodes.at[0]) : NULL;
        gcut_emit_prologue(e);
        f = gcut_emit_kernel(e);
        const bool indexes = u->kind == GCUT_KERNEL_TAKE || u->kind == GCUT_KERNEL_SCATTER;
        gcut_emit_launch(e, f, indexes, NULL, gcut_kernel_table[u->kind].name);
        if (indexes)
            gcut_emit_check_site(
                e, n,
                gcut_type_of(h->g, gcut_arg(h->g, n, 0))->dim[gcut_attr_get(h->g, n, GCUT_KEY_axis)->u.dim]);
    }
    gcut_arena_free(a);
    return took;
}

/* ---- regions ---- */

/* The launches of body k, one level further in. */
static void emit_body(gcut_emitter *e, uint32_t k)
{
    const gcut_kernel *u = &e->h->kernels.at[e->kernel];
    gcut_text inner = {.arena = e->p->module->arena};
    for (uint32_t i = 0; i < e->p->buffers.n; i++)
        if (e->p->buffers.at[i].kind == GCUT_BUFFER_PART &&
            e->p->buffers.at[i].graph == u->region.bodies.at[k])
            gcut_text_add(&inner, "    x->at[%u] = %s;\n", e->all->place[i], gcut_c_pointer(e, i));
    gcut_emit_lowered(e, e->p->lowered.at[u->region.bodies.at[k]], &inner);
    for (const char *s = inner.at; s && *s;) {
        size_t n = strcspn(s, "\n");
        if (n) gcut_text_add(e->call, "    ");
        gcut_text_addn(e->call, s, n + 1);
        s += n + 1;
    }
}

/* The value of a bool in that buffer, `offset` elements in. */
static const char *truth(gcut_emitter *e, uint32_t buffer, gcut_dim offset)
{
    gcut_module *m = e->p->module;
    return gcut_printf(m->arena, "*((const %s *)(%s) + %s)", gcut_c_type(GCUT_BOOL),
                       gcut_c_pointer(e, buffer), gcut_call_size(e, offset));
}

/* A statement of the region's own: it counts, or asks the condition. */
static void add_control(gcut_emitter *e, const char *statement)
{
    const gcut_node *n = gcut_node_at(e->h->g, e->h->kernels.at[e->kernel].nodes.at[0]);
    gcut_text_add(e->call, "%s", gcut_c_line(e, n->loc));
    gcut_text_add(e->call, "%s%s", statement, gcut_c_line(e, 0));
}

static void emit_if(gcut_emitter *e)
{
    const gcut_kernel *u = &e->h->kernels.at[e->kernel];
    gcut_ref p = gcut_arg(e->h->g, gcut_node_at(e->h->g, u->nodes.at[0]), 0);
    const gcut_view *v = &e->h->view[p];
    bool copied = u->operand_copy[0] != GCUT_NONE;
    uint32_t buffer = copied ? e->h->kernels.at[u->operand_copy[0]].copy.to : e->h->buffer[v->root];
    gcut_arena *a = e->p->module->arena;
    add_control(e, gcut_printf(a, "    if (%s) {\n", truth(e, buffer, copied ? 0 : v->offset)));
    emit_body(e, 0);
    gcut_text_add(e->call, "    } else {\n");
    emit_body(e, 1);
    gcut_text_add(e->call, "    }\n");
}

static void emit_while(gcut_emitter *e)
{
    const gcut_kernel *u = &e->h->kernels.at[e->kernel];
    const gcut_node *n = gcut_node_at(e->h->g, u->nodes.at[0]);
    const gcut_attr *bound = gcut_attr_get(e->h->g, n, GCUT_KEY_bound);
    gcut_arena *a = e->p->module->arena;
    uint32_t i = e->number;
    add_control(e, bound ? gcut_printf(a, "    for (int64_t i%u = 0; i%u < %s; i%u++) {\n", i, i,
                                       gcut_call_size(e, bound->u.dim), i)
                         : "    for (;;) {\n");
    emit_body(e, 0);
    add_control(e, gcut_printf(a, "        if (!%s) break;\n",
                               truth(e, e->p->lowered.at[u->region.bodies.at[0]]->saved[0], 0)));
    emit_body(e, 1);
    gcut_text_add(e->call, "    }\n");
}

static void emit_scan(gcut_emitter *e)
{
    const gcut_node *n = gcut_node_at(e->h->g, e->h->kernels.at[e->kernel].nodes.at[0]);
    const char *length = gcut_call_size(e, gcut_scan_length(e->h->g, n));
    uint32_t i = e->number;
    gcut_arena *a = e->p->module->arena;
    add_control(e, gcut_attr_flag(e->h->g, n, GCUT_KEY_reverse)
                       ? gcut_printf(a, "    for (int64_t i%u = %s; i%u-- > 0;) {\n", i, length, i)
                       : gcut_printf(a, "    for (int64_t i%u = 0; i%u < %s; i%u++) {\n", i, i, length, i));
    emit_body(e, 0);
    gcut_text_add(e->call, "    }\n");
}

static void emit_region(gcut_emitter *e)
{
    const gcut_node *n = gcut_node_at(e->h->g, e->h->kernels.at[e->kernel].nodes.at[0]);
    gcut_c_comment(e, gcut_op_of(n)->name, e->call);
    if (n->op == GCUT_OP_if)
        emit_if(e);
    else if (n->op == GCUT_OP_while)
        emit_while(e);
    else
        emit_scan(e);
}

void gcut_emit_lowered(const gcut_emitter *like, const gcut_lowered *h, gcut_text *call)
{
    gcut_emitter e = *like;
    uint32_t from = e.all->words;
    e.call = call;
    e.h = h;
    for (uint32_t i = 0; i < h->order.n; i++) {
        const gcut_kernel *u = &h->kernels.at[h->order.at[i]];
        e.kernel = h->order.at[i];
        e.number = (uint32_t)u->step;
        e.args.at = NULL;
        e.args.n = e.args.cap = 0;
        if (u->kind == GCUT_KERNEL_REGION) {
            gcut_emit_run(&e, from);
            emit_region(&e);
            from = e.all->words;
        } else if (gcut_kernel_is_idle(h, e.kernel)) {
            gcut_c_comment(&e, "concat: made in place", &e.all->code);
        } else {
            i += emit_kernel(&e, i);
        }
    }
    gcut_emit_run(&e, from);
}
