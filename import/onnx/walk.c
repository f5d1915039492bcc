/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The walk over a model's nodes.  A value is a constant as long as it can be: an op on constants is computed in a graph of
 * its own, whose results are constants again, and becomes an op of the function only where that is not possible.
 */
#include "import/onnx/scope.h"

#include <stdlib.h>
#include <string.h>

#include "import/onnx/known.h"

/* ---- nodes ---- */

const char *gcut_onnx_called(const gcut_onnx_node *n)
{
    const char *name = n->p->name && *n->p->name ? n->p->name : n->p->n_output ? n->p->output[0] : "";
    return gcut_printf(n->b.g->module->arena, "it is the node '%s', of the op %s, version %lld", name,
                       n->p->op_type, (long long)n->opset);
}

static bool all_known(gcut_onnx_node *n)
{
    bool any = false;
    for (uint32_t i = 0; i < gcut_onnx_inputs(n); i++) {
        if (!gcut_onnx_has(n, i)) continue;
        if (!gcut_onnx_known(n, i)) return false;
        any = true;
    }
    return any;
}

/* ---- bounds ---- */

static void count(gcut_onnx *o, uint64_t *made, uint64_t n, uint64_t most, const char *what)
{
    if (__builtin_add_overflow(*made, n, made) || *made > most)
        gcut_fail(o->mod->env, GCUT_EUNSUPPORTED, (gcut_place){.file = o->f->name}, NULL,
                  "the %zu bytes of the model would become more than %llu %s", o->f->file.n,
                  (unsigned long long)most, what);
}

void gcut_onnx_count_nodes(gcut_onnx *o, uint64_t n)
{
    count(o, &o->nodes_made, n, GCUT_ONNX_MOST_NODES(o->f->file.n), "nodes");
}

void gcut_onnx_count_elements(gcut_onnx *o, uint64_t n)
{
    count(o, &o->elements_made, n, GCUT_ONNX_MOST_ELEMENTS(o->f->file.n), "elements of constants");
}

/* ---- constants ---- */

/* May the op be computed now?  It is done at run time where it takes long, or where many have taken long. */
static bool is_cheap(gcut_onnx *o, const gcut_graph *g)
{
    const uint64_t work = gcut_onnx_work(g);
    if (work > GCUT_ONNX_MOST_WORK || work > 16 * GCUT_ONNX_MOST_ELEMENTS(o->f->file.n) - o->work)
        return false;
    o->work += work;
    return true;
}

/* Moves arrays to the arena of the model's file.  False: they are more than may be made yet. */
static bool move_to_arena(gcut_onnx *o, gcut_array *x, uint32_t n)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < n; i++) all += (uint64_t)x[i].n;
    if (all > GCUT_ONNX_MOST_ELEMENTS(o->f->file.n) - o->elements_made) return false;
    gcut_onnx_count_elements(o, all);
    for (uint32_t i = 0; i < n; i++)
        x[i].u.at = gcut_memdup(o->arena, x[i].u.at, (size_t)(x[i].n ? x[i].n : 1) * 8);
    return true;
}

/* Computes an op on constants.  False: it is done at run time. */
static bool fold(gcut_onnx_node *n, const gcut_onnx_row *row)
{
    gcut_onnx *o = n->o;
    if (!row->folds || n->p->n_output > GCUT_ONNX_MOST_FOLDED || !all_known(n)) return false;
    gcut_onnx_node s = *n;
    gcut_array out[GCUT_ONNX_MOST_FOLDED];
    s.folding = true;
    s.b.g = gcut_body_new(n->b.g);
    o->folded.n = 0;
    memset(o->folded_out, 0, sizeof o->folded_out);
    row->rule(&s);
    for (uint32_t k = 0; k < n->p->n_output; k++)
        if (o->folded_out[k].ref) gcut_body_yield(s.b.g, o->folded_out[k].ref);
    gcut_onnx_count_nodes(o, s.b.g->values.n);
    gcut_arena *scratch = gcut_arena_new(o->mod->env, o->arena);
    const bool done = is_cheap(o, s.b.g) && gcut_onnx_evaluate(s.b.g, &o->axes, scratch, o->folded.at, out) &&
                      move_to_arena(o, out, s.b.g->results.n);
    gcut_arena_free(scratch);
    for (uint32_t k = 0, r = 0; done && k < n->p->n_output; k++) {
        if (o->folded_out[k].ref)
            gcut_onnx_set_known(n, k, &out[r++]);
        else if (o->folded_out[k].known)
            gcut_onnx_set_known(n, k, o->folded_out[k].known);
    }
    return done;
}

