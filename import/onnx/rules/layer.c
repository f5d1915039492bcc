/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Products, determinants, and norms with parameters.
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

/* Of integers, which the op matmul does not have: sums of all products. */
static gcut_ref integer_product(gcut_onnx_node *n, gcut_ref x, gcut_ref y)
{
    gcut_type tx = gcut_onnx_type(n, x), ty = gcut_onnx_type(n, y);
    if (tx.rank == GCUT_MAX_RANK || ty.rank == GCUT_MAX_RANK)
        GCUT_ONNX_UNSUPPORTED(n, "a product of integers with %d axes", GCUT_MAX_RANK);
    tx.dim[tx.rank] = 1; /* [.., m, k, 1] [.., 1, k, n] */
    for (uint32_t r = ty.rank; r > ty.rank - 2u; r--) ty.dim[r] = ty.dim[r - 1];
    ty.dim[ty.rank - 2] = 1;
    gcut_ref all = gcut_onnx_binary(n, GCUT_OP_mul, gcut_onnx_reshape(n, x, tx.dim, tx.rank + 1u),
                                    gcut_onnx_reshape(n, y, ty.dim, ty.rank + 1u));
    return gcut_onnx_reduce(n, GCUT_OP_sum, all, 1u << (gcut_onnx_type(n, all).rank - 2), false);
}

/* Of operands with two axes or more. */
static gcut_ref product(gcut_onnx_node *n, gcut_ref x, gcut_ref y)
{
    const gcut_type tx = gcut_onnx_type(n, x), ty = gcut_onnx_type(n, y);
    if (!gcut_dtype_is_float(tx.dtype)) return integer_product(n, x, y);
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
    if (!tx.rank || !ty.rank) GCUT_ONNX_WRONG(n, "expected operands with axes");
    if (tx.rank == 1) x = gcut_onnx_reshape(n, x, (gcut_dim[]){1, tx.dim[0]}, 2);
    if (ty.rank == 1) y = gcut_onnx_reshape(n, y, (gcut_dim[]){ty.dim[0], 1}, 2);
    gcut_ref z = product(n, x, y);
    const gcut_type tz = gcut_onnx_type(n, z);
    gcut_dim dim[GCUT_MAX_RANK];
    uint32_t rank = 0;
    for (uint32_t r = 0; r < tz.rank; r++)
        if (!(tx.rank == 1 && r + 2 == tz.rank) && !(ty.rank == 1 && r + 1 == tz.rank))
            dim[rank++] = tz.dim[r];
    gcut_onnx_set(n, 0, gcut_onnx_reshape(n, z, dim, rank));
}

/* Integers are truncated. */
static gcut_ref scaled(gcut_onnx_node *n, gcut_ref x, double factor)
{
    const gcut_dtype t = gcut_onnx_type(n, x).dtype;
    if (factor == 1) return x;
    x = gcut_bconvert(&n->b, x, gcut_dtype_is_float(t) ? t : GCUT_F64);
    return gcut_bconvert(&n->b, gcut_bscale(&n->b, x, factor), t);
}

void gcut_onnx_gemm(gcut_onnx_node *n)
{
    gcut_ref v[] = {gcut_onnx_in(n, 0), gcut_onnx_in(n, 1)}, z;
    const bool transposed[] = {gcut_onnx_int(n, "transA", 0), gcut_onnx_int(n, "transB", 0)};
    for (uint32_t k = 0; k < 2; k++) gcut_onnx_need_rank(n, v[k], 2, "a matrix");
    if (gcut_dtype_is_float(gcut_onnx_type(n, v[0]).dtype)) {
        z = gcut_bmatmul(&n->b, v[0], v[1], transposed[0], transposed[1]);
    } else {
        for (uint32_t k = 0; k < 2; k++) v[k] = gcut_baxis_first(&n->b, v[k], transposed[k], false);
        z = integer_product(n, v[0], v[1]);
    }
    z = scaled(n, z, gcut_onnx_float(n, "alpha", 1));
    if (gcut_onnx_has(n, 2))
        z = gcut_onnx_binary(n, GCUT_OP_add, z, scaled(n, gcut_onnx_in(n, 2), gcut_onnx_float(n, "beta", 1)));
    gcut_onnx_set(n, 0, z);
}

/* An equation of Einsum whose ellipses become letters that it does not use. */
typedef struct equation {
    const char *spec;             /* without blanks */
    char letter[GCUT_MAX_RANK];   /* of axes under an ellipsis, from the last one */
    gcut_dim size[GCUT_MAX_RANK]; /* of these in the operands, where 1 repeats */
    uint32_t axes;                /* under the longest ellipsis */
    gcut_text out;
} equation;

static bool ends_term(const char *s)
{
    return !*s || *s == ',' || *s == '-';
}

static bool is_ellipsis(const char *s)
{
    return !strncmp(s, "...", 3);
}

