/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Products and norms with parameters.
 */
#include "import/onnx/rules.h"

#include <ctype.h>
#include <string.h>

#include "graph/decompose/decompose.h"
#include "import/onnx/scope.h"

/* ---- products ---- */

/* x repeated over the axes of a batch. */
static gcut_ref with_batch(gcut_onnx_node *n, gcut_ref x, const gcut_type *batch)
{
    const gcut_type t = gcut_onnx_type(n, x);
    gcut_type to = *batch;
    to.rank = (uint8_t)(batch->rank + 2);
    for (uint32_t k = 0; k < 2; k++) to.dim[batch->rank + k] = t.dim[t.rank - 2 + k];
    return gcut_bspread(&n->b, x, &to);
}

static gcut_type batch_of(const gcut_type *t)
{
    gcut_type b = *t;
    b.rank = (uint8_t)(t->rank - 2);
    return b;
}

/* Of operands with two axes or more. */
static gcut_ref product(gcut_onnx_node *n, gcut_ref x, gcut_ref y)
{
    const gcut_type tx = gcut_onnx_type(n, x), ty = gcut_onnx_type(n, y);
    if (ty.rank == 2 && tx.rank > 2) { /* all rows of x as one matrix */
        gcut_type to = tx;
        gcut_ref rows = gcut_onnx_reshape(
            n, x, (gcut_dim[]){gcut_onnx_numel(n, &tx, 0, tx.rank - 1u), tx.dim[tx.rank - 1]}, 2);
        to.dim[tx.rank - 1] = ty.dim[1];
        return gcut_onnx_reshape(n, gcut_bmatmul(&n->b, rows, y, false, false), to.dim, to.rank);
    }
    gcut_type bx = batch_of(&tx), by = batch_of(&ty), batch = bx.rank > by.rank ? bx : by;
    for (uint32_t back = 1; back <= batch.rank; back++) {
        const gcut_dim a = back <= bx.rank ? bx.dim[bx.rank - back] : 1,
                       b = back <= by.rank ? by.dim[by.rank - back] : 1;
        batch.dim[batch.rank - back] = a == 1 ? b : a;
    }
    return gcut_bmatmul(&n->b, with_batch(n, x, &batch), with_batch(n, y, &batch), false, false);
}

/* An operand of one axis is a row on the left, a column on the right. */
void gcut_onnx_matmul(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0), y = gcut_onnx_in(n, 1);
    const gcut_type tx = gcut_onnx_type(n, x), ty = gcut_onnx_type(n, y);
    const gcut_dtype t = tx.dtype, work = gcut_dtype_is_float(t) ? t : GCUT_F64;
    if (!tx.rank || !ty.rank) GCUT_ONNX_WRONG(n, "expected operands with axes");
    x = gcut_bconvert(&n->b, x, work);
    y = gcut_bconvert(&n->b, y, work);
    if (tx.rank == 1) x = gcut_onnx_reshape(n, x, (gcut_dim[]){1, tx.dim[0]}, 2);
    if (ty.rank == 1) y = gcut_onnx_reshape(n, y, (gcut_dim[]){ty.dim[0], 1}, 2);
    gcut_ref z = product(n, x, y);
    const gcut_type tz = gcut_onnx_type(n, z);
    gcut_dim dim[GCUT_MAX_RANK];
    uint32_t rank = 0;
    for (uint32_t r = 0; r < tz.rank; r++)
        if (!(tx.rank == 1 && r + 2 == tz.rank) && !(ty.rank == 1 && r + 1 == tz.rank))
            dim[rank++] = tz.dim[r];
    gcut_onnx_set(n, 0, gcut_bconvert(&n->b, gcut_onnx_reshape(n, z, dim, rank), t));
}

