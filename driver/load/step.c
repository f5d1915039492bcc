/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Steps: binding, sizes, memory, running.
 */
#define _GNU_SOURCE
#include "driver/options/default_sizes.h"
#include "driver/pipeline/compile.h"
#include "driver/load/step.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver/load/c_compiler.h"
#include "driver/load/data_path.h"
#include "driver/pipeline/initial_contents.h"
#include "graph/external.h"
#include "graph/ops/value_bytes.h"
#include "interp/initial_values.h"
#include "import/npy.h"
#include "import/tensor_file.h"

/* ---- slots ---- */

static const char grad_prefix[] = "grad.";

const char *gcut_slot_name(gcut_arena *a, gcut_role role, const char *name)
{
    return role == GCUT_ROLE_grad ? gcut_printf(a, "%s%s", grad_prefix, name) : name;
}

gcut_slot *gcut_slot_find(gcut_step *s, const char *name)
{
    for (uint32_t i = 0; i < s->nslots; i++)
        if (!strcmp(s->slot[i].name, name)) return &s->slot[i];
    return NULL;
}

/* The parameter of the joint graph; NULL of a result. */
static const gcut_param *param_of(const gcut_step *s, const gcut_slot *x)
{
    const uint32_t k = (uint32_t)(x - s->slot);
    return k < s->nparams ? &s->p->joint->params.at[k] : NULL;
}

static void make_slots(gcut_step *s)
{
    const gcut_graph *g = s->p->joint;
    s->slot = gcut_calloc(s->arena, g->params.n + g->results.n + 1, sizeof *s->slot);
    for (uint32_t i = 0; i < g->params.n; i++) {
        const gcut_value *v = &g->values.at[g->params.at[i].value];
        s->slot[s->nslots++] = (gcut_slot){.name = v->name,
                                           .result = v->name,
                                           .role = g->params.at[i].role,
                                           .type = *v->type,
                                           .marks = &g->params.at[i].marks,
                                           .place = gcut_loc_place(g->module, g->loc)};
    }
    s->nparams = s->nslots;
    for (uint32_t i = 0; i < g->results.n; i++) {
        const gcut_result *r = &g->results.at[i];
        if (r->role == GCUT_ROLE_next) {
            gcut_slot *old = gcut_slot_find(s, r->name);
            if (old) old->updated = true;
        } else {
            s->slot[s->nslots++] = (gcut_slot){.name = gcut_slot_name(s->arena, r->role, r->name),
                                               .result = r->name,
                                               .role = r->role,
                                               .marks = &r->marks,
                                               .type = *gcut_type_of(g, r->value)};
        }
    }
    for (uint32_t i = 0; i < s->nslots; i++)
        if (gcut_slot_find(s, s->slot[i].name) != &s->slot[i])
            gcut_fail(s->env, GCUT_EUSAGE, gcut_loc_place(s->p->module, g->loc), "rename one of them",
                      "two values would be bound by the name '%s'", s->slot[i].name);
}

/* Marks the slots that a run reads or writes; the memory of all others may overlap any other. */
static void find_used(gcut_step *s)
{
    const gcut_graph *g = s->p->joint;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        for (uint32_t k = 0; k < n->nargs; k++) {
            const gcut_value *v = &g->values.at[gcut_arg(g, n, k)];
            if (v->def == GCUT_NONE) s->slot[v->index].used = true;
        }
    }
    for (uint32_t i = 0; i < g->results.n; i++) {
        const gcut_value *v = &g->values.at[g->results.at[i].value];
        if (v->def == GCUT_NONE) s->slot[v->index].used = true;
    }
    for (uint32_t i = 0; i < s->nslots; i++) s->slot[i].used |= i >= s->nparams || s->slot[i].updated;
}

/* Does a gradient, or the next value of another parameter or state, depend on v?  A running statistic feeds
 * only its own next value, so blocks filled before an update of it stay valid. */
