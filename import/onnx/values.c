/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The values of a model by name, and what nodes read and set: as constants, or as values of a graph.
 */
#include "import/onnx/scope.h"

#include <string.h>

#include "base/names.h"
#include "import/onnx/known.h"

/* ---- names ---- */

const char *gcut_onnx_as_name(gcut_onnx *o, const char *name)
{
    return gcut_onnx_text_name(o->arena, name);
}

static const char *intern(gcut_onnx *o, const char *name)
{
    return gcut_intern(&o->names, name, strlen(name));
}

/* ---- scopes ---- */

static gcut_onnx_value *find_here(const gcut_onnx_scope *s, const char *interned)
{
    const uint32_t i = gcut_map_get(&s->by_name, gcut_map_key(interned));
    return i ? s->value.at[i - 1] : NULL;
}

gcut_onnx_value *gcut_onnx_find_here(gcut_onnx *o, const gcut_onnx_scope *s, const char *name)
{
    return find_here(s, intern(o, name));
}

gcut_onnx_value *gcut_onnx_find(gcut_onnx *o, gcut_onnx_scope *s, const char *name)
{
    const char *interned = intern(o, name);
    for (; s; s = s->outer) {
        gcut_onnx_value *v = find_here(s, interned);
        if (v) return v;
    }
    return NULL;
}

gcut_onnx_value *gcut_onnx_define(gcut_onnx *o, gcut_onnx_scope *s, const char *name)
{
    const char *interned = intern(o, name);
    if (find_here(s, interned))
        gcut_fail(o->mod->env, GCUT_ETYPE, (gcut_place){.file = o->f->name}, NULL,
                  "two values of the model have the name '%s'", name);
    gcut_onnx_value *v = gcut_calloc(o->arena, 1, sizeof *v);
    v->name = interned;
    *GCUT_PUSH(o->arena, &s->value) = v;
    *gcut_map_at(o->arena, &s->by_name, gcut_map_key(interned)) = s->value.n;
    return v;
}

void gcut_onnx_define_as(gcut_onnx *o, gcut_onnx_scope *s, const char *name, gcut_onnx_value *of)
{
    gcut_onnx_need_parameter(o, of);
    const gcut_onnx_value same = *of;
    gcut_onnx_value *v = gcut_onnx_define(o, s, name);
    name = v->name;
    *v = same;
    v->name = name;
}

gcut_onnx_scope *gcut_onnx_scope_new(gcut_onnx *o, gcut_onnx_scope *outer, gcut_graph *g)
{
    gcut_onnx_scope *s = gcut_calloc(o->arena, 1, sizeof *s);
    s->outer = outer;
    s->g = g;
    if (outer) {
        s->opsets = outer->opsets;
        s->nopsets = outer->nopsets;
        s->call = outer->call;
        s->function = outer->function;
        s->depth = outer->depth + 1;
    }
    return s;
}

/* ---- parameters ---- */

static gcut_type type_of_tensor(const gcut_tensor *x)
{
    gcut_type t = {.dtype = x->dtype, .rank = (uint8_t)x->rank};
    for (uint32_t r = 0; r < x->rank; r++) t.dim[r] = x->dim[r];
    return t;
}

/* PyTorch's exporter of torch.export programs notes beside the type of an initializer what it was in the module. */
static enum gcut_onnx_kind kind_of(const Onnx__ValueInfoProto *p)
{
    for (size_t i = 0; i < p->n_metadata_props; i++) {
        const Onnx__StringStringEntryProto *x = p->metadata_props[i];
        if (!x->key || !x->value || strcmp(x->key, "pkg.torch.export.graph_signature.InputSpec.kind"))
            continue;
        if (!strcmp(x->value, "PARAMETER")) return GCUT_ONNX_PARAMETER;
        if (!strcmp(x->value, "BUFFER") || !strcmp(x->value, "CONSTANT_TENSOR")) return GCUT_ONNX_BUFFER;
    }
    return GCUT_ONNX_UNSAID;
}

void gcut_onnx_read_kinds(gcut_onnx *o, const Onnx__GraphProto *p)
{
    for (size_t i = 0; i < p->n_value_info; i++) {
        const enum gcut_onnx_kind kind = kind_of(p->value_info[i]);
        if (kind != GCUT_ONNX_UNSAID && p->value_info[i]->name)
            *gcut_map_at(o->arena, &o->kinds, gcut_map_key(intern(o, p->value_info[i]->name))) = kind;
    }
}

