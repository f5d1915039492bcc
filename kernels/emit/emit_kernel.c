/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The C of every kernel that is not a loop: each is a function that describes
 * strides and calls the run-time library.  It is given every size, so that one
 * stands for all kernels of a kind and form.
 */
#include <string.h>

#include "gradcut/gradcut_rt.h"
#include "graph/external.h"
#include "kernels/emit/emit_loop.h"
#include "machine/lower/memory/concat.h"
#include "machine/lower/memory/updates_in_place.h"
#include "machine/lower/memory/workspace.h"

typedef struct kernel {
    gcut_emitter *e;
    const gcut_lowered *h;
    const gcut_graph *g;
    gcut_module *m;
    const gcut_kernel *u;
    const gcut_node *n; /* NULL for COPY */
    gcut_text *out;
} kernel;

#define W(w, ...) gcut_text_add((w)->out, __VA_ARGS__)

static const char *dim(const kernel *w, gcut_dim d)
{
    return gcut_c_size(w->m, d);
}

static const gcut_type *type_in(const kernel *w, uint32_t k)
{
    return gcut_type_of(w->g, gcut_arg(w->g, w->n, k));
}

static const gcut_type *type_out(const kernel *w)
{
    return gcut_type_of(w->g, w->n->res0);
}

/* (float *)b[1] */
static const char *pointer_to(const kernel *w, uint32_t buffer)
{
    return gcut_printf(w->m->arena, "(%s *)%s", gcut_c_type(w->e->p->buffers.at[buffer].dtype),
                       gcut_c_arg(w->e, buffer));
}

/* Operand k as this kernel reads it: from its own storage, from the copy made for the kernel, or from the
 * prologue's for one that is computed.  The buffer may be GCUT_NONE, of a constant. */
static gcut_view operand_in(const kernel *w, uint32_t k, uint32_t *buffer)
{
    gcut_ref v = gcut_arg(w->g, w->n, k);
    const gcut_prologue *prologue = gcut_operand_prologue(w->u, k);
    uint32_t copy = gcut_kernel_copied(w->u, k);
    if (prologue || copy != GCUT_NONE) {
        *buffer = prologue ? prologue->buffer : w->h->kernels.at[copy].copy.to;
        return gcut_view_contiguous(w->m, gcut_type_of(w->g, v), v);
    }
    *buffer = w->h->buffer[w->h->view[v].root];
    return w->h->view[v];
}

static gcut_view operand(const kernel *w, uint32_t k, const char **pointer)
{
    uint32_t buffer;
    gcut_view v = operand_in(w, k, &buffer);
    *pointer = pointer_to(w, buffer);
    return v;
}

static const char *packed(const kernel *w, uint32_t k)
{
    const char *pointer;
    gcut_view v = operand(w, k, &pointer);
    GCUT_ASSERT(v.offset == 0);
    return pointer;
}

/* NULL for a result that is left out. */
static const char *result_at(const kernel *w, uint32_t k)
{
    if (gcut_kernel_omits(w->u, k)) return "NULL";
    return pointer_to(w, w->h->buffer[w->h->view[w->n->res0 + k].root]);
}

static const char *result(const kernel *w)
{
    return result_at(w, 0);
}

/* "a, b, c"; "0" for none: C has no array of nothing. */
static const char *dims(const kernel *w, const gcut_dim *d, uint32_t n)
{
    gcut_text t = {.arena = w->m->arena};
    for (uint32_t i = 0; i < n; i++) gcut_text_add(&t, "%s%s", i ? ", " : "", dim(w, d[i]));
    return n ? t.at : "0";
}

/* "const int64_t name[] = {…};" */
static void list(const kernel *w, const char *name, const gcut_dim *d, uint32_t n)
{
    W(w, "    const int64_t %s[] = {%s};\n", name, dims(w, d, n));
}

static const char *shifted(const kernel *w, const char *pointer, gcut_dim offset)
{
    return offset == 0 ? pointer : gcut_printf(w->m->arena, "%s + (%s)", pointer, dim(w, offset));
}

/* ---- matrix product ---- */

typedef struct batch_axis {
    gcut_dim n, a, b, c;
} batch_axis;

