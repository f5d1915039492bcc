/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A stage as data: gcut_stage_look.
 */
#include <string.h>

#include "driver/inspect/of_pipeline.h"
#include "driver/options/default_sizes.h"
#include "driver/load/step.h"
#include "text/text.h"
#include "partition/query/plan_queries.h"

typedef struct looking {
    gcut_arena *a; /* the result's */
    gcut_stage_name stage;
    const gcut_pipeline *p;
    gcut_module *m;
    GCUT_VEC(const gcut_graph *) functions; /* infos[i] describes functions[i] */
    GCUT_VEC(const gcut_graph_info *) infos;
    const int *launch; /* by kernel; of the kernel stage */
    int nkernels;
    const gcut_data_info *const *data; /* by data of the module */
} looking;

/* ---- sizes, types, texts ---- */

static int64_t evaluate(const looking *j, gcut_dim d)
{
    int64_t n;
    return gcut_dim_eval(j->m->dims, d, j->p->at, j->p->nat, &n) && n >= 0 ? n : -1;
}

static const char *formula(const looking *j, gcut_dim d)
{
    gcut_text t = {.arena = j->a};
    gcut_dim_print(j->m->dims, d, &t);
    return t.at;
}

/* -1 where a size is unknown or the product overflows. */
static int64_t times_sizes(const gcut_graph_value *v, int64_t n)
{
    for (int r = 0; r < v->rank; r++)
        if (v->dim[r] < 0 || __builtin_mul_overflow(n, v->dim[r], &n)) return -1;
    return n;
}

static const char *mark_arg(const looking *j, const gcut_graph *g, const gcut_mark *mark, uint32_t k)
{
    gcut_text t = {.arena = j->a};
    gcut_print_mark_arg(j->m, g, mark, k, &t);
    return t.at;
}

static const gcut_mark_info *mark_of(const looking *j, const gcut_graph *g, const gcut_mark *mark)
{
    gcut_mark_info *out = GCUT_NEW(j->a, gcut_mark_info, gcut_mark_get(mark->name)->name, NULL, mark->nargs);
    GCUT_LIST(j->a, out->arg, mark->nargs, mark_arg(j, g, mark, i));
    return out;
}

static const gcut_mark_info *const *marks_of(const looking *j, const gcut_graph *g, const gcut_marks *marks)
{
    const gcut_mark_info *const *at;
    GCUT_LIST(j->a, at, marks->n, mark_of(j, g, &marks->at[i]));
    return at;
}

/* ---- attributes ---- */

static bool is_dtype(gcut_attr_key key)
{
    return gcut_attr_form_of(key) == GCUT_ATTR_FORM_DTYPE;
}

static void read_sizes(const looking *j, const gcut_attr *a, gcut_attr_info *out)
{
    int64_t *size = gcut_calloc(j->a, (size_t)a->n + 1, sizeof *size);
    for (uint32_t i = 0; i < a->n; i++) size[i] = evaluate(j, a->u.dims[i]);
    out->sizes = size;
    out->n = a->n;
}

