/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Composite ops as formulas over primitives and other composites; the rules are in decompose_*.c.  The
 * interpreter evaluates decompositions, autodiff differentiates those of ops without a VJP rule of their
 * own, and kernels/ lowers those of ops without a kernel.
 *
 * f16 and bf16 operands are computed in f32 and rounded once at the end, except for what only moves elements.
 */
#include "graph/decompose/decompose.h"

#include "graph/decompose/decompose_rule.h"

#define MAX_OPERANDS 7

#define E(...) NULL
#define T(fn) NULL
#define D(fn) gcut_decompose_##fn
#define NO NULL
static gcut_decompose_fn *const meanings[GCUT_NOPS] = {
#define OP(name, operands, dtypes, attrs, shape, feval, ...) [GCUT_OP_##name] = feval,
#include "graph/ops/ops.def"
#undef OP
};
#undef NO
#undef D
#undef T
#undef E

static bool only_moves(const gcut_node *node)
{
    switch (node->op) {
    case GCUT_OP_pick:
    case GCUT_OP_take_along:
    case GCUT_OP_take_nd:
    case GCUT_OP_sort:
    case GCUT_OP_topk:
    case GCUT_OP_roll:
    case GCUT_OP_triu:
    case GCUT_OP_tril:
    case GCUT_OP_masked_fill:
    case GCUT_OP_reflection_pad:
    case GCUT_OP_replication_pad:
    case GCUT_OP_circular_pad: return true;
    default: return false;
    }
}

/* Is an operand of dtype t converted to f32? */
static bool computes_in_f32(const gcut_node *node, gcut_dtype t)
{
    return gcut_dtype_is_16bit_float(t) && !only_moves(node);
}

void gcut_decompose(gcut_build *b, const gcut_graph *src, uint32_t n, const gcut_ref *args, gcut_ref *out)
{
    gcut_node node = src->nodes.at[n];
    gcut_ref wide[MAX_OPERANDS];
    GCUT_ASSERT(meanings[node.op] != NULL && node.nargs <= MAX_OPERANDS);
    for (uint32_t k = 0; k < node.nargs; k++)
        wide[k] =
            computes_in_f32(&node, type_of(b, args[k]).dtype) ? gcut_bconvert(b, args[k], GCUT_F32) : args[k];
    out[0] = meanings[node.op](&(composite){*b, src, node, wide, out + 1});
    for (uint32_t k = 0; k < node.nres; k++)
        out[k] = gcut_bconvert(b, out[k], gcut_type_of(src, node.res0 + k)->dtype);
}

gcut_graph *gcut_decomposition(const gcut_graph *src, uint32_t n, gcut_ref *results)
{
    gcut_module *m = src->module;
    gcut_graph *g = gcut_graph_create(m, gcut_module_unused(m, src->name, "expand"));
    gcut_decls_copy(g, src);
    const gcut_node *node = gcut_node_at(src, n);
    gcut_ref *args = gcut_calloc(m->arena, node->nargs + 1, sizeof *args);
    for (uint32_t k = 0; k < node->nargs; k++)
        args[k] = gcut_param_new(g, GCUT_ROLE_input, gcut_printf(m->arena, "x%u", (unsigned)k),
                                 gcut_type_of(src, gcut_arg(src, node, k)));
    gcut_decompose(&(gcut_build){.g = g, .loc = node->loc}, src, n, args, results);
    gcut_module_unlist(m, g);
    return g;
}