/* The axes under the ellipsis of a term, and the axes before it; -1: it has none. */
static int ellipsis_of(const gcut_onnx_node *n, const equation *e, const char *term, uint32_t rank,
                       uint32_t *before)
{
    uint32_t letters = 0;
    bool any = false;
    for (const char *s = term; !ends_term(s); s++) {
        if (!is_ellipsis(s)) {
            letters++;
            continue;
        }
        if (any) GCUT_ONNX_WRONG(n, "a term of '%s' has two ellipses", e->spec);
        any = true;
        *before = letters;
        s += 2;
    }
    if (any && letters > rank) GCUT_ONNX_WRONG(n, "a term of '%s' has more axes than its operand", e->spec);
    return any ? (int)(rank - letters) : -1;
}

static const char *next_term(const char *term)
{
    while (!ends_term(term)) term++;
    return *term == ',' ? term + 1 : NULL;
}

static void add_letters(equation *e)
{
    for (uint32_t k = e->axes; k-- > 0;) gcut_text_addn(&e->out, &e->letter[k], 1);
}

/* The term of an operand, which loses the axes under the ellipsis that repeat. */
static gcut_ref add_term(gcut_onnx_node *n, equation *e, const char *term, gcut_ref x)
{
    const gcut_type t = gcut_onnx_type(n, x);
    gcut_dim dim[GCUT_MAX_RANK];
    uint32_t before = 0, rank = 0, r = 0;
    const int axes = ellipsis_of(n, e, term, t.rank, &before);
    for (const char *s = term; !ends_term(s); s++) {
        if (!is_ellipsis(s)) {
            gcut_text_addn(&e->out, s, 1);
            if (r < t.rank) dim[rank++] = t.dim[r++];
            continue;
        }
        for (int k = axes; k-- > 0; r++) {
            if (t.dim[r] == 1 && e->size[k] != 1) continue;
            gcut_text_addn(&e->out, &e->letter[k], 1);
            dim[rank++] = t.dim[r];
        }
        s += 2;
    }
    return axes < 0 ? x : gcut_onnx_reshape(n, x, dim, rank);
}

/* Without an arrow the result has the axes under the ellipsis and the letters that occur once, sorted. */
static void add_result(equation *e, const char *arrow)
{
    gcut_text_add(&e->out, "->");
    if (!arrow) add_letters(e);
    for (char c = 'A'; !arrow && c <= 'z'; c++) {
        const char *first = isalpha((unsigned char)c) ? strchr(e->spec, c) : NULL;
        if (first && !strchr(first + 1, c)) gcut_text_addn(&e->out, &c, 1);
    }
    for (const char *s = arrow ? arrow + 2 : ""; *s; s++) {
        if (is_ellipsis(s))
            add_letters(e), s += 2;
        else
            gcut_text_addn(&e->out, s, 1);
    }
}

static const char *without_blanks(gcut_arena *a, const char *text)
{
    gcut_text t = {.arena = a};
    gcut_text_addn(&t, "", 0);
    for (; *text; text++)
        if (*text != ' ') gcut_text_addn(&t, text, 1);
    return t.at;
}

void gcut_onnx_einsum(gcut_onnx_node *n)
{
    gcut_arena *a = n->b.g->module->arena;
    equation e = {.spec = without_blanks(a, gcut_onnx_text(n, "equation", "")), .out = {.arena = a}};
    const uint32_t count = gcut_onnx_inputs(n);
    gcut_ref *x = gcut_calloc(a, count + 1, sizeof *x);
    uint32_t i = 0, unused = 0, before = 0;
    for (uint32_t k = 0; k < count; k++) x[k] = gcut_onnx_in(n, k);
    for (const char *term = e.spec; term; term = next_term(term), i++) {
        if (i == count)
            GCUT_ONNX_WRONG(n, "the equation '%s' has more operands than the %u given", e.spec,
                            (unsigned)count);
        const gcut_type t = gcut_onnx_type(n, x[i]);
        const int axes = ellipsis_of(n, &e, term, t.rank, &before);
        for (int k = 0; k < axes; k++) {
            if (e.axes == (uint32_t)k) e.size[e.axes++] = 1;
            if (e.size[k] == 1) e.size[k] = t.dim[before + (uint32_t)(axes - 1 - k)];
        }
    }
    for (char c = 'z'; c >= 'A' && unused < e.axes; c--)
        if (isalpha((unsigned char)c) && !strchr(e.spec, c)) e.letter[unused++] = c;
    if (unused < e.axes) GCUT_ONNX_UNSUPPORTED(n, "the equation '%s' uses too many letters", e.spec);
    i = 0;
    for (const char *term = e.spec; term; term = next_term(term), i++) {
        if (i) gcut_text_add(&e.out, ",");
        x[i] = add_term(n, &e, term, x[i]);
    }
    add_result(&e, strstr(e.spec, "->"));
    gcut_onnx_set(n, 0, gcut_beinsum(&n->b, e.out.at, x, count));
}

/* ---- determinants ---- */

enum { MOST_ROWS = 6 };

/* Laplace's expansion, each minor computed once: minor[s] is the determinant of the first rows and of the columns in s, as
 * many as it has bits.  It is a polynomial, so that derivatives are right at singular matrices, too. */