static bool serves_others(gcut_arena *a, const gcut_graph *g, gcut_ref v)
{
    bool *on = gcut_calloc(a, g->values.n, sizeof *on);
    on[v] = true;
    gcut_add_dependents(g, on);
    for (uint32_t i = 0; i < g->results.n; i++) {
        const gcut_result *r = &g->results.at[i];
        bool own = r->role == GCUT_ROLE_next && !strcmp(r->name, g->values.at[v].name);
        if (on[r->value] && gcut_result_is_late(r) && !own) return true;
    }
    return false;
}

static void find_stales(gcut_step *s)
{
    const gcut_graph *g = s->p->joint;
    gcut_arena *a = gcut_arena_new(s->env, s->arena);
    s->stales = s->p->optimizer.kind != GCUT_OPT_NONE;
    for (uint32_t k = 0; k < s->nparams && !s->stales && s->p->opt.apart; k++)
        s->stales = s->slot[k].updated && serves_others(a, g, g->params.at[k].value);
    gcut_arena_free(a);
}

gcut_step *gcut_step_bare(gcut_pipeline *p, gcut_arena *a)
{
    gcut_step *s = gcut_calloc(a, 1, sizeof *s);
    s->env = p->env;
    s->arena = a;
    s->p = p;
    s->threads = gcut_rt_threads(p->opt.threads);
    gcut_external_require(p->joint);
    make_slots(s);
    find_stales(s);
    return s;
}

/* The eager and joint backends run the whole joint graph in the backward call, and would repeat effects of
 * the forward call. */
static void refuse_effects(const gcut_pipeline *p)
{
    if (!p->opt.apart || p->opt.backend == GCUT_BACKEND_PLANNED || !gcut_graph_has_effects(p->joint)) return;
    gcut_fail(
        p->env, GCUT_EUNSUPPORTED, gcut_loc_place(p->module, p->joint->loc),
        "use the backend planned or compiled",
        "@%s calls an external kernel that is not pure, which runs once: this backend, whose calls come "
        "apart, would run it in both",
        p->primal->name);
}

gcut_step *gcut_step_of_pipeline(gcut_pipeline *p, gcut_arena *a)
{
    gcut_step *s = gcut_step_bare(p, a);
    if (p->opt.backend != GCUT_BACKEND_COMPILED) {
        refuse_effects(p);
        find_used(s);
        return s;
    }
    gcut_arena *scratch = gcut_arena_new(s->env, s->arena);
    gcut_step_compile(s, scratch);
    gcut_arena_free(scratch);
    return s;
}

gcut_step *gcut_step_of_graph(gcut_graph *g, const gcut_settings *opt, gcut_arena *a)
{
    gcut_settings o = *opt;
    if (o.backend == GCUT_BACKEND_EAGER || o.backend == GCUT_BACKEND_JOINT)
        o.budget = 0; /* they ignore plans */
    gcut_stage_name goal = o.backend == GCUT_BACKEND_COMPILED ? GCUT_STAGE_KERNEL : GCUT_STAGE_SPLIT;
    return gcut_step_of_pipeline(gcut_pipeline_new(g, &o, goal, a), a);
}

/* ---- the compiled backend ---- */

/* The slot of each io member. */
static const uint32_t *find_io(gcut_step *s, uint32_t *n)
{
    const gcut_binding_info *b = gcut_program_bindings(s->p->program, n);
    uint32_t *io = gcut_calloc(s->arena, *n + 1, sizeof *io);
    for (uint32_t i = 0; i < *n; i++) {
        const gcut_slot *x = gcut_slot_find(s, gcut_slot_name(s->arena, b[i].role, b[i].name));
        GCUT_ASSERT(x != NULL);
        io[i] = (uint32_t)(x - s->slot);
    }
    return io;
}

void gcut_step_load(gcut_step *s, const gcut_c_source *source, const uint32_t *io, uint32_t nio)
{
    s->io = io;
    s->nio = nio;
    s->entry = gcut_compile_source(s->env, s->arena, s->p->primal->name, source, true).entry;
    s->plan = gcut_calloc(s->arena, 1, s->entry->plan_size);
    s->value = gcut_calloc(s->arena, (size_t)s->entry->nvalues + 1, sizeof *s->value);
    for (uint32_t i = 0; i < nio; i++) {
        GCUT_ASSERT(!s->slot[io[i]].member);
        s->slot[io[i]].member = i + 1;
    }
}

