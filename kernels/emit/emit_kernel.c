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
#include "kernels/lower/memory/concat.h"
#include "kernels/lower/memory/updates_in_place.h"
#include "kernels/lower/memory/workspace.h"

typedef struct kernel {
    gcut_emitter *e;
    const gcut_lowered *h;
    const gcut_graph *g;
    gcut_module *m;
    const gcut_kernel *u;
    const gcut_node *n; /* NULL for COPY */
    gcut_text *out;
} kernel;

#define W(u, ...) gcut_text_add((u)->out, __VA_ARGS__)

static const char *dim(const kernel *u, gcut_dim d)
{
    return gcut_c_size(u->m, d);
}

static const gcut_type *type_in(const kernel *u, uint32_t k)
{
    return gcut_type_of(u->g, gcut_arg(u->g, u->n, k));
}

static const gcut_type *type_out(const kernel *u)
{
    return gcut_type_of(u->g, u->n->res0);
}

/* (float *)b[1] */
static const char *pointer_to(const kernel *u, uint32_t buffer)
{
    return gcut_printf(u->m->arena, "(%s *)%s", gcut_c_type(u->e->p->buffers.at[buffer].dtype),
                       gcut_c_arg(u->e, buffer));
}

/* Operand k as this kernel reads it: from its own storage, from the copy made for the kernel, or from the
 * prologue's for one that is computed.  The buffer may be GCUT_NONE, of a constant. */
static gcut_view operand_in(const kernel *u, uint32_t k, uint32_t *buffer)
{
    gcut_ref v = gcut_arg(u->g, u->n, k);
    const gcut_prologue *prologue = gcut_operand_prologue(u->u, k);
    uint32_t copy = gcut_kernel_copied(u->u, k);
    if (prologue || copy != GCUT_NONE) {
        *buffer = prologue ? prologue->buffer : u->h->kernels.at[copy].copy.to;
        return gcut_view_contiguous(u->m, gcut_type_of(u->g, v), v);
    }
    *buffer = u->h->buffer[u->h->view[v].root];
    return u->h->view[v];
}

static gcut_view operand(const kernel *u, uint32_t k, const char **pointer)
{
    uint32_t buffer;
    gcut_view v = operand_in(u, k, &buffer);
    *pointer = pointer_to(u, buffer);
    return v;
}

static const char *packed(const kernel *u, uint32_t k)
{
    const char *pointer;
    gcut_view v = operand(u, k, &pointer);
    GCUT_ASSERT(v.offset == 0);
    return pointer;
}

/* NULL for a result that is left out. */
static const char *result_at(const kernel *u, uint32_t k)
{
    if (gcut_kernel_omits(u->u, k)) return "NULL";
    return pointer_to(u, u->h->buffer[u->h->view[u->n->res0 + k].root]);
}

static const char *result(const kernel *u)
{
    return result_at(u, 0);
}

/* "a, b, c"; "0" for none: C has no array of nothing. */
static const char *dims(const kernel *u, const gcut_dim *d, uint32_t n)
{
    gcut_text t = {.arena = u->m->arena};
    for (uint32_t i = 0; i < n; i++) gcut_text_add(&t, "%s%s", i ? ", " : "", dim(u, d[i]));
    return n ? t.at : "0";
}

/* "const int64_t name[] = {…};" */
static void list(const kernel *u, const char *name, const gcut_dim *d, uint32_t n)
{
    W(u, "    const int64_t %s[] = {%s};\n", name, dims(u, d, n));
}

static const char *shifted(const kernel *u, const char *pointer, gcut_dim offset)
{
    return offset == 0 ? pointer : gcut_printf(u->m->arena, "%s + (%s)", pointer, dim(u, offset));
}

/* ---- matrix product ---- */

typedef struct batch_axis {
    gcut_dim n, a, b, c;
} batch_axis;

