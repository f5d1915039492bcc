/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What must be known at import may be computed from inputs whose contents the options give.  Ops on inputs become nodes of
 * the function, since an input is not a constant until something must know it; the nodes that such a value is computed
 * from are evaluated afterwards.
 */
#include "import/onnx/scope.h"

#include <string.h>

#include "graph/rewrite.h"
#include "import/onnx/known.h"

/* The names that the function itself sees. */
static gcut_onnx_scope *outermost(gcut_onnx_scope *s)
{
    while (s->outer || s->call) s = s->outer ? s->outer : s->call->scope;
    return s;
}

/* Is a value in the set made by a loop or a branch, or as a size? */
static bool has_region_or_size(const gcut_graph *g, const bool *in)
{
    for (uint32_t k = 0; k < g->nodes.n; k++) {
        const gcut_node *node = gcut_node_at(g, k);
        if (gcut_any_result(node, in) && (node->nregs || node->op == GCUT_OP_dim)) return true;
    }
    return false;
}

/* The input of the model that is a parameter; NULL: none is. */
static const gcut_onnx_value *input_of(const gcut_onnx_node *n, gcut_ref param)
{
    const gcut_onnx_scope *s = outermost(n->scope);
    for (uint32_t i = 0; i < s->value.n; i++)
        if (s->value.at[i]->is_input && s->value.at[i]->ref == param) return s->value.at[i];
    return NULL;
}

/* The option that gives the contents of an input; o->opt->nconstants: none does. */
static size_t option_of(const gcut_onnx *o, const gcut_onnx_value *input)
{
    size_t k = 0;
    while (k < o->opt->nconstants && strcmp(o->opt->constant[k].name, input->name)) k++;
    return k;
}

static gcut_array contents(gcut_onnx_node *n, size_t k, const gcut_type *t)
{
    const gcut_tensor *x = &n->o->opt->constant[k].value;
    bool same = x->dtype == t->dtype && x->rank == t->rank;
    for (uint32_t r = 0; same && r < t->rank; r++) same = x->dim[r] == t->dim[r];
    if (!same)
        GCUT_ONNX_WRONG(n, "the contents given for the input '%s' have another type than it",
                        n->o->opt->constant[k].name);
    return gcut_array_load(n->o->arena, x->dtype, x->rank, x->dim, x->data);
}

typedef struct part { /* of the function */
    gcut_graph *g;
    const bool *is_read; /* by value of the function */
    gcut_ref *map;       /* and its value in g */
    GCUT_VEC(gcut_array) param;
    bool *is_used; /* by option */
} part;

static bool add_inputs(gcut_onnx_node *n, part *p, const char **missing)
{
    const gcut_graph *g = n->o->g;
    for (uint32_t i = 0; i < g->params.n; i++) {
        const gcut_ref v = g->params.at[i].value;
        if (!p->is_read[v]) continue;
        const gcut_type *t = gcut_type_of(g, v);
        const gcut_onnx_value *input = input_of(n, v);
        if (!input) return *missing = NULL, false;
        const size_t k = option_of(n->o, input);
        if (k == n->o->opt->nconstants) {
            *missing = input->name;
            continue;
        }
        p->map[v] = gcut_param_new(p->g, GCUT_ROLE_input, g->values.at[v].name, t);
        *GCUT_PUSH(n->o->arena, &p->param) = contents(n, k, t);
        p->is_used[k] = true;
    }
    return !*missing;
}

const gcut_array *gcut_onnx_specialized(gcut_onnx_node *n, const gcut_onnx_value *v, const char **missing)
{
    gcut_onnx *o = n->o;
    const gcut_graph *g = o->g;
    gcut_array out;
    *missing = NULL;
    if (!v->ref || v->g != g) return NULL;
    bool *is_read = gcut_calloc(o->arena, g->values.n + 1, sizeof *is_read);
    is_read[v->ref] = true;
    gcut_add_dependences(g, is_read);
    if (has_region_or_size(g, is_read)) return NULL;
    part p = {.g = gcut_body_new(o->g), .is_read = is_read};
    p.map = gcut_calloc(o->arena, g->values.n + 1, sizeof *p.map);
    p.is_used = gcut_calloc(o->arena, o->opt->nconstants + 1, sizeof *p.is_used);
    if (!add_inputs(n, &p, missing)) return NULL;
    for (uint32_t k = 0; k < g->nodes.n; k++)
        if (gcut_any_result(gcut_node_at(g, k), is_read)) gcut_node_copy_to(p.g, g, k, p.map);
    gcut_body_yield(p.g, p.map[v->ref]);
    if (!gcut_onnx_evaluate_numbers(p.g, o->arena, p.param.at, &out)) return NULL;
    for (size_t k = 0; k < o->opt->nconstants; k++) o->specialized[k] |= p.is_used[k];
    return gcut_memdup(o->arena, &out, sizeof out);
}