void gcut_onnx_det(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0);
    const gcut_type t = gcut_onnx_type(n, x);
    if (t.rank < 2 || t.dim[t.rank - 1] != t.dim[t.rank - 2]) GCUT_ONNX_WRONG(n, "expected square matrices");
    const gcut_dim d = t.dim[t.rank - 1], batch = gcut_onnx_numel(n, &t, 0, t.rank - 2u);
    if (!gcut_dim_known(d) || d < 1 || d > MOST_ROWS)
        GCUT_ONNX_UNSUPPORTED(n, "expected matrices of 1 to %d rows", MOST_ROWS);
    gcut_ref element[MOST_ROWS * MOST_ROWS], minor[1 << MOST_ROWS] = {0};
    x = gcut_onnx_reshape(n, x, (gcut_dim[]){batch, d * d}, 2);
    for (gcut_dim k = 0; k < d * d; k++)
        element[k] = gcut_onnx_reshape(n, gcut_onnx_slice(n, x, 1, k, k + 1, 1), &batch, 1);
    for (uint32_t s = 1; s < 1u << d; s++) {
        const int row = __builtin_popcount(s) - 1;
        for (uint32_t c = 0, before = 0; c < (uint32_t)d; c++) {
            if (!(s >> c & 1)) continue;
            const bool negative = ((uint32_t)row + before++) & 1;
            gcut_ref e = element[row * d + c];
            if (row == 0) {
                minor[s] = e;
                continue;
            }
            e = gcut_b2(&n->b, GCUT_OP_mul, e, minor[s & ~(1u << c)]);
            if (!minor[s])
                minor[s] = negative ? gcut_b1(&n->b, GCUT_OP_neg, e) : e;
            else
                minor[s] = gcut_b2(&n->b, negative ? GCUT_OP_sub : GCUT_OP_add, minor[s], e);
        }
    }
    gcut_onnx_set(n, 0, gcut_onnx_reshape(n, minor[(1u << d) - 1], t.dim, t.rank - 2u));
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
    next = gcut_bconvert(&n->b, next, gcut_onnx_type(n, old).dtype);
    gcut_onnx_set(n, k, next);
    const gcut_onnx_value *v = gcut_onnx_find(n->o, n->scope, n->p->input[i]);
    if (!v || !v->tensor || n->b.g != n->o->g) return;
    if ((*gcut_map_at(n->o->arena, &n->o->updated, old))++)
        GCUT_ONNX_UNSUPPORTED(n, "the running statistics '%s' are those of another node, too", v->name);
    gcut_result_new(n->b.g, GCUT_ROLE_next, n->b.g->values.at[old].name, next);
}

/* Operands may have different dtypes: f16 with statistics of f32. */
static void convert_to_widest(gcut_onnx_node *n, gcut_ref *v, uint32_t count)
{
    gcut_dtype widest = gcut_onnx_type(n, v[0]).dtype;
    for (uint32_t k = 1; k < count; k++) {
        const gcut_dtype t = gcut_onnx_type(n, v[k]).dtype;
        if (gcut_dtype_bytes(t) > gcut_dtype_bytes(widest)) widest = t;
    }
    for (uint32_t k = 0; k < count; k++) v[k] = gcut_bconvert(&n->b, v[k], widest);
}

void gcut_onnx_batch_normalization(gcut_onnx_node *n)
{
    const gcut_ref old[] = {gcut_onnx_in_state(n, 3), gcut_onnx_in_state(n, 4)};
    gcut_ref v[] = {gcut_onnx_in(n, 0), gcut_onnx_in(n, 1), gcut_onnx_in(n, 2), old[0], old[1]};
    const gcut_dtype t = gcut_onnx_type(n, v[0]).dtype;
    const double eps = gcut_onnx_float(n, "epsilon", 1e-5), keep = gcut_onnx_float(n, "momentum", 0.9);
    const bool trains = n->opset >= 14 ? gcut_onnx_int(n, "training_mode", 0) : gcut_onnx_wants(n, 1);
    gcut_onnx_count_mode(n, trains);
    if (gcut_onnx_type(n, v[0]).rank < 2) GCUT_ONNX_WRONG(n, "expected an operand with channels");
    for (uint32_t k = 1; k < 5; k++) gcut_onnx_need_rank(n, v[k], 1, "a number for each channel");
    convert_to_widest(n, v, 5);
    if (!trains) {
        gcut_build named = n->b;
        named.name = gcut_onnx_as_name(n->o, n->p->n_output ? n->p->output[0] : "");
        gcut_onnx_set(n, 0, gcut_bconvert(&n->b, gcut_batch_norm_by_statistics(&named, v, eps), t));
        return;
    }
    const gcut_attr a[] = {gcut_attr_real(GCUT_KEY_eps, eps), gcut_attr_real(GCUT_KEY_momentum, 1 - keep)};
    gcut_ref y = gcut_onnx_node_new(n, GCUT_OP_batch_norm, v, 5, a, 2);
    gcut_onnx_set(n, 0, gcut_bconvert(&n->b, y, t));
    update(n, 3, 1, old[0], y + 1);
    update(n, 4, 2, old[1], population(n, y + 2, v[4], v[0], keep));
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
