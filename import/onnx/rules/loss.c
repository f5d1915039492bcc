/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Losses: of [N, C, …] and labels [N, …], with a weight for each class.
 */
#include "import/onnx/rules.h"

#include <string.h>

/* -log_p[label] * weight[label]: each, their sum, or their sum divided by that of the weights. */
static gcut_ref loss_of(gcut_onnx_node *n, gcut_ref log_p, gcut_ref label, uint32_t weight)
{
    const char *how = gcut_onnx_text(n, "reduction", "mean");
    const gcut_type t = gcut_onnx_type(n, log_p);
    const gcut_attr axis = gcut_attr_dim(GCUT_KEY_axis, 1);
    gcut_ref ignored = 0, w;
    if (gcut_onnx_attr(n, "ignore_index")) {
        ignored = gcut_b2(&n->b, GCUT_OP_eq, label,
                          gcut_bconst(&n->b, label, (double)gcut_onnx_int(n, "ignore_index", 0)));
        label = gcut_bselect(&n->b, ignored, gcut_bconst(&n->b, label, 0), label);
    }
    gcut_ref picked = gcut_onnx_node_new(n, GCUT_OP_pick, (gcut_ref[]){log_p, label}, 2, &axis, 1);
    if (gcut_onnx_has(n, weight))
        w = gcut_btake(&n->b, gcut_bconvert(&n->b, gcut_onnx_in(n, weight), t.dtype), label, 0);
    else
        w = gcut_bconst(&n->b, picked, 1);
    if (ignored) w = gcut_bselect(&n->b, ignored, gcut_bconst(&n->b, w, 0), w);
    gcut_ref loss = gcut_b2(&n->b, GCUT_OP_mul, gcut_b1(&n->b, GCUT_OP_neg, picked), w);
    if (ignored) loss = gcut_bselect(&n->b, ignored, gcut_bconst(&n->b, loss, 0), loss); /* of -inf, too */
    if (!strcmp(how, "none")) return loss;
    const uint32_t all = (1u << gcut_onnx_type(n, loss).rank) - 1;
    loss = gcut_onnx_reduce(n, GCUT_OP_sum, loss, all, false);
    return strcmp(how, "mean")
               ? loss
               : gcut_b2(&n->b, GCUT_OP_div, loss, gcut_onnx_reduce(n, GCUT_OP_sum, w, all, false));
}

void gcut_onnx_nll_loss(gcut_onnx_node *n)
{
    gcut_onnx_set(n, 0,
                  loss_of(n, gcut_onnx_in(n, 0), gcut_bconvert(&n->b, gcut_onnx_in(n, 1), GCUT_I64), 2));
}

/* The mean without weights is the op cross_entropy, over the last axis. */
void gcut_onnx_softmax_cross_entropy(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0), label = gcut_bconvert(&n->b, gcut_onnx_in(n, 1), GCUT_I64);
    const gcut_type t = gcut_onnx_type(n, x);
    if (!gcut_onnx_wants(n, 1) && !gcut_onnx_has(n, 2) &&
        !strcmp(gcut_onnx_text(n, "reduction", "mean"), "mean")) {
        gcut_dim perm[GCUT_MAX_RANK] = {0};
        for (uint32_t r = 1; r < t.rank; r++) perm[r] = r + 1u < t.rank ? r + 1 : 1;
        if (t.rank > 2) x = gcut_btranspose(&n->b, x, perm);
        const gcut_attr a = gcut_attr_int(GCUT_KEY_ignore, gcut_onnx_int(n, "ignore_index", INT64_MIN));
        gcut_onnx_set(n, 0,
                      gcut_onnx_node_new(n, GCUT_OP_cross_entropy, (gcut_ref[]){x, label}, 2, &a,
                                         gcut_onnx_attr(n, "ignore_index") ? 1 : 0));
        return;
    }
    const gcut_attr axis = gcut_attr_dim(GCUT_KEY_axis, 1);
    gcut_ref log_p = gcut_onnx_node_new(n, GCUT_OP_log_softmax, &x, 1, &axis, 1);
    gcut_onnx_set(n, 0, loss_of(n, log_p, label, 2));
    gcut_onnx_set(n, 1, log_p);
}