gcut_c_source gcut_step_compile(gcut_step *s, gcut_arena *scratch)
{
    uint32_t n;
    const gcut_c_source source = gcut_step_source(s->p, scratch);
    const uint32_t *io = find_io(s, &n);
    gcut_step_load(s, &source, io, n);
    return source;
}

/* Splits "model.c:41:9"; a place without file when the text has no such form. */
static gcut_place place_of(const gcut_step *s, const char *where)
{
    const char *col = strrchr(where, ':'), *line = col;
    while (line && line > where && *--line != ':') continue;
    if (!col || line == where) return (gcut_place){0};
    return (gcut_place){gcut_strndup(s->arena, where, (size_t)(line - where)), atoi(line + 1), atoi(col + 1)};
}

static _Noreturn void fail_overlap(gcut_step *s, const gcut_rt_error *e)
{
    char text[512];
    gcut_rt_message(e, text, sizeof text);
    gcut_fail(s->env, GCUT_EUSAGE, gcut_loc_place(s->p->module, s->p->joint->loc),
              "bind memory of its own to each of them", "%s", text);
}

/* Is it in memory during those calls? */
static bool is_in_call(const gcut_step *s, const gcut_slot *x, int which)
{
    if (s->p->opt.forward_only) return true;
    return (which & GCUT_RT_FORWARD && gcut_in_call(x->role, x->marks, false)) ||
           (which & GCUT_RT_BACKWARD && gcut_in_call(x->role, x->marks, true));
}

static void *saved_block(gcut_step *s);

/* As in compiled steps: memory that a call writes overlaps no other memory of the call. */
static void check_overlap(gcut_step *s, int which)
{
    gcut_arena *a = gcut_arena_new(s->env, s->memory);
    gcut_rt_span *span = gcut_calloc(a, s->nslots + 2, sizeof *span);
    gcut_rt_error err = {0};
    int n = 0;
    for (uint32_t i = 0; i < s->nslots; i++) {
        const gcut_slot *x = &s->slot[i];
        bool grad = x->role == GCUT_ROLE_grad;
        if (!x->used || !is_in_call(s, x, which)) continue;
        span[n++] = (gcut_rt_span){x->at, x->bytes, x->name, (int)gcut_dtype_bytes(x->type.dtype),
                                   grad || x->role == GCUT_ROLE_out || x->updated};
    }
    if (s->p->opt.apart) span[n++] = (gcut_rt_span){saved_block(s), s->saved_bytes, "saved", 64, 1};
    if (gcut_rt_check(span, n, NULL, 0, &err) != GCUT_RT_OK) fail_overlap(s, &err);
    gcut_arena_free(a);
}

/* A member of NAME_io is named after its value, with _ for characters that identifiers lack.  Returns the
 * value's name. */
static const char *name_of_member(const gcut_step *s, const char *member)
{
    for (uint32_t i = 0; i < s->nslots; i++) {
        const char *name = s->slot[i].name, *m = member;
        while (*m && (*name == *m || (*name && *m == '_' && !isalnum((unsigned char)*name)))) name++, m++;
        if (!*name && !*m) return s->slot[i].name;
    }
    return member;
}

static _Noreturn void fail_rt(gcut_step *s, const gcut_rt_error *e)
{
    char text[256];
    gcut_rt_error bare = *e;
    if (e->status == GCUT_RT_EOVERLAP) {
        bare.what = name_of_member(s, e->what);
        bare.where = name_of_member(s, e->where);
        fail_overlap(s, &bare);
    }
    bare.where = "";
    gcut_rt_message(&bare, text, sizeof text);
    gcut_status st = e->status == GCUT_RT_EINDEX ? GCUT_EINDEX
                     : e->status == GCUT_RT_EDIM ? GCUT_EDIM
                                                 : GCUT_EUSAGE;
    gcut_fail(s->env, st, place_of(s, e->where ? e->where : ""), NULL, "%s", text);
}