void gcut_onnx_gemm(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0), y = gcut_onnx_in(n, 1);
    const gcut_dtype t = gcut_onnx_type(n, x).dtype, work = gcut_dtype_is_float(t) ? t : GCUT_F64;
    const double alpha = gcut_onnx_float(n, "alpha", 1), beta = gcut_onnx_float(n, "beta", 1);
    x = gcut_bconvert(&n->b, x, work);
    y = gcut_bconvert(&n->b, y, work);
    gcut_ref z = gcut_bmatmul(&n->b, x, y, gcut_onnx_int(n, "transA", 0), gcut_onnx_int(n, "transB", 0));
    if (alpha != 1) z = gcut_bscale(&n->b, z, alpha);
    if (gcut_onnx_has(n, 2)) {
        gcut_ref c = gcut_bconvert(&n->b, gcut_onnx_in(n, 2), work);
        z = gcut_onnx_binary(n, GCUT_OP_add, z, beta == 1 ? c : gcut_bscale(&n->b, c, beta));
    }
    gcut_onnx_set(n, 0, gcut_bconvert(&n->b, z, t));
}

/* Letters that the equation does not use stand for the axes of an ellipsis; `axes` of them, the last ones. */
static void add_ellipsis(const char *unused, uint32_t most, uint32_t axes, gcut_text *out)
{
    for (uint32_t k = most - axes; k < most; k++) gcut_text_addn(out, unused + k, 1);
}

void gcut_onnx_einsum(gcut_onnx_node *n)
{
    const char *spec = gcut_onnx_text(n, "equation", "");
    const uint32_t count = gcut_onnx_inputs(n);
    gcut_arena *a = n->b.g->module->arena;
    gcut_ref *x = gcut_calloc(a, count + 1, sizeof *x);
    char unused[GCUT_MAX_RANK + 1] = "";
    uint32_t k = 0, most = 0, letters = 0, i = 0;
    uint32_t *ellipsis =
        gcut_calloc(a, count + 1, sizeof *ellipsis); /* axes under the ellipsis of each operand */
    for (char c = 'z'; c >= 'a' && k < GCUT_MAX_RANK; c--)
        if (!strchr(spec, c)) unused[k++] = c;
    for (i = 0; i < count; i++) x[i] = gcut_onnx_in(n, i);
    const char *arrow = strstr(spec, "->");
    i = 0;
    for (const char *s = spec;; s++) {
        const bool end = !*s || s == arrow;
        if (isalpha((unsigned char)*s) && !end) letters++;
        if (!strncmp(s, "...", 3) && i < count) {
            ellipsis[i] = 1;
            s += 2;
        }
        if (!end && *s != ',') continue;
        if (i == count)
            GCUT_ONNX_WRONG(n, "the equation '%s' has more operands than the %u given", spec,
                            (unsigned)count);
        const uint32_t rank = gcut_onnx_type(n, x[i]).rank;
        if (ellipsis[i]) {
            if (letters > rank) GCUT_ONNX_WRONG(n, "operand %u of '%s' has too few axes", (unsigned)i, spec);
            ellipsis[i] = rank - letters;
            if (ellipsis[i] > most) most = ellipsis[i];
        }
        letters = 0;
        i++;
        if (end) break;
    }
    gcut_text out = {.arena = a};
    i = 0;
    for (const char *s = spec; *s; s++) {
        if (*s == ' ') continue;
        if (!strncmp(s, "...", 3)) {
            add_ellipsis(unused, most, arrow && s > arrow ? most : ellipsis[i], &out);
            s += 2;
            continue;
        }
        if (*s == ',') i++;
        gcut_text_addn(&out, s, 1);
    }
    gcut_onnx_set(n, 0, gcut_beinsum(&n->b, out.at ? out.at : "", x, count));
}

/* ---- norms of channels ---- */

/* In ONNX the running variance is that of all elements; batch_norm divides by one less, as PyTorch does.  next, of
 * batch_norm, is keep * old + (1 - keep) * theirs. */
static gcut_ref population(gcut_onnx_node *n, gcut_ref next, gcut_ref old, gcut_ref x, double keep)
{
    const gcut_type t = gcut_onnx_type(n, x);
    gcut_ref count = gcut_bcount(&n->b, x, ((1u << t.rank) - 1) & ~2u, old);
    gcut_ref kept = gcut_bscale(&n->b, old, keep);
    gcut_ref theirs = gcut_b2(&n->b, GCUT_OP_sub, next, kept);
    theirs =
        gcut_b2(&n->b, GCUT_OP_div, gcut_b2(&n->b, GCUT_OP_mul, theirs, gcut_baddc(&n->b, count, -1)), count);
    return gcut_b2(&n->b, GCUT_OP_add, kept, theirs);
}