static const gcut_attr_info *attr_of(const looking *j, const gcut_attr *a, bool is_default)
{
    static const gcut_attr_type types[] = {[GCUT_ATTR_KIND_DIM] = GCUT_ATTR_SIZE,
                                           [GCUT_ATTR_KIND_DIMS] = GCUT_ATTR_SIZES,
                                           [GCUT_ATTR_KIND_NUM] = GCUT_ATTR_NUMBER,
                                           [GCUT_ATTR_KIND_BOOL] = GCUT_ATTR_FLAG,
                                           [GCUT_ATTR_KIND_STR] = GCUT_ATTR_TEXT};
    gcut_text t = {.arena = j->a};
    gcut_print_attr(j->m, a, &t);
    gcut_attr_info *out = GCUT_NEW(j->a, gcut_attr_info, .name = gcut_attr_name(a->key),
                                   .type = is_dtype(a->key) ? GCUT_ATTR_DTYPE : types[a->kind],
                                   .is_default = is_default, .text = t.at, .dtype = GCUT_NO_DTYPE);
    switch (a->kind) {
    case GCUT_ATTR_KIND_DIM: out->size = evaluate(j, a->u.dim); break;
    case GCUT_ATTR_KIND_DIMS: read_sizes(j, a, out); break;
    case GCUT_ATTR_KIND_NUM:
        out->number = a->u.num.f;
        out->is_integer = a->u.num.is_int;
        out->integer = a->u.num.is_int ? a->u.num.i : 0;
        break;
    case GCUT_ATTR_KIND_BOOL: out->flag = a->u.flag; break;
    case GCUT_ATTR_KIND_STR:
        out->string = a->u.str;
        if (is_dtype(a->key)) gcut_dtype_parse(a->u.str, &out->dtype);
        break;
    }
    return out;
}

static void read_attrs(const looking *j, const gcut_graph *g, const gcut_node *n, gcut_node_info *out)
{
    const gcut_op_spec *spec = &j->m->specs[n->op];
    const gcut_attr_info **at = gcut_calloc(j->a, (size_t)spec->n + 1, sizeof *at);
    for (uint32_t k = 0; k < spec->n; k++) {
        const gcut_attr *a = gcut_attr_get(g, n, spec->at[k].key);
        bool given = false;
        for (uint32_t i = 0; i < n->nattrs; i++) given |= g->attrs.at[n->attr0 + i].key == spec->at[k].key;
        if (a) at[out->nattrs++] = attr_of(j, a, !given);
    }
    out->attr = at;
}

/* ---- nodes ---- */

static const gcut_graph_info *body_of(looking *j, const gcut_graph *g, uint32_t lowered);

static const gcut_region_info *region_of(looking *j, const gcut_graph *g, uint32_t lowered, uint32_t id,
                                         uint32_t k)
{
    const gcut_node *n = gcut_node_at(g, id);
    const uint32_t body = lowered == GCUT_NONE ? lowered : gcut_program_body(j->p->program, lowered, id, k);
    return GCUT_NEW(j->a, gcut_region_info, gcut_op_region((gcut_op)n->op, k),
                    body_of(j, gcut_region_at(g, n, k)->body, body));
}

/* #kernel(k3) */
static int kernel_of(const gcut_node *n)
{
    const gcut_mark *m = gcut_mark_find(&n->marks, GCUT_MARK_kernel);
    return m ? (int)m->arg[0].i : -1;
}

static const gcut_node_info *node_of(looking *j, const gcut_graph *g, uint32_t lowered, uint32_t id)
{
    const gcut_node *n = gcut_node_at(g, id);
    const gcut_query where = {.g = g, .arena = j->a};
    size_t *operand = gcut_calloc(j->a, (size_t)n->nargs + n->nres + 1, sizeof *operand);
    size_t *result = operand + n->nargs;
    for (uint32_t k = 0; k < n->nargs; k++) operand[k] = gcut_arg(g, n, k) - 1;
    for (uint32_t k = 0; k < n->nres; k++) result[k] = n->res0 + k - 1;
    gcut_node_info *out = GCUT_NEW(
        j->a, gcut_node_info, .op = gcut_op_get((gcut_op)n->op)->name, .operand = operand,
        .noperands = n->nargs, .ncaptured = n->ncaptured, .result = result, .nresults = n->nres,
        .mark = marks_of(j, g, &n->marks), .nmarks = n->marks.n, .nregions = n->nregs,
        .where = n->nres ? gcut_query_at(&where, n->res0) : "-", .kernel = j->launch ? kernel_of(n) : -1);
    GCUT_ASSERT(out->kernel < j->nkernels);
    out->launch = out->kernel < 0 ? -1 : j->launch[out->kernel];
    read_attrs(j, g, n, out);
    GCUT_LIST(j->a, out->region, n->nregs, region_of(j, g, lowered, id, i));
    return out;
}