char *gcut_step_memory(gcut_arena *a, int64_t bytes)
{
    size_t align = bytes >= (8 << 20) ? (size_t)2 << 20 : 64;
    char *raw = gcut_alloc(a, (size_t)bytes + align);
    char *at = (char *)(((uintptr_t)raw + align - 1) & ~(uintptr_t)(align - 1));
#ifdef MADV_HUGEPAGE
    if (align > 64) madvise(at, (size_t)bytes & ~(align - 1), MADV_HUGEPAGE);
#endif
    return at;
}

/* Places the arena; returns its bytes, with those of the block of saved values. */
static int64_t init_plan(gcut_step *s, const gcut_dim_binding *at, int threads)
{
    gcut_rt_error err = {0};
    int64_t *dims = gcut_calloc(s->memory, s->nsizes + 1, sizeof *dims);
    for (uint32_t i = 0; i < s->nsizes; i++) dims[i] = at[i].value;
    if (s->entry->init(s->plan, dims, threads, &err) != GCUT_RT_OK) fail_rt(s, &err);
    const gcut_rt_plan *plan = s->plan;
    return plan->arena_bytes + (s->p->opt.apart ? plan->saved_bytes : 0);
}

/* The budget: of the smallest peak, that of the plan. */
static int64_t budget_of(gcut_step *s)
{
    const gcut_pipeline *p = s->p;
    if (p->opt.budget != GCUT_BUDGET_MIN) return p->opt.budget;
    return gcut_resident_bytes(p->joint, p->at, p->nat) + init_plan(s, p->at, p->threads);
}

/* Kernels have workspace for each thread, so the arena grows with their number.  Without options.threads a step has the
 * threads of gcut_rt_threads(0), under a budget as many of them as the budget has room for, at least those of its
 * plan. */
static void place_threads(gcut_step *s)
{
    const gcut_pipeline *p = s->p;
    const bool limited = p->opt.budget && p->opt.threads <= 0;
    int64_t room = limited ? budget_of(s) : 0;
    for (uint32_t i = 0; i < s->nslots; i++) room -= s->slot[i].bytes;
    s->threads = gcut_rt_threads(p->opt.threads);
    while (init_plan(s, s->size, s->threads) > room && limited && s->threads != p->threads)
        s->threads = s->threads > p->threads ? s->threads - 1 : p->threads;
}

static void place_compiled(gcut_step *s)
{
    place_threads(s);
    s->arena_bytes = ((gcut_rt_plan *)s->plan)->arena_bytes;
    s->saved_bytes = s->p->opt.apart ? ((gcut_rt_plan *)s->plan)->saved_bytes : 0;
    bool lent = s->lent && s->lent_bytes >= s->arena_bytes;
    s->kernel_arena = lent ? s->lent : gcut_step_memory(s->memory, s->arena_bytes);
    memset(s->kernel_arena, GCUT_ARENA_PAINT, (size_t)s->arena_bytes);
    for (uint32_t i = 0; i < s->nio; i++) s->value[i] = s->slot[s->io[i]].at;
}

/* ---- binding ---- */

gcut_slot *gcut_slot_get(gcut_step *s, const char *name)
{
    gcut_slot *x = gcut_slot_find(s, name);
    if (x) return x;
    if (s->wrong) gcut_arena_free(s->wrong);
    s->wrong = NULL;
    s->wrong = gcut_arena_new(s->env, s->arena);
    gcut_text t = {.arena = s->wrong};
    const char *role = NULL;
    for (uint32_t i = 0; i < s->nslots && i < 40; i++) {
        const char *r = gcut_role_name(s->slot[i].role);
        bool same = role && !strcmp(role, r);
        gcut_text_add(&t, "%s%s%s%s", same || !role ? "" : "\n", same ? ", " : r, same ? "" : ": ",
                      s->slot[i].name);
        role = r;
    }
    if (s->nslots > 40) gcut_text_add(&t, ", and %u more", s->nslots - 40);
    bool grad = !strncmp(name, grad_prefix, strlen(grad_prefix)) && s->p->optimizer.kind != GCUT_OPT_NONE &&
                !s->p->opt.keep_grads;
    if (grad) gcut_text_add(&t, "\nbeside an optimizer, gradients are results with options.keep_grads");
    gcut_fail(s->env, GCUT_EUSAGE, (gcut_place){0}, t.at, "@%s has no value '%s' to bind or read",
              s->p->primal->name, name);
}

