/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The call that makes a node: the op's own function where it makes that node and nothing else, else gcut_apply, which takes
 * every op with its attributes as text.
 */
#include "driver/calls/calls.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>

#include "driver/builder/builder_op.h"
#include "driver/builder/op_signature.h"
#include "text/text.h"

/* ---- attributes ---- */

/* The dtype by which the builder makes a number of this node. */
static gcut_dtype number_dtype(const gcut_graph *g, const gcut_node *n)
{
    const gcut_attr *dtype = gcut_attr_get(g, n, GCUT_KEY_dtype);
    gcut_dtype t = GCUT_F32;
    if (dtype) gcut_dtype_parse(dtype->u.str, &t);
    return dtype || !n->nargs ? t : gcut_type_of(g, gcut_arg(g, n, 0))->dtype;
}

/* The attribute as the node has it, without its default; NULL: it has none. */
static const gcut_attr *given(const gcut_graph *g, const gcut_node *n, gcut_attr_key key)
{
    for (uint32_t i = 0; i < n->nattrs; i++)
        if (g->attrs.at[n->attr0 + i].key == key) return &g->attrs.at[n->attr0 + i];
    return NULL;
}

/* Does a parameter give the node this attribute?  may_be_none: an empty list means that there is none. */
static bool fits(const gcut_calls_scope *s, const gcut_node *n, const gcut_attr *a, bool may_be_none)
{
    gcut_attr made;
    switch (gcut_attr_form_of(a->key)) {
    case GCUT_ATTR_FORM_AXIS: return gcut_dim_known(a->u.dim);
    case GCUT_ATTR_FORM_SIZE: return gcut_calls_has_size(s, a->u.dim);
    case GCUT_ATTR_FORM_AXES:
    case GCUT_ATTR_FORM_SIZES:
        for (uint32_t i = 0; i < a->n; i++)
            if (!gcut_calls_has_size(s, a->u.dims[i])) return false;
        return a->n || !may_be_none;
    case GCUT_ATTR_FORM_NUMBER:
        made = gcut_builder_number(a->key, number_dtype(s->g, n), a->u.num.f);
        return isfinite(a->u.num.f) && gcut_attr_equal(&made, a) &&
               (made.u.num.is_int == a->u.num.is_int || !given(s->g, n, a->key));
    default: return true;
    }
}

static const char *number_text(gcut_arena *a, const gcut_num *x)
{
    gcut_text t = {.arena = a};
    if (x->is_int) return gcut_printf(a, "%" PRId64, x->i);
    gcut_print_double(x->f, GCUT_F64, &t);
    return t.at;
}

/* As an argument; a list between `open` and `close`. */
static const char *attr_text(gcut_calls_scope *s, const gcut_attr *a, const char *open, const char *close)
{
    gcut_arena *arena = s->file->a;
    gcut_dtype t = GCUT_F32;
    switch (gcut_attr_form_of(a->key)) {
    case GCUT_ATTR_FORM_AXIS:
    case GCUT_ATTR_FORM_SIZE: return gcut_calls_size(s, a->u.dim);
    case GCUT_ATTR_FORM_AXES:
    case GCUT_ATTR_FORM_SIZES:
        if (a->key == GCUT_KEY_shape && !a->n && *open) return "GCUT_SCALAR";
        return gcut_printf(arena, "%s%s%s", open, gcut_calls_sizes(s, a->u.dims, a->n), close);
    case GCUT_ATTR_FORM_NUMBER: return number_text(arena, &a->u.num);
    case GCUT_ATTR_FORM_FLAG: return a->u.flag ? "true" : "false";
    case GCUT_ATTR_FORM_TEXT: return gcut_calls_quoted(arena, a->u.str);
    case GCUT_ATTR_FORM_DTYPE:
    default: gcut_dtype_parse(a->u.str, &t); return gcut_calls_dtype(arena, t);
    }
}

/* ---- functions of gradcut/ops.h ---- */

bool gcut_calls_is_own(const gcut_calls_scope *s, gcut_ref v)
{
    if (!s->outer || gcut_def(s->g, v)) return true;
    return s->g->values.at[v].index < s->g->params.n - s->node->ncaptured;
}

/* The function of an op builds in the innermost graph of its operands, broadcasts those of elementwise ops, and makes no
 * cast to the dtype that its operand has. */
static bool makes_one_node(const gcut_calls_scope *s, const gcut_node *n)
{
    const gcut_op_info *info = gcut_op_get((gcut_op)n->op);
    bool here = n->nargs == 0, same = true;
    for (uint32_t i = 0; i < n->nargs; i++) {
        const gcut_ref v = gcut_arg(s->g, n, i);
        here |= gcut_calls_is_own(s, v);
        same = same && gcut_shape_equal(gcut_type_of(s->g, v), gcut_type_of(s->g, gcut_arg(s->g, n, 0)));
    }
    if (!here || (info->elementwise && !same)) return false;
    return info->emit != GCUT_EMIT_CAST ||
           !gcut_type_equal(gcut_type_of(s->g, n->res0), gcut_type_of(s->g, gcut_arg(s->g, n, 0)));
}