/* Batch axes, merged where all three operands step through them evenly. */
static uint32_t batch_axes(const kernel *u, const gcut_view *a, const gcut_view *b, const gcut_view *c,
                           batch_axis *out)
{
    const gcut_type *t = type_out(u);
    uint32_t n = 0;
    for (uint32_t d = 0; d + 2 < t->rank; d++) {
        batch_axis x = {t->dim[d], a->stride[d], b->stride[d], c->stride[d]};
        if (x.n == 1) continue;
        batch_axis *o = n ? &out[n - 1] : NULL;
        if (o && o->a == gcut_dim_times(u->m, x.a, x.n) && o->b == gcut_dim_times(u->m, x.b, x.n) &&
            o->c == gcut_dim_times(u->m, x.c, x.n))
            *o = (batch_axis){gcut_dim_times(u->m, o->n, x.n), x.a, x.b, x.c};
        else
            out[n++] = x;
    }
    if (n > 4)
        gcut_fail(u->m->env, GCUT_EUNSUPPORTED, gcut_loc_place(u->m, u->n->loc),
                  "reshape the leading axes into one", "'matmul' has %u separate batch axes, more than 4", n);
    return n;
}

/* An operand that is computed: "lines go along k" says how the product reads the rows of the value. */
static void describe_prologue(kernel *u, const char *pa, const char *pb)
{
    const gcut_prologue *c = u->u->gemm.prologue;
    if (!c) return;
    const bool transposed = gcut_attr_flag(u->g, u->n, c->operand ? GCUT_KEY_tb : GCUT_KEY_ta);
    W(u,
      "        .from_%c = {%s_f%s, (void *)(args + 1), %d,\n"
      "                   %s ? NULL : (void *)(%s)},\n",
      c->operand ? 'b' : 'a', u->e->prefix, u->e->all->functions.at[u->e->fill].label,
      (c->operand == 0) != transposed, gcut_prologue_fills_c(u->h, u->e->kernel, gcut_c_size),
      c->operand ? pb : pa);
}

/* ".batch = {…}, .sa = {…}, …" */
static void describe_batch(const kernel *u, const batch_axis *axis, uint32_t n)
{
    static const char *const fields[] = {"batch", "sa", "sb", "sc"};
    for (uint32_t k = 0; k < 4 && n; k++) {
        W(u, "%s.%s = {", k ? " " : "        ", fields[k]);
        for (uint32_t i = 0; i < n; i++) {
            const gcut_dim at[] = {axis[i].n, axis[i].a, axis[i].b, axis[i].c};
            W(u, "%s%s", i ? ", " : "", dim(u, at[k]));
        }
        W(u, k < 3 ? "}," : "},\n");
    }
}

/* Declares nt and g, whose members stand in the order of their declaration, as C++ asks; a, b, c are the
 * expressions of its matrices. */
static void describe_gemm(kernel *u, const char **pa, const char **pb, const char **pc)
{
    *pc = result(u);
    gcut_view a = operand(u, 0, pa), b = operand(u, 1, pb), c = u->h->view[u->n->res0];
    const gcut_type *ta = type_in(u, 0), *tc = type_out(u);
    uint32_t r = tc->rank, fa = gcut_attr_flag(u->g, u->n, GCUT_KEY_ta),
             fb = gcut_attr_flag(u->g, u->n, GCUT_KEY_tb);
    batch_axis batch[GCUT_MAX_RANK];
    uint32_t nb = batch_axes(u, &a, &b, &c, batch);
    W(u, "    const gcut_rt_gemm g = {\n");
    W(u, "        .m = %s, .n = %s, .k = %s,\n", dim(u, tc->dim[r - 2]), dim(u, tc->dim[r - 1]),
      dim(u, ta->dim[fa ? r - 2 : r - 1]));
    W(u, "        .rsa = %s, .csa = %s,", dim(u, a.stride[fa ? r - 1 : r - 2]),
      dim(u, a.stride[fa ? r - 2 : r - 1]));
    W(u, " .rsb = %s, .csb = %s,", dim(u, b.stride[fb ? r - 1 : r - 2]),
      dim(u, b.stride[fb ? r - 2 : r - 1]));
    W(u, " .rsc = %s, .csc = %s,\n", dim(u, c.stride[r - 2]), dim(u, c.stride[r - 1]));
    W(u, "        .nbatch = %u,\n", nb);
    describe_batch(u, batch, nb);
    if (u->u->gemm.sums)
        W(u, "        .sums = GCUT_RT_SUMS_%s, .sum = %s,\n", u->u->gemm.sums == GCUT_RT_SUMS_A ? "A" : "B",
          pointer_to(u, u->h->buffer[gcut_kernel_sum(u->h, u->e->kernel)]));
    describe_prologue(u, *pa, *pb);
    W(u, "    };\n");
    *pa = shifted(u, *pa, a.offset);
    *pb = shifted(u, *pb, b.offset);
    *pc = shifted(u, *pc, c.offset);
}