static void check_shape(const gcut_step *s, const gcut_slot *x, int rank, const int64_t *dims, gcut_place at)
{
    if (rank != x->type.rank)
        gcut_fail(s->env, GCUT_EDIM, at, NULL, "'%s' is %s: it has %d axes, not %d", x->name,
                  gcut_type_text(s->arena, s->p->module, &x->type), x->type.rank, rank);
    for (int d = 0; d < rank; d++) {
        if (dims[d] < 0)
            gcut_fail(s->env, GCUT_EDIM, at, NULL, "'%s': its axis %d cannot have size %lld", x->name, d,
                      (long long)dims[d]);
        if (gcut_dim_known(x->type.dim[d]) && x->type.dim[d] != dims[d])
            gcut_fail(s->env, GCUT_EDIM, at, NULL, "'%s' is %s: axis %d has size %lld, not %lld", x->name,
                      gcut_type_text(s->arena, s->p->module, &x->type), d, (long long)x->type.dim[d],
                      (long long)dims[d]);
    }
}

void gcut_step_bind(gcut_step *s, const char *name, void *at, int rank, const int64_t *dims)
{
    gcut_step_bind_slot(s, gcut_slot_get(s, name), at, rank, dims);
}

void gcut_step_bind_slot(gcut_step *s, gcut_slot *x, void *at, int rank, const int64_t *dims)
{
    check_shape(s, x, rank, dims, (gcut_place){0});
    /* Nothing throws from here on: address and sizes change together. */
    for (int d = 0; d < rank; d++) {
        if (!x->sized || x->dim[d] != dims[d]) s->ready = false;
        x->dim[d] = dims[d];
    }
    if (!x->bound) s->ready = false;
    x->at = at;
    x->bound = x->sized = true;
    x->shared = NULL;
    if (!s->ready || !s->entry) return;
    /* Same sizes, another address: only the pointer changes. */
    if (x->member) s->value[x->member - 1] = at;
}

/* Keeps the memory of the copy for the next call, which uses it if it is large enough. */
void *gcut_step_room(gcut_step *s, const char *name, int rank, const int64_t *dims, int64_t *bytes)
{
    gcut_slot *x = gcut_slot_get(s, name);
    *bytes = gcut_dtype_bytes(x->type.dtype);
    check_shape(s, x, rank, dims, (gcut_place){0});
    for (int d = 0; d < rank; d++)
        if (__builtin_mul_overflow(*bytes, dims[d], bytes))
            gcut_fail(s->env, GCUT_EDIM, x->place, NULL, "'%s': its axis %d cannot have size %lld", name, d,
                      (long long)dims[d]);
    void *to = x->copy;
    if (!to || x->copy_bytes < *bytes) to = gcut_step_memory(s->arena, *bytes);
    gcut_step_bind(s, name, to, rank, dims);
    x->copy = to;
    if (x->copy_bytes < *bytes) x->copy_bytes = *bytes;
    return to;
}

void gcut_step_set(gcut_step *s, const char *name, const void *from, int rank, const int64_t *dims)
{
    int64_t bytes;
    void *to = gcut_step_room(s, name, rank, dims, &bytes);
    if (bytes) memcpy(to, from, (size_t)bytes);
}

