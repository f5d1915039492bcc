/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pieces of C: types, names, numbers, expressions.
 */
#include "kernels/lower/c_text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gradcut/gradcut_rt.h"
#include "text/text.h"

const char *gcut_c_type(gcut_dtype t)
{
    static const char *const names[GCUT_NDTYPES] = {
#define DTYPE(id, text, size, class, ctype, npy) [GCUT_##id] = #ctype,
#include "graph/ops/dtype.def"
#undef DTYPE
    };
    return names[t];
}

const char *gcut_c_local(gcut_dtype t)
{
    return t == GCUT_BOOL ? "int" : gcut_c_type(t);
}

const char *gcut_c_dim(gcut_module *m, gcut_dim d)
{
    gcut_text t = {.arena = m->arena};
    if (gcut_dim_known(d) && d <= INT32_MAX) return gcut_printf(m->arena, "%d", (int)d);
    gcut_dim_print_c(m->dims, d, "x->d_", &t);
    return t.at;
}

/* Between the marks of a number that a function is given. */
static const char *marked(gcut_module *m, int mark, gcut_dim d)
{
    if (gcut_dim_known(d)) return gcut_printf(m->arena, "%c%lld\3", mark, (long long)d);
    return gcut_printf(m->arena, "%c%s\3", mark, gcut_c_dim(m, d));
}

const char *gcut_c_size(gcut_module *m, gcut_dim d)
{
    return marked(m, 2, d);
}

const char *gcut_c_named(gcut_module *m, const char *name, gcut_dim d)
{
    return gcut_printf(m->arena, "\2%s:%s\3", name,
                       gcut_dim_known(d) ? gcut_printf(m->arena, "%lld", (long long)d) : gcut_c_dim(m, d));
}

const char *gcut_c_divisor(gcut_module *m, gcut_dim d)
{
    return marked(m, 5, d);
}

const char *gcut_c_kept(gcut_module *m, gcut_dim d)
{
    return gcut_dim_known(d) ? gcut_c_dim(m, d) : gcut_c_size(m, d);
}

const char *gcut_c_number(gcut_module *m, double x, gcut_dtype t)
{
    if (!gcut_dtype_is_float(t)) {
        if (x == (double)INT64_MIN) return "INT64_MIN";
        return gcut_printf(m->arena, t == GCUT_I64 ? "INT64_C(%lld)" : "%lld", (long long)x);
    }
    if (t == GCUT_F16) return gcut_printf(m->arena, "%#x", gcut_to_f16_f64(x));
    if (t == GCUT_BF16) return gcut_printf(m->arena, "%#x", gcut_to_bf16_f64(x));
    const char *suffix = t == GCUT_F32 ? "f" : "";
    if (isnan(x)) return "NAN";
    if (isinf(x) || (t == GCUT_F32 && isinf((float)x))) return x > 0 ? "INFINITY" : "-INFINITY";
    char buf[40];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(buf, sizeof buf, "%.*g", digits, x);
        if (t == GCUT_F32 ? strtof(buf, NULL) == (float)x : strtod(buf, NULL) == x) break;
    }
    return gcut_printf(m->arena, "%s%s%s", buf, strpbrk(buf, ".e") ? "" : ".0", suffix);
}

const char *gcut_c_attr(const gcut_graph *g, const gcut_node *n, gcut_attr_key key, gcut_dtype t)
{
    const gcut_attr *a = gcut_attr_get(g, n, key);
    if (t == GCUT_I64 && a->u.num.is_int && a->u.num.i != INT64_MIN)
        return gcut_printf(g->module->arena, "INT64_C(%lld)", (long long)a->u.num.i);
    return gcut_c_number(g->module, a->u.num.f, t);
}