/* ---- values ---- */

static bool is_saved(const gcut_graph *g, gcut_ref v)
{
    for (uint32_t i = 0; i < g->results.n; i++)
        if (g->results.at[i].role == GCUT_ROLE_saved && g->results.at[i].value == v) return true;
    const gcut_value *x = &g->values.at[v];
    return x->def == GCUT_NONE && x->index < g->params.n && g->params.at[x->index].role == GCUT_ROLE_saved;
}

/* The value of the plan that v is a copy of, or that a saved parameter holds; 0 = none.  A copy may have the
 * name of another value there. */
static gcut_ref planned_value(const looking *j, const gcut_graph *g, gcut_ref v)
{
    const gcut_graph *planned = j->p->planned;
    const gcut_ref there = gcut_graph_find(planned, g->values.at[v].name);
    if (!there) return 0;
    return is_saved(g, v) || !strcmp(gcut_maker_name(planned, there), gcut_maker_name(g, v)) ? there : 0;
}

static void decide(const looking *j, const gcut_graph *g, gcut_ref v, gcut_graph_value *out)
{
    const gcut_node *n = gcut_def(g, v);
    if (j->stage < GCUT_STAGE_SPLIT || !j->p->plan || g->is_body) return;
    out->decided = true;
    if (n && gcut_mark_find(&n->marks, GCUT_MARK_recomputed)) {
        out->decision = GCUT_PLAN_RECOMPUTED;
        return;
    }
    const gcut_ref there = planned_value(j, g, v);
    out->decided = there || is_saved(g, v);
    out->decision = there ? j->p->plan->value[there].decision : GCUT_PLAN_SAVED;
}

static void locate(const looking *j, uint32_t lowered, gcut_ref v, gcut_graph_value *out)
{
    out->buffer = GCUT_NO_INDEX;
    if (lowered == GCUT_NONE) return;
    const gcut_value_place at = gcut_program_place_of(j->p->program, lowered, v);
    if (at.buffer == GCUT_NONE) return;
    out->buffer = at.buffer;
    out->start = evaluate(j, at.offset);
    out->is_bits = at.bits;
    for (int r = 0; r < out->rank; r++) out->stride[r] = evaluate(j, at.stride[r]);
}

static const gcut_graph_value *value_of(const looking *j, const gcut_graph *g, uint32_t lowered, gcut_ref v)
{
    const gcut_value *x = &g->values.at[v];
    gcut_graph_value *out =
        GCUT_NEW(j->a, gcut_graph_value, .name = x->name, .type = gcut_type_text(j->a, j->m, x->type),
                 .dtype = x->type->dtype, .rank = x->type->rank,
                 .node = x->def == GCUT_NONE ? GCUT_NO_INDEX : x->def, .index = x->index);
    for (uint32_t r = 0; r < x->type->rank; r++) {
        out->dim[r] = evaluate(j, x->type->dim[r]);
        out->formula[r] = formula(j, x->type->dim[r]);
    }
    out->elements = times_sizes(out, 1);
    out->bytes = times_sizes(out, gcut_dtype_bytes(out->dtype));
    decide(j, g, v, out);
    locate(j, lowered, v, out);
    return out;
}

/* ---- graphs ---- */

static const gcut_param_info *param_of(const looking *j, const gcut_graph *g, const gcut_param *x)
{
    gcut_param_info *out =
        GCUT_NEW(j->a, gcut_param_info, .role = gcut_role_name(x->role), .value = x->value - 1,
                 .mark = marks_of(j, g, &x->marks), .nmarks = x->marks.n);
    for (uint32_t i = 0; i < j->m->data.n && !g->is_body; i++) {
        const gcut_data *d = &j->m->data.at[i];
        if (!strcmp(d->name, g->values.at[x->value].name) && gcut_data_is_of(d, g)) out->data = j->data[i];
    }
    return out;
}