void gcut_step_check_inputs(const gcut_step *s, int which)
{
    if (s->p->opt.unbound == GCUT_UNBOUND_RANDOM) return;
    for (uint32_t i = 0; i < s->nparams; i++) {
        const gcut_slot *x = &s->slot[i];
        if (!is_in_call(s, x, which) || x->bound || x->filled) continue;
        if (!gcut_caller_gives(s->p, param_of(s, x))) continue;
        gcut_fail(s->env, GCUT_EUSAGE, x->place,
                  "bind it (gcut_bind, gcut_bind_input), set it (gcut_set), write to it (gcut_fill), or ask "
                  "for random values "
                  "(options.unbound = GCUT_UNBOUND_RANDOM)",
                  "the %s '%s' %s was given no values", x->role == GCUT_ROLE_input ? "input" : "cotangent",
                  x->name, gcut_type_text(s->memory, s->p->module, &x->type));
    }
}

void gcut_step_bind_npy(gcut_step *s, const char *name, const char *path)
{
    gcut_arena *scratch = gcut_arena_new(s->env, s->arena);
    gcut_tensor x = gcut_npy_read(scratch, path);
    gcut_slot *slot = gcut_slot_find(s, name);
    if (slot && slot->type.dtype != x.dtype)
        gcut_fail(s->env, GCUT_ETYPE, (gcut_place){.file = path}, NULL, "'%s' is %s, the file holds %s", name,
                  gcut_type_text(s->arena, s->p->module, &slot->type), gcut_dtype_name(x.dtype));
    if (slot) check_shape(s, slot, (int)x.rank, x.dim, (gcut_place){.file = path});
    size_t bytes = (size_t)(x.n * gcut_dtype_bytes(x.dtype));
    gcut_step_set(s, name, bytes ? x.data : NULL, (int)x.rank, x.dim);
    gcut_arena_free(scratch);
}

/* ---- sizes ---- */

/* A hint: the bound value with an axis of exactly that size; NULL = none. */
static const char *who_says(const gcut_step *s, gcut_dim size, int64_t n)
{
    for (uint32_t k = s->nparams; k-- > 0;)
        for (int d = 0; s->slot[k].sized && d < s->slot[k].type.rank; d++)
            if (s->slot[k].type.dim[d] == size && s->slot[k].dim[d] == n)
                return gcut_printf(s->arena, "%s is %lld by axis %d of '%s'",
                                   gcut_dim_text(s->arena, s->p->module->dims, size), (long long)n, d,
                                   s->slot[k].name);
    return NULL;
}

/* Determines symbols from the bound shapes, the rest from the options. */
static void find_sizes(gcut_step *s)
{
    const gcut_graph *g = s->p->joint;
    s->size = gcut_default_sizes(s->memory, g, s->p->opt.at, s->p->opt.nat, &s->nsizes);
    for (uint32_t k = 0; k < s->nparams; k++)
        for (int d = 0; s->slot[k].sized && d < s->slot[k].type.rank; d++)
            for (uint32_t i = 0; i < s->nsizes; i++)
                if (s->slot[k].type.dim[d] == s->size[i].sym) s->size[i].value = s->slot[k].dim[d];
    const int64_t **dims = gcut_calloc(s->memory, s->nparams + 1, sizeof *dims);
    for (uint32_t k = 0; k < s->nslots; k++) {
        gcut_slot *x = &s->slot[k];
        for (int d = 0; d < x->type.rank; d++) {
            int64_t n = 0;
            if (!gcut_dim_eval(g->module->dims, x->type.dim[d], s->size, s->nsizes, &n))
                gcut_fail(s->env, GCUT_EDIM, (gcut_place){0}, NULL,
                          "axis %d of '%s' has no size at these dimensions", d, x->name);
            if (!x->sized)
                x->dim[d] = n;
            else if (x->dim[d] != n)
                gcut_fail(s->env, GCUT_EDIM, (gcut_place){0}, who_says(s, x->type.dim[d], n),
                          "'%s' is %s: axis %d must have size %lld here, not %lld", x->name,
                          gcut_type_text(s->arena, s->p->module, &x->type), d, (long long)n,
                          (long long)x->dim[d]);
        }
        if (k < s->nparams) dims[k] = x->dim;
        x->bytes = gcut_dtype_bytes(x->type.dtype);
        for (int d = 0; d < x->type.rank; d++)
            if (__builtin_mul_overflow(x->bytes, x->dim[d], &x->bytes))
                gcut_fail(s->env, GCUT_EDIM, (gcut_place){0}, NULL, "'%s' would have more than 2^63 bytes",
                          x->name);
    }
    gcut_dim_binding *check = gcut_calloc(s->memory, g->decls.n + 1, sizeof *check);
    gcut_bind_dims(g, dims, s->size, s->nsizes, check, g->decls.n + 1);
}

