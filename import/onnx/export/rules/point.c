/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Elementwise ops.  Their operands may be tensors that ONNX broadcasts; the result repeats along the axes along which all
 * operands do.
 */
#include <math.h>
#include <string.h>

#include "graph/build.h"
#include "import/onnx/export/writer.h"

typedef struct point {
    const char *x[3];
    gcut_dtype dtype; /* of the first operand */
    const char *out;  /* the name for the result; NULL: a new one */
    gcut_onnx_view view;
} point;

static point begin(gcut_onnx_writer *w, const gcut_node *n)
{
    point p = {.dtype = gcut_onnx_operand_type(w, n, 0)->dtype, .view = {.repeated = UINT32_MAX}};
    const gcut_type *t = gcut_type_of(w->here->g, n->res0);
    for (uint32_t k = 0; k < n->nargs && k < 3; k++) {
        const gcut_onnx_view *v = gcut_onnx_view_of(w, gcut_arg(w->here->g, n, k));
        p.x[k] = v->whole ? v->whole : v->name;
        p.view.repeated &= v->whole ? 0 : v->repeated;
        const uint32_t rank = v->whole ? t->rank : v->rank;
        if (rank > p.view.rank) p.view.rank = rank;
    }
    if (p.view.rank == t->rank && !p.view.repeated) p.out = gcut_onnx_own(w, n, 0);
    return p;
}

static void end(gcut_onnx_writer *w, const gcut_node *n, point *p, const char *name)
{
    p->view.name = name;
    gcut_onnx_set_view(w, n, 0, p->view);
}

#define NUMBER(x) gcut_onnx_scalar(w, p.dtype, x)
#define OP1(op, x) gcut_onnx_put1(w, op, NULL, x)
#define OP2(op, x, y) gcut_onnx_put2(w, op, NULL, x, y)
#define LAST1(op, x) end(w, n, &p, gcut_onnx_put1(w, op, p.out, x))
#define LAST2(op, x, y) end(w, n, &p, gcut_onnx_put2(w, op, p.out, x, y))

void gcut_export_plain(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    point p = begin(w, n);
    const gcut_dtype work = gcut_onnx_computed_in(as, p.dtype);
    if (work == p.dtype)
        end(w, n, &p, gcut_onnx_put(w, as, p.out, p.x, n->nargs));
    else
        end(w, n, &p,
            gcut_onnx_put_cast(w, p.out, OP1(as, gcut_onnx_put_cast(w, NULL, p.x[0], work)), p.dtype));
}

void gcut_export_same(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    gcut_onnx_set_view(w, n, 0, *gcut_onnx_view_of(w, gcut_arg(w->here->g, n, 0)));
}

/* tanh(x / 2) (e^x + 1) = e^x - 1, also near 0 */
void gcut_export_expm1(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    point p = begin(w, n);
    const char *half = OP2("Mul", p.x[0], NUMBER(0.5)), *tanh = OP1("Tanh", half);
    const char *exp = OP1("Exp", p.x[0]);
    LAST2("Mul", tanh, OP2("Add", exp, NUMBER(1)));
}

/* With u = 1 + x as rounded, log(u) x / (u - 1), where u = 1 x itself (Goldberg 1991, theorem 4); the quotient is 1 where
 * x is u - 1, which may be infinite. */
void gcut_export_log1p(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    point p = begin(w, n);
    const char *one = NUMBER(1), *u = OP2("Add", p.x[0], one), *d = OP2("Sub", u, one);
    const char *q = gcut_onnx_put3(w, "Where", NULL, OP2("Equal", d, p.x[0]), one, OP2("Div", p.x[0], d));
    const char *y = OP2("Mul", OP1("Log", u), q);
    end(w, n, &p, gcut_onnx_put3(w, "Where", p.out, OP2("Equal", u, one), p.x[0], y));
}

void gcut_export_rsqrt(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    point p = begin(w, n);
    LAST1("Reciprocal", OP1("Sqrt", p.x[0]));
}