static bool is_trained(gcut_onnx *o, const gcut_tensor *x)
{
    if (x->dtype == GCUT_NO_DTYPE || !gcut_dtype_is_float(x->dtype)) return false;
    for (size_t i = 0; i < o->opt->ntrain; i++)
        if (gcut_name_matches(o->opt->train[i], x->name)) return true;
    if (o->opt->ntrain) return false;
    const uint32_t kind = gcut_map_get(&o->kinds, gcut_map_key(intern(o, x->name)));
    if (kind != GCUT_ONNX_UNSAID) return kind == GCUT_ONNX_PARAMETER;
    /* One number may be a parameter, or a constant such as the scale of an attention: PyTorch's exporters name parameters
     * by the path of their module. */
    return x->rank > 0 && (x->n != 1 || strchr(x->name, '.'));
}

/* Will it be a constant, whatever the options say?  Then its name is free. */
static bool is_constant(const Onnx__TensorProto *x)
{
    int64_t n = 1;
    for (size_t i = 0; i < x->n_dims; i++)
        if (__builtin_mul_overflow(n, x->dims[i], &n)) return false;
    switch (x->data_type) {
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT64:
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT32:
    case ONNX__TENSOR_PROTO__DATA_TYPE__BOOL: return n <= GCUT_ONNX_MOST_KNOWN;
    default: return false;
    }
}

void gcut_onnx_reserve_names(gcut_onnx *o, const Onnx__GraphProto *p)
{
    o->parameters = gcut_onnx_name_parameters(o->arena, p);
    o->reserved = (gcut_name_set){.arena = o->arena, .all = {.arena = o->arena}};
    for (uint32_t i = 0; i < o->parameters.n; i++) {
        const gcut_onnx_parameter_name *x = &o->parameters.at[i];
        *gcut_map_at(o->arena, &o->parameter_of, gcut_map_key(intern(o, x->of))) = i + 1;
        if (i < o->parameters.ninputs || !is_constant(p->initializer[i - o->parameters.ninputs]))
            gcut_name_set_add(&o->reserved, x->own);
    }
}

/* Another parameter of the function, under that name or, where it is taken or reserved, one like it. */
static gcut_ref new_param(gcut_onnx *o, gcut_role role, const char *name, const gcut_type *type)
{
    const char *base = intern(o, gcut_onnx_as_name(o, name)), *own;
    do own = gcut_name_set_add(&o->reserved, base);
    while (gcut_graph_find(o->g, own));
    return gcut_param_new(o->g, role, own, type);
}

gcut_ref gcut_onnx_reserved_param(gcut_onnx *o, gcut_role role, const char *name, const gcut_type *type)
{
    const uint32_t i = gcut_map_get(&o->parameter_of, gcut_map_key(intern(o, name)));
    GCUT_ASSERT(i);
    const char *own = o->parameters.at[i - 1].own;
    gcut_name_claim(o->g, own);
    const gcut_ref other = gcut_graph_find(o->g, own);
    if (other && !gcut_def(o->g, other)) return new_param(o, role, name, type); /* a second one */
    if (other) gcut_value_rename(o->g, other, gcut_name_fresh(o->g, own));
    return gcut_param_new(o->g, role, own, type);
}

/* May sizes be made of it?  Small, and no parameter. */
static bool is_plain(gcut_onnx *o, const gcut_tensor *x)
{
    return x->dtype != GCUT_NO_DTYPE && x->n <= GCUT_ONNX_MOST_KNOWN &&
           (!gcut_dtype_is_float(x->dtype) || (x->n == 1 && !is_trained(o, x)));
}

static void need_dtype(gcut_onnx *o, const gcut_tensor *x)
{
    if (x->dtype == GCUT_NO_DTYPE)
        gcut_fail(o->mod->env, GCUT_EUNSUPPORTED, (gcut_place){.file = o->f->name}, NULL,
                  "the tensor '%s' is of %s, which gradcut does not have", x->name, x->foreign);
}

static const gcut_array *load(gcut_onnx *o, const gcut_tensor *x)
{
    need_dtype(o, x);
    gcut_onnx_count_elements(o, (uint64_t)x->n);
    const gcut_array v = gcut_array_load(o->arena, x->dtype, x->rank, x->dim, x->data);
    return gcut_memdup(o->arena, &v, sizeof v);
}