/* Lists that are searched. */
static void need_few(const gcut_onnx *o, size_t n, const char *what)
{
    if (n > GCUT_ONNX_MOST_LISTED)
        gcut_fail(o->mod->env, GCUT_EUNSUPPORTED, (gcut_place){.file = o->f->name}, NULL,
                  "the model has %zu %s, more than %d", n, what, GCUT_ONNX_MOST_LISTED);
}

static const char *domain_of(const Onnx__NodeProto *p)
{
    return p->domain && strcmp(p->domain, "ai.onnx") ? p->domain : "";
}

/* Domain and name as one, for tables. */
static uint64_t key_of(gcut_onnx *o, const char *domain, const char *name)
{
    domain = domain ? domain : "";
    const char *both = gcut_printf(o->arena, "%zu %s%s", strlen(domain), domain, name ? name : "");
    return gcut_map_key(gcut_intern(&o->names, both, strlen(both)));
}

/* Of two functions of one name the first counts. */
static void index_functions(gcut_onnx *o)
{
    for (size_t i = 0; i < o->m->n_functions; i++) {
        const Onnx__FunctionProto *f = o->m->functions[i];
        uint32_t *number = gcut_map_at(o->arena, &o->functions, key_of(o, f->domain, f->name));
        if (!*number) *number = (uint32_t)i + 1;
        need_few(o, f->n_opset_import, "opsets");
        need_few(o, f->n_attribute_proto, "attributes");
    }
}

static const Onnx__FunctionProto *function_of(gcut_onnx *o, const Onnx__NodeProto *p)
{
    if (!o->m->n_functions || !p->op_type) return NULL;
    const uint32_t i = gcut_map_get(&o->functions, key_of(o, p->domain, p->op_type));
    return i ? o->m->functions[i - 1] : NULL;
}

static void import_nodes(gcut_onnx *o, gcut_onnx_scope *s, Onnx__NodeProto *const *p, size_t n);

/* The body of a function of the model in place of its call. */
static void import_call(gcut_onnx_node *n, const Onnx__FunctionProto *f)
{
    gcut_onnx *o = n->o;
    gcut_onnx_scope *s = gcut_onnx_scope_new(o, NULL, n->b.g);
    if (n->scope->depth == GCUT_ONNX_NESTING)
        GCUT_ONNX_WRONG(n, "functions of the model call each other deeper than %d", GCUT_ONNX_NESTING);
    s->depth = n->scope->depth + 1;
    s->opsets = f->opset_import;
    s->nopsets = f->n_opset_import;
    s->call = n;
    s->function = f;
    if (n->p->n_input > f->n_input || n->p->n_output > f->n_output)
        GCUT_ONNX_WRONG(n, "the function has %zu inputs and %zu outputs, its call %zu and %zu", f->n_input,
                        f->n_output, n->p->n_input, n->p->n_output);
    for (size_t i = 0; i < n->p->n_input; i++) {
        if (!gcut_onnx_has(n, (uint32_t)i)) continue;
        gcut_onnx_define_as(o, s, f->input[i], gcut_onnx_input(n, (uint32_t)i));
    }
    import_nodes(o, s, f->node, f->n_node);
    for (size_t k = 0; k < n->p->n_output; k++) {
        if (!gcut_onnx_wants(n, (uint32_t)k)) continue;
        gcut_onnx_value *of = gcut_onnx_find(o, s, f->output[k]);
        if (!of) GCUT_ONNX_WRONG(n, "the function has no value '%s'", f->output[k]);
        gcut_onnx_define_as(o, n->scope, n->p->output[k], of);
    }
}

