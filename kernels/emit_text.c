/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pieces of C: types, names, numbers, expressions.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gradcut/gradcut_rt.h"
#include "graph/text.h"
#include "kernels/lower.h"

const char *gcut_c_type(gcut_dtype t)
{
    static const char *const names[GCUT_NDTYPES] = {
#define DTYPE(id, size, class, ctype, npy) [GCUT_##id] = #ctype,
#include "graph/dtype.def"
#undef DTYPE
    };
    return names[t];
}

const char *gcut_c_local(gcut_dtype t)
{
    return t == GCUT_bool ? "int" : gcut_c_type(t);
}

const char *gcut_c_dim(gcut_module *m, gcut_dim d)
{
    gcut_text t = {.arena = m->arena};
    if (gcut_dim_known(d) && d <= INT32_MAX) return gcut_printf(m->arena, "%d", (int)d);
    gcut_dim_print_c(m->dims, d, "x->d_", &t);
    return t.at;
}

const char *gcut_c_number(gcut_module *m, double x, gcut_dtype t)
{
    if (!gcut_dtype_is_float(t)) {
        if (x == (double)INT64_MIN) return "INT64_MIN";
        return gcut_printf(m->arena, t == GCUT_i64 ? "INT64_C(%lld)" : "%lld", (long long)x);
    }
    if (t == GCUT_f16) return gcut_printf(m->arena, "%#x", gcut_to_f16_f64(x));
    if (t == GCUT_bf16) return gcut_printf(m->arena, "%#x", gcut_to_bf16_f64(x));
    const char *suffix = t == GCUT_f32 ? "f" : "";
    if (isnan(x)) return "NAN";
    if (isinf(x) || (t == GCUT_f32 && isinf((float)x))) return x > 0 ? "INFINITY" : "-INFINITY";
    char buf[40];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(buf, sizeof buf, "%.*g", digits, x);
        if (t == GCUT_f32 ? strtof(buf, NULL) == (float)x : strtod(buf, NULL) == x) break;
    }
    return gcut_printf(m->arena, "%s%s%s", buf, strpbrk(buf, ".e") ? "" : ".0", suffix);
}

const char *gcut_c_attr(const gcut_graph *g, const gcut_node *n, gcut_attr_key key, gcut_dtype t)
{
    const gcut_attr *a = gcut_attr_get(g, n, key);
    if (t == GCUT_i64 && a->u.num.is_int && a->u.num.i != INT64_MIN)
        return gcut_printf(g->module->arena, "INT64_C(%lld)", (long long)a->u.num.i);
    return gcut_c_number(g->module, a->u.num.f, t);
}

/* x between the bounds of an integer dtype, rounded up for a lower bound and down for an upper one. */
static int64_t saturated(const gcut_num *x, bool up, gcut_dtype t)
{
    double f = up ? ceil(x->f) : floor(x->f);
    int64_t i = x->is_int ? x->i : gcut_to_i64(f);
    switch (t) {
    case GCUT_i8: return gcut_clamp_i64(i, INT8_MIN, INT8_MAX);
    case GCUT_i16: return gcut_clamp_i64(i, INT16_MIN, INT16_MAX);
    case GCUT_i32: return gcut_clamp_i64(i, INT32_MIN, INT32_MAX);
    case GCUT_u8: return gcut_clamp_i64(i, 0, UINT8_MAX);
    default: return i;
    }
}

/* lo/hi of clamp; absent = the dtype's own bound. */
static const char *bound(const gcut_graph *g, const gcut_node *n, gcut_attr_key key, gcut_dtype t)
{
    const gcut_attr *a = gcut_attr_get(g, n, key);
    bool lo = key == GCUT_A_lo;
    if (gcut_dtype_is_float(t)) return a ? gcut_c_attr(g, n, key, t) : lo ? "-INFINITY" : "INFINITY";
    gcut_num none = {.is_int = true, .i = lo ? INT64_MIN : INT64_MAX};
    int64_t i = saturated(a ? &a->u.num : &none, lo, t);
    if (i == INT64_MIN) return "INT64_MIN";
    return gcut_printf(g->module->arena, "INT64_C(%lld)", (long long)i);
}