static void emit_gemm(kernel *u)
{
    const char *a, *b, *c;
    describe_gemm(u, &a, &b, &c);
    W(u, "    gcut_rt_gemm_%s(&g, %s, %s, %s, nt);\n", gcut_dtype_name(type_out(u)->dtype), a, b, c);
}

/* ---- copies ---- */

/* to[…] = from[…], of type t. */
static void copy(kernel *u, const gcut_type *t, const char *from, const gcut_dim *step, const char *to,
                 const gcut_dim *to_step)
{
    list(u, "dim", t->dim, t->rank);
    list(u, "from", step, t->rank);
    list(u, "to", to_step, t->rank);
    W(u, "    gcut_rt_copy(%u, dim, sizeof(%s), %s, from, %s, to, nt);\n", t->rank, gcut_c_type(t->dtype),
      from, to);
}

/* dst[…] = operand k, dst being a strided part of the packed result. */
static void copy_into(kernel *u, uint32_t k, gcut_dim offset, const gcut_dim *dst)
{
    const char *src;
    gcut_view v = operand(u, k, &src);
    W(u, "    {\n");
    copy(u, type_in(u, k), shifted(u, src, v.offset), v.stride, shifted(u, result(u), offset), dst);
    W(u, "    }\n");
}

static void fill(kernel *u, const gcut_type *t, const char *value, const char *to)
{
    W(u, "    const %s value = %s;\n    gcut_rt_fill(%s, %s, sizeof value, &value);\n", gcut_c_type(t->dtype),
      value, to, dim(u, gcut_type_numel(u->m, t)));
}

static void emit_pad(kernel *u)
{
    const gcut_type *t = type_out(u);
    const gcut_dim *low = gcut_attr_get(u->g, u->n, GCUT_KEY_low)->u.dims;
    const gcut_attr *gaps = gcut_attr_get(u->g, u->n, GCUT_KEY_interior);
    gcut_view c = gcut_view_contiguous(u->m, t, u->n->res0);
    gcut_dim start = 0, step[GCUT_MAX_RANK];
    for (uint32_t d = 0; d < t->rank; d++) {
        const gcut_dim each = gaps ? gcut_dim_make(u->m->dims, GCUT_DIM_ADD, gaps->u.dims[d], 1) : 1;
        step[d] = gcut_dim_times(u->m, c.stride[d], each);
        start = gcut_dim_make(u->m->dims, GCUT_DIM_ADD, start, gcut_dim_times(u->m, low[d], c.stride[d]));
    }
    fill(u, t, gcut_c_attr(u->g, u->n, GCUT_KEY_value, t->dtype), result(u));
    copy_into(u, 0, start, step);
}

static void emit_concat(kernel *u)
{
    gcut_view c = gcut_view_contiguous(u->m, type_out(u), u->n->res0);
    gcut_dim at = 0, axis = gcut_attr_get(u->g, u->n, GCUT_KEY_axis)->u.dim;
    for (uint32_t k = 0; k < u->n->nargs; k++) {
        if (!gcut_concat_has(u->h, u->e->kernel, k))
            copy_into(u, k, gcut_dim_times(u->m, at, c.stride[axis]), c.stride);
        at = gcut_dim_make(u->m->dims, GCUT_DIM_ADD, at, type_in(u, k)->dim[axis]);
    }
}