/* ---- memory of the step ---- */

/* The file that the last data of a preparation were of: files of weights have many. */
typedef struct last_file {
    gcut_arena *arena; /* of `file` */
    gcut_tensor_file *file;
} last_file;

/* Writes the elements of data of a file. */
static void fill_from_file(const gcut_step *s, const gcut_slot *x, const gcut_data *d, last_file *last,
                           void *at)
{
    gcut_arena *scratch = gcut_arena_new(s->env, s->memory);
    const char *path = gcut_data_path(scratch, s->p->module, d->file);
    if (!last->file || strcmp(last->file->name, path) != 0) {
        gcut_arena_free(last->arena);
        *last = (last_file){.arena = gcut_arena_new(s->env, s->memory)};
        last->file = gcut_tensor_file_open(last->arena, gcut_keep(last->arena, path));
    }
    const gcut_tensor *t = gcut_tensor_get(s->env, last->file, d->key);
    bool same = t->dtype == x->type.dtype && t->rank == x->type.rank;
    for (uint32_t r = 0; same && r < t->rank; r++) same = t->dim[r] == x->dim[r];
    if (!same)
        gcut_fail(s->env, GCUT_ETYPE, (gcut_place){.file = last->file->name}, NULL,
                  "data @%s is %s, but '%s' holds %s%s%s", d->name,
                  gcut_type_text(s->arena, s->p->module, &x->type), last->file->name, d->key ? d->key : "",
                  d->key ? " of type " : "", gcut_tensor_type_text(scratch, t));
    gcut_tensor_copy(s->env, last->file, t, x->type.dtype, at);
    gcut_arena_free(scratch);
}

static gcut_array contents_of(const gcut_step *s, const gcut_slot *x, gcut_initial begin, gcut_arena *a)
{
    if (begin.declared) return gcut_data_array(a, s->p->module, begin.declared, x->dim);
    if (begin.drawn)
        return gcut_random_array(a, x->type.dtype, x->type.rank, x->dim, s->p->opt.seed, x->name, begin.lo,
                                 begin.hi);
    gcut_array v = gcut_array_new(a, x->type.dtype, x->type.rank, x->dim);
    for (int64_t i = 0; begin.number != 0 && i < v.n; i++) v.u.f[i] = begin.number;
    return v;
}

/* Writes what an owned value holds at first. */
static void fill(const gcut_step *s, const gcut_slot *x, last_file *last, void *at)
{
    const gcut_param *param = param_of(s, x);
    const gcut_initial begin = param ? gcut_initial_of(s->p, param) : (gcut_initial){0};
    if (begin.declared && begin.declared->kind == GCUT_DATA_file) {
        fill_from_file(s, x, begin.declared, last, at);
        return;
    }
    if (!begin.declared && !begin.drawn && begin.number == 0) {
        memset(at, 0, (size_t)x->bytes); /* 0 of every dtype */
        return;
    }
    gcut_arena *scratch = gcut_arena_new(s->env, s->memory);
    const gcut_array v = contents_of(s, x, begin, scratch);
    gcut_array_store(&v, at);
    gcut_arena_free(scratch);
}

/* Allocates the values that the step owns, at new sizes.  Contents are copied where a value's sizes did not
 * change; for parameters, states and keys, where its number of bytes did not.  x->at changes only after its
 * new memory is filled, which may throw. */