/* Batch axes, merged where all three operands step through them evenly. */
static uint32_t batch_axes(const kernel *w, const gcut_view *a, const gcut_view *b, const gcut_view *c,
                           batch_axis *out)
{
    const gcut_type *t = type_out(w);
    uint32_t n = 0;
    for (uint32_t d = 0; d + 2 < t->rank; d++) {
        batch_axis x = {t->dim[d], a->stride[d], b->stride[d], c->stride[d]};
        if (x.n == 1) continue;
        batch_axis *o = n ? &out[n - 1] : NULL;
        if (o && o->a == gcut_dim_times(w->m, x.a, x.n) && o->b == gcut_dim_times(w->m, x.b, x.n) &&
            o->c == gcut_dim_times(w->m, x.c, x.n))
            *o = (batch_axis){gcut_dim_times(w->m, o->n, x.n), x.a, x.b, x.c};
        else
            out[n++] = x;
    }
    if (n > 4)
        gcut_fail(w->m->env, GCUT_EUNSUPPORTED, gcut_loc_place(w->m, w->n->loc),
                  "reshape the leading axes into one", "'matmul' has %u separate batch axes, more than 4", n);
    return n;
}

/* An operand that is computed: "lines go along k" says how the product reads the rows of the value. */
static void describe_prologue(kernel *w, const char *pa, const char *pb)
{
    const gcut_prologue *c = w->u->gemm.prologue;
    if (!c) return;
    const bool transposed = gcut_attr_flag(w->g, w->n, c->operand ? GCUT_KEY_tb : GCUT_KEY_ta);
    W(w,
      "        .from_%c = {%s_f%s, (void *)(args + 1), %d,\n"
      "                   %s ? NULL : (void *)(%s)},\n",
      c->operand ? 'b' : 'a', w->e->prefix, w->e->all->functions.at[w->e->fill].label,
      (c->operand == 0) != transposed, gcut_prologue_fills_c(w->h, w->e->kernel, gcut_c_size),
      c->operand ? pb : pa);
}

/* ".batch = {…}, .sa = {…}, …" */
static void describe_batch(const kernel *w, const batch_axis *axis, uint32_t n)
{
    static const char *const fields[] = {"batch", "sa", "sb", "sc"};
    for (uint32_t k = 0; k < 4 && n; k++) {
        W(w, "%s.%s = {", k ? " " : "        ", fields[k]);
        for (uint32_t i = 0; i < n; i++) {
            const gcut_dim at[] = {axis[i].n, axis[i].a, axis[i].b, axis[i].c};
            W(w, "%s%s", i ? ", " : "", dim(w, at[k]));
        }
        W(w, k < 3 ? "}," : "},\n");
    }
}

/* Declares nt and g, whose members stand in the order of their declaration, as C++ asks; a, b, c are the
 * expressions of its matrices. */
static void describe_gemm(kernel *w, const char **pa, const char **pb, const char **pc)
{
    *pc = result(w);
    gcut_view a = operand(w, 0, pa), b = operand(w, 1, pb), c = w->h->view[w->n->res0];
    const gcut_type *ta = type_in(w, 0), *tc = type_out(w);
    uint32_t r = tc->rank, fa = gcut_attr_flag(w->g, w->n, GCUT_KEY_ta),
             fb = gcut_attr_flag(w->g, w->n, GCUT_KEY_tb);
    batch_axis batch[GCUT_MAX_RANK];
    uint32_t nb = batch_axes(w, &a, &b, &c, batch);
    W(w, "    const gcut_rt_gemm g = {\n");
    W(w, "        .m = %s, .n = %s, .k = %s,\n", dim(w, tc->dim[r - 2]), dim(w, tc->dim[r - 1]),
      dim(w, ta->dim[fa ? r - 2 : r - 1]));
    W(w, "        .rsa = %s, .csa = %s,", dim(w, a.stride[fa ? r - 1 : r - 2]),
      dim(w, a.stride[fa ? r - 2 : r - 1]));
    W(w, " .rsb = %s, .csb = %s,", dim(w, b.stride[fb ? r - 1 : r - 2]),
      dim(w, b.stride[fb ? r - 2 : r - 1]));
    W(w, " .rsc = %s, .csc = %s,\n", dim(w, c.stride[r - 2]), dim(w, c.stride[r - 1]));
    W(w, "        .nbatch = %u,\n", nb);
    describe_batch(w, batch, nb);
    if (w->u->gemm.sums)
        W(w, "        .sums = GCUT_RT_SUMS_%s, .sum = %s,\n", w->u->gemm.sums == GCUT_RT_SUMS_A ? "A" : "B",
          pointer_to(w, w->h->buffer[gcut_kernel_sum(w->h, w->e->kernel)]));
    describe_prologue(w, *pa, *pb);
    W(w, "    };\n");
    *pa = shifted(w, *pa, a.offset);
    *pb = shifted(w, *pb, b.offset);
    *pc = shifted(w, *pc, c.offset);
}