/* Written from the far end along each flipped axis. */
static void emit_flip(kernel *u)
{
    const gcut_type *t = type_out(u);
    gcut_view c = gcut_view_contiguous(u->m, t, u->n->res0);
    uint32_t mask = gcut_attr_axes(u->g, u->n);
    const char *src;
    gcut_view v = operand(u, 0, &src);
    list(u, "dim", t->dim, t->rank);
    list(u, "from", v.stride, t->rank);
    W(u, "    int64_t at = 0, to[] = {");
    for (uint32_t d = 0; d < t->rank; d++)
        W(u, "%s%s(%s)", d ? ", " : "", mask >> d & 1 ? "-" : "", dim(u, c.stride[d]));
    W(u, t->rank ? "};\n" : "0};\n");
    for (uint32_t d = 0; d < t->rank; d++)
        if (mask >> d & 1) W(u, "    at += (%s - 1) * (%s);\n", dim(u, t->dim[d]), dim(u, c.stride[d]));
    W(u, "    gcut_rt_copy(%u, dim, sizeof(%s), %s, from, %s + at, to, nt);\n", t->rank,
      gcut_c_type(t->dtype), shifted(u, src, v.offset), result(u));
}

static void emit_copy(kernel *u)
{
    const gcut_ref v = u->u->copy.value, root = u->h->view[v].root;
    const gcut_type *t = gcut_type_of(u->g, v);
    const gcut_view *w = &u->h->view[v];
    const char *to = pointer_to(u, u->u->copy.to), *type = gcut_c_type(t->dtype);
    if (gcut_root_is_const(u->h, root)) {
        fill(u, t, gcut_c_const(u->g, root), to);
        return;
    }
    if (u->u->copy.source != GCUT_NONE) {
        W(u, "    memcpy(%s, %s, (size_t)(%s) * sizeof(%s));\n", to,
          pointer_to(u, gcut_copy_buffer(u->h, u->u)), dim(u, gcut_type_numel(u->m, t)), type);
        return;
    }
    const bool iota = gcut_root_is_iota(u->h, root);
    const char *from = iota ? NULL : pointer_to(u, u->h->buffer[root]);
    if (!iota && !w->widens && !w->bits) {
        copy(u, t, shifted(u, from, w->offset), w->stride, to, gcut_view_contiguous(u->m, t, v).stride);
        return;
    }
    list(u, "dim", t->dim, t->rank);
    list(u, "from", w->stride, t->rank);
    if (iota)
        W(u, "    gcut_rt_iota(%u, dim, from, %s, sizeof(%s), %d, %s);\n", t->rank, dim(u, w->offset), type,
          gcut_dtype_is_float(t->dtype), to);
    else if (w->widens)
        W(u, "    gcut_rt_widen_%s(%u, dim, %s, from, %s, nt);\n",
          gcut_dtype_name(gcut_type_of(u->g, root)->dtype), t->rank, shifted(u, from, w->offset), to);
    else
        W(u, "    gcut_rt_unpack_bits(%u, dim, %s, %s, from, %s, nt);\n", t->rank, from, dim(u, w->offset),
          to);
}

/* ---- bits ---- */

static void emit_pack(kernel *u)
{
    const char *src = packed(u, 0);
    W(u, "    gcut_rt_pack_bits(%s, %s, %s, nt);\n", dim(u, gcut_type_numel(u->m, type_in(u, 0))), src,
      result(u));
}

static void emit_unpack(kernel *u)
{
    const char *src = packed(u, 0);
    W(u, "    const int64_t count = %s, one = 1;\n", dim(u, gcut_type_numel(u->m, type_out(u))));
    W(u, "    gcut_rt_unpack_bits(1, &count, %s, 0, &one, %s, nt);\n", src, result(u));
}

/* ---- along an axis ---- */

/* Sizes of t before the node's axis, along it and behind it. */
static const char *around_axis(const kernel *u, const gcut_type *t)
{
    const uint32_t axis = (uint32_t)gcut_attr_get(u->g, u->n, GCUT_KEY_axis)->u.dim;
    return gcut_printf(u->m->arena, "%s, %s, %s", dim(u, gcut_dim_product(u->m, t->dim, axis)),
                       dim(u, t->dim[axis]),
                       dim(u, gcut_dim_product(u->m, t->dim + axis + 1, t->rank - axis - 1)));
}