/* An initializer as a parameter. */
static void make_parameter(gcut_onnx *o, gcut_onnx_value *v, bool state)
{
    need_dtype(o, v->tensor);
    const gcut_type t = type_of_tensor(v->tensor);
    v->g = o->g;
    v->ref = gcut_onnx_reserved_param(
        o, is_trained(o, v->tensor) && !state ? GCUT_ROLE_param : GCUT_ROLE_state, v->tensor->name, &t);
    *GCUT_PUSH(o->mod->arena, &o->mod->data) = (gcut_data){.name = o->g->values.at[v->ref].name,
                                                           .type = t,
                                                           .kind = GCUT_DATA_file,
                                                           .file = gcut_intern_name(o->mod, o->file),
                                                           .key = gcut_intern_name(o->mod, v->tensor->name)};
}

/* ---- constants as values ---- */

/* A state with these contents. */
static gcut_ref state_of(gcut_onnx *o, const char *name, const gcut_array *x)
{
    gcut_type t = {.dtype = x->dtype, .rank = x->rank};
    gcut_onnx_count_elements(o, (uint64_t)x->n);
    double *nums = gcut_calloc(o->mod->arena, (size_t)x->n + 1, sizeof *nums);
    for (uint32_t r = 0; r < x->rank; r++) t.dim[r] = x->dim[r];
    for (int64_t k = 0; k < x->n; k++) nums[k] = gcut_array_number(x, k).f;
    gcut_ref v = new_param(o, GCUT_ROLE_state, name, &t);
    *GCUT_PUSH(o->mod->arena, &o->mod->data) = (gcut_data){.name = o->g->values.at[v].name,
                                                           .type = t,
                                                           .kind = GCUT_DATA_dense,
                                                           .nnums = (uint32_t)x->n,
                                                           .nums = nums};
    return v;
}

static bool is_splat(const gcut_array *x)
{
    for (int64_t k = 1; k < x->n; k++)
        if (memcmp(&x->u.i[k], &x->u.i[0], sizeof *x->u.i)) return false; /* doubles are as wide */
    return true;
}

/* An expression as i64[]; one that may be below 0 is the difference of two sizes. */
static gcut_ref expression_node(gcut_onnx_node *n, gcut_dim d)
{
    if (gcut_onnx_lowest(n, d) >= 0) return gcut_bsize(&n->b, d, GCUT_I64, NULL);
    const gcut_dim less = gcut_onnx_dim(n, GCUT_DIM_SUB, 0, d);
    return gcut_b2(&n->b, GCUT_OP_sub,
                   gcut_bsize(&n->b, gcut_onnx_dim(n, GCUT_DIM_MAXOF, d, 0), GCUT_I64, NULL),
                   gcut_bsize(&n->b, gcut_onnx_dim(n, GCUT_DIM_MAXOF, less, 0), GCUT_I64, NULL));
}

/* Each element by itself: a number or, where there are sizes, an expression. */
static gcut_ref elements(gcut_onnx_node *n, const gcut_array *x, bool sizes)
{
    gcut_onnx_count_nodes(n->o, 5 * (uint64_t)x->n); /* at once, before they take memory */
    gcut_ref *part = gcut_calloc(n->o->arena, (size_t)x->n, sizeof *part);
    for (int64_t k = 0; k < x->n; k++)
        part[k] = sizes && gcut_onnx_is_symbolic(x->u.i[k])
                      ? gcut_breshape(&n->b, gcut_bconvert(&n->b, expression_node(n, x->u.i[k]), x->dtype),
                                      (gcut_dim[]){1}, 1)
                      : gcut_bfull_of(&n->b, &(gcut_type){x->dtype, 1, {1}}, gcut_array_number(x, k));
    gcut_ref all = gcut_onnx_concat(n, part, (uint32_t)x->n, 0);
    return gcut_onnx_reshape(n, all, x->dim, x->rank);
}

/* Value v of `from` in `to`, a body within it. */
static gcut_ref capture(gcut_graph *to, const gcut_graph *from, gcut_ref v)
{
    return to == from ? v : gcut_body_capture(to, capture(to->outer, from, v));
}