/* $key in the C column: a size, a number of dtype t, or which form of a function. */
static const char *attribute(const gcut_graph *g, const gcut_node *n, const char *name, size_t len,
                             gcut_dtype t)
{
    gcut_attr_key key;
    bool known = gcut_attr_parse(name, len, &key);
    GCUT_ASSERT(known);
    const gcut_attr *a = gcut_attr_get(g, n, key);
    if (a && a->kind == GCUT_K_DIM) return gcut_c_dim(g->module, a->u.dim);
    if (a && a->kind == GCUT_K_STR)
        return strcmp(a->u.str, "none") ? gcut_printf(g->module->arena, "_%s", a->u.str) : "";
    return key == GCUT_A_lo || key == GCUT_A_hi ? bound(g, n, key, t) : gcut_c_attr(g, n, key, t);
}

const char *gcut_c_const(const gcut_graph *g, gcut_ref root)
{
    const gcut_node *n = gcut_def(g, root);
    gcut_dtype t = gcut_type_of(g, root)->dtype;
    const char *key = gcut_op_get((gcut_op)n->op)->cexpr + 1; /* behind its $ */
    return attribute(g, n, key, strlen(key), t);
}

/* x of dtype `from` in dtype `to`.  An f16 or bf16 is held as its bits, and goes by way of f32, which has all
 * of them; an integer of more than 16 bits goes to them by way of f64, rounded to odd if it has to be
 * rounded. */
static const char *conversion(gcut_arena *a, gcut_dtype from, gcut_dtype to, const char *x)
{
    if (from == to) return x;
    if (gcut_dtype_is_half(from)) {
        x = gcut_printf(a, "gcut_from_%s(%s)", gcut_dtype_name(from), x);
        from = GCUT_f32;
    }
    if (gcut_dtype_is_half(to)) {
        if (from == GCUT_i64) x = gcut_printf(a, "gcut_odd_f64(%s)", x);
        bool wide = from == GCUT_f64 || (!gcut_dtype_is_float(from) && gcut_dtype_bytes(from) > 2);
        return gcut_printf(a, "gcut_to_%s_%s((%s)(%s))", gcut_dtype_name(to), wide ? "f64" : "f32",
                           wide ? "double" : "float", x);
    }
    if (to == GCUT_bool) return gcut_printf(a, "(%s != 0)", x);
    if (gcut_dtype_is_float(from) && gcut_dtype_is_int(to))
        return gcut_printf(a, "gcut_to_%s(%s)", gcut_dtype_name(to), x);
    return gcut_printf(a, "((%s)(%s))", gcut_c_type(to), x);
}

const char *gcut_c_expr(const gcut_graph *g, const gcut_node *n, const char *const *arg)
{
    const gcut_op_info *info = gcut_op_get((gcut_op)n->op);
    gcut_text out = {.arena = g->module->arena};
    gcut_dtype to = gcut_type_of(g, n->res0)->dtype, from = gcut_type_of(g, gcut_arg(g, n, 0))->dtype;
    if (info->emit == GCUT_EMIT_VIEW) return arg[0]; /* a copy in row-major order */
    if (info->emit == GCUT_EMIT_CAST) return conversion(g->module->arena, from, to, arg[0]);
    for (const char *s = info->cexpr; *s; s++) {
        if (*s == '@') {
            gcut_text_add(&out, "_%s", gcut_dtype_name(from));
        } else if (*s != '$') {
            gcut_text_addn(&out, s, 1);
        } else if (isdigit((unsigned char)s[1])) {
            gcut_text_add(&out, "%s", arg[*++s - '0']);
        } else if (s[1] == 'T') {
            gcut_text_add(&out, "%s", gcut_c_type(to));
            s++;
        } else if (s[1] == 'D') {
            gcut_text_add(&out, "%s", gcut_dtype_name(to));
            s++;
        } else {
            size_t k = strspn(s + 1, "abcdefghijklmnopqrstuvwxyz_");
            gcut_text_add(&out, "%s", attribute(g, n, s + 1, k, from));
            s += k;
        }
    }
    return out.at;
}