/* x (1 + erf(x / sqrt 2)) / 2, or x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2 */
void gcut_export_gelu(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    point p = begin(w, n);
    const char *x = p.x[0], *s;
    if (!strcmp(gcut_attr_get(w->here->g, n, GCUT_KEY_approx)->u.str, "tanh")) {
        const char *cube = OP2("Mul", OP2("Mul", x, x), x);
        const char *sum = OP2("Add", x, OP2("Mul", cube, NUMBER(0.044715)));
        s = OP1("Tanh", OP2("Mul", sum, NUMBER(0.79788456080286535588)));
    } else {
        s = OP1("Erf", OP2("Mul", x, NUMBER(0.70710678118654752440)));
    }
    const char *half = OP2("Mul", x, NUMBER(0.5));
    LAST2("Mul", half, OP2("Add", s, NUMBER(1)));
}

void gcut_export_silu(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    point p = begin(w, n);
    LAST2("Mul", p.x[0], OP1("Sigmoid", p.x[0]));
}

/* Elu, LeakyRelu */
void gcut_export_slope(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    point p = begin(w, n);
    LAST1(as, p.x[0]);
    gcut_onnx_put_float(w, "alpha",
                        gcut_attr_num(w->here->g, n, n->op == GCUT_OP_elu ? GCUT_KEY_alpha : GCUT_KEY_slope));
}

void gcut_export_hardsigmoid(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    point p = begin(w, n);
    LAST1("HardSigmoid", p.x[0]);
    gcut_onnx_put_float(w, "alpha", 1.0 / 6);
    gcut_onnx_put_float(w, "beta", 0.5);
}

/* ~x = -1 - x; of u8, 255 - x */
void gcut_export_not(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    point p = begin(w, n);
    if (p.dtype == GCUT_BOOL)
        LAST1("Not", p.x[0]);
    else
        LAST2("Sub", NUMBER(p.dtype == GCUT_U8 ? 255 : -1), p.x[0]);
}

void gcut_export_ne(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    point p = begin(w, n);
    LAST1("Not", OP2("Equal", p.x[0], p.x[1]));
}

void gcut_export_cast(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    point p = begin(w, n);
    end(w, n, &p, gcut_onnx_put_cast(w, p.out, p.x[0], gcut_type_of(w->here->g, n->res0)->dtype));
}

/* ONNX's quotient of integers truncates.  The remainder of its sign less that of the sign of b is -b where the quotient was
 * rounded up, else 0. */
void gcut_export_div(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    point p = begin(w, n);
    if (gcut_dtype_is_float(p.dtype) || p.dtype == GCUT_U8)
        LAST2("Div", p.x[0], p.x[1]);
    else {
        const char *quotient = OP2("Div", p.x[0], p.x[1]), *floored = OP2("Mod", p.x[0], p.x[1]);
        const char *truncated = OP2("Mod", p.x[0], p.x[1]);
        gcut_onnx_put_int(w, "fmod", 1);
        LAST2("Add", quotient, OP2("Div", OP2("Sub", truncated, floored), p.x[1]));
    }
}

void gcut_export_mod(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    point p = begin(w, n);
    if (!gcut_dtype_is_float(p.dtype)) {
        LAST2("Mod", p.x[0], p.x[1]);
        return;
    }
    const char *floor = OP1("Floor", OP2("Div", p.x[0], p.x[1]));
    LAST2("Sub", p.x[0], OP2("Mul", floor, p.x[1]));
}

/* BitwiseAnd and others are of opset 18. */
void gcut_export_bits(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    point p = begin(w, n);
    LAST2(p.dtype == GCUT_BOOL ? as : gcut_printf(w->a, "Bitwise%s", as), p.x[0], p.x[1]);
}

/* A bound of integers is rounded inward. */
static const char *bound(gcut_onnx_writer *w, const point *p, const gcut_attr *a, bool lower)
{
    gcut_num x = a->u.num;
    if (!gcut_dtype_is_float(p->dtype)) x = (gcut_num){true, gcut_bround_integer(x, lower, p->dtype), 0};
    return gcut_onnx_scalar_of(w, p->dtype, x);
}

void gcut_export_clamp(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    point p = begin(w, n);
    const gcut_attr *lo = gcut_attr_get(w->here->g, n, GCUT_KEY_lo),
                    *hi = gcut_attr_get(w->here->g, n, GCUT_KEY_hi);
    const char *in[] = {p.x[0], lo ? bound(w, &p, lo, true) : "", hi ? bound(w, &p, hi, false) : ""};
    end(w, n, &p, gcut_onnx_put(w, "Clip", p.out, in, hi ? 3 : lo ? 2 : 1));
}