static void emit_take(kernel *u)
{
    const char *px = packed(u, 0), *pi = packed(u, 1);
    const gcut_type *t = type_in(u, 0), *ti = type_in(u, 1);
    W(u, "    gcut_rt_take(sizeof(%s), %s, %s, %s, %d, %s, %s, args->fault, nt);\n", gcut_c_type(t->dtype),
      around_axis(u, t), px, pi, (int)gcut_dtype_bytes(ti->dtype), dim(u, gcut_type_numel(u->m, ti)),
      result(u));
}

static void emit_scatter(kernel *u)
{
    const gcut_type *t = type_in(u, 0), *ti = type_in(u, 1);
    const gcut_ref root = u->h->view[gcut_arg(u->g, u->n, 0)].root;
    if (gcut_root_is_const(u->h, root))
        fill(u, t, gcut_c_const(u->g, root), result(u));
    else if (!gcut_scatter_is_inplace(u->h, u->e->kernel))
        copy_into(u, 0, 0, gcut_view_contiguous(u->m, t, root).stride);
    const char *pi = packed(u, 1), *pu = packed(u, 2);
    W(u, "    gcut_rt_scatter_add_%s(%s, %s, %s, %d, %s, %s, args->fault, nt);\n", gcut_dtype_name(t->dtype),
      around_axis(u, t), result(u), pi, (int)gcut_dtype_bytes(ti->dtype), dim(u, gcut_type_numel(u->m, ti)),
      pu);
}

static void emit_cumsum(kernel *u)
{
    const char *src = packed(u, 0);
    const gcut_type *t = type_out(u);
    W(u, "    gcut_rt_cumsum_%s(%s, %d, %s, %s, nt);\n", gcut_dtype_name(t->dtype), around_axis(u, t),
      gcut_attr_flag(u->g, u->n, GCUT_KEY_reverse), src, result(u));
}

static void emit_reduce(kernel *u)
{
    const char *src;
    gcut_view v = operand(u, 0, &src);
    const gcut_type *t = type_in(u, 0);
    list(u, "dim", t->dim, t->rank);
    list(u, "from", v.stride, t->rank);
    W(u, "    gcut_rt_reduce_%s(GCUT_RT_%s, %u, dim, from, %#x, %s, %s, nt);\n", gcut_dtype_name(t->dtype),
      gcut_op_of(u->n)->cexpr, t->rank, gcut_attr_axes(u->g, u->n), shifted(u, src, v.offset), result(u));
}

/* ---- external kernels ---- */

/* "{(float *)b[0], GCUT_RT_F32, 2, {n[0], n[1]}}," */
static void tensor(const kernel *u, gcut_ref v, const char *pointer)
{
    const gcut_type *t = gcut_type_of(u->g, v);
    const char *name = gcut_dtype_name(t->dtype);
    W(u, "        {%s, GCUT_RT_", pointer);
    for (const char *s = name; *s; s++) W(u, "%c", *s >= 'a' && *s <= 'z' ? *s - 'a' + 'A' : *s);
    W(u, ", %u, {%s}},\n", t->rank, dims(u, t->dim, t->rank));
}

static void emit_external(kernel *u)
{
    W(u, "    const gcut_rt_tensor in[] = {\n");
    for (uint32_t k = 0; k < u->n->nargs; k++) {
        const char *at = packed(u, k);
        tensor(u, gcut_arg(u->g, u->n, k), at);
    }
    if (!u->n->nargs) W(u, "        {NULL, 0, 0, {0}},\n");
    W(u, "    };\n    const gcut_rt_tensor out[] = {\n");
    for (uint32_t k = 0; k < u->n->nres; k++) tensor(u, u->n->res0 + k, result_at(u, k));
    W(u, "    };\n    const gcut_rt_external call = {in, out, %u, %u, nt};\n    " GCUT_C_NAME "%s(&call);\n",
      u->n->nargs, u->n->nres, gcut_external_kernel(u->g, u->n));
}

/* ---- attention ---- */

/* ".q = {…}," */
static void strides(const kernel *u, const char *field, const gcut_view *v)
{
    W(u, "        .%s = {%s},\n", field, dims(u, v->stride, 4));
}

