/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Room passes/: transformations of a graph that are independent of differentiation, partition and kernels.
 *
 *   takes:  a graph of any stage, and a name for the result
 *   gives:  a new graph of that name in the same module; besides, one call inlined into a graph that is being
 *           built, and the error where a model loses its running statistics
 *   keeps:  the input graph; parameters and results; values, bit for bit where the file of a pass says nothing
 *           else; what else a pass preserves stands under `keeps` in its file
 */
#ifndef GCUT_PASSES_PASSES_H
#define GCUT_PASSES_PASSES_H

#include "graph/build.h"

/* constant and identity folding; value-preserving for NaN and -0 too (passes/folding.c) */
gcut_graph *gcut_pass_fold(gcut_graph *g, const char *name);
/* equal op, operands, attributes, type -> one node (passes/common_subexpressions.c) */
gcut_graph *gcut_pass_cse(gcut_graph *g, const char *name);
/* scans that differ only in what they yield -> one (passes/scan_merging.c) */
gcut_graph *gcut_pass_merge(gcut_graph *g, const char *name);
/* sums of products that a scan carries -> one product after the scan (passes/scan_products.c) */
gcut_graph *gcut_pass_products(gcut_graph *g, const char *name);
/* the stack of carried values at the start of iterations -> that at their end, shifted (passes/scan_shifts.c) */
gcut_graph *gcut_pass_shifts(gcut_graph *g, const char *name);
/* products of every row of a gather -> products of the rows of its table, where these are at most half as
 * many at the sizes `at` (passes/gathered_products.c) */
gcut_graph *gcut_pass_gather(gcut_graph *g, const char *name, const gcut_dim_binding *at, uint32_t nat);
/* An identity of real numbers, a row of passes/algebra.def. */
typedef struct gcut_identity {
    const char *pattern, *becomes;
    const char *differs; /* where results differ by more than rounding; "" = nowhere */
} gcut_identity;
extern const gcut_identity gcut_identities[];
extern const uint32_t gcut_nidentities;

/* What an identity was applied to. */
typedef struct gcut_rewritten {
    const gcut_identity *by;
    const char *value; /* that it replaced, or computes another way */
    gcut_locid loc;    /* of its node */
} gcut_rewritten;
typedef GCUT_VEC(gcut_rewritten) gcut_rewritings;
typedef GCUT_VEC(const char *) gcut_value_names;

/* Cheaper nodes for the same real numbers, whose results may differ by rounding and where the identity says
 * so (passes/algebra.c); g itself where nothing is cheaper.  No value named in `keep` is replaced.  Adds to
 * `done`, in the module's arena. */
gcut_graph *gcut_pass_algebra(gcut_graph *g, const char *name, const gcut_value_names *keep,
                              gcut_rewritings *done);
/* ops that compute a composite op -> that op, in a graph of another program; results differ by rounding
 * (passes/recognition.c) */
gcut_graph *gcut_pass_recognize(gcut_graph *g, const char *name);
/* drops what no result needs; params stay (passes/dead_code.c) */
gcut_graph *gcut_pass_dce(gcut_graph *g, const char *name);

/* captured values that are determined by sizes alone are computed inside the bodies
 * (passes/constant_sinking.c)
 */
gcut_graph *gcut_pass_sink(gcut_graph *g, const char *name);

/* Replaces composite ops for which want(op) holds by their decompositions (passes/expansion.c); the values
 * that stand for the composite's results keep their names. want NULL = all composites. */
gcut_graph *gcut_pass_expand(gcut_graph *g, const char *name, bool (*want)(gcut_op));
/* The same, except for nodes for which keep, by node of g, holds. */
gcut_graph *gcut_expand_but(gcut_graph *g, const char *name, bool (*want)(gcut_op), const bool *keep);

/* Replaces calls by the ops of their functions, in bodies of regions too (passes/inlining.c). */
gcut_graph *gcut_pass_inline(gcut_graph *g, const char *name);
/* The same, except for calls with a custom derivative, which stay. */
gcut_graph *gcut_inline_underived(gcut_graph *g, const char *name);
/* Throws GCUT_EUNSUPPORTED where calls would be replaced by too many nodes, or calls and bodies are too deep within each
 * other. */
void gcut_inline_check(const gcut_graph *g);
/* Inlines one call that is not a node of dst: appends the ops of its function; out[k] is the value of
 * result k. all: inlines calls with a custom derivative too. */
void gcut_inline_call(gcut_graph *dst, const gcut_node_spec *call, bool all, gcut_ref *out);

/* A function as it is evaluated: without dropout, updates and gradients, batch_norm by its running statistics
 * (passes/evaluation.c).  Throws GCUT_ETYPE where no result is left. */
gcut_graph *gcut_pass_evaluation(gcut_graph *g, const char *name);

/* Symbols -> numbers, in the signature too (passes/fixed_sizes.c). */
gcut_graph *gcut_pass_fix(gcut_graph *g, const char *name, gcut_dim_subst *sizes, uint32_t n);

/* Throws GCUT_ETYPE where a state is a running statistic of batch_norm and is never updated
 * (passes/lost_statistics.c). */
void gcut_refuse_lost_statistics(const gcut_graph *g);

/* Equal iterations one after the other, of a loop that was unrolled, at least GCUT_REROLL_LEAST of them -> a scan; g itself where
 * there are none (passes/reroll.c).  Of recorded functions alone, hence no row of the table of passes. */
enum { GCUT_REROLL_LEAST = 9 };
gcut_graph *gcut_reroll(gcut_graph *g, const char *name);

#endif