/* Is an element an integer that no double is? */
static bool has_wide(const gcut_array *x)
{
    for (int64_t k = 0; !gcut_dtype_is_float(x->dtype) && k < x->n; k++)
        if (x->u.i[k] < -(INT64_C(1) << 53) || x->u.i[k] > INT64_C(1) << 53) return true;
    return false;
}

static gcut_ref numbers(gcut_onnx_node *n, const gcut_array *x)
{
    gcut_onnx *o = n->o;
    gcut_type t = {.dtype = x->dtype, .rank = x->rank};
    for (uint32_t r = 0; r < x->rank; r++) t.dim[r] = x->dim[r];
    if (x->n == 0) return gcut_bfull(&n->b, &t, 0);
    if (is_splat(x)) return gcut_bfull_of(&n->b, &t, gcut_array_number(x, 0));
    if (x->n >= 3 && !gcut_dtype_is_float(x->dtype) && x->dtype != GCUT_BOOL &&
        gcut_onnx_is_progression(x->u.i, x->n)) {
        const int64_t step = x->u.i[1] - x->u.i[0];
        gcut_ref i = gcut_onnx_progression(n, x->dtype, x->n, gcut_array_number(x, 0),
                                           (gcut_num){true, step, (double)step});
        return gcut_onnx_reshape(n, i, x->dim, x->rank);
    }
    if (has_wide(x)) return elements(n, x, false);
    /* Not the name of the output, which may be that of a result of the function. */
    const char *name = gcut_printf(o->arena, "%s.constant", n->p->n_output ? n->p->output[0] : "a");
    return capture(n->b.g, o->g, state_of(o, name, x));
}

gcut_ref gcut_onnx_constant(gcut_onnx_node *n, const gcut_array *x)
{
    gcut_type t = {.dtype = x->dtype, .rank = x->rank};
    if (!n->folding) return gcut_onnx_has_symbols(x) ? elements(n, x, true) : numbers(n, x);
    for (uint32_t r = 0; r < x->rank; r++) t.dim[r] = x->dim[r];
    *GCUT_PUSH(n->o->arena, &n->o->folded) = *x;
    return gcut_param_new(n->b.g, GCUT_ROLE_input, gcut_name_fresh(n->b.g, "x"), &t);
}

gcut_array gcut_onnx_load(gcut_onnx_node *n, const Onnx__TensorProto *t)
{
    const gcut_tensor x = gcut_onnx_tensor(n->o->f, t);
    return *load(n->o, &x);
}

/* The key in a scope: in the body of a loop another for each iteration. */
static gcut_ref key_in(const gcut_onnx_node *n, const gcut_onnx_scope *s, gcut_ref key)
{
    const gcut_type scalar = {.dtype = GCUT_I64};
    const gcut_onnx_scope *around = s->outer ? s->outer : s->call ? s->call->scope : NULL;
    if (around) key = capture(s->g, around->g, key_in(n, around, key));
    if (!s->iteration) return key;
    if (!*s->iteration)
        *s->iteration = gcut_param_new(s->g, GCUT_ROLE_input, gcut_name_fresh(s->g, "i"), &scalar);
    const gcut_attr bits = gcut_attr_str(s->g->module, GCUT_KEY_dtype, gcut_dtype_name(GCUT_I64));
    return gcut_node_new(s->g, GCUT_OP_random, (gcut_ref[]){key, *s->iteration}, 2, &bits, 1, n->b.loc, NULL);
}

gcut_ref gcut_onnx_key(gcut_onnx_node *n)
{
    const gcut_type key = {.dtype = GCUT_I64};
    const char *name = gcut_printf(n->o->arena, "%s.key", n->p->n_output ? n->p->output[0] : "draw");
    return key_in(n, n->scope, new_param(n->o, GCUT_ROLE_rng, name, &key));
}

void gcut_onnx_count_mode(gcut_onnx_node *n, bool trains)
{
    if (n->folding || trains) return;
    if (n->op == GCUT_OP_dropout)
        n->o->dropouts++;
    else
        n->o->batch_norms++;
}

void gcut_onnx_note_axis(gcut_onnx_node *n, gcut_dim d)
{
    if (!gcut_dim_known(d)) *gcut_map_at(n->o->arena, &n->o->axes, (uint64_t)d) = 1;
}