static void run_rule(gcut_onnx_node *n, const gcut_onnx_row *row)
{
    gcut_onnx *o = n->o;
    const Onnx__NodeProto *p = n->p;
    const gcut_graph *g = n->scope->g;
    const uint32_t before = g->values.n;
    if (fold(n, row)) return;
    row->rule(n);
    gcut_onnx_count_nodes(o, g->values.n - before);
    need_few(o, o->g->checks.n, "checks of sizes");
    for (uint32_t k = 0; k < p->n_output; k++)
        if (gcut_onnx_wants(n, k) && !gcut_onnx_find_here(o, n->scope, p->output[k]))
            GCUT_ONNX_UNSUPPORTED(n, "output %u, '%s', is not supported", (unsigned)k, p->output[k]);
}

static void import_node(gcut_onnx *o, gcut_onnx_scope *s, const Onnx__NodeProto *p)
{
    const char *name = p->name && *p->name ? p->name : p->n_output ? p->output[0] : "";
    gcut_onnx_node n = {.o = o, .scope = s, .p = p, .b = {.g = s->g}};
    gcut_onnx_count_nodes(o, 1);
    need_few(o, p->n_attribute, "attributes");
    n.b.loc = gcut_loc_file(o->mod, o->file, (int)++o->line, 0, name[0] == '/' ? name + 1 : name);
    const Onnx__FunctionProto *f = function_of(o, p);
    if (f) {
        import_call(&n, f);
        return;
    }
    const gcut_onnx_row *row = gcut_onnx_row_of(domain_of(p), p->op_type);
    GCUT_ASSERT(row); /* gcut_onnx_import_model has listed those that are missing */
    n.op = row->op;
    n.opset = gcut_onnx_opset(s->opsets, s->nopsets, domain_of(p));
    gcut_env *env = o->mod->env;
    const gcut_place place = env->place; /* of the node around it */
    const char *hint = env->place_hint;
    env->place = gcut_loc_place(o->mod, n.b.loc);
    env->place_hint = gcut_onnx_called(&n);
    run_rule(&n, row);
    env->place = place;
    env->place_hint = hint;
}

static void import_nodes(gcut_onnx *o, gcut_onnx_scope *s, Onnx__NodeProto *const *p, size_t n)
{
    for (size_t i = 0; i < n; i++) import_node(o, s, p[i]);
}

static const char *name_of(const Onnx__ValueInfoProto *p)
{
    return p->name ? p->name : "";
}

static void add_initializers(gcut_onnx *o, gcut_onnx_scope *s, const Onnx__GraphProto *p)
{
    for (size_t i = 0; i < p->n_initializer; i++) gcut_onnx_define_initializer(o, s, p->initializer[i]);
    if (p->n_sparse_initializer)
        gcut_fail(o->mod->env, GCUT_EUNSUPPORTED, (gcut_place){.file = o->f->name}, NULL,
                  "the model has sparse initializers, which gradcut does not have");
}

static const gcut_array *constant_true(const gcut_onnx *o)
{
    gcut_array x = gcut_array_new(o->arena, GCUT_BOOL, 0, NULL);
    x.u.i[0] = 1;
    return gcut_memdup(o->arena, &x, sizeof x);
}

gcut_onnx_scope *gcut_onnx_body(gcut_onnx_node *n, const Onnx__GraphProto *p, gcut_graph *body,
                                const gcut_ref *x, uint32_t nx, gcut_ref *iteration, gcut_ref *out)
{
    gcut_onnx *o = n->o;
    gcut_onnx_scope *s = gcut_onnx_scope_new(o, n->scope, body);
    if (s->depth > GCUT_ONNX_NESTING)
        GCUT_ONNX_WRONG(n, "subgraphs are nested deeper than %d", GCUT_ONNX_NESTING);
    if (p->n_input != nx)
        GCUT_ONNX_WRONG(n, "the subgraph has %zu inputs, but %u values are given to it", p->n_input,
                        (unsigned)nx);
    s->iteration = iteration;
    for (uint32_t i = 0; i < nx; i++) {
        gcut_onnx_value *v = gcut_onnx_define(o, s, name_of(p->input[i]));
        v->ref = x[i];
        v->g = body;
        if (!x[i]) v->known = constant_true(o);
    }
    add_initializers(o, s, p);
    import_nodes(o, s, p->node, p->n_node);
    gcut_onnx_node inside = *n;
    inside.b.g = body;
    inside.scope = s;
    for (size_t k = 0; k < p->n_output; k++) {
        gcut_onnx_value *v = gcut_onnx_find(o, s, name_of(p->output[k]));
        if (!v) GCUT_ONNX_WRONG(n, "the subgraph has no value '%s', its output", name_of(p->output[k]));
        if (out) out[k] = gcut_onnx_value_in(&inside, v, false);
    }
    return s;
}

