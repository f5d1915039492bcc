/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The functions of operands that a matrix product computes as it packs them.
 */
#include "kernels/emit/emit_loop.h"
#include "kernels/lower/fusion/prologue.h"

void gcut_emit_prologues(gcut_emitter *e)
{
    gcut_arena *a = gcut_arena_new(e->p->module->env, e->p->module->arena);
    for (uint32_t k = 0; k < 2; k++) {
        const gcut_prologue *c = gcut_kernel_prologue(&e->h->kernels.at[e->kernel], k);
        if (!c) continue;
        gcut_text body = {.arena = a};
        gcut_emitter fill = *e;
        fill.prologue = c;
        fill.body = &body;
        fill.args.at = NULL;
        fill.args.n = fill.args.cap = 0;
        e->fill[k].function = gcut_emit_fill(&fill, a);
        e->fill[k].args = gcut_launch_args(&fill);
    }
    gcut_arena_free(a);
}

uint32_t gcut_count_prologues(const gcut_emitter *e)
{
    const gcut_kernel *u = &e->h->kernels.at[e->kernel];
    return (gcut_kernel_prologue(u, 0) != NULL) + (gcut_kernel_prologue(u, 1) != NULL);
}

const char *gcut_prologue_fills_c(const gcut_lowered *h, uint32_t kernel, uint32_t k, gcut_size_c *size)
{
    gcut_module *m = h->g->module;
    const gcut_prologue *c = h->kernels.at[kernel].gemm.prologue[k];
    gcut_product q = gcut_product_of(h, kernel);
    return gcut_printf(m->arena, "gcut_rt_gemm_fills(%s, %s, %s, %s, %d, nt, %d, %u, %s)", size(m, q.m),
                       size(m, q.n), size(m, q.k), size(m, q.csa), q.size, c->ends_rows, k, size(m, c->most));
}
