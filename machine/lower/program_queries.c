/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Where a program has what a graph has: the lowered graph of a body, the memory of a value, and the launches of
 * kernels and of a value.
 */
#include <stdlib.h>
#include <string.h>

#include "machine/lower/fusion/epilogue.h"
#include "machine/lower/memory/concat.h"
#include "machine/lower/lowered.h"

uint32_t gcut_program_body(const gcut_program *p, uint32_t lowered, uint32_t node, uint32_t region)
{
    const gcut_lowered *h = p->lowered.at[lowered];
    for (uint32_t kernel = 0; kernel < h->kernels.n; kernel++) {
        const gcut_kernel *u = &h->kernels.at[kernel];
        if (u->kind == GCUT_KERNEL_REGION && !u->dead && u->nodes.at[0] == node)
            return u->region.bodies.at[region];
    }
    return GCUT_NONE;
}

gcut_value_place gcut_program_place_of(const gcut_program *p, uint32_t lowered, gcut_ref v)
{
    const gcut_lowered *h = p->lowered.at[lowered];
    const gcut_view *view = &h->view[v];
    /* Constants and iotas have none, and what stays in registers. */
    if (!view->root || h->buffer[view->root] == GCUT_NONE) return (gcut_value_place){.buffer = GCUT_NONE};
    return (gcut_value_place){h->buffer[view->root], view->offset, view->stride, view->bits};
}

int *gcut_program_launches(const gcut_program *p, gcut_arena *a, int *n)
{
    *n = 0;
    for (uint32_t k = 0; k < p->lowered.n; k++)
        if (p->lowered.at[k]->g && p->lowered.at[k]->end > *n) *n = p->lowered.at[k]->end;
    int *launch = gcut_calloc(a, (size_t)*n + 1, sizeof *launch);
    for (uint32_t k = 0; k < p->lowered.n; k++) {
        const gcut_lowered *h = p->lowered.at[k];
        for (uint32_t i = 0; h->g && i < h->order.n; i++) {
            const int step = h->kernels.at[h->order.at[i]].step;
            launch[step] = i && gcut_is_epilogue(h, h->order.at[i - 1], h->order.at[i]) ? step - 1 : step;
        }
    }
    return launch;
}

/* ---- the launches of a value ---- */

typedef struct finding {
    const gcut_program *p;
    gcut_arena *a;
    const int *launch; /* by step */
    GCUT_VEC(gcut_value_launch) found;
} finding;

static void add(finding *f, const gcut_kernel *u, const char *as)
{
    const int launch = f->launch[u->step];
    for (uint32_t i = 0; i < f->found.n; i++)
        if (f->found.at[i].launch == launch) return;
    *GCUT_PUSH(f->a, &f->found) = (gcut_value_launch){launch, as};
}

static bool has(const gcut_prologue *x, uint32_t node)
{
    for (uint32_t i = 0; x && i < x->loop.nodes.n; i++)
        if (x->loop.nodes.at[i] == node) return true;
    return false;
}

static void visit(finding *f, const gcut_lowered *h, uint32_t kernel, gcut_ref root)
{
    const gcut_kernel *u = &h->kernels.at[kernel];
    const uint32_t node = h->g->values.at[root].def;
    if (gcut_kernel_is_idle(h, kernel)) return;
    if (u->kind == GCUT_KERNEL_COPY) {
        if (h->view[u->copy.value].root == root) add(f, u, "copies it");
    } else if (has(gcut_kernel_prologue(u), node)) {
        add(f, u, "computes it while packing it");
    } else if (h->kernel_of[root] == kernel) {
        add(f, u,
            u->kind == GCUT_KERNEL_LOOP && u->loop.product != GCUT_NONE
                ? "computes it on the tiles of a product"
            : gcut_kernel_sum(h, kernel) == root ? "adds it up while packing"
                                                 : "computes it");
    }
}

static int by_launch(const void *a, const void *b)
{
    const gcut_value_launch *x = a, *y = b;
    return (x->launch > y->launch) - (x->launch < y->launch);
}

gcut_value_launch *gcut_program_value(const gcut_program *p, const char *name, gcut_arena *a, uint32_t *n)
{
    int steps;
    finding f = {.p = p, .a = a, .launch = gcut_program_launches(p, a, &steps)};
    for (uint32_t k = 0; k < p->lowered.n; k++) {
        const gcut_lowered *h = p->lowered.at[k];
        for (gcut_ref v = 1; h->g && v < h->g->values.n; v++) {
            if (!h->view[v].root || strcmp(h->g->values.at[v].name, name) != 0) continue;
            for (uint32_t i = 0; i < h->order.n; i++) visit(&f, h, h->order.at[i], h->view[v].root);
        }
    }
    if (f.found.n) qsort(f.found.at, f.found.n, sizeof *f.found.at, by_launch);
    *n = f.found.n;
    return f.found.at;
}
