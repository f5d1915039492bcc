/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An op of the table from operands and attributes as C values: checks them, counts axes from the front and
 * broadcasts elementwise operands.
 */
#include "driver/builder/builder_op.h"

#include <math.h>

typedef struct op_job {
    gcut_here at;
    gcut_graph *g;
    gcut_op op;
    const gcut_val *in;
    const gcut_op_attr *arg;
    int n, nargs;
    gcut_build b;
    gcut_ref *x; /* the operands in g */
    gcut_ref out;
} op_job;

static const char *opname(const op_job *j)
{
    return gcut_op_get(j->op)->name;
}

static const char *keyname(const gcut_op_attr *a)
{
    return gcut_attr_name(a->key);
}

/* ---- attributes ---- */

/* The argument of that key; NULL when the op got none. */
static const gcut_op_attr *arg_of(const op_job *j, gcut_attr_key key)
{
    for (int i = 0; i < j->nargs; i++)
        if (j->arg[i].key == key) return &j->arg[i];
    return NULL;
}

/* The rank that axis numbers refer to: of the attribute `shape`, where the op has one, else of x. */
static int axes_rank(const op_job *j)
{
    const gcut_op_attr *shape = arg_of(j, GCUT_KEY_shape);
    return shape ? shape->u.l.rank : j->n ? gcut_type_of(j->g, j->x[0])->rank : 0;
}

/* The axis counted from 0; a negative one counts from the end. */
static int axis_below(gcut_graph *g, gcut_here at, const char *op, int rank, const char *of, int64_t axis)
{
    if (axis >= -rank && axis < rank) return (int)(axis < 0 ? axis + rank : axis);
    gcut_place place = {at.file, at.line, 0};
    if (rank == 0)
        gcut_fail(g->module->env, GCUT_EUSAGE, place, NULL, "'%s': axis %lld of %s: it has no axes", op,
                  (long long)axis, of);
    gcut_fail(g->module->env, GCUT_EUSAGE, place, NULL, "'%s': axis %lld of %s: the axes are %d to %d", op,
              (long long)axis, of, -rank, rank - 1);
}

int gcut_builder_axis(gcut_graph *g, gcut_here at, const char *op, gcut_ref x, int64_t axis)
{
    return axis_below(g, at, op, gcut_type_of(g, x)->rank, gcut_builder_show(g, x), axis);
}

static gcut_dim axis_from(const op_job *j, int64_t axis)
{
    bool of_result = arg_of(j, GCUT_KEY_shape);
    const char *of = of_result ? "the result" : gcut_builder_show(j->g, j->x[0]);
    return axis_below(j->g, j->at, opname(j), axes_rank(j), of, axis);
}

static void check_list(const op_job *j, const gcut_op_attr *a)
{
    if (a->u.l.rank < 0 || a->u.l.rank > GCUT_MAX_RANK)
        WRONG(j, NULL, "'%s': %s has %d entries; a rank is at most %d", opname(j), keyname(a), a->u.l.rank,
              GCUT_MAX_RANK);
}

/* Replaces one -1 in a new shape by the size that keeps the number of elements. */
static void infer_size(const op_job *j, gcut_shape *s)
{
    int at = -1;
    gcut_dims *dims = j->g->module->dims;
    gcut_dim rest = 1, all = gcut_type_numel(j->g->module, gcut_type_of(j->g, j->x[0]));
    for (int d = 0; d < s->rank; d++) {
        if (s->dim[d] != -1) {
            gcut_builder_check_size(j->g, j->at, "op", opname(j), s->dim[d]);
            rest = gcut_dim_make(dims, GCUT_DIM_MUL, rest, s->dim[d]);
        } else if (at >= 0) {
            WRONG(j, "write the other sizes", "'%s' of %s: -1 stands for one size, not two", opname(j),
                  gcut_builder_show(j->g, j->x[0]));
        } else {
            at = d;
        }
    }
    if (at < 0) return;
    gcut_text t = {.arena = j->g->module->arena};
    gcut_dim_print(dims, rest, &t);
    if (rest == 0 || gcut_dim_make(dims, GCUT_DIM_MOD, all, rest) > 0)
        WRONG(j, NULL, "'%s' of %s: -1 cannot be inferred, since %s does not divide the number of elements",
              opname(j), gcut_builder_show(j->g, j->x[0]), t.at);
    s->dim[at] = gcut_dim_make(dims, GCUT_DIM_DIV, all, rest);
}