/* ---- the function ---- */

/* The name itself, or name_2, name_3, …: the first that is not in the map, which gets it. */
static const char *distinct(gcut_onnx *o, gcut_map *names, const char *name)
{
    const char *free = name;
    uint32_t count = ++*gcut_map_at(o->arena, names, key_of(o, NULL, name));
    for (; count > 1; count++) {
        free = gcut_printf(o->arena, "%s_%u", name, (unsigned)count);
        if (!(*gcut_map_at(o->arena, names, key_of(o, NULL, free)))++) break;
    }
    return free;
}

/* The symbol of that name, declared as 1.. ; a name that is no identifier is made one.  named: by the model. */
static gcut_dim symbol(gcut_onnx *o, const char *name, bool named)
{
    uint32_t *known = gcut_map_at(o->arena, &o->symbol_of, key_of(o, named ? "model" : NULL, name));
    if (*known) return o->symbol.at[*known - 1];
    *known = o->symbol.n + 1;
    char *s = gcut_printf(o->arena, "%s%s", (*name >= '0' && *name <= '9') || !*name ? "n" : "", name);
    for (char *c = s; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '_'))
            *c = '_';
    const gcut_dim d = gcut_dim_symbol(o->mod->dims, distinct(o, &o->symbol_names, s));
    *GCUT_PUSH(o->arena, &o->symbol) = d;
    gcut_decl_add(o->g, (gcut_dim_decl){d, 1, INT64_MAX, 1});
    need_few(o, o->g->decls.n, "symbols");
    return d;
}

static gcut_type input_type(gcut_onnx *o, const Onnx__ValueInfoProto *p)
{
    const Onnx__TypeProto *type = p->type;
    gcut_type t = {0};
    const gcut_place at = {.file = o->f->name};
    if (!type || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
        gcut_fail(o->mod->env, GCUT_EUNSUPPORTED, at, NULL, "the input '%s' is no tensor", name_of(p));
    t.dtype = gcut_onnx_dtype(type->tensor_type->elem_type);
    if (t.dtype == GCUT_NO_DTYPE)
        gcut_fail(o->mod->env, GCUT_EUNSUPPORTED, at, NULL,
                  "the input '%s' is of %s, which gradcut does not have", name_of(p),
                  gcut_onnx_dtype_name(type->tensor_type->elem_type));
    const Onnx__TensorShapeProto *shape = type->tensor_type->shape;
    if (!shape)
        gcut_fail(o->mod->env, GCUT_EUNSUPPORTED, at, NULL,
                  "the input '%s' has no shape, not even a number of axes", name_of(p));
    if (shape->n_dim > GCUT_MAX_RANK)
        gcut_fail(o->mod->env, GCUT_EUNSUPPORTED, at, NULL, "the input '%s' has more than %d axes",
                  name_of(p), GCUT_MAX_RANK);
    t.rank = (uint8_t)shape->n_dim;
    for (uint32_t r = 0; r < t.rank; r++) {
        const Onnx__TensorShapeProto__Dimension *d = shape->dim[r];
        if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE && d->dim_value >= 0)
            t.dim[r] = d->dim_value;
        else if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM)
            t.dim[r] = symbol(o, d->dim_param, true);
        else
            t.dim[r] =
                symbol(o, gcut_printf(o->arena, "%s_%u", gcut_onnx_as_name(o, p->name), (unsigned)r), false);
    }
    return t;
}