static void emit_gemm(kernel *w)
{
    const char *a, *b, *c;
    describe_gemm(w, &a, &b, &c);
    W(w, "    gcut_rt_gemm_%s(&g, %s, %s, %s, nt);\n", gcut_dtype_name(type_out(w)->dtype), a, b, c);
}

/* ---- copies ---- */

/* to[…] = from[…], of type t. */
static void copy(kernel *w, const gcut_type *t, const char *from, const gcut_dim *step, const char *to,
                 const gcut_dim *to_step)
{
    list(w, "dim", t->dim, t->rank);
    list(w, "from", step, t->rank);
    list(w, "to", to_step, t->rank);
    W(w, "    gcut_rt_copy(%u, dim, sizeof(%s), %s, from, %s, to, nt);\n", t->rank, gcut_c_type(t->dtype),
      from, to);
}

/* dst[…] = operand k, dst being a strided part of the packed result. */
static void copy_into(kernel *w, uint32_t k, gcut_dim offset, const gcut_dim *dst)
{
    const char *src;
    gcut_view v = operand(w, k, &src);
    W(w, "    {\n");
    copy(w, type_in(w, k), shifted(w, src, v.offset), v.stride, shifted(w, result(w), offset), dst);
    W(w, "    }\n");
}

static void fill(kernel *w, const gcut_type *t, const char *value, const char *to)
{
    W(w, "    const %s value = %s;\n    gcut_rt_fill(%s, %s, sizeof value, &value);\n", gcut_c_type(t->dtype),
      value, to, dim(w, gcut_type_numel(w->m, t)));
}

static void emit_pad(kernel *w)
{
    const gcut_type *t = type_out(w);
    const gcut_dim *low = gcut_attr_get(w->g, w->n, GCUT_KEY_low)->u.dims;
    const gcut_attr *gaps = gcut_attr_get(w->g, w->n, GCUT_KEY_interior);
    gcut_view c = gcut_view_contiguous(w->m, t, w->n->res0);
    gcut_dim start = 0, step[GCUT_MAX_RANK];
    for (uint32_t d = 0; d < t->rank; d++) {
        const gcut_dim each = gaps ? gcut_dim_make(w->m->dims, GCUT_DIM_ADD, gaps->u.dims[d], 1) : 1;
        step[d] = gcut_dim_times(w->m, c.stride[d], each);
        start = gcut_dim_make(w->m->dims, GCUT_DIM_ADD, start, gcut_dim_times(w->m, low[d], c.stride[d]));
    }
    fill(w, t, gcut_c_attr(w->g, w->n, GCUT_KEY_value, t->dtype), result(w));
    copy_into(w, 0, start, step);
}

static void emit_concat(kernel *w)
{
    gcut_view c = gcut_view_contiguous(w->m, type_out(w), w->n->res0);
    gcut_dim at = 0, axis = gcut_attr_get(w->g, w->n, GCUT_KEY_axis)->u.dim;
    for (uint32_t k = 0; k < w->n->nargs; k++) {
        if (!gcut_concat_has(w->h, w->e->kernel, k))
            copy_into(w, k, gcut_dim_times(w->m, at, c.stride[axis]), c.stride);
        at = gcut_dim_make(w->m->dims, GCUT_DIM_ADD, at, type_in(w, k)->dim[axis]);
    }
}

/* Written from the far end along each flipped axis. */
static void emit_flip(kernel *w)
{
    const gcut_type *t = type_out(w);
    gcut_view c = gcut_view_contiguous(w->m, t, w->n->res0);
    uint32_t mask = gcut_attr_axes(w->g, w->n);
    const char *src;
    gcut_view v = operand(w, 0, &src);
    list(w, "dim", t->dim, t->rank);
    list(w, "from", v.stride, t->rank);
    W(w, "    int64_t at = 0, to[] = {");
    for (uint32_t d = 0; d < t->rank; d++)
        W(w, "%s%s(%s)", d ? ", " : "", mask >> d & 1 ? "-" : "", dim(w, c.stride[d]));
    W(w, t->rank ? "};\n" : "0};\n");
    for (uint32_t d = 0; d < t->rank; d++)
        if (mask >> d & 1) W(w, "    at += (%s - 1) * (%s);\n", dim(w, t->dim[d]), dim(w, c.stride[d]));
    W(w, "    gcut_rt_copy(%u, dim, sizeof(%s), %s, from, %s + at, to, nt);\n", t->rank,
      gcut_c_type(t->dtype), shifted(w, src, v.offset), result(w));
}