static void attention_sizes(const kernel *u)
{
    const gcut_type *q = type_in(u, 0), *v = type_in(u, 2);
    const gcut_attr *scale = gcut_attr_get(u->g, u->n, GCUT_KEY_scale);
    W(u, "        .batch = %s, .heads = %s, .groups = %s,\n", dim(u, q->dim[0]), dim(u, q->dim[1]),
      dim(u, v->dim[1]));
    W(u, "        .t = %s, .s = %s, .d = %s, .e = %s,\n", dim(u, q->dim[2]), dim(u, v->dim[2]),
      dim(u, q->dim[3]), dim(u, v->dim[3]));
    W(u, "        .causal = %d, .scale = %s,\n", gcut_attr_flag(u->g, u->n, GCUT_KEY_causal),
      scale ? gcut_c_attr(u->g, u->n, GCUT_KEY_scale, GCUT_F64)
            : gcut_printf(u->m->arena, "1 / sqrt((double)(%s))", dim(u, q->dim[3])));
}

/* Operands q, k, v[, bias][, dy], then the results: the call's pointers in the order of its arguments. */
static void emit_attention(kernel *u)
{
    static const char *const fields[2][4] = {{"y"}, {"dq", "dk", "dv", "dbias"}};
    static const char *const inputs[] = {"q", "k", "v", "bias"};
    bool grad = u->u->kind == GCUT_KERNEL_ATTENTION_GRAD;
    uint32_t nx = u->n->nargs - grad;
    const char *at[9] = {"NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL"};
    W(u, "    const gcut_rt_attention of = {\n");
    attention_sizes(u);
    for (uint32_t k = 0; k < u->n->nargs; k++) {
        uint32_t slot = k < nx ? k : 4;
        gcut_view v = operand(u, k, &at[slot]);
        at[slot] = shifted(u, at[slot], v.offset);
        strides(u, k < nx ? inputs[k] : "y", &v);
    }
    for (uint32_t k = 0; k < u->n->nres; k++) {
        at[4 + grad + k] = result_at(u, k);
        strides(u, fields[grad][k], &u->h->view[u->n->res0 + k]);
    }
    gcut_team team = gcut_kernel_team(u->h, u->e->kernel);
    W(u, "        .work = %s,\n", dim(u, gcut_workspace_of(u->h, u->e->kernel).each));
    W(u, "    };\n    gcut_rt_attention%s_%s(&of", grad ? "_grad" : "", gcut_dtype_name(type_out(u)->dtype));
    for (uint32_t k = 0; k < (grad ? 9u : 5u); k++) W(u, ", %s", at[k]);
    W(u, ",\n        %s, %s);\n", u->u->scratch == GCUT_NONE ? "NULL" : gcut_c_arg(u->e, u->u->scratch),
      gcut_team_c(u->m, &team, gcut_c_size));
}

/* ---- any kernel ---- */

static kernel kernel_of(gcut_emitter *e)
{
    const gcut_kernel *w = &e->h->kernels.at[e->kernel];
    kernel u = {e, e->h, e->h->g, e->p->module, w, NULL, e->body};
    if (w->kind != GCUT_KERNEL_COPY) u.n = gcut_node_at(u.g, w->nodes.at[0]);
    return u;
}

const char *gcut_emit_operand(gcut_emitter *e, uint32_t k)
{
    kernel u = kernel_of(e);
    return packed(&u, k);
}

const char *gcut_emit_result(gcut_emitter *e)
{
    kernel u = kernel_of(e);
    return result(&u);
}

static void emit_conv(kernel *u)
{
    gcut_emit_conv(u->e);
}

static void emit_pool(kernel *u)
{
    gcut_emit_pool(u->e);
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
    [GCUT_KERNEL_CONV] = emit_conv,
    [GCUT_KERNEL_POOL] = emit_pool,
    [GCUT_KERNEL_ATTENTION] = emit_attention,
    [GCUT_KERNEL_ATTENTION_GRAD] = emit_attention,
    [GCUT_KERNEL_EXTERNAL] = emit_external,
    [GCUT_KERNEL_COPY] = emit_copy,
};