int64_t gcut_onnx_lowest(const gcut_onnx_node *n, int64_t x)
{
    int64_t lo, hi;
    gcut_onnx_bounds(n->b.g, &n->o->axes, x, &lo, &hi);
    return lo;
}

/* ---- inputs ---- */

gcut_onnx_value *gcut_onnx_input(const gcut_onnx_node *n, uint32_t i)
{
    if (!gcut_onnx_has(n, i)) GCUT_ONNX_WRONG(n, "input %u is missing", (unsigned)i);
    gcut_onnx_value *v = gcut_onnx_find(n->o, n->scope, n->p->input[i]);
    if (!v)
        GCUT_ONNX_WRONG(
            n, "input %u is '%s', which is no input, no initializer and no output of a node before this one",
            (unsigned)i, n->p->input[i]);
    return v;
}

bool gcut_onnx_has(const gcut_onnx_node *n, uint32_t i)
{
    return i < n->p->n_input && n->p->input[i][0];
}

uint32_t gcut_onnx_inputs(const gcut_onnx_node *n)
{
    return (uint32_t)n->p->n_input;
}

static void set_contents(gcut_onnx_value *v, const gcut_array *x)
{
    *(gcut_onnx_has_symbols(x) ? &v->numbers : &v->known) = x;
}

void gcut_onnx_define_initializer(gcut_onnx *o, gcut_onnx_scope *s, const Onnx__TensorProto *p)
{
    gcut_tensor *x = gcut_calloc(o->arena, 1, sizeof *x);
    *x = gcut_onnx_tensor(o->f, p);
    gcut_onnx_value *v = gcut_onnx_define(o, s, x->name);
    if (s->outer)
        set_contents(v, load(o, x));
    else
        v->tensor = x;
}

/* Numbers as sizes: none is as large as one that would be taken for an expression. */
static const gcut_array *clamped(gcut_onnx *o, const gcut_array *x)
{
    gcut_array v = *x;
    if (!gcut_onnx_has_symbols(x)) return x;
    v.u.i = gcut_memdup(o->arena, x->u.i, (size_t)x->n * sizeof *x->u.i);
    gcut_onnx_clamp(&v);
    return gcut_memdup(o->arena, &v, sizeof v);
}

/* The contents of a value; NULL: it is not a constant. */
static const gcut_array *known_value(gcut_onnx *o, gcut_onnx_value *v)
{
    if (!v->known && !v->numbers && v->tensor && is_plain(o, v->tensor)) set_contents(v, load(o, v->tensor));
    return v->known;
}

void gcut_onnx_need_parameter(gcut_onnx *o, gcut_onnx_value *v)
{
    if (v->tensor && !v->ref && !known_value(o, v)) make_parameter(o, v, false);
}

static bool is_around(const gcut_graph *outer, const gcut_graph *g)
{
    while (g && g != outer) g = g->outer;
    return g != NULL;
}

gcut_ref gcut_onnx_value_in(gcut_onnx_node *n, gcut_onnx_value *v, bool state)
{
    gcut_onnx *o = n->o;
    if (v->sequence)
        gcut_fail(o->mod->env, GCUT_EUNSUPPORTED, gcut_loc_place(o->mod, n->b.loc), NULL,
                  "'%s' is a sequence of tensors where gradcut needs a tensor", v->name);
    const gcut_array *x = state && v->tensor && !n->folding ? NULL : known_value(o, v);
    if (x && n->folding) return gcut_onnx_constant(n, x);
    if (v->ref && is_around(v->g, n->b.g)) return capture(n->b.g, v->g, v->ref);
    if (x || (v->numbers && !v->tensor)) {
        v->g = n->b.g;
        v->ref = x ? gcut_onnx_constant(n, x) : numbers(n, v->numbers);
        return v->ref;
    }
    GCUT_ASSERT(v->tensor);
    make_parameter(o, v, state);
    return capture(n->b.g, v->g, v->ref);
}

gcut_ref gcut_onnx_in(gcut_onnx_node *n, uint32_t i)
{
    return gcut_onnx_value_in(n, gcut_onnx_input(n, i), false);
}

gcut_ref gcut_onnx_in_state(gcut_onnx_node *n, uint32_t i)
{
    return gcut_onnx_value_in(n, gcut_onnx_input(n, i), true);
}

const gcut_array *gcut_onnx_known(gcut_onnx_node *n, uint32_t i)
{
    return known_value(n->o, gcut_onnx_input(n, i));
}