static void add_inputs(gcut_onnx *o, gcut_onnx_scope *s, const Onnx__GraphProto *p)
{
    gcut_map initializers = {0};
    for (size_t i = 0; i < p->n_initializer; i++)
        *gcut_map_at(o->arena, &initializers, key_of(o, NULL, p->initializer[i]->name)) = 1;
    for (size_t i = 0; i < p->n_input; i++) {
        if (gcut_map_get(&initializers, key_of(o, NULL, p->input[i]->name)))
            continue; /* as all initializers are before version 4 of the IR */
        const gcut_type t = input_type(o, p->input[i]);
        gcut_onnx_value *v = gcut_onnx_define(o, s, name_of(p->input[i]));
        v->is_input = true;
        v->g = o->g;
        v->ref = gcut_onnx_reserved_param(o, GCUT_ROLE_input, v->name, &t);
    }
}

/* Names of the model that differ may be one name of the text IR, which of a result is a word or digits. */
static const char *result_name(gcut_onnx *o, gcut_map *names, const char *name)
{
    const char *own = gcut_onnx_as_name(o, name);
    const size_t digits = strspn(own, "0123456789");
    if (digits > 18 || (own[digits] && (digits || own[0] == '.'))) own = gcut_printf(o->arena, "_%s", own);
    return distinct(o, names, own);
}

static void add_outputs(gcut_onnx *o, gcut_onnx_scope *s, const Onnx__GraphProto *p)
{
    static const Onnx__NodeProto none = ONNX__NODE_PROTO__INIT;
    gcut_map outputs = {0}, names = {0};
    gcut_onnx_node n = {.o = o, .scope = s, .p = &none, .b = {.g = o->g}};
    for (size_t k = 0; k < p->n_output; k++) {
        gcut_onnx_value *v = gcut_onnx_find(o, s, name_of(p->output[k]));
        if (!v)
            gcut_fail(o->mod->env, GCUT_ETYPE, (gcut_place){.file = o->f->name}, NULL,
                      "no node gives the model's output '%s'", name_of(p->output[k]));
        uint32_t *seen = gcut_map_at(o->arena, &outputs, key_of(o, NULL, v->name));
        if ((*seen)++)
            gcut_fail(o->mod->env, GCUT_ETYPE, (gcut_place){.file = o->f->name}, NULL,
                      "two outputs of the model have the name '%s'", v->name);
        const gcut_ref ref = gcut_onnx_value_in(&n, v, false);
        gcut_result_new(o->g, GCUT_ROLE_out, result_name(o, &names, v->name), ref);
    }
}

/* Throws with a list of the ops that cannot be imported. */
static void refuse_missing(gcut_onnx *o)
{
    const gcut_onnx_uses uses = gcut_onnx_ops_of(o->f, o->m);
    gcut_text list = {.arena = o->arena};
    size_t missing = 0;
    for (uint32_t i = 0; i < uses.n; i++) {
        const gcut_onnx_use *u = &uses.at[i];
        o->nodes += u->nodes;
        if (u->supported) continue;
        char *line = gcut_printf(o->arena, "%s%s%s, %zu node%s, first '%s'", u->domain, *u->domain ? "." : "",
                                 u->op, u->nodes, u->nodes == 1 ? "" : "s", u->first);
        for (char *c = line; *c; c++)
            if (*c == '\n') *c = '?'; /* of a name */
        gcut_text_add(&list, "%s%s", missing++ ? "\n" : "", line);
    }
    if (missing)
        gcut_fail(o->mod->env, GCUT_EUNSUPPORTED, (gcut_place){.file = o->f->name}, list.at,
                  "%zu op%s of the model %s not supported", missing, missing == 1 ? "" : "s",
                  missing == 1 ? "is" : "are");
}