static void emit_copy(kernel *w)
{
    const gcut_ref v = w->u->copy.value, root = w->h->view[v].root;
    const gcut_type *t = gcut_type_of(w->g, v);
    const gcut_view *view = &w->h->view[v];
    const char *to = pointer_to(w, w->u->copy.to), *type = gcut_c_type(t->dtype);
    if (gcut_root_is_const(w->h, root)) {
        fill(w, t, gcut_c_const(w->g, root), to);
        return;
    }
    if (w->u->copy.source != GCUT_NONE) {
        W(w, "    memcpy(%s, %s, (size_t)(%s) * sizeof(%s));\n", to,
          pointer_to(w, gcut_copy_buffer(w->h, w->u)), dim(w, gcut_type_numel(w->m, t)), type);
        return;
    }
    const bool iota = gcut_root_is_iota(w->h, root);
    const char *from = iota ? NULL : pointer_to(w, w->h->buffer[root]);
    if (!iota && !view->widens && !view->bits) {
        copy(w, t, shifted(w, from, view->offset), view->stride, to, gcut_view_contiguous(w->m, t, v).stride);
        return;
    }
    list(w, "dim", t->dim, t->rank);
    list(w, "from", view->stride, t->rank);
    if (iota)
        W(w, "    gcut_rt_iota(%u, dim, from, %s, sizeof(%s), %d, %s);\n", t->rank, dim(w, view->offset),
          type, gcut_dtype_is_float(t->dtype), to);
    else if (view->widens)
        W(w, "    gcut_rt_widen_%s(%u, dim, %s, from, %s, nt);\n",
          gcut_dtype_name(gcut_type_of(w->g, root)->dtype), t->rank, shifted(w, from, view->offset), to);
    else
        W(w, "    gcut_rt_unpack_bits(%u, dim, %s, %s, from, %s, nt);\n", t->rank, from, dim(w, view->offset),
          to);
}

/* ---- bits ---- */

static void emit_pack(kernel *w)
{
    const char *src = packed(w, 0);
    W(w, "    gcut_rt_pack_bits(%s, %s, %s, nt);\n", dim(w, gcut_type_numel(w->m, type_in(w, 0))), src,
      result(w));
}

static void emit_unpack(kernel *w)
{
    const char *src = packed(w, 0);
    W(w, "    const int64_t count = %s, one = 1;\n", dim(w, gcut_type_numel(w->m, type_out(w))));
    W(w, "    gcut_rt_unpack_bits(1, &count, %s, 0, &one, %s, nt);\n", src, result(w));
}

/* ---- along an axis ---- */

/* Sizes of t before the node's axis, along it and after it. */
static const char *around_axis(const kernel *w, const gcut_type *t)
{
    const uint32_t axis = (uint32_t)gcut_attr_get(w->g, w->n, GCUT_KEY_axis)->u.dim;
    return gcut_printf(w->m->arena, "%s, %s, %s", dim(w, gcut_dim_product(w->m, t->dim, axis)),
                       dim(w, t->dim[axis]),
                       dim(w, gcut_dim_product(w->m, t->dim + axis + 1, t->rank - axis - 1)));
}

static void emit_take(kernel *w)
{
    const char *px = packed(w, 0), *pi = packed(w, 1);
    const gcut_type *t = type_in(w, 0), *ti = type_in(w, 1);
    W(w, "    gcut_rt_take(sizeof(%s), %s, %s, %s, %d, %s, %s, args->fault, nt);\n", gcut_c_type(t->dtype),
      around_axis(w, t), px, pi, (int)gcut_dtype_bytes(ti->dtype), dim(w, gcut_type_numel(w->m, ti)),
      result(w));
}