static void update(gcut_onnx_node *n, uint32_t i, uint32_t k, gcut_ref old, gcut_ref next)
{
    gcut_onnx_set(n, k, next);
    const gcut_onnx_value *v = gcut_onnx_find(n->o, n->scope, n->p->input[i]);
    if (!v || !v->tensor || n->b.g != n->o->g) return;
    if ((*gcut_map_at(n->o->arena, &n->o->updated, old))++)
        GCUT_ONNX_UNSUPPORTED(n, "the running statistics '%s' are those of another node, too", v->name);
    gcut_result_new(n->b.g, GCUT_ROLE_next, n->b.g->values.at[old].name, next);
}

void gcut_onnx_batch_normalization(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0), v[] = {x, gcut_onnx_in(n, 1), gcut_onnx_in(n, 2),
                                            gcut_onnx_in_state(n, 3), gcut_onnx_in_state(n, 4)};
    const double eps = gcut_onnx_float(n, "epsilon", 1e-5), keep = gcut_onnx_float(n, "momentum", 0.9);
    const bool trains = n->opset >= 14 ? gcut_onnx_int(n, "training_mode", 0) : gcut_onnx_wants(n, 1);
    gcut_onnx_count_mode(n, trains);
    if (gcut_onnx_type(n, x).rank < 2) GCUT_ONNX_WRONG(n, "expected an operand with channels");
    for (uint32_t k = 1; k < 5; k++) gcut_onnx_need_rank(n, v[k], 1, "a number for each channel");
    if (!trains) {
        gcut_build named = n->b;
        named.name = gcut_onnx_as_name(n->o, n->p->n_output ? n->p->output[0] : "");
        gcut_onnx_set(n, 0, gcut_batch_norm_by_statistics(&named, v, eps));
        return;
    }
    const gcut_attr a[] = {gcut_attr_real(GCUT_KEY_eps, eps), gcut_attr_real(GCUT_KEY_momentum, 1 - keep)};
    gcut_ref y = gcut_onnx_node_new(n, GCUT_OP_batch_norm, v, 5, a, 2);
    gcut_onnx_set(n, 0, y);
    update(n, 3, 1, v[3], y + 1);
    update(n, 4, 2, v[4], population(n, y + 2, v[4], x, keep));
}

void gcut_onnx_instance_normalization(gcut_onnx_node *n)
{
    gcut_ref v[] = {gcut_onnx_in(n, 0), gcut_onnx_in(n, 1), gcut_onnx_in(n, 2)};
    const gcut_attr a = gcut_attr_real(GCUT_KEY_eps, gcut_onnx_float(n, "epsilon", 1e-5));
    gcut_onnx_set(n, 0, gcut_onnx_node_new(n, GCUT_OP_instance_norm, v, 3, &a, 1));
}

/* Before version 21 gain and bias are those of groups. */
void gcut_onnx_group_normalization(gcut_onnx_node *n)
{
    gcut_ref v[] = {gcut_onnx_in(n, 0), gcut_onnx_in(n, 1), gcut_onnx_in(n, 2)};
    const gcut_type t = gcut_onnx_type(n, v[0]);
    const int64_t groups = gcut_onnx_int(n, "num_groups", 1);
    if (t.rank < 2 || groups < 1)
        GCUT_ONNX_WRONG(n, "expected an operand with channels, and 1 group or more");
    for (uint32_t k = 1; k < 3 && n->opset < 21; k++) {
        const gcut_dim each = gcut_onnx_dim(n, GCUT_DIM_DIV, t.dim[1], groups);
        gcut_onnx_need_rank(n, v[k], 1, "gain and bias");
        v[k] = gcut_bbroadcast(&n->b, v[k], (gcut_dim[]){groups, each}, 2, (gcut_dim[]){0});
        v[k] = gcut_onnx_reshape(n, v[k], (gcut_dim[]){t.dim[1]}, 1);
    }
    const gcut_attr a[] = {gcut_attr_dim(GCUT_KEY_groups, groups),
                           gcut_attr_real(GCUT_KEY_eps, gcut_onnx_float(n, "epsilon", 1e-5))};
    gcut_onnx_set(n, 0, gcut_onnx_node_new(n, GCUT_OP_group_norm, v, 3, a, 2));
}