gcut_onnx_import gcut_onnx_import_model(gcut_onnx_file *f, gcut_module *m, const char *name,
                                        const gcut_onnx_options *opt)
{
    static const gcut_onnx_options none;
    gcut_env *env = m->env;
    gcut_onnx o = {.f = f, .arena = f->arena, .opt = opt ? opt : &none};
    o.m = gcut_onnx_model(f);
    o.names.arena = f->arena;
    o.mod = m;
    m->file = gcut_intern_name(m, f->name);
    o.file = strrchr(f->name, '/') ? strrchr(f->name, '/') + 1 : f->name;
    o.specialized = gcut_calloc(f->arena, o.opt->nconstants + 1, sizeof *o.specialized);
    if (!o.m->graph)
        gcut_fail(env, GCUT_ESYNTAX, (gcut_place){.file = f->name}, NULL,
                  "the file has no graph: this is no ONNX model");
    need_few(&o, o.m->n_opset_import, "opsets");
    index_functions(&o);
    refuse_missing(&o);
    o.g = gcut_graph_create(o.mod, gcut_onnx_as_name(&o, name));
    gcut_onnx_scope *s = gcut_onnx_scope_new(&o, NULL, o.g);
    s->opsets = o.m->opset_import;
    s->nopsets = o.m->n_opset_import;
    gcut_onnx_reserve_names(&o, o.m->graph);
    add_inputs(&o, s, o.m->graph);
    add_initializers(&o, s, o.m->graph);
    gcut_onnx_read_kinds(&o, o.m->graph);
    import_nodes(&o, s, o.m->graph->node, o.m->graph->n_node);
    add_outputs(&o, s, o.m->graph);
    return (gcut_onnx_import){.g = o.g,
                              .nodes = o.nodes,
                              .batch_norms = o.batch_norms,
                              .dropouts = o.dropouts,
                              .specialized = o.specialized};
}

/* ---- what a model uses ---- */

static void add_use(gcut_onnx *o, const Onnx__NodeProto *p, gcut_map *seen, gcut_onnx_uses *out)
{
    const char *domain = domain_of(p), *op = p->op_type ? p->op_type : "";
    uint32_t *number = gcut_map_at(o->arena, seen, key_of(o, domain, op));
    if (*number) {
        out->at[*number - 1].nodes++;
        return;
    }
    *number = out->n + 1;
    *GCUT_PUSH(o->arena, out) = (gcut_onnx_use){
        .domain = domain,
        .op = op,
        .nodes = 1,
        .supported = gcut_onnx_row_of(domain, op),
        .first = p->name && *p->name ? p->name
                 : p->n_output       ? p->output[0]
                                     : "",
    };
}

static void add_uses(gcut_onnx *o, Onnx__NodeProto *const *p, size_t n, gcut_map *seen, gcut_onnx_uses *out)
{
    for (size_t i = 0; i < n; i++) {
        if (function_of(o, p[i])) continue; /* its nodes are counted with the function */
        add_use(o, p[i], seen, out);
        for (size_t k = 0; k < p[i]->n_attribute; k++)
            if (p[i]->attribute[k]->g)
                add_uses(o, p[i]->attribute[k]->g->node, p[i]->attribute[k]->g->n_node, seen, out);
    }
}

static int by_op(const void *a, const void *b)
{
    const gcut_onnx_use *x = a, *y = b;
    const int domain = strcmp(x->domain, y->domain);
    return domain ? domain : strcmp(x->op, y->op);
}

gcut_onnx_uses gcut_onnx_ops_of(gcut_onnx_file *f, const Onnx__ModelProto *m)
{
    gcut_onnx_uses uses = {0};
    gcut_map seen = {0};
    gcut_module none = {.env = gcut_arena_env(f->arena)};
    gcut_onnx o = {.f = f, .arena = f->arena, .m = m, .mod = &none, .names = {.arena = f->arena}};
    index_functions(&o);
    if (m->graph) add_uses(&o, m->graph->node, m->graph->n_node, &seen, &uses);
    for (size_t i = 0; i < m->n_functions; i++)
        add_uses(&o, m->functions[i]->node, m->functions[i]->n_node, &seen, &uses);
    if (uses.n) qsort(uses.at, uses.n, sizeof *uses.at, by_op);
    return uses;
}