static void emit_scatter(kernel *w)
{
    const gcut_type *t = type_in(w, 0), *ti = type_in(w, 1);
    const gcut_ref root = w->h->view[gcut_arg(w->g, w->n, 0)].root;
    if (gcut_root_is_const(w->h, root))
        fill(w, t, gcut_c_const(w->g, root), result(w));
    else if (!gcut_scatter_is_inplace(w->h, w->e->kernel))
        copy_into(w, 0, 0, gcut_view_contiguous(w->m, t, root).stride);
    const char *pi = packed(w, 1), *pu = packed(w, 2);
    W(w, "    gcut_rt_scatter_add_%s(%s, %s, %s, %d, %s, %s, args->fault, nt);\n", gcut_dtype_name(t->dtype),
      around_axis(w, t), result(w), pi, (int)gcut_dtype_bytes(ti->dtype), dim(w, gcut_type_numel(w->m, ti)),
      pu);
}

static void emit_cumsum(kernel *w)
{
    const char *src = packed(w, 0);
    const gcut_type *t = type_out(w);
    W(w, "    gcut_rt_cumsum_%s(%s, %d, %s, %s, nt);\n", gcut_dtype_name(t->dtype), around_axis(w, t),
      gcut_attr_flag(w->g, w->n, GCUT_KEY_reverse), src, result(w));
}

static void emit_argsort(kernel *w)
{
    const char *src = packed(w, 0);
    const gcut_type *t = type_in(w, 0);
    gcut_team team = gcut_kernel_team(w->h, w->e->kernel);
    W(w, "    gcut_rt_argsort_%s(%s, %d, %s, %s,\n        %s, %s);\n", gcut_dtype_name(t->dtype),
      around_axis(w, t), gcut_attr_flag(w->g, w->n, GCUT_KEY_descending), src, result(w),
      w->u->workspace_each == GCUT_NONE ? "NULL" : gcut_c_arg(w->e, w->u->workspace_each),
      gcut_team_c(w->m, &team, gcut_c_size));
}

static void emit_reduce(kernel *w)
{
    const char *src;
    gcut_view v = operand(w, 0, &src);
    const gcut_type *t = type_in(w, 0);
    list(w, "dim", t->dim, t->rank);
    list(w, "from", v.stride, t->rank);
    W(w, "    gcut_rt_reduce_%s(GCUT_RT_%s, %u, dim, from, %#x, %s, %s, nt);\n", gcut_dtype_name(t->dtype),
      gcut_op_of(w->n)->cexpr, t->rank, gcut_attr_axes(w->g, w->n), shifted(w, src, v.offset), result(w));
}

/* ---- external kernels ---- */

/* "{(float *)b[0], GCUT_RT_F32, 2, {n[0], n[1]}}," */
static void tensor(const kernel *w, gcut_ref v, const char *pointer)
{
    const gcut_type *t = gcut_type_of(w->g, v);
    const char *name = gcut_dtype_name(t->dtype);
    W(w, "        {%s, GCUT_RT_", pointer);
    for (const char *s = name; *s; s++) W(w, "%c", *s >= 'a' && *s <= 'z' ? *s - 'a' + 'A' : *s);
    W(w, ", %u, {%s}},\n", t->rank, dims(w, t->dim, t->rank));
}

static void emit_external(kernel *w)
{
    W(w, "    const gcut_rt_tensor in[] = {\n");
    for (uint32_t k = 0; k < w->n->nargs; k++) {
        const char *at = packed(w, k);
        tensor(w, gcut_arg(w->g, w->n, k), at);
    }
    if (!w->n->nargs) W(w, "        {NULL, 0, 0, {0}},\n");
    W(w, "    };\n    const gcut_rt_tensor out[] = {\n");
    for (uint32_t k = 0; k < w->n->nres; k++) tensor(w, w->n->res0 + k, result_at(w, k));
    W(w, "    };\n    const gcut_rt_external call = {in, out, %u, %u, nt};\n    " GCUT_C_NAME "%s(&call);\n",
      w->n->nargs, w->n->nres, gcut_external_kernel(w->g, w->n));
}

/* ---- attention ---- */

/* ".q = {…}," */
static void strides(const kernel *w, const char *field, const gcut_view *v)
{
    W(w, "        .%s = {%s},\n", field, dims(w, v->stride, 4));
}