static const gcut_result_info *result_of(const looking *j, const gcut_result *x)
{
    return GCUT_NEW(j->a, gcut_result_info, .role = gcut_role_name(x->role), .name = x->name,
                    .value = x->value - 1, .mark = marks_of(j, NULL, &x->marks), .nmarks = x->marks.n);
}

static const gcut_symbol_info *symbol_of(const looking *j, const gcut_dim_decl *d)
{
    return GCUT_NEW(j->a, gcut_symbol_info, gcut_dim_symbol_name(j->m->dims, d->sym), d->lo, d->hi, d->mult,
                    evaluate(j, d->sym));
}

static const gcut_check_info *check_of(const looking *j, const gcut_dim_check *c)
{
    return GCUT_NEW(j->a, gcut_check_info, formula(j, c->a), formula(j, c->b), evaluate(j, c->a),
                    evaluate(j, c->b));
}

/* lowered: index of the lowered graph; GCUT_NONE before the kernel stage. */
static const gcut_graph_info *graph_of(looking *j, const gcut_graph *g, uint32_t lowered)
{
    gcut_graph_info *out = GCUT_NEW(j->a, gcut_graph_info, .name = g->name, .mark = marks_of(j, g, &g->marks),
                                    .nmarks = g->marks.n, .nsymbols = g->decls.n, .nparams = g->params.n,
                                    .nresults = g->results.n, .nvalues = g->values.n - 1,
                                    .nnodes = g->nodes.n, .nchecks = g->checks.n);
    GCUT_LIST(j->a, out->symbol, g->decls.n, symbol_of(j, &g->decls.at[i]));
    GCUT_LIST(j->a, out->param, g->params.n, param_of(j, g, &g->params.at[i]));
    GCUT_LIST(j->a, out->result, g->results.n, result_of(j, &g->results.at[i]));
    GCUT_LIST(j->a, out->value, g->values.n - 1, value_of(j, g, lowered, i + 1));
    GCUT_LIST(j->a, out->node, g->nodes.n, node_of(j, g, lowered, i));
    GCUT_LIST(j->a, out->check, g->checks.n, check_of(j, &g->checks.at[i]));
    return out;
}

/* The description of a function, made once, after those of the functions that it calls. */
static const gcut_graph_info *function_of(looking *j, const gcut_graph *g, uint32_t lowered)
{
    for (uint32_t i = 0; i < j->functions.n; i++)
        if (j->functions.at[i] == g) return j->infos.at[i];
    const gcut_graph_info *info = graph_of(j, g, lowered);
    *GCUT_PUSH(j->a, &j->functions) = g;
    *GCUT_PUSH(j->a, &j->infos) = info;
    return info;
}

static const gcut_graph_info *body_of(looking *j, const gcut_graph *g, uint32_t lowered)
{
    return g->is_body ? graph_of(j, g, lowered) : function_of(j, g, lowered);
}

/* ---- the stage ---- */

static const gcut_data_info *data_of(const looking *j, const gcut_data *d)
{
    gcut_text t = {.arena = j->a};
    gcut_print_contents(d, &t);
    return GCUT_NEW(j->a, gcut_data_info, .name = d->name, .type = gcut_type_text(j->a, j->m, &d->type),
                    .contents = t.at, .kind = gcut_data_kind_name(d->kind), .number = d->nums, .n = d->nnums,
                    .file = d->file, .key = d->key);
}

static const gcut_buffer_info *buffer_of(const looking *j, const gcut_placed *b)
{
    static const gcut_storage in[] = {[GCUT_PLACED_ARENA] = GCUT_STORAGE_ARENA,
                                      [GCUT_PLACED_BLOCK] = GCUT_STORAGE_BLOCK,
                                      [GCUT_PLACED_BOUND] = GCUT_STORAGE_BOUND,
                                      [GCUT_PLACED_PART] = GCUT_STORAGE_PART};
    const gcut_binding_info *bound = b->binding;
    return GCUT_NEW(
        j->a, gcut_buffer_info, .storage = in[b->in],
        .name = bound ? gcut_slot_name(j->a, bound->role, bound->name) : b->name, .dtype = b->dtype,
        .bytes = b->bytes, .offset = b->offset, .first = b->birth, .last = b->death, .saved = b->saved,
        .whole = b->whole == GCUT_NONE ? GCUT_NO_INDEX : b->whole, .start = b->start, .step = b->step);
}