/* x between the bounds of an integer dtype, rounded up for a lower bound and down for an upper one. */
static int64_t saturated(const gcut_num *x, bool up, gcut_dtype t)
{
    double f = up ? ceil(x->f) : floor(x->f);
    int64_t i = x->is_int ? x->i : gcut_to_i64(f);
    switch (t) {
    case GCUT_I8: return gcut_clamp_i64(i, INT8_MIN, INT8_MAX);
    case GCUT_I16: return gcut_clamp_i64(i, INT16_MIN, INT16_MAX);
    case GCUT_I32: return gcut_clamp_i64(i, INT32_MIN, INT32_MAX);
    case GCUT_U8: return gcut_clamp_i64(i, 0, UINT8_MAX);
    default: return i;
    }
}

/* lo/hi of clamp; absent = the dtype's own bound. */
static const char *bound(const gcut_graph *g, const gcut_node *n, gcut_attr_key key, gcut_dtype t)
{
    const gcut_attr *a = gcut_attr_get(g, n, key);
    bool lo = key == GCUT_KEY_lo;
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
    if (a && a->kind == GCUT_ATTR_KIND_DIM) return gcut_c_kept(g->module, a->u.dim);
    if (a && a->kind == GCUT_ATTR_KIND_STR)
        return strcmp(a->u.str, "none") ? gcut_printf(g->module->arena, "_%s", a->u.str) : "";
    return key == GCUT_KEY_lo || key == GCUT_KEY_hi ? bound(g, n, key, t) : gcut_c_attr(g, n, key, t);
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
    if (gcut_dtype_is_16bit_float(from)) {
        x = gcut_printf(a, "gcut_from_%s(%s)", gcut_dtype_name(from), x);
        from = GCUT_F32;
    }
    if (gcut_dtype_is_16bit_float(to)) {
        if (from == GCUT_I64) x = gcut_printf(a, "gcut_odd_f64(%s)", x);
        bool wide = from == GCUT_F64 || (!gcut_dtype_is_float(from) && gcut_dtype_bytes(from) > 2);
        return gcut_printf(a, "gcut_to_%s_%s((%s)(%s))", gcut_dtype_name(to), wide ? "f64" : "f32",
                           wide ? "double" : "float", x);
    }
    if (to == GCUT_BOOL) return gcut_printf(a, "(%s != 0)", x);
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

const char *gcut_c_arg(gcut_emitter *e, uint32_t buffer)
{
    uint32_t k = 0;
    while (k < e->args.n && e->args.at[k] != buffer) k++;
    if (k == e->args.n) *GCUT_PUSH(e->p->module->arena, &e->args) = buffer;
    return gcut_printf(e->p->module->arena, "b[%u]", k);
}

/* ---- one function for equal kernels ---- */

/* Is it one of ours: a class of variable followed by the number of a value, as in v12 or acc7? */
static size_t numbered(const char *s, size_t n)
{
    static const char *const classes[] = {"v", "a", "o", "s", "q", "w", "y", "acc", "part", "sum", "fault"};
    size_t k = n;
    while (k > 0 && isdigit((unsigned char)s[k - 1])) k--;
    for (size_t i = 0; k > 0 && k < n && i < sizeof classes / sizeof *classes; i++)
        if (strlen(classes[i]) == k && !memcmp(classes[i], s, k)) return k;
    return 0;
}

/* "_<name>" as an identifier; "_<name>_2", … where another value of the function is called so. */
static const char *named(gcut_arena *a, const char *name, gcut_strings *used)
{
    const char *base = gcut_c_name(a, name), *s = gcut_printf(a, "_%s", base);
    for (uint32_t k = 2, i = 0; i < used->n; i++) {
        if (strcmp(used->at[i], s) != 0) continue;
        s = gcut_printf(a, "_%s_%u", base, k++);
        i = UINT32_MAX; /* which the loop makes 0 */
    }
    *GCUT_PUSH(a, used) = s;
    return s;
}

void gcut_emission_reserve(gcut_emitter *e)
{
    gcut_arena *a = e->p->module->arena;
    gcut_emission *all = e->all;
    const uint32_t n = e->h->g->values.n;
    if (!all->number) all->number = gcut_calloc(a, e->p->buffers.n + 1, sizeof *all->number);
    if (all->nvalues >= n) return;
    all->local = gcut_calloc(a, n, sizeof *all->local);
    all->seen = gcut_calloc(a, n, sizeof *all->seen);
    all->nvalues = n;
}

/* Value numbers become 0, 1, … in order of appearance, so that equal kernels have equal text; or, with the
 * lines of the model, the values' names. */
static const char *renumber(gcut_emitter *e, const char *s)
{
    gcut_arena *a = e->p->module->arena;
    const gcut_graph *g = e->h->g;
    uint32_t next = 0;
    gcut_emission_reserve(e);
    const char **local = e->all->local;
    GCUT_VEC(unsigned long) met = {0};
    gcut_strings used = {0};
    gcut_text out = {.arena = a};
    while (*s) {
        size_t n = 0;
        while (isalnum((unsigned char)s[n]) || s[n] == '_') n++;
        size_t k = n ? numbered(s, n) : 0;
        if (k) {
            unsigned long v = strtoul(s + k, NULL, 10);
            GCUT_ASSERT(v < g->values.n);
            if (!local[v]) {
                local[v] =
                    e->all->line ? named(a, g->values.at[v].name, &used) : gcut_printf(a, "%u", next++);
                *GCUT_PUSH(a, &met) = v;
            }
            gcut_text_add(&out, "%.*s%s", (int)k, s, local[v]);
        } else {
            gcut_text_addn(&out, s, n ? n : 1);
        }
        s += n ? n : 1;
    }
    for (uint32_t i = 0; i < met.n; i++) local[met.at[i]] = NULL;
    return out.at;
}

static uint64_t hash_of(const char *s) /* FNV-1a */
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (; *s; s++) h = (h ^ (unsigned char)*s) * UINT64_C(1099511628211);
    return h;
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

/* What a function of e's text, behind its \4 or \6, takes: its buffers, and numbers as variables (\4) or,
 * where each stands in one place alone, as n[0], n[1], … (\6). */
typedef struct scope {
    int mark; /* 0: before the first function */
    gcut_text text;
    GCUT_VEC(uint32_t) numbers, divisors;
} scope;

static void end_scope(gcut_arena *a, scope *s, gcut_text *out)
{
    const char *text = s->text.at ? s->text.at : "";
    if (s->mark && strstr(text, "b[")) gcut_text_add(out, "    void *const *const b = args->b;\n");
    if (s->mark == 6 && s->numbers.n) gcut_text_add(out, "    const int64_t *const n = args->n;\n");
    for (uint32_t i = 0; s->mark == 4 && i < s->numbers.n; i++)
        gcut_text_add(out, "%sn%u = args->n[%u]%s", i ? ", " : "    const int64_t ", s->numbers.at[i],
                      s->numbers.at[i], i + 1 < s->numbers.n ? "" : ";\n");
    for (uint32_t i = 0; i < s->divisors.n; i++)
        gcut_text_add(out, "    const gcut_rt_divisor d%u = gcut_rt_divide_by(args->n[%u]);\n",
                      s->divisors.at[i], s->divisors.at[i]);
    gcut_text_addn(out, text, s->text.n);
    *s = (scope){.text.arena = a};
}

/* The number of an expression among those that e's function is given.  A divisor is prepared once, and what
 * has a name ("rows:…") is the same number wherever it stands. */
static uint32_t number_of(gcut_emitter *e, gcut_strings *known, bool divides, const char *expression)
{
    gcut_arena *a = e->p->module->arena;
    const char *value = strchr(expression, ':');
    const char *once = divides || value ? gcut_printf(a, "%d%s", divides, expression) : "";
    for (uint32_t i = 0; *once && i < known->n; i++)
        if (!strcmp(known->at[i], once)) return i;
    *GCUT_PUSH(a, &e->numbers) = value ? value + 1 : expression;
    *GCUT_PUSH(a, known) = once;
    return e->numbers.n - 1;
}

static void take_number(gcut_arena *a, scope *s, bool divides, uint32_t k)
{
    if (s->mark == 6 && !divides)
        gcut_text_add(&s->text, "n[%u]", k);
    else
        gcut_text_add(&s->text, "%s%u", divides ? "d" : "n", k);
    for (uint32_t i = 0; i < (divides ? s->divisors.n : s->numbers.n); i++)
        if ((divides ? s->divisors.at : s->numbers.at)[i] == k) return;
    if (divides)
        *GCUT_PUSH(a, &s->divisors) = k;
    else
        *GCUT_PUSH(a, &s->numbers) = k;
}

/* The text with its marks replaced; e->numbers: what the function is given. */
static const char *number_sizes(gcut_emitter *e, const char *s)
{
    gcut_arena *a = e->p->module->arena;
    gcut_text out = {.arena = a};
    scope now = {.text.arena = a};
    gcut_strings known = {0};
    e->numbers = (gcut_strings){0};
    for (; *s; s++) {
        if (*s == 4 || *s == 6) {
            end_scope(a, &now, &out);
            now.mark = *s;
        } else if (*s == 2 || *s == 5) {
            const char *end = strchr(s, 3);
            const char *expression = gcut_strndup(a, s + 1, (size_t)(end - s - 1));
            take_number(a, &now, *s == 5, number_of(e, &known, *s == 5, expression));
            s = end;
        } else {
            gcut_text_addn(&now.text, s, 1);
        }
    }
    end_scope(a, &now, &out);
    return out.at;
}

static void comment_nodes(const gcut_lowered *h, const uint32_t *node, uint32_t count, gcut_text *out)
{
    for (uint32_t i = 0; i < count; i++) {
        gcut_text line = {.arena = h->g->module->arena};
        gcut_print_node(h->g, node[i], &line);
        for (char *s = line.at; *s; s++) /* hostile text must not end the comment */
            if (*s == '*' && s[1] == '/') *s = '.';
        gcut_text_add(out, " *   %s   %s\n", line.at, gcut_c_place(h->g, gcut_node_at(h->g, node[i])->loc));
    }
}

enum { LABEL = 40 }; /* bytes of a value's name in a label */

/* Letters of other than C's names become _: the number tells labels apart. */
static const char *label_of(gcut_arena *a, uint32_t number, const gcut_graph *g, const gcut_kernel *u)
{
    const char *value =
        u->nodes.n ? g->values.at[gcut_node_at(g, u->nodes.at[u->nodes.n - 1])->res0].name : "copy";
    char *label = gcut_printf(a, "%u_%.*s", number, LABEL, value);
    for (char *s = label; *s; s++)
        if (!isalnum((unsigned char)*s)) *s = '_';
    return label;
}

uint32_t gcut_c_function(gcut_emitter *e, gcut_function_type type)
{
    gcut_arena *a = e->p->module->arena;
    const gcut_kernel *u = e->prologue ? &e->prologue->loop : &e->h->kernels.at[e->kernel];
    const char *text = number_sizes(e, renumber(e, e->body->at));
    uint64_t hash = hash_of(text);
    gcut_functions *f = &e->all->functions;
    for (uint32_t i = 0; i < f->n; i++)
        if (f->at[i].hash == hash && !strcmp(f->at[i].text, text)) return i;
    uint32_t number = f->n;
    const char *label = label_of(a, number, e->h->g, u);
    gcut_text about = {.arena = a};
    gcut_text_add(&about, "/* f%s: of k%u and its like\n", label, e->number);
    comment_nodes(e->h, u->nodes.at, u->nodes.n, &about);
    gcut_text_add(&about, " */\n");
    *GCUT_PUSH(a, f) =
        (gcut_function){.text = text, .label = label, .about = about.at, .hash = hash, .type = type};
    return number;
}