/* For a debugger: <letter><v> points to the first element of v as the kernel finds it. */
static void name_buffer(const kernel *u, char letter, gcut_ref v, uint32_t buffer, const gcut_view *view)
{
    if (buffer == GCUT_NONE) return;
    const gcut_buffer *b = &u->e->p->buffers.at[buffer];
    if (b->kind == GCUT_BUFFER_ARENA && b->birth < 0) return; /* nothing reads it */
    const char *at = pointer_to(u, buffer);
    W(u, "    %s *const %c%u = %s;\n    (void)%c%u;\n", gcut_c_type(b->dtype), letter, v,
      view->bits ? at : shifted(u, at, view->offset), letter, v);
}

static void name_buffers(const kernel *u)
{
    for (uint32_t k = 0; u->n && k < u->n->nargs; k++) {
        uint32_t buffer, i = 0;
        gcut_view view = operand_in(u, k, &buffer);
        while (gcut_arg(u->g, u->n, i) != gcut_arg(u->g, u->n, k)) i++;
        if (i == k) name_buffer(u, 'a', gcut_arg(u->g, u->n, k), buffer, &view);
    }
    for (uint32_t k = 0; u->n && k < u->n->nres; k++) {
        const gcut_view *view = &u->h->view[u->n->res0 + k];
        if (!gcut_kernel_omits(u->u, k)) name_buffer(u, 'o', u->n->res0 + k, u->h->buffer[view->root], view);
    }
    if (!u->n) name_buffer(u, 'o', u->u->copy.value, u->u->copy.to, &(gcut_view){0});
}

static void begin_function(const kernel *u)
{
    W(u,
      "GCUT_RT_LOCAL void %s_f" GCUT_C_LABEL "(const gcut_rt_args *args)\n{\n" GCUT_C_ARGUMENTS
      "    const int nt = args->x->plan->threads;\n"
      "    (void)nt;\n",
      u->e->prefix);
    if (u->e->all->line) name_buffers(u);
    const gcut_node *n = u->n ? u->n : gcut_def(u->g, u->u->copy.value);
    W(u, "%s", gcut_c_line(u->e, n ? n->loc : 0));
}

static void end_function(const kernel *u)
{
    W(u, "%s}\n\n", gcut_c_line(u->e, 0));
}

uint32_t gcut_emit_kernel(gcut_emitter *e)
{
    kernel u = kernel_of(e);
    begin_function(&u);
    emitters[u.u->kind](&u);
    end_function(&u);
    return gcut_c_function(e, GCUT_FUNCTION_KERNEL);
}

uint32_t gcut_emit_tiles(gcut_emitter *e, const gcut_loop_writer *w, uint32_t loop)
{
    kernel u = kernel_of(e);
    gcut_team team = gcut_kernel_team(w->l->h, w->l->kernel);
    uint32_t last = 1 + (gcut_kernel_prologue(u.u) != NULL);
    const char *pa, *pb, *pc, *t = gcut_dtype_name(gcut_type_of(u.g, u.n->res0)->dtype);
    const char *rows = e->all->functions.at[loop].label;
    const char *threads = gcut_team_c(u.m, &team, gcut_c_size);
    begin_function(&u);
    describe_gemm(&u, &pa, &pb, &pc);
    if (!w->columns) W(&u, "    if (gcut_rt_tiles(%s, nt)) {\n", dim(&u, w->l->u->loop.rows));
    W(&u, "    gcut_rt_gemm_tiled_%s(&g, %s, %s, %s, %s_f%s_rows, (void *)(args + %u), %d, %s);\n", t, pa, pb,
      pc, e->prefix, rows, last, !w->columns, threads);
    if (!w->columns) {
        team.tiled = false;
        W(&u,
          "    } else {\n    gcut_rt_gemm_%s(&g, %s, %s, %s, nt);\n"
          "    gcut_rt_rows(%s_f%s_rows, args + %u, %s, %s);\n    }\n",
          t, pa, pb, pc, e->prefix, rows, last, dim(&u, w->l->u->loop.rows),
          gcut_team_c(u.m, &team, gcut_c_size));
    }
    end_function(&u);
    return gcut_c_function(e, GCUT_FUNCTION_KERNEL);
}