static void own_memory(gcut_step *s, gcut_arena *fresh)
{
    last_file last = {0};
    for (uint32_t k = 0; k < s->nslots; k++) {
        gcut_slot *x = &s->slot[k];
        if (x->bound) continue;
        void *at = gcut_step_memory(fresh, x->bytes);
        const bool same = !memcmp(x->held_dim, x->dim, sizeof x->dim);
        const bool kept = x->at && x->held == x->bytes && (same || gcut_slot_persists(x));
        if (kept) {
            memcpy(at, x->at, (size_t)x->bytes);
        } else {
            fill(s, x, &last, at);
            x->filled = false;
        }
        x->at = at;
        x->held = x->bytes;
        memcpy(x->held_dim, x->dim, sizeof x->dim);
    }
    gcut_arena_free(last.arena);
}

/* Allocates the step's own block.  At the same size it copies what a forward call saved: the caller may bind
 * cotangents between the calls. */
static void own_block(gcut_step *s)
{
    char *fresh = gcut_step_memory(s->memory, s->saved_bytes);
    if (s->saved && s->saved_held == s->saved_bytes)
        memcpy(fresh, s->saved, (size_t)s->saved_bytes);
    else
        memset(fresh, 0, 64); /* an empty header: no forward call filled it */
    s->saved = fresh;
    s->saved_held = s->saved_bytes;
}

static void bind_shared(gcut_step *s)
{
    gcut_step_prepare(s->training);
    for (uint32_t k = 0; k < s->nslots; k++) {
        gcut_slot *x = &s->slot[k];
        const gcut_slot *of = x->shared;
        if (!of || (x->bound && x->at == of->at && !memcmp(x->dim, of->dim, sizeof x->dim))) continue;
        gcut_step_bind(s, x->name, of->at, of->type.rank, of->dim);
        x->shared = of;
    }
}

void gcut_step_prepare(gcut_step *s)
{
    if (s->training) bind_shared(s);
    if (s->ready) return;
    gcut_arena *old = s->memory;
    s->memory = gcut_arena_new(s->env, s->arena);
    find_sizes(s);
    own_memory(s, s->memory);
    if (s->entry)
        place_compiled(s);
    else if (s->p->opt.apart)
        s->saved_bytes = (s->interpreted = gcut_interpret_plan(s)).saved_bytes;
    if (s->p->opt.apart && (s->saved || !s->saved_at)) own_block(s);
    gcut_step_block(s)->updates = s->updates;
    gcut_arena_free(old);
    s->ready = true;
}

/* ---- running ---- */

/* The block of saved values for the next call; throws when the caller's is too small. */
static void *saved_block(gcut_step *s)
{
    if (!s->saved_at && !s->saved) own_block(s);
    if (!s->saved_at) return s->saved;
    if (s->saved_room < s->saved_bytes)
        gcut_fail(s->env, GCUT_EUSAGE, gcut_loc_place(s->p->module, s->p->joint->loc),
                  "gcut_saved_bytes says how many it needs",
                  "the block of saved values has %lld bytes, not %lld", (long long)s->saved_room,
                  (long long)s->saved_bytes);
    return s->saved_at;
}

/* Opens and closes the block of saved values as compiled steps do. */
static void interpret(gcut_step *s, int which)
{
    gcut_rt_error err = {0};
    check_overlap(s, which);
    if (!s->p->opt.apart) {
        gcut_step_interpret(s, which, NULL, NULL);
        return;
    }
    if (gcut_rt_open_saved(&s->interpreted, saved_block(s), (unsigned)which, &err) != GCUT_RT_OK)
        fail_rt(s, &err);
    gcut_step_interpret(s, which, saved_block(s), NULL);
    gcut_rt_close_saved(saved_block(s), (unsigned)which, GCUT_RT_OK);
}

void gcut_step_run(gcut_step *s, int which)
{
    gcut_rt_error err = {0};
    gcut_step_prepare(s);
    int64_t start = gcut_passes_clock();
    if (!s->entry)
        interpret(s, which);
    else if (s->entry->run(s->plan, s->value, s->p->opt.apart ? saved_block(s) : NULL, s->kernel_arena, which,
                           &err) != GCUT_RT_OK)
        fail_rt(s, &err);
    s->step_ns = gcut_passes_clock() - start;
    if (which & GCUT_RT_BACKWARD && s->stales) gcut_step_block(s)->updates = ++s->updates;
}