uint32_t gcut_c_slot(const gcut_program *p, uint32_t buffer)
{
    uint32_t slot = 0;
    for (uint32_t i = 0; i < buffer; i++)
        slot += p->buffers.at[i].kind == GCUT_P_ARENA && p->buffers.at[i].birth >= 0;
    return slot;
}

const char *gcut_c_arg(gcut_emitter *e, uint32_t buffer)
{
    uint32_t k = 0;
    while (k < e->args.n && e->args.at[k] != buffer) k++;
    if (k == e->args.n) *GCUT_PUSH(e->p->module->arena, &e->args) = buffer;
    return gcut_printf(e->p->module->arena, "b[%u]", k);
}

const char *gcut_c_pointer(const gcut_program *p, uint32_t buffer)
{
    gcut_module *m = p->module;
    const gcut_buffer *b = &p->buffers.at[buffer];
    if (b->kind == GCUT_P_BOUND)
        return gcut_printf(m->arena, "(void *)x->io->%s", p->bindings.at[b->binding].field);
    if (b->kind == GCUT_P_ARENA)
        return gcut_printf(m->arena, "x->arena + x->plan->off[%u]", gcut_c_slot(p, buffer));
    const gcut_half *body = p->halves.at[b->half];
    const gcut_unit *loop = &p->halves.at[body->parent]->units.at[body->owner];
    gcut_dim size = gcut_dtype_bytes(b->dtype), start = gcut_dim_make(m->dims, GCUT_DIM_MUL, b->start, size);
    gcut_dim step = gcut_dim_make(m->dims, GCUT_DIM_MUL, b->step, size);
    gcut_text t = {.arena = m->arena};
    gcut_text_add(&t, "(char *)%s", gcut_c_pointer(p, b->whole));
    if (start != 0) gcut_text_add(&t, " + (%s)", gcut_c_dim(m, start));
    if (step != 0) gcut_text_add(&t, " + i%d * (%s)", loop->step, gcut_c_dim(m, step));
    return t.at;
}

const char *gcut_c_args(const gcut_emitter *e)
{
    gcut_text t = {.arena = e->p->module->arena};
    for (uint32_t k = 0; k < e->args.n; k++) {
        gcut_text_add(&t, k ? ", " : "{");
        gcut_text_add(&t, "%s", gcut_c_pointer(e->p, e->args.at[k]));
    }
    gcut_text_add(&t, e->args.n ? "}" : "{0}");
    return t.at;
}

/* ---- one function for equal kernels ---- */

/* Is it one of ours: a class of variable followed by the number of a value, as in v12 or acc7? */
static size_t numbered(const char *s, size_t n)
{
    static const char *const classes[] = {"v", "a", "o", "s", "q", "acc", "part", "sum", "fault"};
    size_t k = n;
    while (k > 0 && isdigit((unsigned char)s[k - 1])) k--;
    for (size_t i = 0; k > 0 && k < n && i < sizeof classes / sizeof *classes; i++)
        if (strlen(classes[i]) == k && !memcmp(classes[i], s, k)) return k;
    return 0;
}

/* Value numbers become 0, 1, … in order of appearance, so that equal kernels have equal text. */
static const char *renumber(gcut_arena *a, uint32_t nvalues, const char *s)
{
    uint32_t *local = gcut_calloc(a, nvalues + 1, sizeof *local), next = 0;
    gcut_text out = {.arena = a};
    while (*s) {
        size_t n = 0;
        while (isalnum((unsigned char)s[n]) || s[n] == '_') n++;
        size_t k = n ? numbered(s, n) : 0;
        if (k) {
            unsigned long v = strtoul(s + k, NULL, 10);
            GCUT_ASSERT(v < nvalues);
            if (!local[v]) local[v] = ++next;
            gcut_text_add(&out, "%.*s%u", (int)k, s, local[v] - 1);
        } else {
            gcut_text_addn(&out, s, n ? n : 1);
        }
        s += n ? n : 1;
    }
    return out.at;
}