static bool signature_fits(const gcut_calls_scope *s, const gcut_node *n, const gcut_op_signature *f)
{
    const bool is_struct = gcut_signature_has_struct(f);
    if (n->nargs < f->nin || n->nargs > f->nin + f->nmay) return false;
    for (uint32_t i = 0; i < f->nmust; i++) {
        const gcut_attr *a = gcut_attr_get(s->g, n, f->must[i]->key);
        const bool may_be_none = !f->must[i]->required && gcut_attr_is_list(f->must[i]->key);
        if (a ? !fits(s, n, a, may_be_none) : !may_be_none) return false;
    }
    for (uint32_t i = 0; i < f->nmay_attrs; i++) {
        const gcut_attr_spec *spec = f->may[i];
        const gcut_attr *a = given(s->g, n, spec->key);
        const gcut_attr_form form = gcut_attr_form_of(spec->key);
        if (a && !fits(s, n, a, true)) return false;
        if (!is_struct) continue;
        if (a && form == GCUT_ATTR_FORM_SIZE && a->u.dim == 0) return false;
        /* its zero is no default: a flag, say, that is true unless it is given */
        if (!a &&
            (form == GCUT_ATTR_FORM_FLAG ? spec->value.u.flag
                                         : form != GCUT_ATTR_FORM_NUMBER && form != GCUT_ATTR_FORM_TEXT &&
                                               form != GCUT_ATTR_FORM_SIZE && !gcut_attr_is_list(spec->key)))
            return false;
    }
    return true;
}

static void add_member(gcut_text *t, const char *name, const char *value)
{
    gcut_text_add(t, "%s.%s = %s", t->n ? ", " : "", name, value);
}

/* The struct of options; NULL where all are their defaults. */
static const char *options_text(gcut_calls_scope *s, const gcut_node *n, const gcut_op_signature *f)
{
    gcut_text t = {.arena = s->file->a};
    for (uint32_t i = 0; i < f->nmay_attrs; i++) {
        const gcut_attr *a = given(s->g, n, f->may[i]->key);
        if (!a) continue;
        const bool zero = a->kind == GCUT_ATTR_KIND_NUM && a->u.num.f == 0;
        add_member(&t, gcut_attr_name(a->key), zero ? "GCUT_ZERO" : attr_text(s, a, "GCUT_SHAPE(", ")"));
    }
    for (uint32_t i = f->nin; i < n->nargs; i++)
        add_member(&t, f->operand[i], gcut_calls_value(s, gcut_arg(s->g, n, i)));
    return t.n ? gcut_printf(s->file->a, "(gcut_%s_options){%s}", f->name, t.at) : NULL;
}

static void add_argument(gcut_text *t, const char *text)
{
    if (text && *text) gcut_text_add(t, "%s%s", t->n ? ", " : "", text);
}

/* gcut_<op>(…); NULL where it would make another node, or would not give all results. */
static const char *call_of_function(gcut_calls_scope *s, const gcut_node *n)
{
    if (n->nres != 1) return NULL;
    const gcut_op_signature f = gcut_op_signature_of(s->file->m, (gcut_op)n->op);
    const bool open = gcut_signature_is_open(&f);
    gcut_text t = {.arena = s->file->a};
    if (!signature_fits(s, n, &f)) return NULL;
    if (!f.nin) add_argument(&t, gcut_calls_graph(s));
    for (uint32_t i = 0; i < f.nin; i++) add_argument(&t, gcut_calls_value(s, gcut_arg(s->g, n, i)));
    for (uint32_t i = 0; i < f.nmust; i++) {
        const gcut_attr *a = gcut_attr_get(s->g, n, f.must[i]->key);
        add_argument(&t, !a     ? open ? "" : "GCUT_SHAPE()"
                         : open ? attr_text(s, a, "", "")
                                : attr_text(s, a, "GCUT_SHAPE(", ")"));
    }
    if (gcut_signature_has_struct(&f)) add_argument(&t, options_text(s, n, &f));
    if (gcut_signature_has_default(&f) && f.nmay_attrs && given(s->g, n, f.may[0]->key))
        add_argument(&t, attr_text(s, given(s->g, n, f.may[0]->key), "GCUT_SHAPE(", ")"));
    const bool keep = f.reduction && gcut_attr_flag(s->g, n, GCUT_KEY_keep);
    return gcut_printf(s->file->a, "gcut_%s%s(%s)", f.name, keep ? "_keep" : "", t.at);
}

/* ---- results ---- */

const char *gcut_calls_results(gcut_calls_scope *s, const gcut_node *n, uint32_t from)
{
    const uint32_t many = n->nres - from;
    if (!many) return "NULL";
    const char *array = gcut_calls_identifier(
        s->taken, gcut_printf(s->file->a, "out_%s", gcut_calls_called(s, n->res0 + from)));
    gcut_calls_add(s, many == 1 ? gcut_printf(s->file->a, "gcut_val %s", array)
                                : gcut_printf(s->file->a, "gcut_val %s[%u]", array, many));
    return many == 1 ? gcut_printf(s->file->a, "&%s", array) : array;
}