static gcut_attr list_from(const op_job *j, const gcut_op_attr *a)
{
    gcut_shape s = a->u.l;
    check_list(j, a);
    if (j->op == GCUT_OP_reshape) infer_size(j, &s);
    for (int d = 0; d < s.rank; d++)
        if (gcut_attr_form_of(a->key) == GCUT_ATTR_FORM_AXES)
            s.dim[d] = axis_from(j, s.dim[d]);
        else
            gcut_builder_check_size(j->g, j->at, "op", opname(j), s.dim[d]);
    return gcut_attr_dims(j->g->module, a->key, s.dim, (uint32_t)s.rank);
}

gcut_attr gcut_builder_number(gcut_attr_key key, gcut_dtype t, double f)
{
    f = f == 0 ? 0 : f;
    if (gcut_dtype_is_float(t) || f != floor(f) || fabs(f) > 0x1p53) return gcut_attr_real(key, f);
    return gcut_attr_int(key, (int64_t)f);
}

static gcut_attr number_from(const op_job *j, const gcut_op_attr *a)
{
    const gcut_op_attr *dtype = arg_of(j, GCUT_KEY_dtype);
    gcut_dtype t = dtype ? dtype->u.t : j->n ? gcut_type_of(j->g, j->x[0])->dtype : GCUT_F32;
    return gcut_builder_number(a->key, t, a->u.f);
}

/* The attribute as the graph has it; false = it was not given. */
static bool attr_from(const op_job *j, const gcut_op_attr *a, gcut_attr *out)
{
    gcut_module *m = j->g->module;
    switch (gcut_attr_form_of(a->key)) {
    case GCUT_ATTR_FORM_AXIS: *out = gcut_attr_dim(a->key, axis_from(j, a->u.i)); return true;
    case GCUT_ATTR_FORM_SIZE:
        if (a->zero_is_default && a->u.i == 0) return false;
        gcut_builder_check_size(j->g, j->at, "op", opname(j), a->u.i);
        *out = gcut_attr_dim(a->key, a->u.i);
        return true;
    case GCUT_ATTR_FORM_AXES:
    case GCUT_ATTR_FORM_SIZES:
        if (a->zero_is_default && a->u.l.rank == 0) return false;
        *out = list_from(j, a);
        return true;
    case GCUT_ATTR_FORM_NUMBER:
        if (a->zero_is_default && a->u.f == 0 && !signbit(a->u.f)) return false;
        *out = number_from(j, a);
        return true;
    case GCUT_ATTR_FORM_FLAG: *out = gcut_attr_bool(a->key, a->u.b); return true;
    case GCUT_ATTR_FORM_TEXT:
        if (!a->u.s && a->zero_is_default) return false;
        if (!a->u.s) WRONG(j, NULL, "'%s': %s is NULL", opname(j), keyname(a));
        *out = gcut_attr_str(m, a->key, a->u.s);
        return true;
    case GCUT_ATTR_FORM_DTYPE:
    default:
        if (!is_dtype(a->u.t))
            WRONG(j, "the dtypes are GCUT_BOOL to GCUT_F64", "'%s': %s is %d, which is no dtype", opname(j),
                  keyname(a), (int)a->u.t);
        *out = gcut_attr_str(m, a->key, gcut_dtype_name(a->u.t));
        return true;
    }
}

/* ---- operands ---- */

/* Is it a cast to the dtype that x has, which is x? */
static bool is_nothing(const op_job *j)
{
    return j->op == GCUT_OP_cast && gcut_type_of(j->g, j->x[0])->dtype == j->arg[0].u.t;
}

static void build_op(void *arg)
{
    op_job *j = arg;
    gcut_module *m = j->g->module;
    gcut_attr attrs[8];
    uint32_t n = 0;
    j->x = gcut_builder_refs(m->arena, j->g, j->in, j->n);
    j->b = (gcut_build){.g = j->g, .loc = gcut_builder_loc(j->at, j->g)};
    GCUT_ASSERT(j->nargs <= 8);
    for (int i = 0; i < j->nargs; i++) n += attr_from(j, &j->arg[i], &attrs[n]);
    if (is_nothing(j)) {
        j->out = j->x[0];
        return;
    }
    if (j->n > 1 && gcut_op_get(j->op)->elementwise)
        gcut_bbroadcast_all(&j->b, opname(j), j->x, (uint32_t)j->n);
    j->out = gcut_node_new(j->g, j->op, j->x, (uint32_t)j->n, attrs, n, j->b.loc, NULL);
}

gcut_val gcut_builder_op(gcut_here at, gcut_graph *g, gcut_op op, const gcut_val *in, int n,
                         const gcut_op_attr *arg, int nargs)
{
    op_job j = {.at = at, .g = g, .op = op, .in = in, .n = n, .arg = arg, .nargs = nargs};
    if (n > 0) j.g = gcut_builder_operands(at, gcut_op_get(op)->name, in, n);
    return gcut_guard_at(at, j.g, build_op, &j) ? gcut_val_of(j.g, j.out) : (gcut_val){0};
}