static void read_buffers(const looking *j, gcut_stage_info *out)
{
    uint32_t n;
    gcut_memory memory;
    out->threads = j->p->threads;
    const gcut_placed *b =
        gcut_program_placement(j->p->program, j->p->at, j->p->nat, out->threads, j->a, &n, &memory);
    out->arena_bytes = memory.arena_bytes;
    out->saved_bytes = memory.saved_bytes;
    out->nbuffers = n;
    GCUT_LIST(j->a, out->buffer, n, buffer_of(j, &b[i]));
}

static const gcut_rewrite_info *rewrite_of(const looking *j, const gcut_rewritten *r)
{
    return GCUT_NEW(j->a, gcut_rewrite_info, r->by->pattern, r->by->becomes, r->value,
                    gcut_query_line(j->a, j->m, r->loc));
}

const gcut_stage_info *gcut_stage_info_of(const gcut_pipeline *p, gcut_stage_name stage, gcut_arena *keep)
{
    gcut_stage_info *out = gcut_calloc(keep, 1, sizeof *out);
    gcut_stage_info_fill(p, stage, keep, out);
    return out;
}

void gcut_stage_info_fill(const gcut_pipeline *p, gcut_stage_name stage, gcut_arena *keep,
                          gcut_stage_info *out)
{
    const bool lowered = stage == GCUT_STAGE_KERNEL;
    looking j = {.a = keep, .stage = stage, .p = p, .m = p->module};
    GCUT_LIST(keep, j.data, j.m->data.n, data_of(&j, &j.m->data.at[i]));
    gcut_graph *graph[2];
    const uint32_t n = gcut_stage_graphs(p, stage, graph);
    if (lowered) j.launch = gcut_program_launches(p->program, keep, &j.nkernels);
    for (uint32_t i = 0; i < n; i++) function_of(&j, graph[i], lowered ? i : GCUT_NONE);
    *out = (gcut_stage_info){.graph = j.infos.at,
                             .n = j.infos.n,
                             .data = j.data,
                             .ndata = j.m->data.n,
                             .at = gcut_sizes_named(keep, j.m, p->at, p->nat),
                             .nat = p->nat,
                             .nrewrites = p->rewritten.n};
    GCUT_LIST(keep, out->rewrite, out->nrewrites, rewrite_of(&j, &p->rewritten.at[i]));
    if (lowered) read_buffers(&j, out);
}

typedef struct asked_stage {
    gcut_graph *g;
    const gcut_options *opt; /* the caller's, of `size` bytes */
    size_t size;
    gcut_stage_name stage;
} asked_stage;

/* The pipeline is in the result's arena, since the result points into it. */
static void look(void *arg, const gcut_made *made)
{
    const asked_stage *j = arg;
    gcut_stage_check(j->g->module->env, j->stage, "gcut_stage_look");
    const gcut_settings o = gcut_settings_of(j->g->module->env, j->opt, j->size);
    gcut_stage_info_fill(gcut_pipeline_new(j->g, &o, j->stage, made->keep), j->stage, made->keep,
                         made->object);
}

gcut_stage_info *gcut_stage_look_sized(size_t size, gcut_graph *g, const gcut_options *opt,
                                       gcut_stage_name stage)
{
    GCUT_NEED(NULL, g, NULL);
    asked_stage j = {g, opt, size, stage};
    return gcut_made_by(g->module->env, sizeof(gcut_stage_info), look, &j);
}