/* The contents of a constant, of an initializer, of an input that has a constant in the options, and of what follows from
 * these alone.  *missing: the input that lacks one; NULL: there is no such input. */
static const gcut_array *known_or_missing(gcut_onnx_node *n, gcut_onnx_value *v, const char **missing)
{
    gcut_onnx *o = n->o;
    *missing = NULL;
    if (known_value(o, v)) return v->known;
    for (size_t k = 0; v->is_input && !v->numbers && k < o->opt->nconstants; k++)
        if (!strcmp(o->opt->constant[k].name, v->name)) {
            o->specialized[k] = true;
            set_contents(v, load(o, &o->opt->constant[k].value));
        }
    if (!v->numbers && !v->tensor && !v->is_input) {
        const gcut_array *x = gcut_onnx_specialized(n, v, missing);
        if (x) set_contents(v, x);
    }
    if (v->numbers) return clamped(o, v->numbers);
    return v->tensor ? clamped(o, load(o, v->tensor)) : v->known;
}

const gcut_array *gcut_onnx_maybe(gcut_onnx_node *n, uint32_t i)
{
    const char *missing;
    return known_or_missing(n, gcut_onnx_input(n, i), &missing);
}

const gcut_array *gcut_onnx_need(gcut_onnx_node *n, uint32_t i, const char *what)
{
    const gcut_onnx_value *v = gcut_onnx_input(n, i);
    const char *missing;
    const gcut_array *x = known_or_missing(n, gcut_onnx_input(n, i), &missing);
    if (x) return x;
    if (v->is_input)
        GCUT_ONNX_UNSUPPORTED(
            n, "%s must be known at import: give the contents of the input '%s', --in %s=FILE.npy", what,
            v->name, v->name);
    if (missing)
        GCUT_ONNX_UNSUPPORTED(n,
                              "%s must be known at import, but '%s' is computed from the input '%s': give "
                              "its contents, --in %s=FILE.npy",
                              what, v->name, missing, missing);
    GCUT_ONNX_UNSUPPORTED(n, "%s must be known at import, but '%s' is computed from an input", what, v->name);
}

gcut_onnx_list gcut_onnx_input_or_attr(gcut_onnx_node *n, uint32_t i, const char *name)
{
    if (!gcut_onnx_has(n, i)) return gcut_onnx_ints(n, name);
    const gcut_array *x = gcut_onnx_need(n, i, name);
    if (gcut_dtype_is_float(x->dtype) || x->rank > 1)
        GCUT_ONNX_WRONG(n, "expected a list of integers for '%s'", name);
    return gcut_onnx_list_of(n, x->u.i, (size_t)x->n, true);
}

/* ---- outputs ---- */

bool gcut_onnx_wants(const gcut_onnx_node *n, uint32_t k)
{
    return k < n->p->n_output && n->p->output[k][0];
}

void gcut_onnx_set(gcut_onnx_node *n, uint32_t k, gcut_ref v)
{
    if (!gcut_onnx_wants(n, k)) return;
    gcut_graph *g = n->b.g;
    if (n->folding) {
        n->o->folded_out[k] = (gcut_onnx_value){.ref = v, .g = g};
        return;
    }
    gcut_onnx_value *value = gcut_onnx_define(n->o, n->scope, n->p->output[k]);
    value->ref = v;
    value->g = g;
    if (gcut_def(g, v) && g->values.at[v].made_up)
        gcut_value_rename(g, v, gcut_name_fresh(g, gcut_onnx_as_name(n->o, n->p->output[k])));
}

void gcut_onnx_set_known(gcut_onnx_node *n, uint32_t k, const gcut_array *x)
{
    if (!gcut_onnx_wants(n, k)) return;
    const gcut_array *kept = gcut_memdup(n->o->arena, x, sizeof *x);
    if (n->folding)
        n->o->folded_out[k] = (gcut_onnx_value){.known = kept};
    else
        gcut_onnx_define(n->o, n->scope, n->p->output[k])->known = kept;
}

void gcut_onnx_set_numbers(gcut_onnx_node *n, uint32_t k, const gcut_array *x)
{
    if (gcut_onnx_wants(n, k))
        set_contents(gcut_onnx_define(n->o, n->scope, n->p->output[k]),
                     gcut_memdup(n->o->arena, x, sizeof *x));
}