void gcut_calls_take_results(gcut_calls_scope *s, const gcut_node *n, uint32_t from, const char *array)
{
    for (uint32_t k = from; k < n->nres; k++)
        gcut_calls_define(s, n->res0 + k,
                          *array == '&' ? array + 1 : gcut_printf(s->file->a, "%s[%u]", array, k - from));
}

/* ---- functions written by hand ---- */

/* The key of an attribute that stands at `at`, after a $; n: of how many letters. */
static bool key_at(const char *at, gcut_attr_key *key, size_t *n)
{
    *n = strspn(at, "abcdefghijklmnopqrstuvwxyz_");
    return *n && gcut_attr_parse(at, *n, key);
}

/* Do the calls of the op table up to `|` have all attributes that the node has? */
static bool calls_fit(const gcut_calls_scope *s, const gcut_node *n, const char *form, size_t length)
{
    uint32_t have = 0;
    for (const char *c = form; c < form + length; c++) {
        gcut_attr_key key;
        size_t letters;
        if (*c != '$') continue;
        if (c[1] == '=')
            have = n->nattrs;
        else if (key_at(c + 1, &key, &letters))
            have += given(s->g, n, key) != NULL;
    }
    for (uint32_t i = 0; i < n->nattrs; i++)
        if (!fits(s, n, &s->g->attrs.at[n->attr0 + i], true)) return false;
    return have == n->nattrs;
}

static const char *members_text(gcut_calls_scope *s, const gcut_node *n)
{
    gcut_text t = {.arena = s->file->a};
    for (uint32_t i = 0; i < n->nattrs; i++) {
        const gcut_attr *a = &s->g->attrs.at[n->attr0 + i];
        add_member(&t, gcut_attr_name(a->key), attr_text(s, a, "{", "}"));
    }
    return t.at;
}

/* *further: what gcut_calls_results returned for those after the first one. */
static const char *fill_in(gcut_calls_scope *s, const gcut_node *n, const char *form, size_t length,
                           const char **further)
{
    gcut_text t = {.arena = s->file->a};
    for (const char *c = form; c < form + length; c++) {
        gcut_attr_key key;
        size_t letters = 1;
        if (*c != '$') {
            gcut_text_addn(&t, c, 1);
            continue;
        }
        if (isdigit((unsigned char)c[1]))
            gcut_text_add(&t, "%s", gcut_calls_value(s, gcut_arg(s->g, n, (uint32_t)(c[1] - '0'))));
        else if (c[1] == '*')
            gcut_text_add(&t, "%s", gcut_calls_values(s, &s->g->args.at[n->arg0], n->nargs));
        else if (c[1] == '=')
            gcut_text_add(&t, "%s", members_text(s, n));
        else if (c[1] == '+')
            gcut_text_add(&t, "%s", *further = gcut_calls_results(s, n, 1));
        else if (key_at(c + 1, &key, &letters))
            gcut_text_add(&t, "%s", attr_text(s, gcut_attr_get(s->g, n, key), "GCUT_SHAPE(", ")"));
        c += letters;
    }
    return t.at;
}

static const char *call_by_hand(gcut_calls_scope *s, const gcut_node *n, const char **further)
{
    for (const char *form = gcut_op_get((gcut_op)n->op)->c_calls; *form;) {
        const size_t length = strcspn(form, "|");
        if (calls_fit(s, n, form, length)) return fill_in(s, n, form, length, further);
        form += length + (form[length] == '|');
    }
    return NULL;
}

/* ---- nodes ---- */

static const char *attributes_text(gcut_calls_scope *s, const gcut_node *n)
{
    gcut_text t = {.arena = s->file->a};
    return gcut_print_attrs(s->g, n, "", &t) ? gcut_calls_quoted(s->file->a, t.at) : "NULL";
}

void gcut_calls_op(gcut_calls_scope *s, const gcut_node *n)
{
    const gcut_op_info *info = gcut_op_get((gcut_op)n->op);
    const char *text = NULL, *further = NULL;
    if (makes_one_node(s, n)) text = info->c_name ? call_of_function(s, n) : call_by_hand(s, n, &further);
    if (text) {
        gcut_calls_define(s, n->res0, text);
        gcut_calls_take_results(s, n, 1, further);
        return;
    }
    const char *what =
        gcut_printf(s->file->a, "%s, \"%s\", %s, %s", gcut_calls_graph(s), info->name,
                    gcut_calls_values(s, &s->g->args.at[n->arg0], n->nargs), attributes_text(s, n));
    if (n->nres == 1) {
        gcut_calls_define(s, n->res0, gcut_printf(s->file->a, "gcut_apply(%s)", what));
        return;
    }
    const char *array = gcut_calls_results(s, n, 0);
    gcut_calls_add(s, gcut_printf(s->file->a, "gcut_apply_multi(%s, %s, %u)", what, array, n->nres));
    gcut_calls_take_results(s, n, 0, array);
}