static void attention_sizes(const kernel *w)
{
    const gcut_type *q = type_in(w, 0), *v = type_in(w, 2);
    const gcut_attr *scale = gcut_attr_get(w->g, w->n, GCUT_KEY_scale);
    W(w, "        .batch = %s, .heads = %s, .groups = %s,\n", dim(w, q->dim[0]), dim(w, q->dim[1]),
      dim(w, v->dim[1]));
    W(w, "        .t = %s, .s = %s, .d = %s, .e = %s,\n", dim(w, q->dim[2]), dim(w, v->dim[2]),
      dim(w, q->dim[3]), dim(w, v->dim[3]));
    W(w, "        .causal = %d, .scale = %s,\n", gcut_attr_flag(w->g, w->n, GCUT_KEY_causal),
      scale ? gcut_c_attr(w->g, w->n, GCUT_KEY_scale, GCUT_F64)
            : gcut_printf(w->m->arena, "1 / sqrt((double)(%s))", dim(w, q->dim[3])));
}

/* Operands q, k, v[, bias][, dy], then the results: the call's pointers in the order of its arguments. */
static void emit_attention(kernel *w)
{
    static const char *const fields[2][4] = {{"y"}, {"dq", "dk", "dv", "dbias"}};
    static const char *const inputs[] = {"q", "k", "v", "bias"};
    bool grad = w->u->kind == GCUT_KERNEL_ATTENTION_GRAD;
    uint32_t nx = w->n->nargs - grad;
    const char *at[9] = {"NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL"};
    W(w, "    const gcut_rt_attention of = {\n");
    attention_sizes(w);
    for (uint32_t k = 0; k < w->n->nargs; k++) {
        uint32_t slot = k < nx ? k : 4;
        gcut_view v = operand(w, k, &at[slot]);
        at[slot] = shifted(w, at[slot], v.offset);
        strides(w, k < nx ? inputs[k] : "y", &v);
    }
    for (uint32_t k = 0; k < w->n->nres; k++) {
        at[4 + grad + k] = result_at(w, k);
        strides(w, fields[grad][k], &w->h->view[w->n->res0 + k]);
    }
    gcut_team team = gcut_kernel_team(w->h, w->e->kernel);
    W(w, "        .work = %s,\n", dim(w, gcut_workspace_of(w->h, w->e->kernel).each));
    W(w, "    };\n    gcut_rt_attention%s_%s(&of", grad ? "_grad" : "", gcut_dtype_name(type_out(w)->dtype));
    for (uint32_t k = 0; k < (grad ? 9u : 5u); k++) W(w, ", %s", at[k]);
    W(w, ",\n        %s, %s);\n",
      w->u->workspace_each == GCUT_NONE ? "NULL" : gcut_c_arg(w->e, w->u->workspace_each),
      gcut_team_c(w->m, &team, gcut_c_size));
}

/* ---- any kernel ---- */

static kernel kernel_of(gcut_emitter *e)
{
    const gcut_kernel *u = &e->h->kernels.at[e->kernel];
    kernel out = {e, e->h, e->h->g, e->p->module, u, NULL, e->body};
    if (u->kind != GCUT_KERNEL_COPY) out.n = gcut_node_at(out.g, u->nodes.at[0]);
    return out;
}

const char *gcut_emit_operand(gcut_emitter *e, uint32_t k)
{
    kernel w = kernel_of(e);
    return packed(&w, k);
}

const char *gcut_emit_result(gcut_emitter *e)
{
    kernel w = kernel_of(e);
    return result(&w);
}

static void emit_conv(kernel *w)
{
    gcut_emit_conv(w->e);
}

static void emit_pool(kernel *w)
{
    gcut_emit_pool(w->e);
}

static void (*const emitters[])(kernel *) = {
    [GCUT_KERNEL_GEMM] = emit_gemm,
    [GCUT_KERNEL_REDUCE] = emit_reduce,
    [GCUT_KERNEL_PAD] = emit_pad,
    [GCUT_KERNEL_CONCAT] = emit_concat,
    [GCUT_KERNEL_FLIP] = emit_flip,
    [GCUT_KERNEL_TAKE] = emit_take,
    [GCUT_KERNEL_SCATTER] = emit_scatter,
    [GCUT_KERNEL_PACK] = emit_pack,
    [GCUT_KERNEL_UNPACK] = emit_unpack,
    [GCUT_KERNEL_CUMSUM] = emit_cumsum,
    [GCUT_KERNEL_ARGSORT] = emit_argsort,
    [GCUT_KERNEL_CONV] = emit_conv,
    [GCUT_KERNEL_POOL] = emit_pool,
    [GCUT_KERNEL_ATTENTION] = emit_attention,
    [GCUT_KERNEL_ATTENTION_GRAD] = emit_attention,
    [GCUT_KERNEL_EXTERNAL] = emit_external,
    [GCUT_KERNEL_COPY] = emit_copy,
};

