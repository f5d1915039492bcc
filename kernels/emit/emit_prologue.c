/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The functions of operands that a matrix product computes as it packs them.
 */
#include "kernels/emit/emit_loop.h"
#include "machine/lower/fusion/prologue.h"

void gcut_emit_prologue(gcut_emitter *e)
{
    const gcut_prologue *c = gcut_kernel_prologue(&e->h->kernels.at[e->kernel]);
    if (!c) return;
    gcut_arena *a = gcut_arena_new(e->p->module->env, e->p->module->arena);
    gcut_text body = {.arena = a};
    gcut_emitter fill = *e;
    fill.prologue = c;
    fill.body = &body;
    fill.args.at = NULL;
    fill.args.n = fill.args.cap = 0;
    e->fill = gcut_emit_fill(&fill, a);
    e->fill_args = gcut_launch_args(&fill);
    gcut_arena_free(a);
}

const char *gcut_prologue_fills_c(const gcut_lowered *h, uint32_t kernel, gcut_size_c *size)
{
    gcut_module *m = h->g->module;
    const gcut_prologue *c = h->kernels.at[kernel].gemm.prologue;
    gcut_product q = gcut_product_of(h, kernel);
    return gcut_printf(m->arena, "gcut_rt_gemm_fills(%s, %s, %s, %s, %d, nt, %d, %u, %s)", size(m, q.m),
                       size(m, q.n), size(m, q.k), size(m, q.csa), q.size, c->ends_rows, c->operand,
                       size(m, c->most));
}