static uint64_t hash_of(const char *s) /* FNV-1a */
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (; *s; s++) h = (h ^ (unsigned char)*s) * UINT64_C(1099511628211);
    return h;
}

uint32_t gcut_c_function(gcut_emitter *e)
{
    gcut_arena *a = e->p->module->arena;
    const char *text = renumber(a, e->h->g->values.n, e->body->at);
    uint64_t hash = hash_of(text);
    for (uint32_t i = 0; i < e->functions->n; i++)
        if (e->functions->at[i].hash == hash && !strcmp(e->functions->at[i].text, text)) return i;
    uint32_t number = e->functions->n;
    *GCUT_PUSH(a, e->functions) = (gcut_function){text, hash};
    for (const char *s = text; *s; s++)
        if (*s == 1)
            gcut_text_add(e->c, "%u", number);
        else
            gcut_text_addn(e->c, s, 1);
    return number;
}

const char *gcut_c_place(const gcut_graph *g, gcut_locid loc)
{
    gcut_place at = gcut_loc_place(g->module, loc);
    if (!at.file || !at.line) return "";
    gcut_text t = {.arena = g->module->arena};
    for (const char *s = at.file; *s; s++) /* goes into a string literal and a comment */
        gcut_text_addn(&t, isalnum((unsigned char)*s) || strchr("._-/+", *s) ? s : "_", 1);
    gcut_text_add(&t, ":%d:%d", at.line, at.col);
    return t.at;
}

void gcut_c_fault(gcut_emitter *e, const gcut_node *n, gcut_dim limit)
{
    const gcut_graph *g = e->h->g;
    const char *name = g->values.at[n->res0].name, *op = gcut_op_get((gcut_op)n->op)->name;
    size_t all = strlen(name), tail = strlen(op) + 1;
    /* What an expansion made is called <value>.<op>: its user knows the value alone.  Names need no escapes.
     */
    bool inner = all > tail && name[all - tail] == '.' && !strcmp(name + all - tail + 1, op);
    gcut_text_add(e->call,
                  "    if (x->fault[%u].at != INT64_MAX)\n"
                  "        return gcut_rt_fail(err, GCUT_RT_EINDEX, \"%s%s%%%.*s\", \"%s\", "
                  "x->fault[%u].found, 0, %s);\n",
                  *e->faults, inner ? "" : op, inner ? "" : " ", (int)(inner ? all - tail : all), name,
                  gcut_c_place(g, n->loc), *e->faults, gcut_c_dim(g->module, limit));
    ++*e->faults;
}

static void comment_nodes(gcut_emitter *e, const uint32_t *node, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        gcut_text line = {.arena = e->p->module->arena};
        const gcut_node *n = gcut_node_at(e->h->g, node[i]);
        gcut_print_node(e->h->g, node[i], &line);
        for (char *s = line.at; *s; s++) /* hostile text must not end the comment */
            if (*s == '*' && s[1] == '/') *s = '.';
        gcut_text_add(e->call, "     *   %s   %s\n", line.at, gcut_c_place(e->h->g, n->loc));
    }
}

void gcut_c_comment(gcut_emitter *e, const char *kind)
{
    const gcut_unit *u = &e->h->units.at[e->unit];
    gcut_text_add(e->call, "    /* k%u: %s\n", e->number, kind);
    for (uint32_t k = 0; k < 2; k++) {
        if (!u->chain[k]) continue;
        gcut_text_add(e->call, "     * its %s operand, computed while it is packed:\n", k ? "right" : "left");
        comment_nodes(e, u->chain[k]->nodes.at, u->chain[k]->nodes.n);
        gcut_text_add(e->call, "     * the product:\n");
    }
    comment_nodes(e, u->nodes.at, u->nodes.n);
    gcut_text_add(e->call, "     */\n");
}