/* For a debugger: <letter><v> points to the first element of v as the kernel finds it. */
static void name_buffer(const kernel *w, char letter, gcut_ref v, uint32_t buffer, const gcut_view *view)
{
    if (buffer == GCUT_NONE) return;
    const gcut_buffer *b = &w->e->p->buffers.at[buffer];
    if (b->kind == GCUT_BUFFER_ARENA && b->birth < 0) return; /* nothing reads it */
    const char *at = pointer_to(w, buffer);
    W(w, "    %s *const %c%u = %s;\n    (void)%c%u;\n", gcut_c_type(b->dtype), letter, v,
      view->bits ? at : shifted(w, at, view->offset), letter, v);
}

static void name_buffers(const kernel *w)
{
    for (uint32_t k = 0; w->n && k < w->n->nargs; k++) {
        uint32_t buffer, i = 0;
        gcut_view view = operand_in(w, k, &buffer);
        while (gcut_arg(w->g, w->n, i) != gcut_arg(w->g, w->n, k)) i++;
        if (i == k) name_buffer(w, 'a', gcut_arg(w->g, w->n, k), buffer, &view);
    }
    for (uint32_t k = 0; w->n && k < w->n->nres; k++) {
        const gcut_view *view = &w->h->view[w->n->res0 + k];
        if (!gcut_kernel_omits(w->u, k)) name_buffer(w, 'o', w->n->res0 + k, w->h->buffer[view->root], view);
    }
    if (!w->n) name_buffer(w, 'o', w->u->copy.value, w->u->copy.to, &(gcut_view){0});
}

static void begin_function(const kernel *w)
{
    W(w,
      "GCUT_RT_LOCAL void %s_f" GCUT_C_LABEL "(const gcut_rt_args *args)\n{\n" GCUT_C_ARGUMENTS
      "    const int nt = args->x->plan->threads;\n"
      "    (void)nt;\n",
      w->e->prefix);
    if (w->e->all->line) name_buffers(w);
    const gcut_node *n = w->n ? w->n : gcut_def(w->g, w->u->copy.value);
    W(w, "%s", gcut_c_line(w->e, n ? n->loc : 0));
}

static void end_function(const kernel *w)
{
    W(w, "%s}\n\n", gcut_c_line(w->e, 0));
}

uint32_t gcut_emit_kernel(gcut_emitter *e)
{
    kernel w = kernel_of(e);
    begin_function(&w);
    emitters[w.u->kind](&w);
    end_function(&w);
    return gcut_c_function(e, GCUT_FUNCTION_KERNEL);
}

uint32_t gcut_emit_tiles(gcut_emitter *e, const gcut_loop_writer *w, uint32_t loop)
{
    kernel product = kernel_of(e);
    gcut_team team = gcut_kernel_team(w->l->h, w->l->kernel);
    uint32_t last = 1 + (gcut_kernel_prologue(product.u) != NULL);
    const char *pa, *pb, *pc, *t = gcut_dtype_name(gcut_type_of(product.g, product.n->res0)->dtype);
    const char *rows = e->all->functions.at[loop].label;
    const char *threads = gcut_team_c(product.m, &team, gcut_c_size);
    begin_function(&product);
    describe_gemm(&product, &pa, &pb, &pc);
    if (!w->columns) W(&product, "    if (gcut_rt_tiles(%s, nt)) {\n", dim(&product, w->l->u->loop.rows));
    W(&product, "    gcut_rt_gemm_tiled_%s(&g, %s, %s, %s, %s_f%s_rows, (void *)(args + %u), %d, %s);\n", t,
      pa, pb, pc, e->prefix, rows, last, !w->columns, threads);
    if (!w->columns) {
        team.rule = GCUT_TEAM_ROWS;
        W(&product,
          "    } else {\n    gcut_rt_gemm_%s(&g, %s, %s, %s, nt);\n"
          "    gcut_rt_rows(%s_f%s_rows, args + %u, %s, %s);\n    }\n",
          t, pa, pb, pc, e->prefix, rows, last, dim(&product, w->l->u->loop.rows),
          gcut_team_c(product.m, &team, gcut_c_size));
    }
    end_function(&product);
    return gcut_c_function(e, GCUT_FUNCTION_KERNEL);
}
